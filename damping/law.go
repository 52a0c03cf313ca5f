package damping

import (
	"math"
	"math/bits"
	"time"
)

// equalShift is the tolerance 2^-20 of Range. It holds four snaps of a Grid,
// which an error bound of 1 may double.
const equalShift = snapShift - 2

// Law states what a stage or a pipeline promises of one speaker, as data
// computed from its parameters. Along a path the errors multiply, except that
// on a shared grid a hop that only takes a minimum adds nothing.
//
// Laws 1 and 3 bound the told value by the bottleneck value; see Range. Law 2
// bounds the number of advertisements; see Rate, Adverts and PerChange. Law 4,
// loss of the last path is told at once, has no parameter: every told stage
// keeps it, and a bundle stage may delay when the loss is known, by Late.
//
// Values that differ by less than 2^-20, about one in a million, count as
// equal: they are sent as float32, and each quantizer snaps within 2^-22.
type Law struct {
	// Over bounds over-statement: told <= bottleneck x (1 + Over), where
	// bottleneck is its highest value of the last Late.
	Over float64
	// Under bounds under-statement, Settle after the last change of the
	// input: told >= bottleneck x (1 - Under).
	Under float64

	// Step is the unit, in bits/s, whose multiples meet Over and Under as they
	// stand. Any other bottleneck value may be told with up to OverSlack
	// bits/s more, or UnderSlack less. A Step of 0 grants the slack to all.
	Step                  uint64
	OverSlack, UnderSlack uint64

	// Zero is the most, in bits/s, that a bottleneck value of 0 is told as.
	Zero uint64
	// Top is the value, in bits/s, above which all is told as if it were Top.
	// 0 sets no such end.
	Top uint64

	// Late is how long bad news may be kept. 0: over-statement is within Over
	// at every moment.
	Late time.Duration

	// Settle is the time after the last change of the input within which the
	// told value has reached its final value (law 1). Never is unbounded.
	Settle time.Duration

	// Spacing is the least time between a fall of what a bundle passes and
	// its next rise, coming back from down apart. 0 promises nothing.
	Spacing time.Duration
	// Longest is what Spacing grows to while a bundle keeps falling, doubling
	// with each fall that follows the last within Forget. Forget 0: no growth.
	Longest, Forget time.Duration

	// PerChange is the most advertisements of a prefix that one received change,
	// or one change of what the bundle stages passed, may cause.
	PerChange int

	// Burst and Refill bound all advertisements of a prefix, whatever causes
	// them; see Adverts. Burst 0 promises nothing.
	Burst  int
	Refill time.Duration
}

// passLaw is the law of passing everything at once.
func passLaw() Law { return Law{PerChange: 1} }

// then is the law of l's bundle stage followed by m's.
func (l Law) then(m Law) Law {
	out := l.told(m)
	// Hold-downs in a row keep more than the longest between a fall and a
	// rise, but the trials of a chain end together, at the longest. A stage
	// that keeps falls back takes that much of the time from the one before.
	out.Spacing = max(subTime(l.Spacing, m.Late), m.Spacing)
	switch {
	case m.Forget > 0:
		out.Longest, out.Forget = m.Longest, m.Forget
	case m.Late > 0:
		out.Longest, out.Forget = 0, 0
	}
	return out
}

// told is the law of l followed by a stage on the told value with the law m,
// which leaves alone what the bundle passes.
func (l Law) told(m Law) Law {
	out := l.statement(m)
	out.Late = later(l.Late, m.Late)
	out.Settle = later(l.Settle, m.Settle)
	out.Spacing, out.Longest, out.Forget = l.Spacing, l.Longest, l.Forget
	out.PerChange = l.PerChange * m.PerChange
	out.Burst, out.Refill = m.Burst, m.Refill
	if m.Burst == 0 && l.Burst > 0 {
		out.Burst, out.Refill = l.Burst*m.PerChange, l.Refill
		// What came before a window and waited may be told in it, until the
		// first change in it takes its place.
		if m.Settle > 0 {
			out.Burst += m.PerChange
		}
	}
	return out
}

// statement is the error part of told.
func (l Law) statement(m Law) Law {
	switch {
	case l.exact():
		return m
	case m.exact():
		return l
	}
	out := Law{
		Over:       float64((1+l.Over)*(1+m.Over)) - 1, // no fused multiply-add, so that all machines agree
		Under:      1 - float64((1-l.Under)*(1-m.Under)),
		Step:       l.Step,
		OverSlack:  addSat(l.OverSlack, part(l.OverSlack, m.Over)),
		UnderSlack: l.UnderSlack,
		Top:        lowerTop(l.Top, m.Top),
	}
	_, out.Zero = m.Range(l.Zero)
	// A stage with a Step tells multiples of it only, so the second adds its
	// slack unless it takes those multiples as they stand.
	if l.Step == 0 || m.Step == 0 || l.Step%m.Step != 0 {
		out.Step = 0
		out.OverSlack = addSat(out.OverSlack, m.OverSlack)
		out.UnderSlack = addSat(out.UnderSlack, m.UnderSlack)
	}
	return out
}

