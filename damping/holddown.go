package damping

import (
	"fmt"
	"time"
)

// HoldDown passes bad news of a bundle at once and good news after T: what is
// passed is the least capacity seen in the last T, so each rise passes exactly
// T after it happened, and a slow ramp is not starved by its own next step.
// Source: OpenConfig auto-link-bandwidth (featureprofiles RT-7.51), whose tests
// use 30 s. Placed on the bundle, T is paid once per event and not per hop.
//
// The first value after start passes at once. A bundle back from down passes
// its capacity at once too, but on trial for T: the speaker then uses it only
// for prefixes without any other candidate. A fall during the trial passes at
// once, a rise T after it; going down again ends the trial, and coming back
// starts a new one. A bundle that is down at start counts as having gone down,
// so its first coming up is a trial.
//
// T = 0 passes everything at once, without trial.
type HoldDown struct {
	T time.Duration // 0 or more
}

// NewHoldDown returns the stage, or an error when t is negative.
func NewHoldDown(t time.Duration) (HoldDown, error) {
	h := HoldDown{T: t}
	return h, h.Validate()
}

// Validate returns an error when T is negative.
func (h HoldDown) Validate() error {
	if h.T < 0 {
		return fmt.Errorf("holddown: T %v: want 0 or more", h.T)
	}
	return nil
}

func (h HoldDown) String() string { return fmt.Sprintf("holddown %v", h.T) }

// NewBundle returns the policy for one bundle. A negative T counts as 0.
func (h HoldDown) NewBundle() BundlePolicy {
	return &holdDown{t: max(h.T, 0), pending: rises{ring: make([]rise, 4)}}
}

// Law states that hold-down never passes more than is there, passes all of it
// T after the last change, and keeps T between a fall and the next rise. See
// Law.Rate for what the last buys.
func (h HoldDown) Law() Law {
	l := passLaw()
	l.Settle = max(h.T, 0)
	l.Spacing = max(h.T, 0)
	return l
}

// holdDown is the policy of one bundle. The window reaches from now - T, left
// out, to now.
type holdDown struct {
	t          time.Duration
	now        time.Duration
	started    bool
	down       bool
	trialUntil time.Duration
	trial      bool
	pending    rises // empty while down, else at least one entry
}

// Step treats a now before the last one as the last one: BundlePolicy has no
// error to return, and standing still is the one answer that cannot tell good
// news early.
func (h *holdDown) Step(now time.Duration, capacity uint64) (Passed, time.Duration) {
	if h.started {
		now = max(now, h.now)
	}
	h.now = now
	if capacity == 0 {
		h.started, h.down, h.trial = true, true, false
		h.pending.clear()
		return Passed{}, Never
	}
	if h.down {
		h.trial, h.trialUntil = true, later(now, h.t)
	}
	h.started, h.down = true, false
	h.trial = h.trial && now < h.trialUntil
	h.pending.add(now, capacity)
	h.pending.expire(now, h.t)

	next := Never
	if h.trial {
		next = h.trialUntil
	}
	if h.pending.n > 1 {
		next = min(next, later(h.pending.at(1).since, h.t))
	}
	return Passed{Capacity: h.pending.at(0).capacity, Trial: h.trial}, next
}

// later is now + t, or Never where that is beyond all time.
func later(now, t time.Duration) time.Duration {
	if now > Never-t {
		return Never
	}
	return now + t
}

// rise says that no capacity below this one has been seen since.
type rise struct {
	since    time.Duration
	capacity uint64
}

// rises is the monotone queue of a sliding minimum: since and capacity both
// rise strictly from front to back (since may be equal). The front is passed,
// the rest waits. A ring, so that it grows to its largest length and then
// allocates no more.
type rises struct {
	ring []rise // length a power of two
	head int
	n    int
}

func (q *rises) at(i int) *rise { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *rises) clear() { q.head, q.n = 0, 0 }

// add appends capacity and drops what it undercuts, whose time it takes over:
// the least capacity since then is now this one.
func (q *rises) add(now time.Duration, capacity uint64) {
	since := now
	for q.n > 0 && q.at(q.n-1).capacity >= capacity {
		since = q.at(q.n - 1).since
		q.n--
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	q.n++
	*q.at(q.n - 1) = rise{since: since, capacity: capacity}
}

// expire drops the fronts that were left behind T ago or more.
func (q *rises) expire(now, t time.Duration) {
	for q.n > 1 && later(q.at(1).since, t) <= now {
		q.head = (q.head + 1) & (len(q.ring) - 1)
		q.n--
	}
}

func (q *rises) grow() {
	ring := make([]rise, 2*len(q.ring))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}
