package speakers_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// withKnobs are the defaults with some knobs otherwise: "knob", "value", ...
func withKnobs(t testing.TB, knobs ...string) *topologies.Settings {
	t.Helper()
	s := topologies.DefaultSettings()
	for pair := range slices.Chunk(knobs, 2) {
		if err := s.Set(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	return &s
}

func drainTo(to topologies.DrainState) speakers.Input {
	return speakers.Input{Kind: speakers.Drain, Drain: to}
}

func withTags(r speakers.Route, tags ...uint32) speakers.Route {
	r.Tags = tags
	return r
}

// sessionsUp are the sessions of edge, Established.
func sessionsUp() (list []speakers.Input) {
	for _, b := range []int32{spine2, spine1, bag8, edge5} {
		list = append(list, speakers.Input{Kind: speakers.SessionUp, Bundle: b})
	}
	return list
}

func TestEveryCandidateHasTheVerdictThatDecidedOnIt(t *testing.T) {
	classes := func(cfg speakers.Config) speakers.Config {
		cfg.Classes = []string{"spine", "fabric", "region"}
		return cfg
	}
	winner := announce(spine1, route(2, 201, 7))
	cases := []struct {
		name   string
		knobs  []string
		inputs []speakers.Input
		later  []speakers.Input // a second later
		want   string           // of spine2's candidate
	}{
		{"ties with the winner", nil, []speakers.Input{announce(spine2, route(1, 202, 9))}, nil, "used"},
		{"its path has the own ASN", nil, []speakers.Input{announce(spine2, route(1, 202, edgeASN))}, nil, "dropped: own ASN in path"},
		{"its bundle is down", nil, []speakers.Input{announce(spine2, route(1, 202, 7)), capacity(spine2, 0)}, nil, "bundle down"},
		{"its class is not imported", []string{"import.reject-classes", "spine"}, []speakers.Input{announce(spine2, route(1, 202, 7))}, nil, "rejected by import policy (class spine)"},
		{"its community is not imported", []string{"import.reject-communities", "65000:7,65000:9"}, []speakers.Input{announce(spine2, withTags(route(1, 202, 7), 1, 65000<<16|9))}, nil, "rejected by import policy (community 65000:9)"},
		{"its bundle came back", nil, []speakers.Input{capacity(spine2, 0)}, []speakers.Input{capacity(spine2, 4*unit), announce(spine2, route(1, 202, 7))}, "on trial"},
		{"all bundles came back", nil, []speakers.Input{capacity(spine1, 0), capacity(spine2, 0)}, []speakers.Input{capacity(spine1, 4*unit), capacity(spine2, 4*unit), announce(spine2, route(1, 202, 7, 8))}, "longer AS_PATH"},
		{"its neighbour is being drained", nil, []speakers.Input{announce(spine2, withTags(route(1, 202, 7), speakers.GracefulShutdown))}, nil, "warm"},
		{"LOCAL_PREF", nil, []speakers.Input{announce(spine2, preferred(50, route(1, 202, 7)))}, nil, "lower LOCAL_PREF"},
		{"AS_PATH", nil, []speakers.Input{announce(spine2, route(1, 202, 7, 8))}, nil, "longer AS_PATH"},
		{"ORIGIN", nil, []speakers.Input{announce(spine2, from(2, route(1, 202, 7)))}, nil, "higher ORIGIN"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := classes(edge())
			cfg.Damping, cfg.Settings = held(30*time.Second), withKnobs(t, c.knobs...)
			core := fed(t, cfg, slices.Concat(sessionsUp(), []speakers.Input{winner}, c.inputs)...)
			step(t, core, time.Second, c.later...)
			got := core.Explain(0).Candidates
			if len(got) != 2 || got[0].Bundle != spine2 || got[0].Verdict != c.want {
				t.Errorf("got %+v, want spine2's with %q", got, c.want)
			}
		})
	}
}

func TestAnOriginSaysWhyItTakesNoCandidate(t *testing.T) {
	heard := announce(spine1, route(2, 201))
	heard.Prefix = 2
	e := fed(t, edge(), append(sessionsUp(), originate, heard)...).Explain(2)
	if !e.Local || !e.Originates || e.Best != -1 || len(e.Set) != 0 {
		t.Errorf("got local %t, originates %t, best %d, set %v, want its own route", e.Local, e.Originates, e.Best, e.Set)
	}
	same(t, "verdict", e.Candidates[0].Verdict, "locally originated")
	want := speakers.Valuation{Mode: speakers.ModeOrigin, Divisor: 1, Sum: bitsValue(8 * unit), Value: bitsValue(8 * unit)}
	same(t, "value", e.Valuation, want)
}

func bitsValue(bits uint64) damping.Value { return damping.Value{Reach: damping.Valued, Bits: bits} }

func TestTheValueIsExplainedForEveryMode(t *testing.T) {
	both := []speakers.Input{announce(spine1, route(2, 201, 7)), announce(spine2, route(6, 202, 7))}
	none := damping.Value{Reach: damping.Unvalued}
	cases := []struct {
		name   string
		knobs  []string
		inputs []speakers.Input
		want   speakers.Valuation
		equal  string
	}{
		{"bottleneck-sum adds the smaller of bundle and received", nil, both,
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 4 * unit}, {1, 2 * unit}}, Sum: bitsValue(6 * unit), Value: bitsValue(6 * unit)}, ""},
		{"divide shares it among those above and beside", []string{"divide", "equal"}, both,
			speakers.Valuation{Divisor: 2, Terms: []speakers.Term{{2, 4 * unit}, {1, 2 * unit}}, Sum: bitsValue(6 * unit), Value: bitsValue(3 * unit)}, ""},
		{"aggregate-received", []string{"advertise", "aggregate-received"}, both,
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 6 * unit}, {1, 2 * unit}}, Sum: bitsValue(8 * unit), Value: bitsValue(8 * unit)}, ""},
		{"aggregate-local", []string{"advertise", "aggregate-local"}, both,
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 4 * unit}, {1, 4 * unit}}, Sum: bitsValue(8 * unit), Value: bitsValue(8 * unit)}, ""},
		{"best-path", []string{"advertise", "best-path"}, both,
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{1, 2 * unit}}, Sum: bitsValue(2 * unit), Value: bitsValue(2 * unit)}, ""},
		{"set", []string{"advertise", "set", "advertise.value", "400G"}, both,
			speakers.Valuation{Divisor: 1, Sum: bitsValue(400e9), Value: bitsValue(400e9)}, ""},
		{"disable", []string{"advertise", "disable"}, both,
			speakers.Valuation{Divisor: 1, Sum: none, Value: none, Why: "advertise is disable"}, ""},
		{"a missing value ends the sum", nil, []speakers.Input{both[0], announce(spine2, unvalued(202, 7))},
			speakers.Valuation{Divisor: 1, Sum: none, Value: none, Why: "a member has no valid value and weights.missing is ecmp"}, "a member has no valid value and weights.missing is ecmp"},
		{"a missing value is skipped", []string{"weights.missing", "skip"}, []speakers.Input{both[0], announce(spine2, unvalued(202, 7))},
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 0}, {1, 2 * unit}}, Sum: bitsValue(2 * unit), Value: bitsValue(2 * unit)}, ""},
		{"a missing value counts as its bundle", []string{"weights.missing", "default-weight"}, []speakers.Input{both[0], announce(spine2, unvalued(202, 7))},
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 4 * unit}, {1, 2 * unit}}, Sum: bitsValue(6 * unit), Value: bitsValue(6 * unit)}, ""},
		{"no member has a value", []string{"weights.missing", "skip"}, []speakers.Input{announce(spine2, unvalued(202, 7))},
			speakers.Valuation{Divisor: 1, Sum: none, Value: none, Why: "no member has a valid value"}, "every share would be 0"},
		{"a zero makes the set equal", []string{"weights.zero", "ecmp"}, []speakers.Input{both[0], announce(spine2, route(0, 202, 7))},
			speakers.Valuation{Divisor: 1, Terms: []speakers.Term{{2, 0}, {1, 2 * unit}}, Sum: bitsValue(2 * unit), Value: bitsValue(2 * unit)}, "a member's value is 0 and weights.zero is ecmp"},
		{"a zero removes aggregate-received", []string{"advertise", "aggregate-received"}, []speakers.Input{both[0], announce(spine2, route(0, 202, 7))},
			speakers.Valuation{Divisor: 1, Sum: none, Value: none, Why: "advertise is aggregate-received and a member's value is missing or 0"}, ""},
		{"the best path has none", []string{"advertise", "best-path"}, []speakers.Input{announce(spine1, unvalued(201, 7))},
			speakers.Valuation{Divisor: 1, Sum: none, Value: none, Why: "advertise is best-path and the best path has no valid value"}, "a member has no valid value and weights.missing is ecmp"},
		{"no route", nil, nil, speakers.Valuation{Divisor: 1, Why: "no route"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := edge()
			cfg.Settings = withKnobs(t, c.knobs...)
			e := fed(t, cfg, append(sessionsUp(), c.inputs...)...).Explain(0)
			c.want.Mode = cfg.Settings.Advertise
			same(t, "value", e.Valuation, c.want)
			same(t, "why shares are equal", e.Equal, c.equal)
		})
	}
}

