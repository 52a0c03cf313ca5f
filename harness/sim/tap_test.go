package sim

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// nothing is a tap that changes nothing.
type nothing struct{ Passing }

func (t nothing) Clone() Tap { return t }

// counting is a tap that counts what passes, by its methods.
type counting struct {
	Passing
	steps, messages int
}

func (t *counting) Step(d int, core *speakers.Core, now time.Duration, in []speakers.Input, effects []speakers.Effect) ([]speakers.Effect, error) {
	t.steps++
	return t.Passing.Step(d, core, now, in, effects)
}

func (t *counting) Pass(m Message) []Message {
	t.messages++
	return []Message{m}
}

func (t *counting) Clone() Tap {
	made := *t
	return &made
}

// spoiling tells of all prefixes a value of its own, says nothing on one bundle,
// and has no hardware.
type spoiling struct {
	nothing
	mute int32
}

const spoiled = 12345

func (t spoiling) Step(_ int, core *speakers.Core, now time.Duration, in []speakers.Input, effects []speakers.Effect) ([]speakers.Effect, error) {
	effects, err := core.Step(now, in, effects)
	for i := range effects {
		effects[i].Told.Value = spoiled
	}
	return effects, err
}

func (t spoiling) Pass(m Message) []Message {
	if m.Dir.Bundle == t.mute {
		return nil
	}
	return []Message{m}
}

func (t spoiling) Entry(int, int, fib.Entry) fib.Entry { return fib.Entry{} }

func (t spoiling) Audit(_ int, a fib.Audit) fib.Audit {
	a.Groups = spoiled
	return a
}

func (t spoiling) Clone() Tap { return t }

func mini(t *testing.T) *topologies.Topology {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// playSome makes changes that rng draws and gives what came of each.
func playSome(t *testing.T, e *Engine, rng *rand.Rand) (seen []*state.Snapshot, log []state.NLRI) {
	t.Helper()
	for range 10 {
		if err := e.Apply(context.Background(), someChanges(e.topology, rng)); err != nil {
			t.Fatal(err)
		}
		if err := trySettle(e); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.Snapshot())
	}
	return seen, e.TakeLog()
}

func TestATapThatChangesNothingChangesNothing(t *testing.T) {
	for _, schedule := range []Schedule{{}, {Mode: Random, Seed: 3}, {Mode: Timed}} {
		opts := Options{Topology: mini(t), Damping: pipelines()[1], Schedule: schedule}
		bare, log := playSome(t, converged(t, opts), rand.New(rand.NewPCG(1, 1)))
		opts.Tap = func(*topologies.Topology) Tap { return nothing{} }
		tapped, tappedLog := playSome(t, converged(t, opts), rand.New(rand.NewPCG(1, 1)))
		if !reflect.DeepEqual(bare, tapped) { // cmp alone takes seconds
			t.Errorf("%s: without the tap - with it +\n%s", schedule.Mode, cmp.Diff(bare, tapped))
		}
		if !reflect.DeepEqual(log, tappedLog) {
			t.Errorf("%s: log: without the tap - with it +\n%s", schedule.Mode, cmp.Diff(log, tappedLog))
		}
	}
}

func TestATapChangesWhatIsToldAndCarriedAndShown(t *testing.T) {
	topology := mini(t)
	const mute = 0
	e := converged(t, Options{Topology: topology, Tap: func(*topologies.Topology) Tap { return spoiling{mute: mute} }})
	told := 0
	for d, dev := range e.Snapshot().Devices {
		if dev.FIB.Groups != spoiled {
			t.Errorf("device %d: audit of %d groups, want %d", d, dev.FIB.Groups, spoiled)
		}
		for p, r := range dev.Routes {
			if len(r.FIB.Members) > 0 {
				t.Errorf("device %d, prefix %d: hardware has %v, want nothing", d, p, r.FIB.Members)
			}
			if r.Told.Present && r.Told.Value == spoiled {
				told++
			}
			for _, c := range r.Candidates {
				if c.Bundle == mute || c.Value != spoiled {
					t.Errorf("device %d, prefix %d: hears %v over bundle %d", d, p, c.Value, c.Bundle)
				}
			}
		}
	}
	if told == 0 {
		t.Error("no device tells what the tap tells")
	}
}

func TestAClonesTapIsItsOwn(t *testing.T) {
	tap := &counting{}
	e := converged(t, Options{Topology: mini(t), Tap: func(*topologies.Topology) Tap { return tap }})
	before := *tap
	if before.steps == 0 || before.messages == 0 {
		t.Fatalf("the tap saw %d steps and %d messages, want some", before.steps, before.messages)
	}
	clone, err := e.Clone()
	if err != nil {
		t.Fatal(err)
	}
	playSome(t, clone, rand.New(rand.NewPCG(2, 2)))
	if *tap != before {
		t.Errorf("what the clone did counts as the original's: %+v, before %+v", *tap, before)
	}
	if own := clone.tap.Tap.(*counting); own.steps <= before.steps || own.messages <= before.messages {
		t.Errorf("the clone's tap saw %+v, the original's %+v: want more", own, before)
	}
}
