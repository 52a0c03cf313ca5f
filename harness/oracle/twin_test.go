package oracle_test

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// comparePrefixes lets routes be compared; the FIB entry, always zero, holds one.
var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{})

// twin is the slow and obvious judge of the oracle. Its decision is written on
// whole candidate lists, its shares in big integers, and its end state grows
// by path length instead of by sweeps over the tiers.
type twin struct {
	t       *topologies.Topology
	x       *topologies.Index
	level   func(uint64) uint64
	bundles []oracle.Bundle
}

func newTwin(t *topologies.Topology, level func(uint64) uint64, b []oracle.Bundle) *twin {
	if level == nil {
		level = func(x uint64) uint64 { return x }
	}
	return &twin{t: t, x: t.Index(), level: level, bundles: b}
}

func (w *twin) peer(bundle, device int) int {
	return w.x.Ends[bundle][0] + w.x.Ends[bundle][1] - device
}

func (w *twin) originates(device, prefix int) bool {
	return slices.Contains(w.t.Prefixes[prefix].Origins, w.t.Devices[device].Name)
}

// told is what a device tells that has the bottleneck value, path and scope.
func (w *twin) told(bottleneck uint64, path []uint32, down bool) state.Told {
	value := float32(float64(w.level(bottleneck)) / 8)
	return state.Told{Present: true, Valued: true, Value: value, Path: path, Down: down}
}

// exports gives the candidate that the neighbour gets of the route over the
// bundle, or false.
func (w *twin) exports(r state.Route, teller, neighbour, bundle int) (state.Candidate, bool) {
	from, to := w.t.Devices[teller], w.t.Devices[neighbour]
	if !r.Told.Present || w.bundles[bundle].Capacity == 0 ||
		r.Told.Down && to.Role >= from.Role || slices.Contains(r.Told.Path, to.ASN) {
		return state.Candidate{}, false
	}
	path := append([]uint32{from.ASN}, r.Told.Path...)
	return state.Candidate{Bundle: int32(bundle), Path: path, Valued: r.Told.Valued, Value: r.Told.Value}, true
}

// decide makes the route of a device from its candidates.
func (w *twin) decide(device, prefix int, candidates []state.Candidate) state.Route {
	if w.originates(device, prefix) {
		value := w.t.Prefixes[prefix].Bandwidth
		if value == 0 {
			value = w.x.Full[device]
		}
		return state.Route{Local: true, Valued: true, Bottleneck: value, Told: w.told(value, nil, false)}
	}
	drop := func(f func(c state.Candidate) bool) {
		candidates = slices.DeleteFunc(slices.Clone(candidates), f)
	}
	onTrial := func(c state.Candidate) bool { return w.bundles[c.Bundle].Trial }
	drop(func(c state.Candidate) bool { return slices.Contains(c.Path, w.t.Devices[device].ASN) })
	if slices.ContainsFunc(candidates, func(c state.Candidate) bool { return !onTrial(c) }) {
		drop(onTrial)
	}
	if len(candidates) == 0 {
		return state.Route{}
	}
	shortest := math.MaxInt
	for _, c := range candidates {
		shortest = min(shortest, len(c.Path))
	}
	drop(func(c state.Candidate) bool { return len(c.Path) > shortest })
	best := slices.MinFunc(candidates, func(a, b state.Candidate) int {
		x, y := w.peer(int(a.Bundle), device), w.peer(int(b.Bundle), device)
		if x != y {
			return x - y
		}
		return int(a.Bundle - b.Bundle)
	})
	set, bottleneck := w.divide(device, candidates)
	up := w.t.Devices[w.peer(int(best.Bundle), device)].Role >= w.t.Devices[device].Role
	return state.Route{Set: set, Valued: true, Bottleneck: bottleneck, Told: w.told(bottleneck, best.Path, up)}
}

