package shrink

import (
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// events drops events.
func (s *search) events() bool {
	return s.drop(func() int { return len(s.best.Events) }, func(from, to int) (string, *harness.Scenario) {
		what := fmt.Sprintf("without %d events", to-from)
		if to == from+1 {
			what = "without " + s.best.Events[from].String()
		}
		return what, s.with(slices.Delete(slices.Clone(s.best.Events), from, to))
	})
}

// values makes what an event does simpler, one field at a time.
func (s *search) values() bool {
	changed := s.untimed()
	for i := 0; i < len(s.best.Events); i++ {
		for again := true; again; {
			again = false
			if i >= len(s.best.Events) {
				break
			}
			ix := s.best.Topology.Index()
			for _, e := range simpler(s.best.Topology, ix, s.best.Events[i]) {
				events := slices.Clone(s.best.Events)
				events[i] = e
				if s.try(e.String(), s.with(events)) {
					changed, again = true, true
					break
				}
			}
		}
	}
	return changed
}

// untimed lets each event wait until the one before is settled.
func (s *search) untimed() bool {
	events := slices.Clone(s.best.Events)
	for i := range events {
		events[i].At = 0
	}
	return s.try("without times", s.with(events))
}

// simpler lists events that are simpler than e in one way. Each of them comes
// nearer to an event that has none, so that the search ends.
func simpler(t *topologies.Topology, ix *topologies.Index, e state.Event) (list []state.Event) {
	add := func(change func(*state.Event)) {
		c := e
		change(&c)
		list = append(list, c)
	}
	list = append(list, narrower(t, ix, e)...)
	if e.Detect != "" {
		add(func(c *state.Event) { c.Detect = "" })
	}
	for _, n := range []int{1, 2, e.Count / 2, e.Count - 1} {
		if n >= 1 && n < e.Count {
			add(func(c *state.Event) { c.Count = n })
		}
	}
	if e.Steps > 1 {
		add(func(c *state.Event) { c.Steps = 1 })
	}
	for _, n := range better(e.Members, fullOf(t, ix, e)) {
		add(func(c *state.Event) { c.Members = n })
	}
	for _, loss := range []float64{1, 0.5} {
		if e.Loss > 0 && e.Loss < loss {
			add(func(c *state.Event) { c.Loss = loss })
		}
	}
	for _, at := range rounder(e.At, true) {
		add(func(c *state.Event) { c.At = at })
	}
	for _, d := range rounder(e.Period, false) {
		add(func(c *state.Event) { c.Period = d })
	}
	for _, d := range rounder(e.Over, false) {
		add(func(c *state.Event) { c.Over = d })
	}
	for _, d := range rounder(e.Takes, false) {
		add(func(c *state.Event) { c.Takes = d })
	}
	return list
}

// mostTargets bounds how many single targets are tried for an event that has many.
const mostTargets = 8

// narrower lists events that do less: to one bundle or device of many, or once
// what happens again and again. To restore all is as simple as can be.
func narrower(t *topologies.Topology, ix *topologies.Index, e state.Event) (list []state.Event) {
	timed := func(c state.Event) { c.At, c.Silent = e.At, e.Silent; list = append(list, c) }
	switch e.Kind {
	case "flap":
		timed(state.Event{Kind: "degrade", Bundle: e.Bundle, Members: e.Members})
	case "ramp", "replay":
		if b, ok := ix.Bundle[e.Bundle]; ok {
			full := t.Bundles[b].Members
			for _, n := range []int{full - 1, full / 2, 1} {
				timed(state.Event{Kind: "degrade", Bundle: e.Bundle, Members: n})
			}
			timed(state.Event{Kind: "down", Bundle: e.Bundle})
		}
	case "synchronised", "down", "up", "restore", "grey":
		if e.Bundle != "" || e.All {
			break
		}
		for _, b := range bundlesOf(t, ix, e) {
			c := e
			c.Bundle, c.Bundles, c.Device, c.Domain = t.Bundles[b].Name, "", "", ""
			if e.Kind == "synchronised" {
				c.Kind = "flap"
			}
			timed(c)
		}
	case "set", "drain":
		if e.Device != "" {
			break
		}
		changes, err := e.Expand(t, ix, nil, state.NewFailing(t))
		for i, c := range changes {
			if err == nil && i < mostTargets {
				one := e
				one.Device, one.Role, one.Plane, one.Region, one.All = t.Devices[c.Change.Device].Name, "", 0, "", false
				timed(one)
			}
		}
	}
	return list
}

// bundlesOf lists the first bundles that an event is about.
func bundlesOf(t *topologies.Topology, ix *topologies.Index, e state.Event) (list []int) {
	members := make([]int, len(t.Bundles))
	for i, b := range t.Bundles {
		members[i] = b.Members
	}
	changes, err := e.Expand(t, ix, members, state.NewFailing(t))
	if err != nil {
		return nil
	}
	for _, c := range changes {
		if b := int(c.Change.Bundle); !slices.Contains(list, b) && len(list) < mostTargets {
			list = append(list, b)
		}
	}
	return list
}

func fullOf(t *topologies.Topology, ix *topologies.Index, e state.Event) int {
	if b, ok := ix.Bundle[e.Bundle]; ok {
		return t.Bundles[b].Members
	}
	return 0
}

// better lists numbers of members that are nearer to a reader than n: one
// member lost, half of them, one left.
func better(n, full int) (list []int) {
	if n == 0 || full == 0 {
		return nil
	}
	for _, m := range []int{full - 1, full / 2, 1} {
		if m == n {
			break
		}
		if m >= 1 {
			list = append(list, m)
		}
	}
	return list
}

// rounder lists times that are rounder than d, the roundest first; 0 is one
// where it may be.
func rounder(d time.Duration, zero bool) (list []time.Duration) {
	if d == 0 {
		return nil
	}
	if zero {
		list = append(list, 0)
	}
	for _, unit := range []time.Duration{time.Hour, time.Minute, 10 * time.Second, time.Second} {
		if d%unit == 0 {
			break
		}
		if r := max(d.Round(unit), time.Second); r%unit == 0 {
			list = append(list, r)
		}
	}
	return list
}
