// Package oracle computes the state in which a network must end, straight from
// its graph: who has a route, over which multipath set with which shares, and
// what each device tells its neighbours. It is the judge of the engines, so it
// shares no code and no structure with a speaker, and has no messages, no
// rounds and no time in it.
//
// The rules are those of the speakers with all knobs, import policy, drain and
// aggregates. A graceful restart changes no end state, so it is not in it.
//
//	o := oracle.New(t, grid.Level) // or nil for the undamped state
//	s := o.State(bundles)          // or StateOf, with knobs and drains
//	s.Route(device, prefix).Bottleneck
package oracle

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Bundle is what routing may use of one bundle.
type Bundle struct {
	Capacity uint64 // bits/s as the bundle's damping passes it; 0 = down
	Trial    bool   // back from down: gives way to the other members of a set
	Closed   bool   // the bundle is there and its session is not: nothing is told over it
	Open     bool   // damping passes nothing of the bundle, and its session is there all the same
}

// Oracle holds what stays the same in all states of one topology. It is not
// changed after New, so several goroutines may use it.
type Oracle struct {
	name     string
	names    []string // by device
	prefixes []string
	classes  []string // by prefix
	all      []int    // indexes of prefixes
	level    Level
	err      error // what New found wrong with the topology

	asn  []uint32          // by device
	role []topologies.Role // by device
	up   []int32           // devices from the lowest tier to the highest
	rank []int32           // by device: its place in up

	// A session end is one bundle seen from one device. The ends of device d
	// are ends[first[d]:first[d+1]], ascending by bundle.
	ends     []end
	first    []int32
	bundles  int    // in the topology
	parallel []bool // by device: some neighbour has several bundles to it

	origins [][]int32  // by prefix: devices
	value   [][]uint64 // by prefix: bits/s told by each of its origins

	aggregates map[int]aggregate // by prefix
	covering   [][]int           // by prefix: the aggregates that it supports, which may be none
}

// end is a device's end of a session.
type end struct {
	bundle int32
	peer   int32  // the neighbour's device index
	isB    bool   // this device is the bundle's B end
	full   uint64 // bits/s of the bundle at full health
}

// New prepares the states of t, which it does not keep. Level turns a
// bottleneck value in bits/s into the value that is told, as the quantizer
// does; nil tells the bottleneck value itself, which gives the undamped state.
// A topology that is not valid gives states with an error, see State.Err.
func New(t *topologies.Topology, level func(uint64) uint64) *Oracle {
	if level == nil {
		return NewPlaced(t, func(_, _ int, in damping.Value) damping.Value { return in })
	}
	return NewPlaced(t, func(_, _ int, in damping.Value) damping.Value {
		if in.Reach == damping.Valued {
			in.Bits = level(in.Bits)
		}
		return in
	})
}

// Level is what a device tells of a prefix, both by their index in the topology,
// where its bottleneck value is the given one: a value, a route without one, or
// no route. It is asked only where there is a route.
type Level func(device, prefix int, in damping.Value) damping.Value

// NewPlaced is New where what is told differs by device and prefix.
func NewPlaced(t *topologies.Topology, level Level) *Oracle {
	o := &Oracle{name: t.Name, level: level, bundles: len(t.Bundles)}
	for i, d := range t.Devices {
		o.names = append(o.names, d.Name)
		o.asn = append(o.asn, d.ASN)
		o.role = append(o.role, d.Role)
		o.up = append(o.up, int32(i))
	}
	slices.SortStableFunc(o.up, func(a, b int32) int { return int(o.role[a]) - int(o.role[b]) })
	o.rank = make([]int32, len(o.up))
	for at, d := range o.up {
		o.rank[d] = int32(at)
	}
	index := t.Index()
	o.connect(t, index)
	o.originate(t, index)
	o.aggregate(t)
	return o
}

