package harness

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/bagrig/bagrig/harness/state"
)

// guard keeps a check that panics from ending the run: it counts as violated, with
// the panic and its stack, and looks no more. The other checks go on.
type guard struct {
	check  state.Check
	broken *state.Violation // nil = it has not panicked
	last   state.Outcome    // before it did
}

func newGuards(checks []state.Check) []*guard {
	list := make([]*guard, len(checks))
	for i, c := range checks {
		list[i] = &guard{check: c}
	}
	return list
}

// run lets the check do something at a virtual time since the baseline.
func (g *guard) run(now time.Duration, what string, f func()) {
	if g.broken != nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			g.broken = &state.Violation{Time: now, Where: what, Text: fmt.Sprintf("the check panics: %v\n%s", p, debug.Stack())}
		}
	}()
	f()
}

func (g *guard) look(m *state.Moment) {
	g.run(m.Snapshot.Time-m.Baseline.Time, "Look", func() { g.check.Look(m) })
}

// outcome is what the check found, and its panic.
func (g *guard) outcome() state.Outcome {
	g.run(0, "Outcome", func() { g.last = g.check.Outcome() })
	o := g.last
	if g.broken == nil {
		return o
	}
	g.name(&o)
	o.Exercised = max(o.Exercised, 1)
	o.Violated++
	o.Violations = append(o.Violations[:len(o.Violations):len(o.Violations)], *g.broken)
	return o
}

// name gives an outcome the name of a check that may have panicked before it had one.
func (g *guard) name(o *state.Outcome) {
	defer func() {
		if recover() != nil {
			o.Name = fmt.Sprintf("%T", g.check)
		}
	}()
	o.Name = g.check.Name()
}

// judges tells whether the check has a verdict: it is no watcher, or has panicked.
func (g *guard) judges() bool {
	_, watches := g.check.(state.Watcher)
	return !watches || g.broken != nil
}

func outcomesOf(guards []*guard) (list []state.Outcome) {
	for _, g := range guards {
		if g.judges() {
			list = append(list, g.outcome())
		}
	}
	return list
}
