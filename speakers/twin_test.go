package speakers_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// twin is the core as a page of plain rules: it remembers what came in and
// works everything out anew, in big integers, every time.
type twin struct {
	cfg        speakers.Config
	settings   topologies.Settings
	hold       time.Duration
	told       *lowest // the told stage, or nil
	now        time.Duration
	drain      topologies.DrainState
	forwardTo  time.Duration // while drained: until when it forwards
	originates bool
	up         map[int32]bool
	deaf       map[int32]bool                     // sessions ended for too many prefixes
	routes     map[int32]map[int32]speakers.Route // by prefix and bundle
	capacities map[int32][]bundleSample           // all there ever was
	values     map[int32][]sample                 // bottleneck values at every change

	restarting map[int32]bool          // neighbours that have said that they restart
	staleTo    map[int32]time.Duration // until when routes of a restarting neighbour are used
	stale      map[[2]int32]bool       // those routes, by prefix and bundle
	endOfRIB   map[int32]bool
	deferring  bool // a restarted speaker has not decided yet
	deferTo    time.Duration
	conditions []condition // by cfg.Aggregates
}

// condition is what an aggregate was last found to be.
type condition struct {
	announced bool
	capacity  uint64
}

type bundleSample struct {
	at       time.Duration
	capacity uint64
}

func newTwin(cfg speakers.Config, hold time.Duration, told *lowest) *twin {
	w := &twin{
		cfg: cfg, settings: topologies.DefaultSettings(), hold: hold, told: told,
		up: map[int32]bool{}, deaf: map[int32]bool{}, routes: map[int32]map[int32]speakers.Route{},
		capacities: map[int32][]bundleSample{}, values: map[int32][]sample{},
		restarting: map[int32]bool{}, staleTo: map[int32]time.Duration{}, stale: map[[2]int32]bool{}, endOfRIB: map[int32]bool{},
		conditions: make([]condition, len(cfg.Aggregates)),
	}
	if cfg.Settings != nil {
		w.settings = *cfg.Settings
	}
	for i, s := range cfg.Sessions {
		capacity := s.Capacity
		if cfg.Restart != nil {
			capacity = cfg.Restart.Bundles[i]
		}
		w.capacities[s.Bundle] = []bundleSample{{0, capacity}}
	}
	if r := cfg.Restart; r != nil {
		w.now, w.drain = r.At, r.Drain
		w.deferring, w.deferTo = true, r.At+w.settings.EndOfRIBTime
	}
	for p := range int32(cfg.Prefixes) {
		w.routes[p] = map[int32]speakers.Route{}
	}
	return w
}

func (w *twin) hear(in speakers.Input) {
	switch in.Kind {
	case speakers.SessionUp:
		w.up[in.Bundle], w.deaf[in.Bundle] = true, false
	case speakers.SessionDown:
		w.up[in.Bundle] = false
		w.fall(in.Bundle)
	case speakers.Restarts:
		w.restarting[in.Bundle] = true
	case speakers.EndOfRIB:
		w.endOfRIB[in.Bundle] = true
		w.forgetStale(in.Bundle)
	case speakers.Announce:
		if !w.deaf[in.Bundle] {
			w.routes[in.Prefix][in.Bundle] = *in.Route
			delete(w.stale, [2]int32{in.Prefix, in.Bundle})
		}
	case speakers.Withdraw:
		delete(w.routes[in.Prefix], in.Bundle)
	case speakers.Capacity:
		if history := w.capacities[in.Bundle]; in.Capacity == 0 && history[len(history)-1].capacity > 0 {
			w.forgetStale(in.Bundle) // whoever restarts does not forward over it
		}
		w.capacities[in.Bundle] = append(w.capacities[in.Bundle], bundleSample{w.now, in.Capacity})
	case speakers.Originate:
		w.originates = true
	case speakers.Configure:
		w.settings = *in.Settings
	case speakers.Drain:
		if in.Drain == topologies.Drained && w.drain != topologies.Drained {
			w.forwardTo = w.now + w.settings.Linger
		}
		w.drain = in.Drain
	}
}

