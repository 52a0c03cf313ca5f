package sweep

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
)

func axes(t *testing.T, texts ...string) (list []Axis) {
	t.Helper()
	for _, text := range texts {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// point reads a point of a plan as a run would.
func point(t *testing.T, p Point) *harness.Scenario {
	t.Helper()
	sc, err := harness.ReadScenario(filepath.Join(t.TempDir(), "point.yaml"), p.Source)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Source)
	}
	return sc
}

func TestAPointDiffersFromTheScenarioInItsParametersAndTimesOnly(t *testing.T) {
	plan, err := New("first-light", Options{Axes: axes(t, "holddown.time=1s,5m", "quantize.error=30%")})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Points) != 2 || plan.Gap != 5*time.Minute+time.Second {
		t.Fatalf("got %d points and a gap of %v, want 2 and a second more than the slowest needs", len(plan.Points), plan.Gap)
	}
	got, want := point(t, plan.Points[0]), plan.Scenario
	if got.Name != want.Name || got.Seed != want.Seed || got.Thresholds != want.Thresholds || got.Topology.Summary() != want.Topology.Summary() {
		t.Errorf("got %q, seed %d, %s", got.Name, got.Seed, got.Topology.Summary())
	}
	if stages := got.Damping.String(); !strings.Contains(stages, "1s") || !strings.Contains(stages, "error 30% up") {
		t.Errorf("got %s, want a hold-down of 1s and an error of 30%%", stages)
	}
	for i, e := range got.Events {
		at := e.At
		e.At = 0
		if d := cmp.Diff(e.String(), want.Events[i].String()); d != "" {
			t.Errorf("event %d: %s", i+1, d)
		}
		if i > 0 && at < got.Events[i-1].At+plan.Gap {
			t.Errorf("event %d: got time %v, want %v after the one before or later", i+1, at, plan.Gap)
		}
	}
	if flap := got.Events[13].At - got.Events[12].At; flap != 195*time.Second+plan.Gap {
		t.Errorf("after 20 flaps of 10s: got %v, want the gap after the last change, at 195s", flap)
	}
}

func TestAScenariosOwnTimesAndFilesStay(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "s.csv"), []byte("time,members\n0s,24\n10s,32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "own.yaml")
	source := `topology: prometheus-mini
damping: {bundle: [holddown, deadband: {skip: 1}], told: []}
speakers: {devices: {r1-bag1: {transitivity: both}}}
events:
  - replay: {bundle: r1-bag1--r2-bag1, file: s.csv, at: 5s}
  - degrade: {bundle: r1-bag2--r2-bag2, members: 24, at: 7s}
`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := New(file, Options{Axes: axes(t, "holddown.time=1s", "deadband.skip=2,3")})
	if err != nil {
		t.Fatal(err)
	}
	got := point(t, plan.Points[1])
	if plan.Gap != 0 || got.Events[0].At != 5*time.Second || got.Events[1].At != 7*time.Second {
		t.Errorf("got gap %v, times %v and %v, want those of the file", plan.Gap, got.Events[0].At, got.Events[1].At)
	}
	want := []damping.BundleStage{damping.HoldDown{T: time.Second}, damping.Deadband{Skip: 3, Every: 1}}
	if d := cmp.Diff(got.Damping.Bundle, want); d != "" || got.Name != "own" {
		t.Errorf("got scenario %q: -got +want\n%s", got.Name, d)
	}
	if _, err := New(file, Options{Axes: axes(t, "holddown.time=1s"), Gap: time.Hour}); err == nil || !strings.Contains(err.Error(), "times of their own") {
		t.Errorf("a gap: got %v", err)
	}
}

func TestWhatCannotBeRunIsNamedWithKeyAndValue(t *testing.T) {
	for name, c := range map[string]struct {
		scenario, pipeline string
		vary               []string
		want               []string
	}{
		"no such scenario":  {"first-dark", "", []string{"holddown.time=1s"}, []string{`scenario "first-dark"`}},
		"no such preset":    {"first-light", "bag", []string{"holddown.time=1s"}, []string{`pipeline "bag"`, "bag-default"}},
		"nothing to vary":   {"first-light", "", nil, []string{"nothing to vary"}},
		"no such stage":     {"first-light", "", []string{"holdup.time=1s"}, []string{"holdup.time=1s", `stage "holdup": the damping has holddown, quantize`}},
		"not in the preset": {"first-light", "openconfig", []string{"quantize.error=1%"}, []string{"quantize.error=1%", "the damping has holddown"}},
		"no stages":         {"first-light", "none", []string{"quantize.error=1%"}, []string{"no stages"}},
		"no such parameter": {"first-light", "", []string{"holddown.t=1s"}, []string{"holddown.t=1s", "unknown field", `"t"`, "time, max, forget"}},
		"a bad value":       {"first-light", "", []string{"quantize.error=1%,7"}, []string{"quantize.error=7", "quantize", "7"}},
		"not a value":       {"first-light", "", []string{"holddown.time=soon"}, []string{"holddown.time=soon", `"soon"`, "want a time such as 30s"}},
		"of two that clash": {"flap-day", "", []string{"holddown.time=30s,20m"}, []string{"holddown.time=20m"}},
		"has a memory":      {"first-light", "rfd-cisco", []string{"penalty.reuse=1"}, []string{"penalty.reuse=1", "penalty"}},
		"stated settle":     {"flap-day", "", []string{"holddown.max=9m"}, []string{"holddown.max=9m", "settle"}},
	} {
		_, err := New(c.scenario, Options{Axes: axes(t, c.vary...), Pipeline: c.pipeline})
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %q in it", name, err, w)
			}
		}
	}
}

func TestEveryPresetThatAScenarioMayHaveCanBeSpelledOut(t *testing.T) {
	for preset, vary := range map[string]string{
		damping.PresetBagDefault: "holddown.time=30s", damping.PresetOpenConfig: "holddown.time=30s", damping.PresetBGPPP: "quantize.error=10%",
	} {
		plan, err := New("first-light", Options{Axes: axes(t, vary), Pipeline: preset})
		if err != nil {
			t.Errorf("%s: %v", preset, err)
			continue
		}
		want, err := damping.PresetFor(preset, damping.Sizes{Step: plan.Scenario.Topology.SmallestSpeed()})
		if got := point(t, plan.Points[0]).Damping.String(); err != nil || got != want.String() {
			t.Errorf("%s: varied to what it is: got %s, %v, want %s", preset, got, err, want)
		}
	}
}

func TestEveryEmbeddedScenarioCanBeSwept(t *testing.T) {
	for _, name := range harness.Scenarios() {
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := New(name, Options{Axes: axes(t, "holddown.time=5s"), Pipeline: damping.PresetOpenConfig})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := point(t, plan.Points[0]); len(got.Events) != len(sc.Events) || !reflect.DeepEqual(got.Topology, sc.Topology) || !reflect.DeepEqual(got.Settings, sc.Settings) {
			t.Errorf("%s: got another topology, other settings or %d events, want those of the scenario and %d", name, len(got.Events), len(sc.Events))
		}
	}
}
