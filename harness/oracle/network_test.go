package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/topologies"
)

// preset loads an embedded topology.
func preset(tb testing.TB, name string) *topologies.Topology {
	tb.Helper()
	t, err := topologies.Preset(name)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// grid is the quantizer of the default damping: 10 % error bound in steps of
// the smallest member speed, rounding up.
func grid(tb testing.TB, t *topologies.Topology) func(uint64) uint64 {
	tb.Helper()
	g, err := damping.NewGrid(t.SmallestSpeed(), damping.DefaultError, damping.Up)
	if err != nil {
		tb.Fatal(err)
	}
	return g.Level
}

// healthy gives all bundles at full health.
func healthy(t *topologies.Topology) []oracle.Bundle {
	var b []oracle.Bundle
	for _, x := range t.Bundles {
		b = append(b, oracle.Bundle{Capacity: x.Capacity(x.Members)})
	}
	return b
}

// degraded is healthy, with one bundle at the given members.
func degraded(tb testing.TB, t *topologies.Topology, bundle string, members int) []oracle.Bundle {
	tb.Helper()
	i, ok := t.Index().Bundle[bundle]
	if !ok {
		tb.Fatalf("no bundle %q", bundle)
	}
	b := healthy(t)
	b[i].Capacity = t.Bundles[i].Capacity(members)
	return b
}

// settled computes a state that must have no error.
func settled(tb testing.TB, o *oracle.Oracle, b []oracle.Bundle) *oracle.State {
	tb.Helper()
	return settledOf(tb, o, b, nil)
}

// settledOf is settled with knobs and drains.
func settledOf(tb testing.TB, o *oracle.Oracle, b []oracle.Bundle, d []oracle.Device) *oracle.State {
	tb.Helper()
	s := o.StateOf(b, d)
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// network is a topology under construction with its bundles' state and its
// devices' knobs. A bundle is one member link, so that capacities can be any
// number of bits/s.
type network struct {
	topologies.Topology
	bundles []oracle.Bundle
	devices []oracle.Device // nil until a knob is set or a device drained
}

func newNetwork() *network { return &network{Topology: topologies.Topology{Name: "test"}} }

func (n *network) device(name string, role topologies.Role, asn uint32) *network {
	n.Devices = append(n.Devices, topologies.Device{Name: name, Role: role, ASN: asn, Units: 1})
	return n
}

func (n *network) bundle(a, b string, capacity uint64) *network {
	n.Bundles = append(n.Bundles, topologies.Bundle{Name: fmt.Sprintf("%s--%s#%d", a, b, len(n.Bundles)), A: a, B: b, Members: 1, Speed: capacity})
	n.bundles = append(n.bundles, oracle.Bundle{Capacity: capacity})
	return n
}

// trial puts the bundle that was added last on trial.
func (n *network) trial() *network {
	n.bundles[len(n.bundles)-1].Trial = true
	return n
}

// closed takes the session of the bundle that was added last.
func (n *network) closed() *network {
	n.bundles[len(n.bundles)-1].Closed = true
	return n
}

// set sets a knob of a device.
func (n *network) set(device, knob, value string) *network {
	d := n.of(device)
	if d.Settings == nil {
		s := topologies.DefaultSettings()
		d.Settings = &s
	}
	if err := d.Settings.Set(knob, value); err != nil {
		panic(err)
	}
	return n
}

// settings gives a device all knobs.
func (n *network) settings(device string, s topologies.Settings) *network {
	n.of(device).Settings = &s
	return n
}

// drain gives a device a drain state.
func (n *network) drain(device string, state topologies.DrainState) *network {
	n.of(device).Drain = state
	return n
}

// of is what a device is set to; all devices must be there.
func (n *network) of(device string) *oracle.Device {
	if n.devices == nil {
		n.devices = make([]oracle.Device, len(n.Devices))
	}
	return &n.devices[n.Index().Device[device]]
}

// now gives a bundle another capacity than at full health.
func (n *network) now(bundle int, capacity uint64) *network {
	n.bundles[bundle].Capacity = capacity
	return n
}

// prefix adds a prefix; bandwidth 0 tells the origins' bundles.
func (n *network) prefix(bandwidth uint64, origins ...string) *network {
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(len(n.Prefixes))}), 24)
	n.Prefixes = append(n.Prefixes, topologies.Prefix{Prefix: p, Origins: origins, Bandwidth: bandwidth})
	return n
}

