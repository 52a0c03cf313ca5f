package harness

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// judge keeps the graph's opinion of the network: what the speakers must hold,
// and what would be true without damping. It runs the bundles' damping itself,
// from the changes, so it does not ask the speakers.
type judge struct {
	net           *state.Network
	bundles       []heardBundle
	devices       []oracle.Device
	first         []topologies.Settings // by device, as they were before the first event
	dampedOracle  *oracle.Oracle
	trueOracle    *oracle.Oracle
	damped, truth *oracle.State
	recent        map[string]*oracle.State
}

type heardBundle struct {
	policy damping.BundlePolicy
	there  uint64 // bits/s
	passed damping.Passed
	next   time.Duration
	closed bool // an end has ended the session for telling too many prefixes
}

// recentStates bounds the states kept, so that a flap is not worked out anew
// each time.
const recentStates = 8

func newJudge(net *state.Network, settings []topologies.Settings) (*judge, error) {
	plan := net.DampingPlan()
	if err := judgeable(plan); err != nil {
		return nil, err
	}
	j := &judge{
		net: net, recent: map[string]*oracle.State{}, devices: make([]oracle.Device, len(net.Topology.Devices)),
		dampedOracle: oracle.NewPlaced(net.Topology, levels(net)), trueOracle: oracle.New(net.Topology, nil),
	}
	j.first = settings
	if j.first == nil {
		j.first = slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(j.devices))
	}
	for i := range j.first {
		j.devices[i].Settings = &j.first[i]
	}
	for i, b := range net.Topology.Bundles {
		info := net.BundleInfo(i)
		h := heardBundle{policy: plan.ForBundle(info).NewBundleFor(info), there: b.Capacity(b.Members)}
		h.passed, h.next = h.policy.Step(0, h.there)
		j.bundles = append(j.bundles, h)
	}
	j.damped, j.truth = j.dampedState(), j.trueState()
	return j, errors.Join(j.damped.Err(), j.truth.Err())
}

// levels are the values that devices tell, by the damping of each place.
func levels(net *state.Network) oracle.Level {
	at, known := net.ToldDampings(), map[int]func(uint64) uint64{}
	for d := range net.Topology.Devices {
		for p := range net.Topology.Prefixes {
			if t := at(d, p); known[t.Rule] == nil {
				known[t.Rule] = level(t.Pipeline)
			}
		}
	}
	return func(device, prefix int, bits uint64) uint64 { return known[at(device, prefix).Rule](bits) }
}

// level is what told stages without a memory make of a value.
func level(p damping.Pipeline) func(uint64) uint64 {
	if len(p.Told) == 0 {
		return func(bits uint64) uint64 { return bits }
	}
	if grid := p.Quantizer(); grid != nil {
		return grid.Level
	}
	return func(bits uint64) uint64 {
		told, _ := p.NewTold().Step(0, damping.Value{Reach: damping.Valued, Bits: bits})
		return told.Bits
	}
}

// world is what the graph's opinion follows from.
type world struct {
	bundles []oracle.Bundle
	devices []oracle.Device
}

// graph is the bundle as the graph takes it. The session of a bundle that is down
// has fallen, also where the bundle's damping has not passed that on yet.
func (b *heardBundle) graph() oracle.Bundle {
	return oracle.Bundle{Capacity: b.passed.Capacity, Trial: b.passed.Trial, Closed: b.closed || b.there == 0 && b.passed.Capacity > 0}
}

// heard is the world as the bundles' damping passes it.
func (j *judge) heard() world {
	w := world{devices: slices.Clone(j.devices)}
	for _, b := range j.bundles {
		w.bundles = append(w.bundles, b.graph())
	}
	return w
}

func (j *judge) dampedState() *oracle.State {
	w := j.heard()
	j.remember(w.devices, j.damped)
	return j.state("damped", j.dampedOracle, w)
}

// remember gives the devices the aggregates that they announced in a state:
// between its thresholds an aggregate stays as it was.
func (j *judge) remember(devices []oracle.Device, s *oracle.State) {
	for p, prefix := range j.net.Topology.Prefixes {
		if prefix.Aggregate == nil || s == nil {
			continue
		}
		for _, name := range prefix.Origins {
			if d := j.net.Index.Device[name]; s.Announces(d, p) {
				devices[d].Announced = append(slices.Clip(devices[d].Announced), int32(p))
			}
		}
	}
}

func (j *judge) trueState() *oracle.State {
	w := world{devices: slices.Clone(j.devices)}
	j.remember(w.devices, j.truth)
	for _, b := range j.bundles {
		w.bundles = append(w.bundles, oracle.Bundle{Capacity: b.there, Closed: b.closed})
	}
	return j.state("true", j.trueOracle, w)
}

