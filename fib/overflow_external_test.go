package fib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
)

// tiny is a chip with room for groups groups between changes, one more at a
// time.
func tiny(groups, members int) fib.Profile {
	return fib.Profile{Name: "tiny", Groups: groups + 1, Members: members, Width: 16, Reserve: 1, Ceiling: 1}
}

func newOverflowTable(t testing.TB, p fib.Profile, o fib.Overflow) *fib.Table {
	t.Helper()
	table, err := fib.New(p, fib.Options{Overflow: o})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// state is what an entry has, without its ids and errors.
type state struct {
	Members    []fib.Weighted
	Compromise fib.Compromise
}

func stateOf(t testing.TB, table *fib.Table, prefix netip.Prefix) state {
	t.Helper()
	e, ok := table.Lookup(prefix)
	if !ok {
		return state{}
	}
	return state{e.Members, e.Compromise}
}

// TestAFullTableDoesWhatItsPolicySays fills two groups and asks for more.
func TestAFullTableDoesWhatItsPolicySays(t *testing.T) {
	full := [][]fib.Hop{hops(4, 4, 4), hops(4, 4, 2)}
	cases := []struct {
		overflow fib.Overflow
		newcomer []fib.Hop
		want     []state // of the two and the newcomer
	}{
		{fib.OverflowExceed, hops(4, 4, 3), []state{{members(1, 1, 1), ""}, {members(2, 2, 1), ""}, {members(4, 4, 3), ""}}},
		{fib.OverflowEqual, hops(4, 4, 3), []state{{members(1, 1, 1), ""}, {members(2, 2, 1), ""}, {members(1, 1, 1), fib.EqualWeights}}},
		// Between 1 and 3/4 rather than 3/4 and 1/2: sqrt(3/4) is 4/5 in 16.
		{fib.OverflowShare, hops(4, 4, 3), []state{{members(5, 5, 4), fib.Shared}, {members(2, 2, 1), ""}, {members(5, 5, 4), fib.Shared}}},
		// With their weights the two have only the last next hop in common. One
		// next hop takes no group, so that one of the two comes back at once.
		{fib.OverflowMerge, hops(4, 4, 3), []state{{members(1, 1, 1), ""}, {[]fib.Weighted{{ID: 3, Weight: 1}}, fib.Merged}, {members(4, 4, 3), ""}}},
		// A quarter of the newcomer is less than two thirds of the others.
		{fib.OverflowMerge, hops(2, 2, 1, 1), []state{{members(1, 1, 1), ""}, {members(2, 2, 1), ""}, {members(2, 2, 1), fib.Merged}}},
		{fib.OverflowSpill, hops(4, 4, 3), []state{{members(1, 1, 1), ""}, {members(2, 2, 1), ""}, {members(4, 4, 3), fib.Spilled}}},
		{fib.OverflowReject, hops(4, 4, 3), []state{{members(1, 1, 1), ""}, {members(2, 2, 1), ""}, {}}},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %v", c.overflow, c.newcomer), func(t *testing.T) {
			table := newOverflowTable(t, tiny(2, 1000), c.overflow)
			for i, list := range full {
				program(t, table, prefixOf(i), list...)
			}
			err := table.Program(prefixOf(2), c.newcomer)
			if want := c.overflow == fib.OverflowReject; errors.Is(err, fib.ErrFull) != want || (err != nil) != want {
				t.Errorf("got error %v, want one: %v", err, want)
			}
			var got []state
			for i := range 3 {
				got = append(got, stateOf(t, table, prefixOf(i)))
			}
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Errorf("got -, want +:\n%s", diff)
			}
		})
	}
}

