package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ErrNoEffect is an event that changes nothing and does not say that it is silent.
var ErrNoEffect = errors.New("no effect")

// Options configures a Rig.
type Options struct {
	Topology *topologies.Topology
	Damping  damping.Pipeline
	Plan     *damping.Plan         // what damping stands where; nil = Damping everywhere
	Settings []topologies.Settings // of the speakers, by device; nil = all topologies.DefaultSettings
	Hardware []state.Hardware      // by device; nil = state.HardwareOf the topology
	Compare  bool                  // keep a hardware table of each overflow policy beside every table
	Checks   []state.Check         // looked at from every quiet on
	Observer state.Observer
	Engine   string        // GoBGP or Sim; empty = GoBGP
	Schedule sim.Schedule  // of Sim
	Tap      sim.NewTap    // of Sim, which alone can have one; nil = there is none
	Port     int           // see live.Options
	Budget   time.Duration // see live.Options
	// External are the devices that are no speakers of the rig, by name; on GoBGP only.
	// Where there are any, and Settings is nil, all speakers tell link bandwidth in both
	// transitivities, since most others do not pass the default one on.
	External map[string]state.External
	Outside  live.Outside  // how External are reached
	Capture  live.Capturer // gets what the wires carry; on GoBGP only

	keep   func(*state.Moment) // hears of every moment that checks look at
	guards []*guard            // of Checks; nil = made anew
}

// The engines that run the speakers.
const (
	GoBGP = "gobgp" // real speakers, joined by real sessions: package live
	Sim   = "sim"   // the same cores in virtual time: package sim
)

// Engines are the names of the engines, the default first.
func Engines() []string { return []string{GoBGP, Sim} }

// Rig is one running network. Its methods are called from one goroutine.
type Rig struct {
	opts   Options
	net    *state.Network
	engine state.Engine
	judge  *judge
	wear   *wear
	guards []*guard // of the checks

	misTold misTold
	lost    losses
	windows []state.WindowRow
	summed  time.Duration // virtual time of the engine until which misTold and lost are sums

	transients *sim.Transients // nil = nobody wants to know, or messages take no time

	failing  *state.Failing
	members  []int          // by bundle, as the events leave them
	away     map[int32]bool // devices whose speaker has stopped and not started again
	played   int            // events so far
	closed   bool
	epoch    time.Duration
	zero     *atomic.Int64 // epoch, for any goroutine
	baseline *state.Snapshot
	snapshot *state.Snapshot
	shown    *state.Moment // that checks saw last; nil = none
	bringUp  state.Counters

	established, quiet time.Duration
}

func (o Options) validateDamping() error {
	if o.Plan != nil {
		return o.Plan.Validate()
	}
	return o.Damping.Validate()
}

