package live

import "github.com/bagrig/bagrig/speakers"

// Explain tells how a device's core came to what it holds for a prefix. Call
// it when quiet. Device and prefix are indexes in the topology.
// Of an external device nobody knows it, and the explanation is empty.
func (e *Engine) Explain(device, prefix int) speakers.Explanation {
	if e.isFar(device) {
		return speakers.Explanation{}
	}
	return e.cores[device].Explain(int32(prefix))
}
