package fib

import (
	"cmp"
	"math"
	"slices"
)

// cluster is a group with the prefixes on it, or a newcomer without a group:
// candidates for a common vector over the same next hops.
type cluster struct {
	group *group
	users []*route
	ids   []int32
	low   []float64 // by member: the least part of its traffic that a user wants there
	high  []float64 // and the greatest
}

// union is two clusters that may get a common vector.
type union struct {
	a, b   *cluster
	spread float64 // largest high/low of a member, over both
}

// measured is how many of the unions with the least spread are reduced and
// measured; the spread bounds the error from below, and orders them well.
const measured = 3

// share makes room by common vectors. Prefixes over the same next hops want
// points in the space of log(part of traffic) per member; the error of one
// vector for another is the largest distance of a coordinate, so the middle of
// what several want errs least for them all. Of all ways to make room, the
// newcomer joining a group as it is, joining one with a new common vector, or
// two groups becoming one, the one whose prefixes then err least is taken
// (then: least error weighted by traffic), as often as is needed.
func (t *Table) share(r *route) {
	for range len(t.groups) + 1 {
		if t.giveWanted(r) {
			return
		}
		plan := t.bestPlan(r)
		if plan == nil {
			break
		}
		for _, user := range plan.users {
			t.give(user, plan.vector, Shared)
		}
		if slices.Contains(plan.users, r) {
			return
		}
	}
	t.subset(r)
}

// giveWanted gives r its own vector, or the same in as many entries as every
// group may have, if one of them has room.
func (t *Table) giveWanted(r *route) bool {
	wanted := t.wanted(r)
	if t.has(wanted) || t.fits(wanted, r) {
		t.give(r, wanted, "")
		return true
	}
	width := t.fairWidth(len(wanted))
	if width >= t.profile.Width {
		return false
	}
	shares := make([]uint64, 0, len(wanted))
	for i, h := range r.hops {
		if r.reduction.Weights[i] > 0 {
			shares = append(shares, max(h.Share, 1))
		}
	}
	narrow := t.reduced(wanted, shares, width)
	if narrow == nil || !t.has(narrow) && !t.fits(narrow, r) {
		return false
	}
	t.give(r, narrow, Narrowed)
	return true
}

// fairWidth is the width at which all groups that there may be fit together.
func (t *Table) fairWidth(members int) int {
	if t.profile.NativeCost > 0 || t.steady.groups < 1 {
		return t.profile.Width
	}
	return max(members, min(t.profile.Width, t.steady.members/t.steady.groups))
}

// reduced returns the members of vector with the weights of shares in a
// width, or nil if one would be dropped.
func (t *Table) reduced(vector []Weighted, shares []uint64, width int) []Weighted {
	narrow := t.profile
	narrow.Width = width
	narrow.Variable = min(narrow.Variable, width)
	red, err := narrow.Reduce(t.algorithm, shares)
	if err != nil || len(red.Dropped) > 0 {
		return nil
	}
	members := make([]Weighted, len(vector))
	for i, m := range vector {
		members[i] = Weighted{m.ID, red.Weights[i]}
	}
	return members
}

// plan is a vector that several prefixes move to.
type plan struct {
	vector   []Weighted
	users    []*route
	worst    float64 // error of any of them
	weighted float64 // sum of error times traffic
}

// bestPlan returns the plan that errs least, or nil if no next hops are shared.
func (t *Table) bestPlan(r *route) *plan {
	users := t.usersOf()
	newcomer := clusterOf(nil, []*route{r})
	var clusters []*cluster
	for _, g := range t.byID() {
		others := slices.DeleteFunc(users[g], func(u *route) bool { return u == r })
		if len(others) == 0 {
			continue
		}
		if c := clusterOf(g, others); c != nil {
			clusters = append(clusters, c)
		}
	}
	var best *plan
	var joins, pairs []union
	for i, a := range clusters {
		if slices.Equal(a.ids, newcomer.ids) {
			best = better(best, t.planFor(a.group.members, []*route{r}))
			joins = append(joins, union{a, newcomer, spread(a, newcomer)})
		}
		for _, b := range clusters[i+1:] {
			if slices.Equal(a.ids, b.ids) {
				pairs = append(pairs, union{a, b, spread(a, b)})
			}
		}
	}
	for _, list := range [][]union{joins, pairs} {
		slices.SortStableFunc(list, func(x, y union) int { return cmp.Compare(x.spread, y.spread) })
		for _, u := range list[:min(measured, len(list))] {
			best = better(best, t.planOf(u))
		}
	}
	return best
}