func TestBundlesOfOneNeighbourAreExplainedTogether(t *testing.T) {
	e := fed(t, twoBundles(), announce(bag8, route(3, 208, 7)), announce(bag8b, route(6, 208, 7))).Explain(0)
	want := []speakers.SetMember{
		{Bundle: bag8, Neighbor: 8, Capacity: 4 * unit, Valued: true, Received: 3 * unit, Parallel: 2, Min: 3 * unit, Share: 3 * unit / 2},
		{Bundle: bag8b, Neighbor: 8, Capacity: 4 * unit, Valued: true, Received: 6 * unit, Parallel: 2, Min: 3 * unit, Share: 3 * unit / 2},
	}
	same(t, "set", e.Set, want)
	same(t, "terms", e.Valuation.Terms, []speakers.Term{{8, 3 * unit}})
}

func TestAStageWithAMemoryIsShownWithAllAfterIt(t *testing.T) {
	grid, err := damping.NewQuantize(unit, 0, damping.Up)
	if err != nil {
		t.Fatal(err)
	}
	cfg := edge()
	cfg.Damping.Told = []damping.ToldStage{grid, lowest(time.Minute), grid}
	core := fed(t, cfg, announce(spine1, route(1.5, 201, 7)))
	step(t, core, time.Second, announce(spine1, route(2.5, 201, 7)))
	got := core.Explain(0).Told
	want := speakers.Stages{
		Stages: []speakers.Stage{
			{Name: grid.String(), Memoryless: true, In: bitsValue(2.5 * unit), Out: bitsValue(3 * unit)},
			{Name: "lowest 1m0s | " + grid.String(), In: bitsValue(3 * unit), Out: bitsValue(2 * unit)},
		},
		Next: time.Minute + time.Second,
	}
	if diff := cmp.Diff(want.Stages, got.Stages); diff != "" {
		t.Errorf("got + want -\n%s", diff)
	}
	if got.Next == speakers.Never {
		t.Errorf("got no timer, want one while something is kept back")
	}
}

