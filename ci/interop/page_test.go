package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/properties/conform"
)

func result(name string, verdict conform.Verdict, got string) conform.Result {
	return conform.Result{Check: conform.Check{Name: name}, Verdict: verdict, Got: got}
}

func page(t *testing.T, matrix string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("# Before\n\n"+pageBegin+"\n"+matrix+pageEnd+"\n\nAfter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

var sampleReports = []*conform.Report{
	{Device: "frr", Version: "8.4.4", Results: []conform.Result{result("one", conform.Passed, "kept"), result("two", conform.Deviates, "reset")}},
	{Device: "bird", Version: "2.0.12", Results: []conform.Result{result("one", conform.Passed, "stripped"), result("two", conform.NotApplicable, "")}},
}

func TestThePageIsWrittenAndThenHolds(t *testing.T) {
	path := page(t, "")
	if _, err := judgePage(path, true, sampleReports); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Before\n\n" + pageBegin + `

| check | frr 8.4.4 | bird 2.0.12 |
|---|---|---|
| one | kept | stripped |
| two | reset (d) | - |
| pass / deviation / fail | 1 / 1 / 0 | 1 / 0 / 0 |

` + pageEnd + "\n\nAfter\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("page: -want +got\n%s", diff)
	}
	if unknown, err := judgePage(path, false, sampleReports); err != nil || len(unknown) > 0 {
		t.Errorf("got %v, %v: want that it holds", unknown, err)
	}
	// A part of the devices holds too, and leaves the others when it is written.
	if _, err := judgePage(path, false, sampleReports[1:]); err != nil {
		t.Error(err)
	}
	if _, err := judgePage(path, true, sampleReports[1:]); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(data) {
		t.Errorf("written again with one device: got\n%s, %v", again, err)
	}
}

func TestADifferenceFromThePageIsFound(t *testing.T) {
	path := page(t, conform.Markdown(sampleReports))
	changed := []*conform.Report{{Device: "frr", Version: "8.4.4", Results: []conform.Result{
		result("one", conform.Passed, "kept"), result("two", conform.Passed, "withdrawn"), result("three", conform.Passed, "kept"),
	}}}
	_, err := judgePage(path, false, changed)
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{`frr 8.4.4, two: the page says "reset (d)", the run "withdrawn"`, `frr 8.4.4, three: the page says "", the run "kept"`, "-update writes them"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want %q in it", err, want)
		}
	}
}

func TestAnotherVersionIsNotComparedAndTakesTheColumn(t *testing.T) {
	path := page(t, conform.Markdown(sampleReports))
	other := []*conform.Report{{Device: "frr", Version: "10.3", Results: []conform.Result{result("one", conform.Passed, "stripped")}}}
	unknown, err := judgePage(path, false, other)
	if err != nil || len(unknown) != 1 || unknown[0] != "frr 10.3" {
		t.Errorf("got %v, %v: want that frr 10.3 is not compared", unknown, err)
	}
	if _, err := judgePage(path, true, other); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "| check | frr 10.3 | bird 2.0.12 |") {
		t.Errorf("got\n%s, %v", data, err)
	}
}

func TestWhatNoListExplainsIsNotWritten(t *testing.T) {
	path := page(t, conform.Markdown(sampleReports))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := []*conform.Report{{Device: "frr", Version: "8.4.4", Results: []conform.Result{result("one", conform.Errored, "")}}}
	if _, err := judgePage(path, true, bad); err == nil || !strings.Contains(err.Error(), "not written: frr 8.4.4 differs") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("got\n%s, %v", after, err)
	}
}

func TestAPageWithoutItsMarksIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("# A page\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := judgePage(path, true, sampleReports); err == nil || !strings.Contains(err.Error(), "want the lines") {
		t.Errorf("got %v", err)
	}
	if _, err := judgePage(path+"x", true, sampleReports); err == nil || !strings.Contains(err.Error(), "-page: ") {
		t.Errorf("got %v", err)
	}
	if _, err := judgePage(page(t, "| check | a |\n|---|---|\n| one | x | y |\n"), false, nil); err == nil || !strings.Contains(err.Error(), `row "one": 3 columns: want 2`) {
		t.Errorf("got %v", err)
	}
}
