package topologies

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
)

// Addressing says which families the prefixes of a generated network have.
//
// IPv4: region r has 10.r.0.0/16, its fabric f the f-th /20 of that, and the
// fabric's n-th owner, one of its racks or, without these, of its spines, the
// n-th /24 of that; where a fabric has more than 16, the n-th of the shortest
// prefixes of which there are enough (/25 for up to 32, ... /28 for 256).
// IPv6: region r has fd00:ba9:r::/48 (r in hexadecimal), its fabric f the f-th
// /56 of that, and the fabric's n-th owner the n-th /64 of that. A fabric's and
// a region's prefix is originated by all their owners. The backbone's is the
// default route. Dual: each IPv4 prefix is followed by its IPv6 twin.
type Addressing uint8

// The families.
const (
	IPv4 Addressing = iota
	IPv6
	Dual
)

var addressings = [...]string{IPv4: "ipv4", IPv6: "ipv6", Dual: "dual"}

func (a Addressing) String() string {
	if int(a) < len(addressings) {
		return addressings[a]
	}
	return fmt.Sprintf("Addressing(%d)", uint8(a))
}

// ParseAddressing reads a family as String prints it.
func ParseAddressing(s string) (Addressing, bool) {
	i := slices.Index(addressings[:], s)
	return Addressing(max(i, 0)), i >= 0
}

// The addressing scheme's limits: 255 /16s beside 10.0.0.0/16, 16 /20s in each,
// and from 16 /24s to 256 /28s in each of those.
const maxRegions, maxFabrics, maxOwners = 255, 16, 256

// block is a place in the addressing scheme; what is 0 is the whole of it.
type block struct{ region, fabric, slot, slots int }

func (b block) v4() netip.Prefix {
	if b.region == 0 {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	length, host := 16, 0
	if b.fabric > 0 {
		length, host = 20, (b.fabric-1)<<12
	}
	if b.slot > 0 {
		length = 20 + bits.Len(uint(max(b.slots, 16)-1))
		host += (b.slot - 1) << (32 - length)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(b.region), byte(host >> 8), byte(host)}), length)
}

func (b block) v6() netip.Prefix {
	if b.region == 0 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	a, length := [16]byte{0: 0xfd, 2: 0x0b, 3: 0xa9, 5: byte(b.region)}, 48
	if b.fabric > 0 {
		a[6], length = byte(b.fabric-1), 56
	}
	if b.slot > 0 {
		a[7], length = byte(b.slot-1), 64
	}
	return netip.PrefixFrom(netip.AddrFrom16(a), length)
}

// prefix adds a prefix in the families that the shape has, each with a list of
// origins and an aggregate of its own.
func (g *generator) prefix(p Prefix, b block) {
	add := func(at netip.Prefix) {
		q := p
		q.Prefix, q.Origins = at, slices.Clone(p.Origins)
		if p.Aggregate != nil {
			a := *p.Aggregate
			q.Aggregate = &a
		}
		g.t.Prefixes = append(g.t.Prefixes, q)
	}
	if g.Addressing != IPv6 {
		add(b.v4())
	}
	if g.Addressing != IPv4 {
		add(b.v6())
	}
}
