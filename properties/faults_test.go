package properties

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// The places of the faults below: a far /24 on its way through a spine of
// region 1, its edges, the bag of the first plane, and the far bag.
const (
	spine, edge, bag, farBag = "r1-f1-s1", "r1-f1-e1", "r1-bag1", "r2-bag1"
	far                      = "10.2.0.0/24" // of r2-f1-s1
)

// TestEachFaultIsFoundByItsRuleAlone spoils a network that is in order in one
// place, and expects the rules that this breaks and no other.
func TestEachFaultIsFoundByItsRuleAlone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		broken  broken
		settled bool
		spoil   func(p *paper, m *state.Moment)
		want    map[string]int
		text    string // in the first violation of the first rule in the order of All
	}{
		{"nothing is wrong", nil, true, func(*paper, *state.Moment) {}, nil, ""},
		{"nothing is wrong in a degraded network", broken{"r1-bag1--r2-bag1": 24, "r1-f1-e1--r1-bag1": 3, "r2-f1-s1--r2-f1-e2": 0}, true, func(*paper, *state.Moment) {}, nil, ""},

		{"a candidate is stale", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).Candidates[0].Value /= 2
		}, map[string]int{EndStateName: 1}, `device "r1-f1-s1", prefix 10.2.0.0/24: candidate over "r1-f1-s1--r1-f1-e1": the speaker holds 13.2T, AS_PATH`},
		{"a candidate is left from a session that does not tell it", nil, true, func(p *paper, m *state.Moment) {
			r := p.route(m, bag, far)
			r.Candidates = append([]state.Candidate{{Bundle: p.dir(edge, bag).Bundle, Path: []uint32{1}}}, r.Candidates...)
		}, map[string]int{EndStateName: 1}, "the neighbour tells nothing"},
		{"a candidate is missing", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).Candidates = p.route(m, spine, far).Candidates[:1]
		}, map[string]int{EndStateName: 1}, "the speaker holds none"},
		{"the told AS_PATH is not the one of the first member", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).Told.Path = []uint32{1, 2}
		}, map[string]int{EndStateName: 1}, "told: the speaker has 66 members"},
		{"the scope is lost", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).Told.Down = false
		}, map[string]int{EndStateName: 1}, "only down"},
		{"an end state is judged only when settled", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).Candidates = nil
		}, nil, ""},

		{"hardware has other weights than asked for", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).FIB.Members[0].Weight = 2
		}, map[string]int{ProportionName: 2}, `hardware sends 33.33 % over "r1-f1-s1--r1-f1-e2" where the speaker asks for 50 %: off by 50 %, want at most 0 %`},
		{"hardware lacks a member", nil, true, func(p *paper, m *state.Moment) {
			r := p.route(m, spine, far)
			r.FIB.Members = r.FIB.Members[:1]
		}, map[string]int{EndStateName: 1, ProportionName: 2}, "hardware has no next hop over"},
		{"hardware has a member that is not in the set", nil, true, func(p *paper, m *state.Moment) {
			r := p.route(m, edge, "10.1.0.0/20")
			r.FIB.Members = append(r.FIB.Members, fib.Weighted{ID: p.dir(edge, bag).Bundle, Weight: 1})
		}, map[string]int{EndStateName: 1, ProportionName: 2, NoLoopName: 1}, "which has no share in the set"},
		{"hardware sends a single next hop elsewhere", nil, true, func(p *paper, m *state.Moment) {
			p.route(m, edge, "10.1.0.0/24").FIB.Members[0].ID = p.dir(edge, bag).Bundle
		}, map[string]int{EndStateName: 1, NoLoopName: 1}, "hardware has no next hop over"},
		{"capacity has gone and nobody tells it", nil, true, func(p *paper, m *state.Moment) {
			m.True = p.moment(broken{"r1-f1-e1--r1-bag1": 8}).True
		}, map[string]int{ProportionName: some}, "where the capacity that is there makes it 20 %"},
		{"a path has gone and nobody tells it", nil, true, func(p *paper, m *state.Moment) {
			m.True = p.moment(broken{"r1-f1-e1--r1-bag1": 0}).True
		}, map[string]int{ProportionName: some}, "the undamped one"},
		{"proportion is judged only when settled", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, spine, far).FIB.Members[0].Weight = 9
		}, nil, ""},

		{"hardware lost a route on the way", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, bag, far).FIB = fib.Entry{}
		}, map[string]int{NoBlackHoleName: 1}, `device "r1-bag1", prefix 10.2.0.0/24: no next hop in hardware: the speaker has a route over "r1-bag1--r2-bag1"`},
		{"a device did not learn a prefix", nil, false, func(p *paper, m *state.Moment) {
			*p.route(m, bag, far) = state.Route{}
		}, map[string]int{NoBlackHoleName: 1}, "the export rules let the prefix reach this device"},
		{"hardware sends over a session that fell", nil, false, func(p *paper, m *state.Moment) {
			m.Snapshot.Bundles[p.dir(bag, farBag).Bundle].Up = false
		}, map[string]int{NoBlackHoleName: 14}, `hardware sends over "r1-bag1--r2-bag1": its session is down`},
		{"hardware sends over somebody else's bundle", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, bag, far).FIB.Members[0].ID = p.dir("r2-f1-e1", farBag).Bundle
		}, map[string]int{NoBlackHoleName: 1}, "it does not end at this device"},
		{"hardware sends over a bundle that does not exist", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, bag, far).FIB.Members[0].ID = 999
		}, map[string]int{NoBlackHoleName: 1}, "bundle 999 (there is no such)"},
		{"hardware sends to a device that the prefix does not reach", broken{"r1-bag1--r2-bag1": 0}, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).FIB.Members = []fib.Weighted{{ID: p.dir(edge, bag).Bundle, Weight: 1}}
		}, map[string]int{NoBlackHoleName: 1}, `to device "r1-bag1", which has no next hop`},
		{"an originator does not originate", nil, false, func(p *paper, m *state.Moment) {
			*p.route(m, "r2-f1-s1", far) = state.Route{}
		}, map[string]int{NoBlackHoleName: 1}, `device "r2-f1-s1", prefix 10.2.0.0/24: no route`},

		{"traffic goes down again to where it came from", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, bag, far).FIB.Members = []fib.Weighted{{ID: p.dir(edge, bag).Bundle, Weight: 1}}
		}, map[string]int{NoLoopName: 1}, `prefix 10.2.0.0/24: traffic comes back: r1-bag1 -> r1-f1-e1 -> r1-bag1`},
		{"one branch of several comes back", nil, false, func(p *paper, m *state.Moment) {
			r := p.route(m, edge, far)
			r.FIB.Members = append([]fib.Weighted{{ID: p.dir(spine, edge).Bundle, Weight: 1}}, r.FIB.Members...)
		}, map[string]int{NoLoopName: 1}, "r1-f1-s1"},

		{"a device tells more than the law allows", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Told.Value *= 1.5
		}, map[string]int{ToldWithinLawName: 1}, "tells 39.6T of a bottleneck value of 32 members (25.6T): want 25.6T to 28.16T"},
		{"a device tells less than it has", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Told.Value *= 0.9
		}, map[string]int{ToldWithinLawName: 1}, "tells 23.76T of a bottleneck value of 32 members (25.6T): want 25.6T to 28.16T"},
		{"a device tells a value that it does not have", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Valued = false
		}, map[string]int{ToldWithinLawName: 1}, "its bottleneck value is none"},
		{"a device keeps its value to itself", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Told.Valued = false
		}, map[string]int{ToldWithinLawName: 1}, "tells a route without a value"},
		{"a device keeps its route to itself", nil, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Told = state.Told{}
		}, map[string]int{LivePathName: 1}, "withheld: the device holds"},
		{"a device tells a prefix that it has lost", broken{"r1-bag1--r2-bag1": 0}, false, func(p *paper, m *state.Moment) {
			p.route(m, edge, far).Told = state.Told{Present: true}
		}, map[string]int{ToldWithinLawName: 1}, "without a route"},

		{"more groups at peak than the chip has", nil, false, func(p *paper, m *state.Moment) {
			m.Snapshot.Devices[p.deviceOf(bag)].FIB.GroupsPeak = 65
		}, map[string]int{FIBWithinLimitsName: 1}, `device "r1-bag1": 65 groups at peak: want at most 64 (jericho3)`},
		{"more member entries at peak than the chip has", nil, false, func(p *paper, m *state.Moment) {
			m.Snapshot.Devices[p.deviceOf(spine)].FIB.MembersPeak = 64001
		}, map[string]int{FIBWithinLimitsName: 1}, "64001 member entries at peak: want at most 64000"},
		{"more groups between changes than leave room", nil, false, func(p *paper, m *state.Moment) {
			m.Snapshot.Devices[p.deviceOf(bag)].FIB.Groups = 49
		}, map[string]int{FIBWithinLimitsName: 1}, "49 groups between changes: want at most 48"},
		{"more member entries between changes than leave room", nil, false, func(p *paper, m *state.Moment) {
			m.Snapshot.Devices[p.deviceOf(bag)].FIB.Members = 24577
		}, map[string]int{FIBWithinLimitsName: 1}, "24577 member entries between changes"},
		{"a set wider than a group", nil, false, func(p *paper, m *state.Moment) {
			r := p.route(m, spine, far)
			r.FIB.Dropped, r.FIB.Members = []int32{r.FIB.Members[1].ID}, r.FIB.Members[:1]
			m.Snapshot.Devices[p.deviceOf(spine)].FIB.Dropped = 1
		}, map[string]int{FIBWithinLimitsName: 1}, "a set of 2 members: 1 have no room in the group"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := small(t)
			m := p.moment(tc.broken)
			m.Settled = tc.settled
			tc.spoil(p, m)
			got := violatedRules(m)
			for rule, n := range tc.want {
				if n == some && got[rule] > 0 {
					got[rule] = some
				}
			}
			if diff := cmp.Diff(got, orEmpty(tc.want)); diff != "" {
				t.Errorf("violated rules (-got +want):\n%s", diff)
			}
			for _, c := range All() {
				if got[c.Name()] != 0 {
					if first := texts(c.Name(), m)[0]; !strings.Contains(first, tc.text) {
						t.Errorf("%s: got %q, want it to hold %q", c.Name(), first, tc.text)
					}
					break
				}
			}
		})
	}
}

