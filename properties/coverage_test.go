package properties

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/damping/dampingtest"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// The networks of the scenarios below: two regions of two planes with a fabric each,
// and what a scenario adds to that.
const twoRegions = `
topology:
  name: twoPlanes
  generate:
    regions: 2
    planes: 2
    fabrics: 1
    spines: 2
    kind: dsf
    speed: 800G
    bundles:
      spine-edge: {members: 32, length: 300m}
      edge-bag: {members: 32, length: 3km}
      bag-bag: {members: 32, length: 80km}
%s
engine: sim
`

var twoPlanes, withAggregates = fmt.Sprintf(twoRegions, ""), fmt.Sprintf(twoRegions, "    aggregates:\n      fabric: {min-supporting: {announce: 2, withdraw: 2}, suppress: false}")

// twoEdges is a bag above two edges of one fabric that have ASNs of their own.
const twoEdges = `
topology:
  name: two-edges
  devices:
    - {name: s1, role: spine, region: r1, fabric: f1, kind: dsf, asn: 64512, asic: tomahawk5}
    - {name: e1, role: edge, region: r1, fabric: f1, plane: 1, kind: dsf, asn: 64513, asic: jericho3}
    - {name: e2, role: edge, region: r1, fabric: f1, plane: 1, kind: dsf, asn: 64514, asic: jericho3}
    - {name: b1, role: bag, region: r1, plane: 1, asn: 64515, asic: jericho3}
  bundles:
    - {a: s1, b: e1, members: 4, speed: 800G, length: 300m}
    - {a: s1, b: e2, members: 4, speed: 800G, length: 300m}
    - {a: e1, b: b1, members: 4, speed: 800G, length: 80km}
    - {a: e2, b: b1, members: 4, speed: 800G, length: 80km}
  prefixes:
    - {prefix: 10.1.0.0/24, class: spine, origins: [s1]}
engine: sim
damping: none
`

// pair is an edge with one spine below it, by 64 members.
const pair = `
topology:
  name: pair
  devices:
    - {name: s1, role: spine, region: r1, fabric: f1, kind: dsf, asn: 64512, asic: tomahawk5}
    - {name: e1, role: edge, region: r1, fabric: f1, plane: 1, kind: dsf, asn: 64513, asic: jericho3}
  bundles:
    - {a: s1, b: e1, members: 64, speed: 800G, length: 300m}
  prefixes:
    - {prefix: 10.1.0.0/24, class: spine, origins: [s1]}
engine: sim
`

// hubbed is three regions on a hub, with an ASN plan, of which something goes down.
func hubbed(asn, down string) string {
	return `
topology:
  name: hub
  generate:
    regions: 3
    planes: 2
    fabrics: 1
    spines: 1
    kind: dsf
    asn: ` + asn + `
    speed: 800G
    joins:
      - {hub: 2}
    bundles:
      spine-edge: {members: 32, length: 300m}
      edge-bag: {members: 32, length: 2km}
      bag-hub: {members: 32, length: 6km}
engine: sim
damping: none
events:
  - down: ` + down + "\n"
}

// exhausted is a network whose bags have a chip for few groups, and so many far
// spines that lose members that they do not fit.
func exhausted(overflow string) string {
	text := `topology: spread-mini
engine: sim
damping: none
fib:
  overflow: ` + overflow + `
  roles:
    bag: {profile: {name: eight-groups, like: jericho3, groups: 8, source: ours}}
events:
`
	for i, members := range []int{24, 24, 24, 24, 16, 16, 20, 28} {
		fabric, spine, edge := i/2+1, i%2+1, []int{1, 2, 3, 4, 1, 2, 3, 4}[i]
		text += fmt.Sprintf("  - degrade: {bundle: r2-f%d-s%d--r2-f%d-e%d, members: %d}\n", fabric, spine, fabric, edge, members)
	}
	return text
}

