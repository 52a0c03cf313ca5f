package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// pipelines have policies of all kinds, alone and in chains, and one of a stage
// that all prefixes of a speaker share.
func pipelines() []damping.Pipeline {
	const unit = 800e9
	quantize := damping.Quantize{Step: unit, Error: 0.1}
	penalty := damping.Penalty{
		Withdraw: 1000, Attribute: 500, Suppress: 2000, Reuse: 750, Max: 12_000,
		HalfLife: 15 * time.Minute, MaxSuppress: time.Hour, OnSuppress: damping.Lowest,
	}
	return []damping.Pipeline{
		{Name: "none"},
		{
			Name: "chains",
			Bundle: []damping.BundleStage{
				damping.CarrierDelay{Down: damping.Fixed(0), Up: damping.Backoff{First: time.Second, Max: 8 * time.Second}},
				damping.Deadband{Skip: 1, Every: 2},
				damping.HoldDown{T: 10 * time.Second, Max: time.Minute, Forget: 2 * time.Minute},
			},
			Told: []damping.ToldStage{
				damping.StormGuard{Interval: 5 * time.Second, High: 40, Low: 10, MaxPause: time.Minute},
				damping.Hysteresis{Quantize: quantize, Margin: 0.25},
				damping.Pace{Interval: 5 * time.Second, Jitter: true, Seed: 3},
			},
		},
		{Name: "penalty", Told: []damping.ToldStage{quantize, penalty}},
		{Name: "one stage", Bundle: []damping.BundleStage{damping.HoldDown{T: 30 * time.Second}}, Told: []damping.ToldStage{damping.StormGuard{Interval: 5 * time.Second, High: 40, Low: 10, MaxPause: time.Minute}}},
	}
}

func converged(tb testing.TB, opts Options) *Engine {
	tb.Helper()
	e, err := New(opts)
	if err == nil {
		err = e.Start(context.Background())
	}
	if err == nil {
		err = e.Originate()
	}
	if err == nil {
		err = trySettle(e)
	}
	if err != nil {
		tb.Fatal(err)
	}
	e.Record(true)
	return e
}

// someChanges are changes drawn by rng, that a network of that topology can make.
func someChanges(t *topologies.Topology, rng *rand.Rand) []state.Change {
	var list []state.Change
	for range 1 + rng.IntN(3) {
		b := int32(rng.IntN(len(t.Bundles)))
		d := int32(rng.IntN(len(t.Devices)))
		switch rng.IntN(7) {
		case 0:
			list = append(list, state.Change{Kind: state.Reset, Bundle: b})
		case 1:
			list = append(list, state.Change{Kind: state.SetDrain, Device: d, Drain: topologies.DrainState(rng.IntN(3))})
		case 2:
			list = append(list, state.Change{Kind: state.SetKnob, Device: d, Knob: "weights.missing", Value: []string{"ecmp", "skip"}[rng.IntN(2)]})
		case 3:
			list = append(list, state.Change{Kind: state.Fail, Bundle: b, Heard: rng.IntN(2) == 0})
		default:
			list = append(list, state.Change{Kind: state.SetMembers, Bundle: b, Members: rng.IntN(t.Bundles[b].Members + 1)})
		}
	}
	return list
}

// play does some changes to a network, not all of them when it is settled. A
// network that does not get quiet is left where it then is.
func play(tb testing.TB, e *Engine, seed uint64) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	for i := range 12 {
		e.Mark(fmt.Sprintf("event %d", i))
		if err := e.Apply(context.Background(), someChanges(e.topology, rng)); err != nil {
			tb.Fatal(err)
		}
		next := trySettle
		if rng.IntN(3) > 0 {
			wait := time.Duration(rng.IntN(20)) * time.Second
			next = func(e *Engine) error {
				err := e.Quiet(context.Background())
				e.Advance(e.Now() + wait)
				return err
			}
		}
		if err := next(e); errors.Is(err, state.ErrNoConvergence) {
			return
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}

// seen is all that an engine shows, and the log since the last look.
type seen struct {
	Snapshot *state.Snapshot
	Counters state.Counters
	Log      []state.NLRI
	Now      time.Duration
	Next     time.Duration
	Rounds   int
}

func look(e *Engine) seen {
	return seen{e.Snapshot(), e.Counters(), e.TakeLog(), e.Now(), e.Next(), e.Rounds()}
}

func differ(a, b seen) string {
	return cmp.Diff(a, b, cmp.Comparer(func(p, q netip.Prefix) bool { return p == q }))
}

func TestWhatHappensToACloneChangesNothingInTheOriginalAndBothThenBehaveAlike(t *testing.T) {
	topology := planar(t, 2, 2, 2, 2, 10)
	for _, mode := range Modes() {
		for _, pipeline := range pipelines() {
			t.Run(mode+"/"+pipeline.Name, func(t *testing.T) {
				for seed := range uint64(6) {
					original := converged(t, Options{Topology: topology, Damping: pipeline, Compare: true, Schedule: Schedule{Mode: mode, Seed: seed, Jitter: time.Millisecond}})
					play(t, original, seed) // so that policies have something to remember
					original.TakeLog()
					first, err := original.Clone()
					if err != nil {
						t.Fatal(err)
					}
					second, err := first.Clone()
					if err != nil {
						t.Fatal(err)
					}
					before := look(original)
					play(t, first, seed+100)
					if diff := differ(before, look(original)); diff != "" {
						t.Fatalf("seed %d: the original changed with its clone:\n%s", seed, diff)
					}
					played := look(first)
					play(t, original, seed+100)
					if diff := differ(look(original), played); diff != "" {
						t.Fatalf("seed %d: original - clone +\n%s", seed, diff)
					}
					play(t, second, seed+100)
					if diff := differ(look(second), played); diff != "" {
						t.Fatalf("seed %d: clone of a clone - clone +\n%s", seed, diff)
					}
				}
			})
		}
	}
}

// The race detector sees whether clones share anything that is written to.
func TestClonesOfOneNetworkRunAtOnceAndAgree(t *testing.T) {
	base := converged(t, Options{Topology: planar(t, 2, 2, 2, 2, 10), Damping: pipelines()[1]})
	var group sync.WaitGroup
	found := make([]seen, 8)
	for i := range found {
		group.Go(func() {
			e, err := base.Clone()
			if err != nil {
				t.Error(err)
				return
			}
			play(t, e, 1)
			found[i] = look(e)
		})
	}
	group.Wait()
	for i := range found {
		if diff := differ(found[0], found[i]); diff != "" {
			t.Errorf("clone 0 - clone %d +\n%s", i, diff)
		}
	}
}

type unknownStage struct{ damping.Quantize }

func (unknownStage) NewTold() damping.ToldPolicy { return unknownPolicy{} }

type unknownPolicy struct{}

func (unknownPolicy) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	return in, damping.Never
}

func TestANetworkWithAPolicyThatCannotBeClonedIsNotCloned(t *testing.T) {
	e := converged(t, Options{Topology: planar(t, 1, 1, 1, 1, 2), Damping: damping.Pipeline{Told: []damping.ToldStage{unknownStage{}}}})
	if _, err := e.Clone(); !errors.Is(err, damping.ErrNoClone) {
		t.Errorf("got error %v, want %v", err, damping.ErrNoClone)
	}
}
