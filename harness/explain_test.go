package harness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

const threeEvents = `topology: prometheus-mini
events:
  - degrade: {bundle: r1-bag1--r2-bag1, members: 24}
  - down: {bundle: r1-f1-s1--r1-f1-e2}
  - drain: {device: r2-bag3, state: warm}
`

// twoDevices is a network that starts quickly.
const twoDevices = `topology:
  name: net
  devices:
    - {name: s1, role: spine, region: r1, fabric: f1, kind: dsf, asn: 65001, asic: tomahawk5}
    - {name: e1, role: edge, region: r1, fabric: f1, kind: dsf, plane: 1, asn: 65002, asic: jericho3}
  bundles:
    - {a: s1, b: e1, members: 4, speed: 800G, length: 300m}
  prefixes:
    - {prefix: 10.1.0.0/24, origins: [s1]}
events:
  - degrade: {bundle: s1--e1, members: 2}
`

// at replays to an event.
func at(t *testing.T, sc *Scenario, event int, look func(*Scene)) {
	t.Helper()
	shown := 0
	err := Replay(context.Background(), sc, event, RunOptions{}, func(s *Scene) error {
		shown++
		look(s)
		return nil
	})
	if err != nil || shown != 1 {
		t.Fatalf("event %d: got %d scenes, error %v, want one", event, shown, err)
	}
}

func TestAReplayShowsWhatTheRunHad(t *testing.T) {
	sc := read(t, threeEvents)
	var settled []*state.Snapshot
	check := &stub{look: func(m *state.Moment) {
		if m.Settled {
			settled = append(settled, m.Snapshot)
		}
	}}
	if _, err := Run(context.Background(), sc, RunOptions{Checks: []state.Check{check}}); err != nil {
		t.Fatal(err)
	}
	if got, want := len(settled), len(sc.Events)+1; got != want {
		t.Fatalf("got %d settled moments, want %d", got, want)
	}
	for event, want := range settled {
		at(t, sc, event, func(s *Scene) {
			if d := cmp.Diff(want, s.Snapshot, cmpopts.EquateComparable(netip.Prefix{})); d != "" {
				t.Errorf("event %d: run and replay differ (-run +replay):\n%s", event, d)
			}
			if s.Event != event || s.Events != 3 || (s.Text == "") != (event == 0) {
				t.Errorf("got event %d of %d, %q, want %d of 3", s.Event, s.Events, s.Text, event)
			}
		})
	}
}

func TestATimedEventEndsTheSceneOfTheOneBefore(t *testing.T) {
	sc := read(t, `topology: prometheus-mini
events:
  - down: {bundle: r1-f1-s1--r1-f1-e2}
  - up: {bundle: r1-f1-s1--r1-f1-e2, at: 60s}
  - degrade: {bundle: r1-bag1--r2-bag1, members: 24, at: 65s}
  - degrade: {bundle: r1-bag2--r2-bag2, members: 24, at: 65s}
`)
	b := sc.Topology.Index().Bundle["r1-f1-s1--r1-f1-e2"]
	for event, want := range []struct {
		time  time.Duration
		trial bool
	}{1: {0, false}, 2: {time.Minute, true}, 3: {90 * time.Second, false}, 4: {90 * time.Second, false}} {
		if event == 0 {
			continue
		}
		at(t, sc, event, func(s *Scene) {
			if got := s.Snapshot.Bundles[b].Trial; s.Time != want.time || got != want.trial {
				t.Errorf("event %d: got %v and on trial %t, want %v and %t", event, s.Time, got, want.time, want.trial)
			}
		})
	}
}

// TestTheExplanationIsThatOfTheWholeNetwork holds what speakers say of
// themselves against what their neighbours have and what the snapshot has.
func TestTheExplanationIsThatOfTheWholeNetwork(t *testing.T) {
	at(t, read(t, threeEvents), 3, func(s *Scene) {
		told := 0
		for d := range s.Network.Topology.Devices {
			for p := range s.Network.Topology.Prefixes {
				x, err := s.Explain(d, p)
				if err != nil {
					t.Fatal(err)
				}
				told += heard(t, s, x)
				r := &s.Snapshot.Devices[d].Routes[p]
				var set []state.Member
				for _, m := range x.Core.Set {
					set = append(set, state.Member{Bundle: m.Bundle, Share: m.Share})
				}
				if !cmp.Equal(set, r.Set) || !cmp.Equal(state.Told(x.Core.Tells.Told), r.Told) || x.Core.Valuation.Value.Bits != r.Bottleneck {
					t.Fatalf("device %d, prefix %d: got set %v, value %v, told %+v, want %v, %d, %+v", d, p, set, x.Core.Valuation.Value, x.Core.Tells.Told, r.Set, r.Bottleneck, r.Told)
				}
			}
		}
		if entries, _ := Entries(s.Network, s.Snapshot); told != entries {
			t.Errorf("got %d told, want the %d Adj-RIB-In entries", told, entries)
		}
	})
}

