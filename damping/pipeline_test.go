package damping

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// delay is a told stage with time, for tests: every value but Gone passes T late.
// It counts its steps, and fails those that the contract does not allow.
type delay struct {
	T time.Duration
	t *testing.T
}

func (d delay) NewTold() ToldPolicy { return &delayed{delay: d, next: Never} }
func (d delay) Law() Law            { return Law{Settle: d.T, PerChange: 1} }
func (d delay) String() string      { return "delay " + d.T.String() }

type delayed struct {
	delay
	started bool
	in, out Value
	next    time.Duration
}

func (d *delayed) Step(now time.Duration, in Value) (Value, time.Duration) {
	due := d.next <= now
	if d.started && !due && in == d.in {
		d.t.Errorf("delay %v: stepped at %v without a change or a due timer", d.T, now)
	}
	if due {
		d.out, d.next = d.in, Never
	}
	if in != d.in || !d.started {
		d.in, d.next, d.started = in, now+d.T, true
	}
	if in.Reach == Gone {
		d.out, d.next = in, Never
	}
	return d.out, d.next
}

func TestChainStepsAStageOnlyWhenItsInputChangesOrItsTimerIsDue(t *testing.T) {
	up := Quantize{Step: 1, Error: 0.10}
	p := Pipeline{Told: []ToldStage{delay{T: 10, t: t}, up, delay{T: 3, t: t}}}.NewTold()
	valued := func(n uint64) Value { return Value{Reach: Valued, Bits: n} }
	cases := []struct {
		at   time.Duration
		in   Value
		want Value
		next time.Duration
	}{
		{0, valued(31), Value{}, 10},  // nothing told yet, which sets no timer behind the first stage
		{3, valued(31), Value{}, 10},  // too early: no stage is stepped
		{10, valued(31), Value{}, 13}, // the first passes 31, quantized to 33, and the last waits
		{13, valued(31), valued(33), Never},
		{20, valued(32), valued(33), 30}, // pending in the first stage
		{30, valued(32), valued(33), Never},
		{31, Value{Reach: Gone}, Value{Reach: Gone}, Never}, // law 4 through the whole chain
	}
	for _, c := range cases {
		got, next := p.Step(c.at, c.in)
		if got != c.want || next != c.next {
			t.Errorf("at %d, %v: got %v, next %d, want %v, next %d", c.at, c.in, got, next, c.want, c.next)
		}
	}
}

