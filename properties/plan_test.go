package properties

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/leanovate/gopter"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// plan is a random case: what is done to a network that is at full health.
type plan struct {
	events []state.Event
	again  []state.Event // the same events in another order, where that is the question
}

// scenario is the plan as a scenario file that shows the same.
func (p plan) scenario(t *topologies.Topology) string {
	var b strings.Builder
	fmt.Fprintf(&b, "topology: %s\nevents:\n", t.Name)
	for _, e := range append(slices.Clone(p.events), restoreAll()) {
		fmt.Fprintf(&b, "  - %s\n", e.YAML())
	}
	if p.again != nil {
		b.WriteString("  # and again in another order\n")
		for _, e := range append(slices.Clone(p.again), restoreAll()) {
			fmt.Fprintf(&b, "  - %s\n", e.YAML())
		}
	}
	return b.String()
}

func restoreAll() state.Event {
	return state.Event{Kind: "restore", All: true, Silent: true}
}

// playable leaves out the events that have no place after those before them,
// such as a flap of a bundle that is down.
func playable(t *topologies.Topology, ix *topologies.Index, events []state.Event) []state.Event {
	paper := state.NewPaper(t, ix)
	var kept []state.Event
	for _, e := range events {
		if paper.Play(e) == nil {
			kept = append(kept, e)
		}
	}
	return kept
}

// maker draws plans for one topology.
type maker struct {
	t       *topologies.Topology
	ix      *topologies.Index
	classes [][]int // bundles by class, so that the few of one class are drawn as often as the many of another
}

func newMaker(t *topologies.Topology) *maker {
	m := &maker{t: t, ix: t.Index()}
	number := map[string]int{}
	for i, b := range t.Bundles {
		class := t.BundleClass(b)
		n, ok := number[class]
		if !ok {
			n = len(m.classes)
			number[class] = n
			m.classes = append(m.classes, nil)
		}
		m.classes[n] = append(m.classes[n], i)
	}
	return m
}

// plans draws sequences of events. Half of them follow one another when
// settled; in the others each has its time, so that they overlap, and a session
// may go down and come back several times.
func (m *maker) plans() gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		var events []state.Event
		timed, at := p.Rng.Intn(2) == 0, 5*time.Second
		add := func(e state.Event) {
			if timed {
				e.At = at
				at += time.Duration(p.Rng.Intn(5)) * 5 * time.Second
			}
			events = append(events, e)
		}
		for range 1 + p.Rng.Intn(6) {
			add(m.event(p.Rng, events))
		}
		if timed && p.Rng.Intn(3) == 0 {
			bundle := m.bundle(p.Rng)
			for range 2 + p.Rng.Intn(2) {
				add(state.Event{Kind: "down", Bundle: bundle, Silent: true})
				add(state.Event{Kind: "up", Bundle: bundle, Silent: true})
			}
		}
		return gopter.NewGenResult(plan{events: playable(m.t, m.ix, events)}, m.shrink)
	}
}

// orders draws events whose order cannot matter, since no bundle is the target
// of two, in two orders.
func (m *maker) orders() gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		var events []state.Event
		taken := map[int]bool{}
		for range 2 + p.Rng.Intn(4) {
			e := m.harm(p.Rng)
			if !m.take(taken, e) {
				continue
			}
			events = append(events, e)
		}
		again := slices.Clone(events)
		for i, j := range p.Rng.Perm(len(events)) {
			again[i] = events[j]
		}
		if slices.Equal(events, again) {
			slices.Reverse(again)
		}
		return gopter.NewGenResult(plan{events, again}, m.shrink)
	}
}

// take marks the bundles of an event, unless one is marked already.
func (m *maker) take(taken map[int]bool, e state.Event) bool {
	bundles := m.targets(e)
	if slices.ContainsFunc(bundles, func(b int) bool { return taken[b] }) {
		return false
	}
	for _, b := range bundles {
		taken[b] = true
	}
	return true
}

