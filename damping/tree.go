package damping

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// PlanOf reads a plan from a decoded YAML tree: maps as map[string]any, lists
// as []any, scalars as strings or numbers. A scalar alone is the name of
// a preset. The map's fields, all optional:
//
//	name: text
//	preset: bag-default       stages below take the place of the preset's
//	settle: 5m                the most that news may take, checked
//	bundle: [stage...]
//	told: [stage...]
//	bundle-rules: [{class: text, min-length: 10km, max-length: 80km, stages: [stage...]}...]
//	told-rules: [{role: hub, class: region, stages: [stage...]}...]
//
// A stage is a map of one field, its name, to its parameters; those without
// a default must be given. Step is sizes.Step by default.
//
//	carrier-delay: {down: 0s, down-max: 0s, up: 0s, up-max: 0s}
//	deadband: {skip: 0, every: 1}
//	holddown: {time: 30s, max: 8m, forget: 16m}
//	quantize: {step: 800G, error: 10%, rounding: up, fixed: [25600G], anchor: 57.6T}
//	hysteresis: {margin: 0.25} and the fields of quantize but anchor
//	pace: {interval: 30s, jitter: true, seed: 1}
//	penalty: {profile: cisco-default, on-suppress: lowest, calculate-only: false}
//	    and withdraw, readvertise, attribute, suppress, reuse, max, half-life,
//	    max-suppress, each in place of the profile's
//	storm-guard: {interval: 5s, high: 20000, low: 5000, max-pause: 2m}
//
// All errors come together, each a *FieldError; then those of Plan.Validate.
func PlanOf(tree any, sizes Sizes) (Plan, error) {
	root := field{value: tree, errs: new([]error)}
	plan := root.plan(sizes)
	if err := errors.Join(*root.errs...); err != nil {
		return Plan{}, err
	}
	if err := plan.Validate(); err != nil {
		return Plan{}, err
	}
	return plan, nil
}

// FieldError is an error in one field of a tree.
type FieldError struct {
	Field string // such as told[1].quantize.step; "" is the root
	Err   error
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

// Unwrap returns the error without its field.
func (e *FieldError) Unwrap() error { return e.Err }

// field is a place in the tree. Its readers note what is wrong and give the
// default in its place. A value of nil is a field that is not there.
type field struct {
	path  string
	value any
	errs  *[]error
}

func (f field) fail(format string, args ...any) {
	*f.errs = append(*f.errs, &FieldError{f.path, fmt.Errorf(format, args...)})
}

// check notes an error that is not about one scalar.
func (f field) check(err error) {
	if err != nil {
		*f.errs = append(*f.errs, &FieldError{f.path, err})
	}
}

// fields returns the fields of a map that may hold only the known ones.
func (f field) fields(known ...string) func(string) field {
	m, ok := f.value.(map[string]any)
	if !ok && f.value != nil {
		f.fail("%s: want a map of %s", shown(f.value), strings.Join(known, ", "))
	}
	unknown := make([]string, 0)
	for name := range m {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	for _, name := range unknown {
		f.fail("unknown field %q: want one of %s", name, strings.Join(known, ", "))
	}
	return func(name string) field {
		return field{strings.TrimPrefix(f.path+"."+name, "."), m[name], f.errs}
	}
}

func (f field) list() []field {
	if f.value == nil {
		return nil
	}
	items, ok := f.value.([]any)
	if !ok {
		f.fail("%s: want a list", shown(f.value))
	}
	out := make([]field, len(items))
	for i, v := range items {
		out[i] = field{fmt.Sprintf("%s[%d]", f.path, i), v, f.errs}
	}
	return out
}

// text is the scalar as written, or "" where it is not there or is none.
func (f field) text() string {
	switch v := f.value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		f.fail("%s: want a scalar", shown(v))
		return ""
	default:
		return fmt.Sprint(v)
	}
}

func shown(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	default:
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
}

// scalar reads one with a parser that says whether it could.
func scalar[T any](f field, def T, want string, parse func(string) (T, bool)) T {
	text := f.text()
	if text == "" {
		if s, ok := f.value.(string); ok {
			f.fail("%q: want %s", s, want)
		}
		return def
	}
	v, ok := parse(text)
	if !ok {
		f.fail("%q: want %s", text, want)
		return def
	}
	return v
}

func (f field) duration(def time.Duration) time.Duration {
	return scalar(f, def, "a time such as 30s or 5m", func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil
	})
}

