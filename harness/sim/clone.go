package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
)

// Clone copies a network at this moment: what happens to one of the two changes
// nothing in the other, and the same happens to both where the same is done to
// them. Observers, Until and the log of NLRI are not taken along.
//
// The copy holds the same speakers and hardware tables until one of the two
// engines changes one, and then has that one for itself. So cloning costs little
// more than the list of devices and sessions, and any number of goroutines may
// clone one engine at once, as long as nobody uses it otherwise meanwhile.
//
// An error is damping.ErrNoClone, for a damping stage of the user's own that
// cannot be copied, or names a schedule that cannot be.
func (e *Engine) Clone() (*Engine, error) {
	cloner, ok := e.schedule.(interface{ clone(*Engine) schedule })
	if !ok {
		return nil, fmt.Errorf("schedule %q cannot be cloned", e.opts.Schedule.Mode)
	}
	if e.noClone != nil {
		return nil, e.noClone
	}
	e.cloned.Store(true)
	made := &Engine{
		opts: e.opts, topology: e.topology, index: e.index, prefixes: e.prefixes, configs: e.configs,
		devices: slices.Clone(e.devices), sessions: slices.Clone(e.sessions), settings: slices.Clone(e.settings),
		heardBits: slices.Clone(e.heardBits), marks: slices.Clip(e.marks), paths: paths{}, self: new(owner),
		now: e.now, rounds: e.rounds, entries: e.entries, recording: e.recording, counters: e.counters,
		until: damping.Never, talk: slices.Clone(e.talk), tap: e.tap.clone(),
	}
	made.opts.Progress = nil
	for d := range made.devices {
		dev := &made.devices[d]
		dev.inbox, dev.others = slices.Clone(dev.inbox), slices.Clone(dev.others)
		dev.frozen, dev.rest = slices.Clone(dev.frozen), slices.Clone(dev.rest)
	}
	for b := range made.sessions {
		for side := range made.sessions[b].ends {
			end := &made.sessions[b].ends[side]
			end.waiting = slices.Clone(end.waiting)
		}
	}
	for d := range e.tables {
		made.tables = append(made.tables, e.tables[d].Shared())
	}
	made.schedule = cloner.clone(made)
	return made, nil
}

// Reschedule lets the engine go on under another schedule. It fails where
// something is on its way under the present one.
func (e *Engine) Reschedule(s Schedule) error {
	if busy, ok := e.schedule.(interface{ idle() bool }); !ok || !busy.idle() {
		return fmt.Errorf("schedule %q: want a quiet network to change it in", s.Mode)
	}
	next, err := s.start(e)
	if err == nil {
		e.schedule, e.opts.Schedule = next, s
	}
	return err
}

// own makes a device the engine's alone, so that it may be changed.
func (e *Engine) own(d int) *device {
	if e.cloned.Load() {
		e.self = new(owner)
		e.cloned.Store(false)
	}
	dev := &e.devices[d]
	dev.seen = nil
	if dev.owner != e.self {
		dev.owner = e.self
		dev.core = mustClone(dev.core)
		dev.told = slices.Clone(dev.told)
		e.tables[d] = e.tables[d].Clone()
	}
	for _, m := range e.marks[dev.marks:] {
		e.tables[d].Mark(m)
	}
	dev.marks = len(e.marks)
	return dev
}

// mustClone copies a core of an engine of which Clone has found that it can be.
func mustClone(c *speakers.Core) *speakers.Core {
	made, err := c.Clone()
	if err != nil {
		return c
	}
	return made
}

func (c *common) cloneFor(e *Engine) common {
	source := *c.source
	return common{e: e, source: &source, ceased: slices.Clone(c.ceased), told: slices.Clone(c.told), ends: slices.Clone(c.ends)}
}

func (s *rounds) clone(e *Engine) schedule { return &rounds{s.cloneFor(e)} }

func (s *rounds) idle() bool { return len(s.ends) == 0 }

func (s *random) clone(e *Engine) schedule {
	base := s.cloneFor(e)
	made := &random{common: base, rng: rand.New(base.source), queues: maps.Clone(s.queues), busy: slices.Clone(s.busy)}
	for dir, queue := range made.queues {
		made.queues[dir] = slices.Clone(queue)
	}
	return made
}

func (s *random) idle() bool { return len(s.ends)+len(s.busy) == 0 }

func (s *timed) clone(e *Engine) schedule {
	base := s.cloneFor(e)
	return &timed{
		common: base, rng: rand.New(base.source), params: s.params, events: slices.Clone(s.events), number: s.number,
		arrival: slices.Clone(s.arrival), life: slices.Clone(s.life), decides: slices.Clone(s.decides), timers: slices.Clone(s.timers),
	}
}

func (s *timed) idle() bool { return len(s.ends)+len(s.events) == 0 }
