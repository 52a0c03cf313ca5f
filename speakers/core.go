package speakers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// Core is the state machine of one speaker. It is not safe for concurrent use.
type Core struct {
	cfg        Config
	settings   topologies.Settings
	rejected   []bool // by prefix: its class is not imported
	aggregates []aggregate
	suppressed []int  // by prefix: announced aggregates that keep it from going up
	supports   []bool // by prefix: some aggregate of this device covers it
	drain      topologies.DrainState
	deferTo    time.Duration // until when a restarted core waits before it decides; Never = it does not
	forwardTo  time.Duration // when a drained device stops forwarding; Never unless it is drained and still forwards
	sessions   []session
	parallel   bool               // two sessions lead to one neighbour
	timed      bool               // some prefix's damping may set a timer
	churn      []*damping.Speaker // those that want to know what is received
	originates bool
	candidates [][]*Route // by prefix, then by session; nil = none, and no row where there was never any
	prefixes   []prefix
	dirty      []bool
	anyDirty   bool
	history    History
	next       time.Duration
	now        time.Duration

	// Room for the set and the hops that are being worked out, so that a
	// decision that changes nothing allocates nothing.
	set  []int
	hops []Hop
	kept []Hop // the last hops that were kept, which prefixes that fare alike share
	last int   // the session found last: what arrives comes in runs of one session
}

type session struct {
	up       bool
	prefixes int    // candidates held
	stale    []bool // by prefix: the candidate is from before the neighbour's restart; nil = none is
	ceased   bool   // ended for holding too many; deaf until it comes up again

	restarts bool          // the neighbour has said that it restarts
	staleTo  time.Duration // when stale candidates are dropped, or Never
	endOfRIB bool          // the neighbour has told all that it has
	capacity uint64
	policy   damping.BundlePolicy
	passed   damping.Passed
	next     time.Duration
}

type prefix struct {
	origin    int32 // index in cfg.Origins, or -1
	aggregate int32 // index in aggregates, or -1
	local     bool
	audible   bool          // told is out at some neighbour
	in, out   damping.Value // the bottleneck value, and what policy made of it
	way       way           // of the route, told or not
	hops      []Hop
	told      Told
	policy    damping.ToldPolicy
	stages    *toldStages // what policy is made of
	next      time.Duration
}

// History tells those who look at a core what has changed since they did. Nothing
// that the core does follows from it.
type History struct {
	steps   uint64
	changed []uint64 // by prefix: the last step that may have changed what Decision and Candidates give
}

// way is what a route is told with beside its value.
type way struct {
	path               []uint32
	down, warm, atomic bool
}

func (w way) equal(v way) bool {
	return w.down == v.down && w.warm == v.warm && w.atomic == v.atomic && equalPaths(w.path, v.path)
}

// New makes a core whose bundles are at full health, whose sessions are down
// and which originates nothing yet. The bundles' damping sees its first value
// at time 0. The core keeps the slices of cfg and never writes to them.
func New(cfg Config) *Core {
	c := &Core{
		cfg:        cfg,
		sessions:   make([]session, len(cfg.Sessions)),
		candidates: make([][]*Route, cfg.Prefixes),
		prefixes:   make([]prefix, cfg.Prefixes),
		dirty:      make([]bool, cfg.Prefixes),
		history:    History{changed: make([]uint64, cfg.Prefixes)},
		rejected:   make([]bool, cfg.Prefixes),
		suppressed: make([]int, cfg.Prefixes),
		supports:   make([]bool, cfg.Prefixes),
		deferTo:    Never,
		forwardTo:  Never,
		next:       Never,
		set:        make([]int, 0, len(cfg.Sessions)),
		hops:       make([]Hop, 0, len(cfg.Sessions)),
	}
	plan := damping.Uniform(cfg.Damping)
	if cfg.Plan != nil {
		plan = *cfg.Plan
	}
	seen := map[int32]bool{}
	for i, s := range cfg.Sessions {
		c.parallel = c.parallel || seen[s.Neighbor]
		seen[s.Neighbor] = true
		policy := plan.ForBundle(s.Info).NewBundleFor(s.Info)
		capacity := s.Capacity
		if cfg.Restart != nil {
			capacity = cfg.Restart.Bundles[i]
		}
		passed, next := policy.Step(0, capacity)
		c.sessions[i] = session{capacity: capacity, policy: policy, passed: passed, next: next, staleTo: Never}
		c.next = min(c.next, next)
	}
	c.newTold(plan)
	for i, o := range cfg.Origins {
		c.prefixes[o.Prefix].origin = int32(i)
	}
	c.newAggregates()
	if cfg.Settings == nil {
		c.configure(topologies.DefaultSettings())
	} else {
		c.configure(*cfg.Settings)
	}
	if r := cfg.Restart; r != nil {
		c.now, c.drain = r.At, r.Drain
		c.deferTo = r.At + c.settings.EndOfRIBTime
		c.next = min(c.next, c.deferTo)
	}
	return c
}

