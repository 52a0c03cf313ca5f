package properties

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// State is a state of behaviour: something that a network does only at times, and
// that a search which never saw it has not tested.
type State struct {
	Name string
	Doc  string // when a run is in it, exactly
}

// states are all of them, in the order of reports. What counts them is in
// coveragelook.go, by the same index.
const (
	levelCrossed = iota
	absorbedEvent
	hysteresisHeld
	paceDeferred
	suppressionOn
	withheldByDamping
	holdDownKept
	badNewsKept
	trialUsed
	trialUnused
	zeroExcluded
	missingEqual
	rounded
	overflowExceed
	overflowEqual
	overflowMerge
	overflowShare
	overflowSpill
	overflowReject
	peakOverSteady
	droppedForWidth
	brokeBeforeMake
	transientHole
	transientLoop
	unseenLoss
	partition
	loopedDropped
	pathHunting
	maxPrefixCease
	updatesHeld
	resetWhileHeld
	restartDegraded
	drainDuringFlap
	warmToldOn
	aggregateAnnounced
	aggregateWithdrawn
	familiesDiffer
	eventsOverlap
	oscillation
	statesKnown
)

var states = [statesKnown]State{
	levelCrossed:       {"level edge crossed", "a device told a value of a prefix when the network was settled before, and tells another one now that it is settled again; one `quantize` is all that damps it there"},
	absorbedEvent:      {"event absorbed", "a window changed what is true, and damping told none of it"},
	hysteresisHeld:     {"hysteresis held a value", "settled, and a device whose damping has a `hysteresis` tells another value than the same damping tells of the bottleneck value when it sees it first"},
	paceDeferred:       {"pace deferred", "not settled, and a device whose damping has a `pace`, and neither `penalty` nor `hysteresis`, tells another value than that"},
	suppressionOn:      {"suppression on", "not settled, and a device whose damping has a `penalty`, and neither `pace` nor `hysteresis`, tells another value than that, or nothing"},
	withheldByDamping:  {"route withheld by damping", "a device in service holds a route and tells it nobody"},
	holdDownKept:       {"hold-down kept good news", "a bundle whose damping has a `holddown` and no `deadband` has its session up, more members than damping passes, and is not on trial"},
	badNewsKept:        {"bad news kept back", "damping passes more of a bundle than its ends know to be there"},
	trialUsed:          {"bundle on trial used", "a bundle is on trial, and a multipath set has a member over it"},
	trialUnused:        {"bundle on trial not used", "a bundle is on trial, and a device has a route over it whose AS_PATH is as short as that of its multipath set, which has no member over it"},
	zeroExcluded:       {"zero value excluded", "a member of a multipath set was told as worth 0 and has no share, and another has one"},
	missingEqual:       {"missing value made equal", "a multipath set has members with a value and one without, and itself none"},
	rounded:            {"float32 rounding changed an answer", "a member's share is less than its bundle's capacity by less than 1 part in 2^22, because the told value is rounded"},
	overflowExceed:     {"overflow: exceed", "a table with that policy uses more than a limit of its chip"},
	overflowEqual:      {"overflow: equal", "a table with that policy has given a prefix something else than its own weights"},
	overflowMerge:      {"overflow: merge", "the same of that policy"},
	overflowShare:      {"overflow: share", "the same of that policy"},
	overflowSpill:      {"overflow: spill", "a table with that policy has a group of the other type"},
	overflowReject:     {"overflow: reject", "a table with that policy has refused a group"},
	peakOverSteady:     {"peak over the steady limit", "groups or member entries of a table were, old and new together, more than it may hold between changes"},
	droppedForWidth:    {"member dropped for width", "a set has members that have no room in its group, with no overflow policy at work"},
	brokeBeforeMake:    {"broke before make", "a prefix was without its group for the time of one change"},
	transientHole:      {"transient black hole", "a window had a black hole between two messages (only where transients are looked for)"},
	transientLoop:      {"transient loop", "a window had a loop between two messages (only where transients are looked for)"},
	unseenLoss:         {"loss that routing does not see", "a bundle loses traffic, all or a part, and its session is up"},
	partition:          {"partition", "settled, and a device in service has no route to a prefix that it had at the baseline, although an origin of it is in service"},
	loopedDropped:      {"looped path dropped", "a device keeps a route from a neighbour that it would tell it but for the neighbour's ASN in the AS_PATH, which did not come from there; or it holds a path with its own ASN in Adj-RIB-In"},
	pathHunting:        {"path hunting", "in a window a session, up all the time, carried an AS_PATH that the graph has for it neither before nor after"},
	maxPrefixCease:     {"session ended by max-prefixes", "a device has ended a session for telling it too many prefixes"},
	updatesHeld:        {"updates held", "UPDATEs of a session wait while the network is quiet"},
	resetWhileHeld:     {"session reset while held", "a session of which UPDATEs were held when the network was settled before is reset, and they were not released in between"},
	restartDegraded:    {"restart in a degraded network", "a speaker is away, or back and waiting, while a bundle has lost members, or all of them as one that is down"},
	drainDuringFlap:    {"drain during a flap", "a window has a drain that changes the drain state of a device, and a flap, or synchronised flaps, that began earlier and bring the bundle back for the last time later"},
	warmToldOn:         {"warm path told on", "a device that is not drained tells a route as warm, since it has no other"},
	aggregateAnnounced: {"aggregate announced", "an origin of an aggregate announces it that did not at the quiet before"},
	aggregateWithdrawn: {"aggregate withdrawn", "an origin of an aggregate that announced it at the quiet before does no more"},
	familiesDiffer:     {"IPv6 and IPv4 differ", "a device tells other values, or holds other sets, of an IPv4 and an IPv6 prefix of the same origins"},
	eventsOverlap:      {"event while timers run", "an event starts before what began earlier is settled"},
	oscillation:        {"oscillation found", "the run ended because the network comes back to a state that it was in before (sim only)"},
}

