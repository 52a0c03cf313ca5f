package speakers_test

import (
	"fmt"
	"math"
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
	hold       time.Duration
	told       *lowest // the told stage, or nil
	now        time.Duration
	originates bool
	up         map[int32]bool
	routes     map[int32]map[int32]speakers.Route // by prefix and bundle
	capacities map[int32][]bundleSample           // all there ever was
	values     map[int32][]sample                 // bottleneck values at every change
}

type bundleSample struct {
	at       time.Duration
	capacity uint64
}

func newTwin(cfg speakers.Config, hold time.Duration, told *lowest) *twin {
	w := &twin{
		cfg: cfg, hold: hold, told: told, up: map[int32]bool{}, routes: map[int32]map[int32]speakers.Route{},
		capacities: map[int32][]bundleSample{}, values: map[int32][]sample{},
	}
	for _, s := range cfg.Sessions {
		w.capacities[s.Bundle] = []bundleSample{{0, s.Capacity}}
	}
	for p := range int32(cfg.Prefixes) {
		w.routes[p] = map[int32]speakers.Route{}
	}
	return w
}

func (w *twin) hear(in speakers.Input) {
	switch in.Kind {
	case speakers.SessionUp:
		w.up[in.Bundle] = true
	case speakers.SessionDown:
		w.up[in.Bundle] = false
		for _, routes := range w.routes {
			delete(routes, in.Bundle)
		}
	case speakers.Announce:
		w.routes[in.Prefix][in.Bundle] = in.Route
	case speakers.Withdraw:
		delete(w.routes[in.Prefix], in.Bundle)
	case speakers.Capacity:
		w.capacities[in.Bundle] = append(w.capacities[in.Bundle], bundleSample{w.now, in.Capacity})
	case speakers.Originate:
		w.originates = true
	}
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
	var list, trials []rival
	if _, ok := w.origin(p); ok {
		list = append(list, rival{own: true, Route: speakers.Route{LocalPref: 100}})
	}
	for _, s := range w.cfg.Sessions {
		route, ok := w.routes[p][s.Bundle]
		passed := w.passed(s.Bundle)
		if !ok || passed.Capacity == 0 || slices.Contains(route.Path, w.cfg.ASN) {
			continue
		}
		if route.LocalPref == 0 {
			route.LocalPref = 100
		}
		if passed.Trial {
			trials = append(trials, rival{Session: s, Route: route, Passed: passed})
		} else {
			list = append(list, rival{Session: s, Route: route, Passed: passed})
		}
	}
	if len(list) == 0 {
		return trials
	}
	return list
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

// weigh gives the set's shares and bottleneck value, neighbour by neighbour.
func weigh(set []rival) (hops []speakers.Hop, valued bool, bottleneck uint64) {
	for _, r := range set {
		hops = append(hops, speakers.Hop{Bundle: r.Bundle, Share: 1})
	}
	if slices.ContainsFunc(set, func(r rival) bool { return lacksValue(r.Route) }) {
		return hops, false, 0
	}
	sum := new(big.Int)
	shares := map[int32]uint64{}
	for _, r := range set {
		if _, done := shares[r.Bundle]; done {
			continue
		}
		total, received := new(big.Int), linkbw.ToBits(r.Value)
		var pair []rival
		for _, other := range set {
			if other.Neighbor == r.Neighbor {
				pair = append(pair, other)
				total.Add(total, bigOf(other.Passed.Capacity))
				received = min(received, linkbw.ToBits(other.Value))
			}
		}
		value := min(cut(total), received)
		split(value, cut(total), pair, shares)
		sum.Add(sum, bigOf(value))
	}
	for i := range hops {
		if sum.Sign() > 0 {
			hops[i].Share = shares[hops[i].Bundle]
		}
	}
	return hops, true, cut(sum)
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

// decision is everything about one prefix.
func (w *twin) decision(p int32) speakers.Decision {
	set := winners(w.rivals(p))
	d := speakers.Decision{}
	if len(set) == 0 {
		return d
	}
	if set[0].own {
		d.Local, d.Valued = true, true
		d.Bottleneck, _ = w.origin(p)
	} else {
		d.Hops, d.Valued, d.Bottleneck = weigh(set)
	}
	best := set[0]
	for _, r := range set {
		if r.Neighbor < best.Neighbor {
			best = r
		}
	}
	d.Told = speakers.Told{Present: true, Path: best.Path, Down: !d.Local && best.NeighborRole >= w.cfg.Role}
	return d
}

// settle is decision with the told value as the policy, if there is one, makes
// it, after it has heard of the present value.
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
			if r.LocalPref == 0 {
				r.LocalPref = 100
			}
			if lacksValue(r) {
				r.Valued, r.Value = false, 0
			}
			list = append(list, speakers.Candidate{Bundle: s.Bundle, Route: r})
		}
	}
	return list
}

