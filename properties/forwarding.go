package properties

import (
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness/state"
)

// NoBlackHole is the rule "no black hole": for every prefix by itself, and not
// by longest match, every device that the export rules let the prefix reach
// has it, and every branch of the walk through the FIBs ends at a device that
// originates it, over bundles that are up. A branch that never ends is a loop,
// and NoLoop's to report. One that leads over a bundle that has failed unnoticed
// ends there: no routing can know, and state.Lost has what it costs.
type NoBlackHole struct {
	ledger
	constants
	news    news
	failed  bool    // some bundle had failed unnoticed at the last look
	without counted // places without a next hop
	reached counted // places that count as exercised
}

// NewNoBlackHole returns the check. Its worst value is the most places at one
// moment where traffic for a prefix is lost.
func NewNoBlackHole() *NoBlackHole {
	return &NoBlackHole{ledger: newLedger(NoBlackHoleName, 0, "places")}
}

// Look implements state.Check. It counts as exercised once per device and
// prefix that reaches it from elsewhere.
//
// It suffices to judge every next hop by itself: where each leads over a bundle
// that is up to an origin, or to a device with next hops of its own, a branch
// can end nowhere else.
func (c *NoBlackHole) Look(m *state.Moment) {
	if c.learn(m) {
		c.without, c.reached = newCounted(m), newCounted(m)
	}
	c.news.hear(m)
	before, todo := c.found.Violated, c.news.takeRoutes()
	c.widen(m, &todo)
	for p := range m.Topology.Prefixes {
		if todo.HasPrefix(p) {
			c.prefix(m, p, &todo)
		}
	}
	c.found.Exercised += c.reached.n
	c.worst(float64(c.found.Violated - before))
}

// widen adds what has to be judged because of what changed elsewhere: the neighbours
// of a device that has come to a next hop or lost its last, and everything where
// bundles have failed unnoticed, since news travel past them.
func (c *NoBlackHole) widen(m *state.Moment, todo *state.Places) {
	failed := slices.ContainsFunc(m.Snapshot.Bundles, func(b state.Bundle) bool { return b.Unseen })
	if failed || c.failed {
		todo.AddAll()
	}
	c.failed = failed
	for p := range m.Topology.Prefixes {
		for d := range todo.Devices(p) {
			without := len(m.Snapshot.Devices[d].Routes[p].FIB.Members) == 0
			if without == c.without.at.Has(d, p) {
				continue
			}
			c.without.put(d, p, without)
			for _, b := range m.Index.Of[d] {
				to, _ := peer(m.Network, d, int32(b))
				todo.Add(to, p)
			}
		}
	}
}

// prefix judges the places of one prefix that are news.
func (c *NoBlackHole) prefix(m *state.Moment, p int, todo *state.Places) {
	origin, reach, heard := c.origins(p), reached(m, p), []bool(nil)
	if c.failed {
		heard = heardBy(m, p)
	}
	for d := range todo.Devices(p) {
		if c.unseen(m, d, "whether it has routes and next hops") {
			continue
		}
		before := c.found.Violated
		if origin[d] && m.Snapshot.Devices[d].Routes[p].Local {
			c.reached.put(d, p, false)
			continue
		}
		counts := reach[d] && (heard == nil || heard[d])
		c.reached.put(d, p, counts)
		if counts && !m.Snapshot.Devices[d].Restarting { // else hardware alone counts, and nextHops looks at it
			c.has(m, d, p)
		}
		c.nextHops(m, d, p, origin, reach)
		if c.found.Violated > before {
			c.news.routes.Add(d, p)
		}
	}
}

// has judges that the device has a route, in the speaker and in hardware.
func (c *NoBlackHole) has(m *state.Moment, d, p int) {
	switch r := &m.Snapshot.Devices[d].Routes[p]; {
	case !r.Reachable():
		c.violate(m, at(m.Network, d, p), "no route: the export rules let the prefix reach this device")
	case len(r.FIB.Members) == 0:
		c.violate(m, at(m.Network, d, p), "no next hop in hardware: the speaker has a route over %s", setText(m.Network, r.Set))
	}
}

// nextHops judges where hardware sends the prefix.
func (c *NoBlackHole) nextHops(m *state.Moment, d, p int, origin, reach []bool) {
	for _, w := range m.Snapshot.Devices[d].Routes[p].FIB.Members {
		to, ok := peer(m.Network, d, w.ID)
		switch {
		case !ok:
			c.violate(m, at(m.Network, d, p), "hardware sends over %s: it does not end at this device", bundleName(m.Network, w.ID))
		case m.Snapshot.Bundles[w.ID].Unseen:
		case !carries(m, w.ID):
			c.violate(m, at(m.Network, d, p), "hardware sends over %s: its session is down", bundleName(m.Network, w.ID))
		case !m.IsExternal(to) && !origin[to] && !reach[to] && len(m.Snapshot.Devices[to].Routes[p].FIB.Members) == 0:
			c.violate(m, at(m.Network, d, p), "hardware sends over %s to device %q, which has no next hop", bundleName(m.Network, w.ID), m.Topology.Devices[to].Name)
		}
	}
}

