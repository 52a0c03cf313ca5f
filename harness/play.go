package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// ErrClosed means that the rig was closed before.
var ErrClosed = errors.New("the rig is closed")

// Play does events to the network, each when the one before is settled unless
// it says when, and returns what each did. The rows of finished events are
// returned with an error too.
func (r *Rig) Play(ctx context.Context, events ...state.Event) ([]state.Row, error) {
	if r.closed {
		return nil, ErrClosed
	}
	for _, e := range events {
		// The text form is the one that is checked, so an event made in Go
		// takes the same way.
		if _, err := state.ParseEvent(e.Kind, e.Fields()); err != nil {
			return nil, err
		}
		if err := r.net.Refuses(e); err != nil {
			return nil, err
		}
	}
	var rows []state.Row
	for len(events) > 0 {
		w := &window{rig: r, queue: events, bundleOwner: map[int32]*openRow{}, deviceOwner: map[int32]*openRow{}}
		err := guarded(func() error { return w.play(ctx) })
		if w.settled {
			rows = append(rows, w.finished()...)
		}
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
	rows   []*openRow
	line   []timedChange // ascending by time
	public state.Window

	settled bool
	// Who changed what last: a bundle's damping may pass the news much later.
	bundleOwner, deviceOwner map[int32]*openRow
	last                     *openRow // who caused what happened last
}

type timedChange struct {
	at     time.Duration
	change state.Change
	row    *openRow
}

// openRow is the row of an event of the window.
type openRow struct {
	row  state.Row
	ends []int // devices at which its changes are seen first
	told state.Places
	sets state.Places
	true bool // a true state changed
	lost bool // what a bundle loses unseen changed
	log  []state.NLRI
}

func (w *window) play(ctx context.Context) error {
	r := w.rig
	if at := w.queue[0].At; at != 0 {
		if r.epoch+at < r.engine.Now() {
			return &state.FieldError{Kind: w.queue[0].Kind, Field: "at", Value: at.String(), Want: fmt.Sprintf("the network is settled only at %v", r.Now())}
		}
		r.advance(r.epoch + at)
	}
	w.public = state.Window{Start: r.Now(), Before: r.judge.damped, Own: map[int]int{}, Falls: map[int32][]int{}, Effect: state.NoEffect}
	counters := r.engine.Counters()
	r.sumUntil(r.engine.Now())
	r.lost.begin()
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
		r.advance(next)
	}
	w.settled, w.public.Lasted = true, r.Now()-w.public.Start
	if r.transients != nil {
		w.public.Transients, w.public.Watched = r.transients.List(), true
		r.transients.Forget()
		w.recordTransients()
	}
	for _, row := range w.finished() {
		if row.Effect == state.NoEffect && !row.Event.Silent && row.Event.Kind != "restart" {
			return fmt.Errorf("event %d, %v: %w: say `silent: true` if that is meant", row.Index+1, row.Event, ErrNoEffect)
		}
		if row.Effect != state.NoEffect && w.public.Effect != state.Changed {
			w.public.Effect = row.Effect
		}
		r.record(state.Record{Kind: "settled", Event: row.Index, Row: &row})
	}
	r.windows = append(r.windows, w.row(counters))
	r.look(&w.public, true)
	return nil
}

// recordedTransients bounds the records of one window; the check counts all.
const recordedTransients = 1000

// recordTransients records the black holes and loops of the window, in virtual time
// since the baseline.
func (w *window) recordTransients() {
	r := w.rig
	for _, t := range w.public.Transients[:min(recordedTransients, len(w.public.Transients))] {
		t.From, t.Until = t.From-r.epoch, t.Until-r.epoch
		r.record(state.Record{Kind: "transient", Event: w.last.row.Index, Text: t.Text(r.net)})
	}
}

// row is what the window did.
func (w *window) row(before state.Counters) state.WindowRow {
	r, first := w.rig, w.rows[0].row.Index
	var ends []int
	for _, o := range w.rows {
		ends = append(ends, o.ends...)
	}
	return state.WindowRow{
		First: first, Last: first + len(w.rows) - 1, Start: w.public.Start, Settled: w.public.Lasted,
		Counters: r.engine.Counters().Sub(before), Blast: r.blast(ends, w.public.Log), Lost: r.lost.window,
	}
}

