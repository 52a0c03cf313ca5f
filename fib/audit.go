package fib

import "math"

// Audit works out what the table takes of the chip and how far the traffic
// that its groups produce is from what was asked for. The errors come from
// the programmed members and the hops as given to Program, not from what
// Reduce said about them; hops that all have share 0 are wanted equally.
func (t *Table) Audit() Audit {
	a := Audit{
		Profile:            t.profile.Name,
		Groups:             len(t.groups),
		GroupsPeak:         t.groupsPeak,
		GroupsLimit:        t.profile.Groups,
		GroupsSteadyLimit:  t.profile.SteadyGroups(),
		Members:            t.members,
		MembersPeak:        t.membersPeak,
		MembersLimit:       t.profile.Members,
		MembersSteadyLimit: t.profile.SteadyMembers(),
		GroupChanges:       t.groupChanges,
	}
	for _, r := range t.prefixes {
		overload, underuse, dropped := r.distance()
		a.WorstOverload = max(a.WorstOverload, overload)
		a.WorstUnderuse = max(a.WorstUnderuse, underuse)
		a.Dropped += dropped
	}
	return a
}

// distance compares the programmed members with the hops that were asked for.
func (r *route) distance() (overload, underuse float64, dropped int) {
	var sum u128
	for _, h := range r.hops {
		sum = sum.add(h.Share)
	}
	equal := sum == u128{}
	if equal {
		sum = u128{0, uint64(len(r.hops))}
	}
	total := 0
	for _, m := range r.members {
		total += m.Weight
	}
	next := 0
	for _, h := range r.hops {
		share := h.Share
		if equal {
			share = 1
		}
		switch {
		case next < len(r.members) && r.members[next].ID == h.ID:
			got := sum.times(uint64(r.members[next].Weight))
			wanted := mul64(share, uint64(total))
			overload = max(overload, ratio{got, wanted}.excess())
			underuse = max(underuse, ratio{wanted, got}.excess())
			next++
		case share > 0:
			dropped++
			underuse = math.Inf(1)
		}
	}
	return overload, underuse, dropped
}
