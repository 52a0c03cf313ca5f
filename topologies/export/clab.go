package export

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// prefixed are the labels of ours in a containerlab file.
const labelPrefix = "bagrig."

// Labels lists the labels that ReadClab understands, in the order of the
// fields: those of nodes, which groups, kinds and the defaults may hold too,
// and those of links, which the defaults may hold as `bagrig.speed` for all
// links and as `bagrig.edge-bag.speed` for a class of them.
func Labels() (nodes, links []string) {
	for _, f := range deviceFields[1:] {
		nodes = append(nodes, labelPrefix+f.name)
	}
	nodes = append(nodes, labelPrefix+originatesLabel)
	for _, f := range bundleFields {
		if f.name != "a" && f.name != "b" {
			links = append(links, labelPrefix+f.name)
		}
	}
	return nodes, links
}

const originatesLabel = "originates"

// clabName is what containerlab's schema allows as a node's or a lab's name.
var clabName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// writeClab prints a containerlab file: a node for each device, with its role
// as its group and its other fields as labels, and a link for each bundle,
// which carries the bundle's one session. What all bundles of a class have in
// common stands once, in the labels of the defaults.
func writeClab(t *topologies.Topology) ([]byte, error) {
	if !clabName.MatchString(t.Name) {
		return nil, fmt.Errorf("topology %q: name: want a letter or digit first, which containerlab asks for", t.Name)
	}
	if n := len(t.Devices); n > yamltree.MaxKeys {
		return nil, fmt.Errorf("topology %q: %d devices: want at most %d, the nodes that a file may hold to be read back", t.Name, n, yamltree.MaxKeys)
	}
	w := clabWriter{t: t, x: t.Index(), told: originates(t), common: map[string][]string{}, ports: map[string]int{}}
	fmt.Fprintf(&w.b, "# Nodes have no image and no configuration yet: set topology.defaults.image.\n"+
		"# A link stands for a bundle; labels say what is in it.\nname: %s\ntopology:\n", yamltree.Quote(t.Name))
	w.defaults()
	w.b.WriteString("  nodes:\n")
	for i := range t.Devices {
		if err := w.node(&t.Devices[i]); err != nil {
			return nil, err
		}
	}
	if len(t.Bundles) > 0 {
		w.b.WriteString("  links:\n")
	}
	for i := range t.Bundles {
		w.link(i)
	}
	return bounded(t, &w.b)
}

type clabWriter struct {
	b      bytes.Buffer
	t      *topologies.Topology
	x      *topologies.Index
	told   map[string]string
	common map[string][]string // by class of bundle: the values that all have, by link field; empty where they differ
	ports  map[string]int      // interfaces given so far
}

// linkFields are what a class's bundles can have in common.
var linkFields = bundleFields[3:]

func (w *clabWriter) class(i int) string {
	ends := w.x.Ends[i]
	return classOf(w.t.Devices[ends[0]].Role, w.t.Devices[ends[1]].Role)
}

func classOf(a, b topologies.Role) string { return min(a, b).String() + "-" + max(a, b).String() }

func (w *clabWriter) defaults() {
	var classes []string
	for i := range w.t.Bundles {
		class, u := w.class(i), &w.t.Bundles[i]
		values, seen := w.common[class]
		if !seen {
			classes = append(classes, class)
			values = make([]string, len(linkFields))
		}
		for k, f := range linkFields {
			switch {
			case !seen:
				values[k] = f.get(u)
			case values[k] != f.get(u):
				values[k] = ""
			}
		}
		w.common[class] = values
	}
	w.b.WriteString("  defaults:\n    kind: linux\n")
	if len(classes) == 0 {
		return
	}
	w.b.WriteString("    labels:\n")
	for _, class := range classes {
		for k, f := range linkFields {
			if v := w.common[class][k]; v != "" {
				fmt.Fprintf(&w.b, "      %s%s.%s: %s\n", labelPrefix, class, f.name, yamltree.Quote(v))
			}
		}
	}
}

func (w *clabWriter) node(d *topologies.Device) error {
	if !clabName.MatchString(d.Name) {
		return fmt.Errorf("topology %q: device %q: name: want a letter or digit first, which containerlab asks for", w.t.Name, d.Name)
	}
	var labels []string
	add := func(name, value string) {
		if value != "" {
			labels = append(labels, name+": "+yamltree.Quote(value))
		}
	}
	for _, f := range deviceFields[1:] {
		if f.name != "role" {
			add(labelPrefix+f.name, f.get(d))
		}
	}
	add(labelPrefix+originatesLabel, w.told[d.Name])
	// containerlab's own drawing puts level 1 on top.
	add("graph-level", fmt.Sprint(int(topologies.Backbone-d.Role)+1))
	fmt.Fprintf(&w.b, "    %s: {group: %s, labels: {%s}}\n", yamltree.Quote(d.Name), d.Role, strings.Join(labels, ", "))
	return nil
}

func (w *clabWriter) link(i int) {
	u := &w.t.Bundles[i]
	var labels []string
	if name := bundleName(u); name != "" {
		labels = append(labels, labelPrefix+"name: "+yamltree.Quote(name))
	}
	for k, f := range linkFields {
		if v := f.get(u); v != w.common[w.class(i)][k] {
			labels = append(labels, labelPrefix+f.name+": "+yamltree.Quote(v))
		}
	}
	a, b := w.port(u.A), w.port(u.B)
	if len(labels) == 0 {
		fmt.Fprintf(&w.b, "    - endpoints: [\"%s:%s\", \"%s:%s\"]\n", u.A, a, u.B, b)
		return
	}
	fmt.Fprintf(&w.b, "    - {type: veth, endpoints: [{node: %s, interface: %s}, {node: %s, interface: %s}], labels: {%s}}\n",
		yamltree.Quote(u.A), a, yamltree.Quote(u.B), b, strings.Join(labels, ", "))
}

// port gives a device's next interface.
func (w *clabWriter) port(device string) string {
	w.ports[device]++
	return fmt.Sprintf("eth%d", w.ports[device])
}

// bounded refuses what the reader would not take back.
func bounded(t *topologies.Topology, b *bytes.Buffer) ([]byte, error) {
	if b.Len() > yamltree.MaxBytes {
		return nil, fmt.Errorf("topology %q: a containerlab file of %d bytes: want at most %d", t.Name, b.Len(), yamltree.MaxBytes)
	}
	return b.Bytes(), nil
}
