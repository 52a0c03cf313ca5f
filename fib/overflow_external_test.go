package fib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
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
	if err := table.Program(left, other); err != nil {
		t.Errorf("next hops gone: got error %v, want none", err)
	}
	if got, want := stateOf(t, table, left), (state{[]fib.Weighted{{ID: 8, Weight: 1}}, fib.Single}); !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
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
func checkFull(t *testing.T, p fib.Profile, o fib.Overflow, table *fib.Table, asked map[netip.Prefix][]fib.Hop) {
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
		if want := twin.vector(t, hops); e.Compromise == "" && !slices.Equal(e.Members, want) {
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
	asked := map[netip.Prefix][]fib.Hop{}
	for _, op := range ops {
		before, had := table.Lookup(op.prefix)
		switch err := table.Program(op.prefix, op.hops); {
		case len(op.hops) == 0:
			table.Remove(op.prefix)
			delete(asked, op.prefix)
		case err == nil:
			asked[op.prefix] = op.hops
		case errors.Is(err, fib.ErrFull):
			after, has := table.Lookup(op.prefix)
			if had != has || !slices.Equal(before.Members, after.Members) {
				t.Fatalf("refused, but %v became %v", before, after)
			}
			asked[op.prefix] = op.hops
		}
		checkFull(t, p, o, table, asked)
	}
	for _, op := range ops {
		table.Remove(op.prefix)
	}
	if a := table.Audit(); a.Groups != 0 || a.Members != 0 || a.SpillGroups != 0 || a.SpillMembers != 0 || a.Prefixes != 0 {
		t.Fatalf("%s: all removed: got %+v", o, a)
	}
}

// FuzzOverflow runs sequences against every policy on small chips.
func FuzzOverflow(f *testing.F) {
	for kind := range byte(5) {
		f.Add(kind, []byte{0x28, 1, 2, 3, 4, 5, 0x29, 9, 10, 11, 12, 13, 0x2a, 17, 18, 19, 20, 21, 0x2b, 33, 34, 35, 36, 37, 0x1c, 9, 18, 35})
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

// TestShareIsNeverWorseThanEqual compares them after every step.
func TestShareIsNeverWorseThanEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for i := range 600 {
		p := tiny(1+r.IntN(4), 20+r.IntN(60))
		share, equal := newOverflowTable(t, p, fib.OverflowShare), newOverflowTable(t, p, fib.OverflowEqual)
		data := make([]byte, 120)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		for step, op := range operationsOf(data) {
			if len(op.hops) == 0 {
				share.Remove(op.prefix)
				equal.Remove(op.prefix)
			} else if a, b := share.Program(op.prefix, op.hops), equal.Program(op.prefix, op.hops); (a == nil) != (b == nil) {
				t.Fatalf("run %d step %d: got errors %v and %v", i, step, a, b)
			}
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
