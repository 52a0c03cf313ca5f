package speakers_test

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

func endOfRIB(bundle int32) speakers.Input {
	return speakers.Input{Kind: speakers.EndOfRIB, Bundle: bundle}
}

func sessionUp(bundle int32) speakers.Input {
	return speakers.Input{Kind: speakers.SessionUp, Bundle: bundle}
}

func restarts(bundle int32) speakers.Input {
	return speakers.Input{Kind: speakers.Restarts, Bundle: bundle}
}

func TestRoutesOfANeighbourThatRestartsAreKeptForAWhile(t *testing.T) {
	cfg := edge()
	cfg.Settings = withKnobs(t, "restart.stale-time", "30s")
	has := func(core *speakers.Core) bool { return len(core.Decision(0).Hops) > 0 }
	for _, c := range []struct {
		name   string
		inputs []speakers.Input // at 10 s, after the session fell at 5 s
		at10   bool
		at35   bool
	}{
		{"until their time is up", nil, true, false},
		{"until its End-of-RIB", []speakers.Input{sessionUp(spine1), endOfRIB(spine1)}, false, false},
		{"for good when it tells them again", []speakers.Input{sessionUp(spine1), announce(spine1, route(1, 201)), endOfRIB(spine1)}, true, true},
		{"until it withdraws them", []speakers.Input{sessionUp(spine1), {Kind: speakers.Withdraw, Bundle: spine1}}, false, false},
		{"not over a bundle that goes down", []speakers.Input{capacity(spine1, 0)}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			core := fed(t, cfg, sessionUp(spine1), announce(spine1, route(1, 201)))
			step(t, core, 5*time.Second, restarts(spine1), sessionDown(spine1))
			if !has(core) {
				t.Fatal("dropped with the session")
			}
			step(t, core, 10*time.Second, c.inputs...)
			if got := has(core); got != c.at10 {
				t.Errorf("at 10 s: got a route: %v, want %v", got, c.at10)
			}
			step(t, core, 35*time.Second)
			if got := has(core); got != c.at35 {
				t.Errorf("at 35 s: got a route: %v, want %v", got, c.at35)
			}
		})
	}
}

