package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/sim"
)

// aFailFile is one that is kept, and violated as it says.
const aFailFile = "../../properties/testdata/fails/no-live-path-dropped/rfd-harm.yaml"

func TestAReplayShowsEveryStep(t *testing.T) {
	got := bagrig(t, "replay", aFailFile)
	if got.code != exitViolated || got.stderr != "" {
		t.Errorf("got exit status %d and on stderr %q, want %d and nothing", got.code, got.stderr, exitViolated)
	}
	printed(t, "replay.txt", got.stdout)
}

func TestAReplayOnTheOtherEngineViolatesTheSame(t *testing.T) {
	got := bagrig(t, "replay", aFailFile, "--engine", "both")
	if got.code != exitViolated {
		t.Errorf("got exit status %d, want %d: %s", got.code, exitViolated, got.stderr)
	}
	wantAll(t, "both engines", got.stdout, "on engine sim", "on engine gobgp", "VIOLATED no live path dropped", "as the file expects")
	if n := strings.Count(got.stdout, "settled: event 1"); n != 2 {
		t.Errorf("got %d settled events, want one of each engine:\n%s", n, got.stdout)
	}
}

func TestAScenarioIsReplayedToo(t *testing.T) {
	got := bagrig(t, "replay", "testdata/small.yaml", "--engine", "sim")
	if got.code != exitHeld || got.stderr != "" {
		t.Errorf("got exit status %d and on stderr %q, want %d and nothing", got.code, got.stderr, exitHeld)
	}
	wantAll(t, "small", got.stdout, "s1--e1: 2 members", "verdict held")
	got = bagrig(t, "replay", "testdata/violated.yaml", "--engine", "sim")
	if got.code != exitViolated {
		t.Errorf("violated.yaml: got exit status %d, want %d", got.code, exitViolated)
	}
	wantAll(t, "violated", got.stdout, "threshold: NLRI per event: violated 1 times of 1", "want at most 100")
}

func TestWhatCannotBeReplayedSaysWhy(t *testing.T) {
	text, err := os.ReadFile(aFailFile)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.yaml")
	if err := os.WriteFile(damaged, bytes.Replace(text, []byte("fail file 1"), []byte("fail file 9"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	misspelt := filepath.Join(t.TempDir(), "misspelt.yaml")
	if err := os.WriteFile(misspelt, bytes.Replace(text, []byte("# property: no live"), []byte("# property: any live"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := bagrig(t, "replay", misspelt); got.code != exitBad {
		t.Errorf("a property that nobody judges: got exit status %d, want %d", got.code, exitBad)
	} else {
		wantAll(t, "misspelt", got.stderr, `property "any live path dropped": nobody judges it in this run: want one of [`, `"no live path dropped"`)
	}
	marked := filepath.Join(t.TempDir(), "marked.yaml")
	if err := os.WriteFile(marked, append([]byte("\ufeff"), text...), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{marked}, `marked.yaml:1: `},
		{[]string{damaged}, damaged + `:1: "# bagrig fail file 9": want "# bagrig fail file 1"; to convert`},
		{[]string{"nowhere.yaml"}, `"nowhere.yaml": no such file`},
		{[]string{aFailFile, "--step"}, "--step: standard input is no terminal"},
		{[]string{aFailFile, "--engine", "x"}, `--engine "x": want one of gobgp, sim, both`},
	} {
		got := bagrig(t, append([]string{"replay"}, tc.args...)...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", tc.args, got.code, got.stdout, exitBad)
		}
		wantAll(t, fmt.Sprint(tc.args), got.stderr, tc.want)
	}
}

// TestSteppingWaitsBeforeEveryEvent gives Enter for one event of two, and ends
// the input then: the second goes on by itself, as no key can come.
func TestSteppingWaitsBeforeEveryEvent(t *testing.T) {
	sc, _, err := loadFail("testdata/two-events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out, prompt bytes.Buffer
	trace := newTrace(&out, sc)
	trace.wait = waitForEnter(t.Context(), strings.NewReader("\n"), &prompt)
	if err := replayFail(t.Context(), sc, nil, sim.Schedule{Mode: sim.Rounds, Seed: 1, Processing: sim.DefaultProcessing}, 0, trace, &prompt); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(prompt.String(), "Enter"); n != 2 {
		t.Errorf("prompts: got %q, want 2", prompt.String())
	}
	wantAll(t, "trace", out.String(), "event 1 of 2", "event 2 of 2", "verdict held")
}

func TestAnInterruptEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = write.Close() }()
	wait := waitForEnter(ctx, read, &bytes.Buffer{})
	cancel()
	wait() // a hang would fail the test
	wait()
}
