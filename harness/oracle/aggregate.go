package oracle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// aggregate is a prefix that its origins announce under a condition.
type aggregate struct {
	topologies.Aggregate
	specifics []int
}

// place is a prefix at a device.
type place struct{ device, prefix int }

func (o *Oracle) aggregate(t *topologies.Topology) {
	o.aggregates, o.covering = map[int]aggregate{}, make([][]int, len(t.Prefixes))
	for p, prefix := range t.Prefixes {
		if prefix.Aggregate == nil {
			continue
		}
		a := aggregate{*prefix.Aggregate, t.Specifics(p)}
		o.aggregates[p] = a
		for _, s := range a.specifics {
			o.covering[s] = append(o.covering[s], p)
		}
	}
}

// suppressed tells whether an aggregate that the device announces keeps a
// more-specific from going up.
func (s *State) suppressed(device int32, prefix int) bool {
	for _, a := range s.o.covering[prefix] {
		if _, open := s.open[place{int(device), a}]; open && s.o.aggregates[a].Suppress {
			return true
		}
	}
	return false
}

// announced works out which aggregates hold by their condition, given those
// that did before: between the thresholds an aggregate stays as it was.
func (s *State) announced(before map[place]bool) map[place]uint64 {
	open := map[place]uint64{}
	for p, a := range s.o.aggregates {
		for _, d := range s.o.origins[p] {
			at := place{int(d), p}
			supporting, capacity := s.support(at, a)
			measure := supporting
			if a.By == topologies.ByCapacity {
				measure = capacity
			}
			if s.rules[d].drained {
				if before[at] {
					open[at] = capacity
				}
				continue
			}
			if measure >= a.Announce || before[at] && measure >= a.Withdraw {
				open[at] = capacity
			}
		}
	}
	return open
}

// support counts the more-specifics that come to the device from below or are
// its own, and sums the capacity of the distinct bundles behind them.
func (s *State) support(at place, a aggregate) (supporting, capacity uint64) {
	behind := map[int32]uint64{}
	for _, p := range a.specifics {
		if !s.entry(at.device, p).below {
			continue
		}
		supporting++
		for _, m := range s.rows[p].sets[at.device] {
			behind[m.Bundle] = s.capacityOf(at.device, m.Bundle)
		}
	}
	for _, c := range behind {
		capacity = addSaturating(capacity, c)
	}
	return supporting, capacity
}

func (s *State) capacityOf(device int, bundle int32) uint64 {
	for i := s.o.first[device]; i < s.o.first[device+1]; i++ {
		if s.o.ends[i].bundle == bundle {
			return s.cap[i]
		}
	}
	return 0
}

// Announces tells whether the device announces the aggregate.
func (s *State) Announces(device, prefix int) bool {
	_, open := s.open[place{device, prefix}]
	return open
}

// step is one of the settlings from which a state comes: with the aggregates that
// the step before found to hold.
type step struct {
	open map[place]uint64
	rows []*row // by prefix
}

// settleAll settles all prefixes, and again while aggregates open or close: one
// at a lower tier may keep from a higher one what supports another. Each step
// starts from the same step of the state that this one is derived from, if any.
func (s *State) settleAll(d *derivation) error {
	before := map[place]bool{}
	for d, x := range s.devices {
		for _, p := range x.Announced {
			before[place{d, int(p)}] = true
		}
	}
	w := newWork(s)
	for i := range 2 + 2*int(topologies.Backbone) {
		if err := s.settlePrefixes(w, d, i); err != nil {
			return err
		}
		s.steps = append(s.steps, step{s.open, s.rows})
		open := s.announced(before)
		if maps.Equal(open, s.open) {
			return nil
		}
		s.open, s.rows = open, slices.Clone(s.rows)
	}
	return fmt.Errorf("topology %q: aggregates do not settle", s.o.name)
}

// settlePrefixes settles all prefixes, given the aggregates that are open.
func (s *State) settlePrefixes(w *work, d *derivation, step int) error {
	if d != nil && d.settle(w, step) {
		return nil
	}
	for p := range s.o.prefixes {
		if err := w.settle(p); err != nil {
			return err
		}
	}
	return nil
}
