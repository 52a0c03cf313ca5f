package fib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrUnknownOverflow is returned for a name that Overflows does not list.
var ErrUnknownOverflow = errors.New("unknown overflow policy")

// Overflow names what a table does with a group that has no room: one too
// many at the worst moment of the change, or between changes. No policy takes
// away the last path of a prefix that is programmed: where all else fails it
// points at the one live next hop with the largest share, which takes no
// group, and none gives it a group of which all members are down.
// What each gave up is in Entry.Compromise, Table.Compromises and the audit,
// and what was wanted is programmed on a later change that leaves room for it,
// the prefix that is worst off first.
type Overflow string

// The overflow policies.
const (
	OverflowEqual  Overflow = "equal"
	OverflowExceed Overflow = "exceed"
	OverflowMerge  Overflow = "merge"
	OverflowReject Overflow = "reject"
	OverflowShare  Overflow = "share"
	OverflowSpill  Overflow = "spill"
)

// Overflows returns every overflow policy, sorted by name.
func Overflows() []Overflow {
	return []Overflow{OverflowEqual, OverflowExceed, OverflowMerge, OverflowReject, OverflowShare, OverflowSpill}
}

// Doc says in a line what the policy does; empty for an unknown one.
func (o Overflow) Doc() string {
	switch o {
	case OverflowEqual:
		return "room for one equal-weight group per next-hop set is reserved, and used; without it the largest existing subset"
	case OverflowExceed:
		return "programmed all the same; the peak shows above the limit"
	case OverflowMerge:
		return "the two groups that lose least become their intersection, weights included (FBOSS's compression)"
	case OverflowReject:
		return "what was programmed stays, the failure is reported"
	case OverflowShare:
		return "over the same next hops, the group that exists or the common group that errs least"
	case OverflowSpill:
		return "the newcomer goes to another group type, counted apart, and comes back on a later change (FBOSS's backup switching mode)"
	}
	return ""
}

// Validate returns an ErrUnknownOverflow that lists the names there are,
// unless o is one of them.
func (o Overflow) Validate() error {
	if !slices.Contains(Overflows(), o) {
		return fmt.Errorf("overflow policy %q: %w: want one of %q", string(o), ErrUnknownOverflow, Overflows())
	}
	return nil
}

// Compromise names what a prefix has in place of the vector that the
// algorithm gave it; empty where it has that.
type Compromise string

// The compromises.
const (
	EqualWeights Compromise = "equal weights" // the same next hops, weight 1 each
	Merged       Compromise = "merged"        // the next hops that two groups have in common
	Narrowed     Compromise = "narrowed"      // the same next hops in fewer entries
	Refused      Compromise = "refused"       // what it had before and still wants, or nothing
	Shared       Compromise = "shared"        // the same next hops, weights in common with others
	Single       Compromise = "single"        // one next hop
	Spilled      Compromise = "spilled"       // another group type
	Subset       Compromise = "subset"        // a group with some of the next hops
)

// refusal returns the error of a route that has not got what it asked for
// under OverflowReject.
func (t *Table) refusal(r *route) error {
	if t.overflow != OverflowReject || r.compromise == "" {
		return nil
	}
	return fmt.Errorf("prefix %q: %d next hops: %w", r.prefix, len(r.hops), ErrFull)
}

