package oracle

import (
	"fmt"
	"math"
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// State is StateOf with all devices in service and their knobs at the defaults.
func (o *Oracle) State(b []Bundle) *State { return o.StateOf(b, nil) }

// StateOf computes the end state for the given state of the bundles and of the
// devices, both in topology order; devices nil are all in service with every
// knob at its default. See State.Err for when it cannot.
func (o *Oracle) StateOf(b []Bundle, devices []Device) *State {
	s := o.begin(b, devices, nil)
	if s.err == nil {
		s.err = s.settleAll(nil)
	}
	if s.err != nil {
		s.decideNothing()
	}
	return s
}

// decideNothing leaves no row open, so that a state with an error can be looked at.
func (s *State) decideNothing() {
	empty := s.o.emptyRow()
	for p := range s.rows {
		if s.rows[p] == nil {
			s.rows[p] = empty
		}
	}
}

// begin is a state in which nothing is decided yet. What it was derived from, if
// anything, lends it the rules of devices that have not changed.
func (o *Oracle) begin(b []Bundle, devices []Device, from *State) *State {
	s := &State{
		o: o, err: o.err, devices: slices.Clone(devices), rows: make([]*row, len(o.prefixes)),
		cap: make([]uint64, len(o.ends)), there: make([]bool, len(o.ends)), up: make([]bool, len(o.ends)), trial: make([]bool, len(o.ends)),
	}
	if len(b) != o.bundles && s.err == nil {
		s.err = fmt.Errorf("topology %q: states of %d bundles: want %d", o.name, len(b), o.bundles)
	}
	if s.err == nil {
		s.rules, s.err = o.rules(devices, from)
	}
	if s.err != nil {
		return s
	}
	for i, e := range o.ends {
		x := b[e.bundle]
		s.up[i], s.trial[i] = x.Capacity > 0, x.Trial
		if !x.Closed {
			s.cap[i], s.there[i] = x.Capacity, x.Capacity > 0 || x.Open
		}
	}
	for d, x := range devices {
		if x.Whole {
			s.makeWhole(d)
		}
	}
	return s
}

// makeWhole puts a device's ends of its bundles at full health.
func (s *State) makeWhole(device int) {
	for i := s.o.first[device]; i < s.o.first[device+1]; i++ {
		s.trial[i] = false
		if s.there[i] {
			s.cap[i] = s.o.ends[i].full
		}
	}
}

func (o *Oracle) emptyRow() *row {
	return &row{entries: make([]entry, len(o.asn)), sets: make([][]state.Member, len(o.asn))}
}

// work settles one prefix after another.
type work struct {
	*State
	entries []entry // of the prefix, by device
	row     *row    // that entries are of
	own     bool    // row is this work's alone, so that it may be written to

	prefix      int
	class       string         // of the prefix
	conditional bool           // the prefix is an aggregate
	stale       queue          // devices of which a neighbour tells something else since they decided
	set         []int32        // scratch: session ends of the set that is being decided
	share       []uint64       // scratch, by session end: what those of the set get
	next        []state.Member // scratch: the set that was decided
}

func newWork(s *State) *work {
	return &work{
		State: s, stale: newQueue(len(s.o.asn)), share: make([]uint64, len(s.o.ends)),
	}
}

// start turns to a prefix. A row that is somebody else's is copied before it is
// written to.
func (w *work) start(prefix int, from *row, own bool) {
	w.prefix, w.class, w.row, w.entries, w.own = prefix, w.o.classes[prefix], from, from.entries, own
	_, w.conditional = w.o.aggregates[prefix]
}

// settle decides a prefix from nothing.
func (w *work) settle(prefix int) error {
	w.start(prefix, w.o.emptyRow(), true)
	for _, d := range w.o.origins[prefix] {
		if own, ok := w.origin(d); ok {
			w.entries[d] = own
		}
	}
	for _, d := range w.o.origins[prefix] {
		if w.entries[d].local {
			w.spread(d)
		}
	}
	return w.sweep()
}

// sweep goes upwards through the tiers and downwards again until no device is
// stale. Routes spread from their origins, and each pair of
// sweeps carries the right ones at least one hop on: first those that are not
// warm, then those that are. A wrong one can live only as long as a path without
// a loop, so more sweeps than twice the devices mean that the routes will not
// settle.
func (w *work) sweep() error {
	for sweep := 0; w.stale.left > 0; sweep++ {
		if sweep > 2*len(w.o.asn) {
			w.stale.clear()
			return fmt.Errorf("topology %q: prefix %s: routes do not settle in %d sweeps up and down", w.o.name, w.o.prefixes[w.prefix], sweep)
		}
		for at := w.stale.from(0); at >= 0; at = w.stale.from(at + 1) {
			w.renew(w.o.up[at])
		}
		for at := w.stale.down(len(w.o.up) - 1); at >= 0; at = w.stale.down(at - 1) {
			w.renew(w.o.up[at])
		}
	}
	w.rows[w.prefix] = w.row
	return nil
}

// renew lets a stale device decide.
func (w *work) renew(d int32) {
	w.stale.remove(w.o.rank[d])
	old := &w.entries[d]
	w.next = w.next[:0]
	now, local := w.origin(d)
	if !local {
		now = w.decide(d)
	}
	told, sameSet := old.sameTold(&now), slices.Equal(w.next, w.row.sets[d])
	if sameSet && now == *old {
		return
	}
	if !w.own {
		w.row = &row{entries: slices.Clone(w.row.entries), sets: slices.Clone(w.row.sets)}
		w.entries, w.own = w.row.entries, true
	}
	w.entries[d] = now
	if !sameSet {
		w.row.sets[d] = nil
		if len(w.next) > 0 {
			w.row.sets[d] = slices.Clone(w.next)
		}
	}
	if !told {
		w.spread(d)
	}
}

// spread makes all neighbours stale that may have to decide anew because the
// device tells something else. A device that originates the prefix never has to.
func (w *work) spread(d int32) {
	for i := w.o.first[d]; i < w.o.first[d+1]; i++ {
		if peer := w.o.ends[i].peer; w.there[i] && !w.entries[peer].local {
			w.stale.add(w.o.rank[peer])
		}
	}
}

// origin is the entry of a device that originates the prefix now: it uses nothing
// that neighbours tell.
func (w *work) origin(d int32) (e entry, ok bool) {
	conditional := w.conditional
	for i, other := range w.o.origins[w.prefix] {
		if other != d {
			continue
		}
		constant, open := w.o.value[w.prefix][i], true
		if conditional {
			constant, open = w.open[place{int(d), w.prefix}]
		}
		if open {
			e, ok = w.originated(d, constant), true
			e.atomic = conditional && e.present
		}
	}
	return e, ok
}

// originated is the entry of an own route whose value is the constant.
func (w *work) originated(d int32, constant uint64) entry {
	r := w.rules[d]
	e := entry{reached: true, present: true, local: true, below: true, down: w.suppressed(d, w.prefix), warm: r.warm, sent: w.sent(d, nil)}
	value, valued := r.originated(constant)
	w.offer(d, &e, value, valued)
	return r.drain(e)
}

// sent is the path with the device's ASN before it: the one that it tells already
// where it is that.
func (w *work) sent(d int32, told *path) *path {
	if old := &w.entries[d]; old.sent != nil && samePath(old.told, told) {
		return old.sent
	}
	return prepend(w.o.asn[d], told)
}

// offer gives the entry, complete but for it, its bottleneck value in bits/s
// and what follows from it.
func (w *work) offer(d int32, e *entry, bottleneck uint64, valued bool) {
	in := damping.Value{Reach: damping.Unvalued}
	if valued {
		if w.rules[d].divide {
			bottleneck /= max(1, w.hearers(d, e))
		}
		e.valued, e.bottleneck = true, bottleneck
		in = damping.Value{Reach: damping.Valued, Bits: bottleneck}
	}
	switch told := w.o.level(int(d), w.prefix, in); told.Reach {
	case damping.Gone:
		*e = entry{local: e.local, below: e.below, reached: true, valued: e.valued, bottleneck: e.bottleneck}
	case damping.Valued:
		e.tells, e.value = true, toWire(told.Bits)
		e.heard = fromWire(e.value)
	}
}

// drain leaves a drained device nothing of an entry but the bottleneck value
// and its own route.
func (r *rules) drain(e entry) entry {
	if !r.drained {
		return e
	}
	return entry{local: e.local, reached: e.local, valued: e.valued, bottleneck: e.bottleneck}
}

// decide makes the entry of a device from what its neighbours tell now, with its
// multipath set and shares.
func (w *work) decide(d int32) entry {
	w.choose(d)
	if len(w.set) == 0 {
		return entry{}
	}
	r, peer := w.rules[d], w.o.ends[w.best(d)].peer
	best := &w.entries[peer]
	below := w.o.role[peer] < w.o.role[d]
	e := entry{reached: true, present: true, below: below, told: best.sent, down: !below || w.suppressed(d, w.prefix), warm: r.warm || best.warm}
	e.sent = w.sent(d, e.told)
	if e.sent.rest != e.told {
		e.told = e.sent.rest // an equal one: what is shared is compared at once
	}
	found := w.weigh(d)
	value, valued := r.bottleneck(&found, best)
	w.offer(d, &e, value, valued)
	if r.drained {
		return r.drain(e)
	}
	for _, i := range w.set {
		w.next = append(w.next, state.Member{Bundle: w.o.ends[i].bundle, Share: w.share[i]})
	}
	return e
}

// best is the session of the set whose path is told: of the neighbour with the
// lowest router id, the first one. The set ascends by bundle.
func (w *work) best(d int32) int32 {
	best, preferred := w.set[0], w.preferred(d, w.prefix)
	for _, i := range w.set {
		if preferred != nil && slices.Equal(preferred, w.entries[w.o.ends[i].peer].sent.list()) {
			return i
		}
		if w.o.ends[i].peer < w.o.ends[best].peer {
			best = i
		}
	}
	return best
}

// preferred is the path that a device tells on where one of its set has it; nil = none.
func (s *State) preferred(d int32, prefix int) []uint32 {
	if !s.prefers(int(d)) {
		return nil
	}
	return s.devices[d].Paths[prefix]
}

func (s *State) prefers(device int) bool { return s.devices != nil && s.devices[device].Paths != nil }

// rankWarm puts warm candidates, whose LOCAL_PREF is 0 and not 100, behind the
// rest; among equals, longer paths come behind shorter ones.
const rankWarm = 1 << 32 // more than the length of any path

// choose collects the multipath set: all usable candidates of the lowest rank.
// Among them those over bundles on trial give way to the others. A trial never
// makes a device prefer a longer path, so the ranks alone still decide how
// routes spread.
func (w *work) choose(d int32) {
	w.set = w.set[:0]
	r := w.rules[d]
	if len(r.rejectClasses) > 0 && slices.Contains(r.rejectClasses, w.class) {
		return
	}
	least, settled := int64(math.MaxInt64), false
	for i := w.o.first[d]; i < w.o.first[d+1]; i++ {
		peer := w.o.ends[i].peer
		e := &w.entries[peer]
		if w.cap[i] == 0 || !e.present || r.rejectDown && e.down || r.rejectWarm && e.warm {
			continue
		}
		rank := int64(e.sent.len())
		if e.warm {
			rank += rankWarm
		}
		if rank > least || !w.exports(int(peer), int(d), e) || w.o.asn[peer] == w.o.asn[d] {
			continue
		}
		if rank < least {
			least, settled, w.set = rank, false, w.set[:0]
		}
		settled = settled || !w.trial[i]
		w.set = append(w.set, i)
	}
	if settled {
		w.set = slices.DeleteFunc(w.set, func(i int32) bool { return w.trial[i] })
	}
}
