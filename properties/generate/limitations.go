package generate

import (
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Limitation is something of which less is known to be true than what the rules
// say, so that a scenario that has it proves nothing by violating them.
type Limitation struct {
	Name  string
	Why   string
	Rules []string // that are not judged where a case has it; none: no case has it
	In    func(*harness.Scenario) bool
}

// The rules that limitations are of, as package properties names them.
const (
	endState    = "end state equals oracle"
	proportion  = "proportion"
	noBlackHole = "no black hole"
	noLoop      = "no loop"
	toldInLaw   = "told within the pipeline's law"
	containment = "containment"
	limits      = "FIB within limits, peak included"
	hitless     = "drain is hitless"
	aggregated  = "aggregate present as its condition says"
)

// Unjudged are the rules that a scenario cannot be judged by, since it has a
// limitation of theirs.
func Unjudged(sc *harness.Scenario) (rules []string) {
	for _, l := range Limitations() {
		if len(l.Rules) > 0 && l.In(sc) {
			rules = append(rules, l.Rules...)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// Limitations are all known limitations of the rules.
func Limitations() []Limitation {
	return []Limitation{
		{
			"a limit of prefixes that is reached", "of several sessions over the limit, which end depends on the order in which routes arrive", nil,
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool {
					return s.MaxPrefixes > 0 && s.MaxPrefixes < len(sc.Topology.Prefixes)
				})
			},
		},
		{
			"a speaker without a batch", "it decides on every input by itself, so that rules about rounds do not hold of it", nil,
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool { return s.RIBBatch == 0 })
			},
		},
		{
			"damping that withholds", "it violates \"no live path dropped\", which is what it is there to show", nil,
			func(sc *harness.Scenario) bool {
				return anyTold(sc, func(s damping.ToldStage) bool {
					p, ok := s.(damping.Penalty)
					return ok && p.OnSuppress == damping.Withhold
				})
			},
		},
		{
			"a restart beside an aggregate that remembers", "an aggregate between its thresholds depends on states that a restart leads through and no graph sees", nil,
			func(sc *harness.Scenario) bool {
				return remembersAggregate(sc.Topology) && slices.ContainsFunc(sc.Events, restarting)
			},
		},
		{
			"an aggregate that remembers, and a path lost where a longer way stands beside a shorter one", "path hunting takes what supports it for a moment, and between its thresholds it stays away", []string{endState, proportion, noBlackHole, containment, aggregated},
			func(sc *harness.Scenario) bool {
				return remembersAggregate(sc.Topology) && detours(sc.Topology) && slices.ContainsFunc(sc.Events, func(e state.Event) bool { return draining(e) || e.Kind == "set" || mayEndSessions(e) })
			},
		},
		{
			"an aggregate by capacity that remembers beside events with times", "of two changes at one moment the graph takes one first, and between its thresholds the aggregate is what the first left", []string{endState, proportion, noBlackHole, aggregated},
			func(sc *harness.Scenario) bool {
				return aggregatesByCapacity(sc) && remembersAggregate(sc.Topology) && slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.At != 0 })
			},
		},
		{
			"a restart beside a failure that nobody has noticed", "it is not modelled, and refused: the other end cannot hear that the speaker restarts", nil,
			restartBesideUnnoticed,
		},
		{
			"a restart that lasts longer than its neighbours keep its routes", "they lose the routes while it forwards, as they must", []string{noBlackHole, containment, hitless},
			func(sc *harness.Scenario) bool {
				kept := time.Hour
				_ = anyKnob(sc, func(s topologies.Settings) bool { kept = min(kept, s.StaleTime); return false })
				return slices.ContainsFunc(sc.Events, func(e state.Event) bool { return restarting(e) && e.Takes >= kept })
			},
		},
		{
			"a restart beside other changes", "hardware that forwards as it did when its speaker stopped is wrong when anything else has changed", []string{noBlackHole, noLoop, containment, hitless, toldInLaw},
			func(sc *harness.Scenario) bool {
				for i, e := range sc.Events {
					if restarting(e) && (e.At != 0 || i+1 < len(sc.Events) && sc.Events[i+1].At != 0) {
						return true
					}
				}
				return false
			},
		},
		{
			"a restart while sessions are down or held", "the speaker waits for the End-of-RIB of all neighbours, for longer than they keep its routes", []string{noBlackHole, containment, hitless},
			func(sc *harness.Scenario) bool { return whileApart(sc, restarting) },
		},
		{
			"a hold while paths come and go", "who does not hear that a path is gone sends to where it was, and aggregates what it had", []string{noBlackHole, noLoop, hitless, aggregated, containment},
			func(sc *harness.Scenario) bool {
				return whileApart(sc, holding) || apartWhileHeld(sc) || aggregatesByCapacity(sc) && slices.ContainsFunc(sc.Events, holding)
			},
		},
		{
			"a hold where damping has a memory", "what a session was told last is taken from the graph, and what waits is not told yet", []string{containment},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Events, holding) && remembering(sc)
			},
		},
		{
			"a drain at once, or of the only way", "what is under way to a device that withdraws before its traffic has gone elsewhere is lost", []string{hitless},
			drainedAtOnce,
		},
		{
			"a path lost where a longer way stands beside a shorter one", "a speaker that loses the one may withdraw before it hears of the other, and then tell anew: path hunting", []string{containment, hitless},
			func(sc *harness.Scenario) bool {
				return detours(sc.Topology) && slices.ContainsFunc(sc.Events, func(e state.Event) bool { return draining(e) || e.Kind == "set" || mayEndSessions(e) })
			},
		},
		{
			"a drain where some refuse routes", "who does not import all routes may leave others a single way, and who refuses the graceful-shutdown community has none while their teller is warm", []string{hitless},
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool {
					return len(s.RejectClasses) > 0 || len(s.RejectTagged) > 0
				})
			},
		},
		{
			"a drain where several fabrics originate one prefix", "below what is drained, the way to another fabric is a longer one beside a shorter one: see above", []string{containment, hitless},
			func(sc *harness.Scenario) bool {
				return originatedTwice(sc.Topology) && slices.ContainsFunc(sc.Events, draining)
			},
		},
		{
			"a carrier delay of good news beside sessions that come and go", "a session is up before its bundle passes anything, and what it is told then is neither its dump nor news of the graph", []string{containment},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Events, mayEndSessions) && anyBundle(sc, func(s damping.BundleStage) bool { c, ok := s.(damping.CarrierDelay); return ok && c.Up.First > 0 })
			},
		},
		{
			"a divided value that is quantized", "it lies between the steps, where two told values may differ by more than the error bound", []string{proportion},
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool { return s.Divide != topologies.DivideNone }) && anyTold(sc, func(damping.ToldStage) bool { return true })
			},
		},
		{
			"a divided value beside sessions that come and go", "a fall tells a speaker two things at once, and its neighbours each at their own distance", []string{containment},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Events, mayEndSessions) && anyKnob(sc, func(s topologies.Settings) bool { return s.Divide != topologies.DivideNone })
			},
		},
		{
			"a deadband beside parallel bundles", "a value is split over bundles of one pair as they pass capacity, each wrong by its own deadband", []string{proportion},
			func(sc *harness.Scenario) bool {
				return parallel(sc.Topology) && anyBundle(sc, func(s damping.BundleStage) bool { _, ok := s.(damping.Deadband); return ok })
			},
		},
		{
			"a quantizer whose step is more than one member", "two told values between the steps may differ by more than the error bound", []string{proportion},
			coarse,
		},
		{
			"a grid that ends below what is told", "all values beyond the anchor are told as the anchor, whatever their ratio", []string{proportion},
			func(sc *harness.Scenario) bool {
				return anyTold(sc, func(s damping.ToldStage) bool {
					q, ok := s.(damping.Quantize)
					return ok && q.Anchor > 0 && q.Anchor < mostOfADevice(sc.Topology)
				})
			},
		},
		{
			"pace", "between two rounds a bottleneck value may be one that no quiet shows; the rule sees quiets alone, and takes what pace keeps of it for a lie", []string{toldInLaw},
			func(sc *harness.Scenario) bool {
				return anyTold(sc, func(s damping.ToldStage) bool { _, ok := s.(damping.Pace); return ok })
			},
		},
		{
			"an aggregate by capacity", "one change both lowers its value at its neighbour and ends it, at two distances", []string{containment},
			aggregatesByCapacity,
		},
		{
			"an aggregate by capacity beside capacity that damping or nobody has seen", "whether it is announced follows from what bundles pass, and between its thresholds from what they passed, which is not so in the undamped network", []string{proportion},
			func(sc *harness.Scenario) bool {
				return aggregatesByCapacity(sc) && (slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == "down" && e.Detect != "" }) ||
					anyBundle(sc, func(damping.BundleStage) bool { return true }))
			},
		},
		{
			"a drained origin of an aggregate beside other changes", "it measures no more when it is drained, and of two things at one moment the graph takes one first", []string{endState, aggregated},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Topology.Prefixes, func(p topologies.Prefix) bool { return p.Aggregate != nil }) &&
					slices.ContainsFunc(sc.Events, func(e state.Event) bool { return draining(e) && e.State == "drained" && e.At != 0 })
			},
		},
		{
			"a drain beside other changes, or of what supports an aggregate", "a failure at the same moment takes what the drain would have moved, and an aggregate may go with what is drained", []string{containment, hitless},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Events, func(e state.Event) bool { return draining(e) && (e.At != 0 || aggregatesByCapacity(sc)) })
			},
		},
		{
			"few groups and a table that exceeds them", "each prefix may want a group of its own, old and new beside each other, and nothing is given up to stay within the chip", []string{limits},
			func(sc *harness.Scenario) bool {
				return slices.ContainsFunc(sc.Hardware, func(h state.Hardware) bool {
					return h.Overflow() == fib.OverflowExceed && h.Profile.Groups != fib.NotPublished && h.Profile.Groups < 2*len(sc.Topology.Prefixes)
				})
			},
		},
		{
			"a drain where damping has a memory", "what a session was told last is taken from the graph, which knows no memory", []string{containment},
			func(sc *harness.Scenario) bool { return slices.ContainsFunc(sc.Events, draining) && remembering(sc) },
		},
	}
}

