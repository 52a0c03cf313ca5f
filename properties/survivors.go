package properties

import (
	"slices"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// SurvivorsName is the name of the rule, as verdicts and reports print it.
const SurvivorsName = "survivors reach one another"

// Survivors is the rule "survivors reach one another": when the network is settled and
// some session is down, a device has a route to a prefix exactly where a way is left
// that the export rules allow. Those who are cut off have none, of nothing that is
// beyond the cut, and all others have one.
//
// What ways are left it works out by itself, from the topology and the sessions that
// are up, one hop of AS_PATH after another: what was learned from below goes
// everywhere, all else only down, and never to a device whose ASN is in it. Judged only
// while nobody is drained or restarts, nothing is held, and no speaker refuses routes,
// since lengths of paths then say all.
type Survivors struct {
	ledger
	next, now []int // devices, of the search
}

// NewSurvivors returns the check. Its worst value is the most routes at one moment
// that were missing, or there beyond the cut.
func NewSurvivors() *Survivors { return &Survivors{ledger: newLedger(SurvivorsName, 0, "routes")} }

// Look implements state.Check. It counts as exercised once per route that is there, or
// not, while some session is down.
func (c *Survivors) Look(m *state.Moment) {
	if !m.Settled || len(m.Snapshot.Held) > 0 || !slices.ContainsFunc(m.Snapshot.Bundles, func(b state.Bundle) bool { return !b.Up }) {
		return
	}
	if slices.ContainsFunc(m.Snapshot.Bundles, func(b state.Bundle) bool { return b.Unseen || b.Up && b.Capacity == 0 || b.Trial }) ||
		slices.ContainsFunc(m.Snapshot.Devices, func(d state.Device) bool { return d.Drain != topologies.Live || d.Restarting }) ||
		slices.ContainsFunc(m.Settings, func(s *topologies.Settings) bool { return len(s.RejectClasses)+len(s.RejectTagged)+s.MaxPrefixes > 0 }) {
		return
	}
	before := c.found.Violated
	for p := range m.Topology.Prefixes {
		have := c.ways(m, p)
		for d := range have {
			if c.unseen(m, d, "whether it has a route") {
				continue
			}
			c.found.Exercised++
			switch has := m.Snapshot.Devices[d].Routes[p].Reachable(); {
			case has && !have[d].there:
				c.violate(m, at(m.Network, d, p), "it is cut off from every origin, and has a route over %s", setText(m.Network, m.Snapshot.Devices[d].Routes[p].Set))
			case !has && have[d].there:
				c.violate(m, at(m.Network, d, p), "a way is left, AS_PATH %v, and it has no route", have[d].path)
			}
		}
	}
	c.worst(float64(c.found.Violated - before))
}

// leftWay is how a device comes to a prefix.
type leftWay struct {
	there bool
	path  []uint32
	down  bool // it may be told only down
}

// ways finds how every device comes to a prefix over the sessions that are up. All
// paths of one length are found before any longer one, so each device keeps its first.
func (c *Survivors) ways(m *state.Moment, p int) []leftWay {
	have := make([]leftWay, len(m.Topology.Devices))
	c.now = c.now[:0]
	for d, origin := range origins(m.Network, p) {
		if origin && (m.Topology.Prefixes[p].Aggregate == nil || m.Snapshot.Devices[d].Routes[p].Local) {
			have[d].there = true
			c.now = append(c.now, d)
		}
	}
	within := aggregatesOf(m.Topology, p)
	for len(c.now) > 0 {
		c.next = c.next[:0]
		for to := range have {
			if have[to].there {
				continue
			}
			if w, ok := c.learn(m, within, have, p, to); ok {
				c.next = append(c.next, to)
				have[to].path, have[to].down = w.path, w.down
			}
		}
		for _, d := range c.next {
			have[d].there = true
		}
		c.now, c.next = c.next, c.now
	}
	return have
}

// learn is what a device learns from those that have a way already: of the neighbour
// with the lowest router id, over the first of its sessions.
func (c *Survivors) learn(m *state.Moment, within []int, have []leftWay, p, to int) (best leftWay, ok bool) {
	teller := len(have)
	for _, b := range m.Index.Of[to] {
		from, _ := peer(m.Network, to, int32(b))
		if !have[from].there || !m.Snapshot.Bundles[b].Up || from >= teller {
			continue
		}
		role, above := m.Topology.Devices[to].Role, m.Topology.Devices[from].Role
		if (have[from].down || suppresses(m, within, from)) && role >= above {
			continue
		}
		path := append([]uint32{m.Topology.Devices[from].ASN}, have[from].path...)
		if slices.Contains(path, m.Topology.Devices[to].ASN) {
			continue
		}
		teller, best, ok = from, leftWay{true, path, role <= above}, true
	}
	return best, ok
}

// aggregatesOf are the aggregates that a prefix is more specific than and that keep
// their more-specifics to what is below.
func aggregatesOf(t *topologies.Topology, p int) (list []int) {
	for a := range t.Prefixes {
		if g := t.Prefixes[a].Aggregate; g != nil && g.Suppress && slices.Contains(t.Specifics(a), p) {
			list = append(list, a)
		}
	}
	return list
}

func suppresses(m *state.Moment, within []int, d int) bool {
	return slices.ContainsFunc(within, func(a int) bool { return m.Snapshot.Devices[d].Routes[a].Local })
}
