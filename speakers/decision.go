package speakers

import "slices"

// selectSet is the decision process for one prefix. It returns the sessions of
// the multipath set in ascending order, and the member whose path is told on:
// the one with the lowest router id, then the lowest session address. A device
// that originates the prefix uses its own route, unless a candidate has a
// higher LOCAL_PREF. The set is valid until the next call; best is -1 where it
// is empty.
//
// Among the members, those over bundles on trial give way to the others. A trial
// never makes a longer path win: two devices could then prefer each other's
// detours for ever, since each hides its own route while it takes the other's.
//
// Everything that ties up to ORIGIN is in the set; the contents of AS_PATH do
// not matter, and neither MED nor link bandwidth takes part (RFC 10005 S3.2).
func (c *Core) selectSet(p int32) (set []int, best int, local bool) {
	row := c.row(p)
	local = c.originates && (c.prefixes[p].origin >= 0 || c.announces(p))
	settled := false
	set, best = c.set[:0], -1
	for s := range row {
		if !c.usable(p, row, s) {
			continue
		}
		switch {
		case local && row[s].LocalPref <= DefaultLocalPref:
			continue
		case best >= 0 && worse(row[s], row[best]):
			continue
		case best >= 0 && worse(row[best], row[s]):
			set, settled = set[:0], false
			best = s
		case best < 0 || c.cfg.Sessions[s].Neighbor < c.cfg.Sessions[best].Neighbor:
			best = s // session addresses ascend, so of one neighbour's the first stays
		}
		set = append(set, s)
		settled = settled || !c.sessions[s].passed.Trial
	}
	if settled {
		set, best = c.withoutTrials(set)
	}
	return set, best, local && best < 0
}

// withoutTrials drops the members over bundles on trial from a set that has
// others, and finds the best one of those.
func (c *Core) withoutTrials(set []int) (left []int, best int) {
	left, best = set[:0], -1
	for _, s := range set {
		if c.sessions[s].passed.Trial {
			continue
		}
		if best < 0 || c.cfg.Sessions[s].Neighbor < c.cfg.Sessions[best].Neighbor {
			best = s
		}
		left = append(left, s)
	}
	return left, best
}

// usable drops candidates from down bundles, with the own ASN, and those that
// import policy rejects.
func (c *Core) usable(p int32, row []*Route, s int) bool {
	return row[s] != nil && c.sessions[s].passed.Capacity > 0 && !slices.Contains(row[s].Path, c.cfg.ASN) &&
		!c.rejected[p] && !c.rejectsTags(row[s].Tags)
}

func (c *Core) rejectsTags(tags []uint32) bool {
	for _, t := range c.settings.RejectTagged {
		if slices.Contains(tags, t) {
			return true
		}
	}
	return false
}

// worse tells whether a loses against b.
func worse(a, b *Route) bool {
	if a.LocalPref != b.LocalPref {
		return a.LocalPref < b.LocalPref
	}
	if len(a.Path) != len(b.Path) {
		return len(a.Path) > len(b.Path)
	}
	return a.Origin > b.Origin
}
