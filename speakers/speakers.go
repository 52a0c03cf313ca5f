// Package speakers is the core of a BAG speaker: the decision process, the
// bottleneck value, the weights and the export rules, as a pure state machine.
// Inputs and the present time go in, effects come out; there is no goroutine,
// socket or clock inside. Package speakers/gobgp runs a core over a GoBGP
// server; the simulator runs the same core in virtual time.
//
// Devices, bundles and prefixes are named by their index in the topology.
// Router ids ascend in device order and session addresses in bundle order, so
// the lower index wins a tie.
package speakers

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// DefaultLocalPref is the LOCAL_PREF of a route that came without one
// (RFC 4271 leaves it to local policy; 100 is what implementations use).
const DefaultLocalPref = 100

// Config is what a core knows from the start.
type Config struct {
	ASN      uint32
	Role     topologies.Role
	Sessions []Session // ascending by Bundle
	Prefixes int       // number of prefixes that exist anywhere
	Classes  []string  // by prefix; empty = none has a class
	Origins  []Origin  // ascending by Prefix, each below Prefixes
	// Aggregates are prefixes that the device announces while enough of their
	// more-specifics come from below, ascending by Prefix; none is in Origins.
	Aggregates []Aggregate
	Damping    damping.Pipeline
	Plan       *damping.Plan        // what damping stands where; nil = Damping everywhere
	Number     uint64               // tells speakers apart for damping stages with a random part
	Settings   *topologies.Settings // nil = topologies.DefaultSettings
	Restart    *Restart             // nil = the first start
}

// Restart is what a core that is started again takes over.
type Restart struct {
	At      time.Duration
	Drain   topologies.DrainState
	Bundles []uint64 // by session: bits/s that are there now
}

// Session is one eBGP session, over one bundle.
type Session struct {
	Bundle       int32
	Neighbor     int32 // device index; stands for the router id
	NeighborASN  uint32
	NeighborRole topologies.Role
	Capacity     uint64             // bits/s of the bundle at full health
	Info         damping.BundleInfo // what its damping may know
}

// Origin is a prefix that the device originates.
type Origin struct {
	Prefix    int32
	Bandwidth uint64 // bits/s told, a constant
}

// Aggregate is a prefix that is announced under a condition.
type Aggregate struct {
	Prefix    int32
	Specifics []int32 // ascending
	topologies.Aggregate
}

// Configs makes the configurations of the devices of one topology.
type Configs struct {
	t          *topologies.Topology
	ix         *topologies.Index
	classes    []string  // by prefix
	originated [][]int32 // by device: prefixes, aggregates among them, ascending
}

// NewConfigs prepares the configurations of all devices. It keeps both.
func NewConfigs(t *topologies.Topology, ix *topologies.Index) *Configs {
	c := &Configs{t: t, ix: ix, originated: make([][]int32, len(t.Devices))}
	for i, p := range t.Prefixes {
		c.classes = append(c.classes, p.Class)
		for _, name := range p.Origins {
			if d, ok := ix.Device[name]; ok {
				c.originated[d] = append(c.originated[d], int32(i))
			}
		}
	}
	return c
}

// ConfigOf gives the configuration of one device of a topology.
func ConfigOf(t *topologies.Topology, ix *topologies.Index, device int, pipeline damping.Pipeline) Config {
	return NewConfigs(t, ix).Of(device, pipeline)
}

// Of gives the configuration of one device.
func (c *Configs) Of(device int, pipeline damping.Pipeline) Config {
	t, ix := c.t, c.ix
	d := t.Devices[device]
	cfg := Config{ASN: d.ASN, Role: d.Role, Prefixes: len(t.Prefixes), Classes: c.classes, Damping: pipeline, Number: uint64(device)}
	for _, b := range ix.Of[device] {
		bundle, ends := t.Bundles[b], ix.Ends[b]
		neighbor := ends[0]
		if neighbor == device {
			neighbor = ends[1]
		}
		cfg.Sessions = append(cfg.Sessions, Session{
			Bundle: int32(b), Neighbor: int32(neighbor), NeighborASN: t.Devices[neighbor].ASN,
			NeighborRole: t.Devices[neighbor].Role, Capacity: bundle.Capacity(bundle.Members),
			Info: damping.BundleInfo{Members: bundle.Members, Speed: bundle.Speed, Length: bundle.Length, Class: t.ClassOf(ends)},
		})
	}
	for _, i := range c.originated[device] {
		p := t.Prefixes[i]
		if p.Aggregate == nil {
			cfg.Origins = append(cfg.Origins, Origin{Prefix: i, Bandwidth: cmp.Or(p.Bandwidth, ix.Full[device])})
			continue
		}
		a := Aggregate{Prefix: i, Aggregate: *p.Aggregate}
		for _, s := range t.Specifics(int(i)) {
			a.Specifics = append(a.Specifics, int32(s))
		}
		cfg.Aggregates = append(cfg.Aggregates, a)
	}
	return cfg
}

