package damping

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
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
// maximum, so all speakers share it, and 0 stays 0. Quantize.Anchor makes a
// grid as BGP++ has it.
type Grid struct {
	step     uint64
	ppm      uint64 // error bound in parts per million
	rounding Rounding
	dense    uint64   // all multiples 1 to dense of the step are levels
	sparse   []uint64 // the levels from dense x step on, in bits/s, ascending
	fixed    []uint64 // levels that were asked for
	anchor   uint64   // 0: absolute; else dense is 0 and sparse has all levels
}

// NewGrid returns the grid of the given step (bits/s, 1 or more) and error
// bound, which is rounded to whole parts per million and must then be 0 (every
// multiple of the step is a level) or 0.0001 to 1.
//
// Where levels lie closer than 2^-22 of their value (error bound 0, more than
// four million steps) float32 cannot tell them apart, and neither does Level.
func NewGrid(step uint64, errorBound float64, rounding Rounding) (*Grid, error) {
	return newGrid(Quantize{Step: step, Error: errorBound, Rounding: rounding})
}

func newGrid(q Quantize) (*Grid, error) {
	if q.Step == 0 {
		return nil, fmt.Errorf("quantize: step 0: want 1 bit/s or more")
	}
	if !(q.Error >= 0 && q.Error <= 1) {
		return nil, fmt.Errorf("quantize: error bound %v: want 0 to 1", q.Error)
	}
	if int(q.Rounding) >= len(roundingNames) {
		return nil, fmt.Errorf("quantize: rounding %v: want up, down or nearest", q.Rounding)
	}
	ppm := uint64(math.Round(q.Error * millionths))
	if q.Error > 0 && ppm < minPPM {
		return nil, fmt.Errorf("quantize: error bound %v: want 0, or 0.0001 to 1", q.Error)
	}
	if err := q.checkAnchor(); err != nil {
		return nil, err
	}
	for _, f := range q.Fixed {
		if err := q.checkFixed(f); err != nil {
			return nil, err
		}
	}
	g := &Grid{step: q.Step, ppm: ppm, rounding: q.Rounding, fixed: slices.Clone(q.Fixed), anchor: q.Anchor}
	if g.anchor > 0 {
		g.buildDown()
	} else {
		g.build()
	}
	return g, nil
}

// build makes the levels of an absolute grid, from the step upwards.
func (g *Grid) build() {
	last := math.MaxUint64 / g.step
	g.dense = last
	if g.ppm > 0 {
		// The first n whose error bound holds two steps or more.
		g.dense = min(last, (2*millionths+g.ppm-1)/g.ppm)
	}
	fixed := slices.Sorted(slices.Values(g.fixed))
	for n := g.dense; ; {
		g.sparse = append(g.sparse, n*g.step)
		if n == last {
			break
		}
		next := n + min(last-n, scaled(n, g.ppm))
		for len(fixed) > 0 && fixed[0]/g.step <= n {
			fixed = fixed[1:]
		}
		if len(fixed) > 0 {
			next = min(next, fixed[0]/g.step)
		}
		n = next
	}
	g.sparse = slices.Clip(g.sparse)
}

// buildDown makes the levels of an anchored grid, as BGP++ does: from the
// anchor down in steps, a step is a new level when the last level is more than
// it by the error bound or beyond, or when it is a fixed one.
func (g *Grid) buildDown() {
	level := g.anchor
	g.sparse = append(g.sparse, level)
	for key := level; key > g.step; {
		key -= g.step
		if level-key >= scaledUp(key, g.ppm) || slices.Contains(g.fixed, key) {
			level = key
			g.sparse = append(g.sparse, level)
		}
	}
	slices.Reverse(g.sparse)
	g.sparse = slices.Clip(g.sparse)
}

// key is the step of an anchored grid that x is nearest to, ties upwards, and
// the lowest or highest beyond the ends. What is left of the anchor below
// a whole step is the lowest.
func (g *Grid) key(x uint64) uint64 {
	lowest := (g.anchor-1)%g.step + 1
	if x >= g.anchor {
		return g.anchor
	}
	if x <= lowest {
		return lowest
	}
	under := (x - lowest) % g.step
	if over := g.step - under; over <= under {
		return x + over
	}
	return x - under
}

// scaled is n x ppm / 1,000,000, rounded down, in 128 bits.
func scaled(n, ppm uint64) uint64 {
	hi, lo := bits.Mul64(n, ppm)
	q, _ := bits.Div64(hi, lo, millionths)
	return q
}

// scaledUp is n x ppm / 1,000,000, rounded up, in 128 bits.
func scaledUp(n, ppm uint64) uint64 {
	hi, lo := bits.Mul64(n, ppm)
	q, r := bits.Div64(hi, lo, millionths)
	if r > 0 {
		q++
	}
	return q
}

// Level is the level of x bits/s. A value within 2^-22 of a level is that
// level; 0 stays 0; every other value below the first level becomes the first
// level, whatever the rounding, since 0 would say that there is no capacity
// at all. Above the last level all is the last level. Level(Level(x)) is
// Level(x), and Level never falls while x rises.
//
// An anchored grid takes x to its nearest step first, 0 included, and that to
// the level above: 0 becomes the first level, and all beyond the anchor the anchor.
func (g *Grid) Level(x uint64) uint64 {
	if g.anchor > 0 {
		i, _ := slices.BinarySearch(g.sparse, g.key(x))
		return g.sparse[i]
	}
	return g.level(g.ordinal(x))
}

// level is the n-th level, counted from 1; 0 is 0.
func (g *Grid) level(n uint64) uint64 {
	if n <= g.dense {
		return n * g.step
	}
	return g.sparse[n-g.dense]
}

// last is the number of the highest level.
func (g *Grid) last() uint64 { return g.dense + uint64(len(g.sparse)) - 1 }

// ordinal is the number of the level of x in an absolute grid.
func (g *Grid) ordinal(x uint64) uint64 {
	if x == 0 {
		return 0
	}
	n := g.reached(x)
	if n == g.last() {
		return n
	}
	lo, hi := g.level(n), g.level(n+1)
	if n == 0 || lo == x {
		return max(n, 1)
	}
	below, above := x-lo, hi-x
	switch snapLo, snapHi := below <= lo>>snapShift, above <= hi>>snapShift; {
	case snapHi && (above <= below || !snapLo):
		return n + 1
	case snapLo:
		return n
	}
	if g.rounding == Up || g.rounding == Nearest && g.nearer(x, lo, hi) {
		return n + 1
	}
	return n
}

// reached is the number of the highest level that is x or below.
func (g *Grid) reached(x uint64) uint64 {
	if n := x / g.step; n < g.dense {
		return n
	}
	i, found := slices.BinarySearch(g.sparse, x)
	if !found {
		i--
	}
	return g.dense + uint64(i)
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
