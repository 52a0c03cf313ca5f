package topologies

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// The fields of a generator description.
var (
	shapeFields = []string{"regions", "planes", "fabrics", "spines", "racks", "spread", "joins", "backbone", "kind", "edges", "oversubscription",
		"addressing", "asn", "asics", "speed", "bundles", "units", "ports", "aggregates"}
	groupFields  = []string{"count", "regions", "spines", "racks", "kind", "edges", "oversubscription", "asics", "speed", "bundles", "units"}
	joinFields   = []string{"planar", "spread", "hub", "regions", "members", "length", "lengths", "sessions", "speed", "optic"}
	linkFields   = []string{"members", "length", "sessions", "speed", "optic"}
	linkClasses  = []string{"spine-edge", "edge-bag", "bag-bag", "rack-spine", "spine-bag", "bag-hub", "hub-backbone", "bag-backbone"}
	groupClasses = []string{"rack-spine", "spine-edge", "edge-bag", "spine-bag"}
	roleFields   = []string{"rack", "spine", "edge", "bag", "hub", "backbone"}
	lowerRoles   = roleFields[:3]
)

// shapeReader reads the generator form. The fields by name serve to place what
// Shape.check finds.
type shapeReader struct {
	s      Shape
	g      yamltree.Map
	fields map[string]yamltree.Node
	groups []yamltree.Map
	// Fields that must be there and are not, which is reported already.
	missing map[string]bool
}

// readShape reads a generator description and builds its network, or gives nil.
func readShape(m yamltree.Map) *Topology {
	before := m.Node().Doc().Count()
	r := shapeReader{g: m.Get("generate").Map(shapeFields...), fields: map[string]yamltree.Node{"name": m.Need("name"), "": m.Get("generate")}, missing: map[string]bool{"name": !m.Get("name").Present()}}
	r.s.Name = r.fields["name"].Text("")
	r.numbers()
	r.fabrics()
	r.joins()
	r.links()
	aggregates := r.g.Get("aggregates").Map("fabric", "region")
	r.fields["aggregates.fabric"], r.fields["aggregates.region"] = aggregates.Get("fabric"), aggregates.Get("region")
	r.s.FabricAggregate, r.s.RegionAggregate = readAggregate(aggregates.Get("fabric")), readAggregate(aggregates.Get("region"))

	sound := true
	place := func(field, value, want string) {
		sound = false
		r.place(field, value, want)
	}
	r.s.check(place)
	if !sound || m.Node().Doc().Count() > before {
		return nil
	}
	if t := r.s.build(place); sound {
		return t
	}
	return nil
}

// place notes what is wrong with a field at its value, or at the nearest
// mapping around it that the file holds, which then names the field.
func (r *shapeReader) place(field, value, want string) {
	around := field
	for !r.fields[around].Present() && around != "" {
		if r.missing[around] {
			return
		}
		around = around[:max(strings.LastIndex(around, "."), 0)]
	}
	switch n := r.fields[field]; {
	case around == field && n.IsScalar():
		n.Reject("%s", want)
		return
	case around == field:
		n.Reject("%s: %s", value, want)
		return
	}
	r.fields[around].Reject("%s %s: %s", field, value, want)
}

// get gives an optional field, and remembers where it is.
func (r *shapeReader) get(m yamltree.Map, part, name string) yamltree.Node {
	r.fields[part+name] = m.Get(name)
	return m.Get(name)
}

// need gives a field that must be there.
func (r *shapeReader) need(name string) yamltree.Node {
	r.fields[name] = r.g.Need(name)
	r.missing[name] = !r.fields[name].Present()
	return r.fields[name]
}

func whole(n yamltree.Node) int { return int(min(max(n.Whole(0), -1<<31), 1<<31)) }

