// Package damping holds the policies that decide when a change may be told:
// pure state machines, time in, decision out. Nothing here reads a clock,
// starts a goroutine or knows about BGP.
//
// A policy sits in one of two places. On the bundle, before the decision
// process, it turns the capacity that is there into the capacity that routing
// may use (BundlePolicy). On the told value, after the decision process, it
// turns the bottleneck value of one prefix into the value that neighbours
// hear (ToldPolicy). A Pipeline joins several of each.
package damping

import (
	"math"
	"time"
)

// Never is the time of a timer that is not set.
const Never = time.Duration(math.MaxInt64)

// Passed is what a bundle policy lets the speaker use.
type Passed struct {
	Capacity uint64 // bits/s; 0 = down
	Trial    bool   // back from down: gives way to the other members of a multipath set
}

// BundlePolicy damps one bundle. Step is called with the capacity that is
// there now (bits/s, 0 = down), on every change of it and when the timer that
// the last call returned is due, then with the capacity unchanged. Time must
// not go backwards between calls. It returns what may be used from now on,
// and when it must be called again, or Never.
type BundlePolicy interface {
	Step(now time.Duration, capacity uint64) (Passed, time.Duration)
}

// Reach tells whether a prefix has a route, and whether the route has a value.
type Reach uint8

// The kinds of Value.
const (
	Gone     Reach = iota // no path
	Unvalued              // a path without link bandwidth
	Valued                // a path with link bandwidth Bits
)

// Value is the bottleneck value of one prefix, or what is told of it.
type Value struct {
	Reach Reach
	Bits  uint64 // bits/s, only for Valued
}

// ToldPolicy damps the told value of one prefix at one speaker. Step is called
// on every change of the input and when the timer that the last call returned
// is due, then with the input unchanged. Time must not go backwards.
// A policy must pass Gone at once (law 4).
type ToldPolicy interface {
	Step(now time.Duration, in Value) (Value, time.Duration)
}

// AttributeHearer is a ToldPolicy that also wants to know when a route's
// attributes changed and its input did not (law 5). AttributeChange is called
// instead of Step, with the same contract and result: it returns what to tell
// from now on, and when Step must be called. A change that comes with a change
// of the input, or at the moment the timer is due, is a Step alone.
type AttributeHearer interface {
	ToldPolicy
	AttributeChange(now time.Duration) (Value, time.Duration)
}

// BundleInfo is what a bundle stage may know of the bundle it stands on. The
// zero value says that nothing is known.
type BundleInfo struct {
	Members int    // at full health
	Speed   uint64 // bits/s of one member
	Length  int    // metres
	Class   string // the user's word for the kind of bundle, for Plan
}

// Full is the capacity at full health in bits/s.
func (b BundleInfo) Full() uint64 { return uint64(max(b.Members, 0)) * b.Speed }
