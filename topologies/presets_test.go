package topologies

import (
	"slices"
	"strings"
	"testing"
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
		"prometheus-mini": "prometheus-mini: 2 regions, 8 fabrics, 56 devices (8 bag, 32 edge, 16 spine), 100 bundles, 26 prefixes",
		"spread-mini":     "spread-mini: 2 regions, 8 fabrics, 56 devices (8 bag, 32 edge, 16 spine), 112 bundles, 26 prefixes",
		"prometheus":      "prometheus: 4 regions, 32 fabrics, 416 devices (32 bag, 256 edge, 128 spine), 1328 bundles, 164 prefixes",
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

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets() {
		if err := Validate(preset(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrometheusJoinsEveryTwoRegionsWith16Pb(t *testing.T) {
	top := preset(t, "prometheus")
	region := map[string]string{}
	for _, d := range top.Devices {
		region[d.Name] = d.Region
	}
	pairs := map[[2]string]uint64{}
	for _, b := range top.Bundles {
		if top.BundleClass(b) == "bag-bag" {
			pairs[[2]string{region[b.A], region[b.B]}] += b.Capacity(b.Members)
		}
	}
	if len(pairs) != 6 {
		t.Errorf("got %d pairs of regions, want 6", len(pairs))
	}
	for pair, got := range pairs {
		if got != 16e15 {
			t.Errorf("%v: got %d bits/s, want 16 Pb/s", pair, got)
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
	for _, name := range Presets() {
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

// The chassis that a device stands for have the ports for its members.
func TestPrometheusUnitsHaveEnoughPorts(t *testing.T) {
	top := preset(t, "prometheus")
	ports := map[Role]int{Bag: 432, Edge: 432, Spine: 64}
	x := top.Index()
	for i, d := range top.Devices {
		members := int(x.Full[i] / 800e9)
		if want := (members + ports[d.Role] - 1) / ports[d.Role]; d.Units != want {
			t.Errorf("device %q with %d members: got %d units, want %d", d.Name, members, d.Units, want)
		}
	}
}

func TestAnUnknownPresetIsRefusedWithTheKnownOnes(t *testing.T) {
	for _, name := range []string{"", "prometheus-maxi", "../presets/prometheus", "prometheus.yaml"} {
		_, err := Preset(name)
		if err == nil || !strings.HasSuffix(err.Error(), "want one of the presets prometheus, prometheus-mini, spread-mini") {
			t.Errorf("Preset(%q): got %v, want an error that lists the presets", name, err)
		}
	}
	if !slices.IsSorted(Presets()) {
		t.Errorf("got %v, want sorted names", Presets())
	}
}
