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
	dev.frozen, dev.inbox = dev.inbox, nil
	dev.rest, dev.others = dev.others, nil
}

// arrive puts something into a device's inbox, with room that an earlier one had.
func (e *Engine) arrive(dev *device, a arrival) {
	if dev.inbox == nil && len(e.spare) > 0 {
		last := len(e.spare) - 1
		dev.inbox, e.spare = e.spare[last], e.spare[:last]
	}
	dev.inbox = append(dev.inbox, a)
}

// thaw gives what was frozen as inputs, which are valid until the next call, and
// keeps its room.
func (e *Engine) thaw(dev *device) []speakers.Input {
	e.inputs = e.inputs[:0]
	for _, a := range dev.frozen {
		switch {
		case a.prefix == notRoute:
			e.inputs = append(e.inputs, dev.rest[0])
			dev.rest = dev.rest[1:]
		case a.route == nil:
			e.inputs = append(e.inputs, speakers.Input{Kind: speakers.Withdraw, Bundle: a.bundle, Prefix: a.prefix})
		default:
			e.inputs = append(e.inputs, speakers.Input{Kind: speakers.Announce, Bundle: a.bundle, Prefix: a.prefix, Route: a.route})
		}
	}
	if cap(dev.frozen) > 0 {
		clear(dev.frozen)
		e.spare = append(e.spare, dev.frozen[:0])
	}
	dev.frozen, dev.rest = nil, nil
	return e.inputs
}

// step gives a device's core what was frozen, and carries its effects out.
func (e *Engine) step(d int) error {
	dev := e.own(d)
	dev.hashed = false
	in := e.thaw(dev)
	dump := dev.core.Restarting() // what it then tells is the first dump of its sessions
	var err error
	if e.settings[d].RIBBatch > 0 || len(in) == 0 {
		if err = e.stepCore(d, in); err == nil {
			err = e.carry(d, dump)
		}
	}
	for i := range in {
		if e.settings[d].RIBBatch > 0 || err != nil {
			break
		}
		if err = e.stepCore(d, in[i:i+1]); err == nil {
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
	e.actions.Stepped(d)
	for i := range e.effects {
		x := &e.effects[i]
		e.actions.Did(d, x)
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
	now := e.heardAs(d, route)
	dev.told[prefix] = now
	e.tap.tells(d, prefix, route)
	e.changes.add(d, prefix)
	for i, l := range dev.links {
		if !e.sessions[l.bundle].up {
			continue
		}
		if dev.core.ExportsOver(i, route) {
			e.send(message{dir: l.dir, prefix: prefix, dump: dump, route: now.heard, path: now.path})
		} else {
			e.withdraw(l, prefix)
		}
	}
}

func (e *Engine) untell(d int, prefix int32) {
	dev := &e.devices[d]
	dev.told[prefix] = told{}
	e.tap.tells(d, prefix, nil)
	e.changes.add(d, prefix)
	for _, l := range dev.links {
		if e.sessions[l.bundle].up {
			e.withdraw(l, prefix)
		}
	}
}

// heardAs is a told route as all neighbours receive it: one for them all.
func (e *Engine) heardAs(d int, t *speakers.Told) told {
	path := e.paths.prepend(e.topology.Devices[d].ASN, t.Path)
	r := speakers.Route{Valued: t.Valued, Value: t.Value, Path: path.numbers}
	switch {
	case t.Down && t.Warm:
		r.Tags = tagsDownWarm
	case t.Down:
		r.Tags = tagsDown
	case t.Warm:
		r.Tags = tagsWarm
	}
	r = r.Normal()
	return told{&r, path.hash}
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

// pass lets a message go, or what the tap makes of it.
func (e *Engine) pass(m message) {
	if e.tap != nil {
		e.tapMessage(m)
		return
	}
	e.carryMessage(m)
}

// carryMessage lets a message go, or wait where its direction is held.
func (e *Engine) carryMessage(m message) {
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
			Withdraw: m.withdraw, Dump: m.dump, Path: m.path,
		})
		if log := &e.log[len(e.log)-1]; m.route != nil {
			log.Valued, log.Value = m.route.Valued, m.route.Value
		}
	}
}

// deliver hands a message to the device that it is for.
func (e *Engine) deliver(m *message) {
	if m.end {
		e.input(e.index.Ends[m.dir/2][1-m.dir%2], speakers.Input{Kind: speakers.EndOfRIB, Bundle: m.dir / 2})
		return
	}
	if m.withdraw {
		e.entries--
	}
	to := e.index.Ends[m.dir/2][1-m.dir%2]
	e.arrive(&e.devices[to], arrival{bundle: m.dir / 2, prefix: m.prefix, route: m.route})
}

// open brings a session up. Both ends learn of it and then hear all that the
// other tells.
func (e *Engine) open(bundle int32) {
	x, ends := &e.sessions[bundle], e.index.Ends[bundle]
	if x.up || x.members == 0 && !x.unseen || e.devices[ends[0]].away || e.devices[ends[1]].away {
		return // what was to bring it up came with what takes it down
	}
	x.up, x.closedBy = true, 0
	for _, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.SessionUp, Bundle: bundle})
	}
	for side, d := range e.index.Ends[bundle] {
		dev := &e.devices[d]
		for p := range dev.told {
			if t := &dev.told[p]; t.heard != nil && dev.core.Exports(bundle, *e.toldOf(d, int32(p))) {
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
		clear(e.heard(2*bundle + int32(side)))
		x.ends[side].held, x.ends[side].waiting = false, nil
	}
	e.schedule.drop(bundle)
	for _, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.SessionDown, Bundle: bundle})
	}
}

func (e *Engine) heard(dir int32) bits {
	n := words(e.prefixes)
	return e.heardBits[int(dir)*n : (int(dir)+1)*n]
}

// words is how many words a set of prefixes takes.
func words(prefixes int) int { return (prefixes + 63) / 64 }

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
