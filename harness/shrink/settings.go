package shrink

import (
	"reflect"
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// settings gives knobs their defaults: all of them, one of all devices, all of
// one device, then each by itself.
func (s *search) settings() bool {
	devices := func() int { return len(s.best.Settings) }
	all := func(int) bool { return true }
	changed := s.reset("all knobs are the defaults", all, topologies.Knobs()...)
	for _, k := range topologies.Knobs() {
		changed = s.reset(k.Name+" is the default", all, k) || changed
	}
	for i := range devices() {
		one := func(d int) bool { return d == i }
		name := s.best.Topology.Devices[i].Name
		changed = s.reset("the knobs of "+name+" are the defaults", one, topologies.Knobs()...) || changed
		for _, k := range topologies.Knobs() {
			changed = s.reset(k.Name+" of "+name+" is the default", one, k) || changed
		}
	}
	return changed
}

// reset tries the default of some knobs at some devices.
func (s *search) reset(what string, at func(device int) bool, knobs ...topologies.Knob) bool {
	c, changes := copied(s.best), false
	for i := range c.Settings {
		for _, k := range knobs {
			if value, err := c.Settings[i].Get(k.Name); err != nil || value == k.Default || !at(i) {
				continue
			}
			changes = true
			if c.Settings[i].Set(k.Name, k.Default) != nil {
				return false
			}
		}
		if c.Settings[i].Validate() != nil {
			return false
		}
	}
	return changes && s.try(what, c)
}

// damping tries none, then one pipeline in place of a plan, then leaves out
// rules and stages.
func (s *search) damping() bool {
	changed := false
	try := func(what string, plan damping.Plan) bool {
		ok := plan.Validate() == nil && s.try(what, damped(s.best, plan))
		changed = changed || ok
		return ok
	}
	none, err := damping.Preset(damping.PresetNone, s.best.Topology.SmallestSpeed())
	if bare := damping.Uniform(none); err == nil && !reflect.DeepEqual(planOf(s.best), bare) && try("without damping", bare) {
		return true
	}
	plan := planOf(s.best)
	if len(plan.Bundle)+len(plan.Told) > 0 {
		plan.Bundle, plan.Told = nil, nil
		try("without rules of damping", plan)
	}
	for again := true; again; {
		again = false
		for _, p := range lessDamped(planOf(s.best)) {
			if again = try(p.what, p.plan); again {
				break
			}
		}
	}
	return changed
}

type lessDamping struct {
	what string
	plan damping.Plan
}

// lessDamped lists plans that have one rule or one stage less.
func lessDamped(p damping.Plan) (list []lessDamping) {
	add := func(what string, change func(*damping.Plan)) {
		q := p
		q.Bundle, q.Told = slices.Clone(p.Bundle), slices.Clone(p.Told)
		change(&q)
		q.Name = partName(p.Name)
		q.Default.Name = q.Name
		list = append(list, lessDamping{what, q})
	}
	for i := range p.Bundle {
		add("without a rule of bundles", func(q *damping.Plan) { q.Bundle = slices.Delete(q.Bundle, i, i+1) })
		for j, stage := range p.Bundle[i].Stages {
			add("without "+stage.String(), func(q *damping.Plan) { q.Bundle[i].Stages = lacking(q.Bundle[i].Stages, j) })
		}
	}
	for i := range p.Told {
		add("without a rule of told values", func(q *damping.Plan) { q.Told = slices.Delete(q.Told, i, i+1) })
		for j, stage := range p.Told[i].Stages {
			add("without "+stage.String(), func(q *damping.Plan) { q.Told[i].Stages = lacking(q.Told[i].Stages, j) })
		}
	}
	for i, stage := range p.Default.Bundle {
		add("without "+stage.String(), func(q *damping.Plan) { q.Default.Bundle = lacking(q.Default.Bundle, i) })
	}
	for i, stage := range p.Default.Told {
		add("without "+stage.String(), func(q *damping.Plan) { q.Default.Told = lacking(q.Default.Told, i) })
	}
	if p.Default.Settle > 0 {
		add("without a stated settle time", func(q *damping.Plan) { q.Default.Settle = 0 })
	}
	return list
}

func lacking[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

// partName is the name of a plan that is only a part of one: a preset's name
// stands for the whole.
func partName(name string) string {
	if slices.Contains(damping.Presets(), name) {
		return "part of " + name
	}
	return name
}

// planOf is what damping stands where.
func planOf(sc *harness.Scenario) damping.Plan {
	if sc.Plan != nil {
		return *sc.Plan
	}
	return damping.Uniform(sc.Damping)
}

func damped(sc *harness.Scenario, plan damping.Plan) *harness.Scenario {
	c := copied(sc)
	c.Damping, c.Plan = plan.Default, nil
	if len(plan.Bundle)+len(plan.Told) > 0 {
		c.Plan = &plan
	}
	return c
}

// hardware gives devices the chip that the topology names: all, then those of
// one kind of hardware, then each, and last each without its options.
func (s *search) hardware() bool {
	usual, err := state.HardwareOf(s.best.Topology)
	if err != nil || len(s.best.Hardware) != len(usual) {
		return false
	}
	changed := false
	try := func(what string, at func(i int) bool, options bool) {
		c, changes := copied(s.best), false
		for i := range c.Hardware {
			want := usual[i]
			if options {
				want = state.Hardware{Profile: c.Hardware[i].Profile}
			}
			if at(i) && c.Hardware[i] != want {
				c.Hardware[i], changes = want, true
			}
		}
		changed = changes && s.try(what, c) || changed
	}
	try("all hardware is as the topology has it", func(int) bool { return true }, false)
	var kinds []state.Hardware
	for _, h := range s.best.Hardware {
		if !slices.Contains(kinds, h) {
			kinds = append(kinds, h)
		}
	}
	for _, kind := range kinds {
		try("without hardware "+kind.Profile.Name, func(i int) bool { return s.best.Hardware[i] == kind }, false)
	}
	for i, d := range s.best.Topology.Devices {
		one := func(j int) bool { return i == j }
		try("hardware of "+d.Name+" is as the topology has it", one, false)
		if s.best.Hardware[i].Options != (fib.Options{}) {
			try("hardware of "+d.Name+" has no options", one, true)
		}
	}
	return changed
}

// rest leaves out limits, and what else a scenario says.
func (s *search) rest() bool {
	changed := false
	try := func(what string, change func(*harness.Scenario)) {
		c := copied(s.best)
		change(c)
		changed = !reflect.DeepEqual(*c, *copied(s.best)) && s.try(what, c) || changed
	}
	try("no threshold of NLRI", func(c *harness.Scenario) { c.Thresholds.NLRI = 0 })
	try("no threshold of UPDATEs", func(c *harness.Scenario) { c.Thresholds.Updates = 0 })
	try("no threshold of the radius", func(c *harness.Scenario) { c.Thresholds.Radius = 0 })
	try("the failure is not expected", func(c *harness.Scenario) {
		c.Expect = slices.DeleteFunc(slices.Clone(c.Expect), func(name string) bool { return name == s.result.Failure })
	})
	try("no comparison of overflow policies", func(c *harness.Scenario) { c.Compare = false })
	try("seed 1", func(c *harness.Scenario) { c.Seed = 1 })
	return changed
}
