package generate

import (
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Limitation is something that no case has, because what is known to be true of
// it is less than what the rules say.
type Limitation struct {
	Name string
	Why  string
	In   func(*harness.Scenario) bool // tells whether a scenario has it
}

// Limitations are all that is kept out of cases. A scenario that has one of them
// may violate a rule, or be refused, and nothing is wrong.
func Limitations() []Limitation {
	return []Limitation{
		{"a limit of prefixes that is reached", "of several sessions over the limit, which end depends on the order in which routes arrive",
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool {
					return s.MaxPrefixes > 0 && s.MaxPrefixes < len(sc.Topology.Prefixes)
				})
			}},
		{"a speaker without a batch", "it decides on every input by itself, so that rules about rounds do not hold of it",
			func(sc *harness.Scenario) bool {
				return anyKnob(sc, func(s topologies.Settings) bool { return s.RIBBatch == 0 })
			}},
		{"a restart beside an aggregate that remembers", "an aggregate between its thresholds depends on states that a restart leads through and no graph sees",
			func(sc *harness.Scenario) bool {
				return remembersAggregate(sc.Topology) && slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == "restart" })
			}},
		{"a restart beside a failure that nobody has noticed", "it is not modelled, and refused: the other end cannot hear that the speaker restarts", unnoticedRestart},
		{"damping that withholds", "it violates \"no live path dropped\", which is what it is there to show",
			func(sc *harness.Scenario) bool { return withholds(sc) }},
	}
}

func anyKnob(sc *harness.Scenario, bad func(topologies.Settings) bool) bool {
	return slices.ContainsFunc(sc.Settings, bad) || slices.ContainsFunc(sc.Events, func(e state.Event) bool {
		s := topologies.DefaultSettings()
		return e.Kind == "set" && s.Set(e.Knob, e.Value) == nil && bad(s)
	})
}

func remembersAggregate(t *topologies.Topology) bool {
	return slices.ContainsFunc(t.Prefixes, func(p topologies.Prefix) bool {
		return p.Aggregate != nil && p.Aggregate.Withdraw < p.Aggregate.Announce
	})
}

// unnoticedRestart judges by the times alone, whatever the events are about.
func unnoticedRestart(sc *harness.Scenario) bool {
	for i, e := range sc.Events {
		if e.Kind != "restart" || e.At == 0 {
			continue
		}
		for _, before := range sc.Events[:i] {
			if before.Detect != "" && before.At+longestDetection >= e.At {
				return true
			}
		}
	}
	return false
}

func withholds(sc *harness.Scenario) bool {
	plan := damping.Uniform(sc.Damping)
	if sc.Plan != nil {
		plan = *sc.Plan
	}
	stages := slices.Clone(plan.Default.Told)
	for _, r := range plan.Told {
		stages = append(stages, r.Stages...)
	}
	return slices.ContainsFunc(stages, func(s damping.ToldStage) bool {
		p, ok := s.(damping.Penalty)
		return ok && p.OnSuppress == damping.Withhold
	})
}
