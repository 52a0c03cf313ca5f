package properties

import "github.com/bagrig/bagrig/harness/state"

// news is what a rule has to judge: the places that may differ from what it judged
// last, over all moments that it was shown since, and those that it wants to see
// again, such as places that violate it. So a rule that looks only at news finds what
// one finds that looks at everything each time.
type news struct {
	seen         *state.Moment // shown last
	routes, hops state.Places  // see state.Since
	spare        state.Places
}

// hear takes a moment that the rule is shown, also where it does not judge it.
func (n *news) hear(m *state.Moment) {
	since := m.Since
	switch {
	case n.seen == nil || n.seen.Network != m.Network:
		devices, prefixes := len(m.Topology.Devices), len(m.Topology.Prefixes)
		n.routes, n.hops, n.spare = state.NewPlaces(devices, prefixes), state.NewPlaces(devices, prefixes), state.NewPlaces(devices, prefixes)
		fallthrough
	case since == nil || since.Before != n.seen:
		n.routes.AddAll()
		n.hops.AddAll()
	default:
		n.routes.Join(since.Routes)
		n.hops.Join(since.Hops)
	}
	n.seen = m
}

// takeRoutes gives the places to judge, and begins anew with none. They are valid
// until the next call of this or of takeHops.
func (n *news) takeRoutes() state.Places { return n.take(&n.routes) }

// takeHops is takeRoutes for places where traffic may take another way.
func (n *news) takeHops() state.Places { return n.take(&n.hops) }

func (n *news) take(from *state.Places) state.Places {
	taken := *from
	*from, n.spare = n.spare, taken
	from.Clear()
	return taken
}

// answers asks the graph without making room anew each time.
type answers struct {
	route    state.Route
	receives []state.Candidate
}

// ofRoute is Judge.Route, valid until the next call.
func (a *answers) ofRoute(j state.Judge, device, prefix int) *state.Route {
	if j, ok := j.(interface {
		RouteInto(r *state.Route, device, prefix int)
	}); ok {
		j.RouteInto(&a.route, device, prefix)
		return &a.route
	}
	return j.Route(device, prefix)
}

// ofReceives is Judge.Receives, valid until the next call.
func (a *answers) ofReceives(j state.Judge, device, prefix int) []state.Candidate {
	if j, ok := j.(interface {
		AppendReceives(got []state.Candidate, device, prefix int) []state.Candidate
	}); ok {
		a.receives = j.AppendReceives(a.receives[:0], device, prefix)
		return a.receives
	}
	return j.Receives(device, prefix)
}

// counted is the number of places at which something holds, as far as a rule has
// looked.
type counted struct {
	at state.Places
	n  int
}

func newCounted(m *state.Moment) counted {
	return counted{at: state.NewPlaces(len(m.Topology.Devices), len(m.Topology.Prefixes))}
}

func (c *counted) put(device, prefix int, holds bool) {
	switch was := c.at.Has(device, prefix); {
	case holds && !was:
		c.at.Add(device, prefix)
		c.n++
	case was && !holds:
		c.at.Remove(device, prefix)
		c.n--
	}
}

// constants are what a rule looks up once of a network.
type constants struct {
	of       *state.Network
	dampings func(device, prefix int) *state.ToldDamping
	origin   [][]bool // by prefix: see origins
	timeless bool     // what is told depends everywhere on the present bottleneck value alone, and nothing is kept back
}

// learn is true where the network is a new one.
func (c *constants) learn(m *state.Moment) bool {
	if c.of == m.Network {
		return false
	}
	*c = constants{of: m.Network, dampings: m.ToldDampings(), origin: make([][]bool, len(m.Topology.Prefixes)), timeless: true}
	for d := range m.Topology.Devices {
		for p := range m.Topology.Prefixes {
			t := c.dampings(d, p)
			c.timeless = c.timeless && t.Memoryless && t.Law.Late == 0
		}
	}
	return true
}

// somewhere tells by prefix whether the damping of told values is such at some device.
func somewhere(m *state.Moment, such func(*state.ToldDamping) bool) []bool {
	dampings, list := m.ToldDampings(), make([]bool, len(m.Topology.Prefixes))
	for p := range list {
		for d := range m.Topology.Devices {
			list[p] = list[p] || such(dampings(d, p))
		}
	}
	return list
}

func remembers(t *state.ToldDamping) bool { return !t.Memoryless }

func keepsTrace(t *state.ToldDamping) bool { return !t.Forgets }

// origins tells by device whether it originates the prefix.
func (c *constants) origins(prefix int) []bool {
	if c.origin[prefix] == nil {
		c.origin[prefix] = origins(c.of, prefix)
	}
	return c.origin[prefix]
}