// some stands for any number of violations.
const some = -1

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

// TestRestoreComparesWithTheBaseline spoils a route of a network that was
// broken and is whole again.
func TestRestoreComparesWithTheBaseline(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(r *state.Route)
		text  string
	}{
		{"all is back", func(*state.Route) {}, ""},
		{"a told value is not back", func(r *state.Route) { r.Told.Value /= 2 }, "told: it has 33 members (26.4T)"},
		{"a told path is not back", func(r *state.Route) { r.Told.Path = nil }, "told: it has 66 members"},
		{"a bottleneck value is not back", func(r *state.Route) { r.Bottleneck-- }, "bottleneck value"},
		{"a share is not back", func(r *state.Route) { r.Set[0].Share-- }, "multipath set"},
		{"a member is not back", func(r *state.Route) { r.Set = r.Set[:1] }, "multipath set"},
		{"hardware weights are not back", func(r *state.Route) { r.FIB.Members[1].Weight = 3 }, `"r1-f1-s1--r1-f1-e2" x 3`},
		{"another group of the same weights is the same", func(r *state.Route) { r.FIB.Group = 99 }, ""},
		{"candidates are the end state's", func(r *state.Route) { r.Candidates = nil }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := small(t)
			c := NewRestore()
			before, degraded, after := p.moment(nil), p.moment(broken{"r1-f1-e1--r1-bag1": 3}), p.moment(nil)
			degraded.Window, after.Window = p.window(before, degraded), p.window(degraded, after)
			for _, m := range []*state.Moment{before, degraded} {
				tc.spoil(p.route(m, spine, far))
				c.Look(m)
			}
			if o := c.Outcome(); o.Exercised != 0 || o.Violated != 0 {
				t.Fatalf("before the restore: got exercised %d, violated %d, want 0, 0", o.Exercised, o.Violated)
			}
			tc.spoil(p.route(after, spine, far))
			p.baseline = small(t).baseline
			after.Baseline = p.baseline
			c.Look(after)
			o := c.Outcome()
			if o.Exercised != 1 {
				t.Errorf("got exercised %d, want 1", o.Exercised)
			}
			if (o.Violated == 1) != (tc.text != "") || o.Violated > 1 {
				t.Fatalf("got %d violations %v, want %q", o.Violated, o.Violations, tc.text)
			}
			if tc.text != "" && !strings.Contains(o.Violations[0].Text, tc.text) {
				t.Errorf("got %q, want it to hold %q", o.Violations[0].Text, tc.text)
			}
		})
	}
}

