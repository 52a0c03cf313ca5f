package damping

import (
	"slices"
	"testing"
	"time"
	"unsafe"
)

// busyStages are the stages of which each is benchmarked alone.
func busyStages() (bundle []BundleStage, told []ToldStage) {
	aggressive := Penalty{
		Withdraw: 1000, Attribute: 500, Suppress: 6000, Reuse: 750, Max: 50_000, HalfLife: 15 * time.Minute, MaxSuppress: time.Hour,
	}
	q := Quantize{Step: member, Error: 0.10, Rounding: Nearest}
	return []BundleStage{
			HoldDown{T: 30 * time.Second},
			HoldDown{T: 30 * time.Second, Max: 8 * time.Minute, Forget: 16 * time.Minute},
			CarrierDelay{Down: Fixed(time.Second), Up: Backoff{First: 200 * time.Millisecond, Max: 8 * time.Second}},
			Deadband{Skip: 8, Every: 4},
		}, []ToldStage{
			q,
			Quantize{Step: member, Error: 0.10, Anchor: 72 * member},
			Hysteresis{Quantize: q, Margin: 0.5},
			Pace{Interval: 30 * time.Second, Jitter: true},
			aggressive,
			DefaultStormGuard(),
		}
}

func stepBundle(p BundlePolicy, i int) {
	p.Step(time.Duration(i)*time.Second, uint64(i%64*(i/640%2)+i%9)*member)
}

func stepTold(p ToldPolicy, i int) {
	v := Value{Reach: Valued, Bits: uint64(i%64) * member}
	if i%50 == 0 {
		v = Value{}
	}
	p.Step(time.Duration(i)*10*time.Second, v)
}

func TestStepOfNoPolicyAllocates(t *testing.T) {
	bundle, told := busyStages()
	check := func(name string, step func(i int)) {
		i := 0
		for range 3000 { // every length of queue has been seen
			step(i)
			i++
		}
		if got := testing.AllocsPerRun(2000, func() { step(i); i++ }); got != 0 {
			t.Errorf("%s: got %v allocations per step, want 0", name, got)
		}
	}
	for _, s := range bundle {
		p := Pipeline{Bundle: []BundleStage{s}}.NewBundleFor(BundleInfo{Members: 64, Speed: member})
		check(s.String(), func(i int) { stepBundle(p, i) })
	}
	for _, s := range told {
		p := s.NewTold()
		check(s.String(), func(i int) { stepTold(p, i) })
	}
	chain := Pipeline{Told: slices.Concat(told, told)}.NewTold()
	check("all in a chain", func(i int) {
		stepTold(chain, i)
		chain.(AttributeHearer).AttributeChange(time.Duration(i) * 10 * time.Second)
	})
}

// A network of 10^5 prefixes times speakers holds one of each.
func TestStateOfAPrefixIsSmall(t *testing.T) {
	for name, size := range map[string]uintptr{
		"quantize": unsafe.Sizeof(quantized{}), "hysteresis": unsafe.Sizeof(sticky{}), "pace": unsafe.Sizeof(paced{}),
		"penalty": unsafe.Sizeof(penalized{}), "storm-guard": unsafe.Sizeof(guarded{}),
	} {
		if size > 80 {
			t.Errorf("%s: got %d bytes, want at most 80", name, size)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	bundle, told := busyStages()
	for _, s := range bundle {
		p := Pipeline{Bundle: []BundleStage{s}}.NewBundleFor(BundleInfo{Members: 64, Speed: member})
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				stepBundle(p, i)
			}
		})
	}
	for _, s := range told {
		p := s.NewTold()
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				stepTold(p, i)
			}
		})
	}
}
