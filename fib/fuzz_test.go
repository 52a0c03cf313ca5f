package fib_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/fib"
)

// sharesOf reads up to 64 shares from data: a byte of shift and two of value,
// so that zero, small, equal and huge ones are all a mutation away.
func sharesOf(data []byte) []uint64 {
	var shares []uint64
	for len(data) >= 3 && len(shares) < 64 {
		shares = append(shares, uint64(binary.LittleEndian.Uint16(data[1:]))<<(data[0]%49))
		data = data[3:]
	}
	return shares
}

// FuzzReduce checks the contract of Reduce for every algorithm, that its
// error is within Bound, and that no vector next to minimax's is better.
func FuzzReduce(f *testing.F) {
	f.Add([]byte{0, 1, 0}, uint16(1))
	f.Add([]byte{0, 100, 0, 0, 100, 0, 0, 75, 0}, uint16(512))
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint16(1))
	f.Add([]byte{48, 255, 255, 0, 1, 0, 3, 7, 0}, uint16(64))
	f.Fuzz(func(t *testing.T, data []byte, width uint16) {
		shares, limit := sharesOf(data), 1+int(width)%4096
		if len(shares) == 0 {
			return
		}
		for _, alg := range fib.Algorithms() {
			if why := broken(alg, shares, limit); why != "" {
				t.Errorf("%s of %v in width %d: %s", alg, shares, limit, why)
			}
			r := mustReduce(t, alg, shares, limit)
			if bound := fib.Bound(alg, shares, limit); r.Error > bound {
				t.Errorf("%s of %v in width %d: got error %v, want at most %v", alg, shares, limit, r.Error, bound)
			}
		}
		if slices.Contains(shares, 0) {
			return
		}
		r := mustReduce(t, fib.Minimax, shares, limit)
		for i := range r.Weights {
			for j := range r.Weights {
				w := slices.Clone(r.Weights)
				w[i]++
				w[j]--
				if w[j] < 1 || total(w) > limit {
					continue
				}
				if e := worstExcess(w, shares); e < r.Error-1e-9*(1+r.Error) {
					t.Fatalf("%v in width %d: got %v with error %v, but %v has %v", shares, limit, r.Weights, r.Error, w, e)
				}
			}
		}
	})
}

// operation is one step of a table sequence.
type operation struct {
	prefix netip.Prefix
	hops   []fib.Hop // none: remove
	link   *link     // a next hop that goes down or comes back; nothing else then
}

// link is the state of a next hop.
type link struct {
	id   int32
	down bool
}

// operationsOf reads a sequence over 8 prefixes and 8 next hops: a byte of
// prefix and number of hops, then a byte of id and share for each. From 0xe0
// the first byte is a next hop that goes down or comes back.
func operationsOf(data []byte) []operation {
	shares := []uint64{0, 1, 2, 3, 75, 100, 799_999_983_616, 800_000_000_000, math.MaxUint64}
	var list []operation
	for len(data) > 0 {
		if data[0] >= 0xe0 {
			list = append(list, operation{link: &link{int32(data[0] % 8), data[0]/8%2 == 0}})
			data = data[1:]
			continue
		}
		op := operation{prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, data[0] % 8, 0, 0}), 24)}
		n := min(int(data[0]/8)%6, len(data)-1)
		for _, b := range data[1 : 1+n] {
			op.hops = append(op.hops, fib.Hop{ID: int32(b % 8), Share: shares[int(b/8)%len(shares)]})
		}
		data = data[1+n:]
		list = append(list, op)
	}
	return list
}

// tableTwin recounts everything from the list of programmed prefixes.
type tableTwin struct {
	profile                 fib.Profile
	algorithm               fib.Algorithm
	live                    map[netip.Prefix][]fib.Hop
	down                    map[int32]bool
	groupsPeak, membersPeak int
	owner                   map[int]string // the vector of each group id ever seen
}

