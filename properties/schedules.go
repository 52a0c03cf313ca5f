package properties

import (
	"slices"

	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// roundsOnly are the rules that hold of rounds alone.
var roundsOnly = []string{
	// In rounds a speaker hears all that its neighbours decided before it decides
	// itself; in any other order it may decide, and tell, on a part of it.
	ContainmentName,
}

// InSchedule gives the checks that hold in a schedule of the simulator: all of them
// in sim.Rounds. In any other, rules that only rounds keep are left out, and where
// messages take time the rest are judged when the network is settled.
func InSchedule(all []state.Check, mode string) (checks []state.Check) {
	for _, check := range all {
		_, transients := check.(state.TransientCheck)
		switch {
		case mode == "" || mode == sim.Rounds || transients:
			checks = append(checks, check)
		case slices.Contains(roundsOnly, check.Name()):
		case mode == sim.Timed:
			checks = append(checks, settledOnly{check})
		default:
			checks = append(checks, check)
		}
	}
	return checks
}

// settledOnly shows a rule settled moments. Where messages take time a speaker
// hears of its own bundle a batch later than the graph does, and its timers run
// that much later; so between settled moments the two are apart, and the graph
// is no judge.
type settledOnly struct{ state.Check }

func (c settledOnly) Look(m *state.Moment) {
	if m.Settled {
		c.Check.Look(m)
	}
}
