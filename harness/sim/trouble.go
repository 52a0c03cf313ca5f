package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// Oscillation is the state.ErrNoConvergence of a network that comes back to a
// state it had before, while nothing happens to it.
type Oscillation struct {
	Turns    int           // rounds, decisions or timers in one cycle
	Unit     string        // which of them: "rounds", "decisions" or "timers"
	Messages int           // NLRI that one cycle sends
	Lasts    time.Duration // virtual time that one cycle takes
	Seen     int           // how often the cycle was seen, one after another
	Devices  []string      // that tell something else in the cycle, in topology order
	Prefixes []string      // of which they do
	// Chance means that some order of messages repeats the cycle, and the seeded
	// one might leave it: it did not within the budget.
	Chance bool
}

// Unwrap is state.ErrNoConvergence.
func (o *Oscillation) Unwrap() error { return state.ErrNoConvergence }

func (o *Oscillation) Error() string {
	how := "it repeats itself"
	if o.Chance {
		how = "it has come back to a state that it had before, and got quiet in no other way, "
	}
	text := fmt.Sprintf("%v: the network oscillates: %s every %d %s and %d messages", state.ErrNoConvergence, how, o.Turns, o.Unit, o.Messages)
	if o.Lasts > 0 {
		text += fmt.Sprintf(", %v", o.Lasts)
	}
	return text + fmt.Sprintf(", and nothing else happens: %s: of %s", few(o.Devices), few(o.Prefixes))
}

// Overrun is the state.ErrNoConvergence of a network that did not get quiet
// within its budget, and no cycle was found.
type Overrun struct {
	Spent   int    // messages and decisions since the last quiet; in Rounds, rounds
	Unit    string // of Spent
	Busiest []Talker
}

// Talker is a device with the NLRI that it has sent since the last quiet.
type Talker struct {
	Device string
	NLRI   int
}

// Unwrap is state.ErrNoConvergence.
func (o *Overrun) Unwrap() error { return state.ErrNoConvergence }

func (o *Overrun) Error() string {
	var list []string
	for _, t := range o.Busiest {
		list = append(list, fmt.Sprintf("%s (%d)", t.Device, t.NLRI))
	}
	return fmt.Sprintf("%v: not quiet after %d %s: still talking, with the NLRI that they sent: %s",
		state.ErrNoConvergence, o.Spent, o.Unit, strings.Join(list, ", "))
}

// How long it takes until a network is suspected.
const (
	maxRounds     = 1000 // news crosses a network in as many rounds as it has hops
	suspectRounds = 200
	suspectTimers = 1000 // that were due one after another, and no event between
	// sureAfter is how often a cycle must be seen where a damping's memory, which
	// the digest has not, may still end it.
	sureAfter = 100
)

// budget is how many messages and decisions a network may take to get quiet.
func (e *Engine) budget() int {
	const perPlace, least = 200, 100_000
	return cmp.Or(e.opts.Schedule.Budget, least+perPlace*(len(e.sessions)+len(e.devices))*max(e.prefixes, 1))
}

// trouble watches one quiet being reached.
type trouble struct {
	e      *Engine
	cycle  *cycle
	spent  int
	most   int
	from   int   // what is spent when states begin to be remembered
	sure   int   // how often a cycle must be seen; 0 = it never suffices
	talk   []int // before
	chance *Oscillation
	state  func() uint64
	unit   string
	spends string
}

func newTrouble(e *Engine) *trouble {
	t := &trouble{e: e, most: e.budget(), unit: "decisions", spends: "messages and decisions", state: e.whole}
	t.talk = slices.Clone(e.talk)
	t.from = t.most / 2
	switch e.opts.Schedule.Mode {
	case Timed:
		t.state, t.sure = e.digest, sureAfter
	case Random:
	default:
		t.most, t.from, t.sure, t.unit, t.spends = cmp.Or(e.opts.Schedule.Budget, maxRounds), suspectRounds, 1, "rounds", "rounds"
	}
	return t
}

// after is called after every message and every turn.
func (t *trouble) after(turn bool) error {
	if t.spent++; t.spent >= t.most {
		if t.chance != nil {
			return t.chance
		}
		return t.overrun()
	}
	if !turn || t.spent < t.from {
		return nil
	}
	if t.cycle == nil {
		t.cycle = &cycle{e: t.e, unit: t.unit, state: t.state}
		if t.sure == 0 {
			t.cycle.past = map[uint64]mark{}
		}
	}
	switch o := t.cycle.turn(); {
	case o == nil:
	case t.sure == 0:
		if t.chance == nil || o.Turns < t.chance.Turns {
			t.chance, o.Chance = o, true
		}
	case o.Seen >= t.sure:
		return o
	}
	return nil
}

