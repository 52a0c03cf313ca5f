package gobgp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
	"github.com/osrg/gobgp/v3/pkg/server"
	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// GoBGP sends nothing to a peer whose ASN is in the new path, and the peer
// would keep the old route.
func TestReplacementThroughAPeersASNIsWithdrawnFromThatPeer(t *testing.T) {
	l := newLab(t, 1, 2)
	b := l.connect(0) // ASN 65002
	l.tell(0, 65003, 65009)
	l.tell(0, 65003, 65002)
	expect(t, "peer 65002", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65003 65009]", "-10.0.0.0/24"})
}

// The finding that the test above cures, on a bare server.
func TestFindingGoBGPKeepsQuietWhenAReplacementLoops(t *testing.T) {
	l := newLab(t, 2, 2)
	b := l.connect(0)
	l.tell(0, 65003, 65009)
	told := speakers.Told{Present: true, Path: []uint32{65003, 65002}}
	if err := l.speaker.addPath(context.Background(), 0, &told); err != nil {
		t.Fatal(err)
	}
	expect(t, "peer 65002", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65003 65009]"})
}

// GoBGP as a receiver keeps the route that a looped replacement should have
// replaced (RFC 4271 S9.1.2 wants it replaced), so the looped path must reach
// the core, which drops it.
func TestLoopedReplacementReachesTheCoreAndEndsTheRoute(t *testing.T) {
	l := newLab(t, 3, 1)
	b := l.connect(0)
	b.announce(testPrefixes[0], []uint32{65002, 65009})
	b.announce(testPrefixes[0], []uint32{65002, testASN, 65009})
	step(t, l, l.took(2))
	if got := l.core.Decision(0); len(got.Hops) != 0 || got.Told.Present {
		t.Errorf("decision after a looped replacement: got %+v, want none", got)
	}
}

// DeletePath is silent while a learned path that loops for the peer is next
// best in GoBGP's RIB. A route that stays, marked as gone, is always best, and
// the import policy keeps learned paths out.
func TestWithdrawalIsSentAlthoughALearnedPathLoops(t *testing.T) {
	l := newLab(t, 4, 2)
	b, c := l.connect(0), l.connect(1)
	c.announce(testPrefixes[0], []uint32{65003, 65002})
	l.took(1)
	l.tell(0, 65003, 65009)
	if err := l.speaker.untell(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "peer 65002", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65003 65009]", "-10.0.0.0/24"})
}

// Export policy lets every withdrawal pass, so DeletePath tells neighbours that
// a route is gone that they never heard of.
func TestWithdrawalGoesOnlyToThoseWhoHeardTheRoute(t *testing.T) {
	l := newLab(t, 13, 4, 2)
	below, inPath, above, late := l.connect(0), l.connect(1), l.connect(2), int32(3)
	told := speakers.Told{Present: true, Path: []uint32{65009, 65003}, Down: true}
	if err := l.speaker.tell(context.Background(), 0, &told); err != nil {
		t.Fatal(err)
	}
	if err := l.speaker.untell(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "below", l.heard(below, 1), []string{"+10.0.0.0/24[65001 65009 65003]", "-10.0.0.0/24"})
	expect(t, "in the path", inPath.until(1), nil)
	expect(t, "above", above.until(1), nil)
	expect(t, "came later", l.heard(l.connect(late), 2), nil)
	if err := l.speaker.tell(context.Background(), 0, &told); err != nil {
		t.Fatal(err)
	}
	expect(t, "below, told again", l.heard(below, 3), []string{"+10.0.0.0/24[65001 65009 65003]"})
	expect(t, "above, told again", above.until(3), nil)
}

