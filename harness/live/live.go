// Package live is the engine that runs real GoBGP speakers, all in this
// process, joined by wires over loopback. Virtual time stands still while
// anything is in flight; a round steps every speaker that has input, at a
// moment when nothing is, so runs repeat exactly.
//
// GoBGP's servers share options that each start writes, so one engine runs in
// a process at a time.
package live

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/hardware"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/wire"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
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
	Port     int                   // 0 = DefaultPort
	// Budget is how long nothing may happen before the engine gives up; 0 = 60 s.
	Budget time.Duration
	// Progress hears how far a long step is, from the engine's goroutine.
	Progress func(stage string, done, total int)
	// Entries is how many Adj-RIB-In entries the network will hold when it is
	// quiet for the first time, for Progress; 0 = unknown.
	Entries int
	// External devices, by device, as state.PlaceExternal gives them; nil = none.
	External []*state.External
	Outside  Outside // how wires reach them
	// Capture, if any, gets every message as the Tap of wire.Config does; see Capturer.
	Capture Capturer
}

// Capturer gets what wires carry: messages of a session, in order in each direction, and
// from several goroutines at a time.
type Capturer interface {
	// Opened begins a session of a bundle, between the addresses of its A and B.
	Opened(bundle int32, ends [2]netip.Addr)
	// Message was read from one end, at a virtual time; it must not be kept.
	Message(dir state.Direction, virtual time.Duration, message []byte)
	// Closed ends the session.
	Closed(bundle int32)
}

// The stages that Options.Progress hears of.
const (
	StageStart  = "start"  // speakers started, of all
	StageDial   = "dial"   // sessions dialled, of those that come up
	StageSpread = "spread" // routes and withdrawals that came to the cores, of Options.Entries; at every lull
)

// DefaultBudget is the standstill after which a run ends as no-convergence.
const DefaultBudget = 60 * time.Second

// ErrNoConvergence means that nothing was counted for the whole budget while
// something was still owed, or that the speakers do not stop talking.
var ErrNoConvergence = state.ErrNoConvergence

// ErrSessionDied means that a session fell that nobody had cut.
var ErrSessionDied = errors.New("session died")

// ErrRunning means that another engine runs in this process.
var ErrRunning = errors.New("another rig runs in this process, and GoBGP's servers share their options")

// running guards what GoBGP shares between all servers of a process.
var running atomic.Bool

// Engine implements state.Engine over GoBGP servers.
type Engine struct {
	opts     Options
	topology *topologies.Topology
	index    *topologies.Index
	plan     plan
	block    *block
	foreign  foreign
	prefixes *gobgp.Prefixes
	cores    []*speakers.Core // by device; nil = external
	speakers []*gobgp.Speaker // by device; nil = external
	tables   []hardware.Table
	wires    []*wire.Wire // by bundle; nil while down
	members  []int        // by bundle
	settings []topologies.Settings
	drains   []topologies.DrainState
	holds    map[holding]bool
	unseen   map[int32]bool    // bundles that have failed and whose ends have not noticed
	lost     map[int32]float64 // part of the traffic that bundles lose unseen
	away     map[int32]bool    // devices whose speaker has stopped and not started again
	ends     []endOfRIB
	onRound  func()

	actions hardware.Actions // nil = nobody wants to know

	closed  map[int32]string // sessions that a speaker ended, by bundle: its name
	past    state.Counters
	pastLog []state.NLRI
	now     time.Duration
	clock   atomic.Int64 // now, for any goroutine
	fences  uint32
	rounds  atomic.Int64
	record  atomic.Bool
	most    int     // rounds in a row that count as never getting quiet
	stepped []int64 // by device: the last round that it stepped in
	shut    bool

	mu      sync.Mutex
	tracker *tracker
	dials   *dials
	peers   []peerState // by direction: the receiving end's view
	failure error
	poke    chan struct{}
}

var _ state.Engine = (*Engine)(nil)

// New checks that the engine can run here and makes everything that needs no
// socket but the lock on its addresses. Close must be called.
func New(opts Options) (_ *Engine, err error) {
	if opts.Port == 0 {
		opts.Port = DefaultPort
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	t := opts.Topology
	if err := ensureFiles(len(t.Devices), len(t.Bundles)); err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	e := &Engine{
		opts: opts, topology: t, index: t.Index(), wires: make([]*wire.Wire, len(t.Bundles)),
		tracker: newTracker(2 * len(t.Bundles)), dials: newDials(2 * len(t.Bundles)),
		peers: make([]peerState, 2*len(t.Bundles)), poke: make(chan struct{}, 1),
		most: maxRounds, stepped: make([]int64, len(t.Devices)),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if e.block, e.plan, err = takeBlock(opts.Port, t, e.index); err != nil {
		return nil, err
	}
	if err = e.outsiders(opts.External); err != nil {
		return nil, err
	}
	list := make([]netip.Prefix, len(t.Prefixes))
	for i, p := range t.Prefixes {
		list[i] = p.Prefix
	}
	e.prefixes = gobgp.NewPrefixes(list)
	for _, b := range t.Bundles {
		e.members = append(e.members, b.Members)
	}
	e.holds, e.closed, e.away = map[holding]bool{}, map[int32]string{}, map[int32]bool{}
	e.unseen, e.lost = map[int32]bool{}, map[int32]float64{}
	e.drains = make([]topologies.DrainState, len(t.Devices))
	if e.settings = slices.Clone(opts.Settings); e.settings == nil {
		e.settings = slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(t.Devices))
	}
	if e.tables, err = hardware.New(t, opts.Hardware, opts.Compare); err != nil {
		return nil, err
	}
	return e, nil
}

// Start implements state.Engine.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.startSpeakers(ctx); err != nil {
		return err
	}
	all := make([]int32, len(e.topology.Bundles))
	for b := range all {
		all[b] = int32(b)
	}
	return e.open(ctx, all)
}

