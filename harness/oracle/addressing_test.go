package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/topologies"
)

// effect is what one degraded bundle does in a network: which devices weigh a
// prefix otherwise, by which next hops and in which proportion, and which tell
// another value of it. A silent prefix goes over the bundle, and yet neither of
// the two happens anywhere: its value is below what is left of the bundle.
type effect struct {
	weights map[string][]string // devices by prefix
	told    map[string][]string
	silent  []string
}

func effectOf(t *testing.T, top *topologies.Topology, bundle string, members int) effect {
	t.Helper()
	o := oracle.New(top, grid(t, top))
	before, after := settled(t, o, healthy(top)), settled(t, o, degraded(t, top, bundle, members))
	e := effect{weights: map[string][]string{}, told: map[string][]string{}}
	for _, c := range oracle.Diff(before, after) {
		device, prefix := top.Devices[c.Device].Name, top.Prefixes[c.Prefix].Prefix.String()
		if !sameProportions(before, after, c.Device, c.Prefix) {
			e.weights[prefix] = append(e.weights[prefix], device)
		}
		if c.Told {
			e.told[prefix] = append(e.told[prefix], device)
		}
	}
	over := int32(top.Index().Bundle[bundle])
	for p := range top.Prefixes {
		name, used := top.Prefixes[p].Prefix.String(), false
		for d := range top.Devices {
			for _, m := range before.Route(d, p).Set {
				used = used || m.Bundle == over
			}
		}
		if used && e.weights[name] == nil && e.told[name] == nil {
			e.silent = append(e.silent, name)
		}
	}
	return e
}

// sameProportions tells whether traffic goes over the same bundles in the same
// proportion: a share alone, such as that of a set of one, is none.
func sameProportions(a, b *oracle.State, device, prefix int) bool {
	x, y := a.Route(device, prefix).Set, b.Route(device, prefix).Set
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		// Shares are whole members of 800G, so the products of two fit.
		if x[i].Bundle != y[i].Bundle || x[i].Share/1e6*(y[0].Share/1e6) != y[i].Share/1e6*(x[0].Share/1e6) {
			return false
		}
	}
	return true
}

// prefixes lists those of the classes, in the topology's order, but for the
// excepted ones.
func prefixes(top *topologies.Topology, class string, in func(string) bool) (list []string) {
	for _, p := range top.Prefixes {
		if p.Class == class && in(p.Prefix.String()) {
			list = append(list, p.Prefix.String())
		}
	}
	return list
}

func anywhere(string) bool { return true }

// A quarter of the members between an edge and its bag: 432 of 576 are left.
// The bag divides traffic to its own region over eight edges, so it has other
// weights for the region's aggregate. The building's own prefix has one way
// from the bag; a spine's value of 144 members is below what is left, so every
// spine's prefix is silent.
func TestAQuarterOffAnEdgeBagBundleChangesTheBagsWeightsForTheRegionAggregate(t *testing.T) {
	top := preset(t, "prometheus")
	e := effectOf(t, top, "r1-f1-e1--r1-bag1", 432)
	if got := e.weights["10.1.0.0/16"]; !slices.Equal(got, []string{"r1-bag1"}) {
		t.Errorf("10.1.0.0/16: got other weights at %q, want them at r1-bag1 alone", got)
	}
	if len(e.weights) != 1 {
		t.Errorf("got other weights for %d prefixes, want them for the region's aggregate alone: %v", len(e.weights), e.weights)
	}
	// The edge hears of all from elsewhere over the bundle, its building's own
	// aggregates apart; what one spine owns is silent in both directions.
	if diff := cmp.Diff(e.silent, prefixes(top, "spine", anywhere)); diff != "" {
		t.Errorf("silent: got (-) want (+):\n%s", diff)
	}
	if got := e.told["10.2.0.0/16"]; !slices.Equal(got, []string{"r1-f1-e1"}) {
		t.Errorf("10.2.0.0/16: got other values told by %q, want them told by r1-f1-e1 alone", got)
	}
}

// A quarter of the members between two bags: 1,875 of 2,500 are left, which only
// the far region's aggregate of 4,608 exceeds. Each bag tells its edges less,
// and there it ends: an edge's own bundle to the bag is of 576.
func TestAQuarterOffABagBagBundleIsToldOneHopAndWeighsNothing(t *testing.T) {
	top := preset(t, "prometheus")
	e := effectOf(t, top, "r1-bag1--r2-bag1", 1875)
	if len(e.weights) != 0 {
		t.Errorf("got other weights %v, want none", e.weights)
	}
	want := map[string][]string{"10.1.0.0/16": {"r2-bag1"}, "10.2.0.0/16": {"r1-bag1"}}
	if diff := cmp.Diff(e.told, want); diff != "" {
		t.Errorf("told: got (-) want (+):\n%s", diff)
	}
	between := func(p string) bool { return strings.HasPrefix(p, "10.1.") || strings.HasPrefix(p, "10.2.") }
	silent := slices.Concat(prefixes(top, "spine", between), prefixes(top, "fabric", between))
	slices.Sort(silent)
	got := slices.Clone(e.silent)
	slices.Sort(got)
	if diff := cmp.Diff(got, silent); diff != "" {
		t.Errorf("silent: got (-) want (+):\n%s", diff)
	}
}

// 100 of 2,500 members between two bags are left: now it is the least on the
// way to every prefix of the far region, and the spines there, which have eight
// planes to choose from, give this one less. Nothing is silent.
func TestFewMembersLeftBetweenBagsChangeTheFarSpinesWeights(t *testing.T) {
	top := preset(t, "prometheus")
	e := effectOf(t, top, "r1-bag1--r2-bag1", 100)
	if len(e.silent) != 0 {
		t.Errorf("got silent %q, want none", e.silent)
	}
	for region, far := range map[int]int{1: 2, 2: 1} {
		var spines []string
		for _, d := range top.Devices {
			if d.Region == fmt.Sprintf("r%d", far) && d.Role == topologies.Spine {
				spines = append(spines, d.Name)
			}
		}
		for _, class := range []string{"spine", "fabric", "region"} {
			for _, p := range prefixes(top, class, func(p string) bool { return strings.HasPrefix(p, fmt.Sprintf("10.%d.", region)) }) {
				if diff := cmp.Diff(e.weights[p], spines); diff != "" {
					t.Errorf("%s: devices with other weights: got (-) want (+):\n%s", p, diff)
				}
			}
		}
	}
}

// A backbone hears the aggregates of all regions, and every device below has
// its default route: hubs from above, all others from their upper tier.
func TestTheBackboneHearsRegionsAndTellsTheDefaultRoute(t *testing.T) {
	for _, name := range []string{"hub-mini", "mix-mini"} {
		top := preset(t, name)
		s := settled(t, oracle.New(top, grid(t, top)), healthy(top))
		x := top.Index()
		for p, prefix := range top.Prefixes {
			for d, device := range top.Devices {
				set := s.Route(d, p).Set
				switch {
				case prefix.Class == "default" && device.Role != topologies.Backbone:
					for _, m := range set {
						if ends := x.Ends[m.Bundle]; ends[0] != d {
							t.Errorf("%s: %q: default route over %q, want it upwards", name, device.Name, top.Bundles[m.Bundle].Name)
						}
					}
				case prefix.Class == "region" && device.Role == topologies.Backbone:
				default:
					continue
				}
				if len(set) == 0 {
					t.Errorf("%s: %q: no route to the %s prefix %v", name, device.Name, prefix.Class, prefix.Prefix)
				}
			}
		}
	}
}
