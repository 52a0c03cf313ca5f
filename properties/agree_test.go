package properties

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// TestSpeakersAndGraphAgree plays random events on random small topologies with
// random settings, and compares every end state with the graph's. A failing
// case is printed as a scenario.
func TestSpeakersAndGraphAgree(t *testing.T) {
	simOnly(t)
	seed := seedOfRun(t)
	for i := range casesOfRun(t, 200) {
		c := newCase(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		checks := plain()
		err := c.play(checks)
		if err == nil {
			err = violationOf(checks)
		}
		if err != nil {
			t.Fatalf("BAGRIG_SEED=%d, case %d: %v\n%s", seed, i, err, c.text())
		}
	}
}

// plain are the rules that hold of any mix of settings. Proportion means weights
// that follow capacity, and the limits of containment are those of one decision for all.
func plain() []state.Check {
	return []state.Check{NewEndState(), NewNoBlackHole(), NewNoLoop(), NewToldWithinLaw(), NewFIBWithinLimits(), NewAggregates()}
}

// agreement is one random case.
type agreement struct {
	topology *topologies.Topology
	settings []topologies.Settings
	pipeline damping.Pipeline
	events   []state.Event
}

func newCase(r *rand.Rand) *agreement {
	c := &agreement{}
	s := topologies.Shape{
		Name: "random", Regions: 1 + r.IntN(2), Planes: 1 + r.IntN(3), Fabrics: 1 + r.IntN(2), Spines: 1 + r.IntN(2), Kind: "dsf", Speed: 800e9,
		SpineEdge: topologies.Link{Members: 1 + r.IntN(40), Length: 300}, EdgeBag: topologies.Link{Members: 1 + r.IntN(40), Length: 3000},
		BagBag:     topologies.Link{Members: 1 + r.IntN(40), Length: 80_000},
		SpineUnits: 9, EdgeUnits: 9, BagUnits: 9, ASN: topologies.ASNPlan(r.IntN(3)),
	}
	s.Spread = r.IntN(s.Planes + 1)
	if s.Spines > 1 && r.IntN(3) == 0 {
		s.FabricAggregate = &topologies.Aggregate{By: topologies.BySupporting, Announce: 2, Withdraw: 1 + r.Uint64N(2), Suppress: r.IntN(2) == 0}
	}
	if r.IntN(3) == 0 {
		most := uint64(s.Fabrics*s.EdgeBag.Members) * s.Speed // that a bag has below it
		s.RegionAggregate = &topologies.Aggregate{By: topologies.ByCapacity, Announce: min(20e12, most), Withdraw: min(8e12, most), Suppress: r.IntN(2) == 0}
	}
	var err error
	if c.topology, err = topologies.Generate(s); err != nil {
		panic(err) // the shape is always valid
	}
	for range r.IntN(3) {
		twin := c.topology.Bundles[r.IntN(len(c.topology.Bundles))]
		twin.Name += fmt.Sprintf("#%d", 2+len(c.topology.Bundles))
		c.topology.Bundles = append(c.topology.Bundles, twin)
	}
	preset := pick(r, damping.PresetBagDefault, damping.PresetNone)
	if c.pipeline, err = damping.Preset(preset, c.topology.SmallestSpeed()); err != nil {
		panic(err)
	}
	for range c.topology.Devices {
		c.settings = append(c.settings, randomSettings(r))
	}
	for range 2 + r.IntN(5) {
		c.events = append(c.events, c.event(r))
	}
	return c
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// randomSettings leaves most knobs at their defaults, so that their effects are seen.
func randomSettings(r *rand.Rand) topologies.Settings {
	s := topologies.DefaultSettings()
	for _, k := range topologies.Knobs() {
		values := k.Values
		switch k.Name {
		case "import.reject-classes":
			values = []string{"spine", "region"}
		case "import.reject-communities":
			values = []string{"65535:0"}
		case "advertise.value", "rib-batch", "import.max-prefixes", "restart.stale-time", "restart.eor-time", "drain.linger":
			continue
		}
		if r.IntN(4) > 0 {
			continue
		}
		if err := s.Set(k.Name, pick(r, values...)); err != nil {
			panic(err)
		}
	}
	switch s.Advertise {
	case topologies.AdvertiseSet:
		s.AdvertiseValue = 16e12
	case topologies.AdvertiseDisable:
		s.Divide = topologies.DivideNone
	}
	return s
}

func (c *agreement) event(r *rand.Rand) state.Event {
	bundle := pick(r, c.topology.Bundles...)
	device := pick(r, c.topology.Devices...).Name
	e := state.Event{Silent: true}
	switch r.IntN(8) {
	case 0, 1:
		e.Kind, e.Bundle = "restore", bundle.Name
		if bundle.Members > 1 {
			e.Kind, e.Members = "degrade", 1+r.IntN(bundle.Members-1)
		}
	case 2:
		e.Kind, e.Bundle = "down", bundle.Name
	case 3:
		e.Kind, e.Device = "down", device
	case 4:
		e.Kind, e.All = "restore", true
	case 5, 6:
		e.Kind, e.Device, e.State = "drain", device, pick(r, "warm", "drained", "live")
	default:
		e.Kind, e.Device = "set", device
		e.Knob, e.Value = pick(r, [2]string{"weights.missing", "skip"}, [2]string{"advertise", "best-path"}, [2]string{"divide", "none"})[0], ""
		e.Value = map[string]string{"weights.missing": "skip", "advertise": "best-path", "divide": "none"}[e.Knob]
	}
	return e
}

// newWideCase is a case with events of every kind, and with any damping.
func newWideCase(r *rand.Rand) *agreement {
	c := newCase(r)
	var err error
	if c.pipeline, err = damping.Preset(pick(r, damping.Presets()...), c.topology.SmallestSpeed()); err != nil {
		panic(err)
	}
	var events []state.Event
	for _, e := range c.events {
		if wide := c.wideEvent(r); r.IntN(2) == 0 && !c.passing(wide) {
			events = append(events, wide...)
		}
		events = append(events, e)
	}
	c.events = playable(c.topology, c.topology.Index(), events)
	return c
}

// passing tells whether events lead through states that an aggregate between
// its thresholds remembers and no graph sees: a speaker that restarts and waits for
// a neighbour that is away, for longer than its routes are kept, and one that
// decides on every input by itself.
func (c *agreement) passing(events []state.Event) bool {
	remembers := slices.ContainsFunc(c.topology.Prefixes, func(p topologies.Prefix) bool {
		return p.Aggregate != nil && p.Aggregate.Withdraw < p.Aggregate.Announce
	})
	return remembers && slices.ContainsFunc(events, func(e state.Event) bool { return e.Kind == "restart" || e.Value == "0s" })
}

// unordered tells whether a speaker decides on every input by itself, in whatever
// order the sockets of its sessions bring them.
func (c *agreement) unordered() string {
	if slices.ContainsFunc(c.events, func(e state.Event) bool { return e.Knob == "rib-batch" && e.Value == "0s" }) {
		return noBatch
	}
	return ""
}

// wideEvent draws an event of a kind that the rules of a plain case do not
// all survive. What is held is released soon.
func (c *agreement) wideEvent(r *rand.Rand) []state.Event {
	bundle, device := pick(r, c.topology.Bundles...), pick(r, c.topology.Devices...).Name
	switch r.IntN(8) {
	case 0:
		return []state.Event{{Kind: "reset", Bundle: bundle.Name, Silent: true}}
	case 1:
		return []state.Event{{Kind: "restart", Device: device, Takes: pick(r, 5*time.Second, time.Minute), Silent: true}}
	case 2:
		from := pick(r, bundle.A, bundle.B)
		return []state.Event{{Kind: "hold", Bundle: bundle.Name, From: from, Silent: true}, c.event(r), {Kind: "release", Bundle: bundle.Name, From: from, Silent: true}}
	case 3:
		return []state.Event{{Kind: "down", Bundle: bundle.Name, Detect: pick(r, "bfd:150ms", "hold:9s"), Silent: true}}
	case 4:
		return []state.Event{{Kind: "grey", Bundle: bundle.Name, Loss: 0.25, Silent: true}}
	case 5:
		return []state.Event{{Kind: "down", Device: device, Silent: true}, {Kind: "up", Device: device, Silent: true}}
	case 6:
		if r.IntN(3) > 0 {
			break
		}
		return []state.Event{{Kind: "set", Device: device, Knob: "rib-batch", Value: pick(r, "0s", "200ms"), Silent: true}}
	}
	if bundle.Members == 1 {
		return nil
	}
	return []state.Event{{Kind: "flap", Bundle: bundle.Name, Members: 1, Count: 1 + r.IntN(3), Period: 10 * time.Second, Silent: true}}
}

func (c *agreement) play(checks []state.Check) (err error) {
	rig, err := harness.Start(context.Background(), harness.Options{
		Topology: c.topology, Damping: c.pipeline, Settings: c.settings, Checks: checks, Budget: standstill, Engine: quickEngine(),
	})
	if err != nil {
		return err
	}
	defer func() {
		if closed := rig.Close(); err == nil {
			err = closed
		}
	}()
	_, err = rig.Play(context.Background(), c.events...)
	return err
}

func violationOf(checks []state.Check) error {
	for _, c := range checks {
		if o := c.Outcome(); o.Violated > 0 {
			return fmt.Errorf("%s: %d times, first at %v, %s: %s", o.Name, o.Violated, o.Violations[0].Time, o.Violations[0].Where, o.Violations[0].Text)
		}
	}
	return nil
}

// text is the case as a scenario file.
func (c *agreement) text() string {
	var b strings.Builder
	topology, err := topologies.Write(c.topology)
	if err != nil {
		return err.Error()
	}
	b.WriteString("topology:\n  " + strings.ReplaceAll(strings.TrimSpace(string(topology)), "\n", "\n  ") + "\n")
	fmt.Fprintf(&b, "damping: %s\nspeakers:\n  devices:\n", c.pipeline.Name)
	for i, d := range c.topology.Devices {
		var knobs []string
		for _, k := range topologies.Knobs() {
			if c.settings == nil {
				break
			}
			if v, _ := c.settings[i].Get(k.Name); v != k.Default {
				knobs = append(knobs, fmt.Sprintf("%s: %q", k.Name, v))
			}
		}
		if len(knobs) > 0 {
			fmt.Fprintf(&b, "    %s: {%s}\n", d.Name, strings.Join(knobs, ", "))
		}
	}
	b.WriteString("events:\n")
	for _, e := range c.events {
		fmt.Fprintf(&b, "  - %s\n", e.YAML())
	}
	return b.String()
}
