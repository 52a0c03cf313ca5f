package live

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
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

func hopsOf(shares ...uint64) []fib.Hop {
	var hops []fib.Hop
	for i, s := range shares {
		hops = append(hops, fib.Hop{ID: int32(i), Share: s})
	}
	return hops
}

func TestEveryPolicyHearsTheSamePrograms(t *testing.T) {
	h, err := newHardware(oneGroup(fib.OverflowReject), true)
	if err != nil {
		t.Fatal(err)
	}
	if own := h.compared[slices.Index(fib.Overflows(), fib.OverflowReject)]; own != h.Table {
		t.Error("the device's own policy: got a second table, want its own")
	}
	for n, hops := range [][]fib.Hop{hopsOf(1, 1), hopsOf(2, 1), nil} {
		if err := h.program(prefixOf(byte(n)), hops); err != nil {
			t.Fatalf("prefix %d: got %v: a full table is no failure of the run", n, err)
		}
	}
	if err := h.program(prefixOf(9), []fib.Hop{{ID: 1}, {ID: 1}}); err == nil {
		t.Error("a hop given twice: got no error, want one")
	}
	audits := h.audits()
	for i, o := range fib.Overflows() {
		alone, err := newHardware(oneGroup(o), false)
		if err != nil {
			t.Fatal(err)
		}
		for n, hops := range [][]fib.Hop{hopsOf(1, 1), hopsOf(2, 1)} {
			if err := alone.program(prefixOf(byte(n)), hops); err != nil {
				t.Fatal(err)
			}
		}
		want := alone.Audit()
		want.LongestCompromise = 0 // in events, which are not counted
		if audits[i] != want {
			t.Errorf("%s: got %+v, want as in a table alone %+v", o, audits[i], want)
		}
		if alone.audits() != nil {
			t.Errorf("%s: got audits of a table that is not compared, want none", o)
		}
	}
}

func TestAuditsAreOfNowAndThoseOfBeforeStay(t *testing.T) {
	h, err := newHardware(oneGroup(fib.OverflowExceed), true)
	if err != nil {
		t.Fatal(err)
	}
	change := func(what string, do func(), differ bool) {
		t.Helper()
		before := h.audits()
		kept := slices.Clone(before)
		do()
		if slices.Equal(h.audits(), before) == differ {
			t.Errorf("%s: got audits changed: %v, want %v", what, !differ, differ)
		}
		if !slices.Equal(before, kept) {
			t.Errorf("%s: the audits of before were written to", what)
		}
	}
	program := func(n byte, hops []fib.Hop) func() {
		return func() {
			if err := h.program(prefixOf(n), hops); err != nil {
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
	change("its next hop down", func() { h.setDown(1, true) }, true)
	change("and back", func() { h.setDown(1, false) }, true)
}

func TestANextHopThatGoesDownLeavesItsGroupAndTheGroupStays(t *testing.T) {
	h, err := newHardware(oneGroup(fib.OverflowExceed), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.program(prefixOf(1), hopsOf(1000, 1)); err != nil {
		t.Fatal(err)
	}
	before, _ := h.Lookup(prefixOf(1))
	h.setDown(1, true)
	after, _ := h.Lookup(prefixOf(1))
	if after.Group != before.Group || !slices.Equal(after.Members, before.Members) {
		t.Errorf("got group %d %v, want group %d %v", after.Group, after.Members, before.Group, before.Members)
	}
	if a := h.Audit(); a.WorstOverload != 0 || a.WorstUnderuse != 0 {
		t.Errorf("all traffic over the hop that is left: got overload %v, under-use %v, want 0", a.WorstOverload, a.WorstUnderuse)
	}
}

func TestHardwareOfOtherDevicesIsRefused(t *testing.T) {
	e := &Engine{topology: &topologies.Topology{Devices: []topologies.Device{{Name: "a", ASIC: "jericho3"}, {Name: "b", ASIC: "jericho3"}}}, opts: Options{Hardware: []state.Hardware{oneGroup("")}}}
	if err := e.makeTables(); err == nil || err.Error() != "hardware of 1 devices: want 2" {
		t.Errorf("got %v", err)
	}
	e.opts.Hardware = append(e.opts.Hardware, state.Hardware{})
	if err := e.makeTables(); err == nil {
		t.Error("a device without a profile: got no error, want one")
	}
	e.opts.Hardware = nil
	e.topology.Devices[1].ASIC = "abacus"
	if err := e.makeTables(); err == nil {
		t.Error("an ASIC without a profile: got no error, want one")
	}
}
