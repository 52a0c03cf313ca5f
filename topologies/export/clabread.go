package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// outside are the kinds of nodes that are no routers, and the words that stand
// for no node in a brief link.
var outside = []string{"bridge", "ovs-bridge", "host", "mgmt-net", "macvlan", "dummy"}

// noRole is the role of a node that is no part of the network, such as a
// traffic generator.
const noRole = "none"

// ReadClab makes a topology of a containerlab file. A node is a device; its
// role is its label bagrig.role, or else its group where that is the name of a
// role. Parallel links between two nodes are one bundle with that many
// members. Everything else comes from labels (Labels): a node's own, its
// group's, its kind's or the defaults', the first that has one. What is
// missing is asked for by name, at the place where it is missing; the error is
// a *yamltree.Errs. Rules judge names of ASICs, as in topologies.Read.
//
// The notes say what was left out: nodes with the role "none", bridges, and
// links that lead to no other device.
func ReadClab(file string, data []byte, rules ...topologies.ASICRule) (t *topologies.Topology, notes []string, err error) {
	doc, err := yamltree.Parse(file, data)
	if err != nil {
		return nil, nil, err
	}
	r := clabReader{
		t: &topologies.Topology{}, devices: map[string]int{}, left: map[string]bool{},
		used: map[string]bool{}, bundles: map[bundleKey]int{}, names: map[string]bool{}, missing: map[string]*asked{},
	}
	r.file(doc.Root())
	if doc.Err() == nil {
		r.check(rules)
	}
	if err := doc.Err(); err != nil {
		return nil, nil, err
	}
	return r.t, r.notes, nil
}

type clabReader struct {
	t        *topologies.Topology
	notes    []string
	top      yamltree.Node // the whole file
	defaults labels
	kinds    map[string]labels
	groups   map[string]labels
	kindOf   map[string]string // groups' kinds
	groupOf  map[string]string // kinds' groups
	kind     string            // the defaults'
	group    string

	devices map[string]int  // by name
	left    map[string]bool // nodes that are no devices
	used    map[string]bool // "node:interface"
	origins origins
	bundles map[bundleKey]int
	names   map[string]bool   // of bundles
	missing map[string]*asked // by class of bundle
	asked   []*asked

	// Where things stand, for errors: of each device and bundle its place and
	// that of each field.
	deviceAt, bundleAt []placed
	originatesAt       map[string]yamltree.Node
}

// placed is where a device or a bundle stands in the file.
type placed struct {
	node   yamltree.Node
	fields map[string]yamltree.Node
}

// bundleKey is what parallel links have in common that are one bundle.
type bundleKey struct{ a, b, name, speed, length, route, optic string }

// asked is what the links of one class do not say; it is asked for once.
type asked struct {
	node  yamltree.Node
	what  []string
	links int
}

// labels are labels of ours, without their prefix.
type labels map[string]yamltree.Node

// members reads a mapping of which only some fields matter here.
func members(n yamltree.Node) map[string]yamltree.Node {
	m := map[string]yamltree.Node{}
	if empty(n) {
		return m
	}
	for _, e := range n.Entries() {
		m[e.Name] = e.Node
	}
	return m
}

// empty tells whether a value is left out or null, as `node1:` alone is.
func empty(n yamltree.Node) bool {
	if !n.Present() {
		return true
	}
	if !n.IsScalar() {
		return false
	}
	s := n.Scalar("")
	return s == "" || s == "null" || s == "~"
}

func (r *clabReader) file(root yamltree.Node) {
	r.top = root
	if !root.IsMap() {
		root.Reject("want a containerlab file, with name: and topology:")
		return
	}
	m := members(root)
	name, topology := m["name"], m["topology"]
	if !name.Present() || !topology.Present() {
		root.Reject("want a containerlab file, with name: and topology:")
		return
	}
	r.t.Name = name.Scalar("")
	parts := members(topology)
	nodes, _ := Labels()
	r.readDefaults(parts["defaults"])
	r.kinds, r.groupOf = layer(parts["kinds"], "group", nodes)
	r.groups, r.kindOf = layer(parts["groups"], "kind", nodes)
	r.originatesAt = map[string]yamltree.Node{}
	if empty(parts["nodes"]) {
		topology.Reject("want nodes: in it")
		return
	}
	for _, e := range parts["nodes"].Entries() {
		r.node(e)
	}
	r.t.Prefixes = r.origins.prefixes()
	if !empty(parts["links"]) {
		for _, n := range parts["links"].List() {
			r.link(n)
		}
	}
	for _, a := range r.asked {
		more := ""
		if a.links > 1 {
			more = fmt.Sprintf(" (and %d more such links)", a.links-1)
		}
		a.node.Reject("want %s%s", strings.Join(a.what, " and "), more)
	}
}