func (r *shapeReader) numbers() {
	s := &r.s
	s.Regions, s.Planes = whole(r.need("regions")), whole(r.need("planes"))
	s.Spread, s.Backbones = whole(r.get(r.g, "", "spread")), whole(r.get(r.g, "", "backbone"))
	s.ASN, _ = ParseASNPlan(r.get(r.g, "", "asn").Enum(PerGroup.String(), asnPlans[:]...))
	s.Addressing, _ = ParseAddressing(r.get(r.g, "", "addressing").Enum(IPv4.String(), addressings[:]...))

	units := r.perRole(r.g, "", "units", roleFields)
	one := func(role string) int { return int(units[role].Int(1, 1, maxUnits)) }
	s.RackUnits, s.SpineUnits, s.EdgeUnits = one("rack"), one("spine"), one("edge")
	s.BagUnits, s.HubUnits, s.BackboneUnits = one("bag"), one("hub"), one("backbone")
	ports := r.perRole(r.g, "", "ports", roleFields)
	s.Ports = PerRole[int]{whole(ports["rack"]), whole(ports["spine"]), whole(ports["edge"]), whole(ports["bag"]), whole(ports["hub"]), whole(ports["backbone"])}
	asics := r.perRole(r.g, "", "asics", roleFields)
	s.ASICs = PerRole[[]string]{names(asics["rack"]), names(asics["spine"]), names(asics["edge"]), names(asics["bag"]), names(asics["hub"]), names(asics["backbone"])}
}

// perRole gives the fields of a mapping by role.
func (r *shapeReader) perRole(m yamltree.Map, part, name string, roles []string) map[string]yamltree.Node {
	fields := map[string]yamltree.Node{}
	inner := r.get(m, part, name).Map(roles...)
	for _, role := range roles {
		fields[role] = r.get(inner, part+name+".", role)
	}
	return fields
}

// names reads one name or a list of names.
func names(n yamltree.Node) (list []string) {
	if n.Present() && n.IsScalar() {
		return []string{n.Text("")}
	}
	for _, item := range n.List() {
		list = append(list, item.Text(""))
	}
	return list
}

// fabrics reads the number of fabrics, or the groups, and what the whole shape
// says of them; a field that no group says itself must be there.
func (r *shapeReader) fabrics() {
	s, n := &r.s, r.need("fabrics")
	if n.IsList() {
		for i, item := range n.List() {
			part := fmt.Sprintf("fabrics[%d]", i)
			r.fields[part] = item
			r.groups = append(r.groups, item.Map(groupFields...))
			s.Groups = append(s.Groups, r.group(part+".", r.groups[i]))
		}
		if len(s.Groups) == 0 {
			n.Reject("want a number, or a list of groups such as {count: 5, kind: dsf}")
		}
	} else {
		s.Fabrics = whole(n)
	}
	s.Spines, s.Kind, s.Speed = whole(r.shared("spines")), r.shared("kind").Text(""), r.need("speed").Capacity(0)
	if s.Spines == 0 && len(r.groups) > 0 {
		r.fields["spines"].Reject("want 1 to %d", maxOwners)
	}
	s.Racks = whole(r.get(r.g, "", "racks"))
	s.Edges, s.Oversubscription = readEdges(r.get(r.g, "", "edges")), readRatio(r.get(r.g, "", "oversubscription"))
}

// shared is a field of the whole shape that a group may have instead: missing
// where some group has none either.
func (r *shapeReader) shared(name string) yamltree.Node {
	needed := len(r.groups) == 0
	for _, g := range r.groups {
		needed = needed || !g.Get(name).Present()
	}
	if needed {
		return r.need(name)
	}
	return r.get(r.g, "", name)
}

