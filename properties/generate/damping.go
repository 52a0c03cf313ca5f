package generate

import (
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// plan draws what damping stands where: a preset, a pipeline of its own, or a
// plan with rules by class, length and role.
func plan(src Source, t *topologies.Topology) damping.Plan {
	sizes := damping.Sizes{Step: t.SmallestSpeed()}
	if !oneIn(src, 3) {
		name := pick(src, damping.PresetBagDefault, damping.PresetNone, damping.PresetBGPPP, damping.PresetOpenConfig, damping.PresetBagDefault)
		return damping.Uniform(must(damping.PresetFor(name, sizes)))
	}
	p := damping.Uniform(damping.Pipeline{Name: "own", Bundle: bundleStages(src), Told: toldStages(src, sizes.Step)})
	if oneIn(src, 3) {
		p.Bundle = append(p.Bundle, bundleRule(src, t))
	}
	if oneIn(src, 3) {
		p.Told = append(p.Told, toldRule(src, t, sizes.Step))
	}
	return p
}

// bundleStages draws up to three stages, in the order in which they make sense.
func bundleStages(src Source) (stages []damping.BundleStage) {
	if oneIn(src, 3) {
		up := time.Duration(src.IntN(3)) * 2 * time.Second
		stages = append(stages, damping.CarrierDelay{
			Down: damping.Fixed(time.Duration(src.IntN(3)) * time.Second),
			Up:   damping.Backoff{First: up, Max: up * time.Duration(between(src, 1, 4))},
		})
	}
	if oneIn(src, 3) {
		stages = append(stages, damping.Deadband{Skip: src.IntN(4), Every: between(src, 1, 8)})
	}
	if !oneIn(src, 3) {
		h := damping.HoldDown{T: seconds(src, 30, 10, 0, 90)}
		if h.T > 0 && oneIn(src, 3) {
			h.Max, h.Forget = 4*h.T, 10*time.Minute
		}
		stages = append(stages, h)
	}
	return stages
}

// toldStages draws up to three stages: one that rounds, and what spends time.
func toldStages(src Source, step uint64) (stages []damping.ToldStage) {
	q := func() damping.Quantize {
		return must(damping.NewQuantize(step*uint64(pick(src, 1, 1, 1, 2, 5)), pick(src, 0.1, 0, 0.05, 0.25), pick(src, damping.Up, damping.Down, damping.Nearest)))
	}
	switch src.IntN(3) {
	case 0:
		stages = append(stages, q())
	case 1:
		stages = append(stages, must(damping.Hysteresis{Quantize: q(), Margin: pick(src, 0.25, 0, 0.5)}.Built()))
	}
	if oneIn(src, 4) {
		stages = append(stages, damping.Pace{Interval: seconds(src, 10, 1, 30), Jitter: oneIn(src, 2), Seed: uint64(src.IntN(4))})
	}
	if oneIn(src, 6) {
		p := must(damping.PenaltyProfile(pick(src, damping.ProfileCisco, damping.ProfileAggressive)))
		stages = append(stages, p)
	}
	if oneIn(src, 8) {
		stages = append(stages, damping.StormGuard{Interval: 5 * time.Second, High: pick(src, 20, 4, 100), Low: between(src, 1, 4), MaxPause: time.Minute})
	}
	return stages
}

func bundleRule(src Source, t *topologies.Topology) damping.BundleRule {
	r := damping.BundleRule{Stages: bundleStages(src)}
	if oneIn(src, 2) {
		r.MinLength = pick(src, 10_000, 300, 80_000)
		return r
	}
	var classes []string
	for _, b := range t.Bundles {
		if class := t.BundleClass(b); !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	r.Class = pick(src, classes...)
	return r
}

func toldRule(src Source, t *topologies.Topology, step uint64) damping.ToldRule {
	r := damping.ToldRule{Stages: toldStages(src, step)}
	if oneIn(src, 2) {
		r.Class = t.Prefixes[src.IntN(len(t.Prefixes))].Class
		return r
	}
	r.Role = t.Devices[src.IntN(len(t.Devices))].Role.String()
	return r
}
