package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/wire"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// Apply implements state.Engine.
func (e *Engine) Apply(ctx context.Context, changes []state.Change) error {
	var up, down []int32
	for _, c := range changes {
		var err error
		if e.reachesInto(c) {
			return fmt.Errorf("device %q: %v: it is external", e.topology.Devices[c.Device].Name, c.Kind)
		}
		switch c.Kind {
		case state.SetMembers:
			err = e.setMembers(c, &up, &down)
		case state.Fail:
			e.failUnseen(c)
		case state.Notice:
			e.notice(c.Bundle, &down)
		case state.SetLoss:
			e.lost[c.Bundle] = c.Loss
		case state.SetKnob:
			err = e.setKnob(c)
		case state.SetDrain:
			e.drains[c.Device] = c.Drain
			e.input(int(c.Device), speakers.Input{Kind: speakers.Drain, Drain: c.Drain})
		case state.Reset:
			if e.wires[c.Bundle] != nil {
				down = append(down, c.Bundle)
			}
			if !e.sessionless(c.Bundle) {
				up = append(up, c.Bundle)
			}
		case state.Hold, state.Release:
			err = e.holdWire(c)
		case state.Stop:
			down = append(down, e.stopSpeaker(c.Device)...)
		case state.StartAgain:
			if !e.away[c.Device] {
				continue
			}
			var back []int32
			back, err = e.startAgain(ctx, c.Device)
			up = append(up, back...)
		}
		if err != nil {
			return err
		}
	}
	if err := e.cut(ctx, once(down)); err != nil {
		return err
	}
	// What was to bring a session up may have come with what takes it down.
	return e.open(ctx, slices.DeleteFunc(once(up), func(b int32) bool { return e.members[b] == 0 && !e.unseen[b] || e.sessionless(b) }))
}

// once keeps the first of each.
func once(bundles []int32) (list []int32) {
	for _, b := range bundles {
		if !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list
}

// reachesInto tells whether a change is one of the inside of an external device.
func (e *Engine) reachesInto(c state.Change) bool {
	switch c.Kind {
	case state.SetKnob, state.SetDrain, state.Stop, state.StartAgain:
		return e.isFar(int(c.Device))
	}
	return false
}

func (e *Engine) setMembers(c state.Change, up, down *[]int32) error {
	b := e.topology.Bundles[c.Bundle]
	if c.Members < 0 || c.Members > b.Members {
		return fmt.Errorf("bundle %q: members %d: want 0 to %d", b.Name, c.Members, b.Members)
	}
	was := e.members[c.Bundle]
	if e.unseen[c.Bundle] {
		if c.Members == 0 {
			e.notice(c.Bundle, down)
			return nil
		}
		if err := e.letPass(c.Bundle); err != nil {
			return err
		}
		if e.wires[c.Bundle] != nil {
			was = c.Members // its session has not fallen
		}
	} else if was == c.Members {
		return nil
	}
	e.members[c.Bundle] = c.Members
	e.linkDown(c.Bundle, c.Members == 0)
	switch {
	case was == 0 && !e.sessionless(c.Bundle):
		*up = append(*up, c.Bundle)
	case c.Members == 0 && e.wires[c.Bundle] != nil: // nil: its session has ended before
		*down = append(*down, c.Bundle)
	}
	e.hear(c.Bundle)
	return nil
}

// sessionless tells whether a speaker at an end of a bundle has stopped: its
// session comes up when that starts again.
func (e *Engine) sessionless(bundle int32) bool {
	ends := e.index.Ends[bundle]
	return e.away[int32(ends[0])] || e.away[int32(ends[1])]
}

// hear tells both ends of a bundle what its members come to.
func (e *Engine) hear(bundle int32) {
	capacity := e.topology.Bundles[bundle].Capacity(e.members[bundle])
	for _, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.Capacity, Bundle: bundle, Capacity: capacity})
	}
}

// failUnseen takes a bundle away while its ends keep its session: what they send waits.
func (e *Engine) failUnseen(c state.Change) {
	e.members[c.Bundle], e.unseen[c.Bundle] = 0, true
	if w := e.wires[c.Bundle]; w != nil {
		w.Hold(false)
		w.Hold(true)
	}
	if c.Heard {
		e.hear(c.Bundle)
	}
}

