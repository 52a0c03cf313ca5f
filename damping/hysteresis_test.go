package damping

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// twinSticky works out the range of values of every level, widens that of the
// told one, and looks whether the value is in it.
func twinSticky(q Quantize, margin float64, told, x uint64) uint64 {
	levels := twinLevels(q.Step, uint64(math.Round(q.Error*millionths)), 4*max(x, told)+4*q.Step)
	levels = levels[:min(len(levels), 4096)]
	own := twinLevel(q.Step, uint64(math.Round(q.Error*millionths)), q.Rounding, x)
	i := slices.Index(levels, told)
	if x == 0 || told == 0 || i < 0 {
		return own
	}
	for _, l := range levels {
		if distance(x, l) <= min(x, l)>>snapShift {
			return own
		}
	}
	// edges[i] is the low end of level i; edges[i+1] its high end.
	edges := []uint64{0}
	for k := 0; k+1 < len(levels); k++ {
		switch q.Rounding {
		case Up:
			edges = append(edges, levels[k])
		case Down:
			edges = append(edges, levels[k+1])
		case Nearest:
			edges = append(edges, levels[k]+(levels[k+1]-levels[k])/2)
		}
	}
	width := func(k int) float64 { return float64(edges[k+1] - edges[k]) }
	low, high := float64(edges[i]), math.Inf(1)
	if i > 0 {
		low -= margin * min(width(i-1), width(i))
	}
	if i+2 < len(edges) {
		high = float64(edges[i+1]) + margin*min(width(i), width(i+1))
	}
	if float64(x) > low && float64(x) < high && own != told {
		return told
	}
	return own
}

func TestHysteresisKeepsALevelWithinTheMargin(t *testing.T) {
	const m = member
	steps := func(r Rounding, margin float64) ToldPolicy {
		return Hysteresis{Quantize: Quantize{Step: m, Error: 0.10, Rounding: r}, Margin: margin}.NewTold()
	}
	type step struct{ x, want float64 } // members
	cases := []struct {
		name   string
		p      ToldPolicy
		series []step
	}{
		// Levels 26, 28, 30, 33, 36, 39.
		{"up: kept to a member below its edge, and the one below to a member above", steps(Up, 0.5),
			[]step{{32, 33}, {29.1, 33}, {28.9, 30}, {30.9, 30}, {31.1, 33}, {34.4, 33}, {34.6, 36}}},
		{"up: an exact level is told as itself", steps(Up, 0.5), []step{{32, 33}, {30, 30}, {30.9, 30}, {33, 33}, {36, 36}}},
		{"a small margin", steps(Up, 0.1), []step{{32, 33}, {29.9, 33}, {29.7, 30}, {30.1, 30}, {30.3, 33}}},
		{"down", steps(Down, 0.5), []step{{34, 33}, {36.9, 33}, {37.4, 33}, {37.6, 36}, {35, 36}, {34.4, 33}}},
		{"nearest", steps(Nearest, 0.25), []step{{32, 33}, {31, 33}, {30.9, 33}, {30.8, 30}, {32, 30}, {32.2, 33}}},
		{"far away at once", steps(Up, 0.5), []step{{32, 33}, {200, 215}, {5, 5}, {0, 0}, {29, 30}}},
		{"dense levels have no margin for whole members", steps(Up, 0.5), []step{{9, 9}, {10, 10}, {9, 9}, {9.4, 9}, {9.6, 10}}},
		{"margin 0 is the quantizer", steps(Up, 0), []step{{32, 33}, {29.99, 30}, {30.01, 33}}},
	}
	for _, c := range cases {
		for _, s := range c.series {
			got, next := c.p.Step(0, Value{Reach: Valued, Bits: uint64(s.x * m)})
			if got.Bits != uint64(s.want*m) || next != Never {
				t.Errorf("%s: %v members: got %v, next %v, want %v", c.name, s.x, float64(got.Bits)/m, next, s.want)
			}
		}
	}
}

func TestHysteresisForgetsALevelWithItsPath(t *testing.T) {
	for _, lost := range []Value{{}, {Reach: Unvalued}} {
		p := Hysteresis{Quantize: Quantize{Step: member, Error: 0.10}, Margin: 0.5}.NewTold()
		p.Step(0, Value{Reach: Valued, Bits: 32 * member})
		if got, _ := p.Step(0, lost); got != lost {
			t.Errorf("%v: got %v, want it unchanged", lost, got)
		}
		if got, _ := p.Step(0, Value{Reach: Valued, Bits: 29 * member}); got.Bits != 30*member {
			t.Errorf("after %v: got %d members told of 29, want 30", lost, got.Bits/member)
		}
	}
}

func TestHysteresisStopsAnOscillationAroundAnEdge(t *testing.T) {
	q := Quantize{Step: member, Error: 0.10}
	changes := func(p ToldPolicy) int {
		n, last := 0, Value{}
		for i := range 1000 {
			v, _ := p.Step(0, Value{Reach: Valued, Bits: uint64(30*member) + uint64(i%2)*member - 50e9})
			if v != last {
				n++
			}
			last = v
		}
		return n
	}
	if got := changes(q.NewTold()); got != 1000 {
		t.Errorf("without hysteresis: got %d changes, want 1000", got)
	}
	if got := changes(Hysteresis{Quantize: q, Margin: 0.5}.NewTold()); got != 1 {
		t.Errorf("with hysteresis: got %d changes, want 1", got)
	}
}

