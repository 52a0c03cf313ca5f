// Package fuzz turns bytes into whole cases, a small network with its settings and
// what is done to it, and plays them on the simulator with the properties, so that
// native fuzzing searches schedules by the code that they reach:
//
//	go test ./fuzz -run '^$' -fuzz FuzzSchedule
//
// It draws nothing of its own: properties/generate decodes the bytes, and
// harness/shrink makes small what fails. docs/fuzzing.md describes it.
package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
	"github.com/bagrig/bagrig/properties/generate"
	"github.com/bagrig/bagrig/topologies"
)

// Limits of a case: small, so that a search plays many.
const (
	MostDevices = 12
	MostEvents  = 6
)

// Case is the case that bytes stand for. Any bytes stand for one; none at all for
// the plainest.
func Case(data []byte) *harness.Scenario {
	return generate.Case(generate.FromBytes(data), generate.Limits{Devices: MostDevices, Events: MostEvents, Engine: harness.Sim})
}

// Failure is what fails in a case.
type Failure struct {
	Property string   // the first: or shrink.NoConvergence, or shrink.Panic
	Text     string   // in words; of a panic with its stack
	All      []string // that fail, Property among them
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Property, f.Text) }

// checksOf makes the checks that a case is judged by, for whoever makes checks anew
// for each run of the same case.
func checksOf(sc *harness.Scenario) shrink.Checks {
	return func(*topologies.Topology, []state.Event) []state.Check { return properties.ForScenario(sc) }
}

// Shrink makes a case that fails smaller, within the context's time, and gives the fail
// file of it. What is tried is judged by the rules that hold of it itself, so that
// what is left is no known limitation.
func Shrink(ctx context.Context, sc *harness.Scenario, failure *Failure) (*shrink.Fail, error) {
	fails := func(ctx context.Context, candidate *harness.Scenario) (string, bool) {
		f := &Failure{}
		_, err := Play(ctx, candidate)
		return failure.Property, errors.As(err, &f) && slices.Contains(f.All, failure.Property) && ctx.Err() == nil
	}
	res, err := shrink.Shrink(ctx, sc, fails, shrink.Options{Tries: shrink.Tries(harness.Sim)})
	if err != nil {
		return nil, err
	}
	return shrink.NewFail(ctx, res, checksOf(res.Scenario)), nil
}

// Play plays a case with all properties but those that a known limitation keeps from
// it (generate.Limitations), and gives what fails as a *Failure. Any other error is a case that cannot be played, which none should
// be. The states of behaviour that it reached are given in any case.
//
// It is harness.Run without what only reports need, such as told values over true
// ones, which would take a seventh of the time.
func Play(ctx context.Context, sc *harness.Scenario) ([]state.Reached, error) {
	watcher := properties.NewCoverage()
	outcomes, err := play(ctx, sc, append(properties.ForScenario(sc), watcher))
	watcher.Ended(err)
	failures := shrink.Failures(&state.Result{Outcomes: outcomes}, err)
	if len(failures) == 0 {
		return watcher.Reached(), err
	}
	f := &Failure{Property: failures[0], All: failures}
	if err != nil {
		f.Text = err.Error()
	}
	for _, o := range outcomes {
		if o.Name == f.Property && len(o.Violations) > 0 {
			v := o.Violations[0]
			f.Text = fmt.Sprintf("violated %d times, first at %v, %s: %s", o.Violated, v.Time, v.Where, v.Text)
		}
	}
	return watcher.Reached(), f
}

func play(ctx context.Context, sc *harness.Scenario, checks []state.Check) (outcomes []state.Outcome, err error) {
	rig, err := harness.Start(ctx, harness.Options{
		Topology: sc.Topology, Damping: sc.Damping, Plan: sc.Plan, Settings: sc.Settings, Hardware: sc.Hardware, Engine: harness.Sim, Checks: checks,
	})
	if err != nil {
		return nil, err
	}
	_, err = rig.Play(ctx, sc.Events...)
	return rig.Outcomes(), errors.Join(err, rig.Close())
}
