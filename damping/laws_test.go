package damping

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// lawRun drives one bundle, and the prefix that only it leads to, through
// a pipeline and holds everything that goes out against its law.
type lawRun struct {
	p       Pipeline
	law     Law
	info    BundleInfo
	bundle  BundlePolicy
	speaker *Speaker
	told    ToldPolicy
	churn   func(now time.Duration) int // received prefixes, or nil
	nextB   time.Duration
	nextT   time.Duration
	started bool
	history []sample // of what is there, in bits/s
	in, out Value
	adverts []time.Duration
	passed  Passed
	changes int // of what is passed
}

func newLawRun(p Pipeline, info BundleInfo) *lawRun {
	speaker := p.NewSpeaker(3)
	return &lawRun{p: p, law: p.LawFor(info), info: info, bundle: p.NewBundleFor(info), speaker: speaker, told: speaker.NewTold(5), nextB: Never, nextT: Never}
}

// there is the highest value of the last Late.
func (r *lawRun) highest(now time.Duration) uint64 {
	most := uint64(0)
	for _, s := range slices.Backward(r.history) {
		most = max(most, s.Capacity)
		if s.At < now-r.law.Late { // what came before ended before that
			break
		}
	}
	return most
}

// step is one moment of an engine: inputs and timers together.
func (r *lawRun) step(now time.Duration, there uint64) error {
	if r.churn != nil {
		r.speaker.Received(now, r.churn(now))
	}
	n := len(r.history)
	changed := n == 0 || r.history[n-1].Capacity != there
	if changed {
		r.history = append(r.history, sample{now, there})
	}
	if changed || r.nextB <= now {
		was := r.passed
		r.passed, r.nextB = r.bundle.Step(now, there)
		if r.passed != was {
			r.changes++
		}
	}
	in := Value{Reach: Valued, Bits: r.passed.Capacity}
	if in.Bits == 0 {
		in = Value{}
	}
	was := r.out
	if !r.started || in != r.in || r.nextT <= now {
		r.in = in
		r.out, r.nextT = r.told.Step(now, in)
	}
	r.started = true
	if r.out != was {
		r.adverts = append(r.adverts, now)
	}
	return r.check(now, there)
}

func (r *lawRun) check(now time.Duration, there uint64) error {
	most := r.highest(now)
	switch {
	case r.in.Reach == Gone && r.out.Reach != Gone:
		return fmt.Errorf("at %d: got %v told of a lost path, want it gone at once", now, r.out)
	case most == 0 && r.out.Reach != Gone:
		return fmt.Errorf("at %d: got %v told, down for longer than %v", now, r.out, r.law.Late)
	}
	if _, high := r.law.Range(most); r.out.Bits > high {
		return fmt.Errorf("at %d: got %d told, at most %d of late there, want at most %d", now, r.out.Bits, most, high)
	}
	if min(r.nextB, r.nextT) <= now {
		return fmt.Errorf("at %d: got timers at %d and %d, want them later", now, r.nextB, r.nextT)
	}
	return nil
}

// run plays a series and waits until nothing is pending; law 1 says how long
// that may take.
func (r *lawRun) run(series []sample) error {
	for _, s := range series {
		if err := r.fire(s.At - 1); err != nil {
			return err
		}
		if err := r.step(s.At, s.Capacity); err != nil {
			return err
		}
	}
	if len(series) == 0 {
		return nil
	}
	last := series[len(series)-1]
	settled := later(r.history[len(r.history)-1].At, r.law.Settle)
	if err := r.fire(settled); err != nil {
		return err
	}
	low, high := r.law.Range(last.Capacity)
	if gone := r.out.Reach == Gone; gone != (last.Capacity == 0) || !gone && (r.out.Bits < low || r.out.Bits > high) {
		return fmt.Errorf("settled at %d: got %v told of %d, want %d to %d", settled, r.out, last.Capacity, low, high)
	}
	out := r.out
	if err := r.fire(Never - 1); err != nil {
		return err
	}
	if r.out != out {
		return fmt.Errorf("after %d: told changed from %v to %v, want it settled", settled, out, r.out)
	}
	return r.rates(series)
}

func (r *lawRun) fire(until time.Duration) error {
	for min(r.nextB, r.nextT) <= until {
		if err := r.step(min(r.nextB, r.nextT), r.history[len(r.history)-1].Capacity); err != nil {
			return err
		}
	}
	return nil
}

