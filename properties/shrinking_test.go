package properties

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// How small a failure is wanted, and in what part of the planted faults.
const (
	wantedEvents  = 3
	wantedDevices = 8
	wantedPart    = 0.9
)

// plantedFault is something that breaks a rule, put in as a user would: through
// the public API, in the middle of a scenario with much else in it.
type plantedFault struct {
	name   string
	preset string
	plant  func(t *testing.T, sc *harness.Scenario)
	check  func(m *state.Moment) string // the user's own rule: what is wrong now, or nothing
	want   string                       // what fails
}

// ownName is the rule of a fault that has one of its own.
const ownName = "a rule of one's own"

func plantedFaults() []plantedFault {
	told := func(stage damping.ToldStage) func(*testing.T, *harness.Scenario) {
		return func(_ *testing.T, sc *harness.Scenario) {
			sc.Damping.Name, sc.Damping.Told = "own", append(slices.Clone(sc.Damping.Told), stage)
		}
	}
	limit := func(l harness.Thresholds) func(*testing.T, *harness.Scenario) {
		return func(_ *testing.T, sc *harness.Scenario) { sc.Thresholds = l }
	}
	preset := func(name string) func(*testing.T, *harness.Scenario) {
		return func(t *testing.T, sc *harness.Scenario) {
			var err error
			if sc.Damping, err = damping.Preset(name, sc.Topology.SmallestSpeed()); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func(*testing.T, *harness.Scenario) {}
	return []plantedFault{
		{"a stage that tells twice the value", "prometheus-mini", told(spoiled{"doubles", func(v *damping.Value, _ damping.Value) { v.Bits *= 2 }}), nil, ToldWithinLawName},
		{"a stage that halves what is below 10T", "prometheus-mini", told(spoiled{"halves", func(v *damping.Value, _ damping.Value) {
			if v.Bits < 10e12 {
				v.Bits /= 2
			}
		}}), nil, ToldWithinLawName},
		{"a stage that never tells bad news", "prometheus-mini", told(spoiled{"keeps the highest", func(v *damping.Value, before damping.Value) {
			if before.Reach == damping.Valued && before.Bits > v.Bits {
				*v = before
			}
		}}), nil, ToldWithinLawName},
		{"a stage that tells no value after a loss", "spread-mini", told(spoiled{"forgets", func(v *damping.Value, before damping.Value) {
			if before.Reach == damping.Valued && before.Bits > 2*v.Bits {
				v.Reach = damping.Unvalued
			}
		}}), nil, ToldWithinLawName},
		{"route flap damping that withdraws", "prometheus-mini", preset(damping.PresetRFDCisco), nil, LivePathName},
		{"bags whose chip holds three groups", "spread-mini", func(t *testing.T, sc *harness.Scenario) {
			preset(damping.PresetNone)(t, sc)
			for i, d := range sc.Topology.Devices {
				if d.Role == topologies.Bag {
					sc.Hardware[i].Profile.Name, sc.Hardware[i].Profile.Groups, sc.Hardware[i].Profile.Reserve = "three-groups", 3, 1
				}
			}
		}, nil, FIBWithinLimitsName},
		{"a limit on NLRI", "prometheus-mini", limit(harness.Thresholds{NLRI: 3}), nil, "threshold: NLRI per event"},
		{"a limit on UPDATEs, other knobs", "spread-mini", func(t *testing.T, sc *harness.Scenario) {
			sc.Thresholds.Updates = 12
			for i := range sc.Settings {
				if err := sc.Settings[i].Set("weights.missing", "skip"); err != nil {
					t.Fatal(err)
				}
			}
		}, nil, "threshold: UPDATEs per event"},
		{"a limit on the radius", "hub-mini", limit(harness.Thresholds{Radius: 1}), nil, "threshold: blast radius"},
		{"two bundles of one plane are degraded", "prometheus-mini", nothing, func(m *state.Moment) string {
			planes := map[int]int{}
			for b, bundle := range m.Snapshot.Bundles {
				if ends := m.Index.Ends[b]; bundle.Members > 0 && bundle.Members < m.Topology.Bundles[b].Members {
					planes[max(m.Topology.Devices[ends[0]].Plane, m.Topology.Devices[ends[1]].Plane)]++
				}
			}
			for _, n := range planes {
				if n >= 2 {
					return "a plane has two degraded bundles"
				}
			}
			return ""
		}, ownName},
		{"three bundles are down in three fabrics", "prometheus-mini", nothing, func(m *state.Moment) string {
			fabrics := map[string]bool{}
			for b, bundle := range m.Snapshot.Bundles {
				if d := m.Topology.Devices[m.Index.Ends[b][0]]; bundle.Members == 0 && d.Fabric != "" {
					fabrics[d.Fabric] = true
				}
			}
			if len(fabrics) >= 3 {
				return "three fabrics have lost a bundle"
			}
			return ""
		}, ownName},
		{"a device is warm beside a degraded bundle", "spread-mini", nothing, func(m *state.Moment) string {
			for b, bundle := range m.Snapshot.Bundles {
				for _, d := range m.Index.Ends[b] {
					if m.Snapshot.Devices[d].Drain == topologies.Warm && bundle.Members < m.Topology.Bundles[b].Members {
						return m.Topology.Devices[d].Name + " is warm and has lost members"
					}
				}
			}
			return ""
		}, ownName},
		{"a spine hears of a far spine with half of what it did", "prometheus-mini", nothing, func(m *state.Moment) string {
			for d, device := range m.Topology.Devices {
				for p, prefix := range m.Topology.Prefixes {
					now, before := m.Snapshot.Devices[d].Routes[p].Bottleneck, m.Baseline.Devices[d].Routes[p].Bottleneck
					if device.Role == topologies.Spine && prefix.Class == "spine" && len(m.Snapshot.Devices[d].Routes[p].Set) > 0 && 2*now < before {
						return device.Name + " hears of less than half"
					}
				}
			}
			return ""
		}, ownName},
		{"a weight above 8 in hardware", "hub-mini", nothing, func(m *state.Moment) string {
			for d := range m.Snapshot.Devices {
				for _, r := range m.Snapshot.Devices[d].Routes {
					for _, w := range r.FIB.Members {
						if w.Weight > 8 {
							return m.Topology.Devices[d].Name + " has a weight above 8"
						}
					}
				}
			}
			return ""
		}, ownName},
	}
}

// spoiled is a told stage of a user's own that promises to change nothing.
type spoiled struct {
	name  string
	spoil func(v *damping.Value, before damping.Value)
}

func (s spoiled) NewTold() damping.ToldPolicy { return &spoiledPolicy{stage: s} }
func (s spoiled) Law() damping.Law            { return damping.Law{PerChange: 1} }
func (s spoiled) String() string              { return s.name }

type spoiledPolicy struct {
	stage spoiled
	told  damping.Value
}

func (p *spoiledPolicy) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if out := in; in.Reach == damping.Valued {
		p.stage.spoil(&out, p.told)
		p.told = out
		return out, damping.Never
	}
	p.told = in
	return in, damping.Never
}

// own is a check of a user's own.
type own struct {
	wrong func(*state.Moment) string
	found state.Outcome
}

func (*own) Name() string             { return ownName }
func (o *own) Outcome() state.Outcome { return o.found }

func (o *own) Look(m *state.Moment) {
	o.found.Name = ownName
	o.found.Exercised++
	if text := o.wrong(m); text != "" {
		o.found.Violated++
		o.found.Violations = append(o.found.Violations, state.Violation{Time: m.Snapshot.Time - m.Baseline.Time, Text: text})
	}
}

func (f plantedFault) checks(t *topologies.Topology, events []state.Event) []state.Check {
	if f.check != nil {
		return []state.Check{&own{wrong: f.check}}
	}
	return For(t, events)
}

// events of a scenario that hides a fault.
const hiding = 14

// hidden is the first of the drawn scenarios in which the fault fails.
func (f plantedFault) hidden(t *testing.T, fails shrink.Fails) *harness.Scenario {
	t.Helper()
	for seed := range uint64(20) {
		topology, err := topologies.Preset(f.preset)
		if err != nil {
			t.Fatal(err)
		}
		sc := &harness.Scenario{Name: "planted", Engine: harness.Sim, Seed: 1, Topology: topology}
		if sc.Damping, err = damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed()); err != nil {
			t.Fatal(err)
		}
		if sc.Hardware, err = state.HardwareOf(topology); err != nil {
			t.Fatal(err)
		}
		sc.Settings = slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(topology.Devices))
		sc.Events = anyEvents(rand.New(rand.NewPCG(seed, 8)), topology)
		f.plant(t, sc)
		if _, ok := fails(t.Context(), sc); ok {
			return sc
		}
	}
	t.Fatalf("%s: not found in 20 scenarios", f.name)
	return nil
}

