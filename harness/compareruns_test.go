package harness_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// keeper gives a comparison the moments of its first run.
type keeper struct{ to *harness.Comparison }

func (k keeper) Name() string           { return "keeper" }
func (k keeper) Outcome() state.Outcome { return state.Outcome{} }
func (k keeper) Look(m *state.Moment)   { k.to.Keep(m) }

// network is what a run needs, on sim.
func network(t *testing.T) harness.Options {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	o := harness.Options{Topology: topology, Damping: pipeline, Engine: harness.Sim}
	for range topology.Devices {
		o.Settings = append(o.Settings, topologies.DefaultSettings())
	}
	return o
}

// played is a run of the events, and its last snapshot.
func played(t *testing.T, o harness.Options, events []state.Event, check state.Check) (*harness.Rig, error) {
	t.Helper()
	o.Checks = []state.Check{check}
	rig, err := harness.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rig.Play(context.Background(), events...)
	return rig, err
}

var twoEvents = []state.Event{
	{Kind: "degrade", Bundle: "r1-f1-e1--r1-bag1", Members: 20},
	{Kind: "down", Bundle: "r1-bag2--r2-bag2"},
}

// compared plays the events twice. plant changes the first run, which stands for the
// simulator; the second stands for real speakers.
func compared(t *testing.T, alike bool, plant func(*harness.Options)) *harness.Comparison {
	t.Helper()
	c := harness.NewComparison(harness.GoBGP, harness.Sim, alike)
	first, second := network(t), network(t)
	plant(&first)
	_, err := played(t, first, twoEvents, keeper{c})
	c.End(err)
	if _, err := played(t, second, twoEvents, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The page docs/engines.md shows this text, so that a reader knows what to expect.
func TestAPlantedDifferenceIsPrintedWithTheThreeAnswers(t *testing.T) {
	c := compared(t, true, func(o *harness.Options) {
		if err := o.Settings[o.Topology.Index().Device["r2-bag1"]].Set("advertise", "best-path"); err != nil {
			t.Fatal(err)
		}
	})
	if o := c.Outcome(); o.Exercised != 3 || o.Violated == 0 || o.Worst == 0 {
		t.Errorf("got %+v, want differences at some of 3 moments", o)
	}
	file := filepath.Join("testdata", "disagreement.txt")
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(c.Text()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Text(), string(want)); d != "" {
		t.Errorf("-got +want (BAGRIG_UPDATE=1 rewrites it):\n%s", d)
	}
	page, err := os.ReadFile("../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), strings.TrimSpace(c.Text())) {
		t.Error("docs/engines.md: does not show the text")
	}
}

func TestTheSameRunTwiceAgrees(t *testing.T) {
	c := compared(t, true, func(*harness.Options) {})
	if o := c.Outcome(); !o.Held() || o.Exercised != 3 || !strings.Contains(c.Text(), "no difference") {
		t.Errorf("got %+v and\n%s\nwant 3 moments without a difference", o, c.Text())
	}
}

func TestOnlyRunsThatAreAlikeHaveToCarryTheSame(t *testing.T) {
	random := func(o *harness.Options) { o.Schedule = sim.Schedule{Mode: sim.Random, Seed: 5} }
	if o := compared(t, false, random).Outcome(); !o.Held() {
		t.Errorf("not alike: got %+v, want the same end states", o)
	}
	if o := compared(t, true, random).Outcome(); o.Violated == 0 {
		t.Errorf("as if they were alike: got %+v, want messages that differ", o)
	}
}

func TestAFirstRunThatEndsEarlyIsADifferenceFromThereOn(t *testing.T) {
	c := harness.NewComparison(harness.GoBGP, harness.Sim, true)
	silent := append(twoEvents[:1:1], state.Event{Kind: "restore", Bundle: "r2-bag3--r1-bag3"})
	_, err := played(t, network(t), silent, keeper{c})
	if err == nil {
		t.Fatal("got no error, want one that there is no such bundle")
	}
	c.End(err)
	if _, err := played(t, network(t), twoEvents, c); err != nil {
		t.Fatal(err)
	}
	o := c.Outcome()
	if o.Violated != 1 || !strings.Contains(o.Violations[0].Text, "gobgp is settled after 2 events, and sim was not: it ended with: ") {
		t.Errorf("got %+v", o)
	}
}

// Each part of a snapshot is changed by itself.
func TestEveryPartOfASnapshotIsCompared(t *testing.T) {
	rig, err := played(t, network(t), twoEvents, keeper{harness.NewComparison("", "", true)})
	if err != nil {
		t.Fatal(err)
	}
	net, want := rig.Network(), rig.Snapshot()
	d, p := net.Index.Device["r1-bag1"], 8
	for name, change := range map[string]func(*state.Snapshot, *state.Device, *state.Route){
		"origin":           func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.Local = true },
		"candidates":       func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.Candidates[0].Value *= 2 },
		"multipath set":    func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.Set = nil },
		"bottleneck value": func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.Bottleneck++ },
		"told":             func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.Told.Path = nil },
		"hardware":         func(_ *state.Snapshot, _ *state.Device, r *state.Route) { r.FIB.Members = nil },
		"drain state":      func(_ *state.Snapshot, x *state.Device, _ *state.Route) { x.Drain = topologies.Warm },
		"restarting":       func(_ *state.Snapshot, x *state.Device, _ *state.Route) { x.Restarting = true },
		"hardware audit":   func(_ *state.Snapshot, x *state.Device, _ *state.Route) { x.FIB.GroupsPeak++ },
		"state":            func(s *state.Snapshot, _ *state.Device, _ *state.Route) { s.Bundles[3].Trial = true },
		"held sessions":    func(s *state.Snapshot, _ *state.Device, _ *state.Route) { s.Held = []state.Direction{{Bundle: 2}} },
	} {
		got := clone(want)
		if diff := harness.Compare(net, got, want, true); diff != nil {
			t.Fatalf("a copy: got %+v, want no difference", diff)
		}
		change(got, &got.Devices[d], &got.Devices[d].Routes[p])
		diff := harness.Compare(net, got, want, true)
		switch {
		case diff == nil || diff.Field != name || diff.A == diff.B:
			t.Errorf("%s: got %+v", name, diff)
		case diff.Prefix >= 0 && (diff.Device != d || diff.Prefix != p || diff.Routes != 1):
			t.Errorf("%s: got %+v, want the one route that differs", name, diff)
		case diff.Prefix < 0 && diff.Routes != 0:
			t.Errorf("%s: got %+v, want no route that differs", name, diff)
		}
		if alike := harness.Compare(net, got, want, false); (alike == nil) != (name == "hardware audit") {
			t.Errorf("%s, not alike: got %+v", name, alike)
		}
	}
	later := clone(want)
	later.Time += time.Second
	if diff := harness.Compare(net, later, want, true); diff != nil {
		t.Errorf("virtual time: got %+v, want it left out", diff)
	}
}

