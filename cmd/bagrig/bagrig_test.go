package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

// binary is what TestMain built.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bagrig")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "bagrig")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// ran is what became of one process.
type ran struct {
	code           int
	stdout, stderr string
}

func bagrig(t *testing.T, args ...string) ran {
	t.Helper()
	return finish(t, exec.Command(binary, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// latest is run.json of the folder that was made last.
func latest(t *testing.T, out string) *report.Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, report.LatestLink, report.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	doc := &report.Document{}
	if err := json.Unmarshal(data, doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func wantAll(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: got\n%s\nwant %q in it", what, got, w)
		}
	}
}

func TestFirstLightIsHeldAndTheSummaryIsInTheFolder(t *testing.T) {
	out := t.TempDir()
	got := bagrig(t, "run", "--out", out)
	if got.code != exitHeld || got.stderr != "" {
		t.Errorf("got exit status %d and on stderr %q, want %d and nothing\n%s", got.code, got.stderr, exitHeld, got.stdout)
	}
	wantAll(t, "stdout", got.stdout, "prometheus-mini: ", "degrade r1-bag1--r2-bag1 to 24", "verdict  held: all ", "seed     1\n", "run first-light --seed 1 --out "+out)
	summary, err := os.ReadFile(filepath.Join(out, report.LatestLink, report.SummaryFile))
	if err != nil || string(summary) != got.stdout {
		t.Errorf("summary.txt (%v): got\n%s\nwant what was printed", err, summary)
	}
	doc := latest(t, out)
	if doc.Verdict != state.Held || len(doc.Events) != doc.EventsPlanned || len(doc.Properties) == 0 {
		t.Errorf("run.json: got verdict %q, %d of %d events, %d properties", doc.Verdict, len(doc.Events), doc.EventsPlanned, len(doc.Properties))
	}
	kindsAreDocumented(t, filepath.Join(out, report.LatestLink, report.EventsFile))
}

// kindsAreDocumented holds the records of a real run against the page; the
// fields of each are package report's to test.
func kindsAreDocumented(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/run-folder.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var record struct{ Kind string }
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !kinds[record.Kind] && !bytes.Contains(page, fmt.Appendf(nil, "\n| `%s` | ", record.Kind)) {
			t.Errorf("kind %q: not in docs/run-folder.md", record.Kind)
		}
		kinds[record.Kind] = true
	}
	for _, kind := range []string{"start", "established", "baseline", "event", "change", "quiet", "settled", "end"} {
		if !kinds[kind] {
			t.Errorf("events.ndjson: got kinds %v, want %q among them", kinds, kind)
		}
	}
}

func TestJSONIsOneObjectAndTheSameAsRunJSON(t *testing.T) {
	out := t.TempDir()
	got := bagrig(t, "run", "testdata/small.yaml", "--json", "--seed", "77", "--out", out)
	if got.code != exitHeld || got.stderr != "" {
		t.Errorf("got exit status %d and on stderr %q, want %d and nothing", got.code, got.stderr, exitHeld)
	}
	var doc report.Document
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Schema != report.Schema || doc.Seed != 77 {
		t.Errorf("got schema %d, seed %d, error %v, want schema %d and seed 77", doc.Schema, doc.Seed, err, report.Schema)
	}
	file, err := os.ReadFile(filepath.Join(out, report.LatestLink, report.RunFile))
	if err != nil || string(file) != got.stdout {
		t.Errorf("run.json (%v): got\n%s\nwant what was printed:\n%s", err, file, got.stdout)
	}
	wantAll(t, "the command that repeats it", doc.Command, "run testdata/small.yaml --seed 77 --out ")
}

func TestBadInputIsNamedAndStartsNothing(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string // file:line, and the value
	}{
		{"unknown-preset", []string{"unknown-preset.yaml:2:", `"prometheus-maxi"`}},
		{"unknown-bundle", []string{"unknown-bundle.yaml:4:", `"r1-bag1--r9-bag1"`}},
		{"unknown-device", []string{"unknown-device.yaml:3:", `"r9-bag1"`}},
		{"unknown-event", []string{"unknown-event.yaml:3:", `"explode"`}},
		{"unknown-event-field", []string{"unknown-event-field.yaml:3:", "memers"}},
		{"unknown-field", []string{"unknown-field.yaml:2:", `"tresholds"`}},
		{"too-many-members", []string{"too-many-members.yaml:3:", `"33"`}},
		{"zero-members", []string{"zero-members.yaml:7:", `"0"`}},
		{"negative-members", []string{"negative-members.yaml:7:", `"-4"`}},
		{"zero-speed", []string{"zero-speed.yaml:7:", `"0G"`}},
		{"negative-speed", []string{"negative-speed.yaml:7:", `"-800G"`}},
		{"absurd-speed", []string{"absurd-speed.yaml:7:", `"99999999999T"`}},
		{"unreachable-speed", []string{"unreachable-speed.yaml:7:", `"801G"`}},
		{"duplicate-name", []string{"duplicate-name.yaml:5:", `"s1"`}},
		{"bundle-to-nowhere", []string{"bundle-to-nowhere.yaml:7:", `"e9"`}},
		{"two-documents", []string{"two-documents.yaml:2:", "one document"}},
		{"empty", []string{"empty.yaml:1:", "empty"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			refused(t, c.want, "testdata/"+c.file+".yaml")
		})
	}
}

