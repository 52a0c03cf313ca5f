package properties

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

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
	return state.External{Address: at, Port: freePort(t, at), Silence: 200 * time.Millisecond, Wait: 10 * time.Second}
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

// scenarioWith reads a scenario, by its name or as YAML, in which a device is external.
func scenarioWith(t *testing.T, name, device string, x state.External) *harness.Scenario {
	t.Helper()
	if strings.Contains(name, "\n") {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		name = file
	}
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

// heldButWhereHidden judges a run in which one device was external: what could be seen
// held, and what could not is listed and never held.
func heldButWhereHidden(t *testing.T, res *state.Result, device string, exercised ...string) {
	t.Helper()
	for _, o := range res.Outcomes {
		hidden := strings.HasSuffix(o.Name, " at "+device)
		switch {
		case hidden && (len(o.NotObservable) == 0 || o.Held()):
			t.Errorf("%s: exercised %d, not observable: %v", o.Name, o.Exercised, o.NotObservable)
		case !hidden && o.Violated > 0, slices.Contains(exercised, o.Name) && !o.Held():
			t.Error(outcomeText(o))
		}
	}
	for _, name := range []string{EndStateName, ProportionName, NoBlackHoleName, NoLoopName, FIBWithinLimitsName, RestoreName, LivePathName} {
		if !slices.ContainsFunc(res.Outcomes, func(o state.Outcome) bool { return o.Name == name+" at "+device }) {
			t.Errorf("nothing says that %q is not observable at the external device", name)
		}
	}
	if res.Stale > 0 {
		t.Errorf("%d stale entries", res.Stale)
	}
}

// Our own speaker, on its own and in no rounds, is an external device like any other:
// all that can be seen of it holds.
func TestOurOwnSpeakerHoldsAsAnExternalDevice(t *testing.T) {
	const planar = `
topology: prometheus-mini
events:
  - down: {bundle: r1-f1-e1--r1-bag1}
  - up: {bundle: r1-f1-e1--r1-bag1}
  - reset: {bundle: r1-bag1--r2-bag1, silent: true}
  - hold: {bundle: r1-f2-e1--r1-bag1, from: r1-bag1, silent: true}
  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}
  - release: {bundle: r1-f2-e1--r1-bag1, from: r1-bag1, silent: true}
  - down: {bundle: r1-bag1--r2-bag1, detect: bfd 150ms}
  - drain: {device: r2-bag1, state: warm, silent: true}
  - drain: {device: r2-bag1, state: live, silent: true}
  - restore: {all: true}
`
	const spread = `
topology: spread-mini
events:
  - degrade: {bundle: r1-f1-e1--r1-bag1, members: 20}
  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 9}
  - flap: {bundle: r1-f1-s2--r1-f1-e1, members: 12, count: 3, period: 10s}
  - restore: {all: true}
`
	found := map[string]int{}
	always := []string{EndStateName, ProportionName, NoBlackHoleName, NoLoopName, ToldWithinLawName, ContainmentName, FIBWithinLimitsName, RestoreName, LivePathName}
	for _, c := range []struct {
		name, scenario, device string
		damped, quick          bool
	}{
		{"a bag of first-light", "first-light", "r1-bag1", false, false},
		{"a bag whose bundles fall", planar, "r1-bag1", false, true},
		{"a bag with sets", spread, "r1-bag1", false, false},
		{"a bag with sets that damps", spread, "r1-bag1", true, true},
		{"an edge", spread, "r1-f1-e1", false, true},
		{"a spine, which originates", spread, "r1-f1-s1", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.quick && sizeOfRun() == 1 {
				t.Skip("waits for silence in real time: with BAGRIG_LONG=1")
			}
			if raceDetector && c.scenario != planar {
				t.Skip("under the race detector one case is enough")
			}
			x, pipeline := externalAt(t), damping.Pipeline{}
			x.Damped = c.damped
			sc := scenarioWith(t, c.scenario, c.device, x)
			if c.damped {
				pipeline.Told = sc.Damping.Told
			}
			outsideOurs(t, sc, c.device, x, pipeline)
			seen := &witness{}
			res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: append(For(sc.Topology, sc.Events), seen)})
			if err != nil {
				t.Fatal(err)
			}
			heldButWhereHidden(t, res, c.device, always...)
			t.Logf("%v", res.Elapsed)
			newsAlikeOfExternal(t, seen, sc.Topology.Index().Device[c.device], found)
		})
	}
	for _, name := range []string{EndStateName, ToldWithinLawName, RestoreName} {
		if found[name] == 0 {
			t.Errorf("%s: no fault was planted that it finds", name)
		}
	}
}

// newsAlikeOfExternal holds rules that look at news against those that look at
// everything, at the moments of a run and at the same with faults in what the external
// device tells, and in all else.
func newsAlikeOfExternal(t *testing.T, seen *witness, device int, found map[string]int) {
	t.Helper()
	seed := seedOfRun(t)
	rng := rand.New(rand.NewSource(seed))
	var moments []*state.Moment
	for i := range seen.moments {
		seen.moments[i].Since = nil
		moments = append(moments, &seen.moments[i])
	}
	if diff := foundAlike(moments, map[string]int{}); diff != "" {
		t.Errorf("as it was: %s", diff)
	}
	for from := 0; from < len(moments); from += 1 + len(moments)/12 { // a long run has many
		spoilt := slices.Clone(moments)
		for i := from; i < min(from+2, len(spoilt)); i++ {
			spoilt[i] = spoiltTelling(rng, moments[i], device)
		}
		if diff := foundAlike(spoilt, found); diff != "" {
			t.Errorf("BAGRIG_SEED=%d: with faults in what the external device tells from moment %d on: %s", seed, from, diff)
		}
	}
	for range 3 {
		faults := rng.Intn(100)
		if diff := foundAlike(spoiltAtRandom(rng, moments, &faults), map[string]int{}); diff != "" {
			t.Errorf("BAGRIG_SEED=%d: with faults: %s", seed, diff)
		}
	}
}

