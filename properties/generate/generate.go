// Package generate draws random cases: small networks of every shape, with their
// settings, damping and hardware, and what is done to them. A case is a
// harness.Scenario, so it can be run, shrunk, kept in a fail file and replayed
// like any other. It judges nothing and runs nothing.
//
//	sc := generate.Case(generate.FromRand(rand.New(rand.NewPCG(seed, 0))), generate.Limits{})
//	result, err := harness.Run(ctx, sc, harness.RunOptions{Checks: properties.ForScenario(sc)})
//
// One generator serves the random suites, which draw from a seed, and native
// fuzzing, which draws from bytes. The choice 0 is always the plainest, so no
// bytes at all are the plainest case, and few are a small one.
package generate

import (
	"fmt"

	"github.com/bagrig/bagrig/harness"
)

// Limits bound a case. The zero value is usable.
type Limits struct {
	Devices int    // most devices, at least 6; 0 = DefaultDevices
	Events  int    // most events that are drawn, from 1, those apart that mend everything at the end; 0 = DefaultEvents
	Engine  string // that the scenario names; empty = harness.Sim
	// Plain draws no settings but the defaults: what all rules hold of.
	Plain bool
}

// The limits of the zero value.
const (
	DefaultDevices = 12
	DefaultEvents  = 6
)

// least is the devices of the smallest network that every shape has a place in.
const least = 6

func (l Limits) filledIn() Limits {
	if l.Devices == 0 {
		l.Devices = DefaultDevices
	}
	if l.Events == 0 {
		l.Events = DefaultEvents
	}
	if l.Engine == "" {
		l.Engine = harness.Sim
	}
	l.Devices, l.Events = max(l.Devices, least), max(l.Events, 1)
	return l
}

// Case draws a whole case. It is valid by construction: ReadScenario takes what
// WriteScenario writes of it, and nothing that Limitations lists is in it.
func Case(src Source, limits Limits) *harness.Scenario {
	sc := Network(src, limits)
	sc.Events = Events(src, sc, limits)
	return sc
}

// Network draws a case without events, so that many schedules can be played on
// one network (see Events).
func Network(src Source, limits Limits) *harness.Scenario {
	l := limits.filledIn()
	sc := &harness.Scenario{Name: "generated", Engine: l.Engine, Seed: 1}
	sc.Topology = topology(src, l)
	sc.Hardware = hardware(src, sc.Topology)
	plan := plan(src, sc.Topology)
	sc.Damping = plan.Default
	if len(plan.Bundle)+len(plan.Told) > 0 {
		sc.Plan = &plan
	}
	sc.Settings = settings(src, sc, l)
	return sc
}

// must is for what is valid by construction: a test draws thousands.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("generate: %v", err))
	}
	return v
}
