package oracle_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
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
// from the nearest device to the farthest instead of by sweeps over the tiers.
type twin struct {
	t       *topologies.Topology
	x       *topologies.Index
	level   func(uint64) uint64
	bundles []oracle.Bundle
	devices []oracle.Device // nil = all at their defaults
}

func newTwin(n *network, level func(uint64) uint64) *twin {
	if level == nil {
		level = func(x uint64) uint64 { return x }
	}
	return &twin{t: &n.Topology, x: n.Index(), level: level, bundles: n.bundles, devices: n.devices}
}

// candidate is a route with the communities that it carries.
type candidate struct {
	state.Candidate
	communities []uint32
}

func (c candidate) has(community uint32) bool { return slices.Contains(c.communities, community) }

func (w *twin) knobs(device int) topologies.Settings {
	if w.devices == nil || w.devices[device].Settings == nil {
		return topologies.DefaultSettings()
	}
	return *w.devices[device].Settings
}

func (w *twin) drain(device int) topologies.DrainState {
	if w.devices == nil {
		return topologies.Live
	}
	return w.devices[device].Drain
}

func (w *twin) peer(bundle, device int) int {
	return w.x.Ends[bundle][0] + w.x.Ends[bundle][1] - device
}

func (w *twin) originates(device, prefix int) bool {
	return slices.Contains(w.t.Prefixes[prefix].Origins, w.t.Devices[device].Name)
}

// may tells whether the export rules let a told route go to a neighbour.
func (w *twin) may(told state.Told, teller, neighbour int) bool {
	from, to := w.t.Devices[teller], w.t.Devices[neighbour]
	return told.Present && !(told.Down && to.Role >= from.Role) && !slices.Contains(told.Path, to.ASN)
}

// exports gives the candidate that the neighbour gets of the route over the
// bundle, or false.
func (w *twin) exports(r state.Route, teller, neighbour, bundle int) (candidate, bool) {
	b := w.bundles[bundle]
	if b.Capacity == 0 || b.Closed || !w.may(r.Told, teller, neighbour) {
		return candidate{}, false
	}
	path := append([]uint32{w.t.Devices[teller].ASN}, r.Told.Path...)
	c := candidate{Candidate: state.Candidate{Bundle: int32(bundle), Path: path, Valued: r.Told.Valued, Value: r.Told.Value}}
	if r.Told.Down {
		c.communities = append(c.communities, scope)
	}
	if r.Told.Warm {
		c.communities = append(c.communities, shutdown)
	}
	return c, true
}

// hears gives all candidates of a device where the devices have the routes.
func (w *twin) hears(device int, routes []state.Route) (list []candidate) {
	for _, b := range w.x.Of[device] {
		p := w.peer(b, device)
		if c, ok := w.exports(routes[p], p, device, b); ok {
			list = append(list, c)
		}
	}
	return list
}

// choose makes the multipath set of a device that does not originate the prefix.
func (w *twin) choose(device, prefix int, candidates []candidate) []candidate {
	k := w.knobs(device)
	if slices.Contains(k.RejectClasses, w.t.Prefixes[prefix].Class) {
		return nil
	}
	candidates = slices.Clone(candidates)
	drop := func(f func(c candidate) bool) { candidates = slices.DeleteFunc(candidates, f) }
	preferWithout := func(f func(c candidate) bool) {
		if slices.ContainsFunc(candidates, func(c candidate) bool { return !f(c) }) {
			drop(f)
		}
	}
	drop(func(c candidate) bool { return slices.Contains(c.Path, w.t.Devices[device].ASN) })
	drop(func(c candidate) bool { return slices.ContainsFunc(k.RejectTagged, c.has) })
	preferWithout(func(c candidate) bool { return c.has(shutdown) })
	shortest := math.MaxInt
	for _, c := range candidates {
		shortest = min(shortest, len(c.Path))
	}
	drop(func(c candidate) bool { return len(c.Path) > shortest })
	preferWithout(func(c candidate) bool { return w.bundles[c.Bundle].Trial })
	return candidates
}

