package fib_test

import (
	"errors"
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/fib"
)

var (
	left   = netip.MustParsePrefix("10.0.0.0/24")
	right  = netip.MustParsePrefix("10.0.1.0/24")
	wide   = netip.MustParsePrefix("10.0.0.0/16")
	sixth  = netip.MustParsePrefix("2001:db8::/32")
	addrEq = cmpopts.EquateComparable(netip.Prefix{})
)

func newTable(t testing.TB, p fib.Profile, alg fib.Algorithm) *fib.Table {
	t.Helper()
	table, err := fib.NewTable(p, alg)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func program(t testing.TB, table *fib.Table, prefix netip.Prefix, hops ...fib.Hop) fib.Entry {
	t.Helper()
	if err := table.Program(prefix, hops); err != nil {
		t.Fatal(err)
	}
	e, ok := table.Lookup(prefix)
	if !ok {
		t.Fatalf("prefix %s: not there after Program", prefix)
	}
	return e
}

// hops returns hops with IDs from 1 and these shares.
func hops(shares ...uint64) []fib.Hop {
	var list []fib.Hop
	for i, s := range shares {
		list = append(list, fib.Hop{ID: int32(i + 1), Share: s})
	}
	return list
}

func members(weights ...int) []fib.Weighted {
	var list []fib.Weighted
	for i, w := range weights {
		list = append(list, fib.Weighted{ID: int32(i + 1), Weight: w})
	}
	return list
}

func TestPrefixesWithTheSameVectorShareOneGroup(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	a := program(t, table, left, hops(400, 300)...)
	b := program(t, table, right, hops(8, 6)...)
	if a.Group != b.Group {
		t.Errorf("same vector: got groups %d and %d, want one", a.Group, b.Group)
	}
	c := program(t, table, wide, hops(1, 1)...)
	if c.Group == a.Group {
		t.Errorf("same next hops, other weights: got group %d for both, want two", c.Group)
	}
	if got := table.Audit(); got.Groups != 2 || got.Members != 7+2 {
		t.Errorf("got %d groups %d members, want 2 and 9", got.Groups, got.Members)
	}
}

func TestAVectorThatStaysKeepsItsGroup(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	before := program(t, table, left, hops(400, 300)...)
	reordered := []fib.Hop{{ID: 2, Share: 600}, {ID: 3, Share: 0}, {ID: 1, Share: 800}}
	if diff := cmp.Diff(program(t, table, left, reordered...), before, addrEq); diff != "" {
		t.Errorf("other shares, same vector: got -, want +:\n%s", diff)
	}
	if got := table.Audit(); got.GroupsPeak != 1 || got.GroupChanges != 0 {
		t.Errorf("got peak %d changes %d, want 1 and 0", got.GroupsPeak, got.GroupChanges)
	}
}

func TestAChangeIsMakeBeforeBreak(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	program(t, table, left, hops(400, 300)...)
	program(t, table, right, hops(400, 300)...)
	program(t, table, left, hops(5, 4)...)
	program(t, table, right, hops(5, 4)...)
	program(t, table, left, hops(3, 2)...)
	got := table.Audit()
	want := fib.Audit{
		Profile: "jericho3", Algorithm: fib.Minimax, Overflow: fib.OverflowExceed,
		Groups: 2, GroupsPeak: 2, GroupsLimit: 64, GroupsSteadyLimit: 48,
		Members: 9 + 5, MembersPeak: 7 + 9, MembersLimit: 32768, MembersSteadyLimit: 24576,
		GroupChanges: 3, MostChanges: 3, Prefixes: 2, Sharing: 1,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

func TestTheLastUserOfAGroupTakesItAwayAndItsIDIsNotUsedAgain(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	first := program(t, table, left, hops(2, 1)...).Group
	program(t, table, right, hops(2, 1)...)
	if !table.Remove(left) || table.Audit().Groups != 1 {
		t.Errorf("one of two users removed: got %+v, want the group to stay", table.Audit())
	}
	if !table.Remove(right) || table.Audit().Groups != 0 || table.Audit().Members != 0 {
		t.Errorf("both users removed: got %+v, want nothing left", table.Audit())
	}
	if e, ok := table.Lookup(right); ok {
		t.Errorf("looked up after Remove: got %+v, want nothing", e)
	}
	if table.Remove(right) {
		t.Errorf("removed twice: got true, want false")
	}
	if got := program(t, table, left, hops(3, 1)...).Group; got == first || got == 0 {
		t.Errorf("got group %d for another vector, want one that is neither 0 nor %d", got, first)
	}
}

func TestASingleNextHopUsesNoGroup(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	want := fib.Entry{Prefix: left, Members: members(1)}
	if diff := cmp.Diff(program(t, table, left, hops(7)...), want, addrEq); diff != "" {
		t.Errorf("one hop: got -, want +:\n%s", diff)
	}
	if diff := cmp.Diff(program(t, table, left, hops(7, 0, 0)...), want, addrEq); diff != "" {
		t.Errorf("one hop with a share: got -, want +:\n%s", diff)
	}
	program(t, table, left, fib.Hop{ID: 9, Share: 1})
	if got := table.Audit(); got.GroupsPeak != 0 || got.MembersPeak != 0 || got.GroupChanges != 0 {
		t.Errorf("got %+v, want no group, member or change", got)
	}
	program(t, table, left, hops(1, 1)...)
	program(t, table, left, hops(1)...)
	if got := table.Audit(); got.Groups != 0 || got.GroupsPeak != 1 || got.GroupChanges != 2 {
		t.Errorf("to a group and back: got %+v, want no group, peak 1, 2 changes", got)
	}
}

func TestARefusedProgramLeavesNothingBehind(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	program(t, table, left, hops(2, 1)...)
	entries, audit := table.Entries(), table.Audit()
	cases := []struct {
		prefix netip.Prefix
		hops   []fib.Hop
		want   error
		text   string
	}{
		{netip.Prefix{}, hops(1, 2), fib.ErrPrefix, `prefix "invalid Prefix": invalid prefix`},
		{left, nil, fib.ErrNoHops, `prefix "10.0.0.0/24": no next hops`},
		{right, []fib.Hop{{ID: 4, Share: 1}, {ID: 3, Share: 1}, {ID: 4, Share: 2}}, fib.ErrDuplicateHop, `prefix "10.0.1.0/24": duplicate next hop: 4`},
		{left, []fib.Hop{{ID: 1, Share: 5}, {ID: 1, Share: 5}}, fib.ErrDuplicateHop, `prefix "10.0.0.0/24": duplicate next hop: 1`},
	}
	for _, c := range cases {
		if err := table.Program(c.prefix, c.hops); !errors.Is(err, c.want) || err.Error() != c.text {
			t.Errorf("got error %v, want %s", err, c.text)
		}
		if diff := cmp.Diff(table.Entries(), entries, addrEq); diff != "" {
			t.Errorf("%s: entries: got -, want +:\n%s", c.text, diff)
		}
		if diff := cmp.Diff(table.Audit(), audit); diff != "" {
			t.Errorf("%s: audit: got -, want +:\n%s", c.text, diff)
		}
	}
}

func TestEntriesAreInPrefixOrderAndDoNotChangeLater(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	for _, p := range []netip.Prefix{sixth, right, wide, left} {
		program(t, table, p, hops(2, 1)...)
	}
	entries := table.Entries()
	var got []netip.Prefix
	for _, e := range entries {
		got = append(got, e.Prefix)
	}
	if diff := cmp.Diff(got, []netip.Prefix{wide, left, right, sixth}, addrEq); diff != "" {
		t.Errorf("order: got -, want +:\n%s", diff)
	}
	program(t, table, left, hops(1, 2)...)
	if diff := cmp.Diff(entries[1].Members, members(2, 1)); diff != "" {
		t.Errorf("an entry taken before the change: got -, want +:\n%s", diff)
	}
}

func TestHostBitsOfAPrefixAreIgnored(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	inside := netip.MustParsePrefix("10.0.0.77/24")
	if got := program(t, table, inside, hops(2, 1)...).Prefix; got != left {
		t.Errorf("got %s, want %s", got, left)
	}
	if _, ok := table.Lookup(left); !ok || !table.Remove(inside) || len(table.Entries()) != 0 {
		t.Errorf("%s and %s: want one entry", inside, left)
	}
}

func TestDroppedHopsAreNamedAndCounted(t *testing.T) {
	p := mustLookup(t, "jericho3")
	p.Width = 2
	table := newTable(t, p, fib.Minimax)
	got := program(t, table, left, hops(1, 4, 0, 3)...)
	want := fib.Entry{Prefix: left, Group: 1, Members: []fib.Weighted{{ID: 2, Weight: 1}, {ID: 4, Weight: 1}}, Error: math.Inf(1), Dropped: []int32{1}}
	if diff := cmp.Diff(got, want, addrEq); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	audit := table.Audit()
	// Half of the traffic on a hop that should get 3 of 8.
	if audit.Dropped != 1 || !math.IsInf(audit.WorstUnderuse, 1) || math.Abs(audit.WorstOverload-1.0/3) > 1e-15 {
		t.Errorf("got %+v, want 1 dropped, underuse +Inf, overload 1/3", audit)
	}
}

func TestAuditMeasuresBothSidesFromTheProgrammedWeights(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Equal)
	program(t, table, left, hops(100, 100, 100, 75)...)
	got := table.Audit()
	// A quarter each: wanted 100/375 and 75/375.
	if math.Abs(got.WorstOverload-0.25) > 1e-15 || math.Abs(got.WorstUnderuse-1.0/15) > 1e-15 {
		t.Errorf("got overload %v underuse %v, want 0.25 and 1/15", got.WorstOverload, got.WorstUnderuse)
	}
	program(t, table, left, hops(0, 0, 0)...)
	if got := table.Audit(); got.WorstOverload != 0 || got.WorstUnderuse != 0 || got.Dropped != 0 {
		t.Errorf("all zero: got %+v, want no error", got)
	}
}

func TestALoadAboveTheLimitIsProgrammedAndShown(t *testing.T) {
	p := fib.Profile{Name: "tiny", Groups: 2, Members: 12, Width: 16, Reserve: 1, Ceiling: 0.75}
	table := newTable(t, p, fib.Minimax)
	for i, prefix := range []netip.Prefix{left, right, wide} {
		program(t, table, prefix, hops(uint64(i+2), 1)...)
	}
	got := table.Audit()
	if got.GroupsPeak != 3 || got.GroupsLimit != 2 || got.GroupsSteadyLimit != 1 || got.MembersPeak != 12 {
		t.Errorf("got %+v, want peak 3 of 2 groups (1 steady), 12 members", got)
	}
	for _, e := range table.Entries() {
		if len(e.Members) != 2 {
			t.Errorf("prefix %s: got members %v, want 2", e.Prefix, e.Members)
		}
	}
}

func TestProgrammingEqualHopsAgainAllocatesNothing(t *testing.T) {
	table := newTable(t, mustLookup(t, "jericho3"), fib.Minimax)
	list := hops(571, 333, 499, 576, 402, 301, 555, 431)
	program(t, table, left, list...)
	if got := testing.AllocsPerRun(100, func() { _ = table.Program(left, list) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func BenchmarkProgram(b *testing.B) {
	prefixes := make([]netip.Prefix, 164)
	for i := range prefixes {
		prefixes[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), 0, 0}), 24)
	}
	healthy, degraded := hops(576, 576, 576, 576, 576, 576, 576, 576), hops(576, 576, 576, 431, 576, 576, 576, 576)
	all := func(b *testing.B, table *fib.Table, list []fib.Hop) {
		for _, p := range prefixes {
			if err := table.Program(p, list); err != nil {
				b.Fatal(err)
			}
		}
	}
	profile := mustLookup(b, "jericho3")
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all(b, newTable(b, profile, fib.Minimax), degraded)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		table := newTable(b, profile, fib.Minimax)
		all(b, table, degraded)
		b.ReportAllocs()
		for b.Loop() {
			all(b, table, degraded)
		}
	})
	b.Run("changed", func(b *testing.B) {
		table := newTable(b, profile, fib.Minimax)
		b.ReportAllocs()
		for b.Loop() {
			all(b, table, healthy)
			all(b, table, degraded)
		}
	})
	b.Run("audit", func(b *testing.B) {
		table := newTable(b, profile, fib.Minimax)
		all(b, table, degraded)
		b.ReportAllocs()
		for b.Loop() {
			if table.Audit().Groups != 1 {
				b.Fatal(table.Audit())
			}
		}
	})
}
