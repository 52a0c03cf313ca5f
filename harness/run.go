package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// RunOptions says how to run a scenario.
type RunOptions struct {
	Checks   []state.Check
	Observer state.Observer
	Schedule sim.Schedule  // of the sim engine
	Tap      sim.NewTap    // of the sim engine, which alone can have one; nil = there is none
	Port     int           // see live.Options
	Budget   time.Duration // see live.Options
	Outside  live.Outside  // how external devices are reached
	Capture  live.Capturer // gets what the wires carry; on GoBGP only

	// Of the run on sim, where the scenario's engine is Both: the others are then
	// those of the run on gobgp. A check follows one run, so these are others.
	SimChecks   []state.Check
	SimObserver state.Observer

	keep   func(*state.Moment) // hears of every moment
	guards []*guard            // of Checks
	with   func(*state.Result) // completes the result before observers hear of it
}

// Run plays a scenario on a network of its own and returns what it found. An
// error means that the run could not be finished; the result then holds what
// was seen until then. A scenario for both engines is played on sim first, and then
// on gobgp with a Comparison as one more check; the result is that of gobgp.
func Run(ctx context.Context, sc *Scenario, opts RunOptions) (*state.Result, error) {
	if sc.Engine == Both {
		return runBoth(ctx, sc, opts)
	}
	return runOne(ctx, sc, opts)
}

func runOne(ctx context.Context, sc *Scenario, opts RunOptions) (*state.Result, error) {
	if opts.Observer == nil {
		opts.Observer = silence{}
	}
	started := time.Now()
	res := &state.Result{Scenario: sc.Name, Engine: sc.Engine, Seed: sc.Seed, Topology: sc.Topology.Summary()}
	opts.Observer.Record(state.Record{Kind: "start", Event: -1, Text: res.Topology, Result: res})
	opts.guards = newGuards(opts.Checks)
	err := play(ctx, sc, opts, res)
	for _, g := range opts.guards {
		if w, ok := g.check.(state.Watcher); ok && !g.judges() {
			w.Ended(err)
			res.Reached = w.Reached()
			continue
		}
		res.Outcomes = append(res.Outcomes, outcomes(g.outcome())...)
	}
	res.Outcomes = append(res.Outcomes, sc.Thresholds.outcomes(res.Rows)...)
	for i := range res.Outcomes {
		o := &res.Outcomes[i]
		o.Expected = slices.Contains(sc.Expect, o.Name)
		switch {
		case o.Expected && o.Violated > 0:
			o.Note = "violated, as the scenario means to show"
		case o.Expected:
			o.Note = "not violated, although the scenario means to show that it is"
		}
	}
	res.Elapsed = time.Since(started)
	res.Verdict = verdict(ctx, res, err)
	if err != nil {
		res.Error = err.Error()
	}
	if opts.with != nil {
		opts.with(res)
	}
	opts.Observer.Record(state.Record{Kind: "end", Event: -1, Virtual: res.Virtual, Text: string(res.Verdict), Result: res})
	return res, err
}

func play(ctx context.Context, sc *Scenario, opts RunOptions, res *state.Result) (err error) {
	rig, err := Start(ctx, sc.rigOptions(opts))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	res.BringUp, res.Established, res.Quiet = rig.BringUp()
	res.Entries, res.Stale = Entries(rig.Network(), rig.Baseline())
	opts.Observer.Record(state.Record{Kind: "baseline", Event: -1, Text: fmt.Sprintf("%d entries", res.Entries), Counts: &res.BringUp})
	res.Overcount = rig.overcounts("baseline")
	if res.Rows, err = rig.Play(ctx, sc.Events...); err == nil {
		res.Overcount = append(res.Overcount, others(rig.overcounts("end"), res.Overcount)...)
	}
	res.Virtual = rig.Now()
	res.FIB, res.Policies = rig.Hardware()
	told := rig.MisTold()
	res.MisTold, res.Windows, res.Lost = &told, rig.Windows(), rig.Lost()
	return err
}

