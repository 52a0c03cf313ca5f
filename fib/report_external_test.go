package fib_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
)

// reports is one device without a fault and one that is full.
func reports(t *testing.T) []fib.Report {
	t.Helper()
	calm := newTable(t, mustLookup(t, "jericho2"), fib.Minimax)
	calm.Mark("start")
	program(t, calm, left, hops(4, 3)...)
	program(t, calm, right, hops(4, 3)...)
	full := newOverflowTable(t, tiny(1, 100), fib.OverflowEqual)
	full.Mark("start")
	program(t, full, left, hops(1, 1)...)
	full.Mark("cut\tof a")
	program(t, full, right, hops(4, 3)...)
	program(t, full, wide, fibHop(9), fibHop(8))
	return []fib.Report{calm.Report("calm"), full.Report("full")}
}

func fibHop(id int32) fib.Hop { return fib.Hop{ID: id, Share: 5} }

func TestTheReportAsText(t *testing.T) {
	var b bytes.Buffer
	if err := fib.WriteText(&b, reports(t), 0.01); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", b.Bytes())
}

func TestTheReportAsJSON(t *testing.T) {
	var b bytes.Buffer
	if err := fib.WriteJSON(&b, reports(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Errorf("not JSON: %v", err)
	}
}

// golden compares with a file, or rewrites it if BAGRIG_UPDATE is set.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("%s (got -, want +, BAGRIG_UPDATE=1 rewrites it):\n%s", name, diff)
	}
}

func TestNetworkNamesTheWorstDeviceAndEvent(t *testing.T) {
	got := fib.Network(reports(t))
	want := fib.NetworkAudit{
		Devices:       2,
		WorstOverload: 1, WorstOverloadDevice: "full",
		WorstUnderuse: fib.Number(math.Inf(1)), WorstUnderuseDevice: "full",
		Dropped: 1, Compromises: 2,
		GroupsUse: 0.5, GroupsUseDevice: "full", GroupsUseEvent: "start",
		MembersUse: 0.02, MembersUseDevice: "full", MembersUseEvent: "start",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if got := fib.Network(nil); got != (fib.NetworkAudit{}) {
		t.Errorf("no devices: got %+v, want nothing", got)
	}
}

func TestProfilesAsText(t *testing.T) {
	var b bytes.Buffer
	if err := fib.WriteProfiles(&b, fib.Profiles()); err != nil {
		t.Fatal(err)
	}
	golden(t, "profiles.txt", b.Bytes())
}

func TestRowsAsText(t *testing.T) {
	rows, err := fib.Compare(mustLookup(t, "jericho3"), []uint64{100, 100, 100, 75})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := fib.WriteRows(&b, rows); err != nil {
		t.Fatal(err)
	}
	golden(t, "rows.txt", b.Bytes())
}

func TestCompareRefusesWhatReduceRefuses(t *testing.T) {
	if _, err := fib.Compare(mustLookup(t, "jericho3"), nil); err == nil {
		t.Errorf("no shares: got no error")
	}
	if _, err := fib.Compare(fib.Profile{Name: "x"}, []uint64{1}); err == nil {
		t.Errorf("a profile out of range: got no error")
	}
	if _, err := fib.Summarise(fib.Degradations()[:1], []int{0}); err == nil {
		t.Errorf("a width of 0: got no error")
	}
}

// TestDocsHaveTheTableOfTheProgram regenerates docs/fib.md between its
// markers.
func TestDocsHaveTheTableOfTheProgram(t *testing.T) {
	list, err := fib.Summarise(fib.Degradations(), []int{64, 128, 512, 2048})
	if err != nil {
		t.Fatal(err)
	}
	var b, c bytes.Buffer
	if err := fib.WriteMarkdown(&b, list); err != nil {
		t.Fatal(err)
	}
	if err := fib.WriteCSV(&c, list); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(c.String(), "\n"), 1+len(list); got != want {
		t.Errorf("CSV: got %d lines, want %d", got, want)
	}
	const path, begin, end = "../docs/fib.md", "<!-- begin generated: BAGRIG_UPDATE=1 go test ./fib -run Docs -->\n", "<!-- end generated -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: want the lines %q and %q", path, begin, end)
	}
	want := b.String() + "\n"
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, want); diff != "" {
		t.Errorf("%s (got -, want +, BAGRIG_UPDATE=1 rewrites it):\n%s", path, diff)
	}
}