func restarting(e state.Event) bool { return e.Kind == "restart" }

func draining(e state.Event) bool { return e.Kind == "drain" }

func holding(e state.Event) bool { return e.Kind == "hold" }

// mayEndSessions tells whether sessions may be down for some time after an event,
// however many members are up.
func mayEndSessions(e state.Event) bool {
	return !slices.Contains([]string{"degrade", "flap", "synchronised", "grey", "drain", "set", "hold", "release"}, e.Kind)
}

// whileApart tells whether there is such an event while sessions are down or held, or
// paths may be other than they were for any other reason.
func whileApart(sc *harness.Scenario, such func(state.Event) bool) bool {
	apart := false
	for _, e := range sc.Events {
		switch {
		case such(e) && apart:
			return true
		case e.Kind == "restore" && e.All && e.At == 0:
			apart = false
		case holding(e) || draining(e) || e.Kind == "set" || mayEndSessions(e) && !(e.At == 0 && (restarting(e) || e.Kind == "reset")):
			apart = true
		}
	}
	return false
}

// apartWhileHeld tells whether anything but capacity may change while a session is held.
func apartWhileHeld(sc *harness.Scenario) bool {
	held := 0
	for _, e := range sc.Events {
		switch {
		case holding(e):
			held++
		case e.Kind == "release":
			held--
		case held > 0 && (mayEndSessions(e) || e.Kind == "drain" || e.Kind == "set"):
			return true
		}
	}
	return false
}

