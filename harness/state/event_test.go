package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

var events = []struct {
	script string
	yaml   string
	event  Event
}{
	{"degrade bundle=a--b members=3", "degrade: {bundle: a--b, members: 3}", Event{Kind: "degrade", Bundle: "a--b", Members: 3}},
	{"restore all=true", "restore: {all: true}", Event{Kind: "restore", All: true}},
	{"restore device=b silent=true", "restore: {device: b, silent: true}", Event{Kind: "restore", Device: "b", Silent: true}},
	{"down device=b at=1m30s", "down: {device: b, at: 1m30s}", Event{Kind: "down", Device: "b", At: 90 * time.Second}},
	{"down bundle=a--b detect=bfd:150ms", "down: {bundle: a--b, detect: bfd 150ms}", Event{Kind: "down", Bundle: "a--b", Detect: "bfd:150ms"}},
	{"down bundle=a--b detect=carrier", "down: {bundle: a--b, detect: carrier}", Event{Kind: "down", Bundle: "a--b", Detect: "carrier"}},
	{"grey bundle=a--b loss=0.3", "grey: {bundle: a--b, loss: 0.3}", Event{Kind: "grey", Bundle: "a--b", Loss: 0.3}},
	{"down linecard=b/3 at=5s", "down: {linecard: b/3, at: 5s}", Event{Kind: "down", Domain: "linecard:b/3", At: 5 * time.Second}},
	{"restore power=r1-a", "restore: {power: r1-a}", Event{Kind: "restore", Domain: "power:r1-a"}},
	{"up bundle=a--b", "up: {bundle: a--b}", Event{Kind: "up", Bundle: "a--b"}},
	{"flap bundle=a--b members=1 count=20 period=10s", "flap: {bundle: a--b, members: 1, count: 20, period: 10s}",
		Event{Kind: "flap", Bundle: "a--b", Members: 1, Count: 20, Period: 10 * time.Second}},
	{"synchronised bundles=a--b,b--c members=3 count=2 period=1m30s", "synchronised: {bundles: [a--b, b--c], members: 3, count: 2, period: 1m30s}",
		Event{Kind: "synchronised", Bundles: "a--b,b--c", Members: 3, Count: 2, Period: 90 * time.Second}},
	{"ramp bundle=a--b from=4 to=0 over=1m0s steps=2", "ramp: {bundle: a--b, from: 4, to: 0, over: 1m0s, steps: 2}",
		Event{Kind: "ramp", Bundle: "a--b", Start: 4, Over: time.Minute, Steps: 2}},
	{"ramp bundle=a--b from=0 to=4 over=10s steps=4 at=5s", "ramp: {bundle: a--b, from: 0, to: 4, over: 10s, steps: 4, at: 5s}",
		Event{Kind: "ramp", Bundle: "a--b", End: 4, Over: 10 * time.Second, Steps: 4, At: 5 * time.Second}},
	{"replay bundle=a--b file=optical-link", "replay: {bundle: a--b, file: optical-link}", Event{Kind: "replay", Bundle: "a--b", File: "optical-link"}},
	{"replay bundle=a--b file=../my: flap.csv", `replay: {bundle: a--b, file: "../my: flap.csv"}`, Event{Kind: "replay", Bundle: "a--b", File: "../my: flap.csv"}},
	{"set role=bag knob=advertise value=best-path", "set: {role: bag, knob: advertise, value: best-path}",
		Event{Kind: "set", Role: "bag", Knob: "advertise", Value: "best-path"}},
	{"set device=b knob=import.reject-communities value=65535:0", `set: {device: b, knob: import.reject-communities, value: "65535:0"}`,
		Event{Kind: "set", Device: "b", Knob: "import.reject-communities", Value: "65535:0"}},
	{"drain plane=2 region=r1 state=warm", "drain: {plane: 2, region: r1, state: warm}", Event{Kind: "drain", Plane: 2, Region: "r1", State: "warm"}},
	{"drain device=b state=live", "drain: {device: b, state: live}", Event{Kind: "drain", Device: "b", State: "live"}},
	{"reset bundle=a--b", "reset: {bundle: a--b}", Event{Kind: "reset", Bundle: "a--b"}},
	{"restart device=b takes=5s", "restart: {device: b, takes: 5s}", Event{Kind: "restart", Device: "b", Takes: 5 * time.Second}},
	{"hold bundle=a--b from=b", "hold: {bundle: a--b, from: b}", Event{Kind: "hold", Bundle: "a--b", From: "b"}},
	{"release bundle=a--b from=a", "release: {bundle: a--b, from: a}", Event{Kind: "release", Bundle: "a--b", From: "a"}},
}

