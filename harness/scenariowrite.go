package harness

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// ErrNoYAML is a scenario that no YAML file says: it has a damping stage of the
// user's own, or a value that its field cannot have in a file.
var ErrNoYAML = errors.New("the scenario has no form in YAML")

// WriteScenario prints a scenario with its topology in the explicit form, and
// leaves out what has its default. ReadScenario gives the same scenario back,
// its Source apart, which is checked; where it cannot, the error is ErrNoYAML.
// Files that the scenario names are not in the text: see FilesFolder.
func WriteScenario(sc *Scenario) ([]byte, error) {
	w := scenarioWriter{sc: sc.filledIn()}
	w.head()
	w.topology()
	w.damping()
	w.speakers()
	w.hardware()
	w.external()
	w.rest()
	if w.err != nil {
		return nil, w.err
	}
	if len(sc.Files) > 0 {
		return w.b.Bytes(), nil // they are not where the text could be read
	}
	back, err := ReadScenario("scenario.yaml", w.b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("scenario %q: %w: %w", sc.Name, ErrNoYAML, err)
	}
	if field := w.sc.differsIn(back); field != "" {
		return nil, fmt.Errorf("scenario %q: %w: what is read back has another %s", sc.Name, ErrNoYAML, field)
	}
	return w.b.Bytes(), nil
}

// filledIn is the scenario with the defaults that a Go program may leave out.
func (sc *Scenario) filledIn() *Scenario {
	full := *sc
	full.Source = nil
	if full.Engine == "" {
		full.Engine = GoBGP
	}
	if full.Seed == 0 {
		full.Seed = 1
	}
	if full.Settings == nil {
		full.Settings = slices.Repeat([]topologies.Settings{defaultSettings(len(sc.External) > 0)}, len(sc.Topology.Devices))
	}
	if full.Hardware == nil {
		full.Hardware, _ = state.HardwareOf(sc.Topology) // what it refuses, reading refuses too
	}
	full.Damping = withoutEmpty(full.Damping)
	if full.Plan != nil {
		plan := *full.Plan
		plan.Default = withoutEmpty(plan.Default)
		plan.Bundle = append([]damping.BundleRule(nil), plan.Bundle...) // nil where there are none
		plan.Told = append([]damping.ToldRule(nil), plan.Told...)
		for i := range plan.Bundle {
			plan.Bundle[i].Stages = withoutEmpty(damping.Pipeline{Bundle: plan.Bundle[i].Stages}).Bundle
		}
		for i := range plan.Told {
			plan.Told[i].Stages = withoutEmpty(damping.Pipeline{Told: plan.Told[i].Stages}).Told
		}
		plan.Default.Name = plan.Name
		full.Plan, full.Damping = &plan, plan.Default
		if len(plan.Bundle)+len(plan.Told) == 0 {
			full.Plan = nil // one pipeline everywhere
		}
	}
	return &full
}

// withoutEmpty makes nil of a list without stages, as a reader of files does.
func withoutEmpty(p damping.Pipeline) damping.Pipeline {
	if len(p.Bundle) == 0 {
		p.Bundle = nil
	}
	if len(p.Told) == 0 {
		p.Told = nil
	}
	return p
}

// differsIn names the first field in which another scenario differs, or nothing.
func (sc *Scenario) differsIn(other *Scenario) string {
	a, b := reflect.ValueOf(*sc), reflect.ValueOf(*other)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if name == "Source" || name == "Files" {
			continue
		}
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if list, ok := x.([]state.Hardware); ok {
			x, y = unverified(list), unverified(y.([]state.Hardware))
		}
		if v := reflect.ValueOf(x); v.Kind() == reflect.Slice && v.Len() == 0 && reflect.ValueOf(y).Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(x, y) {
			return strings.ToLower(name)
		}
	}
	return ""
}

// unverified leaves out whether somebody has verified a profile: a file cannot say so.
func unverified(list []state.Hardware) []state.Hardware {
	list = slices.Clone(list)
	for i := range list {
		list[i].Profile.Verified = false
	}
	return list
}

type scenarioWriter struct {
	sc  *Scenario
	b   bytes.Buffer
	err error
}

func (w *scenarioWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *scenarioWriter) fail(format string, args ...any) {
	w.err = errors.Join(w.err, fmt.Errorf("scenario %q: "+format+": %w", append(append([]any{w.sc.Name}, args...), ErrNoYAML)...))
}

func (w *scenarioWriter) head() {
	w.line("name: %s", yamltree.Quote(w.sc.Name))
	if w.sc.Engine != GoBGP {
		w.line("engine: %s", w.sc.Engine)
	}
	if w.sc.Seed != 1 {
		w.line("seed: %d", w.sc.Seed)
	}
}

