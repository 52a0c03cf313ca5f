package speakers_test

import (
	"fmt"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// A bag hears one prefix from two edges. Then the bundle to the first edge
// loses a quarter of its 32 members: its share follows, and so does the value
// that the bag tells.
func Example() {
	const member = 800e9 // bits/s
	core := speakers.New(speakers.Config{
		ASN: 65000, Role: topologies.Bag, Prefixes: 1,
		Sessions: []speakers.Session{
			{Bundle: 0, Neighbor: 1, NeighborASN: 65001, NeighborRole: topologies.Edge, Capacity: 32 * member},
			{Bundle: 1, Neighbor: 2, NeighborASN: 65002, NeighborRole: topologies.Edge, Capacity: 32 * member},
		},
	})
	show := func(inputs ...speakers.Input) {
		effects, err := core.Step(0, inputs, nil)
		if err != nil {
			fmt.Println(err)
		}
		for _, e := range effects {
			switch e.Kind {
			case speakers.Program:
				fmt.Print("shares:")
				for _, h := range e.Hops {
					fmt.Printf(" %d", h.Share/member)
				}
				fmt.Println(" members")
			case speakers.Tell:
				// Float32 has no exact 64 x 800G.
				fmt.Printf("told: %.3f members, path %v\n", float64(linkbw.ToBits(e.Told.Value))/member, e.Told.Path)
			}
		}
	}

	edge := func(bundle int32, asn uint32) speakers.Input {
		return speakers.Input{Kind: speakers.Announce, Bundle: bundle, Route: &speakers.Route{
			Path: []uint32{asn, 64512}, Valued: true, Value: linkbw.FromBits(64 * member),
		}}
	}
	show(edge(0, 65001), edge(1, 65002))
	show(speakers.Input{Kind: speakers.Capacity, Bundle: 0, Capacity: 24 * member})
	// Output:
	// shares: 32 32 members
	// told: 64.000 members, path [65001 64512]
	// shares: 24 32 members
	// told: 56.000 members, path [65001 64512]
}