// connect lists the session ends of every device.
func (o *Oracle) connect(t *topologies.Topology, index *topologies.Index) {
	o.first = make([]int32, len(t.Devices)+1)
	o.parallel = make([]bool, len(t.Devices))
	for i, b := range t.Bundles {
		if x := index.Ends[i]; x[0] < 0 || x[1] < 0 || x[0] == x[1] {
			o.fail("bundle %q: ends %q and %q: want two devices", b.Name, b.A, b.B)
			return
		}
	}
	for d := range t.Devices {
		seen := make(map[int32]bool)
		for _, i := range index.Of[d] {
			e := end{bundle: int32(i), peer: int32(index.Ends[i][1]), full: t.Bundles[i].Capacity(t.Bundles[i].Members)}
			if index.Ends[i][1] == d {
				e.peer, e.isB = int32(index.Ends[i][0]), true
			}
			o.ends = append(o.ends, e)
			o.parallel[d] = o.parallel[d] || seen[e.peer]
			seen[e.peer] = true
		}
		o.first[d+1] = int32(len(o.ends))
	}
}

// originate lists the origins of every prefix with the values they tell.
func (o *Oracle) originate(t *topologies.Topology, index *topologies.Index) {
	for _, p := range t.Prefixes {
		var origins []int32
		var values []uint64
		for _, name := range p.Origins {
			d, ok := index.Device[name]
			if !ok {
				o.fail("prefix %s: origin %q: want a device", p.Prefix, name)
				continue
			}
			value := p.Bandwidth
			if value == 0 {
				value = index.Full[d]
			}
			origins, values = append(origins, int32(d)), append(values, value)
		}
		o.all = append(o.all, len(o.prefixes))
		o.prefixes, o.classes = append(o.prefixes, p.Prefix.String()), append(o.classes, p.Class)
		o.origins, o.value = append(o.origins, origins), append(o.value, values)
	}
}

// fail keeps the first thing that is wrong with the topology.
func (o *Oracle) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("topology %q: %s", o.name, fmt.Sprintf(format, args...))
	}
}

// State is the end state of all devices and prefixes for one state of the
// bundles. It does not change.
type State struct {
	o   *Oracle
	err error

	devices []Device // that rules are of; nil = all at their defaults
	rules   []*rules // by device; nil with an error
	cap     []uint64 // by session end: bits/s, 0 = nothing heard over it is used
	there   []bool   // by session end: there is a session
	up      []bool   // by session end: the bundle is up, also where its session is closed
	trial   []bool   // by session end

	rows  []*row           // by prefix
	open  map[place]uint64 // aggregates that are announced, with their value in bits/s
	steps []step           // by which it settled, the last one as it is
}

// row is what all devices decided for one prefix. States share it where it is the
// same, so it is not written to once it has settled.
type row struct {
	entries []entry          // by device
	sets    [][]state.Member // by device
}

// entry is what one device decided for one prefix, its set apart. Where no
// route is told, as from a drained device, nothing of what is told is set.
type entry struct {
	reached    bool // it uses a route
	present    bool // it tells one
	local      bool
	below      bool    // from below, or the device's own
	atomic     bool    // an aggregate of the device's own
	down       bool    // told only to lower tiers
	warm       bool    // told with the graceful-shutdown community
	valued     bool    // there is a bottleneck value
	tells      bool    // a value is told
	value      float32 // told, bytes/s
	told       *path   // as received
	sent       *path   // told, with the device's own ASN before it
	bottleneck uint64  // bits/s
	heard      uint64  // bits/s that a receiver makes of value
}

// sameTold tells whether neighbours hear the same from e and f, both of one device.
func (e *entry) sameTold(f *entry) bool {
	return e.sameValue(f) && samePath(e.told, f.told) && e.down == f.down && e.warm == f.warm && e.atomic == f.atomic
}

// sameValue tells whether both tell the same value, or none, or no route.
func (e *entry) sameValue(f *entry) bool {
	return e.present == f.present && (!e.present || e.tells == f.tells && e.value == f.value)
}

