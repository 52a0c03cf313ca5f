package damping

import (
	"fmt"
	"strings"
	"time"
)

// BundleStage is one step of a pipeline on the bundle: a BundlePolicy with its
// parameters. NewBundle returns a policy in its first state. A stage whose
// parameters can be wrong has a method Validate() error.
type BundleStage interface {
	NewBundle() BundlePolicy
	Law() Law
	String() string
}

// ToldStage is one step of a pipeline on the told value. NewTold returns a
// policy in its first state. A stage whose output depends on its present input
// alone says so by a method Memoryless() bool.
type ToldStage interface {
	NewTold() ToldPolicy
	Law() Law
	String() string
}

// Pipeline joins stages: those of Bundle damp each bundle's capacity before the
// decision process, those of Told each prefix's bottleneck value after it, both
// in order. The zero value passes everything at once.
type Pipeline struct {
	Name   string
	Bundle []BundleStage
	Told   []ToldStage
}

// Validate returns the first error of a stage that has a Validate method.
func (p Pipeline) Validate() error {
	check := func(place string, i int, stage any) error {
		if stage == nil {
			return fmt.Errorf("pipeline %q: %s stage %d is nil", p.Name, place, i+1)
		}
		v, ok := stage.(interface{ Validate() error })
		if !ok {
			return nil
		}
		if err := v.Validate(); err != nil {
			return fmt.Errorf("pipeline %q: %s stage %d: %w", p.Name, place, i+1, err)
		}
		return nil
	}
	for i, s := range p.Bundle {
		if err := check("bundle", i, s); err != nil {
			return err
		}
	}
	for i, s := range p.Told {
		if err := check("told", i, s); err != nil {
			return err
		}
	}
	return nil
}

// NewBundle returns the bundle stages as one policy, for one bundle.
func (p Pipeline) NewBundle() BundlePolicy {
	switch len(p.Bundle) {
	case 0:
		return passBundle{}
	case 1:
		return p.Bundle[0].NewBundle()
	}
	c := &bundleChain{links: make([]bundleLink, len(p.Bundle))}
	for i, s := range p.Bundle {
		c.links[i].policy = s.NewBundle()
	}
	return c
}

// NewTold returns the told stages as one policy, for one prefix at one speaker.
func (p Pipeline) NewTold() ToldPolicy {
	switch len(p.Told) {
	case 0:
		return passTold{}
	case 1:
		return p.Told[0].NewTold()
	}
	c := &toldChain{links: make([]toldLink, len(p.Told))}
	for i, s := range p.Told {
		c.links[i].policy = s.NewTold()
	}
	return c
}

// Memoryless tells whether the told value depends on the present bottleneck
// value alone, whatever came before. A stage that does not say so is taken to
// have a memory.
func (p Pipeline) Memoryless() bool {
	for _, s := range p.Told {
		m, ok := s.(interface{ Memoryless() bool })
		if !ok || !m.Memoryless() {
			return false
		}
	}
	return true
}

// Timed tells whether a told stage may set a timer. Where it is false every
// policy of NewTold returns Never, so a speaker need not keep their timers.
func (p Pipeline) Timed() bool { return !p.Memoryless() }

// Quantizer returns the grid when the told stages are one valid Quantize and
// nothing else, and nil for all other pipelines, the empty one included.
func (p Pipeline) Quantizer() *Grid {
	if len(p.Told) != 1 {
		return nil
	}
	q, ok := p.Told[0].(Quantize)
	if !ok {
		return nil
	}
	return q.Grid()
}

// Law is the law of all stages in order. Errors multiply and settle times add.
func (p Pipeline) Law() Law {
	l := passLaw()
	for _, s := range p.Bundle {
		l = l.then(s.Law())
	}
	for _, s := range p.Told {
		l = l.then(s.Law())
	}
	return l
}

// String prints the name and the stages in order, such as
// "bag-default: holddown 30s | quantize step 800G error 10% up".
func (p Pipeline) String() string {
	var stages []string
	for _, s := range p.Bundle {
		stages = append(stages, s.String())
	}
	for _, s := range p.Told {
		stages = append(stages, s.String())
	}
	if len(stages) == 0 {
		stages = []string{"passes everything at once"}
	}
	return p.Name + ": " + strings.Join(stages, " | ")
}

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
		}
		out = l.out
		next = min(next, l.next)
	}
	c.started = true
	return out, next
}
