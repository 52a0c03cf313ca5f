package gobgp

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"testing"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// dual are the prefixes of the tests here: 0 is of IPv4, the others of IPv6.
var dual = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00:1::/48"), netip.MustParsePrefix("fd00:1:0:10::/60")}

// offered lists the families of a speaker's OPEN.
func offered(t *testing.T, p *rawPeer) (list []bgp.RouteFamily) {
	t.Helper()
	open := &bgp.BGPOpen{}
	if err := open.DecodeFromBytes(<-p.opens); err != nil {
		t.Fatal(err)
	}
	for _, o := range open.OptParams {
		if o, ok := o.(*bgp.OptionParameterCapability); ok {
			for _, c := range o.Capability {
				if c, ok := c.(*bgp.CapMultiProtocol); ok {
					list = append(list, c.CapValue)
				}
			}
		}
	}
	return list
}

// Each negotiated family costs tables in every session.
func TestSessionsCarryIPv6OnlyWhereThereAreSuchPrefixes(t *testing.T) {
	four, six := []bgp.RouteFamily{bgp.RF_IPv4_UC}, []bgp.RouteFamily{bgp.RF_IPv4_UC, bgp.RF_IPv6_UC}
	for i, c := range []struct {
		prefixes []netip.Prefix
		want     []bgp.RouteFamily
	}{{testPrefixes, four}, {dual, six}, {dual[1:], six}} {
		l := newLabOf(t, c.prefixes, byte(40+i), 1)
		if got := offered(t, l.connect(0)); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.prefixes, got, c.want)
		}
	}
}

func TestIPv6IsToldAsIPv4(t *testing.T) {
	l := newLabOf(t, dual, 43, 2)
	b := l.connect(0) // ASN 65002
	for range 2 {     // an equal route is told once
		l.tell(0, 65009)
		l.tell(1, 65009)
		l.tell(2, 65009)
	}
	expect(t, "announced", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65009]", "+fd00:1::/48[65001 65009]", "+fd00:1:0:10::/60[65001 65009]"})
	l.tell(1, 65009, 65010)
	expect(t, "replaced", l.heard(b, 2), []string{"+fd00:1::/48[65001 65009 65010]"})
	// GoBGP tells this peer nothing of a path through its ASN.
	l.tell(1, 65003, 65002)
	expect(t, "replaced by a path that loops", l.heard(b, 3), []string{"-fd00:1::/48"})
	l.tell(1, 65003)
	if err := l.speaker.untell(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	expect(t, "told again, and another withdrawn", l.heard(b, 4), []string{"+fd00:1::/48[65001 65003]", "-fd00:1:0:10::/60"})
}

// What the receiver's core reads of an IPv6 route is what the teller's core told.
func TestAttributesOfIPv6RoutesAreThoseOfIPv4(t *testing.T) {
	l := newLabOf(t, dual, 44, 1)
	b := l.connect(0)
	for i, told := range []speakers.Told{
		{Present: true, Path: []uint32{65009}},
		{Present: true, Valued: true, Value: 1e11, Path: []uint32{65009}, Down: true, Warm: true},
		{Present: true, Valued: true, Value: 1e11, Form: topologies.BothTransitive, Path: []uint32{65009, 65010}},
		{Present: true, Valued: true, Value: 2e11, Form: topologies.Transitive, Down: true},
		{Present: true, Valued: true, Value: 3e11, Atomic: true},
	} {
		for p := range int32(2) {
			if err := l.speaker.tell(context.Background(), p, &told); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.speaker.Fence(context.Background(), uint32(i+1)); err != nil {
			t.Fatal(err)
		}
		updates := b.raw(uint32(i + 1))
		if len(updates) != 2 {
			t.Fatalf("%+v: got %d UPDATEs, want one for each family", told, len(updates))
		}
		four, hop4 := attributesOf(t, updates[0])
		six, hop6 := attributesOf(t, updates[1])
		expect(t, "attributes of IPv6", six, four)
		if want := l.addr(1).String(); hop4 != want || hop6 != want {
			t.Errorf("next hops: got %s and %s, want the session's own address %s", hop4, hop6, want)
		}
	}
}

// attributesOf gives an UPDATE's attributes but for the prefixes and the next hop.
func attributesOf(t *testing.T, u *bgp.BGPUpdate) (list []string, nextHop string) {
	t.Helper()
	for _, a := range u.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeNextHop:
			nextHop = a.Value.String()
		case *bgp.PathAttributeMpReachNLRI:
			if len(a.Nexthop) != 16 {
				t.Errorf("next hop %v in MP_REACH_NLRI: want 16 bytes", a.Nexthop)
			}
			nextHop = a.Nexthop.String() // GoBGP prints ::ffff:127.x as 127.x
		default:
			b, err := a.Serialize()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(b))
		}
	}
	return list, nextHop
}

