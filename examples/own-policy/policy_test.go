package ownpolicy

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
	"github.com/bagrig/bagrig/topologies"
)

// network starts a small network in virtual time, with a policy on every told value.
func network(t *testing.T, policy damping.ToldStage) *harness.Rig {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	rig, err := harness.Start(t.Context(), harness.Options{
		Topology: topology, Engine: harness.Sim,
		Damping: damping.Pipeline{Name: policy.String(), Told: []damping.ToldStage{policy}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rig.Close(); err != nil {
			t.Error(err)
		}
	})
	return rig
}

// badDay degrades a bundle, lets another flap, and mends both.
var badDay = []state.Event{
	{Kind: "degrade", Bundle: "r1-bag1--r2-bag1", Members: 20},
	{Kind: "flap", Bundle: "r1-f1-e2--r1-bag2", Members: 12, Count: 3, Period: 20 * time.Second},
	{Kind: "down", Bundle: "r1-f1-e1--r1-bag1"},
	{Kind: "restore", All: true},
}

func TestLowestHolds(t *testing.T) {
	rig := network(t, Lowest{For: 30 * time.Second})
	properties.Check(t, rig, properties.All()...) // fails the test at its end where a rule is violated
	properties.Exercised(t, rig, properties.ToldWithinLawName, properties.ContainmentName, properties.RestoreName)
	if _, err := rig.Play(t.Context(), badDay...); err != nil {
		t.Fatal(err)
	}
}

func TestMeanIsCaught(t *testing.T) {
	rig := network(t, Mean{})
	rig.Watch(properties.NewToldWithinLaw())
	if _, err := rig.Play(t.Context(), badDay...); err != nil {
		t.Fatal(err)
	}
	if o := rig.Outcomes()[0]; o.Violated == 0 {
		t.Errorf("%s: got no violation", o.Name)
	} else {
		t.Logf("%s: %d times, such as at %v, %s: %s", o.Name, o.Violated, o.Violations[0].Time, o.Violations[0].Where, o.Violations[0].Text)
	}
}
