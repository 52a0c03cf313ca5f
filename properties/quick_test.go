package properties

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties/generate"
)

// The flags of the suites. Each has a twin in the environment, for `go test ./...`,
// where packages without the flag would fail: BAGRIG_SEED, BAGRIG_CASES and
// BAGRIG_ENGINE. The flag wins.
var (
	seedFlag   = flag.String("seed", os.Getenv("BAGRIG_SEED"), "seed of the random suites, a number; empty = another each time")
	casesFlag  = flag.String("cases", os.Getenv("BAGRIG_CASES"), "cases of each random suite, from 1; empty = as many as it has")
	engineFlag = flag.String("engine", os.Getenv("BAGRIG_ENGINE"), "engine of the suite of generated cases, sim or gobgp; empty = many cases on sim, and few on gobgp")
)

// quickCases and liveCases are how many generated cases each engine plays.
const quickCases, liveCases = 2000, 20

// TestEveryRuleHoldsOfGeneratedCases plays generated cases on the simulator, all
// rules on that can judge them. Four cases share a network, which is brought up once.
func TestEveryRuleHoldsOfGeneratedCases(t *testing.T) {
	simOnly(t)
	if *engineFlag == harness.GoBGP {
		t.Skip("the engine is gobgp")
	}
	s := newSweep(t, harness.Sim, quickCases)
	s.workers(max(2, runtime.GOMAXPROCS(0)))
	s.report()
}

// TestEveryRuleHoldsOfGeneratedCasesOnRealSpeakers plays a few of the same cases on
// GoBGP.
func TestEveryRuleHoldsOfGeneratedCasesOnRealSpeakers(t *testing.T) {
	if *engineFlag == harness.Sim {
		t.Skip("the engine is sim")
	}
	s := newSweep(t, harness.GoBGP, liveCases)
	s.workers(1) // one live rig a process
	s.report()
}

// sweep plays the cases of one seed.
type sweep struct {
	t      *testing.T
	engine string
	seed   int64
	cases  int
	next   atomic.Int64 // group
	failed atomic.Bool

	mu        sync.Mutex
	failures  map[int][]string // by case: what fails
	errors    map[int]error
	exercised map[string]int
	judged    map[string]int // cases, by rule
}

// quickEngine is what suites run on that also run on sim: real speakers where there is
// time for them (BAGRIG_LONG).
func quickEngine() string {
	if sizeOfRun() > 1 {
		return harness.GoBGP
	}
	return harness.Sim
}

// simOnly lets a test that needs no real speakers run beside others of that kind. Those
// with real speakers run alone, before them.
func simOnly(t *testing.T) {
	t.Helper()
	if quickEngine() == harness.Sim {
		t.Parallel()
	}
}

// conditional are the rules that speak only of some networks and moments, so that a
// single scenario need not exercise them.
func conditional(rule string) bool {
	return slices.Contains([]string{MonotonyName, FairnessName, SurvivorsName}, rule)
}

// perNetwork is how many cases share a network.
const perNetwork = 4

func newSweep(t *testing.T, engine string, usual int) *sweep {
	t.Helper()
	if e := *engineFlag; e != "" && !slices.Contains(harness.Engines(), e) {
		t.Fatalf("-engine %q: want one of %q", e, harness.Engines())
	}
	return &sweep{
		t: t, engine: engine, seed: seedOfPush(t), cases: casesOfRun(t, usual),
		failures: map[int][]string{}, errors: map[int]error{}, exercised: map[string]int{}, judged: map[string]int{},
	}
}

// limits are those of a group of cases: the settings of half of them are the
// defaults, of which all rules hold.
func (s *sweep) limits(group int) generate.Limits {
	return generate.Limits{Engine: s.engine, Plain: group%2 == 0}
}

func (s *sweep) network(group int) *harness.Scenario {
	return generate.Network(generate.FromRand(rand.New(rand.NewPCG(uint64(s.seed), uint64(group)))), s.limits(group))
}

