package state

import (
	"maps"
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// Failing knows which failure domains are down, so that one that comes back does
// not bring what another still takes. It belongs to one run.
type Failing struct {
	topology *topologies.Topology
	index    *topologies.DomainIndex // nil before the first use
	down     []topologies.Domain
	before   map[int32]int // members of bundles when a domain first took some
}

// NewFailing begins with all domains up.
func NewFailing(t *topologies.Topology) *Failing {
	return &Failing{topology: t, before: map[int32]int{}}
}

// Clone copies it.
func (f *Failing) Clone() *Failing {
	return &Failing{topology: f.topology, down: slices.Clone(f.down), before: maps.Clone(f.before)}
}

// Forget makes the members of a bundle those that an event has given it by name.
func (f *Failing) Forget(bundle int32) { delete(f.before, bundle) }

// expand is Event.Expand for an event that names a failure domain.
func (f *Failing) expand(e Event, members []int) ([]Timed, error) {
	d, err := topologies.ParseDomain(e.Domain)
	if err != nil {
		return nil, &FieldError{e.Kind, "domain", e.Domain, err.Error()}
	}
	if f.index == nil {
		f.index = f.topology.DomainIndex()
	}
	touched, err := f.index.Takes(d)
	if err != nil {
		return nil, &FieldError{e.Kind, d.Kind, d.Name, err.Error()}
	}
	f.change(d, e.Kind == "down")
	taken, err := f.index.Takes(f.down...)
	if err != nil {
		return nil, err
	}
	lost := map[int32]int{}
	for _, b := range taken.Bundles {
		lost[int32(b)] = f.topology.Bundles[b].Members
	}
	for _, l := range taken.Loses {
		lost[int32(l.Bundle)] = l.Members
	}
	var list []Timed
	for _, b := range bundlesOf(touched) {
		list = append(list, f.settle(e, b, members[b], lost[b])...)
	}
	return list, nil
}

// change puts a domain among those that are down, or takes it from them.
func (f *Failing) change(d topologies.Domain, down bool) {
	var others []topologies.Domain
	for _, x := range f.down {
		if x != d {
			others = append(others, x)
		}
	}
	if down {
		others = append(others, d)
	}
	f.down = others
}

// settle is what happens to one bundle when the domains that are down take so many
// members of it. Which of them were down before is not known: they count as those
// that the domains take.
func (f *Failing) settle(e Event, b int32, now, lost int) []Timed {
	full := f.topology.Bundles[b].Members
	if e.Kind == "down" {
		if _, ok := f.before[b]; !ok {
			f.before[b] = now
		}
		if left := min(now, full-lost); left > 0 {
			return []Timed{{0, Change{Bundle: b, Members: left}}}
		}
		return e.expandDown(b)
	}
	before, known := f.before[b]
	if lost == 0 {
		delete(f.before, b)
	}
	switch {
	case e.Kind == "restore":
		list := []Timed{{0, Change{Bundle: b, Members: full - lost}}}
		if lost == 0 {
			list = append(list, Timed{0, Change{Kind: SetLoss, Bundle: b}})
		}
		return list
	case known:
		return []Timed{{0, Change{Bundle: b, Members: min(before, full-lost)}}}
	}
	return nil
}

func bundlesOf(t topologies.Taken) (list []int32) {
	for _, b := range t.Bundles {
		list = append(list, int32(b))
	}
	for _, l := range t.Loses {
		list = append(list, int32(l.Bundle))
	}
	return list
}
