package oracle_test

import (
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/topologies"
)

func TestALevelMayDifferByDeviceAndPrefix(t *testing.T) {
	n := newNetwork().
		device("s", topologies.Spine, 10).device("e", topologies.Edge, 20).device("b", topologies.Bag, 30).
		prefix(800, "s").prefix(800, "s").
		bundle("s", "e", 800).bundle("e", "b", 800)
	const e, b = 1, 2
	o := oracle.NewPlaced(&n.Topology, func(device, prefix int, in damping.Value) damping.Value {
		if device == e && prefix == 1 {
			in.Bits *= 2
		}
		return in
	})
	s := settled(t, o, n.bundles)
	for _, c := range []struct {
		device, prefix int
		told           float32 // bytes/s
	}{{e, 0, 100}, {e, 1, 200}, {b, 0, 100}, {b, 1, 100}} {
		if got := s.Route(c.device, c.prefix).Told.Value; got != c.told {
			t.Errorf("device %d, prefix %d: got told %v, want %v", c.device, c.prefix, got, c.told)
		}
	}
}
