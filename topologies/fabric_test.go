package topologies

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// neighbours names the devices that a device has bundles with, in their order.
func neighbours(top *Topology, device string) (list []string) {
	x := top.Index()
	d := x.Device[device]
	for _, b := range x.Of[d] {
		list = append(list, top.Devices[x.Ends[b][0]+x.Ends[b][1]-d].Name)
	}
	return list
}

// nsf has spines of two spine planes that the bags of two planes join.
func nsf() Shape {
	s := small()
	s.Racks, s.Spines, s.Edges = 2, 4, AllSpinePlanes
	s.RackSpine, s.SpineBag = Link{Members: 3, Length: 50}, Link{Members: 5, Length: 900}
	return s
}

func TestEdgesMeetTheBagsAsTheDescriptionSays(t *testing.T) {
	for edges, want := range map[EdgeJoin]map[string]string{
		MatchingPlane: {
			"r1-f1-t2": "r1-f1-s1 r1-f1-s2 r1-f1-s3 r1-f1-s4",
			"r1-f1-s3": "r1-f1-t1 r1-f1-t2 r1-f1-e1 r1-f1-e2",
			"r1-f1-e2": "r1-f1-s1 r1-f1-s2 r1-f1-s3 r1-f1-s4 r1-bag2",
			"r1-bag2":  "r1-f1-e2 r1-f2-e2 r2-bag2",
		},
		AllSpinePlanes: {
			"r1-f1-t2": "r1-f1-s1 r1-f1-s2 r1-f1-s3 r1-f1-s4",
			"r1-f1-s3": "r1-f1-t1 r1-f1-t2 r1-bag1",
			"r1-f1-s4": "r1-f1-t1 r1-f1-t2 r1-bag2",
			"r1-bag2":  "r1-f1-s2 r1-f1-s4 r1-f2-s2 r1-f2-s4 r2-bag2",
		},
		AllPlanes: {
			"r1-f1-s3": "r1-f1-t1 r1-f1-t2 r1-bag1 r1-bag2",
			"r1-bag2":  "r1-f1-s1 r1-f1-s2 r1-f1-s3 r1-f1-s4 r1-f2-s1 r1-f2-s2 r1-f2-s3 r1-f2-s4 r2-bag2",
		},
	} {
		s := nsf()
		s.Edges = edges
		top := generate(t, s)
		for device, list := range want {
			if got := strings.Join(neighbours(top, device), " "); got != list {
				t.Errorf("%v: %s: got neighbours %s, want %s", edges, device, got, list)
			}
		}
	}
}

func TestAZoneHasNoEdgesUnlessItSaysSo(t *testing.T) {
	s := nsf()
	s.Kind, s.Edges = "zone", EdgesByKind
	for _, d := range generate(t, s).Devices {
		if d.Role == Edge {
			t.Fatalf("got edge %q in a zone", d.Name)
		}
	}
}

// The prefixes are originated by the lowest layer, an aggregate by the devices
// that meet the bags.
func TestPrefixesComeFromTheLowestLayer(t *testing.T) {
	s := nsf()
	s.FabricAggregate = &Aggregate{By: BySupporting, Announce: 2, Withdraw: 1}
	origins := map[string]string{}
	for _, p := range generate(t, s).Prefixes {
		origins[p.Class+" "+p.Prefix.String()] = strings.Join(p.Origins, " ")
	}
	for prefix, want := range map[string]string{
		"rack 10.1.17.0/24":   "r1-f2-t2",
		"fabric 10.1.16.0/20": "r1-f2-s1 r1-f2-s2 r1-f2-s3 r1-f2-s4",
		"region 10.1.0.0/16":  "r1-f1-t1 r1-f1-t2 r1-f2-t1 r1-f2-t2",
	} {
		if got := origins[prefix]; got != want {
			t.Errorf("%s: got origins %q, want %q", prefix, got, want)
		}
	}
}