// clone copies what the test above changes.
func clone(s *state.Snapshot) *state.Snapshot {
	c := *s
	c.Bundles = append([]state.Bundle(nil), s.Bundles...)
	c.Devices = append([]state.Device(nil), s.Devices...)
	for d := range c.Devices {
		c.Devices[d].Routes = append([]state.Route(nil), c.Devices[d].Routes...)
		for p := range c.Devices[d].Routes {
			r := &c.Devices[d].Routes[p]
			r.Candidates = append([]state.Candidate(nil), r.Candidates...)
		}
	}
	return &c
}

func TestNLRIAreCountedBySessionWithoutCuresAndDumps(t *testing.T) {
	dir := state.Direction{Bundle: 3}
	other := state.Direction{Bundle: 3, FromB: true}
	tell := func(round int) state.NLRI { return state.NLRI{Dir: dir, Prefix: 1, Round: round} }
	gone := func(n state.NLRI) state.NLRI { n.Withdraw = true; return n }
	dump := func(n state.NLRI) state.NLRI { n.Dump = true; return n }
	back := func(n state.NLRI) state.NLRI { n.Dir = other; return n }
	for name, c := range map[string]struct {
		a, b           []state.NLRI
		differ         []harness.Carried
		counted, cures int
	}{
		"the same":                            {[]state.NLRI{tell(1), back(tell(2))}, []state.NLRI{back(tell(5)), tell(7)}, nil, 2, 0},
		"a cure":                              {[]state.NLRI{gone(tell(1)), tell(1)}, []state.NLRI{tell(1)}, nil, 1, 1},
		"a withdrawal alone":                  {[]state.NLRI{gone(tell(1))}, nil, []harness.Carried{{Dir: dir, A: 1}}, 1, 0},
		"a cure that took two rounds is none": {[]state.NLRI{gone(tell(1)), tell(2)}, []state.NLRI{tell(2)}, []harness.Carried{{Dir: dir, A: 2, B: 1}}, 2, 0},
		"of another session":                  {[]state.NLRI{gone(tell(1)), back(tell(1))}, []state.NLRI{back(tell(1))}, []harness.Carried{{Dir: dir, A: 1}}, 2, 0},
		"a dump":                              {[]state.NLRI{dump(tell(1)), tell(2)}, []state.NLRI{tell(2)}, nil, 1, 0},
		"both directions":                     {[]state.NLRI{tell(1)}, []state.NLRI{back(tell(1))}, []harness.Carried{{Dir: dir, A: 1}, {Dir: other, B: 1}}, 1, 0},
	} {
		differ, counted, cures := harness.CompareNLRI(c.a, c.b)
		if d := cmp.Diff(differ, c.differ); d != "" || counted != c.counted || cures != c.cures {
			t.Errorf("%s: got %d counted, %d cures, differences (-got +want)\n%s", name, counted, cures, d)
		}
	}
}

