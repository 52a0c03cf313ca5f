package damping

import (
	"errors"
	"fmt"
	"time"
)

// Trace is what a pipeline made of a series.
type Trace struct {
	End     time.Duration
	Changes []Change

	// Advertisements counts the values told, the first one too; Withdrawals
	// how often a told prefix was withdrawn.
	Advertisements, Withdrawals int

	// Held are the windows in which a timer was pending: something was kept
	// back, or a bundle was on trial.
	Held []Window
	// Withheld are the windows in which the prefix had a path here and was
	// not told.
	Withheld []Window

	// Areas, in bits: bits/s over time. There is the capacity that was there;
	// Over is what was told beyond it, Under what was there and not told.
	There, Over, Under float64
}

// Change is a moment at which one of its values changed.
type Change struct {
	At     time.Duration
	There  uint64 // bits/s
	Passed Passed
	Told   Value
}

// Window is a stretch of time, its end left out.
type Window struct{ From, To time.Duration }

// Churn is all that went out: advertisements and withdrawals.
func (t *Trace) Churn() int { return t.Advertisements + t.Withdrawals }

// MisTold is what was told wrong, to either side, as a share of what was there;
// 0 where nothing ever was.
func (t *Trace) MisTold() float64 {
	if t.There == 0 {
		return 0
	}
	return (t.Over + t.Under) / t.There
}

// Length is the sum of the windows' lengths.
func Length(windows []Window) time.Duration {
	sum := time.Duration(0)
	for _, w := range windows {
		sum += w.To - w.From
	}
	return sum
}

// Replay runs one bundle and the prefix that only it leads to through
// a pipeline, at one speaker, from the first sample to end, as an engine does:
// a sample and the timers due at its moment are one step. The bottleneck value
// is what the bundle stages pass; a bundle that is down is a path lost.
//
// An error names the sample that is not later than the one before, has more
// members than the bundle, or lies beyond the end; or what the pipeline's
// Validate or info lacks.
func Replay(p Pipeline, info BundleInfo, series []Sample, end time.Duration) (*Trace, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := checkSeries(info, series, end); err != nil {
		return nil, err
	}
	r := &replay{
		trace: Trace{End: end}, bundle: p.NewBundleFor(info), told: p.NewTold(),
		now: Change{At: series[0].At}, nextBundle: Never, nextTold: Never,
	}
	for {
		at := min(r.nextBundle, r.nextTold)
		there := r.now.There
		if len(series) > 0 && series[0].At <= at {
			at, there = series[0].At, uint64(series[0].Members)*info.Speed
			series = series[1:]
		}
		if at > end {
			break
		}
		r.until(at)
		r.step(at, there)
	}
	r.until(end)
	r.trace.Held = r.held.list(end)
	r.trace.Withheld = r.withheld.list(end)
	return &r.trace, nil
}

func checkSeries(info BundleInfo, series []Sample, end time.Duration) error {
	if info.Speed == 0 || info.Members <= 0 {
		return fmt.Errorf("replay: bundle of %d members of %d bits/s: want 1 or more of each", info.Members, info.Speed)
	}
	if len(series) == 0 {
		return errors.New("replay: no samples: want one or more")
	}
	if end == Never {
		return errors.New("replay: end: want a time")
	}
	for i, s := range series {
		err := s.check()
		switch {
		case err != nil:
		case s.Members > info.Members:
			err = fmt.Errorf("members %d: the bundle has %d", s.Members, info.Members)
		case s.At < 0:
			err = fmt.Errorf("time %v: want 0 or more", s.At)
		case s.At > end:
			err = fmt.Errorf("time %v: beyond the end %v", s.At, end)
		case i > 0:
			err = after(series[i-1].At, s.At)
		}
		if err != nil {
			return fmt.Errorf("replay: sample %d: %w", i+1, err)
		}
	}
	return nil
}

type replay struct {
	trace                Trace
	bundle               BundlePolicy
	told                 ToldPolicy
	nextBundle, nextTold time.Duration
	started              bool
	in                   Value // what told last heard
	now                  Change
	held, withheld       windows
}

// until counts the areas from the last moment to at.
func (r *replay) until(at time.Duration) {
	seconds := (at - r.now.At).Seconds()
	there, told := float64(r.now.There), float64(r.now.Told.Bits)
	r.trace.There += float64(there * seconds)
	r.trace.Over += float64(max(told-there, 0) * seconds)
	r.trace.Under += float64(max(there-told, 0) * seconds)
	r.now.At = at
}

func (r *replay) step(at time.Duration, there uint64) {
	was := r.now
	if !r.started || there != was.There || r.nextBundle <= at {
		r.now.There = there
		r.now.Passed, r.nextBundle = r.bundle.Step(at, there)
	}
	in := Value{Reach: Valued, Bits: r.now.Passed.Capacity}
	if in.Bits == 0 {
		in = Value{}
	}
	if !r.started || in != r.in || r.nextTold <= at {
		r.in = in
		r.now.Told, r.nextTold = r.told.Step(at, in)
	}
	switch {
	case r.now.Told == was.Told:
	case r.now.Told.Reach == Gone:
		r.trace.Withdrawals++
	default:
		r.trace.Advertisements++
	}
	if !r.started || r.now != was {
		r.trace.Changes = append(r.trace.Changes, r.now)
	}
	r.held.set(at, min(r.nextBundle, r.nextTold) != Never)
	r.withheld.set(at, there > 0 && r.now.Told.Reach == Gone)
	r.started = true
}

// windows gathers when something was so.
type windows struct {
	closed []Window
	open   bool
	from   time.Duration
}

func (w *windows) set(at time.Duration, so bool) {
	switch {
	case so && !w.open:
		w.open, w.from = true, at
	case !so && w.open:
		w.open = false
		if w.from < at {
			w.closed = append(w.closed, Window{w.from, at})
		}
	}
}

func (w *windows) list(end time.Duration) []Window {
	w.set(end, false)
	return w.closed
}
