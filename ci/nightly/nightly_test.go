package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/report/junit"
)

// module writes a module with fuzz targets and suites of its own.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module fake\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// targets are a fuzz target that fails, with a text of its own for every input, and one of
// schedules that writes a fail file when it is not searched.
const targets = `package fake

import (
	"flag"
	"os"
	"testing"
)

func FuzzBad(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 3 && data[0] > 'a' {
			t.Errorf("%d bytes, among them %q", len(data), data)
		}
	})
}

func FuzzSchedules(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		if flag.Lookup("test.fuzz").Value.String() == "" {
			os.MkdirAll("testdata/fails/no-loop", 0o777)
			os.WriteFile("testdata/fails/no-loop/2.yaml", nil, 0o666)
		}
		t.Errorf("no loop: %q\n\n# bagrig fail file 1\n# property: no loop\n", data)
	})
}

func fuzzHelper(f *testing.F) {}
`

// suitesFile are suites: one that holds and notes a state, one that fails in two
// tests, of which one keeps a fail file, and one that hangs.
const suitesFile = `package suites

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGood(t *testing.T) {
	if os.Getenv("BAGRIG_SEED") == "" {
		t.Error("no seed")
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("FAKE_REACHED"), "partition"), nil, 0o666); err != nil {
		t.Error(err)
	}
}

func TestBad(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		if err := os.MkdirAll("testdata/fails/no-loop", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/fails/no-loop/1.yaml", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		t.Errorf("BAGRIG_SEED=%s: case 3: no loop:\n# bagrig fail file 1\n# property: no loop\n", os.Getenv("BAGRIG_SEED"))
	})
	t.Run("two", func(t *testing.T) { panic("at the disco") })
}

func TestHangs(t *testing.T) { select {} }

func TestHangsWithAnotherSeed(t *testing.T) {
	if os.Getenv("BAGRIG_SEED") != "7" {
		select {}
	}
}

func TestLogsAPanic(t *testing.T) { t.Log("said\npanic: not really") }

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("FAKE_EXIT") != "" {
		println("nobody's fault")
		code = 3
	}
	os.Exit(code)
}

func TestHangsUntilItIsStopped(t *testing.T) {
	if err := os.WriteFile("../started", []byte("now"), 0); err != nil { // a pipe
		t.Fatal(err)
	}
	select {}
}
`

func fake(t *testing.T, files map[string]string, suites ...suite) (config, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return config{
		dir: module(t, files), out: filepath.Join(t.TempDir(), "out"), budget: 10 * time.Minute, seed: 7, suites: suites,
		states: []string{"partition"}, tell: "FAKE_REACHED", log: &log, cache: t.TempDir(), shrink: 5 * time.Minute,
	}, &log
}

