package topologies

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestIndexAgreesWithALookThroughTheLists(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("every name, end, bundle and sum", prop.ForAll(func(seed int64) bool {
		top := randomTopology(seed)
		x := top.Index()
		for i, d := range top.Devices {
			var of []int
			full := uint64(0)
			for k, b := range top.Bundles {
				if b.A == d.Name || b.B == d.Name {
					of = append(of, k)
					full += b.Capacity(b.Members)
				}
			}
			if x.Device[d.Name] != i || !slices.Equal(x.Of[i], of) || x.Full[i] != full {
				return false
			}
		}
		for i, b := range top.Bundles {
			if x.Bundle[b.Name] != i || top.Devices[x.Ends[i][0]].Name != b.A || top.Devices[x.Ends[i][1]].Name != b.B {
				return false
			}
		}
		for i, p := range top.Prefixes {
			if x.Prefix[p.Prefix] != i {
				return false
			}
		}
		return true
	}, gen.Int64()))
	properties.TestingRun(t)
}

func TestIndexBearsATopologyThatIsNotValid(t *testing.T) {
	top := &Topology{
		Devices: []Device{{Name: "a"}, {Name: "b"}, {Name: "a"}},
		Bundles: []Bundle{{Name: "x", A: "a", B: "nobody", Members: 1, Speed: 5}, {Name: "x", A: "b", B: "b", Members: 1, Speed: 7}},
	}
	got := top.Index()
	want := &Index{
		Device: map[string]int{"a": 0, "b": 1},
		Bundle: map[string]int{"x": 0},
		Ends:   [][2]int{{0, -1}, {1, 1}},
		Of:     [][]int{{0}, {1}, nil},
		Full:   []uint64{5, 7, 0},
	}
	got.Prefix, want.Prefix = nil, nil
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestBundleClassNamesTheLowerRoleFirst(t *testing.T) {
	top := &Topology{Devices: []Device{{Name: "s", Role: Spine}, {Name: "e", Role: Edge}, {Name: "h", Role: Hub}}}
	for want, b := range map[string]Bundle{
		"spine-edge": {A: "e", B: "s"}, "edge-hub": {A: "e", B: "h"}, "hub-hub": {A: "h", B: "h"},
	} {
		if got := top.BundleClass(b); got != want {
			t.Errorf("%s to %s: got %q, want %q", b.A, b.B, got, want)
		}
	}
}

func TestSmallestSpeedIsTheLowestOfAllBundles(t *testing.T) {
	for want, list := range map[uint64][]Bundle{
		0: nil, 400e9: {{Speed: 800e9}, {Speed: 400e9}, {Speed: 1600e9}},
	} {
		if got := (&Topology{Bundles: list}).SmallestSpeed(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func TestSummaryCountsInTheSingularToo(t *testing.T) {
	top := &Topology{
		Name:     "one",
		Devices:  []Device{{Role: Hub, Region: "r1"}, {Role: Spine, Region: "r1", Fabric: "f"}},
		Bundles:  []Bundle{{}},
		Prefixes: []Prefix{{}},
	}
	want := "one: 1 region, 1 fabric, 2 devices (1 hub, 1 spine), 1 bundle, 1 prefix"
	if got := top.Summary(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
