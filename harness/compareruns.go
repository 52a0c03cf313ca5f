package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// EnginesAgreeName is the rule of a Comparison.
const EnginesAgreeName = "engines agree"

// Comparison is the rule that two runs of one scenario come to the same. Runs are
// compared at every settled moment, the baseline and the end of every window: their
// snapshots, and what each directed session carried in the window, see Compare and
// CompareNLRI. Keep takes the moments of the first run. The Comparison itself is a
// check of the second one; its worst value is the most routes that differ at one
// moment.
type Comparison struct {
	names [2]string // of the second run and of the first
	alike bool
	first map[int]kept // by how many events had been played
	ended error        // what the first run ended with
	seen  int          // events that the second run played
	last  int          // events that the first run had played at its last settled moment
	found state.Outcome

	moments, routes, nlri, cures int
	text                         strings.Builder
}

// kept is a settled moment of the first run.
type kept struct {
	snapshot *state.Snapshot
	log      []state.NLRI
	lasted   time.Duration
}

var _ state.Check = (*Comparison)(nil)

// NewComparison compares a run of the engine second with an earlier one of the
// engine first. Alike are runs whose speakers step in the same order: then messages
// and hardware have to be the same too. Others only have to end in the same state.
func NewComparison(second, first string, alike bool) *Comparison {
	return &Comparison{
		names: [2]string{second, first}, alike: alike, first: map[int]kept{},
		found: state.Outcome{Name: EnginesAgreeName, Unit: "routes"},
	}
}

// Keep takes a moment of the first run. Others than settled ones are left out.
func (c *Comparison) Keep(m *state.Moment) {
	if !m.Settled {
		return
	}
	k, played := kept{snapshot: m.Snapshot}, c.seen
	if m.Window != nil {
		k.log, k.lasted = m.Window.Log, m.Window.Lasted
		played += len(m.Window.Events)
	}
	c.first[played], c.seen, c.last = k, played, played
}

// End takes what the first run ended with, nil or an error.
func (c *Comparison) End(err error) { c.ended, c.seen = err, 0 }

// Name implements state.Check.
func (c *Comparison) Name() string { return c.found.Name }

// Outcome implements state.Check.
func (c *Comparison) Outcome() state.Outcome { return c.found }

// Look implements state.Check. It counts as exercised once per moment compared.
func (c *Comparison) Look(m *state.Moment) {
	if !m.Settled {
		return
	}
	if m.Window != nil {
		c.seen += len(m.Window.Events)
	}
	c.found.Exercised++
	k, ok := c.first[c.seen]
	if !ok && !c.alike && c.ended == nil && c.last > c.seen {
		return // where messages take their time, events that follow soon share a window
	}
	if !ok {
		c.differ(m, "the run", fmt.Sprintf("%s is settled after %d events, and %s was not%s", c.names[0], c.seen, c.names[1], c.why()))
		return
	}
	delete(c.first, c.seen) // nobody asks again, and a large network's snapshot is large
	c.moments++
	for d := range m.Snapshot.Devices {
		c.routes += len(m.Snapshot.Devices[d].Routes)
	}
	if d := Compare(m.Network, m.Snapshot, k.snapshot, c.alike); d != nil {
		c.found.Worst = max(c.found.Worst, float64(d.Routes))
		c.differ(m, d.where(m.Network), c.threeAnswers(m, d))
	}
	if m.Window != nil && c.alike {
		c.compareWindow(m, k)
	}
}

func (c *Comparison) why() string {
	if c.ended == nil {
		return ""
	}
	return fmt.Sprintf(": it ended with: %v", c.ended)
}

// threeAnswers is what both engines and the graph have at the first difference.
func (c *Comparison) threeAnswers(m *state.Moment, d *Difference) string {
	text := fmt.Sprintf("%s\n%-6s %s\n%-6s %s\n%-6s %s", d.Field, c.names[0], d.A, c.names[1], d.B, "graph", d.graphAnswer(m.Network, m.Damped))
	if d.Routes > 1 {
		text += fmt.Sprintf("\n%d more routes differ", d.Routes-1)
	}
	return text
}

// compareWindow compares how long a window lasted, and what it made sessions carry.
func (c *Comparison) compareWindow(m *state.Moment, k kept) {
	if m.Window.Lasted != k.lasted {
		c.differ(m, "the run", fmt.Sprintf("settled\n%-6s after %v\n%-6s after %v", c.names[0], m.Window.Lasted, c.names[1], k.lasted))
	}
	differ, counted, cures := CompareNLRI(m.Window.Log, k.log)
	c.nlri, c.cures = c.nlri+counted, c.cures+cures
	if len(differ) == 0 {
		return
	}
	first := differ[0]
	ends := m.Index.Ends[first.Dir.Bundle]
	if first.Dir.FromB {
		ends[0], ends[1] = ends[1], ends[0]
	}
	text := fmt.Sprintf("NLRI in the window\n%-6s %d\n%-6s %d", c.names[0], first.A, c.names[1], first.B)
	if len(differ) > 1 {
		text += fmt.Sprintf("\n%d more sessions differ", len(differ)-1)
	}
	devices := m.Topology.Devices
	c.differ(m, fmt.Sprintf("session %q to %q over %s", devices[ends[0]].Name, devices[ends[1]].Name, bundleText(m.Network, first.Dir.Bundle)), text)
}

