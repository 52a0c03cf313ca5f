package properties

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// quarter is a window in which a bag-bag bundle loses a quarter of its members
// and every speaker tells each change once.
func quarter(t *testing.T) (*paper, *state.Moment) {
	t.Helper()
	p := small(t)
	before, after := p.moment(nil), p.moment(broken{"r1-bag1--r2-bag1": 24})
	after.Window = p.window(before, after)
	return p, after
}

// TestContainmentCountsWhatTheGraphDoesNotAskFor spoils the log, or what the
// graph allows, of a window that is in order.
func TestContainmentCountsWhatTheGraphDoesNotAskFor(t *testing.T) {
	p, clean := quarter(t)
	all := len(clean.Window.Log)
	if all == 0 {
		t.Fatal("a quarter of a bag-bag bundle changes nothing")
	}
	told := p.told(clean, p.dir(farBag, "r2-f1-e1"), int32(p.prefixOf("10.1.0.0/24")))
	still := p.told(clean, p.dir("r1-bag2", "r2-bag2"), int32(p.prefixOf("10.1.0.0/24"))) // not touched by the event
	at := func(n state.NLRI, round int) state.NLRI { n.Round = round; return n }
	withdrawn := func(n state.NLRI) state.NLRI {
		n.Withdraw, n.Valued, n.Value, n.Path = true, false, 0, 0
		return n
	}
	valued := func(n state.NLRI, value float32) state.NLRI { n.Value = value; return n }
	path := func(n state.NLRI, path uint64) state.NLRI { n.Path = path; return n }
	dump := func(n state.NLRI) state.NLRI { n.Dump = true; return n }
	allow := func(n state.NLRI, s state.SessionChange) func(w *state.Window) {
		return func(w *state.Window) {
			s.Dir, s.Prefix = n.Dir, n.Prefix
			w.Allowed = append(w.Allowed, s)
		}
	}
	for _, tc := range []struct {
		name  string
		more  []state.NLRI // after what is in order
		allow func(w *state.Window)
		tally Tally
		text  string // of the only violation; empty = none
	}{
		{"each change told once", nil, nil, Tally{Counted: all}, ""},
		{"the last value repeated", []state.NLRI{told}, nil, Tally{Counted: all + 1},
			`session "r2-bag1" to "r2-f1-e1" over "r2-f1-e1--r2-bag1", prefix 10.1.0.0/24: speaker "r2-bag1" in round 7 repeated 24 members (19.2T); 2 NLRI count, want at most 1`},
		{"a change that is none", []state.NLRI{valued(still, 1e12)}, nil, Tally{Counted: all + 1},
			`prefix 10.1.0.0/24: speaker "r1-bag2" in round 7 told 10 members (8T) after 33 members (26.4T); 1 NLRI count, want at most 0`},
		{"a change and its undoing, which the graph asks for", []state.NLRI{valued(told, 1e12)}, allow(told, state.SessionChange{Told: true}), Tally{Counted: all + 1}, ""},
		{"a change of presence", []state.NLRI{withdrawn(still)}, nil, Tally{Counted: all + 1}, "withdrew 33 members (26.4T)"},
		{"a withdrawal of nothing", []state.NLRI{withdrawn(p.told(clean, p.dir(bag, farBag), int32(p.prefixOf(far))))}, nil, Tally{Counted: all + 1}, "withdrew what it had not told"},
		{"an AS_PATH that changes as the graph's does", []state.NLRI{path(still, 5)}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all, Path: 1}, ""},
		{"an AS_PATH that changes of itself", []state.NLRI{path(still, 5)}, nil, Tally{Counted: all + 1}, "changed only the AS_PATH of 33 members (26.4T)"},
		{"an AS_PATH that changes twice", []state.NLRI{path(still, 5), still}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all, Path: 2}, ""},
		{"another attribute that changes as the graph's does", []state.NLRI{still}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all, Path: 1}, ""},
		{"a repetition beyond the changes of attributes", []state.NLRI{still, still}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all + 1, Path: 1}, "repeated"},
		{"a value that changes where only the AS_PATH may", []state.NLRI{valued(still, 1e12)}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all + 1}, "told 10 members"},
		{"a cure of a changed value", []state.NLRI{withdrawn(still), valued(still, 1e12)}, allow(still, state.SessionChange{Told: true}), Tally{Counted: all + 1, Cure: 1}, ""},
		{"a cure of a changed AS_PATH", []state.NLRI{withdrawn(still), path(still, 5)}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all, Cure: 1, Path: 1}, ""},
		{"a cure of nothing", []state.NLRI{withdrawn(still), still}, nil, Tally{Counted: all + 1, Cure: 1}, "repeated"},
		{"a cure that takes two rounds is two changes", []state.NLRI{at(withdrawn(still), 8), at(still, 9)}, allow(still, state.SessionChange{Told: true}), Tally{Counted: all + 2}, "told 33 members (26.4T) after nothing"},
		{"the dump of a session that came up", []state.NLRI{at(dump(still), 9)}, nil, Tally{Counted: all, Dump: 1}, ""},
		{"a dump repeated by the speaker", []state.NLRI{at(dump(still), 9), at(still, 10)}, nil, Tally{Counted: all + 1, Dump: 1}, "repeated"},
		{"an AS_PATH after a dump", []state.NLRI{at(dump(path(still, 5)), 9), at(still, 10)}, allow(still, state.SessionChange{Path: true}), Tally{Counted: all, Dump: 1, Path: 1}, ""},
		{"what was told before a dump is forgotten", []state.NLRI{at(dump(p.told(clean, still.Dir, 1)), 9), at(path(still, 5), 10)}, allow(still, state.SessionChange{Told: true, Path: true}), Tally{Counted: all + 1, Dump: 1}, ""},
		{"a session that fell is told nothing", []state.NLRI{withdrawn(still)}, allow(still, state.SessionChange{Told: true, Cut: true}), Tally{Counted: all + 1}, "withdrew 33 members (26.4T)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := *clean
			w := *clean.Window
			w.Log, w.Allowed = append(slices.Clone(w.Log), tc.more...), slices.Clone(w.Allowed)
			slices.SortStableFunc(w.Log, func(a, b state.NLRI) int { return a.Round - b.Round })
			if tc.allow != nil {
				tc.allow(&w)
			}
			m.Window = &w
			checks := All()
			for _, c := range checks {
				c.Look(&m)
			}
			if tally, ok := TallyOf(checks); !ok || tally != tc.tally {
				t.Errorf("tally: got %+v, want %+v", tally, tc.tally)
			}
			for _, c := range checks {
				o := c.Outcome()
				switch {
				case o.Name != ContainmentName || tc.text == "":
					if o.Violated != 0 {
						t.Errorf("%s: got %v, want no violation", o.Name, o.Violations)
					}
				case o.Violated != 1 || o.Worst != 1:
					t.Errorf("got %d violations %v, worst %v, want 1", o.Violated, o.Violations, o.Worst)
				case !strings.Contains(o.Violations[0].Where+": "+o.Violations[0].Text, tc.text):
					t.Errorf("got %q: %q, want it to hold %q", o.Violations[0].Where, o.Violations[0].Text, tc.text)
				}
			}
		})
	}
}

