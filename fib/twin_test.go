package fib_test

import (
	"math"
	"math/big"
	"slices"
)

// The twins of Reduce: slow, obvious, and written from the definition alone.

// vectors calls f with every vector of n weights, each at least 1, of that
// total, the lexicographically greatest first.
func vectors(n, total int, f func([]int)) {
	w := make([]int, n)
	var place func(i, left int)
	place = func(i, left int) {
		if i == n-1 {
			w[i] = left
			f(w)
			return
		}
		for x := left - (n - 1 - i); x >= 1; x-- {
			w[i] = x
			place(i+1, left-x)
		}
	}
	if total >= n {
		place(0, total)
	}
}

// fraction is num/den for numbers small enough to cross-multiply in uint64.
type fraction struct{ num, den uint64 }

func (a fraction) less(b fraction) bool { return a.num*b.den < b.num*a.den }

func (a fraction) compare(b fraction) int {
	switch {
	case a.less(b):
		return -1
	case b.less(a):
		return 1
	}
	return 0
}

// errorsSmall is the larger of r and 1/r of each of up to 4 members, the worst
// first; 0 where there is no member.
func errorsSmall(weights []int, shares []uint64) [4]fraction {
	var total, sum uint64
	for i, w := range weights {
		total += uint64(w)
		sum += shares[i]
	}
	list := [4]fraction{{0, 1}, {0, 1}, {0, 1}, {0, 1}}
	for i, w := range weights {
		r := fraction{uint64(w) * sum, total * shares[i]}
		if r.num < r.den {
			r = fraction{r.den, r.num}
		}
		list[i] = r
		for j := i; j > 0 && list[j-1].less(list[j]); j-- {
			list[j-1], list[j] = list[j], list[j-1]
		}
	}
	return list
}

// worstSmall is the largest r or 1/r of small shares.
func worstSmall(weights []int, shares []uint64) fraction {
	var total, sum uint64
	for i, w := range weights {
		total += uint64(w)
		sum += shares[i]
	}
	worst := fraction{1, 1}
	for i, w := range weights {
		r := fraction{uint64(w) * sum, total * shares[i]}
		if worst.less(r) {
			worst = r
		}
		if r := (fraction{r.den, r.num}); worst.less(r) {
			worst = r
		}
	}
	return worst
}

// errorsExact is errorsSmall for shares of any size.
func errorsExact(weights []int, shares []uint64) []*big.Rat {
	total, sum := new(big.Int), new(big.Int)
	for i, w := range weights {
		total.Add(total, big.NewInt(int64(w)))
		sum.Add(sum, new(big.Int).SetUint64(shares[i]))
	}
	var list []*big.Rat
	for i, w := range weights {
		r := new(big.Rat).SetFrac(
			new(big.Int).Mul(big.NewInt(int64(w)), sum),
			new(big.Int).Mul(total, new(big.Int).SetUint64(shares[i])))
		if r.Cmp(big.NewRat(1, 1)) < 0 {
			r.Inv(r)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *big.Rat) int { return b.Cmp(a) })
	return list
}

// worstExcess is max(r, 1/r) - 1 in float64; zero weights on positive shares
// are infinite.
func worstExcess(weights []int, shares []uint64) float64 {
	var total, sum float64
	for i, w := range weights {
		total += float64(w)
		sum += float64(shares[i])
	}
	worst := 0.0
	for i, w := range weights {
		if shares[i] == 0 && w == 0 {
			continue
		}
		r := float64(w) / total * sum / float64(shares[i])
		worst = max(worst, r-1, 1/r-1)
	}
	return worst
}

// construction is the bound of minimax as Bound's comment states it, for
// shares above 0 that do not fit the width.
func construction(shares []uint64, width int) float64 {
	sorted := slices.Sorted(slices.Values(shares))
	sum := 0.0
	for _, s := range sorted {
		sum += float64(s)
	}
	whole, left := sum, float64(width)
	worst := 1.0
	for _, c := range sorted {
		c := float64(c)
		due := c / whole * float64(width)
		floor, ceiling := math.Floor(c*left/sum), math.Ceil(c*left/sum)
		if floor < 1 {
			floor, ceiling = 1, 1
			left--
			sum -= c
		}
		worst = max(worst, ceiling/due, due/floor)
	}
	n := float64(len(sorted))
	equal := max(whole/(n*float64(sorted[0])), n*float64(sorted[len(sorted)-1])/whole)
	return min(worst, equal) - 1
}

// bisected is the least error over all totals up to width, to about 1e-12,
// found by halving an interval of errors for each total.
func bisected(shares []uint64, width int) float64 {
	best := math.Inf(1)
	for total := len(shares); total <= width; total++ {
		low, high := 1.0, 1e6
		for range 60 {
			middle := (low + high) / 2
			if feasible(shares, total, middle) {
				high = middle
			} else {
				low = middle
			}
		}
		best = min(best, high-1)
	}
	return best
}

// feasible tells whether weights of that total exist with every r and 1/r at
// most bound.
func feasible(shares []uint64, total int, bound float64) bool {
	sum := 0.0
	for _, s := range shares {
		sum += float64(s)
	}
	low, high := 0.0, 0.0
	for _, s := range shares {
		q := float64(s) / sum * float64(total)
		l, h := max(1, math.Ceil(q/bound-1e-13)), math.Floor(q*bound+1e-13)
		if h < l {
			return false
		}
		low += l
		high += h
	}
	return low <= float64(total) && float64(total) <= high
}
