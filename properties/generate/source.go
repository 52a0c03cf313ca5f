package generate

import (
	"math/rand/v2"
	"time"
)

// Source is where choices come from.
type Source interface {
	// IntN chooses one of 0 to n-1; n is at least 1.
	IntN(n int) int
}

// FromRand draws from a generator of random numbers, so a seed repeats a case.
func FromRand(r *rand.Rand) Source { return r }

// FromBytes draws from bytes, so that whoever changes these changes choices. A
// choice of up to 256 takes one byte, of more two. Where no bytes are left every
// choice is 0, the plainest.
func FromBytes(data []byte) Source { return &bytesLeft{data} }

type bytesLeft struct{ left []byte }

func (b *bytesLeft) IntN(n int) int {
	v := b.next()
	if n > 1<<8 {
		v = v<<8 | b.next()
	}
	return v % n
}

func (b *bytesLeft) next() int {
	if len(b.left) == 0 {
		return 0
	}
	v := b.left[0]
	b.left = b.left[1:]
	return int(v)
}

// pick chooses from a list, the plainest of which comes first.
func pick[T any](src Source, list ...T) T { return list[src.IntN(len(list))] }

// oneIn is true once in n, and false of no bytes.
func oneIn(src Source, n int) bool { return src.IntN(n) == n-1 }

// between chooses from low to high, both included; low is the plainest.
func between(src Source, low, high int) int { return low + src.IntN(high-low+1) }

// seconds is pick for times.
func seconds(src Source, list ...int) time.Duration {
	return time.Duration(pick(src, list...)) * time.Second
}
