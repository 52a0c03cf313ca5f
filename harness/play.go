package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// Play does events to the network, each when the one before is settled unless
// it says when, and returns what each did. The rows of finished events are
// returned with an error too.
func (r *Rig) Play(ctx context.Context, events ...state.Event) ([]state.Row, error) {
	var rows []state.Row
	for len(events) > 0 {
		w := &window{rig: r, queue: events}
		err := guarded(func() error { return w.play(ctx) })
		rows = append(rows, w.rows...)
		if err != nil {
			return rows, err
		}
		events = w.queue
	}
	return rows, nil
}

// window plays the events from one settled moment to the next.
type window struct {
	rig    *Rig
	queue  []state.Event
	rows   []state.Row
	line   []timedChange // ascending by time
	public state.Window
	row    *openRow
}

type timedChange struct {
	at     time.Duration
	change state.Change
}

// openRow is the row of the event that started last.
type openRow struct {
	row      state.Row
	counters state.Counters // when it started
	ends     []int          // devices at the bundles that it changes
	told     map[[2]int]bool
	sets     map[[2]int]bool
	truth    bool // a true state changed
	log      []state.NLRI
	quiet    bool // has been quiet since it started
	started  time.Time
}

func (w *window) play(ctx context.Context) error {
	r := w.rig
	if at := w.queue[0].At; at != state.NotTimed {
		r.engine.Advance(r.epoch + at)
	}
	w.public = state.Window{Start: r.Now(), Before: r.judge.damped, Effect: state.NoEffect}
	for {
		if err := w.openDue(); err != nil {
			return err
		}
		if err := w.applyDue(ctx); err != nil {
			return err
		}
		next := w.next()
		if next == damping.Never {
			break
		}
		r.look(nil, false)
		r.engine.Advance(next)
	}
	w.closeRow()
	for _, row := range w.rows {
		if row.Effect == state.NoEffect && !row.Event.Silent {
			return fmt.Errorf("event %d, %v: %w: say `silent: true` if that is meant", row.Index+1, row.Event, ErrNoEffect)
		}
	}
	r.look(&w.public, true)
	return nil
}

// openDue starts the events whose time has come: the first one, and timed ones.
func (w *window) openDue() error {
	r := w.rig
	for len(w.queue) > 0 {
		e := w.queue[0]
		if w.row != nil && (e.At == state.NotTimed || r.epoch+e.At > r.engine.Now()) {
			return nil
		}
		w.closeRow()
		w.queue = w.queue[1:]
		changes, err := e.Expand(r.net.Topology, r.net.Index, r.members)
		if err != nil {
			return err
		}
		w.row = &openRow{
			row:      state.Row{Index: r.played, Event: e, Start: r.Now(), Effect: state.NoEffect},
			counters: r.engine.Counters(), told: map[[2]int]bool{}, sets: map[[2]int]bool{}, started: time.Now(),
		}
		r.played++
		for _, c := range changes {
			w.line = append(w.line, timedChange{r.engine.Now() + c.After, c.Change})
			w.row.ends = append(w.row.ends, r.endsOf(c.Change)...)
		}
		slices.SortStableFunc(w.line, func(a, b timedChange) int { return int(a.at - b.at) })
		w.public.Events = append(w.public.Events, e)
		r.record(state.Record{Kind: "event", Event: w.row.row.Index, Text: e.String()})
	}
	return nil
}

// applyDue makes the changes that are due, lets the network be quiet, and asks
// the graph what had to happen.
func (w *window) applyDue(ctx context.Context) error {
	r := w.rig
	due := w.takeDue()
	for _, c := range due {
		if c.Kind == state.SetMembers {
			r.members[c.Bundle] = c.Members
		}
		r.record(r.changeRecord(w.row.row.Index, c))
	}
	started := time.Now()
	if err := r.engine.Apply(ctx, due); err != nil {
		return err
	}
	if err := r.engine.Quiet(ctx); err != nil {
		return err
	}
	if !w.row.quiet {
		w.row.quiet, w.row.row.Quiet = true, time.Since(started)
	}
	damped, truth, err := r.judge.change(r.engine.Now(), due)
	if err != nil {
		return err
	}
	w.account(damped, truth)
	log := r.engine.TakeLog()
	w.row.log = append(w.row.log, log...)
	w.public.Log = append(w.public.Log, log...)
	r.snapshot = r.engine.Snapshot()
	counts := r.engine.Counters()
	r.record(state.Record{Kind: "quiet", Event: w.row.row.Index, Counts: &counts})
	return nil
}

// takeDue takes the changes that are due from the line. Of several numbers of
// members of one bundle at one moment the last counts: nobody can have seen the others.
func (w *window) takeDue() []state.Change {
	var due []state.Change
	for len(w.line) > 0 && w.line[0].at <= w.rig.engine.Now() {
		c := w.line[0].change
		w.line = w.line[1:]
		if c.Kind == state.SetMembers {
			due = slices.DeleteFunc(due, func(d state.Change) bool { return d.Kind == c.Kind && d.Bundle == c.Bundle })
		}
		due = append(due, c)
	}
	return due
}

