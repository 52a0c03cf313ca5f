package properties

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties/generate"
)

// twoRuns plays a rule that takes two runs on many generated cases.
func twoRuns(t *testing.T, usual int, change func(r *rand.Rand, sc *harness.Scenario), rule func(*harness.Scenario, bool) (state.Outcome, error)) {
	t.Helper()
	seed := seedOfPush(t)
	exercised := 0
	for i := range casesOfRun(t, usual) {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		sc := generate.Case(generate.FromRand(r), generate.Limits{Plain: i%2 == 0})
		change(r, sc)
		o, err := rule(sc, i%2 == 1)
		if errors.Is(err, ErrOrderMatters) {
			continue
		}
		if err != nil || o.Violated > 0 {
			text, _ := harness.WriteScenario(sc)
			t.Fatalf("BAGRIG_SEED=%d, case %d: %v %s\n%s", seed, i, err, violatedText(o), text)
		}
		exercised += o.Exercised
	}
	if exercised == 0 {
		t.Error("never exercised")
	}
	t.Logf("%d routes compared", exercised)
}

func TestOtherNamesGiveTheSameAnswer(t *testing.T) {
	simOnly(t)
	twoRuns(t, 150, func(*rand.Rand, *harness.Scenario) {}, func(sc *harness.Scenario, reorder bool) (state.Outcome, error) {
		return Symmetry(t.Context(), sc, reorder)
	})
}

func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	simOnly(t)
	only := func(r *rand.Rand, sc *harness.Scenario) {
		kept := sc.Events[:0]
		for _, e := range sc.Events {
			e.At = 0
			if slices.Contains([]string{"degrade", "down", "grey"}, e.Kind) && e.Domain == "" {
				kept = append(kept, e)
			}
		}
		for range 2 {
			if b := sc.Topology.Bundles[r.IntN(len(sc.Topology.Bundles))]; b.Members > 1 {
				kept = append(kept, state.Event{Kind: "degrade", Bundle: b.Name, Members: 1 + r.IntN(b.Members-1), Silent: true})
			}
		}
		sc.Events = kept
	}
	twoRuns(t, 200, only, func(sc *harness.Scenario, _ bool) (state.Outcome, error) { return EventOrder(t.Context(), sc) })
}

func TestEventsWhoseOrderMattersAreRefused(t *testing.T) {
	sc := generate.Case(generate.FromBytes(nil), generate.Limits{})
	b := sc.Topology.Bundles[0]
	for _, list := range [][]state.Event{
		{{Kind: "degrade", Bundle: b.Name, Members: 1}, {Kind: "down", Device: b.A}},
		{{Kind: "degrade", Bundle: b.Name, Members: 1, At: 1}},
		{{Kind: "restore", All: true}},
	} {
		sc.Events = list
		if _, err := EventOrder(t.Context(), sc); !errors.Is(err, ErrOrderMatters) {
			t.Errorf("%v: got %v, want %v", list, err, ErrOrderMatters)
		}
	}
}