func TestIPv6GoesToThoseWhoMayHearIt(t *testing.T) {
	l := newLabOf(t, dual, 45, 4, 2)
	below, inPath, above, late := l.connect(0), l.connect(1), l.connect(2), int32(3)
	told := speakers.Told{Present: true, Path: []uint32{65009, 65003}, Down: true}
	if err := l.speaker.tell(context.Background(), 1, &told); err != nil {
		t.Fatal(err)
	}
	if err := l.speaker.untell(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	expect(t, "below", l.heard(below, 1), []string{"+fd00:1::/48[65001 65009 65003]", "-fd00:1::/48"})
	expect(t, "in the path", inPath.until(1), nil)
	expect(t, "above", above.until(1), nil)
	expect(t, "came later", l.heard(l.connect(late), 2), nil)
}

func TestLearnedIPv6RoutesAreNeverPassedOn(t *testing.T) {
	l := newLabOf(t, dual, 46, 2)
	b, c := l.connect(0), l.connect(1)
	c.announce(dual[1], []uint32{65003, 65009})
	l.took(1)
	expect(t, "peer 65002", l.heard(b, 1), nil)
	c.withdraw(dual[1])
	l.took(2)
	expect(t, "peer 65002, withdrawn", l.heard(b, 2), nil)
}

func TestIPv6RoutesReachTheCore(t *testing.T) {
	l := newLabOf(t, dual, 47, 1)
	b := l.connect(0)
	l.speaker.Freeze()
	value := func(v float32) bgp.ExtendedCommunityInterface { return bgp.NewLinkBandwidthExtended(65002, v) }
	b.announce(dual[1], []uint32{65002, 65009}, value(2e11), value(1e11))
	b.announce(dual[2], []uint32{65002, 65009}, value(float32(math.NaN())))
	// A looped path is the core's to drop, and a duplicate must be counted.
	b.announce(dual[2], []uint32{65002, testASN, 65009})
	b.announce(dual[2], []uint32{65002, testASN, 65009})
	b.withdraw(dual[1])
	in := l.took(5)
	want := []speakers.Input{
		{Kind: speakers.Announce, Prefix: 1, Route: &speakers.Route{Path: []uint32{65002, 65009}, Valued: true, Value: 1e11}},
		{Kind: speakers.Announce, Prefix: 2, Route: &speakers.Route{Path: []uint32{65002, 65009}}},
		{Kind: speakers.Announce, Prefix: 2, Route: &speakers.Route{Path: []uint32{65002, testASN, 65009}}},
		{Kind: speakers.Announce, Prefix: 2, Route: &speakers.Route{Path: []uint32{65002, testASN, 65009}}},
		{Kind: speakers.Withdraw, Prefix: 1},
	}
	for i, w := range want {
		g := in[i]
		if g.Kind != w.Kind || g.Prefix != w.Prefix || (g.Route == nil) != (w.Route == nil) {
			t.Errorf("input %d: got %+v, want %+v", i, g, w)
		} else if g, w := g.Route, w.Route; w != nil && (!slices.Equal(g.Path, w.Path) || g.Valued != w.Valued || g.Value != w.Value) {
			t.Errorf("input %d: got %+v, want %+v", i, g, w)
		}
	}
	step(t, l, in)
	for p := range int32(3) {
		if got := l.core.Decision(p); len(got.Hops) > 0 {
			t.Errorf("prefix %v: got hops %v, want none", dual[p], got.Hops)
		}
	}
}

// Both families, announced and withdrawn, in one UPDATE are one event.
func TestAnUpdateOfBothFamiliesIsTakenWhole(t *testing.T) {
	l := newLabOf(t, dual, 48, 1)
	b := l.connect(0)
	l.speaker.Freeze()
	b.send(bgp.NewBGPUpdateMessage([]*bgp.IPAddrPrefix{nlri(dual[0])}, []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{65002})}),
		bgp.NewPathAttributeMpReachNLRI("::ffff:127.9.48.2", []bgp.AddrPrefixInterface{nlri6(dual[1])}),
		bgp.NewPathAttributeMpUnreachNLRI([]bgp.AddrPrefixInterface{nlri6(dual[2])}),
	}, nil))
	got := map[int32]speakers.InputKind{}
	for _, in := range l.took(3) {
		got[in.Prefix] = in.Kind
	}
	if got[0] != speakers.Withdraw || got[1] != speakers.Announce || got[2] != speakers.Withdraw || len(got) != 3 {
		t.Errorf("got %v, want 0 and 2 withdrawn and 1 announced", got)
	}
}

