package live

import (
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// actions are what one speaker did, where somebody wants to know. Only the goroutine
// that steps the speaker writes to it.
type actions struct {
	steps int
	list  []state.Action
}

// RecordActions implements state.ActionRecorder.
func (e *Engine) RecordActions(on bool) {
	e.recordActions = on
	e.actions = make([]actions, len(e.topology.Devices))
}

// TakeActions implements state.ActionRecorder.
func (e *Engine) TakeActions() (list []state.Action) {
	for d := range e.actions {
		list = append(list, e.actions[d].list...)
		e.actions[d].list = nil
	}
	return list
}

// did notes an effect that a speaker has carried out.
func (e *Engine) did(d int, x *speakers.Effect) {
	if !e.recordActions {
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
	a := &e.actions[d]
	a.list = append(a.list, state.Action{Device: int32(d), Prefix: x.Prefix, Step: a.steps, Kind: kind})
}

// stepping begins what one decision of a device asks for.
func (e *Engine) stepping(d int) {
	if e.recordActions {
		e.actions[d].steps++
	}
}

// startsAgain notes that a speaker has told nothing yet.
func (e *Engine) startsAgain(d int) {
	if e.recordActions {
		e.actions[d].list = append(e.actions[d].list, state.Action{Device: int32(d), Prefix: -1, Step: e.actions[d].steps, Kind: state.Restarts})
	}
}
