package topologies

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// small is a shape with one of everything that can differ.
func small() Shape {
	return Shape{
		Name: "small", Regions: 2, Planes: 2, Fabrics: 2, Spines: 1, Kind: "nsf", Speed: 400e9,
		SpineEdge: Link{Members: 2, Length: 100}, EdgeBag: Link{Members: 4, Length: 2000}, BagBag: Link{Members: 8, Length: 50_000},
		SpineUnits: 1, EdgeUnits: 2, BagUnits: 3,
	}
}

func generate(t *testing.T, s Shape) *Topology {
	t.Helper()
	top, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestGenerateKeepsTheDocumentedOrder(t *testing.T) {
	top := generate(t, small())
	var got []string
	for _, d := range top.Devices {
		got = append(got, d.Name)
	}
	for _, b := range top.Bundles {
		got = append(got, b.Name)
	}
	for _, p := range top.Prefixes {
		got = append(got, p.Class+" "+p.Prefix.String()+" "+strings.Join(p.Origins, ","))
	}
	want := strings.Split(strings.TrimSpace(`
r1-bag1
r1-bag2
r1-f1-e1
r1-f1-e2
r1-f1-s1
r1-f2-e1
r1-f2-e2
r1-f2-s1
r2-bag1
r2-bag2
r2-f1-e1
r2-f1-e2
r2-f1-s1
r2-f2-e1
r2-f2-e2
r2-f2-s1
r1-f1-s1--r1-f1-e1
r1-f1-s1--r1-f1-e2
r1-f1-e1--r1-bag1
r1-f1-e2--r1-bag2
r1-f2-s1--r1-f2-e1
r1-f2-s1--r1-f2-e2
r1-f2-e1--r1-bag1
r1-f2-e2--r1-bag2
r2-f1-s1--r2-f1-e1
r2-f1-s1--r2-f1-e2
r2-f1-e1--r2-bag1
r2-f1-e2--r2-bag2
r2-f2-s1--r2-f2-e1
r2-f2-s1--r2-f2-e2
r2-f2-e1--r2-bag1
r2-f2-e2--r2-bag2
r1-bag1--r2-bag1
r1-bag2--r2-bag2
spine 10.1.0.0/24 r1-f1-s1
fabric 10.1.0.0/20 r1-f1-s1
spine 10.1.16.0/24 r1-f2-s1
fabric 10.1.16.0/20 r1-f2-s1
region 10.1.0.0/16 r1-f1-s1,r1-f2-s1
spine 10.2.0.0/24 r2-f1-s1
fabric 10.2.0.0/20 r2-f1-s1
spine 10.2.16.0/24 r2-f2-s1
fabric 10.2.16.0/20 r2-f2-s1
region 10.2.0.0/16 r2-f1-s1,r2-f2-s1
`), "\n")
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestGenerateFillsInEveryField(t *testing.T) {
	top := generate(t, small())
	x := top.Index()
	devices := []Device{
		{Name: "r2-bag1", Role: Bag, Region: "r2", Plane: 1, ASN: 4200002000, ASIC: "jericho3", Units: 3, Hall: "r2-bag-a", Power: "r2-a", Ports: 432, LineCards: 12},
		{Name: "r2-f1-e2", Role: Edge, Region: "r2", Fabric: "r2-f1", Kind: "nsf", Plane: 2, ASN: 4200002001, ASIC: "jericho3", Units: 2, Hall: "r2-f1", Power: "r2-b", Ports: 432, LineCards: 12},
		{Name: "r2-f2-s1", Role: Spine, Region: "r2", Fabric: "r2-f2", Kind: "nsf", ASN: 4200002117, ASIC: "tomahawk5", Units: 1, Hall: "r2-f2", Power: "r2-a"},
	}
	for _, want := range devices {
		if got := top.Devices[x.Device[want.Name]]; got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	bundles := []Bundle{
		{Name: "r1-f2-s1--r1-f2-e2", A: "r1-f2-s1", B: "r1-f2-e2", Members: 2, Speed: 400e9, Length: 100},
		{Name: "r1-f2-e2--r1-bag2", A: "r1-f2-e2", B: "r1-bag2", Members: 4, Speed: 400e9, Length: 2000},
		{Name: "r1-bag2--r2-bag2", A: "r1-bag2", B: "r2-bag2", Members: 8, Speed: 400e9, Length: 50_000, Route: "r1-r2-b"},
	}
	for _, want := range bundles {
		if got := top.Bundles[x.Bundle[want.Name]]; got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestSpreadJoinsTheFollowingPlanesAndWraps(t *testing.T) {
	s := small()
	s.Planes = 3
	for spread, want := range map[int][]string{
		0: {"r1-bag1--r2-bag1", "r1-bag2--r2-bag2", "r1-bag3--r2-bag3"},
		1: {"r1-bag1--r2-bag1", "r1-bag2--r2-bag2", "r1-bag3--r2-bag3"},
		2: {"r1-bag1--r2-bag1", "r1-bag1--r2-bag2", "r1-bag2--r2-bag2", "r1-bag2--r2-bag3", "r1-bag3--r2-bag3", "r1-bag3--r2-bag1"},
	} {
		s.Spread = spread
		top := generate(t, s)
		var got []string
		for _, b := range top.Bundles {
			if top.BundleClass(b) == "bag-bag" {
				got = append(got, b.Name)
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("spread %d: got (-) want (+):\n%s", spread, diff)
		}
	}
}

func TestASNsArePerGroup(t *testing.T) {
	for _, name := range Presets() {
		asns, groups := map[string]uint32{}, map[uint32]string{}
		top, racked := preset(t, name), map[string]bool{}
		for _, d := range top.Devices {
			racked[d.Fabric] = racked[d.Fabric] || d.Role == Rack
		}
		group := func(d Device) string {
			switch {
			case d.Role == Bag, d.Role == Edge, d.Role >= Hub, d.Role == Spine && racked[d.Fabric]:
				return d.Region + d.Fabric + d.Role.String()
			}
			return d.Name
		}
		for _, d := range top.Devices {
			g := group(d)
			if asn, ok := asns[g]; ok && asn != d.ASN {
				t.Errorf("%s: device %q: got ASN %d, want its group's %d", name, d.Name, d.ASN, asn)
			}
			if other, ok := groups[d.ASN]; ok && other != g {
				t.Errorf("%s: groups %q and %q share ASN %d", name, other, g, d.ASN)
			}
			if d.ASN < 4_200_000_000 || d.ASN > 4_294_967_294 {
				t.Errorf("%s: device %q: got ASN %d, want a private one of 4 bytes", name, d.Name, d.ASN)
			}
			asns[g], groups[d.ASN] = d.ASN, g
		}
	}
}

// randomShape is within all limits and small.
func randomShape(seed int64) Shape {
	r := rand.New(rand.NewSource(seed))
	link := func() Link { return Link{Members: 1 + r.Intn(maxMembers), Length: r.Intn(maxLength)} }
	s := Shape{
		Name: fmt.Sprintf("shape-%d", r.Intn(1000)), Regions: 1 + r.Intn(4), Planes: 1 + r.Intn(5), Fabrics: 1 + r.Intn(4), Spines: 1 + r.Intn(4),
		Kind: kinds[r.Intn(3)], Speed: speeds[r.Intn(len(speeds))],
		SpineEdge: link(), EdgeBag: link(), BagBag: link(),
		SpineUnits: 1 + r.Intn(40), EdgeUnits: 1000 + r.Intn(40), BagUnits: 1000 + r.Intn(40),
	}
	s.Spread = r.Intn(s.Planes + 1)
	return s
}

// Generate need not ask Validate, because this holds.
func TestGeneratedTopologiesAreValidAndHaveTheirCounts(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("valid, with the counts that the formula says", prop.ForAll(func(seed int64) string {
		s := randomShape(seed)
		top, err := Generate(s)
		if err != nil {
			return err.Error()
		}
		if err := Validate(top); err != nil {
			return err.Error()
		}
		fabrics := s.Regions * s.Fabrics
		pairs := s.Regions * (s.Regions - 1) / 2
		got := [3]int{len(top.Devices), len(top.Bundles), len(top.Prefixes)}
		want := [3]int{
			s.Regions*s.Planes + fabrics*(s.Planes+s.Spines),
			fabrics*s.Planes*(s.Spines+1) + pairs*s.Planes*max(s.Spread, 1),
			fabrics*(s.Spines+1) + s.Regions,
		}
		if got != want {
			return fmt.Sprintf("%+v: got %v, want %v", s, got, want)
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
}

// The largest shape of the addressing scheme: every prefix lies in its
// fabric's and its region's, and those of the others do not.
func TestPrefixesNestAndNeverMeet(t *testing.T) {
	s := small()
	s.Regions, s.Fabrics, s.Spines, s.Planes = 255, 16, 16, 1
	if _, err := Generate(s); err == nil {
		t.Fatal("got 255 x 16 x 17 devices, want them refused as too many")
	}
	s.Regions, s.BagUnits = 200, 4
	top := generate(t, s)
	byClass := map[string][]Prefix{}
	for _, p := range top.Prefixes {
		byClass[p.Class] = append(byClass[p.Class], p)
	}
	for _, class := range []string{"spine", "fabric", "region"} {
		list := byClass[class]
		slices.SortFunc(list, func(a, b Prefix) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
		for i := 1; i < len(list); i++ {
			if list[i].Prefix.Overlaps(list[i-1].Prefix) {
				t.Fatalf("%s prefixes %v and %v overlap", class, list[i-1].Prefix, list[i].Prefix)
			}
		}
	}
	owner := map[string]map[string]Prefix{"fabric": {}, "region": {}}
	for _, class := range []string{"fabric", "region"} {
		for _, p := range byClass[class] {
			for _, o := range p.Origins {
				owner[class][o] = p
			}
		}
	}
	for _, p := range byClass["spine"] {
		fabric, region := owner["fabric"][p.Origins[0]].Prefix, owner["region"][p.Origins[0]].Prefix
		if !fabric.Contains(p.Prefix.Addr()) || !region.Contains(fabric.Addr()) || fabric.Bits() != 20 || region.Bits() != 16 {
			t.Fatalf("%v: got fabric %v and region %v, want a /20 and a /16 that hold it", p.Prefix, fabric, region)
		}
	}
}

func TestShapesThatDoNotFitAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Shape)
		want   string
	}{
		{"no name", func(s *Shape) { s.Name = "" }, `topology "": name "": want letters, digits, '-', '_' or '.'`},
		{"no region", func(s *Shape) { s.Regions = 0 }, `topology "small": regions 0: want 1 to 255 (region r has 10.r.0.0/16)`},
		{"too many regions", func(s *Shape) { s.Regions = 256 }, `topology "small": regions 256: want 1 to 255 (region r has 10.r.0.0/16)`},
		{"no plane", func(s *Shape) { s.Planes, s.Spread = 0, 1 }, `topology "small": planes 0: want 1 to 65000`},
		{"too many fabrics", func(s *Shape) { s.Fabrics = 17 }, `topology "small": fabrics 17: want 1 to 16 (a /16 holds 2^(20-16) = 16 /20s)`},
		{"too many spines", func(s *Shape) { s.Spines = 257 }, `topology "small": spines 257: want 1 to 256 (a /20 holds 2^(28-20) = 256 /28s)`},
		{"spread beyond the planes", func(s *Shape) { s.Spread = 3 }, `topology "small": spread 3: want 0 to 2 (at most the planes)`},
		{"unknown kind", func(s *Shape) { s.Kind = "xsf" }, `topology "small": kind "xsf": want one of "dsf", "nsf", "fpf", "zone"`},
		{"unknown plan", func(s *Shape) { s.ASN = 7 }, `topology "small": asn ASNPlan(7): want per-group, per-plane, unique`},
		{"unreachable speed", func(s *Shape) { s.Speed = 300e9 }, `topology "small": speed 300G: ` + wantSpeed},
		{"no members", func(s *Shape) { s.SpineEdge.Members, s.EdgeBag.Members = 0, 0 }, `topology "small": bundles.spine-edge.members 0: want 1 to 4096`},
		{"negative length", func(s *Shape) { s.BagBag.Length = -1 }, `topology "small": bundles.bag-bag.length -1: want 0 to 5000000 metres`},
		{"no units", func(s *Shape) { s.BagUnits = 0 }, `topology "small": units.bag 0: want 1 to 10000`},
		{"too many devices", func(s *Shape) { s.Regions, s.Planes, s.Fabrics = 100, 100, 16 },
			`topology "small": planes 100: 100 regions x 100 bags + 1600 fabrics x 101 devices = 171600 devices: want at most 65000`},
		{"too many bundles", func(s *Shape) { s.Regions, s.Planes, s.Spread, s.Fabrics = 30, 1000, 1000, 1 },
			`topology "small": planes 1000: 435000000 between regions + 30 fabrics x 2000 bundles (backbone apart) = 435060000 bundles: want at most 1000000`},
		{"too much capacity in a device", func(s *Shape) {
			s.Planes, s.Spread, s.Speed, s.BagBag.Members = 100, 100, 3200e9, 4096
		}, `topology "small": speed 3.2T: a bag has 409608 members in all: want at most 1000P bits/s of capacity in a device`},
		{"several things at once", func(s *Shape) { s.Regions, s.Kind = 0, "" },
			`topology "small": regions 0: want 1 to 255 (region r has 10.r.0.0/16)` + "\n" + `topology "small": kind "": want one of "dsf", "nsf", "fpf", "zone"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := small()
			tt.change(&s)
			_, err := Generate(s)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestOneRegionNeedsNoBagBagLink(t *testing.T) {
	s := small()
	s.Regions, s.BagBag = 1, Link{}
	if err := Validate(generate(t, s)); err != nil {
		t.Error(err)
	}
}

func TestPlansGiveTheASNsThatTheySay(t *testing.T) {
	s := Shape{
		Name: "small", Regions: 2, Planes: 2, Fabrics: 2, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: Link{Members: 1}, EdgeBag: Link{Members: 1}, BagBag: Link{Members: 1}, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
	}
	for plan, want := range map[ASNPlan]int{PerGroup: 2 + 4 + 8, PerPlane: 4 + 8 + 8, Unique: 4 + 8 + 8} {
		s.ASN = plan
		topology, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		asns := map[uint32]bool{}
		for _, d := range topology.Devices {
			asns[d.ASN] = true
		}
		if len(asns) != want {
			t.Errorf("%v: %d ASNs, want %d", plan, len(asns), want)
		}
		if got, ok := ParseASNPlan(plan.String()); !ok || got != plan {
			t.Errorf("%v: parsed as %v, %v", plan, got, ok)
		}
	}
}
