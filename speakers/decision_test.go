package speakers_test

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/speakers"
)

// bundles are the members of a multipath set.
func bundles(d speakers.Decision) []int32 {
	var list []int32
	for _, h := range d.Hops {
		list = append(list, h.Bundle)
	}
	return list
}

func preferred(pref uint32, r speakers.Route) speakers.Route {
	r.LocalPref = pref
	return r
}

func from(origin uint8, r speakers.Route) speakers.Route {
	r.Origin = origin
	return r
}

func TestDecision(t *testing.T) {
	cases := []struct {
		name   string
		inputs []speakers.Input
		set    []int32
		path   []uint32 // told on
	}{
		{"no candidate, no route", nil, nil, nil},
		{"a candidate with the own ASN is dropped",
			[]speakers.Input{announce(spine1, route(1, 201, edgeASN)), announce(bag8, route(1, 208, 7, 6))},
			[]int32{bag8}, []uint32{208, 7, 6}},
		{"where it is the only one too", []speakers.Input{announce(spine1, route(1, 201, edgeASN, 7))}, nil, nil},
		{"a looped replacement takes the old route away",
			[]speakers.Input{announce(spine1, route(1, 201)), announce(spine1, route(1, 201, edgeASN))}, nil, nil},
		{"a candidate over a down bundle is dropped",
			[]speakers.Input{announce(spine1, route(1, 201)), announce(bag8, route(1, 208, 7)), capacity(spine1, 0)},
			[]int32{bag8}, []uint32{208, 7}},
		{"one bit/s is not down",
			[]speakers.Input{announce(spine1, route(1, 201)), announce(bag8, route(1, 208, 7)), capacity(spine1, 1)},
			[]int32{spine1}, []uint32{201}},
		{"the highest LOCAL_PREF wins against a shorter AS_PATH and a lower origin",
			[]speakers.Input{announce(spine1, route(1, 201)), announce(bag8, preferred(101, from(2, route(1, 208, 7, 6))))},
			[]int32{bag8}, []uint32{208, 7, 6}},
		{"a lower one loses", []speakers.Input{announce(spine1, preferred(99, route(1, 201))), announce(bag8, route(1, 208, 7))},
			[]int32{bag8}, []uint32{208, 7}},
		{"none counts as 100", []speakers.Input{announce(spine1, preferred(100, route(1, 201))), announce(spine2, route(1, 202))},
			[]int32{spine2, spine1}, []uint32{201}},
		{"the shortest AS_PATH wins against a lower origin",
			[]speakers.Input{announce(spine1, from(2, route(1, 201, 7))), announce(spine2, route(1, 202, 7, 6))},
			[]int32{spine1}, []uint32{201, 7}},
		{"the lowest origin wins",
			[]speakers.Input{announce(spine1, from(2, route(1, 201))), announce(spine2, from(1, route(1, 202)))},
			[]int32{spine2}, []uint32{202}},
		{"what ties up to origin is the set, whatever the ASNs are",
			[]speakers.Input{announce(bag8, route(1, 208, 9)), announce(spine1, route(1, 201, 7)), announce(spine2, route(1, 202, 8))},
			[]int32{spine2, spine1, bag8}, []uint32{201, 7}},
		{"the value takes no part",
			[]speakers.Input{announce(spine1, route(0, 201)), announce(spine2, route(1000, 202)), announce(bag8, unvalued(208))},
			[]int32{spine2, spine1, bag8}, []uint32{201}},
		{"nor does capacity",
			[]speakers.Input{announce(spine1, route(1, 201)), announce(spine2, route(1, 202)), capacity(spine1, 1)},
			[]int32{spine2, spine1}, []uint32{201}},
		{"one that comes later and is better replaces the set",
			[]speakers.Input{announce(spine2, route(1, 202, 7)), announce(spine1, route(1, 201, 7)), announce(edge5, route(1, 205))},
			[]int32{edge5}, []uint32{205}},
		{"a member that gets worse leaves the set",
			[]speakers.Input{announce(spine2, route(1, 202)), announce(spine1, route(1, 201)), announce(spine1, route(1, 201, 7))},
			[]int32{spine2}, []uint32{202}},
		{"a route that changes nothing but its LOCAL_PREF is news",
			[]speakers.Input{announce(spine2, route(1, 202)), announce(spine1, route(1, 201)), announce(spine1, preferred(101, route(1, 201)))},
			[]int32{spine1}, []uint32{201}},
		{"so is one that changes nothing but its origin",
			[]speakers.Input{announce(spine2, route(1, 202)), announce(spine1, route(1, 201)), announce(spine1, from(1, route(1, 201)))},
			[]int32{spine2}, []uint32{202}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := fed(t, edge(), c.inputs...).Decision(0)
			same(t, "set", bundles(got), c.set)
			same(t, "told path", got.Told.Path, c.path)
			if got.Told.Present != (c.set != nil) || got.Local {
				t.Errorf("got told %v, local %v, want %v, false", got.Told.Present, got.Local, c.set != nil)
			}
		})
	}
}

