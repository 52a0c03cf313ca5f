package fib

import (
	"math"
	"math/bits"
)

// margin separates certain from uncertain comparisons in float64. The chains
// of operations here round at most a dozen times, 2^-53 each, so a relative
// distance beyond it is certain; anything closer is decided on integers.
const margin = 1e-12

// minimax fills weights with the vector of the least error.
//
// Shares that already fit, divided by their common divisor, are the answer:
// error 0, and no smaller total is proportional. Else every total is tried.
// Totals run downwards because larger ones are usually better, which makes
// the float64 sieve cut early; a total that ties replaces a larger one.
func (d *demand) minimax(weights []int, width int, buf *buffers) {
	divisor := d.divisor()
	if d.fits(divisor, width) {
		d.eachKept(func(i, _ int) { weights[i] = int(d.share(i) / divisor) })
		return
	}
	s := newSteps(d, buf)
	bestTotal, best := width, s.best(d, width)
	for total := width - 1; total >= d.kept; total-- {
		if !s.mayReach(d, total, best) {
			continue
		}
		if e := s.best(d, total); e.atMost(best) {
			bestTotal, best = total, e
		}
	}
	s.fill(d, weights, bestTotal)
}

// reduceTo is the best vector for shares whose weights sum to exactly total;
// false if total is out of range.
func reduceTo(shares []uint64, total int) (Reduction, bool) {
	if len(shares) == 0 || total < 1 || total > MaxWidth {
		return Reduction{}, false
	}
	var buf buffers
	d := newDemand(shares, total, &buf)
	s := newSteps(&d, &buf)
	red := Reduction{Weights: make([]int, len(shares))}
	s.fill(&d, red.Weights, total)
	d.judge(&red)
	return red, true
}

// divisor returns the greatest common divisor of the kept shares.
func (d *demand) divisor() uint64 {
	var g uint64
	for _, v := range d.values {
		for v != 0 {
			g, v = v, g%v
		}
		if g == 1 {
			break
		}
	}
	return g
}

// steps is minimax's scratch space, one slot per distinct share.
type steps struct {
	part []float64 // share / sum of shares
	at   []int32   // weight reached for the total in hand
	heap []int32   // slots, the cheapest next step first
	last ratio     // what the dearest step of best cost
}

func newSteps(d *demand, buf *buffers) steps {
	s := steps{
		part: buf.part[:0],
		at:   append(buf.at[:0], d.counts...),
		heap: append(buf.heap[:0], d.counts...),
	}
	sum := d.sum.float()
	for _, v := range d.values {
		s.part = append(s.part, float64(v)/sum)
	}
	return s
}

// mayReach is the sieve: false only if no vector of that total has a worst
// ratio of at most e. With q = share/sum * total, such a vector has every
// weight between q/e and q*e, so each member needs an integer there and the
// sums of the lowest and highest ones must enclose the total. Both ends are
// widened by the margin. Small shares come first: integers near them are the
// coarsest, so they fail soonest.
func (s *steps) mayReach(d *demand, total int, e ratio) bool {
	t, bound := float64(total), e.num.float()/e.den.float()*(1+margin)
	lowest, highest := t/bound, t*bound
	low, high := 0, 0
	for i, part := range s.part {
		h := part * highest
		if h > t {
			h = t
		}
		// The integer after q/e shortened is at most the first at or above q/e.
		l, hi := int(part*lowest)+1, int(h)
		if hi < l {
			return false
		}
		low += int(d.counts[i]) * l
		high += int(d.counts[i]) * hi
	}
	return low <= total && total <= high
}

// best returns the least worst ratio of any vector of that total.
//
// Every member starts at the weight nearest to its share in ratio. Then the
// cheapest steps are taken, all up or all down, until the weights sum to the
// total. Steps of one member only get dearer, and any vector of that total
// takes at least as many, so its dearest costs at least the dearest here.
func (s *steps) best(d *demand, total int) ratio {
	sum, worst := s.nearest(d, total)
	up := sum < total
	missing := sum - total
	if up {
		missing = -missing
	}
	if missing == 0 {
		return worst
	}
	s.heapify(d, up)
	for missing > 0 {
		value := s.heap[0]
		s.last = s.next(d, value, total, up)
		s.step(d, value, up)
		missing -= int(d.counts[value])
		s.sink(d, 0, up)
	}
	return larger(worst, s.last)
}

// nearest sets every weight to the one nearest to its share in ratio, at
// least 1, and returns their sum and the worst ratio.
func (s *steps) nearest(d *demand, total int) (sum int, worst ratio) {
	over, under := 0, 0
	for i, part := range s.part {
		w := d.nearest(part*float64(total), d.values[i], total)
		s.at[i] = int32(w)
		sum += w * int(d.counts[i])
		// w/c against w/c of the worst so far, cross-multiplied.
		if less(uint64(s.at[over]), d.values[over], uint64(w), d.values[i]) {
			over = i
		}
		if less(uint64(w), d.values[i], uint64(s.at[under]), d.values[under]) {
			under = i
		}
	}
	return sum, larger(d.over(int(s.at[over]), d.values[over], total), d.under(int(s.at[under]), d.values[under], total))
}

