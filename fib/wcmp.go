package fib

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrDoesNotFit is returned where not even one entry per member fits.
var ErrDoesNotFit = errors.New("does not fit")

// wcmpTheta is the overload that Algorithm WCMP allows (the default of
// FabricEval, localTE/group_reduction.py).
const wcmpTheta = 1.2

// ReduceWCMP is Algorithm 1 of Zhou et al. (EuroSys 2014): from weight 1 each,
// the member whose next step overloads least is raised until no member carries
// more than theta times its due. Overload is all that it bounds: with theta
// 1.1 the shares 8 x7 and 7 become 2 x7 and 1, and the last carries 47 % too
// little. Shares are divided by their greatest common divisor first; where the
// weights would sum to theirs, they are the answer. Shares of 0 get weight 0.
//
// It fails for no shares, more positive ones than limit, theta below 1, or a
// limit outside 1 to MaxWidth; and with ErrDoesNotFit where theta needs a sum
// above limit.
func ReduceWCMP(shares []uint64, theta float64, limit int) (Reduction, error) {
	if !(theta >= 1) {
		return Reduction{}, fmt.Errorf("reduce with %s: theta %v: want 1 or more", WCMP, theta)
	}
	return reduceWith(WCMP, shares, limit, func(d *demand, shares []uint64, width int) ([]int, bool) {
		return d.wcmpUntil(shares, theta, width)
	})
}

// reduceWith runs f on the positive shares, divided by their common divisor.
func reduceWith(alg Algorithm, shares []uint64, limit int, f func(*demand, []uint64, int) ([]int, bool)) (Reduction, error) {
	if len(shares) == 0 {
		return Reduction{}, fmt.Errorf("reduce with %s: %w", alg, ErrNoShares)
	}
	if limit < 1 || limit > MaxWidth {
		return Reduction{}, fmt.Errorf("reduce with %s: %w: %d: want 1 to %d", alg, ErrWidth, limit, MaxWidth)
	}
	var buf buffers
	d := newDemand(shares, limit, &buf)
	if d.dropped > 0 {
		return Reduction{}, fmt.Errorf("reduce with %s: %d members in %d entries: %w", alg, d.kept+d.dropped, limit, ErrDoesNotFit)
	}
	red := Reduction{Weights: make([]int, len(shares))}
	ok := true
	d.weigh(red.Weights, limit, func(d *demand, shares []uint64, width int) []int {
		var weights []int
		weights, ok = f(d, shares, width)
		return weights
	})
	if !ok {
		return Reduction{}, fmt.Errorf("reduce with %s: in %d entries: %w", alg, limit, ErrDoesNotFit)
	}
	d.judge(&red)
	return red, nil
}

func wcmp(d *demand, shares []uint64, width int) []int {
	if weights, ok := d.wcmpUntil(shares, wcmpTheta, width); ok {
		return weights
	}
	return wcmpFit(d, shares, width)
}

// wcmpUntil is Algorithm 1; false, with weights of the largest sum, if theta
// needs more than width.
func (d *demand) wcmpUntil(shares []uint64, theta float64, width int) ([]int, bool) {
	weights := slices.Repeat([]int{1}, len(shares))
	for sum := len(shares); d.overload(shares, weights, sum) > theta; {
		if sum == width {
			return weights, false
		}
		weights[cheapest(shares, weights)]++
		sum++
		if exact, ok := integers(shares, sum); ok {
			return exact, true
		}
	}
	return weights, true
}

// overload is the largest r of any member.
func (d *demand) overload(shares []uint64, weights []int, sum int) float64 {
	worst := 0
	for i, w := range weights {
		if less(uint64(weights[worst]), shares[worst], uint64(w), shares[i]) {
			worst = i
		}
	}
	return 1 + d.over(weights[worst], shares[worst], sum).excess()
}

// cheapest is the first member whose next step overloads least.
func cheapest(shares []uint64, weights []int) int {
	at := 0
	for i, w := range weights {
		if less(uint64(w+1), shares[i], uint64(weights[at]+1), shares[at]) {
			at = i
		}
	}
	return at
}