// longestDetection is how long it takes at most until a failure that is drawn is noticed.
const longestDetection = 9 * time.Second

// restartBesideUnnoticed judges by the times alone, whatever the events are about.
func restartBesideUnnoticed(sc *harness.Scenario) bool {
	for i, e := range sc.Events {
		if !restarting(e) || e.At == 0 {
			continue
		}
		for _, before := range sc.Events[:i] {
			if before.Kind == "down" && before.At+longestDetection >= e.At || unnoticedByDamping(sc) && mayEndSessions(before) {
				return true
			}
		}
	}
	return false
}

// unnoticedByDamping tells whether damping may keep the news of a failure back.
func unnoticedByDamping(sc *harness.Scenario) bool {
	return anyBundle(sc, func(s damping.BundleStage) bool { return s.Law().Late > 0 })
}

// remembering tells whether some told value is damped with a memory.
func remembering(sc *harness.Scenario) bool {
	return anyTold(sc, func(s damping.ToldStage) bool { return !damping.Pipeline{Told: []damping.ToldStage{s}}.Memoryless() })
}

// anyKnob tells whether the settings of a device, or what an event sets, are bad.
// It looks at all of them.
func anyKnob(sc *harness.Scenario, bad func(topologies.Settings) bool) (found bool) {
	for _, s := range sc.Settings {
		found = bad(s) || found
	}
	for _, e := range sc.Events {
		s := topologies.DefaultSettings()
		if e.Kind == "set" && s.Set(e.Knob, e.Value) == nil {
			found = bad(s) || found
		}
	}
	return found
}

