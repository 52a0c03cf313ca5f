package shrink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/topologies"
)

// group is the devices that a network can be cut down by together.
type group struct {
	what string
	in   func(topologies.Device) bool
}

// groups drops regions, planes, fabrics and roles as a whole.
func (s *search) groups() bool {
	changed := false
	for _, g := range groupsOf(s.best.Topology) {
		changed = s.try("without "+g.what, without(s.best, g.in)) || changed
	}
	return changed
}

func groupsOf(t *topologies.Topology) (list []group) {
	known := map[string]bool{}
	add := func(kind, name string, of func(topologies.Device) string) {
		if what := kind + " " + name; name != "" && !known[what] {
			known[what] = true
			list = append(list, group{what, func(d topologies.Device) bool { return of(d) == name }})
		}
	}
	region := func(d topologies.Device) string { return d.Region }
	fabric := func(d topologies.Device) string { return d.Fabric }
	plane := func(d topologies.Device) string { return strings.TrimPrefix(strconv.Itoa(d.Plane), "0") }
	role := func(d topologies.Device) string { return d.Role.String() }
	for _, of := range []struct {
		kind string
		name func(topologies.Device) string
	}{{"role", role}, {"region", region}, {"plane", plane}, {"fabric", fabric}} {
		for _, d := range t.Devices {
			add(of.kind, of.name(d), of.name)
		}
	}
	return list
}

// mostPairs bounds the networks whose devices are also dropped two at a time:
// two ends of which neither can go alone.
const mostPairs = 12

// devices drops devices, and pairs of them where few are left.
func (s *search) devices() bool {
	changed := s.drop(func() int { return len(s.best.Topology.Devices) }, func(from, to int) (string, *harness.Scenario) {
		var names []string
		for _, d := range s.best.Topology.Devices[from:to] {
			names = append(names, d.Name)
		}
		what := fmt.Sprintf("without %d devices", len(names))
		if len(names) == 1 {
			what = "without " + names[0]
		}
		return what, without(s.best, func(d topologies.Device) bool { return slices.Contains(names, d.Name) })
	})
	return s.pairs() || changed
}

func (s *search) pairs() bool {
	changed := false
	for i := 0; i < len(s.best.Topology.Devices) && len(s.best.Topology.Devices) <= mostPairs; i++ {
		for j := i + 1; j < len(s.best.Topology.Devices); j++ {
			a, b := s.best.Topology.Devices[i].Name, s.best.Topology.Devices[j].Name
			gone := func(d topologies.Device) bool { return d.Name == a || d.Name == b }
			if s.try("without "+a+" and "+b, without(s.best, gone)) {
				changed = true
				j = i
			}
		}
	}
	return changed
}

// bundles drops bundles, and what is said of things that does not matter.
func (s *search) bundles() bool {
	changed := s.drop(func() int { return len(s.best.Topology.Bundles) }, func(from, to int) (string, *harness.Scenario) {
		t := *s.best.Topology
		what := fmt.Sprintf("without %d bundles", to-from)
		if to == from+1 {
			what = "without bundle " + t.Bundles[from].Name
		}
		t.Bundles = slices.Delete(slices.Clone(t.Bundles), from, to)
		return what, fitted(s.best, &t)
	})
	return s.plain() || changed
}

// plain leaves out of the topology what no protocol sees, and lengths.
func (s *search) plain() bool {
	t := *s.best.Topology
	t.Devices, t.Bundles = slices.Clone(t.Devices), slices.Clone(t.Bundles)
	for i := range t.Devices {
		d := &t.Devices[i]
		d.Hall, d.Power, d.Ports, d.LineCards, d.Units = "", "", 0, 0, 1
	}
	for i := range t.Bundles {
		t.Bundles[i].Route, t.Bundles[i].Optic = "", ""
	}
	changed := s.try("without sites, ports and optics", fitted(s.best, &t))
	t = *s.best.Topology
	t.Bundles = slices.Clone(t.Bundles)
	for i := range t.Bundles {
		t.Bundles[i].Length = 0
	}
	return s.try("without lengths", fitted(s.best, &t)) || changed
}