// scenario is one case.
func (s *sweep) scenario(i int, network *harness.Scenario) *harness.Scenario {
	sc := *network
	sc.Name = fmt.Sprintf("seed %d case %d", s.seed, i)
	sc.Events = generate.Events(generate.FromRand(rand.New(rand.NewPCG(uint64(s.seed), 1<<32+uint64(i)))), network, s.limits(i/perNetwork))
	return &sc
}

// workers plays all cases on so many networks at a time, and stops soon after a
// failure.
func (s *sweep) workers(n int) {
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			for {
				group := int(s.next.Add(1) - 1)
				if group*perNetwork >= s.cases || s.failed.Load() || s.t.Context().Err() != nil {
					return
				}
				s.play(group)
			}
		})
	}
	wait.Wait()
}

// play plays the cases of one network.
func (s *sweep) play(group int) {
	network := s.network(group)
	var base *harness.Rig
	var err error
	if s.engine == harness.Sim {
		if base, err = harness.Start(s.t.Context(), options(network)); err != nil {
			s.note(group*perNetwork, nil, fmt.Errorf("bring-up: %w", err))
			return
		}
		defer base.Close()
	}
	for i := group * perNetwork; i < min((group+1)*perNetwork, s.cases); i++ {
		sc := s.scenario(i, network)
		outcomes, err := s.one(base, sc)
		s.note(i, outcomes, err)
	}
}

// options is the network of a scenario.
func options(sc *harness.Scenario) harness.Options {
	return harness.Options{
		Topology: sc.Topology, Damping: sc.Damping, Plan: sc.Plan, Settings: sc.Settings, Hardware: sc.Hardware, Engine: sc.Engine, Budget: standstill,
	}
}

// one plays one case, on a clone where there is what to clone.
func (s *sweep) one(base *harness.Rig, sc *harness.Scenario) (_ []state.Outcome, err error) {
	checks, note := watched(ForScenario(sc))
	var rig *harness.Rig
	if base != nil {
		rig, err = base.Clone(harness.CloneOptions{Checks: checks})
	} else {
		o := options(sc)
		o.Checks = checks
		rig, err = harness.Start(s.t.Context(), o)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	_, err = rig.Play(s.t.Context(), sc.Events...)
	return rig.Outcomes(), errors.Join(err, note(err))
}

// note writes down how a case ended.
func (s *sweep) note(i int, outcomes []state.Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failures := shrink.Failures(&state.Result{Outcomes: outcomes}, err)
	if len(failures) > 0 {
		s.failures[i] = failures
	}
	if err != nil {
		s.errors[i] = err
	}
	if len(failures) > 0 || err != nil {
		s.failed.Store(true)
	}
	for _, o := range outcomes {
		s.judged[o.Name]++
		s.exercised[o.Name] += o.Exercised
	}
}

// report fails for the first case that failed, which it shrinks and keeps, and for
// a rule that was never exercised.
func (s *sweep) report() {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.judged)) {
		s.t.Logf("%-40s judged %5d cases, exercised %9d times", name, s.judged[name], s.exercised[name])
	}
	if !s.failed.Load() {
		s.unexercised()
		return
	}
	i := slices.Min(slices.Concat(slices.Collect(maps.Keys(s.failures)), slices.Collect(maps.Keys(s.errors))))
	again := fmt.Sprintf("go test ./properties -run '^%s$' -seed %d -cases %d", s.t.Name(), s.seed, max(s.cases, i+1))
	if len(s.failures[i]) == 0 {
		s.t.Fatalf("seed %d, case %d: it cannot be played: %v\nrepeat: %s", s.seed, i, s.errors[i], again)
	}
	property := s.failures[i][0]
	s.t.Fatalf("seed %d, case %d: %q fails (%s)\nrepeat: %s\n\n%s", s.seed, i, property, strings.Join(s.failures[i], ", "), again,
		keepCase(s.t.Context(), s.scenario(i, s.network(i/perNetwork)), property, failFiles))
}

