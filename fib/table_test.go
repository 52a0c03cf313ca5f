package fib

import (
	"net/netip"
	"slices"
	"testing"
)

func TestATableRemembersALimitedNumberOfReductionsAndAnswersTheSame(t *testing.T) {
	profile, err := Lookup("tomahawk5")
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(profile, Minimax)
	if err != nil {
		t.Fatal(err)
	}
	kept, changing := netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.1.0/24")
	program := func(prefix netip.Prefix, share uint64) Entry {
		t.Helper()
		if err := table.Program(prefix, []Hop{{1, share}, {2, 777}}); err != nil {
			t.Fatal(err)
		}
		if got := len(table.reductions); got > memoLimit {
			t.Fatalf("got %d reductions in memory, want at most %d", got, memoLimit)
		}
		e, _ := table.Lookup(prefix)
		return e
	}
	first := program(kept, 1000)
	for share := range uint64(3 * memoLimit) {
		program(changing, 1+share)
	}
	if again := program(changing, 1000); again.Group != first.Group || !slices.Equal(again.Members, first.Members) {
		t.Errorf("got %+v, want the group and members of %+v", again, first)
	}
}

func TestEqualShareVectorsAreReducedOnce(t *testing.T) {
	profile, err := Lookup("jericho3")
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(profile, Minimax)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)
		hops := []Hop{{int32(i), 571}, {int32(i + 1), 333}}
		if err := table.Program(prefix, hops); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(table.reductions); got != 1 {
		t.Errorf("20 prefixes over other next hops with the same shares: got %d reductions, want 1", got)
	}
}
