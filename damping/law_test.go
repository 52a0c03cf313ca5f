package damping

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestLawOfQuantizeByRounding(t *testing.T) {
	cases := []struct {
		r           Rounding
		over, under float64
	}{
		{Up, 0.10, 0},
		{Down, 0, 0.1 / 1.1},
		{Nearest, 0.1 / 2.1, 0.1 / 2.1},
	}
	for _, c := range cases {
		q := Quantize{Step: member, Error: 0.10, Rounding: c.r}
		got := q.Law()
		if got.Over != c.over || math.Abs(got.Under-c.under) > 1e-15 || got.Settle != 0 || got.PerChange != 1 {
			t.Errorf("%v: got %+v, want over %v, under %v, at once, 1 per change", q, got, c.over, c.under)
		}
		if rate := got.Rate(time.Hour, 32, 0); !math.IsInf(rate, 1) {
			t.Errorf("%v: got rate %v, want +Inf: it keeps no time", q, rate)
		}
	}
}

func TestToldIsInRangeOfEveryMultipleOfTheStep(t *testing.T) {
	for _, e := range []float64{0, 0.01, 0.05, 0.10, 0.5, 1} {
		for _, r := range roundings {
			q := Quantize{Step: member, Error: e, Rounding: r}
			g, law := q.Grid(), q.Law()
			worst := 0.0
			for n := uint64(1); n <= 3000; n++ {
				x := n * member
				got := g.Level(x)
				low, high := law.Range(x)
				if got < low || got > high {
					t.Errorf("%v: %d members told as %d, want %d to %d", q, n, got/member, low/member, high/member)
				}
				worst = max(worst, float64(got)/float64(x)-1, 1-float64(got)/float64(x))
			}
			// A bound that nothing comes near would be no law.
			if bound := max(law.Over, law.Under); worst < 0.9*bound {
				t.Errorf("%v: got worst error %v, want it near the bound %v", q, worst, bound)
			}
		}
	}
}

func TestToldIsInRangeOfAnyValue(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 1000
	ps := gopter.NewProperties(params)
	ps.Property("one quantizer", prop.ForAll(func(d drawnGrid, x uint64) bool {
		if x > math.MaxUint64/d.Step*d.Step {
			return true // above the last level
		}
		q := Quantize{Step: d.Step, Error: float64(d.PPM) / millionths, Rounding: d.Rounding}
		told := q.Grid().Level(x)
		low, high := q.Law().Range(x)
		return low <= told && told <= high
	}, genGrid(), genBits()))
	ps.Property("two in a row, whatever their steps", prop.ForAll(func(a, b drawnGrid, shared bool, x uint64) bool {
		a.Step, b.Step = a.Step%1e12+1, b.Step%1e12+1
		if shared {
			a.Step = b.Step * (1 + a.Step%4)
		}
		x >>= 2 // below the last levels
		p := Pipeline{Told: []ToldStage{
			Quantize{Step: a.Step, Error: float64(a.PPM) / millionths, Rounding: a.Rounding},
			Quantize{Step: b.Step, Error: float64(b.PPM) / millionths, Rounding: b.Rounding},
		}}
		told, _ := p.NewTold().Step(0, Value{Reach: Valued, Bits: x})
		low, high := p.Law().Range(x)
		return low <= told.Bits && told.Bits <= high
	}, genGrid(), genGrid(), gen.Bool(), genBits()))
	ps.TestingRun(t)
}

