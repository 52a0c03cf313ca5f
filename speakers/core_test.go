package speakers_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// unit is a capacity in bits/s that float32 holds exactly in bytes/s, as do
// its small multiples, so that the numbers of a test are not rounded.
const unit = 8 << 30

// The speaker under test is edgeASN; its sessions are named by their bundles.
const (
	edgeASN = 100

	spine2 int32 = 10 // to device 2
	spine1 int32 = 11 // to device 1, so bundles and router ids ascend differently
	bag8   int32 = 12 // to device 8
	edge5  int32 = 13 // to device 5
	bag8b  int32 = 14 // to device 8, a second bundle
)

// asnOf is the ASN of a neighbour.
func asnOf(device int32) uint32 { return 200 + uint32(device) }

// edge is the configuration of an edge with sessions to two spines, a bag
// and another edge, 4 units each, and three prefixes of which it originates
// prefix 2 with 8 units.
func edge() speakers.Config {
	session := func(bundle, device int32, role topologies.Role) speakers.Session {
		return speakers.Session{Bundle: bundle, Neighbor: device, NeighborASN: asnOf(device), NeighborRole: role, Capacity: 4 * unit}
	}
	return speakers.Config{
		ASN: edgeASN, Role: topologies.Edge, Prefixes: 3,
		Sessions: []speakers.Session{
			session(spine2, 2, topologies.Spine), session(spine1, 1, topologies.Spine),
			session(bag8, 8, topologies.Bag), session(edge5, 5, topologies.Edge),
		},
		Origins: []speakers.Origin{{Prefix: 2, Bandwidth: 8 * unit}},
	}
}

// twoBundles is edge with a second bundle to the bag.
func twoBundles() speakers.Config {
	cfg := edge()
	second := cfg.Sessions[2]
	second.Bundle = bag8b
	cfg.Sessions = append(cfg.Sessions, second)
	return cfg
}

func held(t time.Duration) damping.Pipeline {
	return damping.Pipeline{Bundle: []damping.BundleStage{damping.HoldDown{T: t}}}
}

// route is a route with a value of n units and the given AS_PATH.
func route(n float64, path ...uint32) speakers.Route {
	return speakers.Route{Path: path, Valued: true, Value: units(n)}
}

// unvalued is a route without link bandwidth.
func unvalued(path ...uint32) speakers.Route { return speakers.Route{Path: path} }

// units is n units in bytes/s.
func units(n float64) float32 { return float32(n * unit / 8) }

func announce(bundle int32, r speakers.Route) speakers.Input {
	return speakers.Input{Kind: speakers.Announce, Bundle: bundle, Route: &r}
}

func withdraw(bundle int32) speakers.Input {
	return speakers.Input{Kind: speakers.Withdraw, Bundle: bundle}
}

func capacity(bundle int32, bits uint64) speakers.Input {
	return speakers.Input{Kind: speakers.Capacity, Bundle: bundle, Capacity: bits}
}

func sessionDown(bundle int32) speakers.Input {
	return speakers.Input{Kind: speakers.SessionDown, Bundle: bundle}
}

var originate = speakers.Input{Kind: speakers.Originate}

// step is Core.Step without an error.
func step(t testing.TB, c *speakers.Core, now time.Duration, inputs ...speakers.Input) []speakers.Effect {
	t.Helper()
	effects, err := c.Step(now, inputs, nil)
	if err != nil {
		t.Fatalf("step at %v: %v", now, err)
	}
	return effects
}

// fed is a core that has taken the inputs in one step at time 0.
func fed(t testing.TB, cfg speakers.Config, inputs ...speakers.Input) *speakers.Core {
	t.Helper()
	c := speakers.New(cfg)
	step(t, c, 0, inputs...)
	return c
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got + want -\n%s", what, diff)
	}
}

