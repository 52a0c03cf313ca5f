package topologies

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// shape is what one value of a topology file may be. The published schema is
// printed from these, and the tests ask the reader whether it agrees; a new
// field of the reader is one line in fileShape.
type shape struct {
	doc     string
	example any            // that the reader takes; not of objects and lists
	json    map[string]any // its own part of the schema
	words   []string       // of an enumeration
	bounds  *[2]int64      // of a whole number
	loose   bool           // the reader's bounds depend on other fields
	item    *shape         // of a list
	fields  []fieldShape   // of an object
	rules   map[string]any // of an object, what its fields alone do not say
	printed bool           // json has the items too
}

// fieldShape is a field of an object. Of groups that are not empty an object
// has the fields of one.
type fieldShape struct {
	name  string
	need  bool
	rule  bool // that it is needed is said by the object's rules, since it depends on other fields
	apart bool // in the schema, and not in this variant's example
	group string
	shape
}

const namePattern = `^[A-Za-z0-9_.-]+$`

func textShape(example, doc, pattern string) shape {
	return shape{doc: doc, example: example, json: map[string]any{"type": "string", "pattern": pattern}}
}

func nameShape(example, doc string) shape { return textShape(example, doc, namePattern) }

func enumShape(doc string, words ...string) shape {
	return shape{doc: doc, example: words[0], words: words, json: map[string]any{"enum": words}}
}

func wholeShape(lo, hi int64, doc string) shape {
	return shape{
		doc: fmt.Sprintf("%s: %d to %d", doc, lo, hi), example: lo, bounds: &[2]int64{lo, hi},
		json: map[string]any{"type": "integer", "minimum": lo, "maximum": hi},
	}
}

// like gives another example than the least number.
func (s shape) like(example int) shape { s.example = example; return s }

// depends marks bounds that are those of the schema only.
func (s shape) depends() shape { s.loose = true; return s }

func boolShape(doc string) shape {
	return shape{doc: doc, example: true, json: map[string]any{"type": "boolean"}}
}

