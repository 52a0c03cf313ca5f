package fib

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxWidth is the largest width that Reduce takes. No chip comes near it; it
// keeps every product of the exact arithmetic inside 256 bits.
const MaxWidth = 1 << 20

var (
	// ErrUnknownAlgorithm is returned for a name that Algorithms does not list.
	ErrUnknownAlgorithm = errors.New("unknown algorithm")

	// ErrNoShares is returned when there is nothing to reduce.
	ErrNoShares = errors.New("no shares")

	// ErrWidth is returned for a width outside 1 to MaxWidth.
	ErrWidth = errors.New("width out of range")
)

// Reduction is a weight vector and what it costs in precision.
type Reduction struct {
	// Weights has one weight per share, in the order of the shares; 0 means
	// that it has no member. The sum is at least 1 and at most the width.
	Weights []int

	// Error is the largest over all positive shares c_i of max(r, 1/r) - 1
	// with r = (w_i/W)/(c_i/C): 0.25 means that some member carries 25 % too
	// much, or 1/1.25 = 80 % of what it should. +Inf if one was dropped.
	Error float64

	// Dropped holds the indexes, ascending, of positive shares with weight 0.
	Dropped []int
}

// Reduce turns shares into integer weights whose sum is at most width.
//
// Shares are compared exactly as they are given: two that differ by the
// rounding of a float32 are two shares. Where shares without that noise fit
// the width (divided by their greatest common divisor they sum to at most it),
// Minimax still finds their vector: any other within a width of 2,048 is off
// by 1/2048^2 somewhere, four float32 roundings. Where they do not fit, noise
// can decide between vectors that are otherwise equally good, and so keep
// prefixes from sharing a group; the caller normalises. A share of 0 gets
// weight 0 and is not dropped. If all are 0, all count as equal. If more are
// positive than width, the largest are kept (among equals the earlier), the
// rest is dropped, and the weights are the best for the shares kept.
//
// It fails for an unknown algorithm, no shares, or a width outside 1 to
// MaxWidth; it never panics and keeps no reference to shares. Minimax takes
// time in proportion to width times distinct shares at worst, and it and Equal
// allocate only the result up to 2,048 shares. An algorithm that reproduces a
// daemon or an agent may drop positive shares that have room (see its Doc).
func Reduce(alg Algorithm, shares []uint64, width int) (Reduction, error) {
	if err := alg.Validate(); err != nil {
		return Reduction{}, err
	}
	if len(shares) == 0 {
		return Reduction{}, fmt.Errorf("reduce with %s: %w", alg, ErrNoShares)
	}
	if width < 1 || width > MaxWidth {
		return Reduction{}, fmt.Errorf("reduce with %s: %w: %d: want 1 to %d", alg, ErrWidth, width, MaxWidth)
	}
	var buf buffers
	d := newDemand(shares, width, &buf)
	red := Reduction{Weights: make([]int, len(shares))}
	switch alg {
	case Equal:
		d.eachKept(func(i, _ int) { red.Weights[i] = 1 })
	case Minimax:
		d.minimax(red.Weights, width, &buf)
	default:
		return reduceBy(alg, shares, width), nil
	}
	d.judge(&red)
	return red, nil
}

// reduceBy is Reduce for the algorithms that may allocate.
func reduceBy(alg Algorithm, shares []uint64, width int) Reduction {
	d := newDemand(shares, width, new(buffers))
	red := Reduction{Weights: make([]int, len(shares))}
	d.weigh(red.Weights, width, catalogue[alg.index()].weigh)
	d.judge(&red)
	return red
}

// judge fills in what the weights of red cost.
func (d *demand) judge(red *Reduction) {
	red.Error = d.worst(red.Weights).excess()
	red.Dropped = d.droppedIndexes(red.Weights)
	if len(red.Dropped) > 0 {
		red.Error = math.Inf(1)
	}
}

