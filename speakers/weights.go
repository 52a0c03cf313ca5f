package speakers

import (
	"math"
	"math/bits"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// weigh gives the shares of a multipath set and its bottleneck value: the sum
// over the neighbours of min(capacity of the bundles to it, value received
// from it). A member without a valid value makes the set equal and leaves it
// without a value (RFC 10005 S4). A zero takes no share and adds nothing; when
// all are zero the shares are equal and the value is 0. The hops are valid
// until the next call.
func (c *Core) weigh(p int32, set []int) ([]Hop, damping.Value) {
	if len(set) == 0 {
		return nil, damping.Value{Reach: damping.Gone}
	}
	row, hops := c.row(p), c.hops[:len(set)]
	for i, s := range set {
		hops[i].Bundle = c.cfg.Sessions[s].Bundle
	}
	for _, s := range set {
		if !row[s].route.Valued {
			equalShares(hops)
			return hops, damping.Value{Reach: damping.Unvalued}
		}
	}
	bottleneck := uint64(0)
	for i, s := range set {
		switch {
		case !c.parallel:
			hops[i].Share = min(c.sessions[s].passed.Capacity, linkbw.ToBits(row[s].route.Value))
			bottleneck = saturatingAdd(bottleneck, hops[i].Share)
		case c.leadsPair(set, i):
			bottleneck = saturatingAdd(bottleneck, c.splitPair(row, set[i:], hops[i:]))
		}
	}
	if bottleneck == 0 {
		equalShares(hops)
	}
	return hops, damping.Value{Reach: damping.Valued, Bits: bottleneck}
}

func equalShares(hops []Hop) {
	for i := range hops {
		hops[i].Share = 1
	}
}

// leadsPair tells whether set[i] is the first member that leads to its
// neighbour.
func (c *Core) leadsPair(set []int, i int) bool {
	for _, s := range set[:i] {
		if c.cfg.Sessions[s].Neighbor == c.cfg.Sessions[set[i]].Neighbor {
			return false
		}
	}
	return true
}

// splitPair works out the value of all bundles to the neighbour of set[0]
// together, and splits it over them in proportion to their capacities. The
// units that rounding leaves go one each to the first bundles, so the shares
// add up exactly.
func (c *Core) splitPair(row []candidate, set []int, hops []Hop) uint64 {
	neighbor := c.cfg.Sessions[set[0]].Neighbor
	capacity, received := uint64(0), uint64(math.MaxUint64)
	for _, s := range set {
		if c.cfg.Sessions[s].Neighbor == neighbor {
			capacity = saturatingAdd(capacity, c.sessions[s].passed.Capacity)
			received = min(received, linkbw.ToBits(row[s].route.Value))
		}
	}
	value := min(capacity, received)
	left := value
	for i, s := range set {
		if c.cfg.Sessions[s].Neighbor == neighbor {
			hi, lo := bits.Mul64(value, c.sessions[s].passed.Capacity)
			share, _ := bits.Div64(hi, lo, capacity)
			hops[i].Share = min(share, left) // less than share only where capacity is saturated
			left -= hops[i].Share
		}
	}
	for i := 0; left > 0; i++ {
		if c.cfg.Sessions[set[i]].Neighbor == neighbor {
			hops[i].Share++
			left--
		}
	}
	return value
}

// saturatingAdd is a + b, or the maximum of uint64 where that does not fit.
func saturatingAdd(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
