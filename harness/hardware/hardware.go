// Package hardware is the forwarding hardware of the devices of one network, as
// both engines run it: a table of package fib for each device and, where a run
// compares overflow policies, one for each of them beside it.
package hardware

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// Table is one device's table, and, where a run compares them, what the same
// programs come to under every overflow policy.
type Table struct {
	*fib.Table
	compared []*fib.Table // in the order of fib.Overflows, the device's own among them; nil = none
	audited  []fib.Audit  // of compared; nil = not since the last change
	hops     []fib.Hop
	changed  bool // since the last Device
	marked   int  // events marked since then
}

// New makes the tables of all devices of a topology; list nil is
// state.HardwareOf it.
func New(t *topologies.Topology, list []state.Hardware, compare bool) ([]Table, error) {
	if list == nil {
		var err error
		if list, err = state.HardwareOf(t); err != nil {
			return nil, err
		}
	}
	if len(list) != len(t.Devices) {
		return nil, fmt.Errorf("hardware of %d devices: want %d", len(list), len(t.Devices))
	}
	tables := make([]Table, len(list))
	for i, d := range t.Devices {
		var err error
		if tables[i], err = newTable(list[i], compare); err != nil {
			return nil, fmt.Errorf("device %q: %w", d.Name, err)
		}
	}
	return tables, nil
}

func newTable(h state.Hardware, compare bool) (Table, error) {
	table, err := fib.New(h.Profile, h.Options)
	if err != nil || !compare {
		return Table{Table: table}, err
	}
	made := Table{Table: table}
	for _, policy := range fib.Overflows() {
		rival := table
		if policy != h.Overflow() {
			if rival, err = fib.New(h.Profile, fib.Options{Algorithm: h.Options.Algorithm, Overflow: policy}); err != nil {
				return Table{}, err
			}
		}
		made.compared = append(made.compared, rival)
	}
	return made, nil
}

// Tables are the device's own table and those compared with it.
func (t *Table) Tables() []*fib.Table {
	if t.compared == nil {
		return []*fib.Table{t.Table}
	}
	return t.compared
}

// Shared is a view of the same tables. It, or the one that it is of, is replaced
// by its Clone before either is changed.
func (t *Table) Shared() Table {
	return Table{Table: t.Table, compared: t.compared, audited: t.audited, changed: t.changed, marked: t.marked}
}

// Clone copies the tables.
func (t *Table) Clone() Table {
	made := Table{Table: t.Table.Clone(), audited: t.audited, changed: t.changed, marked: t.marked}
	for _, table := range t.compared {
		if table == t.Table {
			made.compared = append(made.compared, made.Table)
		} else {
			made.compared = append(made.compared, table.Clone())
		}
	}
	return made
}

// Carry programs a prefix, or removes it where there are no hops. A table that is
// full and rejects what is new is no failure of the run: the audit counts it.
func (t *Table) Carry(prefix netip.Prefix, hops []speakers.Hop) error {
	t.audited, t.hops, t.changed = nil, t.hops[:0], true
	for _, h := range hops {
		t.hops = append(t.hops, fib.Hop{ID: h.Bundle, Share: h.Share})
	}
	for _, table := range t.Tables() {
		if len(hops) == 0 {
			table.Remove(prefix)
			continue
		}
		if err := table.Program(prefix, t.hops); err != nil && !errors.Is(err, fib.ErrFull) {
			return err
		}
	}
	return nil
}

// SetDown takes a bundle's next hop out of its groups, or lets it come back.
func (t *Table) SetDown(bundle int32, down bool) {
	t.audited, t.changed = nil, true
	for _, table := range t.Tables() {
		table.SetDown(bundle, down)
	}
}

// Mark names the event that changes from now on belong to.
func (t *Table) Mark(event string) {
	t.marked++
	for _, table := range t.Tables() {
		table.Mark(event)
	}
}

