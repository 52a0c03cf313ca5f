package speakers_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

func valued(bytes float32, path ...uint32) speakers.Route {
	return speakers.Route{Path: path, Valued: true, Value: bytes}
}

func TestWeights(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	const most = math.MaxUint64
	cases := []struct {
		name       string
		inputs     []speakers.Input
		shares     []uint64 // ascending by bundle: of spine2, spine1
		unvalued   bool
		bottleneck uint64
	}{
		{name: "the share is what was received, below the bundle's capacity",
			inputs: []speakers.Input{announce(spine2, route(3, 202)), announce(spine1, route(1, 201))},
			shares: []uint64{3 * unit, unit}, bottleneck: 4 * unit},
		{name: "and the bundle's capacity, below what was received",
			inputs: []speakers.Input{announce(spine2, route(3, 202)), announce(spine1, route(9, 201)), capacity(spine2, unit)},
			shares: []uint64{unit, 4 * unit}, bottleneck: 5 * unit},
		{name: "one member without a value makes the set equal",
			inputs: []speakers.Input{announce(spine2, route(3, 202)), announce(spine1, unvalued(201))},
			shares: []uint64{1, 1}, unvalued: true},
		{name: "a candidate outside the set without a value does not",
			inputs: []speakers.Input{announce(spine2, route(3, 202)), announce(spine1, unvalued(201, 7))},
			shares: []uint64{3 * unit}, bottleneck: 3 * unit},
		{name: "a zero takes no share and adds nothing",
			inputs: []speakers.Input{announce(spine2, route(0, 202)), announce(spine1, route(2, 201))},
			shares: []uint64{0, 2 * unit}, bottleneck: 2 * unit},
		{name: "all zero: equal shares and 0 is told",
			inputs: []speakers.Input{announce(spine2, route(0, 202)), announce(spine1, valued(float32(math.Copysign(0, -1)), 201))},
			shares: []uint64{1, 1}, bottleneck: 0},
		{name: "a missing value wins against zeros",
			inputs: []speakers.Input{announce(spine2, route(0, 202)), announce(spine1, unvalued(201))},
			shares: []uint64{1, 1}, unvalued: true},
		{name: "NaN is no value", inputs: []speakers.Input{announce(spine2, route(1, 202)), announce(spine1, valued(nan, 201))},
			shares: []uint64{1, 1}, unvalued: true},
		{name: "nor is infinity", inputs: []speakers.Input{announce(spine1, valued(inf, 201))}, shares: []uint64{1}, unvalued: true},
		{name: "nor a negative one", inputs: []speakers.Input{announce(spine1, valued(-1, 201))}, shares: []uint64{1}, unvalued: true},
		{name: "a value that is marked as none is none",
			inputs: []speakers.Input{announce(spine1, speakers.Route{Path: []uint32{201}, Value: 5})}, shares: []uint64{1}, unvalued: true},
		{name: "the least positive value is not zero",
			inputs: []speakers.Input{announce(spine2, route(1, 202)), announce(spine1, valued(math.SmallestNonzeroFloat32, 201))},
			shares: []uint64{unit, 1}, bottleneck: unit + 1},
		{name: "the largest value is cut to the bundle",
			inputs: []speakers.Input{announce(spine1, valued(math.MaxFloat32, 201))}, shares: []uint64{4 * unit}, bottleneck: 4 * unit},
		{name: "sums saturate",
			inputs: []speakers.Input{
				announce(spine2, valued(math.MaxFloat32, 202)), announce(spine1, valued(math.MaxFloat32, 201)),
				capacity(spine2, most), capacity(spine1, most-1)},
			shares: []uint64{most, most - 1}, bottleneck: most},
		{name: "capacities are exact", // float32 would make 2^32 of it
			inputs: []speakers.Input{announce(spine1, route(9, 201)), capacity(spine1, 1<<32+1)},
			shares: []uint64{1<<32 + 1}, bottleneck: 1<<32 + 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := fed(t, edge(), c.inputs...).Decision(0)
			var shares []uint64
			for _, h := range got.Hops {
				shares = append(shares, h.Share)
			}
			same(t, "shares", shares, c.shares)
			if got.Valued == c.unvalued || got.Bottleneck != c.bottleneck {
				t.Errorf("got valued %v, bottleneck %d, want %v, %d", got.Valued, got.Bottleneck, !c.unvalued, c.bottleneck)
			}
			if got.Told.Valued == c.unvalued || got.Told.Value != linkbw.FromBits(c.bottleneck) || !got.Told.Present {
				t.Errorf("got told %+v, want valued %v, %v bytes/s", got.Told, !c.unvalued, linkbw.FromBits(c.bottleneck))
			}
		})
	}
}

