package damping

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func planOf(t *testing.T, text string) (Plan, error) {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	return PlanOf(tree, Sizes{Step: member, Largest: 72 * member})
}

func TestPlanOfReadsEveryStageAndRule(t *testing.T) {
	plan, err := planOf(t, `
name: mine
settle: 3h
bundle:
  - carrier-delay: {down: 50ms, up: 200ms, up-max: 8s}
  - deadband: {skip: 2, every: 4}
  - holddown: {time: 30s, max: 8m, forget: 16m}
told:
  - hysteresis: {step: 400G, error: 5%, rounding: nearest, margin: 0.5}
  - quantize: {error: 0.2, fixed: [25600G, 57.6T]}
  - pace: {interval: 5s, seed: 9}
  - penalty: {profile: rfc7196-aggressive, on-suppress: withdraw, suppress: 7000, half-life: 10m}
  - storm-guard
bundle-rules:
  - {class: lab, stages: []}
  - {min-length: 80km, stages: [holddown: {time: 2m}]}
  - {min-length: 0.3km, max-length: 2000m, stages: [holddown: {}]}
told-rules:
  - {role: hub, class: region, stages: [quantize: {anchor: 57.6T}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{plan.Default.String()}
	for _, r := range plan.Bundle {
		got = append(got, r.Class+" "+formatBits(uint64(r.MinLength))+" "+formatBits(uint64(r.MaxLength))+" "+Pipeline{Bundle: r.Stages}.String())
	}
	for _, r := range plan.Told {
		got = append(got, r.Role+" "+r.Class+" "+Pipeline{Told: r.Stages}.String())
	}
	want := []string{
		"mine: carrier-delay down 50ms up 200ms to 8s | deadband skip 2 every 4 | holddown 30s to 8m0s, forgets in 16m0s | " +
			"hysteresis quantize step 400G error 5% nearest margin 0.5 | quantize step 800G error 20% up fixed 25600G fixed 57600G | " +
			"pace 5s jitter seed 9 | penalty 1000/0/500 above 7000 reuse 750 half-life 10m0s at most 1h0m0s on suppress withdraw | " +
			"storm-guard above 20000 below 5000 in 5s, at most 2m0s",
		"lab 0 0 : passes everything at once",
		" 80K 0 : holddown 2m0s",
		" 300 2K : holddown 30s",
		"hub region : quantize step 800G error 10% up anchor 57600G",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

func TestPlanOfTakesAPresetAndReplacesItsStages(t *testing.T) {
	for text, want := range map[string]string{
		"bag-default":         "bag-default: holddown 30s | quantize step 800G error 10% up",
		"bgp++":               "bgp++: quantize step 800G error 10% up anchor 57600G",
		"preset: bag-default": "bag-default: holddown 30s | quantize step 800G error 10% up",
		"{preset: bag-default, name: x, bundle: [holddown: {time: 5s}]}": "x: holddown 5s | quantize step 800G error 10% up",
		"{preset: bag-default, told: []}":                                "bag-default: holddown 30s",
		"{}":                                                             ": passes everything at once",
	} {
		plan, err := planOf(t, text)
		if err != nil || plan.Default.String() != want {
			t.Errorf("%s: got %q, %v, want %q", text, plan.Default.String(), err, want)
		}
	}
}

func TestPlanOfNamesTheFieldAndQuotesTheValue(t *testing.T) {
	for text, want := range map[string]string{
		"nope":                     `damping preset "nope": want one of bag-default`,
		"[a]":                      "a list: want a scalar",
		"{preset: nope}":           `preset: damping preset "nope"`,
		"{pipeline: x}":            `unknown field "pipeline": want one of name, preset, settle`,
		"{settle: 5}":              `settle: "5": want a time such as 30s or 5m`,
		"{told: x}":                `told: "x": want a list`,
		"{bundle: [quantize: {}]}": `bundle[0]: unknown field "quantize": want one of carrier-delay, deadband, holddown`,
		"{bundle: [{holddown: {}, deadband: {}}]}": "bundle[0]: a map: want one stage: carrier-delay",
		"{bundle: [{holddown: {t: 1s}}]}":          `bundle[0].holddown: unknown field "t": want one of time, max, forget`,
		"{bundle: [{holddown: 30s}]}":              `bundle[0].holddown: "30s": want a map of time, max, forget`,
		"{bundle: [{holddown: {time: -1s}}]}":      `bundle[0].holddown: holddown: T -1s: want 0 or more`,
		"{bundle: [{deadband: {skip: 1.5}}]}":      `bundle[0].deadband.skip: "1.5": want a whole number`,
		"{told: [{quantize: {step: 800X}}]}":       `told[0].quantize.step: "800X": want a capacity such as 800G`,
		"{told: [{quantize: {step: 0.5}}]}":        `told[0].quantize.step: "0.5": want a capacity`,
		"{told: [{quantize: {error: NaN}}]}":       `told[0].quantize.error: "NaN": want a share`,
		"{told: [{quantize: {error: 200%}}]}":      `told[0].quantize: quantize: error bound 2: want 0 to 1`,
		"{told: [{quantize: {rounding: even}}]}":   `told[0].quantize.rounding: "even": want up or down or nearest`,
		"{told: [{hysteresis: {margin: 60%}}]}":    `told[0].hysteresis: hysteresis: margin 0.6: want 0 to 0.5`,
		"{told: [{hysteresis: {anchor: 8T}}]}":     `told[0].hysteresis: unknown field "anchor"`,
		"{told: [{pace: {jitter: maybe}}]}":        `told[0].pace.jitter: "maybe": want true or false`,
		"{told: [{penalty: {profile: x}}]}":        `told[0].penalty.profile: penalty profile "x"`,
		"{told: [{penalty: {reuse: 3000}}]}":       `told[0].penalty: penalty: suppress 2000: want more than reuse 3000`,
		"{told: [{penalty: {reuse: .nan}}]}":       `told[0].penalty.reuse: "NaN": want a number`,
		"{told: [{storm-guard: {low: 30000}}]}":    `told[0].storm-guard: storm-guard: high 20000: want low 30000 or more`,
		"{bundle-rules: [{min-length: 5}]}":        `bundle-rules[0].min-length: "5": want a length such as 300m`,
		"{told-rules: [{role: {}}]}":               "told-rules[0].role: a map: want a scalar",
		"{settle: 10s, preset: openconfig}":        `pipeline "openconfig": bundle stage 1: holddown 30s: settles in 30s, longer than the stated settle time 10s`,
		"{name: '', settle: ''}":                   `settle: "": want a time`,
	} {
		if _, err := planOf(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestPlanOfGivesAllErrorsTogether(t *testing.T) {
	_, err := planOf(t, "{settle: x, bundle: [{holddown: {time: y}}], zz: 1, aa: 1}")
	want := []string{
		`unknown field "aa": want one of name, preset, settle, bundle, told, bundle-rules, told-rules`,
		`unknown field "zz": want one of name, preset, settle, bundle, told, bundle-rules, told-rules`,
		`settle: "x": want a time such as 30s or 5m`,
		`bundle[0].holddown.time: "y": want a time such as 30s or 5m`,
	}
	if err == nil || cmp.Diff(strings.Split(err.Error(), "\n"), want) != "" {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	var f *FieldError
	if !errors.As(err, &f) || f.Field != "" || f.Unwrap() == nil {
		t.Errorf("got %#v, want a FieldError of the root first", f)
	}
}

func TestDecimalsAreExact(t *testing.T) {
	units := map[string]uint64{"T": 1e12, "G": 1e9, "": 1}
	for s, want := range map[string]uint64{"57.6T": 57_600_000_000_000, "0.000000000001T": 1, "800G": 800e9, "7": 7, "18446744073709551615": 1<<64 - 1} {
		if got, ok := decimal(s, units); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "T", ".", "1.", "-1", "+1", "1e3", "0.0000000000001T", "18446744073709551616", "18446745T", "1 G", "1K", "0.5", "1..5G"} {
		if got, ok := decimal(s, units); ok {
			t.Errorf("%s: got %d, want an error", s, got)
		}
	}
}

func FuzzPlanOf(f *testing.F) {
	f.Add(`{"preset":"bag-default","bundle":[{"holddown":{"time":"5s"}}],"told":[{"quantize":{"step":"800G","error":"10%"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var tree any
		if json.Unmarshal([]byte(text), &tree) != nil {
			return
		}
		plan, err := PlanOf(tree, Sizes{Step: member})
		if err != nil {
			return
		}
		if err := plan.Validate(); err != nil {
			t.Errorf("%s: got a plan that fails to validate: %v", text, err)
		}
		plan.Joined(BundleInfo{Members: 4, Speed: member}, "hub", "region").NewBundleFor(BundleInfo{}).Step(0, 1)
	})
}
