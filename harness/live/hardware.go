package live

import (
	"github.com/bagrig/bagrig/fib"
)

// Mark implements state.Engine.
func (e *Engine) Mark(event string) {
	for d := range e.tables {
		e.tables[d].Mark(event)
	}
}

// Report implements state.Engine.
func (e *Engine) Report(device int) fib.Report {
	return e.tables[device].Report(e.topology.Devices[device].Name)
}

// linkDown tells the hardware of both ends that a bundle went down or came
// back: it takes the next hop out of its groups before any speaker knows.
func (e *Engine) linkDown(bundle int32, down bool) {
	for _, d := range e.index.Ends[bundle] {
		e.tables[d].SetDown(bundle, down)
	}
}
