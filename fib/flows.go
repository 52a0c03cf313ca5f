package fib

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

var (
	// ErrNoFlows is returned for a simulation without flows.
	ErrNoFlows = errors.New("no flows")

	// ErrNoMembers is returned for a group that is empty, or has a member
	// with a weight below 1.
	ErrNoMembers = errors.New("no members with a weight of at least 1")
)

// Hashing is how a chip spreads flows over a group: a hash of the five fields
// that name a flow picks a slot, and the slot names the member. The weights
// are the slots' split; the flows' split differs from it by chance, the more
// the fewer and the larger the flows are.
type Hashing struct {
	// Seed is the hash's. It also draws the flows.
	Seed uint64

	// Slots is the size of a resilient table, of which a member that goes
	// frees only its own slots. 0 is a table of as many slots as the weights
	// sum to, laid out anew by every change.
	Slots int
}

// flow holds what is hashed: addresses, protocol and ports of IPv4.
type flow [13]byte

// Split returns how many of that many random flows each member gets.
func (h Hashing) Split(members []Weighted, flows int) ([]int, error) {
	slots, err := h.layout(members)
	if err != nil {
		return nil, err
	}
	if flows < 1 {
		return nil, fmt.Errorf("split over %d members: %w: %d", len(members), ErrNoFlows, flows)
	}
	count := make([]int, len(members))
	h.each(flows, func(hash uint64) { count[slots[hash%uint64(len(slots))]]++ })
	return count, nil
}

// Disruption returns which part of that many random flows moves to another
// member when the member with that ID goes, and which part has to because it
// was on it. Both are in 0 to 1.
func (h Hashing) Disruption(members []Weighted, gone int32, flows int) (moved, must float64, err error) {
	before, err := h.layout(members)
	if err != nil {
		return 0, 0, err
	}
	if flows < 1 {
		return 0, 0, fmt.Errorf("disruption of %d members: %w: %d", len(members), ErrNoFlows, flows)
	}
	after, err := h.without(members, before, gone)
	if err != nil {
		return 0, 0, err
	}
	moves, leaves := 0, 0
	h.each(flows, func(hash uint64) {
		old := before[hash%uint64(len(before))]
		if members[old].ID == gone {
			leaves++
		}
		if after[hash%uint64(len(after))] != old {
			moves++
		}
	})
	return float64(moves) / float64(flows), float64(leaves) / float64(flows), nil
}

// layout returns the member, by its place in members, of every slot.
func (h Hashing) layout(members []Weighted) ([]int, error) {
	sum := 0
	for _, m := range members {
		if m.Weight < 1 {
			return nil, fmt.Errorf("member %d, weight %d: %w", m.ID, m.Weight, ErrNoMembers)
		}
		sum += m.Weight
	}
	switch {
	case sum == 0:
		return nil, ErrNoMembers
	case h.Slots == 0 && sum > MaxWidth:
		return nil, fmt.Errorf("sum of weights %d: %w: want up to %d", sum, ErrWidth, MaxWidth)
	case h.Slots != 0 && (h.Slots < len(members) || h.Slots > MaxWidth):
		return nil, fmt.Errorf("%d slots for %d members: %w: want %d to %d", h.Slots, len(members), ErrWidth, len(members), MaxWidth)
	}
	slots := make([]int, 0, max(h.Slots, sum))
	for i, n := range h.share(members, max(h.Slots, 0)) {
		for range n {
			slots = append(slots, i)
		}
	}
	return slots, nil
}

// share returns how many of size slots each member has; 0 is its weight.
func (h Hashing) share(members []Weighted, size int) []int {
	weights := make([]int, len(members))
	shares := make([]uint64, len(members))
	for i, m := range members {
		weights[i], shares[i] = m.Weight, uint64(m.Weight)
	}
	if size == 0 {
		return weights
	}
	red, _ := reduceTo(shares, size)
	return red.Weights
}

// without is the layout once a member went. A resilient table hands its slots
// to the others in turn, those first that have the fewest for their weight.
func (h Hashing) without(members []Weighted, before []int, gone int32) ([]int, error) {
	var left []Weighted
	var at []int
	for i, m := range members {
		if m.ID != gone {
			left, at = append(left, m), append(at, i)
		}
	}
	if len(left) == 0 || len(left) == len(members) {
		return nil, fmt.Errorf("member %d goes: %w", gone, ErrNoMembers)
	}
	if h.Slots == 0 {
		after, err := h.layout(left)
		for i, k := range after {
			after[i] = at[k]
		}
		return after, err
	}
	count := make([]uint64, len(members))
	for _, k := range before {
		count[k]++
	}
	after := append([]int(nil), before...)
	for i, k := range after {
		if members[k].ID != gone {
			continue
		}
		next := at[0]
		for _, k := range at {
			if less(count[k]+1, uint64(members[k].Weight), count[next]+1, uint64(members[next].Weight)) {
				next = k
			}
		}
		count[next]++
		after[i] = next
	}
	return after, nil
}

// each calls f with the hash of every flow.
func (h Hashing) each(flows int, f func(hash uint64)) {
	draw := rand.New(rand.NewPCG(h.Seed, 0))
	for range flows {
		var key flow
		for i := 0; i < len(key); i += 4 {
			word := draw.Uint32()
			for j := i; j < min(i+4, len(key)); j++ {
				key[j] = byte(word >> (8 * (j - i)))
			}
		}
		f(key.hash(h.Seed))
	}
}

// hash is FNV-1a started from the seed, then mixed so that the low bits, which
// pick the slot, depend on every field.
func (f flow) hash(seed uint64) uint64 {
	h := seed ^ 0xcbf29ce484222325
	for _, b := range f {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