// nearest returns the weight w, at least 1, that has the least max(w/q, q/w)
// for q = share/sum * total, given q in float64: w while q*q <= w*(w+1).
func (d *demand) nearest(q float64, share uint64, total int) int {
	w := int(q)
	edge := float64(w) * float64(w+1)
	switch square := q * q; {
	case w == 0:
		return 1
	case square < edge*(1-margin):
		return w
	case square > edge*(1+margin):
		return w + 1
	}
	wanted := mul64(share, uint64(total))
	if wanted.mul(wanted).cmp(d.sum.times(uint64(w)).mul(d.sum.times(uint64(w+1)))) <= 0 {
		return w
	}
	return w + 1
}

// less tells whether a/b < c/d.
func less(a, b, c, d uint64) bool {
	hi1, lo1 := bits.Mul64(a, d)
	hi2, lo2 := bits.Mul64(c, b)
	return hi1 < hi2 || hi1 == hi2 && lo1 < lo2
}

// cheaper tells whether the next step of value a costs less than that of
// value b: upwards (w+1)/c, downwards c/(w-1), which no member can take from
// 1 (division by 0 is the greatest cost here, and equal to itself).
func (s *steps) cheaper(d *demand, a, b int32, up bool) bool {
	if up {
		return less(uint64(s.at[a]+1), d.values[a], uint64(s.at[b]+1), d.values[b])
	}
	return less(d.values[a], uint64(s.at[a]-1), d.values[b], uint64(s.at[b]-1))
}

func (s *steps) heapify(d *demand, up bool) {
	for i := range s.heap {
		s.heap[i] = int32(i)
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(d, i, up)
	}
}

func (s *steps) sink(d *demand, i int, up bool) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if next := child + 1; next < len(s.heap) && s.cheaper(d, s.heap[next], s.heap[child], up) {
			child = next
		}
		if !s.cheaper(d, s.heap[child], s.heap[i], up) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}

// fill sets the weights of that total of which the worst ratio is least, then
// the second worst, and so on.
//
// It takes the same steps as best, and stops short of the dearest. Any other
// vector of that total that has one of the cheaper steps less has a dearer one
// more, which is worse. Of the steps that cost as much as the dearest, as many
// are taken as the sum needs: of the members that are worst off without it
// first, since the others stay where they are. What is left is alike: the
// earlier member has the larger weight.
func (s *steps) fill(d *demand, weights []int, total int) {
	dearest := s.best(d, total)
	sum, _ := s.nearest(d, total)
	if sum != total {
		dearest = s.last
	}
	up := sum < total
	dear := s.heap
	for i := range dear {
		value := int32(i)
		for sum != total && s.next(d, value, total, up).below(dearest) {
			sum += s.step(d, value, up)
		}
		dear[i] = 0
		if sum != total && s.next(d, value, total, up).same(dearest) {
			dear[i] = 1
		}
	}
	d.eachKept(func(i, value int) { weights[i] = int(s.at[value]) })
	for sum != total {
		worst := ratio{u128{0, 0}, u128{0, 1}}
		for i := range dear {
			if dear[i] == 1 {
				worst = larger(worst, s.now(d, int32(i), total))
			}
		}
		sum += s.hand(d, weights, worst, total, total-sum)
	}
}

// hand gives a step of 1 up or down to the members that stand at that ratio
// and may take it, at most as many as missing has, and returns their sum.
func (s *steps) hand(d *demand, weights []int, at ratio, total, missing int) int {
	const may, takes = 1, 2
	members := 0
	for i, state := range s.heap {
		if state == may && s.now(d, int32(i), total).same(at) {
			s.heap[i] = takes
			members += int(d.counts[i])
		}
	}
	step, skip := 1, 0
	if missing < 0 {
		step, skip = -1, max(0, members+missing)
	}
	sum := 0
	d.eachKept(func(i, value int) {
		if sum == missing || s.heap[value] != takes {
			return
		}
		if skip > 0 {
			skip--
			return
		}
		sum += step
		weights[i] += step
	})
	for i, state := range s.heap {
		if state == takes {
			s.heap[i] = 0
		}
	}
	return sum
}

// step moves all members of a value by 1 and returns what the sum changes by.
func (s *steps) step(d *demand, value int32, up bool) int {
	if up {
		s.at[value]++
		return int(d.counts[value])
	}
	s.at[value]--
	return -int(d.counts[value])
}

// next is the ratio of a member of that value after its next step: r upwards,
// 1/r downwards. A step down from 1 has no end: the largest ratio there is.
func (s *steps) next(d *demand, value int32, total int, up bool) ratio {
	switch w := int(s.at[value]); {
	case up:
		return d.over(w+1, d.values[value], total)
	case w == 1:
		return ratio{u128{math.MaxUint64, math.MaxUint64}, u128{0, 1}}
	default:
		return d.under(w-1, d.values[value], total)
	}
}

// now is the worse of r and 1/r of a member of that value.
func (s *steps) now(d *demand, value int32, total int) ratio {
	return larger(d.over(int(s.at[value]), d.values[value], total), d.under(int(s.at[value]), d.values[value], total))
}
