package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Topology is a network in tables for a person: tiers with the ports that they
// use and have, classes of bundles, prefixes, ASNs. Tables have at most so many
// characters a line; 0 = any number.
func Topology(t *topologies.Topology, width int) string {
	p := topologyPage{t: t, x: t.Index(), width: width}
	return t.Summary() + "\n\n" + p.tiers() + "\n" + p.bundles() + p.prefixes() + "\n" + p.asns() + p.domains()
}

type topologyPage struct {
	t     *topologies.Topology
	x     *topologies.Index
	width int
}

// span is the least and the most of some numbers.
type span struct {
	low, high uint64
	any       bool
}

func (s *span) add(v uint64) {
	if !s.any || v < s.low {
		s.low = v
	}
	if !s.any || v > s.high {
		s.high = v
	}
	s.any = true
}

func (s span) text(print func(uint64) string) string {
	switch {
	case !s.any:
		return "-"
	case s.low == s.high:
		return print(s.low)
	}
	return print(s.low) + " to " + print(s.high)
}

func count(v uint64) string { return whole(int(v)) }

// grouped puts indexes that have a key in common together, in the order in
// which the keys are first seen.
func grouped[K comparable](n int, key func(int) K) (groups [][]int) {
	at := map[K]int{}
	for i := range n {
		k := key(i)
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// tiers has a row for each role and hardware, the highest tier first.
func (p *topologyPage) tiers() string {
	type key struct {
		role         topologies.Role
		kind, asic   string
		units, ports int
	}
	groups := grouped(len(p.t.Devices), func(i int) key {
		d := &p.t.Devices[i]
		return key{d.Role, d.Kind, d.ASIC, d.Units, d.Ports}
	})
	slices.SortStableFunc(groups, func(a, b []int) int { return int(p.t.Devices[b[0]].Role) - int(p.t.Devices[a[0]].Role) })
	columns := []column{
		{head: "tier"}, {head: "kind", drop: 2}, {head: "devices", right: true}, {head: "planes", right: true, drop: 1}, {head: "ASIC"},
		{head: "units", right: true}, {head: "ports used", right: true}, {head: "ports there", right: true}, {head: "capacity of one", right: true, drop: 3},
	}
	var rows [][]string
	for _, g := range groups {
		d := &p.t.Devices[g[0]]
		var planes, used, capacity span
		for _, i := range g {
			if plane := p.t.Devices[i].Plane; plane > 0 {
				planes.add(uint64(plane))
			}
			used.add(p.members(i))
			capacity.add(p.x.Full[i])
		}
		there := "not stated"
		if d.Ports > 0 {
			there = whole(d.Ports * d.Units)
		}
		rows = append(rows, []string{
			d.Role.String(), dash(d.Kind), whole(len(g)), planes.text(count), d.ASIC,
			whole(d.Units), used.text(count), there, capacity.text(yamltree.FormatCapacity),
		})
	}
	return narrowTable(columns, rows, p.width)
}

// members is how many ports a device's bundles take.
func (p *topologyPage) members(device int) (n uint64) {
	for _, b := range p.x.Of[device] {
		n += uint64(p.t.Bundles[b].Members)
	}
	return n
}

// class is the roles that a bundle joins, as bundles of generated networks are
// called.
func (p *topologyPage) class(bundle int) (lower, upper topologies.Role) {
	a, b := p.t.Devices[p.x.Ends[bundle][0]].Role, p.t.Devices[p.x.Ends[bundle][1]].Role
	return min(a, b), max(a, b)
}

func (p *topologyPage) bundles() string {
	type key struct {
		lower, upper topologies.Role
		members      int
		speed        uint64
		length       int
		optic        string
	}
	groups := grouped(len(p.t.Bundles), func(i int) key {
		b := &p.t.Bundles[i]
		lower, upper := p.class(i)
		return key{lower, upper, b.Members, b.Speed, b.Length, b.Optic}
	})
	slices.SortStableFunc(groups, func(a, b []int) int {
		lowerA, upperA := p.class(a[0])
		lowerB, upperB := p.class(b[0])
		return int(lowerA)*100 + int(upperA) - int(lowerB)*100 - int(upperB)
	})
	columns := []column{
		{head: "bundles"}, {head: "number", right: true}, {head: "members", right: true}, {head: "speed", right: true},
		{head: "capacity", right: true}, {head: "length", right: true}, {head: "optic", drop: 2}, {head: "in all", right: true, drop: 1},
	}
	var rows [][]string
	for _, g := range groups {
		b := &p.t.Bundles[g[0]]
		lower, upper := p.class(g[0])
		capacity := b.Capacity(b.Members)
		rows = append(rows, []string{
			lower.String() + "-" + upper.String(), whole(len(g)), whole(b.Members), yamltree.FormatCapacity(b.Speed),
			yamltree.FormatCapacity(capacity), topologies.FormatLength(b.Length), dash(b.Optic), p.total(g),
		})
	}
	return narrowTable(columns, rows, p.width)
}

// total is the capacity of several bundles in Tb/s or Pb/s: their sum in bits/s
// need not fit 64 bits.
func (p *topologyPage) total(bundles []int) string {
	tera := 0.0
	for _, i := range bundles {
		b := &p.t.Bundles[i]
		tera += float64(b.Capacity(b.Members)) / 1e12
	}
	if tera >= 1000 {
		return strconv.FormatFloat(tera/1000, 'f', 1, 64) + "P"
	}
	return strconv.FormatFloat(tera, 'f', 1, 64) + "T"
}

func (p *topologyPage) prefixes() string {
	if len(p.t.Prefixes) == 0 {
		return "\nno prefixes\n"
	}
	type key struct{ class, aggregate string }
	of := func(i int) key {
		x := &p.t.Prefixes[i]
		if x.Aggregate == nil {
			return key{x.Class, ""}
		}
		return key{x.Class, x.Aggregate.By}
	}
	columns := []column{
		{head: "prefixes"}, {head: "number", right: true}, {head: "origins of one", right: true}, {head: "first"}, {head: "last"}, {head: "aggregate", drop: 1},
	}
	var rows [][]string
	for _, g := range grouped(len(p.t.Prefixes), of) {
		var origins span
		for _, i := range g {
			origins.add(uint64(len(p.t.Prefixes[i].Origins)))
		}
		k := of(g[0])
		rows = append(rows, []string{
			dash(k.class), whole(len(g)), origins.text(count),
			p.t.Prefixes[g[0]].Prefix.String(), p.t.Prefixes[g[len(g)-1]].Prefix.String(), dash(k.aggregate),
		})
	}
	return "\n" + narrowTable(columns, rows, p.width)
}

// asns has a row for each tier.
func (p *topologyPage) asns() string {
	columns := []column{
		{head: "ASNs of"}, {head: "number", right: true}, {head: "lowest", right: true}, {head: "highest", right: true}, {head: "one ASN is"},
	}
	var rows [][]string
	for role := topologies.Backbone; role > 0; role-- {
		var devices []*topologies.Device
		var asns span
		different := map[uint32]bool{}
		for i := range p.t.Devices {
			if d := &p.t.Devices[i]; d.Role == role {
				devices = append(devices, d)
				asns.add(uint64(d.ASN))
				different[d.ASN] = true
			}
		}
		if len(devices) == 0 {
			continue
		}
		plain := func(v uint64) string { return strconv.FormatUint(v, 10) }
		rows = append(rows, []string{
			role.String(), whole(len(different)), plain(asns.low), plain(asns.high), shared(devices),
		})
	}
	return narrowTable(columns, rows, p.width)
}

// shared says what the devices that have one ASN have in common.
func shared(devices []*topologies.Device) string {
	for _, plan := range []struct {
		name string
		key  func(*topologies.Device) string
	}{
		{"one device's", func(d *topologies.Device) string { return d.Name }},
		{"a fabric and plane's", func(d *topologies.Device) string { return d.Region + "/" + d.Fabric + "/" + strconv.Itoa(d.Plane) }},
		{"a fabric's", func(d *topologies.Device) string { return d.Region + "/" + d.Fabric }},
		{"a region's", func(d *topologies.Device) string { return d.Region }},
		{"the tier's", func(*topologies.Device) string { return "" }},
	} {
		keys, asns := map[string]uint32{}, map[uint32]string{}
		fits := true
		for _, d := range devices {
			k := plan.key(d)
			if asn, ok := keys[k]; ok && asn != d.ASN {
				fits = false
			}
			if key, ok := asns[d.ASN]; ok && key != k {
				fits = false
			}
			keys[k], asns[d.ASN] = d.ASN, k
		}
		if fits {
			// Above the edges a fabric is a region.
			if devices[0].Fabric == "" {
				return strings.Replace(plan.name, "a fabric", "a region", 1)
			}
			return plan.name
		}
	}
	return "of no plan"
}

// domains counts what devices and bundles fail with, where that is known.
func (p *topologyPage) domains() string {
	halls, powers, routes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range p.t.Devices {
		d := &p.t.Devices[i]
		halls[d.Hall], powers[d.Power] = true, true
	}
	for i := range p.t.Bundles {
		routes[p.t.Bundles[i].Route] = true
	}
	var parts []string
	for _, x := range []struct {
		name string
		set  map[string]bool
	}{{"data hall", halls}, {"power domain", powers}, {"fibre route", routes}} {
		delete(x.set, "")
		if len(x.set) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", whole(len(x.set)), plural(x.name, len(x.set))))
		}
	}
	if parts == nil {
		return ""
	}
	line := "failure domains: " + strings.Join(parts, ", ")
	if p.width > 0 && len(line) > p.width {
		line = "failure domains:\n  " + strings.Join(parts, "\n  ")
	}
	return "\n" + line + "\n"
}

func plural(what string, n int) string {
	if n == 1 {
		return what
	}
	return what + "s"
}
