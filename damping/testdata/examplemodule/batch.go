// Package batch is a damping policy of another module: good news is told at
// whole minutes only, so that all prefixes of a network rise together. It shows
// all that a policy needs.
package batch

import (
	"fmt"
	"time"

	"github.com/bagrig/bagrig/damping"
)

// Batch tells a rise at the next multiple of Every, and all else at once.
type Batch struct {
	Every time.Duration // above 0
}

// NewTold implements damping.ToldStage: the state of one prefix.
func (b Batch) NewTold() damping.ToldPolicy { return &batched{every: b.Every} }

// Law implements damping.ToldStage: what the policy promises. A rise waits for
// Every at the most, nothing is told too high, and each change is told once.
func (b Batch) Law() damping.Law { return damping.Law{Settle: b.Every, PerChange: 1} }

func (b Batch) String() string { return "batch " + b.Every.String() }

// Validate is optional; Pipeline.Validate calls it.
func (b Batch) Validate() error {
	if b.Every <= 0 {
		return fmt.Errorf("batch: every %v: want more than 0", b.Every)
	}
	return nil
}

type batched struct {
	every time.Duration
	told  damping.Value
	due   time.Duration // when the waiting rise is told; 0 where none waits
}

// Step implements damping.ToldPolicy.
func (b *batched) Step(now time.Duration, in damping.Value) (damping.Value, time.Duration) {
	rise := in.Reach == damping.Valued && b.told.Reach == damping.Valued && in.Bits > b.told.Bits
	switch {
	case !rise || b.due > 0 && b.due <= now:
		b.told, b.due = in, 0
		return in, damping.Never
	case b.due == 0:
		b.due = (now/b.every + 1) * b.every
	}
	return b.told, b.due
}
