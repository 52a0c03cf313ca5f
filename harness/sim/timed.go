package sim

import (
	"cmp"
	"container/heap"
	"context"
	"math/rand/v2"
	"time"

	"github.com/bagrig/bagrig/damping"
)

// timed is a queue of what happens when: messages that arrive and devices whose
// batch is over. Virtual time moves while it gets quiet, so that a core's timers
// can be due between two messages.
type timed struct {
	common
	rng     *rand.Rand
	params  Schedule
	events  events
	timers  events          // of cores; one that has moved since is passed over
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
// timer is due at once, whatever waits for the batch included.
func (s *timed) plan(d int) {
	dev := &s.e.devices[d]
	if dev.away {
		return
	}
	at := damping.Never
	if len(dev.inbox) > 0 {
		at = s.e.now + s.e.settings[d].RIBBatch
	}
	if dev.core.Next() <= s.e.now {
		at = s.e.now
	}
	if at < s.decides[d] {
		s.decides[d] = at
		s.push(happening{at: at, device: d})
	}
}

// watchTimer remembers when a device's core wants to be stepped.
func (s *timed) watchTimer(d int) {
	if next := s.e.timer(d); next != damping.Never {
		heap.Push(&s.timers, happening{at: next, number: d, device: d})
	}
}

// timer is the first timer that is still set, or Never.
func (s *timed) timer() time.Duration {
	for len(s.timers) > 0 && s.e.timer(s.timers[0].device) != s.timers[0].at {
		heap.Pop(&s.timers)
	}
	if len(s.timers) == 0 {
		return damping.Never
	}
	return s.timers[0].at
}

// under tells whether anything is on its way: a message, or a decision.
func (s *timed) under() bool {
	for len(s.events) > 0 && s.stale(&s.events[0]) {
		heap.Pop(&s.events)
	}
	return len(s.events) > 0
}

// stale tells whether a message is lost with its session, or a device has decided
// sooner.
func (s *timed) stale(h *happening) bool {
	if h.device < 0 {
		return h.life != s.life[h.message.dir/2]
	}
	return s.decides[h.device] != h.at || s.e.devices[h.device].away
}

func (s *timed) quiet(ctx context.Context) error {
	s.hearEnds()
	s.timers = s.timers[:0]
	for d := range s.e.devices {
		if s.e.devices[d].away {
			s.decides[d] = damping.Never
		}
		s.plan(d)
		s.watchTimer(d)
	}
	for trouble := newTrouble(s.e); ; {
		timer, at := s.timer(), damping.Never
		if s.under() {
			at = s.events[0].at
		} else if timer > s.e.now {
			return nil
		}
		if first := min(timer, at); first >= s.e.until && first > s.e.now {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if timer < at {
			s.e.now = max(s.e.now, timer)
			s.plan(s.timers[0].device)
			heap.Pop(&s.timers)
			continue
		}
		h := heap.Pop(&s.events).(happening)
		s.e.now = max(s.e.now, h.at)
		if err := s.happen(h); err != nil {
			return err
		}
		if err := trouble.after(h.device >= 0); err != nil {
			return err
		}
	}
}

func (s *timed) happen(h happening) error {
	if h.device < 0 {
		s.e.deliver(&h.message)
		s.plan(s.e.index.Ends[h.message.dir/2][1-h.message.dir%2])
		return nil
	}
	s.decides[h.device] = damping.Never
	s.e.rounds++
	s.e.freeze(h.device)
	if err := s.e.step(h.device); err != nil {
		return err
	}
	s.afterSteps()
	s.hearEnds()
	s.plan(h.device) // it may have ended a session of its own
	s.watchTimer(h.device)
	for _, l := range s.e.devices[h.device].links {
		s.plan(int(l.peer))
	}
	if s.e.onRound != nil {
		s.e.onRound()
	}
	return nil
}

// waiting calls see for every message on its way, in the order of arrival.
func (s *timed) waiting(see func(m *message, in time.Duration)) {
	sorted := append(events{}, s.events...)
	for len(sorted) > 0 {
		h := heap.Pop(&sorted).(happening)
		if h.device < 0 && !s.stale(&h) {
			see(&h.message, h.at-s.e.now)
		}
	}
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
	old[len(old)-1] = happening{}
	*q = old[:len(old)-1]
	return x
}
