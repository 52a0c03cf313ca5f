package properties

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// freePort is a port on which nothing listens at an address.
func freePort(t *testing.T, at netip.Addr) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// externalAt is a device at an address of the loopback range.
func externalAt(t *testing.T) state.External {
	t.Helper()
	at := netip.MustParseAddr("127.9.0.1")
	return state.External{Address: at, Port: freePort(t, at), Silence: 100 * time.Millisecond, Wait: 10 * time.Second}
}

// outsideOurs runs a speaker of our own as an external device of a scenario.
func outsideOurs(t *testing.T, sc *harness.Scenario, device string, x state.External, pipeline damping.Pipeline) {
	t.Helper()
	sessions, err := sc.ExternalSessions()
	if err != nil {
		t.Fatal(err)
	}
	ix := sc.Topology.Index()
	cfg := speakers.ConfigOf(sc.Topology, ix, ix.Device[device], pipeline)
	settings := sc.Settings[ix.Device[device]]
	cfg.Settings = &settings
	var list []netip.Prefix
	for _, p := range sc.Topology.Prefixes {
		list = append(list, p.Prefix)
	}
	var peers []gobgp.Peer
	for _, s := range sessions {
		peers = append(peers, gobgp.Peer{Bundle: s.Bundle, Local: x.Address, Remote: s.Local, ASN: s.NeighborASN, Above: s.Role >= cfg.Role})
	}
	lone, err := gobgp.StartLone(context.Background(), gobgp.Options{
		Name: device, RouterID: x.Address, Port: int(x.Port), Listen: []netip.Addr{x.Address}, Config: cfg, Prefixes: gobgp.NewPrefixes(list), Peers: peers,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lone.Close(); err != nil {
			t.Error(err)
		}
	})
}

// scenarioWith reads a scenario in which a device is external.
func scenarioWith(t *testing.T, name, device string, x state.External) *harness.Scenario {
	t.Helper()
	sc, err := harness.LoadWith(name, map[string]state.External{device: x})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func outcomeText(o state.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: violated %d of %d", o.Name, o.Violated, o.Exercised)
	for _, v := range o.Violations[:min(5, len(o.Violations))] {
		fmt.Fprintf(&b, "\n\t%v %s: %s", v.Time, v.Where, v.Text)
	}
	return b.String()
}

func TestOurOwnSpeakerIsAnExternalDeviceLikeAnyOther(t *testing.T) {
	x := externalAt(t)
	sc := scenarioWith(t, "first-light", "r1-bag1", x)
	outsideOurs(t, sc, "r1-bag1", x, damping.Pipeline{})
	res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outcomes {
		hidden := strings.HasSuffix(o.Name, " at r1-bag1")
		switch {
		case hidden != (len(o.NotObservable) > 0 && o.Exercised == 0):
			t.Errorf("%s: exercised %d, hidden %v", o.Name, o.Exercised, o.NotObservable)
		case !hidden && !o.Held():
			t.Error(outcomeText(o))
		}
	}
	if !slices.ContainsFunc(res.Outcomes, func(o state.Outcome) bool { return o.Name == ProportionName+" at r1-bag1" }) {
		t.Error("nothing says that proportion is not observable at the external device")
	}
	if res.Stale > 0 {
		t.Errorf("%d stale entries", res.Stale)
	}
	t.Logf("%v elapsed", res.Elapsed)
}

// outsidePlain runs a GoBGP server with configuration only, as an external device of a
// scenario.
func outsidePlain(t *testing.T, sc *harness.Scenario, device string) {
	t.Helper()
	x := sc.External[device]
	sessions, err := sc.ExternalSessions()
	if err != nil {
		t.Fatal(err)
	}
	opts := gobgp.PlainOptions{ASN: sessions[0].ASN, RouterID: x.Address, Listen: x.Address, Port: int(x.Port)}
	for _, s := range sessions {
		opts.Neighbors = append(opts.Neighbors, gobgp.PlainNeighbor{Address: s.Local, ASN: s.NeighborASN})
	}
	p, err := gobgp.StartPlain(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestPlainGoBGPTellsWhatItHearsUnchangedAndThatIsSeenThere(t *testing.T) {
	sc := scenarioWith(t, "first-light", "r1-bag1", externalAt(t))
	outsidePlain(t, sc, "r1-bag1")
	res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outcomes {
		t.Log(outcomeText(o))
	}
}
