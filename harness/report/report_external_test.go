package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

// about is what is known of the hand-made runs.
func about(t *testing.T) report.About {
	t.Helper()
	sc, err := harness.LoadWith("first-light", map[string]state.External{"r1-bag4": {Address: netip.MustParseAddr("192.0.2.1"), Silence: 1500 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return report.About{
		Scenario: sc, Started: time.Date(2026, 11, 30, 20, 15, 0, 0, time.UTC), Version: "v0.0.0",
		Command: "bagrig run first-light --seed 1", Schedule: "rounds",
	}
}

func event(t *testing.T, kind string, fields map[string]string) state.Event {
	t.Helper()
	e, err := state.ParseEvent(kind, fields)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// violatedRun has one of everything that a result can hold.
func violatedRun(t *testing.T) *state.Result {
	t.Helper()
	violation := state.Violation{Time: 90 * time.Second, Where: "r1-f1-e1 10.1.0.0/24", Text: "FIB is empty: want next hop r1-bag1"}
	return &state.Result{
		Scenario: "first-light", Engine: "gobgp", Seed: 1, Topology: "prometheus-mini: 2 regions, 56 devices, 100 bundles, 26 prefixes",
		Established: 244699657 * time.Nanosecond, Quiet: 1495339282 * time.Nanosecond, Entries: 2688, Stale: 3,
		BringUp: state.Counters{Updates: 2700, Announced: 2715, Withdrawn: 4, EndOfRIB: 200, Keepalive: 201, Others: 202, Fences: 632},
		Rows: []state.Row{
			{Index: 0, Event: event(t, "degrade", map[string]string{"bundle": "r1-f1-e1--r1-bag1", "members": "31"}), Effect: state.Absorbed, Quiet: 100 * time.Microsecond, Sets: 26},
			{
				Index: 1, Event: event(t, "flap", map[string]string{"bundle": "r1-bag2--r2-bag2", "members": "24", "count": "20", "period": "10s"}), Effect: state.Changed,
				Start: 30 * time.Second, Settled: 225 * time.Second, Last: 225 * time.Second, Quiet: 56202986 * time.Nanosecond, Told: 1338, Sets: 1338,
				Counters: state.Counters{Updates: 11624, Announced: 11600, Withdrawn: 24}, Blast: []int{0, 8, 16},
			},
			{Index: 2, Event: event(t, "restore", map[string]string{"all": "true", "silent": "true"}), Effect: state.NoEffect, Start: 255 * time.Second},
		},
		Outcomes: []state.Outcome{
			{Name: "end state equals oracle", Exercised: 109824, Unit: "entries", Note: "as it should be"},
			{Name: "proportion", Exercised: 26, Worst: 1.0987654, Limit: 1.331, Unit: "times its share"},
			{Name: "no black hole", Exercised: 12, Worst: math.Inf(1), Unit: "devices", Violated: 14, Violations: []state.Violation{violation, violation, violation, violation, violation, violation}},
			{Name: "restore returns to the baseline", Limit: math.Inf(1)},
			{Name: "proportion at r1-bag4", Limit: 1.331, Unit: "times its share", NotObservable: []state.Unobserved{{Device: "r1-bag4", What: "its shares"}}},
			{Name: "threshold: NLRI per event", Exercised: 3, Worst: 11624, Limit: 500, Unit: "NLRI", Violated: 1, Violations: []state.Violation{{Time: 30 * time.Second, Where: "flap bundle=r1-bag2--r2-bag2", Text: "11624 NLRI:\nwant at most 500"}}},
		},
		Verdict: state.Violated, Elapsed: 2 * time.Second, Virtual: 285 * time.Second,
		MisTold: &state.MisTold{Over: 5e14, Under: 25e13, Told: 1e16, Now: state.MisRate{Over: 1e12, Told: 3e13}},
		Windows: []state.WindowRow{
			{First: 0, Last: 1, Settled: 255 * time.Second, Counters: state.Counters{Updates: 11624, Announced: 11600, Withdrawn: 24}, Blast: []int{0, 8, 16},
				Lost: state.Lost{Pairs: 3, Of: 1408, Worst: 0.25, Where: "s1 to 10.2.0.0/24", Seconds: 0.5}},
			{First: 2, Last: 2, Start: 255 * time.Second},
		},
		Lost: &state.Lost{
			Pairs: 3, Of: 1408, Worst: 0.25, Where: "s1 to 10.2.0.0/24", Seconds: 0.5,
			Bundles: []state.LostBundle{
				{Bundle: "r1-bag2--r2-bag2", Part: 1, From: 30 * time.Second, Until: 30150 * time.Millisecond},
				{Bundle: "r1-bag1--r2-bag1", Part: 0.3, From: 60 * time.Second, Until: 285 * time.Second, Lasts: true},
			},
		},
		Overcount: []state.Overcount{
			{Moment: "baseline", Pairs: 1408, Median: 1, Worst: 1, Device: "r1-bag1", Prefix: "10.1.0.0/24"},
			{Moment: "end", Damped: true, Pairs: 1408, Above: 24, Median: 1.0625, Worst: math.Inf(1), Device: "r1-f1-s1", Prefix: "10.2.0.0/24"},
		},
		Agreement: &state.Agreement{
			Sim: &state.Result{Verdict: state.Violated, Error: "no-convergence"}, Moments: 3, Routes: 4368, NLRI: 11624, Cures: 2, Differences: 1, Text: "1 difference\n",
		},
		Reached: []state.Reached{{Name: "suppression on", Times: 3}, {Name: "partition"}},
		FIB:     hardwareUse(), Policies: []state.PolicyUse{
			{Overflow: fib.OverflowExceed, Exceeded: 1, Use: 1.125, Device: "r1-bag1", Groups: 72, GroupsOf: 64, Moves: 90},
			{Overflow: fib.OverflowMerge, Use: 1, Device: "r1-bag1", Groups: 49, GroupsOf: 64, Overload: 0.5, Underuse: math.Inf(1), Dropped: 7, Given: 12, Moves: 2100},
			{Overflow: fib.OverflowSpill, Use: 1, Device: "r1-bag1", Groups: 49, GroupsOf: fib.NoLimit, Refusals: 1, Gaps: 2, Spilled: 24},
		},
	}
}

// hardwareUse is what five devices' hardware did: one is full, one has no
// published limits, and three do little.
func hardwareUse() []state.FIBUse {
	full := fib.Audit{
		Profile: "jericho3", Algorithm: fib.Minimax, Overflow: fib.OverflowMerge, Groups: 48, GroupsPeak: 49, GroupsPeakEvent: "event 2",
		GroupsLimit: 64, GroupsSteadyLimit: 48, Members: 9936, MembersPeak: 10027, MembersPeakEvent: "event 2", MembersLimit: 32768,
		MembersSteadyLimit: 24576, WorstOverload: 0.125, WorstUnderuse: math.Inf(1), Dropped: 1, Prefixes: 26, Sharing: 1.5, Compromises: 1,
		Events: 3, GroupChanges: 12, MostChanges: 9, MostChangesEvent: "event 2", Gaps: 1, Refusals: 2, SpillGroupsPeak: 3,
	}
	open := fib.Audit{
		Profile: "jericho2", Algorithm: fib.Minimax, Overflow: fib.OverflowExceed, Groups: 2, GroupsPeak: 2, GroupsLimit: fib.NoLimit,
		GroupsSteadyLimit: fib.NoLimit, Members: 4, MembersPeak: 4, MembersLimit: fib.NoLimit, MembersSteadyLimit: fib.NoLimit, Prefixes: 26, Sharing: 13,
	}
	little := full
	little.GroupsPeak, little.MembersPeak, little.Compromises, little.Dropped, little.WorstOverload, little.WorstUnderuse = 1, 2, 0, 0, 1e-8, 1e-8
	prefixes := []fib.PrefixAudit{
		{Prefix: netip.MustParsePrefix("10.1.0.0/24"), Group: 4, Members: []fib.Weighted{{ID: 3, Weight: 4}}, Overload: 0.125, Underuse: fib.Number(math.Inf(1)),
			Dropped: []int32{8}, Compromise: fib.Merged, Event: "event 2"},
		{Prefix: netip.MustParsePrefix("10.1.1.0/24"), Group: 5, Members: []fib.Weighted{{ID: 3, Weight: 1}, {ID: 8, Weight: 1}}, Overload: 1e-8, Underuse: 1e-8},
	}
	use := func(device string, a fib.Audit, prefixes ...fib.PrefixAudit) state.FIBUse {
		return state.FIBUse{Report: fib.Report{Device: device, Audit: a, Prefixes: prefixes}, Event: a.GroupsPeakEvent, Last: a}
	}
	return []state.FIBUse{
		use("r1-f1-s1", open), use("r1-f1-e1", little), use("r1-bag1", full, prefixes...), use("r1-f1-e2", little), use("r1-f1-e3", little),
	}
}

func TestTheHardwareFilesHoldWhatIsNotAsItWasAskedFor(t *testing.T) {
	_, dir := finished(t, violatedRun(t))
	golden(t, "violated.fib.json", read(t, dir, report.FIBFile))
	golden(t, "violated.fib.txt", read(t, dir, report.FIBTextFile))
	_, failed := finished(t, interruptedRun())
	if _, err := os.Stat(filepath.Join(failed, report.FIBFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run without a baseline: got %v, want no %s", err, report.FIBFile)
	}
}

func interruptedRun() *state.Result {
	return &state.Result{
		Scenario: "first-light", Engine: "gobgp", Seed: 1, Topology: "prometheus-mini: 56 devices", Verdict: state.Interrupted,
		Error: "interrupt signal received\nand <closed> late \x01", Elapsed: 12 * time.Millisecond,
	}
}

// golden compares with a file, or rewrites it if BAGRIG_UPDATE is set.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s (-got +want, BAGRIG_UPDATE=1 rewrites it):\n%s", name, diff)
	}
}

// finished makes a folder of its own for the result.
func finished(t *testing.T, res *state.Result, records ...state.Record) (*report.Folder, string) {
	t.Helper()
	f, err := report.CreateIn(t.TempDir(), about(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		f.Record(r)
	}
	if err := f.Finish(res); err != nil {
		t.Fatal(err)
	}
	return f, f.Dir()
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSummaryAndJUnitReadAsTheyShould(t *testing.T) {
	for name, res := range map[string]*state.Result{"violated": violatedRun(t), "interrupted": interruptedRun()} {
		f, dir := finished(t, res)
		hide := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(f.Dir()), []byte("runs/NAME")) }
		golden(t, name+".summary.txt", hide(read(t, dir, report.SummaryFile)))
		golden(t, name+".junit.xml", hide(read(t, dir, report.JUnitFile)))
	}
}

func TestSummaryFitsTheTerminal(t *testing.T) {
	_, dir := finished(t, violatedRun(t))
	for line := range strings.Lines(string(bytes.ReplaceAll(read(t, dir, report.SummaryFile), []byte(dir), nil))) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("got %d characters, want at most 120: %s", n, line)
		}
	}
}

func TestJUnitCountsItsCases(t *testing.T) {
	held := violatedRun(t)
	held.Verdict, held.Outcomes = state.Held, held.Outcomes[:2]
	stuck := violatedRun(t)
	stuck.Error, stuck.Outcomes = "no-convergence: r1-bag1 still talks", nil
	for name, c := range map[string]struct {
		res                              *state.Result
		tests, failures, errors, skipped int
	}{
		"held":           {held, 3, 0, 0, 0},
		"violated":       {violatedRun(t), 7, 2, 0, 2},
		"no-convergence": {stuck, 1, 1, 0, 0},
		"interrupted":    {interruptedRun(), 1, 0, 1, 0},
	} {
		_, dir := finished(t, c.res)
		var got struct {
			Suites []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Skipped  int `xml:"skipped,attr"`
				Cases    []struct {
					Failure *string `xml:"failure"`
					Error   *string `xml:"error"`
					Skipped *string `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(read(t, dir, report.JUnitFile), &got); err != nil || len(got.Suites) != 1 {
			t.Fatalf("%s: got %d testsuites, error %v, want 1", name, len(got.Suites), err)
		}
		suite, counted := got.Suites[0], [4]int{}
		for _, one := range suite.Cases {
			counted[0]++
			for i, p := range []*string{one.Failure, one.Error, one.Skipped} {
				if p != nil {
					counted[i+1]++
				}
			}
		}
		want := [4]int{c.tests, c.failures, c.errors, c.skipped}
		if stated := [4]int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped}; stated != want || counted != want {
			t.Errorf("%s: got tests, failures, errors, skipped %v in attributes and %v in cases, want %v", name, stated, counted, want)
		}
	}
}

func TestTheFolderHoldsWhatWasSeenAtEveryMoment(t *testing.T) {
	f, err := report.CreateIn(t.TempDir(), about(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(read(t, f.Dir(), report.ScenarioFile)), string(about(t).Scenario.Source); got != want {
		t.Errorf("scenario.yaml: got %q, want the source as read", got)
	}
	if doc := readRun(t, f.Dir()); doc.Verdict != report.Running || doc.EventsPlanned != 18 || doc.Topology == "" {
		t.Errorf("run.json before the end: got verdict %q, %d events, topology %q", doc.Verdict, doc.EventsPlanned, doc.Topology)
	}
	for i := range 3 {
		f.Record(state.Record{Kind: "event", Event: i, Text: "up"})
		if lines := readLines(t, f.Dir()); len(lines) != i+1 || lines[i]["event"] != float64(i+1) {
			t.Errorf("after record %d: got lines %v", i+1, lines)
		}
	}
	if err := f.Finish(interruptedRun()); err != nil {
		t.Fatal(err)
	}
	if doc := readRun(t, f.Dir()); doc.Verdict != state.Interrupted || !strings.Contains(doc.Error, "interrupt") {
		t.Errorf("run.json at the end: got verdict %q, error %q", doc.Verdict, doc.Error)
	}
	want := []string{report.EventsFile, report.JUnitFile, report.RunFile, report.ScenarioFile, report.SummaryFile}
	if diff := cmp.Diff(names(t, f.Dir()), want); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
}

func TestADocumentSurvivesJSON(t *testing.T) {
	f, dir := finished(t, violatedRun(t))
	got, want := readRun(t, dir), f.Document(violatedRun(t))
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("run.json (-got +want):\n%s", diff)
	}
}

func TestFoldersOfOneSecondDifferAndLatestIsTheLast(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "made", "when needed")
	for _, want := range []string{"20261130-201500-first-light", "20261130-201500-first-light-2", "20261130-201500-first-light-3"} {
		f, err := report.CreateIn(parent, about(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Finish(interruptedRun()); err != nil {
			t.Fatal(err)
		}
		latest, err := os.Readlink(filepath.Join(parent, report.LatestLink))
		if got := filepath.Base(f.Dir()); got != want || latest != want {
			t.Errorf("got folder %q, latest %q (%v), want %q", got, latest, err, want)
		}
	}
	if got := len(names(t, parent)); got != 4 {
		t.Errorf("got %d names in the parent, want 3 folders and the link", got)
	}
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	parent := t.TempDir()
	if err := os.WriteFile(filepath.Join(parent, report.LatestLink), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := report.CreateIn(parent, about(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Finish(interruptedRun()) }()
	if got := string(read(t, parent, report.LatestLink)); got != "mine" {
		t.Errorf("latest: got %q, want it untouched", got)
	}
	if _, err := report.Create(f.Dir(), about(t)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that exists: got error %v, want %v", err, fs.ErrExist)
	}
	if _, err := report.CreateIn(filepath.Join(parent, report.LatestLink), about(t)); err == nil {
		t.Error("a parent that is a file: got no error")
	}
}

func TestAFolderThatIsGoneIsReported(t *testing.T) {
	f, err := report.CreateIn(t.TempDir(), about(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(f.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := f.Finish(violatedRun(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v, want %v", err, fs.ErrNotExist)
	}
}

func readRun(t *testing.T, dir string) *report.Document {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(read(t, dir, report.RunFile)))
	dec.DisallowUnknownFields()
	doc := &report.Document{}
	if err := dec.Decode(doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func readLines(t *testing.T, dir string) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range bytes.Lines(read(t, dir, report.EventsFile)) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, one)
	}
	return list
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