func TestHysteresisRefusesBadMargins(t *testing.T) {
	ok := Quantize{Step: member, Error: 0.10}
	for want, h := range map[string]Hysteresis{
		"hysteresis: margin 0.51: want 0 to 0.5":   {Quantize: ok, Margin: 0.51},
		"hysteresis: margin -0.1: want 0 to 0.5":   {Quantize: ok, Margin: -0.1},
		"hysteresis: margin NaN: want 0 to 0.5":    {Quantize: ok, Margin: math.NaN()},
		"hysteresis: quantize: step 0":             {Margin: 0.1},
		"hysteresis: anchor 4T: want an absolute ": {Quantize: Quantize{Step: member, Error: 0.10, Anchor: 5 * member}},
	} {
		if err := h.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := h.Built(); err == nil {
			t.Errorf("%v: Built: got no error", h)
		}
	}
	h, err := Hysteresis{Quantize: ok, Margin: 0.25}.Built()
	if err != nil || h.grid == nil {
		t.Errorf("got %v, %v, want a built grid", h, err)
	}
}

// walkOf draws values near each other, often beside levels and edges.
func walkOf(q Quantize, start uint64, moves []byte) []uint64 {
	levels := twinLevels(q.Step, uint64(math.Round(q.Error*millionths)), 300*q.Step)
	i := int(start % uint64(len(levels)))
	var walk []uint64
	for _, m := range moves {
		i = min(max(i+int(m%5)-2, 0), len(levels)-1)
		x := levels[i]
		if i+1 < len(levels) {
			x += (levels[i+1] - x) / 16 * uint64(m/5%17)
		}
		walk = append(walk, x+uint64(m%3)-1)
	}
	return walk
}

func checkHysteresis(t *testing.T, h Hysteresis, walk []uint64) {
	t.Helper()
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	p, law, told := h.NewTold(), h.Law(), uint64(0)
	for i, x := range walk {
		got, _ := p.Step(0, Value{Reach: Valued, Bits: x})
		want := twinSticky(h.Quantize, h.Margin, told, x)
		if got.Bits != want {
			t.Fatalf("%v: walk %v, at %d: got %d, want %d", h, walk, i, got.Bits, want)
		}
		told = want
		if low, high := law.Range(x); got.Bits < low || got.Bits > high {
			t.Fatalf("%v: %d told as %d, want %d to %d", h, x, got.Bits, low, high)
		}
	}
}

func hysteresisOf(step uint64, ppm uint32, rounding, margin uint8) Hysteresis {
	return Hysteresis{
		Quantize: Quantize{Step: step%1e12 + 1000, Error: float64(uint64(ppm)%990_001+10_000) / millionths, Rounding: Rounding(rounding % 3)},
		Margin:   float64(margin%101) / 200,
	}
}

func TestHysteresisIsWhatWidenedRangesFind(t *testing.T) {
	ps := gopter.NewProperties(nil)
	ps.Property("on walks beside levels", prop.ForAll(func(step uint64, ppm uint32, rounding, margin uint8, moves []byte) bool {
		h := hysteresisOf(step, ppm, rounding, margin)
		checkHysteresis(t, h, walkOf(h.Quantize, step, moves))
		return true
	}, gen.UInt64(), gen.UInt32(), genByte(), genByte(), genBytes()))
	ps.TestingRun(t)
}

func TestHysteresisComesNearTheBoundsOfItsLaw(t *testing.T) {
	for _, r := range roundings {
		h := Hysteresis{Quantize: Quantize{Step: 1_000_000, Error: 0.10, Rounding: r}, Margin: 0.5}
		law := h.Law()
		levels := levelsUpTo(t, h.Step, h.Error, 1e12)
		over, under := 0.0, 0.0
		for _, from := range levels[len(levels)-20 : len(levels)-2] {
			for _, way := range []int{-1, 1} {
				p := h.NewTold()
				for n := range 400 {
					x := uint64(int64(from) + int64(way*n)*int64(from)/2000)
					got, _ := p.Step(0, Value{Reach: Valued, Bits: x})
					over = max(over, float64(got.Bits)/float64(x)-1)
					under = max(under, 1-float64(got.Bits)/float64(x))
				}
			}
		}
		if over < 0.9*law.Over || over > law.Over || under < 0.9*law.Under || under > law.Under {
			t.Errorf("%v: got worst errors +%.4f -%.4f, want 0.9 to 1 times +%.4f -%.4f", h, over, under, law.Over, law.Under)
		}
	}
}

func FuzzHysteresis(f *testing.F) {
	f.Add(uint64(member), uint32(90_000), uint8(0), uint8(50), []byte{7, 3, 12, 200, 31, 4})
	f.Fuzz(func(t *testing.T, step uint64, ppm uint32, rounding, margin uint8, moves []byte) {
		h := hysteresisOf(step, ppm, rounding, margin)
		checkHysteresis(t, h, walkOf(h.Quantize, step, moves[:min(len(moves), 64)]))
	})
}
