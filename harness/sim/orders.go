package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// random delivers one message after another, of a direction drawn among those
// that have any, or lets a speaker that has input decide.
type random struct {
	common
	rng    *rand.Rand
	queues map[int32][]message // by direction
	busy   []int32             // directions with messages
	ready  []int               // devices with input
}

func newRandom(c common, rng *rand.Rand) *random {
	return &random{common: c, rng: rng, queues: map[int32][]message{}}
}

func (s *random) send(m message) {
	if len(s.queues[m.dir]) == 0 {
		s.busy = append(s.busy, m.dir)
	}
	s.queues[m.dir] = append(s.queues[m.dir], m)
}

func (s *random) drop(bundle int32) {
	for _, dir := range []int32{2 * bundle, 2*bundle + 1} {
		if len(s.queues[dir]) > 0 {
			delete(s.queues, dir)
			s.busy = slices.DeleteFunc(s.busy, func(d int32) bool { return d == dir })
		}
	}
}

func (s *random) quiet(ctx context.Context) error {
	for trouble := newTrouble(s.e); ; {
		s.hearEnds()
		s.ready = s.ready[:0]
		for d := range s.e.devices {
			if s.e.ready(d) {
				s.ready = append(s.ready, d)
			}
		}
		n := len(s.busy) + len(s.ready)
		if n == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		i := s.rng.IntN(n)
		decides := i >= len(s.busy)
		if !decides {
			s.deliverOne(i)
		} else if err := s.decide(s.ready[i-len(s.busy)]); err != nil {
			return err
		}
		if err := trouble.after(decides); err != nil {
			return err
		}
	}
}

func (s *random) decide(d int) error {
	s.e.rounds++
	s.e.freeze(d)
	if err := s.e.step(d); err != nil {
		return err
	}
	s.afterSteps()
	if s.e.onRound != nil {
		s.e.onRound()
	}
	return nil
}

func (s *random) deliverOne(i int) {
	dir := s.busy[i]
	queue := s.queues[dir]
	s.e.deliver(&queue[0])
	if s.queues[dir] = queue[1:]; len(queue) == 1 {
		delete(s.queues, dir)
		s.busy[i] = s.busy[len(s.busy)-1]
		s.busy = s.busy[:len(s.busy)-1]
	}
}

func (s *random) waiting(see func(m *message, in time.Duration)) {
	for _, dir := range slices.Sorted(slices.Values(s.busy)) {
		for i := range s.queues[dir] {
			see(&s.queues[dir][i], 0)
		}
	}
}