func (w *window) account(damped []transition, truth transition) {
	row := w.row
	if truth.from != truth.to {
		for _, c := range oracle.Diff(truth.from, truth.to) {
			row.truth = row.truth || c.Bottleneck || c.Weights
		}
	}
	for _, t := range damped {
		for _, c := range oracle.Diff(t.from, t.to) {
			at := [2]int{c.Device, c.Prefix}
			if c.Told {
				row.told[at] = true
				row.row.Last = w.rig.Now() - row.row.Start
			}
			if c.Weights {
				row.sets[at] = true
			}
		}
	}
	w.public.Allowed = append(w.public.Allowed, w.rig.judge.allowed(damped)...)
}

// changeRecord is the record of a change that is made now.
func (r *Rig) changeRecord(event int, c state.Change) state.Record {
	rec := state.Record{Kind: "change", Event: event}
	switch c.Kind {
	case state.SetMembers:
		rec.Bundle, rec.Members = r.net.Topology.Bundles[c.Bundle].Name, c.Members
	case state.SetKnob:
		rec.Text = fmt.Sprintf("device %s: %s = %s", r.net.Topology.Devices[c.Device].Name, c.Knob, c.Value)
	case state.SetDrain:
		rec.Text = fmt.Sprintf("device %s: %v", r.net.Topology.Devices[c.Device].Name, c.Drain)
	default:
		rec.Bundle, rec.Text = r.net.Topology.Bundles[c.Bundle].Name, c.Kind.String()
	}
	return rec
}

// endsOf lists the devices at which a change is seen first.
func (r *Rig) endsOf(c state.Change) []int {
	switch c.Kind {
	case state.SetKnob, state.SetDrain:
		return []int{int(c.Device)}
	case state.SetMembers:
		if c.Members == r.members[c.Bundle] {
			return nil
		}
	}
	ends := r.net.Index.Ends[c.Bundle]
	return ends[:]
}

// next is the time of whatever comes first: a change, a timer, or an event.
func (w *window) next() time.Duration {
	r := w.rig
	next := min(r.engine.Next(), r.judge.next())
	if len(w.line) > 0 {
		next = min(next, w.line[0].at)
	}
	if next != damping.Never && len(w.queue) > 0 && w.queue[0].At != state.NotTimed {
		next = min(next, r.epoch+w.queue[0].At)
	}
	return next
}

// closeRow finishes the row of the event that started last, if there is one.
func (w *window) closeRow() {
	if w.row == nil {
		return
	}
	r, row := w.rig, &w.row.row
	row.Settled = r.Now() - row.Start
	row.Counters = r.engine.Counters().Sub(w.row.counters)
	row.Told, row.Sets = len(w.row.told), len(w.row.sets)
	switch {
	case row.Told > 0:
		row.Effect = state.Changed
	case w.row.truth || row.Sets > 0:
		row.Effect = state.Absorbed
	}
	if row.Effect != state.NoEffect && w.public.Effect != state.Changed {
		w.public.Effect = row.Effect
	}
	row.Blast = r.blast(w.row.ends, w.row.log)
	w.rows = append(w.rows, *row)
	r.record(state.Record{Kind: "settled", Event: row.Index, Row: row})
	w.row = nil
}

// blast counts the speakers that received an UPDATE by their hop distance from
// the nearest end of the event.
func (r *Rig) blast(ends []int, log []state.NLRI) []int {
	distance := r.distances(ends)
	touched := map[int]bool{}
	var counts []int
	for _, n := range log {
		to := r.net.Index.Ends[n.Dir.Bundle][1]
		if n.Dir.FromB {
			to = r.net.Index.Ends[n.Dir.Bundle][0]
		}
		if touched[to] {
			continue
		}
		touched[to] = true
		if distance[to] < 0 {
			continue // the event changes no bundle; an earlier one's news are still under way
		}
		for len(counts) <= distance[to] {
			counts = append(counts, 0)
		}
		counts[distance[to]]++
	}
	return counts
}

// distances is a breadth-first search over all bundles, up or down.
func (r *Rig) distances(from []int) []int {
	distance := make([]int, len(r.net.Topology.Devices))
	for i := range distance {
		distance[i] = -1
	}
	var queue []int
	for _, d := range from {
		if distance[d] < 0 {
			distance[d] = 0
			queue = append(queue, d)
		}
	}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		for _, b := range r.net.Index.Of[d] {
			for _, to := range r.net.Index.Ends[b] {
				if distance[to] < 0 {
					distance[to] = distance[d] + 1
					queue = append(queue, to)
				}
			}
		}
	}
	return distance
}
