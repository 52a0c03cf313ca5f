package oracle

import (
	"fmt"
	"math"
	"slices"

	"github.com/bagrig/bagrig/damping"
)

// State is StateOf with all devices in service and their knobs at the defaults.
func (o *Oracle) State(b []Bundle) *State { return o.StateOf(b, nil) }

// StateOf computes the end state for the given state of the bundles and of the
// devices, both in topology order; devices nil are all in service with every
// knob at its default. See State.Err for when it cannot.
func (o *Oracle) StateOf(b []Bundle, devices []Device) *State {
	s := &State{
		devices: devices,
		o:       o, err: o.err, paths: newPaths(),
		cap: make([]uint64, len(o.ends)), there: make([]bool, len(o.ends)), up: make([]bool, len(o.ends)), trial: make([]bool, len(o.ends)),
		entries: make([]entry, len(o.prefixes)*len(o.asn)),
		member:  make([]bool, len(o.prefixes)*len(o.ends)),
		share:   make([]uint64, len(o.prefixes)*len(o.ends)),
	}
	if len(b) != o.bundles && s.err == nil {
		s.err = fmt.Errorf("topology %q: states of %d bundles: want %d", o.name, len(b), o.bundles)
	}
	if s.err == nil {
		s.rules, s.err = o.rules(devices)
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
	before := map[place]bool{}
	for d, x := range devices {
		if x.Whole {
			s.makeWhole(d)
		}
		for _, p := range x.Announced {
			before[place{d, int(p)}] = true
		}
	}
	s.err = s.settleAll(before)
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

// settlePrefixes settles all prefixes, given the aggregates that are open.
func (s *State) settlePrefixes() error {
	clear(s.entries)
	clear(s.member)
	clear(s.share)
	w := work{State: s, stale: make([]bool, len(s.o.asn))}
	for p := range s.o.prefixes {
		if err := w.settle(p); err != nil {
			return err
		}
	}
	return nil
}

// work settles one prefix after another.
type work struct {
	*State
	entries []entry  // of the prefix, by device
	member  []bool   // of the prefix, by session end
	share   []uint64 // of the prefix, by session end

	prefix int
	class  string  // of the prefix
	stale  []bool  // by device: a neighbour tells something else since it decided
	left   int     // devices that are stale
	set    []int32 // scratch: session ends of the set that is being decided
}

// settle sweeps the devices upwards through the tiers and downwards again
// until no device is stale. Routes spread from their origins, and each pair of
// sweeps carries the right ones at least one hop on: first those that are not
// warm, then those that are. A wrong one can live only as long as a path without
// a loop, so more sweeps than twice the devices mean that the routes will not
// settle.
func (w *work) settle(prefix int) error {
	devices, ends := len(w.o.asn), len(w.o.ends)
	w.left, w.prefix, w.class = 0, prefix, w.o.classes[prefix]
	_, conditional := w.o.aggregates[prefix]
	w.entries = w.State.entries[prefix*devices : (prefix+1)*devices]
	w.member = w.State.member[prefix*ends : (prefix+1)*ends]
	w.share = w.State.share[prefix*ends : (prefix+1)*ends]
	for i, d := range w.o.origins[prefix] {
		value, open := w.o.value[prefix][i], true
		if conditional {
			value, open = w.open[place{int(d), prefix}]
		}
		if open {
			w.entries[d] = w.origin(d, value)
			w.entries[d].atomic = conditional && w.entries[d].present
		}
	}
	for _, d := range w.o.origins[prefix] {
		if w.entries[d].local {
			w.spread(d)
		}
	}
	for sweep := 0; w.left > 0; sweep++ {
		if sweep > 2*devices {
			return fmt.Errorf("topology %q: prefix %s: routes do not settle in %d sweeps up and down", w.o.name, w.o.prefixes[prefix], sweep)
		}
		w.sweep(w.o.up)
		w.sweep(w.o.down)
	}
	return nil
}

func (w *work) sweep(order []int32) {
	for _, d := range order {
		if w.stale[d] {
			w.stale[d] = false
			w.left--
			old := w.entries[d]
			w.entries[d] = w.decide(d)
			if !old.sameTold(&w.entries[d]) {
				w.spread(d)
			}
		}
	}
}

// spread makes all neighbours stale that may have to decide anew because the
// device tells something else. A device that originates the prefix never has to.
func (w *work) spread(d int32) {
	for i := w.o.first[d]; i < w.o.first[d+1]; i++ {
		peer := w.o.ends[i].peer
		if w.cap[i] > 0 && !w.stale[peer] && !w.entries[peer].local {
			w.stale[peer] = true
			w.left++
		}
	}
}

// origin is the entry of a device that originates the prefix, which has the
// constant value: it uses nothing that neighbours tell.
func (w *work) origin(d int32, constant uint64) entry {
	r := w.rules[d]
	e := entry{reached: true, present: true, local: true, below: true, down: w.suppressed(d, w.prefix), warm: r.warm, told: emptyPath, sent: w.paths.prepend(w.o.asn[d], emptyPath)}
	value, valued := r.originated(constant)
	w.offer(d, &e, value, valued)
	return r.drain(e)
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

// decide makes the entry of a device from what its neighbours tell now, and
// writes its multipath set and shares.
func (w *work) decide(d int32) entry {
	lo, hi := w.o.first[d], w.o.first[d+1]
	clear(w.member[lo:hi])
	clear(w.share[lo:hi])
	w.choose(d)
	if len(w.set) == 0 {
		return entry{}
	}
	r, peer := w.rules[d], w.o.ends[w.best(d)].peer
	best := &w.entries[peer]
	below := w.o.role[peer] < w.o.role[d]
	e := entry{reached: true, present: true, below: below, told: best.sent, down: !below || w.suppressed(d, w.prefix), warm: r.warm || best.warm}
	e.sent = w.paths.prepend(w.o.asn[d], e.told)
	found := w.weigh(d)
	value, valued := r.bottleneck(&found, best)
	w.offer(d, &e, value, valued)
	if r.drained {
		clear(w.share[lo:hi])
		return r.drain(e)
	}
	for _, i := range w.set {
		w.member[i] = true
	}
	return e
}

// best is the session of the set whose path is told: of the neighbour with the
// lowest router id, the first one. The set ascends by bundle.
func (w *work) best(d int32) int32 {
	best := w.set[0]
	for _, i := range w.set {
		if w.prefers(d, w.entries[w.o.ends[i].peer].sent) {
			return i
		}
		if w.o.ends[i].peer < w.o.ends[best].peer {
			best = i
		}
	}
	return best
}

// prefers tells whether the device tells the path on, of those of its set.
func (w *work) prefers(d int32, path pathID) bool {
	if w.devices == nil || w.devices[d].Paths == nil {
		return false
	}
	want := w.devices[d].Paths[w.prefix]
	return want != nil && slices.Equal(want, w.paths.list(path))
}

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
		rank := int64(w.paths.length(e.sent))
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
