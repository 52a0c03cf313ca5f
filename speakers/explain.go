package speakers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// Explanation is how a core came to what it holds for one prefix, step by
// step, in plain types. It shares nothing that the core writes to.
type Explanation struct {
	Settings   topologies.Settings
	Drain      topologies.DrainState
	ForwardsTo time.Duration // virtual time at which a drained device stops forwarding, else Never
	Restarting bool          // started again and waiting: hardware forwards as before, and nothing is decided

	Originates bool           // the device originates the prefix
	Aggregate  *AggregateView // the device announces the prefix under this condition; nil = it does not
	Local      bool           // and its own route is the one used
	Candidates []Judged
	Best       int // the candidate whose path is told on, or -1
	Set        []SetMember
	Equal      string // why the shares of the set are equal, or empty

	Valuation Valuation
	Told      Stages
	Bundles   []BundleView // by session
	Hops      []Hop        // what hardware was given, ascending by Bundle
	Tells     Telling
}

// Verdicts on a candidate. A candidate that import policy rejects has one that
// begins with VerdictRejected and names the class or the community.
const (
	VerdictUsed        = "used"
	VerdictLoop        = "dropped: own ASN in path"
	VerdictBundleDown  = "bundle down"
	VerdictRejected    = "rejected by import policy"
	VerdictTrial       = "on trial"                 // its bundle came back lately, and there is another route
	VerdictLocal       = "locally originated"       // the device's own route is preferred
	VerdictWarm        = "warm"                     // its neighbour is being drained, and there is another route
	VerdictLocalPref   = "lower LOCAL_PREF"         // than the set's
	VerdictPath        = "longer AS_PATH"           // than the set's
	VerdictOrigin      = "higher ORIGIN"            // than the set's
	verdictUnexplained = "not in the multipath set" // a rule that this file does not know
)

// Judged is a candidate with the decision's verdict on it.
type Judged struct {
	Candidate
	Neighbor int32 // device
	Verdict  string
	Stale    bool // from before its neighbour's restart
}

// AggregateView is an aggregate's condition and its measure. Capacities are
// bits/s.
type AggregateView struct {
	topologies.Aggregate
	Specifics  int    // more-specifics that there are
	Supporting int    // those that come from below or are the device's own
	Capacity   uint64 // of the distinct bundles behind the supporting ones
	Announced  bool
}

// SetMember is one member of the multipath set and where its share is from.
type SetMember struct {
	Bundle   int32
	Neighbor int32  // device
	Capacity uint64 // bits/s that the bundle's damping passes
	Valued   bool   // its route has a valid value
	Received uint64 // bits/s; only where Valued
	Parallel int    // members of the set that lead to this neighbour, this one included
	// Min is the smaller of the capacity of all bundles to the neighbour and the
	// lowest value received over them, in bits/s; a missing value counts as
	// weights.missing says.
	Min   uint64
	Share uint64 // bits/s, or 1 where the shares are equal
}

// Valuation is how the bottleneck value came about.
type Valuation struct {
	Mode    string        // a value of the knob `advertise`, ModeOrigin or ModeAggregate
	Terms   []Term        // of the sum; empty where the value is a constant
	Sum     damping.Value // before it is divided
	Divisor uint64        // 1 unless `divide` says otherwise
	Value   damping.Value // the bottleneck value
	Why     string        // why there is no value, or empty
}

// ModeOrigin says that the value is that of a prefix which the device
// originates, a constant.
const ModeOrigin = "origin"

// ModeAggregate says that the value is that of an aggregate: the capacity of
// the distinct bundles behind its more-specifics.
const ModeAggregate = "aggregate"

// Term is one neighbour's or member's part in a sum, in bits/s.
type Term struct {
	Neighbor int32 // device
	Bits     uint64
}

// Stages is the way of a value through damping, from the bottleneck value to
// what is told.
type Stages struct {
	Stages []Stage
	Next   time.Duration // virtual time of the next timer, or Never
}

// Stage is one stage of damping with its input and output. What a stage with a
// memory hands to the next cannot be seen from outside: it and all after it are
// one Stage.
type Stage struct {
	Name       string
	Memoryless bool // recomputed from In alone
	In, Out    damping.Value
}

