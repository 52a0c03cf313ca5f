package sim

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// maxMessages is how many deliveries and steps per session and prefix count as
// never getting quiet.
const maxMessages = 1000

func (e *Engine) budget() int {
	return maxMessages * (len(e.sessions) + len(e.devices)) * max(e.prefixes, 1)
}

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
	for range s.e.budget() {
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
		if i < len(s.busy) {
			s.deliverOne(i)
			continue
		}
		s.e.rounds++
		d := s.ready[i-len(s.busy)]
		s.e.freeze(d)
		if err := s.e.step(d); err != nil {
			return err
		}
		s.afterSteps()
		if s.e.onRound != nil {
			s.e.onRound()
		}
	}
	return fmt.Errorf("%w: not quiet after %d messages and decisions: still talking: %s", state.ErrNoConvergence, s.e.budget(), s.e.names(s.ready))
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

// timed is a queue of what happens when.
type timed struct {
	common
	rng     *rand.Rand
	params  Schedule
	events  events
	number  int             // of the last event: equal times are heard in the order in which they were made
	arrival []time.Duration // by direction: of the last message, which none overtakes
	life    []int           // by bundle: sessions so far, so that what was on its way over an old one is lost
	decides []time.Duration // by device: when it does, or Never
}

// happening is a message that arrives, or a device that decides.
type happening struct {
	at      time.Duration
	number  int
	device  int // that decides; -1 = a message arrives
	life    int
	message message
}

func newTimed(c common, params Schedule, rng *rand.Rand) *timed {
	s := &timed{
		common: c, rng: rng, params: params, arrival: make([]time.Duration, 2*len(c.e.topology.Bundles)),
		life: make([]int, len(c.e.topology.Bundles)), decides: make([]time.Duration, len(c.e.topology.Devices)),
	}
	for d := range s.decides {
		s.decides[d] = damping.Never
	}
	return s
}

func (s *timed) push(h happening) {
	s.number++
	h.number = s.number
	heap.Push(&s.events, h)
}

func (s *timed) send(m message) {
	at := s.e.now + s.e.topology.Bundles[m.dir/2].Delay() + s.params.Processing
	if s.params.Jitter > 0 {
		at += time.Duration(s.rng.Int64N(int64(s.params.Jitter)))
	}
	at = max(at, s.arrival[m.dir])
	s.arrival[m.dir] = at
	s.push(happening{at: at, device: -1, life: s.life[m.dir/2], message: m})
}

func (s *timed) drop(bundle int32) {
	s.life[bundle]++
	s.arrival[2*bundle], s.arrival[2*bundle+1] = 0, 0
}

// plan makes a device that has input decide when its batch is over, and one whose
// timer is due at once.
func (s *timed) plan(d int) {
	dev := &s.e.devices[d]
	at := dev.core.Next()
	if len(dev.inbox) > 0 {
		at = min(at, s.e.now+s.e.settings[d].RIBBatch)
	}
	if at = max(at, s.e.now); at < s.decides[d] && (len(dev.inbox) > 0 || at <= s.e.now) {
		s.decides[d] = at
		s.push(happening{at: at, device: d})
	}
}

func (s *timed) quiet(ctx context.Context) error {
	s.hearEnds()
	for d := range s.e.devices {
		s.plan(d)
	}
	for range s.e.budget() {
		if len(s.events) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		// A damping timer may be due before the next message.
		if next := s.e.Next(); next < s.events[0].at {
			s.e.now = max(s.e.now, next)
			for d := range s.e.devices {
				s.plan(d)
			}
			continue
		}
		h := heap.Pop(&s.events).(happening)
		s.e.now = max(s.e.now, h.at)
		if err := s.happen(h); err != nil {
			return err
		}
	}
	var busy []int
	for _, h := range s.events {
		busy = append(busy, max(h.device, s.e.index.Ends[h.message.dir/2][h.message.dir%2]))
	}
	return fmt.Errorf("%w: not quiet after %d messages and decisions: still talking: %s", state.ErrNoConvergence, s.e.budget(), s.e.names(busy))
}

func (s *timed) happen(h happening) error {
	if h.device < 0 {
		if b := h.message.dir / 2; h.life == s.life[b] {
			s.e.deliver(&h.message)
			s.plan(s.e.index.Ends[b][1-h.message.dir%2])
		}
		return nil
	}
	if s.decides[h.device] != h.at {
		return nil // it decided sooner
	}
	s.decides[h.device] = damping.Never
	s.e.rounds++
	s.e.freeze(h.device)
	if err := s.e.step(h.device); err != nil {
		return err
	}
	s.afterSteps()
	s.hearEnds()
	for _, l := range s.e.devices[h.device].links {
		s.plan(int(l.peer))
	}
	if s.e.onRound != nil {
		s.e.onRound()
	}
	return nil
}

// events is a heap by time, and by number among equals.
type events []happening

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].number, q[j].number)) < 0
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *events) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
