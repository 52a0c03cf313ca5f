package live

import (
	"slices"
	"testing"
)

func TestLullOnlyWhenEveryGapIsClosed(t *testing.T) {
	// One UPDATE of 3 NLRI goes from a speaker to its neighbour: told with a
	// fence behind it, read and handed over by the wire, taken by the core.
	// Each case delays one gap until all else has happened.
	type step struct {
		name string
		do   func(*tracker) error
	}
	tell := step{"tell", func(tr *tracker) error { tr.expect(0, 7); return nil }}
	hand := step{"hand", func(tr *tracker) error { tr.hand(0, 3); return nil }}
	fence := step{"fence", func(tr *tracker) error { tr.fence(0, 7); return nil }}
	take := step{"take", func(tr *tracker) error { return tr.take(0, 3) }}
	cases := []struct {
		late  string
		order []step
	}{
		{"core to wire", []step{tell, hand, take, fence}},
		{"server to core", []step{tell, hand, fence, take}},
	}
	for _, c := range cases {
		tr := newTracker(2)
		for i, s := range c.order {
			if err := s.do(tr); err != nil {
				t.Fatalf("%s late: %s: %v", c.late, s.name, err)
			}
			if got, want := tr.lull(), i == len(c.order)-1; got != want {
				t.Errorf("%s late: lull after %s: got %v, want %v", c.late, s.name, got, want)
			}
		}
	}
}

func TestOldFencesDoNotCloseTheGap(t *testing.T) {
	tr := newTracker(1)
	tr.expect(0, 5)
	for _, old := range []uint32{1, 4} {
		if tr.fence(0, old) || tr.lull() {
			t.Errorf("fence %d closed the gap that waits for 5", old)
		}
	}
	if !tr.fence(0, 5) || !tr.lull() {
		t.Error("fence 5 did not close the gap")
	}
	if tr.fence(0, 5) {
		t.Error("a fence counts twice")
	}
}

func TestALaterFenceStandsForAnEarlierOne(t *testing.T) {
	tr := newTracker(1)
	tr.expect(0, 5)
	tr.expect(0, 6)
	if !tr.fence(0, 6) || !tr.lull() {
		t.Error("fence 6 did not close both")
	}
}

func TestANewGenerationDropsTheOldCounts(t *testing.T) {
	tr := newTracker(2)
	tr.expect(0, 1)
	tr.hand(0, 9)
	if err := tr.take(0, 4); err != nil {
		t.Fatal(err)
	}
	tr.hand(1, 1)
	tr.reset(0)
	if tr.lull() {
		t.Error("lull although the other direction has one in flight")
	}
	if got, want := tr.busy(), []int{1}; !slices.Equal(got, want) {
		t.Errorf("busy: got %v, want %v", got, want)
	}
	if err := tr.take(1, 1); err != nil || !tr.lull() {
		t.Errorf("no lull after all is taken: %v", err)
	}
}

func TestTakingMoreThanWasHandedIsAnError(t *testing.T) {
	tr := newTracker(1)
	tr.hand(0, 1)
	if err := tr.take(0, 2); err == nil {
		t.Error("took 2 of 1 without an error")
	}
}