func (m *maker) targets(e state.Event) []int {
	if e.Device != "" {
		return m.ix.Of[m.ix.Device[e.Device]]
	}
	return []int{m.ix.Bundle[e.Bundle]}
}

// event draws any event. Those that mend like to hit what was broken before.
func (m *maker) event(rng *rand.Rand, before []state.Event) state.Event {
	if len(before) == 0 || rng.Intn(3) > 0 {
		return m.harm(rng)
	}
	kind := []string{"restore", "up"}[rng.Intn(2)]
	e := before[rng.Intn(len(before))]
	switch rng.Intn(4) {
	case 0:
		return state.Event{Kind: kind, Device: m.device(rng), Silent: true}
	case 1:
		return state.Event{Kind: kind, Bundle: m.bundle(rng), Silent: true}
	}
	return state.Event{Kind: kind, Bundle: e.Bundle, Device: e.Device, Silent: true}
}

// harm draws an event that breaks something.
func (m *maker) harm(rng *rand.Rand) state.Event {
	e := state.Event{Kind: "degrade", Silent: true, Bundle: m.bundle(rng)}
	full := m.t.Bundles[m.ix.Bundle[e.Bundle]].Members
	members := []int{full - 1, full * 3 / 4, 1, 1 + rng.Intn(full-1)}[rng.Intn(4)]
	switch n := rng.Intn(11); {
	case n < 5:
		e.Members = members
	case n < 7:
		e.Kind, e.Members = "flap", members
		e.Count, e.Period = 1+rng.Intn(4), time.Duration(1+rng.Intn(4))*10*time.Second
	case n < 9:
		e.Kind = "down"
		e.Detect = []string{"", "", "bfd:150ms", "hold:9s"}[rng.Intn(4)]
	case n < 10:
		e.Kind, e.Bundle, e.Device = "down", "", m.device(rng)
	default:
		e.Kind, e.Loss = "grey", 0.3
	}
	return e
}

func (m *maker) bundle(rng *rand.Rand) string {
	class := m.classes[rng.Intn(len(m.classes))]
	return m.t.Bundles[class[rng.Intn(len(class))]].Name
}

func (m *maker) device(rng *rand.Rand) string {
	return m.t.Devices[rng.Intn(len(m.t.Devices))].Name
}

// shrink offers simpler plans: without half of the events, without one, with a
// flap once only, and with the times left out.
func (m *maker) shrink(v interface{}) gopter.Shrink {
	p := v.(plan)
	var simpler []plan
	for size := len(p.events) / 2; size >= 1; size /= 2 {
		for from := 0; from+size <= len(p.events); from += size {
			simpler = append(simpler, p.without(from, from+size))
		}
	}
	for i, e := range p.events {
		if e.Kind == "flap" && e.Count > 1 {
			simpler = append(simpler, p.replace(e, func() state.Event { e := p.events[i]; e.Count = 1; return e }()))
		}
	}
	if len(p.events) > 0 && p.events[0].At != 0 {
		q := plan{events: slices.Clone(p.events)}
		for i := range q.events {
			q.events[i].At = 0
		}
		simpler = append(simpler, q)
	}
	return func() (interface{}, bool) {
		if len(simpler) == 0 {
			return nil, false
		}
		next := simpler[0]
		simpler = simpler[1:]
		next.events = playable(m.t, m.ix, next.events)
		return next, true
	}
}

// without leaves out events from..to-1, in both orders.
func (p plan) without(from, to int) plan {
	gone := p.events[from:to]
	keep := func(list []state.Event) (left []state.Event) {
		for _, e := range list {
			if !slices.Contains(gone, e) {
				left = append(left, e)
			}
		}
		return left
	}
	q := plan{events: slices.Concat(p.events[:from], p.events[to:])}
	if p.again != nil {
		q.again = keep(p.again)
	}
	return q
}

func (p plan) replace(old, e state.Event) plan {
	in := func(list []state.Event) []state.Event {
		list = slices.Clone(list)
		for i := range list {
			if list[i] == old {
				list[i] = e
			}
		}
		return list
	}
	return plan{in(p.events), in(p.again)}
}
