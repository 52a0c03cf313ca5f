package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// Exploration says what is searched: all interleavings of what follows when
// changes are made at one moment to a settled network. Messages take no time, as in
// Random. When nothing is on its way time goes to the next timer, as in a run.
type Exploration struct {
	Options                  // Schedule is not looked at: the network settles in Rounds
	Before  [][]state.Change // made first, one list after another, and the network settles after each
	Changes []state.Change   // made together
	// States bounds how many different states are visited; 0 = DefaultStates.
	States int
	// Reduce leaves out orders that cannot matter, those of messages to devices with
	// one session: ends stay the same, with fewer states on the way.
	Reduce bool
}

// DefaultStates is the bound of an Exploration that names none.
const DefaultStates = 100_000

// Explored is what a search found.
type Explored struct {
	Ends    []End
	States  int  // different states visited
	Actions int  // taken, from one state to the next
	Cut     bool // the bound ended the search: there may be other ends
	// Transients are the black holes and loops found on the way, each kind once
	// for its prefix and devices, with the fewest actions that lead to it.
	Transients []FoundTransient
	// Cycle is a schedule whose last state is one that it has passed before: an
	// order in which the network need not get quiet. nil = there is none, unless Cut.
	Cycle []Action
}

// End is one state in which the network settles.
type End struct {
	Snapshot *state.Snapshot
	Schedule []Action // a shortest one
	States   int      // that end so: they differ in what damping remembers, or in when it was
}

// FoundTransient is a fault with the schedule after which it is there.
type FoundTransient struct {
	Kind     state.TransientKind
	Prefix   int
	At       []int
	Schedule []Action // a shortest one
}

// Action is one step of a schedule.
type Action struct {
	Kind ActionKind
	On   int32 // Deliver: the direction, twice the bundle and 1 more from its B; Decide: the device
}

// ActionKind says what an Action does.
type ActionKind uint8

// The kinds of Action.
const (
	Deliver ActionKind = iota // the next message of a direction arrives
	Decide                    // a device with input decides
	Wait                      // nothing is on its way: time goes to the next timer
)

// Text is a schedule in words.
func (x *Exploration) Text(schedule []Action) string {
	var list []string
	ix := x.Topology.Index()
	for _, a := range schedule {
		switch a.Kind {
		case Deliver:
			ends := ix.Ends[a.On/2]
			list = append(list, fmt.Sprintf("%s hears %s", x.Topology.Devices[ends[1-a.On%2]].Name, x.Topology.Devices[ends[a.On%2]].Name))
		case Decide:
			list = append(list, x.Topology.Devices[a.On].Name+" decides")
		default:
			list = append(list, "a timer is due")
		}
	}
	return strings.Join(list, "; ")
}

// Explore searches breadth first, so that every schedule it gives is a shortest one.
// It keeps no copy of a network: for each action it makes a new one and takes the
// actions that lead there again, so its cost grows with the length of schedules.
func (x *Exploration) Explore(ctx context.Context) (*Explored, error) {
	if len(x.Changes) == 0 {
		return nil, errors.New("exploration: no changes: want at least one")
	}
	s := &search{x: x, found: &Explored{}, known: map[uint64]int{}, ends: map[uint64]int{}, faults: map[string]bool{}}
	if err := s.run(ctx, cmp.Or(x.States, DefaultStates)); err != nil {
		return nil, err
	}
	s.found.States, s.found.Cycle = len(s.nodes), s.cycle()
	slices.SortStableFunc(s.found.Transients, func(a, b FoundTransient) int {
		return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Kind, b.Kind), slices.Compare(a.At, b.At))
	})
	return s.found, nil
}

// Replay brings the network to where a schedule leads.
func (x *Exploration) Replay(schedule []Action) (*Engine, error) {
	e, _, err := x.replay(schedule)
	return e, err
}

// replay is where a cheap copy of an engine would take the place of doing it again.
func (x *Exploration) replay(schedule []Action) (*Engine, *script, error) {
	e, s, err := x.start()
	if err != nil {
		return nil, nil, err
	}
	for i, a := range schedule {
		if err := s.take(a); err != nil {
			return nil, nil, fmt.Errorf("action %d: %w", i+1, err)
		}
	}
	return e, s, nil
}

// start makes a settled network to which the changes have just been made, and
// which a script drives from then on.
func (x *Exploration) start() (*Engine, *script, error) {
	opts := x.Options
	opts.Schedule = Schedule{Mode: Rounds, Budget: x.Schedule.Budget}
	e, err := New(opts)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	if err := errors.Join(e.Start(ctx), e.Originate()); err != nil {
		return nil, nil, err
	}
	if err := e.settle(ctx); err != nil {
		return nil, nil, err
	}
	for _, changes := range x.Before {
		if err := e.Apply(ctx, changes); err != nil {
			return nil, nil, err
		}
		if err := e.settle(ctx); err != nil {
			return nil, nil, err
		}
	}
	s := &script{*newRandom(common{e: e}, rand.New(rand.NewPCG(0, 0)))}
	e.schedule = s
	e.Watch()
	if err := e.Apply(ctx, x.Changes); err != nil {
		return nil, nil, err
	}
	s.hearEnds()
	return e, s, nil
}

// settle lets the network get quiet, and its timers with it.
func (e *Engine) settle(ctx context.Context) error {
	for {
		if err := e.Quiet(ctx); err != nil || e.Next() == damping.Never {
			return err
		}
		e.Advance(e.Next())
	}
}

// script is a schedule that does what it is told to.
type script struct{ random }