// clusterOf returns the cluster of routes that all want just the next hops of
// their group; nil if one of them wants others too.
func clusterOf(g *group, users []*route) *cluster {
	c := &cluster{group: g, users: users}
	for n, r := range users {
		sum := 0.0
		for i, h := range r.hops {
			if r.reduction.Weights[i] > 0 {
				sum += float64(max(h.Share, 1))
			}
		}
		k := 0
		for i, h := range r.hops {
			if r.reduction.Weights[i] == 0 {
				continue
			}
			part := float64(max(h.Share, 1)) / sum
			switch {
			case n == 0:
				c.ids, c.low, c.high = append(c.ids, h.ID), append(c.low, part), append(c.high, part)
			case k == len(c.ids) || c.ids[k] != h.ID:
				return nil
			default:
				c.low[k], c.high[k] = min(c.low[k], part), max(c.high[k], part)
			}
			k++
		}
		if k != len(c.ids) {
			return nil
		}
	}
	if g != nil && !slices.EqualFunc(g.members, c.ids, func(m Weighted, id int32) bool { return m.ID == id }) {
		return nil
	}
	return c
}

func spread(a, b *cluster) float64 {
	most := 1.0
	for i := range a.ids {
		most = max(most, max(a.high[i], b.high[i])/min(a.low[i], b.low[i]))
	}
	return most
}

// planOf is the best of a union: the vector in the middle, either's own, and
// equal weights.
func (t *Table) planOf(u union) *plan {
	users := slices.Concat(u.a.users, u.b.users)
	middle, top := make([]float64, len(u.a.ids)), 0.0
	for i := range middle {
		middle[i] = math.Sqrt(max(u.a.high[i], u.b.high[i]) * min(u.a.low[i], u.b.low[i]))
		top = max(top, middle[i])
	}
	shares := make([]uint64, len(middle))
	for i, m := range middle {
		shares[i] = max(1, uint64(math.Ldexp(m/top, 40)))
	}
	vectors := [][]Weighted{t.reduced(u.a.group.members, shares, t.fairWidth(len(middle))), u.a.group.members, equalVector(u.a.group.members)}
	if u.b.group != nil {
		vectors = append(vectors, u.b.group.members)
	}
	var best *plan
	for _, v := range vectors {
		if v != nil && (t.has(v) || !t.crowded(v) && t.pays(v, u)) {
			best = better(best, t.planFor(v, users))
		}
	}
	return best
}

// pays tells whether a vector takes no more than the groups that it replaces,
// or has room.
func (t *Table) pays(vector []Weighted, u union) bool {
	cost, freed := t.profile.MemberCost(vector), u.a.group.cost
	if u.b.group != nil {
		freed += u.b.group.cost
	}
	return t.used.members+cost-freed <= t.steady.members
}

// planFor is the plan of these users moving to a vector.
func (t *Table) planFor(vector []Weighted, users []*route) *plan {
	p := &plan{vector: vector, users: users}
	for _, r := range users {
		e := t.errorOf(r, vector)
		p.worst = max(p.worst, e)
		p.weighted += float64(e * r.traffic())
	}
	return p
}

// better returns the plan that errs less, the first of equals; nil is none.
func better(a, b *plan) *plan {
	if a == nil || b != nil && (b.worst < a.worst || b.worst == a.worst && b.weighted < a.weighted) {
		return b
	}
	return a
}

// followShadow takes over what OverflowEqual would have, where that errs less,
// so that sharing is never worse than it.
func (t *Table) followShadow() {
	if t.worst() <= t.shadow.worst() {
		return
	}
	left := t.sorted()
	for len(left) > 0 {
		before := len(left)
		left = slices.DeleteFunc(left, func(r *route) bool {
			to := t.shadow.prefixes[r.prefix]
			if !t.has(to.members) && t.crowded(to.members) {
				return false
			}
			t.give(r, to.members, to.compromise)
			return true
		})
		if len(left) == before {
			t.single(left[0])
			t.peaks.gaps++
			left = append(left[1:], left[0])
		}
	}
}

// worst is the largest error of any prefix.
func (t *Table) worst() float64 {
	worst := 0.0
	for _, r := range t.prefixes {
		worst = max(worst, r.error)
	}
	return worst
}
