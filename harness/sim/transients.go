package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// Transients finds the black holes and loops that there are between two messages.
// After each step of a device, and each change of bundles, it walks the prefixes
// anew whose hardware has changed, and no others.
//
// From every device that has next hops for a prefix in hardware, each branch must
// end at a device that originates it, over bundles that have members. What leads
// over a bundle that has failed unnoticed ends there and counts as no fault of
// routing: state.Lost has what it costs. A session that has fallen while its
// bundle is there carries traffic on. Next hops that hardware knows to be down get
// none while others are left.
type Transients struct {
	e        *Engine
	next     [][][]int32 // by prefix, then device: bundles that carry its traffic
	origin   [][]bool    // by prefix, then device
	crowded  []bool      // by device: a full table may change other prefixes' entries too
	changed  []place     // since the last look
	open     [][]fault   // by prefix
	done     []state.Transient
	instants []state.Transient
	count    Instants

	// Room for one walk.
	order, low []int32
	onStack    []bool
	stack      []int32
	faults     []fault
}

type place struct {
	device int
	prefix int32 // -1 = all
}

// fault is a black hole or loop that is there now.
type fault struct {
	kind  state.TransientKind
	at    []int
	loses []bool        // by device, since seen
	lost  []bool        // by device, for any time until seen
	seen  time.Duration // when it was walked last
	from  time.Duration
	step  int
}

// until adds those that have lost traffic for some time to the list of those.
func (f *fault) until(now time.Duration) []bool {
	if now == f.seen {
		return f.lost
	}
	lost := slices.Clone(f.loses)
	for d := range f.lost {
		lost[d] = lost[d] || f.lost[d]
	}
	return lost
}

func (f *fault) same(g *fault) bool { return f.kind == g.kind && slices.Equal(f.at, g.at) }

// Instants counts the faults that came and went at one moment of virtual time: in
// Timed what one device's step or one event left for another at the same moment to
// mend; where messages take no time, all of them.
type Instants struct{ Holes, Loops int }

// keptTransients bounds the lists of Transients; all are counted.
const keptTransients = 10_000

// Watch begins to look for transients, from now on. It costs a walk of a prefix
// for each hardware entry that changes; an engine that nobody watches pays nothing.
func (e *Engine) Watch() *Transients {
	t := &Transients{e: e, next: make([][][]int32, e.prefixes), origin: make([][]bool, e.prefixes), open: make([][]fault, e.prefixes)}
	n := len(e.devices)
	t.order, t.low, t.onStack = make([]int32, n), make([]int32, n), make([]bool, n)
	for d := range e.devices {
		t.crowded = append(t.crowded, d < len(e.opts.Hardware) && e.opts.Hardware[d].Overflow() != fib.OverflowExceed)
		t.changed = append(t.changed, place{d, -1})
	}
	for p := range t.next {
		t.next[p], t.origin[p] = make([][]int32, n), make([]bool, n)
		for _, name := range e.topology.Prefixes[p].Origins {
			if d, ok := e.index.Device[name]; ok {
				t.origin[p][d] = true
			}
		}
	}
	e.watch = t
	t.look()
	return t
}

// Unwatch ends Watch.
func (e *Engine) Unwatch() { e.watch = nil }

// List gives the transients that lasted any time, in the order in which they
// began, then by prefix; those that still last come with Until now.
func (t *Transients) List() []state.Transient {
	list := slices.Clone(t.done)
	for p := range t.open {
		for i := range t.open[p] {
			x := t.ended(p, &t.open[p][i])
			x.Lasts = true
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b state.Transient) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Prefix, b.Prefix), slices.Compare(a.At, b.At))
	})
	return list
}

// Instants gives those that lasted no time, in the order in which they ended, as
// far as they are kept, and how many there were.
func (t *Transients) Instants() ([]state.Transient, Instants) { return t.instants, t.count }

// Forget empties the lists, so that what comes next can be told apart; faults
// that are there now stay, with the time since when.
func (t *Transients) Forget() { t.done, t.instants, t.count = nil, nil, Instants{} }

// programmed hears that a device's hardware was given or lost a prefix.
func (t *Transients) programmed(d int, p int32) {
	if t.crowded[d] {
		p = -1
	}
	if x := (place{d, p}); len(t.changed) == 0 || t.changed[len(t.changed)-1] != x {
		t.changed = append(t.changed, x)
	}
}

// rewire hears of changes that were made to bundles.
func (t *Transients) rewire(changes []state.Change) {
	for _, c := range changes {
		switch c.Kind {
		case state.SetMembers, state.Fail, state.Notice:
			for _, d := range t.e.index.Ends[c.Bundle] {
				t.changed = append(t.changed, place{d, -1})
			}
		}
	}
	t.look()
}

// look walks the prefixes whose hardware has changed.
func (t *Transients) look() {
	if len(t.changed) == 0 {
		return
	}
	var prefixes []int32
	for _, x := range t.changed {
		first, last := x.prefix, x.prefix
		if x.prefix < 0 {
			first, last = 0, int32(t.e.prefixes)-1
		}
		for p := first; p <= last; p++ {
			if now := t.carries(x.device, p); x.prefix >= 0 || !slices.Equal(now, t.next[p][x.device]) || len(t.open[p]) > 0 || t.leadsDown(now) {
				t.next[p][x.device] = now
				prefixes = append(prefixes, p)
			}
		}
	}
	t.changed = t.changed[:0]
	slices.Sort(prefixes)
	for _, p := range slices.Compact(prefixes) {
		t.walk(p)
	}
}