// InputKind says what an Input reports.
type InputKind uint8

// The kinds of Input.
const (
	SessionUp   InputKind = iota + 1 // the session is Established
	SessionDown                      // the session fell; its candidates are gone
	Announce                         // Route for Prefix arrived
	Withdraw                         // Prefix was withdrawn
	Capacity                         // the bundle's capacity is now Capacity
	Originate                        // the device starts to originate all its prefixes
	Configure                        // the device's settings are now Settings
	Drain                            // the device's drain state is now Drain
	Restarts                         // the neighbour restarts: when its session falls now, its routes are kept a while
	EndOfRIB                         // the neighbour has told all that it has
)

var inputNames = [...]string{SessionUp: "session up", SessionDown: "session down", Announce: "announce", Withdraw: "withdraw", Capacity: "capacity", Originate: "originate", Configure: "configure", Drain: "drain", Restarts: "restarts", EndOfRIB: "end of RIB"}

func (k InputKind) String() string {
	if int(k) < len(inputNames) && inputNames[k] != "" {
		return inputNames[k]
	}
	return fmt.Sprintf("InputKind(%d)", uint8(k))
}

// Input is one thing that happened to a speaker. A route is used whether or not
// its session is up: the engine hands over only what the session's present
// generation brought.
type Input struct {
	Kind     InputKind
	Drain    topologies.DrainState // Drain
	Bundle   int32                 // the session; all kinds but Originate, Configure and Drain
	Prefix   int32                 // Announce, Withdraw
	Route    *Route                // Announce; kept, and not written to later
	Capacity uint64                // Capacity: bits/s, 0 = down
	Settings *topologies.Settings  // Configure; not written to later
}

// Route is a route as a neighbour told it. All that hear it may share it: the
// core keeps it and never writes to it. Of two equal routes the same one is
// compared fastest.
type Route struct {
	Path      []uint32 // AS_PATH, the neighbour's ASN first
	LocalPref uint32   // 0 counts as DefaultLocalPref
	Origin    uint8    // 0 IGP, 1 EGP, 2 incomplete
	Valued    bool     // holds at least one valid link bandwidth
	Value     float32  // the lowest valid one, bytes/s
	Tags      []uint32 // standard communities
}

// Hop is a next hop with its share of the traffic.
type Hop struct {
	Bundle int32
	Share  uint64 // bits/s; 0 = no traffic
}

// Told is what neighbours hear of one prefix, the export rules apart.
type Told struct {
	Present bool
	Valued  bool
	Value   float32  // bytes/s
	Path    []uint32 // AS_PATH before the own ASN is prepended; empty at an origin
	Down    bool     // learned from above or from the same tier: told only down
	Warm    bool     // told with the graceful-shutdown community
	Atomic  bool     // told with ATOMIC_AGGREGATE: the path of an aggregate
	Form    string   // which communities carry Value: topologies.Transitive or BothTransitive; empty = NonTransitive
}

// EffectKind says what an Effect asks for.
type EffectKind uint8

// The kinds of Effect.
const (
	Tell      EffectKind = iota + 1 // announce Told to the neighbours that Exports names
	Untell                          // withdraw from all neighbours
	Program                         // give hardware Hops
	Unprogram                       // take the prefix from hardware
	Cease                           // end the session over Bundle: it holds more prefixes than the settings allow
	AllTold                         // all that there is has been told: the neighbours may hear End-of-RIB
)

// Effect is one thing that the engine must do. The order of effects is that of
// BGP++: a withdrawal is sent before the FIB loses the route, an announcement
// after the FIB has it.
type Effect struct {
	Kind   EffectKind
	Prefix int32 // all but Cease and AllTold
	Bundle int32 // Cease
	Told   Told
	Hops   []Hop // ascending by Bundle; not written to later
}

// Candidate is a route in Adj-RIB-In.
type Candidate struct {
	Bundle int32
	Route  Route
}

// Decision is what the core holds for one prefix.
type Decision struct {
	Local      bool
	Hops       []Hop // the multipath set; empty where Local
	Valued     bool
	Bottleneck uint64 // bits/s, before the told value is damped
	Told       Told
}

// Bundle is what the core knows of one bundle.
type Bundle struct {
	Up     bool // the session is Established
	Passed damping.Passed
}

// Never is the time of a timer that is not set.
const Never = damping.Never
