package properties

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
)

// Of an external device the rules see what it tells, session by session, and nothing
// else: not what it hears of, chooses, weighs or programs. A rule that would have to
// says so by unseen, and is never held there.

// unseen notes, once for each device, what a rule would have to see of it, and tells
// whether the device is external.
func (l *ledger) unseen(m *state.Moment, d int, what string) bool {
	if !m.IsExternal(d) {
		return false
	}
	name := m.Topology.Devices[d].Name
	if !slices.ContainsFunc(l.found.NotObservable, func(u state.Unobserved) bool { return u.Device == name }) {
		l.found.NotObservable = append(l.found.NotObservable, state.Unobserved{Device: name, What: what})
	}
	return true
}

// setOf is a device's multipath set: of an external one that which the graph says.
func setOf(m *state.Moment, d, p int) []state.Member {
	if m.IsExternal(d) {
		return m.Damped.Route(d, p).Set
	}
	return m.Snapshot.Devices[d].Routes[p].Set
}

// tellsOver is what an external device tells over a session, or nil.
func tellsOver(m *state.Moment, d, p int, bundle int32) *state.Telling {
	for i, t := range m.Snapshot.Devices[d].Tells[p] {
		if t.Bundle == bundle {
			return &m.Snapshot.Devices[d].Tells[p][i]
		}
	}
	return nil
}

// heldFrom tells whether what a device tells over a session waits.
func heldFrom(m *state.Moment, d int, bundle int32) bool {
	return m.Snapshot.Bundles[bundle].Unseen ||
		slices.Contains(m.Snapshot.Held, state.Direction{Bundle: bundle, FromB: m.Index.Ends[bundle][1] == d})
}

// againAfterReset is how often an external device may tell a prefix otherwise because
// of resets of its sessions. A speaker of the rig hears of such a session's fall and of
// all that it brings anew in one round; a device elsewhere hears the fall first, and
// withdraws what it had from there.
func againAfterReset(m *state.Moment, d int) (times int) {
	if !m.IsExternal(d) {
		return 0
	}
	for _, e := range m.Window.Events {
		if b, ok := m.Index.Bundle[e.Bundle]; ok && e.Kind == "reset" && slices.Contains(m.Index.Of[d], b) {
			times += 2
		}
	}
	return times
}

// loops tells whether a device's neighbour over a bundle is in an AS_PATH, so that it
// drops the route (RFC 4271 S9.1.2). Speakers of the rig do not tell such a route; that
// others do is no fault.
func loops(m *state.Moment, d int, bundle int32, path []uint32) bool {
	to, _ := peer(m.Network, d, bundle)
	return slices.Contains(path, m.Topology.Devices[to].ASN)
}

// usable leaves out the candidates that external neighbours tell although the device is
// in their AS_PATH: it holds them and drops them.
func usable(m *state.Moment, d int, list []state.Candidate) []state.Candidate {
	if m.External == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(c state.Candidate) bool {
		from, _ := peer(m.Network, d, c.Bundle)
		return m.IsExternal(from) && slices.Contains(c.Path, m.Topology.Devices[d].ASN)
	})
}

// loopsAllowed is what a flow of an external device may carry of routes that its
// neighbour drops: as much as it may tell of the prefix to any other neighbour.
func loopsAllowed(m *state.Moment, f flow, allowed map[flow]permit) (most int) {
	from := sender(m.Network, f.dir)
	if !m.IsExternal(from) || !loops(m, from, f.dir.Bundle, m.Damped.Route(from, int(f.prefix)).Told.Path) &&
		!loops(m, from, f.dir.Bundle, m.Window.Before.Route(from, int(f.prefix)).Told.Path) {
		return 0
	}
	for _, b := range m.Index.Of[from] {
		other := flow{state.Direction{Bundle: int32(b), FromB: m.Index.Ends[b][1] == from}, f.prefix}
		most = max(most, allowed[other].told+allowed[other].path)
	}
	return most
}

// session names a directed session and a prefix.
func session(n *state.Network, from int, bundle int32, prefix int) string {
	to, _ := peer(n, from, bundle)
	return fmt.Sprintf("device %q to %q over %s, prefix %s", n.Topology.Devices[from].Name, n.Topology.Devices[to].Name, bundleName(n, bundle), n.Topology.Prefixes[prefix].Prefix)
}

