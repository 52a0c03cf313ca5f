package fib

import (
	"math/bits"
	"slices"
)

// The weights that routing daemons and their platforms give. What they hand
// down may be wider than a chip takes; then the chip's agent scales it, which
// is done here as FBOSS's default does.

// proportion is share*scale/whole rounded down, at least 1; share is at most
// whole.
func proportion(share, scale, whole uint64) int {
	hi, lo := bits.Mul64(share, scale)
	q, _ := bits.Div64(hi, lo, whole)
	return int(max(q, 1))
}

func sumTo(scale int) func(d *demand, shares []uint64, width int) []int {
	return func(d *demand, shares []uint64, width int) []int {
		weights := make([]int, len(shares))
		for i, s := range shares {
			weights[i], _ = divide(s, uint64(scale), d.sum)
			weights[i] = max(weights[i], 1)
		}
		return squeeze(weights, width)
	}
}

func percent(d *demand, shares []uint64, width int) []int {
	return sumTo(100)(d, shares, width)
}

func percentOf32(d *demand, shares []uint64, width int) []int {
	// Fewer entries than members cannot be: then one each.
	return percent(d, shares, min(width, max(32, len(shares))))
}

func largestIs(scale uint64) func(d *demand, shares []uint64, width int) []int {
	return func(_ *demand, shares []uint64, width int) []int {
		largest := slices.Max(shares)
		weights := make([]int, len(shares))
		for i, s := range shares {
			weights[i] = proportion(s, scale, largest)
		}
		common := commonDivisor(weights)
		for i := range weights {
			weights[i] /= common
		}
		return squeeze(weights, width)
	}
}

// squeeze scales weights that sum to more than the width down to it.
func squeeze(weights []int, width int) []int {
	if sumOf(weights) <= width {
		return weights
	}
	wide := make([]uint64, len(weights))
	for i, w := range weights {
		wide[i] = uint64(w)
	}
	return fbossDefault(nil, wide, width)
}

// largestRemainder is the construction that bounds Minimax: members whose part
// of what is left is below 1 get 1, smallest first; the others get theirs
// rounded down, and the largest remainders, the earlier first, 1 more.
func largestRemainder(d *demand, shares []uint64, width int) []int {
	weights := make([]int, len(shares))
	if d.fits(1, width) {
		for i, s := range shares {
			weights[i] = int(s)
		}
		return weights
	}
	least, left, sum := uint64(0), uint64(width), d.sum
	for i, c := range d.values {
		if mul64(c, left).cmp(sum) >= 0 {
			least = c
			break
		}
		left -= uint64(d.counts[i])
		sum = sum.sub(mul64(c, uint64(d.counts[i])))
	}
	total := 0
	var order []int
	for i, s := range shares {
		weights[i] = 1
		if s >= least {
			weights[i], _ = divide(s, left, sum)
			order = append(order, i)
		}
		total += weights[i]
	}
	remainder := func(i int) u128 {
		return mul64(shares[i], left).sub(sum.times(uint64(weights[i])))
	}
	slices.SortStableFunc(order, func(a, b int) int { return remainder(b).cmp(remainder(a)) })
	for _, i := range order[:width-total] {
		weights[i]++
	}
	return weights
}
