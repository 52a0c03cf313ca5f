package properties

import (
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// plans are damping plans with every stage there is, and with grids that differ by
// role and class.
var plans = map[string]string{
	"hysteresis":      "{told: [hysteresis: {error: 10%, margin: 0.5}]}",
	"pace":            "{told: [quantize, pace: {interval: 5s, jitter: true}]}",
	"pace over all":   "{bundle: [holddown: {time: 7s}], told: [pace: {interval: 30s}]}",
	"penalty, lowest": "{told: [penalty: {profile: cisco-default, on-suppress: lowest}]}",
	"storm guard":     "{told: [quantize, storm-guard: {interval: 5s, high: 30, low: 10, max-pause: 60s}]}",
	"rfd at the edge": "{preset: bag-default, told-rules: [{role: edge, stages: [quantize, penalty: {profile: rfc7196-aggressive, on-suppress: lowest}]}]}",
	"carrier delay":   "{preset: bag-default, bundle: [carrier-delay: {down: 50ms, up: 2s, up-max: 8s}, holddown: {time: 10s, max: 60s, forget: 120s}]}",
	"deadband":        "{preset: bag-default, bundle: [deadband: {skip: 2, every: 4}, holddown]}",
	"bundles only":    "{bundle: [holddown: {time: 5s}]}",
	"anchored":        "bgp++",
	"two grids":       "{told: [quantize: {error: 5%}, quantize: {step: 1600G, error: 10%}]}",
	"rounded down":    "{told: [quantize: {rounding: down}]}",
	"rounded nearest": "{told: [quantize: {rounding: nearest}]}",
	"by place": `
  preset: bag-default
  bundle-rules:
    - {class: bag-bag, stages: [holddown: {time: 60s}]}
    - {max-length: 300m, stages: [deadband: {skip: 1}]}
    - {class: edge-bag, stages: []}
  told-rules:
    - {role: bag, class: region, stages: []}
    - {role: bag, stages: [quantize: {error: 50%}]}
    - {class: spine, stages: [quantize: {step: 400G, error: 5%, rounding: nearest}]}`,
}

func TestEveryRuleHoldsUnderEveryPlan(t *testing.T) {
	simOnly(t)
	for name, plan := range plans {
		sc, err := harness.ReadScenario(name, []byte(`topology: prometheus-mini
damping: `+plan+`
events:
  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 23}
  - degrade: {bundle: r1-bag1--r2-bag1, members: 11}
  - flap: {bundle: r1-f1-e1--r1-bag1, members: 20, count: 3, period: 9s}
  - down: {bundle: r1-f1-s2--r1-f1-e1}
  - up: {bundle: r1-f1-s2--r1-f1-e1}
  - restore: {all: true}
`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		res := holds(t, name, sc)
		if len(res.Rows) != len(sc.Events) || res.Rows[1].Effect == state.NoEffect {
			t.Errorf("%s: got %d rows, want %d, and an effect of the second", name, len(res.Rows), len(sc.Events))
		}
	}
}

func TestOnlyDoublingContainsAFlapSlowerThanTheHoldDown(t *testing.T) {
	simOnly(t)
	nlri := map[string]int{}
	for name, plan := range map[string]string{
		"none": "none", "plain": "bag-default", "doubling": "{preset: bag-default, bundle: [holddown: {time: 30s, max: 8m, forget: 16m}]}",
	} {
		sc, err := harness.ReadScenario(name, []byte(`topology: prometheus-mini
damping: `+plan+`
events:
  - flap: {bundle: r1-f1-s1--r1-f1-e1, members: 24, count: 80, period: 90s}
`))
		if err != nil {
			t.Fatal(err)
		}
		nlri[name] = holds(t, name, sc).Rows[0].Counters.NLRI()
	}
	if nlri["plain"] != nlri["none"] || 30*nlri["doubling"] > nlri["none"] {
		t.Errorf("got NLRI %v, want as many with a plain hold-down as without, and 30 times fewer with doubling", nlri)
	}
}

func TestRampsSeriesAndSynchronisedFlapsHold(t *testing.T) {
	simOnly(t)
	sc, err := harness.ReadScenario("x", []byte(`topology: prometheus-mini
events:
  - ramp: {bundle: r1-f1-s1--r1-f1-e1, from: 31, to: 8, over: 10m, steps: 23}
  - ramp: {bundle: r1-f1-s1--r1-f1-e1, from: 0, to: 32, over: 90s, steps: 4}
  - synchronised: {bundles: [r1-f1-s1--r1-f1-e1, r1-f1-s1--r1-f1-e2, r1-bag1--r2-bag1], members: 8, count: 3, period: 40s}
  - replay: {bundle: r1-f1-e1--r1-bag1, file: optical-link}
`))
	if err != nil {
		t.Fatal(err)
	}
	if res := holds(t, "x", sc); len(res.Rows) != len(sc.Events) {
		t.Errorf("got %d rows, want %d", len(res.Rows), len(sc.Events))
	}
}