func TestEveryNeighbourThatHearsNothingHasAReason(t *testing.T) {
	cases := []struct {
		name   string
		told   []damping.ToldStage
		inputs []speakers.Input
		want   map[int32]string // by bundle; empty = told
	}{
		{"from below goes everywhere but back", nil, []speakers.Input{announce(spine1, route(2, 201, 7))},
			map[int32]string{spine1: "its ASN 201 is in the path", spine2: "", bag8: "", edge5: ""}},
		{"from above goes down", nil, []speakers.Input{announce(bag8, route(2, 208, 7))},
			map[int32]string{spine1: "", spine2: "", bag8: "scope: learned from above", edge5: "scope: learned from above"}},
		{"from the same tier too", nil, []speakers.Input{announce(edge5, route(2, 205, 7))},
			map[int32]string{spine1: "", spine2: "", bag8: "scope: learned from the same tier", edge5: "scope: learned from the same tier"}},
		{"a session that is down", nil, []speakers.Input{announce(spine1, route(2, 201, 7)), sessionDown(bag8)},
			map[int32]string{spine1: "its ASN 201 is in the path", spine2: "", bag8: "session down", edge5: ""}},
		{"no route", nil, nil, map[int32]string{spine1: "no route", spine2: "no route", bag8: "no route", edge5: "no route"}},
		{"drained", nil, []speakers.Input{announce(spine1, route(2, 201, 7)), drainTo(topologies.Drained)},
			map[int32]string{spine1: "drained", spine2: "drained", bag8: "drained", edge5: "drained"}},
		{"damping withholds", []damping.ToldStage{mute{}}, []speakers.Input{announce(spine1, route(2, 201, 7))},
			map[int32]string{spine1: "withheld by damping", spine2: "withheld by damping", bag8: "withheld by damping", edge5: "withheld by damping"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := edge()
			cfg.Damping.Told = c.told
			got := map[int32]string{}
			for _, b := range fed(t, cfg, append(sessionsUp(), c.inputs...)...).Explain(0).Bundles {
				got[b.Bundle] = b.Why
				if b.Told != (b.Why == "") {
					t.Errorf("bundle %d: got told %t with the reason %q", b.Bundle, b.Told, b.Why)
				}
			}
			same(t, "reasons", got, c.want)
		})
	}
}

