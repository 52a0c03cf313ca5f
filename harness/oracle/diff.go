package oracle

import (
	"cmp"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
)

// Change says in what one device's route to one prefix differs between two states.
type Change struct {
	Device, Prefix int
	Bottleneck     bool // bottleneck value, or whether there is one or a route at all
	Weights        bool // multipath set or a share in it
	Told           bool // told value, or whether one or anything at all is told
	Path           bool // told in both states, with another AS path, scope, drain mark or form of the value
}

// SessionChange says in what one directed session is told something else of
// one prefix. The sender is the device at Dir's sending end.
type SessionChange struct {
	Dir    state.Direction
	Prefix int
	Told   bool // value, or whether one or anything at all is told
	Path   bool // told in both states, with another AS path, scope, drain mark or form of the value
	Cut    bool // there is no session in one of the states: its fall or its first dump says it
}

// Diff lists all routes in which b differs from a, by device, then prefix.
// Both must be states of one topology; their levels may differ.
func Diff(a, b *State) []Change {
	var changes []Change
	for d := range a.o.asn {
		for p := range a.o.prefixes {
			x, y := a.entry(d, p), b.entry(d, p)
			c := Change{
				Device: d, Prefix: p,
				Bottleneck: x.reached != y.reached || x.valued != y.valued || x.bottleneck != y.bottleneck,
				Weights:    !sameSet(a, b, d, p),
				Told:       !x.sameValue(y),
				Path:       x.present && y.present && !sameAttributes(a, x, b, y, d),
			}
			if c.Bottleneck || c.Weights || c.Told || c.Path {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

// DiffSessions lists what all directed sessions are told otherwise in b than
// in a, by direction (bundle, then A's end first), then prefix. Both must be
// states of one topology; their levels may differ.
func DiffSessions(a, b *State) []SessionChange {
	return diffSessions(a, b, nil)
}

// DiffOpenSessions is DiffSessions for one of several steps of a moment, all of
// which have happened in end. Sessions open before anything is told of the
// moment, so those that are up in end count as up in a and b too: what their
// first dump says is what the sender told before the moment, and that is no
// change. Only sessions that are down in end have Cut.
func DiffOpenSessions(a, b, end *State) []SessionChange {
	return diffSessions(a, b, end)
}

func diffSessions(a, b, end *State) []SessionChange {
	var changes []SessionChange
	for d := range a.o.asn {
		for p := range a.o.prefixes {
			changes = appendSessions(changes, a, b, end, d, p)
		}
	}
	slices.SortFunc(changes, func(x, y SessionChange) int {
		return cmp.Or(
			cmp.Compare(x.Dir.Bundle, y.Dir.Bundle),
			compareBool(x.Dir.FromB, y.Dir.FromB),
			cmp.Compare(x.Prefix, y.Prefix))
	})
	return changes
}

// appendSessions adds the changes of all sessions over which device d tells.
func appendSessions(changes []SessionChange, a, b, end *State, d, p int) []SessionChange {
	x, y := a.entry(d, p), b.entry(d, p)
	sameValue, sameWay := x.sameValue(y), x.present == y.present && sameAttributes(a, x, b, y, d)
	for i := a.o.first[d]; i < a.o.first[d+1]; i++ {
		open := end != nil && end.there[i]
		upA, upB := open || a.there[i], open || b.there[i]
		if sameWay && sameValue && upA == upB {
			continue
		}
		e := a.o.ends[i]
		toldA := upA && a.exports(d, int(e.peer), x)
		toldB := upB && b.exports(d, int(e.peer), y)
		c := SessionChange{
			Dir:    state.Direction{Bundle: e.bundle, FromB: e.isB},
			Prefix: p,
			Told:   toldA != toldB || (toldA && !sameValue),
			Path:   toldA && toldB && !sameWay,
			Cut:    upA != upB || end != nil && !open,
		}
		if c.Told || c.Path {
			changes = append(changes, c)
		}
	}
	return changes
}

func sameSet(a, b *State, device, prefix int) bool {
	lo, hi := int(a.o.first[device]), int(a.o.first[device+1])
	base := prefix * len(a.o.ends)
	return slices.Equal(a.member[base+lo:base+hi], b.member[base+lo:base+hi]) &&
		slices.Equal(a.share[base+lo:base+hi], b.share[base+lo:base+hi])
}

// sameAttributes compares all of what the device tells but presence and value.
// The form of a value that comes or goes comes and goes with it.
func sameAttributes(a *State, x *entry, b *State, y *entry, device int) bool {
	return x.down == y.down && x.warm == y.warm && samePath(&a.paths, x.told, &b.paths, y.told) &&
		(x.tells != y.tells || a.form(device, x) == b.form(device, y))
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
