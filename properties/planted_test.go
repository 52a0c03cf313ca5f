package properties

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// planted is a fault that is put into a running network, to see whether any rule
// finds it. Its functions stand at the simulator's edges (sim.Tap); a plant changes what
// the scenario has its network made of. Any may be nil.
type planted struct {
	name, layer string
	means       string // the real bug that it stands for

	hears    func(x *tapped, d int, core *speakers.Core, in []speakers.Input) []speakers.Input
	does     func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect
	carries  func(x *tapped, m sim.Message) []sim.Message
	forwards func(x *tapped, d, p int, entry fib.Entry) fib.Entry
	reports  func(x *tapped, d int, audit fib.Audit) fib.Audit
	plant    func(sc *harness.Scenario)
}

func allPlanted() (list []planted) {
	for _, layer := range []struct {
		name   string
		faults []planted
	}{
		{"core", faultsOfTheCore()}, {"damping", faultsOfTheDamping()}, {"hardware", faultsOfTheHardware()},
		{"wire", faultsOfTheWire()}, {"codec", faultsOfTheCodec()},
	} {
		for _, f := range layer.faults {
			f.layer = layer.name
			list = append(list, f)
		}
	}
	return list
}

// plantedSeed is the seed of the cases among which faults are looked for, and the
// budgets are those of the quick suite and of the nightly.
const (
	plantedSeed              = 8
	quickCases, nightlyCases = 2000, 20_000
	quickPart                = 0.95
)

// plantedCase is the case of that number.
func plantedCase(number int) *harness.Scenario {
	c := newCase(rand.New(rand.NewPCG(plantedSeed, uint64(number))))
	hw, err := state.HardwareOf(c.topology)
	if err != nil {
		panic(err)
	}
	return &harness.Scenario{
		Name: "planted", Engine: harness.Sim, Topology: c.topology, Settings: c.settings, Damping: c.pipeline, Hardware: hw,
		Events: append(c.events, restoreAll()),
	}
}

// with is the scenario with what the fault plants.
func (f *planted) with(sc *harness.Scenario) *harness.Scenario {
	if f.plant == nil {
		return sc
	}
	made := *sc
	made.Hardware = slices.Clone(sc.Hardware)
	f.plant(&made)
	return &made
}

// violated are the rules that a run with the fault violates.
func (f *planted) violated(ctx context.Context, sc *harness.Scenario) []string {
	made := f.with(sc)
	res, err := harness.Run(ctx, made, harness.RunOptions{Tap: f.tap, Checks: For(made.Topology, made.Events)})
	return shrink.Failures(res, err)
}

// fails is what the shrinker asks: whether that rule is still violated with the fault.
func (f *planted) fails(want string) shrink.Fails {
	return func(ctx context.Context, sc *harness.Scenario) (string, bool) {
		return want, slices.Contains(f.violated(ctx, sc), want) && ctx.Err() == nil
	}
}

// foundFault is a row of the table.
type foundFault struct {
	*planted
	number int      // of the case; -1 = not found
	rules  []string // that are violated there
	left   shrink.Size
}

// shows are the rules that the fault violates in a scenario, and that hold there
// without it.
func (f *planted) shows(ctx context.Context, sc *harness.Scenario) []string {
	rules := f.violated(ctx, sc)
	if len(rules) == 0 {
		return nil
	}
	without := new(planted).violated(ctx, sc)
	return slices.DeleteFunc(rules, func(rule string) bool { return slices.Contains(without, rule) })
}

// search looks for the first case that shows the fault.
func (f *planted) search(ctx context.Context, cases int) foundFault {
	for i := range cases {
		if rules := f.shows(ctx, plantedCase(i)); len(rules) > 0 {
			return foundFault{planted: f, number: i, rules: rules}
		}
	}
	return foundFault{planted: f, number: -1}
}

func TestTryPlanted(t *testing.T) {
	only, cases := os.Getenv("ONLY"), 300
	fmt.Sscan(os.Getenv("N"), &cases)
	var wg sync.WaitGroup
	work := make(chan *planted)
	for range 2 {
		wg.Go(func() {
			for f := range work {
				r := f.search(t.Context(), cases)
				t.Logf("%-8s %-45s %5d %s", f.layer, f.name, r.number, strings.Join(r.rules, " | "))
			}
		})
	}
	none := 0
	for i := range min(cases, 100) {
		if rules := new(planted).violated(t.Context(), plantedCase(i)); len(rules) > 0 {
			none++
			t.Logf("control: case %d: %v", i, rules)
		}
	}
	t.Logf("control: %d fail", none)
	for _, f := range allPlanted() {
		if strings.Contains(f.name, only) {
			work <- &f
		}
	}
	close(work)
	wg.Wait()
}