func TestRoutesOfANeighbourThatJustFallsAreDropped(t *testing.T) {
	core := fed(t, edge(), sessionUp(spine1), announce(spine1, route(1, 201)), sessionDown(spine1))
	if got := core.Decision(0); len(got.Hops) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

// restarted is an edge that starts again at 10 s with all its bundles there.
func restarted(t *testing.T, wait string) *speakers.Core {
	t.Helper()
	cfg := edge()
	cfg.Settings = withKnobs(t, "restart.eor-time", wait)
	cfg.Restart = &speakers.Restart{At: 10 * time.Second}
	for _, s := range cfg.Sessions {
		cfg.Restart.Bundles = append(cfg.Restart.Bundles, s.Capacity)
	}
	return speakers.New(cfg)
}

func TestARestartedSpeakerWaitsForAllEndsOfRIB(t *testing.T) {
	core := restarted(t, "2m")
	if got := core.Next(); got != 130*time.Second {
		t.Errorf("next: got %v, want 2m10s", got)
	}
	got := step(t, core, 11*time.Second, sessionUp(spine1), announce(spine1, route(1, 201)), endOfRIB(spine1))
	same(t, "effects while it waits", got, []speakers.Effect(nil))
	if !core.Restarting() {
		t.Error("it does not say that it waits")
	}
	var ends []speakers.Input
	for _, s := range edge().Sessions {
		ends = append(ends, endOfRIB(s.Bundle))
	}
	got = step(t, core, 12*time.Second, ends...)
	if core.Restarting() {
		t.Error("it waits on after all are in")
	}
	last := got[len(got)-1]
	if last.Kind != speakers.AllTold || !hasTell(got, 0) {
		t.Errorf("effects: got %v, want the route told and then that all is", got)
	}
	// Hardware forwarded on: what has no next hop now is taken from it.
	gone := 0
	for _, e := range got {
		if e.Kind == speakers.Unprogram {
			gone++
		}
	}
	if want := edge().Prefixes - 1; gone != want {
		t.Errorf("unprogrammed: got %d prefixes, want %d", gone, want)
	}
}

func TestARestartedSpeakerWaitsNoLongerThanItsTime(t *testing.T) {
	core := restarted(t, "20s")
	step(t, core, 11*time.Second, sessionUp(spine1), announce(spine1, route(1, 201)))
	same(t, "effects before", step(t, core, 30*time.Second-1), []speakers.Effect(nil))
	if got := step(t, core, 30*time.Second); !hasTell(got, 0) {
		t.Errorf("effects when its time is up: got %v, want the route told", got)
	}
}

func TestBundlesAreDampedWhileASpeakerWaits(t *testing.T) {
	cfg := edge()
	cfg.Settings = withKnobs(t, "restart.eor-time", "1m")
	cfg.Damping = held(5 * time.Second)
	cfg.Restart = &speakers.Restart{At: 10 * time.Second}
	for range cfg.Sessions {
		cfg.Restart.Bundles = append(cfg.Restart.Bundles, unit)
	}
	core := speakers.New(cfg)
	step(t, core, 12*time.Second, announce(spine1, route(9, 201)), capacity(spine1, 4*unit))
	if got := core.Next(); got != 17*time.Second {
		t.Errorf("next: got %v, want the hold-down's 17 s", got)
	}
	step(t, core, 17*time.Second)
	step(t, core, 70*time.Second)
	if got := core.Decision(0).Bottleneck; got != 4*unit {
		t.Errorf("bottleneck: got %d, want %d", got, uint64(4*unit))
	}
}

func hasTell(effects []speakers.Effect, prefix int32) bool {
	for _, e := range effects {
		if e.Kind == speakers.Tell && e.Prefix == prefix {
			return true
		}
	}
	return false
}

// aggregating is an edge that announces prefix 2 while it has more-specifics.
func aggregating(a topologies.Aggregate) speakers.Config {
	cfg := edge()
	cfg.Origins = nil
	cfg.Aggregates = []speakers.Aggregate{{Prefix: 2, Specifics: []int32{0, 1}, Aggregate: a}}
	return cfg
}

func to(p int32, in speakers.Input) speakers.Input {
	in.Prefix = p
	return in
}

func TestAnAggregateIsAnnouncedByItsThresholds(t *testing.T) {
	steps := []struct {
		in   speakers.Input
		hyst bool // announce 2, withdraw 1
		same bool // announce 2, withdraw 2
	}{
		{to(0, announce(spine1, route(1, 201))), false, false},
		{to(1, announce(spine2, route(1, 202))), true, true},
		{to(1, speakers.Input{Kind: speakers.Withdraw, Bundle: spine2}), true, false},
		{to(1, announce(bag8, route(1, 208))), true, false}, // from above does not support
		{to(0, speakers.Input{Kind: speakers.Withdraw, Bundle: spine1}), false, false},
		{to(0, announce(spine2, route(1, 202))), false, false},
	}
	for _, withdraw := range []uint64{1, 2} {
		core := fed(t, aggregating(topologies.Aggregate{By: topologies.BySupporting, Announce: 2, Withdraw: withdraw}), originate)
		for i, s := range steps {
			step(t, core, 0, s.in)
			want := s.same
			if withdraw == 1 {
				want = s.hyst
			}
			if got := core.Decision(2); got.Local != want || got.Told.Present != want || got.Told.Atomic != want {
				t.Errorf("withdraw %d, step %d: got %+v, want announced: %v", withdraw, i, got, want)
			}
		}
	}
}

func TestAnAggregatesValueIsThatOfTheDistinctBundlesBehindIt(t *testing.T) {
	core := fed(t, aggregating(topologies.Aggregate{By: topologies.BySupporting, Announce: 1, Withdraw: 1}), originate,
		to(0, announce(spine1, route(1, 201))), to(1, announce(spine1, route(1, 201))))
	one := core.Decision(2).Bottleneck
	step(t, core, 0, to(1, announce(spine2, route(1, 202))))
	two := core.Decision(2).Bottleneck
	caps := map[int32]uint64{}
	for _, s := range edge().Sessions {
		caps[s.Bundle] = s.Capacity
	}
	if one != caps[spine1] || two != caps[spine1]+caps[spine2] {
		t.Errorf("value: got %d, then %d, want %d, then %d", one, two, caps[spine1], caps[spine1]+caps[spine2])
	}
	step(t, core, 0, capacity(spine2, unit))
	if got := core.Decision(2).Bottleneck; got != caps[spine1]+unit {
		t.Errorf("value after a loss: got %d, want %d", got, caps[spine1]+unit)
	}
}

func TestASuppressingAggregateKeepsItsMoreSpecificsFromGoingUp(t *testing.T) {
	for _, suppress := range []bool{false, true} {
		core := fed(t, aggregating(topologies.Aggregate{By: topologies.BySupporting, Announce: 1, Withdraw: 1, Suppress: suppress}), originate,
			to(0, announce(spine1, route(1, 201))))
		if got := core.Decision(0).Told.Down; got != suppress {
			t.Errorf("suppress %v: more-specific told only down: %v", suppress, got)
		}
		if core.Decision(2).Told.Down {
			t.Error("the aggregate itself does not go up")
		}
		step(t, core, 0, to(0, speakers.Input{Kind: speakers.Withdraw, Bundle: spine1}), to(0, announce(bag8, route(1, 208))))
		if got := core.Decision(2); got.Local {
			t.Errorf("suppress %v: aggregate without support: got %+v", suppress, got)
		}
	}
}
