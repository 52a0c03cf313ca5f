package fib

import (
	"maps"
	"net/netip"
	"slices"
)

// Clone copies the table: what happens to one of the two changes nothing in the
// other. A table may be cloned from several goroutines at once while nobody
// changes it.
func (t *Table) Clone() *Table {
	made := *t
	made.hops, made.vector, made.key = nil, nil, nil
	made.down, made.reductions = maps.Clone(t.down), maps.Clone(t.reductions)

	groups := make(map[*group]*group, len(t.groups)+len(t.spilled))
	copied := func(of map[string]*group) map[string]*group {
		to, room := make(map[string]*group, len(of)), make([]group, 0, len(of))
		for key, g := range of {
			room = append(room, *g)
			to[key] = &room[len(room)-1]
			groups[g] = to[key]
		}
		return to
	}
	made.groups, made.spilled = copied(t.groups), copied(t.spilled)

	sets := make(map[*set]*set, len(t.sets))
	made.sets = make(map[string]*set, len(t.sets))
	for key, s := range t.sets {
		one := *s
		made.sets[key], sets[s] = &one, &one
	}

	made.prefixes = make(map[netip.Prefix]*route, len(t.prefixes))
	room, hops := make([]route, 0, len(t.prefixes)), 0
	for _, r := range t.prefixes {
		hops += len(r.hops)
	}
	asked := make([]Hop, 0, hops)
	for prefix, r := range t.prefixes {
		room = append(room, *r)
		one := &room[len(room)-1]
		asked = append(asked, r.hops...)
		one.hops = slices.Clip(asked[len(asked)-len(r.hops):])
		if r.group != nil {
			one.group = groups[r.group]
		}
		if r.set != nil {
			one.set = sets[r.set]
		}
		made.prefixes[prefix] = one
	}
	if t.shadow != nil {
		made.shadow = t.shadow.Clone()
	}
	return &made
}
