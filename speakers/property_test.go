package speakers_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// race drives the core and its twin over one tape.
type race struct {
	core  *speakers.Core
	twin  *twin
	tape  tape
	seen  []speakers.Decision // the twin's, after the last step
	heard map[int32]speakers.Told
	fib   map[int32][]speakers.Hop
	steps int
}

func newRace(data []byte) *race {
	r := &race{tape: data, seen: make([]speakers.Decision, tapePrefixes), heard: map[int32]speakers.Told{}, fib: map[int32][]speakers.Hop{}}
	cfg := r.tape.config()
	first := r.tape.next()
	if first >= 0x80 {
		cfg.Settings = r.tape.settings()
	}
	if first&0x40 != 0 {
		r.tape.aggregates(&cfg)
	}
	if first&0x20 != 0 {
		cfg.Restart = r.tape.restart(len(cfg.Sessions))
	}
	damped := first % 4
	hold, told := time.Duration(0), (*lowest)(nil)
	if damped&1 != 0 {
		hold = tapeHold
		cfg.Damping.Bundle = []damping.BundleStage{damping.HoldDown{T: hold}}
	}
	if damped&2 != 0 {
		stage := tapeLowest
		told = &stage
		cfg.Damping.Told = []damping.ToldStage{stage}
	}
	r.core, r.twin = speakers.New(cfg), newTwin(cfg, hold, told)
	return r
}

// run plays the tape to its end: batches of inputs, and time in jumps that
// stop at a timer, pass it, or fall short of it.
func (r *race) run() error {
	for {
		var batch []speakers.Input
		for len(r.tape) > 0 && r.tape.choose(4) != 0 {
			batch = append(batch, r.input())
		}
		if err := r.step(batch); err != nil {
			return fmt.Errorf("step %d at %v of %+v: %w", r.steps, r.twin.now, batch, err)
		}
		if len(r.tape) == 0 {
			return nil
		}
		r.advance()
	}
}

func (r *race) input() speakers.Input {
	switch kind := r.tape.next(); {
	case kind >= 0xc0:
		return r.tape.control()
	case kind >= 0x80 && kind%2 == 1:
		return speakers.Input{Kind: pick(&r.tape, []speakers.InputKind{speakers.Restarts, speakers.EndOfRIB}), Bundle: pick(&r.tape, r.twin.cfg.Sessions).Bundle}
	case kind%16 == 15:
		return speakers.Input{Kind: speakers.Originate}
	}
	return r.tape.input(pick(&r.tape, r.twin.cfg.Sessions).Bundle)
}

func (r *race) advance() {
	next := r.core.Next()
	switch r.tape.choose(4) {
	case 1:
		r.twin.now += time.Duration(r.tape.choose(12)) * time.Second
	case 2:
		if next != speakers.Never {
			r.twin.now = next
		}
	case 3:
		if next != speakers.Never {
			r.twin.now = next - 1
		}
	}
}

// step gives a batch to both and compares all that can be seen.
func (r *race) step(batch []speakers.Input) error {
	r.steps++
	effects, err := r.core.Step(r.twin.now, batch, nil)
	if err != nil {
		return err
	}
	for _, in := range batch {
		r.twin.hear(in)
	}
	want := r.twin.cease()
	r.twin.expire()
	if !r.twin.waits() {
		want = append(want, r.decide()...)
	}
	if r.core.Restarting() != r.twin.deferring {
		return fmt.Errorf("restarting: got %v, want %v", r.core.Restarting(), r.twin.deferring)
	}
	if diff := differ(want, effects); diff != "" {
		return fmt.Errorf("effects: got + want -\n%s", diff)
	}
	next := r.core.Next()
	if next <= r.twin.now {
		return fmt.Errorf("next: got %v, want it after now", next)
	}
	end := r.twin.forwardTo
	lingers := r.twin.drain == topologies.Drained && r.twin.now < end
	if lingers && next > end {
		return fmt.Errorf("next: got %v, want no later than %v, when forwarding ends", next, end)
	}
	for _, at := range r.twin.staleTo {
		if next > at {
			return fmt.Errorf("next: got %v, want no later than %v, when stale routes go", next, at)
		}
	}
	if r.twin.deferring && next > r.twin.deferTo {
		return fmt.Errorf("next: got %v, want no later than %v, when it has waited enough", next, r.twin.deferTo)
	}
	timed := r.twin.hold > 0 || r.twin.told != nil || lingers || len(r.twin.staleTo) > 0 || r.twin.deferring
	if !timed && next != speakers.Never {
		return fmt.Errorf("next: got %v, want never: no timer is set", next)
	}
	r.carryOut(effects)
	for p := range r.seen {
		if err := r.compare(int32(p)); err != nil {
			return fmt.Errorf("prefix %d: %w", p, err)
		}
	}
	return r.compareBundles()
}

