package properties

import (
	"math"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
)

// TransientsName is the name of the rule, as verdicts and reports print it.
const TransientsName = "transients are short"

// Transients is the rule "transients are short": between two messages no black
// hole and no loop lasts longer than a limit. It is judged only where messages take
// time, as in the sim engine's timed schedule, and is not in All: what is short is for
// the user to say. docs/transients.md has what counts and what to expect.
type Transients struct {
	ledger
	limit time.Duration
}

// NewTransients returns the check. A limit of 0 allows none that lasts any time, and
// one below 0 allows all, so that the longest is only reported. Its worst value is
// the longest transient in milliseconds.
func NewTransients(limit time.Duration) *Transients {
	most := milliseconds(limit)
	if limit < 0 {
		limit, most = damping.Never, math.Inf(1)
	}
	return &Transients{newLedger(TransientsName, most, "ms"), limit}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// WantsTransients implements state.TransientCheck.
func (*Transients) WantsTransients() {}

// Look implements state.Check. It counts as exercised once per window that was
// watched and did something.
func (c *Transients) Look(m *state.Moment) {
	w := m.Window
	if w == nil || !w.Watched {
		return
	}
	if w.Effect == state.Changed || w.Effect == state.Absorbed || len(w.Transients) > 0 {
		c.found.Exercised++
	}
	for _, t := range w.Transients {
		c.worst(milliseconds(t.Lasted()))
		if t.Lasted() <= c.limit {
			continue
		}
		t.From, t.Until = t.From-m.Baseline.Time, t.Until-m.Baseline.Time
		text := ""
		if !c.full() {
			text = t.Text(m.Network)
		}
		c.violate(m, at(m.Network, t.At[0], t.Prefix), "%s: it lasted %v, want at most %v", text, t.Lasted(), c.limit)
	}
}
