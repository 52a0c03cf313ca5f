package export

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// writeDOT prints a graph for Graphviz: devices in a cluster for each region,
// one rank for each role, lines as wide as their capacity. Every node and
// edge carries all fields of its device or bundle under their names in the
// explicit form, and an origin its prefixes.
func writeDOT(t *topologies.Topology) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "graph %s {\n  rankdir=BT; node [shape=box, style=filled, fillcolor=\"#eeeeee\", fontname=\"sans-serif\"];\n", quoted(t.Name))
	told := originates(t)
	for i, region := range regions(t) {
		indent := "  "
		if region != "" {
			indent = "    "
			fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i, quoted(region))
		}
		for k := range t.Devices {
			if d := &t.Devices[k]; d.Region == region {
				fmt.Fprintf(&b, "%s%s [%s];\n", indent, quoted(d.Name), nodeAttributes(d, told[d.Name]))
			}
		}
		if region != "" {
			b.WriteString("  }\n")
		}
	}
	x := t.Index()
	widest := widestBundle(t)
	for i := range t.Bundles {
		u := &t.Bundles[i]
		var a attributes
		for _, f := range bundleFields[1:] {
			if f.name != "a" && f.name != "b" {
				a.add(f.name, f.get(u))
			}
		}
		a.add("name", u.Name)
		a.add("penwidth", fmt.Sprintf("%.1f", lineWidth(u.Capacity(u.Members), widest)))
		a.add("tooltip", capacityText(u)+", "+topologies.FormatLength(u.Length))
		if ends := x.Ends[i]; t.Devices[ends[0]].Role == t.Devices[ends[1]].Role {
			a.add("constraint", "false") // the ends stay in one rank
		}
		fmt.Fprintf(&b, "  %s -- %s [%s];\n", quoted(u.A), quoted(u.B), a.String())
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// regions lists the regions in the order of their first device.
func regions(t *topologies.Topology) (list []string) {
	for i := range t.Devices {
		if r := t.Devices[i].Region; !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// attributes prints the list of a node or an edge.
type attributes struct{ b bytes.Buffer }

func (a *attributes) add(name, value string) {
	if value == "" {
		return
	}
	if a.b.Len() > 0 {
		a.b.WriteString(", ")
	}
	a.b.WriteString(name + "=" + quoted(value))
}

func (a *attributes) String() string { return a.b.String() }

func nodeAttributes(d *topologies.Device, told string) string {
	var a attributes
	for _, f := range deviceFields[1:] {
		a.add(f.name, f.get(d))
	}
	a.add("originates", told)
	if d.Plane > 0 {
		a.add("fillcolor", planeColour(d.Plane))
	}
	return a.String()
}

// widestBundle is the largest capacity of a bundle in bits/s.
func widestBundle(t *topologies.Topology) (widest uint64) {
	for i := range t.Bundles {
		widest = max(widest, t.Bundles[i].Capacity(t.Bundles[i].Members))
	}
	return widest
}

// lineWidth draws capacities by their square root, which keeps one of 1 and
// one of 100 in one picture: the widest is 5 wide, none is below 0.6.
func lineWidth(capacity, widest uint64) float64 {
	return max(0.6, 5*math.Sqrt(float64(capacity)/float64(widest)))
}
