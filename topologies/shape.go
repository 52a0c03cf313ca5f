package topologies

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Link says what the bundles of one class are.
type Link struct {
	Members  int    // member links at full health between two devices, 1 to 4096
	Length   int    // metres, 0 to 5,000,000
	Sessions int    // parallel bundles that the members are split into, at most 64 and the members; 0 is one
	Speed    uint64 // bits/s of a member; 0: that of the fabrics below, or of the shape
	Optic    string // optic class; empty: not stated, so the one that the length calls for
}

// or fills in what is not given.
func (l Link) or(o Link) Link {
	if l.Members == 0 {
		l.Members = o.Members
	}
	if l.Length == 0 {
		l.Length = o.Length
	}
	if l.Sessions == 0 {
		l.Sessions = o.Sessions
	}
	if l.Speed == 0 {
		l.Speed = o.Speed
	}
	if l.Optic == "" {
		l.Optic = o.Optic
	}
	return l
}

// bundles is how many parallel bundles the members are split into.
func (l Link) bundles() int { return max(l.Sessions, 1) }

// PerRole holds a value for the devices of each role.
type PerRole[T any] struct{ Rack, Spine, Edge, Bag, Hub, Backbone T }

// Of is the value of a role; that of a backbone for anything that is no role.
func (p PerRole[T]) Of(r Role) T {
	switch r {
	case Rack:
		return p.Rack
	case Spine:
		return p.Spine
	case Edge:
		return p.Edge
	case Bag:
		return p.Bag
	case Hub:
		return p.Hub
	}
	return p.Backbone
}

// Shape is a network in a few numbers: Regions x Planes bags; building fabrics
// below them, see FabricGroup; the regions joined as Spread or Joins say; and
// backbone devices on top where there are any.
type Shape struct {
	Name    string
	Regions int // 1 to 255
	Planes  int // bags of each region, at least 1

	// The fabrics of every region where there are no groups; with groups, what
	// these leave open.
	Fabrics          int // per region, 1 to 16
	Spines           int // per fabric, 1 to 256
	Racks            int // per fabric, 0 to 256; 0: no rack layer
	Kind             string
	Edges            EdgeJoin
	Speed            uint64  // bits/s of every member whose link does not say otherwise
	Oversubscription float64 // N:1 towards the bags, 0.1 to 100; 0: that of the kind
	RackSpine        Link    // not looked at without racks
	SpineEdge        Link    // not looked at where the spines meet the bags themselves
	EdgeBag          Link    // without members: they follow from the oversubscription
	SpineBag         Link    // the same where the spines meet the bags themselves
	Groups           []FabricGroup

	// How the regions are joined. Without joins every two regions are: planar
	// with a spread of 0, a bag joins the bag of its own plane; with k it joins
	// the bags of k planes of every other region, its own first.
	Spread int
	BagBag Link // not looked at with one region
	Joins  []Join
	BagHub Link // not looked at without hubs

	// Backbone devices join all hubs, or all bags where there are no hubs.
	Backbones                int // 0 to 256
	HubBackbone, BagBackbone Link

	// Chassis that one device of the role stands for, at least 1; for the last
	// three 0 is 1.
	SpineUnits, EdgeUnits, BagUnits    int
	RackUnits, HubUnits, BackboneUnits int
	Ports                              PerRole[int]      // of one chassis, see PortSpeed; 0: the role's default
	ASICs                              PerRole[[]string] // FIB profiles, taken in turn by plane or by number; none: the role's default
	ASN                                ASNPlan
	Addressing                         Addressing
	// Aggregates of a fabric's prefix at the devices that meet the bags, and of
	// a region's at its bags; nil = the fabric's lowest devices originate them.
	FabricAggregate, RegionAggregate *Aggregate
}

// Generate builds the network of a shape, or says all that is wrong with it.
//
// Devices come region by region; in a region first the bags by plane, then
// fabric by fabric its edges by plane, its spines and its racks. Hubs come
// last, then the backbone. Bundles come in the same manner: in each fabric from
// the bottom up, each class by its lower device; then the joins in their
// order, by pair of regions; then the backbone's. The further bundles of a pair
// follow its first. A fabric's prefixes follow one another, a region's own
// comes after those of its fabrics, the default route is the last.
//
// What the devices originate is said at Addressing, their ASNs at ASNPlan.
func Generate(s Shape) (*Topology, error) {
	var errs []error
	report := func(field, value, want string) {
		errs = append(errs, fmt.Errorf("topology %q: %s %s: %s", s.Name, field, value, want))
	}
	s.check(report)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	t := s.build(report)
	return t, errors.Join(errs...)
}

// build is Generate of a shape that was checked.
func (s Shape) build(report func(field, value, want string)) *Topology {
	devices, bundles := s.size()
	g := generator{Shape: s, groups: s.groups(), joins: s.joins(), t: &Topology{
		Name: s.Name, Devices: make([]Device, 0, devices), Bundles: make([]Bundle, 0, bundles),
	}}
	for r := 1; r <= s.Regions; r++ {
		g.region(r)
	}
	for i := range g.joins {
		g.join(&g.joins[i])
	}
	g.backbone()
	g.place()
	if !g.fits(report) {
		return nil
	}
	return g.t
}

type generator struct {
	Shape
	groups []FabricGroup
	joins  []Join
	t      *Topology
	bags   []int // by region and plane, the device's index
	hubs   []int
	shared map[asnGroup]uint32
	pairs  map[[2]int]int // bundles of a pair of bags so far, where there are several joins
}

// add adds a device and gives its index.
func (g *generator) add(d Device) int {
	d.Units = max(d.Units, 1)
	g.t.Devices = append(g.t.Devices, d)
	return len(g.t.Devices) - 1
}