func (w *scenarioWriter) topology() {
	text, err := topologies.Write(w.sc.Topology)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.line("topology:")
	for line := range strings.Lines(string(text)) {
		w.b.WriteString("  " + line)
	}
}

// damping writes a preset's name where the plan is one, else all its stages.
func (w *scenarioWriter) damping() {
	plan := damping.Uniform(w.sc.Damping)
	if w.sc.Plan != nil {
		plan = *w.sc.Plan
	}
	sizes := damping.Sizes{Step: w.sc.Topology.SmallestSpeed()}
	if preset, err := damping.PresetFor(plan.Name, sizes); err == nil && reflect.DeepEqual(plan, damping.Uniform(preset)) {
		if plan.Name != damping.PresetBagDefault {
			w.line("damping: %s", plan.Name)
		}
		return
	}
	w.line("damping:")
	w.line("  name: %s", yamltree.Quote(plan.Name))
	if plan.Default.Settle != 0 {
		w.line("  settle: %v", plan.Default.Settle)
	}
	w.list("bundle", w.bundleStages(plan.Default.Bundle))
	w.list("told", w.toldStages(plan.Default.Told))
	var rules []string
	for _, r := range plan.Bundle {
		rules = append(rules, flowMap("class", r.Class, "min-length", metres(r.MinLength), "max-length", metres(r.MaxLength),
			"stages", "["+strings.Join(w.bundleStages(r.Stages), ", ")+"]"))
	}
	w.list("bundle-rules", rules)
	rules = nil
	for _, r := range plan.Told {
		rules = append(rules, flowMap("role", r.Role, "class", r.Class, "stages", "["+strings.Join(w.toldStages(r.Stages), ", ")+"]"))
	}
	w.list("told-rules", rules)
}

// list writes a list of a plan, one item a line, unless it is empty.
func (w *scenarioWriter) list(name string, items []string) {
	if len(items) == 0 {
		return
	}
	w.line("  %s:", name)
	for _, item := range items {
		w.line("    - %s", item)
	}
}

// flowMap is a mapping in one line of names and values in turn; an empty value is
// left out.
func flowMap(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+": "+pairs[i+1])
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func metres(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + "m"
}

func (w *scenarioWriter) bundleStages(stages []damping.BundleStage) (items []string) {
	for _, s := range stages {
		switch s := s.(type) {
		case damping.CarrierDelay:
			items = append(items, "{carrier-delay: "+flowMap("down", s.Down.First.String(), "down-max", s.Down.Max.String(), "up", s.Up.First.String(), "up-max", s.Up.Max.String())+"}")
		case damping.Deadband:
			items = append(items, "{deadband: "+flowMap("skip", strconv.Itoa(s.Skip), "every", strconv.Itoa(s.Every))+"}")
		case damping.HoldDown:
			items = append(items, "{holddown: "+flowMap("time", s.T.String(), "max", s.Max.String(), "forget", s.Forget.String())+"}")
		default:
			w.fail("damping stage %v (%T)", s, s)
		}
	}
	return items
}

func (w *scenarioWriter) toldStages(stages []damping.ToldStage) (items []string) {
	for _, s := range stages {
		switch s := s.(type) {
		case damping.Quantize:
			items = append(items, "{quantize: "+quantizeFlow(s, "")+"}")
		case damping.Hysteresis:
			items = append(items, "{hysteresis: "+quantizeFlow(s.Quantize, decimals(s.Margin))+"}")
		case damping.Pace:
			items = append(items, "{pace: "+flowMap("interval", s.Interval.String(), "jitter", strconv.FormatBool(s.Jitter), "seed", strconv.FormatUint(s.Seed, 10))+"}")
		case damping.Penalty:
			items = append(items, "{penalty: "+flowMap("on-suppress", s.OnSuppress.String(), "calculate-only", strconv.FormatBool(s.CalculateOnly),
				"withdraw", decimals(s.Withdraw), "readvertise", decimals(s.Readvertise), "attribute", decimals(s.Attribute),
				"suppress", decimals(s.Suppress), "reuse", decimals(s.Reuse), "max", decimals(s.Max),
				"half-life", s.HalfLife.String(), "max-suppress", s.MaxSuppress.String())+"}")
		case damping.StormGuard:
			items = append(items, "{storm-guard: "+flowMap("interval", s.Interval.String(), "high", strconv.Itoa(s.High), "low", strconv.Itoa(s.Low), "max-pause", s.MaxPause.String())+"}")
		default:
			w.fail("damping stage %v (%T)", s, s)
		}
	}
	return items
}