func (w *twin) forget(bundle int32) {
	for _, routes := range w.routes {
		delete(routes, bundle)
	}
}

// fall is what a fallen session means: its routes go, or are used a while longer
// if the neighbour had said that it restarts.
func (w *twin) fall(bundle int32) {
	graceful := w.restarting[bundle] && w.settings.StaleTime > 0
	w.restarting[bundle], w.endOfRIB[bundle] = false, false
	delete(w.staleTo, bundle)
	if !graceful {
		w.forget(bundle)
		return
	}
	w.staleTo[bundle] = w.now + w.settings.StaleTime
	for p, routes := range w.routes {
		if _, ok := routes[bundle]; ok {
			w.stale[[2]int32{p, bundle}] = true
		}
	}
}

// forgetStale drops what a restarted neighbour has not told again.
func (w *twin) forgetStale(bundle int32) {
	if _, ok := w.staleTo[bundle]; !ok {
		return
	}
	delete(w.staleTo, bundle)
	for p, routes := range w.routes {
		if w.stale[[2]int32{p, bundle}] {
			delete(routes, bundle)
		}
		delete(w.stale, [2]int32{p, bundle})
	}
}

// expire drops the stale routes whose time is up.
func (w *twin) expire() {
	for bundle, at := range w.staleTo {
		if at <= w.now {
			w.forgetStale(bundle)
		}
	}
}

// waits tells whether a restarted speaker has yet to hear its neighbours.
func (w *twin) waits() bool {
	return w.deferring && w.now < w.deferTo &&
		slices.ContainsFunc(w.cfg.Sessions, func(s speakers.Session) bool { return !w.endOfRIB[s.Bundle] })
}

// judge finds the conditions of the aggregates, the most specific first. A
// drained device leaves them be.
func (w *twin) judge() {
	for i := len(w.conditions) - 1; i >= 0 && w.drain != topologies.Drained; i-- {
		a, was := w.cfg.Aggregates[i], w.conditions[i]
		supporting, capacity, seen := uint64(0), new(big.Int), map[int32]bool{}
		for _, p := range a.Specifics {
			set := w.set(p)
			if len(set) == 0 || !set[0].own && bestOf(set).NeighborRole >= w.cfg.Role {
				continue
			}
			supporting++
			for _, r := range set {
				if !r.own && !seen[r.Bundle] {
					seen[r.Bundle] = true
					capacity.Add(capacity, bigOf(r.Passed.Capacity))
				}
			}
		}
		measure := supporting
		if a.By == topologies.ByCapacity {
			measure = cut(capacity)
		}
		w.conditions[i] = condition{w.originates && (measure >= a.Announce || was.announced && measure >= a.Withdraw), cut(capacity)}
	}
}

// suppressed tells whether an aggregate that is announced stands for the prefix.
func (w *twin) suppressed(p int32) bool {
	for i, a := range w.cfg.Aggregates {
		if a.Suppress && w.conditions[i].announced && slices.Contains(a.Specifics, p) {
			return true
		}
	}
	return false
}

func (w *twin) isAggregate(p int32) bool {
	return slices.ContainsFunc(w.cfg.Aggregates, func(a speakers.Aggregate) bool { return a.Prefix == p })
}

// cease ends the sessions that hold too many prefixes after a batch.
func (w *twin) cease() (list []speakers.Effect) {
	for _, s := range w.cfg.Sessions {
		held := 0
		for _, routes := range w.routes {
			if _, ok := routes[s.Bundle]; ok {
				held++
			}
		}
		if most := w.settings.MaxPrefixes; most > 0 && held > most {
			w.deaf[s.Bundle] = true
			w.forget(s.Bundle)
			list = append(list, speakers.Effect{Kind: speakers.Cease, Bundle: s.Bundle})
		}
	}
	return list
}

