package properties

import (
	"slices"

	"github.com/bagrig/bagrig/harness/state"
)

// MonotonyName is the name of the rule, as verdicts and reports print it.
const MonotonyName = "monotony"

// Monotony is the rule "monotony": from one settled moment to the next, where bundles
// only lost capacity, no bottleneck value and no told value has risen; where they only
// gained, none has fallen. Capacity is what the bundles' damping passes.
//
// It speaks of prefixes of which only values can have changed: every multipath set
// has the members it had, every told route has a value, and what is told depends on
// the bottleneck value alone. Drains, settings, sessions and trials must be as they
// were. Aggregates are outside: what is behind them may come and go.
type Monotony struct {
	ledger
	before   *state.Snapshot // at the last settled moment
	remember []bool          // by prefix: some device damps it with a memory; nil = not known yet
}

// NewMonotony returns the check. Its worst value is the most routes with a value that
// went the wrong way at one moment.
func NewMonotony() *Monotony { return &Monotony{ledger: newLedger(MonotonyName, 0, "routes")} }

// Look implements state.Check. It counts as exercised once per route compared.
func (c *Monotony) Look(m *state.Moment) {
	if !m.Settled {
		return
	}
	before := c.before
	c.before = m.Snapshot
	if before == nil || len(m.Snapshot.Held) > 0 || m.Window == nil || slices.ContainsFunc(m.Window.Events, changesMore) {
		return
	}
	direction := capacityChange(before, m.Snapshot)
	if direction == 0 {
		return
	}
	if c.remember == nil {
		c.remember = somewhere(m, remembers)
	}
	wrong := c.found.Violated
	for p := range m.Topology.Prefixes {
		if !c.remember[p] && m.Topology.Prefixes[p].Aggregate == nil && onlyValues(before, m.Snapshot, p) {
			c.compare(m, before, p, direction)
		}
	}
	c.worst(float64(c.found.Violated - wrong))
}

// changesMore tells whether an event changes something else than capacity.
func changesMore(e state.Event) bool {
	return slices.Contains([]string{"set", "drain", "restart", "reset", "hold", "release"}, e.Kind)
}

// capacityChange is -1 where bundles only lost capacity, 1 where they only gained, and
// 0 where neither is so, or more than capacity changed.
func capacityChange(before, now *state.Snapshot) (direction int) {
	for d := range now.Devices {
		if now.Devices[d].Drain != before.Devices[d].Drain || now.Devices[d].Restarting || before.Devices[d].Restarting {
			return 0
		}
	}
	for b := range now.Bundles {
		x, y := &before.Bundles[b], &now.Bundles[b]
		step := 0
		switch {
		case x.Up != y.Up || x.Trial != y.Trial || x.Unseen || y.Unseen || (x.Capacity == 0) != (y.Capacity == 0):
			return 0
		case x.Capacity > y.Capacity:
			step = -1
		case x.Capacity < y.Capacity:
			step = 1
		}
		if step*direction < 0 {
			return 0
		}
		if step != 0 {
			direction = step
		}
	}
	return direction
}

// onlyValues tells whether nothing of a prefix but values can have changed.
func onlyValues(before, now *state.Snapshot, p int) bool {
	for d := range now.Devices {
		x, y := &before.Devices[d].Routes[p], &now.Devices[d].Routes[p]
		if x.Local != y.Local || x.Valued != y.Valued || !slices.EqualFunc(x.Set, y.Set, func(a, b state.Member) bool { return a.Bundle == b.Bundle }) {
			return false
		}
		if x.Told.Present != y.Told.Present || x.Told.Present && !(x.Told.Valued && y.Told.Valued) || !slices.Equal(x.Told.Path, y.Told.Path) {
			return false
		}
	}
	return true
}

func (c *Monotony) compare(m *state.Moment, before *state.Snapshot, p, direction int) {
	what, way := "lost", "risen"
	if direction > 0 {
		what, way = "gained", "fallen"
	}
	for d := range m.Snapshot.Devices {
		x, y := &before.Devices[d].Routes[p], &m.Snapshot.Devices[d].Routes[p]
		if c.unseen(m, d, "its sets and values; what it tells is judged by \""+EndStateName+"\"") || !y.Reachable() {
			continue
		}
		c.found.Exercised++
		wrong := func(was, is float64) bool { return (is-was)*float64(direction) < 0 }
		if was, is := float64(x.Bottleneck), float64(y.Bottleneck); y.Valued && wrong(was, is) {
			c.violate(m, at(m.Network, d, p), "bundles only %s capacity, and its bottleneck value has %s from %s to %s", what, way, amount(m.Network, was), amount(m.Network, is))
		} else if was, is := bitsOf(x.Told.Value), bitsOf(y.Told.Value); y.Told.Valued && wrong(was, is) {
			c.violate(m, at(m.Network, d, p), "bundles only %s capacity, and its told value has %s from %s to %s", what, way, amount(m.Network, was), amount(m.Network, is))
		}
	}
}
