package properties

import (
	"fmt"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// FIBWithinLimits is the rule "FIB within limits, peak included": on every
// device the next-hop groups and member entries in use are within what the
// chip may hold between changes, their peaks, old and new groups counted
// together, within what it holds at all, and no set is wider than a group.
type FIBWithinLimits struct{ ledger }

// NewFIBWithinLimits returns the check. Its worst value is the use of a limit
// in percent.
func NewFIBWithinLimits() *FIBWithinLimits {
	return &FIBWithinLimits{newLedger(FIBWithinLimitsName, 100, "% of the limit")}
}

// Look implements state.Check. It counts as exercised once per device that
// has, or had, a next-hop group.
func (c *FIBWithinLimits) Look(m *state.Moment) {
	for d := range m.Snapshot.Devices {
		a := &m.Snapshot.Devices[d].FIB
		if a.GroupsPeak > 0 {
			c.found.Exercised++
		}
		for _, use := range [...]struct {
			what       string
			used, most int
		}{
			{"groups at peak", a.GroupsPeak, a.GroupsLimit},
			{"member entries at peak", a.MembersPeak, a.MembersLimit},
			{"groups between changes", a.Groups, a.GroupsSteadyLimit},
			{"member entries between changes", a.Members, a.MembersSteadyLimit},
		} {
			if use.used == 0 {
				continue
			}
			c.worst(margin(float64(use.used), float64(use.most)))
			if use.used > use.most {
				c.violate(m, fmt.Sprintf("device %q", m.Topology.Devices[d].Name), "%d %s: want at most %d (%s)", use.used, use.what, use.most, a.Profile)
			}
		}
		c.width(m, d, a)
	}
}

// width judges the sets that did not fit one group.
func (c *FIBWithinLimits) width(m *state.Moment, d int, a *fib.Audit) {
	if a.Dropped == 0 {
		return
	}
	for p := range m.Snapshot.Devices[d].Routes {
		e := &m.Snapshot.Devices[d].Routes[p].FIB
		if len(e.Dropped) == 0 {
			continue
		}
		members := len(e.Members) + len(e.Dropped)
		c.worst(margin(float64(members), float64(len(e.Members))))
		c.violate(m, at(m.Network, d, p), "a set of %d members: %d have no room in the group, %s the first", members, len(e.Dropped), bundleName(m.Network, e.Dropped[0]))
	}
}
