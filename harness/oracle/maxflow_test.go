package oracle_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// most is the slow judge of State.True: the cheapest of all cuts between a device
// and the origins, in a graph that is made from candidates as devices hear them.
func (w *twin) most(source, prefix int, routes []state.Route) uint64 {
	type link struct {
		tails    uint32 // nodes: bit 2d = traffic at d that may go anywhere, 2d+1 = only down
		head     uint32
		capacity *big.Int
	}
	var links []link
	everywhere := func(d int) uint32 { return 1 << (2 * d) }
	onlyDown := func(d int) uint32 { return 1 << (2*d + 1) }
	for d := range routes {
		if routes[d].Local {
			continue
		}
		for _, c := range w.hears(d, routes) {
			k, from, to := w.knobs(d), w.t.Devices[d], w.t.Devices[w.peer(int(c.Bundle), d)]
			if slices.Contains(c.Path, from.ASN) || slices.ContainsFunc(k.RejectTagged, c.has) ||
				slices.Contains(k.RejectClasses, w.t.Prefixes[prefix].Class) || w.drain(d) == topologies.Drained {
				continue
			}
			l := link{everywhere(d), onlyDown(w.peer(int(c.Bundle), d)), w.capacity(c)}
			if to.Role < from.Role {
				l.tails |= onlyDown(d)
			}
			if to.Role > from.Role {
				l.head = everywhere(w.peer(int(c.Bundle), d))
			}
			links = append(links, l)
		}
	}
	least := new(big.Int).SetUint64(math.MaxUint64)
	for cut := range uint32(1) << (2 * len(routes)) {
		if cut&everywhere(source) == 0 {
			continue
		}
		cost := new(big.Int)
		for _, l := range links {
			if cut&l.tails != 0 && cut&l.head == 0 {
				cost.Add(cost, l.capacity)
			}
		}
		for d, r := range routes {
			if r.Local && cut&(everywhere(d)|onlyDown(d)) != 0 {
				cost.Add(cost, w.constant(d, prefix))
			}
		}
		if cost.Cmp(least) < 0 {
			least = cost
		}
	}
	return least.Uint64()
}

// constant is the value of an origin.
func (w *twin) constant(device, prefix int) *big.Int {
	if own := w.t.Prefixes[prefix].Bandwidth; own != 0 {
		return new(big.Int).SetUint64(own)
	}
	return new(big.Int).SetUint64(w.x.Full[device])
}

func TestTrueValuesAreTheCheapestCuts(t *testing.T) {
	const most = 5 // devices: two nodes each, and all cuts are tried
	carried := 0
	for seed := range uint64(1500) {
		n, _ := random(seed, false)
		if len(n.Devices) > most {
			continue
		}
		if seed%3 == 0 {
			n.randomKnobs(seed)
		}
		s := oracle.New(&n.Topology, nil).StateOf(n.bundles, n.devices)
		if s.Err() != nil {
			continue
		}
		w := newTwin(n, nil)
		for p := range n.Prefixes {
			var routes []state.Route
			for d := range n.Devices {
				routes = append(routes, *s.Route(d, p))
			}
			for d, got := range s.True(p) {
				want := uint64(0)
				if s.Reach(p)[d] {
					want = w.most(d, p, routes)
				}
				if got != want {
					t.Fatalf("seed %d: device %d, prefix %d: got %d, want %d", seed, d, p, got, want)
				}
				if got > 0 && !routes[d].Local {
					carried++
				}
			}
		}
	}
	if carried < 500 {
		t.Errorf("only %d true values are not 0: the networks test little", carried)
	}
}

// In the diamond o is the origin, and f hears of it from two bags over one edge.
func TestTrueValuesThatCanBeSeenAtAGlance(t *testing.T) {
	diamond := func() *network {
		return newNetwork().
			device("o", topologies.Spine, 1).device("e", topologies.Edge, 2).device("b", topologies.Bag, 3).device("c", topologies.Bag, 4).
			device("f", topologies.Edge, 5).device("s", topologies.Spine, 6).
			bundle("o", "e", 100).bundle("e", "b", 60).bundle("e", "c", 70).bundle("b", "f", 80).bundle("c", "f", 90).bundle("f", "s", 1000)
	}
	for name, c := range map[string]struct {
		n      *network
		device string
		told   float64
		most   uint64
	}{
		"two ways share one bundle, and both count it":  {diamond().prefix(0, "o"), "f", 130, 100},
		"each way by itself tells the truth":            {diamond().prefix(0, "o"), "b", 60, 60},
		"an origin takes no more than it tells":         {diamond().prefix(40, "o"), "f", 80, 40},
		"a bundle that is down carries nothing":         {diamond().prefix(0, "o").now(1, 0), "f", 70, 70},
		"nobody sends through a device that is drained": {diamond().prefix(0, "o").drain("c", topologies.Drained), "f", 60, 60},
		"a bundle beside another carries too":           {diamond().bundle("o", "e", 20).prefix(0, "o"), "f", 130, 120},
		"a longer way carries, and no value counts it": {
			newNetwork().device("o", topologies.Spine, 1).device("y", topologies.Edge, 2).device("x", topologies.Bag, 3).
				bundle("o", "x", 5).bundle("o", "y", 7).bundle("y", "x", 11).prefix(0, "o"), "x", 5, 12,
		},
	} {
		s := settledOf(t, oracle.New(&c.n.Topology, nil), c.n.bundles, c.n.devices)
		d := c.n.Index().Device[c.device]
		if got := s.True(0)[d]; got != c.most || s.ToldBits(d, 0) != c.told {
			t.Errorf("%s: got told %v, true %d, want %v and %d", name, s.ToldBits(d, 0), got, c.told, c.most)
		}
	}
}