// TestRestoreIsExercisedOnlyByWhatHadAnEffect also checks that the moments in
// between are not judged.
func TestRestoreIsExercisedOnlyByWhatHadAnEffect(t *testing.T) {
	p := small(t)
	spoilt := func(change func(m *state.Moment)) *state.Moment {
		m := p.moment(nil)
		p.route(m, spine, far).Told.Value = 1
		change(m)
		return m
	}
	effect := func(e state.Effect) *state.Window { return &state.Window{Effect: e} }
	for _, tc := range []struct {
		name                string
		moments             []*state.Moment
		exercised, violated int
	}{
		{"before any event", []*state.Moment{spoilt(func(*state.Moment) {})}, 0, 0},
		{"while something is degraded", []*state.Moment{spoilt(func(m *state.Moment) { m.Full, m.Window = false, effect(state.Changed) })}, 0, 0},
		{"while timers are pending", []*state.Moment{spoilt(func(m *state.Moment) { m.Settled, m.Window = false, effect(state.Changed) })}, 0, 0},
		{"after an event without effect", []*state.Moment{spoilt(func(m *state.Moment) { m.Window = effect(state.NoEffect) })}, 0, 1},
		{"after an absorbed event", []*state.Moment{spoilt(func(m *state.Moment) { m.Window = effect(state.Absorbed) })}, 1, 1},
		{"once per return", []*state.Moment{
			spoilt(func(m *state.Moment) { m.Window = effect(state.Changed) }),
			spoilt(func(m *state.Moment) { m.Window = effect(state.NoEffect) }),
		}, 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := NewRestore()
			for _, m := range tc.moments {
				c.Look(m)
			}
			if o := c.Outcome(); o.Exercised != tc.exercised || o.Violated != tc.violated {
				t.Errorf("got exercised %d, violated %d, want %d, %d", o.Exercised, o.Violated, tc.exercised, tc.violated)
			}
		})
	}
}

