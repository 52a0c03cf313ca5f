package harness

import (
	"math/bits"
	"slices"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// allowed is what the transitions of one moment let directed sessions be told.
//
// One bundle lets a flow (a session and a prefix) be told what differs between
// the graph before and after. With several the order matters: of two bundles
// that limit one path one hides the other, and a third may hide only both; a
// path may be there for as long as only the good news of a moment have come,
// or be missing for as long as only the bad news have. News travel from each
// bundle at its own distance, so a flow may hear of them in any order. It is
// allowed one change per bundle that is on the way of its sender to the prefix,
// if it is told anything otherwise when the bundles change one at a time: in
// their order, or the good ones first, or the bad ones first.
func (j *judge) allowed(moment []transition) []state.SessionChange {
	if len(moment) == 0 {
		return nil
	}
	end := moment[len(moment)-1].to
	inOrder := []*oracle.State{moment[0].from}
	for _, t := range moment {
		inOrder = append(inOrder, t.to)
	}
	if len(moment) == 1 {
		return oneChange(moment[0])
	}
	m := newMerge()
	m.add(inOrder, end)
	all := inOrder
	for _, order := range j.orders(moment) {
		states := j.steps(order, moment)
		m.add(states, end)
		all = append(all, states[1:]...)
	}
	way := newWays(j.net, moment, all)
	for _, f := range m.order {
		m.flows[f].times = max(m.flows[f].times, way.count(f))
	}
	return m.list()
}

// oneChange is what one transition by itself lets sessions be told, each flow once.
func oneChange(t transition) (list []state.SessionChange) {
	for _, c := range oracle.DiffOpenSessions(t.from, t.to, t.to) {
		list = append(list, state.SessionChange{Dir: c.Dir, Prefix: int32(c.Prefix), Told: c.Told, Path: c.Path, Cut: c.Cut})
	}
	return list
}

// orders gives the transitions good news first and bad news first, each kind
// in reverse; that is one order where all are of one kind.
func (j *judge) orders(moment []transition) [][]transition {
	var good, bad []transition
	for _, t := range slices.Backward(moment) {
		if j.isGood(t) {
			good = append(good, t)
		} else {
			bad = append(bad, t)
		}
	}
	if len(good) == 0 || len(bad) == 0 {
		return [][]transition{append(good, bad...)}
	}
	return [][]transition{slices.Concat(good, bad), slices.Concat(bad, good)}
}

// isGood tells whether a bundle passes more than before or is off trial, or a
// device is not taken out of service.
func (j *judge) isGood(t transition) bool {
	switch {
	case t.bundle < 0 && t.device < 0:
		return false
	case t.bundle < 0:
		return t.settled[after].Drain <= t.settled[before].Drain
	}
	was, now := t.heard[before], t.heard[after]
	if was.Closed != now.Closed {
		return was.Closed
	}
	return now.Capacity > was.Capacity || now.Capacity == was.Capacity && was.Trial
}

// steps gives the states before, between and after the transitions in another
// order. Those in which routes do not settle, which trials can bring about, are
// left out: they come in no order of the bundles itself.
func (j *judge) steps(order, moment []transition) []*oracle.State {
	states, from := []*oracle.State{moment[0].from}, j.damped
	w := j.heard()
	j.remember(w.devices, moment[0].from)
	for i := range moment {
		moment[i].put(&w, before)
	}
	j.choose(w.devices)
	for i := range order[:len(order)-1] {
		order[i].put(&w, after)
		if s := j.dampedOracle.StateFrom(from, w.bundles, w.devices, nil); s.Err() == nil {
			states, from = append(states, s), s
		}
	}
	return append(states, moment[len(moment)-1].to)
}

type flow struct {
	dir    state.Direction
	prefix int
}

// permit is what a flow is told otherwise.
type permit struct {
	times           int // in the order that tells most
	told, path, cut bool
}

// merge joins what several comparisons say of the same flows.
type merge struct {
	order []flow // as they come, so that the list repeats
	flows map[flow]*permit
}

func newMerge() *merge { return &merge{flows: map[flow]*permit{}} }

// add notes what flows are told otherwise from each state to the next.
func (m *merge) add(states []*oracle.State, end *oracle.State) {
	times := map[flow]int{}
	for i := 1; i < len(states); i++ {
		for _, c := range oracle.DiffOpenSessions(states[i-1], states[i], end) {
			f := flow{c.Dir, c.Prefix}
			p := m.flows[f]
			if p == nil {
				p = &permit{}
				m.flows[f] = p
				m.order = append(m.order, f)
			}
			p.told, p.path, p.cut = p.told || c.Told, p.path || c.Path, p.cut || c.Cut
			if c.Told {
				times[f]++
				p.times = max(p.times, times[f])
			}
		}
	}
}

// list has an entry for each change that is allowed. A change of the path alone
// needs one, and a fallen session has one that allows nothing.
func (m *merge) list() []state.SessionChange {
	var list []state.SessionChange
	for _, f := range m.order {
		p := m.flows[f]
		times := p.times
		if !p.told || p.cut {
			times = 1
		}
		for range times {
			list = append(list, state.SessionChange{Dir: f.dir, Prefix: int32(f.prefix), Told: p.told, Path: p.path, Cut: p.cut})
		}
	}
	return list
}

// ways knows which of a moment's bundles are on the way of a device to a
// prefix, in any of some states.
type ways struct {
	net    *state.Network
	number map[int32]int // bundles of the moment
	device map[int]int   // devices of the moment
	size   int
	states []*oracle.State
	known  []map[place]set // by state
}

type place struct{ device, prefix int }

// set is a set of small numbers.
type set []uint64

func (s set) add(n int) { s[n/64] |= 1 << (n % 64) }

func (s set) or(t set) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (s set) size() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func newWays(net *state.Network, moment []transition, states []*oracle.State) *ways {
	w := &ways{net: net, number: map[int32]int{}, device: map[int]int{}, size: len(moment), states: states, known: make([]map[place]set, len(states))}
	for i, t := range moment {
		switch {
		case t.bundle >= 0:
			w.number[int32(t.bundle)] = i
		case t.device >= 0:
			w.device[t.device] = i
		}
	}
	for i := range w.known {
		w.known[i] = map[place]set{}
	}
	return w
}

// count is the number of the moment's bundles on the way of the flow's sender.
func (w *ways) count(f flow) int {
	ends := w.net.Index.Ends[f.dir.Bundle]
	sender := ends[0]
	if f.dir.FromB {
		sender = ends[1]
	}
	all := w.none()
	for i := range w.states {
		all.or(w.from(i, place{sender, f.prefix}))
	}
	return all.size()
}

func (w *ways) none() set { return make(set, (w.size+63)/64) }

// from is the bundles on the way from a place in one state. Settled states have
// no circles.
func (w *ways) from(i int, p place) set {
	if found, ok := w.known[i][p]; ok {
		return found
	}
	own := w.none()
	w.known[i][p] = own
	if n, ok := w.device[p.device]; ok {
		own.add(n)
	}
	r := w.states[i].Route(p.device, p.prefix)
	if r.Local && w.net.Topology.Prefixes[p.prefix].Aggregate != nil { // it is worth what its more-specifics are
		for _, specific := range w.net.Topology.Specifics(p.prefix) {
			own.or(w.from(i, place{p.device, specific}))
		}
	}
	for _, m := range r.Set {
		if n, ok := w.number[m.Bundle]; ok {
			own.add(n)
		}
		ends := w.net.Index.Ends[m.Bundle]
		own.or(w.from(i, place{ends[0] + ends[1] - p.device, p.prefix}))
	}
	return own
}