func TestLawsCombine(t *testing.T) {
	up := Quantize{Step: member, Error: 0.10}
	hold := HoldDown{T: 30 * time.Second}
	cases := []struct {
		name string
		p    Pipeline
		want Law
	}{
		{"empty", Pipeline{}, Law{PerChange: 1}},
		{"bag-default", Pipeline{Bundle: []BundleStage{hold}, Told: []ToldStage{up}},
			Law{Over: 0.10, Step: member, OverSlack: member, Settle: hold.T, Spacing: hold.T, PerChange: 1}},
		{"hold-downs add their times", Pipeline{Bundle: []BundleStage{hold, HoldDown{T: time.Second}}},
			Law{Settle: 31 * time.Second, Spacing: 30 * time.Second, PerChange: 1}},
		{"what keeps falls back takes its time from the spacing before", Pipeline{Bundle: []BundleStage{hold, CarrierDelay{Down: Fixed(10 * time.Second)}}},
			Law{Settle: 40 * time.Second, Late: 10 * time.Second, Spacing: 20 * time.Second, PerChange: 1}},
		{"0 told as the lowest level goes through the next stage", Pipeline{Told: []ToldStage{
			Quantize{Step: member, Anchor: 72 * member}, Quantize{Step: 4 * member, Error: 1}}},
			Law{Over: 1, UnderSlack: member/2 + 1, OverSlack: 6 * member, Zero: 6*member + member>>equalShift + 1, Top: 72 * member, PerChange: 1}},
		{"errors multiply, one step for all", Pipeline{Told: []ToldStage{
			Quantize{Step: member, Error: 0.5}, Quantize{Step: member, Error: 1}}},
			Law{Over: 2, Step: member, OverSlack: 2 * member, PerChange: 1}},
		{"no multiples are free when steps do not divide", Pipeline{Told: []ToldStage{
			Quantize{Step: member, Error: 1}, Quantize{Step: 3 * member, Error: 1}}},
			Law{Over: 3, OverSlack: 5 * member, PerChange: 1}},
	}
	for _, c := range cases {
		if got := c.p.Law(); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestRangeSaturates(t *testing.T) {
	l := Law{Over: 1, Under: 1, OverSlack: math.MaxUint64, UnderSlack: math.MaxUint64}
	if low, high := l.Range(math.MaxUint64); low != 0 || high != math.MaxUint64 {
		t.Errorf("got %d to %d, want 0 to MaxUint64", low, high)
	}
	if low, high := l.Range(0); low != 0 || high != 0 {
		t.Errorf("of 0: got %d to %d, want 0 to 0", low, high)
	}
	l = Law{Under: 0.5, PerChange: 1}
	if low, _ := l.Range(math.MaxUint64); low > math.MaxUint64/2 {
		t.Errorf("half of MaxUint64: got low %d, want at most %d", low, uint64(math.MaxUint64/2))
	}
}

// worstWindow is the most of the times that lie within one window, ends included.
func worstWindow(at []time.Duration, window time.Duration) int {
	worst, first := 0, 0
	for i := range at {
		for at[i]-at[first] > window {
			first++
		}
		worst = max(worst, i-first+1)
	}
	return worst
}

// returnsIn is the most comings back from down within one window.
func returnsIn(series []sample, window time.Duration) int {
	var at []time.Duration
	for i := 1; i < len(series); i++ {
		if series[i-1].Capacity == 0 && series[i].Capacity > 0 {
			at = append(at, series[i].At)
		}
	}
	return worstWindow(at, window)
}

// checkRate holds what a bundle passes against Law.Rate in windows around every
// multiple of T, alone and, with trials taken as down, for no returns at all.
func checkRate(t *testing.T, law Law, policy func() BundlePolicy, members int, series []sample) {
	t.Helper()
	out := drive(policy(), series)
	var all, withOther []time.Duration
	used := uint64(0)
	for i, o := range out {
		if i > 0 {
			all = append(all, o.At)
		}
		now := o.Capacity
		if o.Trial {
			now = 0
		}
		if now != used && i > 0 {
			withOther = append(withOther, o.At)
		}
		used = now
	}
	for n := time.Duration(0); n < 4; n++ {
		for _, window := range []time.Duration{n * law.Spacing, n*law.Spacing + law.Spacing/2, (n+1)*law.Spacing - 1} {
			if got, want := float64(worstWindow(all, window)), law.Rate(window, members, returnsIn(series, window)); got > want {
				t.Fatalf("series %v: got %v changes in %d, want at most %v", series, got, window, want)
			}
			if got, want := float64(worstWindow(withOther, window)), law.Rate(window, members, 0); got > want {
				t.Fatalf("series %v: got %v changes in %d with another candidate, want at most %v", series, got, window, want)
			}
		}
	}
}

// sawtooth falls and rises by single members as fast as it can: the adversary
// that Law.Rate is derived from.
func sawtooth(members int, hold time.Duration, rounds int, down bool) []sample {
	series := []sample{{0, uint64(members)}}
	at := time.Duration(0)
	least := 1
	if down {
		least = 0
	}
	for range rounds {
		for m := members - 1; m >= least; m-- {
			series = append(series, sample{at, uint64(m)})
		}
		for m := least + 1; m <= members; m++ {
			series = append(series, sample{at, uint64(m)})
		}
		at += hold
	}
	return series
}

func TestRateHoldsAgainstAdversaries(t *testing.T) {
	const hold = 12
	rng := rand.New(rand.NewPCG(1, 2))
	single := func() BundlePolicy { return HoldDown{T: hold}.NewBundle() }
	chain := Pipeline{Bundle: []BundleStage{HoldDown{T: 4}, HoldDown{T: hold}, HoldDown{T: 7}}}
	for members := 1; members <= 8; members++ {
		for _, down := range []bool{false, true} {
			checkRate(t, HoldDown{T: hold}.Law(), single, members, sawtooth(members, hold, 6, down))
			checkRate(t, chain.Law(), chain.NewBundle, members, sawtooth(members, hold+11, 6, down))
		}
		for range 300 {
			checkRate(t, HoldDown{T: hold}.Law(), single, members, randomSeries(rng, hold, members))
			checkRate(t, chain.Law(), chain.NewBundle, members, randomSeries(rng, hold, members))
		}
	}
}

func randomSeries(rng *rand.Rand, hold time.Duration, members int) []sample {
	var series []sample
	at := time.Duration(0)
	steps := []time.Duration{0, 0, 0, 1, hold - 1, hold, hold + 1}
	for range 60 {
		series = append(series, sample{at, uint64(rng.IntN(members + 1))})
		at += steps[rng.IntN(len(steps))]
	}
	return series
}

func TestRateIsNotFarFromWhatTheSawtoothReaches(t *testing.T) {
	const hold, members = 10, 6
	out := drive(HoldDown{T: hold}.NewBundle(), sawtooth(members, hold, 8, false))
	var at []time.Duration
	for _, o := range out[1:] {
		at = append(at, o.At)
	}
	law := HoldDown{T: hold}.Law()
	for window := time.Duration(0); window < 5*hold; window += hold {
		got, bound := float64(worstWindow(at, window)), law.Rate(window, members, 0)
		if got < 0.4*bound || got > bound {
			t.Errorf("window %d: got %v changes, want 0.4 to 1 times the bound %v", window, got, bound)
		}
	}
}

func TestRateWithoutHoldDownIsInfinite(t *testing.T) {
	for _, p := range []Pipeline{{}, {Bundle: []BundleStage{HoldDown{}}}} {
		if got := p.Law().Rate(time.Second, 1, 0); !math.IsInf(got, 1) {
			t.Errorf("%v: got rate %v, want +Inf", p, got)
		}
	}
}

// TestLawsOfThePipeline drives one bundle whose capacity is the bottleneck
// through whole pipelines: laws 1, 3 and 4, and 2 as adverts per change.
func TestLawsOfThePipeline(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 300
	ps := gopter.NewProperties(params)
	ps.Property("told within the law", prop.ForAll(
		func(hold time.Duration, r Rounding, e float64, series []sample) bool {
			p := Pipeline{
				Bundle: []BundleStage{HoldDown{T: hold}},
				Told:   []ToldStage{Quantize{Step: member, Error: math.Round(e*100) / 100, Rounding: r}},
			}
			if err := checkPipeline(p, series); err != nil {
				t.Log(err)
				return false
			}
			return true
		}, genHold(), gen.OneConstOf(Up, Down, Nearest), gen.Float64Range(0, 1), genSeries()))
	ps.TestingRun(t)
}

func checkPipeline(p Pipeline, series []sample) error {
	bundle, prefix, law := p.NewBundle(), p.NewTold(), p.Law()
	next, there := Never, uint64(0)
	var last Value
	changes, adverts := 0, 0
	var passedBefore Passed
	step := func(at time.Duration) error {
		passed, n := bundle.Step(at, there)
		next = n
		in := Value{Reach: Valued, Bits: passed.Capacity}
		if passed.Capacity == 0 {
			in = Value{Reach: Gone}
		}
		told, _ := prefix.Step(at, in)
		if passed != passedBefore {
			changes++
		}
		if told != last {
			adverts++
		}
		passedBefore, last = passed, told
		if (there == 0) != (told.Reach == Gone) {
			return fmt.Errorf("%v: at %d, %d there: got %v told, want a loss at once and a return at once", p, at, there, told)
		}
		if _, high := law.Range(there); told.Bits > high {
			return fmt.Errorf("%v: at %d: got %d told of %d, want at most %d", p, at, told.Bits, there, high)
		}
		return nil
	}
	for _, s := range series {
		for next <= s.At {
			if err := step(next); err != nil {
				return err
			}
		}
		there = s.Capacity * 5 * member // beyond the dense levels
		if err := step(s.At); err != nil {
			return err
		}
	}
	if len(series) == 0 {
		return nil
	}
	settled := later(series[len(series)-1].At, law.Settle)
	for next != Never {
		if next > settled {
			return fmt.Errorf("%v: got a timer at %d, want all settled at %d", p, next, settled)
		}
		if err := step(next); err != nil {
			return err
		}
	}
	if low, high := law.Range(there); there > 0 && (last.Bits < low || last.Bits > high) {
		return fmt.Errorf("%v: settled: got %d told of %d, want %d to %d", p, last.Bits, there, low, high)
	}
	if most := law.PerChange * changes; adverts > most {
		return fmt.Errorf("%v: got %d advertisements for %d changes, want at most %d", p, adverts, changes, most)
	}
	return nil
}
