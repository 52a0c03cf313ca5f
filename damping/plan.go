package damping

import (
	"errors"
	"fmt"
)

// Plan says which stages stand where: on a bundle by its class and length, on
// the told value by the speaker's role and the prefix's class. The first rule
// that fits counts, and Default where none does. The zero value passes
// everything at once.
type Plan struct {
	Name    string
	Default Pipeline
	Bundle  []BundleRule
	Told    []ToldRule
}

// BundleRule puts stages on all bundles that it fits. Inside a building a
// failure is soon over and traffic has elsewhere to go; a long-haul bundle is
// cut for hours and its members come back one by one. So lengths tell them apart.
type BundleRule struct {
	Class     string // "" fits all
	MinLength int    // metres; 0 or more
	MaxLength int    // metres; 0 has no end
	Stages    []BundleStage
}

// Fits tells whether the rule is for the bundle. Both lengths are included.
func (r BundleRule) Fits(info BundleInfo) bool {
	return (r.Class == "" || r.Class == info.Class) && info.Length >= r.MinLength &&
		(r.MaxLength == 0 || info.Length <= r.MaxLength)
}

// ToldRule puts stages on the told value of all prefixes that it fits.
type ToldRule struct {
	Role   string // of the speaker; "" fits all
	Class  string // of the prefix; "" fits all
	Stages []ToldStage
}

// Fits tells whether the rule is for a prefix of that class at a speaker of that role.
func (r ToldRule) Fits(role, class string) bool {
	return (r.Role == "" || r.Role == role) && (r.Class == "" || r.Class == class)
}

// Uniform is the plan that has one pipeline everywhere.
func Uniform(p Pipeline) Plan { return Plan{Name: p.Name, Default: p} }

// ForBundle returns the pipeline of a bundle, without told stages. Its Law, or
// LawFor the bundle, is what stands on that bundle.
func (p Plan) ForBundle(info BundleInfo) Pipeline {
	for _, r := range p.Bundle {
		if r.Fits(info) {
			return Pipeline{Name: p.Name, Bundle: r.Stages}
		}
	}
	return Pipeline{Name: p.Name, Bundle: p.Default.Bundle}
}

// ForTold returns the pipeline of a prefix's told value, without bundle stages.
// Prefixes of one speaker that get the same stages should share its Speaker;
// rule tells which do: the number of the rule that fits, or -1 for Default.
func (p Plan) ForTold(role, class string) (pipeline Pipeline, rule int) {
	for i, r := range p.Told {
		if r.Fits(role, class) {
			return Pipeline{Name: p.Name, Told: r.Stages}, i
		}
	}
	return Pipeline{Name: p.Name, Told: p.Default.Told}, -1
}

// Joined is the pipeline that news of one bundle runs through at a speaker: the
// bundle's stages, then those of the told value.
func (p Plan) Joined(info BundleInfo, role, class string) Pipeline {
	bundle := p.ForBundle(info)
	told, _ := p.ForTold(role, class)
	return Pipeline{Name: p.Name, Bundle: bundle.Bundle, Told: told.Told, Settle: p.Default.Settle}
}

// Validate returns the errors of all stages, of lengths that fit nothing, and of
// rules that an earlier rule leaves nothing for; where there are none, those of
// stages that together take longer than the Settle that Default states.
func (p Plan) Validate() error {
	errs := []error{p.Default.Validate()}
	for i, r := range p.Bundle {
		errs = append(errs, p.rule("bundle", i, p.checkBundle(i, r)))
	}
	for i, r := range p.Told {
		errs = append(errs, p.rule("told", i, p.checkTold(i, r)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	bundles := append([]BundleRule{{Stages: p.Default.Bundle}}, p.Bundle...)
	tolds := append([]ToldRule{{Stages: p.Default.Told}}, p.Told...)
	for _, b := range bundles {
		for _, t := range tolds {
			joined := Pipeline{Name: p.Name, Bundle: b.Stages, Told: t.Stages, Settle: p.Default.Settle}
			errs = append(errs, joined.Validate())
		}
	}
	return errors.Join(errs...)
}

func (p Plan) rule(place string, i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("plan %q: %s rule %d: %w", p.Name, place, i+1, err)
}

func (p Plan) checkBundle(i int, r BundleRule) error {
	if r.MinLength < 0 {
		return fmt.Errorf("min length %d: want 0 m or more", r.MinLength)
	}
	if r.MaxLength < 0 || r.MaxLength > 0 && r.MaxLength < r.MinLength {
		return fmt.Errorf("max length %d: want 0, or min length %d m or more", r.MaxLength, r.MinLength)
	}
	for j, before := range p.Bundle[:i] {
		if (before.Class == "" || before.Class == r.Class) && before.MinLength <= r.MinLength &&
			(before.MaxLength == 0 || r.MaxLength > 0 && r.MaxLength <= before.MaxLength) {
			return fmt.Errorf("never used: rule %d fits all of its bundles", j+1)
		}
	}
	return Pipeline{Name: p.Name, Bundle: r.Stages}.Validate()
}

func (p Plan) checkTold(i int, r ToldRule) error {
	for j, before := range p.Told[:i] {
		if (before.Role == "" || before.Role == r.Role) && (before.Class == "" || before.Class == r.Class) {
			return fmt.Errorf("never used: rule %d fits all of its prefixes", j+1)
		}
	}
	return Pipeline{Name: p.Name, Told: r.Stages}.Validate()
}