func remembersAggregate(t *topologies.Topology) bool {
	return slices.ContainsFunc(t.Prefixes, func(p topologies.Prefix) bool {
		return p.Aggregate != nil && p.Aggregate.Withdraw < p.Aggregate.Announce
	})
}

func aggregatesByCapacity(sc *harness.Scenario) bool {
	return slices.ContainsFunc(sc.Topology.Prefixes, func(p topologies.Prefix) bool { return p.Aggregate != nil && p.Aggregate.By == topologies.ByCapacity })
}

// drainedAtOnce tells whether something is drained that the event before has not
// made warm, or that may have nothing beside it that traffic could take.
func drainedAtOnce(sc *harness.Scenario) bool {
	beside := besides(sc.Topology)
	for i, e := range sc.Events {
		if e.Kind != "drain" || e.State != "drained" {
			continue
		}
		if i == 0 || !warmed(sc.Events[i-1]) || slices.ContainsFunc(sc.Events[:i-1], func(e state.Event) bool { return mayEndSessions(e) || e.Kind == "drain" }) {
			return true
		}
		if before := sc.Events[i-1]; before.Device != e.Device || before.Role != e.Role || before.Plane != e.Plane || before.Region != e.Region {
			return true
		}
		for _, d := range sc.Topology.Devices {
			if d.Name == e.Device && (d.Role <= topologies.Spine || d.Role == topologies.Backbone || beside(d) < 2) || e.Plane != 0 && d.Role == topologies.Bag && beside(d) < 2 {
				return true
			}
		}
	}
	return false
}

// warmed tells whether what an event drains may be taken out of service next, so
// that its traffic has gone elsewhere.
func warmed(e state.Event) bool { return e.Kind == "drain" && e.State == "warm" && e.At == 0 }

// detours tells whether there may be ways of several lengths to one prefix: down
// and up again in a fabric, or through a hub or the backbone beside a direct bundle.
func detours(t *topologies.Topology) bool {
	return slices.ContainsFunc(t.Devices, func(d topologies.Device) bool { return d.Role == topologies.Rack || d.Role >= topologies.Hub })
}

// originatedTwice tells whether a prefix has origins in several fabrics.
func originatedTwice(t *topologies.Topology) bool {
	ix := t.Index()
	return slices.ContainsFunc(t.Prefixes, func(p topologies.Prefix) bool {
		fabrics := map[string]bool{}
		for _, name := range p.Origins {
			fabrics[t.Devices[ix.Device[name]].Fabric] = true
		}
		return len(fabrics) > 1
	})
}

// parallel tells whether two devices have several bundles between them.
func parallel(t *topologies.Topology) bool {
	seen := map[[2]string]bool{}
	return slices.ContainsFunc(t.Bundles, func(b topologies.Bundle) bool {
		pair := [2]string{b.A, b.B}
		was := seen[pair]
		seen[pair] = true
		return was
	})
}

// coarse tells whether a quantizer of a scenario has larger steps than members are.
func coarse(sc *harness.Scenario) bool {
	least := sc.Topology.SmallestSpeed()
	return anyTold(sc, func(s damping.ToldStage) bool {
		switch s := s.(type) {
		case damping.Quantize:
			return s.Step > least
		case damping.Hysteresis:
			return s.Step > least
		}
		return false
	})
}

// mostOfADevice is the most capacity that a device has bundles of, in bits/s: no told
// value is higher.
func mostOfADevice(t *topologies.Topology) (most uint64) {
	ix := t.Index()
	of := make([]uint64, len(t.Devices))
	for i, b := range t.Bundles {
		for _, end := range ix.Ends[i] {
			of[end] += b.Capacity(b.Members)
			most = max(most, of[end])
		}
	}
	return most
}

func planOf(sc *harness.Scenario) damping.Plan {
	if sc.Plan != nil {
		return *sc.Plan
	}
	return damping.Uniform(sc.Damping)
}

func anyTold(sc *harness.Scenario, is func(damping.ToldStage) bool) bool {
	plan := planOf(sc)
	return slices.ContainsFunc(plan.Default.Told, is) || slices.ContainsFunc(plan.Told, func(r damping.ToldRule) bool { return slices.ContainsFunc(r.Stages, is) })
}

func anyBundle(sc *harness.Scenario, is func(damping.BundleStage) bool) bool {
	plan := planOf(sc)
	return slices.ContainsFunc(plan.Default.Bundle, is) || slices.ContainsFunc(plan.Bundle, func(r damping.BundleRule) bool { return slices.ContainsFunc(r.Stages, is) })
}
