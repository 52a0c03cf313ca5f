package state

import "math/bits"

// Since is what may differ between two moments of a run that were shown to checks one
// after the other. A check that has judged the earlier one need not judge again what
// is not in it.
type Since struct {
	Before *Moment // the earlier one
	// Routes are the places where anything may differ that belongs to a device's
	// route: what its speaker and its hardware hold, whether the device is drained
	// or restarts, what Damped and True say of the place and what neighbours tell
	// it, and whether one of the device's bundles carries traffic. All places of an
	// external device are among them: it is judged by each of its sessions.
	Routes Places
	// Hops are those of them where traffic may take another way: over other next
	// hops, whatever their weights, or over a bundle that carries otherwise.
	Hops Places
}

// Places is a set of places, each a prefix at a device.
type Places struct {
	devices, words int
	bits           []uint64 // by prefix, then device
}

// NewPlaces makes an empty set of places of a network's size.
func NewPlaces(devices, prefixes int) Places {
	words := (devices + 63) / 64
	return Places{devices, words, make([]uint64, words*prefixes)}
}

// Add puts a place into the set.
func (p *Places) Add(device, prefix int) {
	p.bits[prefix*p.words+device/64] |= 1 << (device % 64)
}

// Remove takes a place out of the set.
func (p *Places) Remove(device, prefix int) {
	p.bits[prefix*p.words+device/64] &^= 1 << (device % 64)
}

// AddDevice puts all prefixes at a device into the set.
func (p *Places) AddDevice(device int) {
	for at := device / 64; at < len(p.bits); at += p.words {
		p.bits[at] |= 1 << (device % 64)
	}
}

// AddAll puts all places into the set.
func (p *Places) AddAll() {
	for prefix := range p.prefixes() {
		for d := range p.devices {
			p.Add(d, prefix)
		}
	}
}

// Join puts the places of another set of the same size into the set.
func (p *Places) Join(q Places) {
	for i, word := range q.bits {
		p.bits[i] |= word
	}
}

// Clear empties the set.
func (p *Places) Clear() { clear(p.bits) }

// Has tells whether a place is in the set.
func (p *Places) Has(device, prefix int) bool {
	return p.bits[prefix*p.words+device/64]>>(device%64)&1 == 1
}

// HasPrefix tells whether any place of a prefix is in the set.
func (p *Places) HasPrefix(prefix int) bool {
	for _, word := range p.bits[prefix*p.words : (prefix+1)*p.words] {
		if word != 0 {
			return true
		}
	}
	return false
}

// Len counts the places of the set.
func (p *Places) Len() (n int) {
	for _, word := range p.bits {
		n += bits.OnesCount64(word)
	}
	return n
}

// Devices are the devices, ascending, that have a place of the prefix in the set.
func (p *Places) Devices(prefix int) func(yield func(device int) bool) {
	return func(yield func(int) bool) {
		for i, word := range p.bits[prefix*p.words : (prefix+1)*p.words] {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// All are the places, by device, then prefix.
func (p *Places) All() func(yield func(device, prefix int) bool) {
	return func(yield func(int, int) bool) {
		for i := range p.words {
			any := uint64(0)
			for at := i; at < len(p.bits); at += p.words {
				any |= p.bits[at]
			}
			for ; any != 0; any &= any - 1 {
				bit := bits.TrailingZeros64(any)
				for prefix, at := 0, i; at < len(p.bits); prefix, at = prefix+1, at+p.words {
					if p.bits[at]>>bit&1 == 1 && !yield(64*i+bit, prefix) {
						return
					}
				}
			}
		}
	}
}

func (p *Places) prefixes() int {
	if p.words == 0 {
		return 0
	}
	return len(p.bits) / p.words
}