// The finding that the test above cures.
func TestFindingGoBGPWithdrawsFromNeighboursThatNeverHeardTheRoute(t *testing.T) {
	l := newLab(t, 14, 1, 0)
	above := l.connect(0)
	told := speakers.Told{Present: true, Path: []uint32{65009}, Down: true}
	if err := l.speaker.tell(context.Background(), 0, &told); err != nil {
		t.Fatal(err)
	}
	path := &api.Path{Family: ipv4, NlriBinary: l.speaker.opts.Prefixes.wire[0], PattrsBinary: attributes(testASN, &told, nil)}
	if err := l.speaker.manage(func() error {
		return l.speaker.server.DeletePath(context.Background(), &api.DeletePathRequest{Path: path})
	}); err != nil {
		t.Fatal(err)
	}
	expect(t, "above", l.heard(above, 1), []string{"-10.0.0.0/24"})
}

// What the core did not tell must not pass, whatever was learned. Export lets
// the withdrawal of a learned route pass, so the import policy must keep it out.
func TestLearnedRoutesAreNeverPassedOn(t *testing.T) {
	l := newLab(t, 5, 2)
	b, c := l.connect(0), l.connect(1)
	c.announce(testPrefixes[0], []uint32{65003, 65009})
	l.took(1)
	expect(t, "peer 65002", l.heard(b, 1), nil)
	c.withdraw(testPrefixes[0])
	l.took(2)
	expect(t, "peer 65002, withdrawn", l.heard(b, 2), nil)
}

// The second lock holds where the first one is open; with both open the route
// passes, so the first half of this test can fail.
func TestLearnedRoutesAreNotPassedOnWithTheImportPolicyOpen(t *testing.T) {
	l := newLab(t, 16, 2)
	open := func(dir api.PolicyDirection) {
		t.Helper()
		if err := l.speaker.manage(func() error {
			return l.speaker.server.SetPolicyAssignment(context.Background(), &api.SetPolicyAssignmentRequest{
				Assignment: &api.PolicyAssignment{Name: "global", Direction: dir, DefaultAction: api.RouteAction_ACCEPT},
			})
		}); err != nil {
			t.Fatal(err)
		}
	}
	b, c := l.connect(0), l.connect(1)
	open(api.PolicyDirection_IMPORT)
	c.announce(testPrefixes[0], []uint32{65003, 65009})
	l.took(1)
	expect(t, "import open", l.heard(b, 1), nil)
	open(api.PolicyDirection_EXPORT)
	c.announce(testPrefixes[1], []uint32{65003, 65009})
	l.took(2)
	expect(t, "both open", l.heard(b, 2), []string{"+10.0.16.0/20[65001 65003 65009]"})
}

// Hold time 0 would become 90 s, in which a debugger or a slow machine ends
// sessions, and the keepalives of thousands of sessions cost time.
func TestOPENAsksForTheLongestHoldTime(t *testing.T) {
	l := newLab(t, 17, 1)
	open := <-l.connect(0).opens
	// RFC 4271 S4.2: version, ASN, hold time.
	if got := binary.BigEndian.Uint16(open[3:5]); got != 65535 {
		t.Errorf("hold time in % x: got %d, want 65535", open, got)
	}
}

func TestOneToldChangeIsOneUpdateAndAnEqualOneIsNone(t *testing.T) {
	l := newLab(t, 6, 1)
	b := l.connect(0)
	for range 3 {
		l.tell(0, 65009)
		l.tell(1, 65009)
	}
	expect(t, "peer", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65009]", "+10.0.16.0/20[65001 65009]"})
}

// ADJIN is silent when a session falls; the Peer event says it.
func TestSessionFallReachesTheCoreAfterItsRoutes(t *testing.T) {
	l := newLab(t, 7, 1)
	b := l.connect(0)
	b.announce(testPrefixes[0], []uint32{65002})
	in := l.took(1)
	want := []speakers.InputKind{speakers.SessionUp, speakers.Announce}
	if got := kinds(in); !slices.Equal(got, want) {
		t.Fatalf("queue: got %v, want %v", got, want)
	}
	step(t, l, in)
	b.conn.Close()
	l.log.until(t, "the fall", func() bool { return l.log.states[0] == api.PeerState_IDLE })
	in = l.speaker.Freeze()
	if got, want := kinds(in), []speakers.InputKind{speakers.SessionDown}; !slices.Equal(got, want) {
		t.Fatalf("queue: got %v, want %v", got, want)
	}
	step(t, l, in)
	if got := l.core.Candidates(0, nil); len(got) != 0 {
		t.Errorf("candidates after the fall: got %v, want none", got)
	}
}

