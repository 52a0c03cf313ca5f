// Package ownpolicy is a worked example of a module that is not bagrig's: two damping
// policies of its own, of which one is wrong, and the tests that tell them apart.
package ownpolicy

import (
	"fmt"
	"time"

	"github.com/bagrig/bagrig/damping"
)

// Mean tells the mean of the last two values. It looks like a good idea, for it halves
// every step. But it promises to tell the truth and does not: after a fall it tells
// more than there is, and goes on to do so until something else changes.
type Mean struct{}

// NewTold implements damping.ToldStage.
func (Mean) NewTold() damping.ToldPolicy { return &mean{} }

// Law implements damping.ToldStage.
func (Mean) Law() damping.Law { return damping.Law{PerChange: 1} }

func (Mean) String() string { return "mean of two" }

type mean struct{ before, in damping.Value }

// Step implements damping.ToldPolicy.
func (m *mean) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in != m.in {
		m.before, m.in = m.in, in
	}
	told := in
	if in.Reach == damping.Valued && m.before.Reach == damping.Valued {
		told.Bits = (in.Bits + m.before.Bits) / 2
	}
	return told, damping.Never
}

// Lowest tells a fall at once, and a rise when nothing has fallen for a while.
type Lowest struct {
	For time.Duration // above 0
}

// NewTold implements damping.ToldStage.
func (l Lowest) NewTold() damping.ToldPolicy { return &lowest{hold: l.For} }

// Law implements damping.ToldStage: nothing is told too high, a rise waits for For at
// the most, and a change is told once.
func (l Lowest) Law() damping.Law { return damping.Law{Settle: l.For, PerChange: 1} }

func (l Lowest) String() string { return fmt.Sprintf("lowest of %v", l.For) }

type lowest struct {
	hold     time.Duration
	in, told damping.Value
	due      time.Duration // when the waiting rise is told
}

// Step implements damping.ToldPolicy.
func (l *lowest) Step(now time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in != l.in {
		l.in, l.due = in, now+l.hold
	}
	rise := in.Reach == damping.Valued && l.told.Reach == damping.Valued && in.Bits > l.told.Bits
	if rise && now < l.due {
		return l.told, l.due
	}
	l.told = in
	return l.told, damping.Never
}
