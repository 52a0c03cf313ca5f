package fib

import (
	"math"
	"slices"
)

// FBOSS's three ways to fit a group into its width (facebook/fboss
// fboss/agent/state/RouteNextHopEntry.cpp, normalizedNextHops), with its
// float64 arithmetic, so that its ties fall as they do there. Its input is
// integers that BGP++ has divided by their common divisor.

const (
	// fbossMaxError is the flag ucmp_max_error: the largest overload with
	// which the optimized way is content.
	fbossMaxError = 0.05

	// fbossWideFrom is kMinSizeForWideEcmp: larger groups are filled up.
	fbossWideFrom = 128
)

// whole is the sum of shares as float64, exact up to 2^53 as there.
func whole(shares []uint64) float64 {
	var sum u128
	for _, s := range shares {
		sum = sum.add(s)
	}
	return sum.float()
}

// integers returns shares that fit the width as weights.
func integers(shares []uint64, width int) ([]int, bool) {
	if whole(shares) > float64(width) {
		return nil, false
	}
	weights := make([]int, len(shares))
	for i, s := range shares {
		weights[i] = int(s)
	}
	return weights, true
}

func fbossDefault(_ *demand, shares []uint64, width int) []int {
	if weights, ok := integers(shares, width); ok {
		return weights
	}
	factor, sum := float64(width)/whole(shares), 0
	weights := make([]int, len(shares))
	for i, s := range shares {
		weights[i] = max(int(float64(s)*factor), 1)
		sum += weights[i]
	}
	for ; sum > width; sum-- {
		weights[slices.Index(weights, slices.Max(weights))]--
	}
	return weights
}

// overloaded returns the member with the most traffic above its due, the last
// of equals, and how much above it is.
func overloaded(weights []int, sum int, due []float64) (at int, most float64) {
	for i, w := range weights {
		if e := (float64(w)/float64(sum) - due[i]) / due[i]; e >= most {
			at, most = i, e
		}
	}
	return at, most
}

func fbossOptimized(_ *demand, shares []uint64, width int) []int {
	if weights, ok := integers(shares, width); ok {
		return weights
	}
	all := whole(shares)
	factor, sum := float64(width)/all, 0
	weights, due := make([]int, len(shares)), make([]float64, len(shares))
	for i, s := range shares {
		due[i] = float64(s) / all
		weights[i] = int(math.Ceil(float64(s) * factor))
		sum += weights[i]
	}
	for ; sum > width; sum-- {
		at, _ := overloaded(weights, sum, due)
		weights[at]--
	}
	at, e := overloaded(weights, sum, due)
	best, least := slices.Clone(weights), e
	for sum > 1 && least > fbossMaxError && weights[at] > 0 {
		weights[at]--
		sum--
		if at, e = overloaded(weights, sum, due); e <= least {
			copy(best, weights)
			least = e
		}
	}
	return best
}

func fbossWide(d *demand, shares []uint64, width int) []int {
	weights := fbossDefault(d, shares, width)
	if sum := sumOf(weights); sum > fbossWideFrom && sum < width {
		return fillTo(weights, width)
	}
	return weights
}

// fillTo scales weights up to exactly that sum: rounded down, and what is
// missing goes, 1 each, to the heaviest weights that hold enough members; of
// those the heaviest go without where not all are needed
// (normalizeNextHopWeightsToMaxPaths).
func fillTo(weights []int, sum int) []int {
	factor := float64(sum) / float64(sumOf(weights))
	scaled, missing := make([]int, len(weights)), sum
	count := map[int]int{}
	for i, w := range weights {
		scaled[i] = max(int(float64(w)*factor), 1)
		count[scaled[i]]++
		missing -= scaled[i]
	}
	heaviest := slices.Sorted(slices.Values(scaled))
	slices.Reverse(heaviest)
	heaviest = slices.Compact(heaviest)
	extra, handed := map[int]int{}, 0
	for _, w := range heaviest {
		if handed >= missing {
			break
		}
		extra[w] = count[w]
		handed += count[w]
	}
	for _, w := range heaviest {
		without := min(handed-missing, extra[w])
		extra[w] -= without
		handed -= without
	}
	for i, w := range scaled {
		if extra[w] > 0 {
			extra[w]--
			scaled[i]++
		}
	}
	return scaled
}

// fillReduction is the reduction with weights filled to exactly that sum, as
// a chip that pads its groups needs it.
func fillReduction(shares []uint64, weights []int, sum int) Reduction {
	var at, positive []int
	for i, w := range weights {
		if w > 0 {
			at, positive = append(at, i), append(positive, w)
		}
	}
	red := Reduction{Weights: make([]int, len(shares))}
	for k, w := range fillTo(positive, sum) {
		red.Weights[at[k]] = w
	}
	var buf buffers
	d := newDemand(shares, len(shares), &buf)
	d.judge(&red)
	return red
}
