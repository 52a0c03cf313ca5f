package damping

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

const member = 800_000_000_000 // bits/s

var roundings = []Rounding{Up, Down, Nearest}

// twinLevels generates the levels up to the first above x, or to the last that
// a uint64 holds, from the definition and in big integers.
func twinLevels(step, ppm, x uint64) []uint64 {
	last := new(big.Int).SetUint64(math.MaxUint64 / step)
	n, stepInt := big.NewInt(1), new(big.Int).SetUint64(step)
	var levels []uint64
	for {
		level := new(big.Int).Mul(n, stepInt).Uint64()
		levels = append(levels, level)
		if level > x || n.Cmp(last) == 0 {
			return levels
		}
		within := new(big.Int).Mul(n, new(big.Int).SetUint64(millionths+ppm))
		within.Div(within, big.NewInt(millionths))
		next := new(big.Int).Add(n, big.NewInt(1))
		if within.Cmp(next) > 0 {
			next = within
		}
		if next.Cmp(last) > 0 {
			next = last
		}
		n = next
	}
}

// twinLevel finds the level of x by scanning all levels.
func twinLevel(step, ppm uint64, rounding Rounding, x uint64) uint64 {
	if x == 0 {
		return 0
	}
	levels := twinLevels(step, ppm, x)
	for i := len(levels) - 1; i >= 0; i-- { // from above: of two levels as near, the higher
		if dist(levels[i], x) <= levels[i]>>snapShift && (i == 0 || dist(levels[i], x) <= dist(levels[i-1], x)) {
			return levels[i]
		}
	}
	above := slices.IndexFunc(levels, func(l uint64) bool { return l > x })
	switch {
	case above == 0:
		return levels[0]
	case above < 0:
		return levels[len(levels)-1]
	}
	lo, hi := levels[above-1], levels[above]
	switch rounding {
	case Up:
		return hi
	case Down:
		return lo
	}
	for _, multiple := range []uint64{x - x%step, x - x%step + step} {
		if dist(multiple, x) <= x>>snapShift && dist(multiple, x) <= step-dist(multiple, x) {
			x = multiple
		}
	}
	if dist(hi, x) <= dist(lo, x) {
		return hi
	}
	return lo
}

