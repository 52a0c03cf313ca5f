package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSharesComeToTheTimeThatIsLeftForThem(t *testing.T) {
	var targets []target
	for i := range 26 {
		targets = append(targets, target{pkg: "x", name: fmt.Sprintf("Fuzz%d", i)})
	}
	cfg := config{budget: 10 * time.Minute, suites: suites(10 * time.Minute)}
	sum, fuzzing := 0.0, 0.0
	for _, p := range planned(cfg, targets) {
		sum += p.PlannedS
		if p.Kind == kindFuzz {
			fuzzing += p.PlannedS
			if p.PlannedS < 9 {
				t.Errorf("%s: got %.1f s of 10 minutes, want 9 or more", p.Target, p.PlannedS)
			}
		}
	}
	if want := 510.0; math.Abs(sum-want) > 1e-6 || math.Abs(fuzzing-want/2) > 1e-6 {
		t.Errorf("got %.1f s, %.1f of them for fuzz targets, want %.1f and half", sum, fuzzing, want)
	}
	for _, only := range [][]*part{planned(config{budget: cfg.budget}, targets), planned(cfg, nil)} {
		sum := 0.0
		for _, p := range only {
			sum += p.PlannedS
		}
		if math.Abs(sum-510) > 1e-6 {
			t.Errorf("one kind alone: got %.1f s, want all", sum)
		}
	}
}

func TestWhatAPartDoesNotNeedGoesToThoseAfterIt(t *testing.T) {
	n := &night{cfg: config{budget: 1000 * time.Second}, deadline: time.Now().Add(500 * time.Second), doc: &document{Parts: []*part{
		{Status: statusPassed, weight: 0.6}, {Status: statusPlanned, weight: 0.1}, {Status: statusPlanned, weight: 0.3},
	}}}
	if got, want := n.share(n.doc.Parts[1]).Seconds(), (500.0-9)/4; math.Abs(got-want) > 1 {
		t.Errorf("got %.1f s, want %.1f of the 500 that are left", got, want)
	}
	n.deadline = time.Now()
	if got := n.share(n.doc.Parts[1]); got != 0 {
		t.Errorf("got %v after the end, want 0", got)
	}
}

func TestTooFewMinutesAreRefusedWithThoseThatAreNeeded(t *testing.T) {
	cfg := config{dir: t.TempDir(), out: filepath.Join(t.TempDir(), "out"), budget: time.Minute, suites: suites(time.Minute)}
	_, err := newNight(t.Context(), cfg, time.Now(), make([]target, 100))
	if err == nil || !strings.Contains(err.Error(), "want --minutes 9") {
		t.Errorf("got %v, want the minutes that 100 targets need", err)
	}
	if _, err := os.Stat(cfg.out); err == nil {
		t.Error("a folder was made")
	}
}

func TestFuzzTargetsAreThoseOfGoTest(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
func FuzzOne(f *testing.F) {}
func FuzzTwo(tt *testing.F) {}
func FuzzHelper(t *testing.T, b []byte) {}
func FuzzText(t *testing.T) {}
func FuzzNone() {}
func fuzzSmall(f *testing.F) {}
func (x) FuzzMethod(f *testing.F) {}
func TestX(t *testing.T) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fuzzTargets(file), []string{"FuzzOne", "FuzzTwo"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEveryFuzzTargetOfThisModuleIsFound(t *testing.T) {
	dir, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	targets, err := discover(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FuzzDecode", "FuzzReadFail", "FuzzTable", "FuzzCore"} {
		if !slices.ContainsFunc(targets, func(f target) bool { return f.name == want && f.pkg != "" && f.dir != "" }) {
			t.Errorf("%s is not among %v", want, targets)
		}
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--minutes", "0"}, {"--minutes", "NaN"}, {"--minutes", "1e9"}, {"--hours", "2"}, {"now"}} {
		var out, errs bytes.Buffer
		if got := command(args, &out, &errs); got != couldNotRun || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: got status %d, %q and %q, want %d and the reason", args, got, out.String(), errs.String(), couldNotRun)
		}
	}
}

// The output of a round that was ended is cut anywhere.
func TestWhatIsWholeOfACutOutputCounts(t *testing.T) {
	const output = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA/b","Output":"x_test.go:1: wrong\n"}
{"Action":"fail","Test":"TestA/b"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestC"}
{"Action":"output","Test":"TestD","Output":"still running\n"}
{"Action":"fail","Te`
	r := readEvents(output)
	if r.passed != 1 || len(r.failed) != 1 || r.failed[0] != (failedTest{"TestA/b", "x_test.go:1: wrong\n"}) {
		t.Errorf("got %+v, want the one inner test that failed, and one that passed", r)
	}
}

func TestATestThatPassesWhateverItLogsIsNoFinding(t *testing.T) {
	for output, want := range map[string]int{
		`{"Action":"output","Test":"TestA","Output":"panic: not really\n"}` + "\n" + `{"Action":"pass","Test":"TestA"}`:                                     0,
		`{"Action":"output","Test":"TestA","Output":"panic: not really\n"}` + "\n" + `{"Action":"skip","Test":"TestA"}`:                                     0,
		`{"Action":"output","Test":"TestA","Output":"x_test.go:3: said panic: at the disco\n"}`:                                                             0,
		`{"Action":"output","Test":"TestA","Output":"=== RUN\n"}` + "\n" + `{"Action":"output","Test":"TestA","Output":"panic: test timed out after 1s\n"}`: 1,
	} {
		if r := readEvents(output); len(r.failed) != want {
			t.Errorf("%s: got %+v, want %d failures", output, r.failed, want)
		}
	}
}

func TestACommandRepeatsARoundWithItsSeedAndItsSize(t *testing.T) {
	s := suite{pkg: "./x", run: "A|B", env: []string{"BAGRIG_CASES=3", "BAGRIG_ENGINE=sim"}}
	if got, want := s.repeat(7, s.run), "BAGRIG_SEED=7 BAGRIG_CASES=3 BAGRIG_ENGINE=sim go test ./x -count=1 -run 'A|B'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATargetThatWasStillInItsCorpusIsAdvisedWhatThatTakes(t *testing.T) {
	for output, want := range map[string]float64{
		"": 2,
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/40 completed\nfuzz: elapsed: 3s, gathering baseline coverage: 10/40 completed\n": 8,
		"fuzz: elapsed: 3s, gathering baseline coverage: 39/40 completed\n":                                                                 80.0 / 39,
	} {
		if got := timeFor(output); got != want {
			t.Errorf("%q: got %v times, want %v", output, got, want)
		}
	}
}

func TestTheEndOfTheTimeIsNoFailure(t *testing.T) {
	const end = "fuzz: elapsed: 5s, execs: 7 (0/sec), new interesting: 1 (total: 2)\n--- FAIL: FuzzX (5.00s)\n    context deadline exceeded\nFAIL\n"
	for text, want := range map[string]bool{
		end: true,
		strings.Replace(end, "    context", "    x_test.go:3: context", 1):                                         false,
		end + "\n    Failing input written to testdata/fuzz/FuzzX/1234\n":                                          false,
		strings.Replace(end, "exceeded\n", "exceeded\n    fuzzing process hung or terminated: exit status 2\n", 1): false,
	} {
		if got := onlyDeadline(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