// notice lets the session of a bundle that has failed fall, and what waits on it.
func (e *Engine) notice(bundle int32, down *[]int32) {
	if !e.unseen[bundle] {
		return
	}
	delete(e.unseen, bundle)
	e.linkDown(bundle, true)
	if e.wires[bundle] != nil {
		*down = append(*down, bundle)
	}
	e.hear(bundle)
}

// letPass ends a failure that nobody noticed. What an event holds goes on waiting.
func (e *Engine) letPass(bundle int32) error {
	delete(e.unseen, bundle)
	w := e.wires[bundle]
	for _, fromB := range []bool{false, true} {
		if w == nil || e.holds[holding{bundle, fromB}] || e.waitsItsTurn(bundle, fromB) {
			continue
		}
		if err := w.Release(fromB); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) setKnob(c state.Change) error {
	s := e.settings[c.Device]
	err := s.Set(c.Knob, c.Value)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return fmt.Errorf("device %q: %w", e.topology.Devices[c.Device].Name, err)
	}
	e.settings[c.Device] = s
	e.speakers[c.Device].Input(speakers.Input{Kind: speakers.Configure, Settings: &s})
	return nil
}

// holding names a direction whose UPDATEs wait.
type holding struct {
	bundle int32
	fromB  bool
}

func (e *Engine) holdWire(c state.Change) error {
	w := e.wires[c.Bundle]
	if w == nil && c.Kind == state.Release {
		return nil // what waited went down with the session
	}
	if w == nil {
		return fmt.Errorf("bundle %q: its session is down and cannot be held", e.topology.Bundles[c.Bundle].Name)
	}
	h := holding{c.Bundle, c.FromB}
	if c.Kind == state.Hold {
		e.holds[h] = true
		w.Hold(c.FromB)
		return nil
	}
	delete(e.holds, h)
	if e.unseen[c.Bundle] || e.waitsItsTurn(c.Bundle, c.FromB) {
		return nil // nothing passes a bundle that has failed, and a device tells in its turn
	}
	return w.Release(c.FromB)
}

// waitsItsTurn tells whether an external device tells in a direction.
func (e *Engine) waitsItsTurn(bundle int32, fromB bool) bool {
	end := e.foreign.end[bundle]
	return end >= 0 && fromB == (end == 1)
}

