package harness

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
)

// ErrNotCloned means that a rig cannot be cloned: it runs on the GoBGP engine, has
// been closed, or has left its baseline.
var ErrNotCloned = errors.New("the rig cannot be cloned")

// CloneOptions is what a clone has of its own.
type CloneOptions struct {
	Checks   []state.Check // that have seen nothing yet
	Observer state.Observer
	Schedule *sim.Schedule // nil = as the original
}

// Clone copies a network of the Sim engine at its baseline, so that many cases may
// start from it without bringing it up again. What is played on the clone changes
// nothing in the original. The checks see the baseline at once.
//
// Any number of goroutines may clone one rig, as long as nothing is played on it.
// The clone need not be closed.
func (r *Rig) Clone(opts CloneOptions) (*Rig, error) {
	engine, ok := r.engine.(*sim.Engine)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: engine %q: want %q", ErrNotCloned, r.opts.Engine, Sim)
	case r.closed:
		return nil, fmt.Errorf("%w: %w", ErrNotCloned, ErrClosed)
	case r.played > 0:
		return nil, fmt.Errorf("%w: %d events were played on it: want none", ErrNotCloned, r.played)
	}
	made := *r
	made.opts.Checks, made.opts.Observer = opts.Checks, opts.Observer
	made.guards = newGuards(opts.Checks)
	if opts.Observer == nil {
		made.opts.Observer = silence{}
	}
	made.members, made.windows, made.shown = slices.Clone(r.members), nil, nil
	made.away, made.failing, made.transients = maps.Clone(r.away), r.failing.Clone(), nil
	made.lost.part, made.lost.open = slices.Clone(r.lost.part), slices.Clone(r.lost.open)
	own, err := engine.Clone()
	if err != nil {
		return nil, err
	}
	if opts.Schedule != nil {
		if err := own.Reschedule(*opts.Schedule); err != nil {
			return nil, err
		}
		made.opts.Schedule = *opts.Schedule
	}
	made.engine = own
	made.watchTransients()
	made.watchActions()
	if made.judge, err = r.judge.clone(); err != nil {
		return nil, err
	}
	made.wear = &wear{net: r.net, report: own.Report, uses: slices.Clone(r.wear.uses), policies: slices.Clone(r.wear.policies)}
	for i := range made.wear.policies {
		made.wear.policies[i].exceeded = slices.Clone(made.wear.policies[i].exceeded)
	}
	return &made, guarded(func() error {
		made.look(nil, true)
		return nil
	})
}

// clone copies the judge. States and oracles do not change, so both keep them;
// but an oracle that asks what was observed must ask the copy.
func (j *judge) clone() (*judge, error) {
	made := *j
	made.bundles, made.devices = slices.Clone(j.bundles), slices.Clone(j.devices)
	made.recent, made.known, made.texts = maps.Clone(j.recent), maps.Clone(j.known), maps.Clone(j.texts)
	made.forgetful = maps.Clone(j.forgetful)
	for i := range made.bundles {
		var err error
		if made.bundles[i].policy, err = damping.CloneBundle(j.bundles[i].policy); err != nil {
			return nil, err
		}
	}
	if j.remembers {
		made.dampedOracle = j.dampedOracle.With(made.levels())
	}
	return &made, nil
}
