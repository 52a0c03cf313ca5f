package speakers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// spread is a core with n equal candidates for the first of as many prefixes
// as preset prometheus has, and with the default damping.
func spread(b *testing.B, n int, knobs ...string) *speakers.Core {
	b.Helper()
	pipeline, err := damping.Preset(damping.PresetBagDefault, 800e9)
	if err != nil {
		b.Fatal(err)
	}
	cfg := speakers.Config{ASN: edgeASN, Role: topologies.Edge, Prefixes: 164, Damping: pipeline, Settings: withKnobs(b, knobs...)}
	var inputs []speakers.Input
	for i := range int32(n) {
		cfg.Sessions = append(cfg.Sessions, speakers.Session{
			Bundle: i, Neighbor: i, NeighborASN: asnOf(i), NeighborRole: topologies.Bag, Capacity: 32 * 800e9,
		})
		inputs = append(inputs, announce(i, route(1000, asnOf(i), 7)))
	}
	return fed(b, cfg, inputs...)
}

// BenchmarkStep measures one step with one input: a route that is heard again,
// a route whose change is hidden by the bundle's capacity, and one that
// changes a share.
func BenchmarkStep(b *testing.B) {
	cases := []struct {
		name   string
		values [2]float64 // units, heard in turn; the bundles have 2,980
	}{
		{"heard-again", [2]float64{1000, 1000}},
		{"absorbed", [2]float64{5000, 6000}},
		{"share", [2]float64{1000, 900}},
	}
	for _, c := range cases {
		for _, n := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("%s/candidates=%d", c.name, n), func(b *testing.B) {
				core := spread(b, n)
				inputs := [2][]speakers.Input{
					{announce(0, route(c.values[0], asnOf(0), 7))}, {announce(0, route(c.values[1], asnOf(0), 7))},
				}
				var effects []speakers.Effect
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					var err error
					if effects, err = core.Step(0, inputs[i%2], effects[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkControl measures the inputs that concern all prefixes: settings and
// a drain state that are there already, settings that change nothing of what
// is held, and a drain and its end.
func BenchmarkControl(b *testing.B) {
	other := setTo(b, "weights.source", "received", "import.reject-classes", "none")
	cases := []struct {
		name   string
		inputs [2]speakers.Input
	}{
		{"same-settings", [2]speakers.Input{setTo(b), setTo(b)}},
		{"other-settings", [2]speakers.Input{setTo(b), other}},
		{"same-drain", [2]speakers.Input{drainTo(topologies.Live), drainTo(topologies.Live)}},
		{"warm-and-live", [2]speakers.Input{drainTo(topologies.Warm), drainTo(topologies.Live)}},
		{"drained-and-live", [2]speakers.Input{drainTo(topologies.Drained), drainTo(topologies.Live)}},
	}
	for _, c := range cases {
		b.Run(c.name+"/candidates=8", func(b *testing.B) {
			core := spread(b, 8)
			inputs := [2][]speakers.Input{{c.inputs[0]}, {c.inputs[1]}}
			var effects []speakers.Effect
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var err error
				if effects, err = core.Step(0, inputs[i%2], effects[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStepWithKnobs is the absorbed case of BenchmarkStep with the knobs
// that do more than the defaults.
func BenchmarkStepWithKnobs(b *testing.B) {
	for _, knobs := range knobsThatWork {
		for _, n := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("%s=%s/candidates=%d", knobs[0], knobs[1], n), func(b *testing.B) {
				core := spread(b, n, knobs...)
				inputs := [2][]speakers.Input{
					{announce(0, route(5000, asnOf(0), 7))}, {announce(0, route(6000, asnOf(0), 7))},
				}
				if _, err := core.Step(0, inputs[1], nil); err != nil {
					b.Fatal(err)
				}
				var effects []speakers.Effect
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					var err error
					if effects, err = core.Step(0, inputs[i%2], effects[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

var knobsThatWork = [][]string{
	{"divide", "equal"}, {"weights.missing", "default-weight"}, {"advertise", "aggregate-local"}, {"transitivity", "both"},
	{"import.reject-communities", "65000:9,65000:10"},
}

func TestStepThatChangesNothingAllocatesNothing(t *testing.T) {
	for _, knobs := range append(knobsThatWork, nil) {
		t.Run(strings.Join(knobs, "="), func(t *testing.T) { allocatesNothing(t, knobs) })
	}
}

func allocatesNothing(t *testing.T, knobs []string) {
	same := setTo(t, knobs...)
	none := setTo(t, append(knobs, "import.reject-classes", "none")...)
	cases := []struct {
		name   string
		before []speakers.Input
		first  speakers.Input
		second speakers.Input
	}{
		{"heard again", nil, announce(bag8, route(2, 208, 7)), announce(bag8, route(2, 208, 7))},
		{"hidden by the bundle's capacity", nil, announce(bag8, route(9, 208, 7)), announce(bag8, route(10, 208, 7))},
		{"outside the set", []speakers.Input{announce(spine1, route(1, 201))}, announce(bag8, route(2, 208, 7)), announce(bag8, route(1, 208, 7))},
		{"with communities", nil, announce(bag8, withTags(route(9, 208, 7), 5)), announce(bag8, withTags(route(9, 208, 7), 6))},
		{"the settings that it has", nil, same, same},
		{"other settings for nothing", nil, same, none},
		{"the drain state that it has", []speakers.Input{drainTo(topologies.Warm)}, drainTo(topologies.Warm), drainTo(topologies.Warm)},
		{"while drained", []speakers.Input{drainTo(topologies.Drained)}, announce(bag8, route(9, 208, 7)), announce(bag8, route(9, 208, 6))},
		{"session up", nil, speakers.Input{Kind: speakers.SessionUp, Bundle: bag8}, speakers.Input{Kind: speakers.SessionUp, Bundle: bag8}},
	}
	for _, c := range cases {
		cfg := twoBundles()
		cfg.Settings = same.Settings
		core := fed(t, cfg, append(c.before, announce(bag8b, route(9, 208, 7)), c.first)...)
		first, second := []speakers.Input{normal(c.first)}, []speakers.Input{normal(c.second)}
		got := testing.AllocsPerRun(100, func() {
			for _, in := range [][]speakers.Input{second, first} {
				if effects, err := core.Step(0, in, nil); err != nil || effects != nil {
					t.Fatalf("%s: got effects %+v, error %v, want none", c.name, effects, err)
				}
			}
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations in two steps, want 0", c.name, got)
		}
	}
}

// normal is an input with its route as engines hand it over, so that the core
// keeps that one.
func normal(in speakers.Input) speakers.Input {
	if in.Route != nil {
		r := in.Route.Normal()
		in.Route = &r
	}
	return in
}