// Audits are those of the tables compared; most devices have none that changed
// since the last quiet, so they are kept. Their Events, and those that a
// compromise lasted, are not counted.
func (t *Table) Audits() []fib.Audit {
	if t.audited == nil {
		for _, table := range t.compared {
			a := table.Audit()
			a.Events, a.LongestCompromise = 0, 0
			t.audited = append(t.audited, a)
		}
	}
	return t.audited
}

// Device is what a device's core holds, told and candidates included, with what its
// hardware has. Drain is left to the engine. It shares what is as it was in
// the last one that this gave, which may be nil, of the same core after that many
// steps. What hardware has changes only by
// Carry and SetDown, and how long a compromise lasts by Mark.
func (t *Table) Device(core *speakers.Core, prefixes []topologies.Prefix, last *state.Device, steps uint64) state.Device {
	dev := state.Device{Restarting: core.Restarting(), Compared: t.Audits()}
	sameTable := last != nil && !t.changed && last.FIB.Compromises == 0
	if sameTable {
		dev.FIB = last.FIB
		dev.FIB.Events += t.marked
	} else {
		dev.FIB = t.Audit()
	}
	t.changed, t.marked = false, 0
	if last != nil {
		dev.Routes = last.Routes
	}
	var found []speakers.Candidate
	for p := range prefixes {
		if last != nil && !core.Changed(int32(p), steps) && (sameTable || t.carriesAs(&last.Routes[p], prefixes[p].Prefix)) {
			continue
		}
		found = core.Candidates(int32(p), found[:0])
		r := state.Route{}
		if last != nil {
			r = last.Routes[p]
		}
		decision := core.Decision(int32(p))
		same := last != nil && r.Local == decision.Local && r.Valued == decision.Valued && r.Bottleneck == decision.Bottleneck && r.Told.Same(state.Told(decision.Told))
		r.Local, r.Valued, r.Bottleneck, r.Told = decision.Local, decision.Valued, decision.Bottleneck, state.Told(decision.Told)
		same = (sameTable || t.carried(&r, prefixes[p].Prefix)) && same
		same = members(&r, decision.Hops) && same
		same = candidates(&r, found) && same
		if same {
			continue
		}
		if last == nil && p == 0 {
			dev.Routes = make([]state.Route, len(prefixes))
		} else if last != nil && &dev.Routes[0] == &last.Routes[0] {
			dev.Routes = slices.Clone(last.Routes)
		}
		dev.Routes[p] = r
	}
	return dev
}

// carriesAs tells whether hardware has for a route what it had.
func (t *Table) carriesAs(r *state.Route, prefix netip.Prefix) bool {
	entry, _ := t.Lookup(prefix)
	return entry.Same(r.FIB)
}

// carried gives a route what hardware has for it, and tells whether that is as before.
func (t *Table) carried(r *state.Route, prefix netip.Prefix) bool {
	entry, _ := t.Lookup(prefix)
	if entry.Same(r.FIB) {
		return true
	}
	r.FIB = entry
	return false
}

// members gives a route its multipath set, and tells whether that is as before.
func members(r *state.Route, hops []speakers.Hop) bool {
	if slices.EqualFunc(r.Set, hops, func(m state.Member, h speakers.Hop) bool { return m == state.Member(h) }) {
		return true
	}
	r.Set = nil
	if len(hops) > 0 {
		r.Set = make([]state.Member, len(hops))
	}
	for i, h := range hops {
		r.Set[i] = state.Member(h)
	}
	return false
}

// candidates gives a route its candidates, and tells whether they are as before.
func candidates(r *state.Route, found []speakers.Candidate) bool {
	of := func(c *speakers.Candidate) state.Candidate {
		return state.Candidate{Bundle: c.Bundle, Path: c.Route.Path, Valued: c.Route.Valued, Value: c.Route.Value}
	}
	if len(r.Candidates) == len(found) {
		same := true
		for i := range found {
			same = same && r.Candidates[i].Same(of(&found[i]))
		}
		if same {
			return true
		}
	}
	r.Candidates = nil
	if len(found) > 0 {
		r.Candidates = make([]state.Candidate, len(found))
	}
	for i := range found {
		r.Candidates[i] = of(&found[i])
	}
	return false
}
