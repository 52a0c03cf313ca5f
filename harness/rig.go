package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ErrNoEffect is an event that changes nothing and does not say that it is silent.
var ErrNoEffect = errors.New("no effect")

// Options configures a Rig.
type Options struct {
	Topology *topologies.Topology
	Damping  damping.Pipeline
	Reduce   fib.Algorithm // empty = fib.Minimax
	Checks   []state.Check // looked at from every quiet on
	Observer state.Observer
	Port     int           // see live.Options
	Budget   time.Duration // see live.Options
}

// Rig is one running network. Its methods are called from one goroutine.
type Rig struct {
	opts   Options
	net    *state.Network
	engine state.Engine
	judge  *judge

	members  []int // by bundle, as the events leave them
	played   int   // events so far
	epoch    time.Duration
	baseline *state.Snapshot
	snapshot *state.Snapshot
	bringUp  state.Counters

	established, quiet time.Duration
}

// Start brings a network up: all sessions Established, all prefixes originated,
// and settled. Close must be called unless it returns an error.
func Start(ctx context.Context, opts Options) (_ *Rig, err error) {
	if opts.Observer == nil {
		opts.Observer = silence{}
	}
	if opts.Reduce == "" {
		opts.Reduce = fib.Minimax
	}
	if err := opts.Damping.Validate(); err != nil {
		return nil, err
	}
	r := &Rig{
		opts: opts, members: fullMembers(opts.Topology),
		net: &state.Network{Topology: opts.Topology, Index: opts.Topology.Index(), Damping: opts.Damping, Reduce: opts.Reduce},
	}
	if r.judge, err = newJudge(r.net); err != nil {
		return nil, err
	}
	engine, err := live.New(live.Options{
		Topology: opts.Topology, Damping: opts.Damping, Reduce: opts.Reduce,
		Port: opts.Port, Budget: opts.Budget, Progress: opts.Observer.Progress,
	})
	if err != nil {
		return nil, err
	}
	r.engine = engine
	if err := guarded(func() error { return r.bringUpNetwork(ctx) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
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
	r.bringUp = r.engine.Counters()
	r.engine.Record(true)
	r.snapshot = r.engine.Snapshot()
	r.baseline = r.snapshot
	r.look(nil, true)
	return nil
}

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
func (r *Rig) Close() error { return r.engine.Close() }

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
	for _, c := range r.opts.Checks {
		if c.Outcome().Violated > 0 {
			return state.Violated
		}
	}
	return state.Held
}

// Now is the virtual time since the baseline.
func (r *Rig) Now() time.Duration { return r.engine.Now() - r.epoch }

// look shows the network to all checks.
func (r *Rig) look(w *state.Window, settled bool) {
	m := &state.Moment{
		Network: r.net, Snapshot: r.snapshot, Settled: settled, Baseline: r.baseline,
		Damped: r.judge.damped, True: r.judge.truth, Full: r.fullHealth(), Window: w,
	}
	for _, c := range r.opts.Checks {
		before := c.Outcome().Violated
		c.Look(m)
		r.reportNew(c.Outcome(), before)
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

func (r *Rig) fullHealth() bool {
	return slices.Equal(r.members, fullMembers(r.net.Topology))
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

// judge keeps the graph's opinion of the network: what the speakers must hold,
// and what would be true without damping. It runs the bundles' damping itself,
// from the changes, so it does not ask the speakers.
type judge struct {
	net           *state.Network
	bundles       []heardBundle
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
}

// recentStates bounds the states kept, so that a flap is not worked out anew
// each time.
const recentStates = 8

func newJudge(net *state.Network) (*judge, error) {
	if !net.Damping.Memoryless() {
		return nil, fmt.Errorf("damping %q: the graph can judge only told-value stages without memory", net.Damping.Name)
	}
	var level func(uint64) uint64
	if grid := net.Damping.Quantizer(); grid != nil {
		level = grid.Level
	}
	j := &judge{
		net: net, recent: map[string]*oracle.State{},
		dampedOracle: oracle.New(net.Topology, level), trueOracle: oracle.New(net.Topology, nil),
	}
	for _, b := range net.Topology.Bundles {
		h := heardBundle{policy: net.Damping.NewBundle(), there: b.Capacity(b.Members)}
		h.passed, h.next = h.policy.Step(0, h.there)
		j.bundles = append(j.bundles, h)
	}
	j.damped, j.truth = j.dampedState(), j.trueState()
	return j, errors.Join(j.damped.Err(), j.truth.Err())
}

func (j *judge) dampedState() *oracle.State {
	return j.state("damped", j.dampedOracle, j.passed())
}

// passed is what the bundles' damping passes now.
func (j *judge) passed() []oracle.Bundle {
	list := make([]oracle.Bundle, len(j.bundles))
	for i, b := range j.bundles {
		list[i] = oracle.Bundle(b.passed)
	}
	return list
}

func (j *judge) trueState() *oracle.State {
	list := make([]oracle.Bundle, len(j.bundles))
	for i, b := range j.bundles {
		list[i] = oracle.Bundle{Capacity: b.there}
	}
	return j.state("true", j.trueOracle, list)
}

func (j *judge) state(which string, o *oracle.Oracle, list []oracle.Bundle) *oracle.State {
	key := fmt.Sprint(which, list)
	if s, ok := j.recent[key]; ok {
		return s
	}
	if len(j.recent) >= recentStates {
		clear(j.recent)
	}
	s := o.State(list)
	j.recent[key] = s
	return s
}

// transition is one bundle's change of what it passes, and the states of the
// graph before and after it. The true transition is that of all bundles.
type transition struct {
	from, to *oracle.State
	bundle   int
	was      damping.Passed
}

// change hears of changes at one moment. It returns the damped transitions in
// the order of the bundles, and the true one.
func (j *judge) change(now time.Duration, changes []state.Change) (damped []transition, truth transition, err error) {
	truth.from = j.truth
	for _, c := range changes {
		j.bundles[c.Bundle].there = j.net.Topology.Bundles[c.Bundle].Capacity(c.Members)
	}
	for i := range j.bundles {
		b := &j.bundles[i]
		touched := slices.ContainsFunc(changes, func(c state.Change) bool { return int(c.Bundle) == i })
		if !touched && b.next > now {
			continue
		}
		var passed damping.Passed
		passed, b.next = b.policy.Step(now, b.there)
		if passed == b.passed {
			continue
		}
		t := transition{from: j.damped, bundle: i, was: b.passed}
		b.passed = passed
		j.damped = j.dampedState()
		t.to = j.damped
		damped = append(damped, t)
		err = errors.Join(err, j.damped.Err())
	}
	if len(changes) > 0 {
		j.truth = j.trueState()
		err = errors.Join(err, j.truth.Err())
	}
	truth.to = j.truth
	return damped, truth, err
}

// next is the earliest timer of the bundles' damping.
func (j *judge) next() time.Duration {
	next := damping.Never
	for _, b := range j.bundles {
		next = min(next, b.next)
	}
	return next
}
