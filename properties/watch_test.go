package properties

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// recorder is a test that writes down how it fails, and ends when it is told to.
type recorder struct {
	testing.TB
	errors []string
	last   []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.last = append(r.last, f) }
func (r *recorder) Error(args ...any) {
	r.errors = append(r.errors, fmt.Sprint(args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) end() {
	for _, f := range r.last {
		f()
	}
}

func TestCheckFailsATestForWhatHappensAfterItWasCalled(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	harm, err := damping.Preset(damping.PresetRFDCisco, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	flap := events(t, `flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 9, period: 11s}`)
	for _, tc := range []struct {
		name    string
		damping damping.Pipeline
		checks  []state.Check
		names   []string
		want    []string
	}{
		{"a rule that is broken", harm, []state.Check{NewLivePath()}, []string{LivePathName}, []string{LivePathName + ": violated"}},
		{"a rule that holds", damping.Pipeline{}, []state.Check{NewLivePath()}, []string{LivePathName}, nil},
		{"a rule that is not tested", damping.Pipeline{}, []state.Check{NewAggregates()}, []string{AggregatesName}, []string{AggregatesName + ": never exercised"}},
	} {
		rig, err := harness.Start(t.Context(), harness.Options{Topology: topology, Damping: tc.damping, Engine: harness.Sim})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{TB: t}
		Check(r, rig, tc.checks...)
		Exercised(r, rig, tc.names...)
		if _, err := rig.Play(t.Context(), flap...); err != nil {
			t.Fatal(err)
		}
		r.end()
		if len(r.errors) != len(tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, r.errors, tc.want)
			continue
		}
		for i, want := range tc.want {
			if !strings.HasPrefix(r.errors[i], want) {
				t.Errorf("%s: got %q, want %q", tc.name, r.errors[i], want)
			}
		}
		if err := rig.Close(); err != nil {
			t.Error(err)
		}
	}
}
