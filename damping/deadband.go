package damping

import (
	"fmt"
	"time"
)

// Deadband passes a bundle's full capacity until more than Skip members have
// failed, and then acts in steps: of n failures beyond, it counts none of 0,
// and else the first of each Every, so 1, 1 + Every, 1 + 2 x Every and so on.
// What it passes is never less than what is there, and a bundle that is down
// passes as down at once.
//
// Source: FBOSS RibRouteWeightNormalizer (numSpineFailuresToSkip, and
// spinePruneStepCount by quantizeToStep), which prunes paths for spine failures
// in this way in an NSF fabric.
//
// It must know the members and their speed (NewBundleFor); of a bundle of which
// nothing is known it passes everything at once. Capacity that is no multiple
// of the speed counts as the failure of one more member.
type Deadband struct {
	Skip  int // members, 0 to 4,096
	Every int // members, 1 to 4,096; 1 acts on each failure beyond Skip
}

// maxMembers is the most members of a bundle.
const maxMembers = 4096

// Validate returns an error when a field is out of its range.
func (d Deadband) Validate() error {
	if d.Skip < 0 || d.Skip > maxMembers {
		return fmt.Errorf("deadband: skip %d: want 0 to %d members", d.Skip, maxMembers)
	}
	if d.Every < 1 || d.Every > maxMembers {
		return fmt.Errorf("deadband: every %d: want 1 to %d members", d.Every, maxMembers)
	}
	return nil
}

func (d Deadband) String() string { return fmt.Sprintf("deadband skip %d every %d", d.Skip, d.Every) }

// NewBundle returns a policy that passes everything at once, as of a bundle of
// which nothing is known.
func (d Deadband) NewBundle() BundlePolicy { return passBundle{} }

// NewBundleFor returns the policy for one bundle; it holds no state. Where
// Validate fails, or info lacks members or speed, it passes everything at once.
func (d Deadband) NewBundleFor(info BundleInfo) BundlePolicy {
	if d.Validate() != nil || info.Members <= 0 || info.Speed == 0 {
		return passBundle{}
	}
	return deadband{full: info.Full(), speed: info.Speed, skip: uint64(d.Skip), every: uint64(d.Every)}
}

// Law bounds what is passed beyond what is there by Skip + Every - 1 members,
// with one member left at the worst. It holds for whole members.
func (d Deadband) Law() Law {
	l := passLaw()
	l.Over = float64(max(d.Skip, 0) + max(d.Every, 1) - 1)
	return l
}

// LawFor is Law for one bundle: the worst of its members' counts. Capacity that
// is no whole number of members may lie in the last of them.
func (d Deadband) LawFor(info BundleInfo) Law {
	l := passLaw()
	if d.Validate() != nil || info.Members <= 0 || info.Speed == 0 {
		return l
	}
	for failed := range info.Members {
		there := float64(info.Members - failed)
		l.Over = max(l.Over, float64(uint64(failed)-d.counted(uint64(failed)))/there)
	}
	l.Step, l.OverSlack = info.Speed, uint64(d.Skip+d.Every-1)*info.Speed
	return l
}

// counted is how many of the failed members count as failed.
func (d Deadband) counted(failed uint64) uint64 {
	return deadband{skip: uint64(d.Skip), every: uint64(d.Every)}.counted(failed)
}

type deadband struct {
	full, speed uint64
	skip, every uint64
}

func (d deadband) counted(failed uint64) uint64 {
	if failed <= d.skip {
		return 0
	}
	return (failed-d.skip-1)/d.every*d.every + 1
}

func (d deadband) Step(_ time.Duration, capacity uint64) (Passed, time.Duration) {
	if capacity == 0 || capacity >= d.full {
		return Passed{Capacity: capacity}, Never
	}
	failed := (d.full-capacity-1)/d.speed + 1
	return Passed{Capacity: max(capacity, d.full-d.counted(failed)*d.speed)}, Never
}
