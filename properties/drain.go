package properties

import (
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// HitlessName is the name of the rule, as verdicts and reports print it.
const HitlessName = "drain is hitless"

// Hitless is the rule "drain is hitless": while devices are drained or put back, or
// their speakers restart, and nothing else happens, no traffic that spines send is lost
// between two rounds. While a speaker is away hardware forwards as before. A device is taken out warm first, so that traffic has moved off before
// it withdraws; one that is drained at once loses what is under way to it.
type Hitless struct {
	ledger
	state []walked // by device
}

type walked uint8

const (
	notWalked walked = iota
	onTheWay
	delivers
	loses
)

// NewHitless returns the check. Its worst value is the most places at one round
// where traffic of spines is lost.
func NewHitless() *Hitless { return &Hitless{ledger: newLedger(HitlessName, 0, "places")} }

// Look implements state.Check; the rule is about rounds.
func (c *Hitless) Look(*state.Moment) {}

// LookRound implements state.RoundCheck. It counts as exercised once per spine
// and prefix that it sends traffic for.
func (c *Hitless) LookRound(m *state.Moment, events []state.Event) {
	for _, e := range events {
		if e.Kind != "drain" && e.Kind != "restart" {
			return
		}
	}
	lost := 0
	c.state = append(c.state[:0], make([]walked, len(m.Topology.Devices))...)
	for p := range m.Topology.Prefixes {
		clear(c.state)
		origin := origins(m.Network, p)
		for d, dev := range m.Topology.Devices {
			if c.unseen(m, d, "where it sends traffic: what comes to it counts as delivered") || dev.Role != topologies.Spine || origin[d] || len(m.Snapshot.Devices[d].Routes[p].FIB.Members) == 0 {
				continue
			}
			c.found.Exercised++
			lost += c.walk(m, origin, d, p)
		}
	}
	c.worst(float64(lost))
}

// walk follows the traffic from a device, each device once per prefix, and
// counts the places where it is lost.
func (c *Hitless) walk(m *state.Moment, origin []bool, d, p int) (lost int) {
	if c.state[d] != notWalked {
		return 0
	}
	c.state[d] = onTheWay
	members := m.Snapshot.Devices[d].Routes[p].FIB.Members
	if m.IsExternal(d) {
		c.state[d] = delivers
		return 0
	}
	if !origin[d] && len(members) == 0 {
		c.state[d] = loses
		c.violate(m, at(m.Network, d, p), "traffic comes here and there is no next hop")
		return 1
	}
	if origin[d] {
		members = nil
	}
	for _, w := range members {
		to, ok := peer(m.Network, d, w.ID)
		if ok && m.Snapshot.Bundles[w.ID].Unseen {
			continue // lost, and not because of the drain
		}
		if !ok || !carries(m, w.ID) {
			c.violate(m, at(m.Network, d, p), "traffic goes over %s, which is down", bundleName(m.Network, w.ID))
			lost++
			continue
		}
		lost += c.walk(m, origin, to, p)
	}
	c.state[d] = delivers
	return lost
}
