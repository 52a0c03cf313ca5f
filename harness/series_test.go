package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAScenarioReadsSeriesBesideItself(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.csv"), []byte("time,members\n0,32\n90,8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sc, err := ReadScenario(filepath.Join(folder, "x.yaml"), []byte(`topology: prometheus-mini
events:
  - replay: {bundle: r1-f1-s1--r1-f1-e1, file: a.csv}
  - synchronised: {bundles: [r1-f1-s1--r1-f1-e1, r1-bag1--r2-bag1], members: 7, count: 1, period: 2s}
  - replay: {bundle: r1-f1-s1--r1-f1-e1, file: optical-link}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := sc.Events[0].Series; got == nil || len(*got) != 2 || (*got)[1].Members != 8 {
		t.Errorf("got series %v, want the two samples of the file", got)
	}
	if got, want := sc.Events[1].Bundles, "r1-f1-s1--r1-f1-e1,r1-bag1--r2-bag1"; got != want {
		t.Errorf("got bundles %q, want %q", got, want)
	}
	if sc.Events[2].Series != nil {
		t.Errorf("got series %v, want none kept: a recording is there for all", sc.Events[2].Series)
	}
}

func TestMistakesInSeriesEventsHaveAPosition(t *testing.T) {
	for event, want := range map[string]string{
		"replay: {bundle: r1-f1-s1--r1-f1-e1, file: no.csv}":                                          `x.yaml:3:48: field "events[0].replay.file": value "no.csv": event replay: file "no.csv": stat no.csv: no such file`,
		"replay: {bundle: r1-f1-s1--r1-f1-e1, file: noise-576}":                                       `x.yaml:3:48: field "events[0].replay.file": value "noise-576": event replay: file "noise-576": sample 1: members 576: want 0 to 32`,
		"ramp: {bundle: r1-f1-s1--r1-f1-e1, from: 33, to: 1, over: 1m, steps: 1}":                     `x.yaml:3:46: field "events[0].ramp.from": value "33": event ramp: from "33": want 0 to 32`,
		"synchronised: {bundles: [r1-f1-s1--r1-f1-e1, x], members: 7, count: 1, period: 2s}":          `x.yaml:3:29: field "events[0].synchronised.bundles": event synchronised: bundles "x": no such bundle`,
		"synchronised: {bundles: r1-f1-s1--r1-f1-e1, members: [7], count: 1, period: 2s}":             `x.yaml:3:58: field "events[0].synchronised.members": want one value`,
		"flap: {bundle: [r1-f1-s1--r1-f1-e1, r1-bag1--r2-bag1], members: 7, count: 1, period: 1m30s}": `x.yaml:3:20: field "events[0].flap.bundle": want one value`,
	} {
		_, err := ReadScenario("x.yaml", []byte("topology: prometheus-mini\nevents:\n  - "+event+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got\n%v\nwant\n%s", event, err, want)
		}
	}
}
