package topologies

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Link says what the bundles of one class are.
type Link struct {
	Members int // member links at full health, 1 to 4096
	Length  int // metres, 0 to 5,000,000
}

// ASNPlan says which devices share an ASN.
type ASNPlan uint8

// The ASN plans. A device that originates a prefix of its own has its own ASN
// in all of them, so the generated spines do.
const (
	PerGroup ASNPlan = iota // one to all edges of a fabric, one to all bags of a region
	PerPlane                // one per fabric and plane to edges, one per region and plane to bags
	Unique                  // one to every device
)

var asnPlans = [...]string{PerGroup: "per-group", PerPlane: "per-plane", Unique: "unique"}

func (p ASNPlan) String() string {
	if int(p) < len(asnPlans) {
		return asnPlans[p]
	}
	return fmt.Sprintf("ASNPlan(%d)", uint8(p))
}

// Shape is a network in a few numbers. Regions x Planes bags; in every fabric
// one edge per plane and Spines spines, fully meshed; each edge joined to the
// bag of its plane; bags joined between every two regions as Spread says.
type Shape struct {
	Name      string
	Regions   int    // 1 to 255
	Planes    int    // at least 1
	Fabrics   int    // per region, 1 to 16
	Spines    int    // per fabric, 1 to 16
	Spread    int    // 0: planar, a bag joins its own plane; k: it joins k planes of every other region, its own first
	Kind      string // of all fabrics: dsf, nsf or fpf
	Speed     uint64 // bits/s of every member
	SpineEdge Link
	EdgeBag   Link
	BagBag    Link // not looked at with one region
	// Chassis that one device of the role stands for, at least 1.
	SpineUnits, EdgeUnits, BagUnits int
	ASN                             ASNPlan
	// Aggregates of a fabric's prefix at its edges, and of a region's at its
	// bags; nil = the spines originate them.
	FabricAggregate, RegionAggregate *Aggregate
}

// The profiles that generated devices name. Bags and edges are deep-buffer
// chassis (Meta, Building Prometheus, 2026), spines are top-of-fabric switches.
const (
	deepBufferASIC = "jericho3"
	spineASIC      = "tomahawk5"
)

// Generate builds the network of a shape, or says all that is wrong with it.
//
// Devices come region by region; in a region first the bags by plane, then
// fabric by fabric its edges by plane and its spines. Bundles come in the same
// manner: in each fabric spine-edge by spine, then edge-bag; bag-bag last, by
// pair of regions. A fabric's prefixes follow one another, a region's own
// comes last.
//
// Region r has 10.r.0.0/16, its fabric f the f-th /20 of that, and the
// fabric's spine s the s-th /24 of that. A fabric's and a region's prefix is
// originated by all its spines.
func Generate(s Shape) (*Topology, error) {
	var errs []error
	s.check(func(field, value, want string) {
		errs = append(errs, fmt.Errorf("topology %q: %s %s: %s", s.Name, field, value, want))
	})
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	g := generator{Shape: s, t: &Topology{Name: s.Name}}
	for r := 1; r <= s.Regions; r++ {
		g.region(r)
	}
	for a := 1; a <= s.Regions; a++ {
		for b := a + 1; b <= s.Regions; b++ {
			g.regionPair(a, b)
		}
	}
	return g.t, nil
}

func bagName(region, plane int) string { return fmt.Sprintf("r%d-bag%d", region, plane) }

func edgeName(region, fabric, plane int) string {
	return fmt.Sprintf("r%d-f%d-e%d", region, fabric, plane)
}

func spineName(region, fabric, spine int) string {
	return fmt.Sprintf("r%d-f%d-s%d", region, fabric, spine)
}

type generator struct {
	Shape
	t *Topology
}

func (g *generator) region(r int) {
	name := fmt.Sprintf("r%d", r)
	for p := 1; p <= g.Planes; p++ {
		g.t.Devices = append(g.t.Devices, Device{
			Name: bagName(r, p), Role: Bag, Region: name, Plane: p,
			ASN: g.asn(r, 0), ASIC: deepBufferASIC, Units: g.BagUnits,
		})
	}
	var spines []string
	for f := 1; f <= g.Fabrics; f++ {
		spines = append(spines, g.fabric(r, f)...)
	}
	p := Prefix{Prefix: block(r, 0, 16), Class: "region", Origins: spines, Aggregate: g.RegionAggregate}
	if p.Aggregate != nil {
		p.Origins = nil
		for plane := 1; plane <= g.Planes; plane++ {
			p.Origins = append(p.Origins, bagName(r, plane))
		}
	}
	g.t.Prefixes = append(g.t.Prefixes, p)
}

