package fib

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

var (
	// ErrPrefix is returned for an invalid prefix.
	ErrPrefix = errors.New("invalid prefix")

	// ErrNoHops is returned for a prefix without a next hop; Remove takes a
	// prefix out.
	ErrNoHops = errors.New("no next hops")

	// ErrDuplicateHop is returned when two next hops have one ID.
	ErrDuplicateHop = errors.New("duplicate next hop")
)

// Table is one device's forwarding table: prefixes, the next-hop groups that
// they share, and how much of the chip that takes.
//
// Two prefixes whose members and weights are the same share a group; the same
// next hops with other weights are another group, as in FBOSS. A group lives
// while a prefix uses it. Its id, 1 or more, is never given to another.
// A prefix with one member uses no group, has group id 0 and costs nothing:
// chips point the route straight at the next hop
// (facebook/fboss fboss/agent/ResourceAccountant.cpp counts sets above 1 only).
//
// A change is make-before-break: the new group is counted while the old one
// is still there, so the peaks hold both. Prefixes change one at a time. What
// does not fit is programmed all the same and shows as a peak above the limit:
// no path is lost.
//
// A Table is not safe for concurrent use. It grows with its prefixes, and
// remembers up to memoLimit reductions.
type Table struct {
	profile   Profile
	algorithm Algorithm

	prefixes map[netip.Prefix]*route
	groups   map[string]*group
	lastID   int

	members      int // entries in use
	groupsPeak   int
	membersPeak  int
	groupChanges int

	reductions map[string]Reduction

	hops []Hop  // scratch: the hops being programmed, by ID
	key  []byte // scratch: a map key
}

// memoLimit bounds the reductions that a table remembers. A device has tens
// of share vectors at a time; a long run sees many, most of them never again.
const memoLimit = 1024

// route is a prefix as it was asked for and as it is programmed.
type route struct {
	hops      []Hop // by ID
	reduction Reduction
	members   []Weighted // the group's, or of its own where there is no group
	group     *group     // nil for a single member
}

// group is one next-hop group. Its members never change once it is made.
type group struct {
	id      int
	key     string
	members []Weighted
	cost    int // member entries
	refs    int // prefixes
}

// NewTable returns an empty table of a chip with profile p that reduces with
// alg. It fails if a limit of p is out of range or alg is unknown.
func NewTable(p Profile, alg Algorithm) (*Table, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := alg.validate(); err != nil {
		return nil, err
	}
	return &Table{
		profile:    p,
		algorithm:  alg,
		prefixes:   map[netip.Prefix]*route{},
		groups:     map[string]*group{},
		reductions: map[string]Reduction{},
	}, nil
}

// Program makes prefix forward to hops, in proportion to their shares as far
// as the chip allows, in place of what it had. Bits beyond the prefix length
// are ignored. The order of hops does not matter; the one with the lowest ID
// is the earliest for Reduce. Equal hops again change nothing, and cost only
// a comparison.
//
// It fails for an invalid prefix, no hops, or two hops with one ID, and then
// the table is as before. It keeps no reference to hops.
func (t *Table) Program(prefix netip.Prefix, hops []Hop) error {
	if err := t.takeHops(prefix, hops); err != nil {
		return err
	}
	prefix = prefix.Masked()
	old := t.prefixes[prefix]
	if old != nil && slices.Equal(old.hops, t.hops) {
		return nil
	}
	reduction, err := t.reduce()
	if err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	if old == nil {
		old = &route{}
		t.prefixes[prefix] = old
	} else if old.has(t.hops, reduction.Weights) {
		old.hops = append(old.hops[:0], t.hops...)
		old.reduction = reduction
		return nil
	}
	t.move(old, reduction)
	return nil
}