func TestOwnRouteComesAfterLocalPrefAndBeforeLength(t *testing.T) {
	cases := []struct {
		name  string
		route speakers.Route
		local bool
	}{
		{"an empty AS_PATH loses", route(1), true},
		{"the same LOCAL_PREF loses", preferred(100, route(1, 201)), true},
		{"a lower LOCAL_PREF loses", preferred(1, route(1, 201)), true},
		{"a higher LOCAL_PREF wins", preferred(101, route(1, 201, 7, 6)), false},
		{"unless it holds the own ASN", preferred(101, route(1, 201, edgeASN)), true},
	}
	for _, c := range cases {
		in := announce(spine1, c.route)
		in.Prefix = 2
		core := fed(t, edge(), in)
		if core.Decision(2).Local {
			t.Errorf("%s: got local before it originates", c.name)
		}
		step(t, core, 0, originate)
		got := core.Decision(2)
		if got.Local != c.local || (len(got.Hops) == 0) != c.local || (len(got.Told.Path) == 0) != c.local {
			t.Errorf("%s: got %+v, want local %v", c.name, got, c.local)
		}
	}
}

func TestToldPathIsOfTheLowestRouterIDThenSessionAddress(t *testing.T) {
	cfg := twoBundles()
	core := fed(t, cfg, announce(bag8b, route(1, 208, 7)), announce(bag8, route(1, 208, 6)), announce(spine2, route(1, 202, 5)), announce(spine1, route(1, 201, 4)))
	for _, c := range []struct {
		then speakers.Input
		want []uint32
	}{
		{announce(edge5, route(1, 205, 3)), []uint32{201, 4}},
		{withdraw(spine1), []uint32{202, 5}},
		{withdraw(spine2), []uint32{205, 3}},
		{withdraw(edge5), []uint32{208, 6}},
		{withdraw(bag8), []uint32{208, 7}},
	} {
		step(t, core, 0, c.then)
		same(t, "told path", core.Decision(0).Told.Path, c.want)
	}
}