func (r *clabReader) readDefaults(n yamltree.Node) {
	m := members(n)
	r.kind, r.group = m["kind"].Scalar(""), m["group"].Scalar("")
	nodes, links := Labels()
	links = links[1:] // a name is one bundle's
	known := slices.Concat(nodes, links)
	for a := lowestRole; a <= topologies.Backbone; a++ {
		for b := a; b <= topologies.Backbone; b++ {
			for _, l := range links {
				known = append(known, labelPrefix+classOf(a, b)+"."+strings.TrimPrefix(l, labelPrefix))
			}
		}
	}
	r.defaults = readLabels(m["labels"], known, slices.Concat(nodes, links, []string{"bagrig.CLASS.speed"}))
}

// layer reads kinds or groups: the labels of each, and one of its other fields.
func layer(n yamltree.Node, other string, known []string) (map[string]labels, map[string]string) {
	list, others := map[string]labels{}, map[string]string{}
	if empty(n) {
		return list, others
	}
	for _, e := range n.Entries() {
		m := members(e.Node)
		list[e.Name], others[e.Name] = readLabels(m["labels"], known, known), m[other].Scalar("")
	}
	return list, others
}

// readLabels keeps our own labels and refuses unknown ones, which are typing
// mistakes; shown are the names that the error gives.
func readLabels(n yamltree.Node, known, shown []string) labels {
	found := labels{}
	if empty(n) {
		return found
	}
	for _, e := range n.Entries() {
		name, ours := strings.CutPrefix(e.Name, labelPrefix)
		switch {
		case !ours:
		case !slices.Contains(known, e.Name):
			e.Key.Reject("unknown label: want one of %s", strings.Join(shown, ", "))
		default:
			found[name] = e.Node
		}
	}
	return found
}

