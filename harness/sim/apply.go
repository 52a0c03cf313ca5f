package sim

import (
	"context"
	"fmt"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// Apply implements state.Engine.
func (e *Engine) Apply(ctx context.Context, changes []state.Change) error {
	var up, down []int32
	e.settling = nil
	for _, c := range changes {
		var err error
		switch c.Kind {
		case state.SetMembers:
			err = e.setMembers(c, &up, &down)
		case state.Fail:
			e.fail(c)
		case state.Notice:
			e.notice(c.Bundle, &down)
		case state.SetLoss:
			e.sessions[c.Bundle].lost = c.Loss
		case state.SetKnob:
			err = e.setKnob(c)
		case state.SetDrain:
			e.devices[c.Device].drain, e.devices[c.Device].seen = c.Drain, nil
			e.input(int(c.Device), speakers.Input{Kind: speakers.Drain, Drain: c.Drain})
		case state.Reset:
			down = append(down, c.Bundle)
			if !e.sessionless(c.Bundle) {
				up = append(up, c.Bundle)
			}
		case state.Hold, state.Release:
			err = e.hold(c)
		case state.Stop:
			down = append(down, e.stop(int(c.Device))...)
		case state.StartAgain:
			up = append(up, e.startAgain(int(c.Device))...)
		}
		if err != nil {
			return err
		}
	}
	for _, b := range down {
		e.shut(b)
	}
	for _, b := range up {
		e.open(b)
	}
	if e.watch != nil {
		e.watch.rewire(changes)
	}
	return context.Cause(ctx)
}

func (e *Engine) setMembers(c state.Change, up, down *[]int32) error {
	b, x := e.topology.Bundles[c.Bundle], &e.sessions[c.Bundle]
	if c.Members < 0 || c.Members > b.Members {
		return fmt.Errorf("bundle %q: members %d: want 0 to %d", b.Name, c.Members, b.Members)
	}
	was := x.members
	if x.unseen {
		if c.Members == 0 {
			e.notice(c.Bundle, down)
			return nil
		}
		x.unseen = false
		e.release(2 * c.Bundle)
		e.release(2*c.Bundle + 1)
	} else if was == c.Members {
		return nil
	}
	x.members = c.Members
	e.linkDown(c.Bundle, c.Members == 0)
	switch {
	case was == 0 && !e.sessionless(c.Bundle):
		*up = append(*up, c.Bundle)
	case c.Members == 0:
		*down = append(*down, c.Bundle)
	}
	e.hear(c.Bundle)
	return nil
}

// sessionless tells whether a speaker at an end of a bundle has stopped: its
// session comes up when that starts again.
func (e *Engine) sessionless(bundle int32) bool {
	ends := e.index.Ends[bundle]
	return e.devices[ends[0]].away || e.devices[ends[1]].away
}

// hear tells both ends of a bundle what its members come to.
func (e *Engine) hear(bundle int32) {
	capacity := e.topology.Bundles[bundle].Capacity(e.sessions[bundle].members)
	for _, d := range e.index.Ends[bundle] {
		e.input(d, speakers.Input{Kind: speakers.Capacity, Bundle: bundle, Capacity: capacity})
	}
}

// linkDown tells the hardware of both ends that a bundle went down or came back.
func (e *Engine) linkDown(bundle int32, down bool) {
	for _, d := range e.index.Ends[bundle] {
		e.own(d)
		e.tables[d].SetDown(bundle, down)
	}
}

// fail takes a bundle away while its ends keep its session: what they send waits.
func (e *Engine) fail(c state.Change) {
	x := &e.sessions[c.Bundle]
	x.members, x.unseen = 0, true
	if c.Heard {
		e.hear(c.Bundle)
	}
}

// notice lets the session of a bundle that has failed fall, and what waits on it.
func (e *Engine) notice(bundle int32, down *[]int32) {
	x := &e.sessions[bundle]
	if !x.unseen {
		return
	}
	x.unseen = false
	e.linkDown(bundle, true)
	*down = append(*down, bundle)
	e.hear(bundle)
}

func (e *Engine) setKnob(c state.Change) error {
	s := e.settings[c.Device]
	err := s.Set(c.Knob, c.Value)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return fmt.Errorf("device %q: %w", e.topology.Devices[c.Device].Name, err)
	}
	e.settings[c.Device] = s
	e.input(int(c.Device), speakers.Input{Kind: speakers.Configure, Settings: &s})
	return nil
}

func (e *Engine) hold(c state.Change) error {
	x, side := &e.sessions[c.Bundle], 0
	if c.FromB {
		side = 1
	}
	if !x.up && c.Kind == state.Release {
		return nil // what waited went down with the session
	}
	if !x.up {
		return fmt.Errorf("bundle %q: its session is down and cannot be held", e.topology.Bundles[c.Bundle].Name)
	}
	x.ends[side].held = c.Kind == state.Hold
	if c.Kind == state.Release {
		e.release(2*c.Bundle + int32(side))
	}
	return nil
}

// stop lets a device's neighbours know that it restarts, and returns the
// sessions that fall with it. Its hardware table stays as it is.
func (e *Engine) stop(d int) (down []int32) {
	e.devices[d].away, e.devices[d].seen = true, nil
	for _, l := range e.devices[d].links {
		if e.sessions[l.bundle].up {
			down = append(down, l.bundle)
			e.input(int(l.peer), speakers.Input{Kind: speakers.Restarts, Bundle: l.bundle})
		}
	}
	return down
}

// startAgain gives a device a new core and returns the sessions that come back.
func (e *Engine) startAgain(d int) (up []int32) {
	if !e.devices[d].away {
		return nil
	}
	dev := e.own(d)
	e.actions.Restarts(d)
	cfg := e.coreConfig(d)
	cfg.Restart = &speakers.Restart{At: e.now, Drain: dev.drain}
	for i, s := range cfg.Sessions {
		x := &e.sessions[s.Bundle]
		cfg.Restart.Bundles = append(cfg.Restart.Bundles, e.topology.Bundles[s.Bundle].Capacity(x.members))
		if x.members > 0 && !e.devices[dev.links[i].peer].away {
			up = append(up, s.Bundle)
		}
	}
	dev.away = false
	dev.core, dev.last = speakers.New(cfg), nil
	dev.inbox, dev.others, dev.hashed = nil, nil, false
	clear(dev.told)
	e.tap.restarted(d)
	e.input(d, speakers.Input{Kind: speakers.Originate})
	for _, b := range up {
		e.schedule.endOfRIB(b, d)
	}
	return up
}