func TestTrialBundlesGiveWayToOtherCandidates(t *testing.T) {
	const hold = 30 * time.Second
	cfg := edge()
	cfg.Damping = held(hold)
	back := func(bundle int32) []speakers.Input {
		return []speakers.Input{capacity(bundle, 0), capacity(bundle, 4*unit)}
	}
	cases := []struct {
		name        string
		inputs      []speakers.Input
		during, end []int32
	}{
		{"to a worse one it does not give way: detours that devices prefer may chase each other",
			append(back(spine1), announce(spine1, preferred(200, route(1, 201))), announce(spine2, route(1, 202))),
			[]int32{spine1}, []int32{spine1}},
		{"nor to a longer one",
			append(back(spine1), announce(spine1, route(1, 201)), announce(bag8, route(1, 208, 7))),
			[]int32{spine1}, []int32{spine1}},
		{"one from above gives way to an equal one from below",
			append(back(bag8), announce(bag8, route(1, 208)), announce(spine1, route(1, 201))),
			[]int32{spine1}, []int32{spine1, bag8}},
		{"an equal one is alone for a while",
			append(back(spine1), announce(spine1, route(1, 201)), announce(spine2, route(1, 202))),
			[]int32{spine2}, []int32{spine2, spine1}},
		{"without another one it is used",
			append(back(spine1), announce(spine1, route(1, 201))), []int32{spine1}, []int32{spine1}},
		{"a looped one is no other one",
			append(back(spine1), announce(spine1, route(1, 201)), announce(bag8, route(1, 208, edgeASN))),
			[]int32{spine1}, []int32{spine1}},
		{"nor is one over a down bundle",
			append(back(spine1), announce(spine1, route(1, 201)), announce(bag8, route(1, 208)), capacity(bag8, 0)),
			[]int32{spine1}, []int32{spine1}},
		{"all on trial: the usual decision among them",
			append(append(back(spine1), back(bag8)...), announce(spine1, route(1, 201)), announce(bag8, route(1, 208, 7))),
			[]int32{spine1}, []int32{spine1}},
		{"a session reset with the bundle up is no trial",
			[]speakers.Input{sessionDown(spine1), {Kind: speakers.SessionUp, Bundle: spine1}, announce(spine1, route(1, 201)), announce(spine2, route(1, 202))},
			[]int32{spine2, spine1}, []int32{spine2, spine1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			core := fed(t, cfg, c.inputs...)
			same(t, "set on trial", bundles(core.Decision(0)), c.during)
			step(t, core, hold-1)
			same(t, "set to the last", bundles(core.Decision(0)), c.during)
			step(t, core, hold)
			same(t, "set afterwards", bundles(core.Decision(0)), c.end)
		})
	}
}

// classed is edge with a class for each prefix.
func classed() speakers.Config {
	cfg := edge()
	cfg.Classes = []string{"spine", "fabric", "region"}
	return cfg
}

func setTo(t testing.TB, knobs ...string) speakers.Input {
	t.Helper()
	return speakers.Input{Kind: speakers.Configure, Settings: withKnobs(t, knobs...)}
}

func TestPrefixesOfARejectedClassAreNotUsed(t *testing.T) {
	var inputs []speakers.Input
	for p := range int32(3) {
		in := announce(spine1, route(2, 201, 7))
		in.Prefix = p
		inputs = append(inputs, in)
	}
	cases := []struct {
		classes string
		used    []int32 // prefixes
	}{
		{"", []int32{0, 1, 2}},
		{"spine", []int32{1, 2}},
		{"region", []int32{0, 1}},
		{"region,spine", []int32{1}},
		{"spine, fabric, region", nil},
		{"building,spines", []int32{0, 1, 2}},
	}
	for _, c := range cases {
		cfg := classed()
		cfg.Settings = withKnobs(t, "import.reject-classes", c.classes)
		core := fed(t, cfg, inputs...)
		var used []int32
		for p := range int32(3) {
			if len(core.Decision(p).Hops) > 0 {
				used = append(used, p)
			}
			if got := len(core.Candidates(p, nil)); got != 1 {
				t.Errorf("%q: prefix %d: got %d candidates, want 1: Adj-RIB-In keeps what policy rejects", c.classes, p, got)
			}
		}
		same(t, c.classes, used, c.used)
	}
}

func TestRejectingAClassTakesItsRoutesAwayAndBack(t *testing.T) {
	core := fed(t, classed(), originate, announce(spine1, route(2, 201, 7)))
	before := core.Decision(0)
	same(t, "rejected", step(t, core, 0, setTo(t, "import.reject-classes", "spine,region")),
		[]speakers.Effect{{Kind: speakers.Untell}, {Kind: speakers.Unprogram}})
	if d := core.Decision(2); !d.Local || !d.Told.Present {
		t.Errorf("the own prefix: got %+v, want it told: import policy is for what others tell", d)
	}
	same(t, "news of it", step(t, core, 0, announce(spine2, route(1, 202))), []speakers.Effect(nil))
	step(t, core, 0, withdraw(spine2))
	same(t, "taken again", step(t, core, 0, setTo(t)), []speakers.Effect{
		{Kind: speakers.Program, Hops: before.Hops}, {Kind: speakers.Tell, Told: before.Told},
	})
	same(t, "decision", core.Decision(0), before)
}

