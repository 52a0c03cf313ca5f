package damping

import (
	"fmt"
	"time"
)

// Hysteresis is Quantize with a memory: a value that has left the told level
// by less than the margin is told as before, so that an input which oscillates
// around the edge of two levels is not told each time. It takes the place of
// Quantize in a pipeline.
//
// The margin at an edge is Margin times the width of the narrower of the two
// levels beside it, width being the range of values that a level is told for;
// so no value is ever told more than one level beside its own. A value within
// 2^-22 of a level is told as that level, whatever was told before: exact
// values stay exact. Where every multiple of the step is a level that leaves
// nothing to do for whole members.
//
// Source: hysteresis as BGP++'s quantizer lacks it, whose input may toggle its
// output without end; two thresholds as its churn detector has them.
type Hysteresis struct {
	Quantize         // with an absolute grid
	Margin   float64 // 0 to 0.5 of a level's width
}

// Validate returns the error of Quantize, or one for a margin out of its range
// or a grid that is anchored.
func (h Hysteresis) Validate() error {
	if err := h.Quantize.Validate(); err != nil {
		return fmt.Errorf("hysteresis: %w", err)
	}
	if h.Anchor > 0 {
		return fmt.Errorf("hysteresis: anchor %s: want an absolute grid", formatBits(h.Anchor))
	}
	if !(h.Margin >= 0 && h.Margin <= 0.5) {
		return fmt.Errorf("hysteresis: margin %v: want 0 to 0.5 of a level", h.Margin)
	}
	return nil
}

// Built returns h with its grid built, or the error of Validate.
func (h Hysteresis) Built() (Hysteresis, error) {
	if err := h.Validate(); err != nil {
		return Hysteresis{}, err
	}
	q, err := h.Quantize.Built()
	return Hysteresis{Quantize: q, Margin: h.Margin}, err
}

// Memoryless tells that the told value depends on what was told before, as that
// of Quantize does not.
func (h Hysteresis) Memoryless() bool { return false }

func (h Hysteresis) String() string {
	return fmt.Sprintf("hysteresis %s margin %.4g", h.Quantize.String(), h.Margin)
}

// NewTold returns the policy for one prefix. Where Validate fails it tells every
// value unchanged.
func (h Hysteresis) NewTold() ToldPolicy {
	if h.Validate() != nil {
		return passTold{}
	}
	return &sticky{grid: h.Grid(), margin: h.Margin}
}

// Law is that of the grid, widened by the margin. With M for Margin, e for the
// error bound, lo, hi neighbouring levels more than a step apart: no level is
// wider than w = e x lo to its upper side, nor than e/(1+e) x hi to its lower
// one. Up keeps hi down to lo - Mw, and lo up to lo + Mw; Down keeps lo up to
// hi + Mw, and hi down to hi - Mw. Nearest has its edge at (lo+hi)/2 and levels
// no wider than v = (e + e/(1+e))/2 x their value: it keeps hi down to
// lo(1 + e/2 - Mv), and lo up to lo(1 + e/2 + Mv). Levels one step apart have
// no multiple between them; for any other value M steps come on top.
func (h Hysteresis) Law() Law {
	l := h.Quantize.Law()
	e, m := h.Error, h.Margin
	me := float64(m * e) // here and below: no fused multiply-add, so that all machines agree
	extra := part(h.Step, m)
	switch h.Rounding {
	case Up:
		l.Over, l.Under = (1+e)/(1-me)-1, me/(1+me)
		l.UnderSlack = extra
	case Down:
		l.Over, l.Under = me/(1+e-me), 1-1/(1+e+me)
	case Nearest:
		half, v := float64(e/2), (e+e/(1+e))/2
		mv := float64(m * v)
		l.Over, l.Under = (1+e)/(1+half-mv)-1, 1-1/(1+half+mv)
	}
	l.OverSlack = addSat(l.OverSlack, extra)
	if h.Rounding != Up {
		l.UnderSlack = addSat(l.UnderSlack, extra)
	}
	return l
}

// sticky is the policy of one prefix. told is the number of a level, 0 where
// nothing is kept.
type sticky struct {
	grid   *Grid
	margin float64
	told   uint64
}

func (s *sticky) Step(_ time.Duration, in Value) (Value, time.Duration) {
	if in.Reach != Valued {
		s.told = 0
		return in, Never
	}
	if own := s.grid.ordinal(in.Bits); s.told == 0 || own == 0 || !s.near(in.Bits, own) {
		s.told = own
	}
	in.Bits = s.grid.level(s.told)
	return in, Never
}

// near tells whether x, whose own level is another than the told one, has left
// the told level by less than the margin.
func (s *sticky) near(x, own uint64) bool {
	low := min(own, s.told)
	if own == s.told || max(own, s.told) != low+1 || s.grid.exact(x) {
		return false
	}
	edge := s.grid.edge(low)
	narrower := min(edge-s.grid.edge(low-1), s.grid.edge(low+1)-edge)
	return float64(max(x, edge)-min(x, edge)) < float64(narrower)*s.margin
}

// exact tells whether x is within 2^-22 of a level.
func (g *Grid) exact(x uint64) bool {
	n := g.reached(x)
	lo, hi := g.level(n), g.level(min(n+1, g.last()))
	return x-lo <= lo>>snapShift || hi > x && hi-x <= hi>>snapShift
}

// edge is where values begin to be told as the level after the n-th. The first
// level reaches down to 0, and the last has no end, so no margin.
func (g *Grid) edge(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	level, next := g.level(n), g.level(min(n+1, g.last()))
	switch g.rounding {
	case Up:
		return level
	case Down:
		return next
	}
	return level + (next-level)/2
}
