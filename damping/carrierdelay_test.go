package damping

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// twinCarrier polls the rule at every tick and keeps when each side was entered.
type twinCarrier struct {
	params         CarrierDelay
	started        bool
	capacity, pass uint64
	side           int // of capacity to pass: -1, 0 or 1
	since          time.Duration
	entered        map[int][]time.Duration
}

// delay of the last entry of a side, worked out from all of them.
func (w *twinCarrier) delay(side int) time.Duration {
	b := w.params.Down
	if side > 0 {
		b = w.params.Up
	}
	delay := b.First
	for i, at := range w.entered[side] {
		if i > 0 && at-w.entered[side][i-1] < b.Max {
			delay = min(2*delay, b.Max)
		} else {
			delay = b.First
		}
	}
	return delay
}

func (w *twinCarrier) tick(now time.Duration) {
	if w.side != 0 && now-w.since >= w.delay(w.side) {
		w.pass, w.side = w.capacity, 0
	}
}

func (w *twinCarrier) change(now time.Duration, capacity uint64) {
	if !w.started {
		w.started, w.pass, w.entered = true, capacity, map[int][]time.Duration{}
	}
	w.capacity = capacity
	side := 0
	if capacity > w.pass {
		side = 1
	} else if capacity < w.pass {
		side = -1
	}
	if side != w.side && side != 0 {
		w.since = now
		w.entered[side] = append(w.entered[side], now)
	}
	w.side = side
	w.tick(now)
}

func (w *twinCarrier) passed() Passed { return Passed{Capacity: w.pass} }

