package properties

import (
	"math"
	"slices"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// faultsOfTheCore are in what a speaker decides: what it makes of what it hears, what
// it tells, what it gives to hardware, and in which order.
func faultsOfTheCore() []planted {
	return []planted{
		{
			name: "min taken as max", means: "the share of a next hop is the larger of the bundle's capacity and the received value, so a far loss is not seen",
			does: reprogrammed(func(_ *tapped, _ int, core *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				for i, h := range hops {
					if r := candidate(core, p, h.Bundle); r != nil && r.Valued {
						hops[i].Share = max(capacity(core, h.Bundle), linkbw.ToBits(r.Value))
					}
				}
				return hops
			}),
		},
		{
			name: "own bundle forgotten in the sum", means: "the told value sums what was received and not what the own bundles let through",
			does: retold(func(_ *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				decision, received := core.Decision(p), uint64(0)
				for _, h := range decision.Hops {
					if r := candidate(core, p, h.Bundle); r != nil && r.Valued {
						received += linkbw.ToBits(r.Value)
					}
				}
				if told.Valued && decision.Bottleneck > 0 && received > decision.Bottleneck {
					told.Value = float32(float64(told.Value) * float64(received) / float64(decision.Bottleneck))
				}
			}),
		},
		{
			name: "zero treated as missing", means: "a received value of 0, which asks for no traffic, is taken for a route without a value",
			plant: zeros,
			hears: misheard(func(r *speakers.Route) { r.Valued = r.Valued && r.Value != 0 }),
		},
		{
			name: "missing treated as zero", means: "a route without a value counts as one that asks for no traffic, and starves",
			hears: misheard(func(r *speakers.Route) {
				if !r.Valued {
					r.Valued, r.Value = true, 0
				}
			}),
		},
		{
			name: "a longer path is taken in", means: "the multipath set is relaxed to paths of one hop more, as with a bestpath option set by mistake",
			does: reprogrammed(func(_ *tapped, _ int, core *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				best := candidate(core, p, hops[0].Bundle)
				for _, c := range core.Candidates(p, nil) {
					if best != nil && len(c.Route.Path) == len(best.Path)+1 && capacity(core, c.Bundle) > 0 {
						hops = append(hops, speakers.Hop{Bundle: c.Bundle, Share: 1 + capacity(core, c.Bundle)})
					}
				}
				slices.SortFunc(hops, func(a, b speakers.Hop) int { return int(a.Bundle - b.Bundle) })
				return hops
			}),
		},
		{
			name: "trial ignored", means: "a bundle that has just come back takes part in a set at once, and a flapping one moves traffic each time",
			does: reprogrammed(func(_ *tapped, _ int, core *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				best := candidate(core, p, hops[0].Bundle)
				for _, c := range core.Candidates(p, nil) {
					b, _ := core.Bundle(c.Bundle)
					known := slices.ContainsFunc(hops, func(h speakers.Hop) bool { return h.Bundle == c.Bundle })
					if best != nil && b.Passed.Trial && !known && len(c.Route.Path) == len(best.Path) && c.Route.LocalPref == best.LocalPref {
						hops = append(hops, speakers.Hop{Bundle: c.Bundle, Share: hops[0].Share})
					}
				}
				slices.SortFunc(hops, func(a, b speakers.Hop) int { return int(a.Bundle - b.Bundle) })
				return hops
			}),
		},
		{
			name: "weights on the wrong next hops", means: "next hops and weights are sorted by different keys before they are joined",
			does: reprogrammed(func(_ *tapped, _ int, _ *speakers.Core, _ int32, hops []speakers.Hop) []speakers.Hop {
				for i := range len(hops) / 2 {
					hops[i].Share, hops[len(hops)-1-i].Share = hops[len(hops)-1-i].Share, hops[i].Share
				}
				return hops
			}),
		},
		{
			name: "the path of the last member is told", means: "the tie among equal paths is broken by the highest router id and not by the lowest",
			does: retold(func(_ *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				if hops := core.Decision(p).Hops; len(hops) > 1 {
					if r := candidate(core, p, hops[len(hops)-1].Bundle); r != nil {
						told.Path = r.Path
					}
				}
			}),
		},
		{
			name: "graceful shutdown ignored", means: "a receiver does not know the community of RFC 8326 and goes on preferring a device that drains",
			hears: misheard(func(r *speakers.Route) {
				r.Tags = slices.DeleteFunc(slices.Clone(r.Tags), func(tag uint32) bool { return tag == speakers.GracefulShutdown })
				if r.LocalPref == 0 {
					r.LocalPref = speakers.DefaultLocalPref
				}
			}),
		},
		{
			name: "warm tag lost", means: "a device whose whole set is warm tells it on without the mark, so that one hop further it looks sound",
			does: retold(func(_ *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				told.Warm = told.Warm && len(core.Decision(p).Hops) == 0
			}),
		},
		{
			name: "a drained device still tells", means: "draining stops new announcements and forgets to withdraw the old ones",
			hears: func(x *tapped, d int, _ *speakers.Core, in []speakers.Input) []speakers.Input {
				for i := range in {
					if in[i].Kind == speakers.Drain {
						x.count[noted{d}] = count(in[i].Drain == topologies.Drained)
					}
				}
				return in
			},
			does: without(func(x *tapped, d int, _ *speakers.Core, e *speakers.Effect) bool {
				return e.Kind == speakers.Untell && x.count[noted{d}] > 0
			}),
		},
		{
			name: "a valley", means: "what was learned from above or from the same tier is told upwards, since the scope mark is lost",
			does: retold(func(_ *tapped, _ int, _ *speakers.Core, _ int32, told *speakers.Told) { told.Down = false }),
		},
		{
			name: "bad news is not told", means: "an update of a lower value over the same path is taken for a repeat",
			does: without(func(x *tapped, d int, _ *speakers.Core, e *speakers.Effect) bool {
				was, ok := x.told[noted{d, int(e.Prefix)}]
				return e.Kind == speakers.Tell && ok && slices.Equal(was.Path, e.Told.Path) && e.Told.Valued && e.Told.Value < was.Value
			}),
		},
		{
			name: "a new path is not told", means: "only a new value makes an update, and a route that comes over another path keeps the old AS_PATH outside",
			does: without(func(x *tapped, d int, _ *speakers.Core, e *speakers.Effect) bool {
				was, ok := x.told[noted{d, int(e.Prefix)}]
				return e.Kind == speakers.Tell && ok && was.Valued == e.Told.Valued && was.Value == e.Told.Value && !slices.Equal(was.Path, e.Told.Path)
			}),
		},
		{
			name: "degradation not heard", means: "a bundle is up or down and nothing between: lost members are not reported to routing",
			hears: without(func(_ *tapped, _ int, core *speakers.Core, in *speakers.Input) bool {
				return in.Kind == speakers.Capacity && in.Capacity > 0 && in.Capacity < capacity(core, in.Bundle)
			}),
		},
		{
			name: "a knob waits for a restart", means: "a setting that is changed on a running device is stored and not applied",
			hears: without(func(_ *tapped, _ int, _ *speakers.Core, in *speakers.Input) bool {
				return in.Kind == speakers.Configure
			}),
		},
		{
			name: "stale aggregate", means: "an aggregate is kept when its more-specifics fall below the withdraw threshold",
			does: without(func(x *tapped, _ int, _ *speakers.Core, e *speakers.Effect) bool {
				return e.Kind == speakers.Untell && x.t.Prefixes[e.Prefix].Aggregate != nil
			}),
		},
		{
			name: "aggregate withdrawn too early", means: "an aggregate has one threshold: it is withdrawn below the one at which it is announced",
			does: func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for p, prefix := range x.t.Prefixes {
					a := prefix.Aggregate
					if a == nil || !core.Decision(int32(p)).Local {
						continue
					}
					supporting, behind := x.below(d, core, p)
					measure := supporting
					if a.By == topologies.ByCapacity {
						measure = behind
					}
					if measure > 0 && measure < a.Announce {
						effects = append(effects, speakers.Effect{Kind: speakers.Untell, Prefix: int32(p)})
					}
				}
				return effects
			},
		},
		{
			name: "withdrawn after the FIB", means: "hardware loses a route before the neighbours hear that it is gone",
			does: func(_ *tapped, _ int, _ *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for i := 1; i < len(effects); i++ {
					if a, b := effects[i-1], effects[i]; a.Kind == speakers.Untell && b.Kind == speakers.Unprogram && a.Prefix == b.Prefix {
						effects[i-1], effects[i] = b, a
					}
				}
				return effects
			},
		},
		{
			name: "told before the FIB", means: "neighbours are told a route before hardware has it",
			does: func(_ *tapped, _ int, _ *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for i := 1; i < len(effects); i++ {
					if a, b := effects[i-1], effects[i]; a.Kind == speakers.Program && b.Kind == speakers.Tell && a.Prefix == b.Prefix {
						effects[i-1], effects[i] = b, a
					}
				}
				return effects
			},
		},
		{
			name: "a session's fall is not heard", means: "candidates of a session that was reset stay until the neighbour replaces them",
			hears: without(func(_ *tapped, _ int, _ *speakers.Core, in *speakers.Input) bool {
				return in.Kind == speakers.SessionDown
			}),
		},
		{
			name: "one route is withheld", means: "the last prefix of a full table is not told when its value changes",
			does: without(func(x *tapped, d int, _ *speakers.Core, e *speakers.Effect) bool {
				_, before := x.told[noted{d, int(e.Prefix)}]
				return e.Kind == speakers.Tell && before && int(e.Prefix) == len(x.t.Prefixes)-1
			}),
		},
		{
			name: "float32 sum", means: "the sum is kept in the float32 of the wire while it is added up, so that it depends on the order and loses members",
			does: retold(func(_ *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				decision, sum := core.Decision(p), float32(0)
				if !told.Valued || linkbw.FromBits(decision.Bottleneck) != told.Value || len(decision.Hops) == 0 {
					return
				}
				exact := uint64(0)
				for _, h := range decision.Hops {
					sum += linkbw.FromBits(h.Share)
					exact += h.Share
				}
				if exact == decision.Bottleneck {
					told.Value = sum
				}
			}),
		},
		{
			name: "float32 rounded down", means: "bits become the float32 of the wire by cutting off, and not by rounding to the nearest",
			does: retold(func(_ *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				exact := core.Decision(p).Bottleneck
				if told.Valued && linkbw.FromBits(exact) == told.Value && float64(told.Value)*8 > float64(exact) {
					told.Value = math.Nextafter32(told.Value, 0)
				}
			}),
		},
		{
			name: "the best value wins", means: "link bandwidth takes part in the decision: of equal paths only those with the highest value are used",
			does: reprogrammed(func(_ *tapped, _ int, core *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				best := float32(0)
				for _, h := range hops {
					if r := candidate(core, p, h.Bundle); r != nil && r.Valued {
						best = max(best, r.Value)
					}
				}
				return slices.DeleteFunc(hops, func(h speakers.Hop) bool {
					r := candidate(core, p, h.Bundle)
					return r != nil && r.Valued && r.Value < best
				})
			}),
		},
		{
			name: "a pair's share for each of its bundles", means: "where several bundles lead to one neighbour each gets the share that is theirs together",
			does: reprogrammed(func(x *tapped, _ int, _ *speakers.Core, _ int32, hops []speakers.Hop) []speakers.Hop {
				sum := map[[2]int]uint64{}
				for _, h := range hops {
					sum[x.ix.Ends[h.Bundle]] += h.Share
				}
				for i, h := range hops {
					hops[i].Share = sum[x.ix.Ends[h.Bundle]]
				}
				return hops
			}),
		},
		{
			name: "all zero, and no traffic at all", means: "where all members ask for no traffic none is given a share, and the prefix is dropped",
			plant: zeros,
			does: func(_ *tapped, _ int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for i, e := range effects {
					all := e.Kind == speakers.Program
					for _, h := range e.Hops {
						r := candidate(core, e.Prefix, h.Bundle)
						all = all && r != nil && r.Valued && r.Value == 0
					}
					if all {
						effects[i] = speakers.Effect{Kind: speakers.Unprogram, Prefix: e.Prefix}
					}
				}
				return effects
			},
		},
		{
			name: "an aggregate counts twice", means: "the value of an aggregate sums its more-specifics, and a bundle behind two of them is counted twice",
			does: retold(func(x *tapped, _ int, core *speakers.Core, p int32, told *speakers.Told) {
				if x.t.Prefixes[p].Aggregate == nil || !told.Valued || len(told.Path) > 0 {
					return
				}
				sum := uint64(0)
				for _, s := range x.t.Specifics(int(p)) {
					sum += core.Decision(int32(s)).Bottleneck
				}
				told.Value = max(told.Value, linkbw.FromBits(sum))
			}),
		},
		{
			name: "suppression forgotten", means: "more-specifics go on upwards beside the aggregate that takes their place",
			does: retold(func(x *tapped, d int, core *speakers.Core, p int32, told *speakers.Told) {
				decision, below := core.Decision(p), false
				for _, h := range decision.Hops {
					ends := x.ix.Ends[h.Bundle]
					below = below || x.t.Devices[ends[0]+ends[1]-d].Role < x.t.Devices[d].Role
				}
				told.Down = told.Down && !below && !decision.Local
			}),
		},
		{
			name: "off by one ulp", means: "the told value is rounded up to the next float32 where it was exact",
			does: retold(func(_ *tapped, _ int, _ *speakers.Core, _ int32, told *speakers.Told) {
				if told.Valued && told.Value > 0 {
					told.Value = math.Nextafter32(told.Value, math.MaxFloat32)
				}
			}),
		},
	}
}

// below measures what a device has of an aggregate's more-specifics from below: how many,
// and the capacity of the bundles behind them in bits/s.
func (x *tapped) below(d int, core *speakers.Core, aggregate int) (supporting, behind uint64) {
	bundles := map[int32]bool{}
	for _, s := range x.t.Specifics(aggregate) {
		r := core.Decision(int32(s))
		from := r.Local
		for _, h := range r.Hops {
			ends := x.ix.Ends[h.Bundle]
			if x.t.Devices[ends[0]+ends[1]-d].Role < x.t.Devices[d].Role {
				from, bundles[h.Bundle] = true, true
			}
		}
		supporting += uint64(count(from))
	}
	for b := range bundles {
		behind += capacity(core, b)
	}
	return supporting, behind
}

// misheard changes each route that is heard.
func misheard(to func(r *speakers.Route)) func(*tapped, int, *speakers.Core, []speakers.Input) []speakers.Input {
	return func(_ *tapped, _ int, _ *speakers.Core, in []speakers.Input) []speakers.Input {
		for i := range in {
			if in[i].Kind == speakers.Announce {
				r := *in[i].Route
				to(&r)
				in[i].Route = &r
			}
		}
		return in
	}
}
