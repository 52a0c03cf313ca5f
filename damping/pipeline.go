package damping

import (
	"fmt"
	"strings"
	"time"
)

// BundleStage is one step of a pipeline on the bundle: a BundlePolicy with its
// parameters. NewBundle returns a policy in its first state. A stage whose
// parameters can be wrong has a method Validate() error, and one that must know
// the bundle is an InformedStage too.
type BundleStage interface {
	NewBundle() BundlePolicy
	Law() Law
	String() string
}

// InformedStage is a BundleStage whose policy, and so whose law, depends on the
// bundle. NewBundle and Law are then those of a bundle of which nothing is known.
type InformedStage interface {
	BundleStage
	NewBundleFor(BundleInfo) BundlePolicy
	LawFor(BundleInfo) Law
}

// ToldStage is one step of a pipeline on the told value. NewTold returns a
// policy in its first state. A stage whose output depends on its present input
// alone says so by a method Memoryless() bool. One that must know the speaker or
// the prefix is a SpeakerStage too.
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

	// Settle is the most that Law().Settle may be; Validate refuses a pipeline
	// that takes longer. 0 states nothing.
	Settle time.Duration
}

// Validate returns the first error of a stage that has a Validate method, or
// names the stage with which the pipeline takes longer than the stated Settle.
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
	settle := time.Duration(0)
	within := func(place string, i int, stage interface {
		Law() Law
		String() string
	}) error {
		if err := check(place, i, stage); err != nil {
			return err
		}
		settle = later(settle, stage.Law().Settle)
		if p.Settle > 0 && settle > p.Settle {
			return fmt.Errorf("pipeline %q: %s stage %d: %v: settles in %v, longer than the stated settle time %v",
				p.Name, place, i+1, stage, settle, p.Settle)
		}
		return nil
	}
	if p.Settle < 0 {
		return fmt.Errorf("pipeline %q: settle time %v: want 0 or more", p.Name, p.Settle)
	}
	for i, s := range p.Bundle {
		if err := within("bundle", i, s); err != nil {
			return err
		}
	}
	for i, s := range p.Told {
		if err := within("told", i, s); err != nil {
			return err
		}
	}
	return nil
}

// NewBundle is NewBundleFor a bundle of which nothing is known.
func (p Pipeline) NewBundle() BundlePolicy { return p.NewBundleFor(BundleInfo{}) }

// NewBundleFor returns the bundle stages as one policy, for one bundle.
func (p Pipeline) NewBundleFor(info BundleInfo) BundlePolicy {
	policies := make([]bundleLink, len(p.Bundle))
	for i, s := range p.Bundle {
		if informed, ok := s.(InformedStage); ok {
			policies[i].policy = informed.NewBundleFor(info)
		} else {
			policies[i].policy = s.NewBundle()
		}
	}
	switch len(policies) {
	case 0:
		return passBundle{}
	case 1:
		return policies[0].policy
	}
	return &bundleChain{links: policies}
}

// NewTold returns the told stages as one policy, for prefix 0 at a speaker of
// its own. A speaker of several prefixes makes them with NewSpeaker.
func (p Pipeline) NewTold() ToldPolicy { return p.NewSpeaker(0).NewTold(0) }

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

// Forgets tells whether the told value, once the pipeline has settled, depends on
// the present bottleneck value alone. A stage with a memory does so where its law
// allows no error: then there is one value that it may end with.
func (p Pipeline) Forgets() bool {
	for _, s := range p.Told {
		if m, ok := s.(interface{ Memoryless() bool }); !(ok && m.Memoryless()) && !s.Law().exact() {
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

// Law is the law of all stages in order, on any bundle. Errors multiply and
// settle times add.
func (p Pipeline) Law() Law { return p.law(BundleStage.Law) }

// LawFor is Law for one bundle, where stages that know it may promise more.
func (p Pipeline) LawFor(info BundleInfo) Law {
	return p.law(func(s BundleStage) Law {
		if informed, ok := s.(InformedStage); ok {
			return informed.LawFor(info)
		}
		return s.Law()
	})
}

func (p Pipeline) law(of func(BundleStage) Law) Law {
	l := passLaw()
	for _, s := range p.Bundle {
		l = l.then(of(s))
	}
	for _, s := range p.Told {
		l = l.told(s.Law())
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