// wantValue is what an external device must tell of a prefix: what its rule makes of
// the graph's bottleneck value, or the range in which a rule with a memory leaves it.
func wantValue(m *state.Moment, told *state.ToldDamping, d, p int) (low, high float64, valued bool) {
	r := m.Damped.Route(d, p)
	if !r.Valued {
		return 0, 0, false
	}
	bits := r.Bottleneck
	if grid := told.Pipeline.Quantizer(); grid != nil && told.Memoryless {
		bits = grid.Level(bits)
	} else if !told.Memoryless {
		l, h := told.Law.Range(bits)
		return float64(l), float64(h), true
	}
	sent := bitsOf(float32(float64(bits) / 8))
	return sent * (1 - float32Hop), sent * (1 + float32Hop), true
}

// compareExternal judges what an external device tells over its sessions.
func (c *EndState) compareExternal(m *state.Moment, told *state.ToldDamping, d, p int) (wrong int) {
	low, high, valued := wantValue(m, told, d, p)
	route := m.Damped.Route(d, p)
	path := append([]uint32{m.Topology.Devices[d].ASN}, route.Told.Path...)
	for _, b := range m.Index.Of[d] {
		got, tells := tellsOver(m, d, p, int32(b)), m.Damped.TellsTo(d, p, int32(b))
		if !tells && (got == nil || loops(m, d, int32(b), got.Path)) {
			continue
		}
		c.found.Exercised++
		text := ""
		switch {
		case got == nil:
			text = "tells nothing, the graph has " + wantText(m, low, high, valued)
		case !tells:
			text = fmt.Sprintf("tells %s, AS_PATH %v: the graph lets nothing be told there", valueText(m.Network, true, got.Valued, got.Value), got.Path)
		case got.Valued != valued || valued && (bitsOf(got.Value) < low || bitsOf(got.Value) > high):
			text = fmt.Sprintf("tells %s, the graph has %s (attributes % x)", valueText(m.Network, true, got.Valued, got.Value), wantText(m, low, high, valued), got.Attributes)
		case !slices.Equal(got.Path, path):
			text = fmt.Sprintf("tells AS_PATH %v, the graph has %v", got.Path, path)
		}
		if text != "" {
			wrong++
			c.violate(m, session(m.Network, d, int32(b), p), "%s", text)
		}
	}
	return wrong
}

func wantText(m *state.Moment, low, high float64, valued bool) string {
	switch {
	case !valued:
		return "a route without a value"
	case high-low <= 4*float32Hop*high:
		return amount(m.Network, (low+high)/2)
	}
	return fmt.Sprintf("%s to %s", amount(m.Network, low), amount(m.Network, high))
}

// external judges the values that an external device tells by its law, of the
// bottleneck value that the graph has for it.
func (c *ToldWithinLaw) external(m *state.Moment, told *state.ToldDamping, d, p int) {
	want := m.Damped.Route(d, p)
	for _, t := range m.Snapshot.Devices[d].Tells[p] {
		if !m.Damped.TellsTo(d, p, t.Bundle) || heldFrom(m, d, t.Bundle) {
			continue // EndState's to report, or not what it tells now
		}
		r := &state.Route{Valued: want.Valued, Bottleneck: want.Bottleneck, Told: state.Told{Present: true, Valued: t.Valued, Value: t.Value}}
		where := session(m.Network, d, t.Bundle, p)
		if t.Valued != want.Valued {
			c.found.Exercised++
			c.violate(m, where, "tells %s: the bottleneck value that the graph has for it is %s", valueText(m.Network, true, t.Valued, t.Value), bottleneckText(m.Network, want))
			continue
		}
		if !t.Valued {
			continue
		}
		c.found.Exercised++
		low, high := told.Law.Range(want.Bottleneck)
		c.value(m, where, r, float64(low), float64(high), m.Settled || told.Memoryless)
	}
}

// changeOfTellings says in what the values that an external device tells differ from
// those at the baseline, and where, or gives "". Presence is EndState's to judge.
func changeOfTellings(m *state.Moment, d, p int) (where, text string) {
	before := *m
	before.Snapshot = m.Baseline
	for _, b := range m.Index.Of[d] {
		now, was := tellsOver(m, d, p, int32(b)), tellsOver(&before, d, p, int32(b))
		if now == nil || was == nil || loops(m, d, int32(b), now.Path) || loops(m, d, int32(b), was.Path) {
			continue
		}
		if now.Valued != was.Valued || now.Valued && now.Value != was.Value {
			return session(m.Network, d, int32(b), p), fmt.Sprintf("told: it tells %s, at the baseline %s",
				valueText(m.Network, true, now.Valued, now.Value), valueText(m.Network, true, was.Valued, was.Value))
		}
	}
	return "", ""
}
