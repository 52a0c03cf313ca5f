package fib_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/fib"
)

func mustReduce(t testing.TB, alg fib.Algorithm, shares []uint64, width int) fib.Reduction {
	t.Helper()
	r, err := fib.Reduce(alg, shares, width)
	if err != nil {
		t.Fatalf("Reduce(%q, %v, %d): %v", alg, shares, width, err)
	}
	return r
}

func total(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	return sum
}

func TestReduceGivesTheWeightsWorkedOutByHand(t *testing.T) {
	inf := math.Inf(1)
	const g = 1_000_000_000
	cases := []struct {
		name   string
		alg    fib.Algorithm
		shares []uint64
		width  int
		want   fib.Reduction
	}{
		{"one share is weight 1", fib.Minimax, []uint64{7}, 64, fib.Reduction{Weights: []int{1}}},
		{"equal shares are 1 each", fib.Minimax, []uint64{800 * g, 800 * g, 800 * g}, 2048, fib.Reduction{Weights: []int{1, 1, 1}}},
		{"equal shares of the largest value", fib.Minimax, []uint64{math.MaxUint64, math.MaxUint64}, 2, fib.Reduction{Weights: []int{1, 1}}},
		{"a ratio that fits is exact in its smallest total", fib.Minimax, []uint64{400 * g, 800 * g, 1200 * g}, 512, fib.Reduction{Weights: []int{1, 2, 3}}},
		{"one bundle at three quarters", fib.Minimax, []uint64{100, 100, 100, 75}, 512, fib.Reduction{Weights: []int{4, 4, 4, 3}}},
		{"a ratio that just fits", fib.Minimax, []uint64{5, 3}, 8, fib.Reduction{Weights: []int{5, 3}}},
		// 5:3 in at most 7: 3:2 gives r = 24/25 and 16/15, 2:1 gives 16/15 and
		// 8/9, 4:2 as 2:1, 4:3 gives 32/35 and 8/7.
		{"a ratio that just does not fit", fib.Minimax, []uint64{5, 3}, 7, fib.Reduction{Weights: []int{3, 2}, Error: 1.0 / 15}},
		{"no room but for one each", fib.Minimax, []uint64{1, 3}, 2, fib.Reduction{Weights: []int{1, 1}, Error: 1}},
		// 2:1:1 and 1:2:1 and 1:1:2 all have the error of 4/3.
		{"a tie gives the larger weight to the earlier", fib.Minimax, []uint64{3, 3, 2}, 4, fib.Reduction{Weights: []int{1, 1, 1}, Error: 1.0 / 3}},
		{"zero shares get nothing and are not dropped", fib.Minimax, []uint64{0, 2, 0, 1}, 16, fib.Reduction{Weights: []int{0, 2, 0, 1}}},
		{"all zero counts as equal", fib.Minimax, []uint64{0, 0, 0}, 16, fib.Reduction{Weights: []int{1, 1, 1}}},
		{"all zero with no room keeps the earliest", fib.Minimax, []uint64{0, 0, 0}, 2, fib.Reduction{Weights: []int{1, 1, 0}, Error: inf, Dropped: []int{2}}},
		{"more than the width keeps the largest", fib.Minimax, []uint64{1, 9, 2, 9}, 2, fib.Reduction{Weights: []int{0, 1, 0, 1}, Error: inf, Dropped: []int{0, 2}}},
		{"among equals the earlier is kept", fib.Minimax, []uint64{5, 9, 5, 0, 5}, 3, fib.Reduction{Weights: []int{1, 1, 1, 0, 0}, Error: inf, Dropped: []int{4}}},
		{"equal ignores shares", fib.Equal, []uint64{3, 1}, 64, fib.Reduction{Weights: []int{1, 1}, Error: 1}},
		{"equal leaves out zero shares", fib.Equal, []uint64{3, 0, 3}, 64, fib.Reduction{Weights: []int{1, 0, 1}}},
		{"equal with no room", fib.Equal, []uint64{3, 1, 2}, 2, fib.Reduction{Weights: []int{1, 0, 1}, Error: inf, Dropped: []int{1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(mustReduce(t, c.alg, c.shares, c.width), c.want); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
}

func TestReduceRefusesWithAnErrorThatQuotesTheValue(t *testing.T) {
	cases := []struct {
		alg    fib.Algorithm
		shares []uint64
		width  int
		want   error
		text   string
	}{
		{"wcpm", []uint64{1}, 4, fib.ErrUnknownAlgorithm, `algorithm "wcpm": unknown algorithm: want one of ` + fmt.Sprintf("%q", fib.Algorithms())},
		{fib.Minimax, nil, 4, fib.ErrNoShares, `reduce with minimax: no shares`},
		{fib.Equal, []uint64{1}, 0, fib.ErrWidth, `reduce with equal: width out of range: 0: want 1 to 1048576`},
		{fib.Minimax, []uint64{1}, -3, fib.ErrWidth, `reduce with minimax: width out of range: -3: want 1 to 1048576`},
		{fib.Minimax, []uint64{1}, fib.MaxWidth + 1, fib.ErrWidth, `reduce with minimax: width out of range: 1048577: want 1 to 1048576`},
	}
	for _, c := range cases {
		_, err := fib.Reduce(c.alg, c.shares, c.width)
		if !errors.Is(err, c.want) || err.Error() != c.text {
			t.Errorf("Reduce(%q, %v, %d): got error %v, want %s", c.alg, c.shares, c.width, err, c.text)
		}
		if got := fib.Bound(c.alg, c.shares, c.width); !math.IsInf(got, 1) {
			t.Errorf("Bound(%q, %v, %d): got %v, want +Inf", c.alg, c.shares, c.width, got)
		}
	}
}

// TestMinimaxIsTheBestOfAllVectors tries every vector of up to 4 shares of 1
// to 16 (to 8 with -short) in every total up to 16.
func TestMinimaxIsTheBestOfAllVectors(t *testing.T) {
	t.Parallel()
	largest := uint64(16)
	if testing.Short() {
		largest = 8
	}
	for n := 1; n <= 4; n++ {
		shares := make([]uint64, n)
		var fill func(i int)
		fill = func(i int) {
			if i == n {
				compareAllWidths(t, shares)
				return
			}
			for shares[i] = 1; shares[i] <= largest; shares[i]++ {
				fill(i + 1)
			}
		}
		fill(0)
	}
}

func compareAllWidths(t *testing.T, shares []uint64) {
	t.Helper()
	var best [4]int
	var worst fraction
	for width := len(shares); width <= 16; width++ {
		var errors [4]fraction
		improved := false // on every smaller total
		vectors(len(shares), width, func(w []int) {
			e := worstSmall(w, shares)
			if worst.den == 0 || e.less(worst) {
				worst, improved = e, true
				errors = errorsSmall(w, shares)
				copy(best[:], w)
				return
			}
			if !improved || worst.less(e) {
				return
			}
			if own := errorsSmall(w, shares); slices.CompareFunc(own[:], errors[:], fraction.compare) < 0 {
				errors = own
				copy(best[:], w)
			}
		})
		got := mustReduce(t, fib.Minimax, shares, width)
		want := best[:len(shares)]
		if !slices.Equal(got.Weights, want) {
			t.Fatalf("shares %v width %d: got %v, want %v", shares, width, got.Weights, want)
		}
		wantError := float64(worst.num-worst.den) / float64(worst.den)
		if got.Error != wantError {
			t.Fatalf("shares %v width %d: got error %v, want %v", shares, width, got.Error, wantError)
		}
	}
}

// TestMinimaxDecidesTiesExactlyWhereFloatsCannot draws shares that differ by
// less than float64 can tell.
func TestMinimaxDecidesTiesExactlyWhereFloatsCannot(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	draws := []func() uint64{
		func() uint64 { return (1+r.Uint64N(7))<<58 + r.Uint64N(5) - 2 },
		func() uint64 { return math.MaxUint64 - r.Uint64N(3) },
		func() uint64 { return r.Uint64()>>r.UintN(64) | 1 },
	}
	for i := range 120 {
		n, width := 2+r.IntN(3), 4+r.IntN(9)
		shares := make([]uint64, n)
		for j := range shares {
			shares[j] = draws[i%len(draws)]()
		}
		var best []int
		var worst *big.Rat
		for sum := n; sum <= width; sum++ {
			var errors []*big.Rat
			vectors(n, sum, func(w []int) {
				own := errorsExact(w, shares)
				switch {
				case worst == nil || own[0].Cmp(worst) < 0:
					worst, errors = own[0], nil
				case own[0].Cmp(worst) > 0 || errors == nil:
					return
				}
				if errors == nil || slices.CompareFunc(own, errors, (*big.Rat).Cmp) < 0 {
					errors, best = own, slices.Clone(w)
				}
			})
		}
		got := mustReduce(t, fib.Minimax, shares, width)
		if !slices.Equal(got.Weights, best) {
			t.Errorf("shares %v width %d: got %v, want %v", shares, width, got.Weights, best)
		}
		want, _ := new(big.Rat).Sub(worst, big.NewRat(1, 1)).Float64()
		if math.Abs(got.Error-want) > 1e-14*want {
			t.Errorf("shares %v width %d: got error %v, want %v", shares, width, got.Error, want)
		}
	}
}

// TestFloat32NoiseDoesNotChangeAVectorThatFits sends whole members of 800G
// through the wire's format, float32 bytes/s.
func TestFloat32NoiseDoesNotChangeAVectorThatFits(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range 500 {
		n := 2 + r.IntN(16)
		exact, noisy := make([]uint64, n), make([]uint64, n)
		for i := range exact {
			exact[i] = (1 + r.Uint64N(2048/uint64(n))) * 800_000_000_000
			noisy[i] = uint64(float32(exact[i]/8)) * 8
			if r.IntN(3) == 0 {
				noisy[i] = exact[i]
			}
		}
		got, want := mustReduce(t, fib.Minimax, noisy, 2048), mustReduce(t, fib.Minimax, exact, 2048)
		if !slices.Equal(got.Weights, want.Weights) || want.Error != 0 {
			t.Errorf("shares %v: got %v, want %v with error 0, got %v", noisy, got.Weights, want.Weights, want.Error)
		}
	}
}

func TestMinimaxAgreesWithBisectionOnManyMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for i := range 60 {
		n := 5 + r.IntN(60)
		width := n + r.IntN(300)
		shares := degraded(r, n)
		if i%2 == 1 {
			shares = distinct(r, n)
		}
		got := mustReduce(t, fib.Minimax, shares, width)
		if want := bisected(shares, width); math.Abs(got.Error-want) > 1e-9 {
			t.Errorf("%d shares width %d: got error %v, want %v", n, width, got.Error, want)
		}
		if worst := worstExcess(got.Weights, shares); math.Abs(got.Error-worst) > 1e-9 {
			t.Errorf("%d shares width %d: got error %v, weights have %v", n, width, got.Error, worst)
		}
	}
}

// TestNoOtherVectorIsBetterThanMinimax tries other methods and small changes
// of the result on 10,000 random inputs.
func TestNoOtherVectorIsBetterThanMinimax(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for i := range 10000 {
		n := 2 + r.IntN(24)
		width := n + r.IntN(200)
		shares := degraded(r, n)
		switch i % 3 {
		case 1:
			for j := range shares {
				shares[j] = 1 + r.Uint64N(1<<r.UintN(20))
			}
		case 2:
			for j := range shares {
				shares[j] = 576
			}
			shares[r.IntN(n)] = 1 + r.Uint64N(576)
		}
		got := mustReduce(t, fib.Minimax, shares, width)
		for _, other := range others(r, shares, got.Weights, width) {
			if e := worstExcess(other, shares); e < got.Error-1e-12*(1+got.Error) {
				t.Fatalf("shares %v width %d: got %v with error %v, but %v has %v", shares, width, got.Weights, got.Error, other, e)
			}
		}
	}
}

// others returns vectors within the width made in other ways.
func others(r *rand.Rand, shares []uint64, got []int, width int) [][]int {
	n := len(shares)
	list := [][]int{largestRemainder(shares, width), wcmp(shares, width)}
	list = append(list, largestRemainder(shares, n+r.IntN(width-n+1)), wcmp(shares, n+r.IntN(width-n+1)))
	for range 8 {
		w := slices.Clone(got)
		w[r.IntN(n)] += r.IntN(3) - 1
		w[r.IntN(n)] += r.IntN(3) - 1
		if total(w) <= width && slices.Min(w) >= 1 {
			list = append(list, w)
		}
	}
	return list
}

// largestRemainder gives every share its floor of share/sum*width, at least
// 1, and hands what is left to the largest remainders.
func largestRemainder(shares []uint64, width int) []int {
	sum := 0.0
	for _, s := range shares {
		sum += float64(s)
	}
	weights, order := make([]int, len(shares)), make([]int, len(shares))
	quota := func(i int) float64 { return float64(shares[i]) / sum * float64(width) }
	for i := range shares {
		weights[i], order[i] = max(1, int(quota(i))), i
	}
	remainder := func(i int) float64 { return quota(i) - float64(weights[i]) }
	for total(weights) != width {
		sort.SliceStable(order, func(a, b int) bool { return remainder(order[a]) > remainder(order[b]) })
		if total(weights) < width {
			weights[order[0]]++
			continue
		}
		for j := len(order) - 1; j >= 0; j-- {
			if weights[order[j]] > 1 {
				weights[order[j]]--
				break
			}
		}
	}
	return weights
}

// wcmp is Algorithm 1 of Zhou et al. (EuroSys'14) run to that total: always
// raise the member whose raise makes the least overload.
func wcmp(shares []uint64, width int) []int {
	weights := make([]int, len(shares))
	for i := range weights {
		weights[i] = 1
	}
	for range width - len(shares) {
		best := 0
		for i := range weights {
			if float64(weights[i]+1)/float64(shares[i]) < float64(weights[best]+1)/float64(shares[best]) {
				best = i
			}
		}
		weights[best]++
	}
	return weights
}

// TestMinimaxHoldsTheFiguresOfTheDesign draws 30 times as the design's table
// of figures does and prints what it finds. That table was measured with
// |r - 1|, where x too little counts as x and here as 1/(1-x) - 1.
func TestMinimaxHoldsTheFiguresOfTheDesign(t *testing.T) {
	cases := []struct {
		members int
		limit   float64
	}{{8, 0.0065}, {16, 0.0175}, {32, 0.04}, {64, 0.09}}
	for _, c := range cases {
		r := rand.New(rand.NewPCG(17, uint64(c.members)))
		worst := 0.0
		for range 30 {
			worst = max(worst, mustReduce(t, fib.Minimax, degraded(r, c.members), 512).Error)
		}
		t.Logf("%d members, width 512, capacities 50 to 100 %%: worst of 30 draws %.2f %%", c.members, worst*100)
		if worst > c.limit {
			t.Errorf("%d members: got worst error %.4f, want at most %.4f", c.members, worst, c.limit)
		}
	}
	one := slices.Repeat([]uint64{576}, 32)
	one[0] = 518
	got := mustReduce(t, fib.Minimax, one, 512)
	t.Logf("one of 32 at 90 %%: %.3f %%", got.Error*100)
	if got.Error > 0.001 {
		t.Errorf("one of 32 at 90 %%: got error %.5f with %v, want at most 0.001", got.Error, got.Weights)
	}
}

func TestReduceAllocatesNothingBeyondItsResult(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, members := range []int{1, 8, 512, 2048} {
		shares := distinct(r, members)
		got := testing.AllocsPerRun(5, func() { mustReduce(t, fib.Minimax, shares, 2048) })
		if got != 1 {
			t.Errorf("%d members: got %v allocations, want 1 (the weights)", members, got)
		}
	}
}

// anyShares draws 1 to 12 shares: zero, small, equal, near the float32 noise
// of 800G, huge.
func anyShares() gopter.Gen {
	share := gen.OneGenOf(
		gen.UInt64Range(0, 9),
		gen.OneConstOf(uint64(800_000_000_000), uint64(799_999_983_616), uint64(600_000_000_000)),
		gen.UInt64Range(1, math.MaxUint64),
	)
	return gen.SliceOf(share).SuchThat(func(s []uint64) bool { return len(s) >= 1 && len(s) <= 12 })
}

func parameters() *gopter.TestParameters {
	p := gopter.DefaultTestParametersWithSeed(1)
	p.MinSuccessfulTests = 400
	p.MaxSize = 12
	return p
}

func TestReduceProperties(t *testing.T) {
	var algorithms []any
	for _, alg := range fib.Algorithms() {
		algorithms = append(algorithms, alg)
	}
	algorithm := gen.OneConstOf(algorithms...)
	width := gen.IntRange(1, 80)
	properties := gopter.NewProperties(parameters())

	properties.Property("weights fit the width and only dropped or zero shares have none", prop.ForAll(
		func(alg fib.Algorithm, shares []uint64, width int) string {
			return broken(alg, shares, width)
		}, algorithm, anyShares(), width))

	properties.Property("the error is at most the bound", prop.ForAll(
		func(alg fib.Algorithm, shares []uint64, width int) bool {
			r, err := fib.Reduce(alg, shares, width)
			bound := fib.Bound(alg, shares, width)
			if alg == fib.Equal {
				return err == nil && r.Error == bound
			}
			return err == nil && r.Error <= bound && (bound > 0 || r.Error == 0)
		}, algorithm, anyShares(), width))

	properties.Property("order changes neither error nor total", prop.ForAll(
		func(alg fib.Algorithm, shares []uint64, width int, seed int64) bool {
			a, _ := fib.Reduce(alg, shares, width)
			shuffled := slices.Clone(shares)
			rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(shuffled), func(i, j int) {
				shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
			})
			b, _ := fib.Reduce(alg, shuffled, width)
			return a.Error == b.Error && total(a.Weights) == total(b.Weights)
		}, algorithm, anyShares(), width, gen.Int64()))

	properties.Property("the unit of the shares changes nothing", prop.ForAll(
		func(alg fib.Algorithm, shares []uint64, width int, unit uint64) bool {
			small, large := make([]uint64, len(shares)), make([]uint64, len(shares))
			for i, s := range shares {
				small[i] = s >> 16
				large[i] = small[i] * unit
			}
			a, _ := fib.Reduce(alg, small, width)
			b, _ := fib.Reduce(alg, large, width)
			return slices.Equal(a.Weights, b.Weights)
		}, algorithm, anyShares(), width, gen.UInt64Range(1, 1<<16-1)))

	properties.Property("minimax: more width is never worse", prop.ForAll(
		func(shares []uint64, width int) bool {
			a, _ := fib.Reduce(fib.Minimax, shares, width)
			b, _ := fib.Reduce(fib.Minimax, shares, width+1)
			return b.Error <= a.Error*(1+1e-15)
		}, anyShares(), width))

	properties.Property("minimax is never worse than equal", prop.ForAll(
		func(shares []uint64, width int) bool {
			a, _ := fib.Reduce(fib.Minimax, shares, width)
			b, _ := fib.Reduce(fib.Equal, shares, width)
			return a.Error <= b.Error*(1+1e-15)
		}, anyShares(), width))

	properties.TestingRun(t)
}

// broken returns how Reduce's answer breaks its contract, or "".
func broken(alg fib.Algorithm, shares []uint64, width int) string {
	r, err := fib.Reduce(alg, shares, width)
	if err != nil {
		return err.Error()
	}
	if sum := total(r.Weights); len(r.Weights) != len(shares) || sum < 1 || sum > width {
		return fmt.Sprintf("weights %v for %d shares in width %d", r.Weights, len(shares), width)
	}
	allZero := slices.Max(shares) == 0
	smallestKept, largestDropped := uint64(math.MaxUint64), uint64(0)
	for i, w := range r.Weights {
		wanted := shares[i] > 0 || allZero
		switch dropped := slices.Contains(r.Dropped, i); {
		case w < 0, w > 0 && !wanted, dropped != (wanted && w == 0):
			return fmt.Sprintf("share %d of %v: weight %d, dropped %v", i, shares, w, r.Dropped)
		case dropped:
			largestDropped = max(largestDropped, shares[i])
		case w > 0:
			smallestKept = min(smallestKept, shares[i])
		}
	}
	positive := 0
	for _, s := range shares {
		if s > 0 || allZero {
			positive++
		}
	}
	switch {
	case len(r.Dropped) != max(0, positive-width) && alg != fib.FBOSSOptimized:
		return fmt.Sprintf("dropped %v of %d positive shares in width %d", r.Dropped, positive, width)
	case largestDropped > smallestKept && alg != fib.FBOSSOptimized:
		return fmt.Sprintf("dropped %d and kept %d", largestDropped, smallestKept)
	case math.IsInf(r.Error, 1) != (len(r.Dropped) > 0), r.Error < 0, math.IsNaN(r.Error):
		return fmt.Sprintf("error %v with dropped %v", r.Error, r.Dropped)
	}
	if want := worstExcess(r.Weights, shares); !allZero && len(r.Dropped) == 0 && math.Abs(r.Error-want) > 1e-9*(1+want) {
		return fmt.Sprintf("error %v, weights %v of %v have %v", r.Error, r.Weights, shares, want)
	}
	return ""
}

// TestBoundIsWithinOneOverTheSmallestWeight is the corollary that Bound's
// comment draws: with q the smallest share of the width, 1/floor(q).
func TestBoundIsWithinOneOverTheSmallestWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 500 {
		n := 2 + r.IntN(60)
		shares := distinct(r, n)
		sum := 0.0
		for _, s := range shares {
			sum += float64(s)
		}
		q := math.Floor(float64(slices.Min(shares)) / sum * 512)
		if q < 1 {
			continue
		}
		if got := fib.Bound(fib.Minimax, shares, 512); got > 1/q*(1+1e-9) || got == 0 {
			t.Errorf("%d shares: got bound %v, want above 0, at most %v", n, got, 1/q)
		}
	}
}

// TestBoundIsTheConstructionOfItsProof draws shares that are far apart, so
// that many fall below 1, and shares near 1, where the small ones taken out
// move the others across a whole weight.
func TestBoundIsTheConstructionOfItsProof(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	byConstruction, byEqual := 0, 0
	for i := range 4000 {
		n := 2 + r.IntN(30)
		width, spread := n+r.IntN(60), 1+r.Uint64N(300)
		shares := make([]uint64, n)
		for j := range shares {
			shares[j] = 1 + r.Uint64N(1<<r.UintN(24))
			if i%2 == 1 {
				shares[j] = 95 + r.Uint64N(spread)
			}
		}
		if i%2 == 1 {
			width = max(n, int(mean(shares)*float64(n)/100))
		}
		got, bound := mustReduce(t, fib.Minimax, shares, width), fib.Bound(fib.Minimax, shares, width)
		if got.Error == 0 {
			continue
		}
		want := construction(shares, width)
		if math.Abs(bound-want) > 1e-9*(1+want) || got.Error > bound {
			t.Fatalf("shares %v width %d: got bound %v, want %v, error is %v", shares, width, bound, want, got.Error)
		}
		if bound < fib.Bound(fib.Equal, shares, width) {
			byConstruction++
		} else {
			byEqual++
		}
	}
	if byConstruction < 100 || byEqual < 100 {
		t.Errorf("got %d bounds by construction and %d by equal weights, want 100 of each", byConstruction, byEqual)
	}
}

func mean(shares []uint64) float64 {
	sum := 0.0
	for _, s := range shares {
		sum += float64(s)
	}
	return sum / float64(len(shares))
}