// toldStages are the told stages of one rule of the damping plan at this
// speaker, and what they keep for all its prefixes together.
type toldStages struct {
	stages  []damping.ToldStage
	speaker *damping.Speaker
}

// hearChurn tells the stages that want it how many prefixes the inputs bring.
func (c *Core) hearChurn(inputs []Input) {
	if len(c.churn) == 0 {
		return
	}
	n := 0
	for i := range inputs {
		n += count(inputs[i].Kind == Announce || inputs[i].Kind == Withdraw)
	}
	for _, s := range c.churn {
		if n > 0 {
			s.Received(c.now, n)
		}
	}
}

// newTold makes all prefixes with their damping.
func (c *Core) newTold(plan damping.Plan) {
	rules := map[int]*toldStages{}
	for i := range c.prefixes {
		class := ""
		if i < len(c.cfg.Classes) {
			class = c.cfg.Classes[i]
		}
		pipeline, rule := plan.ForTold(c.cfg.Role.String(), class)
		if rules[rule] == nil {
			rules[rule] = &toldStages{pipeline.Told, pipeline.NewSpeaker(c.cfg.Number)}
			c.timed = c.timed || pipeline.Timed()
			if s := rules[rule].speaker; s.HearsChurn() {
				c.churn = append(c.churn, s)
			}
		}
		stages := rules[rule]
		c.prefixes[i] = prefix{origin: -1, aggregate: -1, policy: stages.speaker.NewTold(uint64(i)), stages: stages, next: Never}
	}
}

// Next is when the core must be stepped again although no input came, or Never.
func (c *Core) Next() time.Duration { return c.next }

// Step takes everything that happened since the last step, in the order of
// arrival per session, and appends to effects what must be done, prefix by
// prefix in ascending order. Time must not go backwards. An input for a bundle
// or prefix that the core does not know is an error, and changes nothing.
func (c *Core) Step(now time.Duration, inputs []Input, effects []Effect) ([]Effect, error) {
	if now < c.now {
		return effects, fmt.Errorf("step at %v: time went backwards from %v", now, c.now)
	}
	for i := range inputs {
		if err := c.check(&inputs[i]); err != nil {
			return effects, err
		}
	}
	c.now = now
	c.history.steps++
	c.hearChurn(inputs)
	for i := range inputs {
		c.apply(&inputs[i])
	}
	effects = c.ceaseSessions(effects)
	timers := c.next <= now
	if timers {
		c.bundleTimers()
		c.staleTimers()
		c.drainTimer()
	}
	if c.deferTo != Never {
		if !c.maySelect() {
			c.settleTimers()
			c.next = min(c.next, c.deferTo)
			return effects, nil
		}
		effects = c.selectFirst(effects)
	}
	if timers || c.anyDirty {
		// First, since an aggregate may keep its more-specifics from going up.
		c.watchAggregates()
		effects = c.decideDue(timers, effects)
	}
	c.settleTimers()
	return effects, nil
}

// decideDue decides all prefixes that are marked, or whose timer is due.
func (c *Core) decideDue(timers bool, effects []Effect) []Effect {
	for p := range c.prefixes {
		if c.dirty[p] || timers && c.prefixes[p].next <= c.now {
			effects = c.decide(int32(p), effects)
		}
	}
	return effects
}

func (c *Core) check(in *Input) error {
	switch in.Kind {
	case SessionUp, SessionDown, Announce, Withdraw, Capacity, Restarts, EndOfRIB:
	case Originate:
		return nil
	case Drain:
		if in.Drain > topologies.Drained {
			return fmt.Errorf("%v: %v: want %v, %v or %v", in.Kind, in.Drain, topologies.Live, topologies.Warm, topologies.Drained)
		}
		return nil
	case Configure:
		if in.Settings == nil {
			return fmt.Errorf("%v: no settings", in.Kind)
		}
		return in.Settings.Validate()
	default:
		return fmt.Errorf("%v: unknown kind of input", in.Kind)
	}
	if _, ok := c.sessionOf(in.Bundle); !ok {
		return fmt.Errorf("%v: bundle %d: not one of this speaker's %d", in.Kind, in.Bundle, len(c.sessions))
	}
	if (in.Kind == Announce || in.Kind == Withdraw) && (in.Prefix < 0 || int(in.Prefix) >= len(c.prefixes)) {
		return fmt.Errorf("%v: prefix %d: want 0 to %d", in.Kind, in.Prefix, len(c.prefixes)-1)
	}
	if in.Kind == Announce && in.Route == nil {
		return fmt.Errorf("%v: no route", in.Kind)
	}
	return nil
}

