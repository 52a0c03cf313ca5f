package speakers_test

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// The drained speaker of these tests is edge with two members for prefix 0 and
// its own prefix 2.
var loaded = []speakers.Input{originate, announce(spine2, route(3, 202, 7)), announce(spine1, route(2, 201, 7))}

func hopsOf(shares ...uint64) (list []speakers.Hop) {
	for i, b := range []int32{spine2, spine1} {
		list = append(list, speakers.Hop{Bundle: b, Share: shares[i] * unit})
	}
	return list
}

// tell0 and tell2 tell the prefixes of loaded.
func tell0(n float64, warm bool) speakers.Effect {
	return speakers.Effect{Kind: speakers.Tell, Told: speakers.Told{Present: true, Valued: true, Value: units(n), Path: []uint32{201, 7}, Warm: warm}}
}

func tell2(warm bool) speakers.Effect {
	return speakers.Effect{Kind: speakers.Tell, Prefix: 2, Told: speakers.Told{Present: true, Valued: true, Value: units(8), Warm: warm}}
}

func untell(p int32) speakers.Effect { return speakers.Effect{Kind: speakers.Untell, Prefix: p} }

func program(hops []speakers.Hop) speakers.Effect {
	return speakers.Effect{Kind: speakers.Program, Hops: hops}
}

var unprogram = speakers.Effect{Kind: speakers.Unprogram}

// moment is one step of a story, with what it must bring about.
type moment struct {
	at     time.Duration
	inputs []speakers.Input
	want   []speakers.Effect
	next   time.Duration // Next afterwards; 0 = Never
}

func tellStory(t *testing.T, core *speakers.Core, moments []moment) {
	t.Helper()
	for _, m := range moments {
		same(t, "effects at "+m.at.String(), step(t, core, m.at, m.inputs...), m.want)
		want := m.next
		if want == 0 {
			want = speakers.Never
		}
		if got := core.Next(); got != want {
			t.Errorf("next at %v: got %v, want %v", m.at, got, want)
		}
	}
}

func in(list ...speakers.Input) []speakers.Input { return list }

type story struct {
	name    string
	moments []moment
}

func tellStories(t *testing.T, stories []story) {
	t.Helper()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { tellStory(t, fed(t, edge(), loaded...), s.moments) })
	}
}

func TestDrainStories(t *testing.T) {
	warm, drained, live := drainTo(topologies.Warm), drainTo(topologies.Drained), drainTo(topologies.Live)
	const s = time.Second
	three := hopsOf(3, 2)
	tellStories(t, []story{
		{"warm tells the same with the community, and live without it", []moment{
			{at: s, inputs: in(warm), want: []speakers.Effect{tell0(5, true), tell2(true)}},
			{at: 2 * s, inputs: in(warm)},
			{at: 3 * s, inputs: in(live), want: []speakers.Effect{tell0(5, false), tell2(false)}},
		}},
		{"what changes while warm is told as warm, and the FIB follows", []moment{
			{at: s, inputs: in(warm), want: []speakers.Effect{tell0(5, true), tell2(true)}},
			{at: s, inputs: in(capacity(spine2, unit)), want: []speakers.Effect{program(hopsOf(1, 2)), tell0(3, true)}},
			{at: s, inputs: in(live), want: []speakers.Effect{tell0(3, false), tell2(false)}},
		}},
		{"a drained device withdraws at once, forwards for a second and then no more", []moment{
			{at: 3 * s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 4 * s},
			{at: 4*s - 1, next: 4 * s},
			{at: 4 * s, want: []speakers.Effect{unprogram}},
			{at: 9 * s},
		}},
		{"a late step ends forwarding too", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 7 * s, want: []speakers.Effect{unprogram}},
		}},
		{"draining again does not prolong it", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: s + s/2, inputs: in(drained), next: 2 * s},
			{at: 2 * s, inputs: in(drained), want: []speakers.Effect{unprogram}},
			{at: 3 * s, inputs: in(drained)},
		}},
		{"live before the end: told again, and the FIB never noticed", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 2*s - 1, inputs: in(live), want: []speakers.Effect{tell0(5, false), tell2(false)}},
			{at: 5 * s},
		}},
		{"live at the very end counts as before it", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 2 * s, inputs: in(live), want: []speakers.Effect{tell0(5, false), tell2(false)}},
		}},
		{"live after the end: the FIB has it before it is told", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 2 * s, want: []speakers.Effect{unprogram}},
			{at: 3 * s, inputs: in(live), want: []speakers.Effect{program(three), tell0(5, false), tell2(false)}},
		}},
		{"drained and live in one batch are nothing", []moment{
			{at: s, inputs: in(drained, live)},
			{at: s, inputs: in(warm, drained, live)},
		}},
		{"warm, drained, warm", []moment{
			{at: s, inputs: in(warm), want: []speakers.Effect{tell0(5, true), tell2(true)}},
			{at: 2 * s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 3 * s},
			{at: 2*s + 1, inputs: in(warm), want: []speakers.Effect{tell0(5, true), tell2(true)}},
			{at: 4 * s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 5 * s},
			{at: 5 * s, want: []speakers.Effect{unprogram}},
			{at: 6 * s, inputs: in(warm), want: []speakers.Effect{program(three), tell0(5, true), tell2(true)}},
			{at: 6 * s, inputs: in(live), want: []speakers.Effect{tell0(5, false), tell2(false)}},
		}},
		{"the linger counts from the last time it was drained", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: s + s/2, inputs: in(live), want: []speakers.Effect{tell0(5, false), tell2(false)}},
			{at: s + s/2, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2*s + s/2},
			{at: 2*s + s/2, want: []speakers.Effect{unprogram}},
		}},
	})
}

