package gobgp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// FencePrefix is the reserved prefix of fences (RFC 5737 documentation range).
// A wire that sees it swallows it; no speaker ever learns it.
var FencePrefix = netip.MustParsePrefix("192.0.2.1/32")

// Communities as GoBGP's policy text has them: speakers.ScopeDown, and the mark
// of a route that is told to nobody any more, which no neighbour ever sees.
const (
	scopeDown = "65000:1"
	scopeGone = "65000:2"

	gone uint32 = 65000<<16 | 2
)

var (
	ipv4 = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
	ipv6 = &api.Family{Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_UNICAST}
)

// addPolicies makes the server a carrier of what the core tells and of nothing
// else. Learned routes are rejected on import: the withdrawal of one would pass
// every export policy, and GoBGP would choose among them at every UPDATE for
// nothing. Export rejects them as a second lock, and keeps what was learned
// from above away from above.
func (s *Speaker) addPolicies(ctx context.Context) error {
	learned := func(name string) *api.Statement {
		return &api.Statement{
			Name:       name,
			Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_EXTERNAL},
			Actions:    &api.Actions{RouteAction: api.RouteAction_REJECT},
		}
	}
	sets := []*api.DefinedSet{{DefinedType: api.DefinedType_COMMUNITY, Name: "gone", List: []string{scopeGone}}}
	hops, neighbours := s.nextHops()
	sets = append(sets, neighbours...)
	export := append(hops, learned("export-learned"), &api.Statement{
		Name:       "export-gone",
		Conditions: &api.Conditions{CommunitySet: &api.MatchSet{Type: api.MatchSet_ANY, Name: "gone"}},
		Actions:    &api.Actions{RouteAction: api.RouteAction_REJECT},
	})
	if above := s.above(); len(above) > 0 {
		sets = append(sets,
			&api.DefinedSet{DefinedType: api.DefinedType_COMMUNITY, Name: "down", List: []string{scopeDown}},
			&api.DefinedSet{DefinedType: api.DefinedType_NEIGHBOR, Name: "above", List: above})
		export = append(export, &api.Statement{
			Name: "export-valley",
			Conditions: &api.Conditions{
				CommunitySet: &api.MatchSet{Type: api.MatchSet_ANY, Name: "down"},
				NeighborSet:  &api.MatchSet{Type: api.MatchSet_ANY, Name: "above"},
			},
			Actions: &api.Actions{RouteAction: api.RouteAction_REJECT},
		})
	}
	for _, set := range sets {
		if err := s.manage(func() error { return s.server.AddDefinedSet(ctx, &api.AddDefinedSetRequest{DefinedSet: set}) }); err != nil {
			return err
		}
	}
	if err := s.assign(ctx, "import", api.PolicyDirection_IMPORT, learned("import-learned")); err != nil {
		return err
	}
	return s.assign(ctx, "export", api.PolicyDirection_EXPORT, export...)
}

// nextHops gives the statements that tell neighbours another next hop than the
// session's own address, and the sets that they need. They decide nothing.
func (s *Speaker) nextHops() (statements []*api.Statement, sets []*api.DefinedSet) {
	for i, p := range s.opts.Peers {
		name := fmt.Sprintf("neighbour-%d", i)
		for _, to := range []struct {
			family *api.Family
			hop    netip.Addr
		}{{ipv4, p.NextHop}, {ipv6, p.NextHop6}} {
			if !to.hop.IsValid() {
				continue
			}
			statements = append(statements, &api.Statement{
				Name: fmt.Sprintf("next-hop-%d-%v", i, to.family.Afi),
				Conditions: &api.Conditions{
					AfiSafiIn:   []*api.Family{to.family},
					NeighborSet: &api.MatchSet{Type: api.MatchSet_ANY, Name: name},
				},
				Actions: &api.Actions{Nexthop: &api.NexthopAction{Address: to.hop.String()}},
			})
		}
		if p.NextHop.IsValid() || p.NextHop6.IsValid() {
			sets = append(sets, &api.DefinedSet{DefinedType: api.DefinedType_NEIGHBOR, Name: name, List: []string{netip.PrefixFrom(p.Remote, p.Remote.BitLen()).String()}})
		}
	}
	return statements, sets
}

// above lists the neighbours of a higher or the same tier.
func (s *Speaker) above() (list []string) {
	for _, p := range s.opts.Peers {
		if p.Above {
			list = append(list, netip.PrefixFrom(p.Remote, p.Remote.BitLen()).String())
		}
	}
	return list
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
	if old := s.told[prefix]; old.Present && s.loopsAnew(old.Path, told.Path) {
		if err := s.untell(ctx, prefix); err != nil {
			return err
		}
	}
	s.told[prefix] = *told
	return s.addPath(ctx, prefix, told)
}

func (s *Speaker) loopsAnew(old, path []uint32) bool {
	for _, p := range s.opts.Peers {
		if slices.Contains(path, p.ASN) && !slices.Contains(old, p.ASN) {
			return true
		}
	}
	return false
}

