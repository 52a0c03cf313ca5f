// Package sim is the engine that runs the speakers' cores in virtual time: the
// same cores, damping and hardware tables as behind real sessions, joined by
// queues in place of sockets. It starts no goroutine and reads no clock, so a
// run repeats exactly, and one process may hold as many engines as it likes.
//
//	e, err := sim.New(sim.Options{Topology: t, Damping: p})
//
// A message is one announced or withdrawn prefix on one directed session. In
// each direction of a session they arrive in the order in which they were sent,
// as over TCP; how they are ordered across sessions is the schedule's to say.
package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/hardware"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// Options configures an Engine.
type Options struct {
	Topology *topologies.Topology
	Damping  damping.Pipeline
	Plan     *damping.Plan         // what damping stands where; nil = Damping everywhere
	Settings []topologies.Settings // by device; nil = all topologies.DefaultSettings
	Hardware []state.Hardware      // by device; nil = state.HardwareOf the topology
	Compare  bool                  // keep a table of each overflow policy beside every table
	Schedule Schedule
	Tap      NewTap // makes what stands between the parts; nil = nothing does
	// Progress hears how many Adj-RIB-In entries there are, after every round.
	Progress func(stage string, done, total int)
	// Entries is how many there will be when the network is quiet for the first
	// time, for Progress; 0 = unknown.
	Entries int
}

// StageSpread is the stage that Options.Progress hears of.
const StageSpread = "spread"

// Engine implements state.Engine.
type Engine struct {
	opts      Options
	topology  *topologies.Topology
	index     *topologies.Index
	prefixes  int
	devices   []device
	sessions  []session // by bundle
	tables    []hardware.Table
	settings  []topologies.Settings
	schedule  schedule
	now       time.Duration
	until     time.Duration // when Quiet hands back at the latest; see Until
	rounds    int
	entries   int
	recording bool
	log       []state.NLRI
	counters  state.Counters
	onRound   func()
	effects   []speakers.Effect
	inputs    []speakers.Input // room for what a step is given
	spare     [][]arrival      // inboxes that were emptied
	heardBits bits             // by direction: a bit for each prefix that the other end was told and not withdrawn
	paths     paths
	self      *owner      // of the devices that are this engine's alone
	cloned    atomic.Bool // since self was made, so that nothing is this engine's alone
	marks     []string    // by Mark
	noClone   error       // of a damping stage that cannot be cloned
	configs   *speakers.Configs
	actions   hardware.Actions // nil = nobody wants to know
	watch     *Transients      // nil = nobody wants to know
	talk      []int            // by direction: messages sent
	changes   *changes         // of what is told; nil = nobody wants to know
	settling  *cycle           // of timers without an event
	tap       *tapped          // nil = there is none
}

// device is one speaker.
type device struct {
	owner  *owner        // who may change core, told and the table
	marks  int           // how many of the engine's the table has heard of
	seen   *state.Device // as the last snapshot had it; nil = something has changed since
	last   *state.Device // as the last snapshot had it, what has changed since or not; nil = there was none
	steps  uint64        // of core, when it was
	core   *speakers.Core
	told   []told // by prefix
	drain  topologies.DrainState
	away   bool             // its speaker has stopped and not started again
	links  []link           // in the order of the core's sessions
	inbox  []arrival        // what has come since the last freeze
	others []speakers.Input // of it, what is no route
	frozen []arrival        // what the next step takes
	rest   []speakers.Input // of it, what is no route
	hash   uint64           // of core, where hashed
	hashed bool
}

// owner stands for an engine. It has a size, so that no two are at one place.
type owner struct{ _ byte }

// arrival is a route or a withdrawal that has come, or another input.
type arrival struct {
	bundle int32
	prefix int32           // notRoute: the input is the next of those that are no route
	route  *speakers.Route // nil = withdrawn
}

const notRoute = -1

// told is what a speaker tells of a prefix now, as its neighbours hear it.
type told struct {
	heard *speakers.Route // with the speaker's own ASN before the path; nil = none is told
	path  uint64          // state.HashPath of heard.Path
}

// link is a session as one of its ends sees it.
type link struct {
	bundle int32
	dir    int32 // the direction in which this end sends: twice the bundle, plus 1 where it is the bundle's B
	peer   int32 // device
}

// session is a bundle and the session over it.
type session struct {
	members  int
	up       bool
	unseen   bool // it has failed, and its ends have not noticed
	lost     float64
	closedBy int32 // 1 + the device that ended it for being told too many prefixes
	ends     [2]direction
}

// direction is what one end, the bundle's A first, tells the other.
type direction struct {
	held    bool // by an event
	waiting []message
}

// message is one announced or withdrawn prefix on its way.
type message struct {
	dir      int32
	prefix   int32
	withdraw bool
	dump     bool
	end      bool            // End-of-RIB, which is no NLRI
	route    *speakers.Route // nil where withdrawn
	path     uint64
}

var _ state.Engine = (*Engine)(nil)

