package speakers

import (
	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// value is the bottleneck value of a prefix: what the settings make of the
// multipath set, or the constant of a prefix that the device originates,
// before the told value is damped.
func (c *Core) value(p int32, set []int, best int, told Told) damping.Value {
	none := damping.Value{Reach: damping.Unvalued}
	bits, ok := uint64(0), true
	switch mode := c.settings.Advertise; {
	case mode == topologies.AdvertiseDisable:
		return none
	case mode == topologies.AdvertiseSet:
		bits = c.settings.AdvertiseValue
	case best < 0 && c.prefixes[p].aggregate >= 0:
		bits = c.aggregates[c.prefixes[p].aggregate].capacity
	case best < 0:
		bits = c.cfg.Origins[c.prefixes[p].origin].Bandwidth
	case mode == topologies.AdvertiseAggregateReceived:
		bits, ok = c.aggregateReceived(p, set)
	case mode == topologies.AdvertiseAggregateLocal:
		for _, s := range set {
			bits = saturatingAdd(bits, c.sessions[s].passed.Capacity)
		}
	case mode == topologies.AdvertiseBestPath:
		route := c.row(p)[best]
		bits, ok = c.received(route), route.Valued
	default:
		bits, ok = c.bottleneckSum(p, set)
	}
	if !ok {
		return none
	}
	if c.settings.Divide == topologies.DivideEqual {
		told.Present = true
		bits /= uint64(max(c.hearersAbove(told), 1))
	}
	return damping.Value{Reach: damping.Valued, Bits: bits}
}

// bottleneckSum is the sum over the neighbours of min(capacity of the bundles
// to it, value received from it), unless a value is missing and that makes the
// set equal (RFC 10005 S4), or is missing everywhere.
func (c *Core) bottleneckSum(p int32, set []int) (sum uint64, ok bool) {
	row := c.row(p)
	for i, s := range set {
		r := row[s]
		if !r.Valued && c.settings.WeightMissing == topologies.MissingECMP {
			return 0, false
		}
		ok = ok || r.Valued || c.settings.WeightMissing == topologies.MissingDefault
		if !c.leadsPair(set, i) {
			continue
		}
		capacity, received := c.pair(row, c.pairFrom(set, i))
		sum = saturatingAdd(sum, min(capacity, received))
	}
	return sum, ok
}

// aggregateReceived is BGP++'s sum over all members, all or nothing: a value
// that is missing or zero anywhere removes the community.
func (c *Core) aggregateReceived(p int32, set []int) (sum uint64, ok bool) {
	row := c.row(p)
	for _, s := range set {
		r := row[s]
		if !r.Valued || r.Value == 0 {
			return 0, false
		}
		sum = saturatingAdd(sum, c.received(r))
	}
	return sum, true
}

// hearersAbove counts the neighbours of the upper or the same tier, over
// bundles that are not down, that may hear the route.
func (c *Core) hearersAbove(told Told) int {
	n := 0
	for s, to := range c.cfg.Sessions {
		if to.NeighborRole >= c.cfg.Role && c.sessions[s].passed.Capacity > 0 && c.exports(s, &told) && !c.hearsEarlier(s, &told) {
			n++
		}
	}
	return n
}

// hearsEarlier tells whether an earlier session leads to the same neighbour, so
// that it is not counted twice.
func (c *Core) hearsEarlier(s int, told *Told) bool {
	if !c.parallel {
		return false
	}
	for e := range s {
		if c.cfg.Sessions[e].Neighbor == c.cfg.Sessions[s].Neighbor && c.sessions[e].passed.Capacity > 0 && c.exports(e, told) {
			return true
		}
	}
	return false
}
