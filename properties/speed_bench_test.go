package properties

import (
	"context"
	"math/rand"
	"testing"

	"github.com/leanovate/gopter"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// smallShapes are networks of 8 to 56 devices, as a quick suite draws them.
func smallShapes(tb testing.TB) (list []*topologies.Topology) {
	tb.Helper()
	link := topologies.Link{Members: members}
	for _, kind := range []string{"dsf", "nsf", "fpf"} {
		for _, c := range []counts{{2, 1, 2, 1}, {2, 1, 1, 2}, {1, 2, 2, 2}, {2, 2, 2, 2}, {2, 2, 3, 2}, {3, 2, 2, 2}, {2, 4, 4, 2}} {
			t, err := topologies.Generate(topologies.Shape{
				Name: "small", Regions: c.regions, Planes: c.planes, Fabrics: c.fabrics, Spines: c.spines, Kind: kind, Speed: 800e9,
				SpineEdge: link, EdgeBag: link, SpineBag: link, BagBag: link, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
			})
			if err != nil {
				tb.Fatal(err)
			}
			if n := len(t.Devices); n >= 8 && n <= 56 {
				list = append(list, t)
			}
		}
	}
	return list
}

// drawn are events on a topology, as TestEveryRuleHoldsUnderRandomEvents draws them.
func drawn(t *topologies.Topology, seed int64, least, most int) []state.Event {
	m := newMaker(t)
	params := gopter.DefaultGenParameters()
	params.Rng = rand.New(rand.NewSource(seed))
	for {
		events := m.plans()(params).Result.(plan).events
		if n := len(events); n >= least && n <= most {
			return append(events, restoreAll())
		}
	}
}

// playedOn plays events on a rig, and fails where a rule does not hold.
func playedOn(b *testing.B, rig *harness.Rig, checks []state.Check, events []state.Event) {
	b.Helper()
	if _, err := rig.Play(context.Background(), shifted(events, rig)...); err != nil {
		b.Fatal(err)
	}
	for _, c := range checks {
		if o := c.Outcome(); o.Violated > 0 {
			b.Fatalf("%s: %v", o.Name, o.Violations)
		}
	}
}

func casesPerSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cases/s")
}

// BenchmarkQuickCase is the average case of a suite on networks of 8 to 56 devices:
// 3 to 8 random events and a restore, with all checks, on a rig of its own and on a
// clone of one.
func BenchmarkQuickCase(b *testing.B) {
	networks := smallShapes(b)
	options := func(t *topologies.Topology, checks []state.Check) harness.Options {
		pipeline, err := damping.Preset(damping.PresetBagDefault, t.SmallestSpeed())
		if err != nil {
			b.Fatal(err)
		}
		return harness.Options{Topology: t, Damping: pipeline, Checks: checks, Engine: harness.Sim}
	}
	cases := make([][][]state.Event, len(networks))
	bases := make([]*harness.Rig, len(networks))
	for i, t := range networks {
		for seed := range int64(8) {
			cases[i] = append(cases[i], drawn(t, seed, 3, 8))
		}
		var err error
		if bases[i], err = harness.Start(context.Background(), options(t, nil)); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("started", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at, checks := i%len(networks), All()
			rig, err := harness.Start(context.Background(), options(networks[at], checks))
			if err != nil {
				b.Fatal(err)
			}
			playedOn(b, rig, checks, cases[at][i/len(networks)%8])
			if err := rig.Close(); err != nil {
				b.Fatal(err)
			}
		}
		casesPerSecond(b)
	})
	b.Run("cloned", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at, checks := i%len(networks), All()
			rig, err := bases[at].Clone(harness.CloneOptions{Checks: checks})
			if err != nil {
				b.Fatal(err)
			}
			playedOn(b, rig, checks, cases[at][i/len(networks)%8])
		}
		casesPerSecond(b)
	})
}

// BenchmarkTinyCase is what a fuzz target does on at most 12 devices: the topology is
// generated, its network started, three events played with all checks, and closed.
func BenchmarkTinyCase(b *testing.B) {
	link := topologies.Link{Members: 4}
	shape := topologies.Shape{
		Name: "tiny", Regions: 2, Planes: 1, Fabrics: 2, Spines: 1, Kind: "dsf", Speed: 800e9,
		SpineEdge: link, EdgeBag: link, BagBag: link, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
	}
	for i := 0; b.Loop(); i++ {
		t, err := topologies.Generate(shape)
		if err != nil {
			b.Fatal(err)
		}
		pipeline, err := damping.Preset(damping.PresetBagDefault, t.SmallestSpeed())
		if err != nil {
			b.Fatal(err)
		}
		checks := All()
		rig, err := harness.Start(context.Background(), harness.Options{Topology: t, Damping: pipeline, Checks: checks, Engine: harness.Sim})
		if err != nil {
			b.Fatal(err)
		}
		at := t.Bundles[i%len(t.Bundles)].Name
		playedOn(b, rig, checks, []state.Event{
			{Kind: "degrade", Bundle: at, Members: 1, Silent: true}, {Kind: "down", Bundle: at, Silent: true}, restoreAll(),
		})
		if err := rig.Close(); err != nil {
			b.Fatal(err)
		}
	}
	casesPerSecond(b)
}
