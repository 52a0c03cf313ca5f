package properties

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// orderName is the one rule that needs two runs, so only the suite can judge it.
const orderName = "end state independent of event order"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryRuleHoldsUnderRandomEvents plays random sequences of events on one
// live network after another, with all checks on. Each case begins and ends at
// full health. BAGRIG_SEED repeats a run, BAGRIG_CASES sets its length.
func TestEveryRuleHoldsUnderRandomEvents(t *testing.T) {
	simOnly(t)
	seed := seedOfRun(t)
	for _, n := range []struct {
		preset, damping string
		cases, orders   int
	}{
		{"prometheus-mini", damping.PresetBagDefault, 20, 6},
		{"spread-mini", damping.PresetBagDefault, 8, 3},
		{"prometheus-mini", "{bundle: [carrier-delay: {down: 2s, up: 5s}, holddown: {time: 10s}], told: [hysteresis: {error: 10%, margin: 0.25}, pace: {interval: 10s, jitter: true}]}", 6, 0},
		{"prometheus-mini", "{told: [quantize, penalty: {profile: cisco-default, on-suppress: lowest}]}", 6, 0},
	} {
		t.Run(n.preset+" "+n.damping, func(t *testing.T) {
			s := newSuite(t, n.preset)
			var err error
			if s.plan, err = harness.ReadPlan("plan", []byte(n.damping), damping.Sizes{Step: s.maker.t.SmallestSpeed()}); err != nil {
				t.Fatal(err)
			}
			defer s.stop()
			s.found(t)
			s.check(seed, casesOfRun(t, n.cases), s.maker.plans(), s.held)
			if n.orders > 0 { // what is told may depend on the order where damping has a memory
				s.check(seed, max(1, casesOfRun(t, n.cases)*n.orders/n.cases), s.maker.orders(), s.orderless)
			}
			s.everythingExercised(n.orders > 0)
		})
	}
}

// pushSeed is the seed of the suites of generated cases where none was asked for: a push
// plays the same cases each time, so that a case that fails is the change's, and nights
// draw new ones.
const pushSeed = 1

func seedOfPush(t *testing.T) int64 {
	t.Helper()
	if *seedFlag == "" {
		t.Logf("BAGRIG_SEED=%d", pushSeed)
		return pushSeed
	}
	return seedOfRun(t)
}

// seedOfRun is the seed that was asked for, or one that is new each time. It is
// printed always, because a test that hangs prints nothing else.
func seedOfRun(t *testing.T) int64 {
	t.Helper()
	seed := rand.Int64()
	if *seedFlag != "" {
		seed = numberOf(t, "seed", *seedFlag)
	}
	t.Logf("BAGRIG_SEED=%d", seed)
	return seed
}

func casesOfRun(t *testing.T, usual int) int {
	t.Helper()
	if *casesFlag != "" {
		n := numberOf(t, "cases", *casesFlag)
		if n < 1 || n > 1e9 {
			t.Fatalf("-cases %d: want 1 to 1000000000", n)
		}
		return int(n)
	}
	if brief() {
		return max(1, usual/6)
	}
	return usual
}

// standstill is how long nothing may happen before a case counts as hanging.
const standstill = 20 * time.Second

// suite is one live network with its checks. After a failure the network is
// started anew, since what broke it may still be there.
type suite struct {
	t         *testing.T
	maker     *maker
	plan      damping.Plan
	rig       *harness.Rig
	checks    []state.Check
	note      func(error) error
	exercised map[string]int
}

func newSuite(t *testing.T, preset string) *suite {
	t.Helper()
	topology, err := topologies.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	return &suite{t: t, maker: newMaker(topology), exercised: map[string]int{}}
}

func (s *suite) start() error {
	if s.rig != nil {
		return nil
	}
	s.checks = All()
	var err error
	var all []state.Check
	all, s.note = watched(s.checks)
	s.rig, err = harness.Start(s.t.Context(), harness.Options{
		Topology: s.maker.t, Damping: s.plan.Default, Plan: &s.plan, Checks: all, Budget: standstill, Engine: quickEngine(),
	})
	return err
}

func (s *suite) stop() {
	if s.rig == nil {
		return
	}
	for _, c := range s.checks {
		s.exercised[c.Name()] += c.Outcome().Exercised
	}
	if err := s.note(nil); err != nil {
		s.t.Error(err)
	}
	if err := s.rig.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.rig = nil
}

// check runs one property and reports what is left of the first failing case.
func (s *suite) check(seed int64, cases int, plans gopter.Gen, rule func(plan) error) {
	s.t.Helper()
	params := gopter.DefaultTestParametersWithSeed(seed)
	params.MinSuccessfulTests = cases
	params.MaxShrinkCount = 20
	result := prop.ForAll(func(p plan) (bool, error) {
		err := rule(p)
		if err != nil {
			s.stop()
		}
		return err == nil, err
	}, plans).Check(params)
	if result.Passed() {
		return
	}
	text := "no case"
	if len(result.Args) > 0 {
		p := result.Args[len(result.Args)-1].Arg.(plan)
		text = p.scenario(s.maker.t) + "\n" + s.keep(p)
	}
	s.t.Fatalf("BAGRIG_SEED=%d BAGRIG_CASES=%d: case %d: %v\n\nshrunk to this scenario:\n\n%s", seed, cases, result.Succeeded, result.Error, text)
}

