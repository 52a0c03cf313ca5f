package state

import (
	"fmt"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/topologies"
)

// Hardware is what a device forwards with: its chip, and what its table does
// with weights and when it is full.
type Hardware struct {
	Profile fib.Profile
	Options fib.Options
}

// HardwareOf is the hardware that the topology names, by device, with the
// zero fib.Options. It fails for an ASIC that is not a built-in profile.
func HardwareOf(t *topologies.Topology) ([]Hardware, error) {
	list := make([]Hardware, len(t.Devices))
	first := map[string]int{} // by ASIC: a device that has it
	for i, d := range t.Devices {
		if known, ok := first[d.ASIC]; ok {
			list[i] = list[known]
			continue
		}
		profile, err := fib.Lookup(d.ASIC)
		if err != nil {
			return nil, fmt.Errorf("device %q: %w", d.Name, err)
		}
		list[i].Profile, first[d.ASIC] = profile, i
	}
	return list, nil
}

// Algorithm is what the table reduces with.
func (h Hardware) Algorithm() fib.Algorithm {
	if h.Options.Algorithm == "" {
		return fib.Minimax
	}
	return h.Options.Algorithm
}

// Overflow is what the table does when it is full.
func (h Hardware) Overflow() fib.Overflow {
	if h.Options.Overflow == "" {
		return fib.OverflowExceed
	}
	return h.Options.Overflow
}

// Bound is an error that the chip's reduction of the shares does not exceed;
// see fib.Profile.Bound.
func (h Hardware) Bound(shares []uint64) float64 { return h.Profile.Bound(h.Algorithm(), shares) }

// Limit is one limit of a chip and how much of it is used.
type Limit struct {
	What       string
	Used, Most int
}

// LimitsOf are the limits that an audit is judged by: the peaks against what
// the chip holds at all, and what is in use between changes against what it
// may hold then.
func LimitsOf(a *fib.Audit) [4]Limit {
	return [...]Limit{
		{"groups at peak", a.GroupsPeak, a.GroupsLimit},
		{"member entries at peak", a.MembersPeak, a.MembersLimit},
		{"groups between changes", a.Groups, a.GroupsSteadyLimit},
		{"member entries between changes", a.Members, a.MembersSteadyLimit},
	}
}

// RoundingError is a two-sided error (0.01 is 1 %) that is no more than what the
// rounding of told values to float32 makes.
const RoundingError = 1e-6

// FIBUse is what a run asked of one device's hardware.
type FIBUse struct {
	// Report holds the table at the quiet where it erred most; of equals,
	// where it dropped most members, had most compromises, or most groups.
	// Its peaks, limits and counts of changes, gaps and refusals are those of
	// the whole run.
	Report fib.Report
	Event  string    // in which that was, as Engine.Mark had it; empty = before the first
	Last   fib.Audit // at the last quiet
}

// PolicyUse is what one overflow policy makes of everything that was
// programmed in a run, over all devices.
type PolicyUse struct {
	Overflow fib.Overflow
	Exceeded int     // devices whose table was above a limit of its chip
	Use      float64 // the most of any limit that was used, as a part of it
	Device   string  // where that was
	Groups   int     // the most groups at one moment of the device that used the largest part of its limit
	GroupsOf int     // that limit
	Overload float64 // worst of any quiet
	Underuse float64 // worst of any quiet; +Inf = a member was dropped
	Dropped  int     // most members dropped at one quiet, over all devices
	Given    int     // most compromises at one quiet, over all devices
	Refusals int     // over the whole run
	Gaps     int     // over the whole run
	Moves    int     // times a prefix changed its group, over the whole run
	Spilled  int     // the most groups of the other type in one device at one moment
}
