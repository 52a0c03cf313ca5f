package speakers_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// worth is one value in its three forms.
type worth struct {
	bits  uint64
	value float32 // bytes/s
	wire  string  // the community of edgeASN, non-transitive
}

// worths are the values of the tables by the words that stand for them.
var worths = map[string]worth{
	"0":    {0, 0, "4004006400000000"},
	"1u":   {8589934592, 1073741824, "400400644e800000"},
	"4u":   {34359738368, 4294967296, "400400644f800000"},
	"5u":   {42949672960, 5368709120, "400400644fa00000"},
	"7u":   {60129542144, 7516192768, "400400644fe00000"},
	"8u":   {68719476736, 8589934592, "4004006450000000"},
	"10u":  {85899345920, 10737418240, "4004006450200000"},
	"12u":  {103079215104, 12884901888, "4004006450400000"},
	"14u":  {120259084288, 15032385536, "4004006450600000"},
	"100G": {100000000000, 12499999744, "40040064503a43b7"}, // float32 has no exact 12.5e9
}

// wireOf are the link bandwidth communities of a told route in hexadecimal, the
// transitive one first.
func wireOf(asn uint32, told speakers.Told) string {
	var list []string
	for _, transitive := range []bool{true, false} {
		only := told.Form == topologies.Transitive
		if told.Valued && (told.Form == topologies.BothTransitive || transitive == only) {
			b := linkbw.Community{Transitive: transitive, ASN: linkbw.GlobalAdministrator(asn), Value: told.Value}.Encode()
			list = append(list, hex.EncodeToString(b[:]))
		}
	}
	return strings.Join(list, " ")
}

// tells checks what a core tells of a prefix against a word, "none" for a route
// without a value.
func tells(t testing.TB, c *speakers.Core, p int32, word string) {
	t.Helper()
	d := c.Decision(p)
	want, ok := worths[word]
	if ok == (word == "none") {
		t.Fatalf("no value is called %q", word)
	}
	if !d.Told.Present {
		t.Errorf("got nothing told, want %s", word)
	}
	if d.Valued != ok || d.Bottleneck != want.bits {
		t.Errorf("bottleneck: got valued %v, %d bits/s, want %v, %d", d.Valued, d.Bottleneck, ok, want.bits)
	}
	if d.Told.Valued != ok || d.Told.Value != want.value {
		t.Errorf("told: got valued %v, %v bytes/s, want %v, %v", d.Told.Valued, d.Told.Value, ok, want.value)
	}
	if got := wireOf(edgeASN, d.Told); got != want.wire {
		t.Errorf("community: got %q, want %q", got, want.wire)
	}
}

var modes = []string{
	topologies.AdvertiseBottleneckSum, topologies.AdvertiseAggregateReceived, topologies.AdvertiseAggregateLocal,
	topologies.AdvertiseBestPath, topologies.AdvertiseSet, topologies.AdvertiseDisable,
}

// advertising are the knobs of a mode and others.
func advertising(mode string, more ...string) []string {
	knobs := append([]string{"advertise", mode}, more...)
	if mode == topologies.AdvertiseSet {
		knobs = append(knobs, "advertise.value", "100G")
	}
	return knobs
}

// The sets are those of the tables of shares.
func TestToldValueOfEveryModeAndSet(t *testing.T) {
	// The values told by weights.missing; one alone is told whatever that is.
	cases := map[string]map[string]string{
		topologies.AdvertiseBottleneckSum: {
			normalSet: "5u", missingSet: "none,5u,7u", zeroSet: "5u", bothSet: "none,5u,7u", missingBest: "none,4u,8u",
			zeroBest: "4u", allMissing: "none,none,8u", allZero: "0", missingAndZero: "none,0,4u",
		},
		topologies.AdvertiseAggregateReceived: {
			normalSet: "7u", missingSet: "none", zeroSet: "none", bothSet: "none", missingBest: "none",
			zeroBest: "none", allMissing: "none", allZero: "none", missingAndZero: "none",
		},
		topologies.AdvertiseAggregateLocal: {
			normalSet: "8u", missingSet: "10u", zeroSet: "12u", bothSet: "14u", missingBest: "8u",
			zeroBest: "8u", allMissing: "8u", allZero: "8u", missingAndZero: "8u",
		},
		topologies.AdvertiseBestPath: {
			normalSet: "1u", missingSet: "1u", zeroSet: "1u", bothSet: "1u", missingBest: "none",
			zeroBest: "0", allMissing: "none", allZero: "0", missingAndZero: "0",
		},
		topologies.AdvertiseSet: {
			normalSet: "100G", missingSet: "100G", zeroSet: "100G", bothSet: "100G", missingBest: "100G",
			zeroBest: "100G", allMissing: "100G", allZero: "100G", missingAndZero: "100G",
		},
		topologies.AdvertiseDisable: {
			normalSet: "none", missingSet: "none", zeroSet: "none", bothSet: "none", missingBest: "none",
			zeroBest: "none", allMissing: "none", allZero: "none", missingAndZero: "none",
		},
	}
	missings := []string{topologies.MissingECMP, topologies.MissingSkip, topologies.MissingDefault}
	for _, mode := range modes {
		for _, set := range sets {
			wants := strings.Split(cases[mode][set], ",")
			for i, missing := range missings {
				want := wants[i%len(wants)]
				t.Run(fmt.Sprintf("%s/%s/%s", mode, set, missing), func(t *testing.T) {
					// Neither of the other knobs of weights has a part in what is told.
					for _, zero := range []string{topologies.ZeroExclude, topologies.ZeroECMP} {
						for _, source := range []string{topologies.SourceBottleneck, topologies.SourceReceived} {
							cfg := edge()
							cfg.Settings = withKnobs(t, advertising(mode, "weights.missing", missing, "weights.zero", zero, "weights.source", source)...)
							tells(t, fed(t, cfg, setInputs(t, set)...), 0, want)
						}
					}
				})
			}
		}
	}
}