// leadsDown tells whether any of the bundles is without members: what becomes of
// such traffic can change although the next hops do not.
func (t *Transients) leadsDown(bundles []int32) bool {
	return slices.ContainsFunc(bundles, func(b int32) bool { return t.e.sessions[b].members == 0 })
}

// carries are the bundles over which a device's hardware sends a prefix.
func (t *Transients) carries(d int, p int32) []int32 {
	entry, ok := t.e.lookup(d, int(p))
	if !ok {
		return nil
	}
	var all, alive []int32
	for _, m := range entry.Members {
		all = append(all, m.ID)
		if x := &t.e.sessions[m.ID]; x.members > 0 || x.unseen {
			alive = append(alive, m.ID)
		}
	}
	if len(alive) > 0 {
		return alive
	}
	return all
}

// walk finds all faults of a prefix and compares them with those that were there.
func (t *Transients) walk(p int32) {
	t.faults = t.faults[:0]
	t.findHoles(p)
	t.findLoops(p)
	now, was := t.e.now, t.open[p]
	var open []fault
	for i := range t.faults {
		f := &t.faults[i]
		t.spread(p, f)
		f.from, f.seen, f.step = now, now, t.e.rounds
		for j := range was {
			if f.same(&was[j]) {
				f.from, f.step, f.lost = was[j].from, was[j].step, was[j].until(now)
			}
		}
		open = append(open, *f)
	}
	for i := range was {
		if !slices.ContainsFunc(open, func(g fault) bool { return g.same(&was[i]) }) {
			t.end(int(p), &was[i])
		}
	}
	t.open[p] = open
}

func (t *Transients) end(p int, f *fault) {
	switch x := t.ended(p, f); {
	case x.Lasted() > 0:
		if len(t.done) < keptTransients {
			t.done = append(t.done, x)
		}
	default:
		if f.kind == state.Hole {
			t.count.Holes++
		} else {
			t.count.Loops++
		}
		if len(t.instants) < keptTransients {
			t.instants = append(t.instants, x)
		}
	}
}

func (t *Transients) ended(p int, f *fault) state.Transient {
	x := state.Transient{Kind: f.kind, Prefix: p, At: f.at, From: f.from, Until: t.e.now, Steps: t.e.rounds - f.step}
	lost := f.until(t.e.now)
	if x.Lasted() == 0 {
		lost = f.loses
	}
	for d, loses := range lost {
		if loses {
			x.Loses = append(x.Loses, d)
		}
	}
	return x
}

// peer is where a bundle leads from a device.
func (t *Transients) peer(d int, bundle int32) int {
	ends := t.e.index.Ends[bundle]
	return ends[0] + ends[1] - d
}

// down tells whether a bundle is known to be without members.
func (t *Transients) down(bundle int32) bool {
	x := &t.e.sessions[bundle]
	return x.members == 0 && !x.unseen
}

// findHoles finds the devices at which traffic of a prefix is lost.
func (t *Transients) findHoles(p int32) {
	var at []int
	for d, bundles := range t.next[p] {
		if t.origin[p][d] {
			continue
		}
		for _, b := range bundles {
			to := t.peer(d, b)
			switch {
			case t.down(b):
				at = append(at, d)
			case !t.e.sessions[b].unseen && !t.origin[p][to] && len(t.next[p][to]) == 0:
				at = append(at, to)
			}
		}
	}
	slices.Sort(at)
	for _, d := range slices.Compact(at) {
		t.faults = append(t.faults, fault{kind: state.Hole, at: []int{d}})
	}
}

// findLoops finds the strongly connected parts of the way of a prefix (R. Tarjan,
// 1972): each is one loop, or several that share a device.
func (t *Transients) findLoops(p int32) {
	clear(t.order)
	number := int32(0)
	for d := range t.next[p] {
		if t.order[d] == 0 && len(t.next[p][d]) > 0 {
			t.connect(p, d, &number)
		}
	}
}

func (t *Transients) connect(p int32, d int, number *int32) {
	*number++
	t.order[d], t.low[d] = *number, *number
	t.stack, t.onStack[d] = append(t.stack, int32(d)), true
	if !t.origin[p][d] {
		for _, b := range t.next[p][d] {
			to := t.peer(d, b)
			switch {
			case t.down(b) || t.e.sessions[b].unseen:
			case t.order[to] == 0:
				t.connect(p, to, number)
				t.low[d] = min(t.low[d], t.low[to])
			case t.onStack[to]:
				t.low[d] = min(t.low[d], t.order[to])
			}
		}
	}
	if t.low[d] != t.order[d] {
		return
	}
	i := slices.Index(t.stack, int32(d))
	part := t.stack[i:]
	for _, x := range part {
		t.onStack[x] = false
	}
	if len(part) > 1 {
		f := fault{kind: state.Loop}
		for _, x := range part {
			f.at = append(f.at, int(x))
		}
		slices.Sort(f.at)
		t.faults = append(t.faults, f)
	}
	t.stack = t.stack[:i]
}

// spread finds the devices whose traffic comes to a fault.
func (t *Transients) spread(p int32, f *fault) {
	f.loses = make([]bool, len(t.next[p]))
	for _, d := range f.at {
		f.loses[d] = len(t.next[p][d]) > 0
	}
	reached := slices.Clone(f.at)
	for len(reached) > 0 {
		to := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		for _, b := range t.e.index.Of[to] {
			d := t.peer(to, int32(b))
			if f.loses[d] || slices.Contains(f.at, d) || t.origin[p][d] || t.down(int32(b)) || t.e.sessions[b].unseen || !slices.Contains(t.next[p][d], int32(b)) {
				continue
			}
			f.loses[d] = true
			reached = append(reached, d)
		}
	}
}
