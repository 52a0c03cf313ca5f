package harness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

func miniJudge(t *testing.T) (*judge, *state.Network) {
	t.Helper()
	top, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, top.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	net := &state.Network{Topology: top, Index: top.Index(), Damping: pipeline}
	j, err := newJudge(net, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, net
}

// changed lets the judge hear of changes and returns what is allowed because of them.
func changed(t *testing.T, j *judge, now time.Duration, changes ...state.Change) []state.SessionChange {
	t.Helper()
	heard, _, err := j.hear(now, changes)
	if err != nil {
		t.Fatal(err)
	}
	damped, _, err := j.conclude(heard, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j.allowed(damped)
}

// count is how many changes of a value or of presence a flow is allowed.
func count(net *state.Network, list []state.SessionChange, from, bundle, prefix string) (told, cut int) {
	for _, s := range list {
		end := 0
		if s.Dir.FromB {
			end = 1
		}
		if net.Topology.Bundles[s.Dir.Bundle].Name != bundle || net.Topology.Devices[net.Index.Ends[s.Dir.Bundle][end]].Name != from ||
			net.Topology.Prefixes[s.Prefix].Prefix.String() != prefix || !s.Told {
			continue
		}
		if s.Cut {
			cut++
		} else {
			told++
		}
	}
	return told, cut
}

// TestBundlesThatHideEachOtherAreEachAllowedAChange restores two bundles of one
// path at once. In the bundles' order the farther one changes nothing that is
// told at the near end; its news come there second all the same.
func TestBundlesThatHideEachOtherAreEachAllowedAChange(t *testing.T) {
	j, net := miniJudge(t)
	far, near := int32(net.Index.Bundle["r1-f2-s2--r1-f2-e2"]), int32(net.Index.Bundle["r2-f4-e2--r2-bag2"])
	changed(t, j, 0, state.Change{Bundle: far, Members: 24})
	changed(t, j, 0, state.Change{Bundle: near, Members: 1})
	if held := changed(t, j, time.Second, state.Change{Bundle: far, Members: 32}, state.Change{Bundle: near, Members: 32}); len(held) > 0 {
		t.Fatalf("got %d changes allowed while good news are held down, want none", len(held))
	}
	list := changed(t, j, time.Second+damping.DefaultHoldDown)
	if told, _ := count(net, list, "r2-f4-e2", "r2-f4-s1--r2-f4-e2", "10.1.17.0/24"); told != 2 {
		t.Errorf("got %d changes allowed behind both bundles, want 2", told)
	}
	if told, _ := count(net, list, "r2-f4-e2", "r2-f4-s1--r2-f4-e2", "10.1.16.0/24"); told != 1 {
		t.Errorf("got %d changes allowed of a prefix behind the near bundle alone, want 1", told)
	}
}

// TestOneBundleIsAllowedOneChange has nothing that could hide anything.
func TestOneBundleIsAllowedOneChange(t *testing.T) {
	j, net := miniJudge(t)
	list := changed(t, j, 0, state.Change{Bundle: int32(net.Index.Bundle["r1-bag1--r2-bag1"]), Members: 24})
	flows := map[flow]int{}
	for _, s := range list {
		flows[flow{s.Dir, int(s.Prefix)}]++
	}
	if len(list) != 312 || len(flows) != 312 {
		t.Errorf("got %d changes of %d flows, want 312 of 312", len(list), len(flows))
	}
}

// TestASessionIsAllowedWhatFollowsItsDump takes all bundles of a bag down and
// up again. A session that comes up begins with what its sender held before;
// what the sender then learns over the other sessions is allowed.
func TestASessionIsAllowedWhatFollowsItsDump(t *testing.T) {
	j, net := miniJudge(t)
	var down, up []state.Change
	for _, b := range net.Index.Of[net.Index.Device["r2-bag1"]] {
		down = append(down, state.Change{Bundle: int32(b)})
		up = append(up, state.Change{Bundle: int32(b), Members: net.Topology.Bundles[b].Members})
	}
	type allowed struct{ told, cut int }
	of := func(list []state.SessionChange) (a allowed) {
		a.told, a.cut = count(net, list, "r2-bag1", "r2-f2-e1--r2-bag1", "10.2.0.0/24")
		return a
	}
	if diff := cmp.Diff(of(changed(t, j, 0, down...)).told, 0); diff != "" {
		t.Errorf("told over a session that falls (-got +want):\n%s", diff)
	}
	got := of(changed(t, j, time.Minute, up...))
	if diff := cmp.Diff(got, allowed{told: 1}, cmp.AllowUnexported(allowed{})); diff != "" {
		t.Errorf("told over a session that comes up (-got +want):\n%s", diff)
	}
}

// clock is an engine that only knows the time.
type clock struct {
	state.Engine
	now time.Duration
}

func (c clock) Now() time.Duration { return c.now }

// TestOfSeveralChangesOfABundleAtOneMomentTheLastCounts takes what is due.
func TestOfSeveralChangesOfABundleAtOneMomentTheLastCounts(t *testing.T) {
	w := &window{rig: &Rig{engine: clock{now: 5}}, line: []timedChange{
		{3, state.Change{Bundle: 1, Members: 0}, nil}, {5, state.Change{Bundle: 2, Members: 7}, nil},
		{5, state.Change{Bundle: 1, Members: 8}, nil}, {6, state.Change{Bundle: 2, Members: 9}, nil},
	}}
	want := []state.Change{{Bundle: 2, Members: 7}, {Bundle: 1, Members: 8}}
	var got []state.Change
	for _, due := range w.takeDue() {
		got = append(got, due.change)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("due (-got +want):\n%s", diff)
	}
	if len(w.line) != 1 {
		t.Errorf("got %d changes left, want 1", len(w.line))
	}
}
