package properties

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

func runs(t *testing.T, text string) *state.Result {
	t.Helper()
	sc, err := harness.ReadScenario("x.yaml", []byte("topology: prometheus-mini\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return holds(t, "x", sc)
}

// TestAFailureCostsTrafficUntilItIsNoticed takes away the only way of bag 1 to
// the other region, for which a planar network has one bundle a plane.
func TestAFailureCostsTrafficUntilItIsNoticed(t *testing.T) {
	simOnly(t)
	for _, tc := range []struct {
		name, damping, down string
		seconds             float64 // in which the bag's traffic over it is lost
	}{
		{"the port says so", "none", "{bundle: r1-bag1--r2-bag1}", 0},
		{"named", "none", "{bundle: r1-bag1--r2-bag1, detect: carrier}", 0},
		{"carrier-delay keeps it back", "{bundle: [carrier-delay: {down: 2s}]}", "{bundle: r1-bag1--r2-bag1}", 2},
		{"BFD", "none", "{bundle: r1-bag1--r2-bag1, detect: bfd 150ms}", 0.15},
		{"BFD ends a session whatever the damping says", "{bundle: [carrier-delay: {down: 2s}]}", "{bundle: r1-bag1--r2-bag1, detect: bfd 150ms}", 0.15},
		{"hold timer", "bag-default", "{bundle: r1-bag1--r2-bag1, detect: hold 90s}", 90},
	} {
		res := runs(t, "damping: "+tc.damping+"\nevents:\n  - down: "+tc.down+"\n")
		if res.Rows[0].Effect != state.Changed || res.Rows[0].Counters.Withdrawn == 0 {
			t.Errorf("%s: got %+v, want the loss told in the end", tc.name, res.Rows[0])
		}
		if tc.seconds == 0 {
			if res.Lost != nil {
				t.Errorf("%s: got lost %+v, want nothing", tc.name, res.Lost)
			}
			continue
		}
		if res.Lost == nil || len(res.Lost.Bundles) != 1 {
			t.Errorf("%s: got lost %+v, want one bundle", tc.name, res.Lost)
			continue
		}
		b := res.Lost.Bundles[0]
		if b.Part != 1 || b.Lasts || b.Until.Seconds()-b.From.Seconds() != tc.seconds || res.Lost.Worst != 1 {
			t.Errorf("%s: got %+v, want all of it for %v s", tc.name, res.Lost, tc.seconds)
		}
		// An edge sends 1 of its 4 planes' share there, a bag all: what is lost on
		// average lies between nothing and all.
		if mean := res.Lost.Seconds / tc.seconds; !(mean > 0 && mean < 1) || math.Abs(mean-res.Windows[0].Lost.Seconds/tc.seconds) > 1e-12 {
			t.Errorf("%s: got %v s, and %v s in the window, want the same part of %v s", tc.name, res.Lost.Seconds, res.Windows[0].Lost.Seconds, tc.seconds)
		}
	}
}

func TestABundleThatComesBackBeforeItIsMissedTellsNothing(t *testing.T) {
	res := runs(t, `damping: none
events:
  - down: {bundle: r1-bag1--r2-bag1, detect: hold 90s, at: 1s}
  - up: {bundle: r1-bag1--r2-bag1, at: 80s}
  - down: {bundle: r1-bag1--r2-bag1, detect: hold 90s, at: 85s}
  - up: {bundle: r1-bag1--r2-bag1, at: 170s}
`)
	total := 0
	for _, row := range res.Rows {
		total += row.Counters.NLRI()
	}
	if total != 0 || len(res.Lost.Bundles) != 2 || res.Lost.Bundles[1].Until.Seconds() != 170 {
		t.Errorf("got %d NLRI and %+v, want none and two failures that nobody noticed", total, res.Lost)
	}
}

func TestAGreyFailureIsToldNobodyAndAudited(t *testing.T) {
	res := runs(t, `events:
  - grey: {bundle: r1-bag1--r2-bag1, loss: 0.3, at: 10s}
  - restore: {all: true, at: 20s}
`)
	if row := res.Rows[0]; row.Effect != state.Unseen || row.Counters.NLRI() != 0 {
		t.Errorf("got %+v, want a change that nobody sees", row)
	}
	if l := res.Lost; math.Abs(l.Worst-0.3) > 1e-12 || l.Pairs == 0 || l.Pairs >= l.Of || l.Bundles[0].Lasts || l.Bundles[0].Until.Seconds() != 20 {
		t.Errorf("got %+v, want at worst 0.3, until it is mended", res.Lost)
	}
}

// TestFourGreyPlanesAddUp checks the walk against arithmetic: with every bundle
// between the regions losing a part, so does all that crosses, once.
func TestFourGreyPlanesAddUp(t *testing.T) {
	res := runs(t, `events:
  - grey: {bundle: r1-bag1--r2-bag1, loss: 0.5, at: 10s}
  - grey: {bundle: r1-bag2--r2-bag2, loss: 0.5, at: 10s}
  - grey: {bundle: r1-bag3--r2-bag3, loss: 0.5, at: 10s}
  - grey: {bundle: r1-bag4--r2-bag4, loss: 0.5, at: 10s}
  - grey: {bundle: r1-f1-s1--r1-f1-e1, loss: 0.5, at: 20s}
  - restore: {all: true, at: 30s}
`)
	first, second := res.Windows[0].Lost, res.Windows[1].Lost
	// 56 devices, of which each has 13 of the 26 prefixes in the other region.
	if first.Pairs != 56*13 || first.Worst != 0.5 {
		t.Errorf("got %+v, want 728 pairs that lose half", first)
	}
	// From the far bag of the plane to spine 1 both halves are on the only way.
	if second.Worst != 0.75 {
		t.Errorf("got %+v, want three quarters lost at worst", second)
	}
}

func TestMistakesInDetectionHaveAPosition(t *testing.T) {
	for event, want := range map[string]string{
		"down: {bundle: r1-bag1--r2-bag1, detect: bfd}":        `x.yaml:3:46: field "events[0].down.detect": value "bfd": event down: detect "bfd": want carrier, bfd and 1ms to 1m`,
		"down: {bundle: r1-bag1--r2-bag1, detect: bfd 2h}":     `x.yaml:3:46: field "events[0].down.detect": value "bfd 2h"`,
		"down: {bundle: r1-bag1--r2-bag1, detect: hold 3.5s}":  `x.yaml:3:46: field "events[0].down.detect": value "hold 3.5s"`,
		"down: {bundle: r1-bag1--r2-bag1, detect: carrier 1s}": `x.yaml:3:46: field "events[0].down.detect": value "carrier 1s"`,
		"down: {power: r1-z}":                                  `x.yaml:3:19: field "events[0].down.power": value "r1-z": event down: power "r1-z": topology "prometheus-mini": domain "power:r1-z": `,
		"grey: {bundle: r1-bag1--r2-bag1}":                     `x.yaml:3:11: field "events[0].grey": event grey: loss "": missing`,
		"grey: {bundle: r1-bag1--r2-bag1, loss: 0}":            `x.yaml:3:44: field "events[0].grey.loss": value "0": event grey: loss "0": want above 0 to 1`,
		"grey: {bundle: r1-bag1--r2-bag1, loss: NaN}":          `x.yaml:3:44: field "events[0].grey.loss": value "NaN"`,
		"grey: {bundle: r1-bag1--r2-bag1, loss: 1.5}":          `x.yaml:3:44: field "events[0].grey.loss": value "1.5"`,
	} {
		_, err := harness.ReadScenario("x.yaml", []byte("topology: prometheus-mini\nevents:\n  - "+event+"\n"))
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: got\n%v\nwant\n%s", event, err, want)
		}
	}
}

// TestOnlyAnUnnoticedFailureExcusesABlackHole looks at a bundle that is down and
// still carries traffic.
func TestOnlyAnUnnoticedFailureExcusesABlackHole(t *testing.T) {
	for _, tc := range []struct {
		lost   float64
		unseen bool
		want   bool
	}{{0, false, true}, {0.3, false, true}, {1, false, true}, {1, true, false}} {
		p, m := quarter(t)
		b := &m.Snapshot.Bundles[p.dir(bag, farBag).Bundle]
		b.Up, b.Members, b.Lost, b.Unseen = tc.unseen, 0, tc.lost, tc.unseen
		c := NewNoBlackHole()
		c.Look(m)
		if got := c.Outcome().Violated > 0; got != tc.want {
			t.Errorf("lost %v, unnoticed %t: got violated %t, want %t", tc.lost, tc.unseen, got, tc.want)
		}
	}
}

func TestEventsThatMeetADetection(t *testing.T) {
	simOnly(t)
	for _, tc := range []struct {
		name, events string
		until        float64 // s: when the first failure of the first bundle is over
	}{
		{"a second failure, noticed later", "down: {bundle: B, detect: hold 90s, at: 10s}|down: {device: r2-bag1, detect: hold 90s, at: 20s}", 100},
		{"a second failure, noticed sooner", "down: {bundle: B, detect: hold 90s, at: 10s}|down: {bundle: B, detect: bfd 150ms, at: 20s, silent: true}", 20.15},
		{"the port says so in the end", "down: {bundle: B, detect: hold 90s, at: 10s}|down: {bundle: B, at: 20s, silent: true}", 20},
		{"mended and failed again in one moment", "down: {bundle: B, detect: hold 90s, at: 10s}|up: {bundle: B, at: 50s, silent: true}|down: {bundle: B, detect: hold 90s, at: 50s}", 140},
		{"a grey bundle that goes down", "grey: {bundle: B, loss: 0.3, at: 10s}|down: {bundle: B, at: 20s}|up: {bundle: B, at: 100s}", 20},
	} {
		text := "damping: none\nevents:\n  - " + strings.ReplaceAll(strings.ReplaceAll(tc.events, "|", "\n  - "), "B,", "r1-bag1--r2-bag1,") + "\n"
		res := runs(t, text)
		if got := res.Lost.Bundles[0].Until.Seconds(); got != tc.until {
			t.Errorf("%s: got %+v, want the first until %v s", tc.name, res.Lost.Bundles, tc.until)
		}
	}
}

func TestWhatIsHeldGoesDownWithItsSession(t *testing.T) {
	runs(t, `events:
  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}
  - down: {bundle: r1-bag1--r2-bag1}
  - release: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}
  - up: {bundle: r1-bag1--r2-bag1}
`)
	_, err := harness.ReadScenario("x.yaml", []byte("topology: prometheus-mini\nevents:\n  - down: {bundle: r1-bag1--r2-bag1}\n  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1}\n"))
	if err == nil || !strings.Contains(err.Error(), `x.yaml:4:20: field "events[1].hold.bundle"`) {
		t.Errorf("a hold of a bundle that is down: got %v, want it refused where it stands", err)
	}
}

func TestASampleThatRepeatsADownIsNoNewsOfIt(t *testing.T) {
	series := []damping.Sample{{At: 0, Members: 32}, {At: time.Second, Members: 0}, {At: 3 * time.Second, Members: 0}, {At: time.Minute, Members: 32}}
	sc, err := harness.ReadScenario("x.yaml", []byte("topology: prometheus-mini\ndamping: {bundle: [carrier-delay: {down: 10s}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	sc.Events = []state.Event{{Kind: "replay", Bundle: "r1-bag1--r2-bag1", File: "z.csv", Series: &series, At: 10 * time.Second}}
	res := holds(t, "x", sc)
	if b := res.Lost.Bundles[0]; b.From.Seconds() != 11 || b.Until.Seconds() != 21 {
		t.Errorf("got %+v, want from 11 to 21 s", b)
	}
}
