package fib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
)

// times returns a share n times, as the published cases are written.
func times(n int, share uint64) []uint64 { return slices.Repeat([]uint64{share}, n) }

func TestFBOSSGivesThePublishedWeights(t *testing.T) {
	// The numbers of facebook/fboss fboss/agent/state/tests/RouteNextHopEntryTests.cpp
	// and of the worked example in RouteNextHopEntry.cpp.
	cases := []struct {
		name   string
		alg    fib.Algorithm
		shares []uint64
		width  int
		want   []int
	}{
		{"OptimizedUcmpDiscardLowWeights", fib.FBOSSOptimized, append([]uint64{1}, times(7, 36)...), 64, []int{0, 1, 1, 1, 1, 1, 1, 1}},
		{"OptimizedUcmpDiscardMultipleLowWeights", fib.FBOSSOptimized, append(times(2, 50), times(6, 1)...), 64, []int{1, 1, 0, 0, 0, 0, 0, 0}},
		{"ScaledDownFixedSizeWideNextHop, optimized", fib.FBOSSOptimized, []uint64{1, 1, 25235}, 512, []int{0, 0, 1}},
		{"NotNormalizedWideECmpEnabled", fib.FBOSSWide, []uint64{32, 33, 34}, 512, []int{32, 33, 34}},
		{"the worked example of filling to 512", fib.FBOSSWide,
			slices.Concat(times(20, 8), times(10, 5), times(15, 7), times(10, 2)), 512,
			slices.Concat(slices.Repeat([]int{13}, 7), slices.Repeat([]int{12}, 13), slices.Repeat([]int{7}, 10), slices.Repeat([]int{11}, 15), slices.Repeat([]int{3}, 10))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(mustReduce(t, c.alg, c.shares, c.width).Weights, c.want); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
	sums := []struct {
		name   string
		alg    fib.Algorithm
		shares []uint64
		want   int
	}{
		{"NormalizedFixedSizeWideNextHop", fib.FBOSSWide, []uint64{55, 56, 57}, 512},
		{"ScaledDownNormalizedFixedSizeWideNextHop", fib.FBOSSWide, []uint64{550, 560, 571}, 512},
		{"ScaledDownFixedSizeWideNextHop", fib.FBOSSWide, []uint64{1, 1, 25235}, 512},
	}
	for _, c := range sums {
		if got := total(mustReduce(t, c.alg, c.shares, 512).Weights); got != c.want {
			t.Errorf("%s: got a sum of %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFBOSSOptimizedDropsAMildlyDegradedPath(t *testing.T) {
	for _, members := range []int{48, 64} {
		for _, left := range []uint64{95, 90, 75, 50, 25} {
			shares := append(times(members-1, 100), left)
			got := mustReduce(t, fib.FBOSSOptimized, shares, 64)
			if !slices.Equal(got.Dropped, []int{members - 1}) || !math.IsInf(got.Error, 1) {
				t.Errorf("%d members, one at %d %%: got dropped %v error %v, want the last dropped", members, left, got.Dropped, got.Error)
			}
		}
	}
	got := mustReduce(t, fib.FBOSSOptimized, append(times(15, 10), 9), 64)
	if want := append(slices.Repeat([]int{4}, 15), 3); !slices.Equal(got.Weights, want) {
		t.Errorf("16 members, one at 90 %%: got %v, want %v", got.Weights, want)
	}
}

func TestWCMPGivesTheWeightsOfTheReferenceImplementation(t *testing.T) {
	// Run with FabricEval's localTE/group_reduction.py.
	cases := []struct {
		shares []uint64
		theta  float64
		want   []int
	}{
		{append(times(7, 8), 7), 1.1, []int{2, 2, 2, 2, 2, 2, 2, 1}},
		{append(times(7, 8), 7), 1.01, []int{5, 5, 5, 5, 5, 5, 5, 4}},
		{[]uint64{62, 38}, 1.05, []int{5, 3}},
		{[]uint64{99, 1}, 1.2, []int{83, 1}},
		{append(times(7, 72), 71), 1.01, []int{11, 11, 11, 11, 11, 11, 11, 10}},
		{[]uint64{5, 3}, 1, []int{5, 3}},
		{[]uint64{0, 62, 0, 38}, 1.05, []int{0, 5, 0, 3}},
	}
	for _, c := range cases {
		got, err := fib.ReduceWCMP(c.shares, c.theta, 4096)
		if err != nil || !slices.Equal(got.Weights, c.want) {
			t.Errorf("%v, theta %v: got %v, %v, want %v", c.shares, c.theta, got.Weights, err, c.want)
		}
	}
}

func TestWCMPOverloadsByAtMostTheta(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for range 300 {
		shares, theta := degraded(r, 2+r.IntN(20)), 1+r.Float64()
		got, err := fib.ReduceWCMP(shares, theta, 1<<14)
		if errors.Is(err, fib.ErrDoesNotFit) {
			continue
		}
		if over, _, _ := wrong(hops(shares...), members(got.Weights...), nil); err != nil || over > theta-1+1e-9 {
			t.Errorf("%v, theta %v: got %v with overload %v, %v", shares, theta, got.Weights, over, err)
		}
	}
}

func TestWCMPRefusesWithAnErrorThatQuotesTheValue(t *testing.T) {
	cases := []struct {
		shares []uint64
		theta  float64
		limit  int
		want   string
	}{
		{[]uint64{1}, 0.9, 4, "reduce with wcmp: theta 0.9: want 1 or more"},
		{[]uint64{1}, math.NaN(), 4, "reduce with wcmp: theta NaN: want 1 or more"},
		{nil, 1, 4, "reduce with wcmp: no shares"},
		{[]uint64{1}, 1, 0, "reduce with wcmp: width out of range: 0: want 1 to 1048576"},
		{[]uint64{1, 1, 1}, 2, 2, "reduce with wcmp: 3 members in 2 entries: does not fit"},
		{[]uint64{1000, 1}, 1.01, 8, "reduce with wcmp: in 8 entries: does not fit"},
	}
	for _, c := range cases {
		if _, err := fib.ReduceWCMP(c.shares, c.theta, c.limit); err == nil || err.Error() != c.want {
			t.Errorf("%v, %v, %d: got error %v, want %s", c.shares, c.theta, c.limit, err, c.want)
		}
	}
}

func TestFitGroupsFitsAllIntoOneTable(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	for range 60 {
		groups := make([][]uint64, 1+r.IntN(12))
		least := 0
		for i := range groups {
			groups[i] = degraded(r, 2+r.IntN(14))
			least += len(groups[i])
		}
		size := least + r.IntN(600)
		got, theta, err := fib.FitGroups(groups, size)
		if err != nil || theta < 1 {
			t.Fatalf("%d groups in %d: theta %v, %v", len(groups), size, theta, err)
		}
		used := 0
		for i, g := range got {
			used += total(g.Weights)
			if over, _, _ := wrong(hops(groups[i]...), members(g.Weights...), nil); over > theta-1+1e-9 {
				t.Errorf("group %v: got %v with overload %v, theta is %v", groups[i], g.Weights, over, theta)
			}
		}
		if used > size {
			t.Errorf("got %d entries, want at most %d", used, size)
		}
	}
	if got, theta, err := fib.FitGroups([][]uint64{{4, 4, 3}, {1, 1}}, 13); err != nil || theta != 1 || total(got[0].Weights) != 11 {
		t.Errorf("groups that fit: got %v, theta %v, %v, want them as they are", got, theta, err)
	}
	if got, _, err := fib.FitGroups([][]uint64{{1 << 60, 1}, {3, 2}}, 4); err != nil || total(got[0].Weights) != 2 || total(got[1].Weights) != 2 {
		t.Errorf("no room but for one each: got %v, %v", got, err)
	}
	if _, _, err := fib.FitGroups([][]uint64{{1, 1}, {3, 2}}, 3); !errors.Is(err, fib.ErrDoesNotFit) {
		t.Errorf("4 members in 3 entries: got error %v, want %v", err, fib.ErrDoesNotFit)
	}
	if _, _, err := fib.FitGroups([][]uint64{{1, 1}, nil}, 9); err == nil || err.Error() != "group 1: reduce with equal: no shares" {
		t.Errorf("a group without shares: got error %v", err)
	}
}

func TestStacksGiveTheWeightsThatTheyShow(t *testing.T) {
	cases := []struct {
		alg    fib.Algorithm
		shares []uint64
		width  int
		want   []int
	}{
		// Kernel routes for 125e6 and 500e6 bytes/s: 20/80 and 63/254.
		{fib.FRR8, []uint64{125e6, 500e6}, 4096, []int{1, 4}},
		{fib.FRR10, []uint64{125e6, 500e6}, 4096, []int{63, 254}},
		{fib.FRR10Wide, []uint64{125e6, 500e6}, 1 << 20, []int{5461, 21845}},
		{fib.FRR8, []uint64{1, 999}, 4096, []int{1, 99}},
		{fib.Cumulus, []uint64{2, 2, 1, 1}, 4096, []int{33, 33, 16, 16}},
		{fib.CumulusNormalised, []uint64{2, 2, 1, 1}, 4096, []int{2, 2, 1, 1}},
		{fib.SONiC, []uint64{3, 1, 1}, 4096, []int{3, 1, 1}},
		{fib.SONiC, []uint64{3, 1, 2}, 4096, []int{127, 42, 85}},
		{fib.SONiC512, []uint64{3, 1, 2}, 4096, []int{256, 85, 170}},
		{fib.FRR10, []uint64{254, 100, 3}, 64, []int{45, 17, 1}},
		{fib.LargestRemainder, []uint64{50, 30, 21}, 10, []int{5, 3, 2}},
		{fib.LargestRemainder, []uint64{100, 1, 100}, 8, []int{4, 1, 3}},
		{fib.FBOSSDefault, []uint64{100, 100, 1}, 8, []int{3, 3, 1}},
		{fib.WCMPFit, []uint64{62, 38}, 8, []int{5, 3}},
	}
	for _, c := range cases {
		if got := mustReduce(t, c.alg, c.shares, c.width).Weights; !slices.Equal(got, c.want) {
			t.Errorf("%s of %v in %d: got %v, want %v", c.alg, c.shares, c.width, got, c.want)
		}
	}
}

func TestEqualSharesAreWeightOneEachInEveryAlgorithm(t *testing.T) {
	for _, alg := range fib.Algorithms() {
		if alg.Doc() == "" {
			t.Errorf("%s: no doc", alg)
		}
		for _, n := range []int{1, 3, 64} {
			got := mustReduce(t, alg, times(n, 800_000_000_000), 64)
			if total(got.Weights) != n || got.Error != 0 {
				t.Errorf("%s of %d equal shares: got %v, error %v", alg, n, got.Weights, got.Error)
			}
		}
	}
	if got := fib.Algorithm("best").Doc(); got != "" {
		t.Errorf("doc of an unknown algorithm: got %q, want none", got)
	}
}

// TestNoAlgorithmIsEverBetterThanMinimax runs all of them on 10,000 random
// inputs.
func TestNoAlgorithmIsEverBetterThanMinimax(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(45, 46))
	for i := range 10000 {
		n := 2 + r.IntN(20)
		width := n + r.IntN(150)
		shares := degraded(r, n)
		switch i % 3 {
		case 1:
			for j := range shares {
				shares[j] = 1 + r.Uint64N(1<<r.UintN(20))
			}
		case 2:
			shares = times(n, 576)
			shares[r.IntN(n)] = 1 + r.Uint64N(576)
		}
		best := mustReduce(t, fib.Minimax, shares, width)
		for _, alg := range fib.Algorithms() {
			if got := mustReduce(t, alg, shares, width); got.Error < best.Error*(1-1e-15) {
				t.Fatalf("shares %v width %d: %s has %v with error %v, minimax %v with %v", shares, width, alg, got.Weights, got.Error, best.Weights, best.Error)
			}
		}
	}
}

func TestAChipThatFillsGetsOnlySizesThatItHas(t *testing.T) {
	p := mustLookup(t, "tomahawk3")
	r := rand.New(rand.NewPCG(47, 48))
	for range 200 {
		shares := degraded(r, 2+r.IntN(60))
		least := math.Inf(1)
		for _, alg := range fib.Algorithms() {
			red, err := p.Reduce(alg, shares)
			if err != nil {
				t.Fatal(err)
			}
			if sum := total(red.Weights); sum > 128 && sum != 512 {
				t.Errorf("%s of %v: got a sum of %d", alg, shares, sum)
			}
			if want := worstExcess(red.Weights, shares); len(red.Dropped) == 0 && !near(red.Error, want) {
				t.Errorf("%s of %v: got error %v, weights have %v", alg, shares, red.Error, want)
			}
			if bound := p.Bound(alg, shares); red.Error > bound {
				t.Errorf("%s of %v: got error %v, want at most %v", alg, shares, red.Error, bound)
			}
			least = min(least, red.Error)
		}
		if red, _ := p.Reduce(fib.Minimax, shares); red.Error > least {
			t.Errorf("%v: minimax has error %v, another %v", shares, red.Error, least)
		}
	}
}

func TestAChipWithoutWeightsSharesEqually(t *testing.T) {
	p := mustLookup(t, "tomahawk")
	p.Unweighted = true
	red, err := p.Reduce(fib.Minimax, []uint64{3, 1, 0})
	if want := (fib.Reduction{Weights: []int{1, 1, 0}, Error: 1}); err != nil || !cmp.Equal(red, want) {
		t.Errorf("got %+v, %v, want %+v", red, err, want)
	}
	if got := p.Bound(fib.Minimax, []uint64{3, 1, 0}); got != 1 {
		t.Errorf("bound: got %v, want 1", got)
	}
}

func ExampleCompare() {
	p, err := fib.Lookup("tomahawk5")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := fib.Compare(p, append(slices.Repeat([]uint64{32}, 7), 23))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range rows {
		fmt.Printf("%s %v, %d entries, overload %.3f, under-use %.3f\n", row.Algorithm, row.Reduction.Weights, row.Cost, row.Overload, row.Underuse)
	}
	// Output:
	// cumulus [4 4 4 4 4 4 4 3], 32 entries, overload 0.039, under-use 0.004
	// cumulus-normalised [4 4 4 4 4 4 4 3], 32 entries, overload 0.039, under-use 0.004
	// equal [1 1 1 1 1 1 1 1], 8 entries, overload 0.342, under-use 0.036
	// fboss-default [32 32 32 32 32 32 32 23], 32 entries, overload 0.000, under-use 0.000
	// fboss-optimized [32 32 32 32 32 32 32 23], 32 entries, overload 0.000, under-use 0.000
	// fboss-wide [67 67 67 66 66 66 66 47], 32 entries, overload 0.010, under-use 0.014
	// frr-10 [66 66 66 66 66 66 66 47], 32 entries, overload 0.001, under-use 0.008
	// frr-10-16bit [66 66 66 66 66 66 66 47], 32 entries, overload 0.001, under-use 0.008
	// frr-8 [4 4 4 4 4 4 4 3], 32 entries, overload 0.039, under-use 0.004
	// largest-remainder [32 32 32 32 32 32 32 23], 32 entries, overload 0.000, under-use 0.000
	// minimax [32 32 32 32 32 32 32 23], 32 entries, overload 0.000, under-use 0.000
	// sonic [33 33 33 33 33 33 33 23], 32 entries, overload 0.003, under-use 0.028
	// sonic-512 [66 66 66 66 66 66 66 47], 32 entries, overload 0.001, under-use 0.008
	// wcmp [2 2 2 2 2 1 1 1], 32 entries, overload 0.188, under-use 0.684
	// wcmp-fit [32 32 32 32 32 32 32 23], 32 entries, overload 0.000, under-use 0.000
}
