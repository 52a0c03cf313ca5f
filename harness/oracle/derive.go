package oracle

import "slices"

// Place is a prefix at a device, both by their index in the topology.
type Place struct{ Device, Prefix int }

// StateFrom is StateOf, worked out from another state of the oracle: only what the
// differences reach is decided anew, and the rest is shared. Retold are the places
// where Level answers otherwise than it did for that state.
//
// It comes out as StateOf does, since there is one end state and no way to it
// matters; a state with an error lends nothing.
func (o *Oracle) StateFrom(from *State, b []Bundle, devices []Device, retold []Place) *State {
	if from == nil || !from.o.sameNetwork(o) || from.err != nil || len(b) != o.bundles {
		return o.StateOf(b, devices)
	}
	s := o.begin(b, devices, from)
	if s.err != nil || s.settleAll(newDerivation(from, s, retold)) != nil {
		return o.StateOf(b, devices)
	}
	return s
}

// With is the same oracle with another level. States of both may be worked out from
// one another.
func (o *Oracle) With(level Level) *Oracle {
	made := *o
	made.level = level
	return &made
}

func (o *Oracle) sameNetwork(p *Oracle) bool {
	return o == p || len(o.first) > 0 && &o.first[0] == &p.first[0]
}

// derivation is what differs between a state and the one that it comes from.
type derivation struct {
	from    *State
	devices []int32 // that decide under another rule, or have a bundle that is in another state
	retold  []Place // where Level answers otherwise, or the device tells another path on
}

func newDerivation(from, to *State, retold []Place) *derivation {
	d := &derivation{from: from, retold: slices.Clip(retold)}
	for device := range to.o.asn {
		if from.prefers(device) || to.prefers(device) {
			d.retold = appendChosen(d.retold, from, to, device)
		}
		if from.rules[device] != to.rules[device] || !sameEnds(from, to, device) {
			d.devices = append(d.devices, int32(device))
		}
	}
	return d
}

// appendChosen adds the places of a device that tells another path on where it can.
func appendChosen(places []Place, from, to *State, device int) []Place {
	for p := range to.o.prefixes {
		if !slices.Equal(from.preferred(int32(device), p), to.preferred(int32(device), p)) {
			places = append(places, Place{device, p})
		}
	}
	return places
}

func sameEnds(a, b *State, device int) bool {
	for i := a.o.first[device]; i < a.o.first[device+1]; i++ {
		if a.cap[i] != b.cap[i] || a.trial[i] != b.trial[i] || a.up[i] != b.up[i] {
			return false
		}
	}
	return true
}

// settle does one step, or is false where it cannot.
func (d *derivation) settle(w *work, step int) bool {
	base, devices, retold := d.base(w, step)
	stale := map[int][]int32{} // by prefix
	for at := range differentOpen(base.open, w.open) {
		stale[at.prefix] = append(stale[at.prefix], int32(at.device))
		for _, specific := range w.o.aggregates[at.prefix].specifics {
			stale[specific] = append(stale[specific], int32(at.device))
		}
	}
	for _, at := range retold {
		stale[at.Prefix] = append(stale[at.Prefix], int32(at.Device))
	}
	for p := range w.o.prefixes {
		w.start(p, base.rows[p], false)
		for _, device := range devices {
			w.stale.add(w.o.rank[device])
		}
		for _, device := range stale[p] {
			w.stale.add(w.o.rank[device])
		}
		if w.sweep() != nil {
			return false
		}
	}
	return true
}

// base is the step from which another is worked out, with what differs apart from
// aggregates: the same step of the other state, or the one before.
func (d *derivation) base(w *work, number int) (base step, devices []int32, retold []Place) {
	if number < len(d.from.steps) {
		return d.from.steps[number], d.devices, d.retold
	}
	return w.steps[number-1], nil, nil
}

// differentOpen are the aggregates that one of two steps announces otherwise.
func differentOpen(a, b map[place]uint64) map[place]bool {
	different := map[place]bool{}
	for at, value := range a {
		if other, ok := b[at]; !ok || value != other {
			different[at] = true
		}
	}
	for at := range b {
		if _, ok := a[at]; !ok {
			different[at] = true
		}
	}
	return different
}