// TestContainmentIsExercisedByWindowsWithAnEffect shows windows and moments
// between them.
func TestContainmentIsExercisedByWindowsWithAnEffect(t *testing.T) {
	p, m := quarter(t)
	between := p.moment(nil)
	var got []int
	for _, effect := range []state.Effect{state.Changed, state.Absorbed, state.NoEffect} {
		c := NewContainment()
		c.Look(between)
		m.Window.Effect = effect
		c.Look(m)
		got = append(got, c.Outcome().Exercised)
	}
	if diff := cmp.Diff(got, []int{1, 1, 0}); diff != "" {
		t.Errorf("exercised by changed, absorbed, no effect (-got +want):\n%s", diff)
	}
}

// TestContainmentJudgesWindowsWithoutEffectToo lets a speaker talk when nothing
// happened.
func TestContainmentJudgesWindowsWithoutEffectToo(t *testing.T) {
	p := small(t)
	m := p.moment(nil)
	m.Window = &state.Window{Before: m.Damped, Effect: state.NoEffect, Log: []state.NLRI{p.told(m, p.dir(bag, farBag), 0)}}
	if got := violatedRules(m); got[ContainmentName] != 1 {
		t.Errorf("got %v, want one violation of %s", got, ContainmentName)
	}
}

// TestEachNLRIBeyondTheLimitIsListedTheIdleOnesFirst has three on one session,
// of which one is allowed.
func TestEachNLRIBeyondTheLimitIsListedTheIdleOnesFirst(t *testing.T) {
	p, m := quarter(t)
	told := p.told(m, p.dir(farBag, "r2-f1-e1"), int32(p.prefixOf("10.1.0.0/24")))
	other := told
	other.Value = 1e12
	m.Window.Log = append(m.Window.Log, told, other)
	c := NewContainment()
	c.Look(m)
	o := c.Outcome()
	if o.Violated != 2 || o.Worst != 2 {
		t.Fatalf("got %d violations, worst %v, want 2, 2", o.Violated, o.Worst)
	}
	for i, want := range []string{"repeated 24 members", "told 10 members (8T) after 24 members"} {
		if !strings.Contains(o.Violations[i].Text, want) {
			t.Errorf("violation %d: got %q, want it to hold %q", i, o.Violations[i].Text, want)
		}
	}
}

