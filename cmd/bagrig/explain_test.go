package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bagrig/bagrig/harness/report"
)

// shownTable decodes what `bagrig show --json` printed.
func shownTable(t *testing.T, args ...string) (doc report.Table) {
	t.Helper()
	got := bagrig(t, append([]string{"show", "--json"}, args...)...)
	if got.code != exitHeld || got.stderr != "" {
		t.Fatalf("show %v: got exit status %d and on stderr %q, want %d and nothing", args, got.code, got.stderr, exitHeld)
	}
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestARunFolderIsExplained(t *testing.T) {
	out := t.TempDir()
	if got := bagrig(t, "run", "testdata/small.yaml", "--out", out); got.code != exitHeld {
		t.Fatalf("run: got exit status %d and %q", got.code, got.stderr)
	}
	folder := filepath.Join(out, report.LatestLink)
	for at, want := range map[string][]string{
		"0": {"at the baseline", "4/4"},
		"":  {"after event 1 of 1 (degrade s1--e1 to 2, silent)", "2/4"},
	} {
		args := []string{"explain", folder, "e1", "10.1.0.0/24"}
		if at != "" {
			args = append(args, "--at", at)
		}
		got := bagrig(t, args...)
		if got.code != exitHeld || got.stderr != "" {
			t.Errorf("--at %q: got exit status %d and on stderr %q, want %d and nothing", at, got.code, got.stderr, exitHeld)
		}
		wantAll(t, "--at "+at, got.stdout, append(want, "e1 (edge, in f1, plane 1, ASN 65002): 10.1.0.0/24", "used", "hardware  jericho3: ")...)
	}
	if got := shownTable(t, "sessions", folder).Sessions; len(got) != 1 || got[0].Members != 2 || got[0].FullMembers != 4 {
		t.Errorf("sessions of the folder: got %+v, want one with 2 of 4 members", got)
	}
}

func TestARunFolderIsExplainedWhereverItIsMoved(t *testing.T) {
	base := t.TempDir()
	work, out, moved := filepath.Join(base, "work"), filepath.Join(base, "runs"), filepath.Join(base, "moved")
	for name, text := range map[string]string{
		"work/x.yaml": "topology: {file: ../two.yaml}\nevents:\n  - replay: {bundle: s1--e1, file: s.csv}\n",
		"work/s.csv":  "time,members\n0,4\n60,1\n",
		"two.yaml":    "name: two\ndevices:\n  - {name: s1, role: spine, asn: 1, asic: jericho3}\n  - {name: e1, role: edge, asn: 2, asic: jericho3}\nbundles:\n  - {a: s1, b: e1, members: 4, speed: 800G, length: 1m}\nprefixes:\n  - {prefix: 10.1.0.0/24, origins: [s1]}\n",
	} {
		file := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got := bagrig(t, "run", filepath.Join(work, "x.yaml"), "--out", out); got.code == exitBad {
		t.Fatalf("run: got exit status %d and %q", got.code, got.stderr)
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(out, report.LatestLink))
	if err = errors.Join(err, os.Rename(folder, moved), os.RemoveAll(work), os.Remove(filepath.Join(base, "two.yaml"))); err != nil {
		t.Fatal(err)
	}
	got := bagrig(t, "explain", moved, "e1", "10.1.0.0/24")
	wantAll(t, "explain", got.stdout, "e1 (edge", "1/4")
}

func TestExplainInJSONIsOneObject(t *testing.T) {
	got := bagrig(t, "explain", "testdata/small.yaml", "s1", "10.1.0.0/24", "--json", "--at", "0")
	var doc report.Explanation
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != exitHeld || got.stderr != "" {
		t.Fatalf("got exit status %d, error %v and on stderr %q\n%s", got.code, err, got.stderr, got.stdout)
	}
	if doc.Schema != report.Schema || doc.Device.Name != "s1" || !doc.Prefix.Local || len(doc.Sessions) != 1 || !doc.Sessions[0].Told {
		t.Errorf("got schema %d, device %q, prefix %+v, sessions %+v, want an origin that tells its neighbour", doc.Schema, doc.Device.Name, doc.Prefix, doc.Sessions)
	}
}

func TestShowHasFourTablesAndFilters(t *testing.T) {
	const file = "testdata/small.yaml"
	if got := len(shownTable(t, "rib", file).RIB); got != 2 {
		t.Errorf("rib: got %d rows, want s1's own route and e1's candidate", got)
	}
	if got := shownTable(t, "rib", file, "--device", "e1", "--prefix", "10.1.0.0/24").RIB; len(got) != 1 || got[0].Neighbor != "s1" || !got[0].Used {
		t.Errorf("rib of e1: got %+v, want the candidate of s1", got)
	}
	if got := shownTable(t, "fib", file).FIB; len(got) != 1 || got[0].Device != "e1" || got[0].Weights[0].Weight != 1 {
		t.Errorf("fib: got %+v, want e1's one entry", got)
	}
	if got := shownTable(t, "told", file, "--device", "s1").Told; len(got) != 1 || got[0].Scope != "everywhere" {
		t.Errorf("told of s1: got %+v, want one route", got)
	}
	text := bagrig(t, "show", "told", file, "--device", "e1")
	if text.code != exitHeld {
		t.Errorf("got exit status %d and %q", text.code, text.stderr)
	}
	wantAll(t, "show told", text.stdout, "net", "after event 1 of 1", "bottleneck", "1.6T", "65001")
}

func TestWhatIsNotThereIsNamedWithWhatThereIs(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"explain", "testdata/small.yaml", "e9", "10.1.0.0/24"}, []string{`device "e9"`, "s1, e1"}},
		{[]string{"explain", "testdata/small.yaml", "e1", "10.9.0.0/24"}, []string{`prefix "10.9.0.0/24"`, "10.1.0.0/24"}},
		{[]string{"explain", "testdata/small.yaml", "e1", "ten"}, []string{`prefix "ten"`, "10.1.0.0/24"}},
		{[]string{"explain", "testdata/small.yaml", "e1", "10.1.0.0/24", "--at", "2"}, []string{"event 2: want 0 (the baseline) to 1"}},
		{[]string{"explain", "testdata/small.yaml", "e1", "10.1.0.0/24", "--at", "-1"}, []string{"event -1: want 0 (the baseline) to 1"}},
		{[]string{"explain", "testdata/small.yaml", "e1", "10.1.0.0/24", "--port", "0"}, []string{"--port 0"}},
		{[]string{"explain", "no-such-run", "e1", "10.1.0.0/24"}, []string{`"no-such-run"`, "first-light"}},
		{[]string{"explain", empty, "e1", "10.1.0.0/24"}, []string{empty, report.ScenarioFile, "not a run"}},
		{[]string{"explain", "testdata/unknown-preset.yaml", "e1", "10.1.0.0/24"}, []string{"unknown-preset.yaml:2:"}},
		{[]string{"explain", "testdata/small.yaml", "e1"}, []string{"accepts 3 arg(s), received 2"}},
		{[]string{"show", "ribs", "testdata/small.yaml"}, []string{`table "ribs"`, "rib, fib, told, sessions"}},
		{[]string{"show", "rib", "testdata/small.yaml", "--device", "e9"}, []string{`device "e9"`, "s1, e1"}},
		{[]string{"show", "rib", "testdata/small.yaml", "--prefix", ""}, []string{`prefix ""`, "10.1.0.0/24"}},
		{[]string{"show", "sessions", "testdata/small.yaml", "--prefix", "10.1.0.0/24"}, []string{"--prefix"}},
	} {
		got := bagrig(t, c.args...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", c.args, got.code, got.stdout, exitBad)
		}
		wantAll(t, fmt.Sprint(c.args), got.stderr, append(c.want, "bagrig: ")...)
	}
}

func TestTheHelpOfExplainAndShowSaysThatTheyReplay(t *testing.T) {
	for _, command := range []string{"explain", "show"} {
		got := bagrig(t, command, "--help")
		wantAll(t, command+" --help", got.stdout, "the scenario is replayed", "runs/latest", "--at", "--json", "Exit status: 0")
	}
	page, err := os.ReadFile("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, "docs/explain.md", string(page), "the scenario is replayed", "Exit status: 0")
}