// BundleView is a bundle as the core sees it, and whether the prefix is told
// over it.
type BundleView struct {
	Bundle       int32
	Neighbor     int32 // device
	NeighborASN  uint32
	NeighborRole topologies.Role
	Up           bool   // the session is Established
	Capacity     uint64 // bits/s that are there, 0 = down
	Passed       damping.Passed
	Next         time.Duration // virtual time of the damping's next timer, or Never
	StaleTo      time.Duration // virtual time at which stale candidates are dropped, or Never
	Told         bool
	Why          string // why nothing is told over it, or empty
}

// Telling is what neighbours hear.
type Telling struct {
	Told
	Wire     [][linkbw.Size]byte // the link bandwidth communities as they are sent, ascending
	Tags     []uint32            // standard communities
	WirePath []uint32            // AS_PATH as neighbours receive it
	Why      string              // why nobody is told anything, or empty
}

// Explain tells how the core came to what it holds for a prefix, from 0 to the
// number of prefixes - 1, at its last step. It changes nothing.
func (c *Core) Explain(p int32) Explanation {
	x := *c // the working room of decisions is not the core's own
	x.set, x.hops = nil, make([]Hop, len(c.sessions))
	pre := &x.prefixes[p]
	set, best, local := x.selectSet(p)
	e := Explanation{
		Settings: x.settings, Drain: x.drain, ForwardsTo: x.forwardTo, Restarting: x.Restarting(),
		Originates: x.originates && pre.origin >= 0, Aggregate: x.aggregateView(pre), Local: local, Best: -1,
		Hops: slices.Clone(pre.hops), Tells: x.telling(pre),
	}
	row := x.row(p)
	for s := range row {
		if row[s] == nil {
			continue
		}
		if s == best {
			e.Best = len(e.Candidates)
		}
		e.Candidates = append(e.Candidates, Judged{
			Candidate: Candidate{Bundle: x.cfg.Sessions[s].Bundle, Route: *row[s]},
			Neighbor:  x.cfg.Sessions[s].Neighbor, Verdict: x.verdict(p, s, set, best, local), Stale: x.sessions[s].stale != nil && x.sessions[s].stale[p],
		})
	}
	e.Set = x.explainSet(p, set)
	e.Equal = x.whyEqual(row, set)
	e.Valuation = x.explainValue(p, set, best, local)
	e.Told = Stages{Stages: x.toldStages(pre), Next: pre.next}
	e.Bundles = x.bundleViews(p, best, e.Tells.Why)
	return e
}

func (c *Core) aggregateView(pre *prefix) *AggregateView {
	if pre.aggregate < 0 {
		return nil
	}
	a := &c.aggregates[pre.aggregate]
	supporting, capacity := c.measure(a.cfg)
	return &AggregateView{
		Aggregate: a.cfg.Aggregate, Specifics: len(a.cfg.Specifics), Supporting: int(supporting), Capacity: capacity, Announced: a.announced,
	}
}

// verdict asks the questions of the decision process in its order and gives the
// first that the candidate fails.
func (c *Core) verdict(p int32, s int, set []int, best int, local bool) string {
	route := c.row(p)[s]
	switch {
	case slices.Contains(set, s):
		return VerdictUsed
	case slices.Contains(route.Path, c.cfg.ASN):
		return VerdictLoop
	case c.sessions[s].passed.Capacity == 0:
		return VerdictBundleDown
	case c.rejected[p]:
		return fmt.Sprintf("%s (class %s)", VerdictRejected, c.cfg.Classes[p])
	case c.rejectsTags(route.Tags):
		return fmt.Sprintf("%s (community %s)", VerdictRejected, c.rejectedTag(route.Tags))
	case local:
		return VerdictLocal
	case best < 0:
		return verdictUnexplained
	}
	if why := against(route, c.row(p)[best]); why != verdictUnexplained || !c.sessions[s].passed.Trial {
		return why
	}
	return VerdictTrial
}

// against is why a route loses against the best one.
func against(route, best *Route) string {
	switch {
	case route.LocalPref < best.LocalPref && route.warm():
		return VerdictWarm
	case route.LocalPref < best.LocalPref:
		return VerdictLocalPref
	case len(route.Path) > len(best.Path):
		return VerdictPath
	case route.Origin > best.Origin:
		return VerdictOrigin
	}
	return verdictUnexplained
}

