package properties

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// baseline is a rig in virtual time, and how to play one event on a clone of it.
func baseline(t *testing.T) (*harness.Rig, func(r *harness.Rig, e state.Event) state.Row) {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	rig, err := harness.Start(t.Context(), harness.Options{Topology: topology, Damping: pipeline, Engine: harness.Sim})
	if err != nil {
		t.Fatal(err)
	}
	return rig, func(r *harness.Rig, e state.Event) state.Row {
		t.Helper()
		rows, err := r.Play(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
}

func cloned(t *testing.T, r *harness.Rig, opts harness.CloneOptions) *harness.Rig {
	t.Helper()
	made, err := r.Clone(opts)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestAClonesFailureDomainsAreItsOwn(t *testing.T) {
	rig, play := baseline(t)
	play(cloned(t, rig, harness.CloneOptions{}), state.Event{Kind: "down", Domain: "power:r1-a"})
	c := cloned(t, rig, harness.CloneOptions{})
	down, back := play(c, state.Event{Kind: "down", Domain: "hall:r1-f2"}), play(c, state.Event{Kind: "restore", Domain: "hall:r1-f2"})
	if down.Told != back.Told || down.Told == 0 {
		t.Errorf("down told %d, restore told %d, want both alike: what failed in another clone is up here", down.Told, back.Told)
	}
}

func TestAClonesStoppedSpeakersAreItsOwn(t *testing.T) {
	rig, _ := baseline(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := cloned(t, rig, harness.CloneOptions{}).Play(ctx, state.Event{Kind: "restart", Device: "r1-bag1", Takes: time.Minute}); err == nil {
		t.Fatal("a play in a context that has ended: got no error")
	}
	c := cloned(t, rig, harness.CloneOptions{})
	if _, err := c.Play(context.Background(), state.Event{Kind: "down", Bundle: "r1-f1-e1--r1-bag1", Detect: "bfd 150ms"}); err != nil {
		t.Fatal(err)
	}
	if c.Lost() == nil {
		t.Error("a failure noticed by BFD: got nothing lost, want 150 ms of a bundle")
	}
}

func TestAClonesTransientsAreItsOwn(t *testing.T) {
	rig, play := baseline(t)
	timed := sim.Schedule{Mode: sim.Timed, Processing: sim.DefaultProcessing}
	worst := func() float64 {
		check := NewTransients(0)
		c := cloned(t, rig, harness.CloneOptions{Schedule: &timed, Checks: []state.Check{check}})
		play(c, state.Event{Kind: "down", Bundle: "r1-bag1--r2-bag1"})
		return check.Outcome().Worst
	}
	if first, second := worst(), worst(); first == 0 || first != second {
		t.Errorf("got worst transients %v and %v, want some, and both alike", first, second)
	}
}

// TestClonesOfOneRigRunBesideEachOther is for the race detector.
func TestClonesOfOneRigRunBesideEachOther(t *testing.T) {
	rig, _ := baseline(t)
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			device := []string{"r1-bag1", "r1-f1-e1", "r2-bag2", "r2-f4-s1"}[i]
			for range 3 {
				c, err := rig.Clone(harness.CloneOptions{Checks: All()})
				if err == nil {
					_, err = c.Play(context.Background(), state.Event{Kind: "restart", Device: device, Takes: time.Second})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
}
