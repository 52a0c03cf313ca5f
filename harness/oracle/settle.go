package oracle

import (
	"fmt"
	"math"
	"math/bits"
)

// State computes the end state for the given state of the bundles, in topology
// order. See State.Err for when it cannot.
func (o *Oracle) State(b []Bundle) *State {
	s := &State{
		o: o, err: o.err, paths: newPaths(),
		cap: make([]uint64, len(o.ends)), trial: make([]bool, len(o.ends)),
		entries: make([]entry, len(o.prefixes)*len(o.asn)),
		member:  make([]bool, len(o.prefixes)*len(o.ends)),
		share:   make([]uint64, len(o.prefixes)*len(o.ends)),
	}
	if len(b) != o.bundles && s.err == nil {
		s.err = fmt.Errorf("topology %q: states of %d bundles: want %d", o.name, len(b), o.bundles)
	}
	if s.err != nil {
		return s
	}
	for i, e := range o.ends {
		s.cap[i], s.trial[i] = b[e.bundle].Capacity, b[e.bundle].Trial
	}
	w := work{State: s, stale: make([]bool, len(o.asn))}
	for p := range o.prefixes {
		if s.err = w.settle(p); s.err != nil {
			break
		}
	}
	return s
}

// work settles one prefix after another.
type work struct {
	*State
	entries []entry  // of the prefix, by device
	member  []bool   // of the prefix, by session end
	share   []uint64 // of the prefix, by session end

	stale []bool  // by device: a neighbour tells something else since it decided
	left  int     // devices that are stale
	set   []int32 // scratch: session ends of the set that is being decided
}

// settle sweeps the devices upwards through the tiers and downwards again
// until no device is stale. Routes spread from their origins, and each pair of
// sweeps carries the right ones at least one hop on. A wrong one can live only
// as long as a path without a loop, so more sweeps than twice the devices mean
// that the routes will not settle.
func (w *work) settle(prefix int) error {
	devices, ends := len(w.o.asn), len(w.o.ends)
	w.left = 0
	w.entries = w.State.entries[prefix*devices : (prefix+1)*devices]
	w.member = w.State.member[prefix*ends : (prefix+1)*ends]
	w.share = w.State.share[prefix*ends : (prefix+1)*ends]
	for i, d := range w.o.origins[prefix] {
		w.entries[d] = w.origin(d, w.o.value[prefix][i])
	}
	for _, d := range w.o.origins[prefix] {
		w.spread(d)
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

// origin is the entry of a device that originates the prefix: it uses nothing
// that neighbours tell.
func (w *work) origin(d int32, value uint64) entry {
	e := entry{reached: true, local: true, told: emptyPath, sent: w.paths.prepend(w.o.asn[d], emptyPath)}
	w.setValue(&e, value)
	return e
}

// setValue gives the entry its bottleneck value in bits/s and what follows from it.
func (w *work) setValue(e *entry, bottleneck uint64) {
	e.bottleneck = bottleneck
	e.value = toWire(w.o.level(bottleneck))
	e.heard = fromWire(e.value)
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
	best := w.set[0]
	for _, i := range w.set {
		w.member[i] = true
		// The set ascends by bundle, so of one neighbour's sessions the first stays.
		if w.o.ends[i].peer < w.o.ends[best].peer {
			best = i
		}
	}
	peer := w.o.ends[best].peer
	e := entry{reached: true, told: w.entries[peer].sent, down: w.o.role[peer] >= w.o.role[d]}
	e.sent = w.paths.prepend(w.o.asn[d], e.told)
	w.setValue(&e, w.divide(d))
	return e
}

// choose collects the multipath set: the shortest paths over bundles that are
// not on trial, or where there are none the shortest over those that are.
func (w *work) choose(d int32) {
	const onTrial = math.MaxInt32 // longer than any path
	w.set = w.set[:0]
	least := int64(math.MaxInt64)
	for i := w.o.first[d]; i < w.o.first[d+1]; i++ {
		peer := w.o.ends[i].peer
		e := &w.entries[peer]
		if w.cap[i] == 0 || !e.reached {
			continue
		}
		rank := int64(w.paths.length(e.sent))
		if w.trial[i] {
			rank += onTrial
		}
		if rank > least || !w.exports(int(peer), int(d), e) || w.o.asn[peer] == w.o.asn[d] {
			continue
		}
		if rank < least {
			least, w.set = rank, w.set[:0]
		}
		w.set = append(w.set, i)
	}
}

// divide gives every session of the set its share and returns their sum, the
// bottleneck value. Where all shares are zero each becomes 1, so that traffic
// is spread equally, and the sum stays zero.
func (w *work) divide(d int32) uint64 {
	var sum uint64
	for at, i := range w.set {
		peer := w.o.ends[i].peer
		if !w.o.parallel[d] {
			w.share[i] = min(w.cap[i], w.entries[peer].heard)
			sum = addSaturating(sum, w.share[i])
		} else if w.leads(at) {
			sum = addSaturating(sum, w.dividePair(w.set[at:], peer))
		}
	}
	if sum == 0 {
		for _, i := range w.set {
			w.share[i] = 1
		}
	}
	return sum
}

// leads tells whether no session before set[at] goes to the same neighbour.
func (w *work) leads(at int) bool {
	for _, i := range w.set[:at] {
		if w.o.ends[i].peer == w.o.ends[w.set[at]].peer {
			return false
		}
	}
	return true
}

// dividePair splits the value of one neighbour, the least of what it tells and
// of what its bundles in the set carry together, in proportion to the bundles.
// Units that are left over go to the earlier bundles. It returns the value.
func (w *work) dividePair(set []int32, peer int32) uint64 {
	var capacity uint64
	for _, i := range set {
		if w.o.ends[i].peer == peer {
			capacity = addSaturating(capacity, w.cap[i])
		}
	}
	value := min(capacity, w.entries[peer].heard)
	left := value
	for _, i := range set {
		if w.o.ends[i].peer == peer {
			hi, lo := bits.Mul64(value, w.cap[i])
			quotient, _ := bits.Div64(hi, lo, capacity)
			w.share[i] = min(quotient, left) // the minimum acts only where capacity is saturated
			left -= w.share[i]
		}
	}
	for _, i := range set {
		if left > 0 && w.o.ends[i].peer == peer {
			w.share[i]++
			left--
		}
	}
	return value
}

// toWire is the value in bytes/s, as the link bandwidth community carries it,
// of a capacity in bits/s.
func toWire(capacity uint64) float32 { return float32(float64(capacity) / 8) }

// fromWire is the capacity in bits/s that a receiver makes of a value that
// toWire made: exact, or the maximum where it does not fit.
func fromWire(value float32) uint64 {
	capacity := 8 * float64(value)
	if capacity >= 1<<64 {
		return math.MaxUint64
	}
	return uint64(capacity)
}

func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
