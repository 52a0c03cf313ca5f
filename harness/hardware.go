package harness

import (
	"cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// wear keeps what a run asks of the hardware: of each device the quiet where
// its table erred most, and of each overflow policy the worst of all.
type wear struct {
	net      *state.Network
	report   func(device int) fib.Report
	uses     []state.FIBUse // by device
	policies []policyWear   // in the order of fib.Overflows
}

type policyWear struct {
	use      state.PolicyUse
	exceeded []bool // by device
}

// see takes what hardware has at a quiet in an event.
func (w *wear) see(s *state.Snapshot, event string) {
	first := w.uses == nil
	if first {
		w.uses = make([]state.FIBUse, len(s.Devices))
	}
	for d := range s.Devices {
		if s.Devices[d].External {
			continue // nobody sees its hardware
		}
		use, now := &w.uses[d], s.Devices[d].FIB
		use.Last = now
		if first || worse(now, use.Report.Audit) {
			use.Report, use.Event = w.report(d), event
		}
	}
	if len(s.Devices) > 0 && s.Devices[0].Compared != nil {
		w.compare(s)
	}
}

// worse tells whether a table errs more than it did at another quiet; see
// state.FIBUse.
func worse(now, before fib.Audit) bool {
	return cmp.Or(
		cmp.Compare(errorOf(now), errorOf(before)),
		cmp.Compare(now.Dropped, before.Dropped),
		cmp.Compare(now.Compromises, before.Compromises),
		cmp.Compare(now.Groups, before.Groups),
	) > 0
}

// errorOf is the two-sided error of a table, the rounding of told float32s apart.
func errorOf(a fib.Audit) float64 {
	if e := max(a.WorstOverload, a.WorstUnderuse); e > state.RoundingError {
		return e
	}
	return 0
}

// compare takes the tables of all policies at a quiet.
func (w *wear) compare(s *state.Snapshot) {
	if w.policies == nil {
		for _, o := range fib.Overflows() {
			w.policies = append(w.policies, policyWear{state.PolicyUse{Overflow: o}, make([]bool, len(s.Devices))})
		}
	}
	for i := range w.policies {
		p := &w.policies[i]
		dropped, given, refusals, gaps, moves := 0, 0, 0, 0, 0
		for d := range s.Devices {
			a := &s.Devices[d].Compared[i]
			p.see(d, w.net.Topology.Devices[d].Name, a)
			dropped, given = dropped+a.Dropped, given+a.Compromises
			refusals, gaps, moves = refusals+a.Refusals, gaps+a.Gaps, moves+a.GroupChanges
		}
		p.use.Dropped, p.use.Given = max(p.use.Dropped, dropped), max(p.use.Given, given)
		p.use.Refusals, p.use.Gaps, p.use.Moves = refusals, gaps, moves
	}
}

// see takes one device's table at a quiet.
func (p *policyWear) see(d int, name string, a *fib.Audit) {
	for _, l := range state.LimitsOf(a) {
		if part := float64(l.Used) / float64(l.Most); l.Used > 0 && part > p.use.Use {
			p.use.Use, p.use.Device = part, name
		}
		if l.Used > l.Most && !p.exceeded[d] {
			p.exceeded[d] = true
			p.use.Exceeded++
		}
	}
	if p.use.GroupsOf == 0 || float64(a.GroupsPeak)/float64(a.GroupsLimit) > float64(p.use.Groups)/float64(p.use.GroupsOf) {
		p.use.Groups, p.use.GroupsOf = a.GroupsPeak, a.GroupsLimit
	}
	p.use.Overload, p.use.Underuse = max(p.use.Overload, a.WorstOverload), max(p.use.Underuse, a.WorstUnderuse)
	p.use.Spilled = max(p.use.Spilled, a.SpillGroupsPeak)
}

// results are the uses as the run leaves them.
func (w *wear) results() ([]state.FIBUse, []state.PolicyUse) {
	var uses []state.FIBUse
	for d, use := range w.uses {
		if !w.net.IsExternal(d) {
			keepRun(&use.Report.Audit, use.Last)
			uses = append(uses, use)
		}
	}
	var policies []state.PolicyUse
	for _, p := range w.policies {
		policies = append(policies, p.use)
	}
	return uses, policies
}

// keepRun puts what the last audit says of the whole run into an earlier one.
func keepRun(a *fib.Audit, last fib.Audit) {
	a.GroupsPeak, a.GroupsPeakEvent = last.GroupsPeak, last.GroupsPeakEvent
	a.MembersPeak, a.MembersPeakEvent = last.MembersPeak, last.MembersPeakEvent
	a.SpillGroupsPeak, a.SpillMembersPeak = last.SpillGroupsPeak, last.SpillMembersPeak
	a.Events, a.GroupChanges = last.Events, last.GroupChanges
	a.MostChanges, a.MostChangesEvent = last.MostChanges, last.MostChangesEvent
	a.Gaps, a.Refusals, a.LongestCompromise = last.Gaps, last.Refusals, last.LongestCompromise
}
