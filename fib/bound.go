package fib

import "math"

// Bound returns an error that Reduce does not exceed for that algorithm on
// those shares, from a formula and without reducing. +Inf means that there
// is no guarantee: more positive shares than width, so that one is dropped,
// or an input that Reduce refuses.
//
// Equal: the exact error. Every r is (1/n)/(c/C), so the smallest share gives
// the largest r and the largest share the largest 1/r.
//
// Minimax: the error of a vector that is shown to exist; minimax has the
// least error of all, so its error is at most that. Let c be the shares, C
// their sum, W the width, n <= W their number.
//
//   - Where the shares divided by their greatest common divisor sum to at most
//     W, they are such a vector, of error 0.
//   - Else, as long as the smallest share left has c*W'/C' < 1, give it weight
//     1 and take it out: W' falls by 1 and C' by c. That lowers W'/C', so no
//     larger share has to be looked at before it. Not all can go: the q =
//     c*W'/C' of those left sum to W', which is at least their number, so the
//     largest q is at least 1. Those left have q >= 1. Their floors sum to at
//     most W' and their ceilings to at least W', so some choice of floor or
//     ceiling for each sums to W' exactly, with every weight at least 1, and
//     the whole vector to W. Its error is at most the largest, over those taken
//     out, of max(r, 1/r) - 1 at weight 1, and over those left, of r - 1 at
//     the ceiling and 1/r - 1 at the floor.
//   - The vector of ones, of total n, has the exact error of Equal.
//
// The least of these is returned, a part in 10^12 larger, so that Error <=
// Bound holds after rounding to float64 too. In particular, with q the
// smallest c*W/C and q >= 1, no minimax error exceeds 1/floor(q).
//
// LargestRemainder: where the shares fit, 0; else the construction above,
// which is what it does.
//
// FBOSSDefault, FBOSSOptimized, FBOSSWide up to 128 and WCMPFit leave shares
// that fit as they are: 0. Beyond that FBOSSOptimized may drop members and has
// no bound.
//
// FBOSSDefault, SONiC, SONiC512, FRR8, FRR10, FRR10Wide and Cumulus round q =
// c*S/C down, with S the width, 255, 512, 100, or what makes the largest 254 or
// 65,535. Where S is at most W and no q is below 1, r <= S/sum(floor(q)) and
// 1/r <= q/floor(q).
//
// All the others, and those where that does not hold, give every kept member
// at least weight 1 of a total of at most W, from which follows only r <=
// (1 - (n-1)/W) * C/c_min and 1/r <= W * c_max/C.
func Bound(alg Algorithm, shares []uint64, width int) float64 {
	if alg.Validate() != nil || len(shares) == 0 || width < 1 || width > MaxWidth {
		return math.Inf(1)
	}
	if alg == Minimax && len(shares) <= width && allEqual(shares) {
		return 0 // ones are such a vector
	}
	var buf buffers
	d := newDemand(shares, width, &buf)
	if d.dropped > 0 {
		return math.Inf(1)
	}
	switch alg {
	case Equal:
		return d.equalWorst().excess()
	case Minimax:
		return d.minimaxBound(width)
	case LargestRemainder:
		return d.remainderBound(width)
	}
	exact := alg == FBOSSDefault || alg == FBOSSOptimized || alg == WCMPFit || alg == FBOSSWide
	room := width
	if alg == FBOSSWide {
		room = min(width, fbossWideFrom)
	}
	if exact && d.fits(d.divisor(), room) {
		return 0
	}
	if alg == FBOSSOptimized {
		return math.Inf(1)
	}
	return min(d.leastWeightBound(width), d.floorBound(d.scaleOf(alg, width), width))
}

func allEqual(shares []uint64) bool {
	for _, s := range shares {
		if s != shares[0] {
			return false
		}
	}
	return true
}

func (d *demand) minimaxBound(width int) float64 {
	if d.fits(d.divisor(), width) {
		return 0
	}
	built, equal := d.roundedWorst(width), d.equalWorst()
	if equal.atMost(built) {
		built = equal
	}
	return built.excess() * (1 + margin)
}

func (d *demand) remainderBound(width int) float64 {
	if d.fits(d.divisor(), width) {
		return 0
	}
	return d.roundedWorst(width).excess() * (1 + margin)
}

// scaleOf is what the weights of the algorithms that round down would sum to
// without rounding; more than width for the others.
func (d *demand) scaleOf(alg Algorithm, width int) float64 {
	part := float64(d.values[len(d.values)-1]) / d.sum.float()
	switch alg {
	case FBOSSDefault:
		return float64(width)
	case SONiC:
		return 255
	case SONiC512:
		return 512
	case FRR8, Cumulus:
		return 100
	case FRR10:
		return 254 / part
	case FRR10Wide:
		return 65535 / part
	}
	return math.Inf(1)
}

// floorBound is the bound of rounding down at that scale; +Inf where a weight
// would be below 1 or the sum above the width. A part that is whole but for
// the rounding of float64 counts as the whole number below.
func (d *demand) floorBound(scale float64, width int) float64 {
	if scale > float64(width) {
		return math.Inf(1)
	}
	sum, worst := 0.0, 1.0
	for i, v := range d.values {
		q := float64(v) / d.sum.float() * scale
		low := math.Floor(q * (1 - 1e-9))
		if low < 1 {
			return math.Inf(1)
		}
		sum += float64(low * float64(d.counts[i]))
		worst = max(worst, q/low)
	}
	return (max(worst, scale/sum) - 1) * (1 + margin)
}

// leastWeightBound holds for any vector of that width without a weight of 0.
func (d *demand) leastWeightBound(width int) float64 {
	if d.kept == 1 {
		return 0
	}
	sum := d.sum.float()
	over := sum / float64(d.values[0]) * (1 - float64(d.kept-1)/float64(width))
	under := float64(width) * float64(d.values[len(d.values)-1]) / sum
	return float64((max(over, under, 1)-1)*(1+margin)) + margin
}

// fits tells whether the shares divided by divisor sum to at most width.
func (d *demand) fits(divisor uint64, width int) bool {
	return d.sum.cmp(mul64(divisor, uint64(width))) <= 0
}

// roundedWorst is the largest ratio in the construction of Bound.
func (d *demand) roundedWorst(width int) ratio {
	worst := ratio{u128{0, 1}, u128{0, 1}}
	left, sum := uint64(width), d.sum
	for i, c := range d.values {
		if n := uint64(d.counts[i]); mul64(c, left).cmp(sum) < 0 {
			worst = larger(worst, larger(d.over(1, c, width), d.under(1, c, width)))
			left -= n
			sum = sum.sub(mul64(c, n))
			continue
		}
		floor, exact := divide(c, left, sum)
		ceiling := floor
		if !exact {
			ceiling++
		}
		worst = larger(worst, larger(d.over(ceiling, c, width), d.under(floor, c, width)))
	}
	return worst
}

// divide returns a*b/c rounded down, and whether nothing was cut off. The
// quotient is far below 2^53.
func divide(a, b uint64, c u128) (quotient int, exact bool) {
	wanted := mul64(a, b)
	q := uint64(wanted.float() / c.float())
	for c.times(q).cmp(wanted) > 0 {
		q--
	}
	for c.times(q+1).cmp(wanted) <= 0 {
		q++
	}
	return int(q), c.times(q) == wanted
}