func (t *trouble) overrun() error {
	const most = 10
	o := &Overrun{Spent: t.spent, Unit: t.spends}
	sent := make([]int, len(t.e.devices))
	for dir, n := range t.e.talk {
		sent[t.e.index.Ends[dir/2][dir%2]] += n - t.talk[dir]
	}
	for d, n := range sent {
		if n > 0 {
			o.Busiest = append(o.Busiest, Talker{t.e.topology.Devices[d].Name, n})
		}
	}
	slices.SortStableFunc(o.Busiest, func(a, b Talker) int { return cmp.Compare(b.NLRI, a.NLRI) })
	o.Busiest = o.Busiest[:min(len(o.Busiest), most)]
	return o
}

// settles tells whether timers alone, with no event between, go round and round.
func (e *Engine) settles() error {
	if e.Next() == damping.Never {
		e.settling = nil
		return nil
	}
	if e.settling == nil {
		e.settling = &cycle{e: e, unit: "timers", state: e.digest}
	}
	if e.settling.turns++; e.settling.turns < suspectTimers {
		return nil
	}
	if o := e.settling.turn(); o != nil && o.Seen >= sureAfter {
		return o
	}
	return nil
}

// cycle remembers one state at a time, each twice as long as the one before
// (R. P. Brent, 1980), so that any cycle is found without a list of states.
type cycle struct {
	e       *Engine
	unit    string
	state   func() uint64
	ref     uint64
	turns   int
	since   int // turns since ref
	room    int // turns after which ref is another
	seen    int
	at      time.Duration // of ref, or of its last repeat
	updates int

	past map[uint64]mark // all states, where chance brings them back; nil = ref suffices
	all  int             // turns
}

// mark is when a state was there.
type mark struct{ turns, updates int }

// again is turn where chance decides what is next: a state that comes back shows
// that it can, and who was told otherwise since the first look.
func (c *cycle) again(now uint64) *Oscillation {
	if c.all++; c.all == 1 {
		c.e.changes = &changes{}
	}
	m, ok := c.past[now]
	c.past[now] = mark{c.all, c.e.counters.NLRI()}
	if !ok || c.e.counters.NLRI() == m.updates {
		return nil
	}
	o := &Oscillation{Turns: c.all - m.turns, Unit: c.unit, Messages: c.e.counters.NLRI() - m.updates, Seen: 1}
	o.Devices, o.Prefixes = c.e.changes.names(c.e)
	return o
}

// turn gives the cycle that has closed just now, or nil.
func (c *cycle) turn() *Oscillation {
	now := c.state()
	if c.past != nil {
		return c.again(now)
	}
	if c.room == 0 {
		c.mark(now, 1)
		return nil
	}
	c.since++
	if now == c.ref {
		c.seen++
		o := &Oscillation{
			Turns: c.since, Unit: c.unit, Messages: c.e.counters.NLRI() - c.updates, Lasts: c.e.now - c.at, Seen: c.seen,
		}
		o.Devices, o.Prefixes = c.e.changes.names(c.e)
		c.since, c.at, c.updates = 0, c.e.now, c.e.counters.NLRI()
		c.e.changes = &changes{}
		return o
	}
	if c.since >= c.room {
		c.mark(now, 2*c.room)
	}
	return nil
}

func (c *cycle) mark(now uint64, room int) {
	c.ref, c.room, c.since, c.seen, c.at, c.updates = now, room, 0, 0, c.e.now, c.e.counters.NLRI()
	c.e.changes = &changes{}
}

// changes are the devices and prefixes that were told otherwise.
type changes struct{ devices, prefixes []int }

// add does nothing where nobody wants to know.
func (c *changes) add(d int, p int32) {
	if c == nil {
		return
	}
	if !slices.Contains(c.devices, d) {
		c.devices = append(c.devices, d)
	}
	if !slices.Contains(c.prefixes, int(p)) {
		c.prefixes = append(c.prefixes, int(p))
	}
}

func (c *changes) names(e *Engine) (devices, prefixes []string) {
	if c == nil {
		return nil, nil
	}
	for _, d := range slices.Sorted(slices.Values(c.devices)) {
		devices = append(devices, e.topology.Devices[d].Name)
	}
	for _, p := range slices.Sorted(slices.Values(c.prefixes)) {
		prefixes = append(prefixes, e.topology.Prefixes[p].Prefix.String())
	}
	return devices, prefixes
}