func TestChangesWhileDrained(t *testing.T) {
	drained, live := drainTo(topologies.Drained), drainTo(topologies.Live)
	const s = time.Second
	tellStories(t, []story{
		{"they are programmed during the linger, and told to nobody", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: s, inputs: in(capacity(spine2, unit)), want: []speakers.Effect{program(hopsOf(1, 2))}, next: 2 * s},
			{at: s, inputs: in(withdraw(spine2)), want: []speakers.Effect{program(hopsOf(3, 2)[1:])}, next: 2 * s},
			{at: s, inputs: in(sessionDown(spine1)), want: []speakers.Effect{unprogram}, next: 2 * s},
			{at: s, inputs: in(announce(spine1, route(1, 201, 7))), want: []speakers.Effect{program([]speakers.Hop{{Bundle: spine1, Share: unit}})}, next: 2 * s},
			{at: 2 * s, want: []speakers.Effect{unprogram}},
		}},
		{"and not after it", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 2 * s, inputs: in(capacity(spine2, unit)), want: []speakers.Effect{unprogram}},
			{at: 3 * s, inputs: in(announce(spine1, route(1, 201, 9)), withdraw(spine2), announce(bag8, route(1, 208, 9)))},
			{at: 4 * s, inputs: in(capacity(bag8, 0), announce(spine2, route(2, 202, 9)))},
			{at: 5 * s, inputs: in(live), want: []speakers.Effect{
				program(hopsOf(1, 1)),
				{Kind: speakers.Tell, Told: speakers.Told{Present: true, Valued: true, Value: units(2), Path: []uint32{201, 9}}},
				tell2(false),
			}},
		}},
		{"a route that is lost while drained is not there when live", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: 2 * s, want: []speakers.Effect{unprogram}},
			{at: 3 * s, inputs: in(withdraw(spine1), withdraw(spine2))},
			{at: 3 * s, inputs: in(live), want: []speakers.Effect{tell2(false)}},
		}},
		{"settings count during the linger and afterwards", []moment{
			{at: s, inputs: in(drained), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
			{at: s, inputs: in(announce(spine2, route(9, 202, 7))), want: []speakers.Effect{program(hopsOf(4, 2))}, next: 2 * s},
			{at: s, inputs: in(setTo(t, "weights.source", "received")), want: []speakers.Effect{program(hopsOf(9, 2))}, next: 2 * s},
			{at: 2 * s, want: []speakers.Effect{unprogram}},
			{at: 2 * s, inputs: in(setTo(t, "divide", "equal"))},
			{at: 3 * s, inputs: in(live), want: []speakers.Effect{program(hopsOf(4, 2)), tell0(3, false),
				{Kind: speakers.Tell, Prefix: 2, Told: speakers.Told{Present: true, Valued: true, Value: units(4)}}}},
		}},
	})
}