// decide makes the route of a device from its candidates.
func (w *twin) decide(device, prefix int, candidates []candidate) state.Route {
	k, warm := w.knobs(device), w.drain(device) == topologies.Warm
	if w.originates(device, prefix) {
		value := new(big.Int).SetUint64(w.x.Full[device])
		if own := w.t.Prefixes[prefix].Bandwidth; own != 0 {
			value.SetUint64(own)
		}
		switch k.Advertise {
		case topologies.AdvertiseSet:
			value.SetUint64(k.AdvertiseValue)
		case topologies.AdvertiseDisable:
			value = nil
		}
		return w.tell(device, state.Route{Local: true, Told: state.Told{Present: true, Warm: warm}}, value)
	}
	candidates = w.choose(device, prefix, candidates)
	if len(candidates) == 0 {
		return state.Route{}
	}
	best := slices.MinFunc(candidates, func(a, b candidate) int {
		x, y := w.peer(int(a.Bundle), device), w.peer(int(b.Bundle), device)
		if x != y {
			return x - y
		}
		return int(a.Bundle - b.Bundle)
	})
	up := w.t.Devices[w.peer(int(best.Bundle), device)].Role >= w.t.Devices[device].Role
	told := state.Told{Present: true, Path: best.Path, Down: up, Warm: warm || best.has(shutdown)}
	return w.tell(device, state.Route{Set: w.divide(device, candidates), Told: told}, w.bottleneck(device, candidates, best))
}

// tell completes a route with its bottleneck value, nil for none.
func (w *twin) tell(device int, r state.Route, value *big.Int) state.Route {
	k := w.knobs(device)
	if value != nil {
		if k.Divide == topologies.DivideEqual {
			value.Div(value, big.NewInt(int64(max(1, w.hearers(device, r.Told)))))
		}
		if !value.IsUint64() {
			value.SetUint64(math.MaxUint64)
		}
		r.Valued, r.Bottleneck = true, value.Uint64()
		r.Told.Valued, r.Told.Value = true, float32(float64(w.level(r.Bottleneck))/8)
		if k.Transitivity != topologies.NonTransitive {
			r.Told.Form = k.Transitivity
		}
	}
	if w.drain(device) == topologies.Drained {
		r.Set, r.Told = nil, state.Told{}
	}
	return r
}

// hearers counts the devices of the device's tier or above that may hear what it tells.
func (w *twin) hearers(device int, told state.Told) (n int) {
	for other, d := range w.t.Devices {
		joined := slices.ContainsFunc(w.x.Of[device], func(b int) bool {
			return w.peer(b, device) == other && w.bundles[b].Capacity > 0
		})
		if joined && d.Role >= w.t.Devices[device].Role && w.may(told, device, other) {
			n++
		}
	}
	return n
}

// pairs are the candidates of a set by neighbour.
func (w *twin) pairs(device int, candidates []candidate) map[int][]candidate {
	pairs := map[int][]candidate{}
	for _, c := range candidates {
		p := w.peer(int(c.Bundle), device)
		pairs[p] = append(pairs[p], c)
	}
	return pairs
}

// received is a candidate's value in bits/s as an integer of 64 bits, or nil.
func received(c candidate) *big.Int {
	if !c.Valued {
		return nil
	}
	bits, _ := new(big.Float).Mul(big.NewFloat(8), big.NewFloat(float64(c.Value))).Int(nil)
	return least(bits, new(big.Int).SetUint64(math.MaxUint64))
}

// least is the lower of two values, of which nil is none.
func least(a, b *big.Int) *big.Int {
	if a == nil || b != nil && b.Cmp(a) < 0 {
		return b
	}
	return a
}

