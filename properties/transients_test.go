package properties_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
)

// What docs/transients.md says of a bundle between regions that goes down: the bag's
// hole lasts two batches, 3 km and the processing, 400.115 ms.
func TestATransientLongerThanTheLimitViolates(t *testing.T) {
	for _, c := range []struct {
		schedule string
		limit    time.Duration
		want     state.Outcome
	}{
		{sim.Timed, 400 * time.Millisecond, state.Outcome{Exercised: 1, Worst: 400.115, Violated: 26}},
		{sim.Timed, 401 * time.Millisecond, state.Outcome{Exercised: 1, Worst: 400.115}},
		{sim.Rounds, 0, state.Outcome{}}, // messages take no time: never exercised
	} {
		sc, err := harness.ReadScenario("down.yaml", []byte("topology: prometheus-mini\ndamping: none\nengine: sim\nevents:\n  - down: {bundle: r1-bag1--r2-bag1}\n"))
		if err != nil {
			t.Fatal(err)
		}
		check := properties.NewTransients(c.limit)
		_, err = harness.Run(context.Background(), sc, harness.RunOptions{
			Checks: []state.Check{check}, Schedule: sim.Schedule{Mode: c.schedule, Processing: sim.DefaultProcessing},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := check.Outcome()
		if got.Exercised != c.want.Exercised || got.Worst != c.want.Worst || got.Violated != c.want.Violated {
			t.Errorf("%s, limit %v: got %+v, want %+v", c.schedule, c.limit, got, c.want)
		}
		for _, v := range got.Violations {
			if !strings.Contains(v.Text, "black hole at r") || !strings.Contains(v.Text, "[0s, 400.115ms)") {
				t.Errorf("got %q, want the place and the interval", v.Text)
			}
		}
	}
}

// All rules but those about rounds hold where messages take time, too.
func TestRulesHoldWhereMessagesTakeTime(t *testing.T) {
	sc, err := harness.ReadScenario("timed.yaml", []byte(`topology: prometheus-mini
engine: sim
events:
  - degrade: {bundle: r1-bag1--r2-bag1, members: 16}
  - flap: {bundle: r1-bag2--r2-bag2, members: 16, count: 3, period: 300ms}
  - down: {bundle: r1-f1-e1--r1-bag1, detect: bfd 150ms}
  - restart: {device: r1-bag3, takes: 5s}
  - reset: {bundle: r1-f2-e2--r1-bag2, silent: true}
  - restore: {all: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		res, err := harness.Run(context.Background(), sc, harness.RunOptions{
			Checks:   properties.For(sc.Topology, sc.Events),
			Schedule: sim.Schedule{Mode: sim.Timed, Processing: sim.DefaultProcessing, Jitter: time.Duration(seed) * time.Millisecond, Seed: seed},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Outcomes {
			if o.Violated > 0 {
				t.Errorf("seed %d: %s: %d violations, the first: %+v", seed, o.Name, o.Violated, o.Violations[0])
			}
		}
	}
}
