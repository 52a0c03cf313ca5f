package damping

import "time"

type passBundle struct{}

func (passBundle) Step(_ time.Duration, capacity uint64) (Passed, time.Duration) {
	return Passed{Capacity: capacity}, Never
}

type passTold struct{}

func (passTold) Step(_ time.Duration, in Value) (Value, time.Duration) { return in, Never }

// bundleChain steps a stage only when its input changed or its timer is due,
// as BundlePolicy promises to every policy.
type bundleChain struct {
	links   []bundleLink
	now     time.Duration
	started bool
}

type bundleLink struct {
	policy BundlePolicy
	in     uint64
	out    Passed
	next   time.Duration
}

func (c *bundleChain) Step(now time.Duration, capacity uint64) (Passed, time.Duration) {
	if c.started {
		now = max(now, c.now)
	}
	c.now = now
	out, next := Passed{Capacity: capacity}, Never
	for i := range c.links {
		l := &c.links[i]
		if !c.started || l.in != out.Capacity || l.next <= now {
			l.in = out.Capacity
			l.out, l.next = l.policy.Step(now, l.in)
		}
		out.Capacity = l.out.Capacity
		out.Trial = out.Trial || l.out.Trial
		next = min(next, l.next)
	}
	c.started = true
	return out, next
}

// toldChain is bundleChain for told values.
type toldChain struct {
	links   []toldLink
	now     time.Duration
	started bool
}

type toldLink struct {
	policy  ToldPolicy
	in, out Value
	next    time.Duration
}

func (c *toldChain) Step(now time.Duration, in Value) (Value, time.Duration) {
	return c.step(now, in, false)
}

// AttributeChange tells the stages whose input has a route: a stage behind one
// that withholds the route sees no attributes.
func (c *toldChain) AttributeChange(now time.Duration) (Value, time.Duration) {
	if !c.started {
		return Value{}, Never
	}
	return c.step(now, c.links[0].in, true)
}

func (c *toldChain) step(now time.Duration, in Value, attributes bool) (Value, time.Duration) {
	if c.started {
		now = max(now, c.now)
	}
	c.now = now
	out, next := in, Never
	for i := range c.links {
		l := &c.links[i]
		if !c.started || l.in != out || l.next <= now {
			l.in = out
			l.out, l.next = l.policy.Step(now, l.in)
		} else if attributes && l.in.Reach != Gone {
			if h, ok := l.policy.(AttributeHearer); ok {
				l.out, l.next = h.AttributeChange(now)
			}
		}
		out = l.out
		next = min(next, l.next)
	}
	c.started = true
	return out, next
}
