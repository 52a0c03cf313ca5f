package harness

import (
	"encoding/binary"
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
// from the changes, so it does not ask the speakers. Only where damping with a
// memory stands on a told value it takes what the speaker tells for given, since
// no graph knows what a value was before: that what follows from it is right is
// then judged by the graph, and the value itself by the damping's law.
type judge struct {
	net           *state.Network
	observed      *state.Snapshot // nil before the first quiet
	seen          int             // counts what was observed, where that matters
	dampings      func(device, prefix int) *state.ToldDamping
	remembers     bool // damping with a memory stands on some told value
	bundles       []heardBundle
	devices       []oracle.Device
	first         []topologies.Settings // by device, as they were before the first event
	dampedOracle  *oracle.Oracle
	trueOracle    *oracle.Oracle
	damped, truth *oracle.State
	heardOf       *state.Snapshot // what was observed when damped was worked out
	recent        map[string]*oracle.State
	known         map[*topologies.Settings]uint64 // see numberOf
	texts         map[string]uint64
	forgetful     map[int]bool // devices whose speakers start again at this moment, and know of no aggregate
}

type heardBundle struct {
	policy      damping.BundlePolicy
	there       uint64 // bits/s
	known       uint64 // bits/s, as the ends have heard
	heardBefore uint64 // what policy was stepped with last
	passed      damping.Passed
	next        time.Duration
	late        bool // its damping may keep bad news back, and so the fall of its session
	unseen      bool // it has failed, and its session is still up
	fallen      bool // its session has fallen since the ends know that no member is up
	closed      bool // an end has ended the session for telling too many prefixes
}

// recentStates bounds the states kept, so that a flap is not worked out anew
// each time.
const recentStates = 8

func newJudge(net *state.Network, settings []topologies.Settings) (*judge, error) {
	plan := net.DampingPlan()
	j := &judge{
		net: net, recent: map[string]*oracle.State{}, forgetful: map[int]bool{}, devices: make([]oracle.Device, len(net.Topology.Devices)),
		known: map[*topologies.Settings]uint64{}, texts: map[string]uint64{},
		trueOracle: oracle.New(net.Topology, nil), dampings: net.ToldDampings(),
	}
	j.dampedOracle = j.trueOracle.With(j.levels())
	j.first = settings
	if j.first == nil {
		j.first = slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(j.devices))
	}
	for i := range j.first {
		j.devices[i].Settings, j.devices[i].Whole = &j.first[i], net.IsExternal(i)
	}
	for i, b := range net.Topology.Bundles {
		info := net.BundleInfo(i)
		pipeline := plan.ForBundle(info)
		h := heardBundle{policy: pipeline.NewBundleFor(info), there: b.Capacity(b.Members), known: b.Capacity(b.Members), heardBefore: b.Capacity(b.Members)}
		h.late = damping.Pipeline{Bundle: pipeline.Bundle}.LawFor(info).Late > 0
		h.passed, h.next = h.policy.Step(0, h.known)
		j.bundles = append(j.bundles, h)
	}
	j.damped, j.truth = j.dampedState(), j.trueState()
	return j, errors.Join(j.damped.Err(), j.truth.Err())
}

// levels are the values that devices tell, by the damping of each place.
func (j *judge) levels() oracle.Level {
	at, known := j.dampings, map[int]func(damping.Value) damping.Value{}
	levels := map[*state.ToldDamping]func(damping.Value) damping.Value{}
	for d := range j.net.Topology.Devices {
		j.remembers = j.remembers || j.net.IsExternal(d)
		for p := range j.net.Topology.Prefixes {
			t := at(d, p)
			if levels[t] != nil {
				continue
			}
			if known[t.Rule] == nil {
				known[t.Rule] = level(t.Pipeline)
			}
			levels[t] = known[t.Rule]
			j.remembers = j.remembers || !t.Memoryless
		}
	}
	return func(device, prefix int, in damping.Value) damping.Value {
		t := at(device, prefix)
		// Of an external device too it takes what that tells for given, so that what it
		// tells wrong is found there and not behind it; where it tells nothing, the graph
		// says what is missing.
		if j.observed != nil && j.net.IsExternal(device) {
			if told := j.observed.Devices[device].Routes[prefix].Told; told.Present {
				return observed(told)
			}
			return levels[t](in)
		}
		if t.Memoryless || j.observed == nil {
			return levels[t](in)
		}
		return observed(j.observed.Devices[device].Routes[prefix].Told)
	}
}

