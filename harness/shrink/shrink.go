// Package shrink makes a scenario that fails as small as it can: fewer events,
// a smaller network, settings and damping nearer to the defaults, rounder
// values, while the same thing fails. It keeps what it found in fail files.
//
// What failing means is an argument, so one shrinker serves random suites,
// fuzz targets and campaigns. The search is deterministic; it has no clock, and
// ends when nothing smaller fails, or when its context or its tries end.
//
//	fails := shrink.Violates(properties.For, harness.RunOptions{}, "")
//	result, err := shrink.Shrink(ctx, sc.On(harness.Sim), fails, shrink.Options{})
package shrink

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ErrHolds is a scenario that does not fail, so that there is nothing to shrink.
var ErrHolds = errors.New("nothing fails")

// Fails tells whether a scenario fails, and what: a property's name. One that
// cannot be run does not fail. It must not change the scenario.
type Fails func(ctx context.Context, sc *harness.Scenario) (failure string, ok bool)

// DefaultTries is how many scenarios are tried where Options do not say.
const DefaultTries = 5000

// Options say how to search. The zero value is usable.
type Options struct {
	Tries    int        // most scenarios that are tried, from 1; 0 = DefaultTries
	Progress func(Step) // hears of every step
}

// Size is how large a scenario is.
type Size struct {
	Events, Devices, Bundles, Prefixes int
}

// SizeOf measures a scenario.
func SizeOf(sc *harness.Scenario) Size {
	t := sc.Topology
	return Size{len(sc.Events), len(t.Devices), len(t.Bundles), len(t.Prefixes)}
}

func (s Size) String() string {
	count := func(n int, one string) string {
		if n != 1 {
			one += "s"
		}
		return fmt.Sprintf("%d %s", n, one)
	}
	return count(s.Events, "event") + ", " + count(s.Devices, "device")
}

// Step is one thing that could go.
type Step struct {
	What  string // such as "without fabric r1-f2"
	Tries int    // so far
	Size  Size   // after it
}

// Result is what is left.
type Result struct {
	Scenario *harness.Scenario
	Failure  string // what fails, at the beginning and at the end
	First    Size   // of the scenario at the beginning
	Steps    []Step
	Tries    int
	Done     bool // nothing smaller fails; else the context or the tries ended
}

// How says in one line how the scenario got small.
func (r *Result) How() string {
	end := "nothing smaller fails"
	if !r.Done {
		end = "stopped before the end"
	}
	return fmt.Sprintf("%v, from %v: %d steps in %d tries, %s", SizeOf(r.Scenario), r.First, len(r.Steps), r.Tries, end)
}

// Shrink looks for a smaller scenario in which the same fails. It gives the
// smallest that it found when the context ends; it fails, with ErrHolds, only
// where the scenario itself does not fail.
func Shrink(ctx context.Context, sc *harness.Scenario, fails Fails, opts Options) (*Result, error) {
	if opts.Tries == 0 {
		opts.Tries = DefaultTries
	}
	failure, ok := fails(ctx, sc)
	if !ok {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("scenario %q: %w", sc.Name, err)
		}
		return nil, fmt.Errorf("scenario %q: %w", sc.Name, ErrHolds)
	}
	s := &search{
		ctx: ctx, fails: fails, opts: opts, best: sc, seen: map[[sha256.Size]byte]bool{},
		result: Result{Failure: failure, First: SizeOf(sc), Tries: 1},
	}
	s.try("events may have no effect", silenced(sc, true))
	if len(sc.Topology.Devices) > large {
		s.groups()
	}
	for s.pass() {
	}
	s.result.Done = !s.ended()
	s.loud()
	s.result.Scenario = s.best
	return &s.result, nil
}

// large is from where on a network is cut down, in devices, before the first
// event is dropped: every run of it takes long.
const large = 100

// search is the state of one search.
type search struct {
	ctx    context.Context
	fails  Fails
	opts   Options
	best   *harness.Scenario // the smallest that fails so far
	seen   map[[sha256.Size]byte]bool
	result Result
}

