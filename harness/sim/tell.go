package sim

import (
	"fmt"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// freeze takes what a device's next step decides on; what comes later waits for
// the one after it.
func (e *Engine) freeze(d int) {
	dev := &e.devices[d]
	dev.inbox, dev.frozen = dev.frozen[:0], dev.inbox
}

// step gives a device's core what was frozen, and carries its effects out.
func (e *Engine) step(d int) error {
	dev := &e.devices[d]
	dev.hashed = false
	in := dev.frozen
	dump := dev.core.Restarting() // what it then tells is the first dump of its sessions
	var err error
	if e.settings[d].RIBBatch > 0 || len(in) == 0 {
		e.effects, err = dev.core.Step(e.now, in, e.effects[:0])
		if err == nil {
			err = e.carry(d, dump)
		}
	}
	for i := range in {
		if e.settings[d].RIBBatch > 0 || err != nil {
			break
		}
		if e.effects, err = dev.core.Step(e.now, in[i:i+1], e.effects[:0]); err == nil {
			err = e.carry(d, dump)
		}
	}
	clear(in)
	if err != nil {
		return fmt.Errorf("speaker %q: %w", e.topology.Devices[d].Name, err)
	}
	if e.watch != nil {
		e.watch.look()
	}
	return nil
}

// carry does what the last step asks for, in its order.
func (e *Engine) carry(d int, dump bool) error {
	for i := range e.effects {
		x := &e.effects[i]
		switch x.Kind {
		case speakers.Program, speakers.Unprogram:
			if err := e.tables[d].Carry(e.topology.Prefixes[x.Prefix].Prefix, x.Hops); err != nil {
				return fmt.Errorf("prefix %v: %w", e.topology.Prefixes[x.Prefix].Prefix, err)
			}
			if e.watch != nil {
				e.watch.programmed(d, x.Prefix)
			}
		case speakers.Tell:
			e.tell(d, x.Prefix, &x.Told, dump)
		case speakers.Untell:
			e.untell(d, x.Prefix)
		case speakers.Cease:
			e.schedule.cease(d, x.Bundle)
		case speakers.AllTold:
			e.schedule.allTold(d)
		}
	}
	clear(e.effects)
	return nil
}

// tell announces a route to the neighbours that may hear it and withdraws it from
// those that heard it and may no more.
func (e *Engine) tell(d int, prefix int32, route *speakers.Told, dump bool) {
	dev := &e.devices[d]
	now := &dev.told[prefix]
	now.route = *route
	now.heard = e.heardAs(d, route)
	now.path = state.HashPath(now.heard.Path)
	e.changes.add(d, prefix)
	for _, l := range dev.links {
		if !e.sessions[l.bundle].up {
			continue
		}
		if dev.core.Exports(l.bundle, now.route) {
			e.send(message{dir: l.dir, prefix: prefix, dump: dump, route: now.heard, path: now.path})
		} else {
			e.withdraw(l, prefix)
		}
	}
}

func (e *Engine) untell(d int, prefix int32) {
	dev := &e.devices[d]
	dev.told[prefix] = told{}
	e.changes.add(d, prefix)
	for _, l := range dev.links {
		if e.sessions[l.bundle].up {
			e.withdraw(l, prefix)
		}
	}
}

// heardAs is a told route as a neighbour receives it.
func (e *Engine) heardAs(d int, t *speakers.Told) speakers.Route {
	r := speakers.Route{Valued: t.Valued, Value: t.Value, Path: make([]uint32, 0, len(t.Path)+1)}
	r.Path = append(append(r.Path, e.topology.Devices[d].ASN), t.Path...)
	switch {
	case t.Down && t.Warm:
		r.Tags = tagsDownWarm
	case t.Down:
		r.Tags = tagsDown
	case t.Warm:
		r.Tags = tagsWarm
	}
	return r
}

var (
	tagsDown     = []uint32{speakers.ScopeDown}
	tagsWarm     = []uint32{speakers.GracefulShutdown}
	tagsDownWarm = []uint32{speakers.ScopeDown, speakers.GracefulShutdown}
)

func (e *Engine) withdraw(l link, prefix int32) {
	if e.heard(l.dir).has(prefix) {
		e.send(message{dir: l.dir, prefix: prefix, withdraw: true})
	}
}

// send puts a message on its way. The other end counts as having heard it from
// now on, since nothing overtakes it.
func (e *Engine) send(m message) {
	e.heard(m.dir).set(m.prefix, !m.withdraw)
	e.talk[m.dir]++
	e.pass(m)
}

// pass lets a message go, or wait where its direction is held.
func (e *Engine) pass(m message) {
	x := &e.sessions[m.dir/2]
	if end := &x.ends[m.dir%2]; end.held || x.unseen {
		end.waiting = append(end.waiting, m)
		return
	}
	e.count(&m)
	e.schedule.send(m)
}

// count is what a wire would count.
func (e *Engine) count(m *message) {
	if m.end {
		return
	}
	e.counters.Updates++
	if m.withdraw {
		e.counters.Withdrawn++
	} else {
		e.counters.Announced++
	}
	if e.recording {
		e.log = append(e.log, state.NLRI{
			Dir: state.Direction{Bundle: m.dir / 2, FromB: m.dir%2 == 1}, Prefix: m.prefix, Round: e.rounds,
			Withdraw: m.withdraw, Dump: m.dump, Valued: m.route.Valued, Value: m.route.Value, Path: m.path,
		})
	}
}

// deliver hands a message to the device that it is for.
func (e *Engine) deliver(m *message) {
	ends := e.index.Ends[m.dir/2]
	if m.end {
		e.input(ends[1-m.dir%2], speakers.Input{Kind: speakers.EndOfRIB, Bundle: m.dir / 2})
		return
	}
	in := speakers.Input{Kind: speakers.Announce, Bundle: m.dir / 2, Prefix: m.prefix, Route: m.route}
	if m.withdraw {
		in.Kind = speakers.Withdraw
		e.entries--
	}
	e.input(ends[1-m.dir%2], in)
}

// open brings a session up. Both ends learn of it and then hear all that the
// other tells.
func (e *Engine) open(bundle int32) {
	x, ends := &e.sessions[bundle], e.index.Ends[bundle]
	if x.up || e.devices[ends[0]].away || e.devices[ends[1]].away {
		return
	}
	x.up, x.closedBy = true, 0
	for side, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.SessionUp, Bundle: bundle})
		if x.ends[side].heard == nil {
			x.ends[side].heard = make(bits, (e.prefixes+63)/64)
		}
	}
	for side, d := range e.index.Ends[bundle] {
		dev := &e.devices[d]
		for p := range dev.told {
			if t := &dev.told[p]; t.route.Present && dev.core.Exports(bundle, t.route) {
				e.send(message{dir: 2*bundle + int32(side), prefix: int32(p), dump: true, route: t.heard, path: t.path})
			}
		}
	}
}

// shut lets a session fall, and all that is on its way over it.
func (e *Engine) shut(bundle int32) {
	x := &e.sessions[bundle]
	if !x.up {
		return
	}
	x.up = false
	for side := range x.ends {
		clear(x.ends[side].heard)
		x.ends[side].held, x.ends[side].waiting = false, nil
	}
	e.schedule.drop(bundle)
	for _, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.SessionDown, Bundle: bundle})
	}
}

func (e *Engine) heard(dir int32) bits { return e.sessions[dir/2].ends[dir%2].heard }

// bits is a set of prefixes.
type bits []uint64

func (b bits) has(p int32) bool { return b[p/64]>>(p%64)&1 == 1 }

func (b bits) set(p int32, to bool) {
	if to {
		b[p/64] |= 1 << (p % 64)
	} else {
		b[p/64] &^= 1 << (p % 64)
	}
}

// release lets what waits on a direction go on its way.
func (e *Engine) release(dir int32) {
	x := &e.sessions[dir/2]
	end := &x.ends[dir%2]
	if end.held || x.unseen {
		return
	}
	waiting := end.waiting
	end.waiting = nil
	for _, m := range waiting {
		e.count(&m)
		e.schedule.send(m)
	}
}
