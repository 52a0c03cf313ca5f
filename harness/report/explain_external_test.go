package report_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
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
	{"spine-divided", "r1-f1-s1", "10.1.0.0/24", 9, []string{"settings: divide equal", "128 (102.4T) / 4 (divide equal) = 32 (25.6T)"}},
	{"spine-closed", "r2-f1-s2", "10.1.0.0/24", 10, []string{"value     none: no route", "no route -> no route", "told      nothing: no route", "down, ended by r2-f1-s2 (import.max-prefixes)"}},
	{"edge-held", "r1-f1-e3", "10.2.0.0/16", 11, []string{"bottleneck-sum: 20 = 20 (16T)", "up, held from r1-bag3"}},
}

func TestADecisionIsExplainedOnOneScreen(t *testing.T) {
	for event := range 12 {
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
	// A golden holds the settings that are not the defaults, so that a new knob
	// changes none.
	for _, k := range topologies.Knobs() {
		value, ok := doc.Settings[k.Name]
		if !ok {
			t.Errorf("knob %q: not among the settings", k.Name)
		}
		if value == k.Default {
			delete(doc.Settings, k.Name)
		}
	}
	data, err := doc.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "explain/"+d.name+".json", data)
}

// rare is an explanation with what the goldens do not have.
func rare(t *testing.T) *harness.Explanation {
	t.Helper()
	mini, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	net := &state.Network{Topology: mini, Index: mini.Index()}
	snapshot := &state.Snapshot{Bundles: make([]state.Bundle, len(mini.Bundles)), Devices: make([]state.Device, len(mini.Devices))}
	const member = 800e9
	value := func(members uint64) damping.Value {
		return damping.Value{Reach: damping.Valued, Bits: members * member}
	}
	x := speakers.Explanation{
		Settings: topologies.DefaultSettings(), Drain: topologies.Drained, ForwardsTo: 3 * time.Second, Best: 0, Equal: "a reason",
		Candidates: []speakers.Judged{{Candidate: speakers.Candidate{Bundle: 0, Route: speakers.Route{LocalPref: 100, Origin: 2}}, Neighbor: 1, Verdict: "used"}},
		Valuation:  speakers.Valuation{Mode: "aggregate-received", Divisor: 1, Sum: value(9), Value: value(9)},
		Told: speakers.Stages{Next: 5 * time.Second, Stages: []speakers.Stage{
			{Name: "one", Memoryless: true, In: value(9), Out: damping.Value{Reach: damping.Unvalued}},
			{Name: "two | three", In: damping.Value{Reach: damping.Unvalued}, Out: damping.Value{}},
		}},
		Tells: speakers.Telling{Told: speakers.Told{Present: true, Valued: true, Value: 1e12}, Wire: [][8]byte{{0, 4, 0, 1}, {0x40, 4, 0, 1}}, WirePath: []uint32{7}},
	}
	for n := range int32(9) {
		x.Valuation.Terms = append(x.Valuation.Terms, speakers.Term{Neighbor: n, Bits: member})
		x.Set = append(x.Set, speakers.SetMember{Bundle: n, Neighbor: 1, Capacity: member, Parallel: 9, Min: member, Share: 1})
	}
	entry := fib.Entry{Group: 4, Error: 0.25, Dropped: []int32{8}}
	for id := range int32(9) {
		entry.Members = append(entry.Members, fib.Weighted{ID: id, Weight: 2})
	}
	scene := &harness.Scene{Scenario: "rare\x1b", Network: net, Snapshot: snapshot, Epoch: time.Second}
	return &harness.Explanation{Scene: scene, Device: 0, Prefix: 0, Core: x, Entry: entry}
}

func TestWhatIsRareIsSaidInWords(t *testing.T) {
	x := rare(t)
	text := report.NewExplanation(x).Text()
	for _, want := range []string{
		"rare\uFFFD on prometheus-mini, at the baseline", "the device is drained and forwards until 2s", "INCOMPLETE  no valid value", "empty  ",
		"equal shares: a reason", "over " + x.Scene.Network.Topology.Bundles[3].Name, "none: makes the set equal", "equal",
		"aggregate-received of 9 = 9 (7.2T)", "one: 9 (7.2T) -> a route without value\n", "two | three: a route without value -> no route, with all that it remembers",
		"looks again at 4s", "00 04 00 01 00 00 00 00 (transitive)", "40 04 00 01 00 00 00 00 (non-transitive)", "weights 9 x 2, error 25 %, dropped " + x.Scene.Network.Topology.Bundles[8].Name,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	for missing, want := range map[string]string{topologies.MissingSkip: "none: no share", topologies.MissingDefault: "none: counts as its bundle"} {
		x.Core.Settings.WeightMissing = missing
		if text := report.NewExplanation(x).Text(); !strings.Contains(text, want) || !strings.Contains(text, "settings: weights.missing "+missing) {
			t.Errorf("got\n%s\nwant %q and the setting in it", text, want)
		}
	}
}

func TestAggregatesAndRestartsAreSaidInWords(t *testing.T) {
	x := rare(t)
	x.Core.Local, x.Core.Restarting, x.Core.Tells.Atomic, x.Entry = true, true, true, fib.Entry{}
	x.Core.Candidates[0].Stale = true
	x.Core.Bundles = []speakers.BundleView{{Neighbor: 1, NeighborRole: topologies.Edge, Next: speakers.Never, StaleTo: 8 * time.Second, Why: "session down"}}
	x.Core.Valuation.Mode, x.Core.Valuation.Terms = speakers.ModeAggregate, nil
	bySupporting := topologies.Aggregate{By: topologies.BySupporting, Announce: 3, Withdraw: 2, Suppress: true}
	byCapacity := topologies.Aggregate{By: topologies.ByCapacity, Announce: 8e12, Withdraw: 4e12, Suppress: true}
	for _, c := range []struct {
		view speakers.AggregateView
		want string
	}{
		{speakers.AggregateView{Aggregate: bySupporting, Specifics: 4, Supporting: 2, Announced: true},
			"aggregate, min-supporting: 2 of 4 more-specifics, announced from 3 on, withdrawn below 2: announced, the more-specifics go only down\n"},
		{speakers.AggregateView{Aggregate: byCapacity, Specifics: 4, Supporting: 2, Capacity: 4.8e12},
			"aggregate, min-capacity: 6 (4.8T) behind 2 of 4 more-specifics, announced from 10 (8T) on, withdrawn below 5 (4T): not announced\n"},
	} {
		x.Core.Aggregate = &c.view
		text := report.NewExplanation(x).Text()
		for _, want := range []string{
			c.want, "the device restarts", "used, stale", "announces the aggregate and uses its own route", "ATOMIC_AGGREGATE", "down, stale until 7s",
			"capacity of the distinct bundles behind the more-specifics = 9 (7.2T)", "no entry, a discard route",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("got\n%s\nwant %q in it", text, want)
			}
		}
	}
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
	for _, name := range []string{"equal_shares_because", "forwards_until_s", "restarting", "stale", "stale_until_s", "atomic_aggregate",
		"aggregate", "by", "announce_at", "withdraw_below", "suppress", "more_specifics", "supporting", "supporting_bps", "announced"} {
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
