package damping

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// burst is what a speaker received at one moment.
type burst struct {
	at time.Duration
	n  int
}

// twinStorm keeps all that was received and judges each interval, and each
// moment of a pause, from the start.
type twinStorm struct {
	params   StormGuard
	bursts   []burst
	in, told Value
}

func (w *twinStorm) paused(now time.Duration) bool {
	paused, until := false, time.Duration(-1)
	ended := time.Duration(-1) // when the last pause ended by its longest time
	for at := time.Duration(0); at <= now; at++ {
		if at > 0 && at%w.params.Interval == 0 {
			count := 0
			for _, b := range w.bursts {
				if b.at >= at-w.params.Interval && b.at < at {
					count += b.n
				}
			}
			switch {
			case paused && at >= until:
				paused, ended = false, at
			case paused && count < w.params.Low:
				paused = false
			case !paused && count > w.params.High && (ended < 0 || ended <= at-w.params.Interval):
				paused, until = true, at+w.params.MaxPause
			}
		}
		if paused && at >= until {
			paused, ended = false, at
		}
	}
	return paused
}

func (w *twinStorm) step(now time.Duration) {
	rise := w.in.Reach == Valued && w.told.Reach == Valued && w.in.Bits > w.told.Bits
	if !rise || !w.paused(now) {
		w.told = w.in
	}
}

// checkStorm plays received bursts and changes of one prefix, tick by tick,
// stepping the policy only on changes and timers.
func checkStorm(t *testing.T, g StormGuard, bursts []burst, series []toldSample) {
	t.Helper()
	speaker := Pipeline{Told: []ToldStage{g}}.NewSpeaker(0)
	p, twin := speaker.NewTold(0), &twinStorm{params: g, bursts: bursts}
	var got, in Value
	next, end := Never, g.MaxPause+2
	if len(series) > 0 {
		end += series[len(series)-1].At
	}
	for now := time.Duration(0); now <= end; now++ {
		for ; len(bursts) > 0 && bursts[0].at == now; bursts = bursts[1:] {
			speaker.Received(now, bursts[0].n)
		}
		changed := false
		for ; len(series) > 0 && series[0].At == now; series = series[1:] {
			if !series[0].Attributes {
				in, changed = series[0].In, true
			}
		}
		if changed || next <= now {
			got, next = p.Step(now, in)
		}
		twin.in = in
		twin.step(now)
		if got != twin.told {
			t.Fatalf("%v, received %v, at %d: got %v, want %v", g, twin.bursts, now, got, twin.told)
		}
		if next <= now {
			t.Fatalf("%v: at %d: got next %d, want a later time", g, now, next)
		}
	}
	if next != Never {
		t.Fatalf("%v: got next %d at %d, want Never", g, next, end)
	}
}

func burstsOf(raw []byte) []burst {
	var list []burst
	at := time.Duration(0)
	for pair := range slices.Chunk(raw, 2) {
		if len(pair) == 2 {
			at += time.Duration(pair[0] % 8)
			list = append(list, burst{at, int(pair[1] % 32)})
		}
	}
	return list
}

func TestStormGuardPausesRisesBetweenTheMarks(t *testing.T) {
	const s = time.Second
	speaker := Pipeline{Told: []ToldStage{StormGuard{Interval: 5 * s, High: 100, Low: 20, MaxPause: 60 * s}}}.NewSpeaker(7)
	if !speaker.HearsChurn() {
		t.Fatal("HearsChurn: got false, want true")
	}
	p := speaker.NewTold(0)
	valued := func(n uint64) Value { return Value{Reach: Valued, Bits: n} }
	cases := []struct {
		at       time.Duration
		received int
		in       Value
		want     Value
		next     time.Duration
	}{
		{0, 0, valued(8), valued(8), Never},
		{s, 101, valued(9), valued(9), Never},      // the interval has not ended
		{6 * s, 50, valued(10), valued(9), 10 * s}, // it has: rises wait
		{7 * s, 0, valued(7), valued(7), Never},    // falls do not
		{8 * s, 0, valued(8), valued(7), 10 * s},   // up again: waits
		{10 * s, 20, valued(8), valued(7), 15 * s}, // 50 is not below 20
		{15 * s, 19, valued(8), valued(7), 20 * s}, // nor is 20
		{20 * s, 0, valued(8), valued(8), Never},   // 19 is
		{21 * s, 200, Value{}, Value{}, Never},     // loss at once
		{26 * s, 200, valued(5), valued(5), Never}, // a new path in the pause at once
		{27 * s, 0, Value{Reach: Unvalued}, Value{Reach: Unvalued}, Never},
		{28 * s, 0, valued(6), valued(6), Never}, // what had no value has none to wait at
	}
	for _, c := range cases {
		speaker.Received(c.at, c.received)
		if got, next := p.Step(c.at, c.in); got != c.want || next != c.next {
			t.Errorf("at %v, %v: got %v, next %v, want %v, next %v", c.at, c.in, got, next, c.want, c.next)
		}
	}
}

