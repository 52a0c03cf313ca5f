package damping

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// speedUp is how many seconds of virtual time pass in a real one.
const speedUp = 1000

// toldAt is a value told, and the moment that it belongs to.
type toldAt struct {
	At    time.Duration
	Value Value
}

// realClock plays series through a pipeline as a daemon would, with one real
// timer: it sleeps until the next sample or the pipeline's own next timer,
// whichever is first, and does nothing in between. It wakes when the machine
// lets it, so several moments may be due by then; they are taken in their order,
// and a timer with the time that the pipeline asked for, not that of waking.
//
// A sample that carries its time is taken with it. With stamp it has none, and
// happens when the clock is read and found past it: then the series that comes
// back, with the times that were read, is the one that was played. It ends when
// no timer is pending.
func realClock(p Pipeline, info BundleInfo, series []Sample, stamp bool) ([]Sample, []toldAt) {
	bundle, told := p.NewBundleFor(info), p.NewTold()
	start, timer := time.Now(), time.NewTimer(0)
	defer timer.Stop()
	last := Never // of the last moment; none yet
	wait := func(at time.Duration) (now time.Duration) {
		for now = time.Since(start) * speedUp; now < at; now = time.Since(start) * speedUp {
			timer.Reset((at - now + speedUp - 1) / speedUp)
			<-timer.C
		}
		return now
	}
	var played []Sample
	var list []toldAt
	var passed Passed
	var in, out Value
	there, nextBundle, nextTold := uint64(0), Never, Never
	for {
		at, changed := min(nextBundle, nextTold), false
		if len(series) > 0 && series[0].At <= at {
			s := series[0]
			if now := wait(s.At); stamp {
				s.At = now
				if last != Never {
					s.At = max(now, last+1)
				}
			}
			// Not before the timers that were due while this one slept.
			if s.At <= at {
				at, changed, there = s.At, true, uint64(s.Members)*info.Speed
				played, series = append(played, s), series[1:]
			}
		}
		if at == Never {
			return played, list
		}
		wait(at)
		last = at
		if changed || nextBundle <= at {
			passed, nextBundle = bundle.Step(at, there)
		}
		was := in
		if in = (Value{}); passed.Capacity > 0 {
			in = Value{Reach: Valued, Bits: passed.Capacity}
		}
		if len(played) == 1 && changed || in != was || nextTold <= at {
			var now Value
			now, nextTold = told.Step(at, in)
			if now != out {
				list = append(list, toldAt{at, now})
			}
			out = now
		}
	}
}

// fakeClock gives the same of Replay, whose clock jumps.
func fakeClock(t *testing.T, p Pipeline, info BundleInfo, series []Sample) []toldAt {
	t.Helper()
	trace, err := Replay(p, info, series, series[len(series)-1].At+24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var list []toldAt
	var out Value
	for _, c := range trace.Changes {
		if c.Told != out {
			list = append(list, toldAt{c.At, c.Told})
		}
		out = c.Told
	}
	return list
}

// A pipeline needs nothing of a clock but to be called at the times that it asks
// for: on a real one it tells what it tells on a fake one, at the same moments
// of the series, however late the machine wakes the caller. What is played in
// real time is played 1,000 times as fast; nothing is said of how long it takes.
func TestOnARealClockTheSameIsToldAsOnAFakeOne(t *testing.T) {
	series := recorded(t, "optical-link")
	for i := range series {
		series[i].At /= 4 // 15 minutes, 0.9 s on the clock
	}
	info := BundleInfo{Members: members(series), Speed: member}
	quantize, err := NewQuantize(member, DefaultError, Nearest)
	if err != nil {
		t.Fatal(err)
	}
	staged := Pipeline{
		Name: "several timers",
		Bundle: []BundleStage{
			CarrierDelay{Down: Fixed(500 * time.Millisecond), Up: Backoff{First: 2 * time.Second, Max: 8 * time.Second}},
			HoldDown{T: 10 * time.Second, Max: 40 * time.Second, Forget: 80 * time.Second},
		},
		Told: []ToldStage{quantize, Pace{Interval: 15 * time.Second, Jitter: true, Seed: 1}},
	}
	for _, p := range []Pipeline{preset800(t, PresetBagDefault, 0), staged} {
		for name, stamp := range map[string]bool{"times of the series": false, "times of the clock": true} {
			t.Run(p.Name+", "+name, func(t *testing.T) {
				t.Parallel()
				played, got := realClock(p, info, series, stamp)
				if len(played) != len(series) || !stamp && !cmp.Equal(played, series) {
					t.Fatalf("got %d samples played, want the %d of the series", len(played), len(series))
				}
				if d := cmp.Diff(got, fakeClock(t, p, info, played)); d != "" {
					t.Errorf("%v\nseries %v\n-real +fake\n%s", p, played, d)
				}
				if byTimer := toldByTimer(got, played); !stamp && (len(got) < 5 || byTimer < 2) {
					t.Errorf("got %d values told, %d of them by a timer, want 5 and 2 or more, or this shows little", len(got), byTimer)
				}
			})
		}
	}
}

// toldByTimer counts the values told at a moment that no sample has.
func toldByTimer(list []toldAt, series []Sample) int {
	at := map[time.Duration]bool{}
	for _, s := range series {
		at[s.At] = true
	}
	n := 0
	for _, v := range list {
		if !at[v.At] {
			n++
		}
	}
	return n
}
