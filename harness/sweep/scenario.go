package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Options says what to vary.
type Options struct {
	Axes     []Axis
	Pipeline string        // a damping preset to start from; "" = the scenario's damping
	Gap      time.Duration // virtual, from an event's last change to the next event; 0 = Plan.Gap's default
}

// Plan is a sweep that is ready to be run.
type Plan struct {
	Scenario *harness.Scenario // as it is without the sweep
	Axes     []Axis
	Points   []Point
	// Gap is the virtual time from an event's last change to the next event, by
	// default one second more than the slowest point needs to settle, and
	// a minute at least. It is 0 where the scenario times its events itself.
	Gap time.Duration
}

// Point is one point of the grid.
type Point struct {
	Values []string // by axis
	Source []byte   // the scenario in YAML; files that it names are absolute
}

// New gives the points of the grid on the scenario, an embedded one's name or
// a file. It reads every one of them, so that a sweep either can be run as a whole
// or is an error that names the keys and values.
//
// Where no event of the scenario has a time, all get one, the same at every
// point: with events that follow when the network is settled, a point with
// a short memory would have less time in which to tell anything wrong.
func New(scenario string, opts Options) (*Plan, error) {
	sc, err := harness.Load(scenario)
	if err != nil {
		return nil, err
	}
	grid, err := Grid(opts.Axes)
	if err != nil {
		return nil, err
	}
	base, err := read(sc.Source, filepath.Dir(scenario))
	if err != nil {
		return nil, err
	}
	base.set("name", sc.Name)
	if opts.Pipeline != "" {
		if !slices.Contains(damping.Presets(), opts.Pipeline) {
			return nil, fmt.Errorf("pipeline %q: want one of %s", opts.Pipeline, strings.Join(damping.Presets(), ", "))
		}
		base.set("damping", opts.Pipeline)
	}
	plan := &Plan{Scenario: sc, Axes: opts.Axes}
	var trees []tree
	settle := time.Duration(0)
	for _, values := range grid {
		t, err := base.varied(sc, opts.Axes, values)
		if err != nil {
			return nil, err
		}
		read, err := t.check(opts.Axes, values)
		if err != nil {
			return nil, err
		}
		settle = max(settle, slowest(read))
		trees = append(trees, t)
	}
	times, err := plan.times(opts.Gap, settle)
	if err != nil {
		return nil, err
	}
	for i, t := range trees {
		t.schedule(times)
		source, err := t.source()
		if err != nil {
			return nil, err
		}
		plan.Points = append(plan.Points, Point{Values: grid[i], Source: source})
	}
	return plan, nil
}

// slowest is the longest time that any bundle's damping takes to settle.
func slowest(sc *harness.Scenario) time.Duration {
	plan := damping.Uniform(sc.Damping)
	if sc.Plan != nil {
		plan = *sc.Plan
	}
	settle := plan.Default.Law().Settle
	for _, r := range plan.Bundle {
		settle = max(settle, damping.Pipeline{Bundle: r.Stages}.Law().Settle)
	}
	return settle
}

// times gives the events the times at which they start; nil where the scenario
// has times of its own. It sets the plan's gap.
func (p *Plan) times(gap, settle time.Duration) ([]time.Duration, error) {
	sc := p.Scenario
	if slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.At != 0 }) {
		if gap != 0 {
			return nil, fmt.Errorf("gap %v: the scenario's events have times of their own", gap)
		}
		return nil, nil
	}
	p.Gap = gap
	if gap == 0 {
		p.Gap = max(time.Minute, settle+time.Second)
	}
	members, now := []int(nil), time.Duration(0)
	for _, b := range sc.Topology.Bundles {
		members = append(members, b.Members)
	}
	var times []time.Duration
	failing := state.NewFailing(sc.Topology)
	for _, e := range sc.Events {
		times = append(times, now)
		changes, err := e.Expand(sc.Topology, sc.Topology.Index(), members, failing)
		if err != nil {
			return nil, err
		}
		last := time.Duration(0)
		for _, c := range changes {
			last = max(last, c.After+c.Change.After)
			if c.Change.Kind == state.SetMembers || c.Change.Kind == state.Fail {
				members[c.Change.Bundle] = c.Change.Members
			}
		}
		now += last + p.Gap
	}
	return times, nil
}

// tree is a scenario's YAML, decoded, in the order of the file.
type tree struct{ root yaml.MapSlice }