func (c *Core) rejectedTag(tags []uint32) string {
	for _, t := range tags {
		if slices.Contains(c.settings.RejectTagged, t) {
			return CommunityText(t)
		}
	}
	return ""
}

// CommunityText is a standard community as operators write it (RFC 1997):
// 65000:1.
func CommunityText(c uint32) string { return fmt.Sprintf("%d:%d", c>>16, c&0xffff) }

func (c *Core) explainSet(p int32, set []int) []SetMember {
	row, hops := c.row(p), c.weigh(p, set)
	var list []SetMember
	for i, s := range set {
		route, session := row[s], c.cfg.Sessions[s]
		pair := c.pairOf(set, s)
		capacity, received := c.pair(row, pair)
		m := SetMember{
			Bundle: session.Bundle, Neighbor: session.Neighbor, Capacity: c.sessions[s].passed.Capacity,
			Valued: route.Valued, Parallel: len(pair), Min: min(capacity, received), Share: hops[i].Share,
		}
		if route.Valued {
			m.Received = linkbw.ToBits(route.Value)
		}
		list = append(list, m)
	}
	return list
}

// pairOf gives the members of a set that lead to the neighbour of one of them.
func (c *Core) pairOf(set []int, s int) (pair []int) {
	for _, other := range set {
		if c.cfg.Sessions[other].Neighbor == c.cfg.Sessions[s].Neighbor {
			pair = append(pair, other)
		}
	}
	return pair
}

// whyEqual is why the shares of a set are equal whatever its values, or empty.
func (c *Core) whyEqual(row []*Route, set []int) string {
	if len(set) == 0 {
		return ""
	}
	if c.wantsEqual(row, set) {
		missing := func(s int) bool { return !row[s].Valued }
		if c.settings.WeightMissing == topologies.MissingECMP && slices.ContainsFunc(set, missing) {
			return "a member has no valid value and weights.missing is " + topologies.MissingECMP
		}
		return "a member's value is 0 and weights.zero is " + topologies.ZeroECMP
	}
	for _, s := range set {
		if capacity, received := c.pair(row, c.pairOf(set, s)); c.share(capacity, received) > 0 {
			return ""
		}
	}
	return "every share would be 0"
}

// explainValue works the bottleneck value out once as it is and once undivided.
func (c *Core) explainValue(p int32, set []int, best int, local bool) Valuation {
	v := Valuation{Mode: c.settings.Advertise, Divisor: 1}
	if !local && best < 0 {
		v.Why = "no route"
		return v
	}
	told := c.routeTold(p, best)
	v.Value = c.value(p, set, best, told)
	whole := *c
	whole.settings.Divide = topologies.DivideNone
	v.Sum = whole.value(p, set, best, told)
	if v.Sum.Reach != damping.Valued {
		v.Why = c.whyUnvalued(p, set, best)
		return v
	}
	if c.settings.Divide == topologies.DivideEqual {
		told.Present = true
		v.Divisor = uint64(max(c.hearersAbove(told), 1))
	}
	switch {
	case best >= 0 || v.Mode == topologies.AdvertiseSet:
	case c.prefixes[p].aggregate >= 0:
		v.Mode = ModeAggregate
	default:
		v.Mode = ModeOrigin
	}
	v.Terms = c.terms(p, set, best, v.Mode)
	return v
}

// routeTold is the told route before it has a value.
func (c *Core) routeTold(p int32, best int) (told Told) {
	if best >= 0 {
		told.Path = c.row(p)[best].Path
		told.Down = c.cfg.Sessions[best].NeighborRole >= c.cfg.Role
	}
	told.Down = told.Down || c.suppressed[p] > 0
	return told
}

// terms are what the mode sums up.
func (c *Core) terms(p int32, set []int, best int, mode string) (list []Term) {
	if mode == topologies.AdvertiseBestPath {
		return []Term{{c.cfg.Sessions[best].Neighbor, c.received(c.row(p)[best])}}
	}
	for i, m := range c.explainSet(p, set) {
		switch {
		case mode == topologies.AdvertiseAggregateReceived:
			list = append(list, Term{m.Neighbor, m.Received})
		case mode == topologies.AdvertiseAggregateLocal:
			list = append(list, Term{m.Neighbor, m.Capacity})
		case mode == topologies.AdvertiseBottleneckSum && c.leadsPair(set, i):
			list = append(list, Term{m.Neighbor, m.Min})
		}
	}
	return list
}

