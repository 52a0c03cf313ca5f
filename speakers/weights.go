package speakers

import (
	"math"
	"math/bits"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

// weigh gives the shares of a multipath set and its bottleneck value: the sum
// over the neighbours of min(capacity of the bundles to it, value received
// from it). A member without a valid value makes the set equal and leaves it
// without a value (RFC 10005 S4). A zero takes no share and adds nothing; when
// all are zero the shares are equal and the value is 0.
func (c *Core) weigh(p int32, set []int) (hops []Hop, valued bool, bottleneck uint64) {
	if len(set) == 0 {
		return nil, false, 0
	}
	row := c.candidates[int(p)*len(c.sessions):]
	hops = make([]Hop, len(set))
	valued = true
	for i, s := range set {
		hops[i] = Hop{Bundle: c.cfg.Sessions[s].Bundle, Share: 1}
		valued = valued && row[s].route.Valued
	}
	if !valued {
		return hops, false, 0
	}
	for i, s := range set {
		if c.parallel && c.pairSeen(set[:i], s) {
			continue
		}
		value := min(c.sessions[s].passed.Capacity, linkbw.ToBits(row[s].route.Value))
		if c.parallel {
			value = c.splitPair(row, set, i, hops)
		} else {
			hops[i].Share = value
		}
		bottleneck = saturatingAdd(bottleneck, value)
	}
	if bottleneck == 0 {
		for i := range hops {
			hops[i].Share = 1
		}
	}
	return hops, true, bottleneck
}

// pairSeen tells whether an earlier member leads to the same neighbour as s.
func (c *Core) pairSeen(earlier []int, s int) bool {
	for _, e := range earlier {
		if c.cfg.Sessions[e].Neighbor == c.cfg.Sessions[s].Neighbor {
			return true
		}
	}
	return false
}

// splitPair works out the value of all bundles to the neighbour of set[first]
// together, and splits it over them in proportion to their capacities. The
// units that rounding leaves go one each to the first bundles, so the shares
// add up exactly.
func (c *Core) splitPair(row []candidate, set []int, first int, hops []Hop) uint64 {
	neighbor := c.cfg.Sessions[set[first]].Neighbor
	capacity, received := uint64(0), uint64(math.MaxUint64)
	for _, s := range set[first:] {
		if c.cfg.Sessions[s].Neighbor == neighbor {
			capacity = saturatingAdd(capacity, c.sessions[s].passed.Capacity)
			received = min(received, linkbw.ToBits(row[s].route.Value))
		}
	}
	value := min(capacity, received)
	left := value
	for i := first; i < len(set); i++ {
		if c.cfg.Sessions[set[i]].Neighbor == neighbor {
			hi, lo := bits.Mul64(value, c.sessions[set[i]].passed.Capacity)
			hops[i].Share, _ = bits.Div64(hi, lo, capacity)
			left -= hops[i].Share
		}
	}
	for i := first; left > 0; i++ {
		if c.cfg.Sessions[set[i]].Neighbor == neighbor {
			hops[i].Share++
			left--
		}
	}
	return value
}

func saturatingAdd(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
