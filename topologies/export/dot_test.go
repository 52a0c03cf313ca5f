package export

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies"
)

var (
	dotLine      = regexp.MustCompile(`^ *("[^"]*")(?: -- ("[^"]*"))? \[(.*)\];$`)
	dotAttribute = regexp.MustCompile(`([a-z]+)=("(?:[^"\\]|\\.)*"|[^,\]]+)`)
)

// readDOT takes back what writeDOT prints, line by line.
func readDOT(data []byte) (*topologies.Topology, error) {
	t, told := &topologies.Topology{}, origins{}
	bundles := map[string]bool{}
	byName := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		if name, ok := strings.CutPrefix(line, "graph "); ok {
			t.Name, _ = strconv.Unquote(strings.TrimSuffix(name, " {"))
		}
		m := dotLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		attributes := map[string]string{}
		for _, a := range dotAttribute.FindAllStringSubmatch(m[3], -1) {
			value, err := strconv.Unquote(a[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+1, a[2], err)
			}
			attributes[a[1]] = value
		}
		first, _ := strconv.Unquote(m[1])
		if m[2] != "" {
			b := topologies.Bundle{A: first}
			b.B, _ = strconv.Unquote(m[2])
			set(bundleFields, &b, attributes)
			bundles[b.Name] = true
			t.Bundles = append(t.Bundles, b)
			continue
		}
		d := topologies.Device{Name: first, Units: 1}
		set(deviceFields, &d, attributes)
		byName[d.Name] = len(t.Devices)
		t.Devices = append(t.Devices, d)
		if text := attributes["originates"]; text != "" {
			if want := told.add(d.Name, text); want != "" {
				return nil, fmt.Errorf("line %d: %s", i+1, want)
			}
		}
	}
	if len(bundles) != len(t.Bundles) || len(byName) != len(t.Devices) {
		return nil, fmt.Errorf("%d bundles and %d devices have a name twice", len(t.Bundles)-len(bundles), len(t.Devices)-len(byName))
	}
	t.Prefixes = told.prefixes()
	return t, nil
}

func set[T any](fields []field[T], v *T, attributes map[string]string) {
	for _, f := range fields {
		if s, ok := attributes[f.name]; ok {
			f.set(v, s)
		}
	}
}