// New makes an engine. Nothing has to be closed.
func New(opts Options) (*Engine, error) {
	t := opts.Topology
	e := &Engine{
		opts: opts, topology: t, index: t.Index(), prefixes: len(t.Prefixes),
		devices: make([]device, len(t.Devices)), sessions: make([]session, len(t.Bundles)), paths: paths{}, self: new(owner),
		until: damping.Never, talk: make([]int, 2*len(t.Bundles)), tap: newTapped(t, opts.Tap),
	}
	if e.settings = slices.Clone(opts.Settings); e.settings == nil {
		e.settings = slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(t.Devices))
	}
	e.heardBits = make(bits, 2*len(t.Bundles)*words(e.prefixes))
	var err error
	if e.schedule, err = opts.Schedule.start(e); err != nil {
		return nil, err
	}
	if e.tables, err = hardware.New(t, opts.Hardware, opts.Compare); err != nil {
		return nil, err
	}
	for b, bundle := range t.Bundles {
		e.sessions[b].members = bundle.Members
	}
	e.configs = speakers.NewConfigs(t, e.index)
	for d := range e.devices {
		dev := &e.devices[d]
		dev.owner = e.self
		cfg := e.coreConfig(d)
		dev.core = speakers.New(cfg)
		if e.noClone == nil {
			e.noClone = dev.core.CanClone()
		}
		dev.told = make([]told, e.prefixes)
		dev.links = make([]link, 0, len(cfg.Sessions))
		for _, s := range cfg.Sessions {
			dev.links = append(dev.links, e.linkOf(s.Bundle, d))
		}
	}
	return e, nil
}

// coreConfig is what a device's core is made from, with its present settings.
func (e *Engine) coreConfig(d int) speakers.Config {
	cfg := e.configs.Of(d, e.opts.Damping)
	cfg.Plan, cfg.Settings = e.opts.Plan, &e.settings[d]
	return cfg
}

func (e *Engine) linkOf(bundle int32, device int) link {
	ends := e.index.Ends[bundle]
	if ends[0] == device {
		return link{bundle: bundle, dir: 2 * bundle, peer: int32(ends[1])}
	}
	return link{bundle: bundle, dir: 2*bundle + 1, peer: int32(ends[0])}
}

// Start implements state.Engine: all sessions are up at once.
func (e *Engine) Start(ctx context.Context) error {
	for b := range e.sessions {
		e.open(int32(b))
	}
	return context.Cause(ctx)
}

// Originate implements state.Engine.
func (e *Engine) Originate() error {
	for d := range e.devices {
		e.input(d, speakers.Input{Kind: speakers.Originate})
	}
	return nil
}

// Now implements state.Engine.
func (e *Engine) Now() time.Duration { return e.now }

// Rounds implements state.Engine.
func (e *Engine) Rounds() int { return e.rounds }

// Record implements state.Engine.
func (e *Engine) Record(on bool) { e.recording = on }

// OnRound implements state.Engine.
func (e *Engine) OnRound(f func()) { e.onRound = f }

// Counters implements state.Engine. Every NLRI counts as an UPDATE of its own.
func (e *Engine) Counters() state.Counters { return e.counters }

// Next implements state.Engine.
func (e *Engine) Next() time.Duration {
	next := damping.Never
	for d := range e.devices {
		next = min(next, e.timer(d))
	}
	return next
}

// timer is when a device's core must be stepped without input, or Never.
func (e *Engine) timer(d int) time.Duration {
	if e.devices[d].away {
		return damping.Never
	}
	return e.devices[d].core.Next()
}

// Advance implements state.Engine.
func (e *Engine) Advance(to time.Duration) { e.now = max(e.now, to) }

// Close implements state.Engine.
func (e *Engine) Close() error { return nil }

// Mark implements state.Engine.
func (e *Engine) Mark(event string) { e.marks = append(e.marks, event) }

// Report implements state.Engine.
func (e *Engine) Report(device int) fib.Report {
	e.own(device)
	return e.tables[device].Report(e.topology.Devices[device].Name)
}

// Explain tells how a device's core came to what it holds for a prefix.
func (e *Engine) Explain(device, prefix int) speakers.Explanation {
	return e.devices[device].core.Explain(int32(prefix))
}

// TakeLog implements state.Engine: in the order in which the messages were sent.
func (e *Engine) TakeLog() []state.NLRI {
	log := e.log
	e.log = nil
	slices.SortStableFunc(log, func(a, b state.NLRI) int { return a.Round - b.Round })
	return log
}

func (e *Engine) input(device int, in speakers.Input) {
	dev := &e.devices[device]
	dev.others = append(dev.others, in)
	e.arrive(dev, arrival{prefix: notRoute})
}

// few joins the first names of a list.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Until makes Quiet hand back before anything that would happen at the given time
// or later, so that a change can be made then: while the network gets quiet time
// moves on, in Timed. damping.Never is the end of that, and what an engine begins with.
func (e *Engine) Until(at time.Duration) { e.until = at }

// Busy tells whether Quiet has handed back with something still on its way.
func (e *Engine) Busy() bool {
	s, ok := e.schedule.(*timed)
	return ok && s.under()
}