// tape turns any bytes into choices; an empty tape gives zeros for ever.
type tape []byte

func (t *tape) choose(n int) int {
	if len(*t) == 0 {
		return 0
	}
	b := (*t)[0]
	*t = (*t)[1:]
	return int(b) % n
}

// pick takes one of the list.
func pick[T any](t *tape, list []T) T { return list[t.choose(len(list))] }

const (
	tapeASN      = 5
	tapePrefixes = 3
	tapeHold     = 30 * time.Second
	tapeLowest   = lowest(20 * time.Second)
)

var (
	roles        = []topologies.Role{topologies.Edge, topologies.Spine, topologies.Bag}
	someCapacity = []uint64{4 * unit, 3 * unit, unit, 0, 1, 7, 1<<63 + 10, ^uint64(0)}
	someValue    = []float32{
		units(4), units(2), units(1), units(0.3), 0, 0.125, 2.125, math.SmallestNonzeroFloat32, math.MaxFloat32,
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), -1,
	}
)

// config takes a speaker off the tape: one to six sessions to up to four
// neighbours, and the prefixes that it originates.
func (t *tape) config() speakers.Config {
	cfg := speakers.Config{ASN: tapeASN, Role: pick(t, roles), Prefixes: tapePrefixes}
	var neighbors [4]topologies.Role
	for i := range neighbors {
		neighbors[i] = pick(t, roles)
	}
	for b := range int32(1 + t.choose(6)) {
		neighbor := t.choose(len(neighbors))
		cfg.Sessions = append(cfg.Sessions, speakers.Session{
			Bundle: 10 + 2*b, Neighbor: int32(neighbor), NeighborASN: 1 + uint32(neighbor)*2/3,
			NeighborRole: neighbors[neighbor], Capacity: pick(t, someCapacity),
		})
	}
	for p := range int32(tapePrefixes) {
		if t.choose(4) == 3 {
			cfg.Origins = append(cfg.Origins, speakers.Origin{Prefix: p, Bandwidth: pick(t, someCapacity)})
		}
	}
	return cfg
}

// route takes a route off the tape; paths are short and of few ASNs, the
// speaker's own one among them, so that they often tie, loop and hide.
func (t *tape) route() speakers.Route {
	var path []uint32
	for range t.choose(4) {
		path = append(path, 1+uint32(t.choose(tapeASN)))
	}
	return speakers.Route{
		Path: path, Valued: t.choose(8) != 7, Value: pick(t, someValue),
		LocalPref: pick(t, []uint32{0, 0, 0, 100, 50, 200}), Origin: pick(t, []uint8{0, 0, 0, 1, 2}),
	}
}

// input takes something that happens to one session off the tape.
func (t *tape) input(bundle int32) speakers.Input {
	in := speakers.Input{Bundle: bundle}
	switch t.choose(10) {
	case 0:
		in.Kind = speakers.SessionUp
	case 1:
		in.Kind = speakers.SessionDown
	case 2, 3:
		in.Kind, in.Capacity = speakers.Capacity, pick(t, someCapacity)
	case 4:
		in.Kind, in.Prefix = speakers.Withdraw, int32(t.choose(tapePrefixes))
	default:
		in.Kind, in.Prefix, in.Route = speakers.Announce, int32(t.choose(tapePrefixes)), t.route()
	}
	return in
}
