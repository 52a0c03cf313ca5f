package speakers_test

import (
	"testing"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

func TestExportIsValleyFree(t *testing.T) {
	all := []int32{spine2, spine1, bag8, edge5}
	spines := []int32{spine2, spine1}
	cases := []struct {
		name    string
		prefix  int32
		inputs  []speakers.Input
		down    bool
		hearers []int32
	}{
		{"what was learned from below goes everywhere, but not back", 0,
			[]speakers.Input{announce(spine1, route(1, 201, 7))}, false, []int32{spine2, bag8, edge5}},
		{"what was learned from above goes down", 0, []speakers.Input{announce(bag8, route(1, 208, 7))}, true, spines},
		{"what was learned from the same tier goes down", 0, []speakers.Input{announce(edge5, route(1, 205, 7))}, true, spines},
		{"what is one's own goes everywhere", 2, []speakers.Input{originate}, false, all},
		{"nothing goes to a device whose ASN is in the told path", 0,
			[]speakers.Input{announce(spine1, route(1, 201, 208, 7))}, false, []int32{spine2, edge5}},
		{"also on the way down", 0, []speakers.Input{announce(bag8, route(1, 208, 202, 7))}, true, []int32{spine1}},
		{"an ASN in the path of another member does not matter", 0,
			[]speakers.Input{announce(spine1, route(1, 201, 7)), announce(spine2, route(1, 202, 205))}, false, []int32{spine2, bag8, edge5}},
		{"the scope is that of the member whose path is told", 0,
			[]speakers.Input{announce(edge5, route(1, 205, 7)), announce(bag8, route(1, 208, 7)), announce(spine2, route(1, 202, 7))},
			false, []int32{spine1, bag8, edge5}},
		{"nothing is told without a route", 0, nil, false, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			core := fed(t, edge(), c.inputs...)
			told := core.Decision(c.prefix).Told
			var got []int32
			for _, bundle := range all {
				if core.Exports(bundle, told) {
					got = append(got, bundle)
				}
			}
			same(t, "hearers", got, c.hearers)
			if told.Down != c.down {
				t.Errorf("down: got %v, want %v", told.Down, c.down)
			}
			if core.Exports(9, told) {
				t.Errorf("bundle 9: got told over it, want never: it is another speaker's")
			}
		})
	}
}

// Every pair of tiers between which a route can be handed on.
func TestScopeFollowsTheTiers(t *testing.T) {
	const fromBundle, toBundle = 1, 2
	for own := topologies.Spine; own <= topologies.Backbone; own++ {
		for sender := topologies.Spine; sender <= topologies.Backbone; sender++ {
			for hearer := topologies.Spine; hearer <= topologies.Backbone; hearer++ {
				core := fed(t, speakers.Config{ASN: 1, Role: own, Prefixes: 1, Sessions: []speakers.Session{
					{Bundle: fromBundle, Neighbor: 1, NeighborASN: 2, NeighborRole: sender, Capacity: unit},
					{Bundle: toBundle, Neighbor: 2, NeighborASN: 3, NeighborRole: hearer, Capacity: unit},
				}}, announce(fromBundle, route(1, 2)))
				got := core.Exports(toBundle, core.Decision(0).Told)
				if want := sender < own || hearer < own; got != want {
					t.Errorf("%v hears from %v, tells %v: got %v, want %v", own, sender, hearer, got, want)
				}
			}
		}
	}
}
