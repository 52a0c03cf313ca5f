package oracle

import "math/bits"

// queue is a set of small numbers that is walked upwards and downwards while
// numbers come and go.
type queue struct {
	words []uint64
	left  int // numbers in it
}

func newQueue(size int) queue { return queue{words: make([]uint64, (size+63)/64)} }

func (q *queue) add(n int32) {
	if bit := uint64(1) << (n % 64); q.words[n/64]&bit == 0 {
		q.words[n/64] |= bit
		q.left++
	}
}

func (q *queue) remove(n int32) {
	if bit := uint64(1) << (n % 64); q.words[n/64]&bit != 0 {
		q.words[n/64] &^= bit
		q.left--
	}
}

func (q *queue) clear() {
	clear(q.words)
	q.left = 0
}

// from is the lowest number that is n or higher, or -1.
func (q *queue) from(n int) int {
	for at := n / 64; at < len(q.words); at++ {
		word := q.words[at]
		if at == n/64 {
			word &= ^uint64(0) << (n % 64)
		}
		if word != 0 {
			return 64*at + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// down is the highest number that is n or lower, or -1.
func (q *queue) down(n int) int {
	if n < 0 {
		return -1
	}
	for at := n / 64; at >= 0; at-- {
		word := q.words[at]
		if at == n/64 {
			word &= ^uint64(0) >> (63 - n%64)
		}
		if word != 0 {
			return 64*at + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}