// observed is a told route as damping made it.
func observed(told state.Told) damping.Value {
	switch {
	case !told.Present:
		return damping.Value{}
	case !told.Valued:
		return damping.Value{Reach: damping.Unvalued}
	}
	return damping.Value{Reach: damping.Valued, Bits: uint64(float64(told.Value) * 8)}
}

// level is what told stages make of the first value that they see.
func level(p damping.Pipeline) func(damping.Value) damping.Value {
	if grid := p.Quantizer(); grid != nil {
		return func(in damping.Value) damping.Value {
			if in.Reach == damping.Valued {
				in.Bits = grid.Level(in.Bits)
			}
			return in
		}
	}
	return func(in damping.Value) damping.Value {
		told, _ := p.NewTold().Step(0, in)
		return told
	}
}

// observe takes what the speakers tell now, and tells whether that may matter.
func (j *judge) observe(s *state.Snapshot) bool {
	if j.remembers {
		j.observed = s
		j.seen++
	}
	return j.remembers
}

// settleFirst takes the baseline, at which devices may have ended sessions already.
func (j *judge) settleFirst(s *state.Snapshot) error {
	if j.observe(s) {
		j.damped = j.dampedState()
	}
	for b := j.overLimit(); b >= 0; b = j.overLimit() {
		j.bundles[b].closed = true
		j.damped = j.dampedState()
		j.truth = j.trueState()
	}
	return errors.Join(j.damped.Err(), j.truth.Err())
}

// world is what the graph's opinion follows from.
type world struct {
	bundles []oracle.Bundle
	devices []oracle.Device
}

// graph is the bundle as the graph takes it. A session that has fallen is closed,
// also where the bundle's damping has not passed on why.
func (b *heardBundle) graph() oracle.Bundle {
	x := oracle.Bundle{Capacity: b.passed.Capacity, Trial: b.passed.Trial, Closed: b.closed || b.fallen && b.passed.Capacity > 0}
	x.Open = x.Capacity == 0 && !b.closed && !b.fallen
	return x
}

// heard is the world as the bundles' damping passes it.
func (j *judge) heard() world {
	w := world{devices: slices.Clone(j.devices)}
	for _, b := range j.bundles {
		w.bundles = append(w.bundles, b.graph())
	}
	return w
}

// dampedState is the graph's opinion with some transitions still to come.
func (j *judge) dampedState(toCome ...transition) *oracle.State {
	w := j.heard()
	for _, t := range slices.Backward(toCome) {
		t.put(&w, before)
	}
	j.remember(w.devices, j.damped)
	j.choose(w.devices)
	from, retold := j.damped, []oracle.Place(nil)
	if j.heardOf != j.observed {
		from, retold = j.retold()
	}
	j.heardOf = j.observed
	return j.state("damped", j.dampedOracle, w, from, retold)
}

// retold is the damped state, with the places where the speakers tell otherwise since
// it was worked out; nil where nothing had been observed then.
func (j *judge) retold() (from *oracle.State, places []oracle.Place) {
	if j.heardOf == nil {
		return nil, nil
	}
	for d := range j.observed.Devices {
		was, now := j.heardOf.Devices[d].Routes, j.observed.Devices[d].Routes
		if len(now) == 0 || &was[0] == &now[0] {
			continue
		}
		for p := range now {
			if !now[p].Told.SameValue(was[p].Told) {
				places = append(places, oracle.Place{Device: d, Prefix: p})
			}
		}
	}
	return j.damped, places
}

// choose gives the external devices the paths that they tell on.
func (j *judge) choose(devices []oracle.Device) {
	for d := range devices {
		if j.observed == nil || !j.net.IsExternal(d) {
			continue
		}
		devices[d].Paths = make([][]uint32, len(j.net.Topology.Prefixes))
		for p := range devices[d].Paths {
			devices[d].Paths[p] = j.observed.Devices[d].Routes[p].Told.Path
		}
	}
}

// remember gives the devices the aggregates that they announced in a state:
// between its thresholds an aggregate stays as it was.
func (j *judge) remember(devices []oracle.Device, s *oracle.State) {
	for p, prefix := range j.net.Topology.Prefixes {
		if prefix.Aggregate == nil || s == nil {
			continue
		}
		for _, name := range prefix.Origins {
			if d := j.net.Index.Device[name]; s.Announces(d, p) && !j.forgetful[d] {
				devices[d].Announced = append(slices.Clip(devices[d].Announced), int32(p))
			}
		}
	}
}

