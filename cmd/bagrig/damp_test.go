package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/report"
)

// golden compares with a file, which BAGRIG_UPDATE=1 writes.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("BAGRIG_UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, string(want)); d != "" {
		t.Errorf("%s: run with BAGRIG_UPDATE=1: -got +want\n%s", path, d)
	}
}

func TestDampPrintsWhatIsToldAndWhatItCosts(t *testing.T) {
	const folder = "testdata/damp/"
	for name, args := range map[string][]string{
		"default.txt":       {"--input", folder + "flap.csv"},
		"default.json":      {"--input", folder + "flap.csv", "--json"},
		"doubling.txt":      {"--input", folder + "flap.csv", "--pipeline", folder + "plan.yaml"},
		"long.txt":          {"--input", folder + "flap.csv", "--pipeline", folder + "plan.yaml", "--length", "10000", "--role", "hub"},
		"rfd.txt":           {"--input", "optical-link", "--pipeline", "rfd-cisco"},
		"more-members.txt":  {"--input", folder + "flap.csv", "--members", "40", "--speed", "1.6T", "--after", "0s"},
		"bgp-noise-576.txt": {"--input", "noise-576", "--pipeline", "bgp++"},
	} {
		got := bagrig(t, append([]string{"damp"}, args...)...)
		if got.code != exitHeld || got.stderr != "" {
			t.Errorf("%s: got exit status %d and on stderr %q, want %d and nothing", name, got.code, got.stderr, exitHeld)
		}
		golden(t, filepath.Join("testdata/damp", name+".golden"), got.stdout)
	}
}

func TestDampKnowsAllRecordedSeries(t *testing.T) {
	for _, name := range damping.Recordings() {
		if got := bagrig(t, "damp", "--input", name); got.code != exitHeld {
			t.Errorf("%s: got exit status %d: %s", name, got.code, got.stderr)
		}
	}
}

func TestDampWritesWhatItPrintsAndPlotsIt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a", "b")
	svg := filepath.Join(t.TempDir(), "x.svg")
	got := bagrig(t, "damp", "--input", "fibre-cut", "--out", out, "--svg", svg)
	file := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if text := file(filepath.Join(out, "damp.txt")); text != got.stdout || text == "" {
		t.Errorf("damp.txt: got\n%s\nwant what was printed:\n%s", text, got.stdout)
	}
	var doc report.Damped
	if err := json.Unmarshal([]byte(file(filepath.Join(out, "damp.json"))), &doc); err != nil || doc.Schema != report.Schema {
		t.Errorf("damp.json: got schema %d, error %v", doc.Schema, err)
	}
	if rows := strings.Count(file(filepath.Join(out, "damp.csv")), "\n") - 1; rows != len(doc.Changes) {
		t.Errorf("damp.csv: got %d rows, want the %d changes of damp.json", rows, len(doc.Changes))
	}
	if a, b := file(svg), file(filepath.Join(out, "damp.svg")); a != b || !strings.Contains(a, "bag-default on fibre-cut") {
		t.Errorf("got %d and %d bytes of SVG, want the same with the title in it", len(a), len(b))
	}
	if _, err := png.Decode(bytes.NewReader([]byte(file(filepath.Join(out, "damp.png"))))); err != nil {
		t.Errorf("damp.png: %v", err)
	}
}

func TestDampNamesFileLineAndValueOfBadInput(t *testing.T) {
	const folder = "testdata/damp/"
	good := []string{"--input", folder + "flap.csv"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no input":        {nil, []string{"--input is missing", "noise-576"}},
		"unknown input":   {[]string{"--input", "noise"}, []string{`--input "noise": no such file`, "noise-576"}},
		"a folder":        {[]string{"--input", folder}, []string{"not a regular file"}},
		"negative":        {[]string{"--input", folder + "negative.csv"}, []string{"negative.csv: series: line 3:", `"-1"`}},
		"no number":       {[]string{"--input", folder + "nan.csv"}, []string{"nan.csv: series: line 3:", `"NaN"`}},
		"duplicate":       {[]string{"--input", folder + "twice.csv"}, []string{"twice.csv: series: line 4: time 1m30s: given twice"}},
		"backwards":       {[]string{"--input", folder + "backwards.csv"}, []string{"backwards.csv: series: line 4: time 1m20s: goes backwards"}},
		"too few members": {append(good, "--members", "20"), []string{"flap.csv", "sample 1: members 32: the bundle has 20"}},
		"speed":           {append(good, "--speed", "0G"), []string{`--speed "0G"`}},
		"after":           {append(good, "--after", "-1s"), []string{"--after -1s"}},
		"no pipeline":     {append(good, "--pipeline", "bag"), []string{`--pipeline "bag": no such file`, "bag-default"}},
		"bad plan": {append(good, "--pipeline", folder+"margin.yaml"), []string{
			`margin.yaml:5:`, `field "told[0].hysteresis": `, "margin 0.6: want 0 to 0.5",
			"margin.yaml:6:", "suppress 700: want more than reuse 750", "margin.yaml:7:", `"quantise"`}},
		"settles late": {append(good, "--pipeline", folder+"settle.yaml"), []string{"settle.yaml:1:", "settles in 30s, longer than the stated settle time 10s"}},
		"an argument":  {append(good, "x"), []string{`"x"`}},
	} {
		got := bagrig(t, append([]string{"damp"}, c.args...)...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%s: got exit status %d and on stdout %q, want %d and nothing", name, got.code, got.stdout, exitBad)
		}
		wantAll(t, name, got.stderr, append(c.want, "bagrig: ")...)
	}
}
