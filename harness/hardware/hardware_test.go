package hardware

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// oneGroup is a chip with room for one group at a time.
func oneGroup(overflow fib.Overflow) state.Hardware {
	return state.Hardware{
		Profile: fib.Profile{Name: "one", Groups: 1, Members: 64, Width: 64, Ceiling: 1},
		Options: fib.Options{Overflow: overflow},
	}
}

func prefixOf(n byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, n, 0, 0}), 16)
}

func hopsOf(shares ...uint64) []speakers.Hop {
	var hops []speakers.Hop
	for i, s := range shares {
		hops = append(hops, speakers.Hop{Bundle: int32(i), Share: s})
	}
	return hops
}

func TestEveryPolicyHearsTheSamePrograms(t *testing.T) {
	h, err := newTable(oneGroup(fib.OverflowReject), true)
	if err != nil {
		t.Fatal(err)
	}
	if own := h.compared[slices.Index(fib.Overflows(), fib.OverflowReject)]; own != h.Table {
		t.Error("the device's own policy: got a second table, want its own")
	}
	for n, hops := range [][]speakers.Hop{hopsOf(1, 1), hopsOf(2, 1), nil} {
		if err := h.Carry(prefixOf(byte(n)), hops); err != nil {
			t.Fatalf("prefix %d: got %v: a full table is no failure of the run", n, err)
		}
	}
	if err := h.Carry(prefixOf(9), []speakers.Hop{{Bundle: 1}, {Bundle: 1}}); err == nil {
		t.Error("a hop given twice: got no error, want one")
	}
	audits := h.Audits()
	for i, o := range fib.Overflows() {
		alone, err := newTable(oneGroup(o), false)
		if err != nil {
			t.Fatal(err)
		}
		for n, hops := range [][]speakers.Hop{hopsOf(1, 1), hopsOf(2, 1)} {
			if err := alone.Carry(prefixOf(byte(n)), hops); err != nil {
				t.Fatal(err)
			}
		}
		want := alone.Audit()
		want.LongestCompromise = 0 // in events, which are not counted
		if audits[i] != want {
			t.Errorf("%s: got %+v, want as in a table alone %+v", o, audits[i], want)
		}
		if alone.Audits() != nil {
			t.Errorf("%s: got audits of a table that is not compared, want none", o)
		}
	}
}

func TestAuditsAreOfNowAndThoseOfBeforeStay(t *testing.T) {
	h, err := newTable(oneGroup(fib.OverflowExceed), true)
	if err != nil {
		t.Fatal(err)
	}
	change := func(what string, do func(), differ bool) {
		t.Helper()
		before := h.Audits()
		kept := slices.Clone(before)
		do()
		if slices.Equal(h.Audits(), before) == differ {
			t.Errorf("%s: got audits changed: %v, want %v", what, !differ, differ)
		}
		if !slices.Equal(before, kept) {
			t.Errorf("%s: the audits of before were written to", what)
		}
	}
	program := func(n byte, hops []speakers.Hop) func() {
		return func() {
			if err := h.Carry(prefixOf(n), hops); err != nil {
				t.Error(err)
			}
		}
	}
	change("a prefix", program(1, hopsOf(3, 1)), true)
	change("nothing", func() {}, false)
	change("another", program(2, hopsOf(3, 1)), true)
	change("a removal", program(2, nil), true)
	// 63 of 64 entries for 1000 to 1 is an error that goes with the next hop.
	change("an inexact split", program(1, hopsOf(1000, 1)), true)
	change("its next hop down", func() { h.SetDown(1, true) }, true)
	change("and back", func() { h.SetDown(1, false) }, true)
}

func TestANextHopThatGoesDownLeavesItsGroupAndTheGroupStays(t *testing.T) {
	h, err := newTable(oneGroup(fib.OverflowExceed), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Carry(prefixOf(1), hopsOf(1000, 1)); err != nil {
		t.Fatal(err)
	}
	before, _ := h.Lookup(prefixOf(1))
	h.SetDown(1, true)
	after, _ := h.Lookup(prefixOf(1))
	if after.Group != before.Group || !slices.Equal(after.Members, before.Members) {
		t.Errorf("got group %d %v, want group %d %v", after.Group, after.Members, before.Group, before.Members)
	}
	if a := h.Audit(); a.WorstOverload != 0 || a.WorstUnderuse != 0 {
		t.Errorf("all traffic over the hop that is left: got overload %v, under-use %v, want 0", a.WorstOverload, a.WorstUnderuse)
	}
}

func TestHardwareOfOtherDevicesIsRefused(t *testing.T) {
	top := &topologies.Topology{Devices: []topologies.Device{{Name: "a", ASIC: "jericho3"}, {Name: "b", ASIC: "jericho3"}}}
	if _, err := New(top, []state.Hardware{oneGroup("")}, false); err == nil || err.Error() != "hardware of 1 devices: want 2" {
		t.Errorf("got %v", err)
	}
	if _, err := New(top, []state.Hardware{oneGroup(""), {}}, false); err == nil {
		t.Error("a device without a profile: got no error, want one")
	}
	top.Devices[1].ASIC = "abacus"
	if _, err := New(top, nil, false); err == nil {
		t.Error("an ASIC without a profile: got no error, want one")
	}
}