func TestToldValueOfAnOwnPrefixInEveryMode(t *testing.T) {
	own := func(r speakers.Route) speakers.Input {
		in := announce(spine1, r)
		in.Prefix = 2
		return in
	}
	for _, mode := range modes {
		want, beaten := "8u", "1u"
		switch mode {
		case topologies.AdvertiseSet:
			want, beaten = "100G", "100G"
		case topologies.AdvertiseDisable:
			want, beaten = "none", "none"
		case topologies.AdvertiseAggregateLocal:
			beaten = "4u"
		}
		t.Run(mode, func(t *testing.T) {
			cfg := edge()
			cfg.Settings = withKnobs(t, advertising(mode)...)
			core := fed(t, cfg, originate, own(route(1, 201, 7)))
			tells(t, core, 2, want)
			// The constant stands for the own route alone.
			step(t, core, 0, own(preferred(101, route(1, 201, 7))))
			tells(t, core, 2, beaten)
		})
	}
}

func TestAggregateReceivedIsAllOrNothing(t *testing.T) {
	whole := []speakers.Input{announce(spine2, route(6, 202, 7)), announce(spine1, route(1, 201, 7))}
	cases := []struct {
		name string
		then []speakers.Input
		want string
	}{
		{"the sum is of what was received, whatever the bundles hold", nil, "7u"},
		{"less of a bundle does not show", []speakers.Input{capacity(spine2, unit)}, "7u"},
		{"a member whose bundle is down has no part", []speakers.Input{capacity(spine2, 0)}, "1u"},
		{"one member without a value removes it", []speakers.Input{announce(bag8, unvalued(208, 7))}, "none"},
		{"so does one with an invalid value", []speakers.Input{announce(bag8, valued(float32(math.Inf(1)), 208, 7))}, "none"},
		{"and one with 0", []speakers.Input{announce(bag8, route(0, 208, 7))}, "none"},
		{"one outside the set does not", []speakers.Input{announce(bag8, unvalued(208, 7, 6)), announce(edge5, route(0, 205, 7, 6))}, "7u"},
		{"nor one over a down bundle", []speakers.Input{announce(bag8, unvalued(208, 7)), capacity(bag8, 0)}, "7u"},
		{"it is back when the member is gone", []speakers.Input{announce(bag8, unvalued(208, 7)), withdraw(bag8)}, "7u"},
		{"it is back when the member has a value", []speakers.Input{announce(bag8, unvalued(208, 7)), announce(bag8, route(1, 208, 7))}, "8u"},
		{"every bundle of a pair counts", []speakers.Input{announce(bag8, route(2, 208, 7)), announce(bag8b, route(3, 208, 7))}, "12u"},
		{"every bundle of a pair must have a value", []speakers.Input{announce(bag8, route(2, 208, 7)), announce(bag8b, unvalued(208, 7))}, "none"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := twoBundles()
			cfg.Settings = withKnobs(t, "advertise", "aggregate-received")
			core := fed(t, cfg, whole...)
			step(t, core, 0, c.then...)
			tells(t, core, 0, c.want)
		})
	}
}

