// Package export prints a topology for other tools, and takes one in from
// them: Graphviz DOT, JSON, an SVG picture, and containerlab topology files.
// It knows nothing of running networks.
//
//	t, _ := topologies.Preset("prometheus-mini")
//	picture, err := export.Write(export.SVG, t)
//
// What DOT, JSON and containerlab files hold is the whole topology, so each
// reads back equal: JSON by topologies.Read, which takes JSON for the YAML
// that it is, a containerlab file by ReadClab. A picture shows the whole
// network and names it in its tooltips, and is not read back.
package export

import (
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/topologies"
)

// The formats.
const (
	DOT  = "dot"  // Graphviz
	JSON = "json" // the explicit form, as JSON
	SVG  = "svg"  // a picture
	Clab = "clab" // a containerlab topology file
	YAML = "yaml" // the explicit form, as topologies.Write prints it
)

// Formats lists what Write takes.
func Formats() []string { return []string{DOT, JSON, SVG, Clab, YAML} }

// Write prints a valid topology in one of the formats. It refuses what
// topologies.Validate refuses, what the format cannot name, and what would be
// too large to be read back, but for DOT and pictures, which other programs read.
func Write(format string, t *topologies.Topology) ([]byte, error) {
	write, ok := map[string]func(*topologies.Topology) ([]byte, error){
		DOT: writeDOT, JSON: writeJSON, SVG: writeSVG, Clab: writeClab, YAML: topologies.Write,
	}[format]
	if !ok {
		return nil, fmt.Errorf("format %q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	if err := topologies.Validate(t); err != nil {
		return nil, err
	}
	return write(t)
}
