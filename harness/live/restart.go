package live

import (
	"context"

	"github.com/bagrig/bagrig/speakers"
)

// stopSpeaker lets a device's neighbours know that it restarts, and returns the
// sessions that fall with it. Its hardware table stays as it is.
func (e *Engine) stopSpeaker(device int32) (down []int32) {
	e.away[device] = true
	for _, b := range e.index.Of[device] {
		if e.wires[b] == nil {
			continue
		}
		down = append(down, int32(b))
		e.input(e.otherEnd(int32(b), int(device)), speakers.Input{Kind: speakers.Restarts, Bundle: int32(b)})
	}
	return down
}

// coreConfig is what a device's core is made from, with its present settings.
func (e *Engine) coreConfig(device int) speakers.Config {
	cfg := speakers.ConfigOf(e.topology, e.index, device, e.opts.Damping)
	cfg.Plan, cfg.Settings = e.opts.Plan, &e.settings[device]
	return cfg
}

// startAgain gives a device a new core and returns the sessions that come back.
func (e *Engine) startAgain(ctx context.Context, device int32) (up []int32, err error) {
	cfg := e.coreConfig(int(device))
	cfg.Restart = &speakers.Restart{At: e.now, Drain: e.drains[device]}
	for _, s := range cfg.Sessions {
		cfg.Restart.Bundles = append(cfg.Restart.Bundles, e.topology.Bundles[s.Bundle].Capacity(e.members[s.Bundle]))
		if e.members[s.Bundle] > 0 && !e.away[int32(e.otherEnd(s.Bundle, int(device)))] {
			up = append(up, s.Bundle)
		}
	}
	e.actions.Restarts(int(device))
	delete(e.away, device)
	e.cores[device] = speakers.New(cfg)
	if err := e.speakers[device].Restart(ctx, e.cores[device]); err != nil {
		return nil, err
	}
	e.speakers[device].Input(speakers.Input{Kind: speakers.Originate})
	// A neighbour's first dump is behind the fence that open waits for, so at
	// the next lull the new core has it all.
	for _, b := range up {
		e.ends = append(e.ends, endOfRIB{b, int(device)})
	}
	return up, nil
}

// expectFirstTelling marks the sessions of speakers that have started again: the
// first that they tell is a dump, however long they wait with it.
func (e *Engine) expectFirstTelling() {
	for d, core := range e.cores {
		if core == nil || !core.Restarting() {
			continue
		}
		for _, b := range e.index.Of[d] {
			if w := e.wires[b]; w != nil {
				w.Dumps(e.end(int32(b), d) == 1)
			}
		}
	}
}

// endOfRIB is an End-of-RIB that a device hears at the next lull.
type endOfRIB struct {
	bundle int32
	device int
}

// deliverEnds hands over the End-of-RIBs that are due.
func (e *Engine) deliverEnds() {
	for _, x := range e.ends {
		e.input(x.device, speakers.Input{Kind: speakers.EndOfRIB, Bundle: x.bundle})
	}
	e.ends = nil
}

// endsOfRound notes that the neighbours of speakers that have told all that they
// have are to hear so at the next lull.
func (e *Engine) endsOfRound() {
	for d, s := range e.speakers {
		if s == nil || !s.TakeAllTold() {
			continue
		}
		for _, b := range e.index.Of[d] {
			if e.wires[b] != nil {
				e.ends = append(e.ends, endOfRIB{int32(b), e.otherEnd(int32(b), d)})
			}
		}
	}
}

func (e *Engine) otherEnd(bundle int32, device int) int {
	return e.index.Ends[bundle][0] + e.index.Ends[bundle][1] - device
}
