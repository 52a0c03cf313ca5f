package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness"
)

func TestValidateSaysWhatEveryEmbeddedScenarioIs(t *testing.T) {
	got := bagrig(t, append([]string{"validate"}, harness.Scenarios()...)...)
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d, stderr %q, want %d and nothing", got.code, got.stderr, exitHeld)
	}
	for _, name := range harness.Scenarios() {
		if !strings.Contains(got.stdout, "scenario   "+name+", engine gobgp, seed ") {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

func TestValidateShowsAllThatIsWrongWithAllFiles(t *testing.T) {
	got := bagrig(t, "validate", "testdata/unknown-bundle.yaml", "first-light", "testdata/unknown-event.yaml", "testdata/empty.yaml", "no-such")
	if got.code != exitBad || !strings.HasPrefix(got.stdout, "scenario   first-light,") {
		t.Errorf("got exit status %d and on stdout %q, want %d and what first-light is", got.code, got.stdout, exitBad)
	}
	wantAll(t, "stderr", got.stderr, "bagrig: testdata/unknown-bundle.yaml:4:", "bagrig: testdata/unknown-event.yaml:3:", "bagrig: testdata/empty.yaml:1:1:", `bagrig: scenario "no-such"`)
}

func TestValidateSaysWhatAScenarioChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	text := "topology: spread-mini\ndamping: bag-default\nspeakers: {roles: {bag: {weights.missing: skip}}}\nfib: {profile: tomahawk5}\n" +
		"thresholds: {nlri: 10, radius: 2}\nexpect-violated: [proportion]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := bagrig(t, "validate", file)
	if got.code != exitHeld {
		t.Fatal(got.stderr)
	}
	wantAll(t, "stdout", got.stdout, "scenario   own, ", "8 of 56 with other knobs than the default", "56 tomahawk5", "none: bring-up only",
		"14 properties, and thresholds of each event: nlri 10, radius 2", "violated: proportion")
}

func TestADryRunStartsNothingAndCountsWhatARunWouldHold(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	got := bagrig(t, "run", "--dry-run", "--out", out, "prometheus")
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d, stderr %q, want %d and nothing", got.code, got.stderr, exitHeld)
	}
	wantAll(t, "stdout", got.stdout, "speakers     416\n", "sessions     1,328\n", "entries      215,616 in all", "descriptors  5,792, and the limit is", "about 1,070 MiB when quiet")
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the parent of run folders: got %v, want that nothing was made", err)
	}
}

func TestADryRunCountsTheEntriesThatARunHas(t *testing.T) {
	for _, name := range []string{"first-light", "group-exhaustion-mini"} {
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		sc.Events = nil
		res, err := harness.Run(t.Context(), sc, harness.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := baselineEntries(sc.Topology)
		if err != nil {
			t.Fatal(err)
		}
		if got != res.Entries {
			t.Errorf("%s: got %d entries, the run has %d", name, got, res.Entries)
		}
	}
}

func TestADryRunRefusesWhatARunRefuses(t *testing.T) {
	for _, args := range [][]string{{"--dry-run", "testdata/unknown-bundle.yaml"}, {"--dry-run", "--port", "0"}, {"--dry-run", "--seed", "0"}} {
		if got := bagrig(t, append([]string{"run"}, args...)...); got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", args, got.code, got.stdout, exitBad)
		}
	}
}