func TestEffectsAreInOrder(t *testing.T) {
	one := []speakers.Input{announce(spine1, route(2, 201, 7))}
	both := append(one, announce(spine2, route(2, 202, 7)))
	tell := func(n float64, path ...uint32) speakers.Effect {
		return speakers.Effect{Kind: speakers.Tell, Told: speakers.Told{Present: true, Valued: true, Value: units(n), Path: path}}
	}
	down := func(e speakers.Effect) speakers.Effect {
		e.Told.Down = true
		return e
	}
	program := func(hops ...speakers.Hop) speakers.Effect {
		return speakers.Effect{Kind: speakers.Program, Hops: hops}
	}
	untell, unprogram := speakers.Effect{Kind: speakers.Untell}, speakers.Effect{Kind: speakers.Unprogram}
	cases := []struct {
		name          string
		before, after []speakers.Input
		want          []speakers.Effect
	}{
		{"an announcement after the FIB has it", nil, one,
			[]speakers.Effect{program(speakers.Hop{Bundle: spine1, Share: 2 * unit}), tell(2, 201, 7)}},
		{"a changed value too", one, []speakers.Input{announce(spine1, route(1, 201, 7))},
			[]speakers.Effect{program(speakers.Hop{Bundle: spine1, Share: unit}), tell(1, 201, 7)}},
		{"a withdrawal before the FIB loses the route", one, []speakers.Input{withdraw(spine1)},
			[]speakers.Effect{untell, unprogram}},
		{"so when the session falls", one, []speakers.Input{sessionDown(spine1)},
			[]speakers.Effect{untell, unprogram}},
		{"so when the bundle goes down", one, []speakers.Input{capacity(spine1, 0)},
			[]speakers.Effect{untell, unprogram}},
		{"a change of shares alone programs and tells nothing", both,
			[]speakers.Input{announce(spine1, route(1, 201, 7)), announce(spine2, route(3, 202, 7))},
			[]speakers.Effect{program(speakers.Hop{Bundle: spine2, Share: 3 * unit}, speakers.Hop{Bundle: spine1, Share: unit})}},
		{"a change of the told path alone tells and programs nothing", one,
			[]speakers.Input{announce(spine1, route(2, 201, 9))}, []speakers.Effect{tell(2, 201, 9)}},
		{"a value of 0 that is withdrawn tells", []speakers.Input{announce(spine1, route(0, 201, 7))},
			[]speakers.Input{announce(spine1, unvalued(201, 7))},
			[]speakers.Effect{{Kind: speakers.Tell, Told: speakers.Told{Present: true, Path: []uint32{201, 7}}}}},
		{"a change of the scope alone tells", one, []speakers.Input{withdraw(spine1), announce(bag8, route(2, 201, 7))},
			[]speakers.Effect{program(speakers.Hop{Bundle: bag8, Share: 2 * unit}), down(tell(2, 201, 7))}},
		{"a path that no neighbour may hear any more is withdrawn before the FIB changes",
			[]speakers.Input{announce(bag8, route(2, 208, 7))}, []speakers.Input{announce(bag8, route(1, 208, 201, 202))},
			[]speakers.Effect{untell, program(speakers.Hop{Bundle: bag8, Share: unit})}},
		{"and told when they may again", []speakers.Input{announce(bag8, route(1, 208, 201, 202))},
			[]speakers.Input{announce(bag8, route(1, 208, 7))}, []speakers.Effect{down(tell(1, 208, 7))}},
		{"a path that nobody may hear is programmed and not told", nil,
			[]speakers.Input{announce(bag8, route(1, 208, 201, 202))},
			[]speakers.Effect{program(speakers.Hop{Bundle: bag8, Share: unit})}},
		{"nor withdrawn", []speakers.Input{announce(bag8, route(1, 208, 201, 202))},
			[]speakers.Input{withdraw(bag8)}, []speakers.Effect{unprogram}},
		{"an announcement and its withdrawal in one batch are nothing", nil, append(one, withdraw(spine1)), nil},
		{"so are a withdrawal and the same announcement", one, append([]speakers.Input{withdraw(spine1)}, one...), nil},
		{"hearing the same again is nothing", both, both, nil},
		{"nor is the other form of the same", one,
			[]speakers.Input{announce(spine1, speakers.Route{Path: []uint32{201, 7}, LocalPref: speakers.DefaultLocalPref, Valued: true, Value: units(2)})}, nil},
		{"withdrawing what was never there is nothing", nil, []speakers.Input{withdraw(spine1), sessionDown(spine2)}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			core := fed(t, edge(), c.before...)
			same(t, "effects", step(t, core, 0, c.after...), c.want)
			same(t, "effects of an empty step", step(t, core, 0), []speakers.Effect(nil))
		})
	}
}