func capacityShape(doc string, examples ...string) shape {
	return shape{doc: doc, example: examples[0], json: map[string]any{
		"anyOf": []any{
			map[string]any{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?[KMGTP]?$`},
			map[string]any{"type": "integer", "minimum": 1, "maximum": yamltree.MaxCapacity},
		},
		"examples": examples,
	}}
}

func lengthShape() shape {
	s := textShape("3km", "length, such as 300m or 2.5km, at most 5000km", `^([0-9]+m|[0-9]+(\.[0-9]{1,3})?km)$`)
	s.json["examples"] = []string{"300m", "3km", "80km"}
	return s
}

func listShape(doc string, item shape) shape {
	return shape{doc: doc, item: &item, json: map[string]any{"type": "array", "minItems": 1}}
}

func objectShape(doc string, fields ...fieldShape) shape { return shape{doc: doc, fields: fields} }

func need(name string, s shape) fieldShape { return fieldShape{name: name, need: true, shape: s} }

func may(name string, s shape) fieldShape { return fieldShape{name: name, shape: s} }

func (f fieldShape) of(group string) fieldShape { f.group = group; return f }

func (f fieldShape) byRule() fieldShape { f.rule = true; return f }

func (f fieldShape) setApart(apart bool) fieldShape { f.apart = apart; return f }

var speedNames = func() (list []string) {
	for _, s := range speeds {
		list = append(list, yamltree.FormatCapacity(s))
	}
	return list
}()

// variants are the file with a generator of one kind of fabrics, and with one of
// groups and joins. Both print the same schema.
func variants() []shape { return []shape{variantShape(false), variantShape(true)} }

func fileShape() shape { return variantShape(false) }

func variantShape(groups bool) shape {
	s := objectShape("A BAG network: either generate, or devices and bundles.",
		need("name", nameShape("net", "name of the network")),
		need("generate", generatorShape(groups)).of("generator"),
		need("devices", listShape("routers; their order gives router ids", deviceShape())).of("explicit"),
		need("bundles", listShape("parallel member links between two devices, one eBGP session each", bundleShape())).of("explicit"),
		may("prefixes", listShape("what devices originate", prefixShape())).of("explicit"),
	)
	s.fields[4].json = map[string]any{"type": "array"} // may be empty
	return s
}

// linkFieldShapes are those of a class of bundles, or what a group or join says of it.
func linkFieldShapes(members, length bool) []fieldShape {
	field := func(needed bool, name string, s shape) fieldShape {
		f := may(name, s)
		f.need = needed
		return f
	}
	return []fieldShape{
		field(members, "members", wholeShape(1, maxMembers, "member links of a pair of devices")),
		field(length, "length", lengthShape()),
		may("sessions", wholeShape(1, maxSessions, "bundles that the members are split into")),
		may("speed", capacityShape("bits/s of one member", speedNames...)),
		may("optic", nameShape(OpticLR, "optic class")),
	}
}

func linkShape(members, length bool) shape {
	return objectShape("bundles of this class", linkFieldShapes(members, length)...)
}

// rolesShape has one value for each role.
func rolesShape(doc string, roles []string, of shape) shape {
	s := objectShape(doc)
	for _, role := range roles {
		s.fields = append(s.fields, may(role, of))
	}
	return s
}

func unitsShape(roles []string) shape {
	return rolesShape("chassis by role", roles, wholeShape(1, maxUnits, "chassis that one device stands for"))
}

func asicsShape(roles []string) shape {
	name := nameShape("jericho3", "FIB profile")
	return rolesShape("hardware by role", roles, shape{
		doc: "FIB profile, or a list that is taken in turn by plane or number", example: "jericho3",
		json: map[string]any{"anyOf": []any{name.schema(), listShape("", name).schema()}},
	})
}

func ratioShape() shape {
	return shape{doc: "the N of N:1 towards the bags, in thousandths", example: 4.5, json: map[string]any{"type": "number", "minimum": 0.1, "maximum": 100}}
}

func regionsShape() shape {
	return listShape("regions, ascending", textShape("r1", "a region", "^r[1-9][0-9]{0,2}$"))
}

func edgesShape() shape {
	return enumShape("how a fabric meets the bags; by its kind where left out", edgeJoins[1:]...)
}

// fabricsShape is a number, or groups.
func fabricsShape(groups bool) shape {
	number, list := wholeShape(1, maxFabrics, "fabrics in each region"), listShape("groups of fabrics", groupShape())
	either := map[string]any{"anyOf": []any{number.schema(), list.schema()}}
	number.json, number.doc = either, "fabrics in each region, or groups of them"
	list.json, list.doc, list.printed = either, number.doc, true
	if groups {
		return list
	}
	return number
}

func groupShape() shape {
	return objectShape("fabrics that are alike; what is left out is as the whole network has it",
		may("count", wholeShape(1, maxFabrics, "fabrics in each region")),
		may("regions", regionsShape()),
		may("spines", wholeShape(1, maxOwners, "spines in each fabric")),
		may("racks", wholeShape(1, maxOwners, "racks in each fabric")),
		may("kind", enumShape("kind of the fabrics", kinds[:]...)),
		may("edges", edgesShape()),
		may("oversubscription", ratioShape()),
		may("asics", asicsShape(lowerRoles)),
		may("speed", capacityShape("bits/s of one member", speedNames...)),
		may("bundles", objectShape("what differs of the bundles of each class",
			may("rack-spine", linkShape(false, false)), may("spine-edge", linkShape(false, false)),
			may("edge-bag", linkShape(false, false)), may("spine-bag", linkShape(false, false)))),
		may("units", unitsShape(lowerRoles)),
	)
}

func joinShape() shape {
	lengths := lengthShape()
	fields := append([]fieldShape{
		need("planar", regionsShape()).of("planar"),
		need("spread", wholeShape(1, maxDevices, "planes of the other region that a bag joins").depends()).of("spread"),
		need("hub", wholeShape(1, maxTops, "hubs that each bag joins")).of("hub"),
		may("regions", regionsShape()),
		may("lengths", shape{doc: "lengths by region", example: map[string]any{"r1": "3km"}, json: map[string]any{
			"type": "object", "patternProperties": map[string]any{"^r[1-9][0-9]{0,2}$": lengths.schema()}, "additionalProperties": false,
		}}),
	}, linkFieldShapes(false, false)...)
	return objectShape("regions that are joined in one way, all where none are named: exactly one of planar, spread, hub", fields...)
}

func generatorShape(groups bool) shape {
	perFabric := func(f fieldShape) fieldShape { f.need = !groups; return f.byRule() }
	s := objectShape("a network in a few numbers",
		need("regions", wholeShape(1, maxRegions, "regions").like(2)),
		need("planes", wholeShape(1, maxDevices, "BAG planes")),
		need("fabrics", fabricsShape(groups)),
		perFabric(may("spines", wholeShape(1, maxOwners, "spines in each fabric"))),
		may("racks", wholeShape(0, maxOwners, "racks in each fabric; 0 is no such layer")),
		may("spread", wholeShape(0, maxDevices, "planes of the other region that a bag joins; 0 is planar, its own plane").depends()).setApart(groups),
		may("joins", listShape("how regions are joined; left out: every two as spread says", joinShape())).setApart(!groups),
		may("backbone", wholeShape(0, maxTops, "backbone devices above hubs, or above bags")),
		perFabric(may("kind", enumShape("kind of all fabrics", kinds[:]...))),
		may("edges", edgesShape()),
		may("oversubscription", ratioShape()),
		may("addressing", enumShape("families of the prefixes", addressings[:]...)),
		may("asn", enumShape("which devices share an ASN", asnPlans[:]...)),
		may("asics", asicsShape(roleFields)),
		need("speed", capacityShape("bits/s of one member", speedNames...)),
		need("bundles", objectShape("the bundles of each class that the network has; members of edge-bag and spine-bag follow from the oversubscription where left out",
			perFabric(may("spine-edge", linkShape(true, true))), perFabric(may("edge-bag", linkShape(false, true))), may("bag-bag", linkShape(true, true)),
			may("rack-spine", linkShape(true, true)), may("spine-bag", linkShape(false, true)), may("bag-hub", linkShape(true, true)),
			may("hub-backbone", linkShape(true, true)), may("bag-backbone", linkShape(true, true)))),
		may("units", unitsShape(roleFields)),
		may("ports", rolesShape("ports of a chassis by role", roleFields, wholeShape(0, maxMembers, "ports of 800G; 0 is the role's default"))),
		may("aggregates", objectShape("which prefixes are aggregates of their more-specifics",
			may("fabric", aggregateShape()), may("region", aggregateShape()))),
	)
	alike := map[string]any{"type": "integer"}
	s.rules = map[string]any{"allOf": []any{
		map[string]any{
			"if":   map[string]any{"anyOf": []any{map[string]any{"properties": map[string]any{"regions": map[string]any{"const": 1}}}, map[string]any{"required": []string{"joins"}}}},
			"else": map[string]any{"properties": map[string]any{"bundles": map[string]any{"required": []string{"bag-bag"}}}},
		},
		map[string]any{
			"if":   map[string]any{"properties": map[string]any{"fabrics": alike}},
			"then": map[string]any{"required": []string{"spines", "kind"}},
		},
		map[string]any{
			"if": map[string]any{"properties": map[string]any{
				"fabrics": alike, "kind": map[string]any{"not": map[string]any{"const": "zone"}}, "edges": map[string]any{"const": MatchingPlane.String()},
			}},
			"then": map[string]any{"properties": map[string]any{"bundles": map[string]any{"required": []string{"spine-edge", "edge-bag"}}}},
		},
	}}
	return s
}

func deviceShape() shape {
	return objectShape("a router, or several that act as one",
		need("name", nameShape("d1", "its name")),
		need("role", enumShape("what it does; a higher role is a higher tier", roleNames[1:]...)),
		may("region", nameShape("r1", "its region")),
		may("fabric", nameShape("r1-f1", "its fabric; none above the edge layer")),
		may("kind", enumShape("kind of its fabric", kinds[:]...)),
		may("plane", wholeShape(0, maxDevices, "BAG plane; 0 is none")),
		need("asn", wholeShape(1, 1<<32-1, "ASN, private ones welcome")),
		need("asic", nameShape("jericho3", "FIB profile of its hardware")),
		may("units", wholeShape(1, maxUnits, "chassis that it stands for")),
		may("hall", nameShape("h1", "data hall")),
		may("power", nameShape("p1", "power domain")),
		may("ports", wholeShape(0, maxMembers, "ports of one chassis; 0 is not known")),
		may("linecards", wholeShape(0, maxLineCards, "line cards of one chassis; 0 is not known")),
	)
}

func bundleShape() shape {
	return objectShape("one bundle",
		may("name", textShape("d1--d2", "its name; a--b where left out", `^[A-Za-z0-9_.#-]+$`)),
		need("a", nameShape("d1", "device of the lower tier")),
		need("b", nameShape("d2", "the other device")),
		need("members", wholeShape(1, maxMembers, "member links at full health")),
		need("speed", capacityShape("bits/s of one member", speedNames...)),
		need("length", lengthShape()),
		may("route", nameShape("duct-1", "fibre route")),
		may("optic", nameShape("FR4-LITE", "optic class")),
	)
}

func prefixShape() shape {
	return objectShape("one prefix",
		need("prefix", textShape("10.1.0.0/24", "the prefix", `^[0-9A-Fa-f.:]+/[0-9]{1,3}$`)),
		may("class", nameShape("fabric", "its class, for damping rules and policies")),
		need("origins", listShape("devices that originate it", nameShape("d1", "a device"))),
		may("bandwidth", capacityShape("bits/s told at the origin; left out: the sum of the origin's bundles", "6.4T")),
		may("aggregate", aggregateShape()),
	)
}

func aggregateShape() shape {
	count := func(doc string) shape { return wholeShape(1, 1<<20, doc) }
	const announce, withdraw = "announced from here", "withdrawn below this; at most announce"
	return objectShape("announced while enough of its more-specifics are there: exactly one of the two measures",
		need(BySupporting, objectShape("by the number of more-specifics",
			need("announce", count(announce)), need("withdraw", count(withdraw)))).of("count"),
		need(ByCapacity, objectShape("by the capacity behind them, in bits/s",
			need("announce", capacityShape(announce, "6.4T")), need("withdraw", capacityShape(withdraw, "800G")))).of("capacity"),
		may("suppress", boolShape("tell the more-specifics only down")),
	)
}

// schema prints the shape's part of the JSON Schema.
func (s shape) schema() map[string]any {
	m := map[string]any{"description": s.doc}
	for k, v := range s.json {
		m[k] = v
	}
	if s.item != nil && !s.printed {
		m["items"] = s.item.schema()
	}
	if s.fields == nil {
		return m
	}
	properties := map[string]any{}
	needed := map[string][]string{}
	var groups []string
	for _, f := range s.fields {
		properties[f.name] = f.schema()
		if _, ok := needed[f.group]; !ok {
			needed[f.group] = []string{}
			if f.group != "" {
				groups = append(groups, f.group)
			}
		}
		if f.need && !f.rule {
			needed[f.group] = append(needed[f.group], f.name)
		}
	}
	m["type"], m["additionalProperties"], m["properties"] = "object", false, properties
	if len(needed[""]) > 0 {
		m["required"] = needed[""]
	}
	var forms []any
	for _, g := range groups {
		var others []any
		for _, f := range s.fields {
			if f.group != "" && f.group != g {
				others = append(others, map[string]any{"required": []string{f.name}})
			}
		}
		forms = append(forms, map[string]any{"required": needed[g], "not": map[string]any{"anyOf": others}})
	}
	if forms != nil {
		m["oneOf"] = forms
	}
	for k, v := range s.rules {
		m[k] = v
	}
	return m
}

// printSchema is the whole published file.
func printSchema(file shape) string {
	m := file.schema()
	m["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	m["$id"] = "https://github.com/bagrig/bagrig/topologies/schema.json"
	m["title"] = "bagrig topology"
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// build makes the example of a shape with everything in it; what is at the path
// goes through change, which may give nil to leave it out. Of groups it takes
// the path's, or the first.
func (s shape) build(path []string, change func(any) any) any {
	v := s.example
	switch {
	case s.item != nil:
		var inner []string
		if len(path) > 0 {
			inner = path[1:]
		}
		v = []any{s.item.build(inner, orNot(change, len(path) > 0))}
	case s.fields != nil:
		v = s.buildFields(path, change)
	}
	if len(path) == 0 && change != nil {
		return change(v)
	}
	return v
}

func orNot(change func(any) any, do bool) func(any) any {
	if do {
		return change
	}
	return nil
}

func (s shape) buildFields(path []string, change func(any) any) any {
	group := ""
	for _, f := range s.fields {
		if onPath := len(path) > 0 && f.name == path[0]; f.group != "" && (group == "" || onPath) {
			group = f.group
		}
	}
	m := map[string]any{}
	for _, f := range s.fields {
		if f.group != "" && f.group != group || f.apart {
			continue
		}
		on := len(path) > 0 && path[0] == f.name
		var inner []string
		if on {
			inner = path[1:]
		}
		if v := f.build(inner, orNot(change, on)); v != nil {
			m[f.name] = v
		}
	}
	return m
}

// visit calls see for every value in the shape, outermost first.
func (s shape) visit(path []string, see func(path []string, s shape)) {
	see(path, s)
	if s.item != nil {
		s.item.visit(append(path[:len(path):len(path)], "0"), see)
	}
	for _, f := range s.fields {
		if f.apart {
			continue
		}
		f.visit(append(path[:len(path):len(path)], f.name), see)
	}
}

// fieldName is a path as errors print it: "bundles[0].members".
func fieldName(path []string) string {
	var b strings.Builder
	for _, p := range path {
		switch {
		case p == "0":
			b.WriteString("[0]")
		case b.Len() > 0:
			b.WriteString("." + p)
		default:
			b.WriteString(p)
		}
	}
	return b.String()
}
