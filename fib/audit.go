package fib

import "math"

// peaks is what a table remembers of its past.
type peaks struct {
	event  string
	events int

	groups, members           int
	groupsEvent, membersEvent string
	spillGroups, spillMembers int
	changes                   int
	changesNow, changesMost   int
	changesEvent              string
	gaps, refused             int
	longest                   int // events in a row without what it wants, of a prefix that has it again
}

func (p *peaks) mark(event string) {
	p.event = event
	p.events++
	p.changesNow = 0
}

// note takes the use at one moment.
func (p *peaks) note(used, spilled room) {
	if used.groups > p.groups {
		p.groups, p.groupsEvent = used.groups, p.event
	}
	if used.members > p.members {
		p.members, p.membersEvent = used.members, p.event
	}
	p.spillGroups, p.spillMembers = max(p.spillGroups, spilled.groups), max(p.spillMembers, spilled.members)
}

// changed counts a prefix that changed its group.
func (p *peaks) changed() {
	p.changes++
	p.changesNow++
	if p.changesNow > p.changesMost {
		p.changesMost, p.changesEvent = p.changesNow, p.event
	}
}

// note takes that r comes to a compromise, to another, or has none any more.
// One that is gone for a part of an event only goes on.
func (t *Table) note(r *route, c Compromise) {
	if r.compromise == c {
		return
	}
	now := t.peaks.events
	switch {
	case c == "":
		t.peaks.longest = max(t.peaks.longest, now-r.since)
		r.until = now
	case r.compromise == "" && r.until != now:
		r.since = now
	}
	r.compromise, r.event = c, t.peaks.event
}

// without returns the number of events that ended with r without what it
// wants, in a row, the present one among them; 0 if it has that.
func (t *Table) without(r *route) int {
	if r.compromise == "" {
		return 0
	}
	return t.peaks.events - r.since + 1
}

// Audit works out what the table takes of the chip and how far the traffic
// that its groups produce is from what was asked for. The errors come from
// the programmed members and the hops as given to Program, not from what
// Reduce said about them; hops that all have share 0 are wanted equally, and
// a prefix that was refused has no members.
func (t *Table) Audit() Audit {
	a := Audit{
		Profile:            t.profile.Name,
		Algorithm:          t.algorithm,
		Overflow:           t.overflow,
		Groups:             t.used.groups,
		GroupsPeak:         t.peaks.groups,
		GroupsPeakEvent:    t.peaks.groupsEvent,
		GroupsLimit:        t.most.groups,
		GroupsSteadyLimit:  t.steady.groups,
		Members:            t.used.members,
		MembersPeak:        t.peaks.members,
		MembersPeakEvent:   t.peaks.membersEvent,
		MembersLimit:       t.most.members,
		MembersSteadyLimit: t.steady.members,
		SpillGroups:        t.spillUsed.groups,
		SpillMembers:       t.spillUsed.members,
		SpillGroupsPeak:    t.peaks.spillGroups,
		SpillMembersPeak:   t.peaks.spillMembers,
		Events:             t.peaks.events,
		GroupChanges:       t.peaks.changes,
		MostChanges:        t.peaks.changesMost,
		MostChangesEvent:   t.peaks.changesEvent,
		Gaps:               t.peaks.gaps,
		Refusals:           t.peaks.refused,
		LongestCompromise:  t.peaks.longest,
	}
	grouped := 0
	for _, r := range t.prefixes {
		overload, underuse, dropped := t.distance(r.hops, r.members)
		a.WorstOverload = max(a.WorstOverload, overload)
		a.WorstUnderuse = max(a.WorstUnderuse, underuse)
		a.Dropped += dropped
		if r.compromise != "" {
			a.Compromises++
			a.LongestCompromise = max(a.LongestCompromise, t.without(r))
		}
		if r.group != nil {
			grouped++
		}
		if r.members != nil {
			a.Prefixes++
		}
	}
	if groups := a.Groups + a.SpillGroups; groups > 0 {
		a.Sharing = float64(grouped) / float64(groups)
	}
	return a
}

// measure notes how far what r has is from what it wants.
func (t *Table) measure(r *route) {
	r.error = t.errorOf(r, r.members)
}

// errorOf is the two-sided error of a vector for r.
func (t *Table) errorOf(r *route, vector []Weighted) float64 {
	overload, underuse, _ := t.distance(r.hops, vector)
	return max(overload, underuse)
}

// distance compares programmed members with the hops that were asked for,
// those that are down apart.
func (t *Table) distance(hops []Hop, members []Weighted) (overload, underuse float64, dropped int) {
	var sum u128
	live := uint64(0)
	for _, h := range hops {
		if !t.down[h.ID] {
			sum = sum.add(h.Share)
			live++
		}
	}
	equal := sum == u128{}
	if equal {
		sum = u128{0, live}
	}
	total := 0
	for _, m := range members {
		if !t.down[m.ID] {
			total += m.Weight
		}
	}
	next := 0
	for _, h := range hops {
		for next < len(members) && members[next].ID < h.ID {
			next++
		}
		has := next < len(members) && members[next].ID == h.ID
		share := h.Share
		if equal {
			share = 1
		}
		switch {
		case t.down[h.ID]:
		case has && share == 0:
			overload = math.Inf(1)
		case has:
			got := sum.times(uint64(members[next].Weight))
			wanted := mul64(share, uint64(total))
			overload = max(overload, ratio{got, wanted}.excess())
			underuse = max(underuse, ratio{wanted, got}.excess())
		case share > 0:
			dropped++
			underuse = math.Inf(1)
		}
	}
	return overload, underuse, dropped
}
