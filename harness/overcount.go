package harness

import (
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// Overcount holds what is told at the last settled moment against what the graph can
// carry then: the values that speakers tell, and those that they would tell without
// damping. See oracle.Overcount.
func (r *Rig) Overcount() (damped, undamped oracle.Overcount) {
	return r.judge.truth.Overcount(r.judge.damped), r.judge.truth.Overcount(r.judge.truth)
}

// overcounts are the rows of one moment.
func (r *Rig) overcounts(moment string) (rows []state.Overcount) {
	damped, undamped := r.Overcount()
	for i, x := range []oracle.Overcount{undamped, damped} {
		row := state.Overcount{Moment: moment, Damped: i == 1, Pairs: x.Pairs, Above: x.Above, Median: x.Median, Worst: x.Worst}
		if x.Device >= 0 {
			row.Device, row.Prefix = r.net.Topology.Devices[x.Device].Name, r.net.Topology.Prefixes[x.Prefix].Prefix.String()
		}
		rows = append(rows, row)
	}
	return rows
}

// others gives rows that are not, but for their moment, as they were before.
func others(rows, before []state.Overcount) []state.Overcount {
	for i := range rows {
		was := before[i]
		was.Moment = rows[i].Moment
		if was != rows[i] {
			return rows
		}
	}
	return nil
}
