package harness

import (
	"os"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
)

func TestAScenarioTakesAPresetOrAPlan(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "bag-default: holddown 30s | quantize step 800G error 10% up",
		"damping: none":                 "none: passes everything at once",
		"damping: {preset: openconfig}": "openconfig: holddown 30s",
		"damping: {name: x, bundle: [holddown: {time: 5s}, deadband: {skip: 2}], told: [quantize: {error: 5%}]}": "x: holddown 5s | deadband skip 2 every 1 | quantize step 800G error 5% up",
	} {
		sc, err := ReadScenario("x.yaml", []byte("topology: prometheus-mini\n"+text+"\n"))
		if err != nil || sc.Damping.String() != want || sc.Plan != nil {
			t.Errorf("%s: got %v, plan %v, %v, want %q and no plan: it is one pipeline everywhere", text, sc.Damping, sc.Plan, err, want)
		}
	}
	sc, err := ReadScenario("x.yaml", []byte(`topology: prometheus-mini
damping:
  preset: bag-default
  bundle-rules:
    - {class: bag-bag, stages: [carrier-delay: {down: 50ms}]}
  told-rules:
    - {role: edge, class: region, stages: []}
`))
	if err != nil || sc.Plan == nil {
		t.Fatalf("got plan %v, %v, want a plan", sc, err)
	}
	info := damping.BundleInfo{Class: "bag-bag"}
	if got, want := sc.Plan.Joined(info, "edge", "region").String(), "bag-default: carrier-delay down 50ms up 0s"; got != want {
		t.Errorf("by class: got %q, want %q", got, want)
	}
	if got, want := sc.Plan.Joined(damping.BundleInfo{Class: "edge-bag"}, "bag", "region").String(), sc.Damping.String(); got != want {
		t.Errorf("elsewhere: got %q, want %q", got, want)
	}
}

func TestMistakesInAPlanHaveAPosition(t *testing.T) {
	for text, want := range map[string]string{
		"damping: bag-defualt":                            `x.yaml:2:10: field "damping": value "bag-defualt": want one of "bag-default"`,
		"damping: [a]":                                    `x.yaml:2:10: field "damping": want one of "bag-default"`,
		"damping: {preset: x}":                            `x.yaml:2:19: field "damping.preset": value "x": damping preset "x": want one of bag-default`,
		"damping:\n  told: x":                             `x.yaml:3:9: field "damping.told": value "x": "x": want a list`,
		"damping:\n  colour: red":                         `x.yaml:3:3: field "damping": unknown field "colour": want one of name, preset`,
		"damping:\n  bundle:\n    - holddown: {time: 5}":  `x.yaml:4:24: field "damping.bundle[0].holddown.time": value "5": "5": want a time such as 30s or 5m`,
		"damping:\n  bundle:\n    - holddown: {tim: 5s}":  `x.yaml:4:17: field "damping.bundle[0].holddown": unknown field "tim"`,
		"damping:\n  bundle:\n    - holddown: {max: 1s}":  `x.yaml:4:17: field "damping.bundle[0].holddown": holddown: `,
		"damping:\n  bundle:\n    - quantize: {}":         `x.yaml:4:7: field "damping.bundle[0]": unknown field "quantize": want one of carrier-delay`,
		"damping:\n  told:\n    - quantize: {error: 2.0}": `x.yaml:4:17: field "damping.told[0].quantize": quantize: error bound 2: want 0 to 1`,
		"damping:\n  settle: 1s\n  preset: openconfig":    `x.yaml:3:3: field "damping": pipeline "openconfig": bundle stage 1: holddown 30s: settles in 30s, longer`,
		"damping: {bundle-rules: [{}, {class: a}]}":       `x.yaml:2:10: field "damping": plan "": bundle rule 2: never used: rule 1 fits all`,
		"damping: {told-rules: [{role: tor}]}":            `x.yaml:2:10: field "damping": plan "": told rule 1: role "tor": want rack, spine, edge, bag, hub or backbone`,
		"damping: {told-rules: [{class: x}]}":             `x.yaml:2:10: field "damping": plan "": told rule 1: class "x": the topology's prefixes have fabric, region, spine`,
		"damping: {bundle-rules: [{class: x}]}":           `x.yaml:2:10: field "damping": plan "": bundle rule 1: class "x": the topology's bundles have bag-bag, edge-bag, spine-edge`,
	} {
		_, err := ReadScenario("x.yaml", []byte("topology: prometheus-mini\n"+text+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestAllMistakesInAPlanComeTogether(t *testing.T) {
	_, err := ReadPlan("p.yaml", []byte("settle: x\nbundle:\n  - holddown: {time: y}\ntold:\n  - quantize: {error: z}\n"), damping.Sizes{Step: 1})
	if err == nil || strings.Count(err.Error(), "\n") != 2 || !strings.Contains(err.Error(), `p.yaml:5:23: field "told[0].quantize.error": value "z"`) {
		t.Errorf("got\n%v\nwant three errors", err)
	}
}

func TestThePlanOfThePageIsRead(t *testing.T) {
	page, err := os.ReadFile("../docs/damping.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	plan, _, found := strings.Cut(rest, "```")
	if !found || !strings.HasPrefix(plan, "damping:") {
		t.Fatalf("got %q, want a plan", plan)
	}
	sc, err := ReadScenario("page.yaml", []byte("topology: prometheus-mini\n"+plan))
	if err != nil || sc.Plan == nil || len(sc.Plan.Bundle) != 1 || len(sc.Plan.Told) != 1 {
		t.Errorf("got %v, want a plan with both kinds of rules", err)
	}
}