func TestEffectsGoByPrefixAndAreAppended(t *testing.T) {
	core := speakers.New(edge())
	in := announce(spine1, route(2, 201, 7))
	in.Prefix = 1
	effects, err := core.Step(0, []speakers.Input{originate, in, announce(spine1, route(2, 201, 7))}, make([]speakers.Effect, 1))
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, e := range effects[1:] {
		got = append(got, e.Prefix)
	}
	same(t, "prefixes", got, []int32{0, 0, 1, 1, 2})
}

func TestSessionDownDropsItsCandidatesAlone(t *testing.T) {
	core := fed(t, edge(), announce(spine1, route(2, 201, 7)), announce(spine2, route(1, 202, 7)))
	step(t, core, 0, speakers.Input{Kind: speakers.SessionUp, Bundle: spine1}, sessionDown(spine1))
	same(t, "candidates", core.Candidates(0, nil), []speakers.Candidate{{
		Bundle: spine2, Route: speakers.Route{Path: []uint32{202, 7}, LocalPref: 100, Valued: true, Value: units(1)},
	}})
	same(t, "hops", core.Decision(0).Hops, []speakers.Hop{{Bundle: spine2, Share: unit}})
}

func TestBundleIsUpWhileItsSessionIs(t *testing.T) {
	core := speakers.New(edge())
	for _, c := range []struct {
		kind speakers.InputKind
		want bool
	}{{speakers.SessionDown, false}, {speakers.SessionUp, true}, {speakers.SessionUp, true}, {speakers.SessionDown, false}} {
		step(t, core, 0, speakers.Input{Kind: c.kind, Bundle: bag8})
		got, ok := core.Bundle(bag8)
		if want := (speakers.Bundle{Up: c.want, Passed: damping.Passed{Capacity: 4 * unit}}); !ok || got != want {
			t.Errorf("after %v: got %+v, %v, want %+v", c.kind, got, ok, want)
		}
	}
	if got, ok := core.Bundle(9); ok {
		t.Errorf("bundle 9: got %+v, want none", got)
	}
}

func TestBadInputIsRefusedAndChangesNothing(t *testing.T) {
	good := announce(spine1, route(1, 201, 7))
	contradiction := topologies.DefaultSettings()
	contradiction.Advertise = topologies.AdvertiseSet
	cases := []struct {
		in   speakers.Input
		want string
	}{
		{announce(9, route(1, 201)), "announce: bundle 9: not one of this speaker's 4"},
		{sessionDown(-1), "session down: bundle -1: not one of this speaker's 4"},
		{speakers.Input{Kind: speakers.SessionUp, Bundle: math.MaxInt32}, "session up: bundle 2147483647: not one of this speaker's 4"},
		{speakers.Input{Kind: speakers.SessionUp, Bundle: math.MinInt32}, "session up: bundle -2147483648: not one of this speaker's 4"},
		{capacity(bag8b, 0), "capacity: bundle 14: not one of this speaker's 4"},
		{speakers.Input{Kind: speakers.Announce, Bundle: spine1, Prefix: 3}, "announce: prefix 3: want 0 to 2"},
		{speakers.Input{Kind: speakers.Withdraw, Bundle: spine1, Prefix: -1}, "withdraw: prefix -1: want 0 to 2"},
		{speakers.Input{Kind: speakers.Announce, Bundle: spine1}, "announce: no route"},
		{speakers.Input{Bundle: spine1}, "InputKind(0): unknown kind of input"},
		{speakers.Input{Kind: 200, Bundle: 9}, "InputKind(200): unknown kind of input"},
		{drainTo(3), "drain: DrainState(3): want live, warm or drained"},
		{speakers.Input{Kind: speakers.Configure}, "configure: no settings"},
		{speakers.Input{Kind: speakers.Configure, Settings: &contradiction}, `advertise "set": want advertise.value, the capacity to tell`},
	}
	for _, c := range cases {
		core := speakers.New(edge())
		kept := []speakers.Effect{{Kind: speakers.Untell}}
		got, err := core.Step(time.Second, []speakers.Input{good, c.in}, kept)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v: got error %q, want %q", c.in, err, c.want)
		}
		same(t, "effects", got, kept)
		same(t, "decision", core.Decision(0), speakers.Decision{})
		// Time has not passed either, and the good input is still news.
		if got := step(t, core, 0, good); len(got) != 2 {
			t.Errorf("%+v: got %d effects afterwards, want 2", c.in, len(got))
		}
	}
}