// prefixes drops prefixes.
func (s *search) prefixes() bool {
	return s.drop(func() int { return len(s.best.Topology.Prefixes) }, func(from, to int) (string, *harness.Scenario) {
		t := *s.best.Topology
		what := fmt.Sprintf("without %d prefixes", to-from)
		if to == from+1 {
			what = "without " + t.Prefixes[from].Prefix.String()
		}
		t.Prefixes = slices.Delete(slices.Clone(t.Prefixes), from, to)
		return what, fitted(s.best, &t)
	})
}

// without is the scenario without some devices and all that goes with them, or
// nil where none goes or what is left is no network.
func without(sc *harness.Scenario, gone func(topologies.Device) bool) *harness.Scenario {
	t := *sc.Topology
	t.Devices = slices.DeleteFunc(slices.Clone(t.Devices), gone)
	if len(t.Devices) == len(sc.Topology.Devices) {
		return nil
	}
	return fitted(sc, &t)
}

// fitted is the scenario on a part of its topology: bundles whose ends are gone
// go, then devices without a bundle, prefixes without an origin, events, rules
// of damping and settings that are about none. It is nil where no network is left.
func fitted(sc *harness.Scenario, t *topologies.Topology) *harness.Scenario {
	t = connected(t)
	if len(t.Devices) == 0 || topologies.Validate(t) != nil {
		return nil
	}
	if !strings.HasPrefix(t.Name, partOf) {
		t.Name = partOf + t.Name
	}
	c := copied(sc)
	c.Topology, c.Settings, c.Hardware = t, nil, nil
	now := t.Index()
	for i, d := range sc.Topology.Devices {
		if _, ok := now.Device[d.Name]; !ok {
			continue
		}
		if sc.Settings != nil {
			c.Settings = append(c.Settings, sc.Settings[i])
		}
		if sc.Hardware != nil {
			c.Hardware = append(c.Hardware, sc.Hardware[i])
		}
	}
	if sc.Plan != nil {
		c.Plan = planFor(*sc.Plan, t)
	}
	c.Events = playable(t, sc.Events)
	return c
}

// partOf begins the name of a topology that is not the whole of the one named.
const partOf = "part-of-"

// connected leaves out what has lost what it needs.
func connected(t *topologies.Topology) *topologies.Topology {
	c := *t
	c.Bundles, c.Prefixes = slices.Clone(t.Bundles), slices.Clone(t.Prefixes)
	there := map[string]bool{}
	for _, d := range c.Devices {
		there[d.Name] = true
	}
	c.Bundles = slices.DeleteFunc(c.Bundles, func(b topologies.Bundle) bool { return !there[b.A] || !there[b.B] })
	joined := map[string]bool{}
	for _, b := range c.Bundles {
		joined[b.A], joined[b.B] = true, true
	}
	c.Devices = slices.DeleteFunc(slices.Clone(c.Devices), func(d topologies.Device) bool { return !joined[d.Name] })
	for i := range c.Prefixes {
		p := &c.Prefixes[i]
		p.Origins = slices.DeleteFunc(slices.Clone(p.Origins), func(o string) bool { return !joined[o] })
	}
	c.Prefixes = slices.DeleteFunc(c.Prefixes, func(p topologies.Prefix) bool { return len(p.Origins) == 0 })
	for before := -1; before != len(c.Prefixes); { // an aggregate may be one of another's more-specifics
		before = len(c.Prefixes)
		var kept []topologies.Prefix
		for i, p := range c.Prefixes {
			if p.Aggregate == nil || len(c.Specifics(i)) > 0 {
				kept = append(kept, p)
			}
		}
		c.Prefixes = kept
	}
	return &c
}

// planFor leaves out the rules of a plan that name a class that is gone.
func planFor(p damping.Plan, t *topologies.Topology) *damping.Plan {
	bundles, prefixes := map[string]bool{"": true}, map[string]bool{"": true}
	for _, b := range t.Bundles {
		bundles[t.BundleClass(b)] = true
	}
	for _, x := range t.Prefixes {
		prefixes[x.Class] = true
	}
	p.Bundle = slices.DeleteFunc(slices.Clone(p.Bundle), func(r damping.BundleRule) bool { return !bundles[r.Class] })
	p.Told = slices.DeleteFunc(slices.Clone(p.Told), func(r damping.ToldRule) bool { return !prefixes[r.Class] })
	return &p
}