// States lists the states of behaviour, in the order of reports.
func States() []State { return states[:] }

// StateNames lists their names.
func StateNames() (names []string) {
	for _, s := range states {
		names = append(names, s.Name)
	}
	return names
}

// CoverageName is the name of Coverage as a check.
const CoverageName = "coverage"

// Coverage watches which states of behaviour a run reaches. It judges nothing, is in
// neither All nor For, and follows one network from its baseline on.
//
// Some states are seen only where somebody else looks: transients need a
// Transients check on the engine's timed schedule.
type Coverage struct {
	times [statesKnown]int
	now   [statesKnown]bool // at the moment that is looked at
	known *network          // nil before the first moment
	last  *state.Snapshot   // of the quiet before
	held  []state.Direction // at the last settled moment
	// drains are the devices' drain states at the last settled moment, and in a window
	// after the events that were looked at.
	drains []topologies.DrainState
	level  []float32 // told at the last settled moment, by device and prefix; negative = no value
}

var _ state.Watcher = (*Coverage)(nil)

// NewCoverage returns a watcher that has seen nothing.
func NewCoverage() *Coverage { return &Coverage{} }

// Name implements state.Check.
func (*Coverage) Name() string { return CoverageName }

// Outcome implements state.Check; there is none.
func (*Coverage) Outcome() state.Outcome { return state.Outcome{Name: CoverageName} }

// Ended implements state.Watcher.
func (c *Coverage) Ended(err error) {
	var o *sim.Oscillation
	if errors.As(err, &o) {
		c.times[oscillation]++
	}
}

// Reached implements state.Watcher.
func (c *Coverage) Reached() []state.Reached {
	list := make([]state.Reached, statesKnown)
	for i, s := range states {
		list[i] = state.Reached{Name: s.Name, Times: c.times[i]}
	}
	return list
}

// ReachedFolder is the environment variable that names the folder in which suites and
// fuzz targets of a night note what they reached: see NoteReached.
const ReachedFolder = "BAGRIG_REACHED"

// StateFile is the name of the file that says that a state was reached: its words
// with dashes between.
func StateFile(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	return strings.Join(words, "-")
}