func (r *clabReader) node(e yamltree.Entry) {
	m := members(e.Node)
	nodes, _ := Labels()
	own := readLabels(m["labels"], nodes, nodes)
	kind, group := m["kind"].Scalar(""), m["group"].Scalar("")
	if kind == "" {
		kind = first(r.kindOf[group], r.kind)
	}
	group = first(group, r.groupOf[kind], r.group)
	find := func(name string) yamltree.Node {
		for _, l := range []labels{own, r.groups[group], r.kinds[kind], r.defaults} {
			if n, ok := l[name]; ok {
				return n
			}
		}
		return yamltree.Node{}
	}
	if find("role").Scalar("") == noRole || slices.Contains(outside, kind) {
		r.left[e.Name] = true
		r.notes = append(r.notes, fmt.Sprintf("node %q is no device: left out", e.Name))
		return
	}
	d, at := topologies.Device{Name: e.Name, Units: 1}, placed{node: e.Key, fields: map[string]yamltree.Node{"name": e.Key}}
	var missing []string
	for _, f := range deviceFields[1:] {
		n := find(f.name)
		at.fields[f.name] = n
		if n.Present() {
			if want := f.set(&d, n.Scalar("")); want != "" {
				n.Reject("%s", want)
			}
			continue
		}
		switch f.name {
		case "role":
			if role, ok := topologies.ParseRole(group); ok {
				d.Role = role
				continue
			}
			missing = append(missing, fmt.Sprintf("a role (label bagrig.role, or group, one of %s; %s leaves the node out)", roleNames(), noRole))
		case "asn", "asic":
			missing = append(missing, fmt.Sprintf("%s (label bagrig.%s)", f.name, f.name))
		}
	}
	if len(missing) > 0 {
		e.Key.Reject("want %s", strings.Join(missing, ", "))
	}
	r.devices[e.Name] = len(r.t.Devices)
	r.t.Devices, r.deviceAt = append(r.t.Devices, d), append(r.deviceAt, at)
	if n := find(originatesLabel); n.Present() {
		if want := r.origins.add(d.Name, n.Scalar("")); want != "" {
			n.Reject("%s", want)
		}
		r.originatesAt[d.Name] = n
	}
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// link reads one link in the brief or the extended form.
func (r *clabReader) link(n yamltree.Node) {
	m := members(n)
	_, known := Labels()
	own := readLabels(m["labels"], known, known)
	kind := m["type"].Scalar("")
	if kind != "" && kind != "veth" && kind != "veth-stitch" {
		r.notes = append(r.notes, fmt.Sprintf("%s of type %q joins no two devices: left out", n.Field(), kind))
		return
	}
	list := m["endpoints"].List()
	if len(list) != 2 {
		n.Reject(`want two endpoints, such as endpoints: ["a:eth1", "b:eth1"]`)
		return
	}
	var names [2]string
	var ends [2]int
	for i, e := range list {
		name, port := endpoint(e)
		if port == "" {
			return // said already
		}
		names[i] = name
		if r.left[name] || slices.Contains(outside, name) {
			r.notes = append(r.notes, fmt.Sprintf("%s leads to %q, which is no device: left out", n.Field(), name))
			return
		}
		d, ok := r.devices[name]
		if !ok {
			e.Reject("no such node: want one of topology.nodes")
			return
		}
		if r.used[name+":"+port] {
			e.Reject("interface %s of %q has a link already: want another", port, name)
			return
		}
		r.used[name+":"+port], ends[i] = true, d
	}
	a, b := &r.t.Devices[ends[0]], &r.t.Devices[ends[1]]
	if a.Role > b.Role {
		a, b = b, a
	}
	r.bundle(n, own, a, b)
}

// endpoint reads "node:interface" or {node: , interface: }; after an error it
// gives nothing.
func endpoint(n yamltree.Node) (node, port string) {
	if n.IsMap() {
		m := members(n)
		node, port = m["node"].Scalar(""), m["interface"].Scalar("")
	} else {
		node, port, _ = strings.Cut(n.Scalar(""), ":")
	}
	if node == "" || port == "" {
		n.Reject(`want "node:interface", or {node: NAME, interface: NAME}`)
		return "", ""
	}
	return node, port
}

// tooMany members are more than a bundle has, and far from an int's limit.
const tooMany = 1 << 30

// bundle makes the link a bundle, or a part of one that is there.
func (r *clabReader) bundle(n yamltree.Node, own labels, a, b *topologies.Device) {
	u, at := topologies.Bundle{A: a.Name, B: b.Name, Members: 1}, placed{node: n, fields: map[string]yamltree.Node{}}
	class := "" // not known while a role is asked for
	if a.Role >= lowestRole && b.Role >= lowestRole {
		class = classOf(a.Role, b.Role)
	}
	var missing []string
	for _, f := range bundleFields {
		if f.name == "a" || f.name == "b" {
			continue
		}
		value := own[f.name]
		for _, name := range []string{class + "." + f.name, f.name} {
			if !value.Present() && f.name != "name" {
				value = r.defaults[name]
			}
		}
		at.fields[f.name] = value
		switch {
		case value.Present():
			if want := f.set(&u, value.Scalar("")); want != "" {
				value.Reject("%s", want)
			}
		case f.name == "speed" || f.name == "length":
			byClass := fmt.Sprintf("bagrig.%s.%s or ", class, f.name)
			if class == "" {
				byClass = ""
			}
			missing = append(missing, fmt.Sprintf("a %s (label bagrig.%s of the link, or %sbagrig.%s in the labels of topology.defaults)",
				f.name, f.name, byClass, f.name))
		}
	}
	if u.Members < 1 { // else another link's could make up for it
		at.fields["members"].Reject("want at least 1")
		return
	}
	if len(missing) > 0 {
		r.ask(n, class, missing)
		return
	}
	key := bundleKey{u.A, u.B, u.Name, fmt.Sprint(u.Speed), fmt.Sprint(u.Length), u.Route, u.Optic}
	if i, ok := r.bundles[key]; ok {
		r.t.Bundles[i].Members = min(r.t.Bundles[i].Members, tooMany) + min(u.Members, tooMany)
		return
	}
	r.bundles[key] = len(r.t.Bundles)
	if u.Name == "" {
		u.Name = r.freeName(u.A, u.B)
	}
	r.names[u.Name] = true
	r.t.Bundles, r.bundleAt = append(r.t.Bundles, u), append(r.bundleAt, at)
}

// freeName is "a--b", or "a--b#2" where parallel links differ in what they are.
func (r *clabReader) freeName(a, b string) string {
	name := a + "--" + b
	for i := 2; r.names[name]; i++ {
		name = fmt.Sprintf("%s--%s#%d", a, b, i)
	}
	return name
}

func (r *clabReader) ask(n yamltree.Node, class string, what []string) {
	key := class + strings.Join(what, "")
	a, ok := r.missing[key]
	if !ok {
		a = &asked{node: n, what: what}
		r.missing[key], r.asked = a, append(r.asked, a)
	}
	a.links++
}

// check places what is wrong with the topology as a whole.
func (r *clabReader) check(rules []topologies.ASICRule) {
	for _, f := range topologies.Findings(r.t, rules...) {
		at, subject := placed{node: r.top}, ""
		switch {
		case f.Device >= 0:
			at, subject = r.deviceAt[f.Device], fmt.Sprintf("device %q: ", r.t.Devices[f.Device].Name)
		case f.Bundle >= 0:
			at, subject = r.bundleAt[f.Bundle], fmt.Sprintf("bundle %q: ", r.t.Bundles[f.Bundle].Name)
		case f.Prefix >= 0:
			p := &r.t.Prefixes[f.Prefix]
			at.node, subject = r.originatesAt[p.Origins[0]], fmt.Sprintf("prefix %s: ", p.Prefix)
			at.fields = map[string]yamltree.Node{"prefix": at.node} // which the subject names
		}
		n := at.fields[f.Field]
		sum := f.Field == "members" && n.Scalar("1") != f.Value
		switch {
		case sum:
			subject += fmt.Sprintf("with those of its parallel links members %s: ", f.Value)
		case n.Present():
			at.node = n
		case f.Field != "":
			subject += fmt.Sprintf("%s %s: ", f.Field, f.Value)
		}
		at.node.Reject("%s%s", subject, f.Want)
	}
}