// passed is what hold-down lets through: the least capacity of the last hold,
// as far back as the bundle was up, and whether it came up within that time.
func (w *twin) passed(bundle int32) damping.Passed {
	history := w.capacities[bundle]
	out := damping.Passed{Capacity: history[len(history)-1].capacity}
	if out.Capacity == 0 {
		return out
	}
	for i := len(history) - 1; i > 0 && history[i].at > w.now-w.hold; i-- {
		if history[i-1].capacity == 0 {
			out.Trial = true
			break
		}
		out.Capacity = min(out.Capacity, history[i-1].capacity)
	}
	return out
}

func (w *twin) origin(p int32) (bandwidth uint64, ok bool) {
	for i, a := range w.cfg.Aggregates {
		if a.Prefix == p {
			return w.conditions[i].capacity, w.originates && w.conditions[i].announced
		}
	}
	for _, o := range w.cfg.Origins {
		if o.Prefix == p {
			return o.Bandwidth, w.originates
		}
	}
	return 0, false
}

type rival struct {
	speakers.Session
	speakers.Route
	damping.Passed
	own bool
}

// rivals are the routes that may be used, the device's own one included.
func (w *twin) rivals(p int32) []rival {
	var list []rival
	if _, ok := w.origin(p); ok {
		list = append(list, rival{own: true, Route: speakers.Route{LocalPref: 100}})
	}
	for _, s := range w.cfg.Sessions {
		route, ok := w.routes[p][s.Bundle]
		passed := w.passed(s.Bundle)
		if !ok || passed.Capacity == 0 || slices.Contains(route.Path, w.cfg.ASN) || w.rejects(p, route) {
			continue
		}
		route.LocalPref = preference(route)
		list = append(list, rival{Session: s, Route: route, Passed: passed})
	}
	return list
}

// rejects is import policy.
func (w *twin) rejects(p int32, r speakers.Route) bool {
	if int(p) < len(w.cfg.Classes) && slices.Contains(w.settings.RejectClasses, w.cfg.Classes[p]) {
		return true
	}
	return slices.ContainsFunc(r.Tags, func(tag uint32) bool { return slices.Contains(w.settings.RejectTagged, tag) })
}

func isWarm(r speakers.Route) bool { return slices.Contains(r.Tags, 0xffff0000) }

// preference is the LOCAL_PREF that a route is judged by.
func preference(r speakers.Route) uint32 {
	if isWarm(r) {
		return 0
	}
	if r.LocalPref == 0 {
		return 100
	}
	return r.LocalPref
}

// winners keeps, for one criterion after the other, those that are best in it.
func winners(list []rival) []rival {
	for _, better := range []func(a, b rival) bool{
		func(a, b rival) bool { return a.LocalPref > b.LocalPref },
		func(a, b rival) bool { return a.own && !b.own },
		func(a, b rival) bool { return len(a.Path) < len(b.Path) },
		func(a, b rival) bool { return a.Origin < b.Origin },
	} {
		list = slices.DeleteFunc(slices.Clone(list), func(b rival) bool {
			return slices.ContainsFunc(list, func(a rival) bool { return better(a, b) })
		})
	}
	return list
}

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// cut is n, or the largest uint64 where it does not fit.
func cut(n *big.Int) uint64 {
	if !n.IsUint64() {
		return ^uint64(0)
	}
	return n.Uint64()
}

func lacksValue(r speakers.Route) bool {
	return !r.Valued || !(linkbw.Community{Value: r.Value}).Valid()
}

func isZero(r speakers.Route) bool { return !lacksValue(r) && r.Value == 0 }

// group is the part of a set that leads to one neighbour.
type group struct {
	members  []rival
	capacity uint64
	received uint64 // the lowest value, or what counts where there is none
}

func (w *twin) groups(set []rival) (list []group) {
	for i, r := range set {
		same := func(other rival) bool { return other.Neighbor == r.Neighbor }
		if slices.ContainsFunc(set[:i], same) {
			continue
		}
		members := slices.DeleteFunc(slices.Clone(set), func(other rival) bool { return !same(other) })
		total := new(big.Int)
		var values []uint64
		for _, m := range members {
			total.Add(total, bigOf(m.Passed.Capacity))
			if !lacksValue(m.Route) {
				values = append(values, linkbw.ToBits(m.Value))
			}
		}
		g := group{members: members, capacity: cut(total)}
		if len(values) > 0 {
			g.received = slices.Min(values)
		} else if w.settings.WeightMissing == "default-weight" {
			g.received = g.capacity
		}
		list = append(list, g)
	}
	return list
}

