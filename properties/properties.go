// Package properties holds the rules that a network must keep, as checks that
// look at it at every quiet and report where a rule does not hold. The checks
// judge by the graph's own opinion of the network (state.Judge) and by the
// hardware's limits; they ask no speaker, know no engine, and run nothing.
//
//	checks := properties.All()
//	rig, err := harness.Start(ctx, harness.Options{Topology: t, Damping: d, Checks: checks})
//
// What each rule says exactly is on the page docs/properties.md.
package properties

import (
	"fmt"
	"math"
	"slices"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties/generate"
	"github.com/bagrig/bagrig/topologies"
)

// Names of the rules, as verdicts and reports print them.
const (
	EndStateName        = "end state equals oracle"
	ProportionName      = "proportion"
	NoBlackHoleName     = "no black hole"
	NoLoopName          = "no loop"
	ToldWithinLawName   = "told within the pipeline's law"
	ContainmentName     = "containment"
	FIBWithinLimitsName = "FIB within limits, peak included"
	RestoreName         = "restore returns to the baseline"
	LivePathName        = "no live path dropped"
)

// All returns a new check for every rule, none of which has seen anything. A
// check follows one network from its baseline on and is used from one
// goroutine.
func All() []state.Check {
	return []state.Check{
		NewEndState(), NewProportion(), NewNoBlackHole(), NewNoLoop(),
		NewToldWithinLaw(), NewContainment(), NewFIBWithinLimits(), NewRestore(),
		NewLivePath(), NewMonotony(), NewFairness(), NewSurvivors(), NewOrder(), NewNoLeaks(),
	}
}

// For is All, and the rules that only some topologies and events put to the
// test, where there are such.
func For(t *topologies.Topology, events []state.Event) []state.Check {
	checks := All()
	if slices.ContainsFunc(events, func(e state.Event) bool { return e.Kind == "drain" || e.Kind == "restart" }) {
		checks = append(checks, NewHitless())
	}
	if hasAggregates(t) {
		checks = append(checks, NewAggregates())
	}
	return checks
}

// ForScenario is For, without the rules that a known limitation keeps from judging
// the scenario (generate.Limitations).
func ForScenario(sc *harness.Scenario) []state.Check {
	unjudged := generate.Unjudged(sc)
	return slices.DeleteFunc(For(sc.Topology, sc.Events), func(c state.Check) bool { return slices.Contains(unjudged, c.Name()) })
}

// kept bounds the violations that a check keeps; all are counted.
const kept = 20

// ledger is the part that all checks have in common: what was found so far.
type ledger struct{ found state.Outcome }

func newLedger(name string, limit float64, unit string) ledger {
	return ledger{state.Outcome{Name: name, Limit: limit, Unit: unit}}
}

// Name implements state.Check.
func (l *ledger) Name() string { return l.found.Name }

// Outcome implements state.Check. The caller must not write to the violations.
func (l *ledger) Outcome() state.Outcome { return l.found }

// worst remembers the largest value seen.
func (l *ledger) worst(value float64) { l.found.Worst = max(l.found.Worst, value) }

// violate counts a violation, and keeps it while there is room.
func (l *ledger) violate(m *state.Moment, where string, format string, args ...any) {
	l.found.Violated++
	if len(l.found.Violations) >= kept {
		return
	}
	l.found.Violations = append(l.found.Violations, state.Violation{
		Time: m.Snapshot.Time - m.Baseline.Time, Where: where, Text: fmt.Sprintf(format, args...),
	})
}

// full tells that no further violation will be kept, so that nobody need put
// one into words.
func (l *ledger) full() bool { return len(l.found.Violations) >= kept }

// mostMargin bounds a percentage of a margin, since a dropped member is
// infinitely wrong and reports cannot write that.
const mostMargin = 1e6

// margin is used as a percentage of allowed, at most mostMargin. An infinite
// allowed uses nothing.
func margin(used, allowed float64) float64 {
	if math.IsInf(allowed, 1) {
		return 0
	}
	return min(100*used/allowed, mostMargin)
}
