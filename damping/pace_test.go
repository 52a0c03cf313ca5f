package damping

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// twinPace polls the rule at every tick, from the times of all tellings.
type twinPace struct {
	interval time.Duration
	in       Value
	out      Value
	times    []time.Duration // of what was told with a path
}

func (w *twinPace) tick(now time.Duration) {
	n := len(w.times)
	if w.in != w.out && (n == 0 || now-w.times[n-1] >= w.interval) {
		w.out = w.in
		w.times = append(w.times, now)
	}
}

func (w *twinPace) change(now time.Duration, in Value, attributes bool) {
	w.in = in
	if in.Reach == Gone {
		w.out = in
	}
	w.tick(now)
}

func (w *twinPace) told() Value { return w.out }

// driveTold feeds inputs to a told policy as an engine does and returns the
// changes of what is told.
func driveTold(p ToldPolicy, series []toldSample) []toldSample {
	var out []toldSample
	var in Value
	next := Never
	step := func(at time.Duration) {
		var v Value
		v, next = p.Step(at, in)
		if len(out) == 0 || out[len(out)-1].In != v {
			out = append(out, toldSample{At: at, In: v})
		}
	}
	for _, s := range series {
		for next < s.At {
			step(next)
		}
		in = s.In
		step(s.At)
	}
	for next != Never {
		step(next)
	}
	return out
}

func bitsAt(at time.Duration, bits uint64) toldSample {
	return toldSample{At: at, In: Value{Reach: Valued, Bits: bits}}
}

func goneAt(at time.Duration) toldSample { return toldSample{At: at} }

func TestPaceKeepsTheIntervalBetweenTwoAdvertisements(t *testing.T) {
	const s = time.Second
	cases := []struct {
		name   string
		series []toldSample
		want   []toldSample
	}{
		{"the first at once, the next after the interval", []toldSample{bitsAt(0, 8), bitsAt(s, 7)}, []toldSample{bitsAt(0, 8), bitsAt(30*s, 7)}},
		{"only the last value of the interval", []toldSample{bitsAt(0, 8), bitsAt(s, 7), bitsAt(2*s, 6)}, []toldSample{bitsAt(0, 8), bitsAt(30*s, 6)}},
		{"back before its end is nothing", []toldSample{bitsAt(0, 8), bitsAt(s, 7), bitsAt(2*s, 8)}, []toldSample{bitsAt(0, 8)}},
		{"after the interval at once", []toldSample{bitsAt(0, 8), bitsAt(30*s, 7)}, []toldSample{bitsAt(0, 8), bitsAt(30*s, 7)}},
		{"loss at once, the return waits", []toldSample{bitsAt(0, 8), goneAt(s), bitsAt(2*s, 8)}, []toldSample{bitsAt(0, 8), goneAt(s), bitsAt(30*s, 8)}},
		{"loss starts no interval", []toldSample{bitsAt(0, 8), goneAt(40 * s), bitsAt(41*s, 8)}, []toldSample{bitsAt(0, 8), goneAt(40 * s), bitsAt(41*s, 8)}},
		{"no path at first", []toldSample{goneAt(0), bitsAt(s, 8)}, []toldSample{goneAt(0), bitsAt(s, 8)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(driveTold(Pace{Interval: 30 * s}.NewTold(), c.series), c.want); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
		})
	}
}

func TestPaceJitterIsSeededAndWithinThreeQuartersToOne(t *testing.T) {
	const interval = time.Minute
	intervals := func(seed, speaker, prefix uint64) []time.Duration {
		p := Pace{Interval: interval, Jitter: true, Seed: seed}.NewSpeaker(speaker).NewTold(prefix)
		var list []time.Duration
		now := time.Duration(0)
		for i := range uint64(200) {
			p.Step(now, Value{Reach: Valued, Bits: i + 1})
			_, next := p.Step(now, Value{Reach: Valued, Bits: i + 1_000_000})
			if next == Never {
				t.Fatal("a second change in the interval: got Never, want its end")
			}
			list = append(list, next-now)
			now = next + interval
		}
		return list
	}
	base := intervals(1, 2, 3)
	low, high, sum := interval, time.Duration(0), time.Duration(0)
	for _, d := range base {
		low, high, sum = min(low, d), max(high, d), sum+d
	}
	if low < interval*3/4 || high > interval {
		t.Errorf("got intervals of %v to %v, want 45s to 1m0s", low, high)
	}
	if mean := sum / time.Duration(len(base)); low > 46*time.Second || high < 59*time.Second || mean < 51*time.Second || mean > 54*time.Second {
		t.Errorf("got intervals of %v to %v, mean %v, want them spread over the quarter", low, high, mean)
	}
	if !cmp.Equal(base, intervals(1, 2, 3)) {
		t.Error("the same numbers gave other intervals")
	}
	for _, other := range [][3]uint64{{2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 3, 2}} {
		if cmp.Equal(base, intervals(other[0], other[1], other[2])) {
			t.Errorf("seed, speaker, prefix %v: got the intervals of 1, 2, 3", other)
		}
	}
}

func TestPaceRefusesNegativeIntervals(t *testing.T) {
	p := Pace{Interval: -time.Second}
	if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), "pace: interval -1s") {
		t.Errorf("got %v, want it to name the interval and -1s", err)
	}
	if got, next := p.NewTold().Step(0, Value{Reach: Unvalued}); got.Reach != Unvalued || next != Never {
		t.Errorf("got %v, %v, want the value at once", got, next)
	}
}

func checkPace(t *testing.T, interval uint8, raw []byte) {
	t.Helper()
	d := time.Duration(interval % 40)
	checkTold(t, Pace{Interval: d}.NewTold(), &twinPace{interval: d}, toldSeriesOf(raw, member), d+1)
}

func TestPaceIsWhatPollingFinds(t *testing.T) {
	ps := gopter.NewProperties(nil)
	ps.Property("at every tick", prop.ForAll(func(interval uint8, raw []byte) bool {
		checkPace(t, interval, raw)
		return true
	}, genByte(), genBytes()))
	ps.TestingRun(t)
}

func FuzzPace(f *testing.F) {
	f.Add(uint8(10), []byte{0, 4, 5, 5, 1, 0, 3, 6})
	f.Fuzz(func(t *testing.T, interval uint8, raw []byte) { checkPace(t, interval, raw[:min(len(raw), 128)]) })
}
