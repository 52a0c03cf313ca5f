package harness

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/harness/state"
)

func read(t *testing.T, yaml string) *Scenario {
	t.Helper()
	sc, err := ReadScenario("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

const oneDegrade = "topology: prometheus-mini\nevents:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 24}\n"

// stub is a check that calls a function.
type stub struct {
	look    func(*state.Moment)
	outcome state.Outcome
}

func (s *stub) Name() string           { return "stub" }
func (s *stub) Look(m *state.Moment)   { s.look(m) }
func (s *stub) Outcome() state.Outcome { return s.outcome }

func TestTwoRunsAreEqualUpdateForUpdate(t *testing.T) {
	play := func() ([]state.Row, []state.NLRI, *state.Snapshot) {
		sc, err := Embedded("first-light")
		if err != nil {
			t.Fatal(err)
		}
		var log []state.NLRI
		var last *state.Snapshot
		check := &stub{look: func(m *state.Moment) {
			last = m.Snapshot
			if m.Window != nil {
				log = append(log, m.Window.Log...)
			}
		}}
		res, err := Run(context.Background(), sc, RunOptions{Checks: []state.Check{check}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Rows {
			res.Rows[i].Quiet = 0 // the only real time
		}
		return res.Rows, log, last
	}
	rows, log, last := play()
	againRows, againLog, againLast := play()
	if d := cmp.Diff(rows, againRows); d != "" {
		t.Errorf("rows differ (-first +second):\n%s", d)
	}
	if d := cmp.Diff(log, againLog); d != "" {
		t.Errorf("NLRI differ (-first +second):\n%s", d)
	}
	if d := cmp.Diff(last, againLast, cmpopts.EquateComparable(netip.Prefix{})); d != "" {
		t.Errorf("snapshots differ (-first +second):\n%s", d)
	}
}

func TestAnEntryThatItsSenderDoesNotTellIsStale(t *testing.T) {
	sc := read(t, oneDegrade)
	rig, err := Start(context.Background(), sc.rigOptions(RunOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := rig.Close(); err != nil {
		t.Fatal(err)
	}
	all, stale := Entries(rig.Network(), rig.Baseline())
	if all != 2688 || stale != 0 || rig.entries() != all {
		t.Fatalf("entries: got %d, %d stale, and %d from the graph, want 2688 and 0", all, stale, rig.entries())
	}
	device, prefix := rig.Network().Index.Device["r2-f1-s1"], 0
	list := rig.Baseline().Devices[device].Routes[prefix].Candidates
	if len(list) == 0 {
		t.Fatal("no candidate to doctor")
	}
	sound := list[0]
	for what, doctor := range map[string]func(*state.Candidate){
		"another value":           func(c *state.Candidate) { c.Value *= 2 },
		"no value":                func(c *state.Candidate) { c.Valued = false },
		"another origin":          func(c *state.Candidate) { c.Path[len(c.Path)-1]++ },
		"another neighbour's ASN": func(c *state.Candidate) { c.Path[0]++ },
		"a longer path":           func(c *state.Candidate) { c.Path = append(c.Path, 1) },
		"an empty path":           func(c *state.Candidate) { c.Path = nil },
	} {
		list[0] = sound
		list[0].Path = slices.Clone(sound.Path)
		doctor(&list[0])
		if got, stale := Entries(rig.Network(), rig.Baseline()); got != all || stale != 1 {
			t.Errorf("%s: got %d entries, %d stale, want %d and 1", what, got, stale, all)
		}
	}
	list[0] = sound
	ends := rig.Network().Index.Ends[sound.Bundle]
	told := &rig.Baseline().Devices[ends[0]+ends[1]-device].Routes[prefix].Told
	told.Present = false
	if _, stale := Entries(rig.Network(), rig.Baseline()); stale == 0 {
		t.Error("a sender that tells nothing: got 0 stale entries")
	}
}

func TestAThresholdThatIsPassedViolatesTheRun(t *testing.T) {
	for _, c := range []struct {
		threshold string
		want      state.Verdict
	}{
		{"nlri: 311", state.Violated}, {"nlri: 312", state.Held},
		{"updates: 311", state.Violated}, {"updates: 312", state.Held},
		{"radius: 1", state.Violated}, {"radius: 2", state.Held},
	} {
		res, err := Run(context.Background(), read(t, oneDegrade+"thresholds: {"+c.threshold+"}\n"), RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != c.want {
			t.Errorf("%s: got %v, want %v", c.threshold, res.Verdict, c.want)
		}
	}
}

func TestAnEventWithoutEffectIsAnErrorUnlessItIsSilent(t *testing.T) {
	restore := "topology: prometheus-mini\nevents:\n  - restore: {all: true%s}\n"
	res, err := Run(context.Background(), read(t, strings.Replace(restore, "%s", "", 1)), RunOptions{})
	if !errors.Is(err, ErrNoEffect) || res.Verdict != state.Failed || len(res.Rows) != 1 {
		t.Errorf("got %v with %d rows and %v, want %v with the row and %v", res.Verdict, len(res.Rows), err, state.Failed, ErrNoEffect)
	}
	res, err = Run(context.Background(), read(t, strings.Replace(restore, "%s", ", silent: true", 1)), RunOptions{})
	if err != nil || res.Rows[0].Effect != state.NoEffect {
		t.Errorf("silent: got %v, %v", res.Rows, err)
	}
}

func TestTimedEventsOverlapInOneWindow(t *testing.T) {
	sc := read(t, `topology: prometheus-mini
events:
  - degrade: {bundle: r1-bag1--r2-bag1, members: 24, at: 10s}
  - restore: {bundle: r1-bag1--r2-bag1, at: 20s}
  - degrade: {bundle: r1-bag2--r2-bag2, members: 24, at: 30s}
  - restore: {all: true}
`)
	var windows []int
	check := &stub{look: func(m *state.Moment) {
		if m.Window != nil {
			windows = append(windows, len(m.Window.Events))
		}
	}}
	res, err := Run(context.Background(), sc, RunOptions{Checks: []state.Check{check}})
	if err != nil {
		t.Fatal(err)
	}
	// The first restore is held down until 50 s, so the second degrade starts
	// before the network is settled.
	if d := cmp.Diff([]int{1, 2, 1}, windows); d != "" {
		t.Errorf("events per window (-want +got):\n%s", d)
	}
	var starts []time.Duration
	for _, row := range res.Rows {
		starts = append(starts, row.Start)
	}
	if d := cmp.Diff([]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 50 * time.Second}, starts); d != "" {
		t.Errorf("starts (-want +got):\n%s", d)
	}
}

func TestAnInterruptedRunKeepsWhatWasSeen(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	check := &stub{look: func(m *state.Moment) {
		if m.Window != nil {
			cancel()
		}
	}}
	sc := read(t, oneDegrade+"  - restore: {all: true}\n")
	res, err := Run(ctx, sc, RunOptions{Checks: []state.Check{check}})
	if !errors.Is(err, context.Canceled) || res.Verdict != state.Interrupted || len(res.Rows) == 0 || res.Entries != 2688 {
		t.Errorf("got %v with %d rows, %d entries and %v", res.Verdict, len(res.Rows), res.Entries, err)
	}
}

// bomb is a check that panics wherever it is told to.
type bomb struct {
	stub
	name, outcome, round string
}

func (b *bomb) Outcome() state.Outcome {
	if b.outcome != "" {
		panic(b.outcome)
	}
	return state.Outcome{Name: b.name, Exercised: 2}
}

func (b *bomb) Name() string { return b.name }

func (b *bomb) LookRound(*state.Moment, []state.Event) {
	if b.round != "" {
		panic(b.round)
	}
}

func TestACheckThatPanicsIsViolatedWithItsStackAndTheOthersGoOn(t *testing.T) {
	drain := "topology: prometheus-mini\nevents:\n  - drain: {device: r1-bag1, state: warm}\n"
	looks := 0
	checks := []state.Check{
		&bomb{name: "look", stub: stub{look: func(m *state.Moment) {
			if m.Window != nil {
				panic("boom look")
			}
		}}},
		&bomb{name: "outcome", outcome: "boom outcome"},
		&bomb{name: "round", round: "boom round", stub: stub{look: func(*state.Moment) {}}},
		&stub{look: func(*state.Moment) { looks++ }},
	}
	res, err := Run(context.Background(), read(t, drain), RunOptions{Checks: checks})
	if err != nil || res.Verdict != state.Violated {
		t.Fatalf("got %v and %v, want %v", res.Verdict, err, state.Violated)
	}
	for _, o := range res.Outcomes[:3] {
		if o.Violated != 1 || len(o.Violations) != 1 || o.Held() {
			t.Errorf("%s: got %+v, want one violation", o.Name, o)
			continue
		}
		if text := o.Violations[0].Text; !strings.Contains(text, "boom "+o.Name) || !strings.Contains(text, "goroutine") || !strings.Contains(text, "run_test.go") {
			t.Errorf("%s: got %q, want the panic and its stack", o.Name, text)
		}
	}
	if looks < 2 {
		t.Errorf("the check beside them looked %d times, want 2 or more", looks)
	}
}

func TestARunThatIsStoppedBeforeItStartsSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := Run(ctx, read(t, oneDegrade), RunOptions{})
	if !errors.Is(err, context.Canceled) || res.Verdict != state.Interrupted {
		t.Errorf("got %v and %v, want %v", res.Verdict, err, state.Interrupted)
	}
}

func TestEmbeddedScenariosAreSound(t *testing.T) {
	for _, name := range Scenarios() {
		sc, err := Embedded(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if sc.Name != name || len(sc.Events) == 0 || name == "prometheus" && len(sc.Events) < 10 {
			t.Errorf("%s: named %q, with %d events", name, sc.Name, len(sc.Events))
		}
	}
}

func TestATopologyThatIsNoRegularFileIsRefusedWithItsPlace(t *testing.T) {
	for _, file := range []string{"/dev/zero", t.TempDir()} {
		_, err := ReadScenario("test.yaml", []byte("name: x\ntopology: {file: "+file+"}\n"))
		if err == nil || !strings.Contains(err.Error(), "test.yaml:2:18: ") || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: got %v, want the place and what it is not", file, err)
		}
	}
	if _, err := Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("scenario: got %v, want what it is not", err)
	}
}

func TestMistakesInAScenarioAreAllFoundWithTheirPlace(t *testing.T) {
	_, err := ReadScenario("bad.yaml", []byte(`topology: prometheus-mini
damping: strong
engine: frr
fib: {profile: jericho9}
events:
  - degrade: {bundle: r1-bag1--r9-bag1, members: 24}
  - degrade: {bundle: r1-bag1--r2-bag1, members: 64}
  - explode: {bundle: r1-bag1--r2-bag1}
  - flap: {bundle: r1-bag1--r2-bag1, members: 24}
  - down: {bundle: r1-bag1--r2-bag1, device: r1-bag1}
speed: 1
`))
	for _, want := range []string{
		`bad.yaml:2:10: field "damping": value "strong"`,
		`bad.yaml:3:9: field "engine": value "frr"`,
		`jericho9`,
		`bad.yaml:6:23: field "events[0].degrade.bundle": value "r1-bag1--r9-bag1"`,
		`bad.yaml:7:50: field "events[1].degrade.members": value "64"`,
		`bad.yaml:8:5: `,
		`event flap: count "": missing`,
		`want exactly one of bundle, device`,
		`bad.yaml:11:1: field "speed"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in:\n%v", want, err)
		}
	}
}
