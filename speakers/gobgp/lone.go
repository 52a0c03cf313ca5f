package gobgp

import (
	"context"
	"errors"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/bagrig/bagrig/speakers"
)

// Lone is a speaker that runs by itself, as the routers of other makers do: in real
// time, with whatever neighbours there are, and in no rounds. It waits to be dialled.
type Lone struct {
	speaker *Speaker
	core    *speakers.Core
	started time.Time
	end     context.CancelFunc
	ended   chan struct{}
	poke    chan struct{} // has one element at most

	mu     sync.Mutex
	up     map[int32]bool // sessions that are Established
	fallen []int32        // those that were, and whose neighbours are to be known anew
	err    error
}

// StartLone starts a speaker whose core is made of Options.Config; Options.Core and
// Events are not looked at. All its prefixes are originated at once.
func StartLone(ctx context.Context, opts Options) (*Lone, error) {
	life, end := context.WithCancel(context.Background())
	l := &Lone{
		core: speakers.New(opts.Config), started: time.Now(), end: end, ended: make(chan struct{}), poke: make(chan struct{}, 1),
		up: map[int32]bool{},
	}
	opts.Core, opts.Events = l.core, loneEvents{l}
	var err error
	if l.speaker, err = Start(ctx, opts); err != nil {
		end()
		return nil, err
	}
	l.speaker.Input(speakers.Input{Kind: speakers.Originate})
	for _, p := range opts.Peers {
		if err == nil {
			err = l.speaker.AddPeer(ctx, p.Bundle)
		}
	}
	if err == nil {
		err = l.step(ctx) // so that its prefixes are there before any neighbour is
	}
	if err != nil {
		end()
		return nil, errors.Join(err, l.speaker.Close())
	}
	go l.run(life)
	return l, nil
}

// Close stops the speaker and gives what went wrong while it ran. Its sessions
// should have fallen.
func (l *Lone) Close() error {
	l.end()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.speaker.Close())
}

func (l *Lone) run(ctx context.Context) {
	defer close(l.ended)
	for {
		var timer <-chan time.Time
		if next := l.core.Next(); next != speakers.Never {
			timer = time.After(max(0, next-time.Since(l.started)))
		}
		select {
		case <-ctx.Done():
			return
		case <-l.poke:
		case <-timer:
		}
		if err := l.step(ctx); err != nil && ctx.Err() == nil {
			l.fail(err)
			return
		}
	}
}

// step decides on what has come, and lets neighbours whose session has fallen come
// back at once.
func (l *Lone) step(ctx context.Context) error {
	if _, err := l.speaker.Step(ctx, time.Since(l.started), l.speaker.Freeze(), func(int32, []speakers.Hop) error { return nil }); err != nil {
		return err
	}
	l.mu.Lock()
	fallen := l.fallen
	l.fallen = nil
	l.mu.Unlock()
	for _, b := range fallen {
		if err := errors.Join(l.speaker.DeletePeer(ctx, b), l.speaker.AddPeer(ctx, b)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lone) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *Lone) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

type loneEvents struct{ l *Lone }

// Took implements Events.
func (e loneEvents) Took(int32, int) { e.l.wake() }

// PeerState implements Events. A new neighbour enters IDLE too, and so does one that
// was never up: both leave it by themselves.
func (e loneEvents) PeerState(bundle int32, to api.PeerState_SessionState) {
	e.l.mu.Lock()
	if to == api.PeerState_IDLE && e.l.up[bundle] {
		e.l.fallen = append(e.l.fallen, bundle)
	}
	if to == api.PeerState_ESTABLISHED || to == api.PeerState_IDLE {
		e.l.up[bundle] = to == api.PeerState_ESTABLISHED
	}
	e.l.mu.Unlock()
	e.l.wake()
}

// Failed implements Events.
func (e loneEvents) Failed(err error) {
	e.l.fail(err)
	e.l.wake()
}
