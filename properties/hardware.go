package properties

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// FIBWithinLimits is the rule "FIB within limits, peak included": on every
// device the next-hop groups and member entries in use are within what the
// chip may hold between changes, their peaks, old and new groups counted
// together, within what it holds at all, no set is wider than a group, and
// nothing that was asked for is refused, and no prefix is without its group while it
// changes, unless the chip breaks first. What an overflow policy gives up to
// keep the limits is no violation; the note says how much that is.
type FIBWithinLimits struct {
	ledger
	given    given
	refusals []int // by device: those that are reported
	gaps     []int // by device: those that are reported
}

// NewFIBWithinLimits returns the check. Its worst value is the use of a limit
// in percent.
func NewFIBWithinLimits() *FIBWithinLimits {
	return &FIBWithinLimits{ledger: newLedger(FIBWithinLimitsName, 100, "% of the limit")}
}

// Look implements state.Check. It counts as exercised once per device that
// has, or had, a next-hop group or could not have one.
func (c *FIBWithinLimits) Look(m *state.Moment) {
	if c.refusals == nil {
		c.refusals, c.gaps = make([]int, len(m.Snapshot.Devices)), make([]int, len(m.Snapshot.Devices))
	}
	c.given.start()
	for d := range m.Snapshot.Devices {
		a := &m.Snapshot.Devices[d].FIB
		if c.unseen(m, d, "its next-hop groups and member entries") {
			continue
		}
		if a.GroupsPeak > 0 || a.Compromises > 0 {
			c.found.Exercised++
		}
		for _, l := range state.LimitsOf(a) {
			if l.Used == 0 || l.Most == fib.NoLimit {
				continue
			}
			c.worst(margin(float64(l.Used), float64(l.Most)))
			if l.Used > l.Most {
				c.violate(m, deviceText(m, d), "%d %s: want at most %d (%s)", l.Used, l.What, l.Most, a.Profile)
			}
		}
		if n := a.Refusals - c.refusals[d]; n > 0 {
			c.refusals[d] = a.Refusals
			c.violate(m, deviceText(m, d), "groups refused for want of room: %d (%s)", n, a.Profile)
		}
		if n := a.Gaps - c.gaps[d]; n > 0 && !m.Hardware[d].Profile.BreakFirst {
			c.gaps[d] = a.Gaps
			c.violate(m, deviceText(m, d), "times a prefix was without its group while that changed: %d, and the chip makes before it breaks (%s)", n, a.Profile)
		}
		c.sets(m, d, a)
	}
	c.found.Note = c.given.note()
}

// sets judges the sets that did not fit one group, and counts those that have
// something else than their own vector.
func (c *FIBWithinLimits) sets(m *state.Moment, d int, a *fib.Audit) {
	if a.Dropped == 0 && a.Compromises == 0 {
		return
	}
	for p := range m.Snapshot.Devices[d].Routes {
		e := &m.Snapshot.Devices[d].Routes[p].FIB
		switch {
		case e.Compromise != "":
			c.given.add(e.Compromise, len(e.Dropped), 0)
		case len(e.Dropped) > 0:
			members := len(e.Members) + len(e.Dropped)
			c.worst(margin(float64(members), float64(len(e.Members))))
			c.violate(m, at(m.Network, d, p), "a set of %d members: %d have no room in the group, %s the first", members, len(e.Dropped), bundleName(m.Network, e.Dropped[0]))
		}
	}
}

func deviceText(m *state.Moment, d int) string {
	return fmt.Sprintf("device %q", m.Topology.Devices[d].Name)
}

// given counts the sets to which overflow policies gave something else than
// their own vector, so that no rule accepts it silently.
type given struct {
	now, most    map[fib.Compromise]int // at this moment, and at the worst of each kind
	dropped, out int                    // members without traffic: now, and at most
	error        float64
}

// start begins a moment.
func (g *given) start() {
	if g.now == nil {
		g.now, g.most = map[fib.Compromise]int{}, map[fib.Compromise]int{}
	}
	clear(g.now)
	g.dropped = 0
}

func (g *given) add(c fib.Compromise, dropped int, size float64) {
	g.now[c]++
	g.most[c] = max(g.most[c], g.now[c])
	g.dropped += dropped
	g.out = max(g.out, g.dropped)
	g.error = max(g.error, size)
}

// note is a sentence, or empty where nothing was given.
func (g *given) note() string {
	kinds := slices.SortedFunc(maps.Keys(g.most), func(a, b fib.Compromise) int {
		return cmp.Or(cmp.Compare(g.most[b], g.most[a]), cmp.Compare(a, b))
	})
	if len(kinds) == 0 {
		return ""
	}
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", g.most[k], k))
	}
	text := "counted apart, sets with what the overflow policy gave them: at most " + strings.Join(parts, ", ") + " at one moment"
	if g.out > 0 {
		text += fmt.Sprintf("; %d members without traffic", g.out)
	}
	if g.error > 0 {
		text += "; off by at most " + percent(g.error)
	}
	return text
}
