package properties

import (
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Look implements state.Check.
func (c *Coverage) Look(m *state.Moment) {
	if c.known == nil {
		c.known = learn(m)
	}
	c.now = [statesKnown]bool{}
	if c.last != m.Snapshot {
		c.lookAtBundles(m)
		for d := range m.Snapshot.Devices {
			c.lookAtTable(m, d)
			if m.IsExternal(d) {
				continue // what it holds, nobody sees
			}
			if c.last == nil || !sameRoutes(c.last.Devices[d].Routes, m.Snapshot.Devices[d].Routes) {
				c.lookAtRoutes(m, d)
			}
		}
		c.lookAtDevices(m)
	}
	c.lookAtDamping(m)
	if m.Settled {
		c.lookAtLevels(m)
	}
	if m.Window != nil {
		c.lookAtWindow(m)
	}
	c.last = m.Snapshot
	if m.Settled {
		c.held, c.drains = m.Snapshot.Held, c.drains[:0]
		for d := range m.Snapshot.Devices {
			c.drains = append(c.drains, m.Snapshot.Devices[d].Drain)
		}
	}
	for i, reached := range c.now {
		c.times[i] += count(reached)
	}
}

// sameRoutes tells whether two lists are one: snapshots share what has not changed.
func sameRoutes(a, b []state.Route) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (c *Coverage) reach(which int, yes bool) { c.now[which] = c.now[which] || yes }

func (c *Coverage) lookAtBundles(m *state.Moment) {
	degraded := false
	for b := range m.Snapshot.Bundles {
		now, bundle := &m.Snapshot.Bundles[b], &m.Topology.Bundles[b]
		there := bundle.Capacity(now.Members)
		degraded = degraded || now.Members < bundle.Members
		c.reach(holdDownKept, c.known.bundles[b].holdDown && !c.known.bundles[b].deadband && now.Up && !now.Unseen && !now.Trial && there > now.Capacity)
		c.reach(badNewsKept, now.Capacity > there && !now.Unseen)
		c.reach(unseenLoss, now.Up && now.Lost > 0)
		c.reach(maxPrefixCease, now.CeasedBy != "")
	}
	for d := range m.Snapshot.Devices {
		c.reach(restartDegraded, degraded && m.Snapshot.Devices[d].Restarting)
	}
	c.reach(updatesHeld, len(m.Snapshot.Held) > 0)
}

func (c *Coverage) lookAtTable(m *state.Moment, d int) {
	a, policy := &m.Snapshot.Devices[d].FIB, m.Hardware[d].Overflow()
	given := a.Compromises > 0
	switch policy {
	case fib.OverflowExceed:
		given = false
		for _, l := range state.LimitsOf(a) {
			given = given || l.Used > l.Most
		}
	case fib.OverflowSpill:
		given = a.SpillGroupsPeak > 0
	case fib.OverflowReject:
		given = a.Refusals > 0
	}
	c.reach(overflowStates[policy], given)
	c.reach(peakOverSteady, a.GroupsPeak > a.GroupsSteadyLimit || a.MembersPeak > a.MembersSteadyLimit)
	c.reach(brokeBeforeMake, a.Gaps > 0)
	if a.Dropped == 0 {
		return
	}
	for p := range m.Snapshot.Devices[d].Routes {
		e := &m.Snapshot.Devices[d].Routes[p].FIB
		c.reach(droppedForWidth, len(e.Dropped) > 0 && e.Compromise == "")
	}
}

// lookAtRoutes looks at what follows from a device's routes alone.
func (c *Coverage) lookAtRoutes(m *state.Moment, d int) {
	dev := &m.Snapshot.Devices[d]
	for p := range dev.Routes {
		r := &dev.Routes[p]
		c.reach(withheldByDamping, r.Reachable() && !r.Told.Present && dev.Drain != topologies.Drained && !dev.Restarting)
		c.reach(warmToldOn, r.Told.Present && r.Told.Warm && dev.Drain == topologies.Live)
		if m.Topology.Prefixes[p].Aggregate != nil && c.last != nil {
			was := c.last.Devices[d].Routes[p].Local
			c.reach(aggregateAnnounced, r.Local && !was)
			c.reach(aggregateWithdrawn, !r.Local && was)
		}
		c.lookAtSet(m, d, r)
	}
	for _, pair := range c.known.twins {
		a, b := &dev.Routes[pair[0]], &dev.Routes[pair[1]]
		c.reach(familiesDiffer, !a.Told.SameValue(b.Told) || !slices.Equal(a.Set, b.Set))
	}
}

// lookAtSet looks at a multipath set and the candidates that it was chosen from.
// Both ascend by bundle.
func (c *Coverage) lookAtSet(m *state.Moment, d int, r *state.Route) {
	own, set, shortest := m.Topology.Devices[d].ASN, r.Set, -1
	valued, unvalued, zero, shared := false, false, false, false
	for i := range r.Candidates {
		candidate := &r.Candidates[i]
		bundle := &m.Snapshot.Bundles[candidate.Bundle]
		if len(set) == 0 || set[0].Bundle != candidate.Bundle {
			c.reach(loopedDropped, !c.now[loopedDropped] && slices.Contains(candidate.Path, own))
			continue
		}
		share := set[0].Share
		set, shortest = set[1:], len(candidate.Path)
		c.reach(trialUsed, bundle.Trial)
		valued, unvalued = valued || candidate.Valued, unvalued || !candidate.Valued
		zero, shared = zero || candidate.Valued && candidate.Value == 0 && share == 0, shared || share > 0
		c.reach(rounded, candidate.Valued && share < bundle.Capacity && bundle.Capacity-share < bundle.Capacity>>22 && float64(share) == bitsOf(candidate.Value))
	}
	c.reach(zeroExcluded, zero && shared)
	c.reach(missingEqual, valued && unvalued && !r.Valued)
	c.reach(loopedDropped, !c.now[loopedDropped] && c.keepsBack(m, d, r))
	if shortest < 0 {
		return
	}
	for i := range r.Candidates {
		candidate := &r.Candidates[i]
		c.reach(trialUnused, m.Snapshot.Bundles[candidate.Bundle].Trial && len(candidate.Path) == shortest && !hasMember(r.Set, candidate.Bundle))
	}
}

// keepsBack tells whether a device keeps its route from a neighbour, and would not
// if the neighbour's ASN were not in the path.
func (c *Coverage) keepsBack(m *state.Moment, d int, r *state.Route) bool {
	if !r.Told.Present {
		return false
	}
	for _, b := range c.known.crowded[d] {
		to, _ := peer(m.Network, d, b)
		below := m.Topology.Devices[to].Role < m.Topology.Devices[d].Role
		if m.Snapshot.Bundles[b].Up && (below || !r.Told.Down) && slices.Contains(r.Told.Path, m.Topology.Devices[to].ASN) && !hasMember(r.Set, b) {
			return true
		}
	}
	return false
}

func hasMember(set []state.Member, bundle int32) bool {
	for i := range set {
		if set[i].Bundle == bundle {
			return true
		}
	}
	return false
}

// lookAtDevices looks at what takes several devices to see.
func (c *Coverage) lookAtDevices(m *state.Moment) {
	if !m.Settled {
		return
	}
	for p := range m.Topology.Prefixes {
		if c.now[partition] || !c.served(m, p) {
			continue
		}
		for d := range m.Snapshot.Devices {
			dev := &m.Snapshot.Devices[d]
			c.reach(partition, dev.Drain == topologies.Live && !dev.Restarting && !dev.Routes[p].Reachable() && m.Baseline.Devices[d].Routes[p].Reachable())
		}
	}
}

// served tells whether an origin of a prefix is in service and announces it.
func (c *Coverage) served(m *state.Moment, p int) bool {
	for _, name := range m.Topology.Prefixes[p].Origins {
		dev := &m.Snapshot.Devices[m.Index.Device[name]]
		if dev.Drain == topologies.Live && !dev.Restarting && dev.Routes[p].Local {
			return true
		}
	}
	return false
}

// lookAtDamping compares told values with what damping without a past would tell.
func (c *Coverage) lookAtDamping(m *state.Moment) {
	if !c.known.recalls {
		return
	}
	for d := range m.Snapshot.Devices {
		dev := &m.Snapshot.Devices[d]
		if dev.Drain == topologies.Drained || dev.Restarting {
			continue
		}
		for p := range dev.Routes {
			at, r := c.known.places[d*len(dev.Routes)+p], &dev.Routes[p]
			if at.Memoryless || !r.Reachable() || c.now[hysteresisHeld] && m.Settled {
				continue
			}
			if !at.hysteresis && m.Settled || at.hysteresis && !m.Settled {
				continue
			}
			in := damping.Value{Reach: damping.Unvalued}
			if r.Valued {
				in = damping.Value{Reach: damping.Valued, Bits: r.Bottleneck}
			}
			if told, fresh := r.Told, at.fresh(in); told.Present == (fresh.Reach != damping.Gone) && told.Valued == (fresh.Reach == damping.Valued) &&
				(!told.Valued || told.Value == float32(float64(fresh.Bits)/8)) {
				continue
			}
			c.reach(hysteresisHeld, at.hysteresis && m.Settled && r.Told.Present)
			c.reach(paceDeferred, at.pace && !at.penalty && !at.hysteresis)
			c.reach(suppressionOn, at.penalty && !at.pace && !at.hysteresis)
		}
	}
}

// lookAtLevels compares told values of settled moments.
func (c *Coverage) lookAtLevels(m *state.Moment) {
	first := c.level == nil
	if first {
		c.level = make([]float32, len(m.Topology.Devices)*len(m.Topology.Prefixes))
	}
	i := 0
	for d := range m.Snapshot.Devices {
		for p := range m.Snapshot.Devices[d].Routes {
			told, was := &m.Snapshot.Devices[d].Routes[p].Told, &c.level[i]
			value := float32(-1)
			if told.Present && told.Valued {
				value = told.Value
			}
			c.reach(levelCrossed, !first && value != *was && value >= 0 && *was >= 0 && c.known.places[i].quantizer)
			*was = value
			i++
		}
	}
}

// drain follows the drain states of devices through a window, and tells whether the event
// changes one.
func (c *Coverage) drain(m *state.Moment, e state.Event) (changed bool) {
	changes, err := e.Expand(m.Topology, m.Index, nil, nil)
	if err != nil {
		return false // it would have ended the run
	}
	for _, t := range changes {
		if at := &c.drains[t.Change.Device]; *at != t.Change.Drain {
			*at, changed = t.Change.Drain, true
		}
	}
	return changed
}

func (c *Coverage) lookAtWindow(m *state.Moment) {
	w := m.Window
	c.reach(absorbedEvent, w.Effect == state.Absorbed)
	for _, t := range w.Transients {
		c.reach(transientHole, t.Kind == state.Hole)
		c.reach(transientLoop, t.Kind == state.Loop)
	}
	var flapped time.Duration // until when
	held := slices.Clone(c.held)
	for i, e := range w.Events {
		at := started(e, w)
		c.reach(eventsOverlap, i > 0 && at > started(w.Events[0], w))
		b := int32(m.Index.Bundle[e.Bundle]) // looked at where the event has one
		switch e.Kind {
		case "drain":
			drained := c.drain(m, e)
			c.reach(drainDuringFlap, drained && at < flapped)
		case "flap", "synchronised":
			flapped = max(flapped, at+time.Duration(e.Count)*e.Period-e.Period/2)
		case "release":
			from := state.Direction{Bundle: b, FromB: m.Topology.Bundles[b].B == e.From}
			held = slices.DeleteFunc(held, func(d state.Direction) bool { return d == from })
		case "reset":
			c.reach(resetWhileHeld, slices.ContainsFunc(held, func(d state.Direction) bool { return d.Bundle == b }))
		}
	}
	for i := range w.Log {
		n := &w.Log[i]
		if c.now[pathHunting] || n.Withdraw || n.Dump || len(w.Falls[n.Dir.Bundle]) > 0 {
			continue
		}
		c.reach(pathHunting, strays(m, flowOf(n), n.Path))
	}
}