func TestHearingAnInvalidValueAgainChangesNothing(t *testing.T) {
	nan := announce(spine1, valued(float32(math.NaN()), 201))
	core := fed(t, edge(), nan)
	same(t, "effects", step(t, core, 0, nan, announce(spine1, unvalued(201)), announce(spine1, valued(-5, 201))), []speakers.Effect(nil))
}

func TestBundlesOfOnePairShareOneValue(t *testing.T) {
	const most = math.MaxUint64
	cases := []struct {
		name       string
		inputs     []speakers.Input
		hops       []speakers.Hop
		bottleneck uint64
	}{
		{"the pair's capacity is the sum",
			[]speakers.Input{announce(bag8, route(99, 208)), announce(bag8b, route(99, 208)), capacity(bag8b, 2*unit)},
			[]speakers.Hop{{bag8, 4 * unit}, {bag8b, 2 * unit}}, 6 * unit},
		{"the received value counts once, split as the capacities are",
			[]speakers.Input{announce(bag8, route(3, 208)), announce(bag8b, route(3, 208)), capacity(bag8b, 2*unit)},
			[]speakers.Hop{{bag8, 2 * unit}, {bag8b, unit}}, 3 * unit},
		{"the lowest received value counts",
			[]speakers.Input{announce(bag8, route(6, 208)), announce(bag8b, route(2, 208))},
			[]speakers.Hop{{bag8, unit}, {bag8b, unit}}, 2 * unit},
		{"a zero is the lowest",
			[]speakers.Input{announce(bag8, route(6, 208)), announce(bag8b, route(0, 208)), announce(spine1, route(1, 201))},
			[]speakers.Hop{{spine1, unit}, {bag8, 0}, {bag8b, 0}}, unit},
		{"only members of the set count",
			[]speakers.Input{announce(bag8, route(6, 208)), announce(bag8b, route(0, 208, 7))},
			[]speakers.Hop{{bag8, 4 * unit}}, 4 * unit},
		{"a down bundle has no part",
			[]speakers.Input{announce(bag8, route(6, 208)), announce(bag8b, route(6, 208)), capacity(bag8, 0)},
			[]speakers.Hop{{bag8b, 4 * unit}}, 4 * unit},
		{"units that rounding leaves go to the first bundles",
			[]speakers.Input{announce(bag8, valued(2.125, 208)), announce(bag8b, valued(2.125, 208)), capacity(bag8, 30), capacity(bag8b, 30)},
			[]speakers.Hop{{bag8, 9}, {bag8b, 8}}, 17},
		{"a share may round to nothing",
			[]speakers.Input{announce(bag8, valued(0.125, 208)), announce(bag8b, valued(0.125, 208))},
			[]speakers.Hop{{bag8, 1}, {bag8b, 0}}, 1},
		{"a missing value makes the pair equal too",
			[]speakers.Input{announce(bag8, route(6, 208)), announce(bag8b, unvalued(208))},
			[]speakers.Hop{{bag8, 1}, {bag8b, 1}}, 0},
		{"other neighbours keep their own value",
			[]speakers.Input{announce(bag8, route(3, 208)), announce(bag8b, route(3, 208)), announce(spine2, route(9, 202)), announce(edge5, route(1, 205))},
			[]speakers.Hop{{spine2, 4 * unit}, {bag8, 3 * unit / 2}, {edge5, unit}, {bag8b, 3 * unit / 2}}, 8 * unit},
		{"a pair beyond all capacity saturates and its shares still add up",
			[]speakers.Input{announce(bag8, valued(math.MaxFloat32, 208)), announce(bag8b, valued(math.MaxFloat32, 208)), capacity(bag8, most/2+10), capacity(bag8b, most/2+10)},
			[]speakers.Hop{{bag8, most/2 + 10}, {bag8b, most/2 - 9}}, most},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := fed(t, twoBundles(), c.inputs...).Decision(0)
			same(t, "hops", got.Hops, c.hops)
			if got.Bottleneck != c.bottleneck {
				t.Errorf("bottleneck: got %d, want %d", got.Bottleneck, c.bottleneck)
			}
		})
	}
}

