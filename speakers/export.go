package speakers

import (
	"slices"

	"github.com/bagrig/bagrig/damping"
)

// Exports tells whether a route may be told over a session. Export is
// valley-free: what was learned from above or from the same tier goes only
// down; and nothing goes to a device whose ASN is in the told path.
func (c *Core) Exports(bundle int32, t Told) bool {
	s, ok := c.sessionOf(bundle)
	return ok && c.exports(s, &t)
}

// ExportsOver is Exports for a session by its place among the device's own.
func (c *Core) ExportsOver(session int, t *Told) bool { return c.exports(session, t) }

func (c *Core) exports(s int, t *Told) bool {
	to := &c.cfg.Sessions[s]
	return t.Present && (!t.Down || to.NeighborRole < c.cfg.Role) && !slices.Contains(t.Path, to.NeighborASN)
}

// audible tells whether any neighbour may hear the route.
func (c *Core) audible(t Told) bool {
	for s := range c.sessions {
		if c.exports(s, &t) {
			return true
		}
	}
	return false
}

func (t Told) equal(u Told) bool {
	return t.Present == u.Present && t.Valued == u.Valued && t.Value == u.Value && t.Down == u.Down && t.Warm == u.Warm && t.Atomic == u.Atomic && t.Form == u.Form && equalPaths(t.Path, u.Path)
}

// Decision returns what the core holds for a prefix. Its slices must not be
// written to; the core replaces them and never changes them.
func (c *Core) Decision(p int32) Decision {
	pre := &c.prefixes[p]
	return Decision{Local: pre.local, Hops: pre.hops, Valued: pre.in.Reach == damping.Valued, Bottleneck: pre.in.Bits, Told: pre.told}
}

// Told is what the core tells of a prefix now. It must not be written to, and
// is valid until the next step.
func (c *Core) Told(p int32) *Told { return &c.prefixes[p].told }

// Candidates appends the Adj-RIB-In entries of a prefix, ascending by bundle.
func (c *Core) Candidates(p int32, to []Candidate) []Candidate {
	for s, cand := range c.row(p) {
		if cand != nil {
			to = append(to, Candidate{Bundle: c.cfg.Sessions[s].Bundle, Route: *cand})
		}
	}
	return to
}

// Steps counts the steps so far.
func (c *Core) Steps() uint64 { return c.history.steps }

// Changed tells whether Decision or Candidates may give something else for a prefix
// than when the core had done that many steps.
func (c *Core) Changed(p int32, steps uint64) bool { return c.history.changed[p] > steps }

// Bundle returns what the core knows of a bundle of its own.
func (c *Core) Bundle(bundle int32) (Bundle, bool) {
	s, ok := c.sessionOf(bundle)
	if !ok {
		return Bundle{}, false
	}
	return Bundle{Up: c.sessions[s].up, Passed: c.sessions[s].passed}, true
}

// ScopeDown is the standard community 65000:1. It marks a route that was
// learned from above or from the same tier and goes only down, so that a
// device that is not bagrig's can take part.
const ScopeDown uint32 = 65000<<16 | 1
