package properties

import (
	"math"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ToldWithinLaw is the rule "told within the pipeline's law": what a device
// tells of a prefix is within what the damping states of the device's own
// bottleneck value (damping.Law.Range), and a device without a route tells
// nothing (law 4). And what a bundle passes to the decision is within what its
// damping states of the capacity that is there.
type ToldWithinLaw struct {
	ledger
	constants
	news news
	told counted          // places that count as exercised
	laws []damping.Law    // by bundle: of what it passes
	past map[[2]int]*past // by device and prefix, or -1 and bundle; only where bad news may be kept back
}

// past is what the bottleneck value was, for as long as the law looks back.
type past struct {
	moments []bottleneckAt // values fall strictly from front to back, like times rise
}

type bottleneckAt struct {
	until time.Duration // virtual
	bits  uint64
}

// highest notes the present value and gives the highest of the last late.
func (p *past) highest(now, late time.Duration, bits uint64) uint64 {
	if n := len(p.moments); n > 0 {
		p.moments[n-1].until = now
	}
	for n := len(p.moments); n > 0 && p.moments[n-1].bits <= bits; n-- {
		p.moments = p.moments[:n-1]
	}
	p.moments = append(p.moments, bottleneckAt{now, bits})
	for p.moments[0].until < now-late {
		p.moments = p.moments[1:]
	}
	return p.moments[0].bits
}

// NewToldWithinLaw returns the check. Its worst value is the distance of a told
// value from its bottleneck value as a percentage of what the law allows to
// that side.
func NewToldWithinLaw() *ToldWithinLaw {
	return &ToldWithinLaw{ledger: newLedger(ToldWithinLawName, 100, "% of the margin")}
}

// Look implements state.Check. It counts as exercised once per told value.
//
// The upper bound holds at every moment, of the highest bottleneck value of the
// time for which the law lets bad news be kept back. The lower one, and that a device with
// a route tells it, hold once the input has stopped for the law's time; a
// pipeline whose told stages have no memory needs none. The pipeline is that of
// the device and the prefix; what bundle stages do is in the bottleneck value, and
// judged by itself.
func (c *ToldWithinLaw) Look(m *state.Moment) {
	if c.learn(m) {
		c.told = newCounted(m)
	}
	c.bundles(m)
	c.news.hear(m)
	todo := c.news.takeRoutes()
	if !c.timeless {
		todo.AddAll()
	}
	for d, p := range todo.All() {
		if m.IsExternal(d) {
			c.external(m, c.dampings(d, p), d, p)
			continue
		}
		before := c.found.Violated
		c.told.put(d, p, c.place(m, d, p))
		if c.found.Violated > before {
			c.news.routes.Add(d, p)
		}
	}
	c.found.Exercised += c.told.n
}

// place judges what a device tells of a prefix, and is false where that is no value.
func (c *ToldWithinLaw) place(m *state.Moment, d, p int) bool {
	r, damped := &m.Snapshot.Devices[d].Routes[p], c.dampings(d, p)
	highest := r.Bottleneck
	if late := damped.Law.Late; late > 0 {
		highest = c.highest(m.Snapshot.Time, [2]int{d, p}, late, r.Bottleneck)
	}
	final := m.Settled || damped.Memoryless
	switch {
	case r.Told.Present && !r.Reachable():
		c.violate(m, at(m.Network, d, p), "tells %s without a route", toldText(m.Network, r.Told))
		return false
	case m.Snapshot.Devices[d].Drain == topologies.Drained:
		if r.Told.Present {
			c.violate(m, at(m.Network, d, p), "tells %s although it is drained", toldText(m.Network, r.Told))
		}
		return false
	case r.Told.Valued && !r.Valued || r.Told.Present && r.Valued && !r.Told.Valued && final:
		c.violate(m, at(m.Network, d, p), "tells %s: its bottleneck value is %s", toldText(m.Network, r.Told), bottleneckText(m.Network, r))
		return false
	case !r.Told.Valued:
		return false
	}
	low, high := damped.Law.Range(r.Bottleneck)
	if !m.Settled {
		_, high = damped.Law.Range(highest)
	}
	c.value(m, at(m.Network, d, p), r, float64(low), float64(high), final)
	return true
}

// highest is the highest bottleneck value of the last late.
func (c *ToldWithinLaw) highest(now time.Duration, at [2]int, late time.Duration, bits uint64) uint64 {
	if c.past == nil {
		c.past = map[[2]int]*past{}
	}
	if c.past[at] == nil {
		c.past[at] = &past{}
	}
	return c.past[at].highest(now, late, bits)
}

// bundles judges what bundles pass at their first end. One that has failed unnoticed passes
// what its ends know of it, and a speaker that restarts hears nothing: neither is judged.
func (c *ToldWithinLaw) bundles(m *state.Moment) {
	if c.laws == nil {
		plan := m.DampingPlan()
		for i := range m.Topology.Bundles {
			info := m.BundleInfo(i)
			c.laws = append(c.laws, plan.ForBundle(info).LawFor(info))
		}
	}
	for i, law := range c.laws {
		b := &m.Snapshot.Bundles[i]
		there := m.Topology.Bundles[i].Capacity(b.Members)
		highest := there
		if law.Late > 0 {
			known := there
			if b.Unseen {
				known = max(there, b.Capacity)
			}
			highest = c.highest(m.Snapshot.Time, [2]int{-1, i}, law.Late, known)
		}
		low, high := law.Range(there)
		if !m.Settled {
			_, high = law.Range(highest)
		}
		unheard := b.Unseen || m.Snapshot.Devices[m.Index.Ends[i][0]].Restarting
		if !unheard && (b.Capacity > high || m.Settled && b.Capacity < low) {
			c.violate(m, bundleName(m.Network, int32(i)), "passes %s of %s that are there: want %s to %s", amount(m.Network, float64(b.Capacity)),
				amount(m.Network, float64(there)), amount(m.Network, float64(low)), amount(m.Network, float64(high)))
		}
	}
}

func (c *ToldWithinLaw) value(m *state.Moment, where string, r *state.Route, low, high float64, final bool) {
	if v := float64(r.Told.Value); !(v >= 0) || math.IsInf(v, 1) {
		c.violate(m, where, "tells %v bytes/s: want a finite value of at least 0", r.Told.Value)
		return
	}
	told, bottleneck := bitsOf(r.Told.Value), float64(r.Bottleneck)
	var used float64
	switch {
	case told > bottleneck:
		used = margin(told-bottleneck, high-bottleneck)
	case told < bottleneck && final:
		used = margin(bottleneck-told, bottleneck-low)
	}
	c.worst(used)
	if told > high || final && told < low {
		c.violate(m, where, "tells %s of a bottleneck value of %s: want %s to %s",
			amount(m.Network, told), amount(m.Network, bottleneck), amount(m.Network, low), amount(m.Network, high))
	}
}
