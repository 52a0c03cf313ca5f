package properties

import (
	"slices"
	"testing"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// shown shows moments to one check alone.
func shown(c state.Check, moments ...*state.Moment) state.Outcome {
	for _, m := range moments {
		c.Look(m)
	}
	return c.Outcome()
}

// fault plays what one rule is shown, with or without the fault that it is about.
type fault struct {
	rule, name string
	play       func(t *testing.T, planted bool) state.Outcome
}

// moments is a fault that is planted in the last of some moments on paper.
func moments(c func() state.Check, make func(p *paper) []*state.Moment, plant func(p *paper, m *state.Moment)) func(*testing.T, bool) state.Outcome {
	return func(t *testing.T, planted bool) state.Outcome {
		p := small(t)
		list := make(p)
		for _, m := range list {
			m.Settings = settingsOnPaper(p)
		}
		if planted {
			plant(p, list[len(list)-1])
		}
		return shown(c(), list...)
	}
}

func settingsOnPaper(p *paper) (list []*topologies.Settings) {
	for range p.net.Topology.Devices {
		s := topologies.DefaultSettings()
		list = append(list, &s)
	}
	return list
}

// whole, hurt and mended are what most rules are shown: the network at full health, with
// a bundle degraded, and at full health again.
func whole(p *paper) []*state.Moment { return []*state.Moment{p.moment(nil)} }

func hurt(p *paper) []*state.Moment {
	return p.after(whole(p), broken{"r1-f1-e1--r1-bag1": 12}, state.Event{Kind: "degrade", Bundle: "r1-f1-e1--r1-bag1", Members: 12})
}

func mended(p *paper) []*state.Moment {
	return p.after(hurt(p), nil, state.Event{Kind: "restore", All: true})
}

// cut takes a fabric off the network.
func cut(p *paper) []*state.Moment {
	return p.after(whole(p), broken{"r1-f1-e1--r1-bag1": 0, "r1-f1-e2--r1-bag2": 0}, state.Event{Kind: "down", Device: "r1-f1-e1"})
}

// after adds a settled moment with those bundles broken, and the window that led to it.
func (p *paper) after(list []*state.Moment, b broken, e state.Event) []*state.Moment {
	m := p.moment(b)
	m.Window = p.window(list[len(list)-1], m)
	m.Window.Events = []state.Event{e}
	return append(list, m)
}

// acts shows the rule about order what a spine does about a far prefix after the
// baseline, in one decision.
func acts(right, wrong []state.ActionKind) func(*testing.T, bool) state.Outcome {
	return func(t *testing.T, planted bool) state.Outcome {
		p, c := small(t), NewOrder()
		m := p.moment(nil)
		c.Look(m)
		kinds := right
		if planted {
			kinds = wrong
		}
		var done []state.Action
		for _, k := range kinds {
			done = append(done, state.Action{Device: int32(p.deviceOf(edge)), Prefix: int32(p.prefixOf(far)), Step: 3, Kind: k})
		}
		c.LookOrder(m, done)
		return c.Outcome()
	}
}

var everyFault = []fault{
	{EndStateName, "a stale candidate", moments(func() state.Check { return NewEndState() }, whole, func(p *paper, m *state.Moment) { p.route(m, spine, far).Candidates[0].Value /= 2 })},
	{ProportionName, "a weight that is not asked for", moments(func() state.Check { return NewProportion() }, whole, func(p *paper, m *state.Moment) { p.route(m, spine, far).FIB.Members[0].Weight = 2 })},
	{NoBlackHoleName, "hardware lost a route", moments(func() state.Check { return NewNoBlackHole() }, whole, func(p *paper, m *state.Moment) { p.route(m, bag, far).FIB = fib.Entry{} })},
	{NoLoopName, "traffic goes down again", moments(func() state.Check { return NewNoLoop() }, whole, func(p *paper, m *state.Moment) {
		p.route(m, bag, far).FIB.Members = []fib.Weighted{{ID: p.dir(edge, bag).Bundle, Weight: 1}}
	})},
	{ToldWithinLawName, "more told than the law allows", moments(func() state.Check { return NewToldWithinLaw() }, whole, func(p *paper, m *state.Moment) { p.route(m, edge, far).Told.Value *= 1.5 })},
	{ContainmentName, "a message twice", moments(func() state.Check { return NewContainment() }, hurt, func(_ *paper, m *state.Moment) { m.Window.Log = append(m.Window.Log, m.Window.Log...) })},
	{FIBWithinLimitsName, "more groups than the chip has", moments(func() state.Check { return NewFIBWithinLimits() }, whole, func(p *paper, m *state.Moment) { m.Snapshot.Devices[p.deviceOf(bag)].FIB.GroupsPeak = 65 })},
	{RestoreName, "a told value is not back", moments(func() state.Check { return NewRestore() }, mended, func(p *paper, m *state.Moment) { p.route(m, spine, far).Told.Value /= 2 })},
	{LivePathName, "a route kept to itself", moments(func() state.Check { return NewLivePath() }, whole, func(p *paper, m *state.Moment) { p.route(m, edge, far).Told = state.Told{} })},

	{MonotonyName, "a bottleneck value rises where a bundle lost members", moments(func() state.Check { return NewMonotony() }, hurt, func(p *paper, m *state.Moment) { p.route(m, spine, far).Bottleneck *= 2 })},
	{MonotonyName, "a told value rises where a bundle lost members", moments(func() state.Check { return NewMonotony() }, hurt, func(p *paper, m *state.Moment) { p.route(m, farBag, "10.1.0.0/24").Told.Value *= 8 })},
	{MonotonyName, "a told value falls where a bundle gained members", moments(func() state.Check { return NewMonotony() }, mended, func(p *paper, m *state.Moment) { p.route(m, farBag, "10.1.0.0/24").Told.Value /= 4 })},
	{FairnessName, "a plane carries less than one that is alike", moments(func() state.Check { return NewFairness() }, whole, func(p *paper, m *state.Moment) { p.route(m, spine, far).Set[1].Share /= 2 })},
	{FairnessName, "a plane carries nothing", moments(func() state.Check { return NewFairness() }, whole, func(p *paper, m *state.Moment) { r := p.route(m, spine, far); r.Set = r.Set[:1] })},
	{FairnessName, "the other plane carries nothing", moments(func() state.Check { return NewFairness() }, whole, func(p *paper, m *state.Moment) { r := p.route(m, spine, far); r.Set = r.Set[1:] })},
	{SurvivorsName, "a route across the cut is left", moments(func() state.Check { return NewSurvivors() }, cut, func(p *paper, m *state.Moment) {
		p.route(m, spine, far).Set = []state.Member{{Bundle: p.dir(spine, edge).Bundle, Share: 1}}
	})},
	{SurvivorsName, "a survivor has lost another", moments(func() state.Check { return NewSurvivors() }, cut, func(p *paper, m *state.Moment) { *p.route(m, "r1-f2-s1", far) = state.Route{} })},
	{OrderName, "hardware loses the route first", acts([]state.ActionKind{state.Withdraws, state.Unprograms}, []state.ActionKind{state.Unprograms, state.Withdraws})},
	{OrderName, "the route is announced first", acts([]state.ActionKind{state.Withdraws, state.Unprograms, state.Programs, state.Announces}, []state.ActionKind{state.Withdraws, state.Unprograms, state.Announces, state.Programs})},
	{OrderName, "a changed value is announced first", acts([]state.ActionKind{state.Programs, state.Announces}, []state.ActionKind{state.Announces, state.Programs})},
	{NoLeaksName, "a trial is left", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Bundles[3].Trial = true })},
	{NoLeaksName, "a session stays down", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Bundles[3].Up = false })},
	{NoLeaksName, "UPDATEs are held", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Held = []state.Direction{{Bundle: 1}} })},
	{NoLeaksName, "a group is left", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Devices[p.deviceOf(bag)].FIB.Groups++ })},
	{NoLeaksName, "a member entry is left", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Devices[p.deviceOf(bag)].FIB.Members++ })},
	{NoLeaksName, "a candidate is left", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) {
		r := p.route(m, bag, far)
		r.Candidates = append(r.Candidates[:len(r.Candidates):len(r.Candidates)], state.Candidate{Bundle: 0})
	})},
	{NoLeaksName, "a device still restarts", moments(func() state.Check { return NewNoLeaks() }, mended, func(p *paper, m *state.Moment) { m.Snapshot.Devices[p.deviceOf(bag)].Restarting = true })},

	{HitlessName, "a round with a hole", func(t *testing.T, planted bool) state.Outcome {
		p, c := small(t), NewHitless()
		m := p.moment(nil)
		if planted {
			p.route(m, bag, far).FIB = fib.Entry{}
		}
		c.LookRound(m, []state.Event{{Kind: "drain"}})
		return c.Outcome()
	}},
	{AggregatesName, "an aggregate is announced against its condition", func(t *testing.T, planted bool) state.Outcome {
		sc := aggregatesScenario(t)
		p := paperWith(t, sc.Topology, sc.Damping, sc.Hardware)
		m := p.moment(nil)
		a := slices.IndexFunc(sc.Topology.Prefixes, func(p topologies.Prefix) bool { return p.Aggregate != nil })
		if planted {
			m.Snapshot.Devices[p.deviceOf(sc.Topology.Prefixes[a].Origins[0])].Routes[a] = state.Route{}
		}
		return shown(NewAggregates(), m)
	}},
	{TransientsName, "a black hole that lasts", func(t *testing.T, planted bool) state.Outcome {
		p := small(t)
		list := hurt(p)
		m := list[len(list)-1]
		m.Window.Watched = true
		lasted := time.Millisecond
		if planted {
			lasted = time.Second
		}
		m.Window.Transients = []state.Transient{{From: 0, Until: lasted, Prefix: p.prefixOf(far), At: []int{p.deviceOf(bag)}}}
		return shown(NewTransients(10*time.Millisecond), list...)
	}},
	{SymmetryName, "a value that depends on a name", func(t *testing.T, planted bool) state.Outcome {
		p := small(t)
		l, a, b := newLedger(SymmetryName, 0, "routes"), p.moment(nil), p.moment(nil)
		if planted {
			p.route(b, spine, far).Bottleneck++
		}
		device, bundle := identity(len(p.net.Topology.Devices)), identity(len(p.net.Topology.Bundles))
		l.compareRenamed(a, b, device, bundle, false)
		l.worst(float64(l.found.Violated))
		return l.found
	}},
	{EventOrderName, "a value that depends on what came first", func(t *testing.T, planted bool) state.Outcome {
		p := small(t)
		l, a, b := newLedger(EventOrderName, 0, "routes"), p.moment(nil), p.moment(nil)
		if planted {
			p.route(b, spine, far).Told.Value *= 2
		}
		l.compareOrders(a, b)
		l.worst(float64(l.found.Violated))
		return l.found
	}},
}

