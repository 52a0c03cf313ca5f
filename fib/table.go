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

	// ErrFull is returned by Program where the overflow policy is to reject
	// and the prefix has something else than it asked for.
	ErrFull = errors.New("no room for the group")
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
// does not fit is the overflow policy's to settle; see Overflow.
//
// A Table is not safe for concurrent use. It grows with its prefixes, and
// remembers up to memoLimit reductions.
type Table struct {
	profile   Profile
	algorithm Algorithm
	overflow  Overflow
	most      room // at one moment
	steady    room // between changes

	prefixes map[netip.Prefix]*route
	groups   map[string]*group
	spilled  map[string]*group // groups of the other type, by the same key
	sets     map[string]*set   // next-hop sets, by the key of their equal vector
	down     map[int32]bool
	lastID   int
	shadow   *Table // what OverflowEqual would have; OverflowShare only

	used      room // by groups
	spillUsed room // by spilled
	peaks     peaks
	freed     bool // a group came or went since the last reclaim

	reductions map[string]Reduction

	hops   []Hop      // scratch: the hops being programmed, by ID
	vector []Weighted // scratch: what a route wants
	key    []byte     // scratch: a map key
}

// memoLimit bounds the reductions that a table remembers. A device has tens
// of share vectors at a time; a long run sees many, most of them never again.
const memoLimit = 1024

// room is an amount of groups and member entries.
type room struct{ groups, members int }

// route is a prefix as it was asked for and as it is programmed.
type route struct {
	prefix     netip.Prefix
	hops       []Hop // as asked, by ID
	reduction  Reduction
	members    []Weighted // the group's, or of its own where there is no group; nil: nothing is programmed
	group      *group     // nil for a single member
	set        *set       // its next-hop set, where the policy keeps count of them
	compromise Compromise
	event      string  // when it came to that
	since      int     // the event, by number, in which it was first without what it wants
	until      int     // the event in which it was so last; -1: never
	error      float64 // of members against hops
}

// group is one next-hop group. Its members never change once it is made.
type group struct {
	id      int
	key     string
	members []Weighted
	cost    int // member entries
	refs    int // prefixes
	spilled bool
}

// Options chooses how a table reduces and what it does when it is full. The
// zero Options is Minimax with OverflowExceed.
type Options struct {
	Algorithm Algorithm
	Overflow  Overflow
}

// NewTable returns an empty table of a chip with profile p that reduces with
// alg and programs what does not fit all the same. It fails if a limit of p is
// out of range or alg is unknown.
func NewTable(p Profile, alg Algorithm) (*Table, error) {
	if err := alg.Validate(); err != nil {
		return nil, err
	}
	return New(p, Options{Algorithm: alg})
}

