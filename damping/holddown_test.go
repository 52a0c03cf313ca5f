package damping

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// sample is one change of what is there.
type sample struct {
	At       time.Duration
	Capacity uint64
}

// twinHoldDown keeps the whole history and searches it at every step.
type twinHoldDown struct {
	params  HoldDown
	history []sample
}

// hold is the hold from each change of the history on.
func (w *twinHoldDown) hold() []time.Duration {
	out := make([]time.Duration, len(w.history))
	now, falls, falling := w.params.T, []time.Duration(nil), false
	for i, s := range w.history {
		if i > 0 && s.Capacity != w.history[i-1].Capacity {
			fall := s.Capacity < w.history[i-1].Capacity
			if fall && !falling && w.params.Forget > 0 {
				now *= 2
				if n := len(falls); n == 0 || s.At-falls[n-1] >= w.params.Forget {
					now = w.params.T
				}
				now = min(now, w.params.Max)
				falls = append(falls, s.At)
			}
			falling = fall
		}
		out[i] = now
	}
	return out
}

// start is the time that the window has got to: now less the hold, or further
// where an earlier, shorter hold had got further.
func (w *twinHoldDown) start(now time.Duration) time.Duration {
	hold := w.hold()
	at := -Never
	for i, h := range hold {
		until := now
		if i+1 < len(hold) {
			until = w.history[i+1].At
		}
		at = max(at, until-h)
	}
	return at
}

func (w *twinHoldDown) passed(now time.Duration) Passed {
	last := len(w.history) - 1
	if last < 0 || w.history[last].Capacity == 0 {
		return Passed{}
	}
	first := last // of the life since the last down
	for first > 0 && w.history[first-1].Capacity > 0 {
		first--
	}
	least := w.history[last].Capacity
	start, hold := w.start(now), w.hold()
	for i := first; i < last; i++ {
		if left := w.history[i+1].At; left > start {
			least = min(least, w.history[i].Capacity)
		}
	}
	back := first > 0
	return Passed{Capacity: least, Trial: back && now < w.history[first].At+hold[first]}
}

func (w *twinHoldDown) next(now, limit time.Duration) time.Duration {
	for at := now + 1; at <= limit; at++ {
		if w.passed(at) != w.passed(now) {
			return at
		}
	}
	return Never
}

// step records a change; a bundle that starts down has been down.
func (w *twinHoldDown) step(now time.Duration, capacity uint64) Passed {
	w.history = append(w.history, sample{now, capacity})
	return w.passed(now)
}

// told is one change of what a policy passes.
type told struct {
	At time.Duration
	Passed
}

// drive feeds a series to a policy as an engine does, timers included, until
// nothing is pending, and returns the changes of what is passed.
func drive(p BundlePolicy, series []sample) []told {
	var out []told
	next, last := Never, uint64(0)
	step := func(at time.Duration, capacity uint64) {
		var passed Passed
		passed, next = p.Step(at, capacity)
		last = capacity
		if len(out) == 0 || out[len(out)-1].Passed != passed {
			out = append(out, told{at, passed})
		}
	}
	for _, s := range series {
		for next <= s.At {
			step(next, last)
		}
		step(s.At, s.Capacity)
	}
	for next != Never {
		step(next, last)
	}
	return out
}