func (r *shapeReader) group(part string, m yamltree.Map) FabricGroup {
	k := FabricGroup{
		Count: whole(r.get(m, part, "count")), Regions: r.regions(r.get(m, part, "regions")),
		Kind: r.get(m, part, "kind").Text(""), Edges: readEdges(r.get(m, part, "edges")),
		Oversubscription: readRatio(r.get(m, part, "oversubscription")), Speed: r.get(m, part, "speed").Capacity(0),
	}
	if !m.Get("count").Present() {
		k.Count = 1
	}
	// 0 would be as the shape has it.
	k.Spines = int(r.get(m, part, "spines").Int(0, 1, maxOwners))
	k.Racks = int(r.get(m, part, "racks").Int(0, 1, maxOwners))
	units := r.perRole(m, part, "units", lowerRoles)
	k.RackUnits = int(units["rack"].Int(0, 1, maxUnits))
	k.SpineUnits = int(units["spine"].Int(0, 1, maxUnits))
	k.EdgeUnits = int(units["edge"].Int(0, 1, maxUnits))
	asics := r.perRole(m, part, "asics", lowerRoles)
	k.RackASICs, k.SpineASICs, k.EdgeASICs = names(asics["rack"]), names(asics["spine"]), names(asics["edge"])
	links := r.get(m, part, "bundles").Map(groupClasses...)
	link := func(class string) Link {
		n := r.get(links, part+"bundles.", class)
		return r.link(part+"bundles."+class+".", n.Map(linkFields...))
	}
	k.RackSpine, k.SpineEdge, k.EdgeBag, k.SpineBag = link("rack-spine"), link("spine-edge"), link("edge-bag"), link("spine-bag")
	return k
}

func readEdges(n yamltree.Node) EdgeJoin {
	e, _ := ParseEdgeJoin(n.Enum(EdgesByKind.String(), edgeJoins[1:]...))
	return e
}

// readRatio reads the N of N:1, such as 4.5.
func readRatio(n yamltree.Node) float64 {
	if !n.Present() {
		return 0
	}
	const want = "want the N of N:1 such as 4.5, from 0.1 to 100"
	text := n.Scalar("")
	v, err := strconv.ParseFloat(text, 64)
	_, fraction, _ := strings.Cut(text, ".")
	if err != nil || strings.Trim(text, "0123456789.") != "" || len(fraction) > 3 || v < 0.1 || v > 100 {
		n.Reject(want)
		return 0
	}
	return v
}

// region reads "r1".
func region(text string) (int, bool) {
	number, ok := strings.CutPrefix(text, "r")
	v, err := strconv.Atoi(number)
	return v, ok && err == nil && v >= 1 && v <= maxRegions && strconv.Itoa(v) == number
}

const wantRegion = "want a region such as r1"

func (r *shapeReader) regions(n yamltree.Node) (list []int) {
	items := n.List()
	for _, item := range items {
		v, ok := region(item.Scalar(""))
		if !ok {
			item.Reject(wantRegion)
			continue
		}
		list = append(list, v)
	}
	if n.IsList() && len(items) == 0 {
		n.Reject("want at least one region")
	}
	return list
}

func (r *shapeReader) link(part string, m yamltree.Map) Link {
	l := Link{
		Members: whole(r.get(m, part, "members")), Length: readLength(r.get(m, part, "length")),
		Sessions: int(r.get(m, part, "sessions").Int(0, 1, maxSessions)), Speed: r.get(m, part, "speed").Capacity(0), Optic: r.get(m, part, "optic").Text(""),
	}
	if m.Get("members").Present() && l.Members == 0 {
		m.Get("members").Reject("want 1 to %d", maxMembers)
	}
	return l
}

// links reads the classes of bundles. One that the shape has must be there,
// unless everything that has it says its own length; its length must be there
// too, and its members, unless these follow from the oversubscription.
func (r *shapeReader) links() {
	s := &r.s
	m := r.need("bundles").Map(linkClasses...)
	needed := r.classes()
	into := map[string]*Link{
		"spine-edge": &s.SpineEdge, "edge-bag": &s.EdgeBag, "bag-bag": &s.BagBag, "rack-spine": &s.RackSpine,
		"spine-bag": &s.SpineBag, "bag-hub": &s.BagHub, "hub-backbone": &s.HubBackbone, "bag-backbone": &s.BagBackbone,
	}
	for _, class := range linkClasses {
		n := m.Get(class)
		if needed[class] {
			n = m.Need(class)
			r.missing["bundles."+class] = !n.Present()
		}
		r.fields["bundles."+class] = n
		fields := n.Map(linkFields...)
		if n.Present() {
			fields.Need("length")
			if class != "edge-bag" && class != "spine-bag" {
				r.missing["bundles."+class+".members"] = !fields.Need("members").Present()
			}
		}
		*into[class] = r.link("bundles."+class+".", fields)
	}
}

