package topologies

import (
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// maxBundles bounds what one shape can make a process allocate.
const maxBundles = 1_000_000

// The other limits of a shape.
const (
	maxTops     = 256 // hubs of a join, and backbone devices
	maxSessions = 64
	maxGroups   = 64
	maxJoins    = 64
)

// shapeCheck reports what is wrong with a shape, each field once. Fields have
// the names of the YAML form.
type shapeCheck struct {
	Shape
	report func(field, value, want string)
	seen   map[string]bool
	fits   bool // every number that decides the size is in range
}

func (s Shape) check(report func(field, value, want string)) {
	c := shapeCheck{Shape: s, seen: map[string]bool{}, fits: true}
	c.report = func(field, value, want string) {
		if !c.seen[field] {
			c.seen[field] = true
			report(field, value, want)
		}
	}
	c.whole()
	c.fabrics()
	c.joined()
	if c.fits {
		c.size()
	}
}

func (c *shapeCheck) num(field string, v, lo, hi int, why string) bool {
	if v >= lo && v <= hi {
		return true
	}
	c.report(field, fmt.Sprint(v), fmt.Sprintf("want %d to %d%s", lo, hi, why))
	return false
}

// sized is num for a number that decides how large the network is.
func (c *shapeCheck) sized(field string, v, lo, hi int, why string) {
	c.fits = c.num(field, v, lo, hi, why) && c.fits
}

func (c *shapeCheck) word(ok bool, field, value, want string) {
	if !ok {
		c.report(field, value, want)
	}
}

func (c *shapeCheck) whole() {
	c.word(safeName(c.Name, false), "name", fmt.Sprintf("%q", c.Name), wantName)
	c.sized("regions", c.Regions, 1, maxRegions, " (region r has 10.r.0.0/16)")
	c.sized("planes", c.Planes, 1, maxDevices, "")
	c.sized("backbone", c.Backbones, 0, maxTops, "")
	c.word(int(c.ASN) < len(asnPlans), "asn", c.ASN.String(), "want "+strings.Join(asnPlans[:], ", "))
	c.word(int(c.Addressing) < len(addressings), "addressing", c.Addressing.String(), "want "+strings.Join(addressings[:], ", "))
	c.num("units.bag", c.BagUnits, 1, maxUnits, "")
	c.num("units.hub", c.HubUnits, 0, maxUnits, "")
	c.num("units.backbone", c.BackboneUnits, 0, maxUnits, "")
	for role := Rack; role <= Backbone; role++ {
		c.num("ports."+role.String(), c.Ports.Of(role), 0, maxMembers, "")
		c.asics("asics."+role.String(), c.ASICs.Of(role))
	}
	if c.Backbones > 0 {
		class, l := "bag-backbone", c.BagBackbone
		if c.hubs() > 0 {
			class, l = "hub-backbone", c.HubBackbone
		}
		c.link("", class, Link{}, l.or(Link{Speed: c.Speed}))
	}
	for class, l := range c.classes() {
		c.given("bundles."+class+".", l)
	}
	for _, a := range [...]struct {
		field string
		*Aggregate
	}{{"aggregates.fabric", c.FabricAggregate}, {"aggregates.region", c.RegionAggregate}} {
		if a.Aggregate == nil {
			continue
		}
		c.word(a.By == BySupporting || a.By == ByCapacity, a.field, a.By, "want "+BySupporting+" or "+ByCapacity)
		c.word(a.Withdraw >= 1 && a.Withdraw <= a.Announce, a.field, fmt.Sprintf("withdraw %d", a.Withdraw), fmt.Sprintf("want 1 to announce, which is %d", a.Announce))
	}
}

func (c *shapeCheck) asics(field string, names []string) {
	for _, name := range names {
		c.word(safeName(name, false), field, fmt.Sprintf("%q", name), "want the name of a FIB profile, such as jericho3")
	}
}

func (c *shapeCheck) hubs() (n int) {
	for _, j := range c.Joins {
		if j.Mode == HubAndSpoke {
			n += j.Width
		}
	}
	return n
}

// link checks a link that is filled in. Its values are those of the class in
// the part, such as "fabrics[0].", where the part gives them, else those of the
// class in the whole shape.
func (c *shapeCheck) link(part, class string, given, l Link) {
	at := func(isGiven bool, field string) string {
		if isGiven {
			return part + field
		}
		return "bundles." + class + "." + field
	}
	c.sized(at(given.Members != 0, "members"), l.Members, 1, maxMembers, "")
	c.num(at(given.Length != 0, "length"), l.Length, 0, maxLength, " metres")
	c.sized(at(given.Sessions != 0, "sessions"), l.Sessions, 0, min(maxSessions, max(l.Members, 1)), " (of a bundle's members each session has one at least)")
	speed := "speed" // the shape's own, which most links have
	if l.Speed != c.Speed {
		speed = at(given.Speed != 0, "speed")
	}
	if !knownSpeed(l.Speed) {
		c.fits = false
		c.report(speed, yamltree.FormatCapacity(l.Speed), wantSpeed)
	}
	c.word(l.Optic == "" || safeName(l.Optic, false), at(given.Optic != "", "optic"), fmt.Sprintf("%q", l.Optic), wantName)
}

// given checks what is said of a class, whether or not the shape has bundles of
// it.
func (c *shapeCheck) given(part string, l Link) {
	if l.Members != 0 {
		c.num(part+"members", l.Members, 1, maxMembers, "")
	}
	c.num(part+"length", l.Length, 0, maxLength, " metres")
	c.num(part+"sessions", l.Sessions, 0, maxSessions, "")
	c.word(l.Speed == 0 || knownSpeed(l.Speed), part+"speed", yamltree.FormatCapacity(l.Speed), wantSpeed)
	c.word(l.Optic == "" || safeName(l.Optic, false), part+"optic", fmt.Sprintf("%q", l.Optic), wantName)
}

// classes gives what the whole shape says of each class.
func (s *Shape) classes() iter.Seq2[string, Link] {
	return func(yield func(string, Link) bool) {
		_ = yield("spine-edge", s.SpineEdge) && yield("edge-bag", s.EdgeBag) && yield("bag-bag", s.BagBag) && yield("rack-spine", s.RackSpine) &&
			yield("spine-bag", s.SpineBag) && yield("bag-hub", s.BagHub) && yield("hub-backbone", s.HubBackbone) && yield("bag-backbone", s.BagBackbone)
	}
}

func (c *shapeCheck) fabrics() {
	if len(c.Groups) == 0 {
		c.sized("fabrics", c.Fabrics, 1, maxFabrics, " (a /16 holds 2^(20-16) = 16 /20s)")
	}
	c.sized("fabrics", len(c.Groups), 0, maxGroups, " groups")
	// What every group says itself is not looked at further on.
	if c.Spines != 0 {
		c.num("spines", c.Spines, 1, maxOwners, wantOwners)
	}
	c.num("racks", c.Racks, 0, maxOwners, wantOwners)
	c.word(c.Kind == "" || knownKind(c.Kind), "kind", fmt.Sprintf("%q", c.Kind), wantKind)
	var of [maxRegions + 1]int
	for i, k := range c.Shape.groups() {
		given, part := FabricGroup{}, ""
		if len(c.Groups) > 0 {
			given, part = c.Groups[i], fmt.Sprintf("fabrics[%d].", i)
			c.sized(part+"count", k.Count, 1, maxFabrics, " (a /16 holds 2^(20-16) = 16 /20s)")
			c.regions(part+"regions", k.Regions, 1)
			for _, l := range [...]groupLink{
				{class: "rack-spine", given: given.RackSpine}, {class: "spine-edge", given: given.SpineEdge},
				{class: "edge-bag", given: given.EdgeBag}, {class: "spine-bag", given: given.SpineBag},
			} {
				c.given(part+"bundles."+l.class+".", l.given)
			}
		}
		c.group(part, &given, &k)
		for r := range of {
			if k.in(r) {
				of[r] += min(max(k.Count, 0), maxFabrics+1)
			}
		}
	}
	for r := 1; c.fits && r <= c.Regions; r++ {
		c.sized("fabrics", of[r], 1, maxFabrics, fmt.Sprintf(" in region r%d (a /16 holds 2^(20-16) = 16 /20s)", r))
	}
}

// group checks a group that is filled in; given is what it says itself.
func (c *shapeCheck) group(part string, given, k *FabricGroup) {
	at := func(isGiven bool, field string) string {
		if isGiven {
			return part + field
		}
		return field
	}
	c.sized(at(given.Spines != 0, "spines"), k.Spines, 1, maxOwners, wantOwners)
	c.sized(at(given.Racks != 0, "racks"), k.Racks, 0, maxOwners, wantOwners)
	c.word(knownKind(k.Kind), at(given.Kind != "", "kind"), fmt.Sprintf("%q", k.Kind), wantKind)
	c.num(at(given.RackUnits != 0, "units.rack"), k.RackUnits, 0, maxUnits, "")
	c.num(at(given.SpineUnits != 0, "units.spine"), k.SpineUnits, 1, maxUnits, "")
	c.num(at(given.EdgeUnits != 0, "units.edge"), k.EdgeUnits, 1, maxUnits, "")
	c.asics(at(len(given.RackASICs) > 0, "asics.rack"), k.RackASICs)
	c.asics(at(len(given.SpineASICs) > 0, "asics.spine"), k.SpineASICs)
	c.asics(at(len(given.EdgeASICs) > 0, "asics.edge"), k.EdgeASICs)
	ratio := k.Oversubscription
	c.word(ratio >= 0.1 && ratio <= 100 && math.Round(ratio*1000) == ratio*1000, at(given.Oversubscription != 0, "oversubscription"),
		fmt.Sprint(ratio), "want 0.1 to 100, in thousandths")

	edges := at(given.Edges != 0, "edges")
	switch {
	case k.Edges > AllPlanes:
		c.fits = false
		c.report(edges, k.Edges.String(), wantEdges)
	case k.Edges == AllSpinePlanes && k.Racks < 1 && c.Planes > 1:
		c.report(edges, k.Edges.String(), "spines of different BAG planes meet only in racks: want racks of 1 or more")
	case k.Edges == AllSpinePlanes && c.Planes > 0 && k.Spines%c.Planes != 0:
		c.report(at(given.Spines != 0, "spines"), fmt.Sprint(k.Spines), fmt.Sprintf("want a multiple of the %d planes: each BAG plane joins one spine of every spine plane", c.Planes))
	}
	for _, l := range k.links(given) {
		if l.derived && l.link.Members == 0 && !c.fits {
			l.link.Members = 1 // what it follows from is reported already
		}
		c.link(part+"bundles."+l.class+".", l.class, l.given, l.link)
	}
}

// groupLink is one class of a fabric's bundles: what its group says of it and
// what comes of that.
type groupLink struct {
	class       string
	given, link Link
	derived     bool // its members may follow from others'
}

// links gives the classes that a fabric has bundles of, from the bottom up.
func (k *FabricGroup) links(given *FabricGroup) (list []groupLink) {
	if k.Racks > 0 {
		list = append(list, groupLink{"rack-spine", given.RackSpine, k.RackSpine, false})
	}
	if k.Edges != MatchingPlane {
		return append(list, groupLink{"spine-bag", given.SpineBag, k.SpineBag, true})
	}
	return append(list, groupLink{"spine-edge", given.SpineEdge, k.SpineEdge, false}, groupLink{"edge-bag", given.EdgeBag, k.EdgeBag, true})
}

const wantOwners = " (a /20 holds 2^(28-20) = 256 /28s)"

const wantEdges = `want one of "matching-plane", "all-spine-planes", "all-planes"`

// regions checks a list of regions.
func (c *shapeCheck) regions(field string, list []int, least int) {
	if len(list) > 0 && len(list) < least {
		c.fits = false
		c.report(field, fmt.Sprint(len(list)), fmt.Sprintf("want at least %d regions", least))
	}
	for i, r := range list {
		if r < 1 || r > c.Regions {
			c.fits = false
			c.report(field, fmt.Sprintf("r%d", r), fmt.Sprintf("want r1 to r%d", c.Regions))
		} else if i > 0 && list[i-1] >= r {
			c.fits = false
			c.report(field, fmt.Sprintf("r%d", r), "want each region once, ascending")
		}
	}
}

func (c *shapeCheck) joined() {
	if len(c.Joins) == 0 {
		if c.Planes >= 1 && c.num("spread", c.Spread, 0, c.Planes, " (at most the planes)") && c.Regions > 1 {
			c.link("", "bag-bag", Link{}, c.BagBag.or(Link{Speed: c.Speed}))
		} else if c.Spread < 0 || c.Spread > c.Planes {
			c.fits = false
		}
		return
	}
	c.word(c.Spread == 0, "spread", fmt.Sprint(c.Spread), "want it as a join: a description has either spread or joins")
	c.sized("joins", len(c.Joins), 0, maxJoins, "")
	if c.Regions < 1 || c.Regions > maxRegions {
		return
	}
	for i, j := range c.Shape.joins() {
		given, part := c.Joins[i], fmt.Sprintf("joins[%d].", i)
		if given.Mode > HubAndSpoke {
			c.fits = false
			c.report(part+"mode", given.Mode.String(), "want "+strings.Join(joinModes[:], ", "))
			continue
		}
		class, least, most := "bag-bag", 2, c.Planes
		if j.Mode == HubAndSpoke {
			class, least, most = "bag-hub", 1, maxTops
		}
		if c.Planes > 0 {
			c.sized(part+j.Mode.String(), j.Width, 1, most, "")
		}
		c.regions(part+"regions", given.Regions, least)
		c.word(len(j.Lengths) == 0 || j.Mode == HubAndSpoke && len(j.Lengths) <= len(j.Regions), part+"lengths", fmt.Sprint(len(j.Lengths)), "want lengths by region of a hub join only")
		for _, metres := range j.Lengths {
			c.num(part+"lengths", metres, 0, maxLength, " metres")
		}
		c.link(part, class, given.Link, j.Link)
	}
}

// size gives the numbers of devices and bundles of a shape whose numbers are in
// range.
func (s *Shape) size() (devices, bundles int) {
	devices, bundles = s.Regions*s.Planes+s.Backbones, 0
	for _, k := range s.groups() {
		d, b := k.size(s.Planes)
		n := k.Count * or(len(k.Regions), s.Regions)
		devices, bundles = devices+n*d, bundles+n*b
	}
	hubs := 0
	for _, j := range s.joins() {
		bundles += j.bundles(s.Planes)
		if j.Mode == HubAndSpoke {
			hubs += j.Width
		}
	}
	if hubs > 0 {
		bundles += s.Backbones * hubs * s.HubBackbone.bundles()
	} else {
		bundles += s.Backbones * s.Regions * s.Planes * s.BagBackbone.bundles()
	}
	return devices + hubs, bundles
}

// size gives the devices and bundles of one fabric.
func (k *FabricGroup) size(planes int) (devices, bundles int) {
	devices, bundles = k.Spines+k.Racks, k.Racks*k.Spines*k.RackSpine.bundles()
	switch k.Edges {
	case MatchingPlane:
		devices += planes
		bundles += planes * (k.Spines*k.SpineEdge.bundles() + k.EdgeBag.bundles())
	case AllSpinePlanes:
		bundles += k.Spines * k.SpineBag.bundles()
	case AllPlanes:
		bundles += k.Spines * planes * k.SpineBag.bundles()
	}
	return devices, bundles
}

// size checks products of numbers that are each in range.
func (c *shapeCheck) size() {
	devices, bundles := c.Shape.size()
	fabrics := func(of func(*FabricGroup) int, what string) (text string) {
		for _, k := range c.Shape.groups() {
			text += fmt.Sprintf(" + %d fabrics x %d %s", k.Count*or(len(k.Regions), c.Regions), of(&k), what)
		}
		return text
	}
	switch {
	case devices > maxDevices:
		text := fmt.Sprintf("%d regions x %d bags", c.Regions, c.Planes) + fabrics(func(k *FabricGroup) int { d, _ := k.size(c.Planes); return d }, "devices")
		if top := c.hubs() + c.Backbones; top > 0 {
			text += fmt.Sprintf(" + %d hubs and backbone devices", top)
		}
		c.report("planes", fmt.Sprint(c.Planes), fmt.Sprintf("%s = %d devices: want at most %d", text, devices, maxDevices))
	case bundles > maxBundles:
		between := 0
		for _, j := range c.Shape.joins() {
			between += j.bundles(c.Planes)
		}
		text := fmt.Sprintf("%d between regions", between) + fabrics(func(k *FabricGroup) int { _, b := k.size(c.Planes); return b }, "bundles")
		c.report("planes", fmt.Sprint(c.Planes), fmt.Sprintf("%s (backbone apart) = %d bundles: want at most %d", text, bundles, maxBundles))
	}
}
