package harness

import (
	"time"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// misTold sums what is told wrong over virtual time. Told values change only
// at a quiet and time passes only between quiets, so the sum is exact for what
// the graph says is told.
type misTold struct {
	sum           state.MisTold
	damped, truth *oracle.State // that sum.Now is of
}

// see takes the present states.
func (m *misTold) see(net *state.Network, damped, truth *oracle.State) {
	if m.damped == damped && m.truth == truth {
		return
	}
	m.damped, m.truth = damped, truth
	m.sum.Now = misRate(net, damped, truth)
}

func misRate(net *state.Network, damped, truth *oracle.State) (rate state.MisRate) {
	for d := range net.Topology.Devices {
		for p := range net.Topology.Prefixes {
			told, is := damped.ToldBits(d, p), truth.ToldBits(d, p)
			rate.Told += is
			rate.Over += max(told-is, 0)
			rate.Under += max(is-told, 0)
		}
	}
	return rate
}

// advance moves virtual time forward; until then all stays as it is. An engine
// whose messages take time may be there already.
func (r *Rig) advance(to time.Duration) {
	to = max(to, r.engine.Now())
	r.sumUntil(to)
	r.engine.Advance(to)
}

// sumUntil lets what is told wrong, and what is lost, last until a time. The time
// that messages took counts for what they led to.
func (r *Rig) sumUntil(now time.Duration) {
	r.misTold.see(r.net, r.judge.damped, r.judge.truth)
	r.misTold.sum.Add(now - r.summed)
	r.lost.add(now - r.summed)
	r.summed = now
}

// MisTold is how much capacity was told wrong since the baseline, as the graph
// that judges the run has it.
func (r *Rig) MisTold() state.MisTold {
	r.sumUntil(r.engine.Now())
	return r.misTold.sum
}
