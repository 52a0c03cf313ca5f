package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/bagrig/bagrig/harness/state"
)

// peerState is what one end of a session last said of its FSM.
type peerState = api.PeerState_SessionState

// number is a direction's place in the tracker.
func number(d state.Direction) int {
	n := 2 * int(d.Bundle)
	if d.FromB {
		n++
	}
	return n
}

// received is the direction that a device receives over a bundle.
func (e *Engine) received(bundle int32, device int) int {
	return number(state.Direction{Bundle: bundle, FromB: e.end(bundle, device) == 0})
}

// sent is the direction that a device sends over a bundle.
func (e *Engine) sent(bundle int32, device int) int {
	return number(state.Direction{Bundle: bundle, FromB: e.end(bundle, device) == 1})
}

// events hears one speaker's server.
type events struct {
	e      *Engine
	device int
}

// Took implements gobgp.Events.
func (v events) Took(bundle int32, nlri int) {
	v.e.mu.Lock()
	defer v.e.mu.Unlock()
	if err := v.e.tracker.take(v.e.received(bundle, v.device), nlri); err != nil {
		v.e.failLocked(fmt.Errorf("speaker %q: bundle %q: %w", v.e.topology.Devices[v.device].Name, v.e.topology.Bundles[bundle].Name, err))
	}
	v.e.wakeAtLull()
}

// PeerState implements gobgp.Events.
func (v events) PeerState(bundle int32, to peerState) {
	v.e.mu.Lock()
	defer v.e.mu.Unlock()
	v.e.tracker.moves++
	dir := v.e.received(bundle, v.device)
	v.e.peers[dir] = to
	if to == api.PeerState_IDLE {
		v.e.dials.fall(dir)
	}
	v.e.wake()
}

// Failed implements gobgp.Events.
func (v events) Failed(err error) { v.e.fail(err) }

// Dialled implements wire.Sink.
func (e *Engine) Dialled(dir state.Direction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dials.dial(number(dir))
}

// Handed implements wire.Sink.
func (e *Engine) Handed(dir state.Direction, nlri int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.farDirection(number(dir)) {
		e.tracker.moves++ // nobody tells when an external device takes it
		return
	}
	e.tracker.hand(number(dir), nlri)
}

// Fence implements wire.Sink.
func (e *Engine) Fence(dir state.Direction, fence uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	owed := e.tracker.fence(number(dir), fence)
	e.wakeAtLull()
	return owed
}

// Closed implements wire.Sink.
func (e *Engine) Closed(dir state.Direction, err error) {
	b := e.topology.Bundles[dir.Bundle]
	from, to := b.A, b.B
	if dir.FromB {
		from, to = to, from
	}
	what := "speaker"
	if end := e.foreign.end[dir.Bundle]; end >= 0 && (end == 1) == dir.FromB {
		what = "external device"
	}
	e.fail(fmt.Errorf("%w: bundle %q: %s %q ended its session with %q: %w", ErrSessionDied, b.Name, what, from, to, err))
}

// Round implements wire.Sink.
func (e *Engine) Round() int { return int(e.rounds.Load()) }

func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failLocked(err)
}

// failLocked keeps the first failure: what follows it is often its echo.
func (e *Engine) failLocked(err error) {
	if e.failure == nil {
		e.failure = err
	}
	e.wake()
}

func (e *Engine) wakeAtLull() {
	if e.tracker.lull() {
		e.wake()
	}
}

func (e *Engine) wake() {
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

// wait returns when done says so, or with the failure of the engine. Done is
// called with the lock held. When nothing is counted for the whole budget,
// suspects names who is still owed.
func (e *Engine) wait(ctx context.Context, done func() bool, suspects func() string) error {
	return e.await(ctx, e.opts.Budget, func() (bool, error) {
		return e.failure == nil && done(), e.failure
	}, suspects)
}

// await is wait with a budget of its own, and fails only where done does.
func (e *Engine) await(ctx context.Context, budget time.Duration, done func() (bool, error), suspects func() string) error {
	timer := time.NewTimer(budget)
	defer timer.Stop()
	seen := -1
	for {
		e.mu.Lock()
		finished, err := done()
		moves := e.tracker.moves
		e.mu.Unlock()
		if finished || err != nil {
			return err
		}
		select {
		case <-e.poke:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			if moves == seen {
				e.mu.Lock()
				names := suspects()
				e.mu.Unlock()
				return fmt.Errorf("%w: nothing happened for %v: %s", ErrNoConvergence, budget, names)
			}
			seen = moves
			timer.Reset(budget)
		}
	}
}

// waitLull returns when everything that was told has been taken, and the external
// devices, which nobody can count, have been silent.
func (e *Engine) waitLull(ctx context.Context) error {
	for {
		if err := e.waitCounts(ctx); err != nil {
			return err
		}
		if silent, err := e.waitSilence(ctx); silent || err != nil {
			return err
		}
	}
}

// waitCounts returns when all counts meet.
func (e *Engine) waitCounts(ctx context.Context) error {
	return e.wait(ctx, e.tracker.lull, func() string {
		var names []string
		for _, dir := range e.tracker.busy() {
			ends := e.index.Ends[dir/2]
			names = append(names, e.topology.Devices[ends[dir%2]].Name)
		}
		slices.Sort(names)
		return "still talking: " + few(slices.Compact(names))
	})
}

// few joins the first names of a list.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// waitPeers returns when both ends of all the bundles are in the state.
func (e *Engine) waitPeers(ctx context.Context, bundles []int32, what string, is func(peerState) bool) error {
	missing := func() (names []string) {
		for _, b := range bundles {
			for dir := 2 * int(b); dir < 2*int(b)+2; dir++ {
				if !e.farDirection(dir) && !is(e.peers[dir]) {
					// A direction's state is that of its receiving end.
					names = append(names, fmt.Sprintf("%s (%v)", e.topology.Devices[e.index.Ends[b][1-dir%2]].Name, e.peers[dir]))
				}
			}
		}
		return names
	}
	return e.wait(ctx, func() bool { return len(missing()) == 0 }, func() string {
		return fmt.Sprintf("not %s: %s", what, few(missing()))
	})
}

// closeBudget is how long Close waits with nothing counted for sessions to fall.
const closeBudget = 10 * time.Second

// waitFallen returns when the FSM of every connection that a wire has made has
// fallen, whatever has failed before.
func (e *Engine) waitFallen() error {
	return e.await(context.Background(), closeBudget, func() (bool, error) { return e.dials.owing == 0, nil }, func() string {
		var names []string
		for dir, standing := range e.dials.standing {
			if standing {
				names = append(names, fmt.Sprintf("%s (%v)", e.topology.Devices[e.index.Ends[dir/2][1-dir%2]].Name, e.peers[dir]))
			}
		}
		return "sessions that do not fall: " + few(names)
	})
}