func TestTheCommunitiesAreThoseOfTheWire(t *testing.T) {
	nonTransitive, transitive := [8]byte{0x40, 4, 0, edgeASN, 0x50, 0x00, 0, 0}, [8]byte{0, 4, 0, edgeASN, 0x50, 0x00, 0, 0} // 2^33 bytes/s
	for form, want := range map[string][][8]byte{
		topologies.NonTransitive:  {nonTransitive},
		topologies.Transitive:     {transitive},
		topologies.BothTransitive: {transitive, nonTransitive},
	} {
		cfg := edge()
		cfg.Settings = withKnobs(t, "transitivity", form)
		cfg.Sessions[2].Capacity = 8 * unit
		got := fed(t, cfg, announce(bag8, route(8, 208, 7)), drainTo(topologies.Warm)).Explain(0).Tells
		same(t, form, got.Wire, want)
		same(t, form+": tags", got.Tags, []uint32{speakers.ScopeDown, speakers.GracefulShutdown})
		same(t, form+": path", got.WirePath, []uint32{edgeASN, 208, 7})
	}
}

func TestExplainChangesNothing(t *testing.T) {
	core := fed(t, edge(), append(sessionsUp(), announce(spine1, route(2, 201, 7)), announce(spine2, route(6, 202, 7)))...)
	before := core.Decision(0)
	hops := slices.Clone(before.Hops)
	first := core.Explain(0)
	first.Hops[0].Share = 1
	same(t, "hops", core.Decision(0).Hops, hops)
	same(t, "again", core.Explain(0).Valuation, first.Valuation)
	if effects := step(t, core, time.Second); len(effects) > 0 {
		t.Errorf("got effects %+v, want none", effects)
	}
}

// knobCases are settings that differ in what a decision or a value depends on.
func knobCases(t testing.TB) []*topologies.Settings {
	list := []*topologies.Settings{withKnobs(t)}
	for _, k := range topologies.Knobs() {
		for _, v := range k.Values {
			s := topologies.DefaultSettings()
			if s.Set(k.Name, v) == nil && s.Validate() == nil {
				list = append(list, &s)
			}
		}
	}
	return append(list, withKnobs(t, "advertise", "set", "advertise.value", "400G"), withKnobs(t, "advertise", "aggregate-local", "divide", "equal"))
}

func TestTheExplanationIsThatOfTheDecision(t *testing.T) {
	cases := knobCases(t)
	params := gopter.DefaultTestParametersWithSeed(10005)
	params.MinSuccessfulTests = 500
	properties := gopter.NewProperties(params)
	properties.Property("verdicts, shares, value and told route are the core's own", prop.ForAll(func(data []byte, which int, state uint8) string {
		r := newRace(data)
		if err := r.run(); err != nil {
			return err.Error()
		}
		inputs := []speakers.Input{{Kind: speakers.Configure, Settings: cases[which]}, drainTo(topologies.DrainState(state))}
		if _, err := r.core.Step(r.twin.now, inputs, nil); err != nil {
			return err.Error()
		}
		for r.core.Restarting() { // it has decided nothing yet
			if _, err := r.core.Step(r.core.Next(), nil, nil); err != nil {
				return err.Error()
			}
		}
		for p := range int32(tapePrefixes) {
			if wrong := contradiction(r.core, p); wrong != "" {
				return fmt.Sprintf("prefix %d: %s", p, wrong)
			}
		}
		return ""
	}, genTape(300), gen.IntRange(0, len(cases)-1), gen.UInt8Range(0, 2)))
	properties.TestingRun(t)
}

// contradiction is where an explanation is not that of the core's decision.
func contradiction(c *speakers.Core, p int32) string {
	e, d := c.Explain(p), c.Decision(p)
	var used []int32
	for _, j := range e.Candidates {
		if j.Verdict == speakers.VerdictUsed {
			used = append(used, j.Bundle)
		} else if j.Verdict == "" || j.Verdict == "not in the multipath set" {
			return fmt.Sprintf("bundle %d: verdict %q", j.Bundle, j.Verdict)
		}
	}
	var hops []speakers.Hop
	var set []int32
	for _, m := range e.Set {
		hops = append(hops, speakers.Hop{Bundle: m.Bundle, Share: m.Share})
		set = append(set, m.Bundle)
	}
	value := speakers.Decision{Local: e.Local, Hops: e.Hops, Valued: e.Valuation.Value.Reach == damping.Valued, Bottleneck: e.Valuation.Value.Bits, Told: e.Tells.Told}
	switch {
	case !slices.Equal(used, set):
		return fmt.Sprintf("used %v: want the set %v", used, set)
	case e.Drain != topologies.Drained && !slices.Equal(hops, d.Hops):
		return fmt.Sprintf("shares %v: want %v", hops, d.Hops)
	case !cmp.Equal(value, d):
		return fmt.Sprintf("value and told %+v: want %+v", value, d)
	}
	return disagreement(c, e)
}

