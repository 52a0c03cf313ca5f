package harness

import (
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// allowed is what the transitions of one moment let directed sessions be told:
// for each flow (a session and a prefix) one change per bundle that makes a
// difference to it.
//
// With several bundles the order matters. Where two of them limit one path, the
// one that is changed first may be hidden behind the other; news travel from
// each end at its own distance, so a session may hear of them in any order. A
// bundle makes a difference where its change does in the bundles' order, or as
// the first of the moment, or as the last.
func (j *judge) allowed(moment []transition) []state.SessionChange {
	if len(moment) == 0 {
		return nil
	}
	start, end := moment[0].from, moment[len(moment)-1].to
	var list []state.SessionChange
	for _, t := range moment {
		one := newMerge()
		one.add(oracle.DiffOpenSessions(t.from, t.to, end))
		if len(moment) > 1 {
			one.add(oracle.DiffOpenSessions(start, j.only(moment, t), end))
			one.add(oracle.DiffOpenSessions(j.without(t), end, end))
		}
		list = append(list, one.list...)
	}
	return list
}

// only is the state before the moment with one bundle changed.
func (j *judge) only(moment []transition, t transition) *oracle.State {
	list := j.passed()
	changed := list[t.bundle]
	for _, other := range moment {
		list[other.bundle] = oracle.Bundle(other.was)
	}
	list[t.bundle] = changed
	return j.dampedOracle.State(list)
}

// without is the state after the moment with one bundle as it was before.
func (j *judge) without(t transition) *oracle.State {
	list := j.passed()
	list[t.bundle] = oracle.Bundle(t.was)
	return j.dampedOracle.State(list)
}

// merge joins what several comparisons say of the same flows, in the order in
// which the flows come.
type merge struct {
	list  []state.SessionChange
	place map[flow]int
}

type flow struct {
	dir    state.Direction
	prefix int
}

func newMerge() *merge { return &merge{place: map[flow]int{}} }

func (m *merge) add(changes []oracle.SessionChange) {
	for _, c := range changes {
		f := flow{c.Dir, c.Prefix}
		i, ok := m.place[f]
		if !ok {
			i = len(m.list)
			m.place[f] = i
			m.list = append(m.list, state.SessionChange{Dir: c.Dir, Prefix: int32(c.Prefix)})
		}
		at := &m.list[i]
		at.Told, at.Path, at.Cut = at.Told || c.Told, at.Path || c.Path, at.Cut || c.Cut
	}
}
