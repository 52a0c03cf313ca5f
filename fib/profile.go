package fib

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrUnknownProfile is returned by Lookup for a name that no profile has.
var ErrUnknownProfile = errors.New("unknown profile")

// NotPublished is the value of Groups or Members where no source states the
// limit. The table then has no limit there, and Audit shows NoLimit.
const NotPublished = -1

// NoLimit is what Audit and the steady-state limits have where the profile
// states none.
const NoLimit = math.MaxInt32

// Profile holds the limits of one ASIC's next-hop group hardware. A zero
// Profile is refused by Validate; take one from Lookup, or fill the fields.
type Profile struct {
	Name string

	// Groups is how many next-hop groups the chip holds, the transient ones
	// of a make-before-break change included. 1 or more, or NotPublished.
	Groups int

	// Members is how many member entries the chip holds over all groups,
	// the transient ones included; 1 or more, or NotPublished. What a group
	// costs is MemberCost's rule.
	Members int

	// Width is the largest sum of weights of one group, 1 to MaxWidth.
	Width int

	// Variable is the largest group that is programmed as it is; a larger one
	// is filled up to exactly Width. 0: any size up to Width.
	Variable int

	// NativeCost is the number of member entries that one member of a
	// weighted group takes. 0 means that the chip has no native weights and
	// replicates members, so that a weighted group takes its sum of weights.
	NativeCost int

	// Unweighted is a chip that can only share equally.
	Unweighted bool

	// Reserve is how many groups are kept free for make-before-break.
	Reserve int

	// BreakFirst is a chip that, with no room for the old group and the new
	// one together, takes the old one away first. Others leave the change to
	// the overflow policy.
	BreakFirst bool

	// Ceiling is the part of Groups and of Members that may be in use once a
	// change is complete, in (0, 1]; up to all of both may be used while it
	// is made.
	Ceiling float64

	// Source says where the numbers come from; Verified whether all of them
	// were read there, and not taken from a summary or marked provisional.
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
// member, or, on a chip that replicates, the sum of weights, filled up where
// Variable says so. Fewer than two members take nothing: routes with one next
// hop point straight at it.
func (p Profile) MemberCost(members []Weighted) int {
	if len(members) < 2 {
		return 0
	}
	sum := 0
	for _, m := range members {
		sum += m.Weight
	}
	switch {
	case sum != len(members) && p.NativeCost > 0:
		return p.NativeCost * len(members)
	case p.Variable > 0 && sum > p.Variable:
		return p.Width
	}
	return sum
}

// GroupLimit returns how many groups may be in use at one moment.
func (p Profile) GroupLimit() int { return limit(p.Groups) }

// MemberLimit returns how many member entries may be in use at one moment.
func (p Profile) MemberLimit() int { return limit(p.Members) }

func limit(n int) int {
	if n == NotPublished {
		return NoLimit
	}
	return n
}

// SteadyGroups returns how many groups may be in use between changes: the
// ceiling's part of Groups, and never so many that less than Reserve is free.
func (p Profile) SteadyGroups() int {
	if p.Groups == NotPublished {
		return NoLimit
	}
	return max(0, min(int(p.Ceiling*float64(p.Groups)), p.Groups-p.Reserve))
}

// SteadyMembers returns how many member entries may be in use between
// changes: the ceiling's part of Members, and never so many that Reserve
// groups of full width have no room.
func (p Profile) SteadyMembers() int {
	if p.Members == NotPublished {
		return NoLimit
	}
	return max(0, min(int(p.Ceiling*float64(p.Members)), p.Members-p.Reserve*p.Width))
}

// Reduce is the Reduce of this chip: alg within Width, equal weights on a chip
// that has no others, and sizes that the chip can program. Where it fills up
// (see Variable), Minimax takes the better of the sizes up to Variable and of
// exactly Width; what another algorithm gives above Variable is filled as
// FBOSSWide fills.
func (p Profile) Reduce(alg Algorithm, shares []uint64) (Reduction, error) {
	if p.Unweighted {
		alg = Equal
	}
	if p.Variable == 0 || alg == Equal {
		return Reduce(alg, shares, p.Width)
	}
	if alg == Minimax {
		return p.minimaxFilled(shares)
	}
	red, err := Reduce(alg, shares, p.Width)
	if err != nil {
		return red, err
	}
	if sum := sumOf(red.Weights); sum > p.Variable && sum != p.Width {
		return fillReduction(shares, red.Weights, p.Width), nil
	}
	return red, nil
}

// Bound is the Bound of what Reduce gives on this chip. Where it fills up,
// Minimax is at least as good as in Variable entries; for the others but Equal
// there is no guarantee.
func (p Profile) Bound(alg Algorithm, shares []uint64) float64 {
	switch {
	case p.Unweighted:
		return Bound(Equal, shares, p.Width)
	case p.Variable == 0 || alg == Equal:
		return Bound(alg, shares, p.Width)
	case alg == Minimax:
		return Bound(Minimax, shares, p.Variable)
	}
	return math.Inf(1)
}

// minimaxFilled is the exact best over the sizes up to Variable and Width;
// ties go to the smaller size.
func (p Profile) minimaxFilled(shares []uint64) (Reduction, error) {
	best, err := Reduce(Minimax, shares, p.Variable)
	if err != nil {
		return Reduction{}, err
	}
	if best.Error > 0 && p.Width > p.Variable {
		if red, ok := reduceTo(shares, p.Width); ok && red.Error < best.Error {
			return red, nil
		}
	}
	return best, nil
}

// Validate returns an error that names the first field out of range and
// quotes its value.
func (p Profile) Validate() error {
	fields := []struct {
		name      string
		value     int
		low, high int
		unknown   bool // may be NotPublished
	}{
		{"groups", p.Groups, 1, math.MaxInt32, true},
		{"members", p.Members, 1, math.MaxInt32, true},
		{"width", p.Width, 1, MaxWidth, false},
		{"variable", p.Variable, 0, p.Width, false},
		{"native cost", p.NativeCost, 0, 1024, false},
		{"reserve", p.Reserve, 0, limit(p.Groups), false},
	}
	for _, f := range fields {
		if f.unknown && f.value == NotPublished {
			continue
		}
		if f.value < f.low || f.value > f.high {
			return fmt.Errorf("profile %q: %s %d: want %d to %d", p.Name, f.name, f.value, f.low, f.high)
		}
	}
	if !(p.Ceiling > 0 && p.Ceiling <= 1) {
		return fmt.Errorf("profile %q: ceiling %v: want above 0, up to 1", p.Name, p.Ceiling)
	}
	return nil
}
