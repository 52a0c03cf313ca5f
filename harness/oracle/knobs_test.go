package oracle_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// three has an edge over three spines, which all originate its one prefix:
// bundle 0 has the capacity 60 and brings 100, 1 has 90 and brings 40, 2 has 30
// and brings 30, or the value zero where levels are tens.
func three(last uint64) *network {
	return newNetwork().device("s0", spine, 10).device("s1", spine, 11).device("s2", spine, 12).device("e", edge, 20).
		prefix(0, "s0", "s1", "s2").
		bundle("s0", "e", 100).bundle("s1", "e", 40).bundle("s2", "e", last).
		now(0, 60).now(1, 90).now(2, 30)
}

func tens(x uint64) uint64 { return x / 10 * 10 }

// TestWeightsAndAdvertisedValueOfEveryKnob checks what the edge of a network
// like three makes of its candidates. Shares and values are bits/s.
func TestWeightsAndAdvertisedValueOfEveryKnob(t *testing.T) {
	const no = -1 // value
	full := func() *network { return three(30) }
	zero := func() *network { return three(4) }
	missing := func() *network { return three(30).set("s2", "advertise", "disable") }
	allMissing := func() *network {
		return missing().set("s0", "advertise", "disable").set("s1", "advertise", "disable")
	}
	// double has two bundles to s0, which brings 100: their capacities are 50 and 30.
	double := func() *network {
		return newNetwork().device("s0", spine, 10).device("s1", spine, 11).device("e", edge, 20).
			prefix(100, "s0", "s1").bundle("s0", "e", 50).bundle("s1", "e", 40).bundle("s0", "e", 30)
	}
	for _, tc := range []struct {
		n      *network
		about  string
		knobs  []string // of the edge: name, value, ...
		shares []uint64
		value  int
	}{
		{full(), "all valued", []string{"weights.source", "bottleneck"}, []uint64{60, 40, 30}, 130},
		{full(), "all valued", []string{"weights.source", "received"}, []uint64{100, 40, 30}, 130},
		{double(), "two bundles of a pair", []string{"weights.source", "bottleneck"}, []uint64{50, 40, 30}, 120},
		{double(), "two bundles of a pair", []string{"weights.source", "received"}, []uint64{63, 100, 37}, 120},

		{missing(), "one missing", []string{"weights.missing", "ecmp"}, []uint64{1, 1, 1}, no},
		{missing(), "one missing", []string{"weights.missing", "skip"}, []uint64{60, 40, 0}, 100},
		{missing(), "one missing", []string{"weights.missing", "default-weight"}, []uint64{60, 40, 30}, 130},
		{missing(), "one missing", []string{"weights.missing", "ecmp", "weights.source", "received"}, []uint64{1, 1, 1}, no},
		{missing(), "one missing", []string{"weights.missing", "skip", "weights.source", "received"}, []uint64{100, 40, 0}, 100},
		{missing(), "one missing", []string{"weights.missing", "default-weight", "weights.source", "received"}, []uint64{100, 40, 30}, 130},
		{allMissing(), "all missing", []string{"weights.missing", "ecmp"}, []uint64{1, 1, 1}, no},
		{allMissing(), "all missing", []string{"weights.missing", "skip"}, []uint64{1, 1, 1}, no},
		{allMissing(), "all missing", []string{"weights.missing", "default-weight"}, []uint64{60, 90, 30}, 180},
		{double().set("s0", "advertise", "disable"), "a missing pair", []string{"weights.missing", "skip"}, []uint64{0, 40, 0}, 40},
		{double().set("s0", "advertise", "disable"), "a missing pair", []string{"weights.missing", "default-weight"}, []uint64{50, 40, 30}, 120},

		{zero(), "one zero", []string{"weights.zero", "exclude"}, []uint64{60, 40, 0}, 100},
		{zero(), "one zero", []string{"weights.zero", "ecmp"}, []uint64{1, 1, 1}, 100},
		{zero(), "one zero", []string{"weights.zero", "ecmp", "weights.missing", "skip"}, []uint64{1, 1, 1}, 100},
		{missing(), "one missing", []string{"weights.zero", "ecmp", "weights.missing", "skip"}, []uint64{60, 40, 0}, 100},

		{full(), "all valued", []string{"advertise", "bottleneck-sum"}, []uint64{60, 40, 30}, 130},
		{full(), "all valued", []string{"advertise", "aggregate-received"}, []uint64{60, 40, 30}, 170},
		{double(), "two bundles of a pair", []string{"advertise", "aggregate-received"}, []uint64{50, 40, 30}, 300},
		{missing(), "one missing", []string{"advertise", "aggregate-received"}, []uint64{1, 1, 1}, no},
		{missing(), "one missing", []string{"advertise", "aggregate-received", "weights.missing", "skip"}, []uint64{60, 40, 0}, no},
		{missing(), "one missing", []string{"advertise", "aggregate-received", "weights.missing", "default-weight"}, []uint64{60, 40, 30}, no},
		{zero(), "one zero", []string{"advertise", "aggregate-received"}, []uint64{60, 40, 0}, no},
		{full(), "all valued", []string{"advertise", "aggregate-local"}, []uint64{60, 40, 30}, 180},
		{double(), "two bundles of a pair", []string{"advertise", "aggregate-local"}, []uint64{50, 40, 30}, 120},
		{missing(), "one missing", []string{"advertise", "aggregate-local"}, []uint64{1, 1, 1}, 180},
		{allMissing(), "all missing", []string{"advertise", "aggregate-local"}, []uint64{1, 1, 1}, 180},
		{zero(), "one zero", []string{"advertise", "aggregate-local"}, []uint64{60, 40, 0}, 180},
		{full(), "all valued", []string{"advertise", "best-path"}, []uint64{60, 40, 30}, 100},
		{missing(), "one missing", []string{"advertise", "best-path"}, []uint64{1, 1, 1}, 100},
		{full().set("s0", "advertise", "disable"), "the best missing", []string{"advertise", "best-path"}, []uint64{1, 1, 1}, no},
		{full().set("s0", "advertise", "disable"), "the best missing", []string{"advertise", "best-path", "weights.missing", "default-weight"}, []uint64{60, 40, 30}, no},
		{full(), "all valued", []string{"advertise", "set", "advertise.value", "70"}, []uint64{60, 40, 30}, 70},
		{missing(), "one missing", []string{"advertise", "set", "advertise.value", "70"}, []uint64{1, 1, 1}, 70},
		{full(), "all valued", []string{"advertise", "disable"}, []uint64{60, 40, 30}, no},
	} {
		t.Run(fmt.Sprint(tc.about, tc.knobs), func(t *testing.T) {
			for i := 0; i < len(tc.knobs); i += 2 {
				tc.n.set("e", tc.knobs[i], tc.knobs[i+1])
			}
			s := settledOf(t, oracle.New(&tc.n.Topology, tens), tc.n.bundles, tc.n.devices)
			want := state.Route{Told: state.Told{Present: true, Path: []uint32{10}}}
			for i, share := range tc.shares {
				want.Set = append(want.Set, state.Member{Bundle: int32(i), Share: share})
			}
			if tc.value != no {
				want.Valued, want.Bottleneck = true, uint64(tc.value)
				want.Told.Valued, want.Told.Value = true, float32(tc.value)/8
			}
			if diff := cmp.Diff(*s.Route(tc.n.Index().Device["e"], 0), want, comparePrefixes); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func TestSumsOfEveryModeDoNotOverflow(t *testing.T) {
	for _, mode := range []string{"bottleneck-sum", "aggregate-received", "aggregate-local"} {
		n := newNetwork().device("s0", spine, 10).device("s1", spine, 11).device("e", edge, 20).
			prefix(1<<63, "s0", "s1").bundle("s0", "e", 1<<63).bundle("s1", "e", 1<<63+5).set("e", "advertise", mode)
		s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
		if got := s.Route(2, 0).Bottleneck; got != math.MaxUint64 {
			t.Errorf("%s: got %d, want %d", mode, got, uint64(math.MaxUint64))
		}
	}
}

func TestAnOwnRouteTellsItsConstantButForSetAndDisable(t *testing.T) {
	for mode, want := range map[string]state.Told{
		"bottleneck-sum":     {Present: true, Valued: true, Value: 10},
		"aggregate-received": {Present: true, Valued: true, Value: 10},
		"aggregate-local":    {Present: true, Valued: true, Value: 10},
		"best-path":          {Present: true, Valued: true, Value: 10},
		"set":                {Present: true, Valued: true, Value: 5},
		"disable":            {Present: true},
	} {
		n := newNetwork().device("s", spine, 10).device("e", edge, 20).prefix(80, "s").bundle("s", "e", 100).
			set("s", "advertise.value", "40").set("s", "advertise", mode)
		s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
		if diff := cmp.Diff(s.Route(0, 0).Told, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", mode, diff)
		}
		wantHeard := []state.Candidate{{Bundle: 0, Path: []uint32{10}, Valued: want.Valued, Value: want.Value}}
		if diff := cmp.Diff(s.Receives(1, 0), wantHeard); diff != "" {
			t.Errorf("%s: received (-got +want):\n%s", mode, diff)
		}
	}
}

func TestDivideIsByTheNeighboursAboveAndBesideThatMayHear(t *testing.T) {
	// The edge e has 90 from the spine s and a spine below that may hear it too.
	base := func() *network {
		return newNetwork().device("s", spine, 10).device("t", spine, 11).device("e", edge, 20).
			device("e2", edge, 21).device("b", bag, 30).device("b2", bag, 31).device("h", topologies.Hub, 40).device("loop", bag, 10).
			prefix(90, "s").bundle("s", "e", 100).bundle("t", "e", 100)
	}
	for _, tc := range []struct {
		name   string
		n      *network
		device string
		want   uint64
	}{
		{"neighbours below do not count, and none counts as one", base(), "e", 90},
		{"one above", base().bundle("e", "b", 8), "e", 90},
		{"two above", base().bundle("e", "b", 8).bundle("e", "h", 8), "e", 45},
		{"one beside and two above", base().bundle("e", "e2", 8).bundle("e", "b", 8).bundle("e", "b2", 8), "e", 30},
		{"rounded down", base().bundle("e", "e2", 8).bundle("e", "b", 8).bundle("e", "b2", 8).bundle("e", "h", 8), "e", 22},
		{"two bundles of a pair count once", base().bundle("e", "b", 8).bundle("e", "b2", 8).bundle("e", "b", 8), "e", 45},
		{"a down bundle does not count", base().bundle("e", "b", 8).bundle("e", "b2", 0), "e", 90},
		{"a pair with a down bundle counts", base().bundle("e", "b", 0).bundle("e", "b2", 8).bundle("e", "b", 8), "e", 45},
		{"a closed session counts", base().bundle("e", "b", 8).closed().bundle("e", "b2", 8), "e", 45},
		{"a drained neighbour counts", base().bundle("e", "b", 8).bundle("e", "b2", 8).drain("b", topologies.Drained), "e", 45},
		{"an ASN of the path does not count", base().bundle("e", "b", 8).bundle("e", "loop", 8), "e", 90},
		{"what comes from above goes to none of them", base().bundle("e", "b", 40).bundle("e2", "b", 40).bundle("e2", "b2", 8).bundle("e2", "h", 8), "e2", 40},
		{"an own route too", base().bundle("s", "e2", 8).bundle("s", "b", 8).bundle("s", "t", 8), "s", 22},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.n.set(tc.device, "divide", "equal")
			s := settledOf(t, oracle.New(&tc.n.Topology, tens), tc.n.bundles, tc.n.devices)
			r := s.Route(tc.n.Index().Device[tc.device], 0)
			if got := r.Bottleneck; got != tc.want || !r.Valued {
				t.Errorf("bottleneck: got %d, want %d", got, tc.want)
			}
			if got, want := r.Told.Value, float32(tens(tc.want))/8; got != want {
				t.Errorf("told: got %v, want %v", got, want)
			}
		})
	}
	t.Run("no value is none when divided", func(t *testing.T) {
		n := base().bundle("e", "b", 8).bundle("e", "b2", 8).set("s", "advertise", "disable").set("e", "divide", "equal")
		s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
		if r := s.Route(2, 0); r.Valued || r.Bottleneck != 0 || r.Told.Valued {
			t.Errorf("got %+v, want no value", r)
		}
	})
}

func TestTransitivityIsTheFormOfAToldValue(t *testing.T) {
	for _, tc := range []struct{ value, advertise, want string }{
		{"non-transitive", "bottleneck-sum", ""},
		{"transitive", "bottleneck-sum", "transitive"},
		{"both", "bottleneck-sum", "both"},
		{"both", "disable", ""},
	} {
		n := newNetwork().device("s", spine, 10).device("e", edge, 20).prefix(80, "s").bundle("s", "e", 100).
			set("s", "transitivity", tc.value).set("s", "advertise", tc.advertise)
		s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
		if got := s.Route(0, 0).Told.Form; got != tc.want {
			t.Errorf("%s, %s: got %q, want %q", tc.value, tc.advertise, got, tc.want)
		}
		if got := s.Route(1, 0).Told.Form; got != "" {
			t.Errorf("%s, %s: the receiver tells %q, want its own form", tc.value, tc.advertise, got)
		}
	}
}

// TestImportPolicy checks the set of the edge e, which hears of the prefix from
// its spine over bundle 0 and from its bag over bundle 1.
func TestImportPolicy(t *testing.T) {
	direct, viaBag := []state.Member{{Bundle: 0, Share: 80}}, []state.Member{{Bundle: 1, Share: 80}}
	base := func() *network {
		n := newNetwork().device("s", spine, 10).device("e", edge, 20).device("b", bag, 30).device("top", topologies.Hub, 40).
			prefix(80, "s").bundle("s", "e", 100).bundle("e", "b", 100).bundle("s", "b", 100).bundle("s", "top", 100).bundle("b", "top", 100)
		n.Prefixes[0].Class = "a"
		return n
	}
	for _, tc := range []struct {
		name string
		n    *network
		set  []state.Member
	}{
		{"nothing is rejected by default", base(), direct},
		{"another class is", base().set("e", "import.reject-classes", "b"), direct},
		{"the class is", base().set("e", "import.reject-classes", "b,a"), nil},
		{"a warm route is", base().drain("s", topologies.Warm).set("e", "import.reject-communities", "65535:0"), nil},
		{"a warm route is, and another is there", base().drain("b", topologies.Warm).set("e", "import.reject-communities", "65535:0"), direct},
		{"a route that is not warm is not", base().set("e", "import.reject-communities", "65535:0"), direct},
		{"what came from below is not told with the scope", base().now(0, 0).set("e", "import.reject-communities", "65000:1"), viaBag},
		{"what came from above is", base().now(0, 0).now(2, 0).set("e", "import.reject-communities", "65000:1"), nil},
		{"what came from above is, by others only", base().now(0, 0).now(2, 0).set("s", "import.reject-communities", "65000:1"), viaBag},
		{"other communities are on no route", base().drain("s", topologies.Warm).set("e", "import.reject-communities", "65000:2,65535:1,1:65000"), direct},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := settledOf(t, oracle.New(&tc.n.Topology, nil), tc.n.bundles, tc.n.devices)
			if diff := cmp.Diff(s.Route(1, 0).Set, tc.set); diff != "" {
				t.Errorf("set (-got +want):\n%s", diff)
			}
			if got := s.Reach(0)[1]; got != (tc.set != nil) {
				t.Errorf("reach: got %t, want %t", got, tc.set != nil)
			}
			if len(s.Receives(1, 0)) == 0 {
				t.Error("received: got nothing, want what is rejected too")
			}
		})
	}
}