// vector is the members of hops, by ID.
func (w *tableTwin) vector(t *testing.T, hops []fib.Hop) []fib.Weighted {
	sorted := slices.Clone(hops)
	slices.SortFunc(sorted, func(a, b fib.Hop) int { return int(a.ID) - int(b.ID) })
	var shares []uint64
	for _, h := range sorted {
		shares = append(shares, h.Share)
	}
	var vector []fib.Weighted
	for i, weight := range mustReduce(t, w.algorithm, shares, w.profile.Width).Weights {
		if weight > 0 {
			vector = append(vector, fib.Weighted{ID: sorted[i].ID, Weight: weight})
		}
	}
	return vector
}

// load counts the distinct groups among these hop lists and their entries.
func (w *tableTwin) load(t *testing.T, lists ...[]fib.Hop) (groups, members int) {
	seen := map[string]bool{}
	for _, hops := range lists {
		vector := w.vector(t, hops)
		if name := fmt.Sprint(vector); len(vector) > 1 && !seen[name] {
			seen[name] = true
			groups++
			members += w.profile.MemberCost(vector)
		}
	}
	return groups, members
}

func (w *tableTwin) lists() [][]fib.Hop {
	var lists [][]fib.Hop
	for _, hops := range w.live {
		lists = append(lists, hops)
	}
	return lists
}

// apply does op and counts the moment when old and new are both there.
func (w *tableTwin) apply(t *testing.T, op operation) {
	if op.link != nil {
		w.down[op.link.id] = op.link.down
		return
	}
	if len(op.hops) == 0 {
		delete(w.live, op.prefix)
		return
	}
	groups, members := w.load(t, append(w.lists(), op.hops)...)
	w.groupsPeak, w.membersPeak = max(w.groupsPeak, groups), max(w.membersPeak, members)
	w.live[op.prefix] = op.hops
}

// compare checks the table against the twin.
func (w *tableTwin) compare(t *testing.T, table *fib.Table) {
	t.Helper()
	groups, members := w.load(t, w.lists()...)
	a := table.Audit()
	got := [4]int{a.Groups, a.Members, a.GroupsPeak, a.MembersPeak}
	if want := [4]int{groups, members, w.groupsPeak, w.membersPeak}; got != want {
		t.Fatalf("groups, members and their peaks: got %v, want %v", got, want)
	}
	entries := table.Entries()
	if len(entries) != len(w.live) {
		t.Fatalf("got %d entries, want %d", len(entries), len(w.live))
	}
	overload, underuse, dropped := 0.0, 0.0, 0
	for _, e := range entries {
		hops, vector := w.live[e.Prefix], w.vector(t, w.live[e.Prefix])
		if !slices.Equal(e.Members, vector) || len(vector) == 0 {
			t.Fatalf("prefix %s: got members %v, want %v", e.Prefix, e.Members, vector)
		}
		w.compareGroup(t, e)
		over, under, n := wrong(hops, e.Members, w.down)
		overload, underuse, dropped = max(overload, over), max(underuse, under), dropped+n
		if _, _, n := wrong(hops, e.Members, nil); n != len(e.Dropped) {
			t.Fatalf("prefix %s: got dropped %v, want %d", e.Prefix, e.Dropped, n)
		}
	}
	if a.Dropped != dropped || !near(a.WorstOverload, overload) || !near(a.WorstUnderuse, underuse) {
		t.Fatalf("got %+v, want dropped %d overload %v underuse %v", a, dropped, overload, underuse)
	}
}

func (w *tableTwin) compareGroup(t *testing.T, e fib.Entry) {
	t.Helper()
	if (e.Group == 0) != (len(e.Members) == 1) {
		t.Fatalf("prefix %s: got group %d for members %v", e.Prefix, e.Group, e.Members)
	}
	if e.Group == 0 {
		return
	}
	name := fmt.Sprint(e.Members)
	if owner, ok := w.owner[e.Group]; ok && owner != name {
		t.Fatalf("group %d: got vector %s, was %s", e.Group, name, owner)
	}
	w.owner[e.Group] = name
}

