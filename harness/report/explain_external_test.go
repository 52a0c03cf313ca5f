package report_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
)

// scene plays testdata/explain.yaml to an event and shows the scene.
func scene(t *testing.T, event int, look func(*harness.Scene) error) {
	t.Helper()
	sc, err := harness.Load("testdata/explain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Replay(context.Background(), sc, event, harness.RunOptions{}, look); err != nil {
		t.Fatal(err)
	}
}

// explained finds the names in a scene and explains.
func explained(s *harness.Scene, device, prefix string) (*report.Explanation, error) {
	d, err := harness.FindDevice(s.Network.Topology, device)
	if err != nil {
		return nil, err
	}
	p, err := harness.FindPrefix(s.Network.Topology, prefix)
	if err != nil {
		return nil, err
	}
	x, err := s.Explain(d, p)
	if err != nil {
		return nil, err
	}
	return report.NewExplanation(x), nil
}

// A screen of a terminal that is wide enough for five ASNs of ten digits.
const screenLines, screenColumns = 45, 132

// decision is a case of which the goldens hold the explanation.
type decision struct {
	name, device, prefix string
	event                int
	want                 []string // in the text
}

var decisions = []decision{
	{"spine-far-24", "r2-f1-s1", "10.1.0.0/24", 0,
		[]string{"bottleneck-sum: 32 + 32 + 32 + 32 = 128 (102.4T)", "128 (102.4T) -> 136 (108.8T)", "to 0 of 4 neighbours", "scope: learned from above", "weights 1:1:1:1"}},
	{"bag-own-16", "r1-bag1", "10.1.0.0/16", 0,
		[]string{"used 4", "told      136 (108.8T)", "to 4 of 5 neighbours", "its ASN 4200001001 is in the path", "error 0 %, none dropped"}},
	{"edge-degraded", "r1-f1-e1", "10.1.0.0/24", 1,
		[]string{"degrade r1-f1-s1--r1-f1-e1 to 24", "24/32", "told      24 (19.2T)"}},
	{"edge-origin-16", "r1-f1-s1", "10.1.0.0/16", 1, []string{"uses its own route", "constant of an origin = 128 (102.4T)", "no entry, the prefix is the device's own"}},
	{"spine-trial", "r2-f1-s1", "10.1.0.0/24", 4,
		[]string{"candidates: 4, used 3", "on trial, until 1m30s", "32 + 32 + 32 = 96 (76.8T)", "weights 1:1:1,"}},
	{"bag-behind-warm", "r2-bag1", "10.1.0.0/16", 6, []string{"65535:0", "  0  IGP", "communities 65000:1 65535:0", "scope: learned from the same tier"}},
	{"spine-beside-warm", "r1-f1-s1", "10.2.0.0/16", 6, []string{"warm\n", "candidates: 4, used 3"}},
	{"bag-drained", "r1-bag1", "10.1.0.0/16", 7, []string{"the device is drained and forwards no more", "told      nothing: drained", "jericho3: no entry"}},
}

func TestADecisionIsExplainedOnOneScreen(t *testing.T) {
	for event := range 8 {
		var asked []decision
		for _, d := range decisions {
			if d.event == event {
				asked = append(asked, d)
			}
		}
		if len(asked) == 0 {
			continue
		}
		scene(t, event, func(s *harness.Scene) error {
			for _, d := range asked {
				doc, err := explained(s, d.device, d.prefix)
				if err != nil {
					return err
				}
				t.Run(d.name, func(t *testing.T) { d.check(t, doc) })
			}
			return nil
		})
	}
}

func (d *decision) check(t *testing.T, doc *report.Explanation) {
	text := doc.Text()
	golden(t, "explain/"+d.name+".txt", []byte(text))
	for _, w := range d.want {
		if !strings.Contains(text, w) {
			t.Errorf("got\n%s\nwant %q in it", text, w)
		}
	}
	if n := strings.Count(text, "\n"); n > screenLines {
		t.Errorf("got %d lines, want at most %d", n, screenLines)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(line) - 1; n > screenColumns {
			t.Errorf("got %d columns in %q, want at most %d", n, line, screenColumns)
		}
	}
	data, err := doc.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain/"+d.name+".json", data)
}

func TestTablesShowWhatIsAskedFor(t *testing.T) {
	docs := map[string]*report.Table{}
	scene(t, 4, func(s *harness.Scene) error {
		device, err := harness.FindDevice(s.Network.Topology, "r2-f1-e2")
		if err != nil {
			return err
		}
		prefix, err := harness.FindPrefix(s.Network.Topology, "10.2.0.0/16")
		if err != nil {
			return err
		}
		for _, name := range report.TableNames() {
			want := report.Filter{Device: device, Prefix: prefix}
			if name == "sessions" {
				want.Prefix = -1
			}
			if docs[name], err = report.NewTable(name, s, want); err != nil {
				return err
			}
		}
		all, err := report.NewTable("rib", s, report.Filter{Device: -1, Prefix: -1})
		entries, _ := harness.Entries(s.Network, s.Snapshot)
		if err == nil && len(all.RIB) != entries+ownRoutes(s) {
			t.Errorf("the whole rib: got %d rows, want %d entries and %d own routes", len(all.RIB), entries, ownRoutes(s))
		}
		if _, err := report.NewTable("ribs", s, report.Filter{}); err == nil || !strings.Contains(err.Error(), `"ribs": want one of rib, fib, told, sessions`) {
			t.Errorf("an unknown table: got error %v", err)
		}
		return err
	})
	for _, name := range report.TableNames() {
		data, err := docs[name].JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "explain/show-"+name+".txt", []byte(docs[name].Text()))
		golden(t, "explain/show-"+name+".json", data)
	}
}

func ownRoutes(s *harness.Scene) (n int) {
	for _, d := range s.Snapshot.Devices {
		for _, r := range d.Routes {
			if r.Local {
				n++
			}
		}
	}
	return n
}

func TestEveryFieldOfExplainAndShowIsDocumentedAndEveryDocumentedFieldExists(t *testing.T) {
	files, err := filepath.Glob("testdata/explain/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d goldens, error %v", len(files), err)
	}
	written := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		doc := map[string]any{}
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if _, ok := doc["settings"]; ok {
			doc["settings"] = nil // its fields are knobs
		}
		keys(doc, written)
	}
	// What only appears in a state that no golden holds.
	for _, name := range []string{"equal_shares_because", "none_because", "forwards_until_s"} {
		written[name] = true
	}
	heads, all := fieldsOf(string(read(t, "..", "..", "docs", "explain.md")))
	for _, name := range sorted(written) {
		if !all[name] {
			t.Errorf("field %q: not in docs/explain.md", name)
		}
	}
	for _, name := range sorted(heads) {
		if !written[name] {
			t.Errorf("docs/explain.md: field %q: no document has it", name)
		}
	}
}

// fieldsOf gives the names in the tables of fields: those that can be nothing
// but fields, which are the first cells and words with an underscore, and all.
func fieldsOf(page string) (sure, all map[string]bool) {
	sure, all = documented(page, "field"), map[string]bool{}
	inside := false
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			inside = false
		}
		inside = inside || strings.HasPrefix(line, "| field |")
		if !inside {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(line, -1) {
			all[m[1]] = true
			if strings.Contains(m[1], "_") {
				sure[m[1]] = true
			}
		}
	}
	return sure, all
}