func (c *Core) sessionOf(bundle int32) (int, bool) {
	if c.last < len(c.cfg.Sessions) && c.cfg.Sessions[c.last].Bundle == bundle {
		return c.last, true
	}
	return slices.BinarySearchFunc(c.cfg.Sessions, bundle, func(s Session, b int32) int { return cmp.Compare(s.Bundle, b) })
}

func (c *Core) apply(in *Input) {
	s, ok := c.sessionOf(in.Bundle)
	if ok {
		c.last = s
	}
	switch in.Kind {
	case Originate:
		c.originates = true
		for _, o := range c.cfg.Origins {
			c.mark(int(o.Prefix))
		}
		for i := range c.aggregates {
			c.aggregates[i].stale = true
		}
		c.anyDirty = true
	case Configure:
		c.configure(*in.Settings)
	case Drain:
		c.setDrain(in.Drain)
	case SessionUp:
		c.sessions[s].up, c.sessions[s].ceased = true, false
	case SessionDown:
		c.sessions[s].up = false
		c.sessionFell(s)
	case Restarts:
		c.sessions[s].restarts = true
	case EndOfRIB:
		c.sessions[s].endOfRIB = true
		c.dropStale(s)
	case Announce:
		c.hear(int(in.Prefix), s, in.Route)
	case Withdraw:
		c.setCandidate(int(in.Prefix), s, nil)
	case Capacity:
		if c.sessions[s].capacity != in.Capacity {
			c.sessions[s].capacity = in.Capacity
			c.stepBundle(s)
			if in.Capacity == 0 {
				c.dropStale(s) // whoever restarts does not forward over it
			}
		}
	}
}

// normal gives equal routes one form, so that hearing a route again changes
// nothing, and strips a value that may not be used (a NaN would even differ
// from itself).
func (r Route) normal() Route {
	switch {
	case r.warm():
		r.LocalPref = 0 // RFC 8326 S4.2
	case r.LocalPref == 0:
		r.LocalPref = DefaultLocalPref
	}
	if !r.Valued || !(linkbw.Community{Value: r.Value}).Valid() {
		r.Valued, r.Value = false, 0
	}
	return r
}

// Normal is the route in the form in which cores keep it. A core that hears it
// in that form needs no copy of its own.
func (r Route) Normal() Route { return r.normal() }

// hear takes a route over a session for a prefix.
func (c *Core) hear(p, s int, r *Route) {
	n := r.normal()
	if n.LocalPref != r.LocalPref || n.Valued != r.Valued || n.Value != r.Value {
		if row := c.row(int32(p)); row != nil && same(row[s], &n) {
			r = row[s]
		} else {
			made := n
			r = &made
		}
	}
	c.setCandidate(p, s, r)
}

// row is the candidates of a prefix, by session; nil where there was never any.
func (c *Core) row(p int32) []*Route { return c.candidates[p] }

// setCandidate takes a route over a session for a prefix; nil is none.
func (c *Core) setCandidate(p, s int, to *Route) {
	session := &c.sessions[s]
	if session.stale != nil {
		session.stale[p] = false
	}
	if c.candidates[p] == nil {
		if to == nil {
			return
		}
		c.candidates[p] = make([]*Route, len(c.sessions))
	}
	at := &c.candidates[p][s]
	if same(*at, to) || to != nil && session.ceased {
		return
	}
	session.prefixes += count(to != nil) - count(*at != nil)
	*at = to
	c.mark(p)
}

func count(present bool) int {
	if present {
		return 1
	}
	return 0
}

func (c *Core) dropAll(s int) {
	for p := range c.prefixes {
		c.setCandidate(p, s, nil)
	}
}

// same tells whether two candidates are equal. Most often they are one.
func same(a, b *Route) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.Valued == b.Valued && a.Value == b.Value && a.LocalPref == b.LocalPref && a.Origin == b.Origin &&
		equalPaths(a.Path, b.Path) && slices.Equal(a.Tags, b.Tags)
}