func anyEvents(rng *rand.Rand, t *topologies.Topology) (events []state.Event) {
	paper, at := state.NewPaper(t, t.Index()), 5*time.Second
	for len(events) < hiding {
		b := t.Bundles[rng.IntN(len(t.Bundles))]
		members := 1 + rng.IntN(b.Members-1)
		e := []state.Event{
			{Kind: "degrade", Bundle: b.Name, Members: members},
			{Kind: "degrade", Bundle: b.Name, Members: members},
			{Kind: "flap", Bundle: b.Name, Members: members, Count: 2 + rng.IntN(6), Period: time.Duration(3+rng.IntN(9)) * time.Second},
			{Kind: "down", Bundle: b.Name},
			{Kind: "restore", Bundle: b.Name},
			{Kind: "reset", Bundle: b.Name},
			{Kind: "drain", Device: b.B, State: "warm"},
		}[rng.IntN(7)]
		e.Silent = true
		if rng.IntN(2) == 0 {
			at += time.Duration(rng.IntN(50_000)) * time.Millisecond
			e.At = at
		}
		if paper.Play(e) == nil {
			events = append(events, e)
		}
	}
	return events
}

// TestPlantedFaultsBecomeSmall shrinks each planted fault, and keeps the table of
// how small it got in docs/shrinking.md; BAGRIG_UPDATE=1 writes it anew.
func TestPlantedFaultsBecomeSmall(t *testing.T) {
	simOnly(t)
	if brief() {
		t.Skip("runs in full only")
	}
	var table strings.Builder
	table.WriteString("| planted | what fails | events, devices before | after | tries | small |\n|---|---|---|---|---|---|\n")
	small, faults := 0, plantedFaults()
	few := raceDetector || testing.Short()
	if few {
		faults = faults[:4]
	}
	for _, f := range faults {
		res := f.shrunk(t)
		size, verdict := shrink.SizeOf(res.Scenario), "no"
		if size.Events <= wantedEvents && size.Devices <= wantedDevices {
			small, verdict = small+1, "yes"
		}
		fmt.Fprintf(&table, "| %s | %s | %d, %d | %d, %d | %d | %s |\n", f.name, f.want, res.First.Events, res.First.Devices, size.Events, size.Devices, res.Tries, verdict)
	}
	part := float64(small) / float64(len(faults))
	if part < wantedPart {
		t.Errorf("%d of %d faults have at most %d events and %d devices left, want %.0f %%", small, len(faults), wantedEvents, wantedDevices, 100*wantedPart)
	}
	fmt.Fprintf(&table, "\n%d of %d have at most %d events and %d devices left.\n", small, len(faults), wantedEvents, wantedDevices)
	t.Log("\n" + table.String())
	if !few {
		keepTable(t, "../docs/shrinking.md", table.String())
	}
}

