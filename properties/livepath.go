package properties

import (
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// LivePath is the rule "no live path dropped": a device that holds a route tells
// it, at every moment. A degraded path may be told as worth less, and never be
// withheld for longer than the damping there says that it keeps news back
// (damping.Law.Late). A device that is drained or restarts is exempt; which
// neighbours hear the route is for the export rules to say.
//
// It is what flap damping breaks that suppresses by withdrawing, as RFC 7938
// section 7.3 warns.
type LivePath struct {
	ledger
	constants
	news  news
	holds counted                  // places that count as exercised
	since map[[2]int]time.Duration // virtual, by device and prefix that are withheld
}

// NewLivePath returns the check. Its worst value is the most routes withheld at
// one moment.
func NewLivePath() *LivePath {
	return &LivePath{ledger: newLedger(LivePathName, 0, "routes"), since: map[[2]int]time.Duration{}}
}

// Look implements state.Check. It counts as exercised once per route held.
func (c *LivePath) Look(m *state.Moment) {
	if c.learn(m) {
		c.holds = newCounted(m)
	}
	c.news.hear(m)
	before, todo := c.found.Violated, c.news.takeRoutes()
	for d, p := range todo.All() {
		if c.unseen(m, d, "which routes it holds; that it tells those that the graph has for it is judged by \""+EndStateName+"\"") {
			continue
		}
		c.place(m, d, p)
	}
	c.found.Exercised += c.holds.n
	c.worst(float64(c.found.Violated - before))
}

// place judges one route.
func (c *LivePath) place(m *state.Moment, d, p int) {
	dev, place := &m.Snapshot.Devices[d], [2]int{d, p}
	r, exempt := &dev.Routes[p], dev.Drain == topologies.Drained || dev.Restarting
	c.holds.put(d, p, r.Reachable() && !exempt)
	if exempt || !r.Reachable() || r.Told.Present {
		delete(c.since, place)
		return
	}
	c.news.routes.Add(d, p) // it is judged by how long it lasts
	since, ok := c.since[place]
	if !ok {
		since, c.since[place] = m.Snapshot.Time, m.Snapshot.Time
	}
	if m.Settled || m.Snapshot.Time-since >= c.dampings(d, p).Law.Late {
		c.violate(m, at(m.Network, d, p), "withheld: the device holds %s, worth %s", setText(m.Network, r.Set), bottleneckText(m.Network, r))
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
