package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/shrink"
)

func TestAScenarioThatFailsIsShrunkToAFailFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x", "small.yaml")
	got := bagrig(t, "shrink", "rfd-harm", "-o", path)
	if got.code != exitHeld {
		t.Fatalf("got exit status %d, want %d: %s", got.code, exitHeld, got.stderr)
	}
	wantAll(t, "stdout", got.stdout, "no live path dropped\n1 event, ", "nothing smaller fails\nwritten to "+path+"\n")
	wantAll(t, "stderr", got.stderr, "no live path dropped fails on sim: 1 event, 56 devices", "without region r2")
	fail, err := shrink.LoadFail(path)
	if err != nil {
		t.Fatal(err)
	}
	if size := shrink.SizeOf(fail.Scenario); size.Devices > 8 || fail.Property != "no live path dropped" || fail.Expect != shrink.Held || fail.Command != "bagrig replay "+path {
		t.Errorf("got %v in %+v, want a small fail of that property", size, fail)
	}
	if again := bagrig(t, "replay", path); again.code != exitViolated {
		t.Errorf("replay: got exit status %d, want %d", again.code, exitViolated)
	}
}

func TestAFailFileIsShrunkFurtherInItsPlace(t *testing.T) {
	fail, err := shrink.LoadFail(aFailFile)
	if err != nil {
		t.Fatal(err)
	}
	fail.Scenario.Seed = 77
	path := filepath.Join(t.TempDir(), "known.yaml")
	if err := fail.Write(path); err != nil {
		t.Fatal(err)
	}
	if got := bagrig(t, "shrink", path, "--budget", "1m"); got.code != exitHeld {
		t.Fatalf("got exit status %d, want %d: %s", got.code, exitHeld, got.stderr)
	}
	small, err := shrink.LoadFail(path)
	if err != nil {
		t.Fatal(err)
	}
	if small.Scenario.Seed != 1 || small.Expect != shrink.Violated || len(small.Story) == 0 {
		t.Errorf("got seed %d, expect %s, story %q, want seed 1, expect %s, a story", small.Scenario.Seed, small.Expect, small.Story, shrink.Violated)
	}
}

func TestWhatCannotBeShrunkSaysWhy(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"testdata/small.yaml", "--engine", "sim"}, "nothing fails"},
		{[]string{"rfd-harm", "--engine", "sim", "--property", "no loop"}, `"no loop" holds`},
		{[]string{"rfd-harm", "--budget", "0s"}, "--budget 0s: want more than 0s"},
		{[]string{"rfd-harm", "--budget", "1ns"}, "is not enough for one run"},
		{[]string{"rfd-harm", "--engine", "x"}, `--engine "x": want one of gobgp, sim, both`},
		{[]string{"nowhere.yaml"}, "no such file"},
	} {
		got := bagrig(t, append([]string{"shrink", "-o", filepath.Join(t.TempDir(), "x.yaml")}, tc.args...)...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", tc.args, got.code, got.stdout, exitBad)
		}
		wantAll(t, fmt.Sprint(tc.args), got.stderr, tc.want)
	}
}

func TestAFailThatCannotBeWrittenIsPrinted(t *testing.T) {
	got := bagrig(t, "shrink", aFailFile, "-o", "testdata/small.yaml/x.yaml")
	if got.code != exitBad {
		t.Errorf("got exit status %d, want %d", got.code, exitBad)
	}
	if fail, err := shrink.ReadFail("stdout", []byte(got.stdout)); err != nil || fail.Property != "no live path dropped" {
		t.Errorf("stdout: got %v and\n%s\nwant the whole fail file", err, got.stdout)
	}
	wantAll(t, "stderr", got.stderr, "fail file: ")
}

func TestShrinkReplacesNothingButAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	got := bagrig(t, "shrink", aFailFile, "-o", path)
	if got.code != exitBad || got.stdout != "" {
		t.Errorf("got exit status %d and on stdout %q, want %d and nothing", got.code, got.stdout, exitBad)
	}
	wantAll(t, "stderr", got.stderr, "--out "+path+": mode L", "want a regular file there, or none")
	if _, err := os.Readlink(path); err != nil {
		t.Errorf("the link: %v, want it left as it was", err)
	}
}

// cancelsAt is a writer that cancels when a text is written.
type cancelsAt struct {
	bytes.Buffer
	text   string
	cancel func()
}

func (w *cancelsAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

func TestAnInterruptKeepsTheSmallestSoFar(t *testing.T) {
	sc, _, err := loadFail("rfd-harm")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "x.yaml")
	flags := shrinkFlags{budget: defaultBudget, out: path, engine: "sim"}
	var stdout bytes.Buffer
	var status ended
	err = shrinkTo(ctx, sc, shrink.Held, flags, &stdout, &cancelsAt{text: "without region r2", cancel: cancel})
	if !errors.As(err, &status) || int(status) != exitInterrupted {
		t.Fatalf("got %v, want exit status %d", err, exitInterrupted)
	}
	fail, err := shrink.LoadFail(path)
	if err != nil {
		t.Fatal(err)
	}
	if size := shrink.SizeOf(fail.Scenario); size.Devices != 28 || len(fail.Story) == 0 {
		t.Errorf("got %v and story %q, want the 28 devices of one region and a story", size, fail.Story)
	}
	wantAll(t, "stdout", stdout.String(), "stopped before the end")
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("files: got %v and %v, want one", files, err)
	}
}