// startSpeakers starts all servers one after another and before any has a
// peer: each start writes options that working servers read.
func (e *Engine) startSpeakers(ctx context.Context) error {
	for i, d := range e.topology.Devices {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		e.progress(StageStart, i, len(e.topology.Devices))
		if e.isFar(i) {
			e.cores, e.speakers = append(e.cores, nil), append(e.speakers, nil)
			continue
		}
		cfg := e.coreConfig(i)
		core := speakers.New(cfg)
		s, err := gobgp.Start(ctx, gobgp.Options{
			Name: d.Name, RouterID: e.plan.device[i], Port: e.opts.Port, Listen: e.plan.listen[i],
			Core: core, Config: cfg, Prefixes: e.prefixes, Peers: e.peersOf(cfg, i), Events: events{e, i},
			Did: func(x *speakers.Effect) { e.actions.Did(i, x) },
		})
		if err != nil {
			return err
		}
		e.cores = append(e.cores, core)
		e.speakers = append(e.speakers, s)
	}
	return nil
}

func (e *Engine) peersOf(cfg speakers.Config, device int) []gobgp.Peer {
	var peers []gobgp.Peer
	for _, s := range cfg.Sessions {
		addrs, end := e.plan.session[s.Bundle], e.end(s.Bundle, device)
		peer := gobgp.Peer{
			Bundle: s.Bundle, Local: addrs[end], Remote: addrs[1-end], ASN: s.NeighborASN, Above: s.NeighborRole >= cfg.Role,
		}
		e.nextHops(&peer)
		peers = append(peers, peer)
	}
	return peers
}

// end is 0 where the device is the bundle's A, 1 where it is its B.
func (e *Engine) end(bundle int32, device int) int {
	if e.index.Ends[bundle][0] == device {
		return 0
	}
	return 1
}

// Originate implements state.Engine.
func (e *Engine) Originate() error {
	for d := range e.speakers {
		e.input(d, speakers.Input{Kind: speakers.Originate})
	}
	return nil
}

// Now implements state.Engine.
func (e *Engine) Now() time.Duration { return e.now }

// Rounds implements state.Engine.
func (e *Engine) Rounds() int { return int(e.rounds.Load()) }

// Record implements state.Engine.
func (e *Engine) Record(on bool) { e.record.Store(on) }

// OnRound implements state.Engine.
func (e *Engine) OnRound(f func()) { e.onRound = f }

// Next implements state.Engine.
func (e *Engine) Next() time.Duration {
	next := damping.Never
	for d, c := range e.cores {
		if c != nil && !e.away[int32(d)] {
			next = min(next, c.Next())
		}
	}
	return next
}

// Advance implements state.Engine.
func (e *Engine) Advance(to time.Duration) {
	e.now = max(e.now, to)
	e.clock.Store(int64(e.now))
}

// Close implements state.Engine. It may be called at any time, and again: a
// second call does nothing, since another engine may run by then.
func (e *Engine) Close() error {
	if e.shut {
		return nil
	}
	e.shut = true
	var errs []error
	e.mu.Lock()
	if e.failure == nil {
		e.failure = errors.New("closed")
	}
	e.mu.Unlock()
	for b, w := range e.wires {
		if w != nil {
			errs = append(errs, w.Cut())
			e.wires[b] = nil
			e.untap(int32(b))
		}
	}
	errs = append(errs, e.waitFallen())
	errs = append(errs, parallel(len(e.speakers), func(i int) error {
		if e.speakers[i] == nil {
			return nil
		}
		return e.speakers[i].Close()
	}), e.closeListeners())
	e.speakers = nil
	if e.block != nil {
		errs = append(errs, e.block.release())
	}
	running.Store(false)
	return errors.Join(errs...)
}

// tap is what wires give their messages to, or nil.
func (e *Engine) tap() func(state.Direction, []byte) {
	if e.opts.Capture == nil {
		return nil
	}
	return func(dir state.Direction, message []byte) {
		e.opts.Capture.Message(dir, time.Duration(e.clock.Load()), message)
	}
}

func (e *Engine) openTap(bundle int32) {
	if e.opts.Capture == nil {
		return
	}
	ends := e.plan.session[bundle]
	if s, end := e.foreign.session[bundle], e.foreign.end[bundle]; s != nil {
		ends[end], ends[1-end] = s.Address.Addr(), s.Local
	}
	e.opts.Capture.Opened(bundle, ends)
}

func (e *Engine) untap(bundle int32) {
	if e.opts.Capture != nil {
		e.opts.Capture.Closed(bundle)
	}
}

func (e *Engine) progress(stage string, done, total int) {
	if e.opts.Progress != nil {
		e.opts.Progress(stage, done, total)
	}
}

// parallel calls f for 0 to n-1 on all cores and returns the first error in
// the order of the numbers. A panic counts as an error.
func parallel(n int, f func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = guarded(i, f)
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func guarded(i int, f func(int) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(i)
}