func TestChainOfHoldDownsAddsTheirTimesAndOrsTheirTrials(t *testing.T) {
	const s = time.Second
	p := Pipeline{Bundle: []BundleStage{HoldDown{T: 10 * s}, HoldDown{T: 30 * s}, HoldDown{T: 5 * s}}}
	got := drive(p.NewBundle(), []sample{{0, 32}, {100 * s, 24}, {101 * s, 32}, {200 * s, 0}, {201 * s, 16}})
	want := []told{
		{0, Passed{Capacity: 32}},
		{100 * s, Passed{Capacity: 24}},
		{146 * s, Passed{Capacity: 32}}, // 101 + 10 + 30 + 5
		{200 * s, Passed{}},
		{201 * s, Passed{16, true}},
		{231 * s, Passed{Capacity: 16}}, // the longest trial
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

func TestChainOfHoldDownsPassesAsOneOfTheirSum(t *testing.T) {
	ps := gopter.NewProperties(nil)
	ps.Property("same capacities, at the same times", prop.ForAll(
		func(a, b time.Duration, series []sample) bool {
			chain := Pipeline{Bundle: []BundleStage{HoldDown{T: a}, HoldDown{T: b}}}
			capacities := func(p BundlePolicy) []told {
				var out []told
				for _, o := range drive(p, series) {
					o.Trial = false
					if len(out) == 0 || out[len(out)-1].Passed != o.Passed {
						out = append(out, o)
					}
				}
				return out
			}
			return cmp.Equal(capacities(chain.NewBundle()), capacities(HoldDown{T: a + b}.NewBundle()))
		}, genHold(), genHold(), genSeries()))
	ps.TestingRun(t)
}

func TestChainTreatsAnEarlierTimeAsTheLast(t *testing.T) {
	p := Pipeline{Bundle: []BundleStage{HoldDown{T: 10}, HoldDown{T: 10}}}.NewBundle()
	p.Step(100, 5)
	if got, next := p.Step(50, 9); got.Capacity != 5 || next != 110 {
		t.Errorf("bundle: got %v, next %v, want 5, next 110", got, next)
	}
	q := Pipeline{Told: []ToldStage{Quantize{Step: 1}, delay{T: 10, t: t}}}.NewTold()
	q.Step(100, Value{Reach: Valued, Bits: 5})
	if _, next := q.Step(50, Value{Reach: Valued, Bits: 6}); next != 110 {
		t.Errorf("told: got next %v, want 110", next)
	}
}

func TestEmptyPipelinePassesEverythingAtOnce(t *testing.T) {
	var p Pipeline
	if got, next := p.NewBundle().Step(3, 7); got != (Passed{Capacity: 7}) || next != Never {
		t.Errorf("bundle: got %v, %v, want 7 and Never", got, next)
	}
	in := Value{Reach: Valued, Bits: 7}
	if got, next := p.NewTold().Step(3, in); got != in || next != Never {
		t.Errorf("told: got %v, %v, want %v and Never", got, next, in)
	}
}

func TestPipelineKnowsWhetherItsToldStagesKeepTime(t *testing.T) {
	up := Quantize{Step: member, Error: 0.10}
	cases := []struct {
		name  string
		p     Pipeline
		timed bool
		grid  bool
	}{
		{"empty", Pipeline{}, false, false},
		{"hold-down only", Pipeline{Bundle: []BundleStage{HoldDown{T: 1}}}, false, false},
		{"one quantizer", Pipeline{Told: []ToldStage{up}}, false, true},
		{"two quantizers", Pipeline{Told: []ToldStage{up, up}}, false, false},
		{"a delay", Pipeline{Told: []ToldStage{delay{T: 1}}}, true, false},
		{"a quantizer and a delay", Pipeline{Told: []ToldStage{up, delay{T: 1}}}, true, false},
	}
	for _, c := range cases {
		if got := c.p.Timed(); got != c.timed {
			t.Errorf("%s: Timed: got %v, want %v", c.name, got, c.timed)
		}
		if got := c.p.Memoryless(); got == c.timed {
			t.Errorf("%s: Memoryless: got %v, want %v", c.name, got, !c.timed)
		}
		if got := c.p.Quantizer() != nil; got != c.grid {
			t.Errorf("%s: Quantizer: got one %v, want %v", c.name, got, c.grid)
		}
	}
}

func TestValidateNamesThePipelineAndTheStage(t *testing.T) {
	cases := []struct {
		p    Pipeline
		want string
	}{
		{Pipeline{Name: "x", Bundle: []BundleStage{HoldDown{}, HoldDown{T: -1}}}, `pipeline "x": bundle stage 2: holddown: T -1ns`},
		{Pipeline{Name: "x", Bundle: []BundleStage{nil}}, `pipeline "x": bundle stage 1 is nil`},
		{Pipeline{Name: "y", Told: []ToldStage{Quantize{}}}, `pipeline "y": told stage 1: quantize: step 0`},
	}
	for _, c := range cases {
		if err := c.p.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	ok := Pipeline{Told: []ToldStage{delay{T: 1}, Quantize{Step: 1}}, Bundle: []BundleStage{HoldDown{}}}
	if err := ok.Validate(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestPresetsByName(t *testing.T) {
	want := map[string]string{
		"none":        "none: passes everything at once",
		"bag-default": "bag-default: holddown 30s | quantize step 800G error 10% up",
		"bgp++":       "bgp++: quantize step 800G error 10% up anchor 52428800G",
		"openconfig":  "openconfig: holddown 30s",
		"rfd-cisco":   "rfd-cisco: penalty 1000/0/500 above 2000 reuse 750 half-life 15m0s at most 1h0m0s on suppress withdraw",
		"rfd-7196":    "rfd-7196: penalty 1000/0/500 above 6000 reuse 750 half-life 15m0s at most 1h0m0s on suppress withdraw",
	}
	for _, name := range Presets() {
		p, err := Preset(name, member)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.String(); got != want[name] {
			t.Errorf("got %q, want %q", got, want[name])
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("got none of %v in Presets()", want)
	}
	if _, err := Preset("none", 0); err != nil {
		t.Errorf("none needs no step: got %v", err)
	}
}

func TestPresetRefusesUnknownNamesAndNoStep(t *testing.T) {
	cases := []struct {
		name string
		step uint64
		want string
	}{
		{"bgp", member, `damping preset "bgp": want one of bag-default, none, bgp++, openconfig, rfd-cisco, rfd-7196`},
		{"", member, `damping preset "": want one of bag-default, none, bgp++, openconfig, rfd-cisco, rfd-7196`},
		{"bag-default", 0, `damping preset "bag-default": quantize: step 0: want 1 bit/s or more`},
	}
	for _, c := range cases {
		if _, err := Preset(c.name, c.step); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestPresetsHaveAFiniteRateUnlessTheySayNot(t *testing.T) {
	for _, name := range Presets() {
		p, err := Preset(name, member)
		if err != nil {
			t.Fatal(err)
		}
		finite := !math.IsInf(p.Law().Rate(time.Hour, 32, 0), 1)
		if want := name != PresetNone && name != PresetBGPPP; finite != want {
			t.Errorf("%s: finite law 2: got %v, want %v", name, finite, want)
		}
	}
}

// The flap of the embedded scenarios: 20 times, 10 s, half a period down.
func TestBagDefaultTellsAFlapAcrossALevelOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		members uint64 // in the low half
		want    []uint64
	}{
		{"inside the level of 32, which is 33", 31, []uint64{33}},
		{"across a level", 24, []uint64{33, 24, 33}},
	} {
		p, err := Preset(PresetBagDefault, member)
		if err != nil {
			t.Fatal(err)
		}
		series := []sample{{0, 32 * member}}
		for i := range time.Duration(20) {
			low := 100*time.Second + i*10*time.Second
			series = append(series, sample{low, c.members * member}, sample{low + 5*time.Second, 32 * member})
		}
		prefix := p.NewTold()
		var got []uint64
		for _, o := range drive(p.NewBundle(), series) {
			v, _ := prefix.Step(o.At, Value{Reach: Valued, Bits: o.Capacity})
			if len(got) == 0 || got[len(got)-1] != v.Bits/member {
				got = append(got, v.Bits/member)
			}
		}
		if d := cmp.Diff(got, c.want); d != "" {
			t.Errorf("%s: members told: -got +want\n%s", c.name, d)
		}
	}
}

func TestStepOfThePipelineDoesNotAllocate(t *testing.T) {
	up := Quantize{Step: member, Error: 0.10}
	p := Pipeline{Told: []ToldStage{up, up}}.NewTold()
	n := uint64(0)
	if got := testing.AllocsPerRun(1000, func() {
		n++
		p.Step(time.Duration(n), Value{Reach: Valued, Bits: n * member})
	}); got != 0 {
		t.Errorf("got %v allocations per step, want 0", got)
	}
}

func BenchmarkBagDefault(b *testing.B) {
	p, err := Preset(PresetBagDefault, member)
	if err != nil {
		b.Fatal(err)
	}
	bundle, prefix := p.NewBundle(), p.NewTold()
	b.ReportAllocs()
	for i := range b.N {
		passed, _ := bundle.Step(time.Duration(i)*time.Second, uint64(i%64+1)*member)
		prefix.Step(time.Duration(i)*time.Second, Value{Reach: Valued, Bits: passed.Capacity})
	}
}