// End-of-RIB holds no prefix: nothing is handed over by a wire, and nothing may
// be taken.
func TestEndOfRIBOfEitherFamilyIsNoInput(t *testing.T) {
	l := newLabOf(t, dual, 49, 1)
	b := l.connect(0)
	l.speaker.Freeze()
	for _, f := range []bgp.RouteFamily{bgp.RF_IPv4_UC, bgp.RF_IPv6_UC} {
		b.send(bgp.NewEndOfRib(f))
	}
	b.announce(dual[1], []uint32{65002})
	if got := kinds(l.took(1)); !slices.Equal(got, []speakers.InputKind{speakers.Announce}) {
		t.Errorf("queue: got %v, want the route alone", got)
	}
}

// A session that comes back begins with a dump of what is told, and ends the
// core's candidates of both families when it falls.
func TestASessionThatComesBackIsToldIPv6Again(t *testing.T) {
	l := newLabOf(t, dual, 50, 1)
	b := l.connect(0)
	l.tell(0, 65009)
	l.tell(1, 65009)
	l.tell(2, 65009)
	if err := l.speaker.untell(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	l.heard(b, 1)
	b.announce(dual[1], []uint32{65002})
	step(t, l, l.took(1))
	if got := l.core.Candidates(1, nil); len(got) != 1 {
		t.Fatalf("candidates: got %v, want one", got)
	}
	l.away(b)
	step(t, l, l.speaker.Freeze())
	if got := l.core.Candidates(1, nil); len(got) != 0 {
		t.Errorf("candidates after the fall: got %v, want none", got)
	}
	again := l.comeBack(l.addr(2).String(), testASN+1)
	l.log.until(t, "ESTABLISHED", func() bool { return l.log.states[0] == api.PeerState_ESTABLISHED })
	dump := l.heard(again, 2)
	slices.Sort(dump) // it has no order
	expect(t, "dump", dump, []string{"+10.0.0.0/24[65001 65009]", "+fd00:1::/48[65001 65009]"})
}

// A speaker that starts again holds nothing, of neither family.
func TestARestartForgetsIPv6(t *testing.T) {
	l := newLabOf(t, dual, 51, 1)
	b := l.connect(0)
	l.tell(0, 65009)
	l.tell(1, 65009)
	l.heard(b, 1)
	l.away(b)
	if err := l.speaker.Restart(context.Background(), speakers.New(l.speaker.opts.Config)); err != nil {
		t.Fatal(err)
	}
	again := l.comeBack(l.addr(2).String(), testASN+1)
	l.log.until(t, "ESTABLISHED", func() bool { return l.log.states[0] == api.PeerState_ESTABLISHED })
	expect(t, "dump", l.heard(again, 2), nil)
	l.tell(1, 65010)
	expect(t, "told anew", l.heard(again, 3), []string{"+fd00:1::/48[65001 65010]"})
}

// GoBGP prints an IPv4 address in IPv6 form as the IPv4 address, so a prefix of
// that block would come back as another one. Topologies refuse it.
func TestFindingMappedPrefixesAreNotKnownAgain(t *testing.T) {
	mapped := netip.MustParsePrefix("::ffff:10.0.0.0/104")
	if got := nlri6(mapped).Prefix.String(); got == mapped.Addr().String() {
		t.Errorf("GoBGP now prints %s as it is: the finding is out of date", got)
	}
}