func TestTimeMustNotGoBackwards(t *testing.T) {
	core := fed(t, edge())
	step(t, core, 2*time.Second)
	effects, err := core.Step(time.Second, []speakers.Input{originate}, nil)
	if want := "step at 1s: time went backwards from 2s"; err == nil || err.Error() != want {
		t.Errorf("got error %q, want %q", err, want)
	}
	same(t, "effects", effects, []speakers.Effect(nil))
	if got := step(t, core, 2*time.Second, originate); len(got) != 1 {
		t.Errorf("at the same time: got %d effects, want 1", len(got))
	}
	if _, err := speakers.New(edge()).Step(-1, nil, nil); err == nil || !strings.Contains(err.Error(), "backwards") {
		t.Errorf("before 0: got error %v, want one", err)
	}
}

func TestHoldDownPassesGoodNewsWhenItIsDue(t *testing.T) {
	cfg := edge()
	cfg.Damping = held(30 * time.Second)
	core := fed(t, cfg, announce(spine1, route(4, 201, 7)))
	if got := core.Next(); got != speakers.Never {
		t.Fatalf("at first: got next %v, want never", got)
	}
	share := func(at time.Duration, want uint64, inputs ...speakers.Input) {
		t.Helper()
		step(t, core, at, inputs...)
		same(t, "hops at "+at.String(), core.Decision(0).Hops, []speakers.Hop{{Bundle: spine1, Share: want}})
	}
	share(10*time.Second, unit, capacity(spine1, unit))
	share(20*time.Second, unit, capacity(spine1, 4*unit))
	if got := core.Next(); got != 50*time.Second {
		t.Errorf("after the rise: got next %v, want 50s", got)
	}
	share(49*time.Second, unit, announce(spine1, route(3, 201, 7)), announce(spine1, route(4, 201, 7)))
	share(50*time.Second, 4*unit)
	if got := core.Next(); got != speakers.Never {
		t.Errorf("in the end: got next %v, want never", got)
	}
}

// lowest tells the least bottleneck value of the last so long, and at once
// that there is none. It is a policy with time and memory on the told value.
type lowest time.Duration

type sample struct {
	at time.Duration
	in damping.Value
}

func (l lowest) NewTold() damping.ToldPolicy { return &lowestPolicy{window: time.Duration(l)} }
func (l lowest) Law() damping.Law            { return damping.Law{Settle: time.Duration(l), PerChange: 1} }
func (l lowest) String() string              { return "lowest " + time.Duration(l).String() }

// told works out from all inputs so far what is told now, and when the next
// of them leaves the window.
func (l lowest) told(history []sample, now time.Duration) (damping.Value, time.Duration) {
	if len(history) == 0 {
		return damping.Value{}, damping.Never
	}
	out, next := history[len(history)-1].in, damping.Never
	if out.Reach == damping.Gone {
		return out, next
	}
	for i := len(history) - 2; i >= 0 && history[i].in.Reach != damping.Gone; i-- {
		leaves := history[i+1].at + time.Duration(l)
		if leaves <= now {
			break
		}
		next = leaves
		if in := history[i].in; in.Reach < out.Reach || in.Reach == out.Reach && in.Bits < out.Bits {
			out = in
		}
	}
	return out, next
}

type lowestPolicy struct {
	window  time.Duration
	history []sample
	next    time.Duration
	idle    int // steps that neither a changed input nor a timer called for
}

func (p *lowestPolicy) Step(now time.Duration, in damping.Value) (damping.Value, time.Duration) {
	old := damping.Value{}
	if len(p.history) > 0 {
		old = p.history[len(p.history)-1].in
	} else {
		p.next = damping.Never
	}
	if in == old && p.next > now {
		p.idle++
	}
	if in != old {
		p.history = append(p.history, sample{now, in})
	}
	out, next := lowest(p.window).told(p.history, now)
	p.next = next
	return out, next
}

// watched hands out policies and remembers them.
type watched struct {
	lowest
	policies *[]*lowestPolicy
}

func (w watched) NewTold() damping.ToldPolicy {
	p := &lowestPolicy{window: time.Duration(w.lowest)}
	*w.policies = append(*w.policies, p)
	return p
}

