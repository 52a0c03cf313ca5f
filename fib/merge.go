package fib

import "slices"

// merger is a pair of groups that may become one; b nil stands for the newcomer.
type merger struct {
	a, b    *group
	vector  []Weighted
	penalty int
}

// merge makes room as FBOSS's compression does (fboss/agent/
// EcmpResourceManager.cpp): of all pairs of groups, the newcomer's wanted one
// among them, the two whose intersection costs least become it. A next hop
// with another weight is another next hop; an intersection that would leave a
// prefix without a live one is none. What a group pays is its prefixes
// times the percentage of next hops that it loses, rounded up; a pair costs
// the larger payment.
func (t *Table) merge(r *route) {
	for range len(t.groups) + 1 {
		wanted := slices.Clone(t.wanted(r))
		if t.has(wanted) || t.fits(wanted, r) {
			t.give(r, wanted, "")
			return
		}
		users := t.usersOf()
		best := t.cheapestMerger(r, wanted, users)
		if best == nil {
			break
		}
		for _, g := range []*group{best.a, best.b} {
			if g == nil {
				t.give(r, best.vector, Merged)
				continue
			}
			for _, user := range users[g] {
				if user != r {
					t.give(user, best.vector, Merged)
				}
			}
		}
		if best.b == nil {
			return
		}
	}
	t.subset(r)
}

// cheapestMerger returns the pair that costs least, the earliest of equals, or
// nil if no two groups have a next hop with its weight in common.
func (t *Table) cheapestMerger(r *route, wanted []Weighted, users map[*group][]*route) *merger {
	groups := t.byID()
	var best *merger
	served := func(vector []Weighted, list []*route) bool {
		return !slices.ContainsFunc(list, func(user *route) bool { return !t.serves(user, vector) })
	}
	try := func(a, b *group, other []Weighted, prefixes int) {
		vector := intersection(a.members, other)
		if len(vector) == 0 || !t.has(vector) && t.crowded(vector) {
			return
		}
		penalty := max(payment(a.members, vector, a.refs), payment(other, vector, prefixes))
		if best != nil && penalty >= best.penalty {
			return
		}
		// The users of no group are the newcomer.
		if served(vector, users[a]) && (b == nil && t.serves(r, vector) || b != nil && served(vector, users[b])) {
			best = &merger{a, b, vector, penalty}
		}
	}
	for i, a := range groups {
		for _, b := range groups[i+1:] {
			try(a, b, b.members, b.refs)
		}
		try(a, nil, wanted, 1)
	}
	return best
}

// intersection returns the members that both vectors have, weight included.
func intersection(a, b []Weighted) []Weighted {
	var both []Weighted
	next := 0
	for _, m := range a {
		for next < len(b) && b[next].ID < m.ID {
			next++
		}
		if next < len(b) && b[next] == m {
			both = append(both, m)
		}
	}
	return both
}

// payment is what a group with that many prefixes pays to become left.
func payment(members, left []Weighted, prefixes int) int {
	lost := len(members) - len(left)
	return prefixes * ((100*lost + len(members) - 1) / len(members))
}
