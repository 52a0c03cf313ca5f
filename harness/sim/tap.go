package sim

import (
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// Tap stands where the parts of an engine meet, and may change what passes there:
// what a speaker decides, what the wires carry, and what hardware shows. With it a
// user puts a speaker of their own into a network of cores, or shows that a bug of
// one would be found. Embed Passing, and write only the methods that are wanted.
//
// An engine calls its Tap from one goroutine, in an order that repeats. What a Tap
// remembers is not in the states that the search for oscillations compares, so that
// one with a memory may be taken to oscillate after some hundreds of rounds.
type Tap interface {
	// Step takes the place of core.Step, which most call: with other inputs, or to
	// change its effects. A speaker of one's own need not, and then Snapshot has what the
	// core holds, and what the effects tell. Inputs are valid until Step returns.
	// A core that a restart made anew begins with an Originate. Step is called when core.Next
	// says so, and when there is input.
	Step(device int, core *speakers.Core, now time.Duration, inputs []speakers.Input, effects []speakers.Effect) ([]speakers.Effect, error)

	// Pass gives what a wire carries in place of a message, in this order: nothing, the
	// message, or others. What is for a session that is down is lost. The sender counts
	// the message as sent whatever it gives.
	Pass(m Message) []Message

	// Entry gives what hardware has for a prefix in place of what it has. One without
	// members has none. Members must not be written to.
	Entry(device, prefix int, entry fib.Entry) fib.Entry

	// Audit gives what a device's hardware reports in place of its report.
	Audit(device int, audit fib.Audit) fib.Audit

	// Clone is a Tap in the same state that is independent from then on, for a clone
	// of the engine. One without state may return itself.
	Clone() Tap
}

// Message is what a wire carries of one prefix, or an End-of-RIB.
type Message struct {
	Dir      state.Direction
	Prefix   int             // by its place in the topology; 0 for an End-of-RIB
	Route    *speakers.Route // the sender's ASN first in its path, and not written to; nil = withdrawn, or End-of-RIB
	Dump     bool            // part of the first dump of a session that came up
	EndOfRIB bool
}

// NewTap makes the Tap of one engine.
type NewTap func(*topologies.Topology) Tap

// Passing changes nothing. With a Clone it is a Tap.
type Passing struct{}

// Step implements Tap.
func (Passing) Step(_ int, core *speakers.Core, now time.Duration, inputs []speakers.Input, effects []speakers.Effect) ([]speakers.Effect, error) {
	return core.Step(now, inputs, effects)
}

// Pass implements Tap.
func (Passing) Pass(m Message) []Message { return []Message{m} }

// Entry implements Tap.
func (Passing) Entry(_, _ int, entry fib.Entry) fib.Entry { return entry }

// Audit implements Tap.
func (Passing) Audit(_ int, audit fib.Audit) fib.Audit { return audit }

// tapped is an engine's Tap and what it has told, by device and prefix, where that may
// be other than what the cores think. Nil = there is none.
type tapped struct {
	Tap
	told [][]speakers.Told
}

func newTapped(t *topologies.Topology, make NewTap) *tapped {
	if make == nil {
		return nil
	}
	made := &tapped{Tap: make(t)}
	for range t.Devices {
		made.told = append(made.told, emptyTold(len(t.Prefixes)))
	}
	return made
}

func emptyTold(prefixes int) []speakers.Told { return make([]speakers.Told, prefixes) }

func (t *tapped) clone() *tapped {
	if t == nil {
		return nil
	}
	made := &tapped{Tap: t.Clone()}
	for _, told := range t.told {
		made.told = append(made.told, append([]speakers.Told(nil), told...))
	}
	return made
}

// tells remembers what a device tells of a prefix; nil is nothing.
func (t *tapped) tells(d int, prefix int32, told *speakers.Told) {
	switch {
	case t == nil:
	case told == nil:
		t.told[d][prefix] = speakers.Told{}
	default:
		t.told[d][prefix] = *told
	}
}

// restarted forgets what a device told.
func (t *tapped) restarted(d int) {
	if t != nil {
		clear(t.told[d])
	}
}

// stepCore steps a device's core, or has the tap do it.
func (e *Engine) stepCore(d int, in []speakers.Input) (err error) {
	if e.tap != nil {
		e.effects, err = e.tap.Step(d, e.devices[d].core, e.now, in, e.effects[:0])
		return err
	}
	e.effects, err = e.devices[d].core.Step(e.now, in, e.effects[:0])
	return err
}

// toldOf is what a device tells of a prefix, the export rules apart.
func (e *Engine) toldOf(d int, prefix int32) *speakers.Told {
	if e.tap != nil {
		return &e.tap.told[d][prefix]
	}
	return e.devices[d].core.Told(prefix)
}

// lookup is what a device's hardware has for a prefix.
func (e *Engine) lookup(d, prefix int) (fib.Entry, bool) {
	entry, ok := e.tables[d].Lookup(e.topology.Prefixes[prefix].Prefix)
	if e.tap == nil {
		return entry, ok
	}
	entry = e.tap.Entry(d, prefix, entry)
	return entry, len(entry.Members) > 0
}

// tapDevice puts what is told and what hardware shows into a snapshot.
func (e *Engine) tapDevice(d int, out *state.Device) {
	out.FIB = e.tap.Audit(d, out.FIB)
	for p := range out.Routes {
		r := &out.Routes[p]
		r.FIB, _ = e.lookup(d, p)
		if told := e.tap.told[d][p]; told.Present {
			r.Told = state.Told(told)
		}
	}
}

// tapMessage gives what the wire carries in place of a message.
func (e *Engine) tapMessage(m message) {
	for _, x := range e.tap.Pass(Message{
		Dir: state.Direction{Bundle: m.dir / 2, FromB: m.dir%2 == 1}, Prefix: int(m.prefix), Route: m.route, Dump: m.dump, EndOfRIB: m.end,
	}) {
		dir := 2 * x.Dir.Bundle
		if x.Dir.FromB {
			dir++
		}
		made := message{dir: dir, prefix: int32(x.Prefix), withdraw: x.Route == nil && !x.EndOfRIB, dump: x.Dump, end: x.EndOfRIB, route: x.Route}
		if x.Route != nil {
			made.path = state.HashPath(x.Route.Path)
		}
		if e.sessions[x.Dir.Bundle].up {
			e.carryMessage(made)
		}
	}
}
