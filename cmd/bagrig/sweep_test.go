package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

func swept(t *testing.T, out string) *report.Sweep {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "sweep.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &report.Sweep{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASweepRunsEveryPointAndComparesThem(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a", "b")
	got := bagrig(t, "sweep", "testdata/small.yaml", "--vary", "quantize.error=0,100%", "--out", out, "--jobs", "2")
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d and on stderr %q, want %d and nothing\n%s", got.code, got.stderr, exitHeld, got.stdout)
	}
	wantAll(t, "stdout", got.stdout, "small: net: ", "#  quantize.error  NLRI  UPDATEs  touched", "mis-told  front  verdict", "\n1               0 ", "\n2            100% ")
	text, err := os.ReadFile(filepath.Join(out, "sweep.txt"))
	if err != nil || string(text) != got.stdout {
		t.Errorf("sweep.txt (%v): got\n%s\nwant what was printed:\n%s", err, text, got.stdout)
	}
	s := swept(t, out)
	if len(s.Points) != 2 || s.Planned != 2 || s.GapS != 60 {
		t.Fatalf("sweep.json: got %d of %d points, gap %gs, want 2 of 2 and 60s", len(s.Points), s.Planned, s.GapS)
	}
	for i, p := range s.Points {
		if p.Point != i+1 || p.Verdict != string(state.Held) || p.MisTold != p.Over+p.Under {
			t.Errorf("point %d: got %+v", i+1, p)
		}
		if doc := latest(t, filepath.Dir(p.Folder)); doc.Verdict != state.Held {
			t.Errorf("point %d: run folder %s: got verdict %q", p.Point, p.Folder, doc.Verdict)
		}
	}
	if !s.Points[0].Front {
		t.Errorf("sweep.json: an error of 0 tells nothing wrong: got %+v, want it on the front", s.Points[0])
	}
	file, err := os.Open(filepath.Join(out, "sweep.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("sweep.csv: got %d rows, %v, want 3", len(rows), err)
	}
	if d := cmp.Diff(rows[0], strings.Split("point,quantize.error,verdict,nlri,updates,touched,over_bits,under_bits,mis_told_bits,undamped_bits,front", ",")); d != "" {
		t.Errorf("sweep.csv: -got +want\n%s", d)
	}
	svg, err := os.ReadFile(filepath.Join(out, "sweep.svg"))
	if err != nil || !bytes.Contains(svg, []byte("quantize.error over small")) {
		t.Errorf("sweep.svg: got %d bytes, %v, want the title in it", len(svg), err)
	}
	image, err := os.ReadFile(filepath.Join(out, "sweep.png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Errorf("sweep.png: %v", err)
	}
}

// values are so many of a unit, from 1.
func values(n int, unit string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(i+1, unit))
	}
	return strings.ReplaceAll(strings.Join(list, ","), " ", "")
}

func TestASweepThatCannotBeRunStartsNothing(t *testing.T) {
	vary := []string{"--vary", "holddown.time=1s"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"nothing to vary": {nil, []string{"nothing to vary"}},
		"no axis":         {[]string{"--vary", "holddown"}, []string{`--vary "holddown": want STAGE.PARAMETER=`}},
		"unknown key":     {[]string{"--vary", "holddown.t=1s"}, []string{"holddown.t=1s", "unknown field"}},
		"bad value":       {[]string{"--vary", "quantize.error=10%,200%"}, []string{"quantize.error=200%"}},
		"no scenario":     {append(vary, "first-dark"), []string{`"first-dark"`}},
		"no pipeline":     {append(vary, "--pipeline", "bag"), []string{`pipeline "bag"`}},
		"no jobs":         {append(vary, "--jobs", "0"), []string{"--jobs 0: want 1 to 128"}},
		"no port":         {append(vary, "--port", "0"), []string{"--port 0"}},
		"gap":             {append(vary, "--gap", "-1s"), []string{"--gap -1s"}},
		"too many points": {[]string{"--vary", "holddown.time=" + values(40, "s"), "--vary", "quantize.error=" + values(40, "%")}, []string{`key "quantize.error": more than 1000 points`}},
	} {
		out := filepath.Join(t.TempDir(), "sweep")
		got := bagrig(t, append([]string{"sweep", "--out", out}, c.args...)...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%s: got exit status %d and on stdout %q, want %d and nothing", name, got.code, got.stdout, exitBad)
		}
		wantAll(t, name, got.stderr, append(c.want, "bagrig: ")...)
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder: got %v, want that nothing was made", name, err)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := bagrig(t, append([]string{"sweep", "--out", full}, vary...)...); got.code != exitBad || !strings.Contains(got.stderr, "not empty") {
		t.Errorf("a folder that is not empty: got exit status %d, %s", got.code, got.stderr)
	}
}

func TestARunThatFailsEndsTheSweepAndIsNamed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	got := bagrig(t, "sweep", "testdata/no-effect.yaml", "--vary", "holddown.time=1s,2s", "--out", out, "--jobs", "1")
	if got.code != exitBad {
		t.Errorf("got exit status %d, want %d", got.code, exitBad)
	}
	wantAll(t, "stderr", got.stderr, "point 1, holddown.time=1s: exit status 2", "no effect")
	if s := swept(t, out); len(s.Points) != 0 || s.Planned != 2 {
		t.Errorf("sweep.json: got %d of %d points, want 0 of 2", len(s.Points), s.Planned)
	}
}

func TestAnInterruptedSweepStopsItsRunsAndKeepsWhatIsDone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	cmd := exec.Command(binary, "sweep", "testdata/sweep.yaml", "--vary", "holddown.time=1s,2s,3s", "--out", out, "--jobs", "1")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(out, "002", report.LatestLink, report.EventsFile), `"kind":"settled"`)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("got exit status %d, want %d", got, exitInterrupted)
	}
	wantAll(t, "stdout", stdout.String(), "2 of 3 points were not finished")
	if doc := latest(t, filepath.Join(out, "002")); doc.Verdict != state.Interrupted {
		t.Errorf("the run that was interrupted: got verdict %q, want %q", doc.Verdict, state.Interrupted)
	}
	if s := swept(t, out); len(s.Points) != 1 || !s.Points[0].Front {
		t.Errorf("sweep.json: got %+v, want one point, which is the front", s.Points)
	}
	if _, err := os.Stat(filepath.Join(out, "003")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the third point: got %v, want that it was not started", err)
	}
}
