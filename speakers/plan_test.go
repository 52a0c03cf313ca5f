package speakers_test

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
)

// planned is an edge with 4 members on each bundle, all of class "short" but the
// second spine's, and classes of the three prefixes.
func planned(plan damping.Plan) speakers.Config {
	cfg := edge()
	for i := range cfg.Sessions {
		cfg.Sessions[i].Info = damping.BundleInfo{Members: 4, Speed: unit, Length: 100, Class: "short"}
	}
	cfg.Sessions[0].Info.Class, cfg.Sessions[0].Info.Length = "long", 80_000
	cfg.Classes, cfg.Plan = []string{"spine", "fabric", "region"}, &plan
	return cfg
}

func passed(t *testing.T, core *speakers.Core, bundle int32) uint64 {
	t.Helper()
	got, ok := core.Bundle(bundle)
	if !ok {
		t.Fatalf("bundle %d: not there", bundle)
	}
	return got.Passed.Capacity / unit
}

func TestAPlanPutsStagesOnBundlesByClassAndLength(t *testing.T) {
	hold := func(of time.Duration) []damping.BundleStage { return []damping.BundleStage{damping.HoldDown{T: of}} }
	for name, rule := range map[string]damping.BundleRule{
		"class": {Class: "long", Stages: hold(time.Minute)}, "length": {MinLength: 10_000, Stages: hold(time.Minute)},
	} {
		core := speakers.New(planned(damping.Plan{Default: damping.Pipeline{Bundle: hold(10 * time.Second)}, Bundle: []damping.BundleRule{rule}}))
		step(t, core, 0, capacity(spine1, 2*unit), capacity(spine2, 2*unit))
		step(t, core, time.Second, capacity(spine1, 4*unit), capacity(spine2, 4*unit))
		for _, c := range []struct {
			at          time.Duration
			short, long uint64
			next        time.Duration
		}{{11 * time.Second, 4, 2, 61 * time.Second}, {61 * time.Second, 4, 4, speakers.Never}} {
			step(t, core, c.at)
			if short, long := passed(t, core, spine1), passed(t, core, spine2); short != c.short || long != c.long || core.Next() != c.next {
				t.Errorf("%s: at %v: got %d and %d units, next %v, want %d and %d, next %v", name, c.at, short, long, core.Next(), c.short, c.long, c.next)
			}
		}
	}
}

func TestAStageKnowsTheBundleItStandsOn(t *testing.T) {
	cfg := planned(damping.Uniform(damping.Pipeline{Bundle: []damping.BundleStage{damping.Deadband{Skip: 1, Every: 1}}}))
	cfg.Plan, cfg.Damping = nil, cfg.Plan.Default
	core := speakers.New(cfg)
	for _, c := range [][2]uint64{{3, 4}, {2, 3}, {0, 0}} {
		members, want := c[0], c[1]
		step(t, core, 0, capacity(spine1, members*unit))
		if got := passed(t, core, spine1); got != want {
			t.Errorf("%d of 4 members, the first failure ignored: got %d, want %d", members, got, want)
		}
	}
}

func TestAPlanPutsStagesOnPrefixesByRoleAndClass(t *testing.T) {
	coarse := func(steps uint64) []damping.ToldStage {
		return []damping.ToldStage{damping.Quantize{Step: steps * unit}}
	}
	core := speakers.New(planned(damping.Plan{
		Default: damping.Pipeline{Told: coarse(2)},
		Told:    []damping.ToldRule{{Role: "bag", Stages: coarse(16)}, {Role: "edge", Class: "fabric", Stages: coarse(8)}},
	}))
	first, second := announce(spine1, route(3, 201, 7)), announce(spine1, route(3, 201, 7))
	second.Prefix = 1
	step(t, core, 0, first, second)
	for p, want := range map[int32]float64{0: 4, 1: 8} {
		if got := core.Decision(p).Told.Value; got != units(want) {
			t.Errorf("prefix %d: got told %v, want %v", p, got, units(want))
		}
	}
}

// numbered is a stage that hears of which speaker and prefix it is.
type numbered struct {
	damping.Quantize
	made *[][2]uint64
}

func (n numbered) NewSpeaker(speaker uint64) damping.ToldMaker {
	return maker{n, speaker}
}

type maker struct {
	numbered
	speaker uint64
}

func (m maker) NewTold(prefix uint64) damping.ToldPolicy {
	*m.made = append(*m.made, [2]uint64{m.speaker, prefix})
	return m.Quantize.NewTold()
}

func TestPrefixesOfOneRuleShareTheirSpeaker(t *testing.T) {
	var a, b [][2]uint64
	cfg := planned(damping.Plan{
		Default: damping.Pipeline{Told: []damping.ToldStage{numbered{damping.Quantize{Step: unit}, &a}}},
		Told:    []damping.ToldRule{{Class: "fabric", Stages: []damping.ToldStage{numbered{damping.Quantize{Step: unit}, &b}}}},
	})
	cfg.Number = 9
	speakers.New(cfg)
	same(t, "the default", a, [][2]uint64{{9, 0}, {9, 2}})
	same(t, "the rule", b, [][2]uint64{{9, 1}})
}
