package generate

import (
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Events draws a schedule for a network. In a few cases one thing is taken out of
// service with care, and nothing else happens that ends sessions. Of the others, in half of the cases each event follows
// when the one before is settled; in the others each has its time, so that they
// overlap. All of them may have no effect. The end, except in some, mends
// everything, so that the network is at full health again.
func Events(src Source, sc *harness.Scenario, limits Limits) []state.Event {
	l := limits.filledIn()
	d := newSchedule(src, sc, l)
	if !oneIn(src, 6) || !d.careful() {
		for range between(src, 1, l.Events) {
			d.add(d.event())
		}
	}
	if len(d.events) == 0 {
		d.add(d.down())
	}
	d.timed = false
	if !oneIn(src, 5) {
		d.mend()
	}
	return d.events
}

// careful draws how an operator takes a device or a plane out of service: warm first, so
// that traffic goes elsewhere, perhaps in a network that has lost some capacity. It tells
// whether there is any that has another beside it.
func (d *schedule) careful() bool {
	var drains []state.Event
	beside := besides(d.sc.Topology)
	for _, dev := range d.sc.Topology.Devices {
		e := state.Event{Kind: "drain", Device: dev.Name}
		if dev.Role == topologies.Bag && dev.Plane > 0 && oneIn(d.src, 4) {
			e = state.Event{Kind: "drain", Plane: dev.Plane}
		}
		if beside(dev) > 1 && dev.Role > topologies.Spine && dev.Role != topologies.Backbone {
			drains = append(drains, e)
		}
	}
	if len(drains) == 0 {
		return false
	}
	d.timed = false
	for range d.src.IntN(2) {
		d.add(d.degrade())
	}
	e := pick(d.src, drains...)
	for _, e.State = range []string{"warm", "drained"} {
		d.add(e, true)
	}
	for range d.src.IntN(2) {
		d.add(d.degrade())
	}
	return true
}

// besides tells of how many devices a device is one that have one place: one role in one
// region and fabric.
func besides(t *topologies.Topology) func(topologies.Device) int {
	place := func(d topologies.Device) string { return d.Role.String() + d.Region + d.Fabric }
	beside := map[string]int{}
	for _, d := range t.Devices {
		beside[place(d)]++
	}
	return func(d topologies.Device) int { return beside[place(d)] }
}

// schedule is a schedule that is being drawn.
type schedule struct {
	src    Source
	sc     *harness.Scenario
	l      Limits
	paper  *state.Paper
	events []state.Event

	timed bool
	at    time.Duration

	never   []Limitation // that no case has
	classes [][]string   // bundles by class, so that the few of one class are drawn as often as the many of another
	domains []topologies.Domain
	planes  int
	held    []state.Event // releases that are owed
	drained []state.Event // and what brings back what was drained
	set     []state.Event // and what takes settings back
}

func newSchedule(src Source, sc *harness.Scenario, l Limits) *schedule {
	t := sc.Topology
	d := &schedule{src: src, sc: sc, l: l, paper: state.NewPaper(t, t.Index()), timed: oneIn(src, 2), at: 5 * time.Second}
	d.never = slices.DeleteFunc(Limitations(), func(l Limitation) bool { return len(l.Rules) > 0 })
	number := map[string]int{}
	for _, b := range t.Bundles {
		class := t.BundleClass(b)
		n, ok := number[class]
		if !ok {
			n, number[class] = len(d.classes), len(d.classes)
			d.classes = append(d.classes, nil)
		}
		d.classes[n] = append(d.classes[n], b.Name)
	}
	for _, dev := range t.Devices {
		d.planes = max(d.planes, dev.Plane*count(dev.Role >= topologies.Bag))
	}
	return d
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// add puts an event at the end where it has a place there, and tells whether.
func (d *schedule) add(e state.Event, ok bool) bool {
	if !ok {
		return false
	}
	e.Silent = true
	if d.timed {
		e.At = d.at
	}
	with := *d.sc
	with.Events = append(d.events[:len(d.events):len(d.events)], e)
	if slices.ContainsFunc(d.never, func(l Limitation) bool { return l.In(&with) }) || d.paper.Play(e) != nil {
		return false
	}
	if d.timed {
		d.at += seconds(d.src, 10, 0, 1, 5, 30)
	}
	d.events = append(d.events, e)
	switch e.Kind {
	case "hold":
		d.held = append(d.held, state.Event{Kind: "release", Bundle: e.Bundle, From: e.From})
	case "drain":
		e.State = "live"
		d.drained = append(d.drained, e)
	case "set":
		d.set = append(d.set, d.before(e)...)
	}
	return true
}

// before are the events that give devices the value of a knob that they began with.
func (d *schedule) before(e state.Event) (list []state.Event) {
	for i, dev := range d.sc.Topology.Devices {
		if e.Device == dev.Name || e.Role == dev.Role.String() {
			list = append(list, state.Event{Kind: "set", Device: dev.Name, Knob: e.Knob, Value: must(d.sc.Settings[i].Get(e.Knob))})
		}
	}
	return list
}

// mend brings everything back, what has waited first.
func (d *schedule) mend() {
	for _, e := range slices.Concat(d.held, d.drained) {
		e.At = 0
		d.add(e, true)
	}
	done := map[string]bool{}
	for _, e := range d.set {
		if key := e.Device + " " + e.Knob; !done[key] {
			done[key] = true
			d.add(e, true)
		}
	}
	d.add(state.Event{Kind: "restore", All: true}, true)
}

// event draws any event; false where the network has no place for one of its kind.
func (d *schedule) event() (state.Event, bool) {
	kinds := []func() (state.Event, bool){
		d.degrade, d.degrade, d.mended, d.down, d.flap, d.downDevice, d.ramp, d.degrade, d.mended, d.grey, d.drain, d.domain, d.reset,
		d.synchronised, d.hold, d.restart, d.replay, d.knob,
	}
	return pick(d.src, kinds...)()
}

func (d *schedule) bundle() topologies.Bundle {
	name := pick(d.src, pick(d.src, d.classes...)...)
	return d.sc.Topology.Bundles[slices.IndexFunc(d.sc.Topology.Bundles, func(b topologies.Bundle) bool { return b.Name == name })]
}

func (d *schedule) device() string { return pick(d.src, d.sc.Topology.Devices...).Name }

// left draws how many members a bundle keeps: all but one, three quarters, half,
// one, or any.
func (d *schedule) left(full int) (int, bool) {
	if full < 2 {
		return 0, false
	}
	return pick(d.src, full-1, max(full*3/4, 1), full/2, 1, 1+d.src.IntN(full-1)), true
}

func (d *schedule) degrade() (state.Event, bool) {
	b := d.bundle()
	left, ok := d.left(b.Members)
	return state.Event{Kind: "degrade", Bundle: b.Name, Members: left}, ok
}

func (d *schedule) flap() (state.Event, bool) {
	b := d.bundle()
	left, ok := d.left(b.Members)
	return state.Event{Kind: "flap", Bundle: b.Name, Members: left, Count: between(d.src, 1, 4), Period: seconds(d.src, 10, 2, 20, 40, 120)}, ok
}

func (d *schedule) synchronised() (state.Event, bool) {
	a, b := d.bundle(), d.bundle()
	left, ok := d.left(min(a.Members, b.Members))
	return state.Event{
		Kind: "synchronised", Bundles: a.Name + "," + b.Name, Members: left, Count: between(d.src, 1, 3), Period: seconds(d.src, 10, 40),
	}, ok && a.Name != b.Name
}

func (d *schedule) ramp() (state.Event, bool) {
	b := d.bundle()
	e := state.Event{Kind: "ramp", Bundle: b.Name, Start: b.Members, End: d.src.IntN(b.Members), Over: seconds(d.src, 60, 5, 600)}
	if oneIn(d.src, 2) {
		e.Start, e.End = e.End, e.Start
	}
	e.Steps = between(d.src, 1, min(max(e.Start, e.End)-min(e.Start, e.End), 6))
	return e, true
}

// replay draws a recording; of one second of it and another, since some last for hours.
func (d *schedule) replay() (state.Event, bool) {
	return state.Event{Kind: "replay", Bundle: d.bundle().Name, File: pick(d.src, damping.Recordings()...)}, d.l.Engine == harness.Sim && oneIn(d.src, 8)
}

func (d *schedule) detection() string {
	return pick(d.src, "", "", "bfd:150ms", "hold:9s", "carrier")
}

func (d *schedule) down() (state.Event, bool) {
	return state.Event{Kind: "down", Bundle: d.bundle().Name, Detect: d.detection()}, true
}

func (d *schedule) downDevice() (state.Event, bool) {
	return state.Event{Kind: "down", Device: d.device(), Detect: d.detection()}, true
}

// mended draws an event that mends, mostly of what was broken before.
func (d *schedule) mended() (state.Event, bool) {
	e := state.Event{Kind: pick(d.src, "restore", "up")}
	if len(d.events) == 0 || oneIn(d.src, 4) {
		e.Bundle = d.bundle().Name
		return e, true
	}
	before := pick(d.src, d.events...)
	e.Bundle, e.Device, e.Domain = before.Bundle, before.Device, before.Domain
	return e, e.Bundle != "" || e.Device != "" || e.Domain != ""
}

func (d *schedule) grey() (state.Event, bool) {
	return state.Event{Kind: "grey", Bundle: d.bundle().Name, Loss: pick(d.src, 0.3, 0.01, 1)}, true
}

func (d *schedule) drain() (state.Event, bool) {
	if n := len(d.events); n > 0 && warmed(d.events[n-1]) && !oneIn(d.src, 3) {
		e := d.events[n-1]
		e.State = "drained"
		return e, true
	}
	e := state.Event{Kind: "drain", State: pick(d.src, "warm", "warm", "drained", "live")}
	if d.planes > 0 && oneIn(d.src, 3) {
		e.Plane = between(d.src, 1, d.planes)
		return e, true
	}
	e.Device = d.device()
	return e, true
}

// domain draws a failure domain that an event may name.
func (d *schedule) domain() (state.Event, bool) {
	if d.domains == nil {
		d.domains = d.someDomains()
	}
	if len(d.domains) == 0 {
		return state.Event{}, false
	}
	return state.Event{Kind: pick(d.src, "down", "down", "up", "restore"), Domain: pick(d.src, d.domains...).String(), Detect: ""}, true
}

// someDomains are all halls, power domains and routes, and a few of the very many
// line cards and chassis.
func (d *schedule) someDomains() (list []topologies.Domain) {
	t := d.sc.Topology
	add := func(kind, name string) {
		if x := (topologies.Domain{Kind: kind, Name: name}); name != "" && !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	for _, dev := range t.Devices {
		add(topologies.PowerDomain, dev.Power)
		add(topologies.HallDomain, dev.Hall)
	}
	for _, b := range t.Bundles {
		add(topologies.RouteDomain, b.Route)
	}
	for _, dev := range t.Devices {
		if dev.LineCards > 0 {
			add(topologies.LineCardDomain, dev.Name+"/1")
		}
		if dev.LineCards > 0 && dev.Units > 1 {
			add(topologies.ChassisDomain, dev.Name+"/1")
		}
	}
	return list
}

func (d *schedule) reset() (state.Event, bool) {
	return state.Event{Kind: "reset", Bundle: d.bundle().Name}, true
}

func (d *schedule) restart() (state.Event, bool) {
	return state.Event{Kind: "restart", Device: d.device(), Takes: seconds(d.src, 5, 1, 20, 120)}, true
}

// hold holds one direction of a session, or releases what is held.
func (d *schedule) hold() (state.Event, bool) {
	if n := len(d.held); n > 0 && oneIn(d.src, 2) {
		e := d.held[n-1]
		d.held = d.held[:n-1]
		return e, true
	}
	b := d.bundle()
	return state.Event{Kind: "hold", Bundle: b.Name, From: pick(d.src, b.A, b.B)}, !d.timed || !slices.ContainsFunc(d.events, mayEndSessions)
}

// knob turns a knob of one device or of a role.
func (d *schedule) knob() (state.Event, bool) {
	var names []topologies.Knob
	for _, k := range topologies.Knobs() {
		if words(k) != nil {
			names = append(names, k)
		}
	}
	k := pick(d.src, names...)
	e := state.Event{Kind: "set", Knob: k.Name, Value: pick(d.src, words(k)...)}
	if oneIn(d.src, 3) {
		e.Role = pick(d.src, d.sc.Topology.Devices...).Role.String()
	} else {
		e.Device = d.device()
	}
	return e, !d.l.Plain && e.Value != topologies.AdvertiseSet && e.Value != topologies.AdvertiseDisable && k.Name != "divide"
}
