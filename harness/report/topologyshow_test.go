package report

import (
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies"
)

func TestWhatSharesAnASNIsNamedForAllPresetsAndTiers(t *testing.T) {
	for name, wants := range map[string][]string{
		"hub-and-spoke": {"hub", "the tier's", "backbone", "the tier's", "bag", "a region's"},
		"dsf-nsf-mix":   {"spine", "one device's or a fabric's", "edge", "a fabric's"},
		"prometheus":    {"spine", "one device's", "edge", "a fabric's"},
	} {
		top := presetNamed(t, name)
		for i := 0; i < len(wants); i += 2 {
			role, _ := topologies.ParseRole(wants[i])
			var devices []*topologies.Device
			for k := range top.Devices {
				if top.Devices[k].Role == role {
					devices = append(devices, &top.Devices[k])
				}
			}
			if got := shared(devices); got != wants[i+1] {
				t.Errorf("%s: %s: got %q, want %q", name, role, got, wants[i+1])
			}
		}
	}
}

func TestPlanesWithGapsAreNotARange(t *testing.T) {
	for want, planes := range map[string][]int{
		"-": {0}, "3": {3}, "1, 3": {1, 3}, "1 to 8": {1, 2, 3, 4, 5, 6, 7, 8}, "1 to 2, 5": {0, 1, 2, 5},
		"5 of 1 to 1,009": {1, 3, 5, 7, 1009},
	} {
		set := map[int]bool{}
		for _, p := range planes {
			set[p] = true
		}
		if got := planesText(set); got != want {
			t.Errorf("%v: got %q, want %q", planes, got, want)
		}
	}
}

func TestSmallAndFastMembersAreCountedAsWhatTheyAre(t *testing.T) {
	top := presetNamed(t, "prometheus-mini")
	for i := range top.Bundles {
		top.Bundles[i].Speed, top.Bundles[i].Members = 1600e9, 3
	}
	last := &top.Bundles[len(top.Bundles)-1]
	last.Speed, last.Members = 10e9, 1
	text := Topology(top, 0)
	for _, want := range []string{
		"10G    80km  -         10G\n",
		"     24  ", // an edge's or a spine's bundles of 3 x 1.6T take 6 ports each
		"\nGPUs of a dsf fabric: at most 20,736 (published: Meta, Building Prometheus, 2026, and",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