// covered are, for each state, a scenario that reaches it, and one beside it that
// does not.
var covered = []struct {
	state, reaches, misses string
	timed                  bool                       // with transients looked for
	with                   func(sc *harness.Scenario) // what YAML cannot say, of the one that reaches it
}{
	{state: "level edge crossed",
		reaches: twoPlanes + "events:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 24}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 24}\n"},
	{state: "event absorbed",
		reaches: twoPlanes + "events:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 31}\n  - degrade: {bundle: r1-f1-e1--r1-bag1, members: 31}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 31}\n"},
	{state: "hysteresis held a value",
		reaches: pair + "damping: {told: [hysteresis: {error: 10%, margin: 0.5}]}\nevents:\n  - degrade: {bundle: s1--e1, members: 42}\n  - degrade: {bundle: s1--e1, members: 43}\n",
		misses:  pair + "damping: {told: [hysteresis: {error: 10%, margin: 0.5}]}\nevents:\n  - degrade: {bundle: s1--e1, members: 42}\n  - degrade: {bundle: s1--e1, members: 46}\n"},
	{state: "pace deferred",
		reaches: twoPlanes + "damping: {told: [pace: {interval: 10s}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 2, period: 4s}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 2, period: 4s}\n"},
	{state: "suppression on",
		reaches: twoPlanes + "damping: {told: [penalty: {profile: cisco-default, on-suppress: lowest}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 6, period: 10s}\n",
		misses:  twoPlanes + "damping: {told: [penalty: {profile: cisco-default, on-suppress: lowest}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 1, period: 10s}\n"},
	{state: "route withheld by damping",
		reaches: twoPlanes + "damping: {told: [penalty: {profile: cisco-default, on-suppress: withdraw}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 6, period: 10s}\n",
		misses:  twoPlanes + "damping: {told: [penalty: {profile: cisco-default, on-suppress: lowest}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 6, period: 10s}\n"},
	{state: "hold-down kept good news",
		reaches: twoPlanes + "damping: {bundle: [holddown: {time: 10s}]}\nevents:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 1, period: 10s}\n",
		misses:  twoPlanes + "damping: {bundle: [holddown: {time: 10s}]}\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n"},
	{state: "bad news kept back",
		reaches: twoPlanes + "damping: {bundle: [carrier-delay: {down: 2s}]}\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n"},
	{state: "bundle on trial used",
		reaches: twoPlanes + "damping: {bundle: [holddown: {time: 10s}]}\nevents:\n  - down: {bundle: r1-bag1--r2-bag1}\n  - up: {bundle: r1-bag1--r2-bag1}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - down: {bundle: r1-bag1--r2-bag1}\n  - up: {bundle: r1-bag1--r2-bag1}\n"},
	{state: "bundle on trial not used",
		reaches: twoPlanes + "damping: {bundle: [holddown: {time: 10s}]}\nevents:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n  - up: {bundle: r1-f1-s1--r1-f1-e1}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n  - up: {bundle: r1-f1-s1--r1-f1-e1}\n"},
	{state: "zero value excluded", with: func(sc *harness.Scenario) {
		sc.Plan = &damping.Plan{Name: "own", Told: []damping.ToldRule{{Role: "edge", Stages: []damping.ToldStage{spoiled{"below 10T", func(v *damping.Value, _ damping.Value) {
			if v.Bits < 10e12 {
				v.Bits = 0
			}
		}}}}}}
	},
		reaches: twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 4}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 4}\n"},
	{state: "missing value made equal",
		reaches: twoPlanes + "events:\n  - set: {device: r1-f1-e1, knob: advertise, value: disable}\n",
		misses:  twoPlanes + "events:\n  - set: {role: edge, knob: advertise, value: disable}\n"},
	{state: "float32 rounding changed an answer",
		reaches: twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 31}\n  - degrade: {bundle: r1-f1-s1--r1-f1-e2, members: 1}\n",
		misses:  twoPlanes + "damping: none\nspeakers: {advertise: disable}\n"},
	{state: "overflow: exceed", reaches: exhausted("exceed"), misses: exhausted("share")},
	{state: "overflow: equal", reaches: exhausted("equal"), misses: exhausted("share")},
	{state: "overflow: merge", reaches: exhausted("merge"), misses: exhausted("share")},
	{state: "overflow: share", reaches: exhausted("share"), misses: exhausted("exceed")},
	{state: "overflow: spill", reaches: exhausted("spill"), misses: exhausted("share")},
	{state: "overflow: reject", reaches: exhausted("reject"), misses: exhausted("share")},
	{state: "peak over the steady limit", reaches: exhausted("exceed"), misses: twoPlanes},
	{state: "member dropped for width",
		reaches: twoPlanes + "damping: none\nfib: {roles: {spine: {profile: {name: narrow, like: jericho3, width: 1, source: ours}}}}\n", misses: twoPlanes},
	{state: "broke before make",
		reaches: twoEdges + "fib: {devices: {b1: {profile: {name: one-group, like: jericho3, groups: 1, reserve: 0, break-first: true, source: ours}}}}\nevents:\n  - degrade: {bundle: s1--e1, members: 2}\n",
		misses:  twoEdges + "fib: {devices: {b1: {profile: {name: one-group, like: jericho3, groups: 1, reserve: 0, source: ours}}}}\nevents:\n  - degrade: {bundle: s1--e1, members: 2}\n"},
	{state: "transient black hole", timed: true,
		reaches: twoPlanes + "damping: none\nevents:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n",
		misses:  twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n"},
	{state: "transient loop", timed: true,
		reaches: twoEdges + "events:\n  - down: {bundle: s1--e2}\n", misses: twoPlanes + "damping: none\nevents:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n"},
	{state: "loss that routing does not see",
		reaches: twoPlanes + "events:\n  - grey: {bundle: r1-f1-s1--r1-f1-e1, loss: 0.3}\n",
		misses:  twoPlanes + "events:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n"},
	{state: "partition",
		reaches: twoPlanes + "events:\n  - down: {device: r1-f1-s1}\n",
		misses:  twoPlanes + "events:\n  - drain: {device: r1-f1-s1, state: drained}\n"},
	{state: "looped path dropped",
		reaches: hubbed("per-group", "{bundle: r1-f1-s1--r1-f1-e1}"), misses: hubbed("unique", "{bundle: r1-f1-s1--r1-f1-e1}")},
	{state: "path hunting",
		reaches: hubbed("unique", "{device: r1-f1-s1}"), misses: hubbed("per-group", "{device: r1-f1-s1}")},
	{state: "session ended by max-prefixes",
		reaches: twoPlanes + "events:\n  - set: {device: r1-f1-s1, knob: import.max-prefixes, value: \"1\"}\n",
		misses:  twoPlanes + "events:\n  - set: {device: r1-f1-s1, knob: import.max-prefixes, value: \"1000\", silent: true}\n"},
	{state: "updates held",
		reaches: twoPlanes + "events:\n  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}\n",
		misses:  twoPlanes + "events:\n  - reset: {bundle: r1-bag1--r2-bag1, silent: true}\n"},
	{state: "session reset while held",
		reaches: twoPlanes + "events:\n  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}\n  - reset: {bundle: r1-bag1--r2-bag1, silent: true}\n",
		misses:  twoPlanes + "events:\n  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}\n  - reset: {bundle: r1-bag2--r2-bag2, silent: true}\n"},
	{state: "restart in a degraded network",
		reaches: twoPlanes + "events:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 20}\n  - restart: {device: r1-f1-e1, takes: 5s, silent: true}\n",
		misses:  twoPlanes + "events:\n  - restart: {device: r1-f1-e1, takes: 5s, silent: true}\n"},
	{state: "drain during a flap",
		reaches: twoPlanes + "events:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 3, period: 10s}\n  - drain: {device: r1-bag1, state: warm, at: 5s}\n",
		misses:  twoPlanes + "events:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 3, period: 10s}\n  - drain: {device: r1-bag1, state: warm}\n"},
	{state: "warm path told on",
		reaches: twoPlanes + "events:\n  - drain: {device: r1-f1-s1, state: warm}\n",
		misses:  twoPlanes + "events:\n  - drain: {device: r1-f1-s1, state: drained}\n"},
	{state: "aggregate announced",
		reaches: withAggregates + "events:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n  - up: {bundle: r1-f1-s1--r1-f1-e1}\n",
		misses:  withAggregates + "events:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n"},
	{state: "aggregate withdrawn",
		reaches: withAggregates + "events:\n  - down: {bundle: r1-f1-s1--r1-f1-e1}\n",
		misses:  withAggregates + "events:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20}\n"},
	{state: "IPv6 and IPv4 differ", with: func(sc *harness.Scenario) {
		sc.Topology = dualStack(sc.Topology)
		for i := range sc.Topology.Prefixes {
			if p := &sc.Topology.Prefixes[i]; p.Prefix.Addr().Is6() {
				p.Class = "six"
			}
		}
	},
		reaches: twoPlanes + "events:\n  - set: {device: r1-f1-s1, knob: import.reject-classes, value: six}\n", misses: twoPlanes},
	{state: "event while timers run",
		reaches: twoPlanes + "events:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 3, period: 10s}\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 20, at: 5s}\n",
		misses:  twoPlanes + "events:\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20, at: 5s}\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 20, at: 5s}\n"},
	{state: "oscillation found", with: func(sc *harness.Scenario) {
		sc.Plan = &damping.Plan{Name: "restless", Told: []damping.ToldRule{{Role: "bag", Stages: []damping.ToldStage{dampingtest.Restless{}}}}}
	},
		reaches: twoPlanes + "events:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 20}\n",
		misses:  twoPlanes + "events:\n  - degrade: {bundle: r1-bag1--r2-bag1, members: 20}\n"},
}

