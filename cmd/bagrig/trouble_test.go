package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/damping/dampingtest"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

func TestAnOscillationEndsTheRunWithStatusOneAndARunFolder(t *testing.T) {
	sc, err := harness.ReadScenario("restless.yaml", []byte("topology: prometheus-mini\nengine: sim\nevents:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 24}\n"))
	if err != nil {
		t.Fatal(err)
	}
	sc.Plan = &damping.Plan{Name: "restless", Told: []damping.ToldRule{{Role: "bag", Stages: []damping.ToldStage{dampingtest.Restless{}}}}}
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	if got := run(context.Background(), sc, sim.Schedule{}, runFlags{out: out, json: true}, "bagrig run restless.yaml", &stdout, &stderr); got != ended(exitViolated) {
		t.Errorf("got %v, want exit status %d\n%s", got, exitViolated, stderr.String())
	}
	doc := latest(t, out)
	if doc.Verdict != state.Violated {
		t.Errorf("run.json: got verdict %q, want %q", doc.Verdict, state.Violated)
	}
	for _, want := range []string{"no-convergence", "oscillates", "every 2 rounds", "r1-bag1"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("got %q, want it to say %q", stderr.String(), want)
		}
	}
	for _, name := range []string{"summary.txt", "junit.xml", "events.ndjson"} {
		if text, err := os.ReadFile(filepath.Join(out, report.LatestLink, name)); err != nil || len(text) == 0 {
			t.Errorf("%s: got %d bytes, %v", name, len(text), err)
		}
	}
}
