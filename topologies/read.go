package topologies

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Read reads a topology file in either form: a generator description
// ("generate:") or the explicit form ("devices:", "bundles:", "prefixes:").
// The error is a *yamltree.Errs that holds everything that is wrong with the
// file; file is the name it carries. Whatever the file says, Read allocates in
// all at most 2 KiB for each of its bytes, and 512 MiB for what they describe.
func Read(file string, data []byte) (*Topology, error) {
	doc, err := yamltree.Parse(file, data)
	if err != nil {
		return nil, err
	}
	t := readMap(doc.Root())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// ReadNode reads a topology that stands inside another document: the name of a
// preset, or a mapping in either of Read's forms. What is wrong is noted in
// the node's document, and then the topology is nil.
func ReadNode(n yamltree.Node) *Topology {
	if !n.IsScalar() {
		return readMap(n)
	}
	name := n.Text("")
	t, err := Preset(name)
	if err != nil {
		n.Reject("%s", wantPreset())
		return nil
	}
	return t
}

func readMap(n yamltree.Node) *Topology {
	if !n.Present() {
		return nil
	}
	before := n.Doc().Count()
	m := n.Map("name", "generate", "devices", "bundles", "prefixes")
	if !n.IsMap() {
		return nil
	}
	var t *Topology
	if m.Get("generate").Present() {
		for _, field := range []string{"devices", "bundles", "prefixes"} {
			m.Get(field).Reject(`a file holds either "generate" or a list of devices, not both`)
		}
		t = readShape(m)
	} else {
		t = readExplicit(m)
	}
	if n.Doc().Count() > before {
		return nil
	}
	return t
}

func readLength(n yamltree.Node) int {
	metres, ok := parseLength(n.Scalar("0m"))
	if !ok {
		n.Reject(wantLength)
	}
	return metres
}

// explicit holds the mappings of the explicit form beside the topology, so
// that findings can be placed.
type explicit struct {
	t     *Topology
	root  yamltree.Map
	parts map[part][]yamltree.Map
}

func readExplicit(m yamltree.Map) *Topology {
	e := explicit{t: &Topology{Name: m.Need("name").Text("")}, root: m, parts: map[part][]yamltree.Map{}}
	for _, n := range m.Need("devices").List() {
		e.device(n)
	}
	for _, n := range m.Need("bundles").List() {
		e.bundle(n)
	}
	for _, n := range m.Get("prefixes").List() {
		e.prefix(n)
	}
	if m.Get("devices").IsList() && m.Get("bundles").IsList() {
		e.t.check(e.place)
	}
	return e.t
}

func (e *explicit) device(n yamltree.Node) {
	m := n.Map("name", "role", "region", "fabric", "kind", "plane", "asn", "asic", "units", "hall", "power", "ports", "linecards")
	e.parts[devicePart] = append(e.parts[devicePart], m)
	role, ok := ParseRole(m.Need("role").Text(""))
	if !ok {
		m.Get("role").Reject(wantRole)
	}
	e.t.Devices = append(e.t.Devices, Device{
		Name:   m.Need("name").Text(""),
		Role:   role,
		Region: m.Get("region").Text(""),
		Fabric: m.Get("fabric").Text(""),
		Kind:   m.Get("kind").Text(""),
		Plane:  int(m.Get("plane").Whole(0)),
		ASN:    uint32(m.Need("asn").Int(0, 1, 1<<32-1)),
		ASIC:   m.Need("asic").Text(""),
		Units:  int(m.Get("units").Whole(1)),
		Hall:   m.Get("hall").Text(""), Power: m.Get("power").Text(""),
		Ports: int(m.Get("ports").Whole(0)), LineCards: int(m.Get("linecards").Whole(0)),
	})
}

func (e *explicit) bundle(n yamltree.Node) {
	m := n.Map("name", "a", "b", "members", "speed", "length", "route", "optic")
	e.parts[bundlePart] = append(e.parts[bundlePart], m)
	b := Bundle{
		A:       m.Need("a").Text(""),
		B:       m.Need("b").Text(""),
		Members: int(m.Need("members").Whole(0)),
		Speed:   m.Need("speed").Capacity(0),
		Length:  readLength(m.Need("length")),
		Route:   m.Get("route").Text(""),
		Optic:   m.Get("optic").Text(""),
	}
	b.Name = m.Get("name").Text(b.A + "--" + b.B)
	e.t.Bundles = append(e.t.Bundles, b)
}

func (e *explicit) prefix(n yamltree.Node) {
	m := n.Map("prefix", "class", "origins", "bandwidth", "aggregate")
	e.parts[prefixPart] = append(e.parts[prefixPart], m)
	p := Prefix{Class: m.Get("class").Text(""), Bandwidth: m.Get("bandwidth").Capacity(0)}
	var err error
	if p.Prefix, err = netip.ParsePrefix(m.Need("prefix").Text("")); err != nil {
		m.Get("prefix").Reject(wantPrefix)
	}
	for _, o := range m.Need("origins").List() {
		p.Origins = append(p.Origins, o.Text(""))
	}
	p.Aggregate = readAggregate(m.Get("aggregate"))
	e.t.Prefixes = append(e.t.Prefixes, p)
}

// readAggregate reads `{min-supporting: {announce: 2, withdraw: 1}, suppress: true}`
// or the same with min-capacity and capacities.
func readAggregate(n yamltree.Node) *Aggregate {
	if !n.Present() {
		return nil
	}
	m := n.Map(BySupporting, ByCapacity, "suppress")
	a := &Aggregate{Suppress: m.Get("suppress").Bool(false)}
	count, capacity := m.Get(BySupporting), m.Get(ByCapacity)
	switch {
	case count.Present() == capacity.Present():
		n.Reject("want exactly one of %s, %s", BySupporting, ByCapacity)
	case count.Present():
		a.By = BySupporting
		t := count.Map("announce", "withdraw")
		a.Announce = uint64(t.Need("announce").Int(1, 1, 1<<20))
		a.Withdraw = uint64(t.Need("withdraw").Int(1, 1, 1<<20))
	default:
		a.By = ByCapacity
		t := capacity.Map("announce", "withdraw")
		a.Announce, a.Withdraw = t.Need("announce").Capacity(1), t.Need("withdraw").Capacity(1)
	}
	if a.Withdraw > a.Announce {
		n.Reject("withdraw above announce: want at most announce")
	}
	return a
}

// place notes a finding at the field that it is about. Of fields that are
// missing only a bundle's name has a default that can be wrong: the others are
// reported as missing already.
func (e *explicit) place(f finding) {
	m := e.root
	if f.part != wholePart {
		m = e.parts[f.part][f.index]
	}
	if f.field == "" {
		m.Node().Reject("%s", e.t.subject(f)+f.want)
		return
	}
	n := e.field(m, f.field)
	if n.Present() {
		n.Reject("%s", f.want)
	} else if f.part == bundlePart && f.field == "name" && m.Get("a").Present() && m.Get("b").Present() {
		m.Node().Reject("name %s: %s", f.value, f.want)
	}
}

func (e *explicit) field(m yamltree.Map, name string) yamltree.Node {
	list, index, ok := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	if !ok {
		return m.Get(name)
	}
	i, err := strconv.Atoi(index)
	if items := m.Get(list).List(); err == nil && i < len(items) {
		return items[i]
	}
	return m.Get(list)
}