// rates holds law 2 in windows of many lengths.
func (r *lawRun) rates(series []sample) error {
	if most := r.law.PerChange * r.changes; len(r.adverts) > most {
		return fmt.Errorf("got %d advertisements for %d changes, want at most %d", len(r.adverts), r.changes, most)
	}
	if len(r.adverts) == 0 {
		return nil
	}
	members := map[uint64]bool{}
	for _, s := range series {
		members[s.Capacity] = s.Capacity > 0
	}
	unit := max(1, min(r.law.Spacing, max(r.law.Refill, 1)), r.law.Refill)
	for n := time.Duration(0); n < 8; n++ {
		for _, window := range []time.Duration{n * unit, n*unit + unit/2, (n+1)*unit - 1} {
			got := float64(worstWindow(r.adverts[1:], window))
			if want := r.law.Adverts(window); got > want {
				return fmt.Errorf("got %v advertisements in %d, want at most %v", got, window, want)
			}
			if want := r.law.Rate(window, len(members), returnsIn(series, window)); got > want {
				return fmt.Errorf("got %v advertisements in %d, want at most %v of this bundle", got, window, want)
			}
		}
	}
	return nil
}

// unit is a member of the random bundles: five of 800G, so that few of them
// lie beyond the levels that are one step apart.
const unit = 5 * member

func drawBundleStage(r *rand.Rand) BundleStage {
	ticks := func(n int) time.Duration { return time.Duration(r.IntN(n)) }
	switch r.IntN(4) {
	case 0:
		return HoldDown{T: ticks(20)}
	case 1:
		h := HoldDown{T: 1 + ticks(10)}
		h.Max = h.T + ticks(60)
		h.Forget = h.Max + ticks(40)
		return h
	case 2:
		return CarrierDelay{Down: backoffOf(uint8(r.UintN(256)), uint8(r.UintN(256))), Up: backoffOf(uint8(r.UintN(256)), uint8(r.UintN(256)))}
	}
	return Deadband{Skip: r.IntN(4), Every: 1 + r.IntN(4)}
}

func drawToldStage(r *rand.Rand) ToldStage {
	q := Quantize{Step: member, Error: float64(r.IntN(101)) / 100, Rounding: Rounding(r.IntN(3))}
	switch r.IntN(7) {
	case 0:
		return q
	case 1:
		q.Fixed = []uint64{uint64(1+r.IntN(40)) * member, 33 * member}
		return q
	case 2:
		return Quantize{Step: member, Error: q.Error, Anchor: uint64(20+r.IntN(30))*member + uint64(r.IntN(2))*300e9}
	case 3:
		return Hysteresis{Quantize: q, Margin: float64(r.IntN(51)) / 100}
	case 4:
		return Pace{Interval: time.Duration(r.IntN(30)), Jitter: r.IntN(2) == 0, Seed: r.Uint64()}
	case 5:
		return penaltyOf(byte(r.UintN(256)), byte(r.UintN(256)), byte(r.UintN(256)), byte(r.UintN(256)))
	}
	return stormOf(uint8(r.UintN(256)), uint8(r.UintN(256)), uint8(r.UintN(256)), uint8(r.UintN(256)))
}

func drawPipeline(r *rand.Rand) Pipeline {
	p := Pipeline{Name: "drawn"}
	for range r.IntN(3) {
		p.Bundle = append(p.Bundle, drawBundleStage(r))
	}
	for range r.IntN(4) {
		p.Told = append(p.Told, drawToldStage(r))
	}
	return p
}

// adversary draws one of the patterns that timed policies are weak against.
func adversary(r *rand.Rand) []sample {
	var series []sample
	at := time.Duration(0)
	add := func(gap time.Duration, members int) {
		at += gap
		series = append(series, sample{at, uint64(members) * unit})
	}
	gap := time.Duration(1 + r.IntN(30))
	switch r.IntN(4) {
	case 0: // oscillation between two values
		a, b := r.IntN(8), r.IntN(8)
		for range 25 {
			add(gap, a)
			add(time.Duration(r.IntN(2))*gap, b)
		}
	case 1: // sawtooth
		for range 4 {
			for m := 7; m >= r.IntN(2); m-- {
				add(0, m)
			}
			for m := 1; m <= 7; m++ {
				add(time.Duration(r.IntN(2)), m)
			}
			add(gap, 7)
		}
	case 2: // slow ramp up and down
		for m := 0; m < 8; m++ {
			add(gap, m)
		}
		for m := 7; m >= 0; m-- {
			add(gap, m)
		}
	default: // bursts with rests
		for range 6 {
			for range 6 {
				add(time.Duration(r.IntN(2)), r.IntN(8))
			}
			add(10*gap, 7)
		}
	}
	return series
}

var lawInfo = BundleInfo{Members: 7, Speed: unit}

func inUnits(series []sample) []sample {
	out := make([]sample, len(series))
	for i, s := range series {
		out[i] = sample{s.At, s.Capacity * unit}
	}
	return out
}

func lawsHold(t *testing.T, p Pipeline, series []sample, storm *rand.Rand) bool {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Errorf("%v", err)
		return false
	}
	run := newLawRun(p, lawInfo)
	if storm != nil {
		run.churn = func(time.Duration) int { return storm.IntN(20) }
	}
	if err := run.run(series); err != nil {
		t.Errorf("%v\nseries %v\nlaw %+v\n%v", p, series, run.law, err)
		return false
	}
	return true
}

