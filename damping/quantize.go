package damping

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Rounding says to which neighbouring level a Grid takes a value between two.
type Rounding uint8

// The roundings. The zero value is Up, as BGP++ rounds.
const (
	Up      Rounding = iota // to the higher level: tells too much, by at most the error bound
	Down                    // to the lower level: tells too little
	Nearest                 // to the nearer level, ties to the higher
)

var roundingNames = [...]string{Up: "up", Down: "down", Nearest: "nearest"}

func (r Rounding) String() string {
	if int(r) < len(roundingNames) {
		return roundingNames[r]
	}
	return fmt.Sprintf("Rounding(%d)", uint8(r))
}

const (
	// millionths is the denominator of an error bound. Binary fractions make
	// 1.1 x 20 into 22.000000000000004, so levels are computed in integers.
	millionths = 1_000_000

	// minPPM keeps the table of a grid over all of uint64 under 3 MB.
	minPPM = 100

	// snapShift is the tolerance 2^-22 within which a value counts as the
	// level beside it. One float32 rounding moves a value by up to 2^-24, which
	// turns one 800G member into 799999983616 bits/s.
	snapShift = 22
)

// Grid is a quantizer without memory: a fixed set of levels, in bits/s, that
// depends only on the step, the error bound and nothing that happened before.
// It is safe for use by many goroutines.
//
// The levels are the step, then each time the largest multiple of the step
// within (1 + error bound) of the last level, and at least one step more. With
// an error bound of 10 % they are 1 to 20 steps, then 22, 24, 26, 28, 30, 33,
// 36, 39 and so on. The last level is the largest multiple in a uint64.
//
// The primitive is BGP++'s UCMP quantizer (facebook/BGP, ConfigStructs.cpp at
// 426e6b01). Differences: this grid starts at the step and not at a configured
// maximum, so all speakers share it, and 0 stays 0.
type Grid struct {
	step     uint64
	ppm      uint64 // error bound in parts per million
	rounding Rounding
	dense    uint64   // all multiples 1 to dense of the step are levels
	sparse   []uint64 // the levels from dense x step on, in bits/s, ascending
}

// NewGrid returns the grid of the given step (bits/s, 1 or more) and error
// bound, which is rounded to whole parts per million and must then be 0 (every
// multiple of the step is a level) or 0.0001 to 1.
//
// Where levels lie closer than 2^-22 of their value (error bound 0, more than
// four million steps) float32 cannot tell them apart, and neither does Level.
func NewGrid(step uint64, errorBound float64, rounding Rounding) (*Grid, error) {
	if step == 0 {
		return nil, fmt.Errorf("quantize: step 0: want 1 bit/s or more")
	}
	if !(errorBound >= 0 && errorBound <= 1) {
		return nil, fmt.Errorf("quantize: error bound %v: want 0 to 1", errorBound)
	}
	if int(rounding) >= len(roundingNames) {
		return nil, fmt.Errorf("quantize: rounding %v: want up, down or nearest", rounding)
	}
	ppm := uint64(math.Round(errorBound * millionths))
	if errorBound > 0 && ppm < minPPM {
		return nil, fmt.Errorf("quantize: error bound %v: want 0, or 0.0001 to 1", errorBound)
	}
	g := &Grid{step: step, ppm: ppm, rounding: rounding}
	g.build()
	return g, nil
}

func (g *Grid) build() {
	last := math.MaxUint64 / g.step
	g.dense = last
	if g.ppm > 0 {
		// The first n whose error bound holds two steps or more.
		g.dense = min(last, (2*millionths+g.ppm-1)/g.ppm)
	}
	for n := g.dense; ; {
		g.sparse = append(g.sparse, n*g.step)
		if n == last {
			break
		}
		n += min(last-n, scaled(n, g.ppm))
	}
	g.sparse = slices.Clip(g.sparse)
}

// scaled is n x ppm / 1,000,000, rounded down, in 128 bits.
func scaled(n, ppm uint64) uint64 {
	hi, lo := bits.Mul64(n, ppm)
	q, _ := bits.Div64(hi, lo, millionths)
	return q
}

// Level is the level of x bits/s. A value within 2^-22 of a level is that
// level; 0 stays 0; every other value below the first level becomes the first
// level, whatever the rounding, since 0 would say that there is no capacity
// at all. Above the last level all is the last level. Level(Level(x)) is
// Level(x), and Level never falls while x rises.
func (g *Grid) Level(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	lo, hi := g.around(x)
	if lo == 0 || hi == lo {
		return hi
	}
	below, above := x-lo, hi-x
	switch snapLo, snapHi := below <= lo>>snapShift, above <= hi>>snapShift; {
	case snapHi && (above <= below || !snapLo):
		return hi
	case snapLo:
		return lo
	}
	if g.rounding == Up || g.rounding == Nearest && g.nearer(x, lo, hi) {
		return hi
	}
	return lo
}

