package properties

import (
	"maps"
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
	since map[[2]int]time.Duration // virtual, by device and prefix that are withheld
}

// NewLivePath returns the check. Its worst value is the most routes withheld at
// one moment.
func NewLivePath() *LivePath {
	return &LivePath{newLedger(LivePathName, 0, "routes"), map[[2]int]time.Duration{}}
}

// Look implements state.Check. It counts as exercised once per route held.
func (c *LivePath) Look(m *state.Moment) {
	before, dampings := c.found.Violated, m.ToldDampings()
	for d := range m.Snapshot.Devices {
		if c.unseen(m, d, "which routes it holds; that it tells those that the graph has for it is judged by \""+EndStateName+"\"") {
			continue
		}
		if dev := &m.Snapshot.Devices[d]; dev.Drain == topologies.Drained || dev.Restarting {
			maps.DeleteFunc(c.since, func(place [2]int, _ time.Duration) bool { return place[0] == d })
			continue
		}
		for p := range m.Snapshot.Devices[d].Routes {
			r, place := &m.Snapshot.Devices[d].Routes[p], [2]int{d, p}
			if !r.Reachable() || r.Told.Present {
				c.found.Exercised += count(r.Reachable())
				delete(c.since, place)
				continue
			}
			c.found.Exercised++
			since, ok := c.since[place]
			if !ok {
				since, c.since[place] = m.Snapshot.Time, m.Snapshot.Time
			}
			if m.Settled || m.Snapshot.Time-since >= dampings(d, p).Law.Late {
				c.violate(m, at(m.Network, d, p), "withheld: the device holds %s, worth %s", setText(m.Network, r.Set), bottleneckText(m.Network, r))
			}
		}
	}
	c.worst(float64(c.found.Violated - before))
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
