package gobgp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/speakers"
)

// opinion is how GoBGP ranks a learned path, as far as ORIGIN. MED, age, router
// id and address, which come after it, are left out: the core uses all that tie.
type opinion struct {
	localPref uint32
	length    int
	origin    uint32
}

// openImport lets learned routes into the server's table, as the core takes them:
// those that are told to be on their way out last (RFC 8326 S4.3), and none that
// hold the own ASN. A LOCAL_PREF of 0, which the core gives those on their way
// out, means to GoBGP's policy that none is set, so it is 1 here. The core itself
// still hears everything.
func (l *lab) openImport() {
	l.t.Helper()
	ctx, s := context.Background(), l.speaker
	for _, set := range []*api.DefinedSet{
		{DefinedType: api.DefinedType_COMMUNITY, Name: "warm", List: []string{"65535:0"}},
		{DefinedType: api.DefinedType_AS_PATH, Name: "own", List: []string{fmt.Sprintf("_%d_", testASN)}},
	} {
		if err := s.manage(func() error { return s.server.AddDefinedSet(ctx, &api.AddDefinedSetRequest{DefinedSet: set}) }); err != nil {
			l.t.Fatal(err)
		}
	}
	policy := &api.Policy{Name: "import-open", Statements: []*api.Statement{
		{
			Name:       "import-own",
			Conditions: &api.Conditions{AsPathSet: &api.MatchSet{Type: api.MatchSet_ANY, Name: "own"}},
			Actions:    &api.Actions{RouteAction: api.RouteAction_REJECT},
		},
		{
			Name:       "import-warm",
			Conditions: &api.Conditions{CommunitySet: &api.MatchSet{Type: api.MatchSet_ANY, Name: "warm"}},
			Actions:    &api.Actions{RouteAction: api.RouteAction_ACCEPT, LocalPref: &api.LocalPrefAction{Value: 1}},
		},
	}}
	if err := s.manage(func() error { return s.server.AddPolicy(ctx, &api.AddPolicyRequest{Policy: policy}) }); err != nil {
		l.t.Fatal(err)
	}
	if err := s.manage(func() error {
		return s.server.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: api.PolicyDirection_IMPORT, Policies: []*api.Policy{{Name: policy.Name}}, DefaultAction: api.RouteAction_ACCEPT,
		}})
	}); err != nil {
		l.t.Fatal(err)
	}
}