func TestAllFormsOfAnEventAreOne(t *testing.T) {
	for _, c := range events {
		if got := c.event.String(); got != c.script {
			t.Errorf("script: got %q, want %q", got, c.script)
		}
		if got := c.event.YAML(); got != c.yaml {
			t.Errorf("YAML: got %q, want %q", got, c.yaml)
		}
		got, err := ParseEvent(c.event.Kind, c.event.Fields())
		if err != nil {
			t.Errorf("%s: %v", c.script, err)
		}
		if d := cmp.Diff(c.event, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.script, d)
		}
	}
}

func TestEveryKindIsTestedAndDocumented(t *testing.T) {
	for _, k := range Kinds() {
		found := false
		for _, c := range events {
			found = found || c.event.Kind == k.Name
		}
		if !found || k.Doc == "" {
			t.Errorf("kind %q: in the table of this test: %v, documented: %v", k.Name, found, k.Doc != "")
		}
	}
}

func TestMistakesInAnEventNameTheFieldAndItsValue(t *testing.T) {
	for _, c := range []struct {
		kind   string
		fields map[string]string
		want   string
	}{
		{"explode", nil, `event explode: kind "explode": want one of degrade, restore, down, up, grey, flap, synchronised, ramp, replay, set, drain, reset, restart, hold, release`},
		{"degrade", map[string]string{"bundle": "a--b"}, `event degrade: members "": missing`},
		{"degrade", map[string]string{"bundle": "a--b", "members": "0"}, `event degrade: members "0": want 1 to 4096`},
		{"degrade", map[string]string{"bundle": "a--b", "members": "-1"}, `members "-1"`},
		{"degrade", map[string]string{"bundle": "a--b", "members": "5000"}, `members "5000"`},
		{"degrade", map[string]string{"bundle": "a--b", "members": "many"}, `members "many"`},
		{"degrade", map[string]string{"members": "3"}, `target "0": want exactly one of bundle`},
		{"degrade", map[string]string{"bundle": "a--b", "members": "3", "colour": "red"}, `colour "red": unknown field`},
		{"down", map[string]string{"bundle": "a--b", "device": "a"}, `target "2": want exactly one of bundle, device`},
		{"restore", map[string]string{"all": "yes"}, `all "yes": want true`},
		{"flap", map[string]string{"bundle": "a--b", "members": "3", "count": "0", "period": "1s"}, `count "0"`},
		{"flap", map[string]string{"bundle": "a--b", "members": "3", "count": "2", "period": "1ns"}, `period "1ns"`},
		{"ramp", map[string]string{"bundle": "a--b", "from": "-1", "to": "1", "over": "1s", "steps": "1"}, `from "-1": want 0 to 4096`},
		{"ramp", map[string]string{"bundle": "a--b", "from": "a", "to": "1", "over": "1s", "steps": "1"}, `from "a": want 0 to 4096`},
		{"ramp", map[string]string{"bundle": "a--b", "from": "2", "to": "1", "over": "0s", "steps": "1"}, `over "0s": want a duration`},
		{"ramp", map[string]string{"bundle": "a--b", "from": "2", "to": "1", "over": "1s", "steps": "0"}, `steps "0": want 1 to 4096`},
		{"ramp", map[string]string{"bundle": "a--b", "to": "1", "over": "1s", "steps": "1"}, `from "": missing`},
		{"replay", map[string]string{"bundle": "a--b"}, `file "": missing`},
		{"synchronised", map[string]string{"bundle": "a--b", "members": "1", "count": "1", "period": "2s"}, `bundle "a--b": unknown field`},
		{"up", map[string]string{"bundle": "a--b", "at": "-1s"}, `at "-1s"`},
		{"set", map[string]string{"role": "tor", "knob": "advertise", "value": "set"}, `role "tor": want rack`},
		{"set", map[string]string{"all": "true", "knob": "colour", "value": "red"}, `knob "colour": knob "colour": want one of weights.source`},
		{"drain", map[string]string{"plane": "0", "state": "warm"}, `plane "0"`},
		{"drain", map[string]string{"plane": "1", "state": "wet"}, `state "wet": want live, warm or drained`},
	} {
		_, err := ParseEvent(c.kind, c.fields)
		var fe *FieldError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: got %v, want %q", c.kind, c.fields, err, c.want)
		}
	}
}

