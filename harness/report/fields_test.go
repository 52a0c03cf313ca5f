package report_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

// records are one of every kind.
func records(t *testing.T) []state.Record {
	t.Helper()
	res := violatedRun(t)
	one := res.Outcomes[2]
	one.Violations = one.Violations[:1]
	failed := interruptedRun()
	return []state.Record{
		{Kind: "start", Event: -1, Text: res.Topology, Result: res},
		{Kind: "established", Event: -1, Text: "100 sessions"},
		{Kind: "baseline", Event: -1, Counts: &res.BringUp},
		{Kind: "event", Event: 0, Text: res.Rows[0].Event.String()},
		{Kind: "change", Event: 0, Bundle: "a--b", Members: 0},
		{Kind: "quiet", Event: 0, Counts: &res.BringUp},
		{Kind: "violation", Event: -1, Virtual: 1500 * time.Millisecond, Text: one.Name, Outcome: &one},
		{Kind: "transient", Event: 0, Text: "10.1.0.0/24 loop at a, b: [1s, 1.2s), traffic of a, b"},
		{Kind: "settled", Event: 0, Row: &res.Rows[1]},
		{Kind: "end", Event: -1, Text: "interrupted", Result: failed},
	}
}

// keys adds the names of all fields in a decoded JSON value.
func keys(v any, to map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			to[name] = true
			keys(field, to)
		}
	case []any:
		for _, item := range v {
			keys(item, to)
		}
	}
}

var code = regexp.MustCompile("`([^`]*)`")

// documented gives what the first cells of the tables with that head name.
func documented(page, head string) map[string]bool {
	found, inside := map[string]bool{}, false
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		switch {
		case len(cells) < 3:
			inside = false
		case strings.TrimSpace(cells[1]) == head:
			inside = true
		case inside:
			for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
				found[m[1]] = true
			}
		}
	}
	return found
}

func TestEveryFieldIsDocumentedAndEveryDocumentedFieldExists(t *testing.T) {
	_, dir := finished(t, violatedRun(t), records(t)...)
	failed := interruptedRun()
	_, failedDir := finished(t, failed)
	written, kinds := map[string]bool{}, map[string]bool{}
	for _, d := range []string{dir, failedDir} {
		var run any
		if err := json.Unmarshal(read(t, d, report.RunFile), &run); err != nil {
			t.Fatal(err)
		}
		keys(run, written)
	}
	for _, line := range readLines(t, dir) {
		keys(line, written)
		kinds[line["kind"].(string)] = true
	}
	page := string(read(t, "..", "..", "docs", "run-folder.md"))
	if diff := cmp.Diff(sorted(documented(page, "field")), sorted(written)); diff != "" {
		t.Errorf("fields (-documented +written):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(documented(page, "kind")), sorted(kinds)); diff != "" {
		t.Errorf("kinds (-documented +written):\n%s", diff)
	}
}

func TestEveryLineHasTheSchemaAndPlainNames(t *testing.T) {
	_, dir := finished(t, violatedRun(t), records(t)...)
	lines := readLines(t, dir)
	if got, want := len(lines), len(records(t)); got != want {
		t.Fatalf("got %d lines, want %d", got, want)
	}
	plain := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for i, line := range lines {
		found := map[string]bool{}
		keys(line, found)
		for _, name := range sorted(found) {
			if !plain.MatchString(name) {
				t.Errorf("line %d: field %q: want lower case with underscores", i+1, name)
			}
		}
		if line["schema"] != float64(report.Schema) {
			t.Errorf("line %d: schema %v: want %d", i+1, line["schema"], report.Schema)
		}
	}
	if got := lines[4]["members"]; got != 0.0 {
		t.Errorf("a bundle that goes down: got members %v, want 0", got)
	}
	if got := lines[6]["virtual_s"]; got != 1.5 {
		t.Errorf("got virtual_s %v, want 1.5", got)
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
