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

// twinBGPPP is the published quantizer in its own terms: a table from every
// step below the anchor to its output, searched for the nearest key.
func twinBGPPP(q Quantize, x uint64) uint64 {
	ppm := uint64(math.Round(q.Error * millionths))
	var keys, outputs []uint64
	for in, out := q.Anchor, q.Anchor; in > 0; in -= q.Step {
		if slices.Contains(q.Fixed, in) || (out-in)*millionths >= ppm*in {
			out = in
		}
		keys, outputs = append(keys, in), append(outputs, out)
		if in < q.Step {
			break
		}
	}
	best := 0
	for i, k := range keys { // from the highest: ties go up
		if distance(k, x) < distance(keys[best], x) {
			best = i
		}
	}
	return outputs[best]
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func TestAnchoredGridIsThePublishedExample(t *testing.T) {
	const g = 1_000_000_000
	q, err := Quantize{Step: 100 * g, Error: 0.10, Anchor: 3600 * g, Fixed: []uint64{2400 * g, 3600 * g}}.Built()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[uint64]uint64{
		3600: 3600, 3500: 3600, 3400: 3600, 3300: 3600, 3200: 3200, 3100: 3200, 3000: 3200, 2900: 2900,
		2500: 2600, 2400: 2400, 2300: 2400, 2200: 2400, 2100: 2100, 1000: 1000, 900: 900, 300: 300, 200: 200, 100: 100,
		4000: 3600, 99: 100, 1: 100, 0: 100, // beyond the ends; the documented trap: 0 becomes the lowest
		3249: 3200, 3250: 3600, 150: 200, 149: 100, // between two steps: the nearer, ties up
	} {
		if got := q.Grid().Level(in * g); got != want*g {
			t.Errorf("%d: got %d, want %d", in, got/g, want)
		}
	}
	if n := len(q.Grid().sparse); n != 21 {
		t.Errorf("got %d levels, want 21", n)
	}
}

func TestAnchoredGridHasTheLevelsOfLargeBundles(t *testing.T) {
	for e, want := range map[float64]int{0.10: 27, 0.05: 40} {
		q, err := Quantize{Step: member, Error: e, Anchor: 72 * member}.Built()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(q.Grid().sparse); got != want {
			t.Errorf("72 members, error %v: got %d levels, want %d", e, got, want)
		}
	}
}

func TestFixedLevelsAreLevelsOfAnAbsoluteGrid(t *testing.T) {
	q, err := Quantize{Step: member, Error: 0.10, Fixed: []uint64{32 * member, 34 * member, 5 * member, 41 * member}}.Built()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[uint64]uint64{5: 5, 6: 6, 29: 30, 31: 32, 32: 32, 33: 34, 34: 34, 35: 37, 37: 37, 38: 40, 41: 41, 42: 45, 45: 45} {
		if got := q.Grid().Level(n * member); got != want*member {
			t.Errorf("%d members: got %d, want %d", n, got/member, want)
		}
	}
	if got, want := q.String(), "quantize step 800G error 10% up fixed 25600G fixed 27200G fixed 4T fixed 32800G"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGridsRefuseAnchorsAndFixedLevelsOffTheirSteps(t *testing.T) {
	for want, q := range map[string]Quantize{
		"quantize: fixed level 900G: want a multiple of the step 800G":                      {Step: member, Fixed: []uint64{900e9}},
		"quantize: fixed level 0: want a multiple":                                          {Step: member, Fixed: []uint64{0}},
		"quantize: fixed level 8T: want the anchor 4T less a whole number of steps of 800G": {Step: member, Anchor: 5 * member, Fixed: []uint64{10 * member}},
		"quantize: fixed level 900G: want the anchor 4T less a whole number":                {Step: member, Anchor: 5 * member, Fixed: []uint64{900e9}},
		"quantize: anchor 700G: want 1 to 1048576 steps of 800G":                            {Step: member, Anchor: 700e9},
		"quantize: anchor 2M: want 1 to 1048576 steps of 1":                                 {Step: 1, Anchor: 2_000_000},
		"quantize: rounding nearest: want up, as an anchored grid rounds":                   {Step: member, Anchor: 5 * member, Rounding: Nearest},
	} {
		if err := q.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLiteralWithOtherFixedLevelsOrAnchorHasAnotherGrid(t *testing.T) {
	q, err := Quantize{Step: member, Error: 0.10, Fixed: []uint64{32 * member}}.Built()
	if err != nil {
		t.Fatal(err)
	}
	fixed, anchored := q, q
	fixed.Fixed, anchored.Anchor = []uint64{31 * member}, 40*member
	for _, c := range []struct {
		q    Quantize
		want uint64
	}{{q, 32}, {fixed, 31}, {anchored, 32}} {
		if got := c.q.Grid().Level(31 * member); got != c.want*member {
			t.Errorf("%v: got %d, want %d members", c.q, got/member, c.want)
		}
	}
}

// checkAnchored compares with the table, and holds the law.
func checkAnchored(t *testing.T, q Quantize, x uint64) {
	t.Helper()
	q, err := q.Built()
	if err != nil {
		t.Fatal(err)
	}
	got := q.Grid().Level(x)
	if want := twinBGPPP(q, x); got != want {
		t.Fatalf("%v: Level(%d): got %d, want %d", q, x, got, want)
	}
	if again := q.Grid().Level(got); again != got {
		t.Fatalf("%v: Level(%d): got %d, want itself", q, got, again)
	}
	if low, high := q.Law().Range(x); got < low || got > high {
		t.Fatalf("%v: %d told as %d: want %d to %d", q, x, got, low, high)
	}
}

// anchoredOf draws an anchored grid of up to 300 steps.
func anchoredOf(step, anchor uint64, ppm uint32, fixed uint8) Quantize {
	step = step%1e9 + 1
	q := Quantize{Step: step, Error: float64(uint64(ppm)%(millionths-minPPM)+minPPM) / millionths}
	q.Anchor = step + anchor%(300*step)
	if below := uint64(fixed) * step; below < q.Anchor && fixed%2 == 1 {
		q.Fixed = []uint64{q.Anchor - below}
	}
	return q
}

func TestAnchoredGridIsWhatTheTableFinds(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 300
	ps := gopter.NewProperties(params)
	ps.Property("for every value", prop.ForAll(func(step, anchor uint64, ppm uint32, fixed uint8, x uint64) bool {
		q := anchoredOf(step, anchor, ppm, fixed)
		checkAnchored(t, q, x%(2*q.Anchor))
		checkAnchored(t, q, x%q.Anchor/q.Step*q.Step+q.Anchor%q.Step)
		return true
	}, gen.UInt64(), gen.UInt64(), gen.UInt32(), genByte(), gen.UInt64()))
	ps.TestingRun(t)
}

func FuzzAnchored(f *testing.F) {
	f.Add(uint64(799e6), uint64(72*800e6), uint32(100_000), uint8(5), uint64(31*800e6))
	f.Fuzz(func(t *testing.T, step, anchor uint64, ppm uint32, fixed uint8, x uint64) {
		checkAnchored(t, anchoredOf(step, anchor, ppm, fixed), x)
	})
}