// pair is a neighbour's capacity and its received value, which is nil where it
// counts as unlimited.
func (w *twin) pair(device int, pair []candidate) (capacity, value *big.Int) {
	capacity = new(big.Int)
	for _, c := range pair {
		capacity.Add(capacity, w.capacity(c))
		value = least(value, received(c))
	}
	if value == nil && w.knobs(device).WeightMissing != topologies.MissingDefault {
		value = new(big.Int)
	}
	return capacity, value
}

// bottleneck is the value that the device offers to damping, nil for none.
func (w *twin) bottleneck(device int, set []candidate, best candidate) *big.Int {
	k := w.knobs(device)
	valued := func(c candidate) bool { return c.Valued }
	missing := func(c candidate) bool { return !c.Valued }
	zero := func(c candidate) bool { return c.Valued && c.Value == 0 }
	sum := new(big.Int)
	switch k.Advertise {
	case topologies.AdvertiseBottleneckSum:
		if k.WeightMissing == topologies.MissingECMP && slices.ContainsFunc(set, missing) ||
			k.WeightMissing == topologies.MissingSkip && !slices.ContainsFunc(set, valued) {
			return nil
		}
		for _, pair := range w.pairs(device, set) {
			sum.Add(sum, least(w.pair(device, pair)))
		}
	case topologies.AdvertiseAggregateReceived:
		if slices.ContainsFunc(set, missing) || slices.ContainsFunc(set, zero) {
			return nil
		}
		for _, c := range set {
			sum.Add(sum, received(c))
		}
	case topologies.AdvertiseAggregateLocal:
		for _, c := range set {
			sum.Add(sum, w.capacity(c))
		}
	case topologies.AdvertiseBestPath:
		return received(best)
	case topologies.AdvertiseSet:
		sum.SetUint64(k.AdvertiseValue)
	case topologies.AdvertiseDisable:
		return nil
	}
	return least(sum, new(big.Int).SetUint64(math.MaxUint64))
}

// divide gives the members of a set their shares.
func (w *twin) divide(device int, candidates []candidate) []state.Member {
	k := w.knobs(device)
	shares := map[int32]*big.Int{}
	equal := true
	for _, pair := range w.pairs(device, candidates) {
		capacity, value := w.pair(device, pair)
		if value == nil || k.WeightSource == topologies.SourceBottleneck {
			value = least(capacity, value)
		}
		equal = equal && value.Sign() == 0
		left := new(big.Int).Set(value)
		for _, c := range pair {
			share := new(big.Int).Mul(value, w.capacity(c))
			shares[c.Bundle] = share.Div(share, capacity)
			left.Sub(left, share)
		}
		for i := range left.Int64() {
			shares[pair[i].Bundle].Add(shares[pair[i].Bundle], big.NewInt(1))
		}
	}
	for _, c := range candidates {
		equal = equal || !c.Valued && k.WeightMissing == topologies.MissingECMP ||
			c.Valued && c.Value == 0 && k.WeightZero == topologies.ZeroECMP
	}
	var set []state.Member
	for _, c := range candidates {
		if equal {
			shares[c.Bundle] = big.NewInt(1)
		}
		set = append(set, state.Member{Bundle: c.Bundle, Share: shares[c.Bundle].Uint64()})
	}
	return set
}

func (w *twin) capacity(c candidate) *big.Int {
	return new(big.Int).SetUint64(w.bundles[c.Bundle].Capacity)
}

// grown computes the end state without trials: the origins first, then always
// the devices that hear the best route of all that are left, which is one that
// is not warm, and among such the shortest. Nothing that is told later is as good.
func (w *twin) grown(prefix int) []state.Route {
	routes := make([]state.Route, len(w.t.Devices))
	decided := make([]bool, len(routes))
	for d := range routes {
		if w.originates(d, prefix) {
			routes[d], decided[d] = w.decide(d, prefix, nil), true
		}
	}
	const never = math.MaxInt
	for {
		nearest := never
		distance := make([]int, len(routes))
		for d := range routes {
			distance[d] = never
			if set := w.choose(d, prefix, w.hears(d, routes)); !decided[d] && len(set) > 0 {
				distance[d] = len(set[0].Path)
				if set[0].has(shutdown) {
					distance[d] += len(routes) // longer than any path
				}
			}
			nearest = min(nearest, distance[d])
		}
		if nearest == never {
			return routes
		}
		next := slices.Clone(routes)
		for d := range routes {
			if distance[d] == nearest {
				next[d], decided[d] = w.decide(d, prefix, w.hears(d, routes)), true
			}
		}
		routes = next
	}
}

