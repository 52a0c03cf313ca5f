package speakers

import "slices"

// sessionFell forgets what came over a session, unless the neighbour restarts
// and its forwarding is kept: then its routes are used for a while longer, as
// stale ones (RFC 4724 S4.2).
func (c *Core) sessionFell(s int) {
	state := &c.sessions[s]
	graceful := state.restarts && c.settings.StaleTime > 0
	state.restarts, state.endOfRIB = false, false
	if !graceful {
		state.staleTo, state.stale = Never, nil
		c.dropAll(s)
		return
	}
	state.staleTo = c.now + c.settings.StaleTime
	state.stale = slices.Repeat([]bool{true}, len(c.prefixes))
}

// dropStale drops what a neighbour has not told again since it restarted.
func (c *Core) dropStale(s int) {
	if c.sessions[s].staleTo == Never {
		return
	}
	c.sessions[s].staleTo = Never
	for p := range c.prefixes {
		if c.sessions[s].stale[p] {
			c.setCandidate(p, s, nil)
		}
	}
	c.sessions[s].stale = nil
}

func (c *Core) staleTimers() {
	for s := range c.sessions {
		if c.sessions[s].staleTo <= c.now {
			c.dropStale(s)
		}
	}
}

// maySelect tells whether a restarted core has heard all its neighbours to the
// end, or has waited long enough (RFC 4724 S4.1).
func (c *Core) maySelect() bool {
	if c.deferTo <= c.now {
		return true
	}
	for s := range c.sessions {
		if !c.sessions[s].endOfRIB {
			return false
		}
	}
	return true
}

// selectFirst ends the wait. Hardware still forwards as before the restart, so
// every prefix that now has no next hop is taken from it.
func (c *Core) selectFirst(effects []Effect) []Effect {
	c.deferTo = Never
	c.markAll()
	c.watchAggregates()
	effects = c.decideDue(false, effects)
	for p := range c.prefixes {
		if len(c.prefixes[p].hops) == 0 {
			effects = append(effects, Effect{Kind: Unprogram, Prefix: int32(p)})
		}
	}
	return append(effects, Effect{Kind: AllTold})
}

// Restarting tells whether the core was started again and has not decided yet.
func (c *Core) Restarting() bool { return c.deferTo != Never }