func TestCarrierDelayPassesWhatHasLasted(t *testing.T) {
	const s = time.Second
	c := func(at time.Duration, capacity uint64) told { return told{at, Passed{Capacity: capacity}} }
	constant := CarrierDelay{Down: Fixed(2 * s), Up: Fixed(10 * s)}
	backoff := CarrierDelay{Up: Backoff{First: 200 * time.Millisecond, Max: 8 * s}}
	cases := []struct {
		name   string
		stage  CarrierDelay
		series []sample
		want   []told
	}{
		{"the first value at once", constant, []sample{{5 * s, 32}}, []told{c(5*s, 32)}},
		{"a first value of down too", constant, []sample{{0, 0}, {s, 32}}, []told{c(0, 0), c(11*s, 32)}},
		{"a fall after the down delay, a rise after the up delay", constant,
			[]sample{{0, 32}, {20 * s, 24}, {40 * s, 32}}, []told{c(0, 32), c(22*s, 24), c(50*s, 32)}},
		{"down is a fall", constant, []sample{{0, 32}, {20 * s, 0}, {40 * s, 32}}, []told{c(0, 32), c(22*s, 0), c(50*s, 32)}},
		{"a dip shorter than the delay is nothing", constant, []sample{{0, 32}, {20 * s, 24}, {21 * s, 32}}, []told{c(0, 32)}},
		{"a dip of exactly the delay passes, and its end later", constant,
			[]sample{{0, 32}, {20 * s, 24}, {22 * s, 32}}, []told{c(0, 32), c(22*s, 24), c(32*s, 32)}},
		{"below without a break, the last value passes", constant,
			[]sample{{0, 32}, {20 * s, 24}, {21 * s, 8}}, []told{c(0, 32), c(22*s, 8)}},
		{"to the other side the delay begins anew", constant,
			[]sample{{0, 32}, {20 * s, 24}, {21 * s, 40}}, []told{c(0, 32), c(31*s, 40)}},
		{"the ladder of BGP++: 200, 400 and 800 ms", backoff,
			[]sample{{0, 2}, {s, 1}, {s, 2}, {3 * s, 1}, {3 * s, 2}, {5 * s, 1}, {5 * s, 2}},
			[]told{c(0, 2), c(s, 1), c(s+200*time.Millisecond, 2), c(3*s, 1), c(3*s+400*time.Millisecond, 2), c(5*s, 1), c(5*s+800*time.Millisecond, 2)}},
		{"a quiet 8 s wipe the history", backoff,
			[]sample{{0, 2}, {s, 1}, {s, 2}, {3 * s, 1}, {3 * s, 2}, {11 * s, 1}, {11 * s, 2}},
			[]told{c(0, 2), c(s, 1), c(s+200*time.Millisecond, 2), c(3*s, 1), c(3*s+400*time.Millisecond, 2), c(11*s, 1), c(11*s+200*time.Millisecond, 2)}},
		{"no delay passes everything", CarrierDelay{}, []sample{{0, 32}, {0, 1}, {0, 5}}, []told{c(0, 32), c(0, 1), c(0, 5)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(drive(c.stage.NewBundle(), c.series), c.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestCarrierDelayTreatsAnEarlierTimeAsTheLast(t *testing.T) {
	p := CarrierDelay{Down: Fixed(10), Up: Fixed(10)}.NewBundle()
	p.Step(100, 5)
	if got, next := p.Step(50, 9); got.Capacity != 5 || next != 110 {
		t.Errorf("a rise at 50 after 100: got %v, next %v, want 5, next 110", got, next)
	}
}

func TestWhatHasLastedPassesBeforeAChangeOfTheSameMoment(t *testing.T) {
	p := CarrierDelay{Down: Fixed(10), Up: Fixed(30)}.NewBundle()
	p.Step(0, 8)
	p.Step(100, 4)
	if got, next := p.Step(110, 8); got.Capacity != 4 || next != 140 {
		t.Errorf("back to 8 as the fall to 4 is due: got %v, next %v, want 4, next 140", got, next)
	}
}

func TestCarrierDelayRefusesBadDelays(t *testing.T) {
	const s = time.Second
	cases := []struct {
		stage CarrierDelay
		want  string
	}{
		{CarrierDelay{Down: Fixed(-s)}, "carrier-delay: down first -1s"},
		{CarrierDelay{Up: Backoff{First: 2 * s, Max: s}}, "carrier-delay: up max 1s: want first 2s or more"},
		{CarrierDelay{Up: Backoff{Max: s}}, "carrier-delay: up first 0s"},
	}
	for _, c := range cases {
		if err := c.stage.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.stage, err, c.want)
		}
		if got, next := c.stage.NewBundle().Step(0, 7); got.Capacity != 7 || next != Never {
			t.Errorf("%v: got %v, %v, want 7 at once", c.stage, got, next)
		}
	}
}

// backoffOf draws a delay of few ticks.
func backoffOf(first, more uint8) Backoff {
	b := Backoff{First: time.Duration(first % 12)}
	b.Max = b.First
	if b.First > 0 {
		b.Max += time.Duration(more % 40)
	}
	return b
}

func checkCarrier(t *testing.T, c CarrierDelay, series []sample) {
	t.Helper()
	checkBundle(t, c.NewBundle(), &twinCarrier{params: c}, series, max(c.Down.Max, c.Up.Max)+1)
}

func TestCarrierDelayIsWhatPollingFinds(t *testing.T) {
	ps := gopter.NewProperties(nil)
	ps.Property("at every tick", prop.ForAll(func(draws []byte, series []sample) bool {
		draws = append(draws, 3, 7, 5, 30)
		checkCarrier(t, CarrierDelay{Down: backoffOf(draws[0], draws[1]), Up: backoffOf(draws[2], draws[3])}, series)
		return true
	}, genBytes(), genSeries()))
	ps.TestingRun(t)
}

func FuzzCarrierDelay(f *testing.F) {
	f.Add(uint8(2), uint8(0), uint8(3), uint8(20), []byte{0, 4, 5, 2, 1, 4, 3, 0, 9, 4})
	f.Fuzz(func(t *testing.T, down, downMore, up, upMore uint8, raw []byte) {
		c := CarrierDelay{Down: backoffOf(down, downMore), Up: backoffOf(up, upMore)}
		checkCarrier(t, c, seriesOf(raw[:min(len(raw), 128)]))
	})
}
