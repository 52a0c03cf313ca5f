package properties

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// Restore is the rule "restore returns to the baseline": when every bundle is
// back at full health and the network is settled, every device has the same
// multipath sets, weights, bottleneck values, told values and hardware weights
// as before the first event. Identities of next-hop groups may differ. Of a
// prefix whose told values keep a trace of what they were (hysteresis) only the
// multipath sets must return, over the same bundles in the speaker and in hardware.
// Of an external device it is the values that it tells.
type Restore struct {
	ledger
	constants
	news   news
	keeps  []bool // by prefix: told values keep a trace of what they were
	played bool   // a window has passed since the baseline
	broken bool   // something was degraded since the network was last found restored
}

// NewRestore returns the check. Its worst value is the most routes that had not
// returned at one moment.
func NewRestore() *Restore { return &Restore{ledger: newLedger(RestoreName, 0, "routes")} }

// Look implements state.Check. It counts as exercised once per return from
// something that had an effect.
func (c *Restore) Look(m *state.Moment) {
	if c.learn(m) {
		c.keeps = somewhere(m, keepsTrace)
	}
	c.news.hear(m)
	if m.Window != nil {
		c.played = true
		c.broken = c.broken || m.Window.Effect != state.NoEffect
	}
	if !m.Full || !m.Settled || !c.played {
		return
	}
	if c.broken {
		c.found.Exercised++
		c.broken = false
	}
	wrong, todo := 0, c.news.takeRoutes()
	for p := range m.Topology.Prefixes {
		compare := change
		if c.keeps[p] {
			compare = changeOfSet
		}
		for d := range todo.Devices(p) {
			if c.unseen(m, d, "its sets, weights and hardware; what it tells is judged") {
				if where, text := changeOfTellings(m, d, p); text != "" && !c.keeps[p] {
					wrong++
					c.violate(m, where, "%s", text)
				}
				continue
			}
			if text := compare(m.Network, restored(m, m.Snapshot, d, p), "the baseline", restored(m, m.Baseline, d, p)); text != "" {
				wrong++
				c.violate(m, at(m.Network, d, p), "%s", text)
				c.news.routes.Add(d, p)
			}
		}
	}
	c.worst(float64(wrong))
}

// restored is a route as far as it must return. Which of equal paths an external device
// tells on may depend on their age, so that where there is one AS_PATHs need not.
func restored(m *state.Moment, s *state.Snapshot, d, p int) *state.Route {
	if m.External == nil {
		return &s.Devices[d].Routes[p]
	}
	r := s.Devices[d].Routes[p]
	r.Told.Path = nil
	return &r
}

// change says in what a route differs from an earlier one, hardware included
// and candidates apart, or gives "".
func change(n *state.Network, now *state.Route, name string, before *state.Route) string {
	if text := difference(n, "it", now, name, before); text != "" {
		return text
	}
	if !slices.Equal(now.FIB.Members, before.FIB.Members) {
		return fmt.Sprintf("hardware weights: it has %s, %s has %s", weightsText(n, now.FIB.Members), name, weightsText(n, before.FIB.Members))
	}
	return ""
}

// changeOfSet is change without the values.
func changeOfSet(n *state.Network, now *state.Route, name string, before *state.Route) string {
	strip := func(r *state.Route) *state.Route {
		bare := &state.Route{Local: r.Local}
		for _, m := range r.Set {
			bare.Set = append(bare.Set, state.Member{Bundle: m.Bundle})
		}
		for _, w := range r.FIB.Members {
			bare.FIB.Members = append(bare.FIB.Members, fib.Weighted{ID: w.ID})
		}
		return bare
	}
	return change(n, strip(now), name, strip(before))
}

func weightsText(n *state.Network, members []fib.Weighted) string {
	if len(members) == 0 {
		return "none"
	}
	var parts []string
	for _, w := range members {
		parts = append(parts, fmt.Sprintf("%s x %d", bundleName(n, w.ID), w.Weight))
	}
	return few(parts)
}
