package properties

import (
	"fmt"
	"math"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// Proportion is the rule "proportion", in two halves. (a) The shares that
// hardware produces are within the bound of the reduction (fib.Bound) of the
// shares that the speaker asked for. (b) They are within
//
//	max(r, 1/r) <= (1+a) (1+e)^n
//
// of the shares that the undamped network would have, where r is a member's
// hardware share over its true share, a the bound of (a), 1+e the widest ratio
// of two told values of the same capacities (damping.Law), and n is 1 plus the
// devices on the way whose set for the prefix has two or more members: each of
// those quantizes a sum anew, while one that only takes a minimum on a shared
// grid adds nothing. Where devices have different pipelines for the prefix, and so
// perhaps different grids, all devices on the way count.
//
// Where an overflow policy gave a set something else than its own vector, a is
// what the table reports that to cost, if that is more; the note counts those
// sets apart.
type Proportion struct {
	ledger
	given   given
	news    news
	answers answers
	shares  []uint64 // room
	hops    []hops   // by prefix
	sets    []int    // by prefix: sets of two or more members
	beyond  []int32  // by prefix, then device: see way.beyond
}

// NewProportion returns the check. Its worst value is the error of half (b) as a
// percentage of the error that is allowed. Half (a) takes part only where it is
// violated: where the bound is exact every reduction uses all of it.
func NewProportion() *Proportion {
	return &Proportion{ledger: newLedger(ProportionName, 100, "% of the margin")}
}

const (
	// exactly is the rounding of float64 in the computation of an error.
	exactly = 1e-9

	// float32Hop is what sending a value as float32 may cost at one hop, with
	// room: damping.Law counts values that differ by less as equal.
	float32Hop = 0x1p-20
)

// Look implements state.Check. It counts as exercised once per set of two or
// more members.
func (c *Proportion) Look(m *state.Moment) {
	if first := c.news.seen == nil; first {
		c.learn(m)
	}
	c.news.hear(m)
	if !m.Settled || len(m.Snapshot.Held) > 0 { // what is held has not been told
		return
	}
	w, todo := newWay(m), c.news.takeRoutes()
	c.given.start()
	for p := range m.Topology.Prefixes {
		if todo.HasPrefix(p) {
			c.prefix(m, w, p, &todo)
		}
		c.found.Exercised += c.sets[p]
	}
	c.found.Note = c.given.note()
}

// learn takes what does not change during a run.
func (c *Proportion) learn(m *state.Moment) {
	hopsOf := hopsOf(m)
	for p := range m.Topology.Prefixes {
		c.hops = append(c.hops, hopsOf(p))
	}
	c.sets, c.beyond = make([]int, len(c.hops)), make([]int32, len(c.hops)*len(m.Topology.Devices))
}

// prefix judges the sets of one prefix that are news, or whose way is another one.
func (c *Proportion) prefix(m *state.Moment, w *way, p int, todo *state.Places) {
	hop, devices := c.hops[p], len(m.Snapshot.Devices)
	w.start(p, hop.mixed)
	c.sets[p] = 0
	for d := range m.Snapshot.Devices {
		r := &m.Snapshot.Devices[d].Routes[p]
		if c.unseen(m, d, "its shares, in the speaker and in hardware") || len(r.Set) < 2 {
			continue
		}
		c.sets[p]++
		known, beyond := &c.beyond[p*devices+d], int32(w.beyond(d))
		if !todo.Has(d, p) && *known == beyond {
			continue
		}
		*known = beyond
		before := c.found.Violated
		bound := c.hardware(m, d, p, r)
		c.truth(m, d, p, r, bound, float64((1+bound)*math.Pow(hop.factor, float64(1+beyond)))-1)
		if c.found.Violated > before || r.FIB.Compromise != "" {
			c.news.routes.Add(d, p)
		}
	}
}

// hops is the factor by which one told value of a prefix may be off against
// another of the same capacities, 1 + e: the widest of the prefix's pipelines
// anywhere, after the widest of any bundle. Mixed tells that devices have different
// pipelines for the prefix, so that none may count on the others' grid.
type hops struct {
	factor float64
	mixed  bool
}

func hopsOf(m *state.Moment) func(prefix int) hops {
	width := func(l damping.Law) float64 { return (1 + l.Over) / (1 - l.Under) }
	plan, told, bundles := m.DampingPlan(), m.ToldDampings(), 1.0
	for b := range m.Topology.Bundles {
		info := m.BundleInfo(b)
		bundles = max(bundles, width(plan.ForBundle(info).LawFor(info)))
	}
	return func(prefix int) hops {
		h := hops{factor: 1}
		for d := range m.Topology.Devices {
			t := told(d, prefix)
			h.factor = max(h.factor, width(t.Law))
			h.mixed = h.mixed || t.Rule != told(0, prefix).Rule
		}
		h.factor *= bundles * (1 + float32Hop)
		return h
	}
}

// hardware judges half (a) and returns the bound.
func (c *Proportion) hardware(m *state.Moment, d, p int, r *state.Route) float64 {
	shares := c.shares[:0]
	for _, s := range r.Set {
		shares = append(shares, s.Share)
	}
	c.shares = shares
	bound, by := m.Hardware[d].Bound(shares), "the bound of "+string(m.Hardware[d].Algorithm())
	e := shareError(r.FIB.Members, r.Set)
	if given := r.FIB.Compromise; given != "" {
		c.given.add(given, len(r.FIB.Dropped), e.size)
		if r.FIB.Error > bound {
			bound, by = r.FIB.Error, fmt.Sprintf("what hardware reports of %q", string(given))
		}
	}
	if e.size > bound+exactly {
		c.worst(margin(e.size, bound+exactly))
		c.violate(m, at(m.Network, d, p), "hardware sends %.4g %% over %s where the speaker asks for %.4g %%: off by %s, want at most %s (%s)",
			100*e.got, bundleName(m.Network, e.bundle), 100*e.want, percent(e.size), percent(bound), by)
	}
	return bound
}

// truth judges half (b).
func (c *Proportion) truth(m *state.Moment, d, p int, r *state.Route, bound, allowed float64) {
	want := c.answers.ofRoute(m.True, d, p)
	if !sameBundles(r.Set, want.Set) {
		onlyGot, onlyWant := setDifference(r.Set, want.Set)
		c.worst(mostMargin)
		c.violate(m, at(m.Network, d, p), "the speaker's set has %s, the undamped one %s", setText(m.Network, onlyGot), setText(m.Network, onlyWant))
		return
	}
	e := shareError(r.FIB.Members, want.Set)
	c.worst(margin(e.size, allowed))
	if e.size > allowed {
		c.violate(m, at(m.Network, d, p), "hardware sends %.4g %% over %s where the capacity that is there makes it %.4g %%: off by %s, want at most %s",
			100*e.got, bundleName(m.Network, e.bundle), 100*e.want, percent(e.size), percent(allowed))
	}
}

func sameBundles(a, b []state.Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Bundle != b[i].Bundle {
			return false
		}
	}
	return true
}