// cut ends sessions: the wires close, both ends notice, and both forget the
// neighbour, because a fallen session would wait 5 s before it comes back.
func (e *Engine) cut(ctx context.Context, bundles []int32) error {
	for _, b := range bundles {
		w := e.wires[b]
		e.wires[b] = nil
		delete(e.holds, holding{b, false})
		delete(e.holds, holding{b, true})
		if err := w.Cut(); err != nil {
			return fmt.Errorf("bundle %q: %w", e.topology.Bundles[b].Name, err)
		}
		e.keep(w)
		e.untap(b)
		if e.foreign.end[b] >= 0 {
			e.Spoke(state.Direction{Bundle: b}) // the device may have something to say to that
		}
	}
	if err := e.waitPeers(ctx, bundles, "down", func(s peerState) bool { return s != api.PeerState_ESTABLISHED }); err != nil {
		return err
	}
	e.mu.Lock()
	for _, b := range bundles {
		e.tracker.reset(2 * int(b))
		e.tracker.reset(2*int(b) + 1)
	}
	e.mu.Unlock()
	for _, b := range bundles {
		for _, d := range e.index.Ends[b] {
			if e.isFar(d) {
				continue
			}
			if err := e.speakers[d].DeletePeer(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep takes over what a wire counted before it is forgotten.
func (e *Engine) keep(w *wire.Wire) {
	for _, fromB := range []bool{false, true} {
		e.past = e.past.Add(w.Counters(fromB))
		e.pastLog = w.TakeLog(fromB, e.pastLog)
	}
}

// open brings sessions up: both ends learn of the neighbour, the wire dials
// both as soon as they accept, and each end then owes a fence, since the dump
// that a new session begins with counts as told.
func (e *Engine) open(ctx context.Context, bundles []int32) error {
	if len(bundles) == 0 {
		return nil
	}
	e.mu.Lock()
	for _, b := range bundles {
		delete(e.closed, b)
		e.peers[2*b], e.peers[2*b+1] = api.PeerState_UNKNOWN, api.PeerState_UNKNOWN
	}
	e.mu.Unlock()
	ends := make([][]int32, len(e.speakers))
	for _, b := range bundles {
		for _, d := range e.index.Ends[b] {
			ends[d] = append(ends[d], b)
		}
	}
	err := parallel(len(e.speakers), func(d int) error {
		if e.isFar(d) {
			return nil
		}
		for _, b := range ends[d] {
			if err := e.speakers[d].AddPeer(ctx, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.waitPeers(ctx, bundles, "accepting", func(s peerState) bool { return s == api.PeerState_ACTIVE }); err != nil {
		return err
	}
	if err := e.dial(ctx, bundles); err != nil {
		return err
	}
	if err := e.waitPeers(ctx, bundles, "Established", func(s peerState) bool { return s == api.PeerState_ESTABLISHED }); err != nil {
		return err
	}
	if err := e.fence(ctx, func(d int) bool { return len(ends[d]) > 0 }); err != nil {
		return err
	}
	return e.takeDumps(ctx, bundles)
}

// dialers bounds the connections that are being made at one time; each
// listener's backlog and GoBGP's accept queue are short.
const dialers = 16

func (e *Engine) dial(ctx context.Context, bundles []int32) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := make(chan struct{}, dialers)
	var wg sync.WaitGroup
	for i, b := range bundles {
		e.progress(StageDial, i, len(bundles))
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			e.openTap(b)
			w, err := wire.Dial(ctx, wire.Config{
				Bundle: b, A: e.plan.session[b][0], B: e.plan.session[b][1], Port: e.opts.Port, Budget: e.opts.Budget,
				Fence: gobgp.FencePrefix, Index: e.prefixes.Index, Record: &e.record, Sink: e,
				Far: e.far(b), Tap: e.tap(),
			})
			if errors.Is(err, wire.ErrNoOpen) {
				err = fmt.Errorf("%w: %w", ErrNoConvergence, err)
			}
			if err != nil {
				e.untap(b)
				cancel(fmt.Errorf("bundle %q: %w", e.topology.Bundles[b].Name, err))
				return
			}
			e.wires[b] = w
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// fence lets the chosen speakers add a fence with a new number, which every
// one of their sessions then owes.
func (e *Engine) fence(ctx context.Context, chosen func(device int) bool) error {
	e.fences++
	e.mu.Lock()
	for d := range e.speakers {
		if !chosen(d) || e.isFar(d) {
			continue
		}
		for _, b := range e.index.Of[d] {
			if e.wires[b] != nil {
				e.tracker.expect(e.sent(int32(b), d), e.fences)
			}
		}
	}
	e.mu.Unlock()
	return parallel(len(e.speakers), func(d int) error {
		if !chosen(d) || e.isFar(d) {
			return nil
		}
		return e.speakers[d].Fence(ctx, e.fences)
	})
}

// Counters implements state.Engine.
func (e *Engine) Counters() state.Counters {
	sum := e.past
	for _, w := range e.wires {
		if w != nil {
			sum = sum.Add(w.Counters(false)).Add(w.Counters(true))
		}
	}
	return sum
}

// TakeLog implements state.Engine.
func (e *Engine) TakeLog() []state.NLRI {
	log := e.pastLog
	e.pastLog = nil
	for _, w := range e.wires {
		if w != nil {
			log = w.TakeLog(false, log)
			log = w.TakeLog(true, log)
		}
	}
	slices.SortStableFunc(log, func(a, b state.NLRI) int {
		if a.Round != b.Round {
			return a.Round - b.Round
		}
		if a.Dir != b.Dir {
			return number(a.Dir) - number(b.Dir)
		}
		if a.Dump && b.Dump { // a dump has no order of its own
			return int(a.Prefix - b.Prefix)
		}
		return 0
	})
	return log
}
