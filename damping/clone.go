package damping

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoClone is returned for a policy or a maker that cannot be copied, as one of
// a stage of the user's own may be. All of this package's can be.
var ErrNoClone = errors.New("cannot be cloned")

// BundleCloner is a BundlePolicy that can be copied: CloneBundle returns one in
// the same state that is independent from then on. A policy without state may
// return itself.
type BundleCloner interface {
	BundlePolicy
	CloneBundle() BundlePolicy
}

// ToldCloner is a ToldPolicy that can be copied. maker is the copy of the
// ToldMaker that made the policy, or nil where its stage has none: what the
// policy shares with others at its speaker it finds there.
type ToldCloner interface {
	ToldPolicy
	CloneTold(maker ToldMaker) ToldPolicy
}

// MakerCloner is a ToldMaker that can be copied. One without state may return
// itself.
type MakerCloner interface {
	ToldMaker
	CloneMaker() ToldMaker
}

// CloneBundle copies a policy; the error is ErrNoClone with the policy's type.
func CloneBundle(p BundlePolicy) (BundlePolicy, error) {
	if err := CanCloneBundle(p); err != nil {
		return nil, err
	}
	return p.(BundleCloner).CloneBundle(), nil
}

// CanCloneBundle returns the error that CloneBundle would.
func CanCloneBundle(p BundlePolicy) error {
	c, ok := p.(*bundleChain)
	if !ok {
		if _, ok := p.(BundleCloner); !ok {
			return fmt.Errorf("bundle policy %T: %w: want a method CloneBundle", p, ErrNoClone)
		}
		return nil
	}
	for _, l := range c.links {
		if err := CanCloneBundle(l.policy); err != nil {
			return err
		}
	}
	return nil
}

// Clone copies what the speaker keeps; the error is ErrNoClone. Its policies are
// copied by CloneTold of the copy.
func (s *Speaker) Clone() (*Speaker, error) {
	c := &Speaker{stages: s.stages, makers: slices.Clone(s.makers)}
	for i, m := range s.makers {
		if m == nil {
			continue
		}
		cloner, ok := m.(MakerCloner)
		if !ok {
			return nil, fmt.Errorf("told maker %T: %w: want a method CloneMaker", m, ErrNoClone)
		}
		c.makers[i] = cloner.CloneMaker()
		if h, ok := c.makers[i].(ChurnHearer); ok {
			c.hears = append(c.hears, h)
		}
	}
	return c, nil
}

// CloneTold copies a policy that the speaker of which s is a copy has made; the
// error is ErrNoClone with the policy's type.
func (s *Speaker) CloneTold(p ToldPolicy) (ToldPolicy, error) {
	if len(s.stages) == 0 {
		return p, nil // passes everything, and remembers nothing
	}
	c, ok := p.(*toldChain)
	if !ok {
		return cloneTold(p, s.makers[0])
	}
	made := *c
	made.links = slices.Clone(c.links)
	for i := range made.links {
		var err error
		if made.links[i].policy, err = cloneTold(c.links[i].policy, s.makers[i]); err != nil {
			return nil, err
		}
	}
	return &made, nil
}

// CanClone returns the error that Clone, or CloneTold of its copy for a policy
// that the speaker has made, would.
func (s *Speaker) CanClone(p ToldPolicy) error {
	for _, m := range s.makers {
		if _, ok := m.(MakerCloner); m != nil && !ok {
			return fmt.Errorf("told maker %T: %w: want a method CloneMaker", m, ErrNoClone)
		}
	}
	policies := []toldLink{{policy: p}}
	if c, ok := p.(*toldChain); ok {
		policies = c.links
	}
	for i := range policies {
		if _, ok := policies[i].policy.(ToldCloner); !ok {
			return fmt.Errorf("told policy %T: %w: want a method CloneTold", policies[i].policy, ErrNoClone)
		}
	}
	return nil
}

func cloneTold(p ToldPolicy, maker ToldMaker) (ToldPolicy, error) {
	c, ok := p.(ToldCloner)
	if !ok {
		return nil, fmt.Errorf("told policy %T: %w: want a method CloneTold", p, ErrNoClone)
	}
	return c.CloneTold(maker), nil
}

// What follows implements BundleCloner, ToldCloner and MakerCloner.

func (p passBundle) CloneBundle() BundlePolicy { return p }

func (d deadband) CloneBundle() BundlePolicy { return d }

func (c *carrier) CloneBundle() BundlePolicy {
	made := *c
	return &made
}

func (h *holdDown) CloneBundle() BundlePolicy {
	made := *h
	made.pending.ring = slices.Clone(h.pending.ring)
	return &made
}

func (c *bundleChain) CloneBundle() BundlePolicy {
	made := *c
	made.links = slices.Clone(c.links)
	for i := range made.links {
		made.links[i].policy = c.links[i].policy.(BundleCloner).CloneBundle()
	}
	return &made
}

func (p passTold) CloneTold(ToldMaker) ToldPolicy { return p }

func (q quantized) CloneTold(ToldMaker) ToldPolicy { return q }

func (s *sticky) CloneTold(ToldMaker) ToldPolicy {
	made := *s
	return &made
}

func (p *paced) CloneTold(ToldMaker) ToldPolicy {
	made := *p
	return &made
}

func (p *penalized) CloneTold(ToldMaker) ToldPolicy {
	made := *p
	return &made
}

func (g *guarded) CloneTold(maker ToldMaker) ToldPolicy {
	made := *g
	if s, ok := maker.(*storm); ok {
		made.storm = s
	}
	return &made
}

func (s *paceSpeaker) CloneMaker() ToldMaker { return s }

func (m penaltyMaker) CloneMaker() ToldMaker { return m }

func (s *storm) CloneMaker() ToldMaker {
	made := *s
	return &made
}