// weigh gives the set's shares, neighbour by neighbour.
func (w *twin) weigh(set []rival) (hops []speakers.Hop) {
	shares, some := map[int32]uint64{}, false
	for _, g := range w.groups(set) {
		share := g.received
		if w.settings.WeightSource == "bottleneck" {
			share = min(share, g.capacity)
		}
		split(share, g.capacity, g.members, shares)
		some = some || share > 0
	}
	for _, r := range set {
		some = some && !(lacksValue(r.Route) && w.settings.WeightMissing == "ecmp") &&
			!(isZero(r.Route) && w.settings.WeightZero == "ecmp")
	}
	for _, r := range set {
		if !some {
			shares[r.Bundle] = 1
		}
		hops = append(hops, speakers.Hop{Bundle: r.Bundle, Share: shares[r.Bundle]})
	}
	return hops
}

// value is what a set is worth to neighbours before it is divided.
func (w *twin) value(p int32, set []rival, best rival) (uint64, bool) {
	lacking := slices.ContainsFunc(set, func(r rival) bool { return lacksValue(r.Route) })
	sum := new(big.Int)
	switch w.settings.Advertise {
	case "disable":
		return 0, false
	case "set":
		return w.settings.AdvertiseValue, true
	}
	if best.own {
		return w.origin(p)
	}
	switch w.settings.Advertise {
	case "best-path":
		return linkbw.ToBits(best.Value), !lacksValue(best.Route)
	case "aggregate-local":
		for _, r := range set {
			sum.Add(sum, bigOf(r.Passed.Capacity))
		}
		return cut(sum), true
	case "aggregate-received":
		for _, r := range set {
			sum.Add(sum, bigOf(linkbw.ToBits(r.Value)))
		}
		return cut(sum), !lacking && !slices.ContainsFunc(set, func(r rival) bool { return isZero(r.Route) })
	}
	for _, g := range w.groups(set) {
		sum.Add(sum, bigOf(min(g.capacity, g.received)))
	}
	switch w.settings.WeightMissing {
	case "ecmp":
		return cut(sum), !lacking
	case "skip":
		return cut(sum), slices.ContainsFunc(set, func(r rival) bool { return !lacksValue(r.Route) })
	}
	return cut(sum), true
}

// divisor is the number of neighbours by which a value is divided.
func (w *twin) divisor(t speakers.Told) uint64 {
	above := map[int32]bool{}
	for _, bundle := range w.hearers(t) {
		for _, s := range w.cfg.Sessions {
			if s.Bundle == bundle && s.NeighborRole >= w.cfg.Role && w.passed(bundle).Capacity > 0 {
				above[s.Neighbor] = true
			}
		}
	}
	if w.settings.Divide == "none" || len(above) == 0 {
		return 1
	}
	return uint64(len(above))
}

// split deals value out in proportion to the pair's capacities, and what
// rounding leaves by single units, the first bundle first.
func split(value, total uint64, pair []rival, shares map[int32]uint64) {
	left := value
	for _, r := range pair {
		share := new(big.Int).Mul(bigOf(value), bigOf(r.Passed.Capacity))
		shares[r.Bundle] = min(left, cut(share.Div(share, bigOf(total))))
		left -= shares[r.Bundle]
	}
	for _, r := range pair {
		if left > 0 {
			shares[r.Bundle]++
			left--
		}
	}
}

// set is the multipath set, or the device's own route.
func (w *twin) set(p int32) []rival {
	set := winners(w.rivals(p))
	if slices.ContainsFunc(set, func(r rival) bool { return !r.Trial }) {
		set = slices.DeleteFunc(set, func(r rival) bool { return r.Trial })
	}
	return set
}

// bestOf is the member whose path is told on.
func bestOf(set []rival) rival {
	return slices.MinFunc(set, func(a, b rival) int { return cmp.Compare(a.Neighbor, b.Neighbor) })
}

