package topologies

import (
	"math/rand"
	"net/netip"
	"testing"
)

func TestCoveredCountsWhatSpecificsLists(t *testing.T) {
	some := 0
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		top := &Topology{}
		for range r.Intn(60) {
			a := netip.AddrFrom4([4]byte{10, byte(r.Intn(3)), byte(r.Intn(2) * 128), 0})
			if r.Intn(2) == 0 {
				a = netip.AddrFrom16([16]byte{0xfd, byte(r.Intn(3)), byte(r.Intn(2) * 128)})
			}
			top.Prefixes = append(top.Prefixes, Prefix{Prefix: netip.PrefixFrom(a, r.Intn(26)).Masked()})
		}
		all := newCovered(top)
		for i, p := range top.Prefixes {
			got, want := all.by(p.Prefix), len(top.Specifics(i))
			if got != want {
				t.Fatalf("seed %d: %v: got %d more-specifics, want %d", seed, p.Prefix, got, want)
			}
			some = max(some, want)
		}
	}
	if some < 10 {
		t.Errorf("got at most %d more-specifics: the test shows nothing", some)
	}
}

// The most that can be: all more-specifics, all the capacity behind them.
func TestAggregatesAtTheLimitAreTaken(t *testing.T) {
	s := Shape{
		Name: "limit", Regions: 2, Planes: 2, Fabrics: 2, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: Link{Members: 8, Length: 300}, EdgeBag: Link{Members: 16, Length: 3000}, BagBag: Link{Members: 8, Length: 80_000},
		SpineUnits: 1, EdgeUnits: 1, BagUnits: 1, RackUnits: 1, HubUnits: 1, BackboneUnits: 1,
		FabricAggregate: &Aggregate{By: ByCapacity, Announce: 12_800e9, Withdraw: 1},
		RegionAggregate: &Aggregate{By: BySupporting, Announce: 6, Withdraw: 1},
	}
	top, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(top); err != nil {
		t.Error(err)
	}
	for i, p := range top.Prefixes {
		if p.Class == "region" {
			top.Prefixes[i].Aggregate.Announce++
			if err := Validate(top); err == nil {
				t.Errorf("%v: got no error, want that 7 of 6 are refused", p.Prefix)
			}
			return
		}
	}
}

// Half of the prefixes of this network are aggregates: looking through all
// prefixes for each would take over a billion steps.
func BenchmarkValidateManyAggregates(b *testing.B) {
	top, err := Preset("prometheus-mini")
	if err != nil {
		b.Fatal(err)
	}
	top.Prefixes = nil
	for i := range 18_000 {
		a := netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 0})
		origins := []string{top.Devices[0].Name}
		top.Prefixes = append(top.Prefixes,
			Prefix{Prefix: netip.PrefixFrom(a, 24), Origins: origins, Aggregate: &Aggregate{By: BySupporting, Announce: 1, Withdraw: 1}},
			Prefix{Prefix: netip.PrefixFrom(a, 25), Origins: origins})
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(top); err != nil {
			b.Fatal(err)
		}
	}
}