// levels are the told values of a random network: each turns bits/s into bits/s.
var levels = []func(uint64) uint64{
	nil,
	func(x uint64) uint64 { return (x + 9) / 10 * 10 },
	func(x uint64) uint64 { return x / 64 * 64 }, // makes zeros
	func(uint64) uint64 { return 8 },             // leaves only presence, path and scope to change
}

// random builds a network that no engineer would: any roles, shared ASNs,
// several bundles between one pair, and zeros. The level goes with it.
func random(seed uint64, trials bool) (*network, func(uint64) uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	n := newNetwork()
	devices := 2 + r.IntN(10)
	roles, asns := 1+r.IntN(5), 1+r.IntN(2*devices)
	for i := range devices {
		n.device(fmt.Sprintf("d%d", i), topologies.Role(1+r.IntN(roles)), uint32(1+r.IntN(asns)))
	}
	for range devices + r.IntN(2*devices) {
		a := r.IntN(devices)
		b := (a + 1 + r.IntN(devices-1)) % devices
		n.bundle(n.Devices[a].Name, n.Devices[b].Name, r.Uint64()>>(6+r.IntN(58)))
		n.bundles[len(n.bundles)-1].Trial = trials && r.IntN(2) == 0
		if r.IntN(8) == 0 {
			n.bundles[len(n.bundles)-1].Capacity = 0
		}
	}
	for range 1 + r.IntN(4) {
		var origins []string
		for range 1 + r.IntN(3) {
			origins = append(origins, n.Devices[r.IntN(devices)].Name)
		}
		n.prefix(r.Uint64()>>r.IntN(64)*uint64(r.IntN(2)), origins...)
	}
	return n, levels[r.IntN(len(levels))]
}

// classes are the prefix classes of networks with random knobs.
var classes = []string{"a", "b"}

// randomKnobs sets knobs, drains, classes and closed sessions of a network. Half
// of the devices have all defaults, and half of each other one's knobs too.
func (n *network) randomKnobs(seed uint64) *network {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range n.Prefixes {
		n.Prefixes[i].Class = classes[r.IntN(len(classes))]
	}
	for i := range n.bundles {
		n.bundles[i].Closed = r.IntN(8) == 0
	}
	n.devices = randomDevices(r, n)
	return n
}

// randomDevices draws the state of all devices.
func randomDevices(r *rand.Rand, n *network) []oracle.Device {
	devices := make([]oracle.Device, len(n.Devices))
	for i := range devices {
		if r.IntN(2) == 0 {
			s := randomSettings(r)
			devices[i].Settings = &s
		}
		if r.IntN(3) == 0 {
			devices[i].Drain = topologies.DrainState(r.IntN(3))
		}
	}
	return devices
}

func randomSettings(r *rand.Rand) topologies.Settings {
	s := topologies.DefaultSettings()
	s.AdvertiseValue = r.Uint64() >> r.IntN(64)
	for _, k := range topologies.Knobs() {
		if len(k.Values) > 1 && r.IntN(2) == 0 {
			if err := s.Set(k.Name, k.Values[r.IntN(len(k.Values))]); err != nil {
				panic(err)
			}
		}
	}
	if r.IntN(8) == 0 {
		s.RejectClasses = classes[r.IntN(len(classes)):]
	}
	if r.IntN(4) == 0 {
		s.RejectTagged = [][]uint32{{scope}, {shutdown}, {7, shutdown, scope}, {7}}[r.IntN(4)]
	}
	return s
}

// The standard communities 65000:1 and 65535:0.
const (
	scope    uint32 = 0xfde80001
	shutdown uint32 = 0xffff0000
)