// fabric adds one fabric and gives its spines' names.
func (g *generator) fabric(r, f int) []string {
	d := Device{Region: fmt.Sprintf("r%d", r), Fabric: fmt.Sprintf("r%d-f%d", r, f), Kind: g.Kind}
	for p := 1; p <= g.Planes; p++ {
		d.Name, d.Role, d.Plane = edgeName(r, f, p), Edge, p
		d.ASN, d.ASIC, d.Units = g.asn(r, f), deepBufferASIC, g.EdgeUnits
		g.t.Devices = append(g.t.Devices, d)
	}
	var spines []string
	for s := 1; s <= g.Spines; s++ {
		d.Name, d.Role, d.Plane = spineName(r, f, s), Spine, 0
		d.ASN, d.ASIC, d.Units = spineASN(r, f, s), spineASIC, g.SpineUnits
		g.t.Devices = append(g.t.Devices, d)
		spines = append(spines, d.Name)
		slot := (f-1)*maxSpines + s - 1
		g.t.Prefixes = append(g.t.Prefixes, Prefix{Prefix: block(r, slot, 24), Class: "spine", Origins: []string{d.Name}})
		for p := 1; p <= g.Planes; p++ {
			g.bundle(d.Name, edgeName(r, f, p), g.SpineEdge)
		}
	}
	p := Prefix{Prefix: block(r, (f-1)*maxSpines, 20), Class: "fabric", Origins: spines, Aggregate: g.FabricAggregate}
	if p.Aggregate != nil {
		p.Origins = nil
		for plane := 1; plane <= g.Planes; plane++ {
			p.Origins = append(p.Origins, edgeName(r, f, plane))
		}
	}
	g.t.Prefixes = append(g.t.Prefixes, p)
	for p := 1; p <= g.Planes; p++ {
		g.bundle(edgeName(r, f, p), bagName(r, p), g.EdgeBag)
	}
	return spines
}

func (g *generator) regionPair(a, b int) {
	for p := 1; p <= g.Planes; p++ {
		for i := range max(g.Spread, 1) {
			g.bundle(bagName(a, p), bagName(b, (p-1+i)%g.Planes+1), g.BagBag)
		}
	}
}

func (g *generator) bundle(a, b string, l Link) {
	g.t.Bundles = append(g.t.Bundles, Bundle{Name: a + "--" + b, A: a, B: b, Members: l.Members, Speed: g.Speed, Length: l.Length})
}

// block is the prefix of the given length that starts at a region's slot-th /24.
func block(region, slot, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(region), byte(slot), 0}), bits)
}

// Private 4-byte ASNs (RFC 6996) that show whose they are: 42rrrrrfff, region
// and group, where group 0 is the bags, 1 to 16 the edges of that fabric and
// 101 to 356 the spines. 4200000000 itself is free for hubs.
const asnBase, asnRegion, asnSpines = 4_200_000_000, 1000, 101

// ParseASNPlan reads a plan's name as String prints it.
func ParseASNPlan(s string) (ASNPlan, bool) {
	i := slices.Index(asnPlans[:], s)
	return ASNPlan(max(i, 0)), i >= 0
}

// asnUnique is where the ASNs of devices begin that share theirs with none.
const asnUnique = 4_220_000_000

// asn is the ASN of the next bag (fabric 0) or edge. There is one edge per
// fabric and plane and one bag per region and plane, so the two other plans
// come to the same here.
func (g *generator) asn(region, fabric int) uint32 {
	if g.ASN == PerGroup {
		return groupASN(region, fabric)
	}
	return uint32(asnUnique + len(g.t.Devices))
}

func groupASN(region, fabric int) uint32 { return uint32(asnBase + region*asnRegion + fabric) }

func spineASN(region, fabric, spine int) uint32 {
	return uint32(asnBase + region*asnRegion + asnSpines + (fabric-1)*maxSpines + spine - 1)
}

// The addressing scheme's limits: 255 /16s beside 10.0.0.0/16, 16 /20s in
// each, 16 /24s in each of those.
const maxRegions, maxFabrics, maxSpines = 255, 16, 16

// maxBundles bounds what one shape can make a process allocate.
const maxBundles = 1_000_000

