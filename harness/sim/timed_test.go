package sim

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// decisions notes after each decision the time of it.
func decisions(e *Engine) *[]time.Duration {
	var at []time.Duration
	from := e.now
	e.OnRound(func() { at = append(at, e.now-from) })
	return &at
}

func TestNewsTakesTheLengthsTheProcessingAndTheBatchesOnItsWay(t *testing.T) {
	net := network(t, []string{"s1 e1 2000", "e1 b1 80000", "e3 b1 80000", "s3 e3 300"}, "10.0.0.0/24 s1")
	const ms, us = time.Millisecond, time.Microsecond
	for _, c := range []struct {
		batch, processing time.Duration
		want              []time.Duration // e1 and s1 at once; b1, e3, s3
	}{
		{0, 0, []time.Duration{0, 0, 400 * us, 800 * us, 801500 * time.Nanosecond}},
		{0, 100 * us, []time.Duration{0, 0, 500 * us, 1000 * us, 1101500 * time.Nanosecond}},
		{200 * ms, 0, []time.Duration{200 * ms, 200 * ms, 400*ms + 400*us, 600*ms + 800*us, 800*ms + 801500*time.Nanosecond}},
	} {
		e := settled(t, Options{Topology: net, Settings: batches(net, c.batch), Schedule: Schedule{Mode: Timed, Processing: c.processing}})
		at := decisions(e)
		apply(t, e, members(e, "s1--e1", 2))
		settle(t, e)
		if !slices.Equal(*at, c.want) {
			t.Errorf("batch %v, processing %v: got decisions at %v, want %v", c.batch, c.processing, *at, c.want)
		}
	}
}

// Two edges tell the bag within one batch, so it decides once; with a batch of
// nothing it decides twice.
func TestABatchTakesAllThatComesWithinIt(t *testing.T) {
	net := network(t, []string{"s1 e1 300", "s2 e2 300", "e1 b1 1000", "e2 b1 20000"}, "10.0.0.0/24 s1", "10.0.1.0/24 s2")
	for batch, want := range map[time.Duration]int{0: 2, 200 * time.Millisecond: 1} {
		e := settled(t, Options{Topology: net, Settings: batches(net, batch), Schedule: Schedule{Mode: Timed}})
		n := 0
		b1 := e.devices[deviceOf(e, "b1")].core
		was := [2]uint64{b1.Decision(0).Bottleneck, b1.Decision(1).Bottleneck}
		e.OnRound(func() {
			if now := [2]uint64{b1.Decision(0).Bottleneck, b1.Decision(1).Bottleneck}; now != was {
				was = now
				n++
			}
		})
		apply(t, e, members(e, "s1--e1", 2), members(e, "s2--e2", 2))
		settle(t, e)
		if n != want {
			t.Errorf("batch %v: b1 decided %d times, want %d", batch, n, want)
		}
	}
}

// arrivals are the messages of a direction in the order in which they are heard,
// with their times.
func arrivals(e *Engine, run func()) (order map[int32][]int32, at map[int32][]time.Duration) {
	order, at = map[int32][]int32{}, map[int32][]time.Duration{}
	s := e.schedule.(*timed)
	e.OnRound(func() {
		s.waiting(func(m *message, in time.Duration) {
			if n := len(at[m.dir]); !m.end && (n == 0 || e.now+in > at[m.dir][n-1] || !slices.Contains(order[m.dir], m.prefix)) {
				order[m.dir], at[m.dir] = append(order[m.dir], m.prefix), append(at[m.dir], e.now+in)
			}
		})
	})
	run()
	return order, at
}

func TestJitterNeverLetsAMessageOvertakeAnotherOfItsSessionAndRepeatsBySeed(t *testing.T) {
	var prefixes []string
	for _, p := range []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.4.0/24"} {
		prefixes = append(prefixes, p+" s1")
	}
	net := network(t, []string{"s1 e1 300", "e1 b1 1000"}, prefixes...)
	run := func(seed uint64) map[int32][]time.Duration {
		e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed, Seed: seed, Jitter: 10 * time.Millisecond}})
		apply(t, e, state.Change{Kind: state.Reset, Bundle: bundleOf(e, "s1--e1")})
		order, at := arrivals(e, func() { settle(t, e) })
		for dir, list := range order {
			if !slices.IsSorted(list[:min(len(list), 5)]) || !slices.IsSorted(at[dir]) {
				t.Errorf("seed %d: direction %d: got prefixes %v at %v, want the order in which they were told", seed, dir, list, at[dir])
			}
		}
		if len(at) == 0 {
			t.Fatal("nothing was on its way")
		}
		return at
	}
	if a, b := run(1), run(1); !reflect.DeepEqual(a, b) {
		t.Errorf("one seed: got %v, then %v", a, b)
	}
	if a, b := run(1), run(2); reflect.DeepEqual(a, b) {
		t.Errorf("two seeds: got the same arrivals %v", a)
	}
}