func TestBadArgumentsAreNamedAndStartNothing(t *testing.T) {
	huge := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(huge, bytes.Repeat([]byte("#\n"), 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ arg, value, want string }{
		{huge, "", "huge.yaml: more than 4194304 bytes"},
		{"no-such-scenario", "", `"no-such-scenario"`},
		{"testdata", "", "testdata"},
		{"/dev/zero", "", "/dev/zero: not a regular file"},
		{"--seed", "0", "--seed 0"},
		{"--seed", "4611686018427387905", "4611686018427387905"},
		{"--seed", "one", `"one"`},
		{"--port", "0", "--port 0"},
		{"--port", "65536", `"65536"`},
		{"--sed", "1", "--sed"},
	} {
		t.Run(c.arg+c.value, func(t *testing.T) {
			args := []string{c.arg}
			if c.value != "" {
				args = append(args, c.value)
			}
			refused(t, []string{c.want}, args...)
		})
	}
}

// refused runs what must not start.
func refused(t *testing.T, want []string, args ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "runs")
	got := bagrig(t, append([]string{"run", "--out", out}, args...)...)
	if got.code != exitBad || got.stdout != "" {
		t.Errorf("got exit status %d and on stdout %q, want %d and nothing", got.code, got.stdout, exitBad)
	}
	wantAll(t, "stderr", got.stderr, append(want, "bagrig: ")...)
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the parent of run folders: got %v, want that nothing was made", err)
	}
}

func TestAnOutThatIsAFileIsRefused(t *testing.T) {
	got := bagrig(t, "run", "--out", "bagrig_test.go")
	if got.code != exitBad || got.stdout != "" {
		t.Errorf("got exit status %d and on stdout %q, want %d and nothing", got.code, got.stdout, exitBad)
	}
	wantAll(t, "stderr", got.stderr, "bagrig_test.go", "not a directory")
}

func TestAViolatedThresholdEndsWithOne(t *testing.T) {
	out := t.TempDir()
	got := bagrig(t, "run", "testdata/violated.yaml", "--out", out)
	if got.code != exitViolated {
		t.Errorf("got exit status %d, want %d\n%s", got.code, exitViolated, got.stderr)
	}
	wantAll(t, "stdout", got.stdout, "threshold: NLRI per event: violated once", "want at most 100", "verdict  violated")
	if doc := latest(t, out); doc.Verdict != state.Violated || doc.Error != "" {
		t.Errorf("run.json: got verdict %q, error %q", doc.Verdict, doc.Error)
	}
}

func TestARunThatCannotBeFinishedEndsWithTwoAndKeepsWhatWasSeen(t *testing.T) {
	few := exec.Command("sh", "-c", `ulimit -n 200; exec "$0" "$@"`, binary, "run")
	for name, c := range map[string]struct {
		cmd  *exec.Cmd
		rows int
		want []string
	}{
		"an event without effect": {exec.Command(binary, "run", "testdata/no-effect.yaml"), 2, []string{"no effect", "silent: true"}},
		"too few open files":      {few, 0, []string{"open files", "200"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			c.cmd.Args = append(c.cmd.Args, "--out", out)
			got := finish(t, c.cmd)
			if got.code != exitBad {
				t.Errorf("got exit status %d, want %d", got.code, exitBad)
			}
			wantAll(t, "stderr", got.stderr, c.want...)
			wantAll(t, "stdout", got.stdout, "verdict  failed", "error ")
			if doc := latest(t, out); doc.Verdict != state.Failed || len(doc.Events) != c.rows {
				t.Errorf("run.json: got verdict %q and %d events, want failed and %d", doc.Verdict, len(doc.Events), c.rows)
			}
		})
	}
}

func TestAnInterruptStopsInOrderAndKeepsWhatWasSeen(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command(binary, "run", "testdata/endless.yaml", "--out", out)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(out, report.LatestLink, report.EventsFile), `"kind":"settled"`)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("got exit status %d, want %d", got, exitInterrupted)
	}
	wantAll(t, "stdout", stdout.String(), "verdict  interrupted", "1 of 2 events were not finished")
	if doc := latest(t, out); doc.Verdict != state.Interrupted || len(doc.Events) != 1 {
		t.Errorf("run.json: got verdict %q and %d events, want interrupted and 1", doc.Verdict, len(doc.Events))
	}
	for _, name := range []string{report.JUnitFile, report.SummaryFile} {
		if _, err := os.Stat(filepath.Join(out, report.LatestLink, name)); err != nil {
			t.Error(err)
		}
	}
}

// waitFor returns when the file holds the text.
func waitFor(t *testing.T, path, text string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	tooLate := time.After(time.Minute)
	for {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
			return
		}
		select {
		case <-look.C:
		case <-tooLate:
			t.Fatalf("%s: no %s in a minute", path, text)
		}
	}
}

func TestTheOtherCommandsAnswer(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"scenarios"}, []string{"first-light ", "18 events on prometheus-mini: ", "prometheus "}},
		{[]string{"version"}, []string{"bagrig ", "go1."}},
		{nil, []string{"run ", "scenarios ", "version "}},
		{[]string{"run", "--help"}, []string{"--json", "--out", "--seed", "no random choice", "--port", "Exit status: 0"}},
	} {
		got := bagrig(t, c.args...)
		if got.code != exitHeld || got.stderr != "" {
			t.Errorf("bagrig %v: got exit status %d and on stderr %q, want %d and nothing", c.args, got.code, got.stderr, exitHeld)
		}
		wantAll(t, fmt.Sprint("bagrig ", c.args), got.stdout, c.want...)
	}
	if got := bagrig(t, "walk"); got.code != exitBad || !strings.Contains(got.stderr, `"walk"`) {
		t.Errorf("an unknown command: got exit status %d and on stderr %q", got.code, got.stderr)
	}
}
