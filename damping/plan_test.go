package damping

import (
	"strings"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func examplePlan() Plan {
	up := Quantize{Step: member, Error: 0.10}
	return Plan{
		Name:    "example",
		Default: Pipeline{Name: "d", Bundle: []BundleStage{HoldDown{T: 30 * time.Second}}, Told: []ToldStage{up}},
		Bundle: []BundleRule{
			{Class: "lab", Stages: nil},
			{MinLength: 10_000, Stages: []BundleStage{HoldDown{T: 2 * time.Minute}}},
			{MaxLength: 500, Stages: []BundleStage{HoldDown{T: 5 * time.Second}}},
		},
		Told: []ToldRule{
			{Role: "backbone", Class: "region", Stages: []ToldStage{up, Pace{Interval: time.Minute}}},
			{Class: "region", Stages: []ToldStage{up, Pace{Interval: time.Second}}},
			{Role: "spine", Stages: nil},
		},
	}
}

func TestPlanTakesTheFirstRuleThatFits(t *testing.T) {
	plan := examplePlan()
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		info BundleInfo
		want string
	}{
		{BundleInfo{Class: "lab", Length: 20_000}, "example: passes everything at once"},
		{BundleInfo{Length: 10_000}, "example: holddown 2m0s"},
		{BundleInfo{Length: 9_999}, "example: holddown 30s"},
		{BundleInfo{Length: 500}, "example: holddown 5s"},
		{BundleInfo{}, "example: holddown 5s"},
	} {
		if got := plan.ForBundle(c.info).String(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.info, got, c.want)
		}
	}
	const up = "quantize step 800G error 10% up"
	for _, c := range []struct {
		role, class string
		want        string
		rule        int
	}{
		{"backbone", "region", "example: " + up + " | pace 1m0s", 0},
		{"hub", "region", "example: " + up + " | pace 1s", 1},
		{"spine", "fabric", "example: passes everything at once", 2},
		{"hub", "fabric", "example: " + up, -1},
	} {
		if got, rule := plan.ForTold(c.role, c.class); got.String() != c.want || rule != c.rule {
			t.Errorf("%s, %s: got %q by rule %d, want %q by %d", c.role, c.class, got, rule, c.want, c.rule)
		}
	}
	if got, want := plan.Joined(BundleInfo{Length: 100}, "hub", "region").String(), "example: holddown 5s | "+up+" | pace 1s"; got != want {
		t.Errorf("joined: got %q, want %q", got, want)
	}
}

func TestUniformPlanIsOnePipeline(t *testing.T) {
	p, err := Preset(PresetBagDefault, member)
	if err != nil {
		t.Fatal(err)
	}
	if got := Uniform(p).Joined(BundleInfo{Length: 7, Class: "x"}, "hub", "y"); got.String() != p.String() {
		t.Errorf("got %q, want %q", got, p)
	}
}

func TestPlanRefusesRulesThatCannotBe(t *testing.T) {
	cases := []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Default.Told = []ToldStage{Quantize{}} }, `pipeline "d": told stage 1: quantize: step 0`},
		{func(p *Plan) { p.Bundle[1].MinLength = -1 }, `plan "example": bundle rule 2: min length -1: want 0 m or more`},
		{func(p *Plan) { p.Bundle[1].MaxLength = 9 }, `plan "example": bundle rule 2: max length 9: want 0, or min length 10000 m or more`},
		{func(p *Plan) { p.Bundle[0].Class = "" }, `plan "example": bundle rule 2: never used: rule 1 fits all of its bundles`},
		{func(p *Plan) { p.Bundle[2].Stages = []BundleStage{HoldDown{T: -1}} }, `plan "example": bundle rule 3: pipeline "example": bundle stage 1: holddown: T -1ns`},
		{func(p *Plan) { p.Told[0].Role = "" }, `plan "example": told rule 2: never used: rule 1 fits all of its prefixes`},
		{func(p *Plan) { p.Told[2].Stages = []ToldStage{nil} }, `plan "example": told rule 3: pipeline "example": told stage 1 is nil`},
		{func(p *Plan) { p.Default.Settle = 90 * time.Second }, `pipeline "example": bundle stage 1: holddown 2m0s: settles in 2m0s, longer than the stated settle time 1m30s`},
		{func(p *Plan) { p.Default.Settle = 80 * time.Second; p.Bundle = nil }, `pipeline "example": told stage 2: pace 1m0s: settles in 1m30s, longer than`},
	}
	for _, c := range cases {
		p := examplePlan()
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestRulesThatARuleBeforeLeavesNothingForNeverFitFirst(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 500
	ps := gopter.NewProperties(params)
	length := gen.IntRange(0, 6)
	ps.Property("and only those by one rule are refused", prop.ForAll(func(lengths []int, classes []bool) bool {
		var plan Plan
		for i := 0; i+1 < len(lengths) && i/2 < len(classes); i += 2 {
			r := BundleRule{MinLength: lengths[i], MaxLength: lengths[i] + lengths[i+1]}
			if classes[i/2] {
				r.Class = "x"
			}
			plan.Bundle = append(plan.Bundle, r)
		}
		for i := range plan.Bundle {
			covered := false
			for _, before := range plan.Bundle[:i] {
				all := true
				for at := range 20 {
					for _, class := range []string{"x", "y"} {
						info := BundleInfo{Length: at, Class: class}
						all = all && (!plan.Bundle[i].Fits(info) || before.Fits(info))
					}
				}
				covered = covered || all
			}
			if refused := plan.checkBundle(i, plan.Bundle[i]) != nil; refused != covered {
				return false
			}
		}
		return true
	}, gen.SliceOf(length), gen.SliceOf(gen.Bool())))
	ps.TestingRun(t)
}