func (l Law) exact() bool {
	return l.Over == 0 && l.Under == 0 && l.OverSlack == 0 && l.UnderSlack == 0 && l.Zero == 0 && l.Top == 0
}

func lowerTop(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Range is the least and the most that may be told of a bottleneck value once
// inputs have stopped for Settle; the upper bound holds at every moment, of the
// highest bottleneck value of the last Late. All in bits/s.
func (l Law) Range(bottleneck uint64) (low, high uint64) {
	if bottleneck == 0 {
		return 0, l.Zero
	}
	equal := bottleneck>>equalShift + 1
	high = addSat(bottleneck, addSat(part(bottleneck, l.Over), equal))
	reached := bottleneck
	if l.Top > 0 {
		reached = min(reached, l.Top)
	}
	low = subSat(reached, addSat(part(reached, l.Under), equal))
	if !l.onStep(bottleneck) {
		high, low = addSat(high, l.OverSlack), subSat(low, l.UnderSlack)
	}
	return low, high
}

func (l Law) onStep(x uint64) bool {
	if l.Step == 0 {
		return false
	}
	under := x % l.Step
	return min(under, l.Step-under) <= x>>snapShift
}

// Rate is law 2: the most changes of what one bundle passes in any window of
// the given length, ends included, times PerChange; so the most advertisements
// of a prefix that one own bundle can cause. The bound of a speaker is the sum
// over its bundles, and received changes come on top, PerChange each. Members
// is the number of capacities above 0 that the bundle can have, and returns
// how often it comes back from down in the window. +Inf where Spacing is 0.
//
// Why, with T for Spacing, m for members, d for returns: hold-down passes the
// least capacity of the last T since the last return. When it passes a rise to
// v at time t that is no return, the value before, below v, just left the
// window: it was there up to t-T, and since then all was v or more. A fall
// passed in between, at s, would have to undercut that value, which s still
// had in its window, and then be in the window of t: no fall is passed in the
// T before a rise. So what is passed consists of runs, rising and falling by
// turns, and each turn from falling to rising takes T or is a return: at most
// floor(W/T) + d of them in a window W, which makes at most
// 2(floor(W/T) + d) + 2 runs, of at most m changes each. The end of a trial is
// a change too, and two ends lie T apart or more: floor(W/T) + 1. Together
//
//	(2m + 1)(floor(W/T) + 1) + 2md
//
// For a prefix with another candidate, one on trial counts as down, which is
// the least capacity of the last T with the zeros taken in: there d is 0.
// Without another candidate nothing in the pipeline slows a return, since the
// loss of the last path must be told at once (law 4): d is the environment's.
//
// Where Spacing grows, floor(W/T) is replaced by the count of turns that fits:
// each turn counts one more fall, so at most g turns in a row have a hold
// below Longest, where T x 2^g >= Longest, unless falls stay away for Forget,
// which floor(W/Forget) + 1 times in W at most; all other turns take Longest:
//
//	(floor(W/Forget) + 2)(g + 1) + floor(W/Longest)
//
// A stage on the told value may bound the advertisements by itself: the lower
// of Rate so far and Adverts counts.
func (l Law) Rate(window time.Duration, members, returns int) float64 {
	told := l.Adverts(window)
	if l.Spacing <= 0 {
		return told
	}
	turns := l.turns(window)
	m, d := float64(members), float64(returns)
	return min(told, float64(l.PerChange)*(float64((float64(2*m)+1)*(turns+1))+float64(2*m*d)))
}

func (l Law) turns(window time.Duration) float64 {
	turns := float64(window / l.Spacing)
	if l.Forget <= 0 {
		return turns
	}
	g := 0
	for hold := l.Spacing; hold < l.Longest; hold = later(hold, hold) {
		g++
	}
	return min(turns, float64((float64(window/l.Forget)+2)*float64(g+1))+float64(window/l.Longest))
}

// Adverts is the most advertisements and withdrawals of one prefix by one
// speaker in any window of the given length, ends included, whatever its
// inputs do: Burst x (floor(W/Refill) + 1). +Inf where Burst is 0.
func (l Law) Adverts(window time.Duration) float64 {
	if l.Burst <= 0 || l.Refill <= 0 {
		return math.Inf(1)
	}
	return float64(l.Burst) * (float64(window/l.Refill) + 1)
}

// part is the share by of x, rounded up and saturated.
func part(x uint64, by float64) uint64 {
	p := math.Ceil(float64(x) * by)
	if p >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(p)
}

func addSat(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func subSat(a, b uint64) uint64 {
	return a - min(a, b)
}

func subTime(a, b time.Duration) time.Duration {
	return a - min(a, b)
}