// TestProportionAllowsOneErrorPerSumOnTheWay holds the numbers of the design:
// what a spine of the other region has on its way.
func TestProportionAllowsOneErrorPerSumOnTheWay(t *testing.T) {
	p := preset(t, "prometheus-mini")
	m := p.moment(nil)
	for _, tc := range []struct {
		device, prefix string
		want           int
	}{
		{spine, "10.2.0.0/24", 1},
		{spine, "10.2.0.0/20", 2},
		{spine, "10.2.0.0/16", 3},
		{"r2-f1-e1", "10.2.0.0/20", 1}, // its set is the spines that originate it
		{farBag, "10.2.0.0/16", 2},
		{bag, "10.2.0.0/16", 3},
	} {
		w := newWay(m)
		w.start(p.prefixOf(tc.prefix), false)
		if got := 1 + w.beyond(p.deviceOf(tc.device)); got != tc.want {
			t.Errorf("%s, %s: got n = %d, want %d", tc.device, tc.prefix, got, tc.want)
		}
	}
}

// TestProportionLeavesNoRoomBeyondItsMargin takes a set whose undamped shares
// differ by just less, and by just more, than one quantizer step may hide.
func TestProportionLeavesNoRoomBeyondItsMargin(t *testing.T) {
	p := small(t)
	for _, tc := range []struct {
		ratio float64
		want  int
	}{{1.0, 0}, {1.2, 0}, {1.3, 1}} {
		// Of two members one is told as large as the other: their shares are
		// off by (1+ratio)/2, and 10 % is allowed.
		m := p.moment(nil)
		m.True = oneShare{m.True, p.deviceOf(spine), p.prefixOf(far), tc.ratio}
		c := NewProportion()
		c.Look(m)
		if o := c.Outcome(); o.Violated != tc.want || (o.Worst > o.Limit) != (tc.want > 0) {
			t.Errorf("shares of 1 to %v: got %d violations, worst %v, want %d", tc.ratio, o.Violated, o.Worst, tc.want)
		}
	}
}

