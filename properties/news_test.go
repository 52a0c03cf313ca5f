package properties

import (
	"context"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// TestRulesThatLookAtNewsFindWhatThoseFindThatLookAtEverything shows the moments of
// random runs to two sets of rules: to one with what may differ since the moment
// before, to the other without a word of that. After each moment both have found the
// same. Then faults are planted that come and go.
func TestRulesThatLookAtNewsFindWhatThoseFindThatLookAtEverything(t *testing.T) {
	seed := seedOfRun(t)
	rng := rand.New(rand.NewSource(seed))
	found := map[string]int{}
	faults := 0 // planted so far: each kind in turn
	quotient := counts{2, 2, 2, 2}.topology(t)
	mini, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topology *topologies.Topology
		damping  string
		runs     int
	}{
		{mini, damping.PresetBagDefault, 3},
		{quotient, damping.PresetBagDefault, 8},
		{quotient, "{bundle: [holddown: {time: 10s}], told: [hysteresis: {error: 10%, margin: 0.25}, pace: {interval: 10s}]}", 6},
		{quotient, "{told: [quantize, penalty: {profile: cisco-default, on-suppress: lowest}]}", 3},
	} {
		topology := c.topology
		plan, err := harness.ReadPlan("plan", []byte(c.damping), damping.Sizes{Step: topology.SmallestSpeed()})
		if err != nil {
			t.Fatal(err)
		}
		runs := c.runs
		if brief() {
			runs = 1
		}
		for range runs {
			events := append(newMaker(topology).several(rng), restoreAll())
			moments := momentsPlayed(t, harness.Options{Topology: topology, Damping: plan.Default, Plan: &plan, Engine: harness.Sim}, events)
			if diff := foundAlike(moments, found); diff != "" {
				t.Fatalf("BAGRIG_SEED=%d: %s, %s, as it was: %s", seed, topology.Name, c.damping, diff)
			}
			for range 5 {
				if diff := foundAlike(spoiltAtRandom(rng, moments, &faults), found); diff != "" {
					t.Fatalf("BAGRIG_SEED=%d: %s, %s, with faults: %s", seed, topology.Name, c.damping, diff)
				}
			}
		}
	}
	for _, c := range All() {
		if _, actions := c.(state.OrderCheck); c.Name() != ContainmentName && !actions && !conditional(c.Name()) && found[c.Name()] == 0 {
			t.Errorf("%s: no fault was planted that it finds", c.Name())
		}
	}
}

// several are random events with drains, restarts, settings and resets among them.
func (m *maker) several(rng *rand.Rand) (events []state.Event) {
	for range 6 {
		switch e := m.event(rng, events); rng.Intn(6) {
		case 0:
			e = state.Event{Kind: "drain", Device: m.device(rng), State: []string{"warm", "drained", "live"}[rng.Intn(3)], Silent: true}
			events = append(events, e)
		case 1:
			events = append(events, state.Event{Kind: "set", Device: m.device(rng), Knob: "advertise", Value: topologies.AdvertiseAggregateLocal, Silent: true})
		case 2:
			events = append(events, state.Event{Kind: "reset", Bundle: m.bundle(rng), Silent: true})
		default:
			events = append(events, e)
		}
	}
	return playable(m.t, m.ix, events)
}

// momentsPlayed plays events and keeps every moment that checks were shown.
func momentsPlayed(t *testing.T, opts harness.Options, events []state.Event) []*state.Moment {
	t.Helper()
	w := &witness{}
	opts.Checks = []state.Check{w}
	rig, err := harness.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Play(context.Background(), events...); err != nil {
		t.Fatal(err)
	}
	if err := rig.Close(); err != nil {
		t.Fatal(err)
	}
	var moments []*state.Moment
	for i := range w.moments {
		w.moments[i].Since = nil
		moments = append(moments, &w.moments[i])
	}
	return moments
}

// foundAlike shows moments in both ways, and notes who finds something.
func foundAlike(moments []*state.Moment, found map[string]int) string {
	told, untold := All(), All()
	for i, m := range moments {
		news := *m
		if i > 0 {
			news.Since = harness.Since(moments[i-1], m)
			news.Since.Before = told[0].(*EndState).news.seen
		}
		for k := range told {
			told[k].Look(&news)
			untold[k].Look(m)
			if x, y := told[k].Outcome(), untold[k].Outcome(); !reflect.DeepEqual(x, y) {
				return fmt.Sprintf("moment %d of %d (settled %v): with what may differ, and with everything (-+):\n%s", i, len(moments), m.Settled, cmp.Diff(x, y))
			}
		}
	}
	for _, c := range told {
		found[c.Name()] += c.Outcome().Violated
	}
	return ""
}