func TestToldPolicyWithTimeIsSteppedWhenItIsDue(t *testing.T) {
	cfg := edge()
	var policies []*lowestPolicy
	cfg.Damping = damping.Pipeline{Told: []damping.ToldStage{watched{lowest(30 * time.Second), &policies}}}
	core := fed(t, cfg, announce(spine1, route(1, 201, 7)))
	told := func(n float64, path ...uint32) speakers.Told {
		return speakers.Told{Present: true, Valued: true, Value: units(n), Path: path}
	}

	effects := step(t, core, 10*time.Second, announce(spine1, route(3, 201, 7)))
	if len(effects) != 1 || effects[0].Kind != speakers.Program {
		t.Errorf("the value rises: got effects %+v, want the hardware's alone", effects)
	}
	same(t, "told", core.Decision(0).Told, told(1, 201, 7))
	if got := core.Decision(0).Bottleneck; got != 3*unit {
		t.Errorf("bottleneck: got %d, want %d", got, 3*unit)
	}

	// An attribute passes at once, with the value now told.
	same(t, "effects of a new path", step(t, core, 20*time.Second, announce(spine1, route(3, 201, 9))),
		[]speakers.Effect{{Kind: speakers.Tell, Told: told(1, 201, 9)}})
	if got := core.Next(); got != 40*time.Second {
		t.Errorf("got next %v, want 40s", got)
	}
	same(t, "effects before it is due", step(t, core, 40*time.Second-1), []speakers.Effect(nil))
	same(t, "effects when it is due", step(t, core, 40*time.Second),
		[]speakers.Effect{{Kind: speakers.Tell, Told: told(3, 201, 9)}})
	if got := core.Next(); got != speakers.Never {
		t.Errorf("in the end: got next %v, want never", got)
	}
	for p, policy := range policies {
		if policy.idle != 0 {
			t.Errorf("prefix %d: got %d steps without a changed input or a due timer, want 0", p, policy.idle)
		}
	}
}

// mute lets nothing be told, as a policy that suppresses by withdrawal does.
type mute struct{ lowest }

func (mute) NewTold() damping.ToldPolicy { return mute{} }

func (mute) Step(time.Duration, damping.Value) (damping.Value, time.Duration) {
	return damping.Value{}, damping.Never
}

func TestSuppressedPrefixIsForwardedAndNotTold(t *testing.T) {
	cfg := edge()
	cfg.Damping.Told = []damping.ToldStage{mute{}}
	hops := []speakers.Hop{{Bundle: spine1, Share: unit}}
	core := speakers.New(cfg)
	same(t, "effects", step(t, core, 0, announce(spine1, route(1, 201, 7))), []speakers.Effect{{Kind: speakers.Program, Hops: hops}})
	same(t, "decision", core.Decision(0), speakers.Decision{Hops: hops, Valued: true, Bottleneck: unit})
}

// stubborn never lets go of a value, against the law that loss passes at once.
type stubborn struct{ lowest }

func (stubborn) NewTold() damping.ToldPolicy { return stubborn{} }

func (stubborn) Step(time.Duration, damping.Value) (damping.Value, time.Duration) {
	return damping.Value{Reach: damping.Valued, Bits: unit}, damping.Never
}

func TestNoPolicyTellsWhatIsGone(t *testing.T) {
	cfg := edge()
	cfg.Damping.Told = []damping.ToldStage{stubborn{}}
	core := fed(t, cfg, announce(spine1, route(1, 201, 7)))
	got := step(t, core, 0, withdraw(spine1))
	same(t, "effects", got, []speakers.Effect{{Kind: speakers.Untell}, {Kind: speakers.Unprogram}})
	same(t, "decision", core.Decision(0), speakers.Decision{})
}

// counting counts the steps of a bundle's policy that nothing called for.
type counting struct {
	damping.HoldDown
	idle *int
}

type countingPolicy struct {
	damping.BundlePolicy
	capacity uint64
	next     time.Duration
	idle     *int
}

func (c counting) NewBundle() damping.BundlePolicy {
	return &countingPolicy{BundlePolicy: c.HoldDown.NewBundle(), capacity: math.MaxUint64, next: damping.Never, idle: c.idle}
}

func (c *countingPolicy) Step(now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
	if capacity == c.capacity && now < c.next {
		*c.idle++
	}
	c.capacity = capacity
	passed, next := c.BundlePolicy.Step(now, capacity)
	c.next = next
	return passed, next
}