// divide gives the members of a set their shares, and the bottleneck value.
func (w *twin) divide(device int, candidates []state.Candidate) ([]state.Member, uint64) {
	pairs := map[int][]state.Candidate{}
	for _, c := range candidates {
		p := w.peer(int(c.Bundle), device)
		pairs[p] = append(pairs[p], c)
	}
	shares := map[int32]*big.Int{}
	total := new(big.Int)
	for _, pair := range pairs {
		capacity, value := new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
		for _, c := range pair {
			capacity.Add(capacity, w.capacity(c))
			if heard, _ := new(big.Float).Mul(big.NewFloat(8), big.NewFloat(float64(c.Value))).Int(nil); heard.Cmp(value) < 0 {
				value = heard
			}
		}
		if capacity.Cmp(value) < 0 {
			value = capacity
		}
		left := new(big.Int).Set(value)
		for _, c := range pair {
			share := new(big.Int).Mul(value, w.capacity(c))
			shares[c.Bundle] = share.Div(share, capacity)
			left.Sub(left, share)
		}
		for i := range left.Int64() {
			shares[pair[i].Bundle].Add(shares[pair[i].Bundle], big.NewInt(1))
		}
		total.Add(total, value)
	}
	var set []state.Member
	for _, c := range candidates {
		if total.Sign() == 0 {
			shares[c.Bundle] = big.NewInt(1)
		}
		set = append(set, state.Member{Bundle: c.Bundle, Share: shares[c.Bundle].Uint64()})
	}
	if !total.IsUint64() {
		return set, math.MaxUint64
	}
	return set, total.Uint64()
}

func (w *twin) capacity(c state.Candidate) *big.Int {
	return new(big.Int).SetUint64(w.bundles[c.Bundle].Capacity)
}

// layers computes the end state without trials: the origins first, then all
// devices that hear a path of one ASN, then those of two, and so on. A device
// that heard a shorter path has decided already.
func (w *twin) layers(prefix int) []state.Route {
	routes := make([]state.Route, len(w.t.Devices))
	var last []int
	for d := range routes {
		if w.originates(d, prefix) {
			routes[d] = w.decide(d, prefix, nil)
			last = append(last, d)
		}
	}
	for len(last) > 0 {
		var next []int
		layer := make([]state.Route, len(routes))
		for d := range routes {
			if routes[d].Reachable() {
				continue
			}
			var candidates []state.Candidate
			for _, b := range w.x.Of[d] {
				p := w.peer(b, d)
				if c, ok := w.exports(routes[p], p, d, b); ok {
					candidates = append(candidates, c)
				}
			}
			if layer[d] = w.decide(d, prefix, candidates); layer[d].Reachable() {
				next = append(next, d)
			}
		}
		for _, d := range next {
			routes[d] = layer[d]
		}
		last = next
	}
	return routes
}

// sameAsLayers compares every route, or gives the first difference.
func (w *twin) sameAsLayers(s *oracle.State) string {
	for p := range w.t.Prefixes {
		for d, want := range w.layers(p) {
			if diff := cmp.Diff(*s.Route(d, p), want, comparePrefixes); diff != "" {
				return fmt.Sprintf("device %q, prefix %s (-got +want):\n%s", w.t.Devices[d].Name, w.t.Prefixes[p].Prefix, diff)
			}
		}
	}
	return ""
}

// stable tells whether every route follows from what the neighbours tell, and
// what they tell from their routes; or the first place where it does not.
func (w *twin) stable(s *oracle.State) string {
	for p := range w.t.Prefixes {
		reach := s.Reach(p)
		for d := range w.t.Devices {
			var told []state.Candidate
			for _, b := range w.x.Of[d] {
				from := w.peer(b, d)
				c, ok := w.exports(*s.Route(from, p), from, d, b)
				if ok {
					told = append(told, c)
				}
				if got := s.TellsTo(from, p, int32(b)); got != ok {
					return fmt.Sprintf("device %d tells prefix %d over bundle %d: got %t, want %t", from, p, b, got, ok)
				}
			}
			if diff := cmp.Diff(s.Receives(d, p), told); diff != "" {
				return fmt.Sprintf("device %d, prefix %d: received (-got +want):\n%s", d, p, diff)
			}
			want := w.decide(d, p, told)
			if diff := cmp.Diff(*s.Route(d, p), want, comparePrefixes); diff != "" {
				return fmt.Sprintf("device %d, prefix %d: route (-got +want):\n%s", d, p, diff)
			}
			if reach[d] != want.Reachable() {
				return fmt.Sprintf("device %d, prefix %d: reach: got %t, want %t", d, p, reach[d], want.Reachable())
			}
		}
	}
	return ""
}