func TestHoldDownTellsFallsAtOnceAndRisesAfterT(t *testing.T) {
	const s = time.Second
	c := func(at time.Duration, capacity uint64) told { return told{at, Passed{Capacity: capacity}} }
	trial := func(at time.Duration, capacity uint64) told { return told{at, Passed{capacity, true}} }
	cases := []struct {
		name   string
		series []sample
		want   []told
	}{
		{"the first value passes at once",
			[]sample{{5 * s, 32}},
			[]told{c(5*s, 32)}},
		{"a fall at once, its repair T later",
			[]sample{{0, 32}, {10 * s, 24}, {15 * s, 32}},
			[]told{c(0, 32), c(10*s, 24), c(45*s, 32)}},
		{"a dip of no length is held for T",
			[]sample{{0, 32}, {10 * s, 24}, {10 * s, 32}},
			[]told{c(0, 32), c(10*s, 24), c(40*s, 32)}},
		{"a slow ramp is followed T behind, each step on its own",
			[]sample{{0, 10}, {10 * s, 11}, {20 * s, 12}, {30 * s, 13}},
			[]told{c(0, 10), c(40*s, 11), c(50*s, 12), c(60*s, 13)}},
		{"a fall to above what is passed cuts the pending rise",
			[]sample{{0, 10}, {10 * s, 20}, {20 * s, 15}},
			[]told{c(0, 10), c(40*s, 15)}},
		{"a dip inside a pending rise delays only the part above it",
			[]sample{{0, 10}, {10 * s, 20}, {20 * s, 15}, {25 * s, 20}},
			[]told{c(0, 10), c(40*s, 15), c(55*s, 20)}},
		{"a flap faster than T tells one fall and one rise",
			[]sample{{0, 32}, {10 * s, 24}, {15 * s, 32}, {20 * s, 24}, {25 * s, 32}, {30 * s, 24}, {35 * s, 32}},
			[]told{c(0, 32), c(10*s, 24), c(65*s, 32)}},
		{"down at once, and back on trial for T",
			[]sample{{0, 32}, {10 * s, 0}, {12 * s, 32}},
			[]told{c(0, 32), c(10*s, 0), trial(12*s, 32), c(42*s, 32)}},
		{"a fall in the trial at once, a rise in it T later",
			[]sample{{0, 32}, {10 * s, 0}, {12 * s, 30}, {20 * s, 20}, {22 * s, 32}},
			[]told{c(0, 32), c(10*s, 0), trial(12*s, 30), trial(20*s, 20), c(42*s, 20), c(52*s, 32)}},
		{"down in the trial ends it, back starts a new one",
			[]sample{{0, 32}, {10 * s, 0}, {12 * s, 32}, {20 * s, 0}, {30 * s, 8}},
			[]told{c(0, 32), c(10*s, 0), trial(12*s, 32), c(20*s, 0), trial(30*s, 8), c(60*s, 8)}},
		{"back from down forgets what was pending before",
			[]sample{{0, 8}, {5 * s, 32}, {10 * s, 0}, {12 * s, 16}},
			[]told{c(0, 8), c(10*s, 0), trial(12*s, 16), c(42*s, 16)}},
		{"a bundle that starts down comes up on trial",
			[]sample{{0, 0}, {10 * s, 32}},
			[]told{c(0, 0), trial(10*s, 32), c(40*s, 32)}},
		{"a fall at the very moment of a rise wins",
			[]sample{{0, 10}, {10 * s, 20}, {40 * s, 10}},
			[]told{c(0, 10), c(40*s, 20), c(40*s, 10)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := drive(HoldDown{T: 30 * s}.NewBundle(), c.series)
			if d := cmp.Diff(got, c.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestHoldDownOfZeroPassesEverythingAtOnce(t *testing.T) {
	p := HoldDown{}.NewBundle()
	for i, capacity := range []uint64{0, 5, 9, 2, 0, 7, 8} {
		got, next := p.Step(time.Duration(i), capacity)
		if want := (Passed{Capacity: capacity}); got != want || next != Never {
			t.Errorf("step %d: got %v, %v, want %v, Never", i, got, next, want)
		}
	}
}

func TestHoldDownTreatsAnEarlierTimeAsTheLast(t *testing.T) {
	p := HoldDown{T: 10}.NewBundle()
	p.Step(100, 5)
	if got, next := p.Step(50, 9); got.Capacity != 5 || next != 110 {
		t.Errorf("a rise at 50 after 100: got %v, next %v, want 5, next 110", got, next)
	}
	if got, _ := p.Step(-1, 9); got.Capacity != 5 {
		t.Errorf("at -1 after 100: got %v, want 5", got)
	}
	if got, next := p.Step(110, 9); got.Capacity != 9 || next != Never {
		t.Errorf("at 110: got %v, next %v, want 9, Never", got, next)
	}
}

func TestHoldDownNearTheEndOfTimeWaitsForever(t *testing.T) {
	p := HoldDown{T: Never - 5}.NewBundle()
	p.Step(10, 5)
	if got, next := p.Step(20, 9); got.Capacity != 5 || next != Never {
		t.Errorf("got %v, next %v, want 5, Never", got, next)
	}
}

func TestHoldDownRefusesNegativeTime(t *testing.T) {
	if err := (HoldDown{T: -time.Second}).Validate(); err == nil || err.Error() != "holddown: T -1s: want 0 or more" {
		t.Errorf("got error %v, want it to name T and -1s", err)
	}
	if err := (HoldDown{T: 30 * time.Second}).Validate(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// checkHoldDown drives the policy through a series, tick by tick, beside the
// twin: same output, the next timer exact, and nothing missed between.
func checkHoldDown(t *testing.T, params HoldDown, series []sample) {
	t.Helper()
	policy, twin := params.NewBundle(), &twinHoldDown{params: params}
	next, last := Never, uint64(0)
	check := func(at time.Duration, got, want Passed) {
		t.Helper()
		if got != want {
			t.Fatalf("%v, series %v, at %d: got %v, want %v", params, series, at, got, want)
		}
	}
	fire := func(until time.Duration) {
		t.Helper()
		for next <= until {
			at := next
			var got Passed
			got, next = policy.Step(at, last)
			check(at, got, twin.passed(at))
		}
	}
	for i, s := range series {
		fire(s.At)
		got, n := policy.Step(s.At, s.Capacity)
		check(s.At, got, twin.step(s.At, s.Capacity))
		next, last = n, s.Capacity
		if i+1 < len(series) && series[i+1].At == s.At {
			continue
		}
		if want := twin.next(s.At, s.At+2*max(params.T, params.Max)+1); next != want {
			t.Fatalf("%v, series %v, at %d: got next %d, want %d", params, series, s.At, next, want)
		}
	}
	fire(Never - 1)
	if got, want := twin.passed(Never-1), (Passed{Capacity: last}); got != want {
		t.Fatalf("%v, series %v: twin ends at %v, want %v", params, series, got, want)
	}
}

// genSeries draws changes of a bundle of few members, often at equal times and
// often at exactly the hold-down time of genHold.
func genSeries() gopter.Gen {
	return gen.SliceOf(gen.UInt16()).Map(func(draws []uint16) []sample {
		raw := make([]byte, 0, 2*len(draws))
		for _, d := range draws {
			raw = append(raw, byte(d), byte(d>>8))
		}
		return seriesOf(raw)
	})
}

// seriesOf reads pairs of bytes: the time since the last change, and members.
func seriesOf(raw []byte) []sample {
	var series []sample
	at := time.Duration(0)
	for pair := range slices.Chunk(raw, 2) {
		if len(pair) == 2 {
			at += time.Duration(pair[0] % 16)
			series = append(series, sample{at, uint64(pair[1] % 8)})
		}
	}
	return series
}

func genHold() gopter.Gen {
	return gen.IntRange(0, 20).Map(func(n int) time.Duration { return time.Duration(n) })
}

func TestHoldDownIsTheLeastOfTheLastT(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 500
	ps := gopter.NewProperties(params)
	ps.Property("as a search of the full history finds, with exact timers", prop.ForAll(
		func(hold time.Duration, series []sample) bool {
			checkHoldDown(t, HoldDown{T: hold}, series)
			return true
		}, genHold(), genSeries()))
	ps.Property("and so where the hold doubles", prop.ForAll(
		func(hold, more, longer time.Duration, series []sample) bool {
			checkHoldDown(t, HoldDown{T: hold + 1, Max: hold + 1 + 2*more, Forget: hold + 1 + 2*more + longer}, series)
			return true
		}, genHold(), genHold(), genHold(), genSeries()))
	ps.TestingRun(t)
}

func FuzzHoldDown(f *testing.F) {
	f.Add(uint8(10), []byte{0, 4, 5, 2, 5, 4, 0, 0, 3, 4})
	f.Fuzz(func(t *testing.T, hold uint8, raw []byte) {
		checkHoldDown(t, HoldDown{T: time.Duration(hold % 32)}, seriesOf(raw[:min(len(raw), 128)]))
	})
}

func FuzzDoublingHoldDown(f *testing.F) {
	f.Add(uint8(5), uint8(20), uint8(3), []byte{0, 4, 5, 2, 5, 4, 0, 0, 3, 4, 1, 2, 1, 4})
	f.Fuzz(func(t *testing.T, hold, more, longer uint8, raw []byte) {
		p := HoldDown{T: time.Duration(hold%16) + 1}
		p.Max = p.T + time.Duration(more%64)
		p.Forget = p.Max + time.Duration(longer%64)
		checkHoldDown(t, p, seriesOf(raw[:min(len(raw), 96)]))
	})
}

func TestHoldDownDoublesWhileFallsComeWithinForget(t *testing.T) {
	const s = time.Second
	stage := HoldDown{T: 30 * s, Max: 120 * s, Forget: 300 * s}
	c := func(at time.Duration, capacity uint64) told { return told{at, Passed{Capacity: capacity}} }
	trial := func(at time.Duration, capacity uint64) told { return told{at, Passed{capacity, true}} }
	cases := []struct {
		name   string
		series []sample
		want   []told
	}{
		{"30, 60, 120 and 120 s",
			[]sample{{0, 8}, {100 * s, 7}, {101 * s, 8}, {200 * s, 7}, {201 * s, 8}, {400 * s, 7}, {401 * s, 8}, {600 * s, 7}, {601 * s, 8}},
			[]told{c(0, 8), c(100*s, 7), c(131*s, 8), c(200*s, 7), c(261*s, 8), c(400*s, 7), c(521*s, 8), c(600*s, 7), c(721*s, 8)}},
		{"forgotten after 300 s without a fall",
			[]sample{{0, 8}, {100 * s, 7}, {101 * s, 8}, {200 * s, 7}, {201 * s, 8}, {500 * s, 7}, {501 * s, 8}},
			[]told{c(0, 8), c(100*s, 7), c(131*s, 8), c(200*s, 7), c(261*s, 8), c(500*s, 7), c(531*s, 8)}},
		{"members lost one by one are one fall",
			[]sample{{0, 8}, {100 * s, 7}, {101 * s, 6}, {102 * s, 5}, {103 * s, 8}},
			[]told{c(0, 8), c(100*s, 7), c(101*s, 6), c(102*s, 5), c(133*s, 8)}},
		{"what waits when the hold grows waits longer",
			[]sample{{0, 8}, {100 * s, 4}, {101 * s, 6}, {110 * s, 5}},
			[]told{c(0, 8), c(100*s, 4), c(161*s, 5)}},
		{"a return from down is on trial for the hold of the moment",
			[]sample{{0, 8}, {100 * s, 0}, {101 * s, 8}, {140 * s, 0}, {141 * s, 8}},
			[]told{c(0, 8), c(100*s, 0), trial(101*s, 8), c(131*s, 8), c(140*s, 0), trial(141*s, 8), c(201*s, 8)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(drive(stage.NewBundle(), c.series), c.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestARiseThatIsDueAtTheMomentOfAFallPassesBeforeTheHoldGrows(t *testing.T) {
	p := HoldDown{T: 10, Max: 20, Forget: 100}.NewBundle()
	for _, s := range []sample{{0, 8}, {100, 4}, {101, 6}} {
		p.Step(s.At, s.Capacity)
	}
	if got, next := p.Step(111, 5); got.Capacity != 5 || next != Never {
		t.Errorf("a fall to 5 as the rise to 6 is due: got %v, next %v, want 5 and Never", got, next)
	}
}

func TestDoublingHoldDownRefusesBadOrders(t *testing.T) {
	const s = time.Second
	for want, h := range map[string]HoldDown{
		"holddown: T 0s: want more than 0 where it doubles": {Max: s, Forget: s},
		"holddown: max 1s: want T 2s or more":               {T: 2 * s, Max: s, Forget: s},
		"holddown: max 0s: want T 2s or more":               {T: 2 * s, Forget: s},
		"holddown: forget 3s: want max 4s or more":          {T: s, Max: 4 * s, Forget: 3 * s},
		"holddown: forget 0s: want max 4s or more":          {T: s, Max: 4 * s},
	} {
		if err := h.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: got %v, want %q", h, err, want)
		}
	}
}

func TestStepOfHoldDownDoesNotAllocate(t *testing.T) {
	for name, p := range map[string]BundlePolicy{
		"alone": HoldDown{T: 30}.NewBundle(),
		"chain": Pipeline{Bundle: []BundleStage{HoldDown{T: 20}, HoldDown{T: 10}}}.NewBundle(),
	} {
		n := uint64(0)
		step := func() {
			n++
			p.Step(time.Duration(n), n%64*uint64(n%1000/64%2)+n%9) // ramps of 64, flaps, downs
		}
		for range 2000 { // every length of queue has been seen
			step()
		}
		if got := testing.AllocsPerRun(2000, step); got != 0 {
			t.Errorf("%s: got %v allocations per step, want 0", name, got)
		}
	}
}

func BenchmarkHoldDown(b *testing.B) {
	p := HoldDown{T: 100}.NewBundle()
	b.ReportAllocs()
	for i := range b.N {
		p.Step(time.Duration(i), uint64(i%64)+1)
	}
}
