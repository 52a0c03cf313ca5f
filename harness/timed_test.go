package harness

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// noted keeps the changes that a run records, with their times.
type noted struct{ changes []state.Record }

func (*noted) Progress(string, int, int) {}
func (n *noted) Record(r state.Record) {
	if r.Kind == "change" {
		n.changes = append(n.changes, r)
	}
}

// timedRun plays events on prometheus-mini with delays and batches.
func timedRun(t *testing.T, yaml string, checks ...state.Check) (*state.Result, *noted) {
	t.Helper()
	seen := &noted{}
	res, err := Run(context.Background(), read(t, "topology: prometheus-mini\ndamping: none\nengine: sim\n"+yaml), RunOptions{
		Observer: seen, Checks: checks, Schedule: sim.Schedule{Mode: sim.Timed, Processing: sim.DefaultProcessing},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res, seen
}

// News of a change takes more than 600 ms, so every half period of 100 ms falls into
// a network that is not quiet.
func TestChangesAreMadeInTimeWhileANetworkGetsQuiet(t *testing.T) {
	res, seen := timedRun(t, "events:\n  - flap: {bundle: r1-bag1--r2-bag1, members: 16, count: 3, period: 200ms}\n  - restore: {all: true, silent: true}\n")
	var at []time.Duration
	for _, c := range seen.changes {
		at = append(at, c.Virtual)
	}
	const ms = time.Millisecond
	if want := []time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms, 500 * ms}; !slices.Equal(at, want) {
		t.Errorf("got changes at %v, want %v", at, want)
	}
	if row := res.Rows[0]; row.Settled < 500*ms || row.Settled > 2*time.Second {
		t.Errorf("got settled after %v, want soon after the last change", row.Settled)
	}
}

func TestAnEventWithATimeStartsThenAlsoWhereTheOneBeforeIsNotSettled(t *testing.T) {
	res, _ := timedRun(t, "events:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 16, at: 1s}\n  - degrade: {bundle: r1-bag2--r2-bag2, members: 16, at: 1050ms}\n")
	if got := res.Rows[1].Start; got != 1050*time.Millisecond {
		t.Errorf("got the second event at %v, want 1.05s", got)
	}
	if len(res.Windows) != 1 {
		t.Errorf("got %d windows, want one: the first was not settled", len(res.Windows))
	}
}

// What is lost unseen is lost from the failure until its ends notice, wherever the
// network is with other news.
func TestWhatIsLostUnseenLastsFromTheFailureToItsDetection(t *testing.T) {
	res, _ := timedRun(t, `events:
  - degrade: {bundle: r1-bag2--r2-bag2, members: 16, at: 1s}
  - down: {bundle: r1-bag1--r2-bag1, detect: bfd 150ms, at: 1050ms}
`)
	if res.Lost == nil || len(res.Lost.Bundles) != 1 {
		t.Fatalf("got %+v, want one bundle", res.Lost)
	}
	got := res.Lost.Bundles[0]
	if got.From != 1050*time.Millisecond || got.Until != 1200*time.Millisecond || got.Lasts {
		t.Errorf("got [%v, %v), want [1.05s, 1.2s)", got.From, got.Until)
	}
}

// The same events end in the same network, whether messages take time or not, and
// only where they do anything is told wrong for a while.
func TestTimedEndsWhereRoundsEnd(t *testing.T) {
	const yaml = "events:\n  - flap: {bundle: r1-bag1--r2-bag1, members: 16, count: 2, period: 300ms}\n  - down: {bundle: r1-f1-e1--r1-bag1}\n"
	var last [2]*state.Snapshot
	keep := func(i int) state.Check {
		return &stub{look: func(m *state.Moment) { last[i] = m.Snapshot }}
	}
	timed, _ := timedRun(t, yaml, keep(0))
	rounds, err := Run(context.Background(), read(t, "topology: prometheus-mini\ndamping: none\nengine: sim\n"+yaml), RunOptions{Checks: []state.Check{keep(1)}})
	if err != nil {
		t.Fatal(err)
	}
	for d := range last[0].Devices {
		for p := range last[0].Devices[d].Routes {
			a, b := last[0].Devices[d].Routes[p], last[1].Devices[d].Routes[p]
			a.FIB, b.FIB = state.Route{}.FIB, state.Route{}.FIB
			if diff := cmp.Diff(a, b, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
				t.Fatalf("device %d, prefix %d (-timed +rounds):\n%s", d, p, diff)
			}
		}
	}
	if timed.MisTold.Over <= rounds.MisTold.Over {
		t.Errorf("told beyond what is true: got %v with delays and %v without, want more", timed.MisTold.Over, rounds.MisTold.Over)
	}
}