// TestWhereDampingHasAMemoryASpeakerTellsWhatItLearned checks law 2 as the limit:
// the bag at the far end of the bundle received nothing of the prefix, so it may
// tell a flow once, for the bundle.
func TestWhereDampingHasAMemoryASpeakerTellsWhatItLearned(t *testing.T) {
	p, m := quarter(t)
	p.net.Damping = damping.Pipeline{Told: []damping.ToldStage{damping.Pace{Interval: 30 * time.Second}}}
	m.Window.Own = map[int]int{p.deviceOf(bag): 1, p.deviceOf(farBag): 1}
	m.Window.Lasted, m.Window.Allowed = 30*time.Second, nil
	told := p.told(m, p.dir(farBag, "r2-f1-e1"), int32(p.prefixOf("10.1.0.0/24")))
	again := func(n int) (more []state.NLRI) {
		for i := range n {
			more = append(more, told)
			more[i].Value, more[i].Round = float32(i+1)*1e12, 8+i
		}
		return more
	}
	for extra := range 4 {
		c, moment, window := NewContainment(), *m, *m.Window
		window.Log = append(slices.Clone(window.Log), again(extra)...)
		moment.Window = &window
		c.Look(&moment)
		if got := c.Outcome().Violated; got != extra {
			t.Errorf("told %d times more than the bundle asks for: got %d violations %v", extra, got, c.Outcome().Violations)
		}
	}
	m.Window.Own = nil
	c := NewContainment()
	c.Look(m)
	if c.Outcome().Violated == 0 {
		t.Error("what nothing caused: got no violation")
	}
}

func TestNoDampingRepeats(t *testing.T) {
	p, m := quarter(t)
	p.net.Damping = damping.Pipeline{Told: []damping.ToldStage{damping.Hysteresis{Quantize: damping.Quantize{Step: 800e9, Error: 0.1}, Margin: 0.25}}}
	m.Window.Own = map[int]int{p.deviceOf(farBag): 3}
	m.Window.Lasted, m.Window.Allowed = 30*time.Second, nil
	told := p.told(m, p.dir(farBag, "r2-f1-e1"), int32(p.prefixOf("10.1.0.0/24")))
	m.Window.Log = []state.NLRI{told, told, told}
	c := NewContainment()
	c.Look(m)
	if got := c.Outcome().Violated; got != 2 {
		t.Errorf("one value told three times, with three causes: got %d violations %v, want 2", got, c.Outcome().Violations)
	}
}
