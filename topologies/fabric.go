package topologies

import (
	"fmt"
	"math"
	"slices"
)

// EdgeJoin is how a fabric meets the bags.
type EdgeJoin uint8

// The ways to meet the bags.
const (
	// EdgesByKind is MatchingPlane, but AllPlanes for a zone.
	EdgesByKind EdgeJoin = iota
	// MatchingPlane: one edge per plane, joined to every spine of its fabric
	// and to the bag of its plane.
	MatchingPlane
	// AllSpinePlanes: no edges. The spines stand in spine planes of as many
	// spines as there are BAG planes, and each bag joins its matching spine of
	// every spine plane: spine s the bag of plane (s-1) mod Planes + 1. Spines
	// of different BAG planes meet only in the racks, so there must be some.
	AllSpinePlanes
	// AllPlanes: no edges; every spine joins every bag of its region.
	AllPlanes
)

var edgeJoins = [...]string{EdgesByKind: "by-kind", MatchingPlane: "matching-plane", AllSpinePlanes: "all-spine-planes", AllPlanes: "all-planes"}

func (e EdgeJoin) String() string {
	if int(e) < len(edgeJoins) {
		return edgeJoins[e]
	}
	return fmt.Sprintf("EdgeJoin(%d)", uint8(e))
}

// ParseEdgeJoin reads a way as String prints it.
func ParseEdgeJoin(s string) (EdgeJoin, bool) {
	i := slices.Index(edgeJoins[:], s)
	return EdgeJoin(max(i, 0)), i >= 0
}

// Kind is what is known of a kind of building fabric, with where it is from.
type Kind struct {
	Name             string
	GPUs             int     // most GPUs of one building, or of one zone
	Oversubscription float64 // N:1 towards what is above, where a description does not say
	Edges            EdgeJoin
	EdgeLength       int    // metres from the fabric to its bags beyond which Warnings speaks; 0: any
	About            string // what it is, as far as published
	Source           string
	Certainty        string // "published", or what is not
}

// Kinds gives the kinds of fabrics.
//
// Published for all: fabrics of up to 20,736 GPUs a building attach to the BAG,
// whether DSF, NSF or FPF; oversubscription towards it is typically 4.5:1.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "dsf", GPUs: 20_736, Oversubscription: 4.5, Edges: MatchingPlane,
			About:     "disaggregated scheduled fabric: each building has a backend edge pod towards the BAG (an edge per plane here), which announces the building's aggregate",
			Source:    "Meta, Building Prometheus, 2026, and Disaggregated Scheduled Fabric, 2025; GPUs of a building by a later report",
			Certainty: "published; that the pod has one edge per plane is ours",
		},
		{
			Name: "nsf", GPUs: 20_736, Oversubscription: 4.98, Edges: MatchingPlane, EdgeLength: 10_000,
			About:     "non-scheduled fabric: shallow-buffer switches, so its distance to the BAG is kept short; each BAG plane joins the matching spine of every spine plane (edges: all-spine-planes)",
			Source:    "Meta, Building Prometheus, 2026 (4.98:1 is of its example); GPUs of a building by a later report",
			Certainty: "published; that short is at most 10 km is ours",
		},
		{
			Name: "fpf", GPUs: 20_736, Oversubscription: 4.5, Edges: MatchingPlane,
			About:     "the third kind that attaches to the BAG; its insides are not published and are taken to be those of dsf",
			Source:    "a report of Meta's OCP 2026 talk; facebook/fboss nsf_policy.thrift names its racks and spines",
			Certainty: "that it attaches is published, all else is ours",
		},
		{
			Name: "zone", GPUs: 3072, Oversubscription: 7, Edges: AllPlanes,
			About:     "a two-stage Clos AI zone of rack and cluster switches; aggregation switches, which stand as bags here, join the zones to a 24K-GPU cluster",
			Source:    "Meta, RDMA over Ethernet for Distributed AI Training at Meta Scale, SIGCOMM 2024",
			Certainty: "published: 8 zones of 3,072 GPUs, 1:7 towards the aggregation; 16 cluster switches a zone and 28 aggregation switches are a reader's reconstruction",
		},
	}
}