// Every multipath set of the tables is written as what spine2, spine1, bag8 and
// edge5 tell: "6u" is 6 units, "-" no value, "." no route. Their bundles have
// 4, 4, 2 and 4 units. The path told on is spine1's.
var sets = []string{
	normalSet, missingSet, zeroSet, bothSet, missingBest, zeroBest, allMissing, allZero, missingAndZero,
}

const (
	normalSet      = "6u 1u . ."
	missingSet     = "6u 1u - ."
	zeroSet        = "6u 1u . 0"
	bothSet        = "6u 1u - 0"
	missingBest    = "6u - . ."
	zeroBest       = "6u 0 . ."
	allMissing     = "- - . ."
	allZero        = "0 0 . ."
	missingAndZero = "- 0 . ."
)

// setInputs are the inputs that make a set.
func setInputs(t testing.TB, set string) []speakers.Input {
	t.Helper()
	inputs := []speakers.Input{capacity(bag8, 2*unit)}
	for i, word := range strings.Fields(set) {
		bundle := []int32{spine2, spine1, bag8, edge5}[i]
		path := []uint32{[]uint32{202, 201, 208, 205}[i], 7}
		switch word {
		case ".":
		case "-":
			inputs = append(inputs, announce(bundle, unvalued(path...)))
		default:
			n, err := strconv.Atoi(strings.TrimSuffix(word, "u"))
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, announce(bundle, route(float64(n), path...)))
		}
	}
	return inputs
}

// sharesOf are the shares of a decision, ascending by bundle: "4u 1u 0".
func sharesOf(d speakers.Decision) string {
	var words []string
	for _, h := range d.Hops {
		if h.Share > 0 && h.Share%unit == 0 {
			words = append(words, fmt.Sprintf("%du", h.Share/unit))
		} else {
			words = append(words, strconv.FormatUint(h.Share, 10))
		}
	}
	return strings.Join(words, " ")
}