func identity(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// TestEveryRuleCatchesItsFaultAlone plants faults, each with all other rules off.
func TestEveryRuleCatchesItsFaultAlone(t *testing.T) {
	for _, f := range everyFault {
		t.Run(f.rule+": "+f.name, func(t *testing.T) {
			if o := f.play(t, false); o.Name != f.rule || o.Violated > 0 || o.Exercised == 0 {
				t.Errorf("without the fault: got %s", violatedText(o)+" or never exercised")
			}
			if o := f.play(t, true); o.Violated == 0 || o.Worst <= o.Limit {
				t.Errorf("with the fault: got %+v, want it violated", o)
			}
		})
	}
}

// TestNoRuleIsWithoutAFault looks for every rule of the catalogue in the list above.
func TestNoRuleIsWithoutAFault(t *testing.T) {
	rules := []string{TransientsName, SymmetryName, EventOrderName}
	for _, c := range For(aggregatesScenario(t).Topology, []state.Event{{Kind: "drain"}}) {
		rules = append(rules, c.Name())
	}
	for _, rule := range rules {
		if !slices.ContainsFunc(everyFault, func(f fault) bool { return f.rule == rule }) {
			t.Errorf("%s: no planted fault", rule)
		}
	}
}

// TestFairnessIsSilentWhereThePlanesDiffer degrades one plane, and gives a device of it
// other settings.
func TestFairnessIsSilentWhereThePlanesDiffer(t *testing.T) {
	p := small(t)
	m := hurt(p)[1]
	m.Settings = settingsOnPaper(p)
	if o := shown(NewFairness(), m); o.Exercised != 0 || o.Violated != 0 {
		t.Errorf("a plane that is degraded: got exercised %d, violated %d, want 0, 0", o.Exercised, o.Violated)
	}
	m = p.moment(nil)
	m.Settings = settingsOnPaper(p)
	m.Settings[p.deviceOf(bag)].WeightSource = topologies.SourceReceived
	if o := shown(NewFairness(), m); o.Exercised != 0 {
		t.Errorf("a device with settings of its own: got exercised %d, want 0", o.Exercised)
	}
}
