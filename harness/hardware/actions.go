package hardware

import (
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// Actions writes down what the speakers of one network do, each in its order, for
// state.ActionRecorder. The zero value writes nothing down. What is of one device may
// be called from that device's own goroutine.
type Actions []actions // by device

type actions struct {
	steps int
	list  []state.Action
}

// NewActions returns one that writes down what so many devices do.
func NewActions(devices int) Actions { return make(Actions, devices) }

// Take gives what was written down, device by device, and forgets it.
func (a Actions) Take() (list []state.Action) {
	for d := range a {
		list = append(list, a[d].list...)
		a[d].list = nil
	}
	return list
}

// Stepped begins what one decision of a device asks for.
func (a Actions) Stepped(device int) {
	if a != nil {
		a[device].steps++
	}
}

// Did notes an effect that a speaker has carried out.
func (a Actions) Did(device int, x *speakers.Effect) {
	switch x.Kind {
	case speakers.Program:
		a.add(device, x.Prefix, state.Programs)
	case speakers.Unprogram:
		a.add(device, x.Prefix, state.Unprograms)
	case speakers.Tell:
		a.add(device, x.Prefix, state.Announces)
	case speakers.Untell:
		a.add(device, x.Prefix, state.Withdraws)
	}
}

// Restarts notes that a speaker starts again and has told nothing yet.
func (a Actions) Restarts(device int) { a.add(device, -1, state.Restarts) }

func (a Actions) add(device int, prefix int32, kind state.ActionKind) {
	if a != nil {
		a[device].list = append(a[device].list, state.Action{Device: int32(device), Prefix: prefix, Step: a[device].steps, Kind: kind})
	}
}
