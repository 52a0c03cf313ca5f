// Package fib models what forwarding hardware makes of weighted next hops:
// ASIC profiles with their limits, the reduction of shares to integer weights,
// the table of next-hop groups with its make-before-break peak, what it gives
// up when it is full, and an audit of the result. It is pure: no time, no BGP,
// no longest match; flows are only simulated, from a seed.
// The Example shows a table before and after one bundle degrades.
package fib

import (
	"math"
	"net/netip"
	"slices"
)

// Hop is one next hop of a prefix with the share of traffic it should get.
type Hop struct {
	ID    int32  // the session, any number unique in the device
	Share uint64 // relative share, bits/s; 0 = no traffic
}

// Weighted is one member of a next-hop group as hardware has it.
type Weighted struct {
	ID     int32 `json:"id"`
	Weight int   `json:"weight"` // at least 1
}

// Entry is a prefix as the table has it programmed.
type Entry struct {
	Prefix     netip.Prefix
	Group      int        // identity of the group; kept while the vector is unchanged
	Members    []Weighted // sorted by ID
	Error      float64    // two-sided error for the shares of this prefix: what Reduce reported, or what a compromise costs
	Dropped    []int32    // hops with a positive share that have no member
	Compromise Compromise // what it has in place of what Reduce gave; empty: that
}

// Same tells whether two entries are alike in everything.
func (e Entry) Same(f Entry) bool {
	same := len(e.Members) == len(f.Members) && (len(e.Members) == 0 || &e.Members[0] == &f.Members[0] || slices.Equal(e.Members, f.Members))
	return same && e.Prefix == f.Prefix && e.Group == f.Group && math.Float64bits(e.Error) == math.Float64bits(f.Error) &&
		slices.Equal(e.Dropped, f.Dropped) && e.Compromise == f.Compromise
}

// Audit is what one device's table looks like against its profile's limits.
// Limits are NoLimit where the profile publishes none.
type Audit struct {
	Profile      string
	Algorithm    Algorithm
	Overflow     Overflow
	Groups       int // in use now
	GroupsPeak   int // most in use at one moment since the table was made, old and new groups counted together
	GroupsLimit  int // what the peak may not exceed
	Members      int // member entries in use now, as Profile.MemberCost counts them
	MembersPeak  int // most in use at one moment, old and new groups counted together
	MembersLimit int // what the peak may not exceed

	GroupsSteadyLimit  int // what Groups may not exceed between changes
	MembersSteadyLimit int // what Members may not exceed between changes

	GroupsPeakEvent  string // the Mark in which GroupsPeak was reached first; empty: before any
	MembersPeakEvent string // the Mark in which MembersPeak was reached first

	SpillGroups      int // groups of the other type in use now (OverflowSpill)
	SpillMembers     int // their member entries
	SpillGroupsPeak  int // most at one moment
	SpillMembersPeak int // most at one moment

	WorstOverload float64 // max over prefixes and members of hardware share / wanted share - 1
	WorstUnderuse float64 // max over prefixes and members of wanted share / hardware share - 1; a dropped member is +Inf
	Dropped       int     // members with a positive share that hardware does not have, over all prefixes

	Prefixes    int     // programmed
	Sharing     float64 // prefixes per group, those without a group apart; 0 without a group
	Compromises int     // prefixes that have something else than Reduce gave

	Events           int    // Marks
	GroupChanges     int    // times a prefix moved to another group, or between a group and a single next hop, since the table was made
	MostChanges      int    // most of them in one event
	MostChangesEvent string // the Mark of that event
	Gaps             int    // times a prefix was without its group for the time of one change, because the chip breaks first
	Refusals         int    // requests that were refused, each once (OverflowReject)

	LongestCompromise int // most events that ended in a row with one prefix without its own group, the present one among them
}