// check reports everything that is wrong with a shape. The field's names are
// those of the YAML form.
func (s Shape) check(report func(field, value, want string)) {
	num := func(field string, v, lo, hi int, why string) bool {
		if v >= lo && v <= hi {
			return true
		}
		report(field, fmt.Sprint(v), fmt.Sprintf("want %d to %d%s", lo, hi, why))
		return false
	}
	if !safeName(s.Name, false) {
		report("name", fmt.Sprintf("%q", s.Name), wantName)
	}
	fits := num("regions", s.Regions, 1, maxRegions, " (region r has 10.r.0.0/16)")
	fits = num("planes", s.Planes, 1, maxDevices, "") && fits
	fits = num("fabrics", s.Fabrics, 1, maxFabrics, " (a /16 holds 2^(20-16) = 16 /20s)") && fits
	fits = num("spines", s.Spines, 1, maxSpines, " (a /20 holds 2^(24-20) = 16 /24s)") && fits
	fits = fits && num("spread", s.Spread, 0, s.Planes, " (at most the planes)")
	if !knownKind(s.Kind) {
		report("kind", fmt.Sprintf("%q", s.Kind), wantKind)
	}
	if int(s.ASN) >= len(asnPlans) {
		report("asn", s.ASN.String(), "want "+strings.Join(asnPlans[:], ", "))
	}
	num("units.spine", s.SpineUnits, 1, maxUnits, "")
	num("units.edge", s.EdgeUnits, 1, maxUnits, "")
	num("units.bag", s.BagUnits, 1, maxUnits, "")
	speed := knownSpeed(s.Speed)
	if !speed {
		report("speed", yamltree.FormatCapacity(s.Speed), wantSpeed)
	}
	for _, l := range s.links() {
		m := num("bundles."+l.class+".members", l.Members, 1, maxMembers, "")
		num("bundles."+l.class+".length", l.Length, 0, maxLength, " metres")
		fits = m && fits
	}
	if fits && speed {
		s.checkSize(report)
	}
}

type classLink struct {
	class string
	Link
}

// links gives the classes that the shape has bundles of.
func (s Shape) links() []classLink {
	links := []classLink{{"spine-edge", s.SpineEdge}, {"edge-bag", s.EdgeBag}}
	if s.Regions > 1 {
		links = append(links, classLink{"bag-bag", s.BagBag})
	}
	return links
}

// checkSize checks products of numbers that are each in range.
func (s Shape) checkSize(report func(field, value, want string)) {
	devices := s.Regions * (s.Planes + s.Fabrics*(s.Planes+s.Spines))
	if devices > maxDevices {
		report("planes", fmt.Sprint(s.Planes), fmt.Sprintf(
			"%d regions x (%d planes + %d fabrics x (%d planes + %d spines)) = %d devices: want at most %d",
			s.Regions, s.Planes, s.Fabrics, s.Planes, s.Spines, devices, maxDevices))
		return
	}
	pairs, spread := s.Regions*(s.Regions-1)/2, max(s.Spread, 1)
	bundles := s.Regions*s.Fabrics*s.Planes*(s.Spines+1) + pairs*s.Planes*spread
	if bundles > maxBundles {
		report("planes", fmt.Sprint(s.Planes), fmt.Sprintf(
			"%d regions x %d fabrics x %d planes x (%d spines + 1) + %d region pairs x %d planes x spread %d = %d bundles: want at most %d",
			s.Regions, s.Fabrics, s.Planes, s.Spines, pairs, s.Planes, spread, bundles, maxBundles))
		return
	}
	s.checkCapacity(report, spread)
}

// checkCapacity keeps the sum of every device's bundles within MaxCapacity.
func (s Shape) checkCapacity(report func(field, value, want string), spread int) {
	sums := []struct {
		role string
		bits uint64 // no term exceeds 65,000 x 4,096 members, so that the sums fit
	}{
		{"spine", uint64(s.Planes * s.SpineEdge.Members)},
		{"edge", uint64(s.Spines*s.SpineEdge.Members + s.EdgeBag.Members)},
		{"bag", uint64(s.Fabrics*s.EdgeBag.Members + (s.Regions-1)*spread*s.BagBag.Members)},
	}
	for _, sum := range sums {
		if sum.bits > yamltree.MaxCapacity/s.Speed {
			report("speed", yamltree.FormatCapacity(s.Speed), fmt.Sprintf(
				"a %s has %d members in all: want at most %s bits/s of capacity in a device",
				sum.role, sum.bits, yamltree.FormatCapacity(yamltree.MaxCapacity)))
		}
	}
}