// spoiltTelling is a moment at which the device tells something else over one session.
func spoiltTelling(rng *rand.Rand, m *state.Moment, device int) *state.Moment {
	made, s := *m, *m.Snapshot
	made.Snapshot, s.Devices = &s, slices.Clone(s.Devices)
	dev := &s.Devices[device]
	dev.Tells = slices.Clone(dev.Tells)
	for p := range dev.Tells {
		if len(dev.Tells[p]) == 0 || rng.Intn(4) > 0 {
			continue
		}
		dev.Tells[p] = slices.Clone(dev.Tells[p])
		switch told := &dev.Tells[p][rng.Intn(len(dev.Tells[p]))]; rng.Intn(4) {
		case 0:
			told.Value *= 1.5
		case 1:
			told.Valued = !told.Valued
		case 2:
			told.Path = append(slices.Clone(told.Path), 65000)
		case 3:
			dev.Tells[p] = dev.Tells[p][1:]
		}
	}
	return &made
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
		switch o.Name {
		case EndStateName, ToldWithinLawName:
			if o.Violated == 0 {
				t.Errorf("%s: want violations: GoBGP passes values on unchanged, and takes no minimum", o.Name)
			}
			for _, v := range o.Violations {
				if !strings.HasPrefix(v.Where, `device "r1-bag1" to `) {
					t.Errorf("%s: violated at %s: want it at the external device alone: %s", o.Name, v.Where, v.Text)
				}
			}
			if first := o.Violations[0].Text; !strings.Contains(first, "tells 33 members (26.4T)") || !strings.Contains(first, "32 members (25.6T)") {
				t.Errorf("%s: %s: want what GoBGP passes on, and what its bundle makes of it", o.Name, first)
			}
		default:
			if o.Violated > 0 {
				t.Error(outcomeText(o))
			}
		}
	}
}

// toldHops are the next hops that are told to an external device, by its session.
type toldHops struct {
	mu     sync.Mutex
	n      map[int32]bool // sessions whose B end is external
	v4, v6 map[int32]map[string]bool
}

func (*toldHops) Opened(int32, [2]netip.Addr) {}
func (*toldHops) Closed(int32)                {}

func (h *toldHops) Message(dir state.Direction, _ time.Duration, message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, err := bgp.ParseBGPMessage(message)
	if err != nil || dir.FromB || !h.n[dir.Bundle] || m.Header.Type != bgp.BGP_MSG_UPDATE {
		return
	}
	note := func(to map[int32]map[string]bool, hop net.IP) {
		if to[dir.Bundle] == nil {
			to[dir.Bundle] = map[string]bool{}
		}
		a, _ := netip.AddrFromSlice(hop)
		to[dir.Bundle][a.String()] = true
	}
	for _, a := range m.Body.(*bgp.BGPUpdate).PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeNextHop:
			note(h.v4, a.Value.To4())
		case *bgp.PathAttributeMpReachNLRI:
			note(h.v6, a.Nexthop.To16())
		}
	}
}

// What an external device is told has next hops that it can resolve, in both families,
// and what it tells of IPv6 is judged as all else.
func TestNextHopsAreThoseByWhichAnExternalDeviceKnowsItsNeighbours(t *testing.T) {
	for _, given := range []string{"", "fd00:9::2"} {
		x := externalAt(t)
		if given != "" {
			x.Neighbors6 = netip.MustParseAddr(given)
		}
		sc := scenarioWith(t, "topology: prometheus-mini\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n  - restore: {all: true}\n", "r1-bag1", x)
		sc.Topology = dualStack(sc.Topology)
		outsideOurs(t, sc, "r1-bag1", x, damping.Pipeline{})
		sessions, err := sc.ExternalSessions()
		if err != nil {
			t.Fatal(err)
		}
		told := &toldHops{n: map[int32]bool{}, v4: map[int32]map[string]bool{}, v6: map[int32]map[string]bool{}}
		for _, s := range sessions {
			told.n[s.Bundle] = sc.Topology.Bundles[s.Bundle].B == "r1-bag1"
		}
		res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events), Capture: told})
		if err != nil {
			t.Fatal(err)
		}
		heldButWhereHidden(t, res, "r1-bag1", EndStateName, ToldWithinLawName)
		seen := 0
		for i, s := range sessions {
			if !told.n[s.Bundle] {
				continue
			}
			seen++
			if got := told.v4[s.Bundle]; len(got) != 1 || !got[fmt.Sprintf("127.9.0.%d", 2+i)] {
				t.Errorf("session with %s: next hops %v, want %v alone", s.Neighbor, got, s.Local)
			}
			want := fmt.Sprintf("::ffff:127.9.0.%d", 2+i)
			if given != "" {
				want = fmt.Sprintf("fd00:9::%d", 2+i)
			}
			if got := told.v6[s.Bundle]; len(got) != 1 || !got[want] {
				t.Errorf("session with %s: next hops of IPv6 %v, want %s alone", s.Neighbor, got, want)
			}
		}
		if seen != 4 {
			t.Errorf("%d sessions looked at, want those with the 4 edges", seen)
		}
	}
}