func TestEventsBecomeChangesInTime(t *testing.T) {
	topology := &topologies.Topology{
		Devices: []topologies.Device{
			{Name: "a", Role: topologies.Edge, Plane: 1, Region: "r1"}, {Name: "b", Role: topologies.Bag, Plane: 1, Region: "r1", Power: "p", Units: 1, LineCards: 3},
			{Name: "c", Role: topologies.Bag, Plane: 1, Region: "r2"},
		},
		Bundles: []topologies.Bundle{{Name: "a--b", A: "a", B: "b", Members: 4}, {Name: "b--c", A: "b", B: "c", Members: 8}},
	}
	at := func(after time.Duration, bundle int32, members int) Timed {
		return Timed{after, Change{Bundle: bundle, Members: members}}
	}
	loss := func(bundle int32, part float64) Timed {
		return Timed{0, Change{Kind: SetLoss, Bundle: bundle, Loss: part}}
	}
	for _, c := range []struct {
		event   Event
		members []int
		want    []Timed
	}{
		{Event{Kind: "degrade", Bundle: "b--c", Members: 7}, []int{4, 8}, []Timed{at(0, 1, 7)}},
		{Event{Kind: "restore", All: true}, []int{1, 2}, []Timed{at(0, 0, 4), loss(0, 0), at(0, 1, 8), loss(1, 0)}},
		{Event{Kind: "restore", Device: "a"}, []int{1, 2}, []Timed{at(0, 0, 4), loss(0, 0)}},
		{Event{Kind: "down", Bundle: "b--c", Detect: "hold 90s"}, []int{4, 8}, []Timed{{0, Change{Kind: Fail, Bundle: 1, After: 90 * time.Second}}}},
		{Event{Kind: "down", Domain: "power:p", Detect: "bfd 150ms"}, []int{4, 0}, []Timed{
			{0, Change{Kind: Fail, After: 150 * time.Millisecond}}, {0, Change{Kind: Fail, Bundle: 1, After: 150 * time.Millisecond}}}},
		{Event{Kind: "down", Domain: "linecard:b/1"}, []int{4, 8}, []Timed{at(0, 0, 2), at(0, 1, 6)}},
		{Event{Kind: "down", Domain: "linecard:b/1"}, []int{1, 8}, []Timed{at(0, 0, 1), at(0, 1, 6)}},
		{Event{Kind: "restore", Domain: "linecard:b/1"}, []int{1, 8}, []Timed{at(0, 0, 4), loss(0, 0), at(0, 1, 8), loss(1, 0)}},
		{Event{Kind: "up", Domain: "linecard:b/1"}, []int{1, 8}, nil},
		{Event{Kind: "grey", Device: "b", Loss: 0.5}, []int{4, 0}, []Timed{loss(0, 0.5)}},
		{Event{Kind: "down", Device: "b"}, []int{4, 8}, []Timed{at(0, 0, 0), at(0, 1, 0)}},
		{Event{Kind: "up", Device: "b"}, []int{0, 3}, []Timed{at(0, 0, 4), loss(0, 0)}},
		{Event{Kind: "flap", Bundle: "a--b", Members: 1, Count: 2, Period: 10 * time.Second}, []int{3, 8},
			[]Timed{at(0, 0, 1), at(5*time.Second, 0, 3), at(10*time.Second, 0, 1), at(15*time.Second, 0, 3)}},
		{Event{Kind: "synchronised", Bundles: "b--c,a--b", Members: 1, Count: 2, Period: 10 * time.Second}, []int{3, 8}, []Timed{
			at(0, 1, 1), at(0, 0, 1), at(5*time.Second, 1, 8), at(5*time.Second, 0, 3),
			at(10*time.Second, 1, 1), at(10*time.Second, 0, 1), at(15*time.Second, 1, 8), at(15*time.Second, 0, 3)}},
		{Event{Kind: "ramp", Bundle: "b--c", Start: 8, End: 1, Over: 10, Steps: 3}, []int{4, 8}, []Timed{at(0, 1, 8), at(3, 1, 6), at(6, 1, 4), at(10, 1, 1)}},
		{Event{Kind: "ramp", Bundle: "a--b", End: 4, Over: 1000 * time.Hour, Steps: 4}, []int{4, 8},
			[]Timed{at(0, 0, 0), at(250*time.Hour, 0, 1), at(500*time.Hour, 0, 2), at(750*time.Hour, 0, 3), at(1000*time.Hour, 0, 4)}},
		{Event{Kind: "replay", Bundle: "a--b", Series: &[]damping.Sample{{At: 0, Members: 4}, {At: 7, Members: 0}, {At: 9, Members: 2}}}, []int{4, 8}, []Timed{at(0, 0, 4), at(7, 0, 0), at(9, 0, 2)}},
		{Event{Kind: "set", Role: "bag", Knob: "divide", Value: "equal"}, []int{4, 8}, []Timed{
			{0, Change{Kind: SetKnob, Device: 1, Knob: "divide", Value: "equal"}}, {0, Change{Kind: SetKnob, Device: 2, Knob: "divide", Value: "equal"}}}},
		{Event{Kind: "drain", Plane: 1, Region: "r1", State: "drained"}, []int{4, 8}, []Timed{{0, Change{Kind: SetDrain, Device: 1, Drain: topologies.Drained}}}},
		{Event{Kind: "restart", Device: "b", Takes: 5 * time.Second}, []int{4, 8}, []Timed{
			{0, Change{Kind: Stop, Device: 1}}, {5 * time.Second, Change{Kind: StartAgain, Device: 1}}}},
		{Event{Kind: "reset", Bundle: "b--c"}, []int{4, 8}, []Timed{{0, Change{Kind: Reset, Bundle: 1}}}},
		{Event{Kind: "hold", Bundle: "b--c", From: "c"}, []int{4, 8}, []Timed{{0, Change{Kind: Hold, Bundle: 1, FromB: true}}}},
		{Event{Kind: "release", Bundle: "b--c", From: "b"}, []int{4, 8}, []Timed{{0, Change{Kind: Release, Bundle: 1}}}},
	} {
		got, err := c.event.Expand(topology, topology.Index(), c.members, NewFailing(topology))
		if err != nil {
			t.Errorf("%v: %v", c.event, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.event, d)
		}
	}
	for _, c := range []struct {
		event   Event
		members []int
	}{
		{Event{Kind: "degrade", Bundle: "b--c", Members: 8}, []int{4, 8}},
		{Event{Kind: "degrade", Bundle: "c--d", Members: 1}, []int{4, 8}},
		{Event{Kind: "down", Device: "d"}, []int{4, 8}},
		{Event{Kind: "down"}, []int{4, 8}},
		{Event{Kind: "flap", Bundle: "a--b", Members: 1, Count: 1, Period: time.Second}, []int{0, 8}},
		{Event{Kind: "synchronised", Bundles: "a--b,a--b", Members: 1, Count: 1, Period: 2}, []int{4, 8}},
		{Event{Kind: "synchronised", Bundles: "a--b, b--c", Members: 1, Count: 1, Period: 2}, []int{4, 8}},
		{Event{Kind: "synchronised", Bundles: "a--b,b--c", Members: 4, Count: 1, Period: 2}, []int{4, 8}},
		{Event{Kind: "synchronised", Members: 1, Count: 1, Period: 2}, []int{4, 8}},
		{Event{Kind: "ramp", Bundle: "a--b", Start: 5, End: 1, Over: 10, Steps: 3}, []int{4, 8}},
		{Event{Kind: "ramp", Bundle: "a--b", Start: 1, End: 5, Over: 10, Steps: 3}, []int{4, 8}},
		{Event{Kind: "ramp", Bundle: "a--b", Start: 4, End: 4, Over: 10, Steps: 1}, []int{4, 8}},
		{Event{Kind: "ramp", Bundle: "a--b", Start: 4, End: 1, Over: 10, Steps: 4}, []int{4, 8}},
		{Event{Kind: "replay", Bundle: "a--b", File: "optical-link"}, []int{4, 8}},
		{Event{Kind: "replay", Bundle: "a--b", File: "nope"}, []int{4, 8}},
		{Event{Kind: "replay", Bundle: "a--b", Series: &[]damping.Sample{}}, []int{4, 8}},
		{Event{Kind: "replay", Bundle: "a--b", Series: &[]damping.Sample{{At: 5, Members: 4}, {At: 5, Members: 1}}}, []int{4, 8}},
		{Event{Kind: "replay", Bundle: "a--b", Series: &[]damping.Sample{{At: 0, Members: -1}}}, []int{4, 8}},
		{Event{Kind: "none", All: true}, []int{4, 8}},
		{Event{Kind: "set", Device: "d", Knob: "divide", Value: "equal"}, []int{4, 8}},
		{Event{Kind: "set", Device: "a", Knob: "divide", Value: "twice"}, []int{4, 8}},
		{Event{Kind: "drain", Plane: 7, State: "warm"}, []int{4, 8}},
		{Event{Kind: "reset", Bundle: "a--b"}, []int{0, 8}},
		{Event{Kind: "hold", Bundle: "a--b", From: "c"}, []int{4, 8}},
	} {
		if got, err := c.event.Expand(topology, topology.Index(), c.members, NewFailing(topology)); err == nil {
			t.Errorf("%v: got %v, want an error", c.event, got)
		}
	}
}

