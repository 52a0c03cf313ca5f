package fib_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bagrig/bagrig/fib"
)

// degraded draws n bundles of 576 x 800G that kept 50 to 100 % of their
// members, as multiples of 800G.
func degraded(r *rand.Rand, n int) []uint64 {
	shares := make([]uint64, n)
	for i := range shares {
		shares[i] = uint64(288+r.IntN(289)) * 800_000_000_000
	}
	return shares
}

// distinct draws n shares of which no two are alike, so that grouping equal
// shares saves nothing.
func distinct(r *rand.Rand, n int) []uint64 {
	shares := make([]uint64, n)
	for i := range shares {
		shares[i] = 1<<50 + r.Uint64N(1<<50)
	}
	return shares
}

func BenchmarkReduce(b *testing.B) {
	draws := []struct {
		name string
		draw func(*rand.Rand, int) []uint64
	}{{"degraded", degraded}, {"distinct", distinct}}
	for _, alg := range fib.Algorithms() {
		for _, draw := range draws {
			for _, width := range []int{512, 2048} {
				for _, members := range []int{8, 64, 128, 512, 1024} {
					if members > width {
						continue
					}
					name := fmt.Sprintf("%s/%s/width=%d/members=%d", alg, draw.name, width, members)
					b.Run(name, func(b *testing.B) { benchmarkReduce(b, alg, draw.draw, members, width) })
				}
			}
		}
	}
}

func benchmarkReduce(b *testing.B, alg fib.Algorithm, draw func(*rand.Rand, int) []uint64, members, width int) {
	r := rand.New(rand.NewPCG(1, uint64(members)))
	inputs := make([][]uint64, 16)
	for i := range inputs {
		inputs[i] = draw(r, members)
	}
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		if _, err := fib.Reduce(alg, inputs[next%len(inputs)], width); err != nil {
			b.Fatal(err)
		}
		next++
	}
}