// disagreement is where the parts of an explanation do not fit one another.
func disagreement(c *speakers.Core, e speakers.Explanation) string {
	sum, carry := uint64(0), uint64(0)
	for _, term := range e.Valuation.Terms {
		if sum, carry = bits.Add64(sum, term.Bits, 0); carry != 0 {
			sum = math.MaxUint64
			break
		}
	}
	if len(e.Valuation.Terms) > 0 && (sum != e.Valuation.Sum.Bits || sum/e.Valuation.Divisor != e.Valuation.Value.Bits) {
		return fmt.Sprintf("terms %v divided by %d: want %v", e.Valuation.Terms, e.Valuation.Divisor, e.Valuation.Value)
	}
	if stages := e.Told.Stages; len(stages) > 0 && stages[0].In != e.Valuation.Value {
		return fmt.Sprintf("damping begins with %v: want %v", stages[0].In, e.Valuation.Value)
	}
	for _, b := range e.Bundles {
		known, _ := c.Bundle(b.Bundle)
		if told := known.Up && c.Exports(b.Bundle, e.Tells.Told); b.Told != told || told != (b.Why == "") || b.Why == "the export rules keep it" {
			return fmt.Sprintf("bundle %d: told %t with the reason %q: want %t", b.Bundle, b.Told, b.Why, told)
		}
	}
	return ""
}

func TestAnAggregateIsExplainedByItsCondition(t *testing.T) {
	cfg := edge()
	condition := topologies.Aggregate{By: topologies.BySupporting, Announce: 1, Withdraw: 1, Suppress: true}
	cfg.Aggregates = []speakers.Aggregate{{Prefix: 1, Specifics: []int32{0}, Aggregate: condition}}
	core := fed(t, cfg, append(sessionsUp(), originate, announce(spine1, route(2, 201, 7)))...)
	e := core.Explain(1)
	same(t, "condition", e.Aggregate, &speakers.AggregateView{Aggregate: condition, Specifics: 1, Supporting: 1, Capacity: 4 * unit, Announced: true})
	same(t, "value", e.Valuation, speakers.Valuation{Mode: speakers.ModeAggregate, Divisor: 1, Sum: bitsValue(4 * unit), Value: bitsValue(4 * unit)})
	if !e.Local || e.Originates || !e.Tells.Atomic {
		t.Errorf("got local %t, originates %t, atomic %t, want its own route, which is an aggregate", e.Local, e.Originates, e.Tells.Atomic)
	}
	for _, b := range core.Explain(0).Bundles {
		want := map[int32]string{spine1: "its ASN 201 is in the path", spine2: ""}
		if b.NeighborRole >= topologies.Edge {
			want[b.Bundle] = "scope: an aggregate of this device stands for it"
		}
		same(t, fmt.Sprintf("bundle %d", b.Bundle), b.Why, want[b.Bundle])
	}
	if got := contradiction(core, 0) + contradiction(core, 1); got != "" {
		t.Error(got)
	}
}

func TestStaleCandidatesAndARestartingCoreSaySo(t *testing.T) {
	cfg := edge()
	restarts := speakers.Input{Kind: speakers.Restarts, Bundle: spine1}
	e := fed(t, cfg, append(sessionsUp(), announce(spine1, route(2, 201, 7)), restarts, sessionDown(spine1))...).Explain(0)
	if len(e.Candidates) != 1 || !e.Candidates[0].Stale || e.Candidates[0].Verdict != speakers.VerdictUsed || e.Bundles[1].StaleTo == speakers.Never {
		t.Errorf("got candidates %+v and bundle %+v, want a stale one that is used until its time", e.Candidates, e.Bundles[1])
	}
	cfg.Restart = &speakers.Restart{Bundles: []uint64{unit, unit, unit, unit}}
	e = fed(t, cfg, append(sessionsUp(), announce(spine1, route(2, 201, 7)))...).Explain(0)
	if !e.Restarting || e.Tells.Why != "restarting: not every neighbour has sent End-of-RIB" {
		t.Errorf("got restarting %t and nothing told because %q", e.Restarting, e.Tells.Why)
	}
}
