package fuzz

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/damping/dampingtest"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
	"github.com/bagrig/bagrig/properties/generate"
	"github.com/bagrig/bagrig/topologies"
)

// corner makes of a drawn case one that leads where drawn cases seldom or never go,
// since not all rules hold there.
type corner struct {
	name  string
	turn  func(r *rand.Rand, sc *harness.Scenario)
	ends  error // what the run may end with
	timed bool  // messages take time, and transients are looked for
}

func corners() []corner {
	list := []corner{
		{name: "messages take time", turn: func(*rand.Rand, *harness.Scenario) {}, timed: true},
		{name: "a device takes no IPv6", turn: takesNoIPv6},
		{name: "damping tells little as nothing", turn: func(_ *rand.Rand, sc *harness.Scenario) { tells(sc, littleIsNothing{}) }},
		{name: "damping is never content", turn: func(_ *rand.Rand, sc *harness.Scenario) { tells(sc, dampingtest.Restless{}) }, ends: state.ErrNoConvergence},
		{name: "damping withholds", turn: func(_ *rand.Rand, sc *harness.Scenario) {
			tells(sc, damping.Penalty{Withdraw: 1000, Attribute: 500, Suppress: 600, Reuse: 300, Max: 4000, HalfLife: time.Minute, MaxSuppress: 10 * time.Minute, OnSuppress: damping.Withhold})
		}},
		{name: "a session may hold one prefix", turn: func(r *rand.Rand, sc *harness.Scenario) {
			// A session that is down cannot be held.
			sc.Events = slices.DeleteFunc(sc.Events, func(e state.Event) bool { return e.Kind == "hold" || e.Kind == "release" })
			sc.Events = append([]state.Event{{Kind: "set", Device: one(r, sc.Topology.Devices).Name, Knob: "import.max-prefixes", Value: "1", Silent: true}}, sc.Events...)
		}},
		{name: "a drain during a flap", turn: func(r *rand.Rand, sc *harness.Scenario) {
			b, ok := several(r, sc)
			if ok {
				sc.Events = []state.Event{
					{Kind: "flap", Bundle: b.Name, Members: 1, Count: 3, Period: 10 * time.Second, At: 5 * time.Second, Silent: true},
					{Kind: "drain", Device: b.B, State: "warm", At: 12 * time.Second, Silent: true},
				}
			}
		}},
		{name: "a reset of what is held", turn: func(r *rand.Rand, sc *harness.Scenario) {
			b := one(r, sc.Topology.Bundles)
			sc.Events = append([]state.Event{{Kind: "hold", Bundle: b.Name, From: b.A, Silent: true}, {Kind: "reset", Bundle: b.Name, Silent: true}}, sc.Events...)
		}},
		{name: "a chip that breaks first", turn: func(_ *rand.Rand, sc *harness.Scenario) {
			chip(sc, fib.OverflowExceed, func(p *fib.Profile) { p.Groups, p.BreakFirst = 1, true })
		}},
		{name: "a narrow chip", turn: func(_ *rand.Rand, sc *harness.Scenario) {
			chip(sc, fib.OverflowExceed, func(p *fib.Profile) { p.Width, p.Variable = 1, 0 })
		}},
	}
	for _, policy := range fib.Overflows() {
		list = append(list, corner{name: "few groups, overflow " + string(policy), turn: func(r *rand.Rand, sc *harness.Scenario) {
			chip(sc, policy, func(p *fib.Profile) { p.Groups = 1 + r.IntN(3) })
		}})
	}
	return list
}

