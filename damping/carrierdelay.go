package damping

import (
	"fmt"
	"time"
)

// Backoff is a delay that grows while its cause repeats: First, then twice as
// much each time that the cause returns within Max of its last time, up to Max.
// A cause that stayed away for Max or longer costs First again.
type Backoff struct {
	First time.Duration // 0 or more
	Max   time.Duration // First or more; equal to First the delay is constant
}

// Fixed is a Backoff that is always d.
func Fixed(d time.Duration) Backoff { return Backoff{First: d, Max: d} }

func (b Backoff) validate(name string) error {
	switch {
	case b.First < 0:
		return fmt.Errorf("carrier-delay: %s first %v: want 0 or more", name, b.First)
	case b.Max < b.First:
		return fmt.Errorf("carrier-delay: %s max %v: want first %v or more", name, b.Max, b.First)
	case b.First == 0 && b.Max > 0:
		return fmt.Errorf("carrier-delay: %s first %v: want more than 0 to reach max %v", name, b.First, b.Max)
	}
	return nil
}

func (b Backoff) String() string {
	if b.First == b.Max {
		return b.First.String()
	}
	return fmt.Sprintf("%v to %v", b.First, b.Max)
}

// CarrierDelay passes a change of a bundle only after it has lasted: capacity
// that has been below what is passed for the down delay without a break passes,
// and so does capacity above for the up delay. What passes is the capacity of
// that moment. Each delay backs off by itself, whenever capacity leaves what is
// passed to its side. The first value passes at once, and so does 0 delay.
//
// Routers have the two delays per interface (carrier-delay, hold-time up and
// down); the back-off is that of BGP++'s link-up hold (200 ms to 8 s, none for
// down) and of Open/R, except that it runs from the rise, not from the fall. A down delay is the one stage that keeps bad news: until
// it has passed the loss is not known here, and traffic is lost meanwhile.
type CarrierDelay struct {
	Down, Up Backoff
}

// Validate returns an error where a delay is negative, Max is below First, or
// First is 0 and Max is not.
func (c CarrierDelay) Validate() error {
	if err := c.Down.validate("down"); err != nil {
		return err
	}
	return c.Up.validate("up")
}

func (c CarrierDelay) String() string {
	return fmt.Sprintf("carrier-delay down %v up %v", c.Down, c.Up)
}

// NewBundle returns the policy for one bundle. Where Validate fails it passes
// everything at once.
func (c CarrierDelay) NewBundle() BundlePolicy {
	if c.Validate() != nil {
		return passBundle{}
	}
	return &carrier{params: c, due: Never}
}

// Law states that bad news is kept for the longest down delay at most, that all
// has settled after the longest delay, and that a rise passes the first up
// delay after a fall or later.
func (c CarrierDelay) Law() Law {
	l := passLaw()
	l.Late = c.Down.Max
	l.Settle = max(c.Down.Max, c.Up.Max)
	l.Spacing = c.Up.First
	return l
}

// carrier is the policy of one bundle. due is Never while capacity is passed.
type carrier struct {
	params   CarrierDelay
	now      time.Duration
	started  bool
	above    bool // the side on which capacity waits
	capacity uint64
	passed   uint64
	due      time.Duration
	down, up repeats
}

// repeats is the state of one Backoff.
type repeats struct {
	seen  bool
	last  time.Duration
	delay time.Duration
}

func (r *repeats) start(now time.Duration, b Backoff) time.Duration {
	if r.seen && now-r.last < b.Max {
		r.delay = min(later(r.delay, r.delay), b.Max)
	} else {
		r.delay = b.First
	}
	r.seen, r.last = true, now
	return later(now, r.delay)
}

// Step treats a now before the last one as the last one.
func (c *carrier) Step(now time.Duration, capacity uint64) (Passed, time.Duration) {
	if !c.started {
		c.started, c.now, c.capacity, c.passed = true, now, capacity, capacity
		return Passed{Capacity: capacity}, Never
	}
	now = max(now, c.now)
	c.now = now
	c.settle(now)
	c.capacity = capacity
	above := capacity > c.passed
	switch {
	case capacity == c.passed:
		c.due = Never
	case c.due == Never || above != c.above:
		c.above = above
		if above {
			c.due = c.up.start(now, c.params.Up)
		} else {
			c.due = c.down.start(now, c.params.Down)
		}
	}
	c.settle(now)
	return Passed{Capacity: c.passed}, c.due
}

// settle passes what has lasted until now.
func (c *carrier) settle(now time.Duration) {
	if c.due <= now {
		c.passed, c.due = c.capacity, Never
	}
}
