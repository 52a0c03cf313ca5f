package state

import (
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

func TestEveryPlaceHasThePipelineOfItsRoleAndClass(t *testing.T) {
	topology := &topologies.Topology{
		Devices:  []topologies.Device{{Name: "a", Role: topologies.Edge}, {Name: "b", Role: topologies.Bag}},
		Bundles:  []topologies.Bundle{{Name: "a--b", A: "a", B: "b", Members: 4, Speed: 8, Length: 300}},
		Prefixes: []topologies.Prefix{{Class: "fabric"}, {Class: "region"}},
	}
	quantize := func(by float64) []damping.ToldStage { return []damping.ToldStage{damping.Quantize{Step: 8, Error: by}} }
	n := &Network{Topology: topology, Index: topology.Index(), Damping: damping.Pipeline{Name: "x", Told: quantize(0.1)}}
	for d := range topology.Devices {
		for p := range topology.Prefixes {
			if got := n.ToldDampings()(d, p); got.Law.Over != 0.1 || got.Rule != -1 || !got.Memoryless {
				t.Errorf("no plan: device %d, prefix %d: got %+v, want an error of 0.1 and rule -1", d, p, got)
			}
		}
	}
	n.Plan = &damping.Plan{Default: n.Damping, Told: []damping.ToldRule{
		{Role: "edge", Class: "region", Stages: quantize(0.5)}, {Role: "bag", Stages: []damping.ToldStage{damping.Pace{Interval: 1}}},
	}}
	for _, c := range []struct {
		device, prefix int
		over           float64
		rule           int
		memoryless     bool
	}{{0, 0, 0.1, -1, true}, {0, 1, 0.5, 0, true}, {1, 0, 0, 1, false}, {1, 1, 0, 1, false}} {
		if got := n.ToldDampings()(c.device, c.prefix); got.Law.Over != c.over || got.Rule != c.rule || got.Memoryless != c.memoryless {
			t.Errorf("device %d, prefix %d: got %+v, want %+v", c.device, c.prefix, got, c)
		}
	}
	if got, want := n.BundleInfo(0), (damping.BundleInfo{Members: 4, Speed: 8, Length: 300, Class: "edge-bag"}); got != want {
		t.Errorf("bundle: got %+v, want %+v", got, want)
	}
}
