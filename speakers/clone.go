package speakers

import (
	"slices"

	"github.com/bagrig/bagrig/damping"
)

// Clone copies the core: what happens to one of the two changes nothing in the
// other. They share their configuration and the routes, which nobody writes to.
// The error is damping.ErrNoClone, where a stage of the user's own cannot be copied.
//
// Cores may be cloned from several goroutines at once while nobody steps them.
func (c *Core) Clone() (*Core, error) {
	made := *c
	made.rejected, made.suppressed = slices.Clone(c.rejected), slices.Clone(c.suppressed)
	made.aggregates, made.dirty = slices.Clone(c.aggregates), slices.Clone(c.dirty)
	made.history.changed = slices.Clone(c.history.changed)
	made.set, made.hops = make([]int, 0, len(c.sessions)), make([]Hop, 0, len(c.sessions))
	made.sessions = slices.Clone(c.sessions)
	for i := range made.sessions {
		s := &made.sessions[i]
		s.stale = slices.Clone(s.stale)
		var err error
		if s.policy, err = damping.CloneBundle(s.policy); err != nil {
			return nil, err
		}
	}
	made.candidates = cloneRows(c.candidates)
	return &made, made.cloneTold()
}

// CanClone returns the error that Clone would.
func (c *Core) CanClone() error {
	for i := range c.sessions {
		if err := damping.CanCloneBundle(c.sessions[i].policy); err != nil {
			return err
		}
	}
	checked := map[*toldStages]bool{} // all policies of one rule are of one type
	for p := range c.prefixes {
		pre := &c.prefixes[p]
		if checked[pre.stages] {
			continue
		}
		checked[pre.stages] = true
		if err := pre.stages.speaker.CanClone(pre.policy); err != nil {
			return err
		}
	}
	return nil
}

// cloneRows copies rows into one piece of memory.
func cloneRows(rows [][]*Route) [][]*Route {
	n := 0
	for _, row := range rows {
		n += len(row)
	}
	made, room := make([][]*Route, len(rows)), make([]*Route, 0, n)
	for p, row := range rows {
		if row != nil {
			room = append(room, row...)
			made[p] = room[len(room)-len(row) : len(room) : len(room)]
		}
	}
	return made
}

// cloneTold replaces the prefixes, their damping, and what that shares, by copies.
func (c *Core) cloneTold() error {
	c.prefixes, c.churn = slices.Clone(c.prefixes), nil
	copies := map[*toldStages]*toldStages{}
	for p := range c.prefixes {
		pre := &c.prefixes[p]
		to := copies[pre.stages]
		if to == nil {
			speaker, err := pre.stages.speaker.Clone()
			if err != nil {
				return err
			}
			to = &toldStages{pre.stages.stages, speaker}
			copies[pre.stages] = to
			if speaker.HearsChurn() {
				c.churn = append(c.churn, speaker)
			}
		}
		var err error
		if pre.policy, err = to.speaker.CloneTold(pre.policy); err != nil {
			return err
		}
		pre.stages = to
	}
	return nil
}