// keptDifferences bounds the differences that are kept; all are counted.
const keptDifferences = 20

func (c *Comparison) differ(m *state.Moment, where, text string) {
	if c.found.Violated++; c.found.Violated > keptDifferences {
		return
	}
	after := "at the baseline"
	if m.Window != nil {
		after = fmt.Sprintf("after event %d, %v", c.seen, m.Window.Events[len(m.Window.Events)-1])
	}
	v := state.Violation{Time: m.Snapshot.Time - m.Baseline.Time, Where: where, Text: text}
	c.found.Violations = append(c.found.Violations, v)
	fmt.Fprintf(&c.text, "%s\n  %s: %s\n", after, where, strings.ReplaceAll(text, "\n", "\n    "))
}

// Text is all that was found, for agreement.txt.
func (c *Comparison) Text() string {
	text := fmt.Sprintf("%d settled moments of %s and %s compared: %d routes", c.moments, c.names[0], c.names[1], c.routes)
	if c.alike {
		text += fmt.Sprintf(", %d NLRI; apart: %d withdrawals of the cure, and first dumps", c.nlri, c.cures)
	}
	switch n := c.found.Violated; {
	case n == 0:
		return text + "\nno difference\n"
	case n > keptDifferences:
		return fmt.Sprintf("%s\n%d differences, the first %d:\n%s", text, n, keptDifferences, c.text.String())
	}
	return fmt.Sprintf("%s\n%d differences:\n%s", text, c.found.Violated, c.text.String())
}

// Both plays a scenario on both engines and compares them.
const Both = "both"

// runBoth plays the scenario on sim, and then on gobgp beside what sim showed.
func runBoth(ctx context.Context, sc *Scenario, opts RunOptions) (*state.Result, error) {
	alike := (opts.Schedule.Mode == "" || opts.Schedule.Mode == sim.Rounds) && !sc.unbatched()
	if len(sc.External) > 0 {
		return runOne(ctx, sc.On(Sim), opts) // which says why it cannot be
	}
	c := NewComparison(GoBGP, Sim, alike)
	second, err := runOne(ctx, sc.On(Sim), RunOptions{Checks: opts.SimChecks, Observer: opts.SimObserver, Schedule: opts.Schedule, keep: c.Keep})
	c.End(err)
	res, err := runOne(ctx, sc.On(GoBGP), RunOptions{
		Checks: append(slices.Clone(opts.Checks), c), Observer: opts.Observer, Port: opts.Port, Budget: opts.Budget, Capture: opts.Capture,
		with: func(res *state.Result) {
			res.Engine = Both
			res.Elapsed += second.Elapsed
			res.Agreement = &state.Agreement{
				Sim: second, Moments: c.moments, Routes: c.routes, NLRI: c.nlri, Cures: c.cures, Differences: c.found.Violated, Text: c.Text(),
			}
			res.Verdict = worseOf(res.Verdict, second.Verdict)
			if res.Error == "" && second.Error != "" {
				res.Error = Sim + ": " + second.Error
			}
		},
	})
	if second.Error != "" {
		err = errors.Join(err, fmt.Errorf("%s: %w", Sim, c.ended))
	}
	return res, err
}

// unbatched tells whether some speaker decides on each input by itself, so that
// the order in which sockets bring them matters.
func (sc *Scenario) unbatched() bool {
	return slices.ContainsFunc(sc.Settings, func(s topologies.Settings) bool { return s.RIBBatch == 0 }) ||
		slices.ContainsFunc(sc.Events, func(e state.Event) bool { return e.Kind == "set" && e.Knob == "rib-batch" })
}

// worseOf is the verdict of two runs together.
func worseOf(a, b state.Verdict) state.Verdict {
	rank := []state.Verdict{state.Held, state.Violated, state.Failed, state.Interrupted}
	return slices.MaxFunc([]state.Verdict{a, b}, func(x, y state.Verdict) int {
		return cmp.Compare(slices.Index(rank, x), slices.Index(rank, y))
	})
}

// On is the scenario for another engine.
func (sc *Scenario) On(engine string) *Scenario {
	other := *sc
	other.Engine = engine
	return &other
}
