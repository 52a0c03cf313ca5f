package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

func TestACancelledStartLeavesNothing(t *testing.T) {
	e := newEngine(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	e.opts.Progress = func(stage string, done, _ int) {
		if stage == "dial" && done == 3 {
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
	err := fitFiles(5793, 1024, 416, 1328)
	for _, want := range []string{"5793", "1024", "416 speakers", "1328 sessions"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := fitFiles(1000, 1024, 1, 1); err != nil {
		t.Error(err)
	}
}

func TestTwoBlocksAreNeverTheSame(t *testing.T) {
	a, err := takeBlock(DefaultPort)
	must(t, err)
	b, err := takeBlock(DefaultPort)
	must(t, err)
	if a.second == b.second {
		t.Errorf("both took 127.%d.0.0/16", a.second)
	}
	first := a.second
	must(t, a.release())
	c, err := takeBlock(DefaultPort)
	must(t, err)
	if c.second != first {
		t.Errorf("after a release: got 127.%d.0.0/16, want 127.%d.0.0/16 again", c.second, first)
	}
	must(t, b.release())
	must(t, c.release())
}
