package damping

import (
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
)

// bundleTwin is a slow twin of a bundle policy. It is asked at every tick, has
// no timers, and hears each change as it comes.
type bundleTwin interface {
	tick(now time.Duration) // time has come to now; nothing has changed yet
	change(now time.Duration, capacity uint64)
	passed() Passed
}

// checkBundle drives a policy by its timers beside a twin that looks at every
// tick: what they pass must be the same at all times.
func checkBundle(t *testing.T, p BundlePolicy, twin bundleTwin, series []sample, rest time.Duration) {
	t.Helper()
	if len(series) == 0 {
		return
	}
	var got Passed
	next, end := Never, series[len(series)-1].At+rest
	for now, i := time.Duration(0), 0; now <= end; now++ {
		twin.tick(now)
		if next <= now {
			got, next = p.Step(now, series[i-1].Capacity)
		}
		for ; i < len(series) && series[i].At == now; i++ {
			got, next = p.Step(now, series[i].Capacity)
			twin.change(now, series[i].Capacity)
		}
		if i > 0 && got != twin.passed() {
			t.Fatalf("series %v, at %d: got %v, want %v", series, now, got, twin.passed())
		}
		if next <= now {
			t.Fatalf("series %v, at %d: got next %d, want a later time", series, now, next)
		}
	}
	if next != Never {
		t.Fatalf("series %v: got next %d at %d, want Never", series, next, end)
	}
}

// toldSample is one change of the input of a told policy. Attributes says that
// the attributes alone changed.
type toldSample struct {
	At         time.Duration
	In         Value
	Attributes bool
}

// toldTwin is bundleTwin for told values.
type toldTwin interface {
	tick(now time.Duration)
	change(now time.Duration, in Value, attributes bool)
	told() Value
}

// checkTold is checkBundle for told values.
func checkTold(t *testing.T, p ToldPolicy, twin toldTwin, series []toldSample, rest time.Duration) {
	t.Helper()
	if len(series) == 0 {
		return
	}
	var got, in Value
	next, end := Never, series[len(series)-1].At+rest
	for now, i := time.Duration(0), 0; now <= end; now++ {
		twin.tick(now)
		if next <= now {
			got, next = p.Step(now, in)
		}
		for ; i < len(series) && series[i].At == now; i++ {
			s := series[i]
			switch hears, ok := p.(AttributeHearer); {
			case i > 0 && s.Attributes && ok:
				got, next = hears.AttributeChange(now)
				twin.change(now, in, true)
			case i == 0 || !s.Attributes && s.In != in:
				in = s.In
				got, next = p.Step(now, in)
				twin.change(now, in, false)
			}
		}
		if i > 0 && got != twin.told() {
			t.Fatalf("series %v, at %d: got %v, want %v", series, now, got, twin.told())
		}
		if next <= now {
			t.Fatalf("series %v, at %d: got next %d, want a later time", series, now, next)
		}
	}
	if next != Never {
		t.Fatalf("series %v: got next %d at %d, want Never", series, next, end)
	}
}

// toldSeriesOf reads pairs of bytes: the time since the last change, and what
// changed: 0 lost, 1 no value, 2 attributes alone, else a value in units.
func toldSeriesOf(raw []byte, unit uint64) []toldSample {
	var series []toldSample
	at := time.Duration(0)
	for pair := range slices.Chunk(raw, 2) {
		if len(pair) < 2 {
			break
		}
		at += time.Duration(pair[0] % 16)
		s := toldSample{At: at}
		switch k := pair[1] % 16; k {
		case 0:
		case 1:
			s.In = Value{Reach: Unvalued}
		case 2:
			s.Attributes = true
		default:
			s.In = Value{Reach: Valued, Bits: uint64(k) * unit}
		}
		series = append(series, s)
	}
	return series
}

func genBytes() gopter.Gen {
	return gen.SliceOf(gen.UInt8()).Map(func(raw []uint8) []byte { return raw })
}

func genByte() gopter.Gen { return gen.UInt8() }