// document reads the pages of a night and compares them with each other.
func documentOf(t *testing.T, cfg config) *document {
	t.Helper()
	var d document
	data, err := os.ReadFile(filepath.Join(cfg.out, jsonFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(cfg.out, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Findings {
		if !strings.Contains(string(page), f.ID) || !strings.Contains(string(page), f.Command) {
			t.Errorf("%s: finding %s and its command are not in it:\n%s", pageFile, f.ID, page)
		}
	}
	var tests junit.Document
	if data, err = os.ReadFile(filepath.Join(cfg.out, junitFile)); err == nil {
		err = xml.Unmarshal(data, &tests)
	}
	if want := len(d.Parts) + count(d.States != nil); err != nil || len(tests.Suites) != 1 || tests.Suites[0].Tests != want || len(tests.Suites[0].Cases) != want {
		t.Errorf("%s: got %+v and %v, want %d tests", junitFile, tests, err, want)
	}
	return &d
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func partOf(t *testing.T, d *document, name string) *part {
	t.Helper()
	i := slices.IndexFunc(d.Parts, func(p *part) bool { return p.Target == name })
	if i < 0 {
		t.Fatalf("no part %q", name)
	}
	return d.Parts[i]
}

func TestANightFindsWhatFailsAndKeepsItReadyToCommit(t *testing.T) {
	cfg, log := fake(t, map[string]string{"targets_test.go": targets, "suites/suites_test.go": suitesFile},
		suite{name: "good", pkg: "./suites", run: "^TestGood$", rounds: 2, weight: 1, limit: time.Minute},
		suite{name: "bad", pkg: "./suites", run: "^TestBad$", rounds: 2, weight: 1, limit: time.Minute},
		suite{name: "hangs", pkg: "./suites", run: "^TestHangs$", rounds: 1, weight: 1, limit: time.Second},
	)
	status, err := run(t.Context(), cfg, time.Now())
	if err != nil || status != found {
		t.Fatalf("got status %d and %v, want %d\n%s", status, err, found, log)
	}
	d := documentOf(t, cfg)
	bad := partOf(t, d, "FuzzBad")
	if bad.Status != statusFailed || len(bad.Findings) != 1 {
		t.Fatalf("FuzzBad: got %+v, want one finding\n%s", bad, log)
	}
	f := d.finding(bad.Findings[0])
	if f.Seen < 1 || f.Seen > mostInputs || len(f.Files) != 1 || !strings.HasPrefix(f.Files[0], "testdata/fuzz/FuzzBad/") || f.Note != "" || !strings.Contains(f.Title, "bytes") {
		t.Errorf("FuzzBad: got %+v, want it seen up to %d times, and one corpus entry that fails again", f, mostInputs)
	}
	entries, err := os.ReadDir(filepath.Join(cfg.dir, "testdata/fuzz/FuzzBad"))
	if err != nil || len(entries) != 1 || !strings.HasSuffix(f.Files[0], entries[0].Name()) {
		t.Errorf("corpus: got %v and %v, want the one entry", entries, err)
	}
	if _, value, ok := entryOf(t, filepath.Join(cfg.dir, f.Files[0])); !ok || len(value) != 4 {
		t.Errorf("corpus: got %q, want 4 bytes, the least that fails", value)
	}
	if p := partOf(t, d, "FuzzSchedules"); len(p.Findings) != 1 {
		t.Errorf("FuzzSchedules: got %+v, want one finding", p)
	} else if f := d.finding(p.Findings[0]); f.Title != "no loop" || !slices.Equal(f.Files, []string{"testdata/fails/no-loop/2.yaml"}) || !strings.Contains(f.Command, "replay "+f.Files[0]) {
		t.Errorf("FuzzSchedules: got %+v, want the fail file in place of the entry", f)
	}
	if entries, err := os.ReadDir(filepath.Join(cfg.dir, "testdata/fuzz/FuzzSchedules")); err != nil || len(entries) > 0 {
		t.Errorf("corpus of FuzzSchedules: got %v and %v, want it empty", entries, err)
	}
	if p := partOf(t, d, "good"); p.Status != statusPassed || p.Rounds < 1 || p.Rounds > 2 || p.Tests != p.Rounds {
		t.Errorf("good: got %+v, want a round or two of one test", p)
	}
	p := partOf(t, d, "bad")
	if p.Status != statusFailed || len(p.Findings) != 2 {
		t.Fatalf("bad: got %+v, want two findings", p)
	}
	if f := d.finding(p.Findings[0]); f.Title != "no loop" || f.Seen != p.Rounds || !slices.Equal(f.Files, []string{"suites/testdata/fails/no-loop/1.yaml"}) ||
		!strings.Contains(f.Command, "BAGRIG_SEED=7 ") || !strings.Contains(f.Command, "-run '^TestBad$/^one$'") {
		t.Errorf("bad/one: got %+v", f)
	}
	if f := d.finding(p.Findings[1]); !strings.Contains(f.Text, "at the disco") || f.Seen != p.Rounds {
		t.Errorf("bad/two: got %+v", f)
	}
	if p := partOf(t, d, "hangs"); p.Status != statusFailed || !strings.Contains(d.finding(p.Findings[0]).Text, "test timed out after 1s") {
		t.Errorf("hangs: got %+v, want it failed for the time", p)
	}
	if !d.States.Judged || len(d.States.Never) > 0 || d.Exit != found || d.Verdict != "findings" || d.CutShort {
		t.Errorf("got verdict %q, states %+v", d.Verdict, d.States)
	}
	if text := log.String(); !strings.Contains(text, "plan:") || strings.Index(text, "plan:") > strings.Index(text, "FuzzBad") {
		t.Errorf("got %q, want the plan first", text)
	}
}

// A target that holds takes all the time that it is given, so it is given little; on a busy
// machine that may not be enough for a start.
func TestATargetThatHoldsPasses(t *testing.T) {
	const good = "package fake\n\nimport \"testing\"\n\nfunc FuzzGood(f *testing.F) {\n\tf.Add([]byte(\"a\"))\n\tf.Fuzz(func(t *testing.T, data []byte) {})\n}\n"
	for _, seconds := range []time.Duration{5, 30, 180} {
		cfg, log := fake(t, map[string]string{"targets_test.go": good})
		cfg.budget, cfg.states = seconds*time.Second, nil
		status, err := run(t.Context(), cfg, time.Now())
		d := documentOf(t, cfg)
		if err == nil && status == couldNotRun && d.Advice != "" {
			continue
		}
		if p := partOf(t, d, "FuzzGood"); err != nil || status != green || p.Status != statusPassed || p.Executions == 0 {
			t.Errorf("got %+v, status %d and %v, want it passed\n%s", p, status, err, log)
		}
		return
	}
	t.Error("180 s are not enough for one run")
}

func entryOf(t *testing.T, path string) (kind, value string, ok bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if lines[0] != entryHead {
		t.Errorf("%s: got %q, want %q first", path, lines[0], entryHead)
	}
	return bytesOf(lines[1])
}

func TestAnInputGetsAsSmallAsTheSameFailureLets(t *testing.T) {
	fails := func(entry []byte) string {
		switch text := string(entry); {
		case strings.Contains(text, "xy") && strings.Contains(text, "int(3)"):
			return "xy"
		case strings.Contains(text, "x"):
			return "x"
		}
		return ""
	}
	got := shrunk(t.Context(), []byte("go test fuzz v1\n[]byte(\"abcxydefx\")\nint(3)\nstring(\"whatever\")\n"), fails)
	if want := "go test fuzz v1\n[]byte(\"xy\")\nint(3)\nstring(\"\")\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"go test fuzz v2\n[]byte(\"abcxy\")\n", "go test fuzz v1\n[]byte(\"abc\")\n"} {
		if got := shrunk(t.Context(), []byte(text), fails); string(got) != text {
			t.Errorf("got %q, want %q left as it is", got, text)
		}
	}
}

func TestFailuresAreTheSameUpToWhatChangesFromInputToInput(t *testing.T) {
	a := "--- FAIL: FuzzX (0.02s)\n    x_test.go:12: \"abc\": got 12.5ms and 0xc000123, want 3 (seed 77)\n"
	for text, same := range map[string]bool{
		"--- FAIL: FuzzX/1234 (1.00s)\n        x_test.go:12: \"z\\\"y\": got 7s and 0xc00f, want 4 (seed 1)\nFAIL\n": true,
		"x_test.go:13: \"abc\": got 12.5ms and 0xc000123, want 3 (seed 77)":                                          false,
		"x_test.go:12: \"abc\": got 12.5ms, want 3 (seed 77)":                                                        false,
	} {
		if got := normal(text) == normal(a); got != same {
			t.Errorf("%q and %q: got the same %v, want %v", normal(text), normal(a), got, same)
		}
	}
	fail := "x_test.go:1: no loop: ...\n# bagrig fail file 1\n# property: no loop\n# run: x"
	if got, want := normal(fail+"\nanything"), normal("other words\n"+fail[10:]); got != want {
		t.Errorf("got %q, want %q: the property alone counts", got, want)
	}
}

func TestAStateThatWasNeverReachedFailsTheNight(t *testing.T) {
	cfg, _ := fake(t, map[string]string{"suites/suites_test.go": suitesFile}, suite{name: "good", pkg: "./suites", run: "^TestGood$", rounds: 1, weight: 1, limit: time.Minute})
	cfg.states = []string{"partition", "suppression on"}
	status, err := run(t.Context(), cfg, time.Now())
	d := documentOf(t, cfg)
	if err != nil || status != found || !slices.Equal(d.States.Never, []string{"suppression on"}) {
		t.Errorf("got status %d, %v and %+v, want %d", status, err, d.States, found)
	}
	cfg.states, cfg.out = cfg.states[:1], filepath.Join(t.TempDir(), "again")
	if status, err := run(t.Context(), cfg, time.Now()); err != nil || status != green {
		t.Errorf("with the other state alone: got status %d and %v, want %d", status, err, green)
	}
}

// Nothing says that what a suite reaches is out of reach while the suite was not there.
func TestStatesAreNotJudgedOfANightThatWasTooShort(t *testing.T) {
	cfg, log := fake(t, map[string]string{"suites/suites_test.go": suitesFile}, suite{name: "too long", pkg: "./suites", run: "^TestHangs$", rounds: 1, weight: 1, limit: time.Hour})
	cfg.budget = 3 * time.Second
	status, err := run(t.Context(), cfg, time.Now())
	if err != nil || status != couldNotRun {
		t.Fatalf("got status %d and %v, want %d\n%s", status, err, couldNotRun, log)
	}
	d := documentOf(t, cfg)
	if d.Verdict != "could not run" || d.States.Judged || !strings.Contains(d.Advice, "suite too long; want --minutes 1 or more") || !strings.Contains(log.String(), d.Advice) {
		t.Errorf("got verdict %q, states %+v and advice %q, want them not judged, and the minutes that are needed", d.Verdict, d.States, d.Advice)
	}
	if page, err := os.ReadFile(filepath.Join(cfg.out, pageFile)); err != nil || !strings.Contains(string(page), d.Advice) || !strings.Contains(string(page), "That is not judged") {
		t.Errorf("got page %s and %v, want both in it", page, err)
	}
}

// cached is a fuzz target that fails with one input, which no search comes upon, and with
// many others, so that the search after that one ends early.
const cached = `package fake

import "testing"

func FuzzCached(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if string(data) == "Monday" {
			t.Error("not today")
		}
		if len(data) > 1 && data[0] > 'a' {
			t.Error("found by searching")
		}
	})
}
`

// What failed is found once and then no more, and its search goes on. A page that was
// written before the end, as after a kill, has a command that works.
func TestAnInputOfTheFuzzCacheThatFailsDoesNotEndTheSearch(t *testing.T) {
	cfg, log := fake(t, map[string]string{"targets_test.go": cached})
	cfg.states = nil
	entry := []byte("go test fuzz v1\n[]byte(\"Monday\")\n")
	name := fmt.Sprintf("%x", sha256.Sum256(entry))[:16]
	place := filepath.Join(cfg.cache, "fake", "FuzzCached", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(place), 0o777), os.WriteFile(place, entry, 0o666)); err != nil {
		t.Fatal(err)
	}
	status, err := run(t.Context(), cfg, time.Now())
	if err != nil || status != found {
		t.Fatalf("got status %d and %v, want %d\n%s", status, err, found, log)
	}
	d := documentOf(t, cfg)
	p := partOf(t, d, "FuzzCached")
	if len(d.Findings) != 2 || d.Findings[0].Seen != 1 || d.Findings[1].Seen != mostInputs-1 {
		t.Fatalf("got %+v and %+v, want one finding, seen once, and another of the search after it\n%s", p, d.Findings, log)
	}
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache: got %v, want the entry gone", err)
	}
	if !slices.ContainsFunc(d.Findings[0].Files, func(file string) bool { return strings.HasPrefix(file, "testdata/fuzz/FuzzCached/") }) {
		t.Errorf("got files %q, want the entry in the corpus", d.Findings[0].Files)
	}
	n := &night{cfg: cfg}
	p.folder = cfg.dir
	if err := os.RemoveAll(filepath.Join(cfg.dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", n.putBack(p, input{name: name, kept: filepath.Join(cfg.out, inputFolder, "fake", "FuzzCached", name)}))
	cmd.Dir = cfg.dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "not today") {
		t.Errorf("%s: got %v and %s, want the failure", cmd, err, out)
	}
}

// A hang shows as one in a later round too, and not as the end of the time.
func TestARoundThatHangsAfterOneThatDidNotIsAFinding(t *testing.T) {
	cfg, log := fake(t, map[string]string{"suites/suites_test.go": suitesFile},
		suite{name: "hangs later", pkg: "./suites", run: "HangsWithAnotherSeed|LogsAPanic", rounds: 2, weight: 1, limit: time.Hour},
		suite{name: "nobody's", pkg: "./suites", run: "LogsAPanic", env: []string{"FAKE_EXIT=1"}, rounds: 1, weight: 1, limit: time.Hour},
	)
	cfg.grace, cfg.states = 3*time.Second, nil
	status, err := run(t.Context(), cfg, time.Now())
	if err != nil || status != found {
		t.Fatalf("got status %d and %v, want %d\n%s", status, err, found, log)
	}
	d := documentOf(t, cfg)
	p := partOf(t, d, "hangs later")
	if p.Status != statusFailed || p.Rounds != 2 || len(p.Findings) != 1 {
		t.Fatalf("got %+v, want one finding in two rounds\n%s", p, log)
	}
	f := d.finding(p.Findings[0])
	if !strings.Contains(f.Title, "test timed out after ") || !strings.Contains(f.Text, "suites.TestHangsWithAnotherSeed(") || !strings.HasPrefix(f.Command, "BAGRIG_SEED=8 go test ") {
		t.Errorf("got %+v, want the stack of what hangs, and the seed of that round", f)
	}
	n := &night{cfg: cfg}
	for took, want := range map[time.Duration]bool{2 * time.Second: false, 4 * time.Second: true, 29 * time.Second: true} {
		if got := n.hung(&part{Rounds: 1, longest: 10 * time.Millisecond}, took); got != want {
			t.Errorf("ended after %v: hung: got %v, want %v", took, got, want)
		}
		if n.hung(&part{Rounds: 1, longest: 6 * time.Second}, took) || n.hung(&part{}, took) {
			t.Errorf("ended after %v, with a long round or none before: got it hung, want it short of time", took)
		}
	}
	p = partOf(t, d, "nobody's")
	if p.Status != statusFailed || len(p.Findings) != 1 {
		t.Fatalf("got %+v, want one finding", p)
	}
	if f := d.finding(p.Findings[0]); f.Command != "BAGRIG_SEED=7 FAKE_EXIT=1 go test ./suites -count=1 -run 'LogsAPanic'" || !strings.Contains(f.Text, "nobody's fault") {
		t.Errorf("got %+v, want what was said, and the whole command", f)
	}
}

// What an earlier night reached is not reached again by looking at its folder.
func TestAFolderWithResultsInItIsRefused(t *testing.T) {
	cfg, _ := fake(t, map[string]string{"suites/suites_test.go": suitesFile}, suite{name: "good", pkg: "./suites", run: "^TestGood$", rounds: 1, weight: 1, limit: time.Minute})
	if err := os.MkdirAll(filepath.Join(cfg.out, reachedFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	status, err := run(t.Context(), cfg, time.Now())
	if status != couldNotRun || err == nil || !strings.Contains(err.Error(), "--out "+cfg.out) || !strings.Contains(err.Error(), "want a folder that is empty") {
		t.Errorf("got status %d and %v, want %d and the folder", status, err, couldNotRun)
	}
	if left, err := os.ReadDir(cfg.out); err != nil || len(left) != 1 {
		t.Errorf("got %v and %v, want it left as it was", left, err)
	}
}

// What is stopped in the middle has a page with all that was found before, and
// leaves no process behind.
func TestANightThatIsStoppedKeepsWhatItFound(t *testing.T) {
	cfg, log := fake(t, map[string]string{"suites/suites_test.go": suitesFile},
		suite{name: "bad", pkg: "./suites", run: "^TestBad$", rounds: 1, weight: 1, limit: time.Minute},
		suite{name: "stops", pkg: "./suites", run: "^TestHangsUntilItIsStopped$", rounds: 1, weight: 1, limit: time.Minute},
		suite{name: "good", pkg: "./suites", run: "^TestGood$", rounds: 1, weight: 1, limit: time.Minute},
	)
	started := filepath.Join(cfg.dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		status, err := run(ctx, cfg, time.Now())
		if err != nil {
			t.Error(err)
		}
		ended <- status
	}()
	if text, err := os.ReadFile(started); err != nil || string(text) != "now" {
		t.Fatalf("got %q and %v, want the suite to say that it runs", text, err)
	}
	if d := documentOf(t, cfg); len(d.Findings) != 2 || d.Verdict != running {
		t.Errorf("before it is stopped: got %d findings and verdict %q, want the 2 on the page, as a kill would leave it", len(d.Findings), d.Verdict)
	}
	cancel()
	if status := <-ended; status != found {
		t.Errorf("got status %d, want %d\n%s", status, found, log)
	}
	d := documentOf(t, cfg)
	if !d.CutShort || len(d.Findings) != 2 || d.States.Judged || partOf(t, d, "stops").Status != statusCut || partOf(t, d, "good").Status != statusNotRun {
		t.Errorf("got %+v, want it cut short with 2 findings", d)
	}
	if page, err := os.ReadFile(filepath.Join(cfg.out, pageFile)); err != nil || !strings.Contains(string(page), "cut short") {
		t.Errorf("got page %s and %v, want it to say cut short", page, err)
	}
}