func TestBundlePolicyIsSteppedOnlyWhenItMustBe(t *testing.T) {
	cfg, idle := edge(), 0
	cfg.Damping.Bundle = []damping.BundleStage{counting{damping.HoldDown{T: time.Second}, &idle}}
	core := fed(t, cfg, capacity(spine1, 4*unit), capacity(spine2, unit))
	step(t, core, 1, capacity(spine2, 2*unit))
	step(t, core, 2, capacity(spine2, 2*unit), capacity(spine1, unit))
	step(t, core, time.Second+1)
	if idle != 0 {
		t.Errorf("got %d steps without a changed capacity or a due timer, want 0", idle)
	}
	if got, _ := core.Bundle(spine2); got.Passed.Capacity != 2*unit {
		t.Errorf("after the hold-down: got %d bits/s, want %d", got.Passed.Capacity, 2*unit)
	}
}

func TestWhatTheCoreHandedOutStaysAsItWas(t *testing.T) {
	core := fed(t, edge(), announce(spine1, route(2, 201, 7)), announce(spine2, route(2, 202, 7)))
	before := core.Decision(0)
	want := []speakers.Hop{{Bundle: spine2, Share: 2 * unit}, {Bundle: spine1, Share: 2 * unit}}
	step(t, core, 0, announce(spine1, route(1, 201, 9)), announce(spine2, route(1, 202, 9)))
	step(t, core, 0, withdraw(spine2))
	same(t, "hops", before.Hops, want)
	same(t, "path", before.Told.Path, []uint32{201, 7})
}

func TestConfigOfATopology(t *testing.T) {
	top := &topologies.Topology{
		Devices: []topologies.Device{
			{Name: "s1", Role: topologies.Spine, ASN: 1}, {Name: "e1", Role: topologies.Edge, ASN: 2}, {Name: "b1", Role: topologies.Bag, ASN: 3},
		},
		Bundles: []topologies.Bundle{
			{Name: "s1--e1", A: "s1", B: "e1", Members: 2, Speed: unit}, {Name: "e1--b1", A: "e1", B: "b1", Members: 3, Speed: unit},
			{Name: "s1--e1#2", A: "s1", B: "e1", Members: 4, Speed: unit},
		},
		Prefixes: []topologies.Prefix{
			{Class: "spine", Origins: []string{"s1"}}, {Class: "fabric", Origins: []string{"s1", "e1"}},
			{Class: "region", Origins: []string{"e1"}, Bandwidth: 5},
		},
	}
	pipeline := held(time.Second)
	got := speakers.ConfigOf(top, top.Index(), 1, pipeline)
	same(t, "config", got, speakers.Config{
		ASN: 2, Role: topologies.Edge, Prefixes: 3, Classes: []string{"spine", "fabric", "region"}, Damping: pipeline, Number: 1,
		Sessions: []speakers.Session{
			{Bundle: 0, Neighbor: 0, NeighborASN: 1, NeighborRole: topologies.Spine, Capacity: 2 * unit, Info: damping.BundleInfo{Members: 2, Speed: unit, Class: "spine-edge"}},
			{Bundle: 1, Neighbor: 2, NeighborASN: 3, NeighborRole: topologies.Bag, Capacity: 3 * unit, Info: damping.BundleInfo{Members: 3, Speed: unit, Class: "edge-bag"}},
			{Bundle: 2, Neighbor: 0, NeighborASN: 1, NeighborRole: topologies.Spine, Capacity: 4 * unit, Info: damping.BundleInfo{Members: 4, Speed: unit, Class: "spine-edge"}},
		},
		// Its bundles at full health, unless the prefix says otherwise.
		Origins: []speakers.Origin{{Prefix: 1, Bandwidth: 9 * unit}, {Prefix: 2, Bandwidth: 5}},
	})
}

func TestOriginTellsAConstant(t *testing.T) {
	core := speakers.New(edge())
	same(t, "effects before", step(t, core, 0), []speakers.Effect(nil))
	told := speakers.Told{Present: true, Valued: true, Value: units(8)}
	same(t, "effects", step(t, core, 0, originate), []speakers.Effect{{Kind: speakers.Tell, Prefix: 2, Told: told}})
	got := step(t, core, 0, capacity(spine1, 0), capacity(bag8, unit), originate)
	same(t, "effects of lost capacity", got, []speakers.Effect(nil))
	same(t, "decision", core.Decision(2), speakers.Decision{Local: true, Valued: true, Bottleneck: 8 * unit, Told: told})
	if got := linkbw.ToBits(told.Value); got != 8*unit {
		t.Errorf("told: got %d bits/s, want %d", got, 8*unit)
	}
}
