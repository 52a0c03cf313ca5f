package properties

import (
	"math"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ToldWithinLaw is the rule "told within the pipeline's law": what a device
// tells of a prefix is within what the damping states of the device's own
// bottleneck value (damping.Law.Range), and a device without a route tells
// nothing (law 4).
type ToldWithinLaw struct{ ledger }

// NewToldWithinLaw returns the check. Its worst value is the distance of a told
// value from its bottleneck value as a percentage of what the law allows to
// that side.
func NewToldWithinLaw() *ToldWithinLaw {
	return &ToldWithinLaw{newLedger(ToldWithinLawName, 100, "% of the margin")}
}

// Look implements state.Check. It counts as exercised once per told value.
//
// The upper bound holds at every moment. The lower one, and that a device with
// a route tells it, hold once the input has stopped for the law's time; a
// pipeline whose told stages have no memory needs none. The pipeline is that of
// the device and the prefix; what bundle stages do is in the bottleneck value.
func (c *ToldWithinLaw) Look(m *state.Moment) {
	damping := m.ToldDampings()
	for d := range m.Snapshot.Devices {
		for p := range m.Snapshot.Devices[d].Routes {
			r, damped := &m.Snapshot.Devices[d].Routes[p], damping(d, p)
			final := m.Settled || damped.Memoryless
			switch {
			case r.Told.Present && !r.Reachable():
				c.violate(m, at(m.Network, d, p), "tells %s without a route", toldText(m.Network, r.Told))
				continue
			case m.Snapshot.Devices[d].Drain == topologies.Drained:
				if r.Told.Present {
					c.violate(m, at(m.Network, d, p), "tells %s although it is drained", toldText(m.Network, r.Told))
				}
				continue
			case !r.Told.Present && r.Reachable() && final:
				c.violate(m, at(m.Network, d, p), "tells nothing of its route")
				continue
			case r.Told.Valued && !r.Valued || r.Told.Present && r.Valued && !r.Told.Valued && final:
				c.violate(m, at(m.Network, d, p), "tells %s: its bottleneck value is %s", toldText(m.Network, r.Told), bottleneckText(m.Network, r))
				continue
			case !r.Told.Valued:
				continue
			}
			c.found.Exercised++
			low, high := damped.Law.Range(r.Bottleneck)
			c.value(m, d, p, r, float64(low), float64(high), final)
		}
	}
}

func (c *ToldWithinLaw) value(m *state.Moment, d, p int, r *state.Route, low, high float64, final bool) {
	if v := float64(r.Told.Value); !(v >= 0) || math.IsInf(v, 1) {
		c.violate(m, at(m.Network, d, p), "tells %v bytes/s: want a finite value of at least 0", r.Told.Value)
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
		c.violate(m, at(m.Network, d, p), "tells %s of a bottleneck value of %s: want %s to %s",
			amount(m.Network, told), amount(m.Network, bottleneck), amount(m.Network, low), amount(m.Network, high))
	}
}