// leading lists, by prefix, the bundles of the learned paths that GoBGP holds for
// best, with their rank, and all the learned ones in its order for the eyes.
func (l *lab) leading() (best map[string][]int32, all map[string][]string) {
	l.t.Helper()
	best, all = map[string][]int32{}, map[string][]string{}
	err := l.speaker.manage(func() error {
		return l.speaker.server.ListPath(context.Background(), &api.ListPathRequest{TableType: api.TableType_GLOBAL, Family: ipv4}, func(d *api.Destination) {
			first := opinion{}
			for _, p := range d.Paths {
				i, learned := l.speaker.byAddress[p.NeighborIp]
				if !learned {
					continue // told by the core
				}
				o := l.opinionOf(p)
				if all[d.Prefix] == nil {
					first = o
				}
				bundle := l.speaker.opts.Peers[i].Bundle
				if o == first {
					if len(best[d.Prefix]) != len(all[d.Prefix]) {
						l.t.Errorf("%s: paths that tie with the first come after others", d.Prefix)
					}
					best[d.Prefix] = append(best[d.Prefix], bundle)
				}
				all[d.Prefix] = append(all[d.Prefix], fmt.Sprintf("%d%+v", bundle, o))
			}
			slices.Sort(best[d.Prefix])
		})
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return best, all
}

func (l *lab) opinionOf(p *api.Path) opinion {
	l.t.Helper()
	o := opinion{localPref: speakers.DefaultLocalPref}
	for _, a := range p.Pattrs {
		m, err := a.UnmarshalNew()
		if err != nil {
			l.t.Fatal(err)
		}
		switch m := m.(type) {
		case *api.LocalPrefAttribute:
			o.localPref = m.LocalPref
		case *api.AsPathAttribute:
			for _, s := range m.Segments {
				o.length += len(s.Numbers) // sequences only
			}
		case *api.OriginAttribute:
			o.origin = m.Origin
		}
	}
	return o
}

// anyRoute draws a route that a neighbour might tell. Few values for everything
// that ranks, so that many tie, and all values for what must not matter.
func anyRoute(r *rand.Rand, from net.IP, asn uint32) []bgp.PathAttributeInterface {
	path := []uint32{asn}
	for range r.IntN(3) {
		path = append(path, []uint32{65100, 65101, 65102, testASN}[r.IntN(4)])
	}
	attrs := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(uint8(max(0, r.IntN(6)-3))),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)}),
		bgp.NewPathAttributeNextHop(from.String()),
	}
	if r.IntN(2) == 0 {
		attrs = append(attrs, bgp.NewPathAttributeMultiExitDisc(r.Uint32N(3)))
	}
	if communities := []uint32{speakers.GracefulShutdown, speakers.ScopeDown}[:r.IntN(3)]; r.IntN(2) == 0 && len(communities) > 0 {
		attrs = append(attrs, bgp.NewPathAttributeCommunities(communities))
	}
	if r.IntN(3) > 0 {
		attrs = append(attrs, bgp.NewPathAttributeExtendedCommunities([]bgp.ExtendedCommunityInterface{bgp.NewLinkBandwidthExtended(uint16(asn), float32(r.IntN(4))*1e11)}))
	}
	return attrs
}

// TestGoBGPsLeadingTieGroupIsTheMultipathSet lets neighbours announce, replace and
// withdraw random routes to a speaker whose server takes them into its own table,
// and compares what GoBGP holds for best with what the core chose.
func TestGoBGPsLeadingTieGroupIsTheMultipathSet(t *testing.T) {
	const peers, count, rounds = 6, 40, 25
	var prefixes []netip.Prefix
	for i := range count {
		prefixes = append(prefixes, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i), 0}), 24))
	}
	l := newLabOf(t, prefixes, 40, peers, 1, 4)
	l.openImport()
	var raw []*rawPeer
	for b := range peers {
		raw = append(raw, l.connect(int32(b)))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	heard, sent, wide := map[[2]int]bool{}, 0, 0
	for round := range rounds {
		for b, p := range raw {
			for i, prefix := range prefixes {
				switch at := [2]int{b, i}; {
				case r.IntN(4) > 0 && round > 0:
				case heard[at] && r.IntN(3) == 0:
					p.withdraw(prefix)
					heard[at] = false
					sent++
				default:
					p.send(bgp.NewBGPUpdateMessage(nil, anyRoute(r, p.conn.LocalAddr().(*net.TCPAddr).IP, uint32(testASN+1+b)), []*bgp.IPAddrPrefix{nlri(prefix)}))
					heard[at] = true
					sent++
				}
			}
		}
		step(t, l, l.took(sent))
		best, all := l.leading()
		for i, prefix := range prefixes {
			var set []int32
			for _, h := range l.core.Decision(int32(i)).Hops {
				set = append(set, h.Bundle)
			}
			if got := best[prefix.String()]; !slices.Equal(got, set) {
				t.Fatalf("seed %d, round %d, prefix %s:\n  GoBGP: bundles %v, first of %v\n  core:  bundles %v of %+v", seed, round, prefix, got, all[prefix.String()], set, l.core.Candidates(int32(i), nil))
			}
			if len(set) > 1 {
				wide++
			}
		}
	}
	if wide < count*rounds/10 {
		t.Errorf("got %d sets of several members in %d: want more, or nothing was compared", wide, count*rounds)
	}
}
