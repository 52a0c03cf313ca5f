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
// its capacity at once too, but on trial for T: in a multipath set it gives way
// to the other members. A fall during the trial passes at
// once, a rise T after it; going down again ends the trial, and coming back
// starts a new one. A bundle that is down at start counts as having gone down,
// so its first coming up is a trial.
//
// T = 0 passes everything at once, without trial.
//
// With Forget above 0 the hold grows while the bundle keeps falling: a fall
// that follows the last one within Forget doubles it, up to Max; any other fall
// sets it to T again. Falls with no rise between them count as one, so that
// a bundle that loses its members one by one is not taken for one that flaps.
// What waits when the hold grows waits longer, and nothing passed is taken back.
// The rule is that of BGP++'s link-up hold (netlink InterfaceEntry::recordLinkDown,
// after Open/R's), which begins at 200 ms, ends at 8 s and forgets after 8 s.
type HoldDown struct {
	T      time.Duration // 0 or more
	Max    time.Duration // T or more where Forget is set, else 0
	Forget time.Duration // 0: the hold is always T; else Max or more
}

// Validate returns an error when T is negative, or when Max and Forget are not
// both 0 and not in the order 0 < T <= Max <= Forget.
func (h HoldDown) Validate() error {
	switch {
	case h.T < 0:
		return fmt.Errorf("holddown: T %v: want 0 or more", h.T)
	case h.Max == 0 && h.Forget == 0:
		return nil
	case h.T == 0:
		return fmt.Errorf("holddown: T %v: want more than 0 where it doubles", h.T)
	case h.Max < h.T:
		return fmt.Errorf("holddown: max %v: want T %v or more", h.Max, h.T)
	case h.Forget < h.Max:
		return fmt.Errorf("holddown: forget %v: want max %v or more", h.Forget, h.Max)
	}
	return nil
}

func (h HoldDown) String() string {
	if h.Forget == 0 {
		return fmt.Sprintf("holddown %v", h.T)
	}
	return fmt.Sprintf("holddown %v to %v, forgets in %v", h.T, h.Max, h.Forget)
}

// NewBundle returns the policy for one bundle. A negative T counts as 0, and
// where Validate fails nothing doubles.
func (h HoldDown) NewBundle() BundlePolicy {
	if h.Validate() != nil {
		h = HoldDown{T: max(h.T, 0)}
	}
	return &holdDown{params: h, hold: h.T, pending: rises{ring: make([]rise, 4)}}
}

// Law states that hold-down never passes more than is there, passes all of it
// T (Max where it doubles) after the last change, and keeps T between a fall
// and the next rise. See Law.Rate for what the last buys.
func (h HoldDown) Law() Law {
	l := passLaw()
	l.Settle = max(h.T, h.Max, 0)
	l.Spacing = max(h.T, 0)
	l.Longest, l.Forget = h.Max, h.Forget
	return l
}

// holdDown is the policy of one bundle. The window reaches from now - hold,
// left out, to now; where hold has grown its start waits and never goes back.
type holdDown struct {
	params     HoldDown
	hold       time.Duration
	now        time.Duration
	started    bool
	down       bool
	fell       bool // the last change was a fall
	counted    bool // lastFall is set
	lastFall   time.Duration
	capacity   uint64
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
		h.pending.expire(now, h.hold)
		h.trial = h.trial && now < h.trialUntil
		h.count(now, capacity)
	}
	h.now, h.capacity = now, capacity
	if capacity == 0 {
		h.started, h.down, h.trial = true, true, false
		h.pending.clear()
		return Passed{}, Never
	}
	if h.down {
		h.trial, h.trialUntil = h.hold > 0, later(now, h.hold)
	}
	h.started, h.down = true, false
	h.pending.add(now, capacity)
	h.pending.expire(now, h.hold)

	next := Never
	if h.trial {
		next = h.trialUntil
	}
	if h.pending.n > 1 {
		next = min(next, later(h.pending.at(1).since, h.hold))
	}
	return Passed{Capacity: h.pending.at(0).capacity, Trial: h.trial}, next
}

// count sets the hold at the first fall after a rise.
func (h *holdDown) count(now time.Duration, capacity uint64) {
	if capacity == h.capacity {
		return
	}
	first := capacity < h.capacity && !h.fell
	h.fell = capacity < h.capacity
	if h.params.Forget == 0 || !first {
		return
	}
	if h.counted && now-h.lastFall < h.params.Forget {
		h.hold = min(later(h.hold, h.hold), h.params.Max)
	} else {
		h.hold = h.params.T
	}
	h.counted, h.lastFall = true, now
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