// wcmpFit scales the shares to what members of weight 1 leave of the width,
// until they fit, then hands out what is left by least overload, and keeps the
// best seen on the way.
func wcmpFit(d *demand, shares []uint64, width int) []int {
	if weights, ok := integers(shares, width); ok {
		return weights
	}
	whole, ones, weights := d.sum.float(), 0, slices.Repeat([]int{2}, len(shares))
	for i, s := range shares {
		if s == 1 {
			weights[i] = 1
			ones++
		}
	}
	for sum := math.MaxInt; sum > width && ones < len(shares); {
		scale := float64(width-ones) / whole
		sum, ones = 0, 0
		for i, s := range shares {
			weights[i] = max(int(float64(s)*scale), 1)
			sum += weights[i]
			if weights[i] == 1 {
				ones++
			}
		}
	}
	sum := sumOf(weights)
	best, least := slices.Clone(weights), d.overload(shares, weights, sum)
	for sum < width {
		weights[cheapest(shares, weights)]++
		sum++
		if e := d.overload(shares, weights, sum); e < least {
			copy(best, weights)
			least = e
		}
	}
	return best
}

// wcmpStep is by how much FitGroups relaxes theta at a time.
const wcmpStep = 0.05

// FitGroups fits several groups into a table of size entries together
// (Algorithm 4 of the same paper): from theta 1 in steps of 0.05 (from 10 on it
// doubles), Algorithm 1 reduces them, largest sum first, until the total fits.
// It returns the reductions in the order of groups, and the theta that the
// last reduced group got. It fails as ReduceWCMP does, and with ErrDoesNotFit
// where even weights of 1 are too many.
func FitGroups(groups [][]uint64, size int) ([]Reduction, float64, error) {
	f := fitting{size: min(size, MaxWidth), groups: groups}
	for i := range groups {
		if err := f.start(i); err != nil {
			return nil, 0, fmt.Errorf("group %d: %w", i, err)
		}
	}
	if f.size < 1 || f.members > f.size {
		return nil, 0, fmt.Errorf("%d members in %d entries: %w", f.members, size, ErrDoesNotFit)
	}
	slices.SortStableFunc(f.order, func(a, b int) int { return cmp.Compare(f.whole[b], f.whole[a]) })
	theta := 1.0
	for step := 1; f.used > f.size; step++ {
		if theta = 1 + float64(wcmpStep*float64(step)); theta > 10 {
			theta = math.Ldexp(10, step-180)
		}
		f.reduce(theta)
	}
	return f.fitted, theta, nil
}

// fitting is the state of FitGroups; slices are by group.
type fitting struct {
	size    int
	groups  [][]uint64
	fitted  []Reduction
	sums    []int     // of the weights of fitted; size+1 before there are any
	whole   []float64 // sum of the shares divided by their divisor
	order   []int
	used    int
	members int
}

// start takes the shares of group i as they are, where they fit.
func (f *fitting) start(i int) error {
	exact, err := Reduce(Equal, f.groups[i], MaxWidth)
	if err != nil {
		return err
	}
	f.members += sumOf(exact.Weights)
	var buf buffers
	d := newDemand(f.groups[i], MaxWidth, &buf)
	divisor, sum := d.divisor(), f.size+1
	if f.size > 0 && d.fits(divisor, f.size) {
		if exact, err = Reduce(Minimax, f.groups[i], f.size); err != nil {
			return err
		}
		sum = sumOf(exact.Weights)
	}
	f.fitted, f.sums = append(f.fitted, exact), append(f.sums, sum)
	f.whole, f.order = append(f.whole, d.sum.float()/float64(divisor)), append(f.order, i)
	f.used += sum
	return nil
}

// reduce goes once through all groups, until they fit. A group that theta
// does not get into the table at all waits for a looser one.
func (f *fitting) reduce(theta float64) {
	for _, i := range f.order {
		if f.used <= f.size {
			return
		}
		red, err := ReduceWCMP(f.groups[i], theta, f.size)
		if err != nil {
			continue
		}
		f.used += sumOf(red.Weights) - f.sums[i]
		f.fitted[i], f.sums[i] = red, sumOf(red.Weights)
	}
}