func TestAnOriginDoesNotRejectItsOwn(t *testing.T) {
	n := newNetwork().device("s", spine, 10).prefix(80, "s")
	n.Prefixes[0].Class = "a"
	n.set("s", "import.reject-classes", "a")
	s := settledOf(t, oracle.New(&n.Topology, nil), n.bundles, n.devices)
	if r := s.Route(0, 0); !r.Local || !r.Told.Present || !s.Reach(0)[0] {
		t.Errorf("got %+v, want the own route told", r)
	}
}

// TestNothingPassesAClosedSession closes one of the two sessions of a pair, on
// whose bundles nothing else has to change.
func TestNothingPassesAClosedSession(t *testing.T) {
	n := newNetwork().device("s", spine, 10).device("e", edge, 20).prefix(800, "s").bundle("s", "e", 50).bundle("s", "e", 30).trial().closed()
	o := oracle.New(&n.Topology, nil)
	s := settled(t, o, n.bundles)
	if diff := cmp.Diff(s.Route(1, 0).Set, []state.Member{{Bundle: 0, Share: 50}}); diff != "" {
		t.Errorf("set (-got +want):\n%s", diff)
	}
	if s.TellsTo(0, 0, 1) || len(s.Receives(1, 0)) != 1 {
		t.Errorf("received: got %v, want nothing over bundle 1", s.Receives(1, 0))
	}
	open := []oracle.Bundle{{Capacity: 50}, {Capacity: 30}}
	want := []oracle.SessionChange{{Dir: state.Direction{Bundle: 1}, Told: true, Cut: true}}
	if diff := cmp.Diff(oracle.DiffSessions(s, settled(t, o, open)), want); diff != "" {
		t.Errorf("sessions when it opens (-got +want):\n%s", diff)
	}
}

