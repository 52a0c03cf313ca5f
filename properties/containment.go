package properties

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Containment is the rule "containment": over a window, from the start of an
// event until the network is settled, a directed session carries of a prefix
// at most as many NLRI as the session has to be told anew between one damped
// state of the graph and the next (the entries of state.Window.Allowed with
// Told; those with Cut allow none, since the session's fall says it).
//
// The graph's news cross a bundle that has failed unnoticed, and UPDATEs wait on it: who
// hears of one change over other sessions first and then notices the failure tells it
// in two parts. So where several events share a window, each bundle that was down
// unnoticed in it allows one NLRI more to every flow that may carry any.
//
// Four kinds of NLRI are outside the limit and counted apart, see Tally. Every
// other one counts, also one that repeats what the session was told last, and
// one that changes the AS_PATH alone where the graph's path does not change.
//
// Where some device damps its told values of the prefix with a memory, the
// graph has no opinion of what is told when, and law 2 is the limit: a speaker
// tells a session at most damping.Law.PerChange NLRI for each prefix that it
// received and each thing that happened to itself (state.Window.Own), and at most
// damping.Law.Adverts of the window's time.
type Containment struct {
	ledger
	constants
	tally     Tally
	remember  []bool          // by prefix: some device damps it, or what it follows from, with a memory; nil = not known yet
	owed      map[flow]permit // of windows in which UPDATEs were held
	family    [][]int         // by prefix: those that it follows from, itself among them
	unnoticed map[int32]bool  // bundles that were down unnoticed at some time of the window
}

// Tally is what the wires carried in all windows so far, in NLRI.
type Tally struct {
	Counted int // against the limit
	Path    int // outside it: only the AS_PATH or another attribute changed, as the graph's does
	Cure    int // outside it: withdrawn and announced again by one speaker in one round
	Dump    int // outside it: the first dump of a session that came up
	Hunt    int // outside it: path hunting, an AS_PATH that the graph has neither before nor after the window, and the way back
}

// NewContainment returns the check. Its worst value is the most NLRI beyond the
// limit on one directed session for one prefix in one window.
func NewContainment() *Containment {
	return &Containment{ledger: newLedger(ContainmentName, 0, "NLRI too many"), unnoticed: map[int32]bool{}}
}

// Outcome implements state.Check. Its note is what was counted apart.
func (c *Containment) Outcome() state.Outcome {
	o := c.ledger.Outcome()
	if t := c.tally; t.Path+t.Cure+t.Dump+t.Hunt > 0 {
		o.Note = fmt.Sprintf("counted apart: %d NLRI that changed the path or another attribute alone, %d of the cure, %d of first dumps", t.Path, t.Cure, t.Dump)
		if t.Hunt > 0 {
			o.Note += fmt.Sprintf(", %d of path hunting", t.Hunt)
		}
	}
	return o
}

// Tally returns what was counted, and what was counted apart.
func (c *Containment) Tally() Tally { return c.tally }

// TallyOf returns the tally of the containment check among checks, and whether
// there is one.
func TallyOf(checks []state.Check) (Tally, bool) {
	for _, check := range checks {
		if c, ok := check.(*Containment); ok {
			return c.Tally(), true
		}
	}
	return Tally{}, false
}

// Look implements state.Check. It judges windows, so it looks only when one
// has settled, and counts as exercised once per window in which something
// changed, told or absorbed.
func (c *Containment) Look(m *state.Moment) {
	for b := range m.Snapshot.Bundles {
		if m.Snapshot.Bundles[b].Unseen {
			c.unnoticed[int32(b)] = true
		}
	}
	w := m.Window
	if w == nil {
		return
	}
	defer clear(c.unnoticed)
	if w.Effect == state.Changed || w.Effect == state.Absorbed {
		c.found.Exercised++
	}
	allowed := c.allowance(m)
	if len(m.Snapshot.Held) > 0 {
		c.owe(w)
		return
	}
	defer clear(c.owed)
	dumps := dumpRounds(w.Log)
	log := slices.Clone(w.Log)
	slices.SortStableFunc(log, func(a, b state.NLRI) int { return compareFlows(flowOf(&a), flowOf(&b)) })
	for len(log) > 0 {
		f := flowOf(&log[0])
		end := 1
		for end < len(log) && flowOf(&log[end]) == f {
			end++
		}
		if m.Snapshot.Bundles[f.dir.Bundle].CeasedBy == "" { // a session that import policy ended has no limit of its own
			c.judge(m, f, log[:end], allowed(f), dumps[f.dir])
		}
		log = log[end:]
	}
}

// flow is one prefix on one directed session.
type flow struct {
	dir    state.Direction
	prefix int32
}

func flowOf(n *state.NLRI) flow { return flow{n.Dir, n.Prefix} }

func compareFlows(a, b flow) int {
	from := func(f flow) int {
		if f.dir.FromB {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.dir.Bundle, b.dir.Bundle), cmp.Compare(from(a), from(b)), cmp.Compare(a.prefix, b.prefix))
}

