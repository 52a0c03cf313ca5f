package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
)

// printed compares with a file under testdata, or rewrites it if BAGRIG_UPDATE
// is set.
func printed(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want, BAGRIG_UPDATE=1 rewrites it):\n%s", name, diff)
	}
}

func TestFIBCommandsPrintWhatThePageShows(t *testing.T) {
	for _, c := range []struct {
		golden string
		args   []string
	}{
		{"fib-reduce.txt", []string{"reduce", "--profile", "jericho3", "--weights", "100,100,100,75"}},
		{"fib-reduce-own.txt", []string{"reduce", "--profile", "testdata/profile.yaml", "--weights", "32x7,31"}},
		{"fib-compare.txt", []string{"compare", "--members", "8", "--hurt", "8", "--sets", "20", "--widths", "64,512"}},
		{"fib-compare.csv", []string{"compare", "--members", "64", "--sets", "20", "--widths", "64", "--csv", "--seed", "7"}},
	} {
		got := bagrig(t, append([]string{"fib"}, c.args...)...)
		if got.code != exitHeld || got.stderr != "" {
			t.Errorf("%v: got exit status %d, stderr %q, want %d and nothing", c.args, got.code, got.stderr, exitHeld)
		}
		printed(t, c.golden, got.stdout)
	}
}

func TestFIBProfilesListsEveryProfileWithItsSource(t *testing.T) {
	got := bagrig(t, "fib", "profiles")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")[1:]
	profiles := fib.Profiles()
	if got.code != exitHeld || len(lines) != len(profiles) {
		t.Fatalf("got exit status %d and %d lines, want %d and %d", got.code, len(lines), exitHeld, len(profiles))
	}
	for i, p := range profiles {
		if !strings.HasPrefix(lines[i], p.Name+" ") || !strings.HasSuffix(lines[i], p.Source) {
			t.Errorf("line %d: got %q, want %s and its source", i+2, lines[i], p.Name)
		}
	}
}

func TestFIBCompareGoesOverTheDegradationsOfThePage(t *testing.T) {
	got := bagrig(t, "fib", "compare", "--widths", "64", "--csv")
	want := 1 + len(fib.Degradations())*len(fib.Algorithms())
	if lines := strings.Count(got.stdout, "\n"); got.code != exitHeld || lines != want {
		t.Errorf("got exit status %d and %d lines, want %d and %d", got.code, lines, exitHeld, want)
	}
}

func TestBadInputToFIBIsNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"reduce"}, "--weights is missing"},
		{[]string{"reduce", "--weights", "1,two"}, `--weights "1,two": "two": want whole numbers from 0 to`},
		{[]string{"reduce", "--weights", "-1"}, `--weights "-1": "-1"`},
		{[]string{"reduce", "--weights", "1,,2"}, `--weights "1,,2": ""`},
		{[]string{"reduce", "--weights", "3x0"}, `"3x0": want 1 to 16384 times`},
		{[]string{"reduce", "--weights", "3x16384,1"}, "more than 16384 numbers"},
		{[]string{"reduce", "--profile", "jericho9", "--weights", "1"}, `--profile "jericho9": no such file, and profile "jericho9": unknown profile: want one of`},
		{[]string{"reduce", "--profile", "testdata", "--weights", "1"}, `--profile "testdata": `},
		{[]string{"reduce", "--profile", "testdata/zero-members.yaml", "--weights", "1"}, "testdata/zero-members.yaml:"},
		{[]string{"reduce", "1"}, "unknown command"},
		{[]string{"compare", "--widths", "64,none"}, `--widths "none": want 1 to 1048576`},
		{[]string{"compare", "--widths", "0"}, `--widths "0"`},
		{[]string{"compare", "--members", "0"}, "--members 0: want 1 to 1024"},
		{[]string{"compare", "--members", "8", "--hurt", "9"}, "--hurt 9: want 0 to 8"},
		{[]string{"compare", "--members", "8", "--links", "5000"}, "--links 5000: want 1 to 4096"},
		{[]string{"compare", "--members", "8", "--sets", "0"}, "--sets 0: want 1 to 10000"},
		{[]string{"compare", "--seed", "2"}, "--seed: only with --members"},
		{[]string{"shrink"}, `unknown command "shrink"`},
	} {
		got := bagrig(t, append([]string{"fib"}, c.args...)...)
		if got.code != exitBad || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: got exit status %d, stdout %q, stderr %q, want %d and %q", c.args, got.code, got.stdout, got.stderr, exitBad, c.want)
		}
	}
}

// exhaustion writes the small exhaustion scenario with another overflow policy.
func exhaustion(t *testing.T, overflow string) string {
	t.Helper()
	sc, err := harness.Embedded("group-exhaustion-mini")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), overflow+".yaml")
	text := strings.Replace(string(sc.Source), "\n  overflow: share\n", "\n  overflow: "+overflow+"\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestExhaustionShowsWhatEveryPolicyDoesAndEndsByTheOneItHas(t *testing.T) {
	for _, c := range []struct {
		overflow string
		code     int
	}{{"share", exitHeld}, {"exceed", exitViolated}, {"reject", exitViolated}} {
		out := t.TempDir()
		got := bagrig(t, "run", exhaustion(t, c.overflow), "--out", out)
		if got.code != c.code {
			t.Errorf("%s: got exit status %d, want %d\n%s%s", c.overflow, got.code, c.code, got.stdout, got.stderr)
		}
		wantAll(t, c.overflow, got.stdout, "\nwhen full  ", "\nexceed     EXCEEDED on 4 devices", "\nshare      kept", "\nr1-bag1   eight-groups ")
		doc := latest(t, out)
		if doc.FIB == nil || len(doc.FIB.Devices) != 56 || len(doc.FIB.Policies) != len(fib.Overflows()) {
			t.Errorf("%s: got run.json's fib %+v, want 56 devices and %d policies", c.overflow, doc.FIB, len(fib.Overflows()))
		}
		text, err := os.ReadFile(filepath.Join(out, report.LatestLink, report.FIBTextFile))
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, report.FIBTextFile, string(text), "\nr1-bag1 ", "\nwhen full ")
	}
}

func TestACompromiseIsShownWhereTheEntryIs(t *testing.T) {
	show := bagrig(t, "show", "fib", "group-exhaustion-mini", "--at", "8", "--device", "r1-bag1", "--prefix", "10.2.0.0/24")
	wantAll(t, "show fib", show.stdout, "(shared)")
	explain := bagrig(t, "explain", "group-exhaustion-mini", "r1-bag1", "10.2.0.0/24", "--at", "8")
	wantAll(t, "explain", explain.stdout, "hardware  eight-groups: ", "shared because the table is full")
}