func TestARejectedOwnPrefixOfAnotherIsNotPreferred(t *testing.T) {
	in := announce(spine1, preferred(200, route(2, 201, 7)))
	in.Prefix = 2
	core := fed(t, classed(), originate, in)
	if core.Decision(2).Local {
		t.Fatal("got local, want the route of higher LOCAL_PREF")
	}
	step(t, core, 0, setTo(t, "import.reject-classes", "region"))
	if !core.Decision(2).Local {
		t.Error("got the rejected route, want local")
	}
}

func TestRoutesWithARejectedCommunityAreNotUsed(t *testing.T) {
	const reject = "65000:9,1:2"
	cases := []struct {
		name string
		tags []uint32 // of spine2's route, which is the better one
		set  []int32
	}{
		{"none", nil, []int32{spine2}},
		{"another one", []uint32{65000<<16 | 8, 9}, []int32{spine2}},
		{"the same value of another ASN", []uint32{65001<<16 | 9}, []int32{spine2}},
		{"one of them", []uint32{65000<<16 | 9}, []int32{spine1}},
		{"the other, behind others", []uint32{5, 65000<<16 | 8, 1<<16 | 2}, []int32{spine1}},
		{"both", []uint32{1<<16 | 2, 65000<<16 | 9}, []int32{spine1}},
	}
	for _, c := range cases {
		cfg := edge()
		cfg.Settings = withKnobs(t, "import.reject-communities", reject)
		core := fed(t, cfg, announce(spine2, withTags(route(1, 202), c.tags...)), announce(spine1, route(1, 201, 7)))
		same(t, c.name, bundles(core.Decision(0)), c.set)
		step(t, core, 0, withdraw(spine1))
		if got, want := core.Decision(0).Told.Present, c.set[0] == spine2; got != want {
			t.Errorf("%s, alone: got told %v, want %v", c.name, got, want)
		}
	}
}

func TestARejectedRouteHasNoPartInAnything(t *testing.T) {
	tagged := withTags(unvalued(202), 65000<<16|9)
	cases := []struct {
		name   string
		hold   bool
		inputs []speakers.Input
		want   []speakers.Hop
	}{
		{"its missing value makes no set equal", false,
			[]speakers.Input{announce(spine2, tagged), announce(spine1, route(3, 201)), announce(bag8, route(1, 208))},
			[]speakers.Hop{{spine1, 3 * unit}, {bag8, unit}}},
		{"it is no other candidate beside one on trial", true,
			[]speakers.Input{announce(spine2, tagged), capacity(spine1, 0), capacity(spine1, 4*unit), announce(spine1, route(3, 201))},
			[]speakers.Hop{{spine1, 3 * unit}}},
		{"a replacement with the community takes the old route away", false,
			[]speakers.Input{announce(spine2, route(1, 202)), announce(spine2, tagged)}, nil},
		{"though nothing else of it has changed", false,
			[]speakers.Input{announce(spine2, unvalued(202)), announce(spine2, tagged)}, nil},
		{"one without it brings the route back", false,
			[]speakers.Input{announce(spine2, tagged), announce(spine2, route(1, 202))}, []speakers.Hop{{spine2, unit}}},
	}
	for _, c := range cases {
		cfg := edge()
		cfg.Settings = withKnobs(t, "import.reject-communities", "65000:9")
		if c.hold {
			cfg.Damping = held(1)
		}
		same(t, c.name, fed(t, cfg, c.inputs...).Decision(0).Hops, c.want)
	}
}