// around returns the levels next to x: lo <= x < hi, lo 0 below the first
// level, and both the last level from there on.
func (g *Grid) around(x uint64) (lo, hi uint64) {
	if n := x / g.step; n < g.dense {
		return n * g.step, (n + 1) * g.step
	}
	i, found := slices.BinarySearch(g.sparse, x)
	if !found {
		i--
	}
	return g.sparse[i], g.sparse[min(i+1, len(g.sparse)-1)]
}

// nearer tells whether x is at or above the middle of lo and hi. A multiple of
// the step that float32 has moved counts as that multiple, so that the middle
// itself, often a multiple, ties up at every hop.
func (g *Grid) nearer(x, lo, hi uint64) bool {
	under := x % g.step
	over := g.step - under
	if min(under, over) <= x>>snapShift {
		if over <= under {
			x += over
		} else {
			x -= under
		}
	}
	return hi-x <= x-lo
}

// Quantize tells neighbours the level of the bottleneck value instead of the
// value. Use NewQuantize, which checks the fields and builds the grid once.
type Quantize struct {
	Step     uint64   // bits/s; the speed of the smallest member
	Error    float64  // error bound, 0 or 0.0001 to 1, in whole parts per million
	Rounding Rounding // Up by default

	grid *Grid
}

// NewQuantize returns the stage, or the error of NewGrid.
func NewQuantize(step uint64, errorBound float64, rounding Rounding) (Quantize, error) {
	g, err := NewGrid(step, errorBound, rounding)
	if err != nil {
		return Quantize{}, err
	}
	return Quantize{Step: step, Error: float64(g.ppm) / millionths, Rounding: rounding, grid: g}, nil
}

// Validate returns what NewGrid says of the fields.
func (q Quantize) Validate() error {
	_, err := NewGrid(q.Step, q.Error, q.Rounding)
	return err
}

// Grid returns the stage's grid, or nil where Validate fails.
func (q Quantize) Grid() *Grid {
	if g := q.grid; g != nil && g.step == q.Step && float64(g.ppm)/millionths == q.Error && g.rounding == q.Rounding {
		return g
	}
	g, err := NewGrid(q.Step, q.Error, q.Rounding)
	if err != nil {
		return nil
	}
	return g
}

// NewTold returns the policy for one prefix; it holds no state of its own.
// Where Validate fails it tells every value unchanged.
func (q Quantize) NewTold() ToldPolicy {
	g := q.Grid()
	if g == nil {
		return passTold{}
	}
	return quantized{g}
}

// Memoryless tells that the told value depends on the present input alone.
func (q Quantize) Memoryless() bool { return true }

func (q Quantize) String() string {
	return fmt.Sprintf("quantize step %s error %.4g%% %v", formatBits(q.Step), 100*q.Error, q.Rounding)
}

// Law is the law of the grid. With e the error bound, lo and hi neighbouring
// levels, and x a multiple of the step between them: hi <= lo x (1+e), or hi is
// lo + step and x is a level itself. So Up tells hi < x(1+e); Down tells
// lo > x/(1+e); Nearest tells hi only from the middle on, so at most
// hi / ((lo+hi)/2) <= 2(1+e)/(2+e) of x, and lo only below it, so at least
// 2/(2+e). An x that is no multiple may lie anywhere in a gap of one step, or
// below the first level: one step more.
func (q Quantize) Law() Law {
	l := passLaw()
	e := q.Error
	l.Step, l.OverSlack, l.UnderSlack = q.Step, q.Step, q.Step
	switch q.Rounding {
	case Up:
		l.Over, l.UnderSlack = e, 0
	case Down:
		l.Under = e / (1 + e)
	case Nearest:
		l.Over, l.Under = e/(2+e), e/(2+e)
	}
	return l
}

type quantized struct{ grid *Grid }

func (q quantized) Step(_ time.Duration, in Value) (Value, time.Duration) {
	if in.Reach == Valued {
		in.Bits = q.grid.Level(in.Bits)
	}
	return in, Never
}

// formatBits prints bits/s as topologies write them: 800G.
func formatBits(b uint64) string {
	for _, u := range []struct {
		size uint64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if b >= u.size && b%u.size == 0 {
			return fmt.Sprintf("%d%s", b/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d", b)
}
