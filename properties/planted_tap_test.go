package properties

import (
	"maps"
	"slices"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// tapped is a tap made of the parts of one fault; what is nil changes nothing.
type tapped struct {
	sim.Passing
	fault *planted
	t     *topologies.Topology
	ix    *topologies.Index

	count  map[noted]int             // how often something has happened
	routes map[noted]*speakers.Route // heard or told
	told   map[noted]speakers.Told   // by device and prefix: what a device tells, as its core has it
	hops   map[noted][]speakers.Hop  // by device and prefix: what hardware was given
}

// noted is whatever two or three numbers a fault remembers something by.
type noted [3]int

func (f *planted) tap(t *topologies.Topology) sim.Tap {
	return &tapped{
		fault: f, t: t, ix: t.Index(),
		count: map[noted]int{}, routes: map[noted]*speakers.Route{}, told: map[noted]speakers.Told{}, hops: map[noted][]speakers.Hop{},
	}
}

// Clone implements sim.Tap.
func (x *tapped) Clone() sim.Tap {
	made := *x
	made.count, made.routes, made.told, made.hops = maps.Clone(x.count), maps.Clone(x.routes), maps.Clone(x.told), maps.Clone(x.hops)
	return &made
}

// Step implements sim.Tap.
func (x *tapped) Step(d int, core *speakers.Core, now time.Duration, in []speakers.Input, effects []speakers.Effect) ([]speakers.Effect, error) {
	if x.fault.hears != nil {
		in = x.fault.hears(x, d, core, slices.Clone(in))
	}
	from := len(effects)
	effects, err := core.Step(now, in, effects)
	asked := slices.Clone(effects[from:])
	if x.fault.does != nil {
		effects = append(effects[:from], x.fault.does(x, d, core, slices.Clone(asked))...)
	}
	for i := range asked {
		switch e := &asked[i]; e.Kind {
		case speakers.Tell:
			x.told[noted{d, int(e.Prefix)}] = e.Told
		case speakers.Untell:
			delete(x.told, noted{d, int(e.Prefix)})
		case speakers.Program, speakers.Unprogram:
			x.hops[noted{d, int(e.Prefix)}] = e.Hops
		}
	}
	return effects, err
}

// Pass implements sim.Tap.
func (x *tapped) Pass(m sim.Message) []sim.Message {
	if x.fault.carries == nil {
		return []sim.Message{m}
	}
	return x.fault.carries(x, m)
}

// Entry implements sim.Tap.
func (x *tapped) Entry(d, p int, entry fib.Entry) fib.Entry {
	if x.fault.forwards == nil {
		return entry
	}
	entry.Members = slices.Clone(entry.Members)
	return x.fault.forwards(x, d, p, entry)
}

// Audit implements sim.Tap.
func (x *tapped) Audit(d int, audit fib.Audit) fib.Audit {
	if x.fault.reports == nil {
		return audit
	}
	return x.fault.reports(x, d, audit)
}

// ends are the devices at the ends of a message's way.
func (x *tapped) ends(m sim.Message) (from, to int) {
	ends := x.ix.Ends[m.Dir.Bundle]
	if m.Dir.FromB {
		return ends[1], ends[0]
	}
	return ends[0], ends[1]
}

// flowAt is the place of a message's session and prefix.
func flowAt(m sim.Message) noted {
	return noted{int(m.Dir.Bundle), count(m.Dir.FromB), m.Prefix}
}

// withdraws tells whether a message is a withdrawal.
func withdraws(m sim.Message) bool { return m.Route == nil && !m.EndOfRIB }

// nth counts at a noted, and is true each n-th time.
func (x *tapped) nth(at noted, n int) bool {
	x.count[at]++
	return x.count[at]%n == 0
}

// candidate is what a core holds over a bundle, or nil.
func candidate(core *speakers.Core, p int32, bundle int32) *speakers.Route {
	for _, c := range core.Candidates(p, nil) {
		if c.Bundle == bundle {
			return &c.Route
		}
	}
	return nil
}

// capacity is what a bundle passes at a core.
func capacity(core *speakers.Core, bundle int32) uint64 {
	b, _ := core.Bundle(bundle)
	return b.Passed.Capacity
}

// revalued is a fault of the value alone: of each announcement that is sent.
func revalued(to func(x *tapped, m sim.Message, value float32) (float32, bool)) func(*tapped, sim.Message) []sim.Message {
	return func(x *tapped, m sim.Message) []sim.Message {
		if m.Route != nil && m.Route.Valued {
			r := *m.Route
			r.Value, r.Valued = to(x, m, r.Value)
			m.Route = &r
		}
		return []sim.Message{m}
	}
}

// retold changes what is told, and nothing else.
func retold(to func(x *tapped, d int, core *speakers.Core, p int32, told *speakers.Told)) func(*tapped, int, *speakers.Core, []speakers.Effect) []speakers.Effect {
	return func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect {
		for i := range effects {
			if e := &effects[i]; e.Kind == speakers.Tell {
				to(x, d, core, e.Prefix, &e.Told)
			}
		}
		return effects
	}
}

// reprogrammed changes the next hops that hardware is given, and nothing else.
func reprogrammed(to func(x *tapped, d int, core *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop) func(*tapped, int, *speakers.Core, []speakers.Effect) []speakers.Effect {
	return func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect {
		for i := range effects {
			if e := &effects[i]; e.Kind == speakers.Program {
				e.Hops = to(x, d, core, e.Prefix, slices.Clone(e.Hops))
			}
		}
		return effects
	}
}

// without drops the effects or inputs that a fault forgets.
func without[T any](forgets func(x *tapped, d int, core *speakers.Core, it *T) bool) func(*tapped, int, *speakers.Core, []T) []T {
	return func(x *tapped, d int, core *speakers.Core, list []T) []T {
		return slices.DeleteFunc(list, func(it T) bool { return forgets(x, d, core, &it) })
	}
}
