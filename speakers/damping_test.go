package speakers_test

import (
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
)

func told(stages ...damping.ToldStage) damping.Pipeline { return damping.Pipeline{Told: stages} }

// touchy suppresses at the third change.
var touchy = damping.Penalty{
	Withdraw: 1000, Attribute: 1000, Suppress: 2500, Reuse: 500, Max: 10_000,
	HalfLife: time.Minute, MaxSuppress: time.Hour, OnSuppress: damping.Withhold,
}

func TestAChangeOfThePathAloneAddsPenalty(t *testing.T) {
	cfg := edge()
	cfg.Damping = told(touchy)
	c := fed(t, cfg, announce(spine2, route(3, 202)))
	paths := [][]uint32{{202, 7}, {202, 8}, {202, 9}}
	for i, path := range paths {
		step(t, c, time.Duration(i+1)*time.Second, announce(spine2, route(3, path...)))
		if got, want := c.Decision(0).Told.Present, i < 2; got != want {
			t.Errorf("after %d changes of the path: told %t, want %t", i+1, got, want)
		}
	}
	if c.Decision(0).Bottleneck == 0 || len(c.Decision(0).Hops) != 1 {
		t.Errorf("got %+v, want the route still used", c.Decision(0))
	}
	if c.Next() == speakers.Never {
		t.Fatal("no timer for the reuse")
	}
	step(t, c, c.Next())
	if !c.Decision(0).Told.Present {
		t.Error("not told again when it is reused")
	}
}

func TestAChangeThatAltersNothingAddsNoPenalty(t *testing.T) {
	cfg := edge()
	cfg.Damping = told(touchy)
	c := fed(t, cfg, announce(spine2, route(3, 202)))
	for i := range 10 {
		// Another candidate that loses changes neither the value nor the path.
		r := route(float64(i+1), 208, 1, 2)
		step(t, c, time.Duration(i+1)*time.Second, announce(bag8, r))
	}
	if !c.Decision(0).Told.Present {
		t.Error("suppressed although what is told never changed")
	}
}

func TestAStormOfReceivedPrefixesPausesRises(t *testing.T) {
	cfg := edge()
	cfg.Damping = told(damping.StormGuard{Interval: time.Second, High: 5, Low: 2, MaxPause: 10 * time.Second})
	c := fed(t, cfg, announce(spine2, route(1, 202)))
	for i := range 6 {
		other := announce(spine1, route(float64(i+1), 201))
		other.Prefix = 1
		step(t, c, 500*time.Millisecond, other)
	}
	step(t, c, 1100*time.Millisecond, announce(spine2, route(2, 202)))
	if got := c.Decision(0).Told.Value; got != units(1) {
		t.Errorf("a rise in a storm: told %v, want the value before, %v", got, units(1))
	}
	step(t, c, 1200*time.Millisecond, announce(spine2, route(0.5, 202)))
	if got := c.Decision(0).Told.Value; got != units(0.5) {
		t.Errorf("a fall in a storm: told %v, want %v", got, units(0.5))
	}
	step(t, c, 1300*time.Millisecond, announce(spine2, route(2, 202)))
	for c.Next() != speakers.Never {
		step(t, c, c.Next())
	}
	if got := c.Decision(0).Told.Value; got != units(2) {
		t.Errorf("after the storm: told %v, want %v", got, units(2))
	}
}
