package properties

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// paper is a network without speakers: its snapshots are what the graph says
// and what a table makes of it, so every check holds until a test spoils them.
// Bundles are not held down.
type paper struct {
	tb            testing.TB
	net           *state.Network
	damped, truth *oracle.Oracle
	tables        []*fib.Table
	baseline      *state.Snapshot
}

// small has two regions of two fabrics, two planes and two spines.
func small(tb testing.TB) *paper {
	tb.Helper()
	t, err := topologies.Generate(topologies.Shape{
		Name: "small", Regions: 2, Planes: 2, Fabrics: 2, Spines: 2, Kind: "dsf", Speed: 800e9,
		SpineEdge: topologies.Link{Members: 32}, EdgeBag: topologies.Link{Members: 32}, BagBag: topologies.Link{Members: 32},
		SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return onPaper(tb, t)
}

func preset(tb testing.TB, name string) *paper {
	tb.Helper()
	t, err := topologies.Preset(name)
	if err != nil {
		tb.Fatal(err)
	}
	return onPaper(tb, t)
}

func onPaper(tb testing.TB, t *topologies.Topology) *paper {
	tb.Helper()
	pipeline, err := damping.Preset(damping.PresetBagDefault, t.SmallestSpeed())
	if err != nil {
		tb.Fatal(err)
	}
	hardware, err := state.HardwareOf(t)
	if err != nil {
		tb.Fatal(err)
	}
	return paperWith(tb, t, pipeline, hardware)
}

// paperWith has that hardware; a table that is full and rejects is no failure.
func paperWith(tb testing.TB, t *topologies.Topology, pipeline damping.Pipeline, hardware []state.Hardware) *paper {
	tb.Helper()
	p := &paper{
		tb:     tb,
		net:    &state.Network{Topology: t, Index: t.Index(), Damping: pipeline, Hardware: hardware},
		damped: oracle.New(t, levelOf(pipeline)), truth: oracle.New(t, nil),
	}
	for _, h := range hardware {
		table, err := fib.New(h.Profile, h.Options)
		if err != nil {
			tb.Fatal(err)
		}
		p.tables = append(p.tables, table)
	}
	p.baseline = p.moment(nil).Snapshot
	return p
}

// broken are the members of bundles that are not at full health.
type broken map[string]int

// moment is the settled network with those bundles broken.
func (p *paper) moment(b broken) *state.Moment {
	p.tb.Helper()
	t := p.net.Topology
	bundles, snapshot := make([]oracle.Bundle, len(t.Bundles)), &state.Snapshot{Bundles: make([]state.Bundle, len(t.Bundles))}
	found := 0
	for i, bundle := range t.Bundles {
		members, ok := b[bundle.Name]
		if !ok {
			members = bundle.Members
		} else {
			found++
		}
		capacity := bundle.Capacity(members)
		bundles[i] = oracle.Bundle{Capacity: capacity}
		snapshot.Bundles[i] = state.Bundle{Members: members, Capacity: capacity, Up: members > 0}
	}
	if found != len(b) {
		p.tb.Fatalf("broken bundles %v: found %d of them", b, found)
	}
	damped := p.damped.State(bundles)
	for d := range t.Devices {
		snapshot.Devices = append(snapshot.Devices, p.device(damped, d))
	}
	m := &state.Moment{
		Network: p.net, Snapshot: snapshot, Settled: true, Baseline: p.baseline,
		Damped: damped, True: p.truth.State(bundles), Full: len(b) == 0,
	}
	if m.Baseline == nil {
		m.Baseline = snapshot
	}
	return m
}

func (p *paper) device(s *oracle.State, d int) state.Device {
	dev := state.Device{}
	for i, prefix := range p.net.Topology.Prefixes {
		r := *s.Route(d, i)
		r.Candidates = s.Receives(d, i)
		if len(r.Set) == 0 {
			p.tables[d].Remove(prefix.Prefix)
		} else {
			hops := make([]fib.Hop, len(r.Set))
			for k, m := range r.Set {
				hops[k] = fib.Hop{ID: m.Bundle, Share: m.Share}
			}
			if err := p.tables[d].Program(prefix.Prefix, hops); err != nil && !errors.Is(err, fib.ErrFull) {
				p.tb.Fatal(err)
			}
		}
		r.FIB, _ = p.tables[d].Lookup(prefix.Prefix)
		r.FIB.Members = slices.Clone(r.FIB.Members)
		dev.Routes = append(dev.Routes, r)
	}
	dev.FIB = p.tables[d].Audit()
	return dev
}

// window is what happened from one moment to another, as perfect speakers
// would tell it: each change once.
func (p *paper) window(before, after *state.Moment) *state.Window {
	w := &state.Window{Before: before.Damped, Effect: state.Changed}
	from, to := before.Damped.(*oracle.State), after.Damped.(*oracle.State)
	for _, c := range oracle.DiffSessions(from, to) {
		s := state.SessionChange{Dir: c.Dir, Prefix: int32(c.Prefix), Told: c.Told, Path: c.Path, Cut: c.Cut}
		w.Allowed = append(w.Allowed, s)
		if !s.Cut {
			w.Log = append(w.Log, p.told(after, s.Dir, s.Prefix))
		}
	}
	return w
}

// told is the NLRI with which a session is told what its sender tells at the
// moment.
func (p *paper) told(m *state.Moment, dir state.Direction, prefix int32) state.NLRI {
	n := state.NLRI{Dir: dir, Prefix: prefix, Round: 7}
	from := sender(p.net, dir)
	if !m.Damped.TellsTo(from, int(prefix), dir.Bundle) {
		n.Withdraw = true
		return n
	}
	told := m.Damped.Route(from, int(prefix)).Told
	n.Valued, n.Value = told.Valued, told.Value
	n.Path = state.HashPath(append([]uint32{p.net.Topology.Devices[from].ASN}, told.Path...))
	return n
}

// dir is the directed session from the first device to the second.
func (p *paper) dir(from, to string) state.Direction {
	p.tb.Helper()
	a, b := p.deviceOf(from), p.deviceOf(to)
	for i, ends := range p.net.Index.Ends {
		if ends == [2]int{a, b} || ends == [2]int{b, a} {
			return state.Direction{Bundle: int32(i), FromB: ends[1] == a}
		}
	}
	p.tb.Fatalf("no bundle between %q and %q", from, to)
	return state.Direction{}
}

func (p *paper) deviceOf(name string) int {
	p.tb.Helper()
	d, ok := p.net.Index.Device[name]
	if !ok {
		p.tb.Fatalf("no device %q", name)
	}
	return d
}

func (p *paper) prefixOf(text string) int {
	p.tb.Helper()
	for i, prefix := range p.net.Topology.Prefixes {
		if prefix.Prefix.String() == text {
			return i
		}
	}
	p.tb.Fatalf("no prefix %q", text)
	return 0
}

// route is a device's route in the moment, to be spoilt.
func (p *paper) route(m *state.Moment, device, prefix string) *state.Route {
	p.tb.Helper()
	return &m.Snapshot.Devices[p.deviceOf(device)].Routes[p.prefixOf(prefix)]
}

// violatedRules shows moments to new checks and names those that found
// something, with how much.
func violatedRules(moments ...*state.Moment) map[string]int {
	found := map[string]int{}
	for _, c := range All() {
		for _, m := range moments {
			c.Look(m)
		}
		if n := c.Outcome().Violated; n > 0 {
			found[c.Name()] = n
		}
	}
	return found
}

// texts are the violations of a rule in moments.
func texts(name string, moments ...*state.Moment) []string {
	for _, c := range All() {
		if c.Name() != name {
			continue
		}
		for _, m := range moments {
			c.Look(m)
		}
		var list []string
		for _, v := range c.Outcome().Violations {
			list = append(list, v.Where+": "+v.Text)
		}
		return list
	}
	return []string{fmt.Sprintf("no rule %q", name)}
}

// levelOf is how the pipeline quantizes; nil where it does not.
func levelOf(p damping.Pipeline) func(uint64) uint64 {
	if q := p.Quantizer(); q != nil {
		return q.Level
	}
	return nil
}