func TestSharesForEveryKnobOfWeights(t *testing.T) {
	const (
		every   = "ecmp,skip,default-weight"
		both    = "exclude,ecmp"
		ecmp    = topologies.MissingECMP
		skip    = topologies.MissingSkip
		bundle  = topologies.MissingDefault
		exclude = topologies.ZeroExclude
	)
	cases := []struct {
		set, missing, zero   string // the values of weights.missing and weights.zero
		bottleneck, received string // the shares by weights.source
	}{
		{normalSet, every, both, "4u 1u", "6u 1u"},
		{missingSet, ecmp, both, "1 1 1", "1 1 1"},
		{missingSet, skip, both, "4u 1u 0", "6u 1u 0"},
		{missingSet, bundle, both, "4u 1u 2u", "6u 1u 2u"},
		{zeroSet, every, exclude, "4u 1u 0", "6u 1u 0"},
		{zeroSet, every, ecmp, "1 1 1", "1 1 1"},
		{bothSet, ecmp, both, "1 1 1 1", "1 1 1 1"},
		{bothSet, skip, exclude, "4u 1u 0 0", "6u 1u 0 0"},
		{bothSet, bundle, exclude, "4u 1u 2u 0", "6u 1u 2u 0"},
		{bothSet, "skip,default-weight", ecmp, "1 1 1 1", "1 1 1 1"},
		{missingBest, ecmp, both, "1 1", "1 1"},
		{missingBest, skip, both, "4u 0", "6u 0"},
		{missingBest, bundle, both, "4u 4u", "6u 4u"},
		{zeroBest, every, exclude, "4u 0", "6u 0"},
		{zeroBest, every, ecmp, "1 1", "1 1"},
		{allMissing, "ecmp,skip", both, "1 1", "1 1"},
		{allMissing, bundle, both, "4u 4u", "4u 4u"},
		{allZero, every, both, "1 1", "1 1"},
		{missingAndZero, "ecmp,skip", both, "1 1", "1 1"},
		{missingAndZero, bundle, exclude, "4u 0", "4u 0"},
		{missingAndZero, bundle, ecmp, "1 1", "1 1"},
	}
	rows := map[string]int{}
	for _, c := range cases {
		for _, missing := range strings.Split(c.missing, ",") {
			for _, zero := range strings.Split(c.zero, ",") {
				for source, want := range map[string]string{"bottleneck": c.bottleneck, "received": c.received} {
					name := fmt.Sprintf("%s: missing %s, zero %s, source %s", c.set, missing, zero, source)
					rows[name]++
					cfg := edge()
					cfg.Settings = withKnobs(t, "weights.missing", missing, "weights.zero", zero, "weights.source", source)
					if got := sharesOf(fed(t, cfg, setInputs(t, c.set)...).Decision(0)); got != want {
						t.Errorf("%s: got shares %s, want %s", name, got, want)
					}
				}
			}
		}
	}
	if want := len(sets) * 3 * 2 * 2; len(rows) != want {
		t.Errorf("got rows for %d combinations, want all %d", len(rows), want)
	}
	for name, n := range rows {
		if n != 1 {
			t.Errorf("%s: got %d rows, want 1", name, n)
		}
	}
}

