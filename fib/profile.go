package fib

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrUnknownProfile is returned by Lookup for a name that no profile has.
var ErrUnknownProfile = errors.New("unknown profile")

// Profile holds the limits of one ASIC's next-hop group hardware. A zero
// Profile has no room for anything; take one from Lookup, or fill every
// field.
type Profile struct {
	Name string

	// Groups is how many next-hop groups the chip holds, the transient ones
	// of a make-before-break change included.
	Groups int

	// Members is how many member entries the chip holds over all groups,
	// the transient ones included. What a group costs is MemberCost's rule.
	Members int

	// Width is the largest sum of weights of one group.
	Width int

	// NativeCost is the number of member entries that one member of a
	// weighted group takes. 0 means that the chip has no native weights and
	// replicates members, so that a weighted group takes its sum of weights.
	NativeCost int

	// Reserve is how many groups are kept free for make-before-break.
	Reserve int

	// Ceiling is the part of Groups and of Members that may be in use once a
	// change is complete, in (0, 1]; up to all of both may be used while it
	// is made.
	Ceiling float64

	// Source says where the numbers come from; Verified whether they were
	// read there, and not taken from a summary.
	Source   string
	Verified bool
}

// Steady-state rules that FBOSS applies to every ASIC.
const (
	// fbossReserve is the default of the make-before-break buffer, in groups
	// (facebook/fboss fboss/agent/EcmpResourceManagerConfig.cpp).
	fbossReserve = 2

	// fbossCeiling is ecmp_resource_percentage: a final state may use 75 %
	// of groups and of members, an intermediate one 100 %
	// (facebook/fboss fboss/agent/ResourceAccountant.cpp, checkEcmpResource).
	fbossCeiling = 0.75
)

// jericho3 is the silicon family of BAG and edge chassis. Its 64 groups are
// the scarce resource: the limit is that of FBOSS's DSF use, and other
// network operating systems may carve the chip otherwise.
func jericho3() Profile {
	return Profile{
		Name: "jericho3",
		// getMaxEcmpGroups; 16 when dual-stage 3Q2Q meets a width of 2,048 or more.
		Groups: 64,
		// getMaxEcmpMembers.
		Members: 32768,
		// getMaxVariableWidthEcmpSize.
		Width: 2048,
		// No case of its own in computeWeightedEcmpMemberCount: replication.
		NativeCost: 0,
		Reserve:    fbossReserve,
		Ceiling:    fbossCeiling,
		Source:     "facebook/fboss fboss/agent/hw/switch_asics/Jericho3Asic.{h,cpp}, fboss/agent/ResourceAccountant.cpp",
		Verified:   true,
	}
}

// tomahawk5 is the silicon of the building fabrics' spines.
func tomahawk5() Profile {
	return Profile{
		Name: "tomahawk5",
		// getMaxEcmpGroups.
		Groups: 4096,
		// getMaxEcmpMembers.
		Members: 64000,
		// getMaxVariableWidthEcmpSize.
		Width: 512,
		// computeWeightedEcmpMemberCount: "For TH5, UCMP members take 4x of
		// ECMP members in the same table".
		NativeCost: 4,
		Reserve:    fbossReserve,
		Ceiling:    fbossCeiling,
		Source:     "facebook/fboss fboss/agent/hw/switch_asics/Tomahawk5Asic.{h,cpp}, fboss/agent/ResourceAccountant.cpp",
		Verified:   true,
	}
}

// Profiles returns every built-in profile, sorted by name.
func Profiles() []Profile {
	return []Profile{jericho3(), tomahawk5()}
}

// Lookup returns the built-in profile of that name. Any other name is an
// ErrUnknownProfile that lists the names there are.
func Lookup(name string) (Profile, error) {
	var known []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Profile{}, fmt.Errorf("profile %q: %w: want one of %s", name, ErrUnknownProfile, strings.Join(known, ", "))
}

// MemberCost returns how many member entries a group of these members takes
// (facebook/fboss fboss/agent/ResourceAccountant.cpp, getMemberCountForEcmpGroup):
// the number of members while every weight is 1; else NativeCost for each
// member, or, on a chip that replicates, the sum of weights. Fewer than two
// members take nothing: routes with one next hop point straight at it.
func (p Profile) MemberCost(members []Weighted) int {
	if len(members) < 2 {
		return 0
	}
	sum := 0
	for _, m := range members {
		sum += m.Weight
	}
	if sum == len(members) || p.NativeCost == 0 {
		return sum
	}
	return p.NativeCost * len(members)
}

// SteadyGroups returns how many groups may be in use between changes: the
// ceiling's part of Groups, and never so many that less than Reserve is free.
func (p Profile) SteadyGroups() int {
	return max(0, min(int(p.Ceiling*float64(p.Groups)), p.Groups-p.Reserve))
}

// SteadyMembers returns how many member entries may be in use between
// changes: the ceiling's part of Members, and never so many that Reserve
// groups of full width have no room.
func (p Profile) SteadyMembers() int {
	return max(0, min(int(p.Ceiling*float64(p.Members)), p.Members-p.Reserve*p.Width))
}

// validate returns an error that names the first field out of range.
func (p Profile) validate() error {
	fields := []struct {
		name      string
		value     int
		low, high int
	}{
		{"groups", p.Groups, 1, math.MaxInt32},
		{"members", p.Members, 1, math.MaxInt32},
		{"width", p.Width, 1, MaxWidth},
		{"native cost", p.NativeCost, 0, 1024},
		{"reserve", p.Reserve, 0, p.Groups},
	}
	for _, f := range fields {
		if f.value < f.low || f.value > f.high {
			return fmt.Errorf("profile %q: %s %d: want %d to %d", p.Name, f.name, f.value, f.low, f.high)
		}
	}
	if !(p.Ceiling > 0 && p.Ceiling <= 1) {
		return fmt.Errorf("profile %q: ceiling %v: want above 0, up to 1", p.Name, p.Ceiling)
	}
	return nil
}
