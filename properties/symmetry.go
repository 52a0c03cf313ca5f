package properties

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// SymmetryName is the name of the rule, as reports print it.
const SymmetryName = "symmetry"

// Symmetry is the rule "symmetry", which takes two runs: a scenario, and the same with
// all devices, bundles, fabrics and regions named otherwise, planes numbered in the
// other direction, and, with reorder, the devices in the opposite order. At every
// settled moment the second must have what the first has, under the new names.
//
// The order of devices is that of router ids, which break ties between equal paths, and
// a path decides who may hear it. So after reordering only those prefixes are compared
// of which all devices tell the same AS_PATHs in both runs, and no told value is damped
// with a memory, since jitter is drawn by device; the note says how many were not. After
// renaming alone everything is compared.
//
// It is exercised once per route compared. The error is that of a run.
func Symmetry(ctx context.Context, sc *harness.Scenario, reorder bool) (state.Outcome, error) {
	l := newLedger(SymmetryName, 0, "routes")
	first, err := settledMoments(ctx, sc, sc.Events)
	if err != nil {
		return l.found, err
	}
	other, device, bundle := renamed(sc, reorder)
	second, err := settledMoments(ctx, other, other.Events)
	if err != nil {
		return l.found, fmt.Errorf("under other names: %w", err)
	}
	if len(first) != len(second) {
		l.violate(first[0], "the run", "%d settled moments, %d under other names", len(first), len(second))
		return l.found, nil
	}
	left := 0
	for i := range first {
		left += l.compareRenamed(first[i], second[i], device, bundle, reorder)
	}
	l.worst(float64(l.found.Violated))
	if left > 0 {
		l.found.Note = fmt.Sprintf("%d prefixes at a moment not compared, whose paths ties decide", left)
	}
	return l.found, nil
}

// settledMoments plays events on a network of its own and gives the settled moments, the
// baseline first.
func settledMoments(ctx context.Context, sc *harness.Scenario, events []state.Event) (moments []*state.Moment, err error) {
	rig, err := harness.Start(ctx, harness.Options{
		Topology: sc.Topology, Damping: sc.Damping, Plan: sc.Plan, Settings: sc.Settings, Hardware: sc.Hardware, Engine: sc.Engine,
		Checks: []state.Check{momentsOf{func(m *state.Moment) {
			if m.Settled {
				moments = append(moments, m)
			}
		}}},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	_, err = rig.Play(ctx, events...)
	return moments, err
}

// momentsOf is a check that shows somebody every moment.
type momentsOf struct{ see func(*state.Moment) }

func (momentsOf) Name() string           { return "moments" }
func (momentsOf) Outcome() state.Outcome { return state.Outcome{Name: "moments"} }
func (w momentsOf) Look(m *state.Moment) { w.see(m) }

// compareRenamed compares two moments and gives how many prefixes it left out.
func (l *ledger) compareRenamed(first, second *state.Moment, device, bundle []int, reorder bool) (left int) {
	remember := somewhere(first, remembers)
	if reorder && slices.ContainsFunc(first.Settings, func(s *topologies.Settings) bool { return s.Advertise == topologies.AdvertiseBestPath }) {
		return len(first.Topology.Prefixes)
	}
	for p := range first.Topology.Prefixes {
		if reorder && (remember[p] || !samePaths(first, second, device, p)) {
			left++
			continue
		}
		for d := range first.Snapshot.Devices {
			l.found.Exercised++
			want := &first.Snapshot.Devices[d].Routes[p]
			got := translated(&second.Snapshot.Devices[device[d]].Routes[p], bundle)
			if text := difference(first.Network, "under other names it", got, "it", want); text != "" {
				l.violate(first, at(first.Network, d, p), "%s", text)
			}
		}
	}
	return left
}

func samePaths(first, second *state.Moment, device []int, p int) bool {
	for d := range first.Snapshot.Devices {
		a, b := first.Snapshot.Devices[d].Routes[p].Told, second.Snapshot.Devices[device[d]].Routes[p].Told
		if !slices.Equal(a.Path, b.Path) || a.Down != b.Down {
			return false
		}
	}
	return true
}

// translated is a route with its bundles under the old names.
func translated(r *state.Route, bundle []int) *state.Route {
	c := *r
	c.Set = slices.Clone(r.Set)
	for i := range c.Set {
		c.Set[i].Bundle = int32(bundle[c.Set[i].Bundle])
	}
	slices.SortFunc(c.Set, func(a, b state.Member) int { return int(a.Bundle - b.Bundle) })
	return &c
}

// renamed is the scenario under other names; device gives the new index of a device,
// bundle the old index of a bundle.
func renamed(sc *harness.Scenario, reorder bool) (other *harness.Scenario, device, bundle []int) {
	old := sc.Topology
	t := &topologies.Topology{Name: old.Name}
	planes := 0
	for _, d := range old.Devices {
		planes = max(planes, d.Plane)
	}
	made := *sc
	made.Topology, made.Settings, made.Hardware, made.Events, made.Source = t, nil, nil, nil, nil
	device = make([]int, len(old.Devices))
	for i := range old.Devices {
		from := i
		if reorder {
			from = len(old.Devices) - 1 - i
		}
		device[from] = i
		d := old.Devices[from]
		d.Name, d.Fabric, d.Region, d.Plane = newName(d.Name), newName(d.Fabric), newName(d.Region), otherPlane(d.Plane, planes)
		t.Devices = append(t.Devices, d)
		if sc.Settings != nil {
			made.Settings = append(made.Settings, sc.Settings[from])
		}
		if sc.Hardware != nil {
			made.Hardware = append(made.Hardware, sc.Hardware[from])
		}
	}
	for i, b := range old.Bundles {
		b.Name, b.A, b.B = newName(b.Name), newName(b.A), newName(b.B)
		t.Bundles = append(t.Bundles, b)
		bundle = append(bundle, i)
	}
	for _, p := range old.Prefixes {
		origins := make([]string, len(p.Origins))
		for i, name := range p.Origins {
			origins[i] = newName(name)
		}
		p.Origins = origins
		t.Prefixes = append(t.Prefixes, p)
	}
	for _, e := range sc.Events {
		made.Events = append(made.Events, otherEvent(e, planes))
	}
	return &made, device, bundle
}

// newName is the new name of a thing.
func newName(name string) string {
	if name == "" {
		return ""
	}
	return "x" + name
}

func otherPlane(plane, planes int) int {
	if plane == 0 {
		return 0
	}
	return planes + 1 - plane
}

// otherEvent is an event under the new names. Halls, power domains and routes keep
// theirs.
func otherEvent(e state.Event, planes int) state.Event {
	e.Bundle, e.Device, e.From, e.Region, e.Plane = newName(e.Bundle), newName(e.Device), newName(e.From), newName(e.Region), otherPlane(e.Plane, planes)
	if e.Bundles != "" {
		names := strings.Split(e.Bundles, ",")
		for i, name := range names {
			names[i] = newName(name)
		}
		e.Bundles = strings.Join(names, ",")
	}
	if kind, name, ok := strings.Cut(e.Domain, ":"); ok {
		switch kind {
		case topologies.ChassisDomain, topologies.LineCardDomain:
			e.Domain = kind + ":" + newName(name)
		case topologies.RegionDomain:
			e.Domain = kind + ":" + newName(name)
		}
	}
	return e
}
