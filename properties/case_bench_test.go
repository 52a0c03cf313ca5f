package properties

import (
	"context"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// caseEvents are the events of a case: bundles of all classes lose members or go
// down, and come back.
func caseEvents(t *topologies.Topology, n int) []state.Event {
	var events []state.Event
	for i := range n / 2 {
		b := t.Bundles[(2*i+1)*len(t.Bundles)/n]
		e := state.Event{Kind: "degrade", Bundle: b.Name, Members: max(b.Members*3/4, 1), Silent: true}
		if i%2 == 1 || b.Members == 1 {
			e = state.Event{Kind: "down", Bundle: b.Name, Silent: true}
		}
		events = append(events, e, state.Event{Kind: "restore", Bundle: b.Name, Silent: true})
	}
	return events
}

// BenchmarkCase plays 20 events on a clone of preset prometheus-mini in virtual time. What the
// checks cost is the difference to the same without any.
func BenchmarkCase(b *testing.B) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		b.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		b.Fatal(err)
	}
	base, err := harness.Start(context.Background(), harness.Options{Topology: topology, Damping: pipeline, Engine: harness.Sim})
	if err != nil {
		b.Fatal(err)
	}
	events := caseEvents(topology, 20)
	for _, n := range []struct {
		name   string
		checks func() []state.Check
	}{{"no checks", func() []state.Check { return nil }}, {"all checks", All}} {
		b.Run(n.name, func(b *testing.B) {
			for b.Loop() {
				checks := n.checks()
				rig, err := base.Clone(harness.CloneOptions{Checks: checks})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := rig.Play(context.Background(), events...); err != nil {
					b.Fatal(err)
				}
				for _, c := range checks {
					if o := c.Outcome(); o.Violated > 0 {
						b.Fatalf("%s: %v", o.Name, o.Violations)
					}
				}
			}
		})
	}
}
