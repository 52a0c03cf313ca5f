package shrink_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
)

func aFail(t *testing.T) *shrink.Fail {
	t.Helper()
	sc, err := harness.ReadScenario("x.yaml", []byte("topology: hub-mini\nengine: sim\nevents:\n  - degrade: {bundle: r1-f2-e2--r1-bag2, members: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &shrink.Fail{
		Property: "FIB within limits, peak included", Expect: shrink.Held, Command: "bagrig replay x.yaml", How: "1 event",
		Story: []string{"0s: degrade", "0s: r1-bag2: too much: 9 groups"}, Scenario: sc,
	}
}

func TestAFailFileIsReadAsItWasWritten(t *testing.T) {
	want := aFail(t)
	path, err := want.Place(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Base(filepath.Dir(path)); got != "FIB-within-limits-peak-included" {
		t.Errorf("folder: got %q", got)
	}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := shrink.LoadFail(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(shrink.Fail{}, "Scenario")); diff != "" {
		t.Errorf("read, against written: %s", diff)
	}
	a, errA := harness.WriteScenario(got.Scenario)
	b, errB := harness.WriteScenario(want.Scenario)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("scenario: got\n%s\nwant\n%s (%v, %v)", a, b, errA, errB)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("files: got %v and %v, want the one file", files, err)
	}
	if sc, err := harness.Load(path); err != nil || len(sc.Events) != 1 {
		t.Errorf("as a scenario: got %v and %v", sc, err)
	}
}

func TestTheFilesThatAFailNamesAreKeptBesideIt(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "s.csv"), []byte("time,members\n0,4\n60,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := aFail(t)
	var err error
	if f.Scenario, err = harness.ReadScenario(filepath.Join(from, "x.yaml"), []byte("topology: hub-mini\nevents:\n  - replay: {bundle: r1-f2-e2--r1-bag2, file: s.csv}\n")); err != nil {
		t.Fatal(err)
	}
	path, err := f.Place(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	paths, fails, err := shrink.LoadFails(to)
	if err != nil || len(paths) != 1 || len(*fails[0].Scenario.Events[0].Series) != 2 {
		t.Errorf("got %v and %v, want the one file with its series", paths, err)
	}
}

func TestADamagedFailFileSaysWhereAndWhatWasExpected(t *testing.T) {
	text, err := aFail(t).Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, want string }{
		{"another version", "fail file 1", "fail file 2", `f.yaml:1: "# bagrig fail file 2": want "# bagrig fail file 1"; to convert`},
		{"no version", "# bagrig fail file 1\n", "", "f.yaml:1: "},
		{"no property", "# property: FIB within limits, peak included\n", "", "want `# property: NAME`"},
		{"no expectation", "# expect: held\n", "", "f.yaml:8: "},
		{"another expectation", "expect: held", "expect: perhaps", `f.yaml:3: "# expect: perhaps": want ` + "`# expect: held` or `violated`" + `, not "perhaps"`},
		{"an empty expectation", "expect: held", "expect:", "f.yaml:3: "},
		{"an empty sum", "# sum: " + sumIn(t, text), "# sum:", "f.yaml:6: \"# sum:\": want `# sum: HASH`"},
		{"an unknown line", "# size:", "# sizes:", "f.yaml:5: "},
		{"a line that is cut", "# run: bagrig replay x.yaml", "# run", "f.yaml:4: "},
		{"a property twice", "# size: 1 event", "# property: x", "f.yaml:5: "},
		{"a story that is too long", "#   0s: degrade\n", strings.Repeat("#   again\n", 10), "want a story of at most 10 lines"},
		{"a scenario that is cut", string(text[len(text)-40:]), "", `f.yaml:6: "# sum: `},
		{"a scenario that is changed", "members: 1}", "members: 2}", "write `# sum: "},
		{"a sum that is cut", "# sum: ", "# sum: 0", "the scenario below is not the one that failed"},
		{"a scenario that is none", "# sum: " + sumIn(t, text) + "\n", "x: ", "f.yaml:"},
		{"no scenario", string(text[strings.Index(string(text), "name:"):]), "", "f.yaml"},
	} {
		damaged := strings.Replace(string(text), tc.old, tc.new, 1)
		if damaged == string(text) {
			t.Fatalf("%s: %q is not in the file", tc.name, tc.old)
		}
		if _, err := shrink.ReadFail("f.yaml", []byte(damaged)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q in it", tc.name, err, tc.want)
		}
	}
}

// sumIn is the sum that a fail file has.
func sumIn(t *testing.T, text []byte) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(text), "# sum: ")
	sum, _, ends := strings.Cut(rest, "\n")
	if !ok || !ends {
		t.Fatalf("no sum in\n%s", text)
	}
	return sum
}