// spoiltAtRandom plants a few faults that last for some of the moments.
func spoiltAtRandom(rng *rand.Rand, moments []*state.Moment, faults *int) []*state.Moment {
	spoilt := make([]*state.Moment, len(moments))
	for i := range moments {
		m := *moments[i]
		spoilt[i] = &m
	}
	for range 1 + rng.Intn(5) {
		*faults++
		from := rng.Intn(len(spoilt))
		to := from + 1 + rng.Intn(min(6, len(spoilt)-from))
		d, p, fault, b := rng.Intn(len(moments[0].Topology.Devices)), rng.Intn(len(moments[0].Topology.Prefixes)), *faults%19, rng.Intn(len(moments[0].Topology.Bundles))
		for _, m := range spoilt[from:to] {
			spoil(m, moments, d, p, b, fault)
		}
	}
	return spoilt
}

// spoil plants one fault in a copy of what a moment shows.
func spoil(m *state.Moment, moments []*state.Moment, d, p, b, fault int) {
	s := *m.Snapshot
	s.Devices, s.Bundles = slices.Clone(s.Devices), slices.Clone(s.Bundles)
	dev := &s.Devices[d]
	dev.Routes = slices.Clone(dev.Routes)
	r := &dev.Routes[p]
	r.Set, r.Candidates, r.FIB.Members = slices.Clone(r.Set), slices.Clone(r.Candidates), slices.Clone(r.FIB.Members)
	m.Snapshot = &s
	switch {
	case fault == 0 && len(r.Candidates) > 0:
		r.Candidates[0].Value /= 2
	case fault == 1:
		r.Candidates = nil
	case fault == 2:
		r.Told.Value *= 1.5
	case fault == 3:
		r.Told = state.Told{}
	case fault == 4 && len(r.FIB.Members) > 0:
		r.FIB.Members[0].Weight += 3
	case fault == 5:
		r.FIB = fib.Entry{}
	case fault == 6 && len(r.FIB.Members) > 0:
		r.FIB.Members[0].ID = int32(m.Index.Of[d][b%len(m.Index.Of[d])])
	case fault == 7 && len(r.Set) > 0:
		r.Set = r.Set[1:]
	case fault == 8:
		r.Bottleneck--
	case fault == 9:
		*r = state.Route{}
	case fault == 10:
		s.Bundles[b].Up = !s.Bundles[b].Up
	case fault == 11:
		s.Bundles[b].Unseen = true
	case fault == 12:
		dev.Drain = topologies.Drained
	case fault == 13:
		dev.Restarting = true
	case fault == 14:
		dev.FIB.GroupsPeak = 1000
	case fault == 15:
		dev.FIB.Compromises, r.FIB.Compromise, r.FIB.Error = 1, fib.Shared, 2
	case fault == 16:
		m.True = moments[(b+p)%len(moments)].True
	case fault == 17:
		m.Damped = moments[(b+p)%len(moments)].Damped
	case fault == 18:
		r.FIB.Members = nil
		for _, bundle := range m.Index.Of[d] {
			r.FIB.Members = append(r.FIB.Members, fib.Weighted{ID: int32(bundle), Weight: 1})
		}
	}
}

// TestNothingDiffersBetweenMomentsThatIsNotSaid holds what a rig says of two moments
// against all that they show.
func TestNothingDiffersBetweenMomentsThatIsNotSaid(t *testing.T) {
	seed := seedOfRun(t)
	rng := rand.New(rand.NewSource(seed))
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	said, places := 0, 0
	for range 3 {
		events := append(newMaker(topology).several(rng), restoreAll())
		pipeline := pipelineOf(t, damping.PresetBagDefault, topology)
		moments := momentsPlayed(t, harness.Options{Topology: topology, Damping: pipeline, Engine: harness.Sim}, events)
		for i, m := range moments[1:] {
			before := moments[i]
			since := harness.Since(before, m)
			said, places = said+since.Routes.Len(), places+len(topology.Devices)*len(topology.Prefixes)
			for d := range topology.Devices {
				for p := range topology.Prefixes {
					if since.Routes.Has(d, p) {
						continue
					}
					if diff := unsaid(before, m, d, p); diff != "" {
						t.Fatalf("BAGRIG_SEED=%d: moment %d, %s: %s", seed, i+1, at(m.Network, d, p), diff)
					}
				}
			}
		}
	}
	if said > places/2 {
		t.Errorf("%d of %d places may differ, want less than half: nothing is saved", said, places)
	}
}