// What came from above may not go up again, although there is room: traffic of b
// that enters e by the lower bundle could go on only over c.
func TestTrafficThatCameFromAboveOnlyGoesDown(t *testing.T) {
	n := newNetwork().
		device("o", topologies.Spine, 1).device("f", topologies.Edge, 3).device("e", topologies.Edge, 2).
		device("b", topologies.Bag, 4).device("c", topologies.Bag, 5).
		bundle("o", "e", 10).bundle("o", "f", 50).bundle("e", "b", 100).bundle("e", "c", 100).bundle("f", "c", 100).prefix(0, "o")
	s := settled(t, oracle.New(&n.Topology, nil), n.bundles)
	values, x := s.True(0), n.Index()
	if got := values[x.Device["b"]]; got != 10 {
		t.Errorf("b: got %d, want the 10 that e has below it", got)
	}
	if got := values[x.Device["e"]]; got != 60 {
		t.Errorf("e: got %d, want its 10 and the 50 that c has below f", got)
	}
}

func TestPlanarNetworksTellNoMoreThanThereIs(t *testing.T) {
	top := preset(t, "prometheus-mini")
	for _, b := range [][]oracle.Bundle{healthy(top), degraded(t, top, "r2-f1-e1--r2-bag1", 16), degraded(t, top, "r1-bag1--r2-bag1", 5)} {
		s := settled(t, oracle.New(top, nil), b)
		if got := s.Overcount(s); got.Above != 0 || got.Pairs != 1408 || math.Abs(got.Worst-1) > 1e-6 || math.Abs(got.Median-1) > 1e-6 {
			t.Errorf("got %+v, want nobody above 1", got)
		}
		for p, prefix := range top.Prefixes {
			for d, most := range s.True(p) {
				if ratio := s.ToldBits(d, p) / float64(most); prefix.Class == "spine" && math.Abs(ratio-1) > 1e-6 {
					t.Errorf("%s: %s: got told/true %v, want 1", top.Devices[d].Name, prefix.Prefix, ratio)
				}
			}
		}
	}
}

// With one half of r2-f1-e1--r2-bag1 gone, r2-bag1 has a way of 16 members down to
// r2-f1 and the other three bags of r2 one of 32 each: 112. In the spread shape
// every bag of r1 hears all four and tells 112, every edge of r1 tells the 32 of its
// own bundle, and a spine of r1 sums four of these: 128, over the same 112. So do the
// 8 spines of r1, for the prefixes of the two spines of r2-f1 and of r2-f1 itself.
func TestSpreadNetworksCountSharedCapacityTwice(t *testing.T) {
	top := preset(t, "spread-mini")
	whole := settled(t, oracle.New(top, nil), healthy(top))
	if got := whole.Overcount(whole); got.Above != 0 {
		t.Errorf("at full health: got %+v, want nobody above 1", got)
	}
	s := settled(t, oracle.New(top, nil), degraded(t, top, "r2-f1-e1--r2-bag1", 16))
	got := s.Overcount(s)
	if want := 128.0 / 112; got.Above != 24 || math.Abs(got.Worst-want) > 1e-6 {
		t.Errorf("got %+v, want 24 above 1, and the worst %v", got, want)
	}
	at := fmt.Sprint(top.Devices[got.Device].Name, " ", top.Prefixes[got.Prefix].Prefix)
	if at != "r1-f1-s1 10.2.0.0/24" {
		t.Errorf("the worst: got %s, want the first spine of r1, and of r2-f1", at)
	}
}

func TestAToldValueWithoutAnyCapacityIsInfinitelyWrong(t *testing.T) {
	n := newNetwork().device("o", topologies.Spine, 1).device("e", topologies.Edge, 2).bundle("o", "e", 8).prefix(0, "o")
	o := oracle.New(&n.Topology, nil)
	up, gone := settled(t, o, n.bundles), settled(t, o, []oracle.Bundle{{}})
	if got := gone.Overcount(up); got.Pairs != 1 || got.Above != 1 || !math.IsInf(got.Worst, 1) {
		t.Errorf("got %+v, want one that is infinite", got)
	}
	if got := up.Overcount(gone); got.Pairs != 0 || got.Device != -1 || got.Median != 0 {
		t.Errorf("nothing is told: got %+v, want no pairs", got)
	}
}

func BenchmarkOvercount(b *testing.B) {
	for _, name := range []string{"prometheus-mini", "spread-mini", "prometheus"} {
		b.Run(name, func(b *testing.B) {
			top := preset(b, name)
			s := settled(b, oracle.New(top, nil), healthy(top))
			for b.Loop() {
				s.Overcount(s)
			}
		})
	}
}
