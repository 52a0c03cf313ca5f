package speakers

import (
	"cmp"
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// aggregate is a conditional prefix. Its measure is the number of
// more-specifics that come from below, or that the device originates, or the
// capacity of the distinct bundles behind them.
type aggregate struct {
	cfg       *Aggregate
	announced bool
	stale     bool   // a more-specific, or a bundle behind one, has changed
	capacity  uint64 // bits/s of the distinct bundles behind the more-specifics
}

// newAggregates makes the aggregates in an order in which each comes after those
// that it covers, since it counts them.
func (c *Core) newAggregates() {
	for i := range c.cfg.Aggregates {
		c.aggregates = append(c.aggregates, aggregate{cfg: &c.cfg.Aggregates[i]})
	}
	slices.SortStableFunc(c.aggregates, func(a, b aggregate) int { return cmp.Compare(len(a.cfg.Specifics), len(b.cfg.Specifics)) })
	for i, a := range c.aggregates {
		c.prefixes[a.cfg.Prefix].aggregate = int32(i)
		for _, p := range a.cfg.Specifics {
			c.supports[p] = true
		}
	}
}

// announces tells whether the prefix is an aggregate whose condition holds.
func (c *Core) announces(p int32) bool {
	a := c.prefixes[p].aggregate
	return a >= 0 && c.aggregates[a].announced
}

// disturbAggregates notes that a more-specific may be decided otherwise.
func (c *Core) disturbAggregates(p int32) {
	for i := range c.aggregates {
		if _, ok := slices.BinarySearch(c.aggregates[i].cfg.Specifics, p); ok {
			c.aggregates[i].stale = true
		}
	}
}

// watchAggregates measures the aggregates whose more-specifics may have changed
// and marks what has to be decided again.
func (c *Core) watchAggregates() {
	for i := range c.aggregates {
		a := &c.aggregates[i]
		if !a.stale || c.drain == topologies.Drained { // drained, it tells nobody either way
			continue
		}
		a.stale = false
		was, capacity := a.announced, a.capacity
		supporting := uint64(0)
		supporting, a.capacity = c.measure(a.cfg)
		measure := supporting
		if a.cfg.By == topologies.ByCapacity {
			measure = a.capacity
		}
		// Between the thresholds it stays as it is.
		a.announced = c.originates && (measure >= a.cfg.Announce || was && measure >= a.cfg.Withdraw)
		if a.announced != was || a.announced && a.capacity != capacity {
			c.mark(int(a.cfg.Prefix))
			c.disturbAggregates(a.cfg.Prefix) // mark does not, where the prefix was marked before
		}
		if a.announced != was && a.cfg.Suppress {
			for _, p := range a.cfg.Specifics {
				c.suppressed[p] += count(a.announced) - count(was)
				c.mark(int(p))
			}
		}
	}
}

// measure counts the more-specifics that come from below or are the device's
// own, and sums the capacity of the distinct bundles behind them.
func (c *Core) measure(a *Aggregate) (supporting, capacity uint64) {
	behind := make([]bool, len(c.sessions))
	for _, p := range a.Specifics {
		set, best, local := c.selectSet(p)
		if !local && (best < 0 || c.cfg.Sessions[best].NeighborRole >= c.cfg.Role) {
			continue
		}
		supporting++
		for _, s := range set {
			behind[s] = true
		}
	}
	for s, b := range behind {
		if b {
			capacity = saturatingAdd(capacity, c.sessions[s].passed.Capacity)
		}
	}
	return supporting, capacity
}
