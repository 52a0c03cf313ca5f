package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// planes has a spine that originates the prefix, two edges over it, a bag over
// each edge, one edge of another fabric over both bags' other sides, and a spine
// under that. The left way is bundles 0, 2 and 4, the right 1, 3 and 5.
func planes() *network {
	return newNetwork().device("s", spine, 10).device("e1", edge, 20).device("e2", edge, 20).
		device("b1", bag, 30).device("b2", bag, 31).device("far", edge, 40).device("end", spine, 50).
		prefix(0, "s").
		bundle("s", "e1", 8).bundle("s", "e2", 8).bundle("e1", "b1", 8).bundle("e2", "b2", 8).
		bundle("b1", "far", 8).bundle("b2", "far", 8).bundle("far", "end", 8)
}

func TestDrainOfADeviceSeenByOthers(t *testing.T) {
	const live, warm, drained = topologies.Live, topologies.Warm, topologies.Drained
	left, right := []state.Member{{Bundle: 4, Share: 8}}, []state.Member{{Bundle: 5, Share: 8}}
	both := append(append([]state.Member(nil), left...), right...)
	for _, tc := range []struct {
		name   string
		n      *network
		device string
		set    []state.Member
		told   state.Told
	}{
		{
			"live", planes(), "far", both,
			state.Told{Present: true, Valued: true, Value: 2, Path: []uint32{30, 20, 10}, Down: true},
		},
		{
			"a warm device tells warm what it has", planes().drain("e1", warm), "b1", []state.Member{{Bundle: 2, Share: 8}},
			state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{20, 10}, Warm: true},
		},
		{
			"a warm device itself prefers nothing", planes().drain("far", warm), "far", both,
			state.Told{Present: true, Valued: true, Value: 2, Path: []uint32{30, 20, 10}, Down: true, Warm: true},
		},
		{
			"a warm device takes its neighbours off, hops away", planes().drain("e1", warm), "far", right,
			state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{31, 20, 10}, Down: true},
		},
		{
			"all warm is used, and warm again", planes().drain("e1", warm).drain("b2", warm), "far", both,
			state.Told{Present: true, Valued: true, Value: 2, Path: []uint32{30, 20, 10}, Down: true, Warm: true},
		},
		{
			"a warm origin tells warm", planes().drain("s", warm), "s", nil,
			state.Told{Present: true, Valued: true, Value: 2, Warm: true},
		},
		{
			"warm all the way", planes().drain("s", warm), "end", []state.Member{{Bundle: 6, Share: 8}},
			state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{40, 30, 20, 10}, Down: true, Warm: true},
		},
		{
			"a drained device is not there", planes().drain("e1", drained), "far", right,
			state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{31, 20, 10}, Down: true},
		},
		{
			"behind the only one drained is nothing", planes().drain("far", drained), "end", nil, state.Told{},
		},
		{
			"a drained device hears but does not use", planes().drain("far", drained), "far", nil, state.Told{},
		},
		{
			"a drained origin tells nothing", planes().drain("s", drained), "s", nil, state.Told{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := settledOf(t, oracle.New(&tc.n.Topology, nil), tc.n.bundles, tc.n.devices)
			r := s.Route(tc.n.Index().Device[tc.device], 0)
			if diff := cmp.Diff(r.Set, tc.set); diff != "" {
				t.Errorf("set (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(r.Told, tc.told); diff != "" {
				t.Errorf("told (-got +want):\n%s", diff)
			}
		})
	}
}

func TestALongerPathIsPreferredToAWarmOne(t *testing.T) {
	// x is warm and one hop nearer than the bag, over which the edge hears the rest.
	n := newNetwork().device("s", spine, 10).device("x", spine, 11).device("e", edge, 20).device("e2", edge, 21).device("b", bag, 30).
		prefix(8, "s", "x").
		bundle("x", "e", 8).bundle("s", "e2", 8).bundle("e2", "b", 8).bundle("e", "b", 8).drain("x", topologies.Warm)
	o := oracle.New(&n.Topology, nil)
	s := settledOf(t, o, n.bundles, n.devices)
	if diff := cmp.Diff(s.Route(2, 0).Set, []state.Member{{Bundle: 3, Share: 8}}); diff != "" {
		t.Errorf("set (-got +want):\n%s", diff)
	}
	n.bundles[3].Trial = true
	s = settledOf(t, o, n.bundles, n.devices)
	if diff := cmp.Diff(s.Route(2, 0).Set, []state.Member{{Bundle: 3, Share: 8}}); diff != "" {
		t.Errorf("one on trial is preferred to a warm one: set (-got +want):\n%s", diff)
	}
}