// Err tells why the state cannot be relied on, or nil: the topology is not
// valid, the number of bundles given is wrong, or routes do not settle.
//
// A route gets worse with every hop: its path grows, and once it is warm it stays
// so. What is best of a device therefore follows from what is better, trials
// choose only among equals, and there is exactly one end state for what is announced.
func (s *State) Err() error { return s.err }

// Route is what the device decided for the prefix, both by their index in the
// topology. Candidates and FIB are left zero.
//
// A drained device has ended forwarding and tells nothing, so its set and Told
// are zero; Local stays, and so does the bottleneck value of what it would
// choose if it were live.
func (s *State) Route(device, prefix int) *state.Route {
	r := &state.Route{}
	s.RouteInto(r, device, prefix)
	r.Set = slices.Clone(r.Set)
	return r
}

// RouteInto writes Route over another one. Its set is the state's own, which nobody
// may write to.
func (s *State) RouteInto(r *state.Route, device, prefix int) {
	e := s.entry(device, prefix)
	*r = state.Route{Local: e.local, Set: s.rows[prefix].sets[device], Valued: e.valued, Bottleneck: e.bottleneck}
	if e.present {
		r.Told = state.Told{
			Present: true, Valued: e.tells, Value: e.value, Form: s.form(device, e),
			Path: e.told.list(), Down: e.down, Warm: e.warm, Atomic: e.atomic,
		}
	}
}

// form says which communities carry the value that the device tells.
func (s *State) form(device int, e *entry) string {
	if !e.present || !e.tells {
		return ""
	}
	return s.rules[device].form
}

// TellsTo tells whether the device tells its route to the prefix over the
// session of the bundle: it has one, it is not drained, the export rules let it
// go there, and the session is there. It is false where the bundle does not end at the device.
func (s *State) TellsTo(device, prefix int, bundle int32) bool {
	for i := s.o.first[device]; i < s.o.first[device+1]; i++ {
		if e := s.o.ends[i]; e.bundle == bundle {
			return s.there[i] && s.exports(device, int(e.peer), s.entry(device, prefix))
		}
	}
	return false
}

// Receives is what the neighbours tell the device of the prefix, one candidate
// for each session that brings one, ascending by bundle: the Adj-RIB-In before
// the device's own loop check and decision. Paths are as received.
func (s *State) Receives(device, prefix int) []state.Candidate {
	return s.AppendReceives(nil, device, prefix)
}

// AppendReceives appends what Receives gives.
func (s *State) AppendReceives(got []state.Candidate, device, prefix int) []state.Candidate {
	for i := s.o.first[device]; i < s.o.first[device+1]; i++ {
		peer := int(s.o.ends[i].peer)
		e := s.entry(peer, prefix)
		if !s.there[i] || !s.exports(peer, device, e) {
			continue
		}
		got = append(got, state.Candidate{Bundle: s.o.ends[i].bundle, Path: e.sent.list(), Valued: e.tells, Value: e.value})
	}
	return got
}

// Reach tells for every device whether it must have a route to the prefix: one
// that it originates, or one that the export rules, drains and import policies
// let through to it. A drained device has only what it originates.
func (s *State) Reach(prefix int) []bool {
	reach := make([]bool, len(s.o.asn))
	for d := range reach {
		reach[d] = s.entry(d, prefix).reached
	}
	return reach
}

// Drained tells whether the device is drained.
func (s *State) Drained(device int) bool { return s.rules != nil && s.rules[device].drained }

func (s *State) entry(device, prefix int) *entry {
	return &s.rows[prefix].entries[device]
}

// exports tells whether the rules let the teller's route go to the neighbour.
func (s *State) exports(teller, neighbour int, e *entry) bool {
	if !e.present || (e.down && s.o.role[neighbour] >= s.o.role[teller]) {
		return false
	}
	return !e.told.holds(s.o.asn[neighbour])
}