// worstShare is the member whose share is farthest off, and by how much.
type worstShare struct {
	bundle    int32
	got, want float64 // of 1
	size      float64 // max(r, 1/r) - 1
}

// shareError compares the shares that members produce with those of the set;
// both ascend by bundle. A set whose shares are all 0 wants them equal. A next
// hop that only one side has is infinitely wrong.
func shareError(members []fib.Weighted, set []state.Member) worstShare {
	var total, sum float64
	for _, w := range members {
		total += float64(w.Weight)
	}
	for _, s := range set {
		sum += float64(s.Share)
	}
	worst := worstShare{bundle: -1}
	note := func(bundle int32, got, want float64) {
		if got == 0 && want == 0 {
			return
		}
		size := math.Inf(1)
		if got > 0 && want > 0 {
			size = max(got/want, want/got) - 1
		}
		if size > worst.size || worst.bundle < 0 {
			worst = worstShare{bundle, got, want, size}
		}
	}
	next := 0
	for _, s := range set {
		want, got := float64(s.Share)/sum, 0.0
		if sum == 0 {
			want = 1 / float64(len(set))
		}
		for ; next < len(members) && members[next].ID < s.Bundle; next++ {
			note(members[next].ID, float64(members[next].Weight)/total, 0)
		}
		if next < len(members) && members[next].ID == s.Bundle {
			got = float64(members[next].Weight) / total
			next++
		}
		note(s.Bundle, got, want)
	}
	for ; next < len(members); next++ {
		note(members[next].ID, float64(members[next].Weight)/total, 0)
	}
	return worst
}

// way counts, for one prefix at a time, the devices on the way to the origins
// that sum.
type way struct {
	m      *state.Moment
	prefix int
	all    bool  // count every device, not only those that sum
	count  []int // by device: summing devices beyond it on the worst branch, +1; 0 = not known; -1 = being counted
}

func newWay(m *state.Moment) *way {
	return &way{m: m, count: make([]int, len(m.Snapshot.Devices))}
}

func (w *way) start(prefix int, all bool) {
	w.prefix, w.all = prefix, all
	clear(w.count)
}

// beyond is the largest number of devices with a set of two or more members on
// any branch of the walk from d, d itself apart. A branch that comes back is
// counted up to there: it is NoLoop's to report.
func (w *way) beyond(d int) int {
	if w.count[d] != 0 {
		return max(w.count[d]-1, 0)
	}
	w.count[d] = -1
	most := 0
	for _, s := range setOf(w.m, d, w.prefix) {
		to, ok := peer(w.m.Network, d, s.Bundle)
		if !ok {
			continue
		}
		n := w.beyond(to)
		if w.all || len(setOf(w.m, to, w.prefix)) >= 2 {
			n++
		}
		most = max(most, n)
	}
	w.count[d] = most + 1
	return most
}