// Start brings a network up: all sessions Established, all prefixes originated,
// and settled. Close must be called unless it returns an error.
func Start(ctx context.Context, opts Options) (_ *Rig, err error) {
	if opts.Observer == nil {
		opts.Observer = silence{}
	}
	if err := opts.validateDamping(); err != nil {
		return nil, err
	}
	var external []*state.External
	if opts.Topology, external, err = state.PlaceExternal(opts.Topology, opts.External); err != nil {
		return nil, err
	}
	if external != nil && opts.Settings == nil {
		opts.Settings = slices.Repeat([]topologies.Settings{defaultSettings(true)}, len(opts.Topology.Devices))
	}
	if opts.Hardware == nil {
		if opts.Hardware, err = state.HardwareOf(opts.Topology); err != nil {
			return nil, err
		}
	}
	r := &Rig{
		opts: opts, zero: new(atomic.Int64), members: fullMembers(opts.Topology), away: map[int32]bool{}, failing: state.NewFailing(opts.Topology),
		net: &state.Network{Topology: opts.Topology, Index: opts.Topology.Index(), Damping: opts.Damping, Plan: opts.Plan, Hardware: opts.Hardware, External: external},
	}
	if r.guards = opts.guards; r.guards == nil {
		r.guards = newGuards(opts.Checks)
	}
	r.lost = losses{net: r.net, part: make([]float64, len(opts.Topology.Bundles)), open: make([]int, len(opts.Topology.Bundles))}
	if r.judge, err = newJudge(r.net, opts.Settings); err != nil {
		return nil, err
	}
	if r.engine, err = r.newEngine(); err != nil {
		return nil, err
	}
	r.wear = &wear{net: r.net, report: r.engine.Report}
	if err := guarded(func() error { return r.bringUpNetwork(ctx) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rig) newEngine() (state.Engine, error) {
	o := r.opts
	switch o.Engine {
	case "", GoBGP:
		if o.Tap != nil {
			return nil, fmt.Errorf("engine %q: it has a tap: want %q", GoBGP, Sim)
		}
		e, err := live.New(live.Options{
			Topology: o.Topology, Damping: o.Damping, Plan: o.Plan, Settings: o.Settings, Hardware: o.Hardware, Compare: o.Compare,
			Port: o.Port, Budget: o.Budget, Progress: o.Observer.Progress, Entries: r.entries(),
			External: r.net.External, Outside: o.Outside, Capture: r.captured(),
		})
		if err != nil {
			return nil, err
		}
		return e, nil
	case Sim:
		if err := o.needsWires(); err != nil {
			return nil, err
		}
		e, err := sim.New(sim.Options{
			Topology: o.Topology, Damping: o.Damping, Plan: o.Plan, Settings: o.Settings, Hardware: o.Hardware, Compare: o.Compare,
			Schedule: o.Schedule, Tap: o.Tap, Progress: o.Observer.Progress, Entries: r.entries(),
		})
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	return nil, fmt.Errorf("engine %q: want one of %q", o.Engine, Engines())
}

// captured gives Options.Capture the time since the baseline, or the engine's until then.
func (r *Rig) captured() live.Capturer {
	if r.opts.Capture == nil {
		return nil
	}
	return &sinceBaseline{r.opts.Capture, r.zero}
}

type sinceBaseline struct {
	live.Capturer
	zero *atomic.Int64
}

func (s *sinceBaseline) Message(dir state.Direction, virtual time.Duration, message []byte) {
	s.Capturer.Message(dir, virtual-time.Duration(s.zero.Load()), message)
}

// ErrNoWires means that something needs real sessions, and the engine has none.
var ErrNoWires = errors.New("engine sim has no wires")

// needsWires refuses what the simulator cannot have.
func (o Options) needsWires() error {
	switch {
	case len(o.External) > 0:
		name := slices.Sorted(maps.Keys(o.External))[0]
		return fmt.Errorf("external %q: %w that could reach it: want engine %s", name, ErrNoWires, GoBGP)
	case o.Capture != nil:
		return fmt.Errorf("captures: %w, so that there is nothing to capture: want engine %s", ErrNoWires, GoBGP)
	}
	return nil
}

// defaultSettings are those of a speaker that nothing is said of.
func defaultSettings(external bool) topologies.Settings {
	s := topologies.DefaultSettings()
	if external {
		s.Transitivity = topologies.BothTransitive
	}
	return s
}

// entries is how many Adj-RIB-In entries the graph says there are at full health, those
// of external devices apart.
func (r *Rig) entries() (n int) {
	for b, ends := range r.net.Index.Ends {
		for i, d := range ends {
			if r.net.IsExternal(ends[1-i]) {
				continue
			}
			for p := range r.net.Topology.Prefixes {
				if r.judge.damped.TellsTo(d, p, int32(b)) {
					n++
				}
			}
		}
	}
	return n
}

func (r *Rig) bringUpNetwork(ctx context.Context) error {
	started := time.Now()
	if err := r.engine.Start(ctx); err != nil {
		return err
	}
	r.established = time.Since(started)
	r.record(state.Record{Kind: "established", Event: -1, Text: fmt.Sprintf("%d sessions", len(r.net.Topology.Bundles))})
	started = time.Now()
	if err := r.engine.Originate(); err != nil {
		return err
	}
	if err := r.engine.Quiet(ctx); err != nil {
		return err
	}
	r.quiet = time.Since(started)
	for next := r.engine.Next(); next != damping.Never; next = r.engine.Next() {
		r.engine.Advance(next)
		if err := r.engine.Quiet(ctx); err != nil {
			return err
		}
	}
	r.epoch = r.engine.Now()
	r.zero.Store(int64(r.epoch))
	r.summed = r.epoch
	r.bringUp = r.engine.Counters()
	r.engine.Record(true)
	r.snapshot = r.engine.Snapshot()
	r.baseline = r.snapshot
	r.watchTransients()
	r.watchActions()
	if err := r.judge.settleFirst(r.snapshot); err != nil {
		return err
	}
	r.look(nil, true)
	return nil
}

// watchTransients looks for transients from now on, where a check wants them and the
// engine has any.
func (r *Rig) watchTransients() {
	e, ok := r.engine.(*sim.Engine)
	wants := func(c state.Check) bool {
		_, ok := c.(state.TransientCheck)
		return ok
	}
	if ok && r.opts.Schedule.Mode == sim.Timed && slices.ContainsFunc(r.opts.Checks, wants) {
		r.transients = e.Watch()
	}
}

// places is an empty set of places of the network.
func (r *Rig) places() state.Places {
	return state.NewPlaces(len(r.net.Topology.Devices), len(r.net.Topology.Prefixes))
}

// watchActions lets the engine write down what speakers do, where a check wants it.
func (r *Rig) watchActions() {
	if e, ok := r.engine.(state.ActionRecorder); ok {
		e.RecordActions(slices.ContainsFunc(r.guards, wantsActions))
	}
}

func wantsActions(g *guard) bool {
	_, ok := g.check.(state.OrderCheck)
	return ok
}

// mark names the event that started last, as hardware audits have it.
func (r *Rig) mark() string {
	if r.played == 0 {
		return ""
	}
	return fmt.Sprintf("event %d", r.played)
}

// Hardware is what the run asked of the hardware so far: by device, and, with
// Options.Compare, by overflow policy.
func (r *Rig) Hardware() ([]state.FIBUse, []state.PolicyUse) { return r.wear.results() }

// guarded makes an error of a panic, such as one in a user's check, so that the
// network is closed in order.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// Close stops everything and returns when nothing is left running.
func (r *Rig) Close() error {
	r.closed = true
	return r.engine.Close()
}

// Snapshot is the network at the last quiet.
func (r *Rig) Snapshot() *state.Snapshot { return r.snapshot }

// Baseline is the network when it was settled for the first time.
func (r *Rig) Baseline() *state.Snapshot { return r.baseline }

// Network is what does not change during a run.
func (r *Rig) Network() *state.Network { return r.net }

// BringUp is what the wires carried until the baseline, and the real time to
// Established and from the first origination to quiet.
func (r *Rig) BringUp() (c state.Counters, established, quiet time.Duration) {
	return r.bringUp, r.established, r.quiet
}

// Verdict tells whether every check held so far.
func (r *Rig) Verdict() state.Verdict {
	for _, o := range r.Outcomes() {
		if o.Violated > 0 {
			return state.Violated
		}
	}
	return state.Held
}

// Outcomes are what the checks found so far, in their order, watchers apart. One that panicked
// counts as violated, with its stack; its own Outcome does not say so.
func (r *Rig) Outcomes() []state.Outcome { return outcomesOf(r.guards) }

// Watch adds checks that follow the network from now on: the baseline that they are
// shown is the one of its start, and the first moment is the present one.
func (r *Rig) Watch(checks ...state.Check) {
	added := newGuards(checks)
	r.opts.Checks = append(r.opts.Checks[:len(r.opts.Checks):len(r.opts.Checks)], checks...)
	r.guards = append(r.guards[:len(r.guards):len(r.guards)], added...)
	if r.transients == nil {
		r.watchTransients()
	}
	if slices.ContainsFunc(added, wantsActions) {
		r.watchActions()
	}
	r.show(r.moment(nil, true), added)
}

// Windows is what each window did so far.
func (r *Rig) Windows() []state.WindowRow { return slices.Clone(r.windows) }

// Lost is the traffic that was lost unseen since the baseline, or nil where
// none was.
func (r *Rig) Lost() *state.Lost {
	r.sumUntil(r.engine.Now())
	return r.lost.sum(r.Now())
}

// Now is the virtual time since the baseline.
func (r *Rig) Now() time.Duration { return r.engine.Now() - r.epoch }

// look shows the network to all checks.
func (r *Rig) look(w *state.Window, settled bool) {
	r.wear.see(r.snapshot, r.mark())
	m := r.moment(w, settled)
	m.Since = r.since(m)
	if r.opts.keep != nil {
		r.opts.keep(m)
	}
	if e, ok := r.engine.(state.ActionRecorder); ok && slices.ContainsFunc(r.guards, wantsActions) {
		done := e.TakeActions()
		for _, g := range r.guards {
			if wantsActions(g) {
				g.run(m.Snapshot.Time-m.Baseline.Time, "LookOrder", func() { g.check.(state.OrderCheck).LookOrder(m, done) })
			}
		}
	}
	r.show(m, r.guards)
}

func (r *Rig) moment(w *state.Window, settled bool) *state.Moment {
	return &state.Moment{
		Network: r.net, Dampings: r.judge.dampings, Snapshot: r.snapshot, Settled: settled, Baseline: r.baseline,
		Damped: r.judge.damped, True: r.judge.truth, Full: r.fullHealth(), Window: w,
		Settings: r.judge.settings(),
	}
}

// show lets some of the checks look at a moment.
func (r *Rig) show(m *state.Moment, guards []*guard) {
	for _, g := range guards {
		before := g.outcome().Violated
		g.look(m)
		r.reportNew(g.outcome(), before)
	}
}

// reportNew records violations that a check has just found.
func (r *Rig) reportNew(o state.Outcome, before int) {
	for i := before; i < o.Violated && i < len(o.Violations); i++ {
		one := o
		one.Violations = o.Violations[i : i+1]
		r.record(state.Record{Kind: "violation", Event: -1, Text: o.Name, Outcome: &one})
	}
}

// fullHealth tells whether everything is as it was before the first event:
// bundles, settings and drain states, and no wire is held.
func (r *Rig) fullHealth() bool {
	return slices.Equal(r.members, fullMembers(r.net.Topology)) && !r.lost.any() && r.judge.asAtFirst() && len(r.snapshot.Held) == 0
}

// sessionless tells whether a bundle has no session, because a speaker at one of
// its ends has stopped.
func (r *Rig) sessionless(bundle int32) bool {
	ends := r.net.Index.Ends[bundle]
	return r.away[int32(ends[0])] || r.away[int32(ends[1])]
}

// mayRestart refuses what is not modelled: that a speaker stops while a bundle of its
// has failed unnoticed, so that the other end cannot hear of it.
func (r *Rig) mayRestart(e state.Event, changes []state.Timed) error {
	for _, c := range changes {
		if c.Change.Kind != state.Stop {
			continue
		}
		for _, b := range r.net.Index.Of[c.Change.Device] {
			if r.judge.bundles[b].unseen {
				return &state.FieldError{Kind: e.Kind, Field: "device", Value: r.net.Topology.Devices[c.Change.Device].Name,
					Want: fmt.Sprintf("bundle %q has failed and its ends have not noticed: a restart meanwhile is not modelled", r.net.Topology.Bundles[b].Name)}
			}
		}
	}
	return nil
}

func (r *Rig) record(rec state.Record) {
	if r.engine != nil {
		rec.Virtual = r.Now()
	}
	r.opts.Observer.Record(rec)
}

// silence is the observer of those who do not care.
type silence struct{}

func (silence) Progress(string, int, int) {}
func (silence) Record(state.Record)       {}