// heard counts the neighbours to which a prefix is told, and finds it at each.
func heard(t *testing.T, s *Scene, x *Explanation) (n int) {
	t.Helper()
	for _, b := range x.Core.Bundles {
		candidates := s.Snapshot.Devices[b.Neighbor].Routes[x.Prefix].Candidates
		i := slices.IndexFunc(candidates, func(c state.Candidate) bool { return c.Bundle == b.Bundle })
		if b.Told != (i >= 0) {
			t.Fatalf("device %d, prefix %d, bundle %d: got told %t, %q, want %t", x.Device, x.Prefix, b.Bundle, b.Told, b.Why, i >= 0)
		}
		if !b.Told {
			continue
		}
		n++
		if c := candidates[i]; !slices.Equal(c.Path, x.Core.Tells.WirePath) || c.Value != x.Core.Tells.Value {
			t.Fatalf("device %d, prefix %d, bundle %d: got path %v and value %v, want what was heard: %v and %v",
				x.Device, x.Prefix, b.Bundle, x.Core.Tells.WirePath, x.Core.Tells.Value, c.Path, c.Value)
		}
	}
	return n
}

func TestADrainedDeviceSaysUntilWhenItForwards(t *testing.T) {
	sc := read(t, "topology: prometheus-mini\nevents:\n  - drain: {device: r1-bag1, state: drained}\n"+
		"  - degrade: {bundle: r1-bag2--r2-bag2, members: 24, at: 500ms}\n")
	// Timed from the baseline on, so that its linger is not over when the next starts.
	sc.Events[0].At = 100 * time.Millisecond
	at(t, sc, 1, func(s *Scene) {
		x, err := s.Explain(s.Network.Index.Device["r1-bag1"], 0)
		if err != nil {
			t.Fatal(err)
		}
		if until := x.Core.ForwardsTo - s.Epoch; x.Core.Drain != topologies.Drained || until != 1100*time.Millisecond || len(x.Entry.Members) == 0 {
			t.Errorf("got %v, forwarding until %v, entry %+v, want drained, 1.1s and an entry", x.Core.Drain, until, x.Entry)
		}
		if why := x.Core.Tells.Why; why != "drained" {
			t.Errorf("got told nothing because %q, want drained", why)
		}
	})
}

func TestAnEventThatIsNotThereIsRefusedBeforeAnythingStarts(t *testing.T) {
	sc := read(t, twoDevices)
	for _, event := range []int{-1, 2} {
		err := Replay(context.Background(), sc, event, RunOptions{}, func(*Scene) error { return nil })
		want := fmt.Sprintf("event %d: want 0 (the baseline) to 1", event)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

func TestTheErrorOfALookEndsTheReplay(t *testing.T) {
	wrong := errors.New("wrong")
	for event := range 2 {
		if err := Replay(context.Background(), read(t, twoDevices), event, RunOptions{}, func(*Scene) error { return wrong }); !errors.Is(err, wrong) {
			t.Errorf("event %d: got error %v, want the look's", event, err)
		}
	}
}

func TestAReplayThatIsInterruptedShowsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := Replay(ctx, read(t, twoDevices), 1, RunOptions{}, func(*Scene) error {
		t.Error("a scene was shown")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

func TestNamesAreFoundAndOthersSayWhatThereIs(t *testing.T) {
	mini, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	large, err := topologies.Preset("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if i, err := FindDevice(mini, "r1-bag1"); err != nil || mini.Devices[i].Name != "r1-bag1" {
		t.Errorf("got device %d, error %v", i, err)
	}
	for _, text := range []string{"10.1.0.0/16", "10.1.2.3/16"} {
		if i, err := FindPrefix(mini, text); err != nil || mini.Prefixes[i].Prefix.String() != "10.1.0.0/16" {
			t.Errorf("%s: got prefix %d, error %v", text, i, err)
		}
	}
	for _, c := range []struct {
		find func(*topologies.Topology, string) (int, error)
		t    *topologies.Topology
		text string
		want []string
	}{
		{FindDevice, mini, "r9-bag1", []string{`device "r9-bag1"`, `"prometheus-mini"`, "r1-bag1, ", "r2-f4-e4"}},
		{FindDevice, large, "", []string{`device ""`, " and 356 more"}},
		{FindPrefix, mini, "10.9.0.0/16", []string{`prefix "10.9.0.0/16"`, "10.1.0.0/24", "10.2.0.0/16"}},
		{FindPrefix, mini, "10.1.0.0", []string{`prefix "10.1.0.0"`, "10.1.0.0/24"}},
	} {
		_, err := c.find(c.t, c.text)
		if err == nil {
			t.Errorf("%q: got no error", c.text)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("got error %v, want %q in it", err, w)
			}
		}
	}
}

func TestAnEngineThatCannotExplainSaysSo(t *testing.T) {
	s := &Scene{Scenario: "x", rig: &Rig{engine: struct{ state.Engine }{}}}
	if _, err := s.Explain(0, 0); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("got error %v, want one that names the scenario", err)
	}
}
