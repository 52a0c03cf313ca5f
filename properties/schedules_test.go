package properties

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// rules are those that a case has to keep in any order of messages: of all those
// that do not depend on rounds, and with mixed settings of the plain ones.
func (c *agreement) rules(mode string) []state.Check {
	all := plain()
	if c.settings == nil {
		all = append(All(), NewAggregates())
	}
	all = slices.DeleteFunc(all, func(c state.Check) bool { return slices.Contains(roundsOnly, c.Name()) })
	return InSchedule(all, mode)
}

// TestEveryOrderOfMessagesEndsAsRoundsDo plays random cases in rounds, and then
// with messages in random order and with messages that take time, 20 seeds each.
// After each event every order has come to the same routes, which are the
// oracle's, and all rules hold that do not depend on rounds.
func TestEveryOrderOfMessagesEndsAsRoundsDo(t *testing.T) {
	simOnly(t)
	seed := seedOfRun(t)
	const seeds = 20
	cases := casesOfRun(t, 30) * sizeOfRun()
	failures := make([]string, cases)
	var workers sync.WaitGroup
	limit := make(chan struct{}, 2)
	for i := range cases {
		limit <- struct{}{}
		workers.Go(func() {
			defer func() { <-limit }()
			c := newCase(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
			if i%2 == 0 {
				c.settings = nil
				c.events = slices.DeleteFunc(c.events, func(e state.Event) bool { return e.Kind == "set" })
			}
			if err := c.everyOrder(t, seeds); err != nil {
				failures[i] = fmt.Sprintf("BAGRIG_SEED=%d, case %d: %v\n%s", seed, i, err, c.text())
			}
		})
	}
	workers.Wait()
	for _, text := range failures {
		if text != "" {
			t.Fatal(text)
		}
	}
	t.Logf("%d orders", cases*seeds*2)
}

func (c *agreement) everyOrder(t *testing.T, seeds int) error {
	want, err := c.ends(t, sim.Schedule{})
	if err != nil {
		return fmt.Errorf("rounds: %w", err)
	}
	for n := range seeds {
		for _, s := range []sim.Schedule{
			{Mode: sim.Random, Seed: uint64(n)},
			{Mode: sim.Timed, Seed: uint64(n), Processing: sim.DefaultProcessing, Jitter: time.Duration(n) * 50 * time.Millisecond},
		} {
			got, err := c.ends(t, s)
			if err != nil {
				return fmt.Errorf("%+v: %w", s, err)
			}
			for i := range want {
				if texts := differences(want[i].Network, got[i].Snapshot, want[i].Snapshot); len(texts) > 0 {
					return fmt.Errorf("%+v: after %v: %s", s, c.events[:i], few(texts))
				}
			}
		}
	}
	return nil
}

// ends gives the settled moments at the baseline and after each event.
func (c *agreement) ends(t *testing.T, s sim.Schedule) (ends []state.Moment, err error) {
	seen, checks := &witness{}, c.rules(s.Mode)
	all, note := watched(append(slices.Clip(checks), seen))
	rig, err := harness.Start(t.Context(), harness.Options{
		Topology: c.topology, Damping: c.pipeline, Settings: c.settings, Checks: all, Engine: harness.Sim, Schedule: s,
	})
	defer func() { err = errors.Join(err, note(err)) }()
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	ends = append(ends, seen.moments[0])
	for _, e := range c.events {
		seen.moments = nil
		if _, err := rig.Play(t.Context(), e); err != nil {
			return nil, fmt.Errorf("%v: %w", e, err)
		}
		ends = append(ends, seen.moments[len(seen.moments)-1])
	}
	return ends, violationOf(checks)
}