// decision is everything about one prefix.
func (w *twin) decision(p int32) speakers.Decision {
	set, d := w.set(p), speakers.Decision{}
	if len(set) == 0 {
		return d
	}
	best := bestOf(set)
	d.Local = best.own
	d.Told = speakers.Told{Present: true, Path: best.Path, Atomic: d.Local && w.isAggregate(p)}
	d.Told.Down = w.suppressed(p) || !d.Local && best.NeighborRole >= w.cfg.Role
	d.Told.Warm = w.drain == topologies.Warm || !slices.ContainsFunc(set, func(r rival) bool { return !isWarm(r.Route) })
	if !d.Local {
		d.Hops = w.weigh(set)
	}
	if value, ok := w.value(p, set, best); ok {
		d.Valued, d.Bottleneck = true, value/w.divisor(d.Told)
	}
	return d
}

// settle is decision with the told value as the policy, if there is one, makes
// it, after it has heard of the present value, and as the drain state leaves it.
func (w *twin) settle(p int32) speakers.Decision {
	d := w.decision(p)
	in := damping.Value{}
	switch {
	case d.Valued:
		in = damping.Value{Reach: damping.Valued, Bits: d.Bottleneck}
	case d.Told.Present:
		in.Reach = damping.Unvalued
	}
	out := in
	if w.told != nil {
		if h := w.values[p]; len(h) == 0 && in.Reach != damping.Gone || len(h) > 0 && h[len(h)-1].in != in {
			w.values[p] = append(h, sample{w.now, in})
		}
		out, _ = w.told.told(w.values[p], w.now)
	}
	if out.Reach == damping.Gone {
		d.Told = speakers.Told{}
	}
	if out.Reach == damping.Valued {
		d.Told.Valued, d.Told.Value = true, linkbw.FromBits(out.Bits)
		if w.settings.Transitivity != "non-transitive" {
			d.Told.Form = w.settings.Transitivity
		}
	}
	if w.drain == topologies.Drained {
		d.Told = speakers.Told{}
		if w.now >= w.forwardTo {
			d.Hops = nil
		}
	}
	return d
}

// hearers are the bundles over which a route is told.
func (w *twin) hearers(t speakers.Told) []int32 {
	var list []int32
	for _, s := range w.cfg.Sessions {
		upOrAcross := s.NeighborRole >= w.cfg.Role
		if t.Present && !(t.Down && upOrAcross) && !slices.Contains(t.Path, s.NeighborASN) {
			list = append(list, s.Bundle)
		}
	}
	return list
}

// differences are the effects that lead from one decision to another.
func (w *twin) differences(p int32, from, to speakers.Decision) []speakers.Effect {
	var list []speakers.Effect
	heard, hears := len(w.hearers(from.Told)) > 0, len(w.hearers(to.Told)) > 0
	if heard && !hears {
		list = append(list, speakers.Effect{Kind: speakers.Untell, Prefix: p})
	}
	if fmt.Sprint(from.Hops) != fmt.Sprint(to.Hops) {
		if len(to.Hops) == 0 {
			list = append(list, speakers.Effect{Kind: speakers.Unprogram, Prefix: p})
		} else {
			list = append(list, speakers.Effect{Kind: speakers.Program, Prefix: p, Hops: to.Hops})
		}
	}
	if hears && (!heard || fmt.Sprint(from.Told) != fmt.Sprint(to.Told)) {
		list = append(list, speakers.Effect{Kind: speakers.Tell, Prefix: p, Told: to.Told})
	}
	return list
}

// candidates are what Adj-RIB-In holds.
func (w *twin) candidates(p int32) []speakers.Candidate {
	var list []speakers.Candidate
	for _, s := range w.cfg.Sessions {
		if r, ok := w.routes[p][s.Bundle]; ok {
			r.LocalPref = preference(r)
			if lacksValue(r) {
				r.Valued, r.Value = false, 0
			}
			list = append(list, speakers.Candidate{Bundle: s.Bundle, Route: r})
		}
	}
	return list
}
