package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

func TestARunOnSimIsJudgedAndRepeatedAsItWas(t *testing.T) {
	out := t.TempDir()
	got := bagrig(t, "run", "drain-plane", "--engine", "sim", "--schedule", "random", "--seed", "7", "--out", out)
	if got.code != exitHeld || !strings.HasPrefix(got.stderr, `bagrig: "containment" is not judged in schedule random`) {
		t.Fatalf("got exit status %d and on stderr %q, want %d and what is not judged\n%s", got.code, got.stderr, exitHeld, got.stdout)
	}
	wantAll(t, "stdout", got.stdout, "verdict  held", "told over true", " run drain-plane --seed 7 --engine sim --schedule random --out ")
	doc := latest(t, out)
	if doc.Engine != "sim" || doc.Schedule != "random" || doc.Seed != 7 || doc.Agreement != nil || len(doc.Overcount) != 2 {
		t.Errorf("run.json: got engine %q, schedule %q, seed %d, agreement %v, overcount %v", doc.Engine, doc.Schedule, doc.Seed, doc.Agreement, doc.Overcount)
	}
}

func TestSimAndGobgpShowTheSameTables(t *testing.T) {
	out := t.TempDir()
	if got := bagrig(t, "run", "testdata/small.yaml", "--engine", "sim", "--out", out); got.code != exitHeld {
		t.Fatalf("run: got exit status %d and %q", got.code, got.stderr)
	}
	folder := filepath.Join(out, report.LatestLink)
	for _, args := range [][]string{{"explain", folder, "e1", "10.1.0.0/24"}, {"show", "fib", folder}} {
		sim := bagrig(t, args...)
		gobgp := bagrig(t, append(args, "--engine", "gobgp")...)
		if sim.code != exitHeld || gobgp.code != exitHeld || sim.stdout != gobgp.stdout {
			t.Errorf("%v: got exit status %d and %d, and from sim\n%s\nfrom gobgp\n%s", args, sim.code, gobgp.code, sim.stdout, gobgp.stdout)
		}
	}
	// With a port that nobody may have, only an engine without sockets can be what runs.
	port := bagrig(t, "show", "rib", folder, "--port", "1")
	wantAll(t, "a run folder keeps its engine", port.stderr, "--port: engine sim has no sockets")
}

func TestBothEnginesPlayAndAreCompared(t *testing.T) {
	out := t.TempDir()
	got := bagrig(t, "run", "testdata/small.yaml", "--engine", "both", "--out", out)
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d and on stderr %q, want %d and nothing\n%s", got.code, got.stderr, exitHeld, got.stdout)
	}
	wantAll(t, "stdout", got.stdout, "engines agree", "\nsim      held; at 2 moments the engines agree\n", " --engine both ")
	doc := latest(t, out)
	want := report.Agreement{Sim: state.Held, Moments: 2, Routes: 4}
	if doc.Engine != "both" || doc.Schedule != "rounds" || *doc.Agreement != want {
		t.Errorf("run.json: got engine %q, schedule %q, %+v, want %+v", doc.Engine, doc.Schedule, doc.Agreement, want)
	}
	folder := filepath.Join(out, report.LatestLink)
	text, err := os.ReadFile(filepath.Join(folder, report.AgreeFile))
	if err != nil || !strings.Contains(string(text), "no difference") {
		t.Errorf("%s (%v): got\n%s", report.AgreeFile, err, text)
	}
	var beside report.Document
	data, err := os.ReadFile(filepath.Join(folder, report.SimFolder, report.RunFile))
	if err == nil {
		err = json.Unmarshal(data, &beside)
	}
	if err != nil || beside.Engine != "sim" || beside.Verdict != state.Held || len(beside.Events) != 1 {
		t.Errorf("the folder of sim (%v): got engine %q, verdict %q, %d events", err, beside.Engine, beside.Verdict, len(beside.Events))
	}
}

func TestASweepRunsOnTheEngineThatIsAskedFor(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	got := bagrig(t, "sweep", "testdata/small.yaml", "--vary", "quantize.error=0,100%", "--engine", "sim", "--schedule", "timed", "--out", out)
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d and on stderr %q, want %d and nothing\n%s", got.code, got.stderr, exitHeld, got.stdout)
	}
	for _, p := range swept(t, out).Points {
		if doc := latest(t, filepath.Dir(p.Folder)); doc.Engine != "sim" || doc.Schedule != "timed" {
			t.Errorf("point %d: got engine %q, schedule %q", p.Point, doc.Engine, doc.Schedule)
		}
	}
}

func TestFlagsThatSayNothingAboutTheEngineAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--engine", "frr"}, `--engine "frr": want one of gobgp, sim, both`},
		{[]string{"run", "--engine", "sim", "--schedule", "any"}, `--schedule "any": want one of rounds, random, timed`},
		{[]string{"run", "--schedule", "random"}, "--schedule random: engine gobgp has no other than rounds"},
		{[]string{"run", "--engine", "sim", "--port", "1790"}, "--port: engine sim has no sockets"},
		{[]string{"sweep", "--vary", "holddown.time=1s", "--engine", "frr"}, `--engine "frr"`},
		{[]string{"sweep", "--vary", "holddown.time=1s", "--schedule", "timed"}, "--schedule timed: engine gobgp"},
		{[]string{"explain", "testdata/small.yaml", "e1", "10.1.0.0/24", "--engine", "both"}, `--engine "both": want one of gobgp, sim`},
		{[]string{"show", "rib", "testdata/small.yaml", "--engine", "both"}, `--engine "both": want one of gobgp, sim`},
	} {
		got := bagrig(t, c.args...)
		if got.code != exitBad || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: got exit status %d, stdout %q, stderr %q, want %q", c.args, got.code, got.stdout, got.stderr, c.want)
		}
	}
}

func TestADryRunOnSimNeedsNoDescriptors(t *testing.T) {
	got := bagrig(t, "run", "prometheus", "--dry-run", "--engine", "sim")
	if got.code != exitHeld || strings.Contains(got.stdout, "goroutines") {
		t.Errorf("got exit status %d and\n%s", got.code, got.stdout)
	}
	wantAll(t, "stdout", got.stdout, "engine sim", "entries      215,616", "descriptors  none",
		"memory       about 305 MiB at most without events", "about 621 MiB at most while all checks judge events")
}

func TestADryRunOnBothCountsBoth(t *testing.T) {
	got := bagrig(t, "run", "prometheus", "--dry-run", "--engine", "both")
	if got.code != exitHeld {
		t.Errorf("got exit status %d: %s", got.code, got.stderr)
	}
	wantAll(t, "stdout", got.stdout, "engine both", "descriptors  5,792, and the limit", "about 1,070 MiB when quiet",
		"on both      about 2,773 MiB at most", "11 settled moments", "sim before   about 305 MiB at most without events")
}

// A limit that is too low for sockets says nothing about a run without them.
func TestADryRunOnSimMindsNoDescriptorLimit(t *testing.T) {
	for engine, want := range map[string]int{"sim": exitHeld, "gobgp": exitBad, "both": exitBad} {
		cmd := exec.Command("sh", "-c", `ulimit -n 512 && exec "$0" run prometheus --dry-run --engine `+engine, binary)
		if got := finish(t, cmd); got.code != want {
			t.Errorf("%s: got exit status %d, want %d: %s", engine, got.code, want, got.stderr)
		}
	}
}
