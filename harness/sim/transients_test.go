package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// s1 originates; s3 reaches it over e1, b1 and e3, every bundle 80 km: 400 us.
var chain = []string{"s1 e1 80000", "e1 b1 80000", "s3 e3 80000", "e3 b1 80000"}

func TestTrafficIsLostUntilTheWithdrawalHasGoneItsLength(t *testing.T) {
	for _, c := range []struct {
		batch, processing time.Duration
		want              []string
	}{
		// e1 knows at once and decides after its batch; each further hop adds
		// 400 us and its own batch. Until a device has heard, it sends on.
		{0, 0, []string{
			"black hole at e1 [0s, 400µs) of b1 s3 e3",
			"black hole at b1 [400µs, 800µs) of s3 e3",
			"black hole at e3 [800µs, 1.2ms) of s3",
		}},
		{200 * time.Millisecond, 100 * time.Microsecond, []string{
			"black hole at e1 [0s, 400.5ms) of e1 b1 s3 e3",
			"black hole at b1 [400.5ms, 601ms) of s3 e3",
			"black hole at e3 [601ms, 801.5ms) of s3",
		}},
	} {
		net := network(t, chain, "10.0.0.0/24 s1")
		e := settled(t, Options{Topology: net, Settings: batches(net, c.batch), Schedule: Schedule{Mode: Timed, Processing: c.processing}})
		w := e.Watch()
		from := e.Now()
		apply(t, e, members(e, "s1--e1", 0))
		settle(t, e)
		if got := texts(e, w.List(), from); !slices.Equal(got, c.want) {
			t.Errorf("batch %v:\ngot  %q\nwant %q", c.batch, got, c.want)
		}
	}
}

// Two bags hear the prefix over e1 alone; e3 uses both. When e1--b1 falls, b1 has
// nothing left, since b2 tells it nothing (valley-free), and e3 stops sending to it
// when the withdrawal has come.
func TestOnlyWhatStillSendsToTheLostWayLoses(t *testing.T) {
	net := network(t, []string{"s1 e1 1000", "e1 b1 80000", "e1 b2 80000", "s3 e3 1000", "e3 b1 80000", "e3 b2 80000"}, "10.0.0.0/24 s1")
	e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed}})
	w := e.Watch()
	from := e.Now()
	apply(t, e, members(e, "e1--b1", 0))
	settle(t, e)
	want := []string{"black hole at b1 [0s, 400µs) of s3 e3"}
	if got := texts(e, w.List(), from); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	apply(t, e, members(e, "e1--b1", 4))
	w.Forget()
	settle(t, e)
	if got := texts(e, w.List(), from); len(got) != 0 {
		t.Errorf("up: got %q, want none: the way is told when it is there", got)
	}
}

func TestADrainLosesNothingWhereForwardingLingersForTheFarthestNews(t *testing.T) {
	bundles := []string{"s1 e1 1000", "e1 b1 80000", "e1 b2 80000", "s3 e3 1000", "e3 b1 80000", "e3 b2 80000"}
	for linger, want := range map[time.Duration][]string{
		// b1 withdraws after its batch; e3 hears 400 us later and decides 200 ms
		// after that. b1 has ended forwarding linger after it withdrew.
		100 * time.Millisecond: {"black hole at b1 [300ms, 400.4ms) of s3 e3"},
		200 * time.Millisecond: {"black hole at b1 [400ms, 400.4ms) of s3 e3"},
		201 * time.Millisecond: nil,
	} {
		net := network(t, bundles, "10.0.0.0/24 s1")
		settings := batches(net, 200*time.Millisecond)
		for i := range settings {
			settings[i].Linger = linger
		}
		e := settled(t, Options{Topology: net, Settings: settings, Schedule: Schedule{Mode: Timed}})
		w := e.Watch()
		from := e.Now()
		apply(t, e, state.Change{Kind: state.SetDrain, Device: deviceOf(e, "b1"), Drain: topologies.Drained})
		settle(t, e)
		if got := texts(e, w.List(), from); !slices.Equal(got, want) {
			t.Errorf("linger %v:\ngot  %q\nwant %q", linger, got, want)
		}
	}
}