func kindOf(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// FabricGroup is a number of identical fabrics in each of some regions. What is
// 0 or empty is as the shape has it. Every fabric has Spines spines and Racks
// racks, each rack joined to each spine, and meets the bags as Edges says.
type FabricGroup struct {
	Count                            int   // fabrics in each region, at least 1
	Regions                          []int // ascending, from 1; nil: all
	Spines, Racks                    int
	Kind                             string
	Edges                            EdgeJoin
	Speed                            uint64
	Oversubscription                 float64
	RackSpine, SpineEdge             Link
	EdgeBag, SpineBag                Link
	RackASICs, SpineASICs, EdgeASICs []string
	RackUnits, SpineUnits, EdgeUnits int
}

func (k *FabricGroup) in(region int) bool {
	return len(k.Regions) == 0 || slices.Contains(k.Regions, region)
}

// groups are the fabric groups with everything filled in.
func (s *Shape) groups() []FabricGroup {
	groups := slices.Clone(s.Groups)
	if len(groups) == 0 {
		groups = []FabricGroup{{Count: s.Fabrics}}
	}
	for i := range groups {
		s.complete(&groups[i])
	}
	return groups
}

func (s *Shape) complete(k *FabricGroup) {
	k.Spines, k.Racks = or(k.Spines, s.Spines), or(k.Racks, s.Racks)
	k.Kind, k.Edges, k.Speed = or(k.Kind, s.Kind), or(k.Edges, s.Edges), or(k.Speed, s.Speed)
	kind, _ := kindOf(k.Kind)
	if k.Edges == EdgesByKind {
		k.Edges = or(kind.Edges, MatchingPlane)
	}
	k.Oversubscription = or(k.Oversubscription, or(s.Oversubscription, or(kind.Oversubscription, 4.5)))
	k.RackUnits, k.SpineUnits, k.EdgeUnits = or(k.RackUnits, s.RackUnits), or(k.SpineUnits, s.SpineUnits), or(k.EdgeUnits, s.EdgeUnits)
	k.RackASICs, k.SpineASICs, k.EdgeASICs = orList(k.RackASICs, s.ASICs.Rack), orList(k.SpineASICs, s.ASICs.Spine), orList(k.EdgeASICs, s.ASICs.Edge)

	speed := Link{Speed: k.Speed}
	k.RackSpine, k.SpineEdge = k.RackSpine.or(s.RackSpine).or(speed), k.SpineEdge.or(s.SpineEdge).or(speed)
	k.EdgeBag, k.SpineBag = k.EdgeBag.or(s.EdgeBag).or(speed), k.SpineBag.or(s.SpineBag).or(speed)
	if k.EdgeBag.Members == 0 {
		k.EdgeBag.Members = k.towards(k.Spines, k.SpineEdge, 1, k.EdgeBag)
	}
	if k.SpineBag.Members == 0 {
		above := 1
		if k.Edges == AllPlanes {
			above = s.Planes
		}
		k.SpineBag.Members = k.towards(k.Racks, k.RackSpine, above, k.SpineBag)
	}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func orList(v, def []string) []string {
	if len(v) == 0 {
		return def
	}
	return v
}

// towards is the members of a bundle upwards, of so many that a device has,
// where its bundles downwards are oversubscribed by the group's ratio, rounded
// up to whole members; 0 where there is nothing below or no ratio.
func (k *FabricGroup) towards(below int, down Link, above int, up Link) int {
	ratio := int64(math.Round(k.Oversubscription * 1000))
	if ratio < 1 || ratio > 1_000_000 || below < 1 || below > maxOwners || down.Members < 1 || down.Members > maxMembers ||
		!knownSpeed(down.Speed) || !knownSpeed(up.Speed) || above < 1 {
		return 0
	}
	const mega = 1_000_000 // all speeds are whole megabits/s, and the products fit
	wanted := int64(below) * int64(down.Members) * int64(down.Speed/mega) * 1000
	each := int64(up.Speed/mega) * ratio * int64(above)
	return int((wanted + each - 1) / each)
}

// fabric adds one fabric and gives the names of the devices that own its
// prefixes.
func (g *generator) fabric(r, f int, k *FabricGroup) []string {
	var edges, spines, racks []int
	name := fmt.Sprintf("r%d-f%d", r, f)
	d := Device{Region: fmt.Sprintf("r%d", r), Fabric: name, Kind: k.Kind}
	if k.Edges == MatchingPlane {
		for p := 1; p <= g.Planes; p++ {
			d.Name, d.Role, d.Plane = fmt.Sprintf("%s-e%d", name, p), Edge, p
			d.ASN, d.ASIC, d.Units = g.edgeASN(r, f), nthASIC(k.EdgeASICs, Edge, p), k.EdgeUnits
			edges = append(edges, g.add(d))
		}
	}
	for s := 1; s <= k.Spines; s++ {
		d.Name, d.Role, d.Plane = fmt.Sprintf("%s-s%d", name, s), Spine, 0
		if k.Edges == AllSpinePlanes {
			d.Plane = (s-1)%g.Planes + 1
		}
		d.ASN, d.ASIC, d.Units = g.spineASN(r, f, s, d.Plane, k), nthASIC(k.SpineASICs, Spine, s), k.SpineUnits
		spines = append(spines, g.add(d))
	}
	for n := 1; n <= k.Racks; n++ {
		d.Name, d.Role, d.Plane = fmt.Sprintf("%s-t%d", name, n), Rack, 0
		d.ASN, d.ASIC, d.Units = g.ownASN(), nthASIC(k.RackASICs, Rack, n), k.RackUnits
		racks = append(racks, g.add(d))
	}
	g.wire(r, k, edges, spines, racks)

	facing, owners := spines, spines
	if len(edges) > 0 {
		facing = edges
	}
	if len(racks) > 0 {
		owners = racks
	}
	return g.announce(r, f, owners, facing)
}

// wire adds a fabric's bundles from the bottom up.
func (g *generator) wire(r int, k *FabricGroup, edges, spines, racks []int) {
	for _, a := range racks {
		for _, b := range spines {
			g.bundle(a, b, k.RackSpine)
		}
	}
	for _, a := range spines {
		for _, b := range edges {
			g.bundle(a, b, k.SpineEdge)
		}
	}
	for i, a := range edges {
		g.bundle(a, g.bag(r, i+1), k.EdgeBag)
	}
	for _, a := range spines {
		switch k.Edges {
		case AllSpinePlanes:
			g.bundle(a, g.bag(r, g.t.Devices[a].Plane), k.SpineBag)
		case AllPlanes:
			for p := 1; p <= g.Planes; p++ {
				g.bundle(a, g.bag(r, p), k.SpineBag)
			}
		}
	}
}

// announce adds a fabric's prefixes and gives the names of those that own one.
func (g *generator) announce(r, f int, owners, facing []int) []string {
	names := g.names(owners)
	class := g.t.Devices[owners[0]].Role.String()
	for i := range names {
		g.prefix(Prefix{Class: class, Origins: names[i : i+1]}, block{region: r, fabric: f, slot: i + 1, slots: len(owners)})
	}
	p := Prefix{Class: "fabric", Origins: names, Aggregate: g.FabricAggregate}
	if p.Aggregate != nil {
		p.Origins = g.names(facing)
	}
	g.prefix(p, block{region: r, fabric: f})
	return names
}

func (g *generator) names(devices []int) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = g.t.Devices[d].Name
	}
	return names
}
