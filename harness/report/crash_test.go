package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/report"
)

// crashParent names the parent of run folders to the process that is to die.
const crashParent = "BAGRIG_TEST_CRASH_PARENT"

// TestMain lets the test binary be the process that dies.
func TestMain(m *testing.M) {
	if parent := os.Getenv(crashParent); parent != "" {
		die(parent)
	}
	os.Exit(m.Run())
}

// die panics in a goroutine that nobody can recover.
func die(parent string) {
	t := &testing.T{}
	f, err := report.CreateIn(parent, about(t))
	if err != nil {
		os.Exit(3)
	}
	if err := f.CatchCrash(); err != nil {
		os.Exit(4)
	}
	for _, r := range records(t)[:4] {
		f.Record(r)
	}
	go panic("a panic inside of GoBGP")
	select {}
}

func TestACrashIsInTheFolderWithAllThatWasSeen(t *testing.T) {
	parent := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashParent+"="+parent)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); err == nil || got != 2 {
		t.Fatalf("got exit status %d, want that of a panic, 2:\n%s", got, out)
	}
	dir := filepath.Join(parent, report.LatestLink)
	if got := string(read(t, dir, report.CrashFile)); !strings.Contains(got, "a panic inside of GoBGP") || !strings.Contains(got, "goroutine") {
		t.Errorf("crash.txt: got %q, want the panic and its stack", got)
	}
	if !strings.Contains(string(out), "a panic inside of GoBGP") {
		t.Errorf("stderr: got %q, want the panic there as well", out)
	}
	if got := len(readLines(t, dir)); got != 4 {
		t.Errorf("events.ndjson: got %d lines, want 4", got)
	}
	if got := readRun(t, dir).Verdict; got != report.Running {
		t.Errorf("run.json: got verdict %q, want %q", got, report.Running)
	}
}

func TestACleanEndLeavesNoCrashFile(t *testing.T) {
	f, err := report.CreateIn(t.TempDir(), about(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CatchCrash(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.Dir(), report.CrashFile)); err != nil {
		t.Errorf("during the run: got %v, want the file", err)
	}
	if err := f.Finish(interruptedRun()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.Dir(), report.CrashFile)); !os.IsNotExist(err) {
		t.Errorf("after the run: got %v, want no file", err)
	}
}
