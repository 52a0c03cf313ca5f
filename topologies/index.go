package topologies

import (
	"fmt"
	"net/netip"
	"strings"
)

// Index answers by name what a Topology holds in lists. It is made once and
// holds for as long as the topology is not changed.
type Index struct {
	Device map[string]int       // by name
	Bundle map[string]int       // by name
	Prefix map[netip.Prefix]int // by prefix
	Ends   [][2]int             // device indexes of each bundle's A and B; -1 where there is no such device
	Of     [][]int              // bundle indexes of each device, ascending
	Full   []uint64             // bits/s, the sum of each device's bundles at full health
}

// Index builds the index. Of things with one name the first is found.
func (t *Topology) Index() *Index {
	x := &Index{
		Device: make(map[string]int, len(t.Devices)),
		Bundle: make(map[string]int, len(t.Bundles)),
		Prefix: make(map[netip.Prefix]int, len(t.Prefixes)),
		Ends:   make([][2]int, len(t.Bundles)),
		Of:     make([][]int, len(t.Devices)),
		Full:   make([]uint64, len(t.Devices)),
	}
	for i, d := range t.Devices {
		putFirst(x.Device, d.Name, i)
	}
	for i, p := range t.Prefixes {
		putFirst(x.Prefix, p.Prefix, i)
	}
	for i, b := range t.Bundles {
		putFirst(x.Bundle, b.Name, i)
		x.Ends[i] = [2]int{x.find(b.A), x.find(b.B)}
		for side, d := range x.Ends[i] {
			if d < 0 || side == 1 && d == x.Ends[i][0] {
				continue
			}
			x.Of[d] = append(x.Of[d], i)
			x.Full[d] += b.Capacity(b.Members)
		}
	}
	return x
}

func putFirst[K comparable](m map[K]int, k K, i int) {
	if _, ok := m[k]; !ok {
		m[k] = i
	}
}

func (x *Index) find(device string) int {
	if i, ok := x.Device[device]; ok {
		return i
	}
	return -1
}

// BundleClass names the roles that a bundle joins, the lower first:
// "spine-edge", "edge-bag", "bag-bag". It walks all devices.
func (t *Topology) BundleClass(b Bundle) string {
	var a, z Role
	for _, d := range t.Devices {
		if d.Name == b.A {
			a = d.Role
		}
		if d.Name == b.B {
			z = d.Role
		}
	}
	return min(a, z).String() + "-" + max(a, z).String()
}

// ClassOf is BundleClass for a bundle with those ends, as Index.Ends has them.
func (t *Topology) ClassOf(ends [2]int) string {
	a, z := t.Devices[ends[0]].Role, t.Devices[ends[1]].Role
	return min(a, z).String() + "-" + max(a, z).String()
}

// SmallestSpeed is the lowest member speed in bits/s; 0 without bundles.
func (t *Topology) SmallestSpeed() uint64 {
	least := uint64(0)
	for i, b := range t.Bundles {
		if i == 0 || b.Speed < least {
			least = b.Speed
		}
	}
	return least
}

// Summary is the topology in one line, without a line's end.
func (t *Topology) Summary() string {
	regions, fabrics := map[string]bool{}, map[string]bool{}
	var roles [Backbone + 1]int
	for _, d := range t.Devices {
		if d.Region != "" {
			regions[d.Region] = true
		}
		if d.Fabric != "" {
			fabrics[d.Fabric] = true
		}
		if d.Role <= Backbone {
			roles[d.Role]++
		}
	}
	var counts []string
	for r := Backbone; r >= Rack; r-- {
		if roles[r] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", roles[r], r))
		}
	}
	return fmt.Sprintf("%s: %s, %s, %s (%s), %s, %s", t.Name,
		count(len(regions), "region"), count(len(fabrics), "fabric"), count(len(t.Devices), "device"), strings.Join(counts, ", "),
		count(len(t.Bundles), "bundle"), count(len(t.Prefixes), "prefix"))
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "x"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
