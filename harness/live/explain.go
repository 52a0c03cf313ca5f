package live

import "github.com/bagrig/bagrig/speakers"

// Explain tells how a device's core came to what it holds for a prefix. Call
// it when quiet. Device and prefix are indexes in the topology.
func (e *Engine) Explain(device, prefix int) speakers.Explanation {
	return e.cores[device].Explain(int32(prefix))
}
