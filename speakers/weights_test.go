package speakers_test

import (
	"math"
	"testing"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
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