func TestWhatWasGivenUpComesBackWhenThereIsRoom(t *testing.T) {
	for _, o := range fib.Overflows() {
		table := newOverflowTable(t, tiny(2, 1000), o)
		program(t, table, prefixOf(0), hops(4, 4, 4)...)
		program(t, table, prefixOf(1), hops(4, 4, 2)...)
		_ = table.Program(prefixOf(2), hops(4, 4, 3))
		table.Remove(prefixOf(1))
		got := []state{stateOf(t, table, prefixOf(0)), stateOf(t, table, prefixOf(2))}
		want := []state{{members(1, 1, 1), ""}, {members(4, 4, 3), ""}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s: got -, want +:\n%s", o, diff)
		}
		if a := table.Audit(); a.Compromises != 0 || a.SpillGroups != 0 || a.Groups != 2 || worstOf(a) != 0 {
			t.Errorf("%s: got %+v, want two groups and no compromise", o, a)
		}
	}
}

func TestTheCostliestComesBackFirst(t *testing.T) {
	table := newOverflowTable(t, tiny(1, 1000), fib.OverflowSpill)
	program(t, table, prefixOf(0), hops(1, 1)...)
	program(t, table, prefixOf(1), hops(2, 1)...)
	for i := 2; i < 5; i++ {
		program(t, table, prefixOf(i), hops(3, 1)...)
	}
	table.Remove(prefixOf(0))
	for i, want := range []fib.Compromise{fib.Spilled, "", "", ""} {
		if got := stateOf(t, table, prefixOf(i+1)).Compromise; got != want {
			t.Errorf("prefix %d: got %q, want %q: three prefixes are on 3:1, one on 2:1", i+1, got, want)
		}
	}
	if a := table.Audit(); a.SpillGroups != 1 || a.SpillGroupsPeak != 2 || a.SpillMembers != 3 || a.Groups != 1 {
		t.Errorf("got %+v, want one spilled group of a peak of 2", a)
	}
}