// openDue starts the events whose time has come: the first one, and timed ones.
func (w *window) openDue() error {
	r := w.rig
	for len(w.queue) > 0 {
		e := w.queue[0]
		if len(w.rows) > 0 && (e.At == 0 || r.epoch+e.At > r.engine.Now()) {
			return nil
		}
		w.queue = w.queue[1:]
		changes, err := e.Expand(r.net.Topology, r.net.Index, r.members, r.failing)
		if err == nil {
			err = r.mayRestart(e, changes)
		}
		if err != nil {
			return err
		}
		row := &openRow{
			row:  state.Row{Index: r.played, Event: e, Start: r.Now(), Effect: state.NoEffect},
			told: r.places(), sets: r.places(),
		}
		r.played++
		r.engine.Mark(r.mark())
		w.rows, w.last = append(w.rows, row), row
		for _, c := range changes {
			w.schedule(timedChange{r.engine.Now() + c.After, c.Change, row})
			row.ends = append(row.ends, r.endsOf(c.Change)...)
		}
		w.public.Events = append(w.public.Events, e)
		r.record(state.Record{Kind: "event", Event: row.row.Index, Text: e.String()})
	}
	return nil
}

// applyDue makes the changes that are due, lets the network be quiet, and asks
// the graph what had to happen.
func (w *window) applyDue(ctx context.Context) error {
	r := w.rig
	r.engine.OnRound(w.roundWatch())
	defer r.engine.OnRound(nil)
	counters, started, start := r.engine.Counters(), time.Now(), r.engine.Now()
	changes, causes, heard, err := w.makeQuiet(ctx)
	if err != nil {
		return err
	}
	took := time.Since(started)
	if r.opts.Engine == Sim {
		took = 0 // its messages take virtual time or none, and its record repeats to the byte
	}
	before := r.judge.damped
	damped, truth, err := r.judge.conclude(heard, r.snapshot)
	if err != nil {
		return err
	}
	r.misTold.converged(r.net, before, r.judge.truth, r.engine.Now()-start)
	r.summed = r.engine.Now()
	for _, t := range damped {
		causes = append(causes, w.account(t))
	}
	w.happened(changes, heard.transitions)
	w.public.Allowed = append(w.public.Allowed, r.judge.allowed(damped)...)
	log := r.engine.TakeLog()
	w.public.Log = append(w.public.Log, log...)
	w.charge(causes, truth, r.engine.Counters().Sub(counters), log, took)
	counts := r.engine.Counters()
	r.record(state.Record{Kind: "quiet", Event: w.last.row.Index, Counts: &counts})
	return nil
}

// makeQuiet makes the changes that are due and lets the network be quiet. Where time
// passes meanwhile, whatever comes due is made when it is, on a network that is not
// quiet yet; all of it is then one moment.
func (w *window) makeQuiet(ctx context.Context) (changes []state.Change, causes []*openRow, heard moment, err error) {
	r := w.rig
	for {
		from := r.engine.Now()
		made, by, m, err := w.applyNow(ctx)
		if err != nil {
			return nil, nil, heard, err
		}
		changes, causes, heard = append(changes, made...), append(causes, by...), heard.then(m)
		busy, err := r.quietUntil(ctx, w.comes())
		if err != nil {
			return nil, nil, heard, err
		}
		r.snapshot = r.engine.Snapshot()
		r.lost.see(r.snapshot, from-r.epoch)
		if !busy {
			r.lost.add(r.engine.Now() - from)
			return changes, causes, heard, nil
		}
		r.engine.Advance(w.comes())
		r.lost.add(r.engine.Now() - from)
		if err := w.openDue(); err != nil {
			return nil, nil, heard, err
		}
	}
}

