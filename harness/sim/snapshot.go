package sim

import (
	"context"

	"github.com/bagrig/bagrig/harness/state"
)

// Quiet implements state.Engine.
func (e *Engine) Quiet(ctx context.Context) error {
	err := e.schedule.quiet(ctx)
	if e.settling == nil {
		e.changes = nil
	}
	if err != nil {
		return err
	}
	return e.settles()
}

func (e *Engine) progress() {
	if e.opts.Progress != nil {
		e.opts.Progress(StageSpread, e.entries, e.opts.Entries)
	}
}

// Snapshot implements state.Engine.
func (e *Engine) Snapshot() *state.Snapshot {
	s := &state.Snapshot{Time: e.now, Bundles: make([]state.Bundle, len(e.sessions)), Devices: make([]state.Device, len(e.devices))}
	for b := range e.sessions {
		x, ends := &e.sessions[b], e.index.Ends[b]
		a, _ := e.devices[ends[0]].core.Bundle(int32(b))
		z, _ := e.devices[ends[1]].core.Bundle(int32(b))
		s.Bundles[b] = state.Bundle{Members: x.members, Capacity: a.Passed.Capacity, Trial: a.Passed.Trial, Up: a.Up && z.Up, Unseen: x.unseen}
		switch {
		case x.unseen:
			s.Bundles[b].Lost = 1
		case x.members > 0:
			s.Bundles[b].Lost = x.lost
		}
		if x.closedBy > 0 {
			s.Bundles[b].CeasedBy = e.topology.Devices[x.closedBy-1].Name
		}
		for side := range x.ends {
			if x.ends[side].held {
				s.Held = append(s.Held, state.Direction{Bundle: int32(b), FromB: side == 1})
			}
		}
	}
	for d := range s.Devices {
		s.Devices[d] = e.seen(d)
	}
	return s
}

// seen is a device as the last snapshot had it, where nothing has changed since:
// what snapshots hold is not written to. Of what changes by itself there is only
// the count of events, and how many of them a compromise of hardware has lasted.
func (e *Engine) seen(d int) state.Device {
	dev := &e.devices[d]
	if dev.seen != nil && dev.marks < len(e.marks) && compromised(dev.seen) {
		e.own(d)
	}
	if dev.seen == nil || e.tap != nil {
		made := e.device(d)
		dev.seen, dev.last, dev.steps = &made, &made, dev.core.Steps()
	}
	out := *dev.seen
	out.FIB.Events += len(e.marks) - dev.marks
	return out
}

func compromised(d *state.Device) bool { return d.FIB.Compromises > 0 }

func (e *Engine) device(d int) state.Device {
	dev := &e.devices[d]
	out := e.tables[d].Device(dev.core, e.topology.Prefixes, dev.last, dev.steps)
	out.Drain, out.Restarting = dev.drain, out.Restarting || dev.away
	if e.tap != nil {
		e.tapDevice(d, &out)
	}
	return out
}
