package oracle

import (
	"slices"
	"testing"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

func TestADeviceThatIsWholeKnowsNothingOfLostMembers(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	ix, o := topology.Index(), New(topology, nil)
	whole := func() (list []Bundle) {
		for _, b := range topology.Bundles {
			list = append(list, Bundle{Capacity: b.Capacity(b.Members)})
		}
		return list
	}
	bag, edge := ix.Device["r1-bag1"], ix.Device["r1-f1-e1"]
	b := ix.Bundle["r1-f1-e1--r1-bag1"]
	degraded := whole()
	degraded[b] = Bundle{Capacity: topology.Bundles[b].Capacity(4), Trial: true}
	devices := make([]Device, len(topology.Devices))
	devices[bag].Whole = true
	healthy, s := o.StateOf(whole(), devices), o.StateOf(degraded, devices)
	down := whole()
	down[b] = Bundle{}
	fallen := o.StateOf(down, devices)
	for p, prefix := range topology.Prefixes {
		if got, want := s.Route(bag, p), healthy.Route(bag, p); got.Bottleneck != want.Bottleneck || !slices.Equal(got.Set, want.Set) {
			t.Errorf("%s at the device: bottleneck %d over %v, want %d over %v as at full health", prefix.Prefix, got.Bottleneck, got.Set, want.Bottleneck, want.Set)
		}
		for _, m := range s.Route(edge, p).Set {
			if most := topology.Bundles[b].Capacity(4); m.Bundle == int32(b) && m.Share > most {
				t.Errorf("%s at its neighbour: share %d over the bundle, want at most the %d that is left", prefix.Prefix, m.Share, most)
			}
		}
		if set := fallen.Route(bag, p).Set; slices.ContainsFunc(set, func(m state.Member) bool { return m.Bundle == int32(b) }) {
			t.Errorf("%s: the device uses a bundle whose session is down: %v", prefix.Prefix, set)
		}
	}
}

func TestADeviceTellsThePathThatItIsSaidToPreferIfItsSetHasIt(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	ix, o := topology.Index(), New(topology, nil)
	var bundles []Bundle
	for _, b := range topology.Bundles {
		bundles = append(bundles, Bundle{Capacity: b.Capacity(b.Members)})
	}
	bag := ix.Device["r1-bag1"]
	first := o.StateOf(bundles, nil)
	tried := 0
	for p := range topology.Prefixes {
		for _, c := range first.Receives(bag, p) {
			devices := make([]Device, len(topology.Devices))
			devices[bag].Paths = make([][]uint32, len(topology.Prefixes))
			devices[bag].Paths[p] = c.Path
			r := o.StateOf(bundles, devices).Route(bag, p)
			inSet := slices.ContainsFunc(r.Set, func(m state.Member) bool { return m.Bundle == c.Bundle })
			if inSet && len(r.Set) > 1 {
				tried++
			}
			if inSet != slices.Equal(r.Told.Path, c.Path) {
				t.Errorf("prefix %d: prefers %v, which is in its set: %v; tells %v", p, c.Path, inSet, r.Told.Path)
			}
		}
	}
	if tried < 2 {
		t.Errorf("%d preferences among several paths were tried, want some", tried)
	}
}
