package topologies

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestPrefixesHaveTheFamiliesThatTheShapeSays(t *testing.T) {
	s := small()
	s.Regions, s.Backbones, s.BagBackbone = 1, 1, Link{Members: 1}
	for addressing, want := range map[Addressing]string{
		IPv4: "10.1.0.0/24 10.1.0.0/20 10.1.16.0/24 10.1.16.0/20 10.1.0.0/16 0.0.0.0/0",
		IPv6: "fd00:ba9:1::/64 fd00:ba9:1::/56 fd00:ba9:1:100::/64 fd00:ba9:1:100::/56 fd00:ba9:1::/48 ::/0",
		Dual: "10.1.0.0/24 fd00:ba9:1::/64 10.1.0.0/20 fd00:ba9:1::/56 10.1.16.0/24 fd00:ba9:1:100::/64 10.1.16.0/20 fd00:ba9:1:100::/56 " +
			"10.1.0.0/16 fd00:ba9:1::/48 0.0.0.0/0 ::/0",
	} {
		s.Addressing = addressing
		top := generate(t, s)
		var got []string
		for _, p := range top.Prefixes {
			got = append(got, p.Prefix.String())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v:\ngot  %s\nwant %s", addressing, text, want)
		}
		if err := Validate(top); err != nil {
			t.Errorf("%v: %v", addressing, err)
		}
	}
}

// The largest scheme in both families: what is inside nests, what is beside
// does not overlap.
func TestOwnersOfAFabricHaveRoomInItsPrefix(t *testing.T) {
	for _, owners := range []int{1, 16, 17, 46, 128, 256} {
		var list []netip.Prefix
		for _, fabric := range []int{1, 2, maxFabrics} {
			of := block{region: maxRegions, fabric: fabric}
			for n := 1; n <= owners; n++ {
				b := block{region: maxRegions, fabric: fabric, slot: n, slots: owners}
				for _, p := range [][2]netip.Prefix{{b.v4(), of.v4()}, {b.v6(), of.v6()}} {
					if p[0] != p[0].Masked() || !p[1].Contains(p[0].Addr()) || p[0].Bits() <= p[1].Bits() {
						t.Fatalf("%d owners: got %v, want it inside of %v", owners, p[0], p[1])
					}
					list = append(list, p[0])
				}
			}
		}
		slices.SortFunc(list, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
		for i := 1; i < len(list); i++ {
			if list[i].Overlaps(list[i-1]) {
				t.Fatalf("%d owners: %v and %v overlap", owners, list[i-1], list[i])
			}
		}
	}
}

// An aggregate of one family has the more-specifics of that family.
func TestAggregatesKeepToTheirFamily(t *testing.T) {
	s := small()
	s.Addressing, s.FabricAggregate = Dual, &Aggregate{By: BySupporting, Announce: 1, Withdraw: 1}
	top := generate(t, s)
	for i, p := range top.Prefixes {
		if p.Aggregate == nil {
			continue
		}
		for _, k := range top.Specifics(i) {
			if top.Prefixes[k].Prefix.Addr().Is4() != p.Prefix.Addr().Is4() {
				t.Errorf("%v: got more-specific %v", p.Prefix, top.Prefixes[k].Prefix)
			}
		}
	}
}

// Edges that announce their building's aggregate, and bags their region's, need
// not hear of each other: each has the prefix itself.
func TestAggregatesOfAGroupLeaveNobodyApart(t *testing.T) {
	for _, s := range []Shape{small(), nsf()} {
		s.FabricAggregate = &Aggregate{By: BySupporting, Announce: 1, Withdraw: 1}
		s.RegionAggregate = &Aggregate{By: ByCapacity, Announce: 2e12, Withdraw: 1e12, Suppress: true}
		if err := Validate(generate(t, s)); err != nil {
			t.Error(err)
		}
	}
}
