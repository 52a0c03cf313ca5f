package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// TestAStateWorkedOutFromAnotherIsTheStateItself changes random networks step by
// step: capacities, trials, sessions, knobs, drains, the aggregates that were
// announced before, what devices tell of their own accord, which of equal paths they
// tell on, and whether they see losses. Each state is worked
// out from the one before, and holds what one worked out from nothing holds.
func TestAStateWorkedOutFromAnotherIsTheStateItself(t *testing.T) {
	marked, decided, chosen := 0, 0, 0
	for seed := range uint64(300) {
		n, _ := random(seed, seed%3 > 0)
		n.randomKnobs(seed)
		r := rand.New(rand.NewPCG(seed, 3))
		if seed%2 == 0 {
			n.aggregates(r)
		}
		told := map[oracle.Place]damping.Value{}
		o := oracle.NewPlaced(&n.Topology, func(d, p int, in damping.Value) damping.Value {
			if v, ok := told[oracle.Place{Device: d, Prefix: p}]; ok {
				return v
			}
			return in
		})
		last := o.StateOf(n.bundles, n.devices)
		for step := range 12 {
			n.bundles, n.devices = slices.Clone(n.bundles), slices.Clone(n.devices)
			var retold []oracle.Place
			for range 1 + r.IntN(3) {
				n.change(r)
			}
			if r.IntN(3) == 0 {
				at := oracle.Place{Device: r.IntN(len(n.Devices)), Prefix: r.IntN(len(n.Prefixes))}
				retold = append(retold, at)
				told[at] = damping.Value{Reach: damping.Reach(r.IntN(3)), Bits: 8 * uint64(r.IntN(100))}
			}
			if r.IntN(2) == 0 {
				n.remember(last)
			}
			if r.IntN(3) == 0 {
				n.prefer(r, last)
			}
			got, want := o.StateFrom(last, n.bundles, n.devices, retold), o.StateOf(n.bundles, n.devices)
			if diff := sameState(n, got, want); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			apart := o.StateFrom(nil, n.bundles, n.devices, nil)
			if diff := cmp.Diff(oracle.Diff(last, got), oracle.Diff(last, apart)); diff != "" {
				t.Fatalf("seed %d, step %d: differences of states that share and that do not:\n%s", seed, step, diff)
			}
			if diff := cmp.Diff(oracle.DiffSessions(last, got), oracle.DiffSessions(last, apart)); diff != "" {
				t.Fatalf("seed %d, step %d: differences of sessions:\n%s", seed, step, diff)
			}
			if diff := cmp.Diff(oracle.DiffOpenSessions(last, got, got), oracle.DiffOpenSessions(last, apart, apart)); diff != "" {
				t.Fatalf("seed %d, step %d: differences of open sessions:\n%s", seed, step, diff)
			}
			decided += len(n.Devices) * len(n.Prefixes)
			got.Mark(last, false, func(int, int) { marked++ })
			chosen += n.preferred(got)
			if diff := unmarked(n, last, got); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			last = got
		}
	}
	if marked < decided/20 || marked > decided*3/4 {
		t.Errorf("%d of %d routes may differ from the state before: want some, and not all", marked, decided)
	}
	if chosen == 0 {
		t.Error("no device told a path on because it prefers it")
	}
}

// prefer lets a device tell on, of what it received in a state, other paths than it did;
// or whatever it would.
func (n *network) prefer(r *rand.Rand, s *oracle.State) {
	d := r.IntN(len(n.devices))
	n.devices[d].Paths = nil
	if r.IntN(4) == 0 {
		return
	}
	n.devices[d].Paths = make([][]uint32, len(n.Prefixes))
	for p := range n.Prefixes {
		if got := s.Receives(d, p); len(got) > 0 && r.IntN(3) > 0 {
			n.devices[d].Paths[p] = slices.Clone(got[r.IntN(len(got))].Path)
		}
	}
}

// preferred counts the places whose path is told because the device prefers it.
func (n *network) preferred(s *oracle.State) (times int) {
	for d := range n.devices {
		for p := range n.devices[d].Paths {
			route := s.Route(d, p)
			if len(route.Set) < 2 || !route.Told.Present || !slices.Equal(route.Told.Path, n.devices[d].Paths[p]) {
				continue
			}
			lowest, path := len(n.Devices), []uint32(nil) // of whom a speaker of the rig tells it on
			for _, c := range s.Receives(d, p) {
				from := n.Index().Ends[c.Bundle][0] + n.Index().Ends[c.Bundle][1] - d
				if slices.ContainsFunc(route.Set, func(m state.Member) bool { return m.Bundle == c.Bundle }) && from < lowest {
					lowest, path = from, c.Path
				}
			}
			if !slices.Equal(path, route.Told.Path) {
				times++
			}
		}
	}
	return times
}

