package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// TestASnapshotThatSharesWithTheOneBeforeIsTheWholeOne holds each snapshot of random
// runs, clones among them, against one that is made from nothing: with tables that
// are full, in which one prefix changes others, and without.
func TestASnapshotThatSharesWithTheOneBeforeIsTheWholeOne(t *testing.T) {
	topology := planar(t, 2, 2, 2, 2, 10)
	hardware, err := state.HardwareOf(topology)
	if err != nil {
		t.Fatal(err)
	}
	shared, all := 0, 0
	for seed := range uint64(12) {
		for _, overflow := range []fib.Overflow{fib.OverflowExceed, fib.OverflowShare, fib.OverflowEqual} {
			for d := range hardware {
				hardware[d].Options.Overflow, hardware[d].Profile.Groups = overflow, 3
			}
			pipeline := pipelines()[seed%4]
			e := converged(t, Options{Topology: topology, Damping: pipeline, Hardware: hardware, Schedule: Schedule{Seed: seed}})
			rng := rand.New(rand.NewPCG(seed, 11))
			before := e.Snapshot()
			for i := range 15 {
				if rng.IntN(4) == 0 {
					if e, err = e.Clone(); err != nil {
						t.Fatal(err)
					}
				}
				e.Mark(fmt.Sprint("event ", i))
				changes := someChanges(topology, rng)
				if rng.IntN(4) == 0 {
					d := int32(rng.IntN(len(topology.Devices)))
					changes = []state.Change{{Kind: state.Stop, Device: d}, {Kind: state.StartAgain, Device: d}}
				}
				if err := e.Apply(context.Background(), changes); err != nil {
					t.Fatal(err)
				}
				if err := e.Quiet(context.Background()); errors.Is(err, state.ErrNoConvergence) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				e.Advance(min(e.Next(), e.Now()+100))
				got := e.Snapshot()
				for d := range got.Devices {
					want := wholeDevice(e, d)
					if !reflect.DeepEqual(got.Devices[d], want) {
						t.Fatalf("seed %d, %s, step %d, device %d:\ngot  %+v\nwant %+v", seed, overflow, i, d, got.Devices[d], want)
					}
					all++
					if &got.Devices[d].Routes[0] == &before.Devices[d].Routes[0] {
						shared++
					}
				}
				before = got
			}
		}
	}
	if shared == 0 || shared == all {
		t.Errorf("%d of %d devices share their routes with the snapshot before, want some and not all", shared, all)
	}
}

// wholeDevice is a device's part of a snapshot that shares nothing.
func wholeDevice(e *Engine, d int) state.Device {
	dev := &e.devices[d]
	table := e.tables[d].Clone()
	for _, m := range e.marks[dev.marks:] {
		table.Mark(m)
	}
	made := table.Device(dev.core, e.topology.Prefixes, nil, 0)
	made.Drain, made.Restarting = dev.drain, made.Restarting || dev.away
	return made
}
