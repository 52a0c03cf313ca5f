package topologies

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestJoinsJoinTheRegionsThatTheyName(t *testing.T) {
	s := small()
	s.Regions = 3
	s.BagHub, s.HubBackbone = Link{Members: 4, Length: 6000}, Link{Members: 2, Length: 500_000}
	s.Joins = []Join{
		{Mode: Planar, Regions: []int{1, 2}},
		{Mode: HubAndSpoke, Width: 2, Lengths: []int{0, 0, 80_000}},
		{Mode: SpreadJoin, Width: 2, Regions: []int{1, 2}, Link: Link{Members: 1}},
	}
	s.Backbones = 1
	top := generate(t, s)
	x := top.Index()
	for device, want := range map[string]string{
		"r1-bag1":   "r1-f1-e1 r1-f2-e1 r2-bag1 hub1 hub2 r2-bag1 r2-bag2",
		"r3-bag2":   "r3-f1-e2 r3-f2-e2 hub1 hub2",
		"hub2":      "r1-bag1 r1-bag2 r2-bag1 r2-bag2 r3-bag1 r3-bag2 backbone1",
		"backbone1": "hub1 hub2",
	} {
		if got := strings.Join(neighbours(top, device), " "); got != want {
			t.Errorf("%s: got neighbours %s, want %s", device, got, want)
		}
	}
	for name, want := range map[string]string{
		"r1-bag1--r2-bag1": "8 50000 r1-r2-a", "r1-bag1--r2-bag1#2": "1 50000 r1-r2-a", "r1-bag1--r2-bag2": "1 50000 r1-r2-a",
		"r1-bag2--hub1": "4 6000 r1-hub-b", "r3-bag1--hub1": "4 80000 r3-hub-a", "hub1--backbone1": "2 500000 ",
	} {
		i, ok := x.Bundle[name]
		if !ok {
			t.Errorf("no bundle %q", name)
			continue
		}
		b := top.Bundles[i]
		if got := fmt.Sprintf("%d %d %s", b.Members, b.Length, b.Route); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	last := top.Prefixes[len(top.Prefixes)-1]
	if got := last.Class + " " + last.Prefix.String() + " " + strings.Join(last.Origins, " "); got != "default 0.0.0.0/0 backbone1" {
		t.Errorf("got last prefix %s, want the default route of the backbone", got)
	}
}

func TestAShapeThatLeavesFabricsApartIsRefusedByName(t *testing.T) {
	s := small()
	s.Regions, s.BagHub = 4, Link{Members: 4}
	for name, tt := range map[string]struct {
		joins []Join
		apart string // the fabric that cannot be heard of; empty: none
	}{
		"no join for a region":              {[]Join{{Mode: Planar, Regions: []int{1, 2, 3}}}, "r4-f1"},
		"one region on the hub for others":  {[]Join{{Mode: Planar, Regions: []int{1, 2}}, {Mode: HubAndSpoke, Width: 1, Regions: []int{2, 3, 4}}}, "r3-f1"},
		"a chain of pairs":                  {[]Join{{Mode: Planar, Regions: []int{1, 2}}, {Mode: Planar, Regions: []int{2, 3}}, {Mode: Planar, Regions: []int{3, 4}}}, "r3-f1"},
		"two hubs that do not meet":         {[]Join{{Mode: HubAndSpoke, Width: 1, Regions: []int{1, 2}}, {Mode: HubAndSpoke, Width: 1, Regions: []int{3, 4}}}, "r3-f1"},
		"planar, and the rest through hubs": {[]Join{{Mode: Planar, Regions: []int{1, 2}}, {Mode: HubAndSpoke, Width: 1}}, ""},
		"hubs by pairs":                     {[]Join{{Mode: HubAndSpoke, Width: 1, Regions: []int{1, 2, 3}}, {Mode: HubAndSpoke, Width: 1, Regions: []int{1, 2, 4}}, {Mode: Planar, Regions: []int{3, 4}}}, ""},
	} {
		s.Joins = tt.joins
		_, err := Generate(s)
		if tt.apart == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := fmt.Sprintf(`fabric "r1-f1" (device "r1-f1-s1") cannot hear of fabric %q`, tt.apart)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	// A backbone above two hubs brings together what they keep apart.
	s.Joins = []Join{{Mode: HubAndSpoke, Width: 1, Regions: []int{1, 2}}, {Mode: HubAndSpoke, Width: 1, Regions: []int{3, 4}}}
	s.Backbones, s.HubBackbone = 2, Link{Members: 1}
	if _, err := Generate(s); err != nil {
		t.Error(err)
	}
}

// wideShape has groups, joins and a backbone at random.
func wideShape(seed int64) Shape {
	r := rand.New(rand.NewSource(seed))
	s := randomShape(seed)
	link := func() Link {
		m := 1 + r.Intn(200)
		return Link{Members: m, Length: r.Intn(100_000), Sessions: r.Intn(min(m, 4) + 1)}
	}
	s.RackSpine, s.SpineEdge, s.SpineBag, s.BagBag, s.BagHub, s.HubBackbone, s.BagBackbone = link(), link(), link(), link(), link(), link(), link()
	s.EdgeBag = link()
	s.EdgeUnits, s.BagUnits, s.HubUnits, s.BackboneUnits = maxUnits, maxUnits, maxUnits, maxUnits
	s.ASN, s.Addressing, s.Backbones = ASNPlan(r.Intn(3)), Addressing(r.Intn(3)), r.Intn(3)
	for range r.Intn(3) {
		k := FabricGroup{Count: 1 + r.Intn(3), Kind: kinds[r.Intn(len(kinds))], Racks: r.Intn(3), Spines: 1 + r.Intn(20)}
		switch r.Intn(3) {
		case 0:
			k.Edges, k.Racks, k.Spines = AllSpinePlanes, 1+r.Intn(3), s.Planes*(1+r.Intn(3))
		case 1:
			k.Edges = AllPlanes
		}
		s.Groups = append(s.Groups, k)
	}
	if r.Intn(2) == 0 {
		s.Spread = 0
		for range 1 + r.Intn(3) {
			j := Join{Mode: JoinMode(r.Intn(3)), Width: 1 + r.Intn(s.Planes)}
			if r.Intn(3) == 0 && s.Regions > 2 {
				j.Regions = []int{1, 2 + r.Intn(s.Regions-1)}
			}
			s.Joins = append(s.Joins, j)
		}
		if s.Regions == 1 {
			s.Joins = []Join{{Mode: HubAndSpoke, Width: 2}}
		}
	}
	return s
}

// Whatever Generate accepts is valid and as large as it was said to be, and
// what it refuses leaves fabrics apart.
func TestWideShapesAreValidOrApart(t *testing.T) {
	good, apart := 0, 0
	parameters := gopter.DefaultTestParameters()
	parameters.MinSuccessfulTests = 300
	properties := gopter.NewProperties(parameters)
	properties.Property("valid or apart", prop.ForAll(func(seed int64) string {
		s := wideShape(seed)
		top, err := Generate(s)
		if err != nil {
			apart++
			if strings.Contains(err.Error(), "cannot hear of") && len(s.Joins) > 0 {
				return ""
			}
			return err.Error()
		}
		good++
		if err := Validate(top); err != nil {
			return err.Error()
		}
		if d, b := s.size(); d != len(top.Devices) || b != len(top.Bundles) {
			return fmt.Sprintf("got %d devices and %d bundles, said %d and %d", len(top.Devices), len(top.Bundles), d, b)
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
	if good == 0 || apart == 0 {
		t.Errorf("got %d good and %d apart, want both", good, apart)
	}
}