// equalPaths compares two paths. An engine may keep one of each, so that it
// suffices to see where they lie.
func equalPaths(a, b []uint32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

func (c *Core) markAll() {
	for p := range c.dirty {
		c.mark(p)
	}
}

func (c *Core) mark(p int) {
	if c.supports[p] && !c.dirty[p] {
		c.disturbAggregates(int32(p))
	}
	c.dirty[p] = true
	c.anyDirty = true
	c.history.changed[p] = c.history.steps
}

// stepBundle hears the bundle's damping and marks what the bundle carries.
func (c *Core) stepBundle(s int) {
	state := &c.sessions[s]
	passed, next := state.policy.Step(c.now, state.capacity)
	state.next = next
	if passed == state.passed {
		return
	}
	if c.settings.Divide == topologies.DivideEqual && (passed.Capacity == 0) != (state.passed.Capacity == 0) {
		c.markAll() // the number of neighbours that may hear is another one
	}
	state.passed = passed
	for p := range c.prefixes {
		if row := c.candidates[p]; row != nil && row[s] != nil {
			c.mark(p)
		}
	}
}

func (c *Core) bundleTimers() {
	for s := range c.sessions {
		if c.sessions[s].next <= c.now {
			c.stepBundle(s)
		}
	}
}

func (c *Core) settleTimers() {
	c.anyDirty = false
	c.next = c.forwardTo
	for s := range c.sessions {
		c.next = min(c.next, c.sessions[s].next, c.sessions[s].staleTo)
	}
	if c.timed {
		for p := range c.prefixes {
			c.next = min(c.next, c.prefixes[p].next)
		}
	}
}

// decide runs the whole chain for one prefix: decision, weights, told value,
// effects.
func (c *Core) decide(p int32, effects []Effect) []Effect {
	c.dirty[p] = false
	pre := &c.prefixes[p]
	set, best, local := c.selectSet(p)
	hops := c.weigh(p, set)
	told := Told{Warm: c.drain == topologies.Warm}
	if best >= 0 {
		route := c.row(p)[best]
		told.Path = route.Path
		told.Down = c.cfg.Sessions[best].NeighborRole >= c.cfg.Role
		told.Warm = told.Warm || route.warm() // the best is warm only where the whole set is
	}
	told.Atomic = local && pre.aggregate >= 0
	told.Down = told.Down || c.suppressed[p] > 0
	in := damping.Value{Reach: damping.Gone}
	if local || best >= 0 {
		in = c.value(p, set, best, told)
	}
	pre.local = local
	c.damp(pre, in, way{told.Path, told.Down, told.Warm, told.Atomic})
	if c.drain == topologies.Drained {
		if c.forwardTo == Never {
			hops = nil
		}
		return c.emit(p, hops, Told{}, effects)
	}
	if in.Reach == damping.Gone || pre.out.Reach == damping.Gone {
		return c.emit(p, hops, Told{}, effects)
	}
	told.Present = true
	if pre.out.Reach == damping.Valued {
		told.Valued, told.Value = true, linkbw.FromBits(pre.out.Bits)
		if c.settings.Transitivity != topologies.NonTransitive {
			told.Form = c.settings.Transitivity
		}
	}
	return c.emit(p, hops, told, effects)
}

// damp steps the prefix's policy, which is promised to be stepped only when its
// input changes or its timer is due, and tells it of attributes that changed
// without either.
func (c *Core) damp(pre *prefix, in damping.Value, now way) {
	changed := !now.equal(pre.way)
	pre.way = now
	if in != pre.in || pre.next <= c.now {
		pre.in = in
		pre.out, pre.next = pre.policy.Step(c.now, in)
		return
	}
	if h, ok := pre.policy.(damping.AttributeHearer); ok && changed && in.Reach != damping.Gone {
		pre.out, pre.next = h.AttributeChange(c.now)
	}
}

// emit turns the difference to what was told and programmed into effects. It
// copies hops before it keeps them.
func (c *Core) emit(p int32, hops []Hop, told Told, effects []Effect) []Effect {
	pre := &c.prefixes[p]
	c.history.changed[p] = c.history.steps
	retell := !told.equal(pre.told)
	if retell {
		heard := pre.audible
		pre.told, pre.audible = told, c.audible(told)
		if heard && !pre.audible {
			effects = append(effects, Effect{Kind: Untell, Prefix: p})
		}
	}
	switch {
	case slices.Equal(hops, pre.hops):
	case len(hops) == 0:
		pre.hops = nil
		effects = append(effects, Effect{Kind: Unprogram, Prefix: p})
	default:
		if !slices.Equal(hops, c.kept) {
			c.kept = slices.Clone(hops)
		}
		pre.hops = c.kept
		effects = append(effects, Effect{Kind: Program, Prefix: p, Hops: pre.hops})
	}
	if retell && pre.audible {
		effects = append(effects, Effect{Kind: Tell, Prefix: p, Told: told})
	}
	return effects
}
