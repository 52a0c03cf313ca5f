package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is one fabric of two planes and two spines in each of two regions.
func small(t *testing.T) *topologies.Topology {
	t.Helper()
	topology, err := topologies.Generate(topologies.Shape{
		Name: "small", Regions: 2, Planes: 2, Fabrics: 1, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge:  topologies.Link{Members: 4, Length: 300},
		EdgeBag:    topologies.Link{Members: 4, Length: 3000},
		BagBag:     topologies.Link{Members: 4, Length: 80000},
		SpineUnits: 1, EdgeUnits: 1, BagUnits: 1, ASN: topologies.PerGroup,
	})
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func newEngine(t *testing.T, change func(*Options)) *Engine {
	t.Helper()
	topology := small(t)
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Topology: topology, Damping: pipeline}
	if change != nil {
		change(&opts)
	}
	e, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// bring starts the engine and lets it originate and be quiet.
func bring(t *testing.T, e *Engine) {
	t.Helper()
	must(t, e.Start(context.Background()))
	must(t, e.Originate())
	must(t, e.Quiet(context.Background()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryEntryIsToldOnce(t *testing.T) {
	e := newEngine(t, nil)
	bring(t, e)
	entries := 0
	for _, d := range e.Snapshot().Devices {
		for _, r := range d.Routes {
			entries += len(r.Candidates)
		}
	}
	c := e.Counters()
	if entries == 0 || c.Announced != entries || c.Withdrawn != 0 || c.Updates != entries {
		t.Errorf("counters: got %+v, want %d announced in as many UPDATEs", c, entries)
	}
}

func TestSpreadingIsReportedUntilAllEntriesHaveCome(t *testing.T) {
	e := newEngine(t, func(o *Options) { o.Entries = 7 })
	var seen []int
	e.opts.Progress = func(stage string, done, total int) {
		if stage == StageSpread {
			seen = append(seen, done)
			if total != 7 {
				t.Errorf("total: got %d, want 7 as the options say", total)
			}
		}
	}
	bring(t, e)
	if n := len(seen); n < 3 || !slices.IsSorted(seen) || seen[0] != 0 || seen[n-1] != e.Counters().Announced {
		t.Errorf("got %v, want numbers that rise from 0 to %d", seen, e.Counters().Announced)
	}
}

func TestASecondEngineInTheProcessIsRefused(t *testing.T) {
	e := newEngine(t, nil)
	if _, err := New(e.opts); !errors.Is(err, ErrRunning) {
		t.Errorf("second engine: got %v, want %v", err, ErrRunning)
	}
	must(t, e.Close())
	again, err := New(e.opts)
	must(t, err)
	must(t, again.Close())
}

func TestASecondCloseLeavesAnotherEngineAlone(t *testing.T) {
	first := newEngine(t, nil)
	must(t, first.Close())
	second := newEngine(t, nil)
	must(t, first.Close())
	if _, err := New(second.opts); !errors.Is(err, ErrRunning) {
		t.Errorf("third engine while the second runs: got %v, want %v", err, ErrRunning)
	}
}

// Right after AddPeer a speaker closes what comes in, so both ends must be
// ACTIVE before they are dialled, and then one connection is enough.
func TestSessionsAreDialledOnceAndNotBeforeBothEndsAreActive(t *testing.T) {
	ctx := context.Background()
	e := newEngine(t, nil)
	early := 0
	e.opts.Progress = func(stage string, _, total int) {
		if stage != StageDial || total > 1 {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.peers[0] != api.PeerState_ACTIVE || e.peers[1] != api.PeerState_ACTIVE {
			early++
		}
	}
	bring(t, e)
	for range 20 {
		must(t, e.Apply(ctx, []state.Change{{Kind: state.Reset, Bundle: 0}}))
	}
	must(t, e.Quiet(ctx))
	e.mu.Lock()
	defer e.mu.Unlock()
	if early > 0 {
		t.Errorf("dials before both ends were ACTIVE: got %d of 20, want 0", early)
	}
	if got, want := e.dials.owing, 2*len(e.topology.Bundles); got != want || e.dials.redials != 0 {
		t.Errorf("connections: got %d and %d redials, want %d and 0", got, e.dials.redials, want)
	}
}

func TestDialsStandUntilTheyFall(t *testing.T) {
	d := newDials(2)
	d.fall(0) // a new peer
	d.dial(0)
	d.dial(0) // again, after the speaker had closed it
	d.dial(1)
	if d.owing != 2 || d.redials != 1 {
		t.Errorf("dialled: got %+v, want 2 owing, 1 redial", d)
	}
	d.fall(0)
	d.fall(0)
	if d.owing != 1 || !d.standing[1] {
		t.Errorf("one fell: got %+v, want 1 owing", d)
	}
}

func TestASessionThatDiesUnaskedEndsTheRunByName(t *testing.T) {
	e := newEngine(t, nil)
	bring(t, e)
	d := e.index.Device["r1-bag1"]
	must(t, e.speakers[d].DeletePeer(context.Background(), int32(e.index.Of[d][0])))
	err := e.wait(context.Background(), func() bool { return false }, func() string { return "" })
	if !errors.Is(err, ErrSessionDied) || !strings.Contains(err.Error(), `"r1-bag1"`) || !strings.Contains(err.Error(), "NOTIFICATION") {
		t.Errorf("got %v, want %v with the speaker's name and its NOTIFICATION", err, ErrSessionDied)
	}
	if err := e.Quiet(context.Background()); !errors.Is(err, ErrSessionDied) {
		t.Errorf("quiet afterwards: got %v, want the same error", err)
	}
}

func TestAStandstillNamesWhoIsStillOwed(t *testing.T) {
	e := newEngine(t, func(o *Options) { o.Budget = 50 * time.Millisecond })
	bring(t, e)
	d := e.index.Device["r2-f1-e2"]
	e.mu.Lock()
	e.tracker.expect(e.sent(int32(e.index.Of[d][0]), d), 1<<30)
	e.mu.Unlock()
	err := e.Quiet(context.Background())
	if !errors.Is(err, ErrNoConvergence) || !strings.Contains(err.Error(), "r2-f1-e2") {
		t.Errorf("got %v, want %v naming r2-f1-e2", err, ErrNoConvergence)
	}
}

// News crosses the small network in more rounds than one, so what this limit
// calls an oscillation is on its way still.
func TestTooManyRoundsNameWhoStepped(t *testing.T) {
	e := newEngine(t, nil)
	bring(t, e)
	must(t, e.Apply(context.Background(), []state.Change{{Bundle: int32(e.index.Bundle["r1-bag1--r2-bag1"]), Members: 1}}))
	e.most = 1
	err := e.Quiet(context.Background())
	want := "no-convergence: not quiet after 1 rounds: still talking: r1-bag1, r2-bag1"
	if !errors.Is(err, ErrNoConvergence) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	e.most = maxRounds
	must(t, e.Quiet(context.Background()))
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	e := newEngine(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	e.opts.Progress = func(stage string, done, _ int) {
		if stage == StageDial && done == 3 {
			cancel()
		}
	}
	if err := e.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("start: got %v, want %v", err, context.Canceled)
	}
}

func TestASessionComesBackInANewGeneration(t *testing.T) {
	ctx := context.Background()
	e := newEngine(t, nil)
	bring(t, e)
	e.Record(true)
	before := e.Snapshot()
	bundle := int32(e.index.Bundle["r1-f1-e1--r1-bag1"])
	for range 3 {
		must(t, e.Apply(ctx, []state.Change{{Bundle: bundle, Members: 0}}))
		must(t, e.Quiet(ctx))
		if s := e.Snapshot().Bundles[bundle]; s.Up || s.Capacity != 0 {
			t.Fatalf("down: got %+v", s)
		}
		must(t, e.Apply(ctx, []state.Change{{Bundle: bundle, Members: 4}}))
		must(t, e.Quiet(ctx))
		if s := e.Snapshot().Bundles[bundle]; !s.Up || !s.Trial {
			t.Fatalf("up: got %+v, want up and on trial", s)
		}
		e.Advance(e.Next())
		must(t, e.Quiet(ctx))
	}
	after := e.Snapshot()
	for d := range after.Devices {
		for p := range after.Devices[d].Routes {
			got, want := after.Devices[d].Routes[p], before.Devices[d].Routes[p]
			if len(got.Candidates) != len(want.Candidates) || !got.Told.SameValue(want.Told) {
				t.Errorf("device %d prefix %d: got %+v, want %+v", d, p, got, want)
			}
		}
	}
	dumped := 0
	for _, n := range e.TakeLog() {
		if n.Dump && n.Dir.Bundle == bundle {
			dumped++
		}
		if n.Dump && n.Dir.Bundle != bundle {
			t.Fatalf("dump on a session that never fell: %+v", n)
		}
	}
	if dumped == 0 {
		t.Error("three new generations, and no dump in the log")
	}
}

func TestParallelBundlesHaveAddressesOfTheirOwn(t *testing.T) {
	e := newEngine(t, func(o *Options) {
		b := o.Topology.Bundles[0]
		b.Name += "#2"
		o.Topology.Bundles = append(o.Topology.Bundles, b)
	})
	bring(t, e)
	last := e.plan.session[len(e.plan.session)-1]
	if last == e.plan.session[0] {
		t.Errorf("addresses of the second bundle: got %v, the same as the first's", last)
	}
	if s := e.Snapshot().Bundles[len(e.plan.session)-1]; !s.Up {
		t.Errorf("second bundle: got %+v, want up", s)
	}
}

func TestAPanicInOurGoroutineIsAnError(t *testing.T) {
	err := parallel(3, func(i int) error {
		if i == 1 {
			panic("boom")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "panic: boom") {
		t.Errorf("got %v, want the panic as an error", err)
	}
}

func TestTooFewDescriptorsAreRefusedWithBothNumbers(t *testing.T) {
	err := FitDescriptors(5793, 1024, 416, 1328)
	for _, want := range []string{"5793", "1024", "416 speakers", "1328 sessions"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	for _, c := range []struct {
		need, have uint64
		fits       bool
	}{{1024, 1024, true}, {1025, 1024, false}, {0, 0, true}} {
		if err := FitDescriptors(c.need, c.have, 1, 1); (err == nil) != c.fits {
			t.Errorf("need %d, have %d: got %v, want it to fit: %v", c.need, c.have, err, c.fits)
		}
	}
}
