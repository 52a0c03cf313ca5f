package gobgp

import (
	"context"
	"encoding/binary"
	"net/netip"
	"slices"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// FencePrefix is the reserved prefix of fences (RFC 5737 documentation range).
// A wire that sees it swallows it; no speaker ever learns it.
var FencePrefix = netip.MustParsePrefix("192.0.2.1/32")

// scopeDown is ScopeDown as GoBGP's policy text has it.
const scopeDown = "65000:1"

var ipv4 = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}

// addPolicies makes the server a carrier of what the core tells and of nothing
// else. Learned routes are rejected on import: a withdrawal would be silent
// while a learned path that loops is next best. Export rejects them as a
// second lock, and keeps what was learned from above away from above.
func (s *Speaker) addPolicies(ctx context.Context) error {
	learned := func(name string) *api.Statement {
		return &api.Statement{
			Name:       name,
			Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_EXTERNAL},
			Actions:    &api.Actions{RouteAction: api.RouteAction_REJECT},
		}
	}
	export := []*api.Statement{learned("export-learned")}
	var above []string
	for _, p := range s.opts.Peers {
		if p.Above {
			above = append(above, netip.PrefixFrom(p.Remote, p.Remote.BitLen()).String())
		}
	}
	if len(above) > 0 {
		for _, set := range []*api.DefinedSet{
			{DefinedType: api.DefinedType_COMMUNITY, Name: "down", List: []string{scopeDown}},
			{DefinedType: api.DefinedType_NEIGHBOR, Name: "above", List: above},
		} {
			if err := s.manage(func() error { return s.server.AddDefinedSet(ctx, &api.AddDefinedSetRequest{DefinedSet: set}) }); err != nil {
				return err
			}
		}
		export = append(export, &api.Statement{
			Name: "export-valley",
			Conditions: &api.Conditions{
				CommunitySet: &api.MatchSet{Type: api.MatchSet_ANY, Name: "down"},
				NeighborSet:  &api.MatchSet{Type: api.MatchSet_ANY, Name: "above"},
			},
			Actions: &api.Actions{RouteAction: api.RouteAction_REJECT},
		})
	}
	if err := s.assign(ctx, "import", api.PolicyDirection_IMPORT, learned("import-learned")); err != nil {
		return err
	}
	return s.assign(ctx, "export", api.PolicyDirection_EXPORT, export...)
}

func (s *Speaker) assign(ctx context.Context, name string, dir api.PolicyDirection, statements ...*api.Statement) error {
	policy := &api.Policy{Name: name, Statements: statements}
	if err := s.manage(func() error { return s.server.AddPolicy(ctx, &api.AddPolicyRequest{Policy: policy}) }); err != nil {
		return err
	}
	return s.manage(func() error {
		return s.server.AddPolicyAssignment(ctx, &api.AddPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: dir, Policies: []*api.Policy{{Name: name}}, DefaultAction: api.RouteAction_ACCEPT,
		}})
	})
}

// tell announces a route. When the new AS_PATH holds a neighbour's ASN that
// the old one did not, GoBGP sends that neighbour nothing and it would keep
// the old route, so the old one is withdrawn first.
func (s *Speaker) tell(ctx context.Context, prefix int32, told *speakers.Told) error {
	if s.isTold[prefix] && s.loopsAnew(s.told[prefix], told.Path) {
		if err := s.untell(ctx, prefix); err != nil {
			return err
		}
	}
	s.isTold[prefix], s.told[prefix] = true, told.Path
	return s.addPath(ctx, &api.Path{
		Family: ipv4, NlriBinary: s.opts.Prefixes.wire[prefix], PattrsBinary: attributes(s.opts.Config.ASN, told),
	})
}

func (s *Speaker) loopsAnew(old, path []uint32) bool {
	for _, p := range s.opts.Peers {
		if slices.Contains(path, p.ASN) && !slices.Contains(old, p.ASN) {
			return true
		}
	}
	return false
}

// untell withdraws a route from all neighbours.
func (s *Speaker) untell(ctx context.Context, prefix int32) error {
	s.isTold[prefix], s.told[prefix] = false, nil
	path := &api.Path{Family: ipv4, NlriBinary: s.opts.Prefixes.wire[prefix], PattrsBinary: [][]byte{originIGP, nextHopSelf}}
	return s.manage(func() error { return s.server.DeletePath(ctx, &api.DeletePathRequest{Path: path}) })
}

// Fence tells every neighbour the fence prefix with a number that has not been
// used before. The server's queues are first in, first out, so a wire that
// reads it has read all that was told before.
func (s *Speaker) Fence(ctx context.Context, number uint32) error {
	community := binary.BigEndian.AppendUint32([]byte{attrOptional | attrTransitive, byte(bgp.BGP_ATTR_TYPE_COMMUNITIES), 4}, number)
	return s.addPath(ctx, &api.Path{
		Family: ipv4, NlriBinary: wireForm(FencePrefix), PattrsBinary: [][]byte{originIGP, nextHopSelf, community},
	})
}

func (s *Speaker) addPath(ctx context.Context, path *api.Path) error {
	return s.manage(func() error {
		_, err := s.server.AddPath(ctx, &api.AddPathRequest{Path: path})
		return err
	})
}

const (
	attrOptional   = byte(bgp.BGP_ATTR_FLAG_OPTIONAL)
	attrTransitive = byte(bgp.BGP_ATTR_FLAG_TRANSITIVE)
	attrExtended   = byte(bgp.BGP_ATTR_FLAG_EXTENDED_LENGTH)
)

var (
	originIGP   = []byte{attrTransitive, byte(bgp.BGP_ATTR_TYPE_ORIGIN), 1, 0}
	nextHopSelf = []byte{attrTransitive, byte(bgp.BGP_ATTR_TYPE_NEXT_HOP), 4, 0, 0, 0, 0}
)

// attributes encodes a told route as path attributes. Link bandwidth goes in
// as a path attribute because GoBGP's policy text turns anything above 34 Gb/s
// into 34 Gb/s.
func attributes(asn uint32, t *speakers.Told) [][]byte {
	list := [][]byte{originIGP, asPath(t.Path), nextHopSelf}
	if t.Down {
		list = append(list, binary.BigEndian.AppendUint32([]byte{attrOptional | attrTransitive, byte(bgp.BGP_ATTR_TYPE_COMMUNITIES), 4}, speakers.ScopeDown))
	}
	if t.Valued {
		community := linkbw.Community{ASN: linkbw.GlobalAdministrator(asn), Value: t.Value}.Encode()
		list = append(list, append([]byte{attrOptional | attrTransitive, byte(bgp.BGP_ATTR_TYPE_EXTENDED_COMMUNITIES), byte(len(community))}, community[:]...))
	}
	return list
}

// asPath encodes one AS_SEQUENCE of four-octet ASNs per 255 of them.
func asPath(path []uint32) []byte {
	var segments []byte
	for chunk := range slices.Chunk(path, 255) {
		segments = append(segments, byte(bgp.BGP_ASPATH_ATTR_TYPE_SEQ), byte(len(chunk)))
		for _, asn := range chunk {
			segments = binary.BigEndian.AppendUint32(segments, asn)
		}
	}
	head := []byte{attrTransitive | attrExtended, byte(bgp.BGP_ATTR_TYPE_AS_PATH)}
	return append(binary.BigEndian.AppendUint16(head, uint16(len(segments))), segments...)
}
