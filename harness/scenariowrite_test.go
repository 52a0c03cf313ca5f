package harness_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// reread writes a scenario, reads it, and tells what is not the same.
func reread(t *testing.T, sc *harness.Scenario) (text []byte, diff string) {
	t.Helper()
	text, err := harness.WriteScenario(sc)
	if err != nil {
		t.Fatal(err)
	}
	back, err := harness.ReadScenario("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return text, cmp.Diff(back, sc, cmpopts.IgnoreFields(harness.Scenario{}, "Source", "Files"), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(fib.Profile{}, "Verified"), cmpopts.EquateComparable(netip.Prefix{}), cmp.AllowUnexported(damping.Quantize{}, damping.Grid{}))
}

func TestEveryEmbeddedScenarioIsReadBackAsItWasWritten(t *testing.T) {
	for _, name := range harness.Scenarios() {
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Topology.Devices) > 200 {
			continue
		}
		text, diff := reread(t, sc)
		if diff != "" {
			t.Errorf("%s: read back, against what was written: %s", name, diff)
		}
		again, _ := reread(t, sc)
		if string(again) != string(text) {
			t.Errorf("%s: written twice it is not the same", name)
		}
	}
}

// TestEveryFieldOfAScenarioIsReadBackAsItWasWritten draws scenarios with all that
// a file can hold.
func TestEveryFieldOfAScenarioIsReadBackAsItWasWritten(t *testing.T) {
	for seed := range uint64(60) {
		sc := drawn(t, rand.New(rand.NewPCG(seed, 1)))
		if _, diff := reread(t, sc); diff != "" {
			t.Fatalf("seed %d: read back, against what was written: %s", seed, diff)
		}
	}
}

func drawn(t *testing.T, rng *rand.Rand) *harness.Scenario {
	t.Helper()
	topology, err := topologies.Preset([]string{"prometheus-mini", "hub-mini", "mix-mini"}[rng.IntN(3)])
	if err != nil {
		t.Fatal(err)
	}
	sc := &harness.Scenario{
		Name: []string{"a", "true", "two: words #1", ""}[rng.IntN(4)], Engine: []string{harness.GoBGP, harness.Sim, harness.Both}[rng.IntN(3)],
		Seed: 1 + rng.Uint64N(1<<62), Topology: topology, Compare: rng.IntN(2) == 0,
		Thresholds: harness.Thresholds{NLRI: rng.IntN(3), Updates: rng.IntN(3), Radius: rng.IntN(3)},
		Expect:     [][]string{nil, {"no loop", "told within the pipeline's law"}}[rng.IntN(2)],
	}
	drawDamping(rng, sc)
	drawSettings(t, rng, sc)
	if sc.Hardware, err = state.HardwareOf(topology); err != nil {
		t.Fatal(err)
	}
	for i := range sc.Hardware {
		if h := &sc.Hardware[i]; rng.IntN(3) == 0 {
			h.Options = fib.Options{Algorithm: fib.Algorithms()[rng.IntN(2)], Overflow: fib.Overflows()[rng.IntN(3)]}
			h.Profile = fib.Profiles()[rng.IntN(len(fib.Profiles()))]
			if rng.IntN(2) == 0 {
				h.Profile.Name, h.Profile.Groups, h.Profile.Ceiling, h.Profile.Source = "own", 1+h.Profile.Reserve+rng.IntN(100), 0.1+0.9*rng.Float64(), "a: b"
			}
		}
	}
	bundle := topology.Bundles[rng.IntN(len(topology.Bundles))]
	sc.Events = []state.Event{
		{Kind: "degrade", Bundle: bundle.Name, Members: 1 + rng.IntN(bundle.Members-1), At: time.Duration(1 + rng.IntN(1e9))},
		{Kind: "set", Device: bundle.A, Knob: "advertise.value", Value: "1.5T", Silent: true},
		{Kind: "down", Bundle: bundle.Name, Detect: "bfd:150ms"},
		{Kind: "restore", All: true},
		{Kind: "synchronised", Bundles: topology.Bundles[0].Name + "," + topology.Bundles[1].Name, Members: 1, Count: 2, Period: time.Minute},
		{Kind: "ramp", Bundle: bundle.Name, Start: 0, End: 2, Over: time.Minute, Steps: 2},
	}[:rng.IntN(7)]
	return sc
}