// wrong is the audit of one prefix in float64, of the next hops that are up.
func wrong(hops []fib.Hop, members []fib.Weighted, down map[int32]bool) (overload, underuse float64, dropped int) {
	hops = slices.DeleteFunc(slices.Clone(hops), func(h fib.Hop) bool { return down[h.ID] })
	members = slices.DeleteFunc(slices.Clone(members), func(m fib.Weighted) bool { return down[m.ID] })
	sum, weights := 0.0, 0.0
	for _, h := range hops {
		sum += float64(h.Share)
	}
	for _, m := range members {
		weights += float64(m.Weight)
	}
	for _, h := range hops {
		wanted := float64(h.Share) / sum
		if sum == 0 {
			wanted = 1 / float64(len(hops))
		}
		i := slices.IndexFunc(members, func(m fib.Weighted) bool { return m.ID == h.ID })
		switch {
		case i >= 0 && wanted == 0:
			overload = math.Inf(1)
		case i >= 0:
			got := float64(members[i].Weight) / weights
			overload, underuse = max(overload, got/wanted-1), max(underuse, wanted/got-1)
		case wanted > 0:
			underuse = math.Inf(1)
			dropped++
		}
	}
	return overload, underuse, dropped
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// FuzzTable runs program and remove sequences against the twin.
func FuzzTable(f *testing.F) {
	f.Add(byte(0), []byte{0x10, 0x08, 0x11, 0x10, 0x10, 0x19, 0x00})
	f.Add(byte(7), []byte{0x28, 1, 2, 3, 4, 5, 0x29, 1, 2, 3, 4, 5, 0x28, 9, 10, 11, 12, 13, 0x01})
	f.Add(byte(2), []byte{0x18, 0x28, 0x29, 0x22, 0x18, 0x28, 0x28, 0x22, 0x08, 0x28})
	f.Add(byte(5), []byte{0x18, 0x08, 0x19, 0x1a, 0xe0, 0x19, 0x08, 0x11, 0x12, 0xe1, 0xe2, 0x10, 0x11, 0x12, 0xe9})
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		if len(data) > 400 {
			return
		}
		runAgainstTwin(t, kind, operationsOf(data))
	})
}

// runAgainstTwin runs ops on a table of the kind: bit 0 the algorithm, bit 1
// the cost rule, the rest the width.
func runAgainstTwin(t *testing.T, kind byte, ops []operation) {
	t.Helper()
	p := fib.Profile{Name: "tiny", Groups: 4, Members: 30, Width: 2 + int(kind/4)%30, NativeCost: int(kind / 2 % 2 * 4), Reserve: 1, Ceiling: 0.75}
	alg := []fib.Algorithm{fib.Equal, fib.Minimax}[kind%2]
	twin := tableTwin{profile: p, algorithm: alg, live: map[netip.Prefix][]fib.Hop{}, down: map[int32]bool{}, owner: map[int]string{}}
	table := newTable(t, p, alg)
	for _, op := range ops {
		_, was := twin.live[op.prefix]
		if op.link != nil {
			before := table.Entries()
			table.SetDown(op.link.id, op.link.down)
			if after := table.Entries(); !slices.EqualFunc(before, after, sameGroup) {
				t.Fatalf("next hop %d down %v: %v became %v", op.link.id, op.link.down, before, after)
			}
		} else if len(op.hops) == 0 {
			if got := table.Remove(op.prefix); got != was {
				t.Fatalf("remove %s: got %v, want %v", op.prefix, got, was)
			}
		} else if err := table.Program(op.prefix, op.hops); err != nil {
			twin.compare(t, table)
			continue
		}
		twin.apply(t, op)
		twin.compare(t, table)
	}
}

// sameGroup tells whether a prefix has the same group, id included.
func sameGroup(a, b fib.Entry) bool {
	return a.Prefix == b.Prefix && a.Group == b.Group && slices.Equal(a.Members, b.Members)
}

func TestTableAgreesWithTheTwinOnRandomSequences(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		data := make([]byte, 120)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		runAgainstTwin(t, byte(r.Uint32()), operationsOf(data))
	}
}