// settle gives back what was given up, where there is room now.
func (t *Table) settle() {
	for t.overflow != OverflowExceed && t.freed {
		t.freed = false
		var list []*route
		for _, r := range t.prefixes {
			if r.compromise != "" {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, costliest)
		for _, r := range list {
			if v := t.wanted(r); t.has(v) || t.fits(v, r) {
				t.give(r, v, "")
			}
		}
	}
}

// costliest orders routes by what their compromise costs, most first: the
// error, then the prefixes on the group (FBOSS reclaims by those), then the
// traffic.
func costliest(a, b *route) int {
	return cmp.Or(
		cmp.Compare(b.error, a.error),
		cmp.Compare(b.users(), a.users()),
		cmp.Compare(b.traffic(), a.traffic()),
		a.prefix.Compare(b.prefix),
	)
}

func (r *route) users() int {
	if r.group == nil {
		return 1
	}
	return r.group.refs
}

// traffic is the sum of the shares.
func (r *route) traffic() float64 {
	var sum u128
	for _, h := range r.hops {
		sum = sum.add(h.Share)
	}
	return sum.float()
}

// reject keeps what r has. Next hops that r no longer wants cannot stay: then
// it is what is left, if that is a group that exists or has room, else the
// largest existing group with some of its next hops.
func (t *Table) reject(r *route) {
	if r.members == nil {
		t.give(r, nil, Refused)
		return
	}
	kept := r.kept()
	if len(kept) > 0 && t.serves(r, kept) && (t.has(kept) || t.fits(kept, r)) {
		t.give(r, kept, Refused)
		return
	}
	t.subset(r)
}

// kept returns the members of r that it still wants; where some are not, the
// weights of the others are in lowest terms.
func (r *route) kept() []Weighted {
	if r.covers(r.members) {
		return r.members
	}
	kept := slices.DeleteFunc(slices.Clone(r.members), func(m Weighted) bool { return !r.covers([]Weighted{m}) })
	divisor := 0
	for _, m := range kept {
		for w := m.Weight; w > 0; {
			divisor, w = w, divisor%w
		}
	}
	for i := range kept {
		kept[i].Weight /= divisor
	}
	return kept
}

// covers tells whether r wants all members of a vector.
func (r *route) covers(vector []Weighted) bool {
	next := 0
	for i, h := range r.hops {
		if next < len(vector) && vector[next].ID == h.ID && r.reduction.Weights[i] > 0 {
			next++
		}
	}
	return next == len(vector)
}

// single points r at its live next hop with the largest share; if all are
// down, at the largest of those.
func (t *Table) single(r *route) {
	at := -1
	for i, h := range r.hops {
		if r.reduction.Weights[i] == 0 {
			continue
		}
		if at < 0 || t.down[r.hops[at].ID] && !t.down[h.ID] ||
			t.down[r.hops[at].ID] == t.down[h.ID] && h.Share > r.hops[at].Share {
			at = i
		}
	}
	t.give(r, []Weighted{{r.hops[at].ID, 1}}, Single)
}

// subset points r at the largest existing group that has only next hops of r,
// a live one among them, of equals at the one that errs least.
func (t *Table) subset(r *route) {
	var best *group
	for _, g := range t.byID() {
		if !r.covers(g.members) || !t.serves(r, g.members) || best != nil && len(g.members) < len(best.members) {
			continue
		}
		if best == nil || len(g.members) > len(best.members) || t.errorOf(r, g.members) < t.errorOf(r, best.members) {
			best = g
		}
	}
	if best == nil {
		t.single(r)
		return
	}
	t.give(r, best.members, Subset)
}

// byID returns the groups in the order of their ids.
func (t *Table) byID() []*group {
	list := make([]*group, 0, len(t.groups))
	for _, g := range t.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
	return list
}

// usersOf returns the routes of every group, in the order of their prefixes.
func (t *Table) usersOf() map[*group][]*route {
	users := make(map[*group][]*route, len(t.groups))
	for _, r := range t.sorted() {
		if r.group != nil {
			users[r.group] = append(users[r.group], r)
		}
	}
	return users
}

// spill gives r what it wants as a group of the other type.
func (t *Table) spill(r *route) {
	t.give(r, t.wanted(r), Spilled)
}

// set is a next-hop set that live prefixes want, with its equal vector.
type set struct {
	key   string
	equal []Weighted
	refs  int
}

// countSet notes which next-hop set r wants, if the policy reserves by them.
func (t *Table) countSet(r *route) {
	if t.overflow != OverflowEqual {
		return
	}
	equal := equalVector(t.wanted(r))
	key := string(t.keyOf(equal))
	if r.set != nil && r.set.key == key {
		return
	}
	t.forgetSet(r)
	s := t.sets[key]
	if s == nil {
		s = &set{key: key, equal: equal}
		t.sets[key] = s
	}
	s.refs++
	r.set = s
}

func (t *Table) forgetSet(r *route) {
	if r.set == nil {
		return
	}
	if r.set.refs--; r.set.refs == 0 {
		delete(t.sets, r.set.key)
	}
	r.set = nil
}

func equalVector(vector []Weighted) []Weighted {
	equal := slices.Clone(vector)
	for i := range equal {
		equal[i].Weight = 1
	}
	return equal
}

// reserved is the room that the equal groups of all sets still need, given
// that a group of that vector comes and another goes.
func (t *Table) reserved(coming []Weighted, going *group) room {
	var need room
	if len(t.sets) == 0 {
		return need
	}
	key := string(t.keyOf(coming))
	for k, s := range t.sets {
		g := t.groups[k]
		if len(s.equal) > 1 && (g == nil || g == going) && k != key {
			need.groups++
			need.members += t.profile.MemberCost(s.equal)
		}
	}
	return need
}

// equalise gives r the equal group of its next-hop set. For a set that is new
// while all is taken, weighted groups of others become equal ones until it
// fits.
func (t *Table) equalise(r *route) {
	equal := r.set.equal
	for !t.has(equal) && !t.fits(equal, r) {
		if !t.evict() {
			t.subset(r)
			return
		}
	}
	t.give(r, equal, EqualWeights)
}

// evict moves the prefixes of one weighted group to the equal group of its
// next hops: those that err least with it. False if no group gives room so.
func (t *Table) evict() bool {
	users := t.usersOf()
	var victim *group
	least := 0.0
	for _, g := range t.byID() {
		equal := equalVector(g.members)
		key := string(t.keyOf(equal))
		if key == g.key || t.groups[key] == nil && (t.sets[key] == nil || t.crowded(equal)) {
			continue
		}
		worst := 0.0
		for _, r := range users[g] {
			worst = max(worst, t.errorOf(r, equal))
		}
		if victim == nil || worst < least {
			victim, least = g, worst
		}
	}
	if victim == nil {
		return false
	}
	equal := equalVector(victim.members)
	for _, r := range users[victim] {
		c := EqualWeights
		if r.compromise == Subset {
			c = Subset
		}
		t.give(r, equal, c)
	}
	return true
}
