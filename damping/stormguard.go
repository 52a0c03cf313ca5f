package damping

import (
	"fmt"
	"time"
)

// StormGuard watches what its speaker receives. When an interval brought more
// than High prefixes, rises of told values pause; falls, new paths and lost
// ones pass on. The pause ends with an interval that brought fewer than Low,
// or after MaxPause. It needs Speaker.Received, and without it never pauses.
//
// Source: BGP++'s route-churn detector, which pauses best-path selection and
// FIB programming: 5 s, 20,000, 5,000 and 2 minutes (DefaultStormGuard).
type StormGuard struct {
	Interval time.Duration // above 0; intervals begin at its multiples
	High     int           // prefixes; an interval above it begins a pause
	Low      int           // prefixes, 1 to High; an interval below it ends one
	MaxPause time.Duration // above 0
}

// DefaultStormGuard has the figures of BGP++.
func DefaultStormGuard() StormGuard {
	return StormGuard{Interval: 5 * time.Second, High: 20_000, Low: 5_000, MaxPause: 2 * time.Minute}
}

// Validate returns an error when a field is out of its range.
func (g StormGuard) Validate() error {
	switch {
	case g.Interval <= 0:
		return fmt.Errorf("storm-guard: interval %v: want more than 0", g.Interval)
	case g.Low < 1:
		return fmt.Errorf("storm-guard: low %d: want 1 or more", g.Low)
	case g.High < g.Low:
		return fmt.Errorf("storm-guard: high %d: want low %d or more", g.High, g.Low)
	case g.MaxPause <= 0:
		return fmt.Errorf("storm-guard: max pause %v: want more than 0", g.MaxPause)
	}
	return nil
}

func (g StormGuard) String() string {
	return fmt.Sprintf("storm-guard above %d below %d in %v, at most %v", g.High, g.Low, g.Interval, g.MaxPause)
}

// Law states that a rise waits for MaxPause at the most, and that nothing is
// ever told too high.
func (g StormGuard) Law() Law {
	l := passLaw()
	l.Settle = max(g.MaxPause, 0)
	return l
}

// NewTold returns a policy that hears of no churn, so that it never pauses.
func (g StormGuard) NewTold() ToldPolicy { return g.NewSpeaker(0).NewTold(0) }

// NewSpeaker returns the meter of one speaker, a ChurnHearer. Where Validate
// fails it never pauses.
func (g StormGuard) NewSpeaker(uint64) ToldMaker {
	return &storm{params: g, deaf: g.Validate() != nil}
}

// storm is the meter of one speaker.
type storm struct {
	params   StormGuard
	deaf     bool
	interval time.Duration // number of the interval that count is of
	count    int
	paused   bool
	until    time.Duration // when the last pause had or has to end, 0 if it ended before
}

// Received implements ChurnHearer.
func (s *storm) Received(now time.Duration, prefixes int) {
	if s.deaf {
		return
	}
	s.advance(now)
	s.count += max(prefixes, 0)
}

// NewTold implements ToldMaker.
func (s *storm) NewTold(uint64) ToldPolicy { return &guarded{storm: s} }

// advance judges the intervals that have ended. A pause that has lasted its
// longest ends in an interval or at its end, but no pause begins there: what
// waited must find the moment open.
func (s *storm) advance(now time.Duration) {
	if s.deaf {
		return
	}
	if at := now / s.params.Interval; at > s.interval {
		start := s.interval * s.params.Interval
		end := start + s.params.Interval
		over := start < s.until && s.until <= end
		switch {
		case over:
			s.paused = false
		case s.paused && s.count < s.params.Low:
			s.paused, s.until = false, 0
		case !s.paused && s.count > s.params.High:
			s.paused, s.until = true, later(end, s.params.MaxPause)
		}
		if at > s.interval+1 {
			s.paused, s.until = false, 0 // at least one interval without anything
		}
		s.interval, s.count = at, 0
	}
	if s.paused && s.until <= now {
		s.paused = false
	}
}

// next is when a pause may end.
func (s *storm) next() time.Duration {
	return min(s.until, later(s.interval*s.params.Interval, s.params.Interval))
}

// guarded is the policy of one prefix.
type guarded struct {
	storm *storm
	told  Value
}

func (g *guarded) Step(now time.Duration, in Value) (Value, time.Duration) {
	g.storm.advance(now)
	if g.storm.paused && in.Reach == Valued && g.told.Reach == Valued && in.Bits > g.told.Bits {
		return g.told, g.storm.next()
	}
	g.told = in
	return in, Never
}