// decide is what the twin wants done about all prefixes. A restarted speaker
// takes from hardware what it has no route for.
func (r *race) decide() (want []speakers.Effect) {
	r.twin.judge()
	for p := range r.seen {
		d := r.twin.settle(int32(p))
		want = append(want, r.twin.differences(int32(p), r.seen[p], d)...)
		r.seen[p] = d
	}
	if r.twin.deferring {
		r.twin.deferring = false
		for p, d := range r.seen {
			if len(d.Hops) == 0 {
				want = append(want, speakers.Effect{Kind: speakers.Unprogram, Prefix: int32(p)})
			}
		}
		want = append(want, speakers.Effect{Kind: speakers.AllTold})
	}
	return want
}

// differ is cmp.Diff where an empty list and none are the same, and quick where
// nothing differs.
func differ(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// carryOut does what an engine does with the effects.
func (r *race) carryOut(effects []speakers.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case speakers.Tell:
			r.heard[e.Prefix] = e.Told
		case speakers.Untell:
			delete(r.heard, e.Prefix)
		case speakers.Program:
			r.fib[e.Prefix] = e.Hops
		case speakers.Unprogram:
			delete(r.fib, e.Prefix)
		}
	}
}

func (r *race) compare(p int32) error {
	got, want := r.core.Decision(p), r.seen[p]
	if diff := differ(want, got); diff != "" {
		return fmt.Errorf("decision: got + want -\n%s", diff)
	}
	if diff := differ(r.twin.candidates(p), r.core.Candidates(p, nil)); diff != "" {
		return fmt.Errorf("candidates: got + want -\n%s", diff)
	}
	var hearers []int32
	for _, s := range r.twin.cfg.Sessions {
		if r.core.Exports(s.Bundle, got.Told) {
			hearers = append(hearers, s.Bundle)
		}
	}
	if wanted := r.twin.hearers(want.Told); !slices.Equal(hearers, wanted) {
		return fmt.Errorf("told over bundles %v, want %v", hearers, wanted)
	}
	heard := speakers.Told{}
	if len(hearers) > 0 {
		heard = want.Told
	}
	if diff := differ(heard, r.heard[p]); diff != "" {
		return fmt.Errorf("what the effects left told: got + want -\n%s", diff)
	}
	if diff := differ(want.Hops, r.fib[p]); diff != "" {
		return fmt.Errorf("what the effects left in hardware: got + want -\n%s", diff)
	}
	return nil
}

func (r *race) compareBundles() error {
	for _, s := range r.twin.cfg.Sessions {
		got, _ := r.core.Bundle(s.Bundle)
		if want := (speakers.Bundle{Up: r.twin.up[s.Bundle], Passed: r.twin.passed(s.Bundle)}); got != want {
			return fmt.Errorf("bundle %d: got %+v, want %+v", s.Bundle, got, want)
		}
	}
	return nil
}

func genTape(length int) gopter.Gen { return gen.SliceOfN(length, gen.UInt8()) }

func TestCoreDoesWhatItsTwinDoes(t *testing.T) {
	params := gopter.DefaultTestParametersWithSeed(10005) // or it would take the clock's
	params.MinSuccessfulTests = 2000
	properties := gopter.NewProperties(params)
	properties.Property("on any inputs", prop.ForAll(func(data []byte) (bool, error) {
		err := newRace(data).run()
		return err == nil, err
	}, genTape(500)))
	properties.TestingRun(t)
}

func FuzzCore(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := newRace(data).run(); err != nil {
			t.Fatal(err)
		}
	})
}

// shuffled deals the queues out in an order of the tape's, each queue in its
// own order, in batches of the tape's.
func (t *tape) shuffled(queues map[int32][]speakers.Input, order []int32) [][]speakers.Input {
	queues, order = maps.Clone(queues), slices.Clone(order)
	batches := [][]speakers.Input{nil}
	for len(order) > 0 {
		i := t.choose(len(order))
		q := queues[order[i]]
		if len(q) == 0 {
			order = slices.Delete(order, i, i+1)
			continue
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], q[0])
		queues[order[i]] = q[1:]
		if t.choose(4) == 3 {
			batches = append(batches, nil)
		}
	}
	return batches
}