// New returns an empty table of a chip with profile p. It fails if a limit of
// p is out of range, or for an unknown algorithm or overflow policy.
func New(p Profile, o Options) (*Table, error) {
	if o.Algorithm == "" {
		o.Algorithm = Minimax
	}
	if o.Overflow == "" {
		o.Overflow = OverflowExceed
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := o.Algorithm.Validate(); err != nil {
		return nil, err
	}
	if err := o.Overflow.Validate(); err != nil {
		return nil, err
	}
	t := &Table{
		profile:    p,
		algorithm:  o.Algorithm,
		overflow:   o.Overflow,
		most:       room{p.GroupLimit(), p.MemberLimit()},
		steady:     room{p.SteadyGroups(), p.SteadyMembers()},
		prefixes:   map[netip.Prefix]*route{},
		groups:     map[string]*group{},
		spilled:    map[string]*group{},
		sets:       map[string]*set{},
		down:       map[int32]bool{},
		reductions: map[string]Reduction{},
	}
	if o.Overflow == OverflowShare {
		shadow, err := New(p, Options{o.Algorithm, OverflowEqual})
		if err != nil {
			return nil, err
		}
		t.shadow = shadow
	}
	return t, nil
}

// Program makes prefix forward to hops, in proportion to their shares as far
// as the chip allows, in place of what it had. Bits beyond the prefix length
// are ignored. The order of hops does not matter; the one with the lowest ID
// is the earliest for Reduce. Equal hops again change nothing, and cost only
// a comparison.
//
// It fails for an invalid prefix, no hops, or two hops with one ID, and then
// the table is as before. With OverflowReject it also fails with ErrFull: what
// was programmed stays as far as it is still wanted, and the request is kept
// and granted once there is room. It keeps no reference to hops.
func (t *Table) Program(prefix netip.Prefix, hops []Hop) error {
	if err := t.takeHops(prefix, hops); err != nil {
		return err
	}
	prefix = prefix.Masked()
	r := t.prefixes[prefix]
	if r != nil && slices.Equal(r.hops, t.hops) {
		return t.refusal(r)
	}
	reduction, err := t.reduce()
	if err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	if r == nil {
		r = &route{prefix: prefix, until: -1}
		t.prefixes[prefix] = r
	}
	r.hops = append(r.hops[:0], t.hops...)
	r.reduction = reduction
	t.place(r)
	t.settle()
	if t.shadow != nil {
		if err := t.shadow.Program(prefix, hops); err != nil {
			return err
		}
		t.followShadow()
	}
	refusal := t.refusal(r)
	if refusal != nil {
		t.peaks.refused++
	}
	return refusal
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
	r, err := t.profile.Reduce(t.algorithm, shares)
	if err != nil {
		return Reduction{}, err
	}
	if len(t.reductions) >= memoLimit {
		clear(t.reductions)
	}
	t.reductions[string(t.key)] = r
	return r, nil
}

// place gives r what it wants, or what the overflow policy has instead.
func (t *Table) place(r *route) {
	t.countSet(r)
	wanted := t.wanted(r)
	if r.compromise == "" && slices.Equal(r.members, wanted) {
		t.measure(r)
		return
	}
	if t.overflow == OverflowExceed || t.has(wanted) || t.fits(wanted, r) {
		t.give(r, wanted, "")
		return
	}
	switch t.overflow {
	case OverflowEqual:
		t.equalise(r)
	case OverflowMerge:
		t.merge(r)
	case OverflowShare:
		t.share(r)
	case OverflowSpill:
		t.spill(r)
	case OverflowReject:
		t.reject(r)
	}
}

// wanted returns the vector of r's reduction, in scratch space.
func (t *Table) wanted(r *route) []Weighted {
	t.vector = t.vector[:0]
	for i, h := range r.hops {
		if w := r.reduction.Weights[i]; w > 0 {
			t.vector = append(t.vector, Weighted{h.ID, w})
		}
	}
	return t.vector
}

// keyOf returns the map key of a vector, in scratch space.
func (t *Table) keyOf(vector []Weighted) []byte {
	t.key = t.key[:0]
	for _, m := range vector {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(m.ID))
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(m.Weight))
	}
	return t.key
}

// has tells whether a prefix can take the vector and cost nothing.
func (t *Table) has(vector []Weighted) bool {
	return len(vector) == 1 || t.groups[string(t.keyOf(vector))] != nil
}

// fits tells whether there is room for a new group of that vector for r, at
// the worst moment of the change and after it.
func (t *Table) fits(vector []Weighted, r *route) bool {
	after := room{t.used.groups + 1, t.used.members + t.profile.MemberCost(vector)}
	freed := r.lastUser()
	if freed != nil {
		after.groups--
		after.members -= freed.cost
	}
	reserved := t.reserved(vector, freed)
	if after.groups+reserved.groups > t.steady.groups || after.members+reserved.members > t.steady.members {
		return false
	}
	return !t.crowded(vector) || t.profile.BreakFirst
}

// lastUser returns the group that goes when r leaves it, or nil.
func (r *route) lastUser() *group {
	if r.group == nil || r.group.refs > 1 || r.group.spilled {
		return nil
	}
	return r.group
}

// crowded tells that there is no room for the vector beside all that is there.
func (t *Table) crowded(vector []Weighted) bool {
	return t.used.groups+1 > t.most.groups || t.used.members+t.profile.MemberCost(vector) > t.most.members
}

// give points r at a vector, making the new group before the old one is let
// go, unless the chip breaks first where there is no room for both.
func (t *Table) give(r *route, vector []Weighted, c Compromise) {
	if c != "" && c != Spilled && slices.Equal(vector, t.wanted(r)) {
		c = ""
	}
	old, before, isNew := r.group, r.group, r.members == nil
	same := slices.Equal(r.members, vector) && (c == Spilled) == (old != nil && old.spilled)
	if !same {
		if r.lastUser() != nil && t.profile.BreakFirst && !t.has(vector) && t.crowded(vector) {
			t.release(old)
			old, r.group = nil, nil
			t.peaks.gaps++
		}
		r.group, r.members = t.acquire(vector, c == Spilled)
		if old != nil {
			t.release(old)
		}
		if !isNew && r.group != before {
			t.peaks.changed()
		}
	}
	t.note(r, c)
	t.measure(r)
}

// acquire returns the group and members of a vector, with one reference more;
// no group for a single member.
func (t *Table) acquire(vector []Weighted, spilled bool) (*group, []Weighted) {
	if len(vector) == 1 {
		return nil, slices.Clone(vector)
	}
	groups, used := t.groups, &t.used
	if spilled {
		groups, used = t.spilled, &t.spillUsed
	}
	if g := groups[string(t.keyOf(vector))]; g != nil {
		g.refs++
		return g, g.members
	}
	t.lastID++
	g := &group{
		id: t.lastID, key: string(t.key), members: slices.Clone(vector),
		cost: t.profile.MemberCost(vector), refs: 1, spilled: spilled,
	}
	groups[g.key] = g
	used.groups++
	used.members += g.cost
	t.peaks.note(t.used, t.spillUsed)
	t.freed = true
	return g, g.members
}