// everyCase is how many cases exercise every rule, certainly enough.
const everyCase = 1000

// unexercised fails where a rule was never put to the test by many cases.
func (s *sweep) unexercised() {
	s.t.Helper()
	if s.cases < everyCase || s.t.Context().Err() != nil {
		return
	}
	for _, c := range All() {
		if name := c.Name(); s.exercised[name] == 0 {
			s.t.Errorf("%s: never exercised, and judged in %d of %d cases", name, s.judged[name], s.cases)
		}
	}
}

// failsCase tells whether a case violates a rule that can judge it.
func failsCase(property string) shrink.Fails {
	return func(ctx context.Context, sc *harness.Scenario) (string, bool) {
		res, err := harness.Run(ctx, sc, harness.RunOptions{Checks: ForScenario(sc)})
		return property, ctx.Err() == nil && slices.Contains(shrink.Failures(res, err), property)
	}
}

// keepCase shrinks a generated case in which a rule fails and keeps it as a fail
// file; the text that it gives says all of it.
func keepCase(ctx context.Context, sc *harness.Scenario, property, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	res, err := shrink.Shrink(ctx, sc, failsCase(property), shrink.Options{Tries: shrink.Tries(sc.Engine)})
	if err != nil {
		text, _ := harness.WriteScenario(sc)
		return fmt.Sprintf("not shrunk: %v: it shows only beside the cases before it\n\n%s", err, text)
	}
	fail := shrink.NewFail(ctx, res, For)
	fail.Scenario = expecting(ctx, fail.Scenario, property)
	path, err := fail.Place(dir)
	if err == nil {
		fail.Command = "bagrig replay " + filepath.Join("properties", path) // from the repository's root
		err = fail.Write(path)
	}
	text, printed := fail.Text()
	if err = errors.Join(err, printed); err != nil {
		return fmt.Sprintf("not written: %v\n\n%s", err, text)
	}
	return fmt.Sprintf("kept as %s:\n\n%s", path, text)
}

// expecting says of a scenario that it violates the rules that cannot judge it, so
// that whoever replays it with all rules is not misled.
func expecting(ctx context.Context, sc *harness.Scenario, property string) *harness.Scenario {
	made := *sc
	res, err := harness.Run(context.WithoutCancel(ctx), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events)})
	for _, name := range shrink.Failures(res, err) {
		if name != property && slices.Contains(generate.Unjudged(sc), name) {
			made.Expect = append(made.Expect, name)
		}
	}
	return &made
}

func TestAGeneratedCaseThatFailsIsShrunkAndKept(t *testing.T) {
	dir := t.TempDir()
	text := keepCase(t.Context(), harmful(t).On(harness.Sim), LivePathName, dir)
	paths, fails, err := shrink.LoadFails(dir)
	if err != nil || len(fails) != 1 || fails[0].Property != LivePathName || !strings.HasPrefix(text, "kept as "+paths[0]) {
		t.Fatalf("got %v and %v after %s, want one fail file", paths, err, text)
	}
	if err := fails[0].Play(t.Context(), For); err == nil {
		t.Error("the file expects the property held, and playing it gives no error")
	}
}

// TestARuleThatCannotJudgeIsNamedAsThereIs keeps the names of limitations in step
// with those of rules.
func TestARuleThatCannotJudgeIsNamedAsThereIs(t *testing.T) {
	var names []string
	for _, c := range For(aggregatesScenario(t).Topology, []state.Event{{Kind: "drain"}}) {
		names = append(names, c.Name())
	}
	for _, l := range generate.Limitations() {
		for _, rule := range l.Rules {
			if !slices.Contains(names, rule) {
				t.Errorf("limitation %q: rule %q: want one of %q", l.Name, rule, names)
			}
		}
	}
}

// numberOf reads a flag that is a number.
func numberOf(t *testing.T, name, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("-%s %q: want a number", name, text)
	}
	return n
}