// queued takes inputs for every session off the tape, and one queue, -1, that
// starts the origination, sets knobs and drains. No session ends for too many
// prefixes: whether one does depends on where a batch ends.
func (t *tape) queued(cfg speakers.Config) (queues map[int32][]speakers.Input, order []int32) {
	queues = map[int32][]speakers.Input{-1: {{Kind: speakers.Originate}}}
	order = []int32{-1}
	for range t.choose(4) {
		in := t.control()
		if in.Settings != nil {
			in.Settings.MaxPrefixes = 0
		}
		queues[-1] = append(queues[-1], in)
	}
	for _, s := range cfg.Sessions {
		order = append(order, s.Bundle)
		for range t.choose(7) {
			queues[s.Bundle] = append(queues[s.Bundle], t.input(s.Bundle))
		}
	}
	return queues, order
}

// state is all that can be seen of a core.
func state(c *speakers.Core, cfg speakers.Config) string {
	s := fmt.Sprintf("next %v\n", c.Next())
	for p := range int32(cfg.Prefixes) {
		s += fmt.Sprintf("%d: %+v %+v\n", p, c.Decision(p), c.Candidates(p, nil))
	}
	for _, session := range cfg.Sessions {
		b, _ := c.Bundle(session.Bundle)
		s += fmt.Sprintf("%d: %+v\n", session.Bundle, b)
	}
	return s
}

// The told stage has no memory here: a policy with one may well remember what
// was told between two batches.
func TestEndStateIsIndependentOfOrderAndBatches(t *testing.T) {
	params := gopter.DefaultTestParametersWithSeed(10005)
	params.MinSuccessfulTests = 1000
	properties := gopter.NewProperties(params)
	properties.Property("fifo per session is enough", prop.ForAll(func(given, one, other []byte) (bool, error) {
		source := tape(given)
		cfg := source.config()
		cfg.Damping = damping.Pipeline{
			Bundle: []damping.BundleStage{damping.HoldDown{T: time.Duration(source.choose(2)) * tapeHold}},
			Told:   []damping.ToldStage{damping.Quantize{Step: unit / 4, Error: 0.1}},
		}
		queues, order := source.queued(cfg)
		later, _ := source.queued(cfg)
		var states []string
		for _, t := range []tape{nil, one, other} {
			core := speakers.New(cfg)
			for now, q := range []map[int32][]speakers.Input{queues, later} {
				for _, batch := range t.shuffled(q, order) {
					if _, err := core.Step(time.Duration(now)*time.Second, batch, nil); err != nil {
						return false, err
					}
				}
			}
			states = append(states, state(core, cfg))
		}
		if states[0] != states[1] || states[0] != states[2] {
			return false, fmt.Errorf("three orders, three states:\n%s\n%s\n%s", states[0], states[1], states[2])
		}
		return true, nil
	}, genTape(300), genTape(80), genTape(80)))
	properties.TestingRun(t)
}

func TestDrainAndUndrainLeaveNothingBehind(t *testing.T) {
	params := gopter.DefaultTestParametersWithSeed(10005)
	properties := gopter.NewProperties(params)
	properties.Property("all that can be seen is as before", prop.ForAll(func(data []byte, lingers bool) (bool, error) {
		r := newRace(data)
		if err := r.run(); err != nil {
			return false, err
		}
		now, cfg := r.twin.now, r.twin.cfg
		if err := r.step([]speakers.Input{drainTo(topologies.Live)}); err != nil {
			return false, err
		}
		before, end := state(r.core, cfg), now+r.twin.settings.Linger
		otherTimer := r.core.Next() <= end
		if err := r.step([]speakers.Input{drainTo(topologies.Drained)}); err != nil {
			return false, err
		}
		if len(r.heard) > 0 {
			return false, fmt.Errorf("drained: neighbours still hear %v", r.heard)
		}
		if !lingers && !otherTimer {
			r.twin.now = end
			if err := r.step(nil); err != nil {
				return false, err
			}
			if len(r.fib) > 0 {
				return false, fmt.Errorf("after the linger: hardware still holds %v", r.fib)
			}
		}
		if err := r.step([]speakers.Input{drainTo(topologies.Live)}); err != nil {
			return false, err
		}
		if after := state(r.core, cfg); after != before {
			return false, fmt.Errorf("got\n%s\nwant\n%s", after, before)
		}
		return true, nil
	}, genTape(200), gen.Bool()))
	properties.TestingRun(t)
}
