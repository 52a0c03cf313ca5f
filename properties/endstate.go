package properties

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// EndState is the rule "end state equals oracle": when the network is settled, and
// no UPDATEs are held,
// every device holds, for every prefix, what the graph says: the candidates,
// the multipath set with its shares, the bottleneck value and what it tells.
// Hardware forwards over that set and over nothing else. That a bundle on trial gives
// way is judged before that, at every quiet: once all is settled no trial is left. Of
// an external device it is what it tells over each of its sessions.
type EndState struct {
	ledger
	constants
	news    news
	answers answers
}

// NewEndState returns the check. Its worst value is the most routes that were
// not as they should at one moment.
func NewEndState() *EndState {
	return &EndState{ledger: newLedger(EndStateName, 0, "routes")}
}

// Look implements state.Check. It counts as exercised once per route compared.
func (c *EndState) Look(m *state.Moment) {
	c.learn(m)
	c.news.hear(m)
	if len(m.Snapshot.Held) > 0 {
		return
	}
	if !m.Settled {
		c.trials(m)
		return
	}
	if err := m.Damped.Err(); err != nil {
		c.violate(m, "oracle", "no end state to compare with: %v", err)
		return
	}
	wrong, todo := 0, c.news.takeRoutes()
	for d := range m.Topology.Devices {
		if !c.unseen(m, d, "its candidates, sets, shares, bottleneck values and next hops in hardware; what it tells is judged") {
			c.found.Exercised += len(m.Topology.Prefixes)
		}
	}
	for d, p := range todo.All() {
		if m.IsExternal(d) {
			wrong += c.compareExternal(m, c.dampings(d, p), d, p)
			continue
		}
		if text := c.compare(m, d, p); text != "" {
			wrong++
			c.violate(m, at(m.Network, d, p), "%s", text)
			c.news.routes.Add(d, p)
		}
	}
	c.worst(float64(wrong))
}

// trials judges that devices send nothing over a bundle on trial where they have another
// next hop for the prefix. A snapshot has what a bundle's first end knows of it, so
// that each device is judged by the bundles of which it is that.
func (c *EndState) trials(m *state.Moment) {
	wrong := 0
	for b := range m.Snapshot.Bundles {
		if !m.Snapshot.Bundles[b].Trial {
			continue
		}
		d := m.Index.Ends[b][0]
		if m.Snapshot.Devices[d].Restarting { // hardware forwards as it did
			continue
		}
		for p := range m.Snapshot.Devices[d].Routes {
			members, other := m.Snapshot.Devices[d].Routes[p].FIB.Members, int32(-1)
			on := slices.ContainsFunc(members, func(w fib.Weighted) bool { return w.ID == int32(b) })
			for _, w := range members {
				if w.ID >= 0 && int(w.ID) < len(m.Snapshot.Bundles) && m.Index.Ends[w.ID][0] == d && !m.Snapshot.Bundles[w.ID].Trial {
					other = w.ID
				}
			}
			c.found.Exercised++
			if on && other >= 0 {
				wrong++
				c.violate(m, at(m.Network, d, p), "hardware sends over %s, which is on trial, beside %s, which is not", bundleName(m.Network, int32(b)), bundleName(m.Network, other))
			}
		}
	}
	c.worst(float64(wrong))
}

func (c *EndState) compare(m *state.Moment, d, p int) string {
	got := &m.Snapshot.Devices[d].Routes[p]
	want := c.answers.ofRoute(m.Damped, d, p)
	if m.Snapshot.Devices[d].Drain == topologies.Drained {
		// What a device would tell if it told anything is nobody's concern.
		want.Bottleneck, want.Valued = got.Bottleneck, got.Valued
	}
	if text := difference(m.Network, "the speaker", got, "the graph", want); text != "" {
		return text
	}
	if text := candidateDifference(m.Network, usable(m, d, got.Candidates), c.answers.ofReceives(m.Damped, d, p)); text != "" {
		return text
	}
	return hardwareDifference(m.Network, got)
}

// candidateDifference compares an Adj-RIB-In with what neighbours tell. Both
// ascend by bundle.
func candidateDifference(n *state.Network, got, want []state.Candidate) string {
	same := func(a, b state.Candidate) bool {
		return a.Bundle == b.Bundle && a.Valued == b.Valued && (!a.Valued || a.Value == b.Value) && slices.Equal(a.Path, b.Path)
	}
	if slices.EqualFunc(got, want, same) {
		return ""
	}
	for i := 0; i < len(got) || i < len(want); i++ {
		switch {
		case i == len(want) || i < len(got) && got[i].Bundle < want[i].Bundle:
			return fmt.Sprintf("candidate over %s: the speaker holds %s, the neighbour tells nothing", bundleName(n, got[i].Bundle), candidateText(n, got[i]))
		case i == len(got) || got[i].Bundle > want[i].Bundle:
			return fmt.Sprintf("candidate over %s: the speaker holds none, the neighbour tells %s", bundleName(n, want[i].Bundle), candidateText(n, want[i]))
		case !same(got[i], want[i]):
			return fmt.Sprintf("candidate over %s: the speaker holds %s, the neighbour tells %s", bundleName(n, got[i].Bundle), candidateText(n, got[i]), candidateText(n, want[i]))
		}
	}
	return ""
}

func candidateText(n *state.Network, c state.Candidate) string {
	return fmt.Sprintf("%s, AS_PATH %v", valueText(n, true, c.Valued, c.Value), c.Path)
}

// hardwareDifference tells where hardware has other next hops than the members
// of the set that have a share. Those that it reports as dropped count as had:
// they are judged by FIBWithinLimits.
func hardwareDifference(n *state.Network, r *state.Route) string {
	has := func(bundle int32) bool {
		return slices.ContainsFunc(r.FIB.Members, func(w fib.Weighted) bool { return w.ID == bundle }) || slices.Contains(r.FIB.Dropped, bundle)
	}
	for _, m := range r.Set {
		if m.Share > 0 && !has(m.Bundle) {
			return fmt.Sprintf("hardware has no next hop over %s, which is in the set with %s", bundleName(n, m.Bundle), amount(n, float64(m.Share)))
		}
	}
	for _, w := range r.FIB.Members {
		if !slices.ContainsFunc(r.Set, func(m state.Member) bool { return m.Bundle == w.ID && m.Share > 0 }) {
			return fmt.Sprintf("hardware sends over %s, which has no share in the set", bundleName(n, w.ID))
		}
	}
	return ""
}
