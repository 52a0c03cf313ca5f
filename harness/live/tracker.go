package live

import "fmt"

// tracker counts what is in flight, so that a lull is known and never guessed.
// It covers three gaps: from a wire to the core that takes what the wire
// handed over (handed against took), and from a core through its server to the
// wires (fences that are owed). It is pure: no lock, no time.
//
// A direction is a directed session, by number.
type tracker struct {
	flows       []flow
	outstanding int // NLRI handed and not taken, over all directions
	owing       int // directions that owe a fence
	moves       int // counted events, so that a standstill can be told from slowness
	taken       int // NLRI taken since the start, over all generations
}

type flow struct {
	handed, took int
	want         uint32 // number of the fence that is owed; 0 = none
}

func newTracker(directions int) *tracker { return &tracker{flows: make([]flow, directions)} }

// lull tells whether all counts meet and all fences have been seen.
func (t *tracker) lull() bool { return t.outstanding == 0 && t.owing == 0 }

// hand counts NLRI that a wire is about to write.
func (t *tracker) hand(dir, nlri int) {
	t.flows[dir].handed += nlri
	t.outstanding += nlri
	t.moves++
}

// take counts NLRI that a core has queued. More than were handed is an error:
// the counts can then never meet.
func (t *tracker) take(dir, nlri int) error {
	f := &t.flows[dir]
	f.took += nlri
	t.taken += nlri
	t.outstanding -= nlri
	t.moves++
	if f.took > f.handed {
		return fmt.Errorf("took %d NLRI of %d handed over", f.took, f.handed)
	}
	return nil
}

// expect makes a direction owe a fence. Numbers ascend.
func (t *tracker) expect(dir int, number uint32) {
	if t.flows[dir].want == 0 {
		t.owing++
	}
	t.flows[dir].want = number
}

// fence counts a fence that a wire swallowed, and tells whether it is the one
// that was owed. A lower number is an older fence, as a session's first dump
// holds it.
func (t *tracker) fence(dir int, number uint32) bool {
	f := &t.flows[dir]
	t.moves++
	if f.want == 0 || number < f.want {
		return false
	}
	f.want = 0
	t.owing--
	return true
}

// reset starts a new generation of a session's direction: what was in flight
// went down with the old one.
func (t *tracker) reset(dir int) {
	f := &t.flows[dir]
	t.outstanding -= f.handed - f.took
	if f.want != 0 {
		t.owing--
	}
	*f = flow{}
	t.moves++
}

// busy lists the directions that keep the lull from coming.
func (t *tracker) busy() []int {
	var dirs []int
	for i, f := range t.flows {
		if f.handed != f.took || f.want != 0 {
			dirs = append(dirs, i)
		}
	}
	return dirs
}