// read decodes a scenario and makes the files that it names absolute.
func read(source []byte, folder string) (*tree, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	t := &tree{}
	if err := yaml.UnmarshalWithOptions(source, &t.root, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	absolute := func(v any) any {
		m, ok := v.(yaml.MapSlice)
		for i := range m {
			name, isText := m[i].Value.(string)
			if ok && isText && m[i].Key == "file" && !filepath.IsAbs(name) && !slices.Contains(damping.Recordings(), name) {
				m[i].Value = filepath.Join(folder, name)
			}
		}
		return v
	}
	absolute(t.get("topology"))
	for _, e := range t.events() {
		absolute(e.Value)
	}
	return t, nil
}

// get is a field of the scenario, or nil.
func (t tree) get(name string) any { return field(t.root, name) }

func field(m yaml.MapSlice, name string) any {
	for _, e := range m {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

func (t *tree) set(name string, value any) { t.root = with(t.root, name, value) }

// with is the mapping with a field set; the mapping itself stays as it is.
func with(m yaml.MapSlice, name string, value any) yaml.MapSlice {
	m = slices.Clone(m)
	for i := range m {
		if m[i].Key == name {
			m[i].Value = value
			return m
		}
	}
	return append(m, yaml.MapItem{Key: name, Value: value})
}

// events are the events, each as its kind with its fields.
func (t tree) events() []*yaml.MapItem {
	var list []*yaml.MapItem
	events, _ := t.get("events").([]any)
	for _, e := range events {
		if m, ok := e.(yaml.MapSlice); ok && len(m) == 1 {
			list = append(list, &m[0])
		}
	}
	return list
}

// schedule gives the events their times. The first one starts when the network
// is settled.
func (t *tree) schedule(times []time.Duration) {
	var list []any
	for i, e := range t.events() {
		item := *e
		if i < len(times) && times[i] > 0 {
			fields, _ := item.Value.(yaml.MapSlice)
			item.Value = with(fields, "at", times[i].String())
		}
		list = append(list, yaml.MapSlice{item})
	}
	if len(list) > 0 {
		t.set("events", list)
	}
}

func (t tree) source() ([]byte, error) { return yaml.Marshal(t.root) }

// varied is the scenario with the values of one point.
func (t tree) varied(sc *harness.Scenario, axes []Axis, values []string) (tree, error) {
	plan, ok := t.get("damping").(yaml.MapSlice)
	if !ok {
		preset, _ := t.get("damping").(string)
		if preset == "" {
			preset = damping.PresetBagDefault
		}
		plan = yaml.MapSlice{{Key: "preset", Value: preset}}
	}
	plan, err := spelledOut(plan, damping.Sizes{Step: sc.Topology.SmallestSpeed()})
	if err != nil {
		return tree{}, err
	}
	for i, a := range axes {
		if plan, err = vary(plan, a.Key, values[i]); err != nil {
			return tree{}, fmt.Errorf("%s=%s: %w", a.Key, values[i], err)
		}
	}
	t.set("damping", plan)
	return t, nil
}

// spelledOut writes the stages of a plan's preset out, where no others take
// their place.
func spelledOut(plan yaml.MapSlice, sizes damping.Sizes) (yaml.MapSlice, error) {
	preset, _ := field(plan, "preset").(string)
	if preset == "" {
		return plan, nil
	}
	p, err := damping.PresetFor(preset, sizes)
	if err != nil {
		return nil, err
	}
	stages := map[string][]any{}
	for _, s := range p.Bundle {
		if h, ok := s.(damping.HoldDown); ok {
			stages["bundle"] = append(stages["bundle"], yaml.MapSlice{{Key: "holddown", Value: yaml.MapSlice{{Key: "time", Value: h.T.String()}}}})
		}
	}
	for _, s := range p.Told {
		if q, ok := s.(damping.Quantize); ok {
			fields := yaml.MapSlice{{Key: "step", Value: fmt.Sprint(q.Step)}, {Key: "error", Value: fmt.Sprint(q.Error)}, {Key: "rounding", Value: q.Rounding.String()}}
			if q.Anchor > 0 {
				fields = append(fields, yaml.MapItem{Key: "anchor", Value: fmt.Sprint(q.Anchor)})
			}
			stages["told"] = append(stages["told"], yaml.MapSlice{{Key: "quantize", Value: fields}})
		}
	}
	for _, place := range []string{"bundle", "told"} {
		if field(plan, place) == nil && len(stages[place]) > 0 {
			plan = with(plan, place, stages[place])
		}
	}
	return plan, nil
}

// vary is the plan with one parameter of a stage set, wherever the stage stands
// outside the rules.
func vary(plan yaml.MapSlice, key, value string) (yaml.MapSlice, error) {
	name, parameter, _ := strings.Cut(key, ".")
	var there []string
	found := false
	for _, place := range []string{"bundle", "told"} {
		list, _ := field(plan, place).([]any)
		list = slices.Clone(list)
		for i, s := range list {
			stage, fields := stageOf(s)
			there = append(there, stage)
			if stage == name {
				found = true
				list[i] = yaml.MapSlice{{Key: stage, Value: with(fields, parameter, value)}}
			}
		}
		if len(list) > 0 {
			plan = with(plan, place, list)
		}
	}
	if !found {
		return nil, fmt.Errorf("stage %q: the damping has %s", name, oneOf(there))
	}
	return plan, nil
}

func oneOf(stages []string) string {
	if len(stages) == 0 {
		return "no stages that can be varied"
	}
	return strings.Join(stages, ", ")
}

// stageOf is the name of a stage and its parameters.
func stageOf(v any) (name string, fields yaml.MapSlice) {
	m, ok := v.(yaml.MapSlice)
	if !ok || len(m) != 1 {
		return fmt.Sprint(v), nil
	}
	fields, _ = m[0].Value.(yaml.MapSlice)
	return fmt.Sprint(m[0].Key), fields
}

// check reads the scenario of a point. Its errors have the field and the value,
// and no line, since nobody wrote that file.
func (t tree) check(axes []Axis, values []string) (*harness.Scenario, error) {
	source, err := t.source()
	if err != nil {
		return nil, err
	}
	sc, err := harness.ReadScenario("sweep.yaml", source)
	if err == nil {
		return sc, nil
	}
	var words []string
	for i, a := range axes {
		words = append(words, a.Key+"="+values[i])
	}
	var list *yamltree.Errs
	if !errors.As(err, &list) {
		return nil, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	var all []error
	for _, e := range list.List {
		line := fmt.Sprintf("%s: field %q", strings.Join(words, " "), e.Field)
		if e.HasValue {
			line += fmt.Sprintf(": value %q", e.Value)
		}
		all = append(all, fmt.Errorf("%s: %s", line, e.Want))
	}
	return nil, errors.Join(all...)
}