func dist(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func mustGrid(t testing.TB, step uint64, e float64, r Rounding) *Grid {
	t.Helper()
	g, err := NewGrid(step, e, r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// levelsUpTo asks the grid itself: from each level to the level of one bit/s more.
func levelsUpTo(t testing.TB, step uint64, e float64, limit uint64) []uint64 {
	t.Helper()
	if e == 0 {
		t.Fatal("levelsUpTo needs levels farther apart than the snap")
	}
	g := mustGrid(t, step, e, Up)
	var levels []uint64
	for l := g.Level(1); l <= limit; {
		levels = append(levels, l)
		next := g.Level(l + l>>snapShift + 1)
		if next <= l {
			break
		}
		l = next
	}
	return levels
}

func TestLevelsAreTheLargestMultiplesWithinTheBound(t *testing.T) {
	cases := []struct {
		e    float64
		want []uint64 // in steps
	}{
		{0.10, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
			22, 24, 26, 28, 30, 33, 36, 39, 42, 46, 50, 55, 60, 66, 72, 79, 86, 94, 103, 113, 124, 136,
			149, 163, 179, 196, 215, 236, 259, 284, 312, 343, 377, 414, 455, 500, 550, 605, 665, 731, 804, 884, 972}},
		{0.05, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
			21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
			42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 63, 66, 69, 72, 75, 78, 81, 85}},
		{0.50, []uint64{1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94}},
		{1, []uint64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
	}
	for _, c := range cases {
		limit := c.want[len(c.want)-1]
		for _, step := range []uint64{100_000_000_000, member, 1_000_000_007} {
			got := levelsUpTo(t, step, c.e, limit*step)
			for i := range got {
				got[i] /= step
			}
			if d := cmp.Diff(got, c.want); d != "" {
				t.Errorf("step %d, error %v: (-got +want)\n%s", step, c.e, d)
			}
		}
	}
}

func TestLevelByRounding(t *testing.T) {
	cases := []struct {
		x                 float64 // in members
		up, down, nearest uint64  // in members
	}{
		{0, 0, 0, 0},
		{0.001, 1, 1, 1},
		{0.999, 1, 1, 1},
		{1, 1, 1, 1},
		{1.25, 2, 1, 1},
		{1.5, 2, 1, 2},
		{20, 20, 20, 20},
		{21, 22, 20, 22}, // a tie
		{20.9, 22, 20, 20},
		{32, 33, 30, 33},
		{31, 33, 30, 30},
		{31.5, 33, 30, 33}, // a tie between multiples
		{64, 66, 60, 66},
		{63, 66, 60, 66}, // a tie
		{128, 136, 124, 124},
		{24, 24, 24, 24},
	}
	for _, c := range cases {
		x := uint64(c.x * member)
		for r, want := range map[Rounding]uint64{Up: c.up, Down: c.down, Nearest: c.nearest} {
			if got := mustGrid(t, member, 0.10, r).Level(x); got != want*member {
				t.Errorf("%v members, %v: got %d, want %d members", c.x, r, got/member, want)
			}
		}
	}
}

func TestEveryLevelSurvivesFloat32(t *testing.T) {
	for _, step := range []uint64{100_000_000_000, 400_000_000_000, member} {
		levels := levelsUpTo(t, step, 0.10, 1e18)
		if len(levels) < 100 {
			t.Fatalf("step %d: got %d levels up to 1e18, want 100 or more", step, len(levels))
		}
		for _, r := range roundings {
			g := mustGrid(t, step, 0.10, r)
			for _, l := range levels {
				wire := float32(float64(l) / 8) // bytes/s
				for _, w := range []float32{wire, math.Nextafter32(wire, 0), math.Nextafter32(wire, math.MaxFloat32)} {
					if got := g.Level(uint64(8 * float64(w))); got != l {
						t.Errorf("step %d, %v: level %d told as %v B/s: got level %d", step, r, l, w, got)
					}
				}
			}
		}
	}
}

func TestMultiplesSurviveFloat32WithTheirTies(t *testing.T) {
	for _, r := range roundings {
		g := mustGrid(t, member, 0.10, r)
		for n := uint64(1); n <= 100_000; n++ {
			x := n * member
			got := g.Level(uint64(8 * float64(float32(float64(x)/8))))
			if want := g.Level(x); got != want {
				t.Errorf("%d members, %v: got %d after float32, want %d", n, r, got, want)
			}
		}
	}
}

func TestGridReachesTheEndOfUint64(t *testing.T) {
	for _, step := range []uint64{1, 3, member, math.MaxUint64/2 + 1, math.MaxUint64} {
		top := math.MaxUint64 / step * step
		for _, e := range []float64{0, 0.0001, 0.10, 1} {
			for _, r := range roundings {
				g := mustGrid(t, step, e, r)
				if got := g.Level(math.MaxUint64); got != top {
					t.Errorf("step %d, error %v, %v: Level(MaxUint64): got %d, want %d", step, e, r, got, top)
				}
				if got := g.Level(top); got != top {
					t.Errorf("step %d, error %v, %v: Level(%d): got %d, want itself", step, e, r, top, got)
				}
			}
		}
	}
}

// Where multiples lie closer than 2^-22 of their value, the nearest one counts.
func TestWithoutErrorBoundEveryMultipleIsALevel(t *testing.T) {
	for _, step := range []uint64{1, 3, 1000, member} {
		for _, r := range roundings {
			g := mustGrid(t, step, 0, r)
			for shift := range 64 {
				n := uint64(math.MaxUint64) / step >> shift
				for n := n - min(n, 3); n > 0 && n < math.MaxUint64/step && n%8 != 7; n++ {
					for _, off := range []uint64{0, step / 4, step / 2, step - 1} {
						x := n*step + off
						want := n * step
						snapped := off <= want>>snapShift || step-off <= (want+step)>>snapShift
						if off > 0 && (r == Up && !snapped || (r == Nearest || snapped) && 2*off >= step) {
							want += step
						}
						if got := g.Level(x); got != want {
							t.Errorf("step %d, %v: Level(%d): got %d, want %d", step, r, x, got, want)
						}
					}
				}
			}
		}
	}
}

func TestNewGridRefusesBadParameters(t *testing.T) {
	cases := []struct {
		step uint64
		e    float64
		r    Rounding
		want string
	}{
		{0, 0.1, Up, "step 0"},
		{1, -0.1, Up, "error bound -0.1"},
		{1, 1.01, Up, "error bound 1.01"},
		{1, math.NaN(), Up, "error bound NaN"},
		{1, math.Inf(1), Up, "error bound +Inf"},
		{1, 0.00001, Up, "error bound 1e-05"},
		{1, 1e-9, Up, "error bound 1e-09"},
		{1, 0.1, 3, "rounding Rounding(3)"},
	}
	for _, c := range cases {
		g, err := NewGrid(c.step, c.e, c.r)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewGrid(%d, %v, %v): got %v, %v, want an error with %q", c.step, c.e, c.r, g, err, c.want)
		}
		q := Quantize{Step: c.step, Error: c.e, Rounding: c.r}
		if q.Validate() == nil {
			t.Errorf("Quantize%+v: got no error of Validate", q)
		}
		if q.Grid() != nil {
			t.Errorf("Quantize%+v: got a grid, want nil", q)
		}
		in := Value{Reach: Valued, Bits: 31 * member}
		if got, _ := q.NewTold().Step(0, in); got != in {
			t.Errorf("Quantize%+v: got %v told, want the value unchanged", q, got)
		}
	}
}

func TestQuantizeLiteralWorksAsNewQuantize(t *testing.T) {
	made, err := NewQuantize(member, 0.05, Down)
	if err != nil {
		t.Fatal(err)
	}
	literal := Quantize{Step: member, Error: 0.05, Rounding: Down}
	changed := made
	changed.Error = 0.10 // the grid of 5 % must not answer for it
	in := Value{Reach: Valued, Bits: 41 * member}
	for _, c := range []struct {
		q    Quantize
		want uint64
	}{{made, 40}, {literal, 40}, {changed, 39}} {
		if got, next := c.q.NewTold().Step(0, in); got.Bits != c.want*member || next != Never {
			t.Errorf("%v: got %v, %v, want %d members and Never", c.q, got, next, c.want)
		}
	}
}

func TestQuantizePassesAbsence(t *testing.T) {
	q, err := NewQuantize(member, 0.10, Up)
	if err != nil {
		t.Fatal(err)
	}
	p := q.NewTold()
	for _, in := range []Value{{Reach: Gone}, {Reach: Unvalued}, {Reach: Valued}} {
		if got, next := p.Step(0, in); got != in || next != Never {
			t.Errorf("%v: got %v, %v, want it unchanged and Never", in, got, next)
		}
	}
}

// drawnGrid is a random grid with the parameters that the twin needs.
type drawnGrid struct {
	Step, PPM uint64
	Rounding  Rounding
}

func genGrid() gopter.Gen {
	return gopter.CombineGens(
		gen.OneGenOf(gen.OneConstOf(uint64(1), uint64(7), uint64(100e9), uint64(400e9), uint64(800e9)), gen.UInt64Range(1, math.MaxUint64)),
		gen.UInt64Range(10_000, 1_000_000),
		gen.OneConstOf(Up, Down, Nearest),
	).Map(func(v []any) drawnGrid {
		return drawnGrid{v[0].(uint64), v[1].(uint64), v[2].(Rounding)}
	})
}

// genBits draws values of every magnitude.
func genBits() gopter.Gen {
	return gopter.CombineGens(gen.UInt64(), gen.UIntRange(0, 63)).Map(func(v []any) uint64 {
		return v[0].(uint64) >> v[1].(uint)
	})
}

func (d drawnGrid) grid(t *testing.T) *Grid {
	return mustGrid(t, d.Step, float64(d.PPM)/millionths, d.Rounding)
}

func TestQuantizerProperties(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 400
	ps := gopter.NewProperties(params)
	ps.Property("Level is what a scan of all levels finds", prop.ForAll(func(d drawnGrid, x uint64) bool {
		return d.grid(t).Level(x) == twinLevel(d.Step, d.PPM, d.Rounding, x)
	}, genGrid(), genBits()))
	ps.Property("values beside a level are found too", prop.ForAll(func(d drawnGrid, x uint64, off int) bool {
		levels := twinLevels(d.Step, d.PPM, x)
		near := levels[len(levels)/2]
		near += uint64(int64(near>>snapShift)*int64(off)/4) + uint64(int64(off%2))
		return d.grid(t).Level(near) == twinLevel(d.Step, d.PPM, d.Rounding, near)
	}, genGrid(), genBits(), gen.IntRange(-9, 9)))
	ps.Property("quantizing twice changes nothing", prop.ForAll(func(d drawnGrid, x uint64) bool {
		g := d.grid(t)
		return g.Level(g.Level(x)) == g.Level(x)
	}, genGrid(), genBits()))
	ps.Property("a higher value never has a lower level", prop.ForAll(func(d drawnGrid, x, more uint64) bool {
		g := d.grid(t)
		return g.Level(x) <= g.Level(addSat(x, more))
	}, genGrid(), genBits(), genBits()))
	ps.Property("0 and only 0 is told as 0", prop.ForAll(func(d drawnGrid, x uint64) bool {
		return (d.grid(t).Level(x) == 0) == (x == 0)
	}, genGrid(), genBits()))
	ps.TestingRun(t)
}

func FuzzQuantize(f *testing.F) {
	f.Add(uint64(member), uint32(100_000), uint8(0), uint64(31*member))
	f.Fuzz(func(t *testing.T, step uint64, ppm uint32, rounding uint8, x uint64) {
		if step == 0 {
			step = 1
		}
		p := uint64(ppm)%(millionths-10_000+1) + 10_000
		r := Rounding(rounding % 3)
		g := mustGrid(t, step, float64(p)/millionths, r)
		got := g.Level(x)
		if want := twinLevel(step, p, r, x); got != want {
			t.Errorf("step %d, %d ppm, %v: Level(%d): got %d, want %d", step, p, r, x, got, want)
		}
		if again := g.Level(got); again != got {
			t.Errorf("step %d, %d ppm, %v: Level(%d): got %d, want itself", step, p, r, got, again)
		}
		q := Quantize{Step: step, Error: float64(p) / millionths, Rounding: r}
		if low, high := q.Law().Range(x); x <= math.MaxUint64/step*step && (got < low || got > high) {
			t.Errorf("%v: %d told as %d: want %d to %d", q, x, got, low, high)
		}
	})
}

func TestStepOfQuantizeDoesNotAllocate(t *testing.T) {
	q, err := NewQuantize(member, 0.10, Up)
	if err != nil {
		t.Fatal(err)
	}
	p, n := q.NewTold(), uint64(0)
	if got := testing.AllocsPerRun(1000, func() {
		n++
		p.Step(time.Duration(n), Value{Reach: Valued, Bits: n * member})
	}); got != 0 {
		t.Errorf("got %v allocations per step, want 0", got)
	}
}

func BenchmarkQuantize(b *testing.B) {
	q, err := NewQuantize(member, 0.10, Up)
	if err != nil {
		b.Fatal(err)
	}
	p := q.NewTold()
	b.ReportAllocs()
	for i := range b.N {
		p.Step(0, Value{Reach: Valued, Bits: uint64(i%5000) * member})
	}
}