// allowance is what every flow may carry in a window.
func (c *Containment) allowance(m *state.Moment) func(flow) permit {
	byGraph := allowance(m.Window.Allowed)
	if c.constants.learn(m) {
		c.learnPrefixes(m)
	}
	// Communities alone change where a device is drained or set otherwise, or an
	// aggregate takes a prefix's place above.
	tags := slices.ContainsFunc(m.Window.Events, func(e state.Event) bool { return e.Kind == "drain" || e.Kind == "set" }) ||
		slices.ContainsFunc(m.Topology.Prefixes, func(p topologies.Prefix) bool { return p.Aggregate != nil && p.Aggregate.Suppress })
	received := map[[2]int]int{}
	for i := range m.Window.Log {
		if !slices.Contains(c.remember, true) {
			break // law 2 has no say
		}
		n := &m.Window.Log[i]
		to, _ := peer(m.Network, sender(m.Network, n.Dir), n.Dir.Bundle)
		received[[2]int{to, int(n.Prefix)}]++
	}
	return func(f flow) permit {
		if !c.remember[f.prefix] {
			p, owed := byGraph[f], c.owed[f]
			owed.told += againAfterReset(m, sender(m.Network, f.dir)) + loopsAllowed(m, f, byGraph)
			p.told, p.path = p.told+owed.told, p.path+owed.path
			if p.told > 0 && len(m.Window.Events) > 1 {
				p.told += len(c.unnoticed)
			}
			return p
		}
		from := sender(m.Network, f.dir)
		law := c.dampings(from, int(f.prefix)).Law
		causes := m.Window.Own[from]
		for _, p := range c.family[f.prefix] {
			causes += received[[2]int{from, p}]
		}
		return permit{told: int(min(float64(law.PerChange*causes), law.Adverts(m.Window.Lasted))), path: causes, law: true, tags: tags}
	}
}

// owe keeps what a window allowed while UPDATEs were held: it may be told when they
// are released.
func (c *Containment) owe(w *state.Window) {
	if c.owed == nil {
		c.owed = map[flow]permit{}
	}
	for f, p := range allowance(w.Allowed) {
		owed := c.owed[f]
		c.owed[f] = permit{told: owed.told + p.told, path: owed.path + p.path}
	}
}

// learnPrefixes works out which prefixes follow from one another, and of which damping
// with a memory is on the way: an aggregate changes because its more-specifics do,
// and they are told otherwise because it does.
func (c *Containment) learnPrefixes(m *state.Moment) {
	c.remember, c.family = somewhere(m, remembers), make([][]int, len(m.Topology.Prefixes))
	for p := range c.family {
		c.family[p] = append(c.family[p], p)
	}
	for a, prefix := range m.Topology.Prefixes {
		if prefix.Aggregate == nil {
			continue
		}
		group, remember := append(m.Topology.Specifics(a), a), false
		for _, p := range group {
			remember = remember || c.remember[p]
		}
		for _, p := range group {
			c.remember[p] = remember
			for _, q := range group {
				if !slices.Contains(c.family[p], q) {
					c.family[p] = append(c.family[p], q)
				}
			}
		}
	}
}

// permit is what the graph lets a flow carry in a window.
type permit struct {
	told int  // NLRI
	path int  // states in which the AS_PATH or another attribute alone changed
	law  bool // law 2 is the limit, and no graph
	tags bool // with law: communities alone may change
}

func allowance(list []state.SessionChange) map[flow]permit {
	allowed := make(map[flow]permit, len(list))
	for _, s := range list {
		f := flow{s.Dir, s.Prefix}
		p := allowed[f]
		if s.Told && !s.Cut {
			p.told++
		}
		if s.Path {
			p.path++
		}
		allowed[f] = p
	}
	return allowed
}

// dumpRounds gives the rounds in which a session's first dump was sent,
// ascending. What was told before a dump is forgotten with the old session.
func dumpRounds(log []state.NLRI) map[state.Direction][]int {
	rounds := map[state.Direction][]int{}
	for i := range log {
		n := &log[i]
		if list := rounds[n.Dir]; n.Dump && (len(list) == 0 || list[len(list)-1] != n.Round) {
			rounds[n.Dir] = append(list, n.Round)
		}
	}
	return rounds
}

// heard is what a session was told last of a prefix.
type heard struct {
	present, valued bool
	value           float32
	path            uint64
}

func heardFrom(n *state.NLRI) heard {
	if n.Withdraw {
		return heard{}
	}
	return heard{present: true, valued: n.Valued, value: n.Value, path: n.Path}
}

func (h heard) sameValue(g heard) bool {
	return h.present == g.present && h.valued == g.valued && (!h.valued || h.value == g.value)
}

// heardBefore is what the flow was told when the window began.
func heardBefore(m *state.Moment, f flow) heard {
	from := sender(m.Network, f.dir)
	if !m.Window.Before.TellsTo(from, int(f.prefix), f.dir.Bundle) {
		return heard{}
	}
	told := m.Window.Before.Route(from, int(f.prefix)).Told
	path := append([]uint32{m.Topology.Devices[from].ASN}, told.Path...)
	return heard{present: true, valued: told.Valued, value: told.Value, path: state.HashPath(path)}
}

