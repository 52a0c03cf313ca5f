package oracle

import (
	"math"
	"math/bits"
)

// tally is what one look at all sessions of a set finds, in bits/s.
type tally struct {
	pairs    uint64 // sum over the neighbours of the least of capacity and received value
	received uint64 // sum over the sessions of the received values
	capacity uint64 // sum over the bundles
	valued   bool   // some session has a value
	missing  bool   // some session has none
	zero     bool   // some session has the value zero
}

// weigh gives every session of the set its share, and returns what it found.
func (w *work) weigh(d int32) tally {
	r := w.rules[d]
	var t tally
	for at, i := range w.set {
		e := &w.entries[w.o.ends[i].peer]
		t.capacity = addSaturating(t.capacity, w.cap[i])
		t.received = addSaturating(t.received, e.heard)
		t.valued = t.valued || e.tells
		t.missing = t.missing || !e.tells
		t.zero = t.zero || e.tells && e.heard == 0
		if !w.o.parallel[d] {
			var value uint64
			value, w.share[i] = r.pair(e, w.cap[i])
			t.pairs = addSaturating(t.pairs, value)
		} else if w.leads(at) {
			capacity := w.capacity(w.set[at:])
			value, share := r.pair(e, capacity)
			w.split(w.set[at:], share, capacity)
			t.pairs = addSaturating(t.pairs, value)
		}
	}
	if r.equal(&t) {
		for _, i := range w.set {
			w.share[i] = 1
		}
	}
	return t
}

// pair is the value of all sessions with one neighbour, which tells e, over
// bundles of the capacity together, and their share. All sessions of a pair
// are told one value, so the lowest is that of any.
func (r *rules) pair(e *entry, capacity uint64) (value, share uint64) {
	switch {
	case e.tells:
		value, share = min(capacity, e.heard), e.heard
		if !r.sourceReceived {
			share = value
		}
		return value, share
	case r.missing == missingDefault:
		return capacity, capacity
	}
	return 0, 0
}

// equal tells whether the shares of a set are equal instead of those of its
// pairs, which are all zero where the pairs' values are.
func (r *rules) equal(t *tally) bool {
	return t.missing && r.missing == missingECMP || t.zero && r.zeroECMP || t.pairs == 0
}

// bottleneck is the value that is offered to damping, or false for none. The
// best member is that whose path is told.
func (r *rules) bottleneck(t *tally, best *entry) (value uint64, valued bool) {
	switch r.advertise {
	case advertiseAggregateReceived:
		return t.received, !t.missing && !t.zero
	case advertiseAggregateLocal:
		return t.capacity, true
	case advertiseBestPath:
		return best.heard, best.tells
	case advertiseSet:
		return r.advertised, true
	case advertiseDisable:
		return 0, false
	}
	switch r.missing {
	case missingSkip:
		return t.pairs, t.valued
	case missingDefault:
		return t.pairs, true
	}
	return t.pairs, !t.missing
}

// originated is the value of an own route, whose prefix has the constant.
func (r *rules) originated(constant uint64) (value uint64, valued bool) {
	switch r.advertise {
	case advertiseSet:
		return r.advertised, true
	case advertiseDisable:
		return 0, false
	}
	return constant, true
}

// hearers counts the neighbours of the same or a higher tier that the export
// rules let hear the route of the device, and that have a bundle with it that
// is up; whether its session is open does not matter.
func (w *work) hearers(d int32, e *entry) (n uint64) {
	lo, hi := w.o.first[d], w.o.first[d+1]
	for i := lo; i < hi; i++ {
		peer := w.o.ends[i].peer
		if !w.up[i] || w.o.role[peer] < w.o.role[d] || !w.exports(int(d), int(peer), e) {
			continue
		}
		first := i
		for j := lo; j < i && w.o.parallel[d]; j++ {
			if w.up[j] && w.o.ends[j].peer == peer {
				first = j
				break
			}
		}
		if first == i {
			n++
		}
	}
	return n
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

// capacity is what the bundles of the set to its first session's neighbour
// carry together.
func (w *work) capacity(set []int32) (sum uint64) {
	for _, i := range set {
		if w.o.ends[i].peer == w.o.ends[set[0]].peer {
			sum = addSaturating(sum, w.cap[i])
		}
	}
	return sum
}

// split gives each bundle of the set to its first session's neighbour its part
// of the pair's share, in proportion to the bundles, whose sum is capacity.
// Units that are left over go to the earlier bundles.
func (w *work) split(set []int32, share, capacity uint64) {
	peer := w.o.ends[set[0]].peer
	left := share
	for _, i := range set {
		if w.o.ends[i].peer == peer {
			hi, lo := bits.Mul64(share, w.cap[i])
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
