package harness

import (
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// since works out what may differ between the moment that checks saw last and one that
// they are about to see, or gives nil where that is unknown.
func (r *Rig) since(m *state.Moment) *state.Since {
	last := r.shown
	r.shown = m
	if last == nil || len(r.opts.Checks) == 0 {
		return nil
	}
	last.Since = nil // or each moment would keep all that came before
	return Since(last, m)
}

// Since compares two moments of one run, the earlier one first. Their judges must be
// of package oracle.
func Since(last, m *state.Moment) *state.Since {
	devices, prefixes := len(m.Topology.Devices), len(m.Topology.Prefixes)
	s := &state.Since{Before: last, Routes: state.NewPlaces(devices, prefixes), Hops: state.NewPlaces(devices, prefixes)}
	for d := range m.Snapshot.Devices {
		sinceDevice(s, d, &last.Snapshot.Devices[d], &m.Snapshot.Devices[d])
		if last.Snapshot.Devices[d].Restarting != m.Snapshot.Devices[d].Restarting {
			for _, b := range m.Index.Of[d] {
				sinceBundle(s, m.Network, b)
			}
		}
	}
	for b := range m.Snapshot.Bundles {
		was, now := &last.Snapshot.Bundles[b], &m.Snapshot.Bundles[b]
		if was.Up != now.Up || was.Unseen != now.Unseen || (was.Members > 0) != (now.Members > 0) {
			sinceBundle(s, m.Network, b)
		}
	}
	sinceJudge(s, last.Damped, m.Damped, true)
	sinceJudge(s, last.True, m.True, false)
	return s
}

// sinceDevice takes what may differ of one device.
func sinceDevice(s *state.Since, d int, was, now *state.Device) {
	if was.Drain != now.Drain || was.Restarting != now.Restarting {
		s.Routes.AddDevice(d)
		s.Hops.AddDevice(d)
	}
	if now.External {
		s.Routes.AddDevice(d)
		return
	}
	if len(now.Routes) == 0 || &was.Routes[0] == &now.Routes[0] {
		return
	}
	for p := range now.Routes {
		before, after := &was.Routes[p], &now.Routes[p]
		if before.Same(after) {
			continue
		}
		s.Routes.Add(d, p)
		if !sameHops(before, after) {
			s.Hops.Add(d, p)
		}
	}
}

// sameHops tells whether hardware sends over the same next hops.
func sameHops(a, b *state.Route) bool {
	if len(a.FIB.Members) != len(b.FIB.Members) {
		return false
	}
	for i := range a.FIB.Members {
		if a.FIB.Members[i].ID != b.FIB.Members[i].ID {
			return false
		}
	}
	return true
}

// sinceBundle takes that a bundle may carry otherwise.
func sinceBundle(s *state.Since, n *state.Network, bundle int) {
	for _, d := range n.Index.Ends[bundle] {
		s.Routes.AddDevice(d)
		s.Hops.AddDevice(d)
	}
}

// sinceJudge takes what may differ of what the graph says.
func sinceJudge(s *state.Since, was, now state.Judge, heard bool) {
	before, after := was.(*oracle.State), now.(*oracle.State)
	if before != after {
		after.Mark(before, heard, s.Routes.Add)
	}
}
