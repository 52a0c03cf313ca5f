package shrink_test

import (
	"context"
	"errors"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broken is the failure of the rules below.
const broken = "a rule"

// fails makes a Fails of a condition on the scenario alone.
func fails(of func(*harness.Scenario) bool) shrink.Fails {
	return func(_ context.Context, sc *harness.Scenario) (string, bool) { return broken, of(sc) }
}

// much is a scenario with something of everything.
func much(t *testing.T, preset string) *harness.Scenario {
	t.Helper()
	sc, err := harness.ReadScenario("much.yaml", []byte("topology: "+preset+`
seed: 7
engine: sim
damping:
  name: much
  bundle: [carrier-delay: {up: 1s}, holddown]
  told: [quantize, pace: {interval: 7s}]
  told-rules: [{role: spine, stages: [quantize]}, {class: region, stages: []}]
  bundle-rules: [{min-length: 1km, stages: [holddown]}]
speakers:
  weights.missing: skip
  roles: {bag: {transitivity: both}}
fib:
  compare: true
  overflow: share
  roles: {bag: {profile: {name: tiny, like: jericho3, groups: 8}}, spine: {algorithm: wcmp}}
thresholds: {nlri: 1000, radius: 9}
expect-violated: [a rule]
events:
  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 17, at: 12345ms}
  - flap: {bundle: r1-f1-e1--r1-bag1, members: 9, count: 7, period: 11s, at: 30s}
  - down: {device: r1-bag1, detect: bfd 150ms, at: 200s}
  - set: {all: true, knob: divide, value: equal}
  - drain: {plane: 1, state: warm}
  - ramp: {bundle: r1-f1-s1--r1-f1-e2, from: 32, to: 3, over: 77s, steps: 4}
  - grey: {device: r1-f1-s2, loss: 0.3}
  - restart: {device: r1-f1-e2, takes: 13s}
  - hold: {bundle: r1-f1-s1--r1-f1-e2, from: r1-f1-s1}
  - release: {bundle: r1-f1-s1--r1-f1-e2, from: r1-f1-s1}
  - restore: {all: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func shrunk(t *testing.T, sc *harness.Scenario, f shrink.Fails) *shrink.Result {
	t.Helper()
	res, err := shrink.Shrink(t.Context(), sc, f, shrink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Done {
		t.Fatalf("stopped after %d tries", res.Tries)
	}
	return res
}

func has(sc *harness.Scenario, kind string) bool {
	return slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == kind })
}

func TestOnlyWhatTheFailureNeedsIsLeft(t *testing.T) {
	holds := func(stages []damping.BundleStage) bool {
		return slices.ContainsFunc(stages, func(s damping.BundleStage) bool { _, ok := s.(damping.HoldDown); return ok })
	}
	turned := func(sc *harness.Scenario, knob string) (n int) {
		for i := range sc.Settings {
			for _, k := range topologies.Knobs() {
				if v, _ := sc.Settings[i].Get(k.Name); v != k.Default && (knob == "" || knob == k.Name) {
					n++
				}
			}
		}
		return n
	}
	for _, tc := range []struct {
		name   string
		fails  func(*harness.Scenario) bool
		events string                       // that are left
		left   func(*harness.Scenario) bool // what else has to be so
	}{
		{"nothing at all", func(*harness.Scenario) bool { return true }, "", func(sc *harness.Scenario) bool {
			return len(sc.Topology.Devices) == 2 && len(sc.Topology.Bundles) == 1 && len(sc.Topology.Prefixes) == 0 && sc.Damping.Name == damping.PresetNone && sc.Plan == nil &&
				turned(sc, "") == 0 && sc.Thresholds == (harness.Thresholds{}) && len(sc.Expect) == 0 && !sc.Compare && sc.Seed == 1
		}},
		{"two events of one bundle", func(sc *harness.Scenario) bool { return has(sc, "hold") && has(sc, "release") },
			"hold bundle=r1-f1-s1--r1-f1-e2 from=r1-f1-s1; release bundle=r1-f1-s1--r1-f1-e2 from=r1-f1-s1", nil},
		{"members and a time", func(sc *harness.Scenario) bool {
			return slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == "degrade" && e.Members < 20 && e.At > 5*time.Second })
		}, "degrade bundle=r1-f1-s1--r1-f1-e1 members=16 at=10s", nil},
		{"a flap that repeats", func(sc *harness.Scenario) bool {
			return slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == "flap" && e.Count >= 2 })
		}, "flap bundle=r1-f1-e1--r1-bag1 members=31 count=2 period=10s", nil},
		{"one session of a device", func(sc *harness.Scenario) bool { return has(sc, "down") }, "down bundle=r1-bag1--r2-bag1", nil},
		{"a knob of one device", func(sc *harness.Scenario) bool { return turned(sc, "weights.missing") > 0 }, "", func(sc *harness.Scenario) bool { return turned(sc, "") == 1 }},
		{"a hold-down somewhere", func(sc *harness.Scenario) bool {
			return holds(sc.Damping.Bundle) || sc.Plan != nil && slices.ContainsFunc(sc.Plan.Bundle, func(r damping.BundleRule) bool { return holds(r.Stages) })
		}, "", func(sc *harness.Scenario) bool {
			return sc.Plan == nil && len(sc.Damping.Bundle) == 1 && len(sc.Damping.Told) == 0
		}},
		{"a rule of damping", func(sc *harness.Scenario) bool { return sc.Plan != nil && len(sc.Plan.Told) > 0 }, "", func(sc *harness.Scenario) bool {
			return len(sc.Plan.Told) == 1 && len(sc.Plan.Bundle) == 0 && len(sc.Plan.Default.Told) == 0
		}},
		{"a chip that is not the topology's", func(sc *harness.Scenario) bool {
			return slices.ContainsFunc(sc.Hardware, func(h state.Hardware) bool { return h.Profile.Name == "tiny" })
		}, "", func(sc *harness.Scenario) bool {
			others := slices.DeleteFunc(slices.Clone(sc.Hardware), func(h state.Hardware) bool { return h.Profile.Name != "tiny" })
			return len(others) == 1 && others[0].Options == fib.Options{}
		}},
		{"a threshold", func(sc *harness.Scenario) bool { return sc.Thresholds.Radius > 0 }, "", func(sc *harness.Scenario) bool { return sc.Thresholds.NLRI == 0 }},
		{"a bag of each region", func(sc *harness.Scenario) bool {
			regions := map[string]bool{}
			for _, d := range sc.Topology.Devices {
				if d.Role == topologies.Bag {
					regions[d.Region] = true
				}
			}
			return len(regions) == 2
		}, "", func(sc *harness.Scenario) bool { return len(sc.Topology.Devices) == 2 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sc := shrunk(t, much(t, "prometheus-mini"), fails(tc.fails)).Scenario
			var events []string
			for _, e := range sc.Events {
				events = append(events, e.String())
			}
			if got := strings.Join(events, "; "); got != tc.events {
				t.Errorf("events left: got %q, want %q", got, tc.events)
			}
			if tc.left != nil && !tc.left(sc) {
				t.Errorf("too much is left: %+v\n%v\n%v %v", sc.Topology, sc.Settings, sc.Damping, sc.Plan)
			}
		})
	}
}

// TestEveryCandidateCanBeRunAndChangesNothingElse lets what fails be a matter of
// chance, so that the search takes many ways.
func TestEveryCandidateCanBeRunAndChangesNothingElse(t *testing.T) {
	for _, preset := range []string{"prometheus-mini", "spread-mini"} {
		for salt := range byte(6) {
			sc := much(t, preset)
			tried := 0
			f := func(_ context.Context, c *harness.Scenario) (string, bool) {
				tried++
				text, err := harness.WriteScenario(c)
				if err != nil {
					t.Fatalf("a candidate that no file can hold: %v", err)
				}
				h := fnv.New32()
				_, _ = h.Write(append(text, salt))
				return broken, c == sc || h.Sum32()%3 == 0
			}
			res, err := shrink.Shrink(t.Context(), sc, f, shrink.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if fresh := much(t, preset); !reflect.DeepEqual(sc.Topology, fresh.Topology) || !reflect.DeepEqual(sc.Events, fresh.Events) || !reflect.DeepEqual(sc.Settings, fresh.Settings) || !reflect.DeepEqual(sc.Hardware, fresh.Hardware) {
				t.Fatalf("%s, salt %d: the scenario was written to", preset, salt)
			}
			again, err := shrink.Shrink(t.Context(), sc, f, shrink.Options{})
			if err != nil || !reflect.DeepEqual(again.Steps, res.Steps) || again.Tries != res.Tries || tried != 2*res.Tries {
				t.Fatalf("%s, salt %d: got %d steps in %d tries and then %d in %d, %d runs in all (%v)", preset, salt, len(res.Steps), res.Tries, len(again.Steps), again.Tries, tried, err)
			}
		}
	}
}

func TestAnotherFailureIsNotTaken(t *testing.T) {
	f := func(_ context.Context, sc *harness.Scenario) (string, bool) {
		if has(sc, "flap") {
			return broken, true
		}
		return "another rule", true
	}
	res := shrunk(t, much(t, "prometheus-mini"), f)
	if res.Failure != broken || len(res.Scenario.Events) != 1 || !has(res.Scenario, "flap") {
		t.Errorf("got %q and %v left, want %q and the flap", res.Failure, res.Scenario.Events, broken)
	}
}

func TestASearchThatIsStoppedGivesTheSmallestSoFar(t *testing.T) {
	always := func(_ context.Context, _ *harness.Scenario) (string, bool) { return broken, true }
	res, err := shrink.Shrink(t.Context(), much(t, "prometheus-mini"), always, shrink.Options{Tries: 5})
	if err != nil || res.Done || res.Tries != 5 || len(res.Steps) == 0 {
		t.Errorf("with 5 tries: got %+v and %v, want 5 tries, steps, and not done", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	res, err = shrink.Shrink(ctx, much(t, "prometheus-mini"), always, shrink.Options{Progress: func(s shrink.Step) {
		if s.Size.Events == 0 {
			cancel()
		}
	}})
	if err != nil || res.Done || len(res.Scenario.Events) != 0 || !strings.Contains(res.How(), "stopped before the end") {
		t.Errorf("cancelled: got %+v and %v, want no events, and not done", res, err)
	}
}

func TestWhatDoesNotFailIsNotShrunk(t *testing.T) {
	sc := much(t, "prometheus-mini")
	never := fails(func(*harness.Scenario) bool { return false })
	if _, err := shrink.Shrink(t.Context(), sc, never, shrink.Options{}); !errors.Is(err, shrink.ErrHolds) {
		t.Errorf("got error %v, want %v", err, shrink.ErrHolds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shrink.Shrink(ctx, sc, never, shrink.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

// explodes is a check that panics.
type explodes struct{}

func (explodes) Name() string           { return "explodes" }
func (explodes) Look(*state.Moment)     { panic("no") }
func (explodes) Outcome() state.Outcome { return state.Outcome{Name: "explodes"} }

func TestARunNamesWhatFails(t *testing.T) {
	small := func(rest string) *harness.Scenario {
		t.Helper()
		sc, err := harness.ReadScenario("small.yaml", []byte("topology: hub-mini\nengine: sim\n"+rest))
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	none := func(*topologies.Topology, []state.Event) []state.Check { return nil }
	degrade := "events:\n  - degrade: {bundle: r1-f2-e2--r1-bag2, members: 1}\n"
	for _, tc := range []struct {
		name, rest, want, failure string
		checks                    shrink.Checks
	}{
		{"a threshold", degrade + "thresholds: {nlri: 1, radius: 1}\n", "", "threshold: NLRI per event", none},
		{"the one that is asked for", degrade + "thresholds: {nlri: 1, radius: 1}\n", "threshold: blast radius", "threshold: blast radius", none},
		{"one that is expected", degrade + "thresholds: {nlri: 1}\nexpect-violated: [\"threshold: NLRI per event\"]\n", "", "threshold: NLRI per event", none},
		{"a check that panics", degrade, "", "explodes", func(*topologies.Topology, []state.Event) []state.Check { return []state.Check{explodes{}} }},
		{"nothing", degrade, "", "", none},
		{"an event without effect cannot be run", degrade + degrade[len("events:\n"):] + "thresholds: {nlri: 1}\n", "", "", none},
	} {
		failure, ok := shrink.Violates(tc.checks, harness.RunOptions{}, tc.want)(t.Context(), small(tc.rest))
		if failure != tc.failure || ok != (tc.failure != "") {
			t.Errorf("%s: got %q, %t, want %q", tc.name, failure, ok, tc.failure)
		}
	}
}

func TestAStoryTellsEventsAndTheViolation(t *testing.T) {
	sc, err := harness.ReadScenario("small.yaml", []byte("topology: hub-mini\nengine: sim\nthresholds: {nlri: 1}\nevents:\n  - degrade: {bundle: r1-f2-e2--r1-bag2, members: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	none := func(*topologies.Topology, []state.Event) []state.Check { return nil }
	story := shrink.Story(t.Context(), sc, none, "threshold: NLRI per event")
	if len(story) != 2 || story[0] != "0s: degrade bundle=r1-f2-e2--r1-bag2 members=1" || !strings.Contains(story[1], "want at most 1") {
		t.Errorf("got %q, want the event and the violation", story)
	}
	for range 20 {
		sc.Events = append(sc.Events, state.Event{Kind: "reset", Bundle: "r1-f2-e2--r1-bag2", Silent: true})
	}
	story = shrink.Story(t.Context(), sc, none, "threshold: NLRI per event")
	if len(story) != shrink.MaxStory || !strings.Contains(story[len(story)-1], "want at most 1") {
		t.Errorf("got %d lines %q, want %d, the violation the last", len(story), story, shrink.MaxStory)
	}
}

// always is a check that is violated whatever happens.
type always struct{}

func (always) Name() string       { return "always" }
func (always) Look(*state.Moment) {}
func (always) Outcome() state.Outcome {
	return state.Outcome{Name: "always", Exercised: 1, Violated: 1, Violations: []state.Violation{{Text: "so it is"}}}
}

func TestWhatSimDoesNotShowIsLookedForOnGoBGP(t *testing.T) {
	sc, err := harness.ReadScenario("two.yaml", []byte(`topology:
  name: net
  devices:
    - {name: s1, role: spine, region: r1, fabric: f1, kind: dsf, asn: 65001, asic: tomahawk5}
    - {name: e1, role: edge, region: r1, fabric: f1, kind: dsf, plane: 1, asn: 65002, asic: jericho3}
  bundles:
    - {a: s1, b: e1, members: 4, speed: 800G, length: 300m}
  prefixes:
    - {prefix: 10.1.0.0/24, origins: [s1]}
events:
  - degrade: {bundle: s1--e1, members: 2}
  - restore: {bundle: s1--e1}
`))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	checks := func(*topologies.Topology, []state.Event) []state.Check {
		if runs++; runs == 1 { // the one on sim
			return nil
		}
		return []state.Check{always{}}
	}
	dir := t.TempDir()
	kept, err := shrink.Keep(t.Context(), sc, checks, "", dir, harness.Sim, harness.GoBGP)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Fail.Scenario.Engine != harness.GoBGP || kept.Fail.Property != "always" || len(kept.Fail.Scenario.Events) != 0 {
		t.Errorf("got %q on %s with %v, want it on gobgp, without events", kept.Fail.Property, kept.Fail.Scenario.Engine, kept.Fail.Scenario.Events)
	}
	if paths, _, err := shrink.LoadFails(dir); err != nil || len(paths) != 1 || paths[0] != kept.Path {
		t.Errorf("got files %v and %v, want %s", paths, err, kept.Path)
	}
}

func TestWhatNoFileCanHoldIsShown(t *testing.T) {
	sc := much(t, "prometheus-mini")
	sc.Plan, sc.Damping = nil, damping.Pipeline{Name: "own", Told: []damping.ToldStage{own{damping.Pace{}}}}
	sc.Thresholds, sc.Expect, sc.Events = harness.Thresholds{NLRI: 1}, nil, sc.Events[:1]
	checks := func(*topologies.Topology, []state.Event) []state.Check { return []state.Check{&stageSeen{}} }
	kept, err := shrink.Keep(t.Context(), sc, checks, "own stage", t.TempDir(), harness.Sim)
	if !errors.Is(err, harness.ErrNoYAML) || kept == nil || kept.Path != "" || !strings.Contains(string(kept.Text), "# no file can hold it: ") || !strings.Contains(string(kept.Text), "topology: part-of-prometheus-mini") {
		t.Errorf("got %v and %+v, want ErrNoYAML and a text that shows the rest", err, kept)
	}
}

// stageSeen fails where the damping has a stage of a user's own.
type stageSeen struct{ seen int }

func (*stageSeen) Name() string { return "own stage" }

func (c *stageSeen) Look(m *state.Moment) {
	for _, stage := range m.Damping.Told {
		if _, ok := stage.(own); ok {
			c.seen++
		}
	}
}

func (c *stageSeen) Outcome() state.Outcome {
	return state.Outcome{Name: "own stage", Exercised: 1, Violated: c.seen}
}

// own is a stage of a user's own.
type own struct{ damping.Pace }
