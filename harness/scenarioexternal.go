package harness

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// readExternal reads the devices that are no speakers of the rig.
//
//	external:
//	  r1-bag1: {address: 192.0.2.1, asn: 65010, silence: 500ms}
//	  r2-f1-e1: {address: 192.0.2.9, neighbors: {r2-bag1: 192.0.2.20}, passive: true}
func (sc *Scenario) readExternal(n yamltree.Node, given map[string]state.External) {
	sc.External = nil
	put := func(name string, x state.External) {
		if sc.External == nil {
			sc.External = map[string]state.External{}
		}
		sc.External[name] = x
	}
	ix := sc.Topology.Index()
	for _, e := range n.Entries() {
		if _, ok := ix.Device[e.Name]; !ok {
			e.Key.Reject("device %q: not in the topology", e.Name)
			continue
		}
		x, good := state.External{}, true
		for _, f := range e.Node.Entries() {
			if f.Name == "neighbors" && f.Node.IsMap() {
				x.NeighborAt = readNeighbors(f.Node)
				continue
			}
			if err := x.Set(f.Name, f.Node.Scalar("")); err != nil {
				f.Node.Reject("%v", err)
				good = false
			}
		}
		switch {
		case good && !x.Address.IsValid():
			e.Key.Reject("external %q: address: missing: want the IPv4 address of the device", e.Name)
		case good:
			put(e.Name, x)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		put(name, given[name])
	}
}

func readNeighbors(n yamltree.Node) map[string]netip.Addr {
	at := map[string]netip.Addr{}
	for _, e := range n.Entries() {
		text := e.Node.Scalar("")
		a, err := netip.ParseAddr(text)
		if err != nil {
			e.Node.Reject("neighbor %q: %q: want an IPv4 address", e.Name, text)
		}
		at[e.Name] = a
	}
	return at
}

// placeExternal gives the topology the ASNs of the external devices, and refuses what
// cannot be: with its place in the file where the file has it.
func (sc *Scenario) placeExternal(n yamltree.Node) error {
	t, _, err := state.PlaceExternal(sc.Topology, sc.External)
	if err == nil && sc.Engine != GoBGP && n.Present() && len(sc.External) > 0 {
		err = fmt.Errorf("engine %s: external %q: %w that could reach it: want engine %s", sc.Engine, slices.Sorted(maps.Keys(sc.External))[0], ErrNoWires, GoBGP)
	}
	if err != nil && n.Present() {
		n.Reject("%v", err)
		return nil
	}
	if err == nil {
		sc.Topology = t
	}
	return err
}

// network is what the rules of external devices need of the scenario.
func (sc *Scenario) network() *state.Network {
	_, list, _ := state.PlaceExternal(sc.Topology, sc.External)
	return &state.Network{Topology: sc.Topology, Index: sc.Topology.Index(), External: list}
}

// ExternalSessions lists the sessions of the scenario's external devices, in the order
// of the devices and of their bundles: what the devices must be configured with.
func (sc *Scenario) ExternalSessions() (sessions []state.ExternalSession, err error) {
	t, list, err := state.PlaceExternal(sc.Topology, sc.External)
	if err != nil {
		return nil, err
	}
	for d, x := range list {
		if x == nil {
			continue
		}
		more, err := x.Sessions(t, t.Index(), d)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, more...)
	}
	return sessions, nil
}

// external writes the external devices.
func (w *scenarioWriter) external() {
	if len(w.sc.External) > 0 {
		w.line("external:")
	}
	for _, name := range slices.Sorted(maps.Keys(w.sc.External)) {
		x := w.sc.External[name]
		pairs := x.Fields()
		if len(x.NeighborAt) > 0 {
			var at []string
			for _, n := range slices.Sorted(maps.Keys(x.NeighborAt)) {
				at = append(at, yamltree.Quote(n), x.NeighborAt[n].String())
			}
			if x.Neighbors.IsValid() {
				w.fail("external %q: neighbors %v and by name", name, x.Neighbors)
			}
			pairs = append(pairs, "neighbors", flowMap(at...))
		}
		w.line("  %s: %s", yamltree.Quote(name), flowMap(pairs...))
	}
}
