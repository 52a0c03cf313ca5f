package oracle_test

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/topologies"
)

const (
	tbps   = 1_000_000_000_000
	member = 800_000_000_000 // bits/s
)

// network is a topology under construction.
type network struct{ topologies.Topology }

func (n *network) device(name string, role topologies.Role, asn uint32) {
	n.Devices = append(n.Devices, topologies.Device{Name: name, Role: role, ASN: asn, Units: 1})
}

func (n *network) bundle(a, b string, members int) {
	n.Bundles = append(n.Bundles, topologies.Bundle{Name: a + "--" + b, A: a, B: b, Members: members, Speed: member})
}

func (n *network) prefix(p string, origins ...string) {
	n.Prefixes = append(n.Prefixes, topologies.Prefix{Prefix: netip.MustParsePrefix(p), Origins: origins})
}

// shape is a BAG network as issue presets have it.
type shape struct {
	regions, fabrics, planes, spines int
	spread                           int // planes of the other region that a bag is joined to; 0 = planar
	spineEdge, edgeBag, bagBag       int // members
}

var shapes = map[string]shape{
	"prometheus-mini": {2, 4, 4, 2, 0, 32, 32, 32},
	"spread-mini":     {2, 4, 4, 2, 4, 32, 32, 32},
	"prometheus":      {4, 8, 8, 4, 0, 144, 576, 2500},
}

func build(name string) *topologies.Topology {
	s := shapes[name]
	n := &network{topologies.Topology{Name: name}}
	for r := range s.regions {
		var region []string
		for f := range s.fabrics {
			fabric := s.fabric(n, r, f)
			n.prefix(fmt.Sprintf("10.%d.%d.0/20", 128+r, f*16), fabric...)
			region = append(region, fabric...)
		}
		n.prefix(fmt.Sprintf("10.%d.0.0/16", 128+r), region...)
	}
	for r := range s.regions {
		for p := range s.planes {
			n.device(bag(r, p), topologies.Bag, uint32(64600+r))
			for f := range s.fabrics {
				n.bundle(edge(r, f, p), bag(r, p), s.edgeBag)
			}
		}
	}
	for r := range s.regions {
		for q := r + 1; q < s.regions; q++ {
			s.join(n, r, q)
		}
	}
	return &n.Topology
}

// fabric adds the devices of one fabric and returns its spines.
func (s shape) fabric(n *network, r, f int) []string {
	var spines []string
	for i := range s.spines {
		name := fmt.Sprintf("r%d-f%d-s%d", r, f, i)
		spines = append(spines, name)
		k := (r*s.fabrics+f)*s.spines + i
		n.device(name, topologies.Spine, uint32(65000+k))
		n.prefix(fmt.Sprintf("10.%d.%d.0/24", r, f*16+i), name)
	}
	for p := range s.planes {
		n.device(edge(r, f, p), topologies.Edge, uint32(64700+r*s.fabrics+f))
		for _, spine := range spines {
			n.bundle(spine, edge(r, f, p), s.spineEdge)
		}
	}
	return spines
}

func (s shape) join(n *network, r, q int) {
	for p := range s.planes {
		n.bundle(bag(r, p), bag(q, p), s.bagBag)
		for k := 1; k < s.spread; k++ {
			n.bundle(bag(r, p), bag(q, (p+k)%s.planes), s.bagBag)
		}
	}
}

func edge(r, f, p int) string { return fmt.Sprintf("r%d-f%d-e%d", r, f, p) }
func bag(r, p int) string     { return fmt.Sprintf("r%d-b%d", r, p) }

func device(t *topologies.Topology, name string) int {
	return slices.IndexFunc(t.Devices, func(d topologies.Device) bool { return d.Name == name })
}

func bundleOf(t *topologies.Topology, a, b string) int {
	return slices.IndexFunc(t.Bundles, func(x topologies.Bundle) bool { return x.A == a && x.B == b })
}

func prefixOf(t *topologies.Topology, p string) int {
	return slices.IndexFunc(t.Prefixes, func(x topologies.Prefix) bool { return x.Prefix.String() == p })
}

// healthy gives all bundles at full health.
func healthy(t *topologies.Topology) []oracle.Bundle {
	var b []oracle.Bundle
	for _, x := range t.Bundles {
		b = append(b, oracle.Bundle{Capacity: x.Capacity(x.Members)})
	}
	return b
}

// levelUp is a quantizer with a 10 % error bound in steps of one member,
// rounding up, written the slow way.
func levelUp(bits uint64) uint64 {
	if bits == 0 {
		return 0
	}
	least := bits - bits>>22 // float32 tells a little less than a whole member
	members := uint64(1)
	for members*member < least {
		members = max(members+1, members*11/10)
	}
	return members * member
}