func TestStatesOfRandomNetworks(t *testing.T) {
	params := gopter.DefaultTestParametersWithSeed(10005) // or it would take the clock's
	params.MinSuccessfulTests = 2000
	properties := gopter.NewProperties(params)
	properties.Property("without trials the state is the one that grows by path length", prop.ForAll(
		func(seed uint64) string {
			n, level := random(seed, false)
			s := oracle.New(&n.Topology, level).State(n.bundles)
			if s.Err() != nil {
				return s.Err().Error()
			}
			return newTwin(&n.Topology, level, n.bundles).sameAsLayers(s)
		}, gen.UInt64()))
	properties.Property("with trials too every route follows from what neighbours tell", prop.ForAll(
		func(seed uint64) string {
			n, level := random(seed, true)
			s := oracle.New(&n.Topology, level).State(n.bundles)
			if s.Err() != nil {
				return s.Err().Error()
			}
			return newTwin(&n.Topology, level, n.bundles).stable(s)
		}, gen.UInt64()))
	properties.Property("differences are those of the routes and of what sessions receive", prop.ForAll(
		func(seed uint64, trials bool, capacities []uint64) string {
			return sameDifferences(seed, trials, capacities)
		},
		gen.UInt64(), gen.Bool(), gen.SliceOfN(4, gen.UInt64())))
	properties.TestingRun(t)
}

func TestPresetsAreAsTheyGrowByPathLength(t *testing.T) {
	for _, name := range []string{"prometheus-mini", "spread-mini"} {
		t.Run(name, func(t *testing.T) {
			top := preset(t, name)
			for i := 0; i < len(top.Bundles); i += 5 { // all classes
				b := healthy(top)
				b[i].Capacity = uint64(i%3) * top.Bundles[i].Speed // down, one member, two members
				s := settled(t, oracle.New(top, grid(t, top)), b)
				if diff := newTwin(top, grid(t, top), b).sameAsLayers(s); diff != "" {
					t.Fatalf("bundle %q at %d bits/s: %s", top.Bundles[i].Name, b[i].Capacity, diff)
				}
			}
		})
	}
}

// sameDifferences compares Diff and DiffSessions of two states with what their
// routes and candidates say; the second state has some other capacities.
func sameDifferences(seed uint64, trials bool, capacities []uint64) string {
	n, level := random(seed, trials)
	o := oracle.New(&n.Topology, level)
	before := o.State(n.bundles)
	changed := slices.Clone(n.bundles)
	for i, c := range capacities {
		changed[i*7%len(changed)].Capacity = c >> (c % 64) * (c % 5)
	}
	after := o.State(changed)
	if diff := cmp.Diff(oracle.Diff(before, after), slowDiff(&n.Topology, before, after)); diff != "" {
		return "routes (-got +want):\n" + diff
	}
	return cmp.Diff(oracle.DiffSessions(before, after), slowSessions(n, changed, before, after))
}

func slowDiff(t *topologies.Topology, a, b *oracle.State) []oracle.Change {
	var changes []oracle.Change
	for d := range t.Devices {
		for p := range t.Prefixes {
			x, y := a.Route(d, p), b.Route(d, p)
			c := oracle.Change{Device: d, Prefix: p}
			c.Bottleneck = x.Bottleneck != y.Bottleneck || x.Reachable() != y.Reachable()
			c.Weights = !slices.Equal(x.Set, y.Set)
			c.Told = !x.Told.SameValue(y.Told)
			c.Path = x.Reachable() && y.Reachable() && (x.Told.Down != y.Told.Down || !slices.Equal(x.Told.Path, y.Told.Path))
			if c != (oracle.Change{Device: d, Prefix: p}) {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

func slowSessions(n *network, after []oracle.Bundle, a, b *oracle.State) []oracle.SessionChange {
	var changes []oracle.SessionChange
	received := func(s *oracle.State, device, prefix, bundle int) (state.Candidate, bool) {
		for _, c := range s.Receives(device, prefix) {
			if int(c.Bundle) == bundle {
				return c, true
			}
		}
		return state.Candidate{}, false
	}
	ends := n.Index().Ends
	for i := range n.Bundles {
		for side := range 2 {
			teller, receiver := ends[i][side], ends[i][1-side]
			for p := range n.Prefixes {
				x, inA := received(a, receiver, p, i)
				y, inB := received(b, receiver, p, i)
				c := oracle.SessionChange{Dir: state.Direction{Bundle: int32(i), FromB: side == 1}, Prefix: p}
				c.Told = inA != inB || x.Value != y.Value
				c.Path = inA && inB && (!slices.Equal(x.Path, y.Path) || a.Route(teller, p).Told.Down != b.Route(teller, p).Told.Down)
				if c.Told || c.Path {
					c.Cut = n.bundles[i].Capacity > 0 != (after[i].Capacity > 0)
					changes = append(changes, c)
				}
			}
		}
	}
	return changes
}
