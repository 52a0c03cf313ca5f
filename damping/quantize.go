package damping

import (
	"fmt"
	"slices"
	"time"
)

// Quantize tells neighbours the level of the bottleneck value instead of the
// value. Use NewQuantize or Built, which check the fields and build the grid
// once.
type Quantize struct {
	Step     uint64   // bits/s; the speed of the smallest member
	Error    float64  // error bound, 0 or 0.0001 to 1, in whole parts per million
	Rounding Rounding // Up by default

	// Fixed are values, in bits/s, that must be levels, such as the full
	// capacities in use: multiples of the step, or of an anchored grid, whole
	// steps below the anchor.
	Fixed []uint64

	// Anchor, in bits/s and at most 1,048,576 steps, makes the grid one of
	// BGP++: built from the anchor, the highest capacity to be told, downwards.
	// It rounds up, except that a value between two steps goes to the nearer
	// first. 0 is told as the lowest level, and more than the anchor as the
	// anchor. 0 builds the absolute grid, from the step upwards.
	Anchor uint64

	grid *Grid
}

// maxAnchorSteps keeps the table of an anchored grid under 8 MB.
const maxAnchorSteps = 1 << 20

// NewQuantize returns the stage with an absolute grid, or the error of NewGrid.
func NewQuantize(step uint64, errorBound float64, rounding Rounding) (Quantize, error) {
	return Quantize{Step: step, Error: errorBound, Rounding: rounding}.Built()
}

// Built returns q with its grid built, or the error of Validate.
func (q Quantize) Built() (Quantize, error) {
	g, err := newGrid(q)
	if err != nil {
		return Quantize{}, err
	}
	return Quantize{Step: q.Step, Error: float64(g.ppm) / millionths, Rounding: q.Rounding, Fixed: g.fixed, Anchor: q.Anchor, grid: g}, nil
}

// Validate returns the first field that has no grid: those of NewGrid, a fixed
// level off the steps, an anchor below the step or too far above it, or one
// with a rounding other than Up.
func (q Quantize) Validate() error {
	_, err := newGrid(q)
	return err
}

func (q Quantize) checkAnchor() error {
	switch {
	case q.Anchor == 0:
		return nil
	case q.Anchor < q.Step || q.Anchor/q.Step > maxAnchorSteps:
		return fmt.Errorf("quantize: anchor %s: want 1 to %d steps of %s", formatBits(q.Anchor), maxAnchorSteps, formatBits(q.Step))
	case q.Rounding != Up:
		return fmt.Errorf("quantize: rounding %v: want up, as an anchored grid rounds", q.Rounding)
	}
	return nil
}

func (q Quantize) checkFixed(level uint64) error {
	switch {
	case q.Anchor == 0 && (level == 0 || level%q.Step != 0):
		return fmt.Errorf("quantize: fixed level %s: want a multiple of the step %s", formatBits(level), formatBits(q.Step))
	case q.Anchor > 0 && (level == 0 || level > q.Anchor || (q.Anchor-level)%q.Step != 0):
		return fmt.Errorf("quantize: fixed level %s: want the anchor %s less a whole number of steps of %s",
			formatBits(level), formatBits(q.Anchor), formatBits(q.Step))
	}
	return nil
}

// Grid returns the stage's grid, or nil where Validate fails.
func (q Quantize) Grid() *Grid {
	if g := q.grid; g != nil && g.step == q.Step && float64(g.ppm)/millionths == q.Error && g.rounding == q.Rounding &&
		g.anchor == q.Anchor && slices.Equal(g.fixed, q.Fixed) {
		return g
	}
	g, err := newGrid(q)
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
	s := fmt.Sprintf("quantize step %s error %.4g%% %v", formatBits(q.Step), 100*q.Error, q.Rounding)
	if q.Anchor > 0 {
		s += " anchor " + formatBits(q.Anchor)
	}
	for _, f := range q.Fixed {
		s += " fixed " + formatBits(f)
	}
	return s
}

// Law is the law of the grid. With e the error bound, lo and hi neighbouring
// levels, and x a multiple of the step between them: hi <= lo x (1+e), or hi is
// lo + step and x is a level itself. So Up tells hi < x(1+e); Down tells
// lo > x/(1+e); Nearest tells hi only from the middle on, so at most
// hi / ((lo+hi)/2) <= 2(1+e)/(2+e) of x, and lo only below it, so at least
// 2/(2+e). An x that is no multiple may lie anywhere in a gap of one step, or
// below the first level: one step more. A fixed level only splits a gap.
//
// An anchored grid holds lo < hi and x(1+e) > hi for every step x above lo, so
// it tells less than x(1+e) of a step. Any other value is half a step from one
// or below the first, and the end of the grid is Top.
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
	if q.Anchor > 0 {
		// Half a step up costs (1+e) half steps, and the first level a step.
		l.OverSlack, l.UnderSlack = q.Step, q.Step/2+1
		l.Top, l.Zero = q.Anchor, (q.Anchor-1)%max(q.Step, 1)+1
		if q.Anchor%max(q.Step, 1) != 0 {
			l.Step = 0
		}
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