func TestAWarmOriginUsesItsOwnRoute(t *testing.T) {
	n := newNetwork().device("s0", spine, 10).device("e", edge, 20).prefix(80, "s0", "e").bundle("s0", "e", 100).drain("e", topologies.Warm)
	s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
	want := state.Route{Local: true, Valued: true, Bottleneck: 80, Told: state.Told{Present: true, Valued: true, Value: 10, Warm: true}}
	if diff := cmp.Diff(*s.Route(1, 0), want, comparePrefixes); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestADrainedDeviceKeepsItsBottleneckValueAndItsOwnRouteOnly(t *testing.T) {
	n := planes().drain("s", topologies.Drained).drain("far", topologies.Drained)
	n.Prefixes[0].Origins = []string{"s", "e2"}
	s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
	x := n.Index()
	for device, want := range map[string]state.Route{
		"s":   {Local: true, Valued: true, Bottleneck: 16},
		"far": {Valued: true, Bottleneck: 8},
		"e1":  {},
		"end": {},
	} {
		if diff := cmp.Diff(*s.Route(x.Device[device], 0), want, comparePrefixes); diff != "" {
			t.Errorf("%s (-got +want):\n%s", device, diff)
		}
	}
	reach := s.Reach(0)
	for i, want := range []bool{true, false, true, false, true, false, false} {
		if reach[i] != want {
			t.Errorf("reach of %q: got %t, want %t", n.Devices[i].Name, reach[i], want)
		}
		if got, want := s.Drained(i), i == 0 || i == 5; got != want {
			t.Errorf("%q drained: got %t, want %t", n.Devices[i].Name, got, want)
		}
	}
}

func TestDifferencesSeeADrainMarkOrAFormAlone(t *testing.T) {
	n := planes()
	o := oracle.New(&n.Topology, nil)
	before := settled(t, o, n.bundles)
	for name, after := range map[string]*network{
		"drain mark": planes().drain("s", topologies.Warm),
		"form":       planes().set("s", "transitivity", "both"),
	} {
		s := settledOf(t, o, n.bundles, after.devices)
		want := oracle.Change{Device: 0, Prefix: 0, Path: true}
		if got := oracle.Diff(before, s); len(got) == 0 || got[0] != want {
			t.Errorf("%s: routes: got %+v, want %+v first", name, got, want)
		}
		session := oracle.SessionChange{Dir: state.Direction{Bundle: 0}, Path: true}
		if got := oracle.DiffSessions(before, s); len(got) == 0 || got[0] != session {
			t.Errorf("%s: sessions: got %+v, want %+v first", name, got, session)
		}
	}
	t.Run("none and zero are two values", func(t *testing.T) {
		o := oracle.New(&n.Topology, none)
		a := settled(t, o, n.bundles)
		b := settledOf(t, o, n.bundles, planes().set("far", "advertise", "disable").devices)
		if diff := cmp.Diff(oracle.Diff(a, b)[0], oracle.Change{Device: 5, Prefix: 0, Bottleneck: true, Told: true}); diff != "" {
			t.Errorf("routes (-got +want):\n%s", diff)
		}
		want := []oracle.SessionChange{{Dir: state.Direction{Bundle: 6}, Told: true}}
		if diff := cmp.Diff(oracle.DiffSessions(a, b), want); diff != "" {
			t.Errorf("sessions (-got +want):\n%s", diff)
		}
	})
	t.Run("a form that comes with its value is no change of its own", func(t *testing.T) {
		a := settledOf(t, o, n.bundles, planes().set("s", "transitivity", "both").set("s", "advertise", "disable").devices)
		b := settledOf(t, o, n.bundles, planes().set("s", "transitivity", "both").devices)
		want := oracle.Change{Device: 0, Prefix: 0, Bottleneck: true, Told: true}
		if got := oracle.Diff(a, b); len(got) == 0 || got[0] != want {
			t.Errorf("got %+v, want %+v first", got, want)
		}
	})
}