// choices are the actions that are possible now, in an order that repeats.
func (s *script) choices(to []Action) []Action {
	for d := range s.e.devices {
		if s.e.ready(d) {
			to = append(to, Action{Decide, int32(d)})
		}
	}
	for _, dir := range slices.Sorted(slices.Values(s.busy)) {
		to = append(to, Action{Deliver, dir})
	}
	if len(to) == 0 && s.e.Next() != damping.Never {
		to = append(to, Action{Kind: Wait})
	}
	return to
}

func (s *script) take(a Action) error {
	switch a.Kind {
	case Deliver:
		i := slices.Index(s.busy, a.On)
		if i < 0 {
			return fmt.Errorf("direction %d: nothing is on its way", a.On)
		}
		s.deliverOne(i)
	case Decide:
		if a.On < 0 || int(a.On) >= len(s.e.devices) || !s.e.ready(int(a.On)) {
			return fmt.Errorf("device %d: it has nothing to decide on", a.On)
		}
		if err := s.decide(int(a.On)); err != nil {
			return err
		}
	default:
		s.e.Advance(s.e.Next())
	}
	s.hearEnds()
	return nil
}

// search is one walk over states.
type search struct {
	x      *Exploration
	found  *Explored
	nodes  []node
	known  map[uint64]int // by state: its node
	ends   map[uint64]int // entry in found.Ends
	faults map[string]bool
}

// node is a state that was visited.
type node struct {
	parent int // -1 = the beginning
	by     Action
	left   []Action // that are to be taken from it
	to     []int    // where those lead
}

// schedule is the shortest way to a node.
func (s *search) schedule(n int) (list []Action) {
	for ; s.nodes[n].parent >= 0; n = s.nodes[n].parent {
		list = append(list, s.nodes[n].by)
	}
	slices.Reverse(list)
	return list
}

func (s *search) run(ctx context.Context, most int) error {
	e, script, err := s.x.start()
	if err != nil {
		return err
	}
	s.visit(e, script, -1, Action{})
	for n := 0; n < len(s.nodes); n++ {
		way := s.schedule(n)
		for _, a := range s.nodes[n].left {
			if len(s.nodes) >= most {
				s.found.Cut = true
				return nil
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			e, script, err := s.x.replay(append(slices.Clip(way), a))
			if err != nil {
				return err
			}
			s.found.Actions++
			to := s.visit(e, script, n, a)
			s.nodes[n].to = append(s.nodes[n].to, to)
		}
	}
	return nil
}

// visit looks at the state to which an action has led, and gives its node.
func (s *search) visit(e *Engine, script *script, parent int, by Action) int {
	state := hash(e.whole())
	state.add(uint64(e.now))
	if n, ok := s.known[uint64(state)]; ok {
		return n
	}
	n := len(s.nodes)
	s.known[uint64(state)] = n
	left := script.choices(nil)
	s.nodes = append(s.nodes, node{parent: parent, by: by, left: left})
	s.look(e, n)
	if len(left) == 0 {
		s.end(e, n)
	}
	if s.x.Reduce {
		s.nodes[n].left = reduced(e, script, left)
	}
	return n
}

// reduced leaves all but one action out where its order with the others cannot
// matter: a message for a device with one session, which has nothing to decide on,
// is delivered first. Nothing else can let the device decide before, and how much
// it hears before it does stays open.
func reduced(e *Engine, script *script, choices []Action) []Action {
	for _, a := range choices {
		if a.Kind != Deliver {
			continue
		}
		to := e.index.Ends[a.On/2][1-a.On%2]
		if !e.ready(to) && len(e.devices[to].links) == 1 {
			return []Action{a}
		}
	}
	return choices
}

// look notes the faults that are there for the first time.
func (s *search) look(e *Engine, n int) {
	for p, list := range e.watch.open {
		for i := range list {
			f := &list[i]
			if key := fmt.Sprint(p, f.kind, f.at); !s.faults[key] {
				s.faults[key] = true
				s.found.Transients = append(s.found.Transients, FoundTransient{Kind: f.kind, Prefix: p, At: f.at, Schedule: s.schedule(n)})
			}
		}
	}
}

// end notes an end. Two are the same where speakers and hardware hold the same,
// whatever their damping remembers.
func (s *search) end(e *Engine, n int) {
	key := e.forwarding()
	at, ok := s.ends[key]
	if !ok {
		at = len(s.found.Ends)
		s.ends[key] = at
		s.found.Ends = append(s.found.Ends, End{Snapshot: e.Snapshot(), Schedule: s.schedule(n)})
	}
	s.found.Ends[at].States++
}

// cycle is a schedule that comes back to a state that it has passed, or nil. It
// walks depth first over what is known.
func (s *search) cycle() []Action {
	const fresh, onTrail, done = 0, 1, 2
	state := make([]uint8, len(s.nodes))
	taken := make([]int, len(s.nodes)) // of node.to
	for trail := []int{0}; len(trail) > 0; {
		n := trail[len(trail)-1]
		state[n] = onTrail
		if taken[n] == len(s.nodes[n].to) {
			state[n] = done
			trail = trail[:len(trail)-1]
			continue
		}
		next := s.nodes[n].to[taken[n]]
		taken[n]++
		switch state[next] {
		case fresh:
			trail = append(trail, next)
		case onTrail:
			var list []Action
			for _, x := range trail {
				list = append(list, s.nodes[x].left[taken[x]-1])
			}
			return list
		}
	}
	return nil
}

var _ schedule = (*script)(nil)