// Members upwards are the fewest whose capacity is that below divided by the
// ratio.
func TestMembersFollowFromTheOversubscription(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("the fewest", prop.ForAll(func(seed int64) string {
		r := rand.New(rand.NewSource(seed))
		s := small()
		s.Spines, s.SpineEdge.Members, s.EdgeBag.Members = 1+r.Intn(16), 1+r.Intn(100), 0
		s.Oversubscription = float64(100+r.Intn(9900)) / 1000
		s.EdgeBag.Speed = speeds[6+r.Intn(4)]
		s.EdgeUnits, s.BagUnits = maxUnits, maxUnits
		top, err := Generate(s)
		if err != nil {
			return "" // more members than a bundle has
		}
		below := float64(s.Spines * s.SpineEdge.Members * 400)
		for _, b := range top.Bundles {
			if top.BundleClass(b) != "edge-bag" {
				continue
			}
			each := float64(b.Speed) / 1e9
			if is, fewer := below/(float64(b.Members)*each), below/(float64(b.Members-1)*each); is > s.Oversubscription*1.0000001 || b.Members > 1 && fewer <= s.Oversubscription*0.9999999 {
				return fmt.Sprintf("%d members for %g G below at %g: got %g:1, one fewer %g:1", b.Members, below, s.Oversubscription, is, fewer)
			}
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
}

func TestAKindHasItsPublishedOversubscription(t *testing.T) {
	for kind, want := range map[string]int{"dsf": 100, "nsf": 91, "fpf": 100} { // 450 / 4.5, 450 / 4.98
		s := small()
		s.Kind, s.SpineEdge.Members, s.EdgeBag.Members = kind, 450, 0
		top := generate(t, s)
		if got := top.Bundles[top.Index().Bundle["r1-f1-e1--r1-bag1"]].Members; got != want {
			t.Errorf("%s: got %d members, want %d", kind, got, want)
		}
	}
}

func TestGroupsKeepWhatTheyDoNotSayFromTheShape(t *testing.T) {
	s := small()
	s.ASICs = PerRole[[]string]{Spine: []string{"x"}, Bag: []string{"a", "b"}}
	s.Groups = []FabricGroup{
		{Count: 1},
		{Count: 2, Regions: []int{2}, Kind: "dsf", Spines: 3, Speed: 800e9, SpineASICs: []string{"y"}, SpineEdge: Link{Members: 7}, EdgeUnits: 4},
	}
	top := generate(t, s)
	if got, want := top.Summary(), "small: 2 regions, 4 fabrics, 22 devices (4 bag, 8 edge, 10 spine)"; !strings.HasPrefix(got, want[:24]) {
		t.Errorf("got %s", got)
	}
	x := top.Index()
	for name, want := range map[string]Device{
		"r1-f1-s1": {Kind: "nsf", ASIC: "x", Units: 1}, "r2-f2-s3": {Kind: "dsf", ASIC: "y", Units: 1},
		"r2-f3-e1": {Kind: "dsf", ASIC: "jericho3", Units: 4}, "r1-bag1": {ASIC: "a", Units: 3}, "r1-bag2": {ASIC: "b", Units: 3},
	} {
		i, ok := x.Device[name]
		if !ok {
			t.Errorf("no device %q", name)
			continue
		}
		if got := top.Devices[i]; got.Kind != want.Kind || got.ASIC != want.ASIC || got.Units != want.Units {
			t.Errorf("%s: got %s, %s, %d units, want %s, %s, %d", name, got.Kind, got.ASIC, got.Units, want.Kind, want.ASIC, want.Units)
		}
	}
	if _, ok := x.Device["r1-f2-s1"]; ok {
		t.Error("got a second fabric in r1, want it in r2 only")
	}
	for name, want := range map[string]Bundle{
		"r1-f1-s1--r1-f1-e1": {Members: 2, Speed: 400e9, Length: 100}, "r2-f2-s3--r2-f2-e1": {Members: 7, Speed: 800e9, Length: 100},
		"r2-f2-e1--r2-bag1": {Members: 4, Speed: 800e9, Length: 2000}, "r1-bag1--r2-bag1": {Members: 8, Speed: 400e9, Length: 50_000},
	} {
		if got := top.Bundles[x.Bundle[name]]; got.Members != want.Members || got.Speed != want.Speed || got.Length != want.Length {
			t.Errorf("%s: got %d x %d over %d m, want %d x %d over %d m", name, got.Members, got.Speed, got.Length, want.Members, want.Speed, want.Length)
		}
	}
}

// The members of a pair of devices are all there, in bundles of their own that
// differ by one at most.
func TestSessionsSplitABundle(t *testing.T) {
	s := small()
	s.EdgeBag, s.BagBag.Sessions = Link{Members: 11, Length: 2000, Sessions: 4}, 2
	top := generate(t, s)
	var got []string
	for _, b := range top.Bundles {
		if b.A == "r1-f1-e1" || b.A == "r1-bag2" {
			got = append(got, fmt.Sprintf("%s %d", b.Name, b.Members))
		}
	}
	want := []string{
		"r1-f1-e1--r1-bag1 3", "r1-f1-e1--r1-bag1#2 3", "r1-f1-e1--r1-bag1#3 3", "r1-f1-e1--r1-bag1#4 2",
		"r1-bag2--r2-bag2 4", "r1-bag2--r2-bag2#2 4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestKindsSayWhereTheyAreFrom(t *testing.T) {
	for _, k := range Kinds() {
		if k.About == "" || k.Source == "" || k.Certainty == "" || k.GPUs == 0 || k.Oversubscription == 0 || !knownKind(k.Name) {
			t.Errorf("got %+v, want all of it", k)
		}
	}
	if got := len(Kinds()); got != len(kinds) {
		t.Errorf("got %d kinds, want %d", got, len(kinds))
	}
}
