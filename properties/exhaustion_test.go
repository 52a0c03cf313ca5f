package properties

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

func embedded(t *testing.T, name string) *harness.Scenario {
	t.Helper()
	sc, err := harness.Embedded(name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func ran(t *testing.T, sc *harness.Scenario) *state.Result {
	t.Helper()
	res, err := harness.Run(context.Background(), sc.On(quickEngine()), harness.RunOptions{Checks: All()})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func outcomeOf(t *testing.T, res *state.Result, name string) state.Outcome {
	t.Helper()
	i := slices.IndexFunc(res.Outcomes, func(o state.Outcome) bool { return o.Name == name })
	if i < 0 {
		t.Fatalf("got no outcome of %q", name)
	}
	return res.Outcomes[i]
}

// TestExhaustionIsHeldWithAPolicyAndViolatedWithout plays the small scenario
// once under each overflow policy. What a policy has to give is shown apart.
func TestExhaustionIsHeldWithAPolicyAndViolatedWithout(t *testing.T) {
	simOnly(t)
	for _, c := range []struct {
		overflow fib.Overflow
		violated []string // rules, with a part of the first violation behind a colon
		note     string
	}{
		{fib.OverflowExceed, []string{FIBWithinLimitsName + `: device "r1-bag1": 7 groups between changes: want at most 6 (eight-groups)`}, ""},
		{fib.OverflowReject, []string{FIBWithinLimitsName + `: device "r1-bag1": groups refused for want of room: 1 (eight-groups)`}, "refused"},
		{fib.OverflowEqual, nil, "equal weights"},
		{fib.OverflowMerge, nil, "merged"},
		{fib.OverflowShare, nil, "40 shared"},
		{fib.OverflowSpill, nil, "spilled"},
	} {
		t.Run(string(c.overflow), func(t *testing.T) {
			sc := embedded(t, "group-exhaustion-mini")
			for i := range sc.Hardware {
				sc.Hardware[i].Options.Overflow = c.overflow
			}
			res := ran(t, sc)
			if len(res.Rows) != len(sc.Events) {
				t.Errorf("got %d of %d events: a full table must not stop a run", len(res.Rows), len(sc.Events))
			}
			var violated []string
			for _, o := range res.Outcomes {
				if o.Violated > 0 {
					violated = append(violated, fmt.Sprintf("%s: %s: %s", o.Name, o.Violations[0].Where, o.Violations[0].Text))
				}
				if o.Exercised == 0 && !conditional(o.Name) {
					t.Errorf("%s: never exercised", o.Name)
				}
			}
			if !slices.Equal(violated, c.violated) {
				t.Errorf("violated: got %q, want %q", violated, c.violated)
			}
			for _, name := range []string{FIBWithinLimitsName, ProportionName} {
				if note := outcomeOf(t, res, name).Note; (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
					t.Errorf("%s: got note %q, want %q in it", name, note, c.note)
				}
			}
		})
	}
}

// TestComparedPoliciesAreWhatEachDoesAlone holds the tables that a run keeps
// beside its own against runs under each policy.
func TestComparedPoliciesAreWhatEachDoesAlone(t *testing.T) {
	simOnly(t)
	res := ran(t, embedded(t, "group-exhaustion-mini"))
	bag := res.FIB[slices.IndexFunc(res.FIB, func(u state.FIBUse) bool { return u.Report.Device == "r1-bag1" })]
	if a := bag.Report.Audit; a.GroupsPeak != 7 || a.GroupsPeakEvent != "event 5" || a.Compromises != 10 || bag.Event != "event 7" || bag.Last.Compromises != 0 {
		t.Errorf("r1-bag1: got a peak of %d in %q, %d compromises in %q, %d at the end, want 7 in event 5, 10 in event 7, none",
			a.GroupsPeak, a.GroupsPeakEvent, a.Compromises, bag.Event, bag.Last.Compromises)
	}
	compared := res.Policies
	if len(compared) != len(fib.Overflows()) {
		t.Fatalf("got %d policies, want %d", len(compared), len(fib.Overflows()))
	}
	for _, want := range compared {
		sc := embedded(t, "group-exhaustion-mini")
		for i := range sc.Hardware {
			sc.Hardware[i].Options.Overflow = want.Overflow
		}
		if got := ran(t, sc).Policies; !slices.Contains(got, want) {
			t.Errorf("%s: got %+v in a run of its own, want %+v", want.Overflow, got, want)
		}
	}
	by := map[fib.Overflow]state.PolicyUse{}
	for _, p := range compared {
		by[p.Overflow] = p
		if (p.Exceeded > 0) != (p.Overflow == fib.OverflowExceed) {
			t.Errorf("%s: got %d devices above a limit, want some with exceed alone", p.Overflow, p.Exceeded)
		}
	}
	if got := by[fib.OverflowExceed]; got.Groups != 10 || got.GroupsOf != 8 || got.Given != 0 {
		t.Errorf("exceed: got %d of %d groups and %d compromises, want 10 of 8 and none", got.Groups, got.GroupsOf, got.Given)
	}
	size := func(p state.PolicyUse) float64 { return max(p.Overload, p.Underuse) }
	for _, other := range []fib.Overflow{fib.OverflowEqual, fib.OverflowMerge, fib.OverflowReject} {
		if size(by[fib.OverflowShare]) >= size(by[other]) {
			t.Errorf("share errs by %v, %s by %v: want less", size(by[fib.OverflowShare]), other, size(by[other]))
		}
	}
	if got := by[fib.OverflowMerge]; got.Dropped == 0 || !math.IsInf(got.Underuse, 1) {
		t.Errorf("merge: got %d dropped, under-use %v: want some, and infinite", got.Dropped, got.Underuse)
	}
}

// TestTheBigScenarioWantsMoreGroupsThanJericho3Has judges its last moment on
// paper; the run itself takes longer than a test may.
func TestTheBigScenarioWantsMoreGroupsThanJericho3Has(t *testing.T) {
	sc := embedded(t, "group-exhaustion")
	b, different := broken{}, map[degradation]bool{}
	for _, e := range sc.Events {
		if e.Kind == "degrade" {
			b[e.Bundle] = e.Members
			different[degradation{e.Bundle[strings.LastIndex(e.Bundle, "-e"):], e.Members}] = true
		}
	}
	origins := map[string]bool{}
	for _, p := range sc.Topology.Prefixes {
		for _, name := range p.Origins {
			origins[name] = true
		}
	}
	if len(origins) < 70 || len(different) < 70 {
		t.Errorf("got %d originating devices and %d different degradations, want 70 of each", len(origins), len(different))
	}
	hardware := slices.Clone(sc.Hardware)
	for i := range hardware {
		hardware[i].Options.Overflow = fib.OverflowExceed
	}
	p := paperWith(t, sc.Topology, sc.Damping, hardware)
	m := p.moment(b)
	bag := m.Snapshot.Devices[p.deviceOf("r1-bag1")].FIB
	if bag.Groups != 72 || bag.GroupsLimit != 64 || bag.Profile != "jericho3" {
		t.Errorf("r1-bag1: got %d groups of %d (%s), want 72 of 64 (jericho3)", bag.Groups, bag.GroupsLimit, bag.Profile)
	}
	check := NewFIBWithinLimits()
	if check.Look(m); check.Outcome().Violated == 0 {
		t.Errorf("%s: got no violation, want one", check.Name())
	}
}

// degradation is a loss of members as a bag sees it: which of the four ways, and how much.
type degradation struct {
	edge    string
	members int
}

// TestFIBWithinLimitsIsJudgedAgainstEveryProfile gives every device of a live
// network the same chip, one built-in profile after another.
func TestFIBWithinLimitsIsJudgedAgainstEveryProfile(t *testing.T) {
	simOnly(t)
	topology, err := topologies.Preset("spread-mini")
	if err != nil {
		t.Fatal(err)
	}
	none, err := damping.Preset(damping.PresetNone, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	full := embedded(t, "group-exhaustion-mini").Events
	for _, profile := range fib.Profiles() {
		t.Run(profile.Name, func(t *testing.T) {
			sc := &harness.Scenario{Name: profile.Name, Engine: quickEngine(), Seed: 1, Topology: topology, Damping: none, Events: full}
			for range topology.Devices {
				sc.Hardware = append(sc.Hardware, state.Hardware{Profile: profile})
			}
			res := ran(t, sc)
			got := outcomeOf(t, res, FIBWithinLimitsName)
			if !got.Held() {
				t.Errorf("got %+v, want it held", got)
			}
			if unlimited := profile.GroupLimit() == fib.NoLimit; (got.Worst == 0) != unlimited {
				t.Errorf("worst: got %v %s, want 0 only where the chip has no published limit", got.Worst, got.Unit)
			}
			bag := slices.IndexFunc(res.FIB, func(u state.FIBUse) bool { return u.Report.Device == "r1-bag1" })
			if a := res.FIB[bag].Report.Audit; a.Profile != profile.Name || a.GroupsPeak != 10 {
				t.Errorf("r1-bag1: got a peak of %d groups on %q, want 10 on %q", a.GroupsPeak, a.Profile, profile.Name)
			}
			if held := outcomeOf(t, res, ProportionName); !held.Held() {
				t.Errorf("proportion: got %+v, want it held", held)
			}
		})
	}
}

// TestACompromiseIsAcceptedForWhatItReportsAndNoMore lies about what a
// compromise costs.
func TestACompromiseIsAcceptedForWhatItReportsAndNoMore(t *testing.T) {
	sc := embedded(t, "group-exhaustion-mini")
	p := paperWith(t, sc.Topology, sc.Damping, sc.Hardware)
	b := broken{}
	for _, e := range sc.Events {
		if e.Kind == "degrade" {
			b[e.Bundle] = e.Members
		}
	}
	m := p.moment(b)
	check := NewProportion()
	if check.Look(m); !check.Outcome().Held() || !strings.Contains(check.Outcome().Note, "shared") {
		t.Errorf("got %+v, want it held with a note", check.Outcome())
	}
	d := p.deviceOf("r1-bag1")
	for i := range m.Snapshot.Devices[d].Routes {
		m.Snapshot.Devices[d].Routes[i].FIB.Error /= 2
	}
	check = NewProportion()
	if check.Look(m); check.Outcome().Violated == 0 || !strings.Contains(check.Outcome().Violations[0].Text, `what hardware reports of "shared"`) {
		t.Errorf("got %+v, want what is more than reported to be violated", check.Outcome())
	}
}
