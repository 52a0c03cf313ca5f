package speakers

import (
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// GracefulShutdown is the well-known community 65535:0 (RFC 8326).
const GracefulShutdown uint32 = 65535 << 16

// warm tells whether the neighbour is being taken out of service.
func (r *Route) warm() bool { return slices.Contains(r.Tags, GracefulShutdown) }

// setDrain changes the drain state. A drained device withdraws everything at
// once and forwards for a while longer, since its neighbours have yet to hear.
func (c *Core) setDrain(to topologies.DrainState) {
	if to == c.drain {
		return
	}
	c.drain = to
	c.forwardTo = Never
	if to == topologies.Drained {
		c.forwardTo = c.now + c.settings.Linger
	}
	c.markAll()
}

// drainTimer ends the forwarding of a drained device when its time is up.
func (c *Core) drainTimer() {
	if c.forwardTo <= c.now {
		c.forwardTo = Never
		c.markAll()
	}
}

// configure takes new settings. Nothing that is told or programmed can be kept
// without a look, so everything is decided anew.
func (c *Core) configure(s topologies.Settings) {
	c.settings = s
	for p, class := range c.cfg.Classes {
		c.rejected[p] = slices.Contains(s.RejectClasses, class)
	}
	c.markAll()
}

// ceaseSessions ends the sessions that hold more prefixes than the settings
// allow. A prefix counts once, however often it is announced.
func (c *Core) ceaseSessions(effects []Effect) []Effect {
	if c.settings.MaxPrefixes == 0 {
		return effects
	}
	for s := range c.sessions {
		if c.sessions[s].prefixes > c.settings.MaxPrefixes {
			c.sessions[s].ceased = true
			c.dropAll(s)
			effects = append(effects, Effect{Kind: Cease, Bundle: c.cfg.Sessions[s].Bundle})
		}
	}
	return effects
}
