package shrink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// What fails where it is no property.
const (
	NoConvergence = "no convergence" // the network did not become quiet
	Panic         = "panic"          // of the code under test; a check that panics is violated itself
)

// Checks makes the checks that a run is judged by; properties.For is one.
type Checks func(*topologies.Topology, []state.Event) []state.Check

// Violates is the Fails of a run on the scenario's engine that violates want,
// also where the scenario means to show that; with an empty want the first
// property that is violated, in the order of the checks. The checks, and the
// checks of a run on both engines, are made anew for every run: those of opts
// are not looked at.
func Violates(checks Checks, opts harness.RunOptions, want string) Fails {
	return func(ctx context.Context, sc *harness.Scenario) (string, bool) {
		res, err := run(ctx, sc, checks, opts)
		failures := Failures(res, err)
		switch {
		case len(failures) == 0 || ctx.Err() != nil:
			return "", false
		case want == "":
			return failures[0], true
		}
		return want, slices.Contains(failures, want)
	}
}

func run(ctx context.Context, sc *harness.Scenario, checks Checks, opts harness.RunOptions) (*state.Result, error) {
	opts.Checks = checks(sc.Topology, sc.Events)
	if sc.Engine == harness.Both {
		opts.SimChecks = checks(sc.Topology, sc.Events)
	}
	return harness.Run(ctx, sc, opts)
}

// Failures names what failed in a run, from what harness.Run gave: properties
// that were violated, NoConvergence or Panic. A run that could not be finished
// for another reason has none.
func Failures(res *state.Result, err error) (names []string) {
	switch {
	case errors.Is(err, state.ErrNoConvergence):
		names = append(names, NoConvergence)
	case err != nil && strings.HasPrefix(err.Error(), "panic: "):
		names = append(names, Panic)
	case err != nil || res == nil:
		return nil
	}
	for _, o := range res.Outcomes {
		if o.Violated > 0 {
			names = append(names, o.Name)
		}
	}
	return names
}

// Tries on an engine: a network of real speakers takes a second to start.
var triesOf = map[string]int{harness.Sim: DefaultTries, harness.GoBGP: 200, harness.Both: 100}

// Tries is how many scenarios are tried on an engine where nobody says.
func Tries(engine string) int { return triesOf[engine] }

// On gives the scenario the first of the engines on which it fails, and tells
// what fails there: want, or, with an empty want, whatever is violated first.
// The error is ErrHolds where it fails on none.
func On(ctx context.Context, sc *harness.Scenario, checks Checks, want string, engines ...string) (*harness.Scenario, string, error) {
	for _, engine := range engines {
		on := sc.On(engine)
		if failure, ok := Violates(checks, harness.RunOptions{}, want)(ctx, on); ok {
			return on, failure, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, "", fmt.Errorf("scenario %q: %w", sc.Name, err)
		}
	}
	what := ""
	if want != "" {
		what = fmt.Sprintf(" %q holds", want)
	}
	return nil, "", fmt.Errorf("scenario %q: on %s:%s: %w", sc.Name, strings.Join(engines, " and "), what, ErrHolds)
}

// MaxStory is the most lines of a story.
const MaxStory = 10

// mostSaid is how many violations a story has.
const mostSaid = 2

// Story plays the scenario once more and tells what happens in it, in at most
// MaxStory lines: its events, and the first violations of the property.
func Story(ctx context.Context, sc *harness.Scenario, checks Checks, property string) []string {
	var teller teller
	teller.property = property
	res, err := run(ctx, sc, checks, harness.RunOptions{Observer: &teller})
	lines := teller.lines
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		lines = append(lines, text)
	}
	if res != nil && len(teller.lines) == teller.events { // a threshold, which is judged at the end
		for _, o := range res.Outcomes {
			if o.Name == property && len(o.Violations) > 0 {
				lines = append(lines, said(o.Violations[0]))
			}
		}
	}
	if more := len(lines) - MaxStory; more > 0 {
		lines = slices.Concat(lines[:MaxStory/2], []string{fmt.Sprintf("... %d lines more", more+1)}, lines[len(lines)-MaxStory/2+1:])
	}
	return lines
}

// teller is the observer that hears what Story tells.
type teller struct {
	property         string
	lines            []string
	events, violated int
}

// Progress implements state.Observer.
func (*teller) Progress(string, int, int) {}

// Record implements state.Observer.
func (t *teller) Record(r state.Record) {
	switch {
	case r.Kind == "event":
		t.events++
		t.lines = append(t.lines, fmt.Sprintf("%v: %s", r.Virtual, r.Text))
	case r.Kind == "violation" && r.Text == t.property && t.violated < mostSaid:
		t.violated++
		t.lines = append(t.lines, said(r.Outcome.Violations[0]))
	}
}

// longest is where the text of a violation is cut, in bytes.
const longest = 300

func said(v state.Violation) string {
	text := strings.Join(strings.Fields(v.Text), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " ..."
	}
	return strings.TrimSpace(fmt.Sprintf("%v: %s: %s", v.Time.Round(time.Nanosecond), v.Where, text))
}