func (g *generator) bag(region, plane int) int { return g.bags[(region-1)*g.Planes+plane-1] }

func (g *generator) region(r int) {
	name := fmt.Sprintf("r%d", r)
	for p := 1; p <= g.Planes; p++ {
		g.bags = append(g.bags, g.add(Device{
			Name: fmt.Sprintf("r%d-bag%d", r, p), Role: Bag, Region: name, Plane: p,
			ASN: g.bagASN(r), ASIC: g.asic(Bag, p), Units: g.BagUnits,
		}))
	}
	var origins []string
	f := 0
	for i := range g.groups {
		k := &g.groups[i]
		if !k.in(r) {
			continue
		}
		for range k.Count {
			f++
			origins = append(origins, g.fabric(r, f, k)...)
		}
	}
	if g.RegionAggregate != nil {
		origins = nil
		for p := 1; p <= g.Planes; p++ {
			origins = append(origins, g.t.Devices[g.bag(r, p)].Name)
		}
	}
	g.prefix(Prefix{Class: "region", Origins: origins, Aggregate: g.RegionAggregate}, block{region: r})
}

// bundle joins two devices; the link's members are split into its sessions, as
// evenly as whole members go, larger ones first.
func (g *generator) bundle(a, b int, l Link) {
	from, to := g.t.Devices[a].Name, g.t.Devices[b].Name
	name, n := from+"--"+to, l.bundles()
	for i := range n {
		u := Bundle{Name: name, A: from, B: to, Members: l.Members / n, Speed: l.Speed, Length: l.Length, Optic: l.Optic}
		if i < l.Members%n {
			u.Members++
		}
		if i > 0 {
			u.Name = fmt.Sprintf("%s#%d", name, i+1)
		}
		g.t.Bundles = append(g.t.Bundles, u)
	}
}

// The profiles that generated devices name unless the shape says otherwise.
// Bags, edges and what is above are deep-buffer chassis (Meta, Building
// Prometheus, 2026), spines are top-of-fabric switches; that racks are of the
// spines' silicon is ours.
const (
	deepBufferASIC = "jericho3"
	spineASIC      = "tomahawk5"
)

// asic is the profile of a role's n-th device, from 1.
func (g *generator) asic(role Role, n int) string { return nthASIC(g.ASICs.Of(role), role, n) }

func nthASIC(list []string, role Role, n int) string {
	switch {
	case len(list) > 0:
		return list[(n-1)%len(list)]
	case role <= Spine:
		return spineASIC
	}
	return deepBufferASIC
}

// fits reports devices whose members need more capacity or ports than a device
// has: of each role the first.
func (g *generator) fits(report func(field, value, want string)) bool {
	x := g.t.Index()
	var large, narrow [Backbone + 1]bool
	for i := range g.t.Devices {
		d := &g.t.Devices[i]
		members, ports, full := 0, 0, uint64(0)
		for _, k := range x.Of[i] {
			b := &g.t.Bundles[k]
			members += b.Members
			ports += b.ports()
			full = min(full+b.Capacity(b.Members), 2*yamltree.MaxCapacity)
		}
		if full > yamltree.MaxCapacity && !large[d.Role] {
			large[d.Role] = true
			report("speed", yamltree.FormatCapacity(g.Speed), fmt.Sprintf("a %s has %d members in all: want at most %s bits/s of capacity in a device",
				d.Role, members, yamltree.FormatCapacity(yamltree.MaxCapacity)))
		}
		if full <= yamltree.MaxCapacity && d.Ports > 0 && ports > d.Units*d.Ports && !narrow[d.Role] {
			narrow[d.Role] = true
			report("units."+d.Role.String(), fmt.Sprint(d.Units), fmt.Sprintf("device %q: ", d.Name)+g.t.needsPorts(i, x))
		}
	}
	if len(g.Joins) > 0 && len(g.t.Devices) > 0 {
		c := checker{t: g.t, x: x, report: func(f finding) { report("joins", fmt.Sprint(len(g.Joins)), f.want) }}
		c.apart()
		return !c.failed && large == [Backbone + 1]bool{} && narrow == [Backbone + 1]bool{}
	}
	return large == [Backbone + 1]bool{} && narrow == [Backbone + 1]bool{}
}

// PortSpeed is the speed in bits/s that Device.Ports are counted in: a member
// takes one port, and one that is faster takes as many as its speed needs
// (published: chassis of up to 432 x 800G ports; Meta, Building Prometheus, 2026).
const PortSpeed = 800e9

// ports is how many ports a bundle's members take at either end.
func (b *Bundle) ports() int { return b.Members * int((b.Speed+PortSpeed-1)/PortSpeed) }

// needsPorts says what a device's bundles need and what it has: the terms by
// the neighbours' role and the ports of one bundle, in the order of the bundles.
func (t *Topology) needsPorts(device int, x *Index) string {
	type term struct {
		ports int
		role  Role
	}
	d := &t.Devices[device]
	var terms []term
	count, total := map[term]int{}, 0
	for _, i := range x.Of[device] {
		other := x.Ends[i][0]
		if other == device {
			other = x.Ends[i][1]
		}
		k := term{ports: t.Bundles[i].ports()}
		if other >= 0 {
			k.role = t.Devices[other].Role
		}
		if count[k] == 0 {
			terms = append(terms, k)
		}
		count[k]++
		total += k.ports
	}
	var sum []string
	for _, k := range terms {
		sum = append(sum, fmt.Sprintf("%d x %d to %ss", count[k], k.ports, k.role))
	}
	return fmt.Sprintf("its bundles take %s = %d ports and it has %d units x %d = %d: want at least %d units, or fewer members",
		strings.Join(sum, " + "), total, d.Units, d.Ports, d.Units*d.Ports, (total+d.Ports-1)/d.Ports)
}
