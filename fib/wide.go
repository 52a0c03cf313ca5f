package fib

import "math/bits"

// u128 is an unsigned 128-bit integer. Shares are uint64, so a sum of them
// or a product with a total needs more than 64 bits; float64 would decide
// ties by rounding noise.
type u128 struct{ hi, lo uint64 }

// mul64 returns a times b.
func mul64(a, b uint64) u128 {
	hi, lo := bits.Mul64(a, b)
	return u128{hi, lo}
}

// add returns a plus b; the caller keeps the sum below 2^128.
func (a u128) add(b uint64) u128 {
	lo, carry := bits.Add64(a.lo, b, 0)
	return u128{a.hi + carry, lo}
}

// sub returns a minus b; b is at most a.
func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi, lo}
}

// times returns a times b; the caller keeps the product below 2^128.
func (a u128) times(b uint64) u128 {
	hi, lo := bits.Mul64(a.lo, b)
	return u128{hi + a.hi*b, lo}
}

func (a u128) cmp(b u128) int {
	switch {
	case a == b:
		return 0
	case a.hi < b.hi, a.hi == b.hi && a.lo < b.lo:
		return -1
	}
	return 1
}

// float returns a as the nearest float64, to within two roundings.
func (a u128) float() float64 {
	return float64(float64(a.hi)*0x1p64) + float64(a.lo)
}

// u256 is the full product of two u128, least significant limb first.
type u256 [4]uint64

func (a u128) mul(b u128) u256 {
	h00, l00 := bits.Mul64(a.lo, b.lo)
	h01, l01 := bits.Mul64(a.lo, b.hi)
	h10, l10 := bits.Mul64(a.hi, b.lo)
	h11, l11 := bits.Mul64(a.hi, b.hi)
	m, c0 := bits.Add64(h00, l01, 0)
	m, c1 := bits.Add64(m, l10, 0)
	n, c2 := bits.Add64(h01, h10, c0)
	n, c3 := bits.Add64(n, l11, c1)
	return u256{l00, m, n, h11 + c2 + c3}
}

func (a u256) cmp(b u256) int {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// ratio is the exact fraction num/den, den above 0.
type ratio struct{ num, den u128 }

// atMost tells whether a <= b.
func (a ratio) atMost(b ratio) bool {
	return a.num.mul(b.den).cmp(b.num.mul(a.den)) <= 0
}

// below tells whether a < b.
func (a ratio) below(b ratio) bool {
	return a.num.mul(b.den).cmp(b.num.mul(a.den)) < 0
}

// same tells whether a equals b.
func (a ratio) same(b ratio) bool {
	return a.num.mul(b.den) == b.num.mul(a.den)
}

// excess returns a - 1. The subtraction is done on the integers, so that a
// ratio of 1 + 1e-12 keeps its digits and a ratio of exactly 1 gives exactly 0.
func (a ratio) excess() float64 {
	if a.num.cmp(a.den) < 0 {
		return -a.den.sub(a.num).float() / a.den.float()
	}
	return a.num.sub(a.den).float() / a.den.float()
}
