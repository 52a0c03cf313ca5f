package state

import (
	"fmt"
	"time"
)

// TransientKind says what is wrong with the way of a prefix for a while.
type TransientKind string

// The kinds of Transient.
const (
	Hole TransientKind = "black hole" // traffic comes to a device that has no next hop in hardware, or only over a bundle that is down
	Loop TransientKind = "loop"       // traffic comes back to a device
)

// Transient is a time in which hardware does not bring a prefix's traffic to
// an origin, although some device sends it on: from From until Until, that moment
// apart. Times are virtual.
type Transient struct {
	Kind   TransientKind
	Prefix int // index in the topology
	// At are the devices where it happens: the one where traffic is lost, or all
	// that a loop leads through; ascending.
	At []int
	// Loses are the devices whose traffic, or a part of it, went there at any time
	// of the interval, At itself included where it has traffic; ascending.
	Loses       []int
	From, Until time.Duration
	Lasts       bool // it was not over when it was asked for, and Until is then
	// Steps is how many decisions of speakers, anywhere, it lasted: the measure
	// where messages take no time.
	Steps int
}

// Lasted is how long it was there, in virtual time.
func (t Transient) Lasted() time.Duration { return t.Until - t.From }

// Text is the transient in words, with its names.
func (t Transient) Text(n *Network) string {
	names := func(list []int) (s string) {
		for i, d := range list {
			if i > 0 {
				s += ", "
			}
			s += n.Topology.Devices[d].Name
		}
		return s
	}
	return fmt.Sprintf("%v %s at %s: [%v, %v), traffic of %s", n.Topology.Prefixes[t.Prefix].Prefix, t.Kind, names(t.At), t.From, t.Until, names(t.Loses))
}
