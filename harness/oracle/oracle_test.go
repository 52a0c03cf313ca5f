package oracle_test

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

const (
	spine = topologies.Spine
	edge  = topologies.Edge
	bag   = topologies.Bag
)

func none(uint64) uint64 { return 0 }

// TestRuleOfOneDecision checks what the last device of a small network decides
// for its one prefix. Bundles are named by their number; shares are bits/s.
func TestRuleOfOneDecision(t *testing.T) {
	// two spines 0 and 1 that originate the prefix, under one edge
	pair := func() *network { return newNetwork().device("s0", spine, 10).device("s1", spine, 11) }
	under := func(n *network) *network { return n.device("e", edge, 20) }
	for _, tc := range []struct {
		name  string
		level func(uint64) uint64
		n     *network
		set   []state.Member
		value uint64 // bits/s
		path  []uint32
		down  bool
	}{
		{
			name: "a member counts as the least of its bundle and what it is told",
			n:    under(pair()).prefix(80, "s0", "s1").bundle("s0", "e", 100).bundle("s1", "e", 40),
			set:  []state.Member{{Bundle: 0, Share: 80}, {Bundle: 1, Share: 40}}, value: 120, path: []uint32{10},
		},
		{
			name: "without a bandwidth of its own the prefix is told as the origin's bundles at full health",
			n:    under(pair()).device("other", edge, 21).prefix(0, "s0").bundle("s0", "e", 80).bundle("s0", "other", 8).now(0, 1000).now(1, 0),
			set:  []state.Member{{Bundle: 0, Share: 88}}, value: 88, path: []uint32{10},
		},
		{
			name: "a down bundle is no candidate",
			n:    under(pair()).prefix(80, "s0", "s1").bundle("s0", "e", 0).bundle("s1", "e", 40),
			set:  []state.Member{{Bundle: 1, Share: 40}}, value: 40, path: []uint32{11},
		},
		{
			name: "a bundle on trial is not used beside another",
			n:    under(pair()).prefix(80, "s0", "s1").bundle("s0", "e", 100).trial().bundle("s1", "e", 40),
			set:  []state.Member{{Bundle: 1, Share: 40}}, value: 40, path: []uint32{11},
		},
		{
			name: "a bundle on trial does not give way to a longer path",
			n: under(pair().device("b", bag, 30).device("e1", edge, 21)).prefix(80, "s0").
				bundle("s0", "e", 100).trial().bundle("s0", "e1", 100).bundle("e1", "b", 100).bundle("e", "b", 100),
			set: []state.Member{{Bundle: 0, Share: 80}}, value: 80, path: []uint32{10},
		},
		{
			name: "bundles on trial are used where there are only such",
			n:    under(pair()).prefix(80, "s0", "s1").bundle("s0", "e", 100).trial().bundle("s1", "e", 40).trial(),
			set:  []state.Member{{Bundle: 0, Share: 80}, {Bundle: 1, Share: 40}}, value: 120, path: []uint32{10},
		},
		{
			name: "the shortest path wins over the widest",
			n: under(pair().device("b", bag, 30).device("e1", edge, 21)).prefix(800, "s0").
				bundle("s0", "e", 1).bundle("s0", "e1", 900).bundle("e1", "b", 900).bundle("e", "b", 900),
			set: []state.Member{{Bundle: 0, Share: 1}}, value: 1, path: []uint32{10},
		},
		{
			name: "a path with the device's own ASN is dropped",
			n:    newNetwork().device("s0", spine, 20).device("s1", spine, 11).device("e", edge, 20).prefix(80, "s0", "s1").bundle("s0", "e", 100).bundle("s1", "e", 40),
			set:  []state.Member{{Bundle: 1, Share: 40}}, value: 40, path: []uint32{11},
		},
		{
			name: "router id goes before bundle order for the path told",
			n:    under(pair()).prefix(80, "s0", "s1").bundle("s1", "e", 40).bundle("s0", "e", 100),
			set:  []state.Member{{Bundle: 0, Share: 40}, {Bundle: 1, Share: 80}}, value: 120, path: []uint32{10},
		},
		{
			name: "the scope is that of the member whose path is told",
			n:    newNetwork().device("b", bag, 30).device("s", spine, 10).device("e", edge, 20).prefix(80, "b", "s").bundle("s", "e", 100).bundle("e", "b", 100),
			set:  []state.Member{{Bundle: 0, Share: 80}, {Bundle: 1, Share: 80}}, value: 160, path: []uint32{30}, down: true,
		},
		{
			name: "several bundles of one pair share its value by capacity, units left over to the earlier",
			n:    under(pair()).prefix(88, "s0", "s1").bundle("s0", "e", 50).bundle("s1", "e", 40).bundle("s0", "e", 30).bundle("s0", "e", 20),
			set:  []state.Member{{Bundle: 0, Share: 45}, {Bundle: 1, Share: 40}, {Bundle: 2, Share: 26}, {Bundle: 3, Share: 17}}, value: 128, path: []uint32{10},
		},
		{
			name: "several bundles of one pair carry their sum where more is told",
			n:    under(pair()).prefix(800, "s0").bundle("s0", "e", 50).bundle("s0", "e", 30),
			set:  []state.Member{{Bundle: 0, Share: 50}, {Bundle: 1, Share: 30}}, value: 80, path: []uint32{10},
		},
		{
			name: "a bundle of a pair on trial does not count in the pair's sum",
			n:    under(pair()).prefix(800, "s0").bundle("s0", "e", 50).bundle("s0", "e", 30).trial(),
			set:  []state.Member{{Bundle: 0, Share: 50}}, value: 50, path: []uint32{10},
		},
		{
			name: "a member that is told zero gets no share", level: func(x uint64) uint64 { return x / 40 * 40 },
			n:   under(pair().device("t", spine, 12)).prefix(0, "s0", "t").bundle("s0", "e", 30).bundle("t", "e", 40),
			set: []state.Member{{Bundle: 0}, {Bundle: 1, Share: 40}}, value: 40, path: []uint32{10},
		},
		{
			name: "where all are told zero all shares are equal and zero is told on", level: none,
			n:   under(pair()).prefix(80, "s0", "s1").bundle("s0", "e", 100).bundle("s1", "e", 40),
			set: []state.Member{{Bundle: 0, Share: 1}, {Bundle: 1, Share: 1}}, path: []uint32{10},
		},
		{
			name: "sums do not overflow",
			n:    under(pair()).prefix(1<<63, "s0", "s1").bundle("s0", "e", 1<<63).bundle("s1", "e", 1<<63+5),
			set:  []state.Member{{Bundle: 0, Share: 1 << 63}, {Bundle: 1, Share: 1 << 63}}, value: math.MaxUint64, path: []uint32{10},
		},
		{
			name: "a pair's sum does not overflow either, and its shares sum to its value",
			n:    under(pair()).prefix(1<<63, "s0").bundle("s0", "e", math.MaxUint64).bundle("s0", "e", math.MaxUint64-1),
			set:  []state.Member{{Bundle: 0, Share: 1 << 63}, {Bundle: 1}}, value: 1 << 63, path: []uint32{10},
		},
		{
			name: "a told value above the range of uint64 is its maximum",
			n:    under(pair()).prefix(math.MaxUint64, "s0").bundle("s0", "e", math.MaxUint64),
			set:  []state.Member{{Bundle: 0, Share: math.MaxUint64}}, value: math.MaxUint64, path: []uint32{10},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			level := tc.level
			if level == nil {
				level = func(x uint64) uint64 { return x }
			}
			s := settled(t, oracle.New(&tc.n.Topology, tc.level), tc.n.bundles)
			got := s.Route(tc.n.Index().Device["e"], 0)
			want := state.Route{
				Set: tc.set, Valued: true, Bottleneck: tc.value,
				Told: state.Told{Present: true, Valued: true, Value: float32(float64(level(tc.value)) / 8), Path: tc.path, Down: tc.down},
			}
			if diff := cmp.Diff(*got, want, comparePrefixes); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func TestAnOriginUsesItsOwnRoute(t *testing.T) {
	n := newNetwork().device("s0", spine, 10).device("e", edge, 20).prefix(80, "s0", "e").bundle("s0", "e", 100)
	s := settled(t, oracle.New(&n.Topology, nil), n.bundles)
	for d := range 2 {
		want := state.Route{Local: true, Valued: true, Bottleneck: 80, Told: state.Told{Present: true, Valued: true, Value: 10}}
		if diff := cmp.Diff(*s.Route(d, 0), want, comparePrefixes); diff != "" {
			t.Errorf("device %d (-got +want):\n%s", d, diff)
		}
		if got := len(s.Receives(d, 0)); got != 1 {
			t.Errorf("device %d: got %d candidates, want the other origin's", d, got)
		}
	}
}

func TestExportIsValleyFreeAndNeverToAnASNInThePath(t *testing.T) {
	// Two fabrics under one bag, which has a fellow bag and a hub above it.
	n := newNetwork().
		device("s", spine, 10).device("e", edge, 20).device("e2", edge, 20).device("far", edge, 21).
		device("b", bag, 30).device("b2", bag, 31).device("h", topologies.Hub, 40).device("h2", topologies.Hub, 40).
		prefix(8, "s").
		bundle("s", "e", 8).bundle("e", "b", 8).bundle("e2", "b", 8).bundle("far", "b", 8).
		bundle("b", "b2", 8).bundle("b", "h", 8).bundle("b2", "h", 8).bundle("h", "h2", 8)
	s := settled(t, oracle.New(&n.Topology, nil), n.bundles)
	x := n.Index()
	for _, tc := range []struct {
		from   string
		bundle int32
		want   bool
		why    string
	}{
		{"s", 0, true, "its own goes everywhere"},
		{"e", 0, false, "the path holds the neighbour it came from"},
		{"e", 1, true, "from below goes up"},
		{"b", 1, false, "the path holds the ASN"},
		{"b", 2, false, "another device with the ASN in the path"},
		{"b", 3, true, "from below goes down"},
		{"b", 4, true, "from below goes across"},
		{"b", 5, true, "from below goes up"},
		{"far", 3, false, "from above does not go up"},
		{"b2", 4, false, "from across does not go across"},
		{"b2", 6, false, "from across does not go up"},
		{"h", 5, false, "the path holds the ASN"},
		{"h", 6, true, "from below goes down"},
		{"h", 7, true, "the receiver drops its own ASN, the teller does not look at it"},
		{"h2", 7, false, "nothing to tell"},
		{"s", 6, false, "not its bundle"},
	} {
		if got := s.TellsTo(x.Device[tc.from], 0, tc.bundle); got != tc.want {
			t.Errorf("%s over bundle %d: got %t, want %t: %s", tc.from, tc.bundle, got, tc.want, tc.why)
		}
	}
	reach := s.Reach(0)
	for d, want := range []bool{true, true, false, true, true, true, true, false} {
		if reach[d] != want {
			t.Errorf("reach of %q: got %t, want %t", n.Devices[d].Name, reach[d], want)
		}
	}
	if got := s.Receives(x.Device["h2"], 0); len(got) != 1 {
		t.Errorf("looped candidates of h2: got %v, want the one that it drops", got)
	}
}

func TestDifferencesSeeAScopeOrAPathAlone(t *testing.T) {
	// x can hear of the prefix from below, from above, or from below over a longer
	// path. All that it hears begins with ASN 20 and has one value. It tells s.
	n := newNetwork().
		device("s", spine, 10).device("x", bag, 30).device("below", edge, 20).device("above", topologies.Hub, 20).
		device("between", edge, 20).device("far", spine, 11).
		prefix(8, "below", "above", "far").
		bundle("s", "x", 8).bundle("below", "x", 8).bundle("x", "above", 8).bundle("between", "x", 8).bundle("far", "between", 8)
	const x = 1
	only := func(bundles ...int) []oracle.Bundle {
		b := make([]oracle.Bundle, len(n.bundles))
		for _, i := range bundles {
			b[i].Capacity = 8
		}
		return b
	}
	o := oracle.New(&n.Topology, nil)
	before := settled(t, o, only(0, 1))
	for _, tc := range []struct {
		name  string
		after []oracle.Bundle
		told  state.Told
	}{
		{"scope", only(0, 2), state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{20}, Down: true}},
		{"path", only(0, 3, 4), state.Told{Present: true, Valued: true, Value: 1, Path: []uint32{20, 11}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			after := settled(t, o, tc.after)
			if diff := cmp.Diff(after.Route(x, 0).Told, tc.told); diff != "" {
				t.Fatalf("told (-got +want):\n%s", diff)
			}
			var routes []oracle.Change
			for _, c := range oracle.Diff(before, after) {
				if c.Device == x {
					routes = append(routes, c)
				}
			}
			if diff := cmp.Diff(routes, []oracle.Change{{Device: x, Weights: true, Path: true}}); diff != "" {
				t.Errorf("routes of x (-got +want):\n%s", diff)
			}
			var sessions []oracle.SessionChange
			for _, c := range oracle.DiffSessions(before, after) {
				if !c.Cut {
					sessions = append(sessions, c)
				}
			}
			want := []oracle.SessionChange{{Dir: state.Direction{Bundle: 0, FromB: true}, Path: true}}
			if diff := cmp.Diff(sessions, want); diff != "" {
				t.Errorf("sessions that stayed up (-got +want):\n%s", diff)
			}
		})
	}
}

func TestTwoDevicesNeverPreferEachOthersDetours(t *testing.T) {
	// Were a trial to give way to a longer path, the edge would prefer the bag to
	// its own bundle and the bag the edge to its own, with two end states: neither
	// tells the other what it has from it.
	n := newNetwork().device("s", spine, 10).device("e", edge, 20).device("b", bag, 30).prefix(8, "s").
		bundle("s", "e", 8).trial().bundle("s", "b", 8).trial().bundle("e", "b", 8)
	w := newTwin(n, nil)
	direct := state.Candidate{Path: []uint32{10}, Valued: true, Value: 1}
	viaBag := []candidate{{Candidate: direct}, {Candidate: state.Candidate{Bundle: 2, Path: []uint32{30, 10}, Valued: true, Value: 1}}}
	if got := w.decide(1, 0, viaBag); got.Set[0].Bundle != 0 {
		t.Fatalf("the edge with the bag's route: got %+v, want its own", got)
	}
	s := settled(t, oracle.New(&n.Topology, nil), n.bundles)
	if diff := w.stable(s); diff != "" {
		t.Error(diff)
	}
	for d, want := range map[int][]state.Member{1: {{Bundle: 0, Share: 8}}, 2: {{Bundle: 1, Share: 8}}} {
		if diff := cmp.Diff(s.Route(d, 0).Set, want); diff != "" {
			t.Errorf("set of %q (-got +want):\n%s", n.Devices[d].Name, diff)
		}
	}
}

func TestErrNamesWhatIsWrong(t *testing.T) {
	good := func() *network {
		return newNetwork().device("s", spine, 10).device("e", edge, 20).prefix(80, "s").bundle("s", "e", 8)
	}
	// A level that is no function of its input: every decision tells another value.
	calls := uint64(0)
	restless := func(uint64) uint64 { calls += 8; return calls }
	for _, tc := range []struct {
		name  string
		n     *network
		level func(uint64) uint64
		want  string
	}{
		{"bundle to nowhere", good().bundle("e", "x", 1), nil, `topology "test": bundle "e--x#1": ends "e" and "x": want two devices`},
		{"bundle to itself", good().bundle("e", "e", 1), nil, `topology "test": bundle "e--e#1": ends "e" and "e": want two devices`},
		{"unknown origin", good().prefix(1, "s", "y"), nil, `topology "test": prefix 10.0.1.0/24: origin "y": want a device`},
		{"too few bundles", &network{Topology: good().Topology}, nil, `topology "test": states of 0 bundles: want 1`},
		{"too few devices", &network{Topology: good().Topology, bundles: good().bundles, devices: make([]oracle.Device, 1)}, nil, `topology "test": states of 1 devices: want 2`},
		{"settings without a word", good().settings("e", topologies.Settings{}), nil, `topology "test": device "e": weights.source "": want one of ["bottleneck" "received"]`},
		{"unknown drain", good().drain("e", 7), nil, `topology "test": device "e": drain "DrainState(7)": want live, warm or drained`},
		{"no end state", ring(), restless, `topology "test": prefix 10.0.0.0/24: routes do not settle in 7 sweeps up and down`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := oracle.New(&tc.n.Topology, tc.level).StateOf(tc.n.bundles, tc.n.devices)
			if s.Err() == nil || s.Err().Error() != tc.want {
				t.Fatalf("got %v, want %s", s.Err(), tc.want)
			}
			for d := range tc.n.Devices {
				for p := range tc.n.Prefixes {
					s.Route(d, p)
					s.Receives(d, p)
					s.TellsTo(d, p, 0)
					s.Drained(d)
				}
			}
		})
	}
}

// ring is a network where a change of one device's value makes its neighbours
// decide again, and they it.
func ring() *network {
	return newNetwork().device("s", spine, 10).device("e", edge, 20).device("b", bag, 30).
		prefix(80, "s").bundle("s", "e", 8).bundle("e", "b", 8)
}

func TestTheJudgeDoesNotImportTheJudged(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-test", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, p := range strings.Fields(string(out)) {
		seen = seen || p == "github.com/bagrig/bagrig/harness/state"
		if strings.HasPrefix(p, "github.com/bagrig/bagrig/speakers") || strings.HasPrefix(p, "github.com/osrg/gobgp") {
			t.Errorf("imports %s", p)
		}
	}
	if !seen {
		t.Errorf("the list of imports lacks harness/state: %q", out)
	}
}