func (f field) count(def int) int {
	return scalar(f, def, "a whole number", func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil
	})
}

func (f field) figure(def float64) float64 {
	return scalar(f, def, "a number", func(s string) (float64, bool) {
		v, err := strconv.ParseFloat(s, 64)
		return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	})
}

func (f field) share(def float64) float64 {
	return scalar(f, def, "a share such as 10% or 0.1", func(s string) (float64, bool) {
		digits, percent := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(digits, 64)
		if percent {
			v /= 100
		}
		return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	})
}

func (f field) yes(def bool) bool {
	return scalar(f, def, "true or false", func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" })
}

func (f field) bits(def uint64) uint64 {
	return scalar(f, def, "a capacity such as 800G or 57.6T", func(s string) (uint64, bool) {
		return decimal(s, map[string]uint64{"T": 1e12, "G": 1e9, "M": 1e6, "K": 1e3, "": 1})
	})
}

func (f field) metres() int {
	return scalar(f, 0, "a length such as 300m or 80km, up to 5000km", func(s string) (int, bool) {
		v, ok := decimal(s, map[string]uint64{"km": 1000, "m": 1})
		return int(v), ok && v <= 5_000_000
	})
}

// decimal reads a decimal number with one of the units, of which the result
// must be a whole number.
func decimal(s string, units map[string]uint64) (uint64, bool) {
	number := strings.TrimRight(s, "TGMKkm")
	unit, ok := units[s[len(number):]]
	whole, part, point := strings.Cut(number, ".")
	for point && len(part) > 0 && unit%10 == 0 {
		whole, part, unit = whole+part[:1], part[1:], unit/10
	}
	v, err := strconv.ParseUint(whole, 10, 64)
	if !ok || err != nil || part != "" || point && number[len(number)-1] == '.' || v > math.MaxUint64/unit {
		return 0, false
	}
	return v * unit, true
}

// word reads one of the known words, as its number in the list.
func (f field) word(known ...string) int {
	return scalar(f, 0, strings.Join(known, " or "), func(s string) (int, bool) {
		i := slices.Index(known, s)
		return i, i >= 0
	})
}

func (f field) plan(sizes Sizes) Plan {
	if _, ok := f.value.(map[string]any); !ok {
		p, err := PresetFor(f.text(), sizes)
		f.check(err)
		return Uniform(p)
	}
	at := f.fields("name", "preset", "settle", "bundle", "told", "bundle-rules", "told-rules")
	var plan Plan
	if preset := at("preset"); preset.value != nil {
		p, err := PresetFor(preset.text(), sizes)
		preset.check(err)
		plan = Uniform(p)
	}
	if name := at("name"); name.value != nil {
		plan.Name = name.text()
	}
	plan.Default.Name, plan.Default.Settle = plan.Name, at("settle").duration(0)
	if bundle := at("bundle"); bundle.value != nil {
		plan.Default.Bundle = bundle.bundleStages()
	}
	if told := at("told"); told.value != nil {
		plan.Default.Told = told.toldStages(sizes)
	}
	for _, r := range at("bundle-rules").list() {
		at := r.fields("class", "min-length", "max-length", "stages")
		plan.Bundle = append(plan.Bundle, BundleRule{at("class").text(), at("min-length").metres(), at("max-length").metres(), at("stages").bundleStages()})
	}
	for _, r := range at("told-rules").list() {
		at := r.fields("role", "class", "stages")
		plan.Told = append(plan.Told, ToldRule{at("role").text(), at("class").text(), at("stages").toldStages(sizes)})
	}
	return plan
}

// stage returns the name of a stage, one of the known, and its parameters.
func (f field) stage(known ...string) (string, field) {
	if name, ok := f.value.(string); ok {
		f.value = map[string]any{name: map[string]any{}}
	}
	m, _ := f.value.(map[string]any)
	if len(m) != 1 {
		f.fail("%s: want one stage: %s", shown(f.value), strings.Join(known, ", "))
		return "", f
	}
	at := f.fields(known...)
	for name := range m {
		return name, at(name)
	}
	return "", f
}

func (f field) bundleStages() []BundleStage {
	var out []BundleStage
	for _, item := range f.list() {
		var stage BundleStage
		noted := len(*f.errs)
		name, p := item.stage("carrier-delay", "deadband", "holddown")
		switch name {
		case "carrier-delay":
			stage = p.carrierDelay()
		case "deadband":
			at := p.fields("skip", "every")
			stage = Deadband{Skip: at("skip").count(0), Every: at("every").count(1)}
		case "holddown":
			at := p.fields("time", "max", "forget")
			stage = HoldDown{T: at("time").duration(DefaultHoldDown), Max: at("max").duration(0), Forget: at("forget").duration(0)}
		default:
			continue
		}
		if len(*f.errs) == noted {
			p.validate(stage)
		}
		out = append(out, stage)
	}
	return out
}

// validate notes what is wrong with a stage as a whole.
func (f field) validate(stage any) {
	if v, ok := stage.(interface{ Validate() error }); ok {
		f.check(v.Validate())
	}
}

func (f field) carrierDelay() CarrierDelay {
	at := f.fields("down", "down-max", "up", "up-max")
	backoff := func(name string) Backoff {
		first := at(name).duration(0)
		return Backoff{First: first, Max: at(name + "-max").duration(first)}
	}
	return CarrierDelay{Down: backoff("down"), Up: backoff("up")}
}

func (f field) toldStages(sizes Sizes) []ToldStage {
	var out []ToldStage
	for _, item := range f.list() {
		var stage ToldStage
		noted := len(*f.errs)
		name, p := item.stage("quantize", "hysteresis", "pace", "penalty", "storm-guard")
		switch name {
		case "quantize":
			stage = p.quantize(p.fields("step", "error", "rounding", "fixed", "anchor"), sizes)
		case "hysteresis":
			stage = p.hysteresis(sizes)
		case "pace":
			at := p.fields("interval", "jitter", "seed")
			stage = Pace{Interval: at("interval").duration(0), Jitter: at("jitter").yes(true), Seed: uint64(at("seed").count(0))}
		case "penalty":
			stage = p.penalty()
		case "storm-guard":
			at, g := p.fields("interval", "high", "low", "max-pause"), DefaultStormGuard()
			stage = StormGuard{at("interval").duration(g.Interval), at("high").count(g.High), at("low").count(g.Low), at("max-pause").duration(g.MaxPause)}
		default:
			continue
		}
		if len(*f.errs) == noted {
			p.validate(stage)
		}
		out = append(out, stage)
	}
	return out
}

func (f field) quantize(at func(string) field, sizes Sizes) Quantize {
	q := Quantize{Step: at("step").bits(sizes.Step), Error: at("error").share(DefaultError), Anchor: at("anchor").bits(0)}
	q.Rounding = Rounding(at("rounding").word(roundingNames[:]...))
	for _, level := range at("fixed").list() {
		q.Fixed = append(q.Fixed, level.bits(0))
	}
	built, err := q.Built()
	f.check(err)
	return built
}

func (f field) hysteresis(sizes Sizes) Hysteresis {
	at := f.fields("step", "error", "rounding", "fixed", "margin")
	return Hysteresis{Quantize: f.quantize(at, sizes), Margin: at("margin").share(0.25)}
}

func (f field) penalty() Penalty {
	at := f.fields("profile", "on-suppress", "calculate-only", "withdraw", "readvertise", "attribute",
		"suppress", "reuse", "max", "half-life", "max-suppress")
	name := ProfileCisco
	if profile := at("profile"); profile.value != nil {
		name = profile.text()
	}
	p, err := PenaltyProfile(name)
	at("profile").check(err)
	p.OnSuppress = OnSuppress(at("on-suppress").word(onSuppressNames[:]...))
	p.CalculateOnly = at("calculate-only").yes(false)
	p.Withdraw, p.Readvertise = at("withdraw").figure(p.Withdraw), at("readvertise").figure(p.Readvertise)
	p.Attribute, p.Suppress = at("attribute").figure(p.Attribute), at("suppress").figure(p.Suppress)
	p.Reuse, p.Max = at("reuse").figure(p.Reuse), at("max").figure(p.Max)
	p.HalfLife, p.MaxSuppress = at("half-life").duration(p.HalfLife), at("max-suppress").duration(p.MaxSuppress)
	return p
}
