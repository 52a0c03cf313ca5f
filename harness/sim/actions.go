package sim

import (
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// actions is what speakers did, where somebody wants to know.
type actions struct {
	on    bool
	steps []int // by device
	list  []state.Action
}

// RecordActions implements state.ActionRecorder.
func (e *Engine) RecordActions(on bool) {
	e.actions = actions{on: on}
	if on {
		e.actions.steps = make([]int, len(e.devices))
	}
}

// TakeActions implements state.ActionRecorder.
func (e *Engine) TakeActions() []state.Action {
	list := e.actions.list
	e.actions.list = nil
	return list
}

// stepped begins what one decision of a device asks for.
func (a *actions) stepped(d int) {
	if a.on {
		a.steps[d]++
	}
}

// did notes an effect that is carried out.
func (a *actions) did(d int, x *speakers.Effect) {
	if !a.on {
		return
	}
	kind := state.Programs
	switch x.Kind {
	case speakers.Program:
	case speakers.Unprogram:
		kind = state.Unprograms
	case speakers.Tell:
		kind = state.Announces
	case speakers.Untell:
		kind = state.Withdraws
	default:
		return
	}
	a.list = append(a.list, state.Action{Device: int32(d), Prefix: x.Prefix, Step: a.steps[d], Kind: kind})
}

func (a *actions) restarts(d int) {
	if a.on {
		a.list = append(a.list, state.Action{Device: int32(d), Prefix: -1, Step: a.steps[d], Kind: state.Restarts})
	}
}