// outcomes are that of a check, and one for each external device of which the rule
// would have had to see more than it tells.
func outcomes(whole state.Outcome) []state.Outcome {
	list := []state.Outcome{whole}
	for i, u := range whole.NotObservable {
		text := fmt.Sprintf("not observable at %s: %s", u.Device, u.What)
		if list[0].Note != "" {
			text = "; " + text
		}
		list[0].Note += text
		list = append(list, state.Outcome{Name: whole.Name + " at " + u.Device, Limit: whole.Limit, Unit: whole.Unit, NotObservable: whole.NotObservable[i : i+1]})
	}
	return list
}

// rigOptions is the network that the scenario describes.
func (sc *Scenario) rigOptions(opts RunOptions) Options {
	return Options{
		Topology: sc.Topology, Damping: sc.Damping, Plan: sc.Plan, Settings: sc.Settings, Hardware: sc.Hardware, Compare: sc.Compare, Checks: opts.Checks,
		Observer: opts.Observer, Engine: sc.Engine, Schedule: opts.Schedule, Tap: opts.Tap, Port: opts.Port, Budget: opts.Budget,
		External: sc.External, Outside: opts.Outside, Capture: opts.Capture, keep: opts.keep, guards: opts.guards,
	}
}

func verdict(ctx context.Context, res *state.Result, err error) state.Verdict {
	switch {
	case err != nil && ctx.Err() != nil:
		return state.Interrupted
	case errors.Is(err, state.ErrNoConvergence):
		return state.Violated
	case err != nil:
		return state.Failed
	}
	for _, o := range res.Outcomes {
		if (o.Violated > 0) != o.Expected {
			return state.Violated // or not, although the scenario shows that it is
		}
	}
	return state.Held
}

// Entries counts the Adj-RIB-In entries of a snapshot, and those of them that
// are not what their sender tells now.
func Entries(net *state.Network, s *state.Snapshot) (all, stale int) {
	for d := range s.Devices {
		for p := range s.Devices[d].Routes {
			for _, c := range s.Devices[d].Routes[p].Candidates {
				all++
				if !fresh(net, s, d, p, c) {
					stale++
				}
			}
		}
	}
	return all, stale
}

// fresh tells whether a candidate is what the neighbour tells, with the
// neighbour's ASN before the path.
func fresh(net *state.Network, s *state.Snapshot, d, p int, c state.Candidate) bool {
	ends := net.Index.Ends[c.Bundle]
	from := ends[0]
	if from == d {
		from = ends[1]
	}
	if s.Devices[from].External {
		return slices.ContainsFunc(s.Devices[from].Tells[p], func(t state.Telling) bool {
			return t.Bundle == c.Bundle && t.Valued == c.Valued && (!c.Valued || t.Value == c.Value) && slices.Equal(t.Path, c.Path)
		})
	}
	told := s.Devices[from].Routes[p].Told
	return told.Present && told.Valued == c.Valued && (!c.Valued || told.Value == c.Value) &&
		len(c.Path) == len(told.Path)+1 && c.Path[0] == net.Topology.Devices[from].ASN && slices.Equal(c.Path[1:], told.Path)
}

// outcomes judges the rows by the thresholds that are set.
func (t Thresholds) outcomes(rows []state.Row) []state.Outcome {
	var list []state.Outcome
	limit := func(name, unit string, most int, of func(state.Row) int) {
		if most == 0 {
			return
		}
		o := state.Outcome{Name: "threshold: " + name, Limit: float64(most), Unit: unit}
		for _, row := range rows {
			o.Exercised++
			n := of(row)
			o.Worst = max(o.Worst, float64(n))
			if n > most {
				o.Violated++
				o.Violations = append(o.Violations, state.Violation{
					Time: row.Start, Where: row.Event.String(), Text: fmt.Sprintf("%d %s: want at most %d", n, unit, most),
				})
			}
		}
		list = append(list, o)
	}
	limit("NLRI per event", "NLRI", t.NLRI, func(r state.Row) int { return r.Counters.NLRI() })
	limit("UPDATEs per event", "UPDATEs", t.Updates, func(r state.Row) int { return r.Counters.Updates })
	limit("blast radius", "hops", t.Radius, state.Row.Radius)
	return list
}
