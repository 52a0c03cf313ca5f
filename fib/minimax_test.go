package fib

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestNearestIsExactAtTheGeometricMean feeds it the continued fraction of
// sqrt(w*(w+1)), the fractions closest to the edge from both sides.
func TestNearestIsExactAtTheGeometricMean(t *testing.T) {
	const total = 7
	for w := uint64(1); w <= 40; w++ {
		// sqrt(w(w+1)) = [w; 2, 2w, 2, 2w, ...].
		num, den := [2]uint64{1, w}, [2]uint64{0, 1}
		for i := 0; num[1] < 1<<56/(2*w+1); i++ {
			term := uint64(2)
			if i%2 == 1 {
				term = 2 * w
			}
			num[0], num[1] = num[1], term*num[1]+num[0]
			den[0], den[1] = den[1], term*den[1]+den[0]
			d := demand{sum: mul64(den[1], total)}
			q := float64(num[1]) / float64(den[1])
			got := d.nearest(q, num[1], total)
			square := new(big.Rat).SetFrac64(int64(num[1]), int64(den[1]))
			square.Mul(square, square)
			want := int(w)
			if square.Cmp(new(big.Rat).SetInt64(int64(w*(w+1)))) > 0 {
				want++
			}
			if got != want {
				t.Fatalf("%d/%d: got %d, want %d", num[1], den[1], got, want)
			}
		}
	}
}

// TestTheSieveNeverRejectsATotalThatReaches compares it with the exact best.
func TestTheSieveNeverRejectsATotalThatReaches(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		shares := make([]uint64, 2+r.IntN(10))
		for i := range shares {
			shares[i] = r.Uint64()>>r.UintN(64) | 1
		}
		var buf buffers
		d := newDemand(shares, len(shares)+60, &buf)
		s := newSteps(&d, &buf)
		for total := len(shares); total <= len(shares)+60; total++ {
			own := s.best(&d, total)
			if !s.mayReach(&d, total, own) {
				t.Fatalf("shares %v total %d: rejects its own best %v", shares, total, own.excess())
			}
			less := ratio{own.num, own.den.add(1 + own.den.lo>>20)}
			if less.excess() > 0 && own.excess()-less.excess() > 1e-9*(1+own.excess()) && s.mayReach(&d, total, less) {
				t.Fatalf("shares %v total %d: lets %v pass, best is %v", shares, total, less.excess(), own.excess())
			}
		}
	}
}