// reachedIn plays a scenario and gives the states that it reaches.
func reachedIn(t *testing.T, text string, timed bool, with func(*harness.Scenario)) map[string]bool {
	t.Helper()
	sc, err := harness.ReadScenario("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if with != nil {
		with(sc)
	}
	opts := harness.RunOptions{Checks: []state.Check{NewCoverage()}}
	if timed {
		opts.Schedule.Mode = sim.Timed
		opts.Checks = append(opts.Checks, NewTransients(-1))
	}
	res, err := harness.Run(t.Context(), sc, opts)
	if err != nil && res.Verdict != state.Violated {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range res.Reached {
		names[r.Name] = r.Times > 0
	}
	return names
}

func TestEachStateOfBehaviourIsReachedAndNotReachedBesideIt(t *testing.T) {
	var tested []string
	for _, c := range covered {
		t.Run(c.state, func(t *testing.T) {
			if !reachedIn(t, c.reaches, c.timed, c.with)[c.state] {
				t.Error("not reached")
			}
			if reachedIn(t, c.misses, c.timed, nil)[c.state] {
				t.Error("reached where it should not be")
			}
		})
		tested = append(tested, c.state)
	}
	if want := StateNames(); !slices.Equal(tested, want) {
		t.Errorf("tested %q, want %q", tested, want)
	}
}

// What is close to a state and is none, beside those of covered.
func TestAStateIsNotReachedByWhatOnlyLooksLikeIt(t *testing.T) {
	const flap = "events:\n  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 20, count: 3, period: 10s}\n"
	const hold = "events:\n  - hold: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true}\n"
	for _, tc := range []struct {
		name, state, text string
		want              bool
	}{
		{"released, and reset in the same window", "session reset while held", hold + "  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20, at: 1s}\n  - release: {bundle: r1-bag1--r2-bag1, from: r1-bag1, silent: true, at: 1s}\n  - reset: {bundle: r1-bag1--r2-bag1, silent: true, at: 1s}\n", false},
		{"the other end released", "session reset while held", hold + "  - hold: {bundle: r1-bag1--r2-bag1, from: r2-bag1, silent: true}\n  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 20, at: 1s}\n  - release: {bundle: r1-bag1--r2-bag1, from: r2-bag1, silent: true, at: 1s}\n  - reset: {bundle: r1-bag1--r2-bag1, silent: true, at: 1s}\n", true},
		{"live again, and never drained", "drain during a flap", flap + "  - drain: {device: r1-bag1, state: live, silent: true, at: 5s}\n", false},
		{"drained, and live again", "drain during a flap", "events:\n  - drain: {device: r1-bag1, state: drained}\n" + strings.TrimPrefix(flap, "events:\n") + "  - drain: {device: r1-bag1, state: live, at: 20s}\n", true},
		{"after the last of the flap", "drain during a flap", flap + "  - drain: {device: r1-bag1, state: warm, at: 26s}\n", false},
		{"between the first and the last", "drain during a flap", flap + "  - drain: {device: r1-bag1, state: warm, at: 24s}\n", true},
	} {
		if got := reachedIn(t, twoPlanes+tc.text, false, nil)[tc.state]; got != tc.want {
			t.Errorf("%s: reached %q: got %v, want %v", tc.name, tc.state, got, tc.want)
		}
	}
}

func TestThePageListsTheStatesOfBehaviour(t *testing.T) {
	var table strings.Builder
	table.WriteString("| state | a run is in it when |\n|---|---|\n")
	for _, s := range States() {
		fmt.Fprintf(&table, "| %s | %s |\n", s.Name, s.Doc)
	}
	keepTable(t, "../docs/coverage.md", table.String())
}

func TestStatesHaveNamesAndFilesOfTheirOwn(t *testing.T) {
	files := map[string]bool{}
	for _, s := range States() {
		file := StateFile(s.Name)
		if s.Name == "" || s.Doc == "" || file == "" || files[file] {
			t.Errorf("state %q: file %q: want a name, a sentence and a file that no other has", s.Name, file)
		}
		files[file] = true
	}
}

func TestWhatIsReachedIsNotedOnceAndByManyBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	list := []state.Reached{{Name: "suppression on", Times: 3}, {Name: "partition"}, {Name: "overflow: share", Times: 1}}
	for range 2 {
		if err := NoteReached(dir, list); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "overflow-share"), filepath.Join(dir, "suppression-on")}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q and %v, want %q", found, err, want)
	}
	if err := NoteReached("", list); err != nil {
		t.Errorf("no folder: got %v, want nothing done", err)
	}
	if err := NoteReached(filepath.Join(dir, "nowhere"), list); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: got %v, want an error", err)
	}
}

// An undisturbed network reaches nothing that has to do with change.
func TestAnUndisturbedNetworkReachesNoStateOfChange(t *testing.T) {
	always := []string{"looped path dropped", "float32 rounding changed an answer"}
	for _, preset := range []string{"prometheus-mini", "spread-mini", "hub-mini"} {
		for _, damping := range []string{"none", "bag-default", "rfd-cisco", "{told: [hysteresis: {error: 10%}]}", "{told: [pace: {interval: 10s}]}"} {
			for name, reached := range reachedIn(t, "topology: "+preset+"\nengine: sim\ndamping: "+damping+"\n", false, nil) {
				if reached && !slices.Contains(always, name) {
					t.Errorf("%s, %s: reached %q", preset, damping, name)
				}
			}
		}
	}
}