// pass tries everything once and tells whether something could go. What makes
// runs cheaper comes first.
func (s *search) pass() bool {
	changed := false
	for _, pass := range []func() bool{s.events, s.groups, s.devices, s.prefixes, s.events, s.values, s.bundles, s.settings, s.damping, s.hardware, s.rest} {
		if s.ended() {
			return false
		}
		changed = pass() || changed
	}
	return changed
}

func (s *search) ended() bool { return s.ctx.Err() != nil || s.result.Tries >= s.opts.Tries }

// try takes the candidate where the same fails in it. Nil is one that cannot be.
func (s *search) try(what string, candidate *harness.Scenario) bool {
	if candidate == nil || s.ended() {
		return false
	}
	key, ok := keyOf(candidate)
	if !ok || s.seen[key] {
		return false
	}
	s.seen[key] = true
	s.result.Tries++
	failure, ok := s.fails(s.ctx, candidate)
	if !ok || failure != s.result.Failure {
		return false
	}
	s.best = candidate
	step := Step{what, s.result.Tries, SizeOf(candidate)}
	s.result.Steps = append(s.result.Steps, step)
	if s.opts.Progress != nil {
		s.opts.Progress(step)
	}
	return true
}

// drop leaves out as much as it can of n things, in runs of half of them, a
// quarter, and so on down to one. Both functions ask the best scenario.
func (s *search) drop(n func() int, without func(from, to int) (string, *harness.Scenario)) bool {
	changed := false
	for size := n(); size >= 1; size /= 2 {
		for from := 0; from < n(); {
			what, candidate := without(from, min(from+size, n()))
			if s.try(what, candidate) {
				changed = true
			} else {
				from += size
			}
		}
	}
	return changed
}

// keyOf is the same for two scenarios that are the same, and false for one
// whose topology cannot be.
func keyOf(sc *harness.Scenario) (key [sha256.Size]byte, ok bool) {
	topology, err := topologies.Write(sc.Topology)
	if err != nil {
		return key, false
	}
	var b strings.Builder
	b.Write(topology)
	for _, e := range sc.Events {
		fmt.Fprintln(&b, e)
	}
	fmt.Fprintln(&b, sc.Settings, sc.Hardware, sc.Compare, sc.Thresholds, sc.Expect, sc.Seed, sc.Damping)
	if p := sc.Plan; p != nil {
		fmt.Fprintln(&b, p.Name, p.Default, p.Default.Settle, p.Bundle, p.Told)
	}
	return sha256.Sum256([]byte(b.String())), true
}

// copied is a copy whose lists may be written to.
func copied(sc *harness.Scenario) *harness.Scenario {
	c := *sc
	c.Source = nil
	c.Settings, c.Hardware, c.Events = slices.Clone(sc.Settings), slices.Clone(sc.Hardware), slices.Clone(sc.Events)
	return &c
}

// with is the best scenario with other events, those apart that have no place
// in its topology.
func (s *search) with(events []state.Event) *harness.Scenario {
	c := copied(s.best)
	c.Events = playable(c.Topology, events)
	return c
}

// playable leaves out the events that have no place after those before them.
func playable(t *topologies.Topology, events []state.Event) (kept []state.Event) {
	paper := state.NewPaper(t, t.Index())
	for _, e := range events {
		if paper.Play(e) == nil {
			kept = append(kept, e)
		}
	}
	return kept
}

// silenced says of all events that they may change nothing, so that none is
// refused because one before it is gone.
func silenced(sc *harness.Scenario, silent bool) *harness.Scenario {
	c := copied(sc)
	for i := range c.Events {
		c.Events[i].Silent = silent
	}
	return c
}

// loud takes back what was said to allow dropping events, where it is not needed.
func (s *search) loud() {
	if s.try("events have an effect", silenced(s.best, false)) {
		return
	}
	for i := range s.best.Events {
		c := copied(s.best)
		c.Events[i].Silent = false
		s.try("an event has an effect", c)
	}
}