// carries tells whether traffic may go over a bundle: its session is up, or an
// end restarts and forwards on meanwhile, and it has not failed unnoticed.
func carries(m *state.Moment, bundle int32) bool {
	b, ends := m.Snapshot.Bundles[bundle], m.Index.Ends[bundle]
	return !b.Unseen && (b.Up || b.Members > 0 && (m.Snapshot.Devices[ends[0]].Restarting || m.Snapshot.Devices[ends[1]].Restarting))
}

// origins tells by device whether it originates the prefix.
func origins(n *state.Network, prefix int) []bool {
	origin := make([]bool, len(n.Topology.Devices))
	for _, name := range n.Topology.Prefixes[prefix].Origins {
		if d, ok := n.Index.Device[name]; ok {
			origin[d] = true
		}
	}
	return origin
}

// reached tells by device whether the export rules let the prefix reach it.
func reached(m *state.Moment, prefix int) []bool {
	if r, ok := m.Damped.(interface{ Reach(prefix int) []bool }); ok {
		return r.Reach(prefix)
	}
	reach := make([]bool, len(m.Snapshot.Devices))
	for d := range reach {
		reach[d] = m.Damped.Route(d, prefix).Reachable()
	}
	return reach
}

// heardBy tells by device whether news of the prefix can come to it: over sessions
// over which the graph lets it go, and not over bundles that have failed unnoticed,
// on which UPDATEs wait. Who has not heard that a path is gone may tell it on, and
// nobody hears of a path through itself.
func heardBy(m *state.Moment, prefix int) []bool {
	heard := make([]bool, len(m.Snapshot.Devices))
	var next []int
	for d := range heard {
		if m.Damped.Route(d, prefix).Local {
			heard[d], next = true, append(next, d)
		}
	}
	for len(next) > 0 {
		d := next[0]
		next = next[1:]
		for _, b := range m.Index.Of[d] {
			to, _ := peer(m.Network, d, int32(b))
			throughIt := slices.Contains(m.Snapshot.Devices[d].Routes[prefix].Told.Path, m.Topology.Devices[to].ASN)
			if !heard[to] && !throughIt && !m.Snapshot.Bundles[b].Unseen && m.Damped.TellsTo(d, prefix, int32(b)) {
				heard[to], next = true, append(next, to)
			}
		}
	}
	return heard
}

// NoLoop is the rule "no loop": the walk of a prefix through the FIBs, by
// itself and not by longest match, never comes back to a device.
type NoLoop struct {
	ledger
	constants
	news     news
	forwards []int    // by prefix: devices whose hardware forwards it
	colour   []colour // by device
	trail    []int
}

type colour uint8

const (
	unseen colour = iota
	onTrail
	loopFree
)

// NewNoLoop returns the check. Its worst value is the most loops at one moment.
func NewNoLoop() *NoLoop { return &NoLoop{ledger: newLedger(NoLoopName, 0, "loops")} }

// Look implements state.Check. It counts as exercised once per device and
// prefix that hardware forwards.
func (c *NoLoop) Look(m *state.Moment) {
	if c.learn(m) {
		c.colour, c.forwards = make([]colour, len(m.Snapshot.Devices)), make([]int, len(m.Topology.Prefixes))
	}
	c.news.hear(m)
	before, todo := c.found.Violated, c.news.takeHops()
	for p := range m.Topology.Prefixes {
		if todo.HasPrefix(p) {
			c.prefix(m, p)
		}
		c.found.Exercised += c.forwards[p]
	}
	c.worst(float64(c.found.Violated - before))
}

// prefix judges one prefix, of which some device sends another way.
func (c *NoLoop) prefix(m *state.Moment, p int) {
	clear(c.colour)
	for d, origin := range c.origins(p) {
		if origin {
			c.colour[d] = loopFree
		}
	}
	before := c.found.Violated
	c.forwards[p] = 0
	for d := range m.Snapshot.Devices {
		if c.unseen(m, d, "where it sends traffic: a walk that comes to it ends there") {
			continue
		}
		if len(m.Snapshot.Devices[d].Routes[p].FIB.Members) > 0 {
			c.forwards[p]++
			c.walk(m, d, p)
		}
	}
	if c.found.Violated > before {
		c.news.hops.Add(0, p)
	}
}

// walk follows every branch from d, each device once per prefix.
func (c *NoLoop) walk(m *state.Moment, d, p int) {
	if c.colour[d] != unseen {
		return
	}
	c.colour[d] = onTrail
	c.trail = append(c.trail, d)
	for _, w := range m.Snapshot.Devices[d].Routes[p].FIB.Members {
		to, ok := peer(m.Network, d, w.ID)
		if !ok || !carries(m, w.ID) {
			continue // traffic ends there: NoBlackHole's to report
		}
		if c.colour[to] == onTrail {
			c.violate(m, at(m.Network, to, p), "traffic comes back: %s", c.circle(m, to))
			continue
		}
		c.walk(m, to, p)
	}
	c.trail = c.trail[:len(c.trail)-1]
	c.colour[d] = loopFree
}

// circle names the devices from d round to d.
func (c *NoLoop) circle(m *state.Moment, d int) string {
	if c.full() {
		return ""
	}
	var names []string
	for i := len(c.trail) - 1; i >= 0; i-- {
		names = append([]string{m.Topology.Devices[c.trail[i]].Name}, names...)
		if c.trail[i] == d {
			break
		}
	}
	return strings.Join(append(names, m.Topology.Devices[d].Name), " -> ")
}