func one[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// several is a bundle of several members; false where there is none.
func several(r *rand.Rand, sc *harness.Scenario) (topologies.Bundle, bool) {
	list := slices.DeleteFunc(slices.Clone(sc.Topology.Bundles), func(b topologies.Bundle) bool { return b.Members < 2 })
	if len(list) == 0 {
		return topologies.Bundle{}, false
	}
	return one(r, list), true
}

func tells(sc *harness.Scenario, stage damping.ToldStage) {
	sc.Plan = &damping.Plan{Default: damping.Pipeline{Name: "corner", Told: []damping.ToldStage{stage}}}
	sc.Damping = sc.Plan.Default
}

func chip(sc *harness.Scenario, policy fib.Overflow, change func(*fib.Profile)) {
	sc.Hardware = slices.Clone(sc.Hardware)
	for i := range sc.Hardware {
		h := &sc.Hardware[i]
		h.Profile.Name, h.Profile.Reserve = "corner", 0
		change(&h.Profile)
		h.Options.Overflow = policy
	}
}

func takesNoIPv6(r *rand.Rand, sc *harness.Scenario) {
	t := *sc.Topology
	t.Prefixes = slices.Clone(t.Prefixes)
	for i := range t.Prefixes {
		if t.Prefixes[i].Prefix.Addr().Is6() {
			t.Prefixes[i].Class = "six"
		}
	}
	sc.Topology = &t
	sc.Events = append([]state.Event{{Kind: "set", Device: one(r, t.Devices).Name, Knob: "import.reject-classes", Value: "six", Silent: true}}, sc.Events...)
}

// littleIsNothing tells less than 5T as 0.
type littleIsNothing struct{}

func (littleIsNothing) NewTold() damping.ToldPolicy { return littleIsNothing{} }
func (littleIsNothing) Law() damping.Law            { return damping.Law{PerChange: 1} }
func (littleIsNothing) String() string              { return "little is nothing" }
func (littleIsNothing) Memoryless() bool            { return true }
func (littleIsNothing) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in.Bits < 5e12 {
		in.Bits = 0
	}
	return in, damping.Never
}

// cornerCases is how many cases each corner has where BAGRIG_CASES does not say.
const cornerCases = 6

// TestCornersEndAsTheySay plays drawn cases turned to each corner. Rules are not
// judged there; the run must end, and in a night what it reached is noted.
func TestCornersEndAsTheySay(t *testing.T) {
	seed, cases := rand.Int64(), int64(cornerCases)
	if testing.Short() {
		cases = 1
	}
	for name, value := range map[string]*int64{"BAGRIG_SEED": &seed, "BAGRIG_CASES": &cases} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *value, err = strconv.ParseInt(text, 10, 64); err != nil {
				t.Fatalf("%s %q: want a number", name, text)
			}
		}
	}
	t.Logf("BAGRIG_SEED=%d", seed)
	for n, c := range corners() {
		for i := range cases {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(n)<<32|uint64(i)))
			sc := generate.Case(generate.FromRand(r), generate.Limits{Devices: MostDevices, Events: MostEvents})
			c.turn(r, sc)
			if err := playCorner(t, c, sc); err != nil && !(c.ends != nil && errors.Is(err, c.ends)) {
				t.Errorf("BAGRIG_SEED=%d, %s, case %d: %v\n%s", seed, c.name, i, err, printedCorner(sc))
			}
		}
	}
}

func playCorner(t *testing.T, c corner, sc *harness.Scenario) error {
	t.Helper()
	watcher := properties.NewCoverage()
	opts := harness.RunOptions{Checks: []state.Check{watcher}}
	if c.timed {
		opts.Schedule = sim.Schedule{Mode: sim.Timed, Processing: sim.DefaultProcessing}
		opts.Checks = append(opts.Checks, properties.NewTransients(-1))
	}
	_, err := harness.Run(t.Context(), sc, opts)
	return errors.Join(err, properties.NoteReached(os.Getenv(properties.ReachedFolder), watcher.Reached()))
}

func printedCorner(sc *harness.Scenario) string {
	text := sc.Topology.Summary() + fmt.Sprintf("\ndamping: %v\nevents:\n", sc.Damping)
	for _, e := range sc.Events {
		text += "  - " + e.YAML() + "\n"
	}
	return text
}