func TestDrainKeepsTheDecisionAndTheExactStateReturns(t *testing.T) {
	core := fed(t, edge(), loaded...)
	before := []speakers.Decision{core.Decision(0), core.Decision(1), core.Decision(2)}
	check := func(what string, change func(*speakers.Decision)) {
		t.Helper()
		for p, want := range before {
			if change(&want); p == 1 {
				want = speakers.Decision{}
			}
			same(t, what, core.Decision(int32(p)), want)
		}
	}
	step(t, core, 0, drainTo(topologies.Warm))
	check("warm", func(d *speakers.Decision) { d.Told.Warm = true })
	step(t, core, 0, drainTo(topologies.Drained))
	check("lingering", func(d *speakers.Decision) { d.Told = speakers.Told{} })
	step(t, core, time.Second)
	check("drained", func(d *speakers.Decision) { d.Told, d.Hops = speakers.Told{}, nil })
	step(t, core, time.Second, drainTo(topologies.Live))
	check("live", func(*speakers.Decision) {})
}

func TestLingerIsConfigured(t *testing.T) {
	cfg := edge()
	const linger = 1500 * time.Millisecond
	cfg.Settings = withKnobs(t, "drain.linger", "1.5s")
	tellStory(t, fed(t, cfg, loaded...), []moment{
		{at: time.Second, inputs: in(drainTo(topologies.Drained)), want: []speakers.Effect{untell(0), untell(2)}, next: linger + time.Second},
		{at: linger + time.Second - 1, next: linger + time.Second},
		{at: linger + time.Second, want: []speakers.Effect{unprogram}},
	})
}

// The earlier of two timers is due, and the other stays.
func TestLingerAndHoldDownRunSideBySide(t *testing.T) {
	cfg := edge()
	cfg.Damping = held(1500 * time.Millisecond)
	core := fed(t, cfg, loaded...)
	const s = time.Second
	tellStory(t, core, []moment{
		{at: s, inputs: in(capacity(spine1, unit)), want: []speakers.Effect{program(hopsOf(3, 1)), tell0(4, false)}},
		{at: s, inputs: in(capacity(spine1, 4*unit)), next: 2*s + s/2},
		{at: s + s/2, inputs: in(drainTo(topologies.Drained)), want: []speakers.Effect{untell(0), untell(2)}, next: 2*s + s/2},
		// Both at one instant: forwarding ends, and nothing is programmed first.
		{at: 2*s + s/2, want: []speakers.Effect{unprogram}},
		{at: 3 * s, inputs: in(drainTo(topologies.Live)), want: []speakers.Effect{program(hopsOf(3, 2)), tell0(5, false), tell2(false)}},
	})
}