// whyUnvalued is why a route is told without a value.
func (c *Core) whyUnvalued(p int32, set []int, best int) string {
	mode := "advertise is " + c.settings.Advertise
	switch c.settings.Advertise {
	case topologies.AdvertiseDisable:
		return mode
	case topologies.AdvertiseBestPath:
		return mode + " and the best path has no valid value"
	case topologies.AdvertiseAggregateReceived:
		return mode + " and a member's value is missing or 0"
	}
	if c.settings.WeightMissing == topologies.MissingECMP {
		return "a member has no valid value and weights.missing is " + topologies.MissingECMP
	}
	return "no member has a valid value"
}

// toldStages follows the value through the told stages: fresh policies for the
// leading ones without a memory, the core's own output for the rest.
func (c *Core) toldStages(pre *prefix) (list []Stage) {
	in := pre.in
	stages := pre.stages.stages
	for i, stage := range stages {
		m, ok := stage.(interface{ Memoryless() bool })
		if !ok || !m.Memoryless() {
			var names []string
			for _, rest := range stages[i:] {
				names = append(names, rest.String())
			}
			return append(list, Stage{Name: strings.Join(names, " | "), In: in, Out: pre.out})
		}
		out, _ := stage.NewTold().Step(c.now, in)
		list = append(list, Stage{Name: stage.String(), Memoryless: true, In: in, Out: out})
		in = out
	}
	return list
}

func (c *Core) bundleViews(p int32, best int, nothing string) (list []BundleView) {
	told := c.prefixes[p].told
	for i, s := range c.cfg.Sessions {
		v := BundleView{
			Bundle: s.Bundle, Neighbor: s.Neighbor, NeighborASN: s.NeighborASN, NeighborRole: s.NeighborRole,
			Up: c.sessions[i].up, Capacity: c.sessions[i].capacity, Passed: c.sessions[i].passed, Next: c.sessions[i].next,
			StaleTo: c.sessions[i].staleTo,
		}
		if v.Told = v.Up && c.exports(i, &told); !v.Told {
			v.Why = nothing
		}
		if !v.Told && nothing == "" {
			v.Why = c.whyUntold(p, s, v.Up, best)
		}
		list = append(list, v)
	}
	return list
}

// whyUntold is why a neighbour hears nothing of what others may hear.
func (c *Core) whyUntold(p int32, to Session, up bool, best int) string {
	told := c.prefixes[p].told
	switch upward := told.Down && to.NeighborRole >= c.cfg.Role; {
	case !up:
		return "session down"
	case upward && (best < 0 || c.cfg.Sessions[best].NeighborRole < c.cfg.Role):
		return "scope: an aggregate of this device stands for it"
	case upward && c.cfg.Sessions[best].NeighborRole == c.cfg.Role:
		return "scope: learned from the same tier"
	case upward:
		return "scope: learned from above"
	case slices.Contains(told.Path, to.NeighborASN):
		return fmt.Sprintf("its ASN %d is in the path", to.NeighborASN)
	}
	return "the export rules keep it"
}

// telling is the told route in the form in which it is sent.
func (c *Core) telling(pre *prefix) Telling {
	t := Telling{Told: pre.told}
	switch {
	case c.Restarting():
		t.Why = "restarting: not every neighbour has sent End-of-RIB"
	case c.drain == topologies.Drained:
		t.Why = "drained"
	case pre.in.Reach == damping.Gone:
		t.Why = "no route"
	case !pre.told.Present:
		t.Why = "withheld by damping"
	}
	if !pre.told.Present {
		return t
	}
	t.WirePath = append([]uint32{c.cfg.ASN}, pre.told.Path...)
	if t.Down {
		t.Tags = append(t.Tags, ScopeDown)
	}
	if t.Warm {
		t.Tags = append(t.Tags, GracefulShutdown)
	}
	if t.Valued {
		community := linkbw.Community{ASN: linkbw.GlobalAdministrator(c.cfg.ASN), Value: t.Value}
		for _, transitive := range []bool{true, false} {
			if t.Form == topologies.BothTransitive || (t.Form == topologies.Transitive) == transitive {
				community.Transitive = transitive
				t.Wire = append(t.Wire, community.Encode())
			}
		}
	}
	return t
}
