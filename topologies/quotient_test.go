package topologies

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// prefixesToo lets cmp compare whole topologies.
var prefixesToo = cmpopts.EquateComparable(netip.Prefix{})

func deviceNames(t *Topology) string {
	var names []string
	for _, d := range t.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

// A shape's quotient is the same shape with at most three fabrics and two
// planes: what Generate makes of that, but for the fields that say which is meant.
func TestTheQuotientOfAShapeIsTheSmallerShape(t *testing.T) {
	smaller := 0
	properties := gopter.NewProperties(nil)
	properties.Property("as generated", prop.ForAll(func(seed int64) string {
		s := randomShape(seed)
		full, err := Generate(s)
		if err != nil {
			return err.Error()
		}
		q := Quotient(full)
		if err := Validate(q); err != nil {
			return err.Error()
		}
		if again := Quotient(q); !cmp.Equal(again, q, prefixesToo) {
			return "the quotient of the quotient is another: " + cmp.Diff(again, q, prefixesToo)
		}
		s.Fabrics = min(s.Fabrics, 3)
		switch s.Spread {
		case 0, 1: // planar: each plane by itself
			s.Planes = min(s.Planes, 2)
		case s.Planes: // full spread: each plane with all
			s.Planes = min(s.Planes, 2)
			s.Spread = s.Planes
		default:
			// A partial spread keeps its planes, unless one region leaves
			// nothing to spread over.
			if s.Regions == 1 {
				s.Planes, s.Spread = min(s.Planes, 2), 0
			}
		}
		if s.Name = q.Name; q.Name != full.Name {
			smaller++
		}
		want, err := Generate(s)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(q, want, prefixesToo, cmp.Comparer(sameBundles))
	}, gen.Int64()))
	properties.TestingRun(t)
	if smaller == 0 {
		t.Error("no shape had a smaller one")
	}
}

// sameBundles compares bundles as sets: over a full spread of two planes the
// order of a larger network differs from that of a small one.
func sameBundles(a, b []Bundle) bool {
	byName := func(x, y Bundle) int { return strings.Compare(x.Name, y.Name) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}

func TestWhatDiffersIsNotInterchangeable(t *testing.T) {
	s := Shape{
		Name: "full", Regions: 2, Planes: 4, Fabrics: 5, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: Link{Members: 8}, EdgeBag: Link{Members: 8}, BagBag: Link{Members: 8}, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
	}
	device := func(name string, change func(*Device)) func(*Topology) {
		return func(t *Topology) { change(&t.Devices[t.Index().Device[name]]) }
	}
	bundle := func(name string, change func(*Bundle)) func(*Topology) {
		return func(t *Topology) { change(&t.Bundles[t.Index().Bundle[name]]) }
	}
	const plain = "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 | 1 2"
	for _, c := range []struct {
		name   string
		change func(*Topology)
		want   string
	}{
		{"nothing", func(*Topology) {}, plain},
		{"names", func(t *Topology) {
			for i := range t.Devices {
				t.Devices[i].Hall, t.Devices[i].Power = t.Devices[i].Name, t.Devices[i].Name
			}
			for i := range t.Bundles {
				t.Bundles[i].Route = fmt.Sprint("route", i)
			}
		}, plain},
		{"a fabric's ASN", func(t *Topology) {
			for i := range t.Devices {
				if d := &t.Devices[i]; d.Fabric == "r1-f4" && d.Role == Edge {
					d.ASN = 4_250_000_000
				}
			}
		}, plain},
		{"a fabric's kind", func(t *Topology) {
			for i := range t.Devices {
				if d := &t.Devices[i]; d.Fabric == "r1-f4" {
					d.Kind = "nsf"
				}
			}
		}, "r1-f1 r1-f2 r1-f3 r1-f4 r2-f1 r2-f2 r2-f3 | 1 2"},
		{"a spine's ASIC", device("r1-f4-s1", func(d *Device) { d.ASIC = "tomahawk6" }), "r1-f1 r1-f2 r1-f3 r1-f4 r2-f1 r2-f2 r2-f3 | 1 2"},
		{"a fabric's edge-bag members on all planes", func(t *Topology) {
			for i := range t.Bundles {
				if b := &t.Bundles[i]; strings.HasPrefix(b.Name, "r2-f5-e") {
					b.Members = 4
				}
			}
		}, "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 r2-f5 | 1 2"},
		{"one edge-bag bundle's members", bundle("r2-f5-e4--r2-bag4", func(b *Bundle) { b.Members = 4 }), "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 r2-f5 | 1 2 4"},
		{"a bag-bag bundle's length", bundle("r1-bag3--r2-bag3", func(b *Bundle) { b.Length = 90_000 }), "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 | 1 2 3"},
		{"a bag's units", device("r1-bag4", func(d *Device) { d.Units = 2 }), "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 | 1 2 4"},
		{"a bag's ASN of its own", device("r1-bag3", func(d *Device) { d.ASN = 4_250_000_000 }), "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 | 1 2 3"},
		{"a fabric's prefix", func(t *Topology) {
			for i := range t.Prefixes {
				if p := &t.Prefixes[i]; p.Class == "fabric" && p.Origins[0] == "r1-f4-s1" {
					p.Bandwidth = 1e12
				}
			}
		}, "r1-f1 r1-f2 r1-f3 r1-f4 r2-f1 r2-f2 r2-f3 | 1 2"},
		{"a bundle across planes", func(t *Topology) {
			t.Bundles = append(t.Bundles, Bundle{Name: "across", A: "r1-bag3", B: "r2-bag4", Members: 8, Speed: 800e9})
		}, "r1-f1 r1-f2 r1-f3 r2-f1 r2-f2 r2-f3 | 1 2 3 4"},
	} {
		full := generate(t, s)
		c.change(full)
		if err := Validate(full); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		q := Quotient(full)
		if err := Validate(q); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var fabrics, planes []string
		for _, d := range q.Devices {
			if d.Fabric != "" && !slices.Contains(fabrics, d.Fabric) {
				fabrics = append(fabrics, d.Fabric)
			}
			if d.Role == Bag && d.Region == "r1" {
				planes = append(planes, fmt.Sprint(d.Plane))
			}
		}
		if got := strings.Join(fabrics, " ") + " | " + strings.Join(planes, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheQuotientSharesNothingAndChangesNothing(t *testing.T) {
	s := Shape{
		Name: "full", Regions: 2, Planes: 3, Fabrics: 4, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: Link{Members: 8}, EdgeBag: Link{Members: 8}, BagBag: Link{Members: 8}, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
		FabricAggregate: &Aggregate{By: BySupporting, Announce: 2, Withdraw: 1}, RegionAggregate: &Aggregate{By: ByCapacity, Announce: 7_000_000_000_001, Withdraw: 1},
	}
	full := generate(t, s)
	q := Quotient(full)
	q.Devices[0].Name, q.Bundles[0].Name = "x", "x"
	for i := range q.Prefixes {
		q.Prefixes[i].Origins[0] = "x"
		if q.Prefixes[i].Aggregate != nil {
			q.Prefixes[i].Aggregate.By = "x"
		}
	}
	if diff := cmp.Diff(full, generate(t, s), prefixesToo); diff != "" {
		t.Errorf("the topology changed:\n%s", diff)
	}
}

// Of a region's more-specifics three in four stay, of a fabric's all.
func TestThresholdsScaleWithTheMoreSpecifics(t *testing.T) {
	s := Shape{
		Name: "full", Regions: 2, Planes: 3, Fabrics: 4, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: Link{Members: 8}, EdgeBag: Link{Members: 8}, BagBag: Link{Members: 8}, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
		FabricAggregate: &Aggregate{By: BySupporting, Announce: 2, Withdraw: 1}, RegionAggregate: &Aggregate{By: ByCapacity, Announce: 7_000_000_000_001, Withdraw: 1},
	}
	q := Quotient(generate(t, s))
	if got, want := deviceNames(q), "r1-bag1 r1-bag2 r1-f1-e1"; !strings.HasPrefix(got, want) {
		t.Fatalf("got %s, want %s ...", got, want)
	}
	want := map[string]Aggregate{
		"fabric": {By: BySupporting, Announce: 2, Withdraw: 1},
		"region": {By: ByCapacity, Announce: 5_250_000_000_001, Withdraw: 1},
	}
	for _, p := range q.Prefixes {
		if p.Aggregate != nil && *p.Aggregate != want[p.Class] {
			t.Errorf("%s: got %+v, want %+v", p.Class, *p.Aggregate, want[p.Class])
		}
	}
}