// applyNow makes the changes that are due at this moment.
func (w *window) applyNow(ctx context.Context) (changes []state.Change, causes []*openRow, heard moment, err error) {
	r := w.rig
	for _, due := range w.takeDue() {
		if !w.settleFailure(&due) {
			continue
		}
		changes = append(changes, due.change)
		causes = append(causes, due.row)
		w.own(due)
	}
	heard, noticed, err := r.judge.hear(r.engine.Now(), changes)
	if err != nil {
		return nil, nil, heard, err
	}
	for _, c := range noticed {
		row := w.bundleOwner[c.Bundle]
		r.record(r.changeRecord(row.row.Index, c))
		causes = append(causes, row)
	}
	all := slices.Concat(changes, noticed)
	w.fall(all)
	return changes, causes, heard, r.engine.Apply(ctx, restartsLast(all))
}

// restartsLast lets a speaker that starts again know what becomes of its bundles at
// the same moment: it waits for no neighbour whose session does not come back.
func restartsLast(changes []state.Change) []state.Change {
	first := slices.IndexFunc(changes, func(c state.Change) bool { return c.Kind == state.StartAgain })
	if first < 0 {
		return changes
	}
	late := func(c state.Change) int {
		switch c.Kind {
		case state.SetMembers, state.Fail, state.Notice:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(changes[first:], func(a, b state.Change) int { return cmp.Compare(late(a), late(b)) })
	return changes
}

// comes is when the next thing happens that is not the speakers' own: a change, a
// timer of the bundles' damping, or an event with a time.
func (w *window) comes() time.Duration {
	r := w.rig
	next := r.judge.next()
	if len(w.line) > 0 {
		next = min(next, w.line[0].at)
	}
	if len(w.queue) > 0 && w.queue[0].At != 0 {
		next = min(next, max(r.epoch+w.queue[0].At, r.engine.Now()))
	}
	return next
}

// quietUntil lets the network be quiet, or, where the engine's time moves meanwhile,
// runs it until something comes, and then tells that it is still busy.
func (r *Rig) quietUntil(ctx context.Context, comes time.Duration) (busy bool, err error) {
	e, timed := r.engine.(interface {
		Until(at time.Duration)
		Busy() bool
	})
	if timed {
		e.Until(comes)
		defer e.Until(damping.Never)
	}
	err = r.engine.Quiet(ctx)
	return timed && e.Busy(), err
}

// fall notes the sessions that fall because of changes.
func (w *window) fall(changes []state.Change) {
	note := func(b int32) { w.public.Falls[b] = append(w.public.Falls[b], w.rig.engine.Rounds()) }
	for _, c := range changes {
		switch c.Kind {
		case state.SetMembers:
			if c.Members == 0 {
				note(c.Bundle)
			}
		case state.Notice, state.Reset:
			note(c.Bundle)
		case state.Stop:
			for _, b := range w.rig.net.Index.Of[c.Device] {
				note(int32(b))
			}
		}
	}
}

// happened counts what happened to each device itself.
func (w *window) happened(changes []state.Change, transitions []transition) {
	ends := func(bundle int) {
		for _, d := range w.rig.net.Index.Ends[bundle] {
			w.public.Own[d]++
		}
	}
	for _, t := range transitions {
		switch {
		case t.bundle >= 0:
			ends(t.bundle)
		case t.device >= 0:
			w.public.Own[t.device]++
		}
	}
	for _, c := range changes {
		switch c.Kind {
		case state.Reset, state.Release, state.Hold:
			ends(int(c.Bundle))
		case state.Stop, state.StartAgain:
			w.public.Own[int(c.Device)]++
			for _, b := range w.rig.net.Index.Of[c.Device] {
				ends(b)
			}
		}
	}
}

// roundWatch shows every round of the window to the checks that want to see
// it, or is nil where none does.
func (w *window) roundWatch() func() {
	var guards []*guard
	for _, g := range w.rig.guards {
		if _, ok := g.check.(state.RoundCheck); ok {
			guards = append(guards, g)
		}
	}
	planned := func(e state.Event) bool { return e.Kind == "drain" || e.Kind == "restart" }
	if len(guards) == 0 || !slices.ContainsFunc(w.public.Events, planned) {
		return nil // of the rules so far only drain's looks at rounds
	}
	return func() {
		m := &state.Moment{Network: w.rig.net, Snapshot: w.rig.engine.Snapshot(), Baseline: w.rig.baseline}
		for _, g := range guards {
			g.run(m.Snapshot.Time-m.Baseline.Time, "LookRound", func() { g.check.(state.RoundCheck).LookRound(m, w.public.Events) })
		}
	}
}

// settleFailure makes of a change that takes all members of a bundle what it comes
// to, and schedules when the ends notice. It is false where it comes to nothing.
func (w *window) settleFailure(due *timedChange) bool {
	r, c := w.rig, due.change
	switch {
	case c.Kind == state.Notice:
		return r.judge.bundles[c.Bundle].unseen
	case c.Kind != state.Fail && (c.Kind != state.SetMembers || c.Members > 0):
		return true
	case r.sessionless(c.Bundle):
		c = state.Change{Bundle: c.Bundle}
	}
	c, ok := r.judge.failure(c, due.row.row.Event.Kind == "down")
	due.change = c
	if ok && c.Kind == state.Fail && c.After > 0 {
		w.schedule(timedChange{r.engine.Now() + c.After, state.Change{Kind: state.Notice, Bundle: c.Bundle}, due.row})
	}
	return ok
}

// schedule puts a change into the line, behind those of its time.
func (w *window) schedule(c timedChange) {
	w.line = append(w.line, c)
	slices.SortStableFunc(w.line, func(a, b timedChange) int { return cmp.Compare(a.at, b.at) })
}

// own notes who changes what, and records the change.
func (w *window) own(due timedChange) {
	r, c := w.rig, due.change
	switch c.Kind {
	case state.SetKnob, state.SetDrain, state.Stop, state.StartAgain:
		w.deviceOwner[c.Device] = due.row
		switch c.Kind {
		case state.Stop:
			r.away[c.Device] = true
		case state.StartAgain:
			delete(r.away, c.Device)
		}
	case state.SetMembers, state.Fail:
		w.bundleOwner[c.Bundle] = due.row
		if due.row.row.Event.Domain == "" {
			r.failing.Forget(c.Bundle)
		}
		if r.members[c.Bundle] == c.Members {
			return
		}
		r.members[c.Bundle] = c.Members
	case state.SetLoss:
		if r.lost.part[c.Bundle] == c.Loss {
			return
		}
		r.lost.part[c.Bundle], due.row.lost = c.Loss, true
	default:
		w.bundleOwner[c.Bundle] = due.row
	}
	r.record(r.changeRecord(due.row.row.Index, c))
}

// takeDue takes the changes that are due from the line. Of several numbers of
// members of one bundle at one moment the last counts: nobody can have seen
// the others.
func (w *window) takeDue() []timedChange {
	var due []timedChange
	for len(w.line) > 0 && w.line[0].at <= w.rig.engine.Now() {
		next := w.line[0]
		w.line = w.line[1:]
		if b := next.change.Bundle; next.change.Kind == state.SetMembers || next.change.Kind == state.Fail {
			due = slices.DeleteFunc(due, func(d timedChange) bool {
				return d.change.Bundle == b && (d.change.Kind == state.SetMembers || d.change.Kind == state.Fail)
			})
			if next.change.Members > 0 { // nobody will notice a failure that is over
				over := func(d timedChange) bool { return d.change.Bundle == b && d.change.Kind == state.Notice }
				due, w.line = slices.DeleteFunc(due, over), slices.DeleteFunc(w.line, over)
			}
		}
		due = append(due, next)
	}
	return slices.DeleteFunc(due, func(d timedChange) bool {
		return d.change.Kind == state.Reset && slices.ContainsFunc(due, func(o timedChange) bool { return takesAll(o.change, d.change.Bundle) })
	})
}

// takesAll tells whether a change takes all members of a bundle, so that a reset of its
// session at the same moment comes to nothing.
func takesAll(c state.Change, bundle int32) bool {
	return c.Bundle == bundle && c.Members == 0 && (c.Kind == state.SetMembers || c.Kind == state.Fail)
}

// account charges one damped transition to the event that made it, and returns
// that event's row.
func (w *window) account(t transition) *openRow {
	row := w.bundleOwner[int32(t.bundle)]
	if t.bundle < 0 {
		row = w.deviceOwner[int32(t.device)]
	}
	if row == nil {
		row = w.last
	}
	for _, c := range oracle.Diff(t.from, t.to) {
		if c.Told {
			row.told.Add(c.Device, c.Prefix)
			row.row.Last = w.rig.Now() - row.row.Start
		}
		if c.Weights {
			row.sets.Add(c.Device, c.Prefix)
		}
	}
	return row
}

// charge gives what one moment brought to the event that caused it; with
// several, to the one that started first, since it cannot be told apart.
func (w *window) charge(causes []*openRow, truth transition, counters state.Counters, log []state.NLRI, took time.Duration) {
	row := w.last
	for i, cause := range causes {
		if i == 0 || cause.row.Index < row.row.Index {
			row = cause
		}
	}
	w.last = row
	if truth.from != truth.to {
		changed := slices.ContainsFunc(oracle.Diff(truth.from, truth.to), func(c oracle.Change) bool { return c.Bottleneck || c.Weights })
		for _, cause := range causes {
			cause.true = cause.true || changed
		}
	}
	for _, cause := range causes {
		cause.row.Settled = w.rig.Now() - cause.row.Start
	}
	row.row.Counters = row.row.Counters.Add(counters)
	row.row.Quiet = max(row.row.Quiet, took)
	row.log = append(row.log, log...)
}

// finished gives the rows as they are now.
func (w *window) finished() []state.Row {
	var rows []state.Row
	for _, o := range w.rows {
		row := o.row
		row.Told, row.Sets = o.told.Len(), o.sets.Len()
		switch {
		case row.Told > 0:
			row.Effect = state.Changed
		case o.true || row.Sets > 0:
			row.Effect = state.Absorbed
		case o.lost:
			row.Effect = state.Unseen
		}
		row.Blast = w.rig.blast(o.ends, o.log)
		rows = append(rows, row)
	}
	return rows
}

// changeRecord is the record of a change that is made now.
func (r *Rig) changeRecord(event int, c state.Change) state.Record {
	rec := state.Record{Kind: "change", Event: event}
	switch c.Kind {
	case state.SetMembers:
		rec.Bundle, rec.Members = r.net.Topology.Bundles[c.Bundle].Name, c.Members
	case state.Fail:
		rec.Bundle, rec.Text = r.net.Topology.Bundles[c.Bundle].Name, "all members lost, not noticed"
	case state.Notice:
		rec.Bundle, rec.Text = r.net.Topology.Bundles[c.Bundle].Name, "noticed"
	case state.SetLoss:
		rec.Bundle, rec.Text = r.net.Topology.Bundles[c.Bundle].Name, fmt.Sprintf("loses %.4g %% of its traffic unseen", 100*c.Loss)
	case state.SetKnob:
		rec.Text = fmt.Sprintf("device %s: %s = %s", r.net.Topology.Devices[c.Device].Name, c.Knob, c.Value)
	case state.SetDrain:
		rec.Text = fmt.Sprintf("device %s: %v", r.net.Topology.Devices[c.Device].Name, c.Drain)
	case state.Stop, state.StartAgain:
		rec.Text = fmt.Sprintf("device %s: %v", r.net.Topology.Devices[c.Device].Name, c.Kind)
	default:
		rec.Bundle, rec.Text = r.net.Topology.Bundles[c.Bundle].Name, c.Kind.String()
	}
	return rec
}

// endsOf lists the devices at which a change is seen first.
func (r *Rig) endsOf(c state.Change) []int {
	switch c.Kind {
	case state.SetKnob, state.SetDrain, state.Stop, state.StartAgain:
		return []int{int(c.Device)}
	case state.SetMembers, state.Fail:
		if c.Members == r.members[c.Bundle] {
			return nil
		}
	case state.SetLoss:
		if c.Loss == r.lost.part[c.Bundle] {
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
	if next != damping.Never && len(w.queue) > 0 && w.queue[0].At != 0 {
		next = max(min(next, r.epoch+w.queue[0].At), r.engine.Now())
	}
	return next
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
		if touched[to] || distance[to] < 0 {
			continue
		}
		touched[to] = true
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
