package speakers

import (
	"math"
	"math/bits"

	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// weigh gives the shares of a multipath set: per neighbour the smaller of the
// capacity of the bundles to it and the value received from it, or the value
// received alone, split over the bundles in proportion to their capacities.
// Values that are missing or zero count as the settings say; where all shares
// would be 0 they are equal. The hops are valid until the next call.
func (c *Core) weigh(p int32, set []int) []Hop {
	if len(set) == 0 {
		return nil
	}
	row, hops := c.row(p), c.hops[:len(set)]
	for i, s := range set {
		hops[i] = Hop{Bundle: c.cfg.Sessions[s].Bundle}
	}
	if c.wantsEqual(row, set) {
		equalShares(hops)
		return hops
	}
	some := false
	for i := range set {
		switch {
		case !c.parallel:
			hops[i].Share = c.share(c.pair(row, set[i:i+1]))
		case c.leadsPair(set, i):
			capacity, received := c.pair(row, set[i:])
			c.split(set[i:], hops[i:], c.share(capacity, received), capacity)
		}
		some = some || hops[i].Share > 0
	}
	if !some {
		equalShares(hops)
	}
	return hops
}

// wantsEqual tells whether a value that is missing or zero makes the set equal.
func (c *Core) wantsEqual(row []*Route, set []int) bool {
	for _, s := range set {
		r := row[s]
		if !r.Valued && c.settings.WeightMissing == topologies.MissingECMP ||
			r.Valued && r.Value == 0 && c.settings.WeightZero == topologies.ZeroECMP {
			return true
		}
	}
	return false
}

// share is what a neighbour gets by its capacity and its received value.
func (c *Core) share(capacity, received uint64) uint64 {
	if c.settings.WeightSource == topologies.SourceBottleneck {
		return min(capacity, received)
	}
	return received
}

// received is a route's value in bits/s; 0 where it has none.
func (c *Core) received(r *Route) uint64 {
	if !r.Valued {
		return 0
	}
	return linkbw.ToBits(r.Value)
}

func equalShares(hops []Hop) {
	for i := range hops {
		hops[i].Share = 1
	}
}

// leadsPair tells whether set[i] is the first member that leads to its
// neighbour.
func (c *Core) leadsPair(set []int, i int) bool {
	if !c.parallel {
		return true
	}
	for _, s := range set[:i] {
		if c.cfg.Sessions[s].Neighbor == c.cfg.Sessions[set[i]].Neighbor {
			return false
		}
	}
	return true
}

// pairFrom is the part of a set that holds all members that lead to the
// neighbour of set[i], which is the first of them.
func (c *Core) pairFrom(set []int, i int) []int {
	if !c.parallel {
		return set[i : i+1]
	}
	return set[i:]
}

// pair gives the capacity of all bundles to the neighbour of set[0] together,
// and the lowest value received over them. Without any value that is 0, or
// their capacity where the settings have missing ones count as that.
func (c *Core) pair(row []*Route, set []int) (capacity, received uint64) {
	valued := false
	for _, s := range set {
		if c.cfg.Sessions[s].Neighbor != c.cfg.Sessions[set[0]].Neighbor {
			continue
		}
		capacity = saturatingAdd(capacity, c.sessions[s].passed.Capacity)
		switch r := row[s]; {
		case r.Valued && !valued:
			received, valued = c.received(r), true
		case r.Valued:
			received = min(received, c.received(r))
		}
	}
	if !valued && c.settings.WeightMissing == topologies.MissingDefault {
		received = capacity
	}
	return capacity, received
}

// split divides a neighbour's share over the bundles to it in proportion to
// their capacities. The units that rounding leaves go one each to the first
// bundles, so the shares add up exactly.
func (c *Core) split(set []int, hops []Hop, share, capacity uint64) {
	neighbor := c.cfg.Sessions[set[0]].Neighbor
	left := share
	for i, s := range set {
		if c.cfg.Sessions[s].Neighbor == neighbor {
			hi, lo := bits.Mul64(share, c.sessions[s].passed.Capacity)
			part := share
			if hi < capacity {
				part, _ = bits.Div64(hi, lo, capacity)
			}
			hops[i].Share = min(part, left) // less only where capacity is saturated
			left -= hops[i].Share
		}
	}
	for i := 0; left > 0; i++ {
		if c.cfg.Sessions[set[i]].Neighbor == neighbor {
			hops[i].Share++
			left--
		}
	}
}

// saturatingAdd is a + b, or the maximum of uint64 where that does not fit.
func saturatingAdd(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