// A knob that is added must be taken into account here, or be known to change
// nothing that lasts.
func TestEveryKnobChangesSomeEndStateOrIsKnownToChangeNone(t *testing.T) {
	none := map[string]string{
		"rib-batch":           "when a speaker decides",
		"import.max-prefixes": "ends sessions, which whoever sees it tells by Bundle.Closed",
		"drain.linger":        "how long hardware forwards on",
		"restart.stale-time":  "how long a restart is waited for",
		"restart.eor-time":    "how long a first dump is waited for",
	}
	values := map[string][]string{"advertise.value": {"16"}, "import.reject-classes": classes, "import.reject-communities": {"65000:1", "65535:0"}}
	for _, k := range topologies.Knobs() {
		_, exempt := none[k.Name]
		choices := values[k.Name]
		if len(k.Values) > 1 {
			choices = k.Values[1:]
		}
		if exempt == (len(choices) > 0) {
			t.Errorf("knob %s: known to change nothing: %t, values to try: %q", k.Name, exempt, choices)
			continue
		}
		changes := exempt
		for seed := uint64(0); seed < 5000 && !changes; seed++ {
			n, level := random(seed, false)
			n.randomKnobs(seed)
			for i := range n.Devices {
				if n.devices[i].Settings == nil {
					n.set(n.Devices[i].Name, "weights.missing", "ecmp")
				}
			}
			o := oracle.New(&n.Topology, level)
			before := o.StateOf(n.bundles, n.devices)
			for i := range n.devices {
				s := *n.devices[i].Settings
				if err := s.Set(k.Name, choices[int(seed)%len(choices)]); err != nil {
					t.Fatal(err)
				}
				n.devices[i].Settings = &s
			}
			after := o.StateOf(n.bundles, n.devices)
			changes = before.Err() == nil && after.Err() == nil && len(oracle.Diff(before, after)) > 0
		}
		if !changes {
			t.Errorf("knob %s: no state changes with it", k.Name)
		}
	}
}