// unmarked compares what two states answer where nothing is said to differ.
func unmarked(n *network, a, b *oracle.State) string {
	marked := map[oracle.Place]bool{}
	b.Mark(a, true, func(d, p int) { marked[oracle.Place{Device: d, Prefix: p}] = true })
	index := n.Index()
	for d := range n.Devices {
		for p := range n.Prefixes {
			if marked[oracle.Place{Device: d, Prefix: p}] {
				continue
			}
			if diff := cmp.Diff(a.Route(d, p), b.Route(d, p), comparePrefixes); diff != "" {
				return fmt.Sprintf("device %d, prefix %d is not marked: route (-+)\n%s", d, p, diff)
			}
			if diff := cmp.Diff(a.Receives(d, p), b.Receives(d, p)); diff != "" {
				return fmt.Sprintf("device %d, prefix %d is not marked: received (-+)\n%s", d, p, diff)
			}
			for _, bundle := range index.Of[d] {
				if a.TellsTo(d, p, int32(bundle)) != b.TellsTo(d, p, int32(bundle)) {
					return fmt.Sprintf("device %d, prefix %d is not marked: told otherwise over bundle %d", d, p, bundle)
				}
			}
		}
	}
	return ""
}

// aggregates makes some prefixes cover others, under random conditions.
func (n *network) aggregates(r *rand.Rand) {
	for i := range 1 + r.IntN(2) {
		a := &topologies.Aggregate{By: topologies.BySupporting, Announce: 1 + uint64(r.IntN(3)), Suppress: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			a.By, a.Announce = topologies.ByCapacity, 1+r.Uint64()>>(6+r.IntN(58))
		}
		a.Withdraw = 1 + a.Announce/2
		n.Prefixes = append(n.Prefixes, topologies.Prefix{
			Prefix:  netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), []int{16, 8}[i]),
			Origins: []string{n.Devices[r.IntN(len(n.Devices))].Name, n.Devices[r.IntN(len(n.Devices))].Name}, Class: classes[0], Aggregate: a,
		})
	}
}

// change makes one random change.
func (n *network) change(r *rand.Rand) {
	b, d := &n.bundles[r.IntN(len(n.bundles))], &n.devices[r.IntN(len(n.devices))]
	switch r.IntN(9) {
	case 0, 1:
		b.Capacity = r.Uint64() >> (6 + r.IntN(58))
	case 2:
		b.Capacity = 0
	case 3:
		b.Trial = !b.Trial
	case 4:
		b.Closed = !b.Closed
	case 5:
		b.Open = !b.Open
	case 6:
		d.Drain = topologies.DrainState(r.IntN(3))
	case 7:
		s := randomSettings(r)
		d.Settings = &s
	case 8:
		d.Whole = !d.Whole
	}
}

// remember gives devices the aggregates that they announced in a state.
func (n *network) remember(s *oracle.State) {
	for d := range n.devices {
		n.devices[d].Announced = nil
		for p := range n.Prefixes {
			if n.Prefixes[p].Aggregate != nil && s.Announces(d, p) {
				n.devices[d].Announced = append(n.devices[d].Announced, int32(p))
			}
		}
	}
}

// sameState compares all that a state tells.
func sameState(n *network, got, want *oracle.State) string {
	if fmt.Sprint(got.Err()) != fmt.Sprint(want.Err()) {
		return fmt.Sprintf("error: got %v, want %v", got.Err(), want.Err())
	}
	for d := range n.Devices {
		for p := range n.Prefixes {
			at := fmt.Sprintf("device %d, prefix %d: ", d, p)
			if diff := cmp.Diff(got.Route(d, p), want.Route(d, p), comparePrefixes); diff != "" {
				return at + "route (-got +want):\n" + diff
			}
			if diff := cmp.Diff(got.Receives(d, p), want.Receives(d, p)); diff != "" {
				return at + "received (-got +want):\n" + diff
			}
			if got.Announces(d, p) != want.Announces(d, p) || got.ToldBits(d, p) != want.ToldBits(d, p) || got.Reach(p)[d] != want.Reach(p)[d] || got.Drained(d) != want.Drained(d) {
				return at + "announced, told, reached or drained otherwise"
			}
			for _, b := range n.Index().Of[d] {
				if got.TellsTo(d, p, int32(b)) != want.TellsTo(d, p, int32(b)) {
					return at + fmt.Sprintf("tells over bundle %d otherwise", b)
				}
			}
		}
	}
	if len(oracle.Diff(got, want))+len(oracle.DiffSessions(got, want)) > 0 {
		return "they differ, and nothing that they tell does"
	}
	return ""
}