func (t *Table) release(g *group) {
	if g.refs--; g.refs > 0 {
		return
	}
	groups, used := t.groups, &t.used
	if g.spilled {
		groups, used = t.spilled, &t.spillUsed
	}
	delete(groups, g.key)
	used.groups--
	used.members -= g.cost
	t.freed = true
}

// Remove takes prefix out and tells whether it was there.
func (t *Table) Remove(prefix netip.Prefix) bool {
	prefix = prefix.Masked()
	r := t.prefixes[prefix]
	if r == nil {
		return false
	}
	delete(t.prefixes, prefix)
	t.note(r, "")
	t.forgetSet(r)
	if r.group != nil {
		t.release(r.group)
	}
	t.settle()
	if t.shadow != nil {
		t.shadow.Remove(prefix)
		t.followShadow()
	}
	return true
}

// SetDown tells the table that a next hop went down, or came back. Groups that
// have it stay, with their ids and entries; their traffic goes over the other
// members, in proportion to their weights (the rule of two layers, as FRR's
// next-hop groups have it). Only a prefix with a compromise that has no live
// member, while one of its next hops is live, is placed anew. Audit takes no
// traffic to be wanted over a next hop that is down.
func (t *Table) SetDown(id int32, down bool) {
	if t.down[id] == down {
		return
	}
	if down {
		t.down[id] = true
	} else {
		delete(t.down, id)
	}
	dead := false
	for _, r := range t.prefixes {
		t.measure(r)
		dead = dead || t.dead(r)
	}
	if dead {
		for _, r := range t.sorted() {
			if t.dead(r) {
				t.place(r)
			}
		}
		t.settle()
	}
	if t.shadow != nil {
		t.shadow.SetDown(id, down)
		if dead {
			t.followShadow()
		}
	}
}

// dead tells whether r has a compromise without a live member for want of a
// better choice at the time.
func (t *Table) dead(r *route) bool {
	return r.compromise != "" && r.members != nil && !t.serves(r, r.members)
}

// serves tells whether r has a path over a vector: a member that is live, or
// no next hop that is.
func (t *Table) serves(r *route, vector []Weighted) bool {
	for _, m := range vector {
		if !t.down[m.ID] {
			return true
		}
	}
	for i, h := range r.hops {
		if r.reduction.Weights[i] > 0 && !t.down[h.ID] {
			return false
		}
	}
	return true
}

// Mark names the event that the following changes belong to, for the audit's
// peaks and changes per event.
func (t *Table) Mark(event string) {
	t.peaks.mark(event)
	if t.shadow != nil {
		t.shadow.Mark(event)
	}
}

// Lookup returns the entry of exactly that prefix (not the longest match).
// The caller must not write to its Members.
func (t *Table) Lookup(prefix netip.Prefix) (Entry, bool) {
	r := t.prefixes[prefix.Masked()]
	if r == nil || r.members == nil {
		return Entry{}, false
	}
	return r.entry(), true
}

// Entries returns all entries in the order of netip.Prefix.Compare. They stay
// as they are when the table changes; the caller must not write to their
// Members, which the entries of one group share.
func (t *Table) Entries() []Entry {
	entries := make([]Entry, 0, len(t.prefixes))
	for _, r := range t.sorted() {
		if r.members != nil {
			entries = append(entries, r.entry())
		}
	}
	return entries
}

// sorted returns all routes in the order of netip.Prefix.Compare.
func (t *Table) sorted() []*route {
	list := make([]*route, 0, len(t.prefixes))
	for _, r := range t.prefixes {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *route) int { return a.prefix.Compare(b.prefix) })
	return list
}

func (r *route) entry() Entry {
	e := Entry{Prefix: r.prefix, Members: r.members, Error: r.reduction.Error, Compromise: r.compromise}
	if r.group != nil {
		e.Group = r.group.id
	}
	if r.compromise == "" {
		for _, i := range r.reduction.Dropped {
			e.Dropped = append(e.Dropped, r.hops[i].ID)
		}
		return e
	}
	e.Error, e.Dropped = r.error, r.missing()
	return e
}

// missing returns the hops with a positive share that have no member.
func (r *route) missing() []int32 {
	var ids []int32
	for _, h := range r.hops {
		if h.Share > 0 && !slices.ContainsFunc(r.members, func(m Weighted) bool { return m.ID == h.ID }) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}