func TestRejectKeepsTheOldStateUnlessItsNextHopsAreGone(t *testing.T) {
	table := newOverflowTable(t, tiny(1, 1000), fib.OverflowReject)
	program(t, table, left, hops(2, 1)...)
	program(t, table, right, hops(2, 1)...)
	err := table.Program(left, hops(3, 1))
	if want := `prefix "10.0.0.0/24": 2 next hops: no room for the group`; !errors.Is(err, fib.ErrFull) || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if again := table.Program(left, hops(3, 1)); !errors.Is(again, fib.ErrFull) {
		t.Errorf("asked again: got error %v, want %v", again, fib.ErrFull)
	}
	if got, want := stateOf(t, table, left), (state{members(2, 1), fib.Refused}); !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	a := table.Audit()
	// 2:1 where 3:1 is wanted: the second gets 1/3 in place of 1/4.
	if a.Refusals != 1 || math.Abs(a.WorstOverload-1.0/3) > 1e-15 {
		t.Errorf("got %+v, want one refusal and an overload of 1/3", a)
	}
	other := []fib.Hop{{ID: 7, Share: 1}, {ID: 8, Share: 2}}
	if err := table.Program(left, other); !errors.Is(err, fib.ErrFull) {
		t.Errorf("next hops gone: got error %v, want %v", err, fib.ErrFull)
	}
	if got, want := stateOf(t, table, left), (state{[]fib.Weighted{{ID: 8, Weight: 1}}, fib.Single}); !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// equalHops are hops with those IDs and a share of 1 each.
func equalHops(ids ...int32) []fib.Hop {
	var list []fib.Hop
	for _, id := range ids {
		list = append(list, fib.Hop{ID: id, Share: 1})
	}
	return list
}

// TestRejectGivesUpNoMoreThanItMustWhenANextHopIsGone: the old state cannot
// stay, so it is what is left of it, else the largest group that exists, and
// each time it is an error.
func TestRejectGivesUpNoMoreThanItMustWhenANextHopIsGone(t *testing.T) {
	three := fib.Profile{Name: "three", Groups: 3, Members: 1000, Width: 64, Reserve: 1, Ceiling: 1}
	for _, c := range []struct {
		name   string
		others [][]fib.Hop // of other prefixes
		asked  []fib.Hop   // after 4:4:2:2, which others have too
		want   state
	}{
		{"what is left has a group", [][]fib.Hop{hops(2, 2, 1)}, hops(3, 2, 1), state{members(2, 2, 1), fib.Refused}},
		{"the same in lowest terms", [][]fib.Hop{hops(1, 1)}, hops(2, 1), state{members(1, 1), fib.Refused}},
		{"what is left has none", [][]fib.Hop{hops(1, 1)}, hops(1, 1, 1), state{members(1, 1), fib.Subset}},
		{"what is left is one", [][]fib.Hop{hops(1, 1)}, []fib.Hop{{ID: 1, Share: 1}, {ID: 9, Share: 2}}, state{members(1), fib.Refused}},
		{"nothing is left", [][]fib.Hop{hops(1, 1)}, []fib.Hop{{ID: 8, Share: 1}, {ID: 9, Share: 2}}, state{[]fib.Weighted{{ID: 9, Weight: 1}}, fib.Single}},
	} {
		table := newOverflowTable(t, three, fib.OverflowReject)
		program(t, table, prefixOf(0), hops(4, 4, 2, 2)...)
		program(t, table, prefixOf(1), hops(4, 4, 2, 2)...)
		for i, list := range c.others {
			program(t, table, prefixOf(2+i), list...)
		}
		err := table.Program(prefixOf(1), c.asked)
		if got := stateOf(t, table, prefixOf(1)); !cmp.Equal(got, c.want) || !errors.Is(err, fib.ErrFull) || table.Audit().Refusals != 1 {
			t.Errorf("%s: got %v, error %v, %d refusals, want %v, %v and one", c.name, got, err, table.Audit().Refusals, c.want, fib.ErrFull)
		}
	}
}

func TestEveryRefusedRequestCountsAndAskingAgainDoesNot(t *testing.T) {
	table := newOverflowTable(t, tiny(1, 1000), fib.OverflowReject)
	program(t, table, right, hops(2, 1)...)
	for i := range 5 {
		table.Mark(fmt.Sprint("event ", i))
		for range 2 {
			if err := table.Program(left, hops(uint64(3+i), 1)); !errors.Is(err, fib.ErrFull) {
				t.Errorf("request %d: got error %v, want %v", i, err, fib.ErrFull)
			}
		}
	}
	if got := table.Audit().Refusals; got != 5 {
		t.Errorf("got %d refusals, want 5", got)
	}
	if list := table.Compromises(); len(list) != 1 || list[0].Event != "event 0" || list[0].Events != 5 {
		t.Errorf("got %+v, want one since event 0, for 5 events", list)
	}
}

// TestACompromiseHasALiveMemberIfThereIsOne fills a table, takes down the next
// hop that a newcomer wants most, before it comes and after.
func TestACompromiseHasALiveMemberIfThereIsOne(t *testing.T) {
	p := fib.Profile{Name: "tight", Groups: 3, Members: 1000, Width: 64, Reserve: 2, Ceiling: 1}
	newcomer := []fib.Hop{{ID: 4, Share: 10}, {ID: 5, Share: 30}, {ID: 6, Share: 10}}
	for _, o := range fib.Overflows() {
		for _, before := range []bool{true, false} {
			table := newOverflowTable(t, p, o)
			program(t, table, prefixOf(0), fib.Hop{ID: 1, Share: 10}, fib.Hop{ID: 2, Share: 20})
			// So that reject has a path for the newcomer, too.
			program(t, table, prefixOf(1), fib.Hop{ID: 5, Share: 1})
			if before {
				table.SetDown(5, true)
			}
			_ = table.Program(prefixOf(1), newcomer)
			if !before {
				table.SetDown(5, true)
			}
			got := stateOf(t, table, prefixOf(1))
			if !slices.ContainsFunc(got.Members, func(m fib.Weighted) bool { return m.ID != 5 }) {
				t.Errorf("%s, down before: %v: got %v, want 4 or 6 in it", o, before, got)
			}
			for _, id := range []int32{4, 6} {
				table.SetDown(id, true)
			}
			table.SetDown(6, false)
			if got := stateOf(t, table, prefixOf(1)); !slices.ContainsFunc(got.Members, func(m fib.Weighted) bool { return m.ID == 6 }) {
				t.Errorf("%s, down before: %v: only 6 is up: got %v", o, before, got)
			}
		}
	}
}

// TestNoGroupIsJoinedThatIsDown has a dead group, and a live but smaller one.
func TestNoGroupIsJoinedThatIsDown(t *testing.T) {
	p := fib.Profile{Name: "three", Groups: 3, Members: 1000, Width: 64, Reserve: 1, Ceiling: 1}
	for _, o := range []fib.Overflow{fib.OverflowEqual, fib.OverflowMerge, fib.OverflowShare, fib.OverflowReject} {
		table := newOverflowTable(t, p, o)
		program(t, table, prefixOf(0), equalHops(1, 2, 3)...)
		program(t, table, prefixOf(1), equalHops(4, 5)...)
		program(t, table, prefixOf(2), equalHops(1)...)
		for _, id := range []int32{1, 2, 3} {
			table.SetDown(id, true)
		}
		_ = table.Program(prefixOf(2), equalHops(1, 2, 3, 4, 5))
		if got := stateOf(t, table, prefixOf(2)); !slices.ContainsFunc(got.Members, func(m fib.Weighted) bool { return m.ID > 3 }) {
			t.Errorf("%s: got %v, want 4 or 5 in it", o, got)
		}
		if got, want := stateOf(t, table, prefixOf(0)), (state{members(1, 1, 1), ""}); o != fib.OverflowMerge && !cmp.Equal(got, want) {
			t.Errorf("%s: got %v, want %v: no compromise, so the group stays", o, got, want)
		}
	}
}

func TestTheAuditSaysForHowManyEventsAPrefixIsWithoutItsGroup(t *testing.T) {
	for _, o := range fib.Overflows() {
		if o == fib.OverflowExceed {
			continue
		}
		table := newOverflowTable(t, tiny(2, 1000), o)
		longest := func() int { return table.Audit().LongestCompromise }
		table.Mark("full")
		program(t, table, prefixOf(0), hops(4, 4, 4)...)
		program(t, table, prefixOf(1), hops(4, 4, 2)...)
		if got := longest(); got != 0 {
			t.Errorf("%s: no compromise: got %d, want 0", o, got)
		}
		table.Mark("one more")
		_ = table.Program(prefixOf(2), hops(4, 4, 3))
		for i := range 10 {
			for _, c := range table.Compromises() {
				if c.Events != 1+i || c.Event != "one more" {
					t.Errorf("%s: got %d since %q, want %d since one more", o, c.Events, c.Event, 1+i)
				}
			}
			if got := longest(); got != 1+i {
				t.Errorf("%s: got %d, want %d", o, got, 1+i)
			}
			table.Mark("calm")
		}
		table.Remove(prefixOf(1))
		if list := table.Compromises(); len(list) != 0 || longest() != 10 {
			t.Errorf("%s: back: got %v and %d, want none and 10", o, list, longest())
		}
		table.Mark("again")
		_ = table.Program(prefixOf(1), hops(4, 4, 2))
		if got := longest(); got != 10 {
			t.Errorf("%s: again: got %d, want 10", o, got)
		}
	}
}

func TestWithNoRoomForBothTheProfileSaysWhetherTheChipBreaksFirst(t *testing.T) {
	p := fib.Profile{Name: "tight", Groups: 1, Members: 100, Width: 16, Ceiling: 1}
	table := newOverflowTable(t, p, fib.OverflowReject)
	program(t, table, left, hops(2, 1)...)
	if err := table.Program(left, hops(3, 1)); !errors.Is(err, fib.ErrFull) {
		t.Errorf("got error %v, want %v", err, fib.ErrFull)
	}
	p.BreakFirst = true
	table = newOverflowTable(t, p, fib.OverflowReject)
	program(t, table, left, hops(2, 1)...)
	got := program(t, table, left, hops(3, 1)...)
	if a := table.Audit(); !slices.Equal(got.Members, members(3, 1)) || a.Gaps != 1 || a.GroupsPeak != 1 || a.GroupChanges != 1 {
		t.Errorf("got %v and %+v, want 3:1, one gap, a peak of one group", got.Members, a)
	}
	program(t, table, right, hops(3, 1)...)
	if err := table.Program(right, hops(4, 1)); !errors.Is(err, fib.ErrFull) {
		t.Errorf("the old group has another user: got error %v, want %v", err, fib.ErrFull)
	}
}

func TestAMemberThatGoesDownKeepsItsGroup(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	before := program(t, table, left, hops(3, 2, 1)...)
	table.SetDown(3, true)
	after, _ := table.Lookup(left)
	if diff := cmp.Diff(after, before, addrEq); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	if a := table.Audit(); a.GroupChanges != 0 || worstOf(a) != 0 || a.Dropped != 0 {
		t.Errorf("got %+v, want no change, and 3:2 of what is left", a)
	}
	table.SetDown(1, true)
	table.SetDown(2, true)
	table.SetDown(3, false)
	if a := table.Audit(); worstOf(a) != 0 {
		t.Errorf("one left: got %+v, want no error", a)
	}
}

func TestTheAuditNamesTheEventOfThePeak(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	table.Mark("start")
	program(t, table, left, hops(1, 1)...)
	program(t, table, right, hops(1, 1)...)
	table.Mark("flap")
	program(t, table, left, hops(2, 1)...)
	program(t, table, right, hops(2, 1)...)
	table.Mark("back")
	program(t, table, left, hops(1, 1)...)
	a := table.Audit()
	got := []any{a.GroupsPeakEvent, a.MembersPeakEvent, a.Events, a.GroupChanges, a.MostChanges, a.MostChangesEvent}
	if want := []any{"flap", "flap", 3, 3, 2, "flap"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMergeTakesThePairThatLosesLeast(t *testing.T) {
	table := newOverflowTable(t, tiny(3, 1000), fib.OverflowMerge)
	wide := func(ids ...int32) []fib.Hop {
		var list []fib.Hop
		for _, id := range ids {
			list = append(list, fib.Hop{ID: id, Share: 1})
		}
		return list
	}
	program(t, table, prefixOf(0), wide(1, 2, 3, 4)...)
	program(t, table, prefixOf(1), wide(1, 2, 3, 5)...)
	program(t, table, prefixOf(2), wide(6, 7, 8, 9)...)
	program(t, table, prefixOf(3), wide(6, 7, 10, 11)...)
	// The first two lose a quarter each, the last two half.
	got := []state{stateOf(t, table, prefixOf(0)), stateOf(t, table, prefixOf(1)), stateOf(t, table, prefixOf(2)), stateOf(t, table, prefixOf(3))}
	equal := func(ids ...int32) []fib.Weighted {
		var list []fib.Weighted
		for _, id := range ids {
			list = append(list, fib.Weighted{ID: id, Weight: 1})
		}
		return list
	}
	want := []state{{equal(1, 2, 3), fib.Merged}, {equal(1, 2, 3), fib.Merged}, {equal(6, 7, 8, 9), ""}, {equal(6, 7, 10, 11), ""}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	list := table.Compromises()
	if len(list) != 2 || !slices.Equal(list[0].Dropped, []int32{4}) || !slices.Equal(list[1].Dropped, []int32{5}) {
		t.Errorf("got compromises %+v, want 4 and 5 dropped", list)
	}
}

func TestEqualKeepsRoomForEveryNextHopSet(t *testing.T) {
	table := newOverflowTable(t, tiny(3, 1000), fib.OverflowEqual)
	set := func(first int32, shares ...uint64) []fib.Hop {
		var list []fib.Hop
		for i, s := range shares {
			list = append(list, fib.Hop{ID: first + int32(i), Share: s})
		}
		return list
	}
	for i, share := range []uint64{2, 3, 4, 5} {
		program(t, table, prefixOf(i), set(1, share, 1)...)
	}
	program(t, table, prefixOf(4), set(11, 3, 1)...)
	program(t, table, prefixOf(5), set(21, 3, 1)...)
	for i := range 6 {
		if s := stateOf(t, table, prefixOf(i)); len(s.Members) != 2 || s.Compromise == fib.Subset {
			t.Errorf("prefix %d: got %v, want both next hops", i, s)
		}
	}
	program(t, table, prefixOf(6), set(31, 3, 1)...)
	if got, want := stateOf(t, table, prefixOf(6)), (state{[]fib.Weighted{{ID: 31, Weight: 1}}, fib.Single}); !cmp.Equal(got, want) {
		t.Errorf("a fourth set in three groups: got %v, want %v", got, want)
	}
}

func TestNewRefusesWhatItDoesNotKnow(t *testing.T) {
	p := mustLookup(t, "jericho3")
	_, err := fib.New(p, fib.Options{Overflow: "drop"})
	want := `overflow policy "drop": unknown overflow policy: want one of ["equal" "exceed" "merge" "reject" "share" "spill"]`
	if !errors.Is(err, fib.ErrUnknownOverflow) || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if _, err := fib.New(p, fib.Options{Algorithm: "best"}); !errors.Is(err, fib.ErrUnknownAlgorithm) {
		t.Errorf("got error %v, want %v", err, fib.ErrUnknownAlgorithm)
	}
	for _, o := range fib.Overflows() {
		if o.Doc() == "" {
			t.Errorf("%s: no doc", o)
		}
	}
}

// checkFull recounts a table from its entries and what was asked last.
func checkFull(t *testing.T, p fib.Profile, o fib.Overflow, table *fib.Table, asked map[netip.Prefix][]fib.Hop, down map[int32]bool) {
	t.Helper()
	a := table.Audit()
	if a.Groups > a.GroupsSteadyLimit || a.Members > a.MembersSteadyLimit || a.GroupsPeak > a.GroupsLimit || a.MembersPeak > a.MembersLimit {
		t.Fatalf("%s: above a limit: %+v", o, a)
	}
	groups, cost := map[int]bool{}, [2]int{}
	count := [2]int{}
	for _, e := range table.Entries() {
		hops := asked[e.Prefix]
		if hops == nil || len(e.Members) == 0 {
			t.Fatalf("%s: got entry %+v for hops %v", o, e, hops)
		}
		allZero := !slices.ContainsFunc(hops, func(h fib.Hop) bool { return h.Share > 0 })
		for _, m := range e.Members {
			if !slices.ContainsFunc(hops, func(h fib.Hop) bool { return h.ID == m.ID && (h.Share > 0 || allZero) }) {
				t.Fatalf("%s: prefix %s goes over %v, wanted are %v (%s)", o, e.Prefix, e.Members, hops, e.Compromise)
			}
		}
		twin := tableTwin{profile: p, algorithm: fib.Minimax}
		want := twin.vector(t, hops)
		if up := func(m fib.Weighted) bool { return !down[m.ID] }; slices.ContainsFunc(want, up) && !slices.ContainsFunc(e.Members, up) {
			t.Fatalf("%s: prefix %s has %v (%s), wanted is %v, all that is down: %v", o, e.Prefix, e.Members, e.Compromise, want, down)
		}
		if e.Compromise == "" && !slices.Equal(e.Members, want) {
			t.Fatalf("%s: prefix %s has %v without a compromise, wanted is %v", o, e.Prefix, e.Members, want)
		}
		if e.Group != 0 && !groups[e.Group] {
			groups[e.Group] = true
			kind := 0
			if e.Compromise == fib.Spilled {
				kind = 1
			}
			count[kind]++
			cost[kind] += p.MemberCost(e.Members)
		}
	}
	got := [4]int{a.Groups, a.Members, a.SpillGroups, a.SpillMembers}
	if want := [4]int{count[0], cost[0], count[1], cost[1]}; got != want {
		t.Fatalf("%s: groups, members and spilled ones: got %v, want %v", o, got, want)
	}
	if missing := len(asked) - len(table.Entries()); missing != 0 && o != fib.OverflowReject {
		t.Fatalf("%s: %d prefixes have no path", o, missing)
	}
}

// runOverflow plays ops on a small chip with that policy, checks it at every
// step, and takes everything out again.
func runOverflow(t *testing.T, kind byte, ops []operation) {
	t.Helper()
	overflows := slices.DeleteFunc(fib.Overflows(), func(o fib.Overflow) bool { return o == fib.OverflowExceed })
	o := overflows[int(kind)%len(overflows)]
	p := fib.Profile{
		Name: "tiny", Groups: 2 + int(kind/8)%3, Members: 20 + int(kind), Width: 4 + int(kind/5)%13,
		NativeCost: int(kind/3) % 2 * 2, Reserve: int(kind/7) % 2, Ceiling: 1, BreakFirst: kind%2 == 0,
	}
	table := newOverflowTable(t, p, o)
	asked, down := map[netip.Prefix][]fib.Hop{}, map[int32]bool{}
	for _, op := range ops {
		if op.link != nil {
			down[op.link.id] = op.link.down
			before := table.Entries()
			table.SetDown(op.link.id, op.link.down)
			checkFull(t, p, o, table, asked, down)
			// A prefix without a compromise moves only where another has to.
			up := func(m fib.Weighted) bool { return !down[m.ID] }
			calm := !slices.ContainsFunc(before, func(e fib.Entry) bool { return e.Compromise != "" && !slices.ContainsFunc(e.Members, up) })
			for i, e := range table.Entries() {
				if stays := calm || before[i].Compromise == "" && o == fib.OverflowReject; stays && !sameGroup(before[i], e) {
					t.Fatalf("%s: next hop %d down %v: %v became %v", o, op.link.id, op.link.down, before[i], e)
				}
			}
			continue
		}
		entries, refusals := table.Entries(), table.Audit().Refusals
		again := slices.Equal(sortedHops(asked[op.prefix]), sortedHops(op.hops))
		switch err := table.Program(op.prefix, op.hops); {
		case len(op.hops) == 0:
			table.Remove(op.prefix)
			delete(asked, op.prefix)
		case err == nil:
			asked[op.prefix] = op.hops
		case errors.Is(err, fib.ErrFull):
			twin := tableTwin{profile: p, algorithm: fib.Minimax}
			if !again || !reflect.DeepEqual(entries, table.Entries()) { // asked once more, it may stay as the first refusal left it
				checkRefused(t, table, entries, op.prefix, twin.vector(t, op.hops), down)
			}
			if !again {
				refusals++
			}
			asked[op.prefix] = op.hops
		}
		if got := table.Audit().Refusals; got != refusals {
			t.Fatalf("%s: got %d refusals, want %d", o, got, refusals)
		}
		checkFull(t, p, o, table, asked, down)
	}
	for _, op := range ops {
		table.Remove(op.prefix)
	}
	if a := table.Audit(); a.Groups != 0 || a.Members != 0 || a.SpillGroups != 0 || a.SpillMembers != 0 || a.Prefixes != 0 {
		t.Fatalf("%s: all removed: got %+v", o, a)
	}
}

func sortedHops(list []fib.Hop) []fib.Hop {
	return slices.SortedFunc(slices.Values(list), func(a, b fib.Hop) int { return int(a.ID) - int(b.ID) })
}

// checkRefused tells whether a refused program left what it should of the
// entries before it: the old state; else what is left of it, and where that
// has no group the largest that is a subset, and where there is none one next
// hop.
func checkRefused(t *testing.T, table *fib.Table, entries []fib.Entry, prefix netip.Prefix, wanted []fib.Weighted, down map[int32]bool) {
	t.Helper()
	after, has := table.Lookup(prefix)
	i := slices.IndexFunc(entries, func(e fib.Entry) bool { return e.Prefix == prefix })
	if i < 0 || !has {
		if i >= 0 || has {
			t.Fatalf("refused, but entry %d became %v", i, after)
		}
		return
	}
	gone := func(m fib.Weighted) bool {
		return !slices.ContainsFunc(wanted, func(w fib.Weighted) bool { return w.ID == m.ID })
	}
	up := func(m fib.Weighted) bool { return !down[m.ID] }
	left := slices.DeleteFunc(slices.Clone(entries[i].Members), gone)
	if after.Compromise == fib.Refused {
		if !slices.EqualFunc(left, after.Members, func(a, b fib.Weighted) bool { return a.ID == b.ID }) {
			t.Fatalf("refused, but %v became %v", entries[i], after)
		}
		return
	}
	if len(left) == len(entries[i].Members) && slices.ContainsFunc(left, up) {
		t.Fatalf("refused, and %v could stay, but became %v", entries[i], after)
	}
	if len(left) == 1 && slices.ContainsFunc(left, up) {
		t.Fatalf("refused, and %v is left, but it became %v", left, after)
	}
	for _, e := range entries {
		if e.Group != 0 && len(e.Members) > len(after.Members) && !slices.ContainsFunc(e.Members, gone) && slices.ContainsFunc(e.Members, up) {
			t.Fatalf("refused, and there is %v, but it became %v", e, after)
		}
	}
}

// FuzzOverflow runs sequences against every policy on small chips.
func FuzzOverflow(f *testing.F) {
	for kind := range byte(5) {
		f.Add(kind, []byte{0x28, 1, 2, 3, 4, 5, 0x29, 9, 10, 11, 12, 13, 0x2a, 17, 18, 19, 20, 21, 0x2b, 33, 34, 35, 36, 37, 0x1c, 9, 18, 35})
		f.Add(kind, []byte{0x28, 1, 2, 3, 4, 5, 0x29, 9, 10, 11, 12, 13, 0x2a, 17, 18, 19, 20, 21, 0xe1, 0xe2, 0x2b, 33, 34, 35, 36, 37, 0xe3, 0xe4, 0xe5, 0x1c, 9, 18, 35, 0xea})
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		if len(data) <= 300 {
			runOverflow(t, kind, operationsOf(data))
		}
	})
}

func TestNoPolicyExceedsALimitOrTakesAPathOnRandomSequences(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for range 600 {
		data := make([]byte, 150)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		runOverflow(t, byte(r.Uint32()), operationsOf(data))
	}
}

// TestShareIsNeverWorseThanEqual compares them after every change of what is
// asked for. A next hop that goes down moves no group, so that the remaining
// weights may err more until the next.
func TestShareIsNeverWorseThanEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for i := range 600 {
		p := tiny(1+r.IntN(4), 20+r.IntN(60))
		share, equal := newOverflowTable(t, p, fib.OverflowShare), newOverflowTable(t, p, fib.OverflowEqual)
		asked := map[netip.Prefix][]fib.Hop{}
		data := make([]byte, 120)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		for step, op := range operationsOf(data) {
			if op.link != nil {
				share.SetDown(op.link.id, op.link.down)
				equal.SetDown(op.link.id, op.link.down)
				continue
			} else if len(op.hops) == 0 {
				share.Remove(op.prefix)
				equal.Remove(op.prefix)
			} else if a, b := share.Program(op.prefix, op.hops), equal.Program(op.prefix, op.hops); (a == nil) != (b == nil) {
				t.Fatalf("run %d step %d: got errors %v and %v", i, step, a, b)
			} else if a != nil {
				continue
			}
			if slices.Equal(sortedHops(asked[op.prefix]), sortedHops(op.hops)) {
				continue
			}
			asked[op.prefix] = op.hops
			if s, e := worstOf(share.Audit()), worstOf(equal.Audit()); s > e {
				t.Fatalf("run %d step %d: share errs by %v, equal by %v\n%v\n%v", i, step, s, e, share.Entries(), equal.Entries())
			}
		}
	}
}

func TestTheSameLoadGivesTheSameTable(t *testing.T) {
	p := mustLookup(t, "jericho3-16")
	for _, o := range fib.Overflows() {
		l := drawLoad(7)
		var entries [2][]fib.Entry
		var audits [2]fib.Audit
		for i := range entries {
			table := newOverflowTable(t, p, o)
			for _, s := range l.steps {
				_ = table.Program(s.prefix, s.hops)
			}
			entries[i], audits[i] = table.Entries(), table.Audit()
		}
		if diff := cmp.Diff(entries[0], entries[1], addrEq); diff != "" {
			t.Errorf("%s: first -, second +:\n%s", o, diff)
		}
		if audits[0] != audits[1] {
			t.Errorf("%s: got %+v and %+v", o, audits[0], audits[1])
		}
	}
}
