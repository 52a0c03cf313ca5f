package gobgp

import (
	"fmt"
	"net/netip"

	api "github.com/osrg/gobgp/v3/api"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// Prefixes numbers the prefixes of a rig. It is shared by all its speakers and
// never changes.
type Prefixes struct {
	list     []netip.Prefix
	wire     [][]byte // as NLRI
	families []*api.Family
	index    map[netip.Prefix]int32
	sixes    bool // some are of IPv6
}

// NewPrefixes numbers prefixes in the given order.
func NewPrefixes(list []netip.Prefix) *Prefixes {
	p := &Prefixes{list: list, index: make(map[netip.Prefix]int32, len(list))}
	for i, prefix := range list {
		family := ipv4
		if prefix.Addr().Is6() {
			family, p.sixes = ipv6, true
		}
		p.wire = append(p.wire, wireForm(prefix))
		p.families = append(p.families, family)
		p.index[prefix] = int32(i)
	}
	return p
}

// negotiated lists the families that a session carries; nil is what GoBGP
// takes by itself for a neighbour with an IPv4 address, IPv4 unicast. IPv6
// comes on top of it and never alone, because fences are of IPv4.
func (p *Prefixes) negotiated() []*api.AfiSafi {
	if !p.sixes {
		return nil
	}
	var list []*api.AfiSafi
	for _, f := range []*api.Family{ipv4, ipv6} {
		list = append(list, &api.AfiSafi{Config: &api.AfiSafiConfig{Family: f, Enabled: true}})
	}
	return list
}

// Index is the number of a prefix.
func (p *Prefixes) Index(prefix netip.Prefix) (int32, bool) {
	i, ok := p.index[prefix]
	return i, ok
}

// wireForm is a prefix as NLRI: its length in bits, then as many bytes as hold it.
func wireForm(p netip.Prefix) []byte {
	b := p.Addr().AsSlice()
	return append([]byte{byte(p.Bits())}, b[:(p.Bits()+7)/8]...)
}

// decoder turns API paths into core inputs. The few distinct attributes of a
// run arrive again and again, so each is decoded once and found by its bytes.
type decoder struct {
	prefixes *Prefixes
	nlri     map[string]int32
	paths    map[string][]uint32
	values   map[string]value
	tags     map[string][]uint32
}

type value struct {
	valid bool
	bytes float32
}

// decoderCache bounds each cache; beyond it the cache starts anew.
const decoderCache = 4096

func newDecoder(p *Prefixes) decoder {
	return decoder{prefixes: p, nlri: map[string]int32{}, paths: map[string][]uint32{}, values: map[string]value{}, tags: map[string][]uint32{}}
}

func (d *decoder) input(p *api.Path) (speakers.Input, error) {
	prefix, err := cached(d.nlri, p.Nlri, d.prefix)
	if err != nil {
		return speakers.Input{}, err
	}
	if p.IsWithdraw {
		return speakers.Input{Kind: speakers.Withdraw, Prefix: prefix}, nil
	}
	in := speakers.Input{Kind: speakers.Announce, Prefix: prefix, Route: &speakers.Route{}}
	for _, attr := range p.Pattrs {
		if err := d.attribute(attr, in.Route); err != nil {
			return speakers.Input{}, fmt.Errorf("prefix %v: %w", d.prefixes.list[prefix], err)
		}
	}
	*in.Route = in.Route.Normal()
	return in, nil
}

func (d *decoder) attribute(attr *anypb.Any, route *speakers.Route) error {
	switch attr.TypeUrl {
	case urlASPath:
		path, err := cached(d.paths, attr, asNumbers)
		route.Path = path
		return err
	case urlExtended:
		v, err := cached(d.values, attr, lowestValue)
		route.Valued, route.Value = v.valid, v.bytes
		return err
	case urlCommunities:
		tags, err := cached(d.tags, attr, communityNumbers)
		route.Tags = tags
		return err
	case urlOrigin:
		var origin api.OriginAttribute
		err := attr.UnmarshalTo(&origin)
		route.Origin = uint8(origin.Origin)
		return err
	case urlLocalPref:
		var pref api.LocalPrefAttribute
		err := attr.UnmarshalTo(&pref)
		route.LocalPref = pref.LocalPref
		return err
	}
	return nil
}

// cached decodes an attribute or finds it decoded.
func cached[T any](cache map[string]T, attr *anypb.Any, decode func(*anypb.Any) (T, error)) (T, error) {
	if v, ok := cache[string(attr.GetValue())]; ok {
		return v, nil
	}
	v, err := decode(attr)
	if err != nil {
		return v, err
	}
	if len(cache) >= decoderCache {
		clear(cache)
	}
	cache[string(attr.GetValue())] = v
	return v, nil
}

func (d *decoder) prefix(a *anypb.Any) (int32, error) {
	var nlri api.IPAddressPrefix
	if err := a.UnmarshalTo(&nlri); err != nil {
		return 0, err
	}
	addr, err := netip.ParseAddr(nlri.Prefix)
	if err != nil {
		return 0, err
	}
	prefix := netip.PrefixFrom(addr, int(nlri.PrefixLen))
	i, ok := d.prefixes.Index(prefix)
	if !ok {
		return 0, fmt.Errorf("prefix %v is not one of the topology's", prefix)
	}
	return i, nil
}

func asNumbers(a *anypb.Any) ([]uint32, error) {
	var path api.AsPathAttribute
	if err := a.UnmarshalTo(&path); err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, s := range path.Segments {
		numbers = append(numbers, s.Numbers...)
	}
	return numbers, nil
}

func communityNumbers(a *anypb.Any) ([]uint32, error) {
	var list api.CommunitiesAttribute
	err := a.UnmarshalTo(&list)
	return list.Communities, err
}

func lowestValue(a *anypb.Any) (value, error) {
	var list api.ExtendedCommunitiesAttribute
	if err := a.UnmarshalTo(&list); err != nil {
		return value{}, err
	}
	low := value{}
	for _, c := range list.Communities {
		if c.TypeUrl != urlLinkBandwidth {
			continue
		}
		var lb api.LinkBandwidthExtended
		if err := c.UnmarshalTo(&lb); err != nil {
			return value{}, err
		}
		if v := (linkbw.Community{Value: lb.Bandwidth}); v.Valid() && (!low.valid || v.Value < low.bytes) {
			low = value{valid: true, bytes: v.Value}
		}
	}
	return low, nil
}

const (
	urlPrefix        = "type.googleapis.com/apipb."
	urlASPath        = urlPrefix + "AsPathAttribute"
	urlExtended      = urlPrefix + "ExtendedCommunitiesAttribute"
	urlCommunities   = urlPrefix + "CommunitiesAttribute"
	urlOrigin        = urlPrefix + "OriginAttribute"
	urlLocalPref     = urlPrefix + "LocalPrefAttribute"
	urlLinkBandwidth = urlPrefix + "LinkBandwidthExtended"
)
