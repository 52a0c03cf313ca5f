package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// maxRounds is how many rounds in a row count as never getting quiet. News
// crosses a network in as many rounds as it has hops; only an oscillation
// takes hundreds.
const maxRounds = 1000

// lastRounds is how many rounds an oscillation has to show who takes part.
const lastRounds = 16

// Quiet implements state.Engine.
func (e *Engine) Quiet(ctx context.Context) error {
	turns := 0
	for i := range e.most {
		if err := e.waitLull(ctx); err != nil {
			return err
		}
		if len(e.turns()) > 0 {
			turns++
		}
		if turns > e.foreign.most {
			return fmt.Errorf("%w: external device %q has told something in %d rounds and goes on", ErrNoConvergence, e.talker(), e.foreign.most)
		}
		if i > 0 && e.onRound != nil {
			e.onRound()
		}
		e.expectFirstTelling()
		e.spread()
		e.deliverEnds()
		stepped, err := e.round(ctx)
		if err != nil || !stepped {
			return err
		}
	}
	var names []string
	for d, last := range e.stepped {
		if last > e.rounds.Load()-int64(min(lastRounds, e.most)) {
			names = append(names, e.topology.Devices[d].Name)
		}
	}
	return fmt.Errorf("%w: not quiet after %d rounds: still talking: %s", ErrNoConvergence, e.most, few(names))
}

// round freezes the input of every speaker and steps all that have any. What
// they tell arrives while others still step, and waits for the next round.
func (e *Engine) round(ctx context.Context) (stepped bool, err error) {
	inputs := make([]gobgp.Frozen, len(e.speakers))
	due := make([]bool, len(e.speakers))
	turns := e.turns()
	for d, s := range e.speakers {
		if s == nil || e.away[int32(d)] {
			continue // it decides nothing, and its hardware stays as it is
		}
		inputs[d] = s.Freeze()
		due[d] = len(inputs[d]) > 0 || e.cores[d].Next() <= e.now
		stepped = stepped || due[d]
	}
	for _, t := range turns {
		due[e.index.Ends[t.bundle][e.foreign.end[t.bundle]]], stepped = true, true
	}
	if !stepped {
		return false, nil
	}
	e.noteRound(due)
	if err := e.take(turns); err != nil {
		return true, err
	}
	told := make([]bool, len(e.speakers))
	err = parallel(len(e.speakers), func(d int) (err error) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if due[d] && !e.isFar(d) {
			told[d], err = e.step(ctx, d, inputs[d])
		}
		return err
	})
	if err != nil {
		return true, err
	}
	if err := e.fence(ctx, func(d int) bool { return told[d] }); err != nil {
		return true, err
	}
	e.endsOfRound()
	return true, e.ceaseSessions(ctx)
}

// spread reports how many routes have come to the cores.
func (e *Engine) spread() {
	if e.opts.Progress == nil {
		return
	}
	e.mu.Lock()
	taken := e.tracker.taken
	e.mu.Unlock()
	e.opts.Progress(StageSpread, taken, e.opts.Entries)
}

// noteRound begins a round of the speakers that are due.
func (e *Engine) noteRound(due []bool) {
	number := e.rounds.Add(1)
	for d := range due {
		if due[d] {
			e.stepped[d] = number
		}
	}
}

// ceaseSessions cuts the sessions that a speaker wants ended. Its neighbour
// hears of it in the next round.
func (e *Engine) ceaseSessions(ctx context.Context) error {
	var list []int32
	for d, s := range e.speakers {
		if s == nil {
			continue
		}
		for _, b := range s.TakeCeased() {
			if e.wires[b] != nil && !slices.Contains(list, b) {
				list = append(list, b)
				e.closed[b] = e.topology.Devices[d].Name
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := e.waitLull(ctx); err != nil { // what is in flight belongs to this round
		return err
	}
	return e.cut(ctx, list)
}

// step gives a speaker its input: all of it at once, or each by itself where
// the speaker does not batch.
func (e *Engine) step(ctx context.Context, d int, in gobgp.Frozen) (told bool, err error) {
	e.actions.Stepped(d)
	program := func(p int32, hops []speakers.Hop) error { return e.program(d, p, hops) }
	if e.settings[d].RIBBatch > 0 || len(in) == 0 {
		return e.speakers[d].Step(ctx, e.now, in, program)
	}
	for i := range in {
		e.actions.Stepped(d)
		t, err := e.speakers[d].Step(ctx, e.now, in[i:i+1], program)
		told = told || t
		if err != nil {
			return told, err
		}
	}
	return told, nil
}

func (e *Engine) program(device int, prefix int32, hops []speakers.Hop) error {
	return e.tables[device].Carry(e.topology.Prefixes[prefix].Prefix, hops)
}

// Snapshot implements state.Engine.
func (e *Engine) Snapshot() *state.Snapshot {
	s := &state.Snapshot{
		Time:    e.now,
		Bundles: make([]state.Bundle, len(e.topology.Bundles)),
		Devices: make([]state.Device, len(e.topology.Devices)),
	}
	for b, ends := range e.index.Ends {
		a, z := e.bundleAt(ends[0], ends[1], int32(b)), e.bundleAt(ends[1], ends[0], int32(b))
		s.Bundles[b] = state.Bundle{
			Members: e.members[b], Capacity: a.Passed.Capacity, Trial: a.Passed.Trial, Up: a.Up && z.Up, CeasedBy: e.closed[int32(b)],
			Unseen: e.unseen[int32(b)],
		}
		switch {
		case e.unseen[int32(b)]:
			s.Bundles[b].Lost = 1
		case e.members[b] > 0:
			s.Bundles[b].Lost = e.lost[int32(b)]
		}
	}
	for h := range e.holds {
		s.Held = append(s.Held, state.Direction{Bundle: h.bundle, FromB: h.fromB})
	}
	slices.SortFunc(s.Held, func(a, b state.Direction) int { return number(a) - number(b) })
	_ = parallel(len(s.Devices), func(d int) error {
		s.Devices[d] = e.device(d)
		return nil
	})
	return s
}

// bundleAt is what a device knows of a bundle, or where it is external its neighbour.
func (e *Engine) bundleAt(device, neighbour int, bundle int32) speakers.Bundle {
	if e.isFar(device) {
		device = neighbour
	}
	known, _ := e.cores[device].Bundle(bundle)
	return known
}

func (e *Engine) device(d int) state.Device {
	if e.isFar(d) {
		return e.farDevice(d)
	}
	dev := e.tables[d].Device(e.cores[d], e.topology.Prefixes, nil, 0)
	dev.Drain, dev.Restarting = e.drains[d], dev.Restarting || e.away[int32(d)]
	return dev
}