func sender(n *state.Network, dir state.Direction) int {
	if dir.FromB {
		return n.Index.Ends[dir.Bundle][1]
	}
	return n.Index.Ends[dir.Bundle][0]
}

// againstLimit is an NLRI that counts against the limit.
type againstLimit struct {
	last, now heard
	nlri      *state.NLRI
	idle      bool // it brought no new value and no presence
}

// judge follows one flow through a window.
func (c *Containment) judge(m *state.Moment, f flow, log []state.NLRI, p permit, dumps []int) {
	var against []againstLimit
	last, others, exported := heardBefore(m, f), p.path, 0
	if p.law {
		exported = p.path
	}
	if p.law && !p.tags {
		others = 0
	}
	hunting, falls := false, m.Window.Falls[f.dir.Bundle]
	for i := range log {
		n := &log[i]
		for len(dumps) > 0 && dumps[0] <= n.Round {
			for len(falls) > 0 && falls[0] <= dumps[0] {
				falls = falls[1:]
			}
			last, dumps, hunting = heard{}, dumps[1:], false
		}
		for len(falls) > 0 && falls[0] < n.Round { // its first dump may have been empty
			last, falls, hunting = heard{}, falls[1:], false
		}
		now := heardFrom(n)
		switch {
		case n.Dump:
			c.tally.Dump++
		case n.Withdraw && i+1 < len(log) && !log[i+1].Withdraw && log[i+1].Round == n.Round:
			c.tally.Cure++
			continue // what replaces it counts by what it changes against the value before
		case p.path > 0 && last.present && now.present && last.sameValue(now) && last.path != now.path:
			c.tally.Path++
		case i+1 < len(log) && now.present && now.path != last.path && strays(m, f, now.path):
			c.tally.Hunt++
			hunting = true
			continue // what follows counts by what it changes against the state before
		case hunting && now == last:
			c.tally.Hunt++
		case exported > 0 && last.present != now.present: // another AS_PATH lets the route go to the neighbour, or keeps it
			c.tally.Path++
			exported--
		case others > 0 && last.present && last == now: // another attribute, such as a community
			c.tally.Path++
			others--
		default:
			c.tally.Counted++
			against = append(against, againstLimit{last, now, n, last.sameValue(now)})
		}
		last, hunting = now, false
	}
	excess := len(against) - p.told
	if p.law { // no damping repeats, so that a repetition finds no cause
		idle := 0
		for _, a := range against {
			idle += count(a.idle && a.last == a.now)
		}
		excess = max(excess, idle)
	}
	if excess <= 0 {
		return
	}
	c.worst(float64(excess))
	c.report(m, f, against, p, excess)
}

// strays tells whether an AS_PATH is none that the graph has for the flow, before
// the window or after it.
func strays(m *state.Moment, f flow, path uint64) bool {
	from := sender(m.Network, f.dir)
	for _, j := range []state.Judge{m.Window.Before, m.Damped} {
		told := j.Route(from, int(f.prefix)).Told
		if told.Present && state.HashPath(append([]uint32{m.Topology.Devices[from].ASN}, told.Path...)) == path {
			return false
		}
	}
	return true
}

// report lists the NLRI beyond the limit: first those that brought nothing
// new, then the last ones.
func (c *Containment) report(m *state.Moment, f flow, against []againstLimit, p permit, excess int) {
	slices.Reverse(against)
	slices.SortStableFunc(against, func(a, b againstLimit) int {
		switch {
		case a.idle == b.idle:
			return 0
		case a.idle:
			return -1
		}
		return 1
	})
	from := sender(m.Network, f.dir)
	to, _ := peer(m.Network, from, f.dir.Bundle)
	where := fmt.Sprintf("session %q to %q over %s, prefix %s", m.Topology.Devices[from].Name, m.Topology.Devices[to].Name,
		bundleName(m.Network, f.dir.Bundle), m.Topology.Prefixes[f.prefix].Prefix)
	for _, a := range against[:excess] {
		c.violate(m, where, "speaker %q in round %d %s; %d NLRI count, want at most %d",
			m.Topology.Devices[from].Name, a.nlri.Round, a.reason(m.Network), len(against), p.told)
	}
}

// reason says what an NLRI did, as far as it explains why it is too many.
func (a againstLimit) reason(n *state.Network) string {
	text := func(h heard) string { return valueText(n, h.present, h.valued, h.value) }
	switch {
	case !a.now.present && !a.last.present:
		return "withdrew what it had not told"
	case !a.now.present:
		return "withdrew " + text(a.last)
	case a.idle && a.last.path == a.now.path:
		return fmt.Sprintf("repeated %s", text(a.now))
	case a.idle:
		return fmt.Sprintf("changed only the AS_PATH of %s, and the graph's path does not change", text(a.now))
	}
	return fmt.Sprintf("told %s after %s", text(a.now), text(a.last))
}
