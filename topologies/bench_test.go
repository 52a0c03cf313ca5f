package topologies

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
)

// petabitLike is a planar network of two regions with the given planes,
// buildings a region and spines a building, and the bundles of a petabit
// network: 1, 46 and 200 members. Its addresses have room for 256 spines a
// building, which those of Generate have not.
func petabitLike(tb testing.TB, planes, buildings, spines int) *Topology {
	tb.Helper()
	name := fmt.Sprintf
	t := &Topology{Name: name("petabit-%d-%d-%d", planes, buildings, spines)}
	bundle := func(a, b string, members, metres int) {
		t.Bundles = append(t.Bundles, Bundle{Name: a + "--" + b, A: a, B: b, Members: members, Speed: 800e9, Length: metres})
	}
	block := func(r, f, s, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(10 + r), byte(f), byte(s), 0}), bits).Masked()
	}
	for r := 1; r <= 2; r++ {
		d := Device{Role: Bag, Region: name("r%d", r), ASIC: "jericho3", Units: 1, ASN: uint32(4_200_000_000 + r*100_000)}
		for p := 1; p <= planes; p++ {
			d.Name, d.Plane = name("r%d-bag%d", r, p), p
			t.Devices = append(t.Devices, d)
		}
		var all []string
		for f := 1; f <= buildings; f++ {
			d := Device{Region: d.Region, Fabric: name("r%d-f%d", r, f), Kind: "dsf", Units: 1}
			for p := 1; p <= planes; p++ {
				d.Name, d.Role, d.Plane, d.ASIC, d.ASN = name("r%d-f%d-e%d", r, f, p), Edge, p, "jericho3", uint32(4_200_000_000+r*100_000+f)
				t.Devices = append(t.Devices, d)
				bundle(d.Name, name("r%d-bag%d", r, p), 46, 3000)
			}
			var own []string
			for s := 1; s <= spines; s++ {
				d.Name, d.Role, d.Plane, d.ASIC, d.ASN = name("r%d-f%d-s%d", r, f, s), Spine, 0, "tomahawk5", uint32(4_200_000_000+r*100_000+f*300+s)
				t.Devices = append(t.Devices, d)
				own = append(own, d.Name)
				t.Prefixes = append(t.Prefixes, Prefix{Prefix: block(r, f, s-1, 24), Class: "spine", Origins: []string{d.Name}})
				for p := 1; p <= planes; p++ {
					bundle(d.Name, name("r%d-f%d-e%d", r, f, p), 1, 300)
				}
			}
			t.Prefixes = append(t.Prefixes, Prefix{Prefix: block(r, f, 0, 16), Class: "fabric", Origins: own})
			all = append(all, own...)
		}
		t.Prefixes = append(t.Prefixes, Prefix{Prefix: block(r, 0, 0, 8), Class: "region", Origins: all})
	}
	for p := 1; p <= planes; p++ {
		bundle(name("r%d-bag%d", 1, p), name("r%d-bag%d", 2, p), 200, 80_000)
	}
	return t
}

func TestThePetabitLikeNetworkIsValidAndHasItsCounts(t *testing.T) {
	top := petabitLike(t, 100, 5, 46)
	if err := Validate(top); err != nil {
		t.Fatal(err)
	}
	if len(top.Devices) != 1660 || len(top.Bundles) != 47_100 {
		t.Errorf("got %d devices and %d bundles, want 1,660 and 47,100", len(top.Devices), len(top.Bundles))
	}
	ports := top.Index().Full[top.Index().Device["r1-bag1"]] / 800e9
	if ports != 430 {
		t.Errorf("got %d ports of a bag, want 430", ports)
	}
	if got := Quotient(top); len(got.Devices) != 2*(2+3*(2+46)) {
		t.Errorf("got %d devices in the quotient, want two planes and three buildings of each region", len(got.Devices))
	}
}

// What Validate allocates says how much it does, and unlike its time is the
// same on every machine.
func TestValidationAllocatesInProportionToBundles(t *testing.T) {
	small, large := petabitLike(t, 25, 5, 46), petabitLike(t, 100, 5, 46)
	bytes := func(top *Topology) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Validate(top); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(top.Bundles))
	}
	few, many := bytes(small), bytes(large)
	if many > 1.1*few {
		t.Errorf("got %.0f bytes a bundle with %d bundles and %.0f with %d, want no more", few, len(small.Bundles), many, len(large.Bundles))
	}
}

// BenchmarkValidate grows the planes first, so that the originating devices stay
// the 460 that fit one chunk of hearing, and then the buildings and so the
// originating devices.
func BenchmarkValidate(b *testing.B) {
	for _, n := range []struct{ planes, buildings, spines int }{
		{25, 5, 46}, {50, 5, 46}, {100, 5, 46}, {200, 5, 46}, {400, 5, 46},
		{100, 10, 46}, {100, 20, 46}, {100, 40, 46},
	} {
		top := petabitLike(b, n.planes, n.buildings, n.spines)
		if err := Validate(top); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("planes=%d/buildings=%d/bundles=%d/originating=%d", n.planes, n.buildings, len(top.Bundles), 2*n.buildings*n.spines), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Validate(top); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(top.Bundles)), "ns/bundle")
		})
	}
}

// BenchmarkTakes makes an index of the domains of a petabit network and asks it
// for each kind of domain.
func BenchmarkTakes(b *testing.B) {
	top := petabitLike(b, 100, 5, 46)
	for i := range top.Devices {
		d := &top.Devices[i]
		d.Hall, d.Power, d.LineCards = d.Region, fmt.Sprintf("%s-%d", d.Region, d.Plane%2), 16
	}
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			top.DomainIndex()
		}
	})
	x := top.DomainIndex()
	for _, d := range []Domain{{HallDomain, "r1"}, {PlaneDomain, "r1/7"}, {LineCardDomain, "r1-bag7/3"}} {
		b.Run(d.Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Takes(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkQuotient makes 292 devices of the 1,660 of a petabit network.
func BenchmarkQuotient(b *testing.B) {
	top := petabitLike(b, 100, 5, 46)
	b.ReportAllocs()
	for b.Loop() {
		Quotient(top)
	}
}