func TestABundleThatHasFailedUnnoticedIsNoFaultOfRouting(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: Timed}})
	w := e.Watch()
	from := e.Now()
	b := bundleOf(e, "s1--e1")
	apply(t, e, state.Change{Kind: state.Fail, Bundle: b})
	settle(t, e)
	e.Advance(from + time.Second)
	if got := w.List(); len(got) != 0 {
		t.Errorf("unnoticed: got %q, want none", texts(e, got, from))
	}
	apply(t, e, state.Change{Kind: state.Notice, Bundle: b})
	settle(t, e)
	if got := w.List(); len(got) != 3 || got[0].From != from+time.Second {
		t.Errorf("noticed: got %q, want three from 1s on", texts(e, got, from))
	}
}

func TestWhereMessagesTakeNoTimeFaultsAreCountedApart(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	for _, mode := range []string{Rounds, Random} {
		e := settled(t, Options{Topology: net, Settings: batches(net, 0), Schedule: Schedule{Mode: mode, Seed: 1}})
		w := e.Watch()
		apply(t, e, members(e, "s1--e1", 0))
		settle(t, e)
		instants, n := w.Instants()
		if len(w.List()) != 0 || n.Holes < 3 || n.Loops != 0 || len(instants) != n.Holes {
			t.Errorf("%s: got %q and %+v, want no interval and a black hole for each hop", mode, texts(e, w.List(), 0), n)
		}
		for _, x := range instants {
			if x.Steps < 1 {
				t.Errorf("%s: %q: got %d steps, want at least 1", mode, texts(e, []state.Transient{x}, 0), x.Steps)
			}
		}
	}
}

// The incremental walks come to what a walk of everything finds.
func TestWalksOfWhatChangedFindAllThatThereIs(t *testing.T) {
	net, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	e := settled(t, Options{Topology: net, Schedule: Schedule{Mode: Timed, Processing: DefaultProcessing, Jitter: time.Millisecond, Seed: 7}})
	w := e.Watch()
	found := 0
	e.OnRound(func() {
		fresh := &Transients{}
		*fresh = *w
		fresh.open = make([][]fault, e.prefixes)
		fresh.next = make([][][]int32, e.prefixes)
		for p := range fresh.next {
			fresh.next[p] = make([][]int32, len(e.devices))
			for d := range e.devices {
				fresh.next[p][d] = fresh.carries(d, int32(p))
			}
			fresh.walk(int32(p))
			if len(fresh.open[p]) != len(w.open[p]) {
				t.Fatalf("prefix %v at %v: got %d faults, want %d", net.Prefixes[p].Prefix, e.now, len(w.open[p]), len(fresh.open[p]))
			}
			found += len(fresh.open[p])
		}
	})
	apply(t, e, members(e, "r1-bag1--r2-bag1", 0), state.Change{Kind: state.SetDrain, Device: deviceOf(e, "r1-bag2"), Drain: topologies.Drained})
	settle(t, e)
	if found == 0 {
		t.Error("no fault was found: the test has shown nothing")
	}
}

// b1 uses both edges and tells e1 the way over e2. When e1 loses its spine it turns to
// b1, which sends half of the traffic back until the withdrawal has come.
func TestAMicroLoopLastsUntilTheWithdrawalHasCome(t *testing.T) {
	for batch, want := range map[time.Duration]string{
		0:                      "loop at e1 b1 [0s, 400µs) of e1 b1",
		200 * time.Millisecond: "loop at e1 b1 [200ms, 400.4ms) of e1 b1",
	} {
		net := network(t, []string{"s1 e2 300", "s1 e1 300", "e2 b1 80000", "e1 b1 80000"}, "10.0.0.0/24 s1")
		e := settled(t, Options{Topology: net, Settings: batches(net, batch), Schedule: Schedule{Mode: Timed}})
		w := e.Watch()
		from := e.Now()
		apply(t, e, members(e, "s1--e1", 0))
		settle(t, e)
		var loops []string
		for _, text := range texts(e, w.List(), from) {
			if text[0] == 'l' {
				loops = append(loops, text)
			}
		}
		if _, n := w.Instants(); len(loops) != 1 || loops[0] != want || batch == 0 && n.Holes != 1 {
			t.Errorf("batch %v: got %q, %+v at once, want %q", batch, loops, n, want)
		}
	}
}