func TestStormGuardLetsWaitingRisesPassAfterTheLongestPause(t *testing.T) {
	const s = time.Second
	g := StormGuard{Interval: 5 * s, High: 100, Low: 20, MaxPause: 12 * s}
	speaker := Pipeline{Told: []ToldStage{g}}.NewSpeaker(0)
	p := speaker.NewTold(0)
	in := Value{Reach: Valued, Bits: 1}
	p.Step(0, in)
	var got []time.Duration
	next, told := Never, in
	for now := time.Duration(0); now < 60*s; now += s {
		speaker.Received(now, 50) // 250 in each interval: the storm does not end
		if now == 6*s {
			in.Bits = 2
		}
		if now == 18*s {
			in.Bits = 3
		}
		if now == 6*s || now == 18*s || next <= now {
			was := told
			if told, next = p.Step(now, in); told != was {
				got = append(got, now)
			}
		}
	}
	// Paused from 5 to 17 s; no pause begins at 20 s, and one at 25 s.
	if d := cmp.Diff(got, []time.Duration{17 * s, 18 * s}); d != "" {
		t.Errorf("told at: -got +want\n%s", d)
	}
}

func TestStormGuardThatHearsNothingNeverPauses(t *testing.T) {
	p := DefaultStormGuard().NewTold()
	for i := range uint64(9) {
		if got, next := p.Step(time.Duration(i)*time.Second, Value{Reach: Valued, Bits: i}); got.Bits != i || next != Never {
			t.Errorf("got %v, %v, want %d and Never", got, next, i)
		}
	}
}

func TestStormGuardRefusesBadMarks(t *testing.T) {
	ok := DefaultStormGuard()
	if err := ok.Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
	for want, change := range map[string]func(*StormGuard){
		"storm-guard: interval 0s":                      func(g *StormGuard) { g.Interval = 0 },
		"storm-guard: low 0":                            func(g *StormGuard) { g.Low = 0 },
		"storm-guard: high 4999: want low 5000 or more": func(g *StormGuard) { g.High = 4999 },
		"storm-guard: max pause -1s: want more than 0":  func(g *StormGuard) { g.MaxPause = -time.Second },
	} {
		g := ok
		change(&g)
		if err := g.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", g, err, want)
		}
		g.NewSpeaker(0).(ChurnHearer).Received(0, 1)
	}
}

func stormOf(interval, low, more, pause uint8) StormGuard {
	g := StormGuard{Interval: time.Duration(interval%9) + 1, Low: int(low%20) + 1, MaxPause: time.Duration(pause%30) + 1}
	g.High = g.Low + int(more%30)
	return g
}

func TestStormGuardIsWhatJudgingEachIntervalFinds(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 60
	ps := gopter.NewProperties(params)
	ps.Property("at every tick", prop.ForAll(func(interval, pause uint8, received, raw []byte) bool {
		checkStorm(t, stormOf(interval, 10, 20, pause), burstsOf(received[:min(len(received), 60)]), toldSeriesOf(raw[:min(len(raw), 40)], 1))
		return true
	}, genByte(), genByte(), genBytes(), genBytes()))
	ps.TestingRun(t)
}

func FuzzStormGuard(f *testing.F) {
	f.Add(uint8(4), uint8(9), uint8(5), uint8(12), []byte{0, 31, 1, 31, 3, 31, 4, 3}, []byte{0, 4, 5, 5, 1, 8, 3, 6})
	f.Fuzz(func(t *testing.T, interval, low, more, pause uint8, received, raw []byte) {
		checkStorm(t, stormOf(interval, low, more, pause), burstsOf(received[:min(len(received), 60)]), toldSeriesOf(raw[:min(len(raw), 40)], 1))
	})
}
