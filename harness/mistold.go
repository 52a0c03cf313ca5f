package harness

import (
	"time"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// misTold sums what is told wrong over virtual time. Where time passes only between
// quiets, told values change only at a quiet and the sum is exact for what the graph
// says is told. Where time passes while the network gets quiet, all that was told
// before counts as told until then, against what is true at the end of it: where one
// change is on its way at a time, an upper bound.
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

// converged adds the time that the network took to get quiet, in which the truth was
// another one already.
func (m *misTold) converged(net *state.Network, before, truth *oracle.State, took time.Duration) {
	if took > 0 {
		part := state.MisTold{Now: misRate(net, before, truth)}
		part.Add(took)
		m.sum.Over, m.sum.Under, m.sum.Told = m.sum.Over+part.Over, m.sum.Under+part.Under, m.sum.Told+part.Told
	}
}

// advance moves virtual time forward; until then all stays as it is. An engine
// whose messages take time may be there already.
func (r *Rig) advance(to time.Duration) {
	to = max(to, r.engine.Now())
	r.sumUntil(to)
	r.engine.Advance(to)
}

// sumUntil lets what is told wrong, and what is lost, last until a time.
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