func TestASumIsNotNeededAndStandsForAnyLineEnds(t *testing.T) {
	text, err := aFail(t).Text()
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]string{
		"without":       strings.Replace(string(text), "# sum: "+sumIn(t, text)+"\n", "", 1),
		"Windows' ends": strings.ReplaceAll(string(text), "\n", "\r\n"),
	} {
		if _, err := shrink.ReadFail("f.yaml", []byte(same)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADamagedFirstLineIsSeenAndRefused(t *testing.T) {
	whole, err := aFail(t).Text()
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole)
	for name, damaged := range map[string]string{
		"whole":              text,
		"a byte order mark":  "\ufeff" + text,
		"an empty line":      "\n" + text,
		"Windows' empty one": "\r\n" + text,
		"both":               "\ufeff\n" + text,
		"another case":       strings.Replace(text, "# bagrig fail file", "# BagRig Fail File", 1),
		"spaces":             strings.Replace(text, "# bagrig fail file", " #bagrig  fail file", 1),
		"no first line":      strings.Replace(text, "# bagrig fail file 1\n", "", 1),
		"another first line": "# edited by hand\n" + text,
	} {
		if !shrink.IsFail([]byte(damaged)) {
			t.Errorf("%s: taken for a scenario", name)
		}
		if _, err := shrink.ReadFail("f.yaml", []byte(damaged)); damaged != text && (err == nil || !strings.Contains(err.Error(), `want "# bagrig fail file 1"`) || !strings.HasPrefix(err.Error(), "f.yaml:1: ")) {
			t.Errorf("%s: got error %v, want the first line and what it should be", name, err)
		}
	}
	for _, scenario := range []string{"", "#", "name: x\n# property: no loop\n", "# Two planes.\nname: bagrig fail file 1\n"} {
		if shrink.IsFail([]byte(scenario)) {
			t.Errorf("%q: taken for a fail file", scenario)
		}
	}
}

func TestNoFailFileIsSkipped(t *testing.T) {
	dir := t.TempDir()
	if paths, _, err := shrink.LoadFails(filepath.Join(dir, "nowhere")); err != nil || len(paths) != 0 {
		t.Errorf("no folder: got %v and %v, want none", paths, err)
	}
	f := aFail(t)
	for _, path := range []string{"a/x.yaml", "FIB-within-limits-peak-included/y.yaml"} {
		if err := f.Write(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "z.txt"), []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".y.yaml.123"), []byte("# bagrig"), 0o666); err != nil {
		t.Fatal(err)
	}
	paths, fails, err := shrink.LoadFails(dir)
	if len(paths) != 1 || len(fails) != 1 {
		t.Errorf("got %v, want the one good file", paths)
	}
	for _, want := range []string{"want it in a folder FIB-within-limits-peak-included", "z.txt:1: ", ".y.yaml.123: want a fail file: this is left of one"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

func TestAFailThatCannotBeWrittenIsAnError(t *testing.T) {
	f := aFail(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(filepath.Join(file, "x", "y.yaml")); err == nil {
		t.Error("written below a file: got no error")
	}
	f.Scenario.Damping = damping.Pipeline{Told: []damping.ToldStage{nil}}
	if _, err := f.Text(); err == nil || !strings.Contains(err.Error(), harness.ErrNoYAML.Error()) {
		t.Errorf("a stage of a user's own: got error %v, want %v", err, harness.ErrNoYAML)
	}
}

func TestAFailIsJudgedByWhatItExpects(t *testing.T) {
	f := aFail(t)
	f.Scenario.Expect = []string{"expected"}
	for _, tc := range []struct {
		expect   string
		failures []string
		want     string // in the error; empty = none
	}{
		{shrink.Held, nil, ""},
		{shrink.Held, []string{"expected"}, ""},
		{shrink.Held, []string{f.Property}, "is violated: want it held"},
		{shrink.Held, []string{"no loop"}, `["no loop"] are violated too`},
		{shrink.Violated, []string{f.Property}, ""},
		{shrink.Violated, nil, "holds: where it is mended, say `# expect: held`"},
		{shrink.Violated, []string{f.Property, "no loop"}, "violated too"},
	} {
		f.Expect = tc.expect
		res := &state.Result{Outcomes: []state.Outcome{{Name: f.Property}}}
		for _, name := range tc.failures {
			res.Outcomes = append(res.Outcomes, state.Outcome{Name: name, Violated: 1})
		}
		err := f.Judge(res, nil)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, %q: got error %v, want %q", tc.expect, tc.failures, err, tc.want)
		}
	}
}

func TestAPropertyThatNobodyJudgesIsRefused(t *testing.T) {
	f := aFail(t)
	res := &state.Result{Outcomes: []state.Outcome{{Name: "no loop"}}}
	for _, f.Expect = range []string{shrink.Held, shrink.Violated} {
		if err := f.Judge(res, nil); !errors.Is(err, shrink.ErrNotJudged) || !strings.Contains(err.Error(), f.Property) || !strings.Contains(err.Error(), `"no loop"`) {
			t.Errorf("%s: got error %v, want the property and those that are judged", f.Expect, err)
		}
	}
	for _, f.Property = range []string{shrink.NoConvergence, shrink.Panic, "no loop"} {
		f.Expect = shrink.Held
		if err := f.Judge(res, nil); err != nil {
			t.Errorf("%s: %v", f.Property, err)
		}
	}
}

// FuzzReadFail checks that whatever stands in a file is read or refused with the
// file's name, and that what is read is written and read as the same.
func FuzzReadFail(f *testing.F) {
	text := "# bagrig fail file 1\n# property: no loop\n# expect: held\n# run: x\n# size: y\n# story:\n#   a\n#   b\ntopology: hub-mini\nevents:\n  - restore: {all: true}\n"
	for _, seed := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), text[:40], strings.Replace(text, "# size: y\n", "# size:\n", 1), "", "#", "# bagrig fail file 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fail, err := shrink.ReadFail("f.yaml", data)
		if err != nil {
			if !strings.Contains(err.Error(), "f.yaml") {
				t.Errorf("error %v: want the file's name in it", err)
			}
			return
		}
		written, err := fail.Text()
		if err != nil {
			return // such as one with a file beside it
		}
		again, err := shrink.ReadFail("g.yaml", written)
		if err != nil || shrink.Folder(again.Property) != shrink.Folder(fail.Property) || again.Expect != fail.Expect || len(again.Story) != len(fail.Story) {
			t.Errorf("read %+v and written as\n%s\nis read as %+v (%v)", fail, written, again, err)
		}
	})
}
