package fib_test

import (
	"fmt"
	"net/netip"

	"github.com/bagrig/bagrig/fib"
)

// Four bundles of 32 x 800G; one loses a quarter of its members.
func Example() {
	profile, err := fib.Lookup("jericho3")
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := fib.NewTable(profile, fib.Minimax)
	if err != nil {
		fmt.Println(err)
		return
	}
	const bundle = 32 * 800_000_000_000
	prefix := netip.MustParsePrefix("10.1.0.0/16")
	for _, last := range []uint64{bundle, bundle * 3 / 4} {
		hops := []fib.Hop{{ID: 1, Share: bundle}, {ID: 2, Share: bundle}, {ID: 3, Share: bundle}, {ID: 4, Share: last}}
		if err := table.Program(prefix, hops); err != nil {
			fmt.Println(err)
			return
		}
		entry, _ := table.Lookup(prefix)
		fmt.Println("group", entry.Group, entry.Members)
	}
	audit := table.Audit()
	fmt.Printf("groups %d, peak %d of %d; members %d, peak %d\n", audit.Groups, audit.GroupsPeak, audit.GroupsLimit, audit.Members, audit.MembersPeak)
	// Output:
	// group 1 [{1 1} {2 1} {3 1} {4 1}]
	// group 2 [{1 4} {2 4} {3 4} {4 3}]
	// groups 1, peak 2 of 64; members 15, peak 19
}

func ExampleReduce() {
	shares := []uint64{100, 100, 100, 75}
	for _, alg := range []fib.Algorithm{fib.Equal, fib.Minimax} {
		for _, width := range []int{64, 12} {
			r, err := fib.Reduce(alg, shares, width)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s, width %d: %v, error %.3f, bound %.3f\n", alg, width, r.Weights, r.Error, fib.Bound(alg, shares, width))
		}
	}
	// Output:
	// equal, width 64: [1 1 1 1], error 0.250, bound 0.250
	// equal, width 12: [1 1 1 1], error 0.250, bound 0.250
	// minimax, width 64: [4 4 4 3], error 0.000, bound 0.000
	// minimax, width 12: [3 3 3 2], error 0.100, bound 0.250
}