func (j *judge) state(which string, o *oracle.Oracle, w world) *oracle.State {
	key := fmt.Sprint(which, w.bundles)
	for _, d := range w.devices {
		key += fmt.Sprint(d.Drain, d.Announced, *d.Settings)
	}
	if s, ok := j.recent[key]; ok {
		return s
	}
	if len(j.recent) >= recentStates {
		clear(j.recent)
	}
	s := o.StateOf(w.bundles, w.devices)
	j.recent[key] = s
	return s
}

// transition is one bundle's change of what it passes, or one device's change
// of settings or drain state, and the states of the graph before and after it.
// The true transition is that of everything together.
type transition struct {
	from, to *oracle.State
	bundle   int              // -1 where a device changed
	device   int              // -1 where a bundle changed
	heard    [2]oracle.Bundle // before and after
	settled  [2]oracle.Device
}

// put makes one side of the transition true of a world.
func (t *transition) put(w *world, side int) {
	if t.bundle >= 0 {
		w.bundles[t.bundle] = t.heard[side]
		return
	}
	w.devices[t.device] = t.settled[side]
}

const before, after = 0, 1

// change hears of changes at one moment. It returns the damped transitions, in
// the order of the devices and then of the bundles, and the true one.
func (j *judge) change(now time.Duration, changes []state.Change) (damped []transition, truth transition, err error) {
	truth.from = j.truth
	touched, reset := map[int]oracle.Bundle{}, map[int]bool{} // as they were
	add := func(t transition) {
		t.from = j.damped
		j.damped = j.dampedState()
		t.to = j.damped
		damped = append(damped, t)
		err = errors.Join(err, j.damped.Err())
	}
	touch := func(b int) {
		if _, ok := touched[b]; !ok {
			touched[b] = j.bundles[b].graph()
		}
	}
	for _, c := range changes {
		switch c.Kind {
		case state.SetMembers:
			touch(int(c.Bundle))
			j.bundles[c.Bundle].there = j.net.Topology.Bundles[c.Bundle].Capacity(c.Members)
		case state.Reset:
			touch(int(c.Bundle))
			reset[int(c.Bundle)] = true
		case state.SetKnob, state.SetDrain:
			was := j.devices[c.Device]
			if err := j.setDevice(c); err != nil {
				return nil, truth, err
			}
			add(transition{bundle: -1, device: int(c.Device), settled: [2]oracle.Device{was, j.devices[c.Device]}})
		}
	}
	for i := range j.bundles {
		b := &j.bundles[i]
		was, ok := touched[i]
		if !ok && b.next > now {
			continue
		}
		if !ok {
			was = b.graph()
		}
		b.passed, b.next = b.policy.Step(now, b.there)
		b.closed = b.closed && !reset[i] && b.there > 0
		if b.graph() != was {
			add(transition{bundle: i, device: -1, heard: [2]oracle.Bundle{was, b.graph()}})
		}
	}
	for b := j.overLimit(); b >= 0; b = j.overLimit() {
		was := j.bundles[b].graph()
		j.bundles[b].closed = true
		add(transition{bundle: b, device: -1, heard: [2]oracle.Bundle{was, j.bundles[b].graph()}})
	}
	if len(changes) > 0 {
		j.truth = j.trueState()
		err = errors.Join(err, j.truth.Err())
	}
	truth.to = j.truth
	return damped, truth, err
}

// overLimit finds a session over which a device is told more prefixes than its
// settings allow, or gives -1.
func (j *judge) overLimit() int {
	for d := range j.devices {
		most := j.devices[d].Settings.MaxPrefixes
		if most == 0 {
			continue
		}
		for _, b := range j.net.Index.Of[d] {
			ends, told := j.net.Index.Ends[b], 0
			for p := range j.net.Topology.Prefixes {
				if j.damped.TellsTo(ends[0]+ends[1]-d, p, int32(b)) {
					told++
				}
			}
			if told > most {
				return b
			}
		}
	}
	return -1
}

func (j *judge) setDevice(c state.Change) error {
	d := &j.devices[c.Device]
	if c.Kind == state.SetDrain {
		d.Drain = c.Drain
		return nil
	}
	s := *d.Settings
	if err := s.Set(c.Knob, c.Value); err != nil {
		return err
	}
	d.Settings = &s
	return nil
}

// asAtFirst tells whether all devices are in service, have the settings that
// they had before the first event, and have ended no session.
func (j *judge) asAtFirst() bool {
	for i, d := range j.devices {
		if d.Drain != topologies.Live || !reflect.DeepEqual(*d.Settings, j.first[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(j.bundles, func(b heardBundle) bool { return b.closed })
}

// next is the earliest timer of the bundles' damping.
func (j *judge) next() time.Duration {
	next := damping.Never
	for _, b := range j.bundles {
		next = min(next, b.next)
	}
	return next
}
