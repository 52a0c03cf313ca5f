package topologies

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func preset(t *testing.T, name string) *Topology {
	t.Helper()
	top, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestPresetsHaveTheCountsThatTheyPromise(t *testing.T) {
	want := map[string]string{
		"ai-zone":           "ai-zone: 1 region, 8 fabrics, 1692 devices (28 bag, 128 spine, 1536 rack), 28160 bundles, 1545 prefixes",
		"dsf-nsf-mix":       "dsf-nsf-mix: 2 regions, 10 fabrics, 136 devices (8 bag, 24 edge, 88 spine, 16 rack), 444 bundles, 52 prefixes",
		"hub-and-spoke":     "hub-and-spoke: 6 regions, 27 fabrics, 246 devices (2 backbone, 4 hub, 24 bag, 108 edge, 108 spine), 644 bundles, 142 prefixes",
		"hub-mini":          "hub-mini: 3 regions, 6 fabrics, 33 devices (1 backbone, 2 hub, 6 bag, 12 edge, 12 spine), 50 bundles, 22 prefixes",
		"hyperion":          "hyperion: 5 regions, 80 fabrics, 2000 devices (80 bag, 1280 edge, 640 spine), 11680 bundles, 725 prefixes",
		"mix-mini":          "mix-mini: 3 regions, 6 fabrics, 39 devices (1 backbone, 2 hub, 6 bag, 6 edge, 18 spine, 6 rack), 72 bundles, 22 prefixes",
		"petabit":           "petabit: 2 regions, 10 fabrics, 1660 devices (200 bag, 1000 edge, 460 spine), 47100 bundles, 472 prefixes",
		"prometheus":        "prometheus: 4 regions, 32 fabrics, 416 devices (32 bag, 256 edge, 128 spine), 1328 bundles, 164 prefixes",
		"prometheus-mini":   "prometheus-mini: 2 regions, 8 fabrics, 56 devices (8 bag, 32 edge, 16 spine), 100 bundles, 26 prefixes",
		"prometheus-spread": "prometheus-spread: 4 regions, 32 fabrics, 416 devices (32 bag, 256 edge, 128 spine), 1472 bundles, 164 prefixes",
		"spread-mini":       "spread-mini: 2 regions, 8 fabrics, 56 devices (8 bag, 32 edge, 16 spine), 112 bundles, 26 prefixes",
		"two-vendors":       "two-vendors: 2 regions, 8 fabrics, 72 devices (8 bag, 32 edge, 32 spine), 176 bundles, 42 prefixes",
	}
	for _, name := range Presets() {
		if got := preset(t, name).Summary(); got != want[name] {
			t.Errorf("got  %s\nwant %s", got, want[name])
		}
	}
	if got := len(Presets()); got != len(want) {
		t.Errorf("got %d presets, want %d", got, len(want))
	}
}

// Every preset is valid, has nothing odd, and its expanded form reads back as it.
func TestPresetsAreValidAndExpand(t *testing.T) {
	for _, name := range Presets() {
		top := preset(t, name)
		if err := Validate(top); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if list := top.Warnings(); len(list) > 0 {
			t.Errorf("%s: got warnings %v, want none", name, list)
		}
		data, err := Write(top)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := Read(name+".yaml", data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if reflect.DeepEqual(back, top) {
			continue // a difference of 47,100 bundles takes seconds to find none
		}
		if diff := cmp.Diff(back, top, same); diff != "" {
			t.Errorf("%s: got (-) want (+):\n%s", name, diff)
		}
	}
}

// Published: 16 to 48 Pb/s a region pair.
func TestPresetsJoinRegionsWithThePublishedCapacity(t *testing.T) {
	for name, want := range map[string]struct {
		pairs int
		bits  uint64
	}{"prometheus": {6, 16e15}, "prometheus-spread": {6, 16e15}, "hyperion": {10, 48e15}, "petabit": {1, 16e15}} {
		regionsJoinedWith(t, name, want.pairs, want.bits)
	}
}

func regionsJoinedWith(t *testing.T, name string, want int, bits uint64) {
	t.Helper()
	top := preset(t, name)
	region := map[string]string{}
	for _, d := range top.Devices {
		region[d.Name] = d.Region
	}
	pairs := map[[2]string]uint64{}
	for _, b := range top.Bundles {
		if b.Route != "" { // all between regions, and nothing else, have one
			pairs[[2]string{region[b.A], region[b.B]}] += b.Capacity(b.Members)
		}
	}
	if len(pairs) != want {
		t.Errorf("%s: got %d pairs of regions, want %d", name, len(pairs), want)
	}
	for pair, got := range pairs {
		if got != bits {
			t.Errorf("%s: %v: got %d bits/s, want %d", name, pair, got, bits)
		}
	}
}

func TestPresetBundlesAreWhatTheirClassSays(t *testing.T) {
	type link struct{ members, length int }
	mini := map[string]link{"spine-edge": {32, 300}, "edge-bag": {32, 3000}, "bag-bag": {32, 80_000}}
	want := map[string]map[string]link{
		"prometheus-mini": mini, "spread-mini": mini,
		"prometheus": {"spine-edge": {144, 300}, "edge-bag": {576, 3000}, "bag-bag": {2500, 80_000}},
	}
	for name := range want {
		top := preset(t, name)
		for _, b := range top.Bundles {
			if got := (link{b.Members, b.Length}); got != want[name][top.BundleClass(b)] || b.Speed != 800e9 {
				t.Errorf("%s: bundle %q: got %v at %d bits/s, want %v at 800G", name, b.Name, got, b.Speed, want[name][top.BundleClass(b)])
			}
		}
		for _, d := range top.Devices {
			if want := map[Role]string{Bag: "jericho3", Edge: "jericho3", Spine: "tomahawk5"}[d.Role]; d.ASIC != want {
				t.Errorf("%s: device %q: got ASIC %q, want %q", name, d.Name, d.ASIC, want)
			}
		}
	}
}

// The chassis that a device stands for are the fewest with ports for the members
// of any device of its role.
func TestUnitsAreTheFewestWithEnoughPorts(t *testing.T) {
	ports := map[Role]int{Spine: 64, Edge: 432, Bag: 432, Hub: 576, Backbone: 432}
	for _, name := range []string{"prometheus", "prometheus-spread", "hyperion", "hub-and-spoke"} {
		top := preset(t, name)
		x := top.Index()
		want := map[Role]int{}
		for i, d := range top.Devices {
			members := int(x.Full[i] / 800e9)
			want[d.Role] = max(want[d.Role], (members+ports[d.Role]-1)/ports[d.Role])
		}
		for _, d := range top.Devices {
			if d.Units != want[d.Role] {
				t.Errorf("%s: device %q: got %d units, want %d", name, d.Name, d.Units, want[d.Role])
			}
		}
	}
}

func TestPetabitTakesNearlyAllPortsOfABag(t *testing.T) {
	top := preset(t, "petabit")
	x := top.Index()
	for i, d := range top.Devices {
		if d.Role != Bag {
			continue
		}
		if got := x.Full[i] / 800e9; got != 430 || d.Ports != 432 || d.Units != 1 {
			t.Errorf("device %q: got %d members, %d ports, %d units, want 430 of 432 of one", d.Name, got, d.Ports, d.Units)
		}
	}
}

func TestAnUnknownPresetIsRefusedWithTheKnownOnes(t *testing.T) {
	for _, name := range []string{"", "prometheus-maxi", "../presets/prometheus", "prometheus.yaml"} {
		_, err := Preset(name)
		if err == nil || !strings.HasSuffix(err.Error(), "want one of the presets "+strings.Join(Presets(), ", ")) {
			t.Errorf("Preset(%q): got %v, want an error that lists the presets", name, err)
		}
	}
	if !slices.IsSorted(Presets()) {
		t.Errorf("got %v, want sorted names", Presets())
	}
}
