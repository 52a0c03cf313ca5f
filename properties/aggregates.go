package properties

import (
	"fmt"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// AggregatesName is the name of the rule, as verdicts and reports print it.
const AggregatesName = "aggregate present as its condition says"

// Aggregates is the rule "aggregate present as its condition says": at every
// settled moment the origins of an aggregate announce it exactly where the
// graph says that its condition holds. Its note counts what aggregates attract
// without a route: pairs of a device and a more-specific where the longest match
// is an aggregate, and some branch of the way ends at an origin that has no
// route for the more-specific and discards.
type Aggregates struct {
	ledger
	discarded int // at the worst moment
}

// NewAggregates returns the check. Its worst value is the most aggregates that
// were wrong at one moment.
func NewAggregates() *Aggregates {
	return &Aggregates{ledger: newLedger(AggregatesName, 0, "aggregates")}
}

// Outcome implements state.Check.
func (c *Aggregates) Outcome() state.Outcome {
	o := c.ledger.Outcome()
	if c.discarded > 0 {
		o.Note = fmt.Sprintf("discarded by aggregate: %d pairs of device and more-specific at the worst moment", c.discarded)
	}
	return o
}

// Look implements state.Check. It counts as exercised once per origin of an
// aggregate.
func (c *Aggregates) Look(m *state.Moment) {
	if !m.Settled {
		return
	}
	wrong, discarded := 0, 0
	for p, prefix := range m.Topology.Prefixes {
		if prefix.Aggregate == nil {
			continue
		}
		for d, origin := range origins(m.Network, p) {
			if !origin {
				continue
			}
			if m.IsExternal(d) && m.Damped.Route(d, p).Told.Present == m.Damped.Route(d, p).Local {
				c.found.Exercised++ // by what it tells, where it can tell anything
				if got, want := len(m.Snapshot.Devices[d].Tells[p]) > 0, m.Damped.Route(d, p).Local; got != want {
					wrong++
					c.violate(m, at(m.Network, d, p), "told to any neighbour: %v, its condition says %v", got, want)
				}
				continue
			}
			c.found.Exercised++
			got, want := m.Snapshot.Devices[d].Routes[p].Local, m.Damped.Route(d, p).Local
			if got != want {
				wrong++
				c.violate(m, at(m.Network, d, p), "announced: %v, its condition says %v", got, want)
			} else if told, want := m.Snapshot.Devices[d].Routes[p].Told.Present, m.Damped.Route(d, p).Told.Present; told != want && len(m.Snapshot.Held) == 0 {
				wrong++
				c.violate(m, at(m.Network, d, p), "told: %v, its condition says %v", told, want)
			}
		}
		for _, s := range m.Topology.Specifics(p) {
			for d := range m.Topology.Devices {
				if c.discards(m, d, s, map[int]bool{}) {
					discarded++
				}
			}
		}
	}
	c.worst(float64(wrong))
	c.discarded = max(c.discarded, discarded)
}

// discards tells whether traffic for a prefix that enters at a device meets an
// aggregate's discard route on some branch.
func (c *Aggregates) discards(m *state.Moment, d, specific int, seen map[int]bool) bool {
	if seen[d] {
		return false
	}
	seen[d] = true
	p := longestMatch(m, d, specific)
	if p < 0 {
		return false // a black hole, which is another rule's
	}
	r := &m.Snapshot.Devices[d].Routes[p]
	if m.IsExternal(d) {
		return false
	}
	if r.Local {
		return p != specific && m.Topology.Prefixes[p].Aggregate != nil
	}
	for _, w := range r.FIB.Members {
		if to, ok := peer(m.Network, d, w.ID); ok && carries(m, w.ID) && c.discards(m, to, specific, seen) {
			return true
		}
	}
	return false
}

// longestMatch is the longest prefix that covers the given one and that the
// device has a route for, or -1.
func longestMatch(m *state.Moment, d, specific int) int {
	want, best := m.Topology.Prefixes[specific].Prefix, -1
	for p := range m.Topology.Prefixes {
		q := m.Topology.Prefixes[p].Prefix
		if q.Bits() > want.Bits() || !q.Contains(want.Addr()) || !m.Snapshot.Devices[d].Routes[p].Reachable() {
			continue
		}
		if best < 0 || q.Bits() > m.Topology.Prefixes[best].Prefix.Bits() {
			best = p
		}
	}
	return best
}

// hasAggregates tells whether any prefix of the topology is an aggregate.
func hasAggregates(t *topologies.Topology) bool {
	for _, p := range t.Prefixes {
		if p.Aggregate != nil {
			return true
		}
	}
	return false
}
