package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/wire"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// Outside is how wires reach external devices: what a program gives that has them in
// another network namespace, or counts connections. The zero value is package net.
type Outside struct {
	Dial   wire.Dialer
	Listen func(at netip.AddrPort) (net.Listener, error)
}

// foreign is what an engine knows of the devices that are external.
type foreign struct {
	device    []*state.External        // by device
	session   []*state.ExternalSession // by bundle; nil = both ends are speakers
	end       []int                    // by bundle: the end that is external; -1 = none
	silence   time.Duration            // the longest of any device
	most      int                      // rounds before a quiet in which they may have something to say
	listeners map[netip.AddrPort]*listener

	// Guarded by Engine.mu: when an external device was told or told anything last, over
	// which bundle, and that the silence after it has not passed yet.
	last  time.Time
	where int32
	owed  bool
}

// outsiders prepares the external devices; list is nil where there are none.
func (e *Engine) outsiders(list []*state.External) error {
	if list == nil {
		list = make([]*state.External, len(e.topology.Devices))
	}
	e.foreign = foreign{
		device: list, session: make([]*state.ExternalSession, len(e.topology.Bundles)), end: make([]int, len(e.topology.Bundles)),
		listeners: map[netip.AddrPort]*listener{}, most: maxTurns,
	}
	for b := range e.foreign.end {
		e.foreign.end[b] = -1
	}
	for d, x := range list {
		if x == nil {
			continue
		}
		e.foreign.silence = max(e.foreign.silence, x.Silence)
		sessions, err := x.Sessions(e.topology, e.index, d)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			e.foreign.session[s.Bundle], e.foreign.end[s.Bundle] = &s, e.end(s.Bundle, d)
			if x.Passive {
				if err := e.listen(&s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isFar tells whether a device is external.
func (e *Engine) isFar(device int) bool { return e.foreign.device[device] != nil }

// farDirection tells whether what goes in a direction goes to an external device.
func (e *Engine) farDirection(dir int) bool {
	end := e.foreign.end[dir/2]
	return end >= 0 && end == 1-dir%2
}

// input hands something to a device's speaker, if it has one here.
func (e *Engine) input(device int, in speakers.Input) {
	if s := e.speakers[device]; s != nil {
		s.Input(in)
	}
}

// far gives a wire the far end of a bundle's session, if it has one.
func (e *Engine) far(bundle int32) (ends [2]*wire.Far) {
	s, end := e.foreign.session[bundle], e.foreign.end[bundle]
	if s == nil {
		return ends
	}
	x := e.foreign.device[e.index.Ends[bundle][end]]
	f := &wire.Far{Name: s.Device, Local: netip.AddrPortFrom(s.Local, 0), Address: s.Address, ASN: s.ASN, Wait: x.Wait, Dial: e.opts.Outside.Dial}
	if x.Passive {
		f.Local = netip.AddrPortFrom(s.Local, x.Port)
		f.Address = netip.AddrPortFrom(s.Address.Addr(), 0)
		f.Accept = e.foreign.listeners[f.Local].accept
	}
	ends[end] = f
	return ends
}

// nextHops are what a speaker tells an external neighbour as next hops.
func (e *Engine) nextHops(peer *gobgp.Peer) {
	if s := e.foreign.session[peer.Bundle]; s != nil {
		peer.NextHop, peer.NextHop6 = s.Local, s.Local6
	}
}

// Spoke implements wire.Sink.
func (e *Engine) Spoke(dir state.Direction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.foreign.last, e.foreign.where, e.foreign.owed = time.Now(), dir.Bundle, true
	e.tracker.moves++
}

// waitSilence waits until the external devices have been silent for as long as they
// must be. Meanwhile something may have come that ends the lull; then it is false.
func (e *Engine) waitSilence(ctx context.Context) (silent bool, err error) {
	for started := time.Now(); ; {
		e.mu.Lock()
		left, failure := time.Duration(0), e.failure
		if e.foreign.owed {
			left = e.foreign.silence - time.Since(e.foreign.last)
		}
		if lull := e.tracker.lull(); failure == nil && (left <= 0 || !lull) {
			e.foreign.owed = e.foreign.owed && !lull
			e.mu.Unlock()
			return lull, nil
		}
		talker := e.talker()
		e.mu.Unlock()
		switch {
		case failure != nil:
			return false, failure
		case time.Since(started) > e.opts.Budget+e.foreign.silence:
			return false, fmt.Errorf("%w: external device %q was not silent for %v in %v", ErrNoConvergence, talker, e.foreign.silence, e.opts.Budget)
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-e.poke:
		case <-ctx.Done():
			timer.Stop()
			return false, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// talker names the external device that was told or told anything last.
func (e *Engine) talker() string {
	b := e.foreign.where
	if s := e.foreign.session[b]; s != nil {
		return s.Device
	}
	return ""
}

// turn is a session of which what its external device has told waits.
type turn struct {
	bundle int32
	fromB  bool
}

// maxTurns is how many rounds before a quiet an external device may have something to
// say in. News comes to it a few times at most.
const maxTurns = 100

// turns lists the sessions whose external devices have something to say in a round.
// Such a device takes part in rounds as a speaker does: what it is told in one it
// answers in the next, however soon the answer came.
func (e *Engine) turns() (list []turn) {
	for b, end := range e.foreign.end {
		w := e.wires[b]
		if end < 0 || w == nil || e.unseen[int32(b)] || e.holds[holding{int32(b), end == 1}] || !w.Waits(end == 1) {
			continue
		}
		list = append(list, turn{int32(b), end == 1})
	}
	return list
}

// take lets external devices say what they have to say.
func (e *Engine) take(turns []turn) error {
	for _, t := range turns {
		if _, err := e.wires[t.bundle].Flush(t.fromB); err != nil {
			s := e.foreign.session[t.bundle]
			return fmt.Errorf("external device %q: bundle %q: what it tells %q: %w", s.Device, s.Name, s.Neighbor, err)
		}
	}
	return nil
}

// takeDumps lets external devices tell over sessions that have come up what they begin
// with: as a speaker's, it is there before anybody decides again.
func (e *Engine) takeDumps(ctx context.Context, bundles []int32) error {
	var list []turn
	for _, b := range bundles {
		if end := e.foreign.end[b]; end >= 0 {
			list = append(list, turn{b, end == 1})
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := e.waitLull(ctx); err != nil {
		return err
	}
	err := e.take(list)
	for _, t := range list {
		e.wires[t.bundle].EndDump(t.fromB)
	}
	return err
}

// farDevice is what is known of an external device.
func (e *Engine) farDevice(d int) state.Device {
	dev := state.Device{
		External: true, Routes: make([]state.Route, len(e.topology.Prefixes)), Tells: make([][]state.Telling, len(e.topology.Prefixes)),
		FIB: e.tables[d].Audit(), Compared: e.tables[d].Audits(),
	}
	for _, b := range e.index.Of[d] {
		w := e.wires[b]
		if w == nil {
			continue
		}
		for p := range dev.Tells {
			if t, ok := w.Telling(e.foreign.end[b] == 1, int32(p)); ok {
				dev.Tells[p] = append(dev.Tells[p], t)
			}
		}
	}
	for p, tells := range dev.Tells {
		if len(tells) > 0 {
			t := e.heeded(d, tells)
			dev.Routes[p].Told = state.Told{Present: true, Valued: t.Valued, Value: t.Value, Path: t.Path[min(1, len(t.Path)):]}
		}
	}
	return dev
}

// heeded is the first telling that its receiver does not drop for being in the path, or
// else the first.
func (e *Engine) heeded(d int, tells []state.Telling) state.Telling {
	i := slices.IndexFunc(tells, func(t state.Telling) bool {
		return !slices.Contains(t.Path, e.topology.Devices[e.otherEnd(t.Bundle, d)].ASN)
	})
	return tells[max(i, 0)]
}

// listener takes connections of external devices and keeps, for each device, the last
// one until a wire asks for it.
type listener struct {
	l     net.Listener
	ended chan struct{}

	mu      sync.Mutex
	waiting map[netip.Addr]net.Conn
	came    chan struct{} // has one element at most
	err     error
}

// listen opens the listener of a session, unless another session has.
func (e *Engine) listen(s *state.ExternalSession) error {
	at := netip.AddrPortFrom(s.Local, s.Address.Port())
	if e.foreign.listeners[at] != nil {
		return nil
	}
	open := e.opts.Outside.Listen
	if open == nil {
		open = func(at netip.AddrPort) (net.Listener, error) { return net.Listen("tcp", at.String()) }
	}
	l, err := open(at)
	if err != nil {
		return fmt.Errorf("external device %q: bundle %q: wait for it at %v: %w", s.Device, s.Name, at, err)
	}
	made := &listener{l: l, ended: make(chan struct{}), waiting: map[netip.Addr]net.Conn{}, came: make(chan struct{}, 1)}
	e.foreign.listeners[at] = made
	go made.run()
	return nil
}

func (l *listener) run() {
	defer close(l.ended)
	for {
		conn, err := l.l.Accept()
		l.mu.Lock()
		if err != nil {
			l.err = err
		} else {
			var from netip.Addr
			if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
				from = a.AddrPort().Addr().Unmap()
			}
			if old := l.waiting[from]; old != nil {
				old.Close()
			}
			l.waiting[from] = conn
		}
		l.mu.Unlock()
		select {
		case l.came <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// accept is a wire.Accepter.
func (l *listener) accept(ctx context.Context, from netip.Addr) (net.Conn, error) {
	for {
		l.mu.Lock()
		conn, err := l.waiting[from], l.err
		delete(l.waiting, from)
		l.mu.Unlock()
		if conn != nil {
			return conn, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-l.came:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *listener) close() error {
	err := l.l.Close()
	<-l.ended
	for _, conn := range l.waiting {
		conn.Close()
	}
	return err
}

// closeListeners closes those of all external devices.
func (e *Engine) closeListeners() error {
	var errs []error
	for _, l := range e.foreign.listeners {
		errs = append(errs, l.close())
	}
	e.foreign.listeners = nil
	return errors.Join(errs...)
}