// classes tells which classes of bundles must be said for the whole shape.
func (r *shapeReader) classes() map[string]bool {
	s, needed := &r.s, map[string]bool{}
	complete := func(l Link, class string, derived bool) {
		needed[class] = needed[class] || l.Length == 0 || l.Members == 0 && !derived
	}
	for i, k := range s.groups() {
		var given FabricGroup
		if len(s.Groups) > 0 {
			given = s.Groups[i]
		}
		for _, l := range k.links(&given) {
			complete(l.given, l.class, l.derived)
		}
	}
	hubs := false
	for _, j := range s.Joins {
		if j.Mode == HubAndSpoke {
			hubs = true
			l := j.Link
			if l.Length == 0 && len(j.Lengths) > 0 && len(j.Lengths) == or(len(j.Regions), s.Regions) {
				l.Length = 1
				for _, metres := range j.Lengths {
					l.Length = min(l.Length, metres)
				}
			}
			complete(l, "bag-hub", false)
		} else {
			complete(j.Link, "bag-bag", false)
		}
	}
	if len(s.Joins) == 0 && s.Regions != 1 {
		needed["bag-bag"] = true
	}
	if s.Backbones > 0 && hubs {
		needed["hub-backbone"] = true
	} else if s.Backbones > 0 {
		needed["bag-backbone"] = true
	}
	return needed
}

func (r *shapeReader) joins() {
	n := r.get(r.g, "", "joins")
	for i, item := range n.List() {
		part := fmt.Sprintf("joins[%d]", i)
		r.fields[part] = item
		r.s.Joins = append(r.s.Joins, r.join(part+".", item))
	}
	if n.IsList() && len(r.s.Joins) == 0 {
		n.Reject("want at least one join, such as {planar: [r1, r2]}")
	}
}

// join reads `{planar: [r1, r2]}`, `{spread: 4, regions: [r1, r2]}` or
// `{hub: 4, regions: [r1, r3], lengths: {r3: 80km}}`, with a link's fields.
func (r *shapeReader) join(part string, n yamltree.Node) Join {
	m := n.Map(joinFields...)
	given := 0
	for _, mode := range joinModes {
		if r.get(m, part, mode).Present() {
			given++
		}
	}
	if given != 1 && n.IsMap() {
		n.Reject("want exactly one of planar, spread, hub")
	}
	j := Join{Regions: r.regions(r.get(m, part, "regions")), Link: r.link(part, m)}
	switch {
	case m.Get("planar").Present():
		if m.Get("regions").Present() {
			m.Get("regions").Reject("want the regions as the list of planar")
		}
		j.Regions = r.regions(m.Get("planar"))
		r.fields[part+"regions"] = m.Get("planar")
	case m.Get("spread").Present():
		j.Mode, j.Width = SpreadJoin, whole(m.Get("spread"))
	default:
		j.Mode, j.Width = HubAndSpoke, whole(m.Get("hub"))
	}
	j.Lengths = r.lengths(r.get(m, part, "lengths"), j.Regions)
	return j
}

// lengths reads a mapping of regions to lengths into the order of the regions.
func (r *shapeReader) lengths(n yamltree.Node, regions []int) (list []int) {
	if !n.Present() {
		return nil
	}
	list = make([]int, or(len(regions), min(max(r.s.Regions, 0), maxRegions)))
	for _, e := range n.Entries() {
		v, ok := region(e.Name)
		at := v - 1
		if len(regions) > 0 {
			at = -1
			for i, of := range regions {
				if of == v {
					at = i
				}
			}
		}
		if !ok || at < 0 || at >= len(list) {
			e.Key.Reject("want a region of the join, such as r1")
			continue
		}
		if list[at] = readLength(e.Node); list[at] == 0 {
			e.Node.Reject("want more than 0m")
		}
	}
	return list
}