func TestBundlesOfOnePairUnderEveryKnobOfWeights(t *testing.T) {
	const most = math.MaxUint64
	lone := func(r speakers.Route) []speakers.Input {
		return []speakers.Input{announce(bag8, r), announce(spine1, route(1, 201))}
	}
	pair := func(a, b speakers.Route) []speakers.Input {
		return append(lone(a), announce(bag8b, b), capacity(bag8b, 2*unit))
	}
	cases := []struct {
		name   string
		knobs  []string
		inputs []speakers.Input
		hops   []speakers.Hop
		valued bool
		sum    uint64
	}{
		{"received: the pair's value alone, split as the capacities are", []string{"weights.source", "received"},
			pair(route(9, 208), route(12, 208)), []speakers.Hop{{spine1, unit}, {bag8, 6 * unit}, {bag8b, 3 * unit}}, true, 7 * unit},
		{"skip: the one value of the pair counts for both", []string{"weights.missing", "skip"},
			pair(route(3, 208), unvalued(208)), []speakers.Hop{{spine1, unit}, {bag8, 2 * unit}, {bag8b, unit}}, true, 4 * unit},
		{"so where the first bundle has none", []string{"weights.missing", "skip"},
			pair(unvalued(208), route(3, 208)), []speakers.Hop{{spine1, unit}, {bag8, 2 * unit}, {bag8b, unit}}, true, 4 * unit},
		{"default-weight: it counts and the bundles do not", []string{"weights.missing", "default-weight"},
			pair(unvalued(208), route(3, 208)), []speakers.Hop{{spine1, unit}, {bag8, 2 * unit}, {bag8b, unit}}, true, 4 * unit},
		{"skip: a pair without a value gets nothing", []string{"weights.missing", "skip"},
			pair(unvalued(208), unvalued(208)), []speakers.Hop{{spine1, unit}, {bag8, 0}, {bag8b, 0}}, true, unit},
		{"default-weight: it counts as its bundles", []string{"weights.missing", "default-weight"},
			pair(unvalued(208), unvalued(208)), []speakers.Hop{{spine1, unit}, {bag8, 4 * unit}, {bag8b, 2 * unit}}, true, 7 * unit},
		{"so with received", []string{"weights.missing", "default-weight", "weights.source", "received"},
			pair(unvalued(208), unvalued(208)), []speakers.Hop{{spine1, unit}, {bag8, 4 * unit}, {bag8b, 2 * unit}}, true, 7 * unit},
		{"a zero on one bundle of the pair makes the set equal", []string{"weights.zero", "ecmp"},
			pair(route(3, 208), route(0, 208)), []speakers.Hop{{spine1, 1}, {bag8, 1}, {bag8b, 1}}, true, unit},
		{"a value beyond uint64 is not taken for a missing one", []string{"weights.source", "received"},
			lone(valued(math.MaxFloat32, 208)), []speakers.Hop{{spine1, unit}, {bag8, most}}, true, 5 * unit},
		{"not with default-weight either", []string{"weights.source", "received", "weights.missing", "default-weight"},
			lone(valued(math.MaxFloat32, 208)), []speakers.Hop{{spine1, unit}, {bag8, most}}, true, 5 * unit},
		{"shares of a pair beyond uint64 add up to it", []string{"weights.source", "received"},
			append(pair(valued(math.MaxFloat32, 208), valued(math.MaxFloat32, 208)), capacity(bag8b, 4*unit)),
			[]speakers.Hop{{spine1, unit}, {bag8, most/2 + 1}, {bag8b, most / 2}}, true, 9 * unit},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := twoBundles()
			cfg.Settings = withKnobs(t, c.knobs...)
			got := fed(t, cfg, c.inputs...).Decision(0)
			same(t, "hops", got.Hops, c.hops)
			if got.Valued != c.valued || got.Bottleneck != c.sum {
				t.Errorf("got valued %v, bottleneck %d, want %v, %d", got.Valued, got.Bottleneck, c.valued, c.sum)
			}
		})
	}
}

func TestKnobsOfWeightsProgramAndTellAtOnce(t *testing.T) {
	core := fed(t, edge(), setInputs(t, missingSet)...)
	hops := func(shares ...uint64) speakers.Effect {
		e := speakers.Effect{Kind: speakers.Program}
		for i, b := range []int32{spine2, spine1, bag8} {
			e.Hops = append(e.Hops, speakers.Hop{Bundle: b, Share: shares[i]})
		}
		return e
	}
	tell := func(n float64) speakers.Effect {
		return speakers.Effect{Kind: speakers.Tell, Told: speakers.Told{Present: true, Valued: true, Value: units(n), Path: []uint32{201, 7}}}
	}
	untold := tell(0)
	untold.Told.Valued = false
	for _, c := range []struct {
		knobs []string
		want  []speakers.Effect
	}{
		{[]string{"weights.missing", "skip"}, []speakers.Effect{hops(4*unit, unit, 0), tell(5)}},
		{[]string{"weights.missing", "skip", "weights.source", "received"}, []speakers.Effect{hops(6*unit, unit, 0)}},
		{[]string{"weights.missing", "skip", "weights.source", "received", "weights.zero", "ecmp"}, nil},
		{[]string{"weights.missing", "default-weight"}, []speakers.Effect{hops(4*unit, unit, 2*unit), tell(7)}},
		{nil, []speakers.Effect{hops(1, 1, 1), untold}},
	} {
		in := speakers.Input{Kind: speakers.Configure, Settings: withKnobs(t, c.knobs...)}
		same(t, fmt.Sprintf("effects of %v", c.knobs), step(t, core, 0, in), c.want)
		same(t, "effects of the same again", step(t, core, 0, in), []speakers.Effect(nil))
	}
}
