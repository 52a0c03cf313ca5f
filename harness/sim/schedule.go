package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The modes of a Schedule.
const (
	Rounds = "rounds" // as the GoBGP engine: all that have input step at once, and messages take no time
	Random = "random" // any order across sessions, drawn from Seed; messages take no time
	Timed  = "timed"  // each message takes its way's time; a speaker with input decides when its rib-batch is over
)

// Modes are the modes of a Schedule, the default first.
func Modes() []string { return []string{Rounds, Random, Timed} }

// Schedule says when messages arrive and speakers decide. The zero value is Rounds.
type Schedule struct {
	Mode string
	Seed uint64 // Random, and Timed with Jitter
	// Timed only. A message takes the bundle's one-way delay (topologies.Bundle.Delay),
	// Processing, and a part of Jitter drawn anew for each; it never overtakes
	// another of its session.
	// A speaker reads each as if it had no other to read: none queues for it.
	Processing time.Duration
	Jitter     time.Duration
	// Budget is how many messages and decisions between two quiets count as never
	// getting quiet; in Rounds it is rounds. 0 = a number that no network that gets
	// quiet is known to need.
	Budget int
}

// DefaultProcessing is a guess of what a speaker takes to read one UPDATE and to
// write it on: no figure is published.
const DefaultProcessing = 100 * time.Microsecond

func (s Schedule) start(e *Engine) (schedule, error) {
	if s.Processing < 0 || s.Jitter < 0 || s.Budget < 0 {
		return nil, fmt.Errorf("schedule: processing %v, jitter %v and budget %d: want 0 or more", s.Processing, s.Jitter, s.Budget)
	}
	source := rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)
	rng := rand.New(source)
	base := common{e: e, source: source}
	switch s.Mode {
	case "", Rounds:
		return &rounds{common: base}, nil
	case Random:
		return newRandom(base, rng), nil
	case Timed:
		return newTimed(base, s, rng), nil
	}
	return nil, fmt.Errorf("schedule %q: want one of %q", s.Mode, Modes())
}

// schedule carries messages and lets speakers step.
type schedule interface {
	send(m message)
	drop(bundle int32) // what is on its way over a session that fell
	cease(device int, bundle int32)
	allTold(device int)
	endOfRIB(bundle int32, device int)
	quiet(ctx context.Context) error
	// waiting shows all messages that are on their way, in an order that repeats,
	// with the time that each still takes.
	waiting(see func(m *message, in time.Duration))
}

// common is what all schedules keep: what is to happen when a device's step is over.
type common struct {
	e      *Engine
	source *rand.PCG // what a schedule draws from
	ceased []cease
	told   []int
	ends   []end
}

type cease struct {
	device int
	bundle int32
}

// end is an End-of-RIB that a device is to hear.
type end struct {
	bundle int32
	device int
}

func (c *common) cease(d int, b int32)    { c.ceased = append(c.ceased, cease{d, b}) }
func (c *common) allTold(d int)           { c.told = append(c.told, d) }
func (c *common) endOfRIB(b int32, d int) { c.ends = append(c.ends, end{b, d}) }

// hearEnds sends the End-of-RIBs that are due: behind all that was told before.
func (c *common) hearEnds() {
	for _, x := range c.ends {
		dir := 2 * x.bundle
		if c.e.index.Ends[x.bundle][0] == x.device {
			dir++
		}
		if c.e.sessions[x.bundle].up {
			c.e.pass(message{dir: dir, end: true})
		}
	}
	c.ends = c.ends[:0]
}

// afterSteps notes who is to hear End-of-RIB, and lets sessions fall that a speaker
// wants ended.
func (c *common) afterSteps() {
	for _, d := range c.told {
		for _, l := range c.e.devices[d].links {
			if c.e.sessions[l.bundle].up {
				c.ends = append(c.ends, end{l.bundle, int(l.peer)})
			}
		}
	}
	c.told = c.told[:0]
	for _, x := range c.ceased {
		if c.e.sessions[x.bundle].up {
			c.e.shut(x.bundle)
			c.e.sessions[x.bundle].closedBy = int32(x.device) + 1
		}
	}
	c.ceased = c.ceased[:0]
}

// ready tells whether a device has something to decide on now.
func (e *Engine) ready(d int) bool {
	return e.timer(d) <= e.now || len(e.devices[d].inbox) > 0 && !e.devices[d].away
}

// rounds is the schedule of the GoBGP engine: at each lull the input of every
// speaker is frozen, and all that have any step once.
type rounds struct{ common }

func (s *rounds) send(m message) { s.e.deliver(&m) }

// drop has nothing to do: the core forgets what came over a session that fell.
func (s *rounds) drop(int32) {}

func (s *rounds) waiting(func(*message, time.Duration)) {}

func (s *rounds) quiet(ctx context.Context) error {
	var due []int
	trouble := newTrouble(s.e)
	for i := 0; ; i++ {
		if i > 0 && s.e.onRound != nil {
			s.e.onRound()
		}
		s.hearEnds()
		due = due[:0]
		for d := range s.e.devices {
			if s.e.ready(d) {
				due = append(due, d)
			}
		}
		if len(due) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if i > 0 {
			if err := trouble.after(true); err != nil {
				return err
			}
		}
		if err := s.round(due); err != nil {
			return err
		}
	}
}

func (s *rounds) round(due []int) error {
	s.e.rounds++
	for _, d := range due {
		s.e.freeze(d)
	}
	for _, d := range due {
		if err := s.e.step(d); err != nil {
			return err
		}
	}
	s.afterSteps()
	s.e.progress()
	return nil
}