func TestATimerThatIsDueDuringTheLingerIsProgrammed(t *testing.T) {
	cfg := edge()
	cfg.Damping, cfg.Settings = held(time.Second), withKnobs(t, "drain.linger", "3s")
	const s = time.Second
	tellStory(t, fed(t, cfg, loaded...), []moment{
		{at: s, inputs: in(capacity(spine1, unit)), want: []speakers.Effect{program(hopsOf(3, 1)), tell0(4, false)}},
		{at: s, inputs: in(capacity(spine1, 4*unit), drainTo(topologies.Drained)), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
		{at: 2 * s, want: []speakers.Effect{program(hopsOf(3, 2))}, next: 4 * s},
		{at: 4 * s, want: []speakers.Effect{unprogram}},
	})
}

func TestOriginationWhileDrainedIsToldWhenLive(t *testing.T) {
	tellStory(t, fed(t, edge(), drainTo(topologies.Drained)), []moment{
		{at: 1, inputs: in(originate), next: time.Second},
		{at: 2, inputs: in(drainTo(topologies.Warm)), want: []speakers.Effect{tell2(true)}},
		{at: 3, inputs: in(drainTo(topologies.Live)), want: []speakers.Effect{tell2(false)}},
	})
}

func TestDrainSaysNothingOfWhatNobodyHears(t *testing.T) {
	core := fed(t, edge(), announce(bag8, route(1, 208, 201, 202)))
	tellStory(t, core, []moment{
		{at: 1, inputs: in(drainTo(topologies.Warm))},
		{at: 2, inputs: in(drainTo(topologies.Drained)), next: time.Second + 2},
		{at: time.Second + 2, want: []speakers.Effect{unprogram}},
		{at: time.Second + 2, inputs: in(drainTo(topologies.Live)), want: []speakers.Effect{program([]speakers.Hop{{Bundle: bag8, Share: unit}})}},
	})
}

func TestWarmChangesNothingElseOfWhatIsTold(t *testing.T) {
	cases := []struct {
		name  string
		knobs []string
		input speakers.Input
	}{
		{"a route told only down", nil, announce(bag8, route(2, 208, 7))},
		{"a route without a value", nil, announce(spine1, unvalued(201, 7))},
		{"a value of 0", nil, announce(spine1, route(0, 201, 7))},
		{"a divided value in both forms", []string{"divide", "equal", "transitivity", "both"}, announce(spine1, route(2, 201, 7))},
		{"a value that is set", []string{"advertise", "set", "advertise.value", "100G"}, announce(spine1, route(2, 201, 7))},
	}
	for _, c := range cases {
		cfg := edge()
		cfg.Settings = withKnobs(t, c.knobs...)
		core := fed(t, cfg, c.input)
		want := core.Decision(0)
		want.Told.Warm = true
		step(t, core, 0, drainTo(topologies.Warm))
		same(t, c.name, core.Decision(0), want)
	}
}

func TestReceiversPreferWarmLeast(t *testing.T) {
	shut := speakers.GracefulShutdown
	warm := func(r speakers.Route) speakers.Route { return withTags(r, shut) }
	back := []speakers.Input{capacity(spine1, 0), capacity(spine1, 4*unit)} // on trial
	cases := []struct {
		name   string
		inputs []speakers.Input
		set    []int32
		warm   bool // told on
	}{
		{"against a longer path", in(announce(spine1, warm(route(1, 201))), announce(bag8, route(1, 208, 7, 6))), []int32{bag8}, false},
		{"against the lowest LOCAL_PREF", in(announce(spine1, warm(preferred(200, route(1, 201)))), announce(bag8, preferred(1, route(1, 208)))), []int32{bag8}, false},
		{"against a higher origin", in(announce(spine1, warm(route(1, 201))), announce(bag8, from(2, route(1, 208)))), []int32{bag8}, false},
		{"also behind other communities", in(announce(spine1, withTags(route(1, 201), 9, shut)), announce(bag8, route(1, 208, 7))), []int32{bag8}, false},
		{"a warm member leaves the others alone", in(announce(spine1, warm(route(1, 201))), announce(spine2, route(1, 202)), announce(edge5, route(1, 205))), []int32{spine2, edge5}, false},
		{"alone it is used, and told on as warm", in(announce(spine1, warm(route(1, 201)))), []int32{spine1}, true},
		{"among warm ones the usual decision, but for LOCAL_PREF", in(announce(spine1, warm(preferred(200, route(1, 201, 7)))), announce(spine2, warm(route(1, 202))), announce(edge5, warm(route(1, 205)))), []int32{spine2, edge5}, true},
		{"one with the own ASN is no other one", in(announce(spine1, warm(route(1, 201))), announce(bag8, route(1, 208, edgeASN))), []int32{spine1}, true},
		{"nor is one over a down bundle", in(announce(spine1, warm(route(1, 201))), announce(bag8, route(1, 208)), capacity(bag8, 0)), []int32{spine1}, true},
		{"one on trial comes before a warm one", append(back, announce(spine1, route(1, 201)), announce(spine2, warm(route(1, 202)))), []int32{spine1}, false},
		{"one from above does not, as no other from above does", append(back, announce(spine1, route(1, 201, 7)), announce(bag8, warm(route(1, 208)))), []int32{spine1}, false},
		{"another community is no reason", in(announce(spine1, withTags(route(1, 201), shut+1, speakers.ScopeDown)), announce(bag8, route(1, 208, 7))), []int32{spine1}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := edge()
			cfg.Damping = held(time.Second)
			got := fed(t, cfg, c.inputs...).Decision(0)
			same(t, "set", bundles(got), c.set)
			if got.Told.Warm != c.warm {
				t.Errorf("told warm: got %v, want %v", got.Told.Warm, c.warm)
			}
		})
	}
}