func TestASessionThatFallsLosesWhatIsOnItsWay(t *testing.T) {
	net := network(t, []string{"s1 e1 300", "e1 b1 80000"}, "10.0.0.0/24 s1")
	e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed}})
	at := e.now
	apply(t, e, members(e, "s1--e1", 2))
	e.Until(at + 100*time.Microsecond) // e1 has decided; its message is 300 us away from b1
	if err := e.Quiet(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !e.Busy() || e.now > at+100*time.Microsecond {
		t.Fatalf("at %v: got busy %t, want a message on its way", e.now-at, e.Busy())
	}
	e.Advance(at + 100*time.Microsecond)
	e.Until(damping.Never)
	apply(t, e, members(e, "e1--b1", 0))
	b1 := e.devices[deviceOf(e, "b1")].core
	settle(t, e)
	if got := b1.Decision(0); got.Told.Present || len(got.Hops) > 0 {
		t.Errorf("b1 uses %+v: it came over a session that had fallen", got)
	}
	if e.Busy() || e.now != at+100*time.Microsecond {
		t.Errorf("quiet at %v, busy %t: want nothing waited for", e.now-at, e.Busy())
	}
}

// A hold-down of 1 ms ends while news is on its way for 400 us a hop: the core is
// stepped then, and not when the network is quiet.
func TestATimerBetweenTwoMessagesIsHeardInTime(t *testing.T) {
	net := network(t, []string{"s1 e1 300", "e1 b1 80000", "e3 b1 80000", "s3 e3 80000"}, "10.0.0.0/24 s1")
	pipeline := damping.Pipeline{Name: "hold", Bundle: []damping.BundleStage{damping.HoldDown{T: time.Millisecond}}}
	e := settled(t, Options{Topology: net, Damping: pipeline, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed}})
	apply(t, e, members(e, "s1--e1", 2))
	settle(t, e)
	at := decisions(e)
	from := e.now
	apply(t, e, members(e, "s1--e1", 4), members(e, "e1--b1", 2))
	settle(t, e)
	if !slices.Contains(*at, time.Millisecond) {
		t.Errorf("got decisions at %v, want one at 1ms", *at)
	}
	if !slices.IsSorted(*at) || e.now <= from {
		t.Errorf("got decisions at %v, want them in order", *at)
	}
}

// A speaker that restarts hears End-of-RIB behind all that its neighbours tell, so
// it does not decide before; and while it is away it does not touch its hardware.
func TestARestartWaitsForAllThatItsNeighboursTell(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	for _, mode := range Modes() {
		e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: mode, Seed: 3}})
		w := e.Watch()
		b1 := deviceOf(e, "b1")
		apply(t, e, state.Change{Kind: state.Stop, Device: b1})
		if err := e.Quiet(context.Background()); err != nil {
			t.Fatal(err)
		}
		e.Advance(e.now + time.Second)
		apply(t, e, state.Change{Kind: state.StartAgain, Device: b1})
		if err := e.Quiet(context.Background()); err != nil {
			t.Fatal(err)
		}
		if e.devices[b1].core.Restarting() {
			t.Errorf("%s: b1 still waits, want it to have heard all", mode)
		}
		_, n := w.Instants()
		if got := w.List(); len(got) > 0 || n != (Instants{}) {
			t.Errorf("%s: got %q and %+v, want a restart that loses nothing", mode, texts(e, got, 0), n)
		}
	}
}

func TestUntilNothingHappensAtItsTimeOrLater(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	run := func(stops ...time.Duration) (*state.Snapshot, []time.Duration) {
		e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed}})
		from, at := e.now, decisions(e)
		apply(t, e, members(e, "s1--e1", 2))
		for _, stop := range stops {
			e.Until(from + stop)
			if err := e.Quiet(context.Background()); err != nil {
				t.Fatal(err)
			}
			if e.now >= from+stop {
				t.Errorf("until %v: got on to %v", stop, e.now-from)
			}
			e.Advance(from + stop)
		}
		e.Until(damping.Never)
		settle(t, e)
		return e.Snapshot(), *at
	}
	whole, at := run()
	parts, partsAt := run(100*time.Microsecond, 400*time.Microsecond, 900*time.Microsecond)
	if !reflect.DeepEqual(whole, parts) || !slices.Equal(at, partsAt) {
		t.Errorf("in parts: got decisions at %v, want %v, and the same end", partsAt, at)
	}
}