func TestAggregateReceivedAtTheEndsOfTheRange(t *testing.T) {
	cases := []struct {
		name string
		a, b float32
		want uint64
	}{
		{"the sum saturates", math.MaxFloat32, math.MaxFloat32, math.MaxUint64},
		{"the least positive value is not zero", units(1), math.SmallestNonzeroFloat32, unit + 1},
	}
	for _, c := range cases {
		cfg := edge()
		cfg.Settings = withKnobs(t, "advertise", "aggregate-received")
		d := fed(t, cfg, announce(spine2, valued(c.a, 202)), announce(spine1, valued(c.b, 201))).Decision(0)
		if !d.Valued || d.Bottleneck != c.want {
			t.Errorf("%s: got valued %v, %d bits/s, want true, %d", c.name, d.Valued, d.Bottleneck, c.want)
		}
	}
}

func TestAggregateLocalCountsEveryBundleAndItsDamping(t *testing.T) {
	cfg := twoBundles()
	cfg.Settings, cfg.Damping = withKnobs(t, "advertise", "aggregate-local"), held(10)
	core := fed(t, cfg, announce(bag8, unvalued(208)), announce(bag8b, route(0, 208)), announce(spine1, route(9, 201)))
	tells(t, core, 0, "12u")
	step(t, core, 1, capacity(bag8b, 2*unit))
	tells(t, core, 0, "10u")
	step(t, core, 2, capacity(bag8b, 4*unit), announce(spine1, route(8, 201)))
	tells(t, core, 0, "10u")
	step(t, core, 12)
	tells(t, core, 0, "12u")
}

// threeAbove is twoBundles with one more bag, so that up to three neighbours are
// of the upper or the same tier.
func threeAbove() speakers.Config {
	cfg := twoBundles()
	cfg.Sessions = append(cfg.Sessions, speakers.Session{
		Bundle: bag9, Neighbor: 9, NeighborASN: asnOf(9), NeighborRole: topologies.Bag, Capacity: 4 * unit,
	})
	return cfg
}

const bag9 int32 = 15 // to device 9

func TestToldValueIsDividedByTheNeighboursAboveThatMayHear(t *testing.T) {
	down := func(bundles ...int32) (list []speakers.Input) {
		for _, b := range bundles {
			list = append(list, capacity(b, 0))
		}
		return list
	}
	up := func(path ...uint32) []speakers.Input { return []speakers.Input{announce(spine1, route(4, path...))} }
	// 4 units in bits/s, divided by 3 and rounded down; float32 rounds further.
	third := worth{11453246122, 1431655808, "400400644eaaaaab"}
	two := worth{17179869184, 2147483648, "400400644f000000"}
	cases := []struct {
		name   string
		inputs []speakers.Input
		want   worth
	}{
		{"three, of the upper and of the same tier; two bundles to one of them count once", up(201, 7), third},
		{"one of the two bundles is down: still three", append(up(201, 7), down(bag8)...), third},
		{"or the other", append(up(201, 7), down(bag8b)...), third},
		{"both bundles are down: two", append(up(201, 7), down(bag8, bag8b)...), two},
		{"a bundle of the same tier is down: two", append(up(201, 7), down(edge5)...), two},
		{"one is in the path: two", up(201, 209, 7), two},
		{"two are in the path: one", up(201, 208, 205, 7), worths["4u"]},
		{"one is in the path and one down: one", append(up(201, 205, 7), down(bag9)...), worths["4u"]},
		{"none is left: the value stays whole", up(201, 208, 205, 209), worths["4u"]},
		{"all are down: the value stays whole", append(up(201, 7), down(bag8, bag8b, bag9, edge5)...), worths["4u"]},
		{"learned from above, told only down: the value stays whole", []speakers.Input{announce(bag8, route(4, 208, 7))}, worths["4u"]},
		{"learned from the same tier: the value stays whole", []speakers.Input{announce(edge5, route(4, 205, 7))}, worths["4u"]},
		{"lower neighbours do not count", append(up(201, 7), down(spine2)...), third},
		{"a session does not count, its bundle does", append(up(201, 7), sessionDown(bag9)), third},
		{"nor less capacity", append(up(201, 7), capacity(bag9, 1)), third},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := threeAbove()
			cfg.Settings = withKnobs(t, "divide", "equal")
			d := fed(t, cfg, c.inputs...).Decision(0)
			got := worth{d.Bottleneck, d.Told.Value, wireOf(edgeASN, d.Told)}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			for _, h := range d.Hops {
				if h.Share != 4*unit {
					t.Errorf("bundle %d: got share %d, want %d: shares are not divided", h.Bundle, h.Share, 4*unit)
				}
			}
		})
	}
}