// takeHops checks the arguments of Program and leaves the hops in t.hops.
func (t *Table) takeHops(prefix netip.Prefix, hops []Hop) error {
	if !prefix.IsValid() {
		return fmt.Errorf("prefix %q: %w", prefix, ErrPrefix)
	}
	if len(hops) == 0 {
		return fmt.Errorf("prefix %q: %w", prefix, ErrNoHops)
	}
	t.hops = append(t.hops[:0], hops...)
	slices.SortFunc(t.hops, func(a, b Hop) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(t.hops); i++ {
		if id := t.hops[i].ID; id == t.hops[i-1].ID {
			return fmt.Errorf("prefix %q: %w: %d", prefix, ErrDuplicateHop, id)
		}
	}
	return nil
}

// reduce returns the reduction of the shares of t.hops, from memory if equal
// shares were reduced before. Nobody writes to what it returns.
func (t *Table) reduce() (Reduction, error) {
	t.key = t.key[:0]
	for _, h := range t.hops {
		t.key = binary.LittleEndian.AppendUint64(t.key, h.Share)
	}
	if r, ok := t.reductions[string(t.key)]; ok {
		return r, nil
	}
	shares := make([]uint64, len(t.hops))
	for i, h := range t.hops {
		shares[i] = h.Share
	}
	r, err := Reduce(t.algorithm, shares, t.profile.Width)
	if err != nil {
		return Reduction{}, err
	}
	if len(t.reductions) >= memoLimit {
		clear(t.reductions)
	}
	t.reductions[string(t.key)] = r
	return r, nil
}

// has tells whether the route's members are just those of hops with these
// weights.
func (r *route) has(hops []Hop, weights []int) bool {
	next := 0
	for i, h := range hops {
		if weights[i] == 0 {
			continue
		}
		if next == len(r.members) || r.members[next] != (Weighted{h.ID, weights[i]}) {
			return false
		}
		next++
	}
	return next == len(r.members)
}

// move points r at t.hops reduced to another vector than it has, making the
// new group before the old one is let go.
func (t *Table) move(r *route, reduction Reduction) {
	old, isNew := r.group, r.members == nil
	r.hops = append(r.hops[:0], t.hops...)
	r.reduction = reduction
	r.group, r.members = t.acquire(reduction.Weights)
	if old != nil {
		t.release(old)
	}
	if !isNew && r.group != old {
		t.groupChanges++
	}
}

// acquire returns the group and members of t.hops with these weights, with
// one reference more; no group for a single member.
func (t *Table) acquire(weights []int) (*group, []Weighted) {
	t.key = t.key[:0]
	members := 0
	for i, h := range t.hops {
		if weights[i] == 0 {
			continue
		}
		members++
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(h.ID))
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(weights[i]))
	}
	if g := t.groups[string(t.key)]; g != nil {
		g.refs++
		return g, g.members
	}
	vector := make([]Weighted, 0, members)
	for i, h := range t.hops {
		if weights[i] > 0 {
			vector = append(vector, Weighted{h.ID, weights[i]})
		}
	}
	if members == 1 {
		return nil, vector
	}
	t.lastID++
	g := &group{id: t.lastID, key: string(t.key), members: vector, cost: t.profile.MemberCost(vector), refs: 1}
	t.groups[g.key] = g
	t.members += g.cost
	t.groupsPeak = max(t.groupsPeak, len(t.groups))
	t.membersPeak = max(t.membersPeak, t.members)
	return g, vector
}

func (t *Table) release(g *group) {
	if g.refs--; g.refs > 0 {
		return
	}
	delete(t.groups, g.key)
	t.members -= g.cost
}

// Remove takes prefix out and tells whether it was there.
func (t *Table) Remove(prefix netip.Prefix) bool {
	prefix = prefix.Masked()
	r := t.prefixes[prefix]
	if r == nil {
		return false
	}
	delete(t.prefixes, prefix)
	if r.group != nil {
		t.release(r.group)
	}
	return true
}

// Lookup returns the entry of exactly that prefix (not the longest match).
// The caller must not write to its Members.
func (t *Table) Lookup(prefix netip.Prefix) (Entry, bool) {
	prefix = prefix.Masked()
	r := t.prefixes[prefix]
	if r == nil {
		return Entry{}, false
	}
	return r.entry(prefix), true
}

// Entries returns all entries in the order of netip.Prefix.Compare. They stay
// as they are when the table changes; the caller must not write to their
// Members, which the entries of one group share.
func (t *Table) Entries() []Entry {
	entries := make([]Entry, 0, len(t.prefixes))
	for prefix, r := range t.prefixes {
		entries = append(entries, r.entry(prefix))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.Prefix.Compare(b.Prefix) })
	return entries
}

func (r *route) entry(prefix netip.Prefix) Entry {
	e := Entry{Prefix: prefix, Members: r.members, Error: r.reduction.Error}
	if r.group != nil {
		e.Group = r.group.id
	}
	for _, i := range r.reduction.Dropped {
		e.Dropped = append(e.Dropped, r.hops[i].ID)
	}
	return e
}