// aggregates tells whether a device may announce an aggregate.
func (j *judge) aggregates(device int) bool {
	name := j.net.Topology.Devices[device].Name
	return slices.ContainsFunc(j.net.Topology.Prefixes, func(p topologies.Prefix) bool {
		return p.Aggregate != nil && slices.Contains(p.Origins, name)
	})
}

func (j *judge) trueState() *oracle.State {
	w := world{devices: slices.Clone(j.devices)}
	j.remember(w.devices, j.truth)
	for _, b := range j.bundles {
		w.bundles = append(w.bundles, oracle.Bundle{Capacity: b.there, Closed: b.closed})
	}
	return j.state("true", j.trueOracle, w, j.truth, nil)
}

// state is that of a world, worked out from another state.
func (j *judge) state(which string, o *oracle.Oracle, w world, from *oracle.State, retold []oracle.Place) *oracle.State {
	key := j.key(which, w)
	if s, ok := j.recent[key]; ok {
		return s
	}
	if len(j.recent) >= recentStates {
		clear(j.recent)
	}
	s := o.StateFrom(from, w.bundles, w.devices, retold)
	j.recent[key] = s
	return s
}

// key is all that a state follows from.
func (j *judge) key(which string, w world) string {
	key := binary.AppendUvarint(append(make([]byte, 0, 16*(len(w.bundles)+len(w.devices))), which...), uint64(j.seen))
	for i := range w.bundles {
		b := &w.bundles[i]
		key = append(binary.AppendUvarint(key, b.Capacity), bit(b.Trial)|bit(b.Closed)<<1|bit(b.Open)<<2)
	}
	for i := range w.devices {
		d := &w.devices[i]
		key = binary.AppendUvarint(append(key, byte(d.Drain)), uint64(len(d.Announced)))
		for _, p := range d.Announced {
			key = binary.AppendUvarint(key, uint64(p))
		}
		key = binary.AppendUvarint(key, j.numberOf(d.Settings))
	}
	return string(key)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// numberOf numbers settings, equal ones alike. Nobody writes to settings, so that
// each is looked into once.
func (j *judge) numberOf(s *topologies.Settings) uint64 {
	n, ok := j.known[s]
	if !ok {
		text := fmt.Sprint(*s)
		if n, ok = j.texts[text]; !ok {
			n = uint64(len(j.texts))
			j.texts[text] = n
		}
		j.known[s] = n
	}
	return n
}

// transition is one bundle's change of what it passes, or one device's change
// of settings or drain state, and the states of the graph before and after it;
// or what damping with a memory brought by itself. The true transition is that
// of everything together.
type transition struct {
	from, to *oracle.State
	bundle   int              // -1 where no bundle changed
	device   int              // -1 where no device changed
	heard    [2]oracle.Bundle // before and after
	settled  [2]oracle.Device
}

// put makes one side of the transition true of a world.
func (t *transition) put(w *world, side int) {
	switch {
	case t.bundle >= 0:
		w.bundles[t.bundle] = t.heard[side]
	case t.device >= 0:
		w.devices[t.device] = t.settled[side]
	}
}

const before, after = 0, 1

// moment is what happened to the network at one moment.
type moment struct {
	transitions []transition  // without their states: of devices, and then of bundles
	truth       *oracle.State // before
	changed     bool
}

// then joins a moment and one that came before the network was quiet.
func (m moment) then(n moment) moment {
	if m.truth == nil {
		return n
	}
	m.transitions, m.changed = append(m.transitions, n.transitions...), m.changed || n.changed
	return m
}

// hear takes changes at one moment into the bundles' damping and the devices. It
// gives the bundles whose ends notice now, by their damping, that they have failed.
func (j *judge) hear(now time.Duration, changes []state.Change) (m moment, noticed []state.Change, err error) {
	m.truth, m.changed = j.truth, len(changes) > 0
	touched := map[int]oracle.Bundle{} // as they were
	reset := map[int]bool{}
	for _, c := range changes {
		switch c.Kind {
		case state.SetMembers, state.Fail, state.Notice, state.Reset:
			if _, ok := touched[int(c.Bundle)]; !ok {
				touched[int(c.Bundle)] = j.bundles[c.Bundle].graph()
			}
			j.setBundle(c)
			reset[int(c.Bundle)] = reset[int(c.Bundle)] || c.Kind == state.Reset
		case state.SetKnob, state.SetDrain:
			was := j.devices[c.Device]
			if err := j.setDevice(c); err != nil {
				return m, nil, err
			}
			m.transitions = append(m.transitions, transition{bundle: -1, device: int(c.Device), settled: [2]oracle.Device{was, j.devices[c.Device]}})
		case state.StartAgain:
			if d := int(c.Device); j.aggregates(d) {
				j.forgetful[d] = true
				m.transitions = append(m.transitions, transition{bundle: -1, device: d, settled: [2]oracle.Device{j.devices[d], j.devices[d]}})
			}
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
		for b.next < now { // timers that were due on the way, where time passes while the engine gets quiet
			b.passed, b.next = b.policy.Step(b.next, b.heardBefore)
		}
		b.passed, b.next = b.policy.Step(now, b.known)
		b.heardBefore = b.known
		b.closed = b.closed && !reset[i] && b.there > 0
		if b.unseen && b.known == 0 && b.passed.Capacity == 0 {
			b.unseen, b.fallen = false, true
			noticed = append(noticed, state.Change{Kind: state.Notice, Bundle: int32(i)})
		}
		if b.graph() != was {
			m.transitions = append(m.transitions, transition{bundle: i, device: -1, heard: [2]oracle.Bundle{was, b.graph()}})
		}
	}
	return m, noticed, nil
}

// setBundle makes a change of a bundle.
func (j *judge) setBundle(c state.Change) {
	b := &j.bundles[c.Bundle]
	switch c.Kind {
	case state.SetMembers:
		b.there = j.net.Topology.Bundles[c.Bundle].Capacity(c.Members)
		b.known, b.unseen, b.fallen = b.there, false, b.there == 0
	case state.Fail:
		b.there, b.unseen = 0, true
		if c.Heard {
			b.known = 0
		}
	case state.Notice:
		if b.unseen {
			b.known, b.unseen, b.fallen = 0, false, true
		}
	}
}

// failure is what a change that takes all members of a bundle comes to, by what is
// known of the bundle. It is false where that is nothing: the bundle was down
// already. Named tells that an event says so, and not a series of samples.
func (j *judge) failure(c state.Change, named bool) (state.Change, bool) {
	b := &j.bundles[c.Bundle]
	carrier := c.Kind == state.SetMembers
	switch {
	case b.there == 0 && !b.unseen:
		return c, carrier // the event is recorded, and nothing happens
	case b.closed:
		return state.Change{Bundle: c.Bundle}, true // it has no session that could stay up
	case b.unseen && carrier && (b.known == 0 || !named):
		return c, false
	case carrier && b.late:
		return state.Change{Kind: state.Fail, Bundle: c.Bundle, Heard: true}, true
	case b.unseen && carrier:
		return state.Change{Kind: state.Notice, Bundle: c.Bundle}, true
	}
	return c, true
}

// conclude works out what had to come of a moment, given what the speakers tell
// after it: the damped transitions and the true one.
func (j *judge) conclude(m moment, s *state.Snapshot) (damped []transition, truth transition, err error) {
	told := j.observe(s)
	add := func(t transition) {
		t.from = j.damped
		j.damped = j.dampedState(m.transitions[min(len(damped)+1, len(m.transitions)):]...)
		t.to = j.damped
		damped = append(damped, t)
		err = errors.Join(err, j.damped.Err())
	}
	for _, t := range m.transitions {
		add(t)
	}
	if told && len(damped) == 0 {
		add(transition{bundle: -1, device: -1})
	}
	for b := j.overLimit(); b >= 0; b = j.overLimit() {
		was := j.bundles[b].graph()
		j.bundles[b].closed = true
		add(transition{bundle: b, device: -1, heard: [2]oracle.Bundle{was, j.bundles[b].graph()}})
	}
	clear(j.forgetful)
	truth = transition{from: m.truth, to: j.truth}
	if m.changed {
		j.truth = j.trueState()
		truth.to = j.truth
		err = errors.Join(err, j.truth.Err())
	}
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

// settings are those of all devices now.
func (j *judge) settings() []*topologies.Settings {
	list := make([]*topologies.Settings, len(j.devices))
	for i := range j.devices {
		list[i] = j.devices[i].Settings
	}
	return list
}

// asAtFirst tells whether all devices are in service, have the settings that
// they had before the first event, and have ended no session.
func (j *judge) asAtFirst() bool {
	for i, d := range j.devices {
		if d.Drain != topologies.Live || d.Settings != &j.first[i] && !reflect.DeepEqual(*d.Settings, j.first[i]) {
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
