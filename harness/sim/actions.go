package sim

import (
	"github.com/bagrig/bagrig/harness/hardware"
	"github.com/bagrig/bagrig/harness/state"
)

// RecordActions implements state.ActionRecorder.
func (e *Engine) RecordActions(on bool) {
	e.actions = nil
	if on {
		e.actions = hardware.NewActions(len(e.devices))
	}
}

// TakeActions implements state.ActionRecorder.
func (e *Engine) TakeActions() []state.Action { return e.actions.Take() }