func TestLawsHoldForEveryPipeline(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 3000
	ps := gopter.NewProperties(params)
	ps.Property("on random series", prop.ForAll(func(seed uint64, series []sample) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		return lawsHold(t, drawPipeline(r), inUnits(series), r)
	}, gen.UInt64(), genSeries()))
	ps.Property("on adversarial series", prop.ForAll(func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 2))
		return lawsHold(t, drawPipeline(r), adversary(r), nil)
	}, gen.UInt64()))
	ps.Property("for each bundle stage alone", prop.ForAll(func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 3))
		return lawsHold(t, Pipeline{Bundle: []BundleStage{drawBundleStage(r)}}, adversary(r), nil)
	}, gen.UInt64()))
	ps.Property("for each told stage alone", prop.ForAll(func(seed uint64) bool {
		r := rand.New(rand.NewPCG(seed, 4))
		return lawsHold(t, Pipeline{Told: []ToldStage{drawToldStage(r)}}, adversary(r), r)
	}, gen.UInt64()))
	ps.TestingRun(t)
}

// The rise that pace tells at 27 waits in storm-guard until 30; then pace's own
// three of the next interval follow.
func TestWhatWaitedBeforeAWindowMayBeToldInIt(t *testing.T) {
	p := Pipeline{Told: []ToldStage{Pace{Interval: 20}, StormGuard{Interval: 5, High: 4, Low: 3, MaxPause: 10}}}
	run := newLawRun(p, lawInfo)
	run.churn = func(time.Duration) int { return 5 }
	if err := run.run(inUnits([]sample{{7, 2}, {15, 3}, {21, 3}, {29, 3}, {37, 0}, {41, 2}, {48, 0}})); err != nil {
		t.Error(err)
	}
	if got, want := worstWindow(run.adverts, 19), p.Law().Adverts(19); got != 4 || want != 4 {
		t.Errorf("got %d advertisements at %v in 19, law %v, want 4 and 4", got, run.adverts, want)
	}
}

func FuzzLaws(f *testing.F) {
	f.Add(uint64(1), []byte{0, 7, 3, 2, 9, 7, 15, 0, 1, 7})
	f.Fuzz(func(t *testing.T, seed uint64, raw []byte) {
		r := rand.New(rand.NewPCG(seed, 5))
		lawsHold(t, drawPipeline(r), inUnits(seriesOf(raw[:min(len(raw), 128)])), r)
	})
}

func TestLawOfEachStageIsAFunctionOfItsParameters(t *testing.T) {
	const s = time.Second
	withhold, err := PenaltyProfile(ProfileCisco)
	if err != nil {
		t.Fatal(err)
	}
	lowest := withhold
	withhold.OnSuppress = Withhold
	inf := math.Inf(1)
	cases := []struct {
		name    string
		law     Law
		settle  time.Duration
		late    time.Duration
		over    float64
		adverts float64 // in an hour
		rate    float64 // in an hour, of 32 members without a return
	}{
		{"holddown", HoldDown{T: 30 * s}.Law(), 30 * s, 0, 0, inf, 65 * 121},
		{"holddown doubling", HoldDown{T: 30 * s, Max: 480 * s, Forget: 960 * s}.Law(), 480 * s, 0, 0, inf, 65 * (5*5 + 7 + 1)},
		{"carrier-delay", CarrierDelay{Down: Fixed(2 * s), Up: Backoff{First: 10 * s, Max: 60 * s}}.Law(), 60 * s, 2 * s, 0, inf, 65 * 361},
		{"deadband", Deadband{Skip: 3, Every: 2}.Law(), 0, 0, 4, inf, inf},
		{"deadband of 64", Deadband{Skip: 3, Every: 1}.LawFor(BundleInfo{Members: 64, Speed: member}), 0, 0, 3, inf, inf},
		{"quantize", Quantize{Step: member, Error: 0.1}.Law(), 0, 0, 0.1, inf, inf},
		{"pace", Pace{Interval: 30 * s, Jitter: true}.Law(), 30 * s, 30 * s, 0, 3 * 161, 3 * 161},
		{"penalty that withholds", withhold.Law(), time.Hour, 0, 0, 16 * 3, 16 * 3},
		{"penalty that tells the lowest", lowest.Law(), time.Hour, 0, 0, inf, inf},
		{"storm-guard", DefaultStormGuard().Law(), 120 * s, 0, 0, inf, inf},
	}
	for _, c := range cases {
		l := c.law
		if l.Settle != c.settle || l.Late != c.late || math.Abs(l.Over-c.over) > 1e-12 {
			t.Errorf("%s: got settle %v, late %v, over %v, want %v, %v, %v", c.name, l.Settle, l.Late, l.Over, c.settle, c.late, c.over)
		}
		if adverts, rate := l.Adverts(time.Hour), l.Rate(time.Hour, 32, 0); adverts != c.adverts || rate != c.rate {
			t.Errorf("%s: got %v advertisements and rate %v in an hour, want %v and %v", c.name, adverts, rate, c.adverts, c.rate)
		}
	}
}
