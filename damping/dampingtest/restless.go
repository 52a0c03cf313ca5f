// Package dampingtest has stages of damping that tests break networks with.
package dampingtest

import (
	"time"

	"github.com/bagrig/bagrig/damping"
)

// Restless is a told stage that tells a value below the first one and none in turn,
// each for Every, and is never content; its law promises what it does not keep.
type Restless struct{ Every time.Duration }

// NewTold implements damping.ToldStage.
func (r Restless) NewTold() damping.ToldPolicy { return &restlessPolicy{every: r.Every} }

// Law implements damping.ToldStage.
func (Restless) Law() damping.Law { return damping.Law{} }

// String implements damping.ToldStage.
func (Restless) String() string { return "restless" }

type restlessPolicy struct {
	every  time.Duration
	first  uint64
	hidden bool
}

func (p *restlessPolicy) Step(now time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in.Reach != damping.Valued || in.Bits >= p.first {
		p.first = max(p.first, in.Bits)
		return in, damping.Never
	}
	if p.hidden = !p.hidden; p.hidden {
		in = damping.Value{Reach: damping.Unvalued}
	}
	return in, now + p.every
}
