// Package fib models what forwarding hardware makes of weighted next hops:
// ASIC profiles with their limits, the reduction of shares to integer weights,
// the table of next-hop groups with its make-before-break peak, and an audit
// of the result. It is pure: no time, no BGP, no longest match, no packets.
// The Example shows a table before and after one bundle degrades.
package fib

import "net/netip"

// Hop is one next hop of a prefix with the share of traffic it should get.
type Hop struct {
	ID    int32  // the session, any number unique in the device
	Share uint64 // relative share, bits/s; 0 = no traffic
}

// Weighted is one member of a next-hop group as hardware has it.
type Weighted struct {
	ID     int32
	Weight int // at least 1
}

// Entry is a prefix as the table has it programmed.
type Entry struct {
	Prefix  netip.Prefix
	Group   int        // identity of the group; kept while the vector is unchanged
	Members []Weighted // sorted by ID
	Error   float64    // two-sided error that Reduce reported for the shares of this prefix
	Dropped []int32    // hops with a positive share that have no member
}

// Audit is what one device's table looks like against its profile's limits.
type Audit struct {
	Profile      string
	Groups       int // in use now
	GroupsPeak   int // most in use at one moment since the table was made, old and new groups counted together
	GroupsLimit  int // what the peak may not exceed
	Members      int // member entries in use now, as Profile.MemberCost counts them
	MembersPeak  int // most in use at one moment, old and new groups counted together
	MembersLimit int // what the peak may not exceed

	GroupsSteadyLimit  int // what Groups may not exceed between changes
	MembersSteadyLimit int // what Members may not exceed between changes

	WorstOverload float64 // max over prefixes and members of hardware share / wanted share - 1
	WorstUnderuse float64 // max over prefixes and members of wanted share / hardware share - 1; a dropped member is +Inf
	Dropped       int     // members with a positive share that hardware does not have, over all prefixes
	GroupChanges  int     // times a prefix moved to another group, or between a group and a single next hop, since the table was made
}
