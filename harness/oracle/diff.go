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
	differing := differing(a, b)
	for d := range a.o.asn {
		for _, p := range differing {
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

// differing lists the prefixes of which something may differ: all but those of
// which the states share what was decided, and the forms of values too.
func differing(a, b *State) (prefixes []int) {
	forms := sameForms(a, b)
	for p := range a.o.prefixes {
		if !forms || a.rows[p] != b.rows[p] {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes
}

func sameForms(a, b *State) bool {
	for d := range a.rules {
		if a.rules[d] != b.rules[d] && a.rules[d].form != b.rules[d].form {
			return false
		}
	}
	return true
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
	differing := differing(a, b)
	for d := range a.o.asn {
		prefixes := differing
		if len(differing) < len(a.o.prefixes) && opens(a, b, end, d) {
			prefixes = a.o.all
		}
		for _, p := range prefixes {
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

// opens tells whether a session of the device is there in one of two states only.
func opens(a, b, end *State, d int) bool {
	for i := a.o.first[d]; i < a.o.first[d+1]; i++ {
		if a.there[i] != b.there[i] && (end == nil || !end.there[i]) {
			return true
		}
	}
	return false
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
	return equalSets(a.rows[prefix].sets[device], b.rows[prefix].sets[device])
}

// equalSets compares sets, which states share where they are the same.
func equalSets(x, y []state.Member) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || slices.Equal(x, y))
}

// sameAttributes compares all of what the device tells but presence and value.
// The form of a value that comes or goes comes and goes with it.
func sameAttributes(a *State, x *entry, b *State, y *entry, device int) bool {
	return x.down == y.down && x.warm == y.warm && samePath(x.told, y.told) &&
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

// Mark calls mark for every place of which the states may answer otherwise: of the
// device's route, or of what it tells and to whom. With heard, also where what
// neighbours tell the device may be something else. Both must be states of one topology.
func (s *State) Mark(since *State, heard bool, mark func(device, prefix int)) {
	for d := range s.o.asn {
		if s.otherwise(since, d) {
			for p := range s.o.prefixes {
				mark(d, p)
			}
		}
	}
	for p := range s.o.prefixes {
		now, was := s.rows[p], since.rows[p]
		if now == was {
			continue
		}
		for d := range now.entries {
			same := now.entries[d] == was.entries[d]
			if !same || !sameSet(s, since, d, p) {
				mark(d, p)
			}
			if same || !heard {
				continue
			}
			for _, e := range s.o.ends[s.o.first[d]:s.o.first[d+1]] {
				mark(int(e.peer), p)
			}
		}
	}
}

// otherwise tells whether a device has other sessions, or writes values in another form.
func (s *State) otherwise(since *State, d int) bool {
	lo, hi := s.o.first[d], s.o.first[d+1]
	if s.rules == nil || since.rules == nil {
		return true
	}
	return !slices.Equal(s.there[lo:hi], since.there[lo:hi]) || s.rules[d].form != since.rules[d].form
}