func unsaid(a, b *state.Moment, d, p int) string {
	x, y := &a.Snapshot.Devices[d], &b.Snapshot.Devices[d]
	if x.Drain != y.Drain || x.Restarting != y.Restarting {
		return "drained or restarting"
	}
	if !reflect.DeepEqual(&x.Routes[p], &y.Routes[p]) {
		return "the speaker or its hardware: " + cmp.Diff(&x.Routes[p], &y.Routes[p], apart)
	}
	for _, judges := range [][2]state.Judge{{a.Damped, b.Damped}, {a.True, b.True}} {
		if x, y := judges[0].Route(d, p), judges[1].Route(d, p); !reflect.DeepEqual(x, y) {
			return "the graph: " + cmp.Diff(x, y, apart)
		}
	}
	if x, y := a.Damped.Receives(d, p), b.Damped.Receives(d, p); !reflect.DeepEqual(x, y) {
		return "what neighbours tell: " + cmp.Diff(x, y)
	}
	for _, bundle := range a.Index.Of[d] {
		if a.Damped.TellsTo(d, p, int32(bundle)) != b.Damped.TellsTo(d, p, int32(bundle)) || carries(a, int32(bundle)) != carries(b, int32(bundle)) {
			return "told, or carried, otherwise over " + bundleName(a.Network, int32(bundle))
		}
	}
	return ""
}

// twoMoments are one moment twice, of which a fault is in the first alone.
func twoMoments(p *paper, b broken, spoil func(route func(device, prefix string) *state.Route)) [2]*state.Moment {
	second := p.moment(b)
	first, s := *second, *second.Snapshot
	first.Snapshot, s.Devices = &s, slices.Clone(s.Devices)
	spoil(func(device, prefix string) *state.Route {
		d := p.deviceOf(device)
		s.Devices[d].Routes = slices.Clone(s.Devices[d].Routes)
		return p.route(&first, device, prefix)
	})
	second.Since = harness.Since(&first, second)
	return [2]*state.Moment{&first, second}
}

// What changes at one device may be another's to answer for.
func TestNewsAreJudgedWhereTheyMatter(t *testing.T) {
	t.Run("a device that loses its last next hop leaves its neighbours a black hole", func(t *testing.T) {
		p := small(t)
		hop := []fib.Weighted{{ID: p.dir(edge, bag).Bundle, Weight: 1}}
		moments := twoMoments(p, broken{"r1-bag1--r2-bag1": 0}, func(route func(device, prefix string) *state.Route) {
			route(bag, far).FIB.Members = []fib.Weighted{{ID: p.dir("r1-f2-e1", bag).Bundle, Weight: 1}}
			route("r1-f2-e1", far).FIB.Members = []fib.Weighted{{ID: p.dir("r1-f2-s1", "r1-f2-e1").Bundle, Weight: 1}}
		})
		for _, m := range moments {
			m.Snapshot.Devices[p.deviceOf(edge)].Routes = slices.Clone(m.Snapshot.Devices[p.deviceOf(edge)].Routes)
			p.route(m, edge, far).FIB.Members = hop
		}
		moments[1].Since = harness.Since(moments[0], moments[1])
		lookAt(t, NewNoBlackHole(), moments, 0, 1)
	})
	t.Run("a device on the way that sums no more leaves less of a margin", func(t *testing.T) {
		p := small(t)
		moments := twoMoments(p, nil, func(route func(device, prefix string) *state.Route) {
			r := route(edge, far)
			r.Set = append(slices.Clone(r.Set), state.Member{Bundle: p.dir("r1-f1-s2", edge).Bundle, Share: 1})
		})
		truth := p.moment(broken{"r1-f1-s1--r1-f1-e1": 26}).True
		moments[0].True, moments[1].True = truth, truth
		c := NewProportion()
		c.Look(moments[0])
		before := c.Outcome().Violated
		c.Look(moments[1])
		plain := NewProportion()
		moments[1].Since = nil
		plain.Look(moments[1])
		if got, want := c.Outcome().Violated-before, plain.Outcome().Violated; got != want || want == 0 {
			t.Errorf("got %d violations, want %d, and some", got, want)
		}
	})
}

// lookAt shows moments to a rule, which finds that many violations in all after each.
func lookAt(t *testing.T, c state.Check, moments [2]*state.Moment, want ...int) {
	t.Helper()
	for i, m := range moments {
		c.Look(m)
		if got := c.Outcome().Violated; got != want[i] {
			t.Errorf("after moment %d: got %d violations, want %d: %v", i, got, want[i], c.Outcome().Violations)
		}
	}
}