func TestEveryModeThatTellsAValueDividesIt(t *testing.T) {
	cases := map[string]struct{ learned, own worth }{
		topologies.AdvertiseBottleneckSum:     {worth{21474836480, 2684354560, "400400644f200000"}, worths["4u"]},
		topologies.AdvertiseAggregateReceived: {worth{30064771072, 3758096384, "400400644f600000"}, worths["4u"]},
		topologies.AdvertiseAggregateLocal:    {worths["4u"], worths["4u"]},
		topologies.AdvertiseBestPath:          {worth{4294967296, 536870912, "400400644e000000"}, worths["4u"]},
		topologies.AdvertiseSet:               {worth{50000000000, 6249999872, "400400644fba43b7"}, worth{50000000000, 6249999872, "400400644fba43b7"}},
	}
	for mode, c := range cases {
		t.Run(mode, func(t *testing.T) {
			cfg := edge()
			cfg.Settings = withKnobs(t, advertising(mode, "divide", "equal")...)
			core := fed(t, cfg, append(setInputs(t, normalSet), originate)...)
			for p, want := range map[int32]worth{0: c.learned, 2: c.own} {
				d := core.Decision(p)
				if got := (worth{d.Bottleneck, d.Told.Value, wireOf(edgeASN, d.Told)}); got != want {
					t.Errorf("prefix %d: got %+v, want %+v", p, got, want)
				}
			}
		})
	}
}

func TestALostHearerChangesWhatIsToldOfEveryPrefix(t *testing.T) {
	cfg := edge()
	cfg.Settings = withKnobs(t, "divide", "equal")
	core := fed(t, cfg, originate, announce(spine1, route(4, 201, 7)))
	tell := func(p int32, n float64, path ...uint32) speakers.Effect {
		return speakers.Effect{Kind: speakers.Tell, Prefix: p, Told: speakers.Told{Present: true, Valued: true, Value: units(n), Path: path}}
	}
	same(t, "bundle down", step(t, core, 0, capacity(bag8, 0)), []speakers.Effect{tell(0, 4, 201, 7), tell(2, 8)})
	same(t, "bundle up", step(t, core, 0, capacity(bag8, unit)), []speakers.Effect{tell(0, 2, 201, 7), tell(2, 4)})
	same(t, "bundle grown", step(t, core, 0, capacity(bag8, 2*unit)), []speakers.Effect(nil))
}

func TestADividedValueIsDamped(t *testing.T) {
	cfg := edge()
	cfg.Settings = withKnobs(t, "divide", "equal")
	cfg.Damping.Told = []damping.ToldStage{damping.Quantize{Step: 4 * unit}} // to the next multiple of 4 units, up
	d := fed(t, cfg, announce(spine1, route(3, 201, 7))).Decision(0)
	if d.Bottleneck != 3*unit/2 || d.Told.Value != units(4) {
		t.Errorf("got bottleneck %d, told %v, want %d, %v", d.Bottleneck, d.Told.Value, 3*unit/2, units(4))
	}
}

func TestTransitivityOfTheCommunity(t *testing.T) {
	cases := []struct{ knob, form, wire, wide string }{
		{topologies.NonTransitive, "", "400400644e800000", "40045ba04e800000"},
		{topologies.Transitive, topologies.Transitive, "000400644e800000", "00045ba04e800000"},
		{topologies.BothTransitive, topologies.BothTransitive, "000400644e800000 400400644e800000", "00045ba04e800000 40045ba04e800000"},
	}
	for _, c := range cases {
		t.Run(c.knob, func(t *testing.T) {
			for asn, want := range map[uint32]string{edgeASN: c.wire, 4200000000: c.wide} {
				cfg := edge()
				cfg.ASN, cfg.Settings = asn, withKnobs(t, "transitivity", c.knob)
				core := fed(t, cfg, announce(spine1, route(1, 201, 7)))
				told := core.Decision(0).Told
				if got := wireOf(asn, told); told.Form != c.form || got != want {
					t.Errorf("AS %d: got form %q, community %s, want %q, %s", asn, told.Form, got, c.form, want)
				}
				step(t, core, 0, announce(spine1, unvalued(201, 7)))
				same(t, "told without a value", core.Decision(0).Told, speakers.Told{Present: true, Path: []uint32{201, 7}})
			}
		})
	}
}

func TestAnotherTransitivityTellsAndProgramsNothing(t *testing.T) {
	core := fed(t, edge(), announce(spine1, route(1, 201, 7)))
	without := announce(spine1, unvalued(201, 7))
	without.Prefix = 1
	step(t, core, 0, without)
	for _, form := range []string{topologies.Transitive, topologies.BothTransitive, ""} {
		knob := form
		if form == "" {
			knob = topologies.NonTransitive
		}
		got := step(t, core, 0, speakers.Input{Kind: speakers.Configure, Settings: withKnobs(t, "transitivity", knob)})
		same(t, knob, got, []speakers.Effect{{Kind: speakers.Tell, Told: speakers.Told{
			Present: true, Valued: true, Value: units(1), Path: []uint32{201, 7}, Form: form,
		}}})
	}
}
