package properties

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
)

// NoLeaksName is the name of the rule, as verdicts and reports print it.
const NoLeaksName = "nothing leaks"

// NoLeaks is the rule "nothing leaks": when everything is back at full health and all
// timers have run out, so that nothing is suppressed any more, no session, bundle,
// device or hardware table keeps anything of what was: sessions are up and carry what
// they carried, no trial, failure or end of a session by policy is left, nothing is
// held, every device has as many candidates as at the baseline, and its table as many
// groups and members. What values and shares are then is the rule of Restore.
//
// Where what is told keeps a trace of what was (hysteresis), weights may differ, and
// groups and members with them; these are then not compared.
type NoLeaks struct {
	ledger
	constants
	keeps  bool // what is told keeps a trace of what was
	broken bool // something was changed since the last return
}

// NewNoLeaks returns the check. Its worst value is the most leaks at one moment.
func NewNoLeaks() *NoLeaks { return &NoLeaks{ledger: newLedger(NoLeaksName, 0, "leaks")} }

// Look implements state.Check. It counts as exercised once per return from something
// that had an effect.
func (c *NoLeaks) Look(m *state.Moment) {
	c.broken = c.broken || m.Window != nil && m.Window.Effect != state.NoEffect
	if !m.Full || !m.Settled || m.Window == nil {
		return
	}
	c.found.Exercised += count(c.broken)
	c.broken = false
	before := c.found.Violated
	for b := range m.Snapshot.Bundles {
		if now, was := m.Snapshot.Bundles[b], m.Baseline.Bundles[b]; now != was {
			c.violate(m, "bundle "+bundleName(m.Network, int32(b)), "it is %s: at the baseline it was %s", bundleText(m.Network, now), bundleText(m.Network, was))
		}
	}
	for _, dir := range m.Snapshot.Held {
		c.violate(m, "bundle "+bundleName(m.Network, dir.Bundle), "UPDATEs of one end are still held")
	}
	if c.learn(m) {
		c.keeps = slices.Contains(somewhere(m, keepsTrace), true)
	}
	for d := range m.Snapshot.Devices {
		if !c.unseen(m, d, "its candidates and its table") {
			c.device(m, d)
		}
	}
	c.worst(float64(c.found.Violated - before))
}

func (c *NoLeaks) device(m *state.Moment, d int) {
	now, was := &m.Snapshot.Devices[d], &m.Baseline.Devices[d]
	name := fmt.Sprintf("device %q", m.Topology.Devices[d].Name)
	if now.Restarting || now.Drain != was.Drain {
		c.violate(m, name, "restarting %t, drain %v: at the baseline %t, %v", now.Restarting, now.Drain, was.Restarting, was.Drain)
	}
	got, want := candidates(m.Network, d, now), candidates(m.Network, d, was)
	if got != want {
		c.violate(m, name, "%d candidates: %d at the baseline", got, want)
	}
	if a, b := now.FIB, was.FIB; !c.keeps && (a.Groups != b.Groups || a.Members != b.Members) {
		c.violate(m, name, "its table has %d groups and %d member entries: %d and %d at the baseline", a.Groups, a.Members, b.Groups, b.Members)
	}
}

// candidates counts those of a device. Which of equal paths an external neighbour tells
// on, and so whom it tells nothing, may depend on their age: its own are left out.
func candidates(n *state.Network, d int, at *state.Device) (all int) {
	for p := range at.Routes {
		for _, c := range at.Routes[p].Candidates {
			from, _ := peer(n, d, c.Bundle)
			all += count(!n.IsExternal(from))
		}
	}
	return all
}

func bundleText(n *state.Network, b state.Bundle) string {
	text := fmt.Sprintf("up %t with %d members, passing %s", b.Up, b.Members, amount(n, float64(b.Capacity)))
	if b.Trial {
		text += ", on trial"
	}
	if b.Unseen || b.Lost > 0 {
		text += fmt.Sprintf(", losing %.4g %% unseen", 100*b.Lost)
	}
	if b.CeasedBy != "" {
		text += fmt.Sprintf(", ended by %q", b.CeasedBy)
	}
	return text
}