// untell withdraws a route from all neighbours that heard it. DeletePath would
// send a withdrawal to the others too, because GoBGP's export policies let
// every withdrawal pass. So the route stays, marked as gone: policy rejects it,
// and GoBGP withdraws it from those whom the old one had passed to. It keeps
// its AS_PATH, so that a neighbour in it, who never heard it, hears nothing.
func (s *Speaker) untell(ctx context.Context, prefix int32) error {
	old := s.told[prefix]
	s.told[prefix] = speakers.Told{}
	return s.addPath(ctx, prefix, &old, gone)
}

// Fence tells every neighbour the fence prefix with a number that has not been
// used before. The server's queues are first in, first out, so a wire that
// reads it has read all that was told before.
func (s *Speaker) Fence(ctx context.Context, number uint32) error {
	return s.add(ctx, &api.Path{
		Family: ipv4, NlriBinary: wireForm(FencePrefix), PattrsBinary: [][]byte{originIGP, nextHopSelf, communities(number)},
	})
}

// addPath adds a local path. GoBGP takes the NEXT_HOP of an IPv6 path over into
// MP_REACH_NLRI and replaces 0.0.0.0 there too, by the session's own address,
// which is an IPv4 one in its IPv6 form.
func (s *Speaker) addPath(ctx context.Context, prefix int32, told *speakers.Told, marks ...uint32) error {
	path := &api.Path{Family: s.opts.Prefixes.families[prefix], NlriBinary: s.opts.Prefixes.wire[prefix]}
	if told.Valued && told.Form != "" {
		attrs, err := apiAttributes(s.opts.Config.ASN, told, marks)
		if err != nil {
			return err
		}
		path.Pattrs = attrs
	} else {
		path.PattrsBinary = attributes(s.opts.Config.ASN, told, marks)
	}
	return s.add(ctx, path)
}

func (s *Speaker) add(ctx context.Context, path *api.Path) error {
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
func attributes(asn uint32, t *speakers.Told, marks []uint32) [][]byte {
	list := [][]byte{originIGP, asPath(t.Path), nextHopSelf}
	if t.Atomic {
		list = append(list, []byte{attrTransitive, byte(bgp.BGP_ATTR_TYPE_ATOMIC_AGGREGATE), 0})
	}
	if tags := tags(t, marks); len(tags) > 0 {
		list = append(list, communities(tags...))
	}
	if t.Valued {
		community := linkbw.Community{ASN: linkbw.GlobalAdministrator(asn), Value: t.Value}.Encode()
		list = append(list, append([]byte{attrOptional | attrTransitive, byte(bgp.BGP_ATTR_TYPE_EXTENDED_COMMUNITIES), byte(len(community))}, community[:]...))
	}
	return list
}

// tags are the standard communities of a told route.
func tags(t *speakers.Told, marks []uint32) []uint32 {
	if t.Down {
		marks = append(marks, speakers.ScopeDown)
	}
	if t.Warm {
		marks = append(marks, speakers.GracefulShutdown)
	}
	return marks
}

// apiAttributes is attributes for a value in a transitive community. GoBGP
// decodes both transitivities to one type that it always encodes as
// non-transitive, so the transitive one goes in as a two-octet AS specific
// community with the sub-type of link bandwidth.
func apiAttributes(asn uint32, t *speakers.Told, marks []uint32) ([]*anypb.Any, error) {
	admin := uint32(linkbw.GlobalAdministrator(asn))
	extended := []proto.Message{&api.TwoOctetAsSpecificExtended{
		IsTransitive: true, SubType: uint32(bgp.EC_SUBTYPE_LINK_BANDWIDTH), Asn: admin, LocalAdmin: math.Float32bits(t.Value),
	}}
	if t.Form == topologies.BothTransitive {
		extended = append(extended, &api.LinkBandwidthExtended{Asn: admin, Bandwidth: t.Value})
	}
	list, err := anyList(extended)
	if err != nil {
		return nil, err
	}
	attrs := []proto.Message{
		&api.OriginAttribute{}, &api.NextHopAttribute{NextHop: "0.0.0.0"}, &api.ExtendedCommunitiesAttribute{Communities: list},
	}
	if t.Atomic {
		attrs = append(attrs, &api.AtomicAggregateAttribute{})
	}
	if len(t.Path) > 0 {
		attrs = append(attrs, &api.AsPathAttribute{Segments: []*api.AsSegment{{Type: api.AsSegment_AS_SEQUENCE, Numbers: t.Path}}})
	}
	if tags := tags(t, marks); len(tags) > 0 {
		attrs = append(attrs, &api.CommunitiesAttribute{Communities: tags})
	}
	return anyList(attrs)
}

func anyList(messages []proto.Message) ([]*anypb.Any, error) {
	var list []*anypb.Any
	for _, m := range messages {
		a, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func communities(list ...uint32) []byte {
	attr := []byte{attrOptional | attrTransitive, byte(bgp.BGP_ATTR_TYPE_COMMUNITIES), byte(4 * len(list))}
	for _, c := range list {
		attr = binary.BigEndian.AppendUint32(attr, c)
	}
	return attr
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