func TestCountersAddAndSubtractEveryField(t *testing.T) {
	a := Counters{1, 2, 3, 4, 5, 6, 7}
	b := Counters{10, 20, 30, 40, 50, 60, 70}
	if got := a.Add(b).Sub(a); got != b {
		t.Errorf("got %+v, want %+v", got, b)
	}
}

// TestDomainsThatFailTogetherComeBackOneByOne deals 12 members over the three cards
// of b: each card has two of a--b or one, and three or two of b--c.
func TestDomainsThatFailTogetherComeBackOneByOne(t *testing.T) {
	topology := &topologies.Topology{
		Name: "t",
		Devices: []topologies.Device{
			{Name: "a", Role: topologies.Edge, Units: 1, Hall: "h"}, {Name: "b", Role: topologies.Bag, Units: 1, LineCards: 3, Power: "p"}, {Name: "c", Role: topologies.Bag, Units: 1},
		},
		Bundles: []topologies.Bundle{{Name: "a--b", A: "a", B: "b", Members: 4}, {Name: "b--c", A: "b", B: "c", Members: 8}},
	}
	ix, members, failing := topology.Index(), []int{4, 7}, NewFailing(topology)
	for _, step := range []struct {
		event Event
		want  [2]int
	}{
		{Event{Kind: "down", Domain: "linecard:b/1"}, [2]int{2, 6}},
		{Event{Kind: "down", Domain: "linecard:b/2"}, [2]int{1, 3}},
		{Event{Kind: "up", Domain: "linecard:b/1"}, [2]int{3, 5}},
		{Event{Kind: "down", Domain: "power:p"}, [2]int{0, 0}},
		{Event{Kind: "down", Domain: "hall:h"}, [2]int{0, 0}},
		{Event{Kind: "up", Domain: "power:p"}, [2]int{0, 5}},
		{Event{Kind: "restore", Domain: "hall:h"}, [2]int{3, 5}},
		{Event{Kind: "degrade", Bundle: "b--c", Members: 2}, [2]int{3, 2}},
		{Event{Kind: "up", Domain: "linecard:b/2"}, [2]int{4, 2}},
	} {
		changes, err := step.event.Expand(topology, ix, members, failing)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Change.Kind == SetMembers {
				members[c.Change.Bundle] = c.Change.Members
				if step.event.Domain == "" {
					failing.Forget(c.Change.Bundle)
				}
			}
		}
		if got := [2]int{members[0], members[1]}; got != step.want {
			t.Errorf("after %v: got members %v, want %v", step.event, got, step.want)
		}
	}
}