// oneShare is a judge with another first share at one place.
type oneShare struct {
	state.Judge
	device, prefix int
	ratio          float64
}

func (j oneShare) Route(device, prefix int) *state.Route {
	r := j.Judge.Route(device, prefix)
	if device == j.device && prefix == j.prefix {
		r.Set[0].Share = uint64(float64(r.Set[0].Share) * j.ratio)
	}
	return r
}

// TestWorstIsAboveTheLimitExactlyWhereARuleIsViolated runs all faults' kinds of
// measure through the outcome, which reports cannot write if it is infinite.
func TestWorstIsAboveTheLimitExactlyWhereARuleIsViolated(t *testing.T) {
	p := small(t)
	m := p.moment(nil)
	p.route(m, spine, far).FIB.Members[0].Weight = 1000
	p.route(m, spine, "10.2.1.0/24").FIB.Members = nil
	p.route(m, edge, far).Told.Value = float32(math.MaxFloat32)
	m.Snapshot.Devices[p.deviceOf(bag)].FIB.GroupsPeak = 1000
	m.Window = &state.Window{Effect: state.Changed}
	for _, c := range All() {
		c.Look(m)
		o := c.Outcome()
		if (o.Worst > o.Limit) != (o.Violated > 0) || math.IsInf(o.Worst, 0) || math.IsNaN(o.Worst) {
			t.Errorf("%s: got worst %v of %v with %d violations", o.Name, o.Worst, o.Limit, o.Violated)
		}
	}
}

// TestViolationsAreKeptUpToALimitAndCountedBeyond breaks everything.
func TestViolationsAreKeptUpToALimitAndCountedBeyond(t *testing.T) {
	p := small(t)
	m := p.moment(nil)
	want := 0
	for d := range m.Snapshot.Devices {
		for i := range m.Snapshot.Devices[d].Routes {
			m.Snapshot.Devices[d].Routes[i] = state.Route{}
			want++
		}
	}
	c := NewEndState()
	c.Look(m)
	if o := c.Outcome(); o.Violated != want || len(o.Violations) != kept || o.Worst != float64(want) {
		t.Errorf("got %d violations, %d kept, worst %v, want %d, %d, %d", o.Violated, len(o.Violations), o.Worst, want, kept, want)
	}
}

// TestRulesAreNamedInTheOrderOfTheReport also checks that nothing is exercised
// before a check has looked.
func TestRulesAreNamedInTheOrderOfTheReport(t *testing.T) {
	want := []string{
		"end state equals oracle", "proportion", "no black hole", "no loop",
		"told within the pipeline's law", "containment", "FIB within limits, peak included", "restore returns to the baseline",
		"no live path dropped", "monotony", "fairness between planes", "survivors reach one another", "withdrawal before FIB removal",
		"nothing leaks",
	}
	var got []string
	for _, c := range All() {
		got = append(got, c.Name())
		if o := c.Outcome(); o.Name != c.Name() || o.Exercised != 0 || o.Held() {
			t.Errorf("%s: got %+v before the first look", c.Name(), o)
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("rules (-got +want):\n%s", diff)
	}
}
