package properties

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/sim"
)

// TestSimulatorsRecordIsTheSameToTheByteEverywhere writes the run folders of some
// scenarios in every kind of schedule and compares the hashes of their
// events.ndjson with those in testdata/events.sha256: on one core and on two, and
// with GOARCH=386 as with amd64 (GOARCH=386 go test -run ToTheByte ./properties).
// BAGRIG_UPDATE=1 writes the file.
func TestSimulatorsRecordIsTheSameToTheByteEverywhere(t *testing.T) {
	simOnly(t)
	if brief() {
		t.Skip("runs in full only")
	}
	const golden = "testdata/events.sha256"
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first string
	for _, cores := range []int{1, 2} {
		runtime.GOMAXPROCS(cores)
		got := eventHashes(t)
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("on %d cores:\n%swant as on one:\n%s", cores, got, first)
		}
	}
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(first), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if first != string(want) {
		t.Errorf("on %s:\n%swant, as %s has it:\n%s", runtime.GOARCH, first, golden, want)
	}
}

// eventHashes has a line for each run, as sha256sum prints it.
func eventHashes(t *testing.T) string {
	t.Helper()
	var list strings.Builder
	for _, name := range []string{"aggregate-flap", "first-light", "restart-mismatch", "unnoticed"} {
		for _, s := range []sim.Schedule{
			{Mode: sim.Rounds}, {Mode: sim.Random, Seed: 7}, {Mode: sim.Timed, Seed: 7, Processing: sim.DefaultProcessing, Jitter: time.Millisecond},
		} {
			sc, err := harness.Embedded(name)
			if err != nil {
				t.Fatal(err)
			}
			sc.Engine = harness.Sim
			dir := filepath.Join(t.TempDir(), "run")
			folder, err := report.Create(dir, report.About{Scenario: sc})
			if err != nil {
				t.Fatal(err)
			}
			res, err := harness.Run(context.Background(), sc, harness.RunOptions{Schedule: s, Checks: For(sc.Topology, sc.Events), Observer: folder})
			if err != nil {
				t.Fatalf("%s in %s: %v", name, s.Mode, err)
			}
			if err := folder.Finish(res); err != nil {
				t.Fatal(err)
			}
			events, err := os.ReadFile(filepath.Join(dir, report.EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&list, "%x  %s-%s\n", sha256.Sum256(events), name, s.Mode)
		}
	}
	return list.String()
}

// TestNothingIsFusedOnOtherMachines reads what the compiler makes for a machine
// with fused multiply-add, which rounds once where others round twice: no code
// that reckons what a run records may use it. A conversion such as float64(a*b)+c
// keeps the compiler from it. Pictures are left out.
func TestNothingIsFusedOnOtherMachines(t *testing.T) {
	if sizeOfRun() == 1 {
		t.Skip("compiles everything for arm64: with BAGRIG_LONG=1")
	}
	pictures := []string{"topologies/export/svg.go", "topologies/export/layout.go", "report/plot/plot.go"}
	build := exec.Command("go", "build", "-trimpath", "-gcflags=github.com/bagrig/bagrig/...=-S", "./...")
	build.Dir, build.Env = "..", append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, listing)
	}
	var places []string
	for _, match := range fused.FindAllSubmatch(listing, -1) {
		place := string(match[1])
		if !slices.ContainsFunc(pictures, func(file string) bool { return strings.Contains(place, file) }) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	for _, place := range slices.Compact(places) {
		t.Errorf("%s: fused multiply-add", place)
	}
	if len(listing) < 1<<20 || !fused.Match(listing) {
		t.Errorf("%d bytes of assembly, and no fused multiply-add in pictures: want some, or the test finds none", len(listing))
	}
}

// fused is a line of assembly: where it comes from, and the instruction.
var fused = regexp.MustCompile(`\(([^()\s]+\.go:\d+)\)\s+FN?M(?:ADD|SUB)[DS]\b`)