func TestBothEnginesPlayAScenarioAndAgree(t *testing.T) {
	for _, mode := range sim.Modes() {
		sc, err := harness.Embedded("drain-plane")
		if err != nil {
			t.Fatal(err)
		}
		sc.Engine = harness.Both
		res, err := harness.Run(t.Context(), sc, harness.RunOptions{Schedule: sim.Schedule{Mode: mode, Seed: 3, Processing: sim.DefaultProcessing}})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		a := res.Agreement
		if res.Verdict != state.Held || res.Engine != harness.Both || a.Sim.Engine != harness.Sim || a.Differences != 0 || a.Moments < 2 || (a.NLRI > 0) != (mode == sim.Rounds) {
			t.Errorf("%s: got verdict %s, engines %s and %s, and\n%s", mode, res.Verdict, res.Engine, a.Sim.Engine, a.Text)
		}
	}
}

func TestADifferenceOfTheEnginesIsAViolatedRun(t *testing.T) {
	sc, err := harness.Embedded("drain-plane")
	if err != nil {
		t.Fatal(err)
	}
	sc.Engine = harness.Sim
	c := harness.NewComparison(harness.GoBGP, harness.Sim, true) // with a first run that never started
	res, err := harness.Run(t.Context(), sc, harness.RunOptions{Checks: []state.Check{c}})
	if err != nil || res.Verdict != state.Violated || res.Outcomes[0].Name != harness.EnginesAgreeName {
		t.Errorf("got verdict %s, %v and %+v, want %q violated", res.Verdict, err, res.Outcomes, harness.EnginesAgreeName)
	}
}

func TestARunThatStopsOnBothEnginesSaysSoOfBoth(t *testing.T) {
	sc, err := harness.Embedded("drain-plane")
	if err != nil {
		t.Fatal(err)
	}
	sc.Engine = harness.Both
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := harness.Run(ctx, sc, harness.RunOptions{})
	if res.Verdict != state.Interrupted || res.Agreement.Sim.Verdict != state.Interrupted || err == nil || !strings.Contains(err.Error(), "sim: ") {
		t.Errorf("got verdict %s, of sim %s, error %v, want both interrupted", res.Verdict, res.Agreement.Sim.Verdict, err)
	}
	// Sim's failure alone is that of the run.
	res, err = harness.Run(t.Context(), sc, harness.RunOptions{Schedule: sim.Schedule{Mode: "any"}})
	if res.Verdict != state.Failed || err == nil || !strings.Contains(res.Error, `"any"`) && !strings.Contains(err.Error(), `"any"`) {
		t.Errorf("got verdict %s, error %v, want failed, and why", res.Verdict, err)
	}
}