// held plays a plan and tells what rules it broke.
func (s *suite) held(p plan) error {
	_, err := s.play(p.events)
	return err
}

// orderless plays a plan in both orders and compares where they lead.
func (s *suite) orderless(p plan) error {
	first, err := s.play(p.events)
	if err != nil {
		return err
	}
	second, err := s.play(p.again)
	if err != nil {
		return err
	}
	s.exercised[orderName]++
	if texts := differences(s.rig.Network(), second, first); len(texts) > 0 {
		return fmt.Errorf("%s: %d routes differ: %s", orderName, len(texts), few(texts))
	}
	return nil
}

// play does the events, restores all, and returns the snapshot between.
func (s *suite) play(events []state.Event) (*state.Snapshot, error) {
	if err := s.start(); err != nil {
		return nil, err
	}
	before := violated(s.checks)
	if _, err := s.rig.Play(s.t.Context(), shifted(events, s.rig)...); err != nil {
		return nil, err
	}
	snapshot := s.rig.Snapshot()
	if _, err := s.rig.Play(s.t.Context(), restoreAll()); err != nil {
		return nil, err
	}
	return snapshot, newViolations(s.checks, before)
}

// shifted moves times of a plan, which begins at 0, to where the rig is now.
func shifted(events []state.Event, rig *harness.Rig) []state.Event {
	events = slices.Clone(events)
	for i := range events {
		if events[i].At != 0 {
			events[i].At += rig.Now()
		}
	}
	return events
}

func violated(checks []state.Check) []int {
	var counts []int
	for _, c := range checks {
		counts = append(counts, c.Outcome().Violated)
	}
	return counts
}

func newViolations(checks []state.Check, before []int) error {
	var errs []error
	for i, c := range checks {
		o := c.Outcome()
		if o.Violated == before[i] {
			continue
		}
		var texts []string
		for _, v := range o.Violations[min(before[i], len(o.Violations)):] {
			texts = append(texts, fmt.Sprintf("\n  %v %s: %s", v.Time, v.Where, v.Text))
		}
		errs = append(errs, fmt.Errorf("%s: violated %d times:%s", o.Name, o.Violated-before[i], few(texts)))
	}
	return errors.Join(errs...)
}

// differences compares two settled snapshots route by route.
func differences(n *state.Network, now, before *state.Snapshot) []string {
	var texts []string
	for d := range now.Devices {
		for p := range now.Devices[d].Routes {
			got, want := &now.Devices[d].Routes[p], &before.Devices[d].Routes[p]
			text := change(n, got, "the other order", want)
			if text == "" {
				text = candidateDifference(n, got.Candidates, want.Candidates)
			}
			if text != "" {
				texts = append(texts, at(n, d, p)+": "+text)
			}
		}
	}
	return texts
}

// everythingExercised fails when a rule was never put to the test.
func (s *suite) everythingExercised(orders bool) {
	s.t.Helper()
	s.stop()
	var names []string
	if orders {
		names = append(names, orderName)
	}
	for _, c := range s.checks {
		names = append(names, c.Name())
	}
	for _, name := range names {
		if s.exercised[name] == 0 && !conditional(name) {
			s.t.Errorf("%s: never exercised", name)
		}
	}
	tally, _ := TallyOf(s.checks)
	s.t.Logf("NLRI against the limit of containment: %d; apart: %d AS_PATH alone, %d cure, %d dump", tally.Counted, tally.Path, tally.Cure, tally.Dump)
}

// TestAFailingPlanIsPrintedAsAScenario checks that what a failure prints can be
// pasted into a file and run.
func TestAFailingPlanIsPrintedAsAScenario(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(topology)
	params := gopter.DefaultGenParameters()
	params.Rng.Seed(seedOfRun(t))
	for _, gen := range []gopter.Gen{m.plans(), m.orders()} {
		for range 200 {
			p := gen(params).Result.(plan)
			sc, err := harness.ReadScenario("plan.yaml", []byte(p.scenario(topology)))
			if err != nil {
				t.Fatalf("%v\n%s", err, p.scenario(topology))
			}
			want := append(slices.Clone(p.events), restoreAll())
			if p.again != nil {
				want = append(slices.Concat(want, p.again), restoreAll())
			}
			if !slices.Equal(sc.Events, want) {
				t.Fatalf("read %v, want %v", sc.Events, want)
			}
		}
	}
}

// TestShrinkingEndsAndOnlySimplifies checks that plans get smaller, stay
// playable, and reach one event.
func TestShrinkingEndsAndOnlySimplifies(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(topology)
	params := gopter.DefaultGenParameters()
	params.Rng.Seed(seedOfRun(t))
	weight := func(p plan) int { return len(p.scenario(topology)) }
	for _, gen := range []gopter.Gen{m.plans(), m.orders()} {
		for range 50 {
			p := gen(params).Result.(plan)
			for len(p.events) > 1 {
				next, ok := m.shrink(p)()
				if !ok {
					t.Fatalf("a plan of %d events has no simpler one", len(p.events))
				}
				q := next.(plan)
				if weight(q) >= weight(p) || p.again != nil && len(q.again) != len(q.events) {
					t.Fatalf("shrunk\n%s\nto\n%s", p.scenario(topology), q.scenario(topology))
				}
				p = q
			}
		}
	}
}