func TestASetThatIsAllWarmIsToldOnAsWarm(t *testing.T) {
	warm := func(bundle int32, asn uint32, n float64) speakers.Input {
		return announce(bundle, withTags(route(n, asn, 7), speakers.GracefulShutdown))
	}
	one := func(b int32, n uint64) speakers.Effect {
		return program([]speakers.Hop{{Bundle: b, Share: n * unit}})
	}
	path := func(e speakers.Effect, asns ...uint32) speakers.Effect {
		e.Told.Path = asns
		return e
	}
	tellStory(t, fed(t, edge(), loaded[1:]...), []moment{
		{inputs: in(warm(spine1, 201, 2)), want: []speakers.Effect{one(spine2, 3), path(tell0(3, false), 202, 7)}},
		{inputs: in(warm(spine2, 202, 3)), want: []speakers.Effect{program(hopsOf(3, 2)), tell0(5, true)}},
		{inputs: in(drainTo(topologies.Warm))},
		{inputs: in(drainTo(topologies.Live))},
		{inputs: in(announce(spine1, route(2, 201, 7))), want: []speakers.Effect{one(spine1, 2), tell0(2, false)}},
		{inputs: in(drainTo(topologies.Warm)), want: []speakers.Effect{tell0(2, true)}},
		{inputs: in(drainTo(topologies.Live), announce(spine2, route(3, 202, 7))), want: []speakers.Effect{program(hopsOf(3, 2)), tell0(5, false)}},
	})
}

func TestTheOwnRouteIsNotWarmBecauseOfOthers(t *testing.T) {
	hears := announce(spine1, withTags(preferred(200, route(1, 201)), speakers.GracefulShutdown))
	hears.Prefix = 2
	got := fed(t, edge(), originate, hears).Decision(2)
	if !got.Local || got.Told.Warm {
		t.Errorf("got local %v, warm %v, want true, false: a warm LOCAL_PREF of 200 does not beat the own route", got.Local, got.Told.Warm)
	}
}

func TestRoutesOfDrainedNeighboursCanBeRejected(t *testing.T) {
	cfg := edge()
	cfg.Settings = withKnobs(t, "import.reject-communities", "65535:0")
	core := fed(t, cfg, announce(spine1, withTags(route(1, 201), speakers.GracefulShutdown)))
	same(t, "decision", core.Decision(0), speakers.Decision{})
}

func TestToldPolicyHearsWhatHappensWhileDrained(t *testing.T) {
	cfg := edge()
	var policies []*lowestPolicy
	cfg.Damping.Told = []damping.ToldStage{watched{lowest(20 * time.Second), &policies}}
	const s = time.Second
	tellStory(t, fed(t, cfg, loaded...), []moment{
		{at: s, inputs: in(drainTo(topologies.Drained)), want: []speakers.Effect{untell(0), untell(2)}, next: 2 * s},
		{at: 2 * s, want: []speakers.Effect{unprogram}},
		{at: 3 * s, inputs: in(announce(spine1, route(1, 201, 7))), next: 23 * s},
		{at: 4 * s, inputs: in(announce(spine1, route(4, 201, 7))), next: 23 * s},
		{at: 5 * s, inputs: in(drainTo(topologies.Live)), want: []speakers.Effect{program(hopsOf(3, 4)), tell0(4, false), tell2(false)}, next: 23 * s},
		{at: 23 * s, next: 24 * s},
		{at: 24 * s, want: []speakers.Effect{tell0(7, false)}},
	})
	for p, policy := range policies {
		if policy.idle != 0 {
			t.Errorf("prefix %d: got %d steps without a changed input or a due timer, want 0", p, policy.idle)
		}
	}
}