func drawDamping(rng *rand.Rand, sc *harness.Scenario) {
	step := sc.Topology.SmallestSpeed()
	pick := func() time.Duration { return time.Duration(1 + rng.IntN(1e9)) }
	quantize, _ := damping.Quantize{Step: step, Error: float64(rng.IntN(1000)) / 1000, Rounding: damping.Rounding(rng.IntN(3)), Fixed: []uint64{64 * step}}.Built()
	anchored, _ := damping.Quantize{Step: step, Error: 0.1, Anchor: 1000 * step}.Built()
	hysteresis, _ := damping.Hysteresis{Quantize: quantize, Margin: rng.Float64() / 2}.Built()
	penalty, _ := damping.PenaltyProfile(damping.ProfileCisco)
	penalty.Attribute, penalty.OnSuppress, penalty.HalfLife = 1000*rng.Float64(), damping.Withhold, penalty.HalfLife+pick()
	hold := pick()
	bundle := []damping.BundleStage{
		damping.CarrierDelay{Down: damping.Fixed(pick()), Up: damping.Backoff{First: hold, Max: hold + pick()}},
		damping.Deadband{Skip: rng.IntN(4), Every: 1 + rng.IntN(4)}, damping.HoldDown{T: hold, Max: 2 * hold, Forget: 3 * hold},
	}
	told := []damping.ToldStage{quantize, anchored, hysteresis, damping.Pace{Interval: pick(), Jitter: true, Seed: rng.Uint64N(1 << 60)}, penalty, damping.DefaultStormGuard()}
	some := func() damping.Pipeline {
		return damping.Pipeline{Bundle: bundle[:rng.IntN(4)], Told: told[rng.IntN(3) : 3+rng.IntN(4)]}
	}
	sc.Damping = some()
	switch rng.IntN(3) {
	case 0:
		sc.Damping.Name = "own # stages"
	case 1:
		sc.Damping, _ = damping.Preset(damping.Presets()[rng.IntN(len(damping.Presets()))], step)
	default:
		sc.Plan = &damping.Plan{Name: "plan", Default: some(), Told: []damping.ToldRule{{Role: "spine", Stages: some().Told}, {Class: "region", Stages: nil}},
			Bundle: []damping.BundleRule{{MinLength: 1, MaxLength: 2000, Stages: some().Bundle}, {MinLength: 3000}}}
		sc.Plan.Default.Name = sc.Plan.Name
		sc.Damping = sc.Plan.Default
	}
}

func drawSettings(t *testing.T, rng *rand.Rand, sc *harness.Scenario) {
	t.Helper()
	values := map[string]string{
		"weights.missing": "skip", "advertise.value": "25.6T", "rib-batch": "1.5s", "import.max-prefixes": "12",
		"import.reject-classes": "region,default", "import.reject-communities": "65000:1,65000:2", "transitivity": "both",
	}
	for range sc.Topology.Devices {
		sc.Settings = append(sc.Settings, topologies.DefaultSettings())
	}
	for _, k := range topologies.Knobs() {
		value, ok := values[k.Name]
		all := rng.IntN(2) == 0
		for i := range sc.Settings {
			if ok && (all || rng.IntN(4) == 0) {
				if err := sc.Settings[i].Set(k.Name, value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// strange is a damping stage of a user's own.
type strange struct{ damping.Deadband }

func TestWhatNoFileSaysIsRefused(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what, want string
		sc         harness.Scenario
	}{
		{"a stage of a user's own", "damping stage deadband", harness.Scenario{Damping: damping.Pipeline{Bundle: []damping.BundleStage{strange{damping.Deadband{Every: 1}}}}}},
		{"a limit below 0", "thresholds.nlri", harness.Scenario{Thresholds: harness.Thresholds{NLRI: -1}}},
		{"a field that the event has not", "unknown field", harness.Scenario{Events: []state.Event{{Kind: "restore", All: true, From: "x"}}}},
		{"a bundle that is not there", "no such bundle", harness.Scenario{Events: []state.Event{{Kind: "degrade", Bundle: "x", Members: 1}}}},
		{"a seed that is too large", "seed", harness.Scenario{Seed: 1 << 63}},
	} {
		tc.sc.Topology = topology
		if _, err := harness.WriteScenario(&tc.sc); !errors.Is(err, harness.ErrNoYAML) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want ErrNoYAML and %q", tc.what, err, tc.want)
		}
	}
}

func TestAScenarioThatNamesAFileIsWrittenWithItsName(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.csv"), []byte("time,members\n0,4\n60,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	text := "topology: prometheus-mini\nevents:\n  - replay: {bundle: r1-bag1--r2-bag1, file: s.csv}\n"
	sc, err := harness.ReadScenario(filepath.Join(dir, "x.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	written, err := harness.WriteScenario(sc)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := harness.ReadScenario(filepath.Join(dir, "y.yaml"), written); err != nil || len(*back.Events[0].Series) != 2 {
		t.Errorf("read back beside the file: got %v and %v, want the event with its series", back, err)
	}
}
