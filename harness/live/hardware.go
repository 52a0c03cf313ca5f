package live

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// hardware is one device's table, and, where a run compares them, what the
// same programs come to under every overflow policy.
type hardware struct {
	*fib.Table
	compared []*fib.Table // in the order of fib.Overflows, the device's own among them; nil = none
	audited  []fib.Audit  // of compared; nil = not since the last change
}

func newHardware(h state.Hardware, compare bool) (hardware, error) {
	table, err := fib.New(h.Profile, h.Options)
	if err != nil || !compare {
		return hardware{Table: table}, err
	}
	made := hardware{Table: table}
	for _, policy := range fib.Overflows() {
		rival := table
		if policy != h.Overflow() {
			if rival, err = fib.New(h.Profile, fib.Options{Algorithm: h.Options.Algorithm, Overflow: policy}); err != nil {
				return hardware{}, err
			}
		}
		made.compared = append(made.compared, rival)
	}
	return made, nil
}

// tables are the device's own table and those compared with it.
func (h *hardware) tables() []*fib.Table {
	if h.compared == nil {
		return []*fib.Table{h.Table}
	}
	return h.compared
}

// program programs or removes a prefix. A table that is full and rejects what
// is new is no failure of the run: the audit counts it.
func (h *hardware) program(prefix netip.Prefix, hops []fib.Hop) error {
	h.audited = nil
	for _, t := range h.tables() {
		if len(hops) == 0 {
			t.Remove(prefix)
			continue
		}
		if err := t.Program(prefix, hops); err != nil && !errors.Is(err, fib.ErrFull) {
			return err
		}
	}
	return nil
}

func (h *hardware) setDown(bundle int32, down bool) {
	h.audited = nil
	for _, t := range h.tables() {
		t.SetDown(bundle, down)
	}
}

// audits are those of the tables compared; most devices have none that changed
// since the last quiet, so they are kept. Their Events, and those that a
// compromise lasted, are not counted.
func (h *hardware) audits() []fib.Audit {
	if h.audited == nil {
		for _, t := range h.compared {
			a := t.Audit()
			a.Events, a.LongestCompromise = 0, 0
			h.audited = append(h.audited, a)
		}
	}
	return h.audited
}

// makeTables makes the hardware of all devices.
func (e *Engine) makeTables() error {
	list := e.opts.Hardware
	if list == nil {
		var err error
		if list, err = state.HardwareOf(e.topology); err != nil {
			return err
		}
	}
	if len(list) != len(e.topology.Devices) {
		return fmt.Errorf("hardware of %d devices: want %d", len(list), len(e.topology.Devices))
	}
	for i, d := range e.topology.Devices {
		h, err := newHardware(list[i], e.opts.Compare)
		if err != nil {
			return fmt.Errorf("device %q: %w", d.Name, err)
		}
		e.tables = append(e.tables, h)
	}
	return nil
}

// Mark implements state.Engine.
func (e *Engine) Mark(event string) {
	for d := range e.tables {
		for _, t := range e.tables[d].tables() {
			t.Mark(event)
		}
	}
}

// Report implements state.Engine.
func (e *Engine) Report(device int) fib.Report {
	return e.tables[device].Table.Report(e.topology.Devices[device].Name)
}

// linkDown tells the hardware of both ends that a bundle went down or came
// back: it takes the next hop out of its groups before any speaker knows.
func (e *Engine) linkDown(bundle int32, down bool) {
	for _, d := range e.index.Ends[bundle] {
		e.tables[d].setDown(bundle, down)
	}
}
