package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/damping/dampingtest"
	"github.com/bagrig/bagrig/harness/state"
)

// disturbed is a network whose bundle s1--e1 has lost members where a bag's damping
// is restless, and what became of it.
func disturbed(t *testing.T, every time.Duration, schedule Schedule, bundles ...string) error {
	t.Helper()
	net := network(t, append(slices.Clone(chain), bundles...), "10.0.0.0/24 s1", "10.0.1.0/24 s3")
	e := settled(t, Options{
		Topology: net, Settings: batches(net, 0), Schedule: schedule,
		Plan: &damping.Plan{Name: "restless", Told: []damping.ToldRule{{Role: "bag", Stages: []damping.ToldStage{dampingtest.Restless{Every: every}}}}},
	})
	apply(t, e, members(e, "s1--e1", 2))
	return trySettle(e)
}

func TestAnOscillationIsNamedWithItsCycle(t *testing.T) {
	for _, c := range []struct {
		name     string
		every    time.Duration
		schedule Schedule
		unit     string
		turns    int // 0 = any
		lasts    time.Duration
	}{
		{"rounds", 0, Schedule{}, "rounds", 2, 0},
		{"random", 0, Schedule{Mode: Random, Seed: 5, Budget: 20_000}, "decisions", 0, 0},
		{"timed, with time between", time.Millisecond, Schedule{Mode: Timed, Budget: 50_000}, "", 0, 2 * time.Millisecond},
		{"timers alone", time.Minute, Schedule{}, "timers", 0, 2 * time.Minute},
	} {
		err := disturbed(t, c.every, c.schedule)
		var o *Oscillation
		if !errors.Is(err, state.ErrNoConvergence) || !errors.As(err, &o) {
			t.Errorf("%s: got %v, want an oscillation", c.name, err)
			continue
		}
		// b1 and who hears it tell the prefix of s1 in turn with and without a value;
		// the other prefix has nothing to do with it, nor has e1.
		if !slices.Equal(o.Prefixes, []string{"10.0.0.0/24"}) || !slices.Equal(o.Devices, []string{"b1", "e3"}) {
			t.Errorf("%s: got %q of %q, want e3 and b1, of 10.0.0.0/24", c.name, o.Devices, o.Prefixes)
		}
		if c.unit != "" && o.Unit != c.unit || c.turns > 0 && o.Turns != c.turns || c.lasts > 0 && o.Lasts != c.lasts || o.Messages == 0 {
			t.Errorf("%s: got %+v, want %d %s of %v", c.name, o, c.turns, c.unit, c.lasts)
		}
		if !strings.Contains(err.Error(), "oscillates") || !strings.Contains(err.Error(), "b1") {
			t.Errorf("%s: got %q, want it named", c.name, err)
		}
	}
}

// With jitter no state of the queue comes back, so no cycle can be found: the
// budget ends the run and names who sends most.
func TestAnOverrunNamesTheBusiest(t *testing.T) {
	err := disturbed(t, 0, Schedule{Mode: Timed, Budget: 3000, Jitter: time.Millisecond})
	var o *Overrun
	if !errors.As(err, &o) || !errors.Is(err, state.ErrNoConvergence) {
		t.Fatalf("got %v, want an overrun", err)
	}
	if o.Spent != 3000 || len(o.Busiest) == 0 || o.Busiest[0].NLRI == 0 || o.Busiest[0].Device != "b1" {
		t.Errorf("got %+v, want 3000 spent, most of it by b1", o)
	}
	if !slices.IsSortedFunc(o.Busiest, func(a, b Talker) int { return b.NLRI - a.NLRI }) {
		t.Errorf("got %+v, want the busiest first", o.Busiest)
	}
}

// Quick ends are no trouble, however often they come: timers that fall due between
// events are not taken for a cycle.
func TestTimersThatEndAreNoOscillation(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	pipeline := damping.Pipeline{Name: "hold", Bundle: []damping.BundleStage{damping.HoldDown{T: time.Second}}}
	e := settled(t, Options{Topology: net, Damping: pipeline, Settings: batches(net, 0)})
	for range 3 * suspectTimers {
		apply(t, e, members(e, "s1--e1", 2))
		if err := trySettle(e); err != nil {
			t.Fatal(err)
		}
		apply(t, e, members(e, "s1--e1", 4))
		if err := trySettle(e); err != nil {
			t.Fatal(err)
		}
	}
}

// All that a core and its damping remember is in the digest of a state: engines
// that differ in nothing but what a policy keeps to itself differ.
func TestTheDigestOfAStateHoldsWhatDampingRemembers(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	make := func(changes ...int) *Engine {
		e := settled(t, Options{Topology: net, Settings: batches(net, 0), Damping: damping.Pipeline{Name: "second", Told: []damping.ToldStage{secondValue{}}}})
		for _, n := range changes {
			apply(t, e, members(e, "s3--e3", n))
			if err := e.Quiet(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		return e
	}
	a, b, c := make(), make(), make(2, 4)
	if a.whole() != b.whole() {
		t.Error("two networks with one history: got two digests")
	}
	if a.digest() != c.digest() {
		t.Skip("the two can be told apart without looking inside")
	}
	if a.whole() == c.whole() {
		t.Error("two networks that remember different things: got one digest")
	}
}