// Deleting and adding a peer skips the 5 s that a fallen session waits.
func TestSessionComesBackAtOnceWhenThePeerIsAddedAnew(t *testing.T) {
	l := newLab(t, 8, 1)
	for range 3 {
		b := l.connect(0)
		b.announce(testPrefixes[0], []uint32{65002})
		b.conn.Close()
		l.log.until(t, "the fall", func() bool { return l.log.states[0] == api.PeerState_IDLE })
		if err := l.speaker.DeletePeer(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostileValuesAreIgnoredAndTheLowestValidOneCounts(t *testing.T) {
	value := func(v float32) bgp.ExtendedCommunityInterface { return bgp.NewLinkBandwidthExtended(65002, v) }
	cases := []struct {
		name   string
		values []bgp.ExtendedCommunityInterface
		valued bool
		want   float32
	}{
		{"none", nil, false, 0},
		{"one", []bgp.ExtendedCommunityInterface{value(1e11)}, true, 1e11},
		{"lowest of two", []bgp.ExtendedCommunityInterface{value(2e11), value(1e11)}, true, 1e11},
		{"zero", []bgp.ExtendedCommunityInterface{value(0), value(1e11)}, true, 0},
		{"negative beside a valid one", []bgp.ExtendedCommunityInterface{value(-5), value(1e11)}, true, 1e11},
		{"NaN alone", []bgp.ExtendedCommunityInterface{value(float32(math.NaN()))}, false, 0},
		{"infinity alone", []bgp.ExtendedCommunityInterface{value(float32(math.Inf(1)))}, false, 0},
		{"48 Pb/s", []bgp.ExtendedCommunityInterface{value(6e15)}, true, 6e15},
	}
	l := newLab(t, 9, 1)
	b := l.connect(0)
	l.speaker.Freeze()
	for i, c := range cases {
		b.announce(testPrefixes[0], []uint32{65002, uint32(65100 + i)}, c.values...)
		route := l.took(i + 1)[0].Route
		if route.Valued != c.valued || route.Value != c.want {
			t.Errorf("%s: got %v (valid %v), want %v (valid %v)", c.name, route.Value, route.Valued, c.want, c.valued)
		}
	}
	b.withdraw(testPrefixes[0])
	if got := kinds(l.took(len(cases) + 1)); !slices.Equal(got, []speakers.InputKind{speakers.Withdraw}) {
		t.Errorf("withdrawal: got %v", got)
	}
}

// Serve never returns by itself. goleak in TestMain would report it; this test
// says it of one speaker.
func TestCloseEndsTheServersGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	l := &lab{t: t, net: 10, log: newEventLog()}
	s, err := Start(context.Background(), Options{
		Name: "alone", RouterID: l.addr(1), Port: -1, Core: speakers.New(speakers.Config{}), Config: speakers.Config{ASN: 65000}, Prefixes: NewPrefixes(nil), Events: l.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// StopBgp does not wait for neighbours deleted before it when no other is left.
func TestCloseWaitsForTheLastNeighbourDeletedJustBefore(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for range 500 {
		l := &lab{t: t, net: 12, log: newEventLog()}
		s, err := Start(context.Background(), Options{
			Name: "leaf", RouterID: l.addr(1), Port: -1, Core: speakers.New(speakers.Config{}), Config: speakers.Config{ASN: 65000}, Prefixes: NewPrefixes(nil), Events: l.log,
			Peers: []Peer{{Bundle: 0, Local: l.addr(1), Remote: l.addr(2), ASN: 65001}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.AddPeer(t.Context(), 0), s.DeletePeer(t.Context(), 0), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	goleak.VerifyNone(t, before)
}

func TestStartErrorNamesTheSpeakerAndLeavesNothing(t *testing.T) {
	first := newLab(t, 11, 1)
	_, err := Start(context.Background(), Options{
		Name: "second", RouterID: first.addr(1), Listen: first.speaker.opts.Listen, Port: testPort,
		Core: first.core, Prefixes: NewPrefixes(nil), Events: first.log,
	})
	if err == nil || !strings.Contains(err.Error(), `speaker "second": start`) {
		t.Errorf("two speakers on one address: got %v", err)
	}
}

// Each start writes options that all servers of the process share. Started one
// after another, as here, nothing races; the race detector watches the lanes
// that run with it.
func TestServersStartedOneAfterAnotherDoNotRace(t *testing.T) {
	var labs []*lab
	for i := range 3 {
		labs = append(labs, newLab(t, byte(20+i), 1))
	}
	var wg sync.WaitGroup
	for _, l := range labs {
		b := l.connect(0)
		wg.Go(func() {
			l.tell(0, 65009)
			l.heard(b, 1)
		})
	}
	wg.Wait()
}

func TestFindingPolicyTextCutsLinkBandwidthAt34Gbps(t *testing.T) {
	c, err := bgp.ParseExtendedCommunity(bgp.EC_SUBTYPE_LINK_BANDWIDTH, "65000:100000000000")
	if err == nil {
		if lb, ok := c.(*bgp.LinkBandwidthExtended); ok && lb.Bandwidth == 1e11 {
			t.Error("GoBGP now reads 100 GB/s from policy text: the finding is out of date")
		}
	}
}

func TestEveryCallIsOneManagementOperation(t *testing.T) {
	l := newLab(t, 12, 1)
	b := l.connect(0)
	l.tell(0, 65009)
	l.heard(b, 1)
	// One more call after all others: when it is done, they are counted.
	if err := l.speaker.manage(func() error {
		_, err := l.speaker.server.GetBgp(context.Background(), &api.GetBgpRequest{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	l.speaker.hook.waitManaged(l.speaker.managed)
	l.speaker.hook.mu.Lock()
	defer l.speaker.hook.mu.Unlock()
	if got, want := l.speaker.hook.count, l.speaker.managed; got != want {
		t.Errorf("management operations: got %d, want %d", got, want)
	}
}

var _ server.FSMTimingHook = (*stopHook)(nil)

func kinds(in Frozen) (list []speakers.InputKind) {
	for _, i := range in {
		list = append(list, i.Kind)
	}
	return list
}

func step(t *testing.T, l *lab, in Frozen) {
	t.Helper()
	if _, err := l.speaker.Step(context.Background(), 0, in, func(int32, []speakers.Hop) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestTransitivityIsOnTheWireAsAsked(t *testing.T) {
	l := newLab(t, 15, 1)
	b := l.connect(0)
	for i, c := range []struct {
		form string
		want []string
	}{
		{"", []string{"4004fde951ba43b7"}},
		{topologies.Transitive, []string{"0004fde951ba43b7"}},
		{topologies.BothTransitive, []string{"0004fde951ba43b7", "4004fde951ba43b7"}},
		{"", []string{"4004fde951ba43b7"}},
	} {
		told := speakers.Told{Present: true, Valued: true, Value: 1e11, Form: c.form, Path: []uint32{65009}}
		if err := l.speaker.tell(context.Background(), 0, &told); err != nil {
			t.Fatal(err)
		}
		if err := l.speaker.Fence(context.Background(), uint32(i+1)); err != nil {
			t.Fatal(err)
		}
		// GoBGP's decoder knows one transitivity only, so the bytes are looked at.
		b.until(uint32(i + 1))
		var got []string
		for len(b.bytes) > 0 {
			body := <-b.bytes
			for at := 0; at+8 <= len(body); at++ {
				if body[at]&0xbf == 0 && string(body[at+1:at+8]) == "\x04\xfd\xe9\x51\xba\x43\xb7" {
					got = append(got, fmt.Sprintf("%x", body[at:at+8]))
				}
			}
		}
		expect(t, fmt.Sprintf("form %q", c.form), got, c.want)
	}
}