// NoteReached makes an empty file in the folder for each state that was reached, so
// that any number of processes note theirs beside each other, and what is noted
// stays whatever ends them. An empty folder is none.
func NoteReached(folder string, list []state.Reached) error {
	if folder == "" {
		return nil
	}
	for _, r := range list {
		if r.Times == 0 {
			continue
		}
		path := filepath.Join(folder, StateFile(r.Name))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// network is what coverage knows of a network once and for all.
type network struct {
	places  []*place        // by device and prefix
	recalls bool            // one of them has a memory
	bundles []bundleDamping // by bundle
	twins   [][2]int        // an IPv4 and an IPv6 prefix of the same origins
	crowded [][]int32       // by device: its bundles to neighbours that share their ASN with another device
}

// bundleDamping is what damps a bundle.
type bundleDamping struct{ holdDown, deadband bool }

// place is what damps the told values of one place.
type place struct {
	*state.ToldDamping
	hysteresis, pace, penalty, quantizer bool
	first                                map[damping.Value]damping.Value
}

// fresh is what the damping tells of a value that it sees first.
func (p *place) fresh(v damping.Value) damping.Value {
	told, ok := p.first[v]
	if !ok {
		told, _ = p.Pipeline.NewTold().Step(0, v)
		p.first[v] = told
	}
	return told
}

func newPlace(t *state.ToldDamping) *place {
	p := &place{ToldDamping: t, first: map[damping.Value]damping.Value{}, quantizer: t.Pipeline.Quantizer() != nil}
	for _, s := range t.Pipeline.Told {
		switch s.(type) {
		case damping.Hysteresis:
			p.hysteresis = true
		case damping.Pace:
			p.pace = true
		case damping.Penalty:
			p.penalty = true
		}
	}
	return p
}

func learn(m *state.Moment) *network {
	n := &network{}
	plan, of, places := m.DampingPlan(), m.ToldDampings(), map[*state.ToldDamping]*place{}
	for d := range m.Topology.Devices {
		for p := range m.Topology.Prefixes {
			t := of(d, p)
			if places[t] == nil {
				places[t] = newPlace(t)
				n.recalls = n.recalls || !t.Memoryless
			}
			n.places = append(n.places, places[t])
		}
	}
	for i := range m.Topology.Bundles {
		var d bundleDamping
		for _, s := range plan.ForBundle(m.BundleInfo(i)).Bundle {
			switch s.(type) {
			case damping.HoldDown:
				d.holdDown = true
			case damping.Deadband:
				d.deadband = true
			}
		}
		n.bundles = append(n.bundles, d)
	}
	shared := map[uint32]int{}
	for _, d := range m.Topology.Devices {
		shared[d.ASN]++
	}
	n.crowded = make([][]int32, len(m.Topology.Devices))
	for d := range m.Topology.Devices {
		for _, b := range m.Index.Of[d] {
			if to, _ := peer(m.Network, d, int32(b)); shared[m.Topology.Devices[to].ASN] > 1 {
				n.crowded[d] = append(n.crowded[d], int32(b))
			}
		}
	}
	n.twins = twins(m.Topology)
	return n
}

// twins pairs IPv4 and IPv6 prefixes of the same origins, in their order.
func twins(t *topologies.Topology) (pairs [][2]int) {
	waiting := map[string][]int{}
	for i, p := range t.Prefixes {
		key := strings.Join(p.Origins, "\x00")
		if p.Aggregate != nil {
			key += "\x00\x00"
		}
		if list := waiting[key]; len(list) > 0 && t.Prefixes[list[0]].Prefix.Addr().Is4() != p.Prefix.Addr().Is4() {
			pairs, waiting[key] = append(pairs, [2]int{list[0], i}), list[1:]
			continue
		}
		waiting[key] = append(waiting[key], i)
	}
	return pairs
}

// overflowStates are the states of the overflow policies.
var overflowStates = map[fib.Overflow]int{
	fib.OverflowExceed: overflowExceed, fib.OverflowEqual: overflowEqual, fib.OverflowMerge: overflowMerge,
	fib.OverflowShare: overflowShare, fib.OverflowSpill: overflowSpill, fib.OverflowReject: overflowReject,
}

// started is when an event of a window started, as far as it says so.
func started(e state.Event, w *state.Window) time.Duration {
	if e.At == 0 {
		return w.Start
	}
	return e.At
}