func quantizeFlow(q damping.Quantize, margin string) string {
	var fixed []string
	for _, level := range q.Fixed {
		fixed = append(fixed, strconv.FormatUint(level, 10))
	}
	anchor, levels := "", ""
	if q.Anchor > 0 {
		anchor = strconv.FormatUint(q.Anchor, 10)
	}
	if len(fixed) > 0 {
		levels = "[" + strings.Join(fixed, ", ") + "]"
	}
	return flowMap("step", yamltree.FormatCapacity(q.Step), "error", decimals(q.Error), "rounding", q.Rounding.String(), "fixed", levels, "anchor", anchor, "margin", margin)
}

func decimals(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// speakers writes each knob once where all devices have the same, else by device.
func (w *scenarioWriter) speakers() {
	var lines []string
	byDevice := make([][]string, len(w.sc.Topology.Devices))
	usual := defaultSettings(len(w.sc.External) > 0)
	for _, k := range topologies.Knobs() {
		k.Default, _ = usual.Get(k.Name)
		values := make([]string, len(w.sc.Settings))
		for i := range values {
			values[i], _ = w.sc.Settings[i].Get(k.Name)
		}
		if len(values) > 0 && values[0] != k.Default && !slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			lines = append(lines, fmt.Sprintf("  %s: %s", k.Name, yamltree.Quote(values[0])))
			continue
		}
		for i, v := range values {
			if v != k.Default {
				byDevice[i] = append(byDevice[i], k.Name, yamltree.Quote(v))
			}
		}
	}
	devices := w.byName(byDevice)
	if len(lines)+len(devices) == 0 {
		return
	}
	w.line("speakers:")
	for _, l := range lines {
		w.line("%s", l)
	}
	w.devices(devices)
}

// byName gives the devices that have anything, as lines of a mapping.
func (w *scenarioWriter) byName(pairs [][]string) (lines []string) {
	for i, p := range pairs {
		if len(p) > 0 {
			lines = append(lines, fmt.Sprintf("    %s: %s", yamltree.Quote(w.sc.Topology.Devices[i].Name), flowMap(p...)))
		}
	}
	return lines
}

func (w *scenarioWriter) devices(lines []string) {
	if len(lines) > 0 {
		w.line("  devices:")
	}
	for _, l := range lines {
		w.line("%s", l)
	}
}

// hardware writes what the devices have that the topology does not say.
func (w *scenarioWriter) hardware() {
	byDevice := make([][]string, len(w.sc.Topology.Devices))
	for i, h := range w.sc.Hardware {
		if h.Options.Algorithm != "" {
			byDevice[i] = append(byDevice[i], "algorithm", string(h.Options.Algorithm))
		}
		if h.Options.Overflow != "" {
			byDevice[i] = append(byDevice[i], "overflow", string(h.Options.Overflow))
		}
		if built, err := fib.Lookup(w.sc.Topology.Devices[i].ASIC); err != nil || built != h.Profile {
			byDevice[i] = append(byDevice[i], "profile", profileFlow(h.Profile))
		}
	}
	devices := w.byName(byDevice)
	if len(devices) == 0 && !w.sc.Compare {
		return
	}
	w.line("fib:")
	if w.sc.Compare {
		w.line("  compare: true")
	}
	w.devices(devices)
}

func profileFlow(p fib.Profile) string {
	if built, err := fib.Lookup(p.Name); err == nil && built == p {
		return p.Name
	}
	limit := func(n int) string {
		if n == fib.NotPublished {
			return unlimited
		}
		return strconv.Itoa(n)
	}
	return flowMap("name", yamltree.Quote(p.Name), "groups", limit(p.Groups), "members", limit(p.Members), "width", strconv.Itoa(p.Width),
		"variable", strconv.Itoa(p.Variable), "native-cost", strconv.Itoa(p.NativeCost), "unweighted", strconv.FormatBool(p.Unweighted),
		"reserve", strconv.Itoa(p.Reserve), "break-first", strconv.FormatBool(p.BreakFirst), "ceiling", decimals(p.Ceiling), "source", yamltree.Quote(p.Source))
}

// rest writes the events and what is expected of them.
func (w *scenarioWriter) rest() {
	if len(w.sc.Events) > 0 {
		w.line("events:")
	}
	for _, e := range w.sc.Events {
		w.line("  - %s", e.YAML())
	}
	var limits []string
	for _, l := range []struct {
		name  string
		limit int
	}{{"nlri", w.sc.Thresholds.NLRI}, {"updates", w.sc.Thresholds.Updates}, {"radius", w.sc.Thresholds.Radius}} {
		if l.limit != 0 {
			limits = append(limits, l.name, strconv.Itoa(l.limit))
		}
	}
	if len(limits) > 0 {
		w.line("thresholds: %s", flowMap(limits...))
	}
	var expect []string
	for _, name := range w.sc.Expect {
		expect = append(expect, yamltree.Quote(name))
	}
	if len(expect) > 0 {
		w.line("expect-violated: [%s]", strings.Join(expect, ", "))
	}
}