// worst returns the largest r or 1/r of the members that have a weight.
func (d *demand) worst(weights []int) ratio {
	total, over, under := 0, -1, -1
	for i, w := range weights {
		total += w
		if w == 0 {
			continue
		}
		// w/c against w/c of the worst so far, cross-multiplied.
		if over < 0 || less(uint64(weights[over]), d.share(over), uint64(w), d.share(i)) {
			over = i
		}
		if under < 0 || less(uint64(w), d.share(i), uint64(weights[under]), d.share(under)) {
			under = i
		}
	}
	return larger(d.over(weights[over], d.share(over), total), d.under(weights[under], d.share(under), total))
}

// demand is the question put to an algorithm: the shares that get a member,
// as distinct values with counts. Real vectors have few distinct values (one
// degraded bundle among many healthy ones), and equal shares are
// interchangeable for the error.
type demand struct {
	shares  []uint64 // as given
	level   bool     // all shares are 0: each counts as 1
	values  []uint64 // distinct shares kept, ascending
	counts  []int32  // how many members have each value
	kept    int      // members in all
	dropped int
	cut     uint64 // the smallest share kept
	cutKept int    // how many shares equal to cut are kept, the earliest
	sum     u128   // of the shares kept
}

// onStack is the number of shares up to which Reduce allocates nothing but
// its result: the widest group of any profile.
const onStack = 2048

// buffers is the scratch space of one Reduce, held on the stack.
type buffers struct {
	values [onStack]uint64
	counts [onStack]int32
	part   [onStack]float64
	at     [onStack]int32
	heap   [onStack]int32
}

func newDemand(shares []uint64, width int, buf *buffers) demand {
	d := demand{shares: shares}
	d.values = append(buf.values[:0], shares...)
	slices.Sort(d.values)
	if d.level = d.values[len(d.values)-1] == 0; d.level {
		for i := range d.values {
			d.values[i] = 1
		}
	}
	first, _ := slices.BinarySearch(d.values, 1)
	d.values = d.values[first:]
	d.dropped = max(0, len(d.values)-width)
	d.values = d.values[d.dropped:]
	d.kept = len(d.values)
	d.cut = d.values[0]
	d.counts = buf.counts[:0]
	distinct := 0
	for _, v := range d.values {
		d.sum = d.sum.add(v)
		if distinct > 0 && d.values[distinct-1] == v {
			d.counts[distinct-1]++
			continue
		}
		d.values[distinct] = v
		d.counts = append(d.counts, 1)
		distinct++
	}
	d.values = d.values[:distinct]
	d.cutKept = int(d.counts[0])
	return d
}

// share returns the i-th share as it counts.
func (d *demand) share(i int) uint64 {
	if d.level {
		return 1
	}
	return d.shares[i]
}

// eachKept calls f with the index of each share that gets a member and the
// position of its value in d.values, in the order of the shares.
func (d *demand) eachKept(f func(i, value int)) {
	left := d.cutKept
	for i := range d.shares {
		s := d.share(i)
		if s == 0 || s < d.cut || s == d.cut && left == 0 {
			continue
		}
		if s == d.cut {
			left--
		}
		v, _ := slices.BinarySearch(d.values, s)
		f(i, v)
	}
}

func (d *demand) droppedIndexes(weights []int) []int {
	n := 0
	for i, w := range weights {
		if w == 0 && d.share(i) > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	dropped := make([]int, 0, n)
	for i, w := range weights {
		if w == 0 && d.share(i) > 0 {
			dropped = append(dropped, i)
		}
	}
	return dropped
}

// over returns r of a member with that share and weight in a vector of that
// total: how many times its wanted traffic it gets.
func (d *demand) over(weight int, share uint64, total int) ratio {
	return ratio{d.sum.times(uint64(weight)), mul64(share, uint64(total))}
}

// under returns 1/r of the same member.
func (d *demand) under(weight int, share uint64, total int) ratio {
	r := d.over(weight, share, total)
	return ratio{r.den, r.num}
}

// equalWorst is the worst ratio of weight 1 for all: the smallest share is the
// most overloaded, the largest the most underused.
func (d *demand) equalWorst() ratio {
	return larger(
		d.over(1, d.values[0], d.kept),
		d.under(1, d.values[len(d.values)-1], d.kept),
	)
}

func larger(a, b ratio) ratio {
	if a.atMost(b) {
		return b
	}
	return a
}