// sameAsGrown compares every route, or gives the first difference.
func (w *twin) sameAsGrown(s *oracle.State) string {
	for p := range w.t.Prefixes {
		for d, want := range w.grown(p) {
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
		var routes []state.Route
		for d := range w.t.Devices {
			routes = append(routes, *s.Route(d, p))
		}
		reach := s.Reach(p)
		for d := range w.t.Devices {
			for _, b := range w.x.Of[d] {
				if _, want := w.exports(routes[d], d, w.peer(b, d), b); want != s.TellsTo(d, p, int32(b)) {
					return fmt.Sprintf("device %d tells prefix %d over bundle %d: got %t, want %t", d, p, b, !want, want)
				}
			}
			heard := w.hears(d, routes)
			var plain []state.Candidate
			for _, c := range heard {
				plain = append(plain, c.Candidate)
			}
			if diff := cmp.Diff(s.Receives(d, p), plain); diff != "" {
				return fmt.Sprintf("device %d, prefix %d: received (-got +want):\n%s", d, p, diff)
			}
			want := w.decide(d, p, heard)
			if diff := cmp.Diff(routes[d], want, comparePrefixes); diff != "" {
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
	properties.Property("without trials the state is the one that grows from the nearest device to the farthest", prop.ForAll(
		func(seed uint64, knobs bool) string {
			n, level := randomWith(seed, false, knobs)
			s := oracle.New(&n.Topology, level).StateOf(n.bundles, n.devices)
			if s.Err() != nil {
				return s.Err().Error()
			}
			return newTwin(n, level).sameAsGrown(s)
		}, gen.UInt64(), gen.Bool()))
	properties.Property("with trials too every route follows from what neighbours tell", prop.ForAll(
		func(seed uint64, knobs bool) string {
			n, level := randomWith(seed, true, knobs)
			s := oracle.New(&n.Topology, level).StateOf(n.bundles, n.devices)
			if s.Err() != nil {
				return s.Err().Error()
			}
			return newTwin(n, level).stable(s)
		}, gen.UInt64(), gen.Bool()))
	properties.Property("devices without a word of them are live with all defaults", prop.ForAll(
		func(seed uint64, trials bool) string {
			n, level := random(seed, trials)
			o := oracle.New(&n.Topology, level)
			devices := make([]oracle.Device, len(n.Devices))
			for i := range devices {
				if s := topologies.DefaultSettings(); i%2 == 0 {
					devices[i].Settings = &s
				}
			}
			return cmp.Diff(routes(n, o.StateOf(n.bundles, devices)), routes(n, o.State(n.bundles)), comparePrefixes)
		}, gen.UInt64(), gen.Bool()))
	properties.Property("differences are those of the routes and of what sessions receive", prop.ForAll(
		sameDifferences, gen.UInt64(), gen.Bool(), gen.Bool(), gen.SliceOfN(4, gen.UInt64())))
	properties.TestingRun(t)
}

func randomWith(seed uint64, trials, knobs bool) (*network, func(uint64) uint64) {
	n, level := random(seed, trials)
	if knobs {
		n.randomKnobs(seed)
	}
	return n, level
}

// routes are all routes of a state, by device and prefix.
func routes(n *network, s *oracle.State) (list []*state.Route) {
	for d := range n.Devices {
		for p := range n.Prefixes {
			list = append(list, s.Route(d, p))
		}
	}
	return list
}

func TestPresetsAreAsTheyGrowFromTheOrigins(t *testing.T) {
	for _, name := range []string{"prometheus-mini", "spread-mini"} {
		t.Run(name, func(t *testing.T) {
			top := preset(t, name)
			for i := 0; i < len(top.Bundles); i += 5 { // all classes
				b := healthy(top)
				b[i].Capacity = uint64(i%3) * top.Bundles[i].Speed // down, one member, two members
				n := &network{Topology: *top, bundles: b}
				s := settled(t, oracle.New(top, grid(t, top)), b)
				if diff := newTwin(n, grid(t, top)).sameAsGrown(s); diff != "" {
					t.Fatalf("bundle %q at %d bits/s: %s", top.Bundles[i].Name, b[i].Capacity, diff)
				}
			}
		})
	}
}

// sameDifferences compares Diff and DiffSessions of two states with what their
// routes and candidates say; the second state has some other capacities,
// sessions, knobs and drains.
func sameDifferences(seed uint64, trials, knobs bool, capacities []uint64) string {
	n, level := randomWith(seed, trials, knobs)
	o := oracle.New(&n.Topology, level)
	before := o.StateOf(n.bundles, n.devices)
	changed, devices := slices.Clone(n.bundles), slices.Clone(n.devices)
	for i, c := range capacities {
		b := &changed[i*7%len(changed)]
		b.Capacity = c >> (c % 64) * (c % 5)
		b.Closed = knobs && c%7 == 0
	}
	if knobs {
		// The drain of one device, the knobs of another, and of a third only how it writes values.
		other := randomDevices(rand.New(rand.NewPCG(seed, 2)), n)
		pick := func(i int) int { return int(capacities[i] % uint64(len(other))) }
		devices[pick(0)].Drain = other[pick(0)].Drain
		devices[pick(1)].Settings = other[pick(1)].Settings
		s := topologies.DefaultSettings()
		if old := devices[pick(2)].Settings; old != nil {
			s = *old
		}
		s.Transitivity = topologies.BothTransitive
		devices[pick(2)].Settings = &s
	}
	after := o.StateOf(changed, devices)
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
			c.Bottleneck = x.Valued != y.Valued || x.Bottleneck != y.Bottleneck || x.Reachable() != y.Reachable()
			c.Weights = !slices.Equal(x.Set, y.Set)
			c.Told = !x.Told.SameValue(y.Told)
			c.Path = x.Told.Present && y.Told.Present && otherAttributes(x.Told, y.Told)
			if c != (oracle.Change{Device: d, Prefix: p}) {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

func otherAttributes(x, y state.Told) bool {
	return !slices.Equal(x.Path, y.Path) || x.Down != y.Down || x.Warm != y.Warm ||
		x.Valued && y.Valued && x.Form != y.Form
}

func slowSessions(n *network, after []oracle.Bundle, a, b *oracle.State) []oracle.SessionChange {
	var changes []oracle.SessionChange
	receives := func(s *oracle.State, device, prefix, bundle int) bool {
		return slices.ContainsFunc(s.Receives(device, prefix), func(c state.Candidate) bool { return int(c.Bundle) == bundle })
	}
	open := func(b oracle.Bundle) bool { return b.Capacity > 0 && !b.Closed }
	ends := n.Index().Ends
	for i := range n.Bundles {
		for side := range 2 {
			teller, receiver := ends[i][side], ends[i][1-side]
			for p := range n.Prefixes {
				inA, inB := receives(a, receiver, p, i), receives(b, receiver, p, i)
				x, y := a.Route(teller, p).Told, b.Route(teller, p).Told
				c := oracle.SessionChange{Dir: state.Direction{Bundle: int32(i), FromB: side == 1}, Prefix: p}
				c.Told = inA != inB || inA && !x.SameValue(y)
				c.Path = inA && inB && otherAttributes(x, y)
				if c.Told || c.Path {
					c.Cut = open(n.bundles[i]) != open(after[i])
					changes = append(changes, c)
				}
			}
		}
	}
	return changes
}