// shrunk finds the fault in a drawn scenario and shrinks that to the end.
func (f plantedFault) shrunk(t *testing.T) *shrink.Result {
	t.Helper()
	fails := shrink.Violates(f.checks, harness.RunOptions{}, f.want)
	res, err := shrink.Shrink(t.Context(), f.hidden(t, fails), fails, shrink.Options{})
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	if failure, ok := fails(t.Context(), res.Scenario); !ok || res.Failure != f.want {
		t.Errorf("%s: what is left fails with %q, want %q", f.name, failure, f.want)
	}
	if !res.Done {
		t.Errorf("%s: stopped after %d tries", f.name, res.Tries)
	}
	t.Logf("%s: %s", f.name, res.How())
	for _, e := range res.Scenario.Events {
		t.Logf("    %v", e)
	}
	return res
}

// The marks around a table that a test writes.
const tableBegins, tableEnds = "<!-- generated: BAGRIG_UPDATE=1 go test ./properties -->\n", "<!-- end -->\n"

// keepTable compares a table with the one in a page, or writes it there.
func keepTable(t *testing.T, page, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	old, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		t.Fatalf("%s: no marks for the table: want %q and %q", page, tableBegins, tableEnds)
	}
	if old == table {
		return
	}
	if os.Getenv("BAGRIG_UPDATE") == "" {
		t.Errorf("%s: the table is another now: BAGRIG_UPDATE=1 go test ./properties writes it anew; got\n%s", page, table)
		return
	}
	if err := os.WriteFile(page, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
