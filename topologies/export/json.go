package export

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// writeJSON prints the explicit form in JSON's spelling, one device, bundle or
// prefix a line and no blanks, so that what fits a file as YAML mostly does as
// JSON. It refuses what topologies.Read would refuse for its size.
func writeJSON(t *topologies.Topology) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"name\":%s", quoted(t.Name))
	list(&b, "devices", t.Devices, func(d *topologies.Device) string { return object(deviceFields, d) })
	list(&b, "bundles", t.Bundles, func(u *topologies.Bundle) string { return object(bundleFields, u) })
	if len(t.Prefixes) > 0 {
		list(&b, "prefixes", t.Prefixes, prefixObject)
	}
	b.WriteString("\n}\n")
	if b.Len() > yamltree.MaxBytes {
		return nil, fmt.Errorf("topology %q: %d bytes of JSON: want at most %d", t.Name, b.Len(), yamltree.MaxBytes)
	}
	return b.Bytes(), nil
}

func list[T any](b *bytes.Buffer, name string, items []T, print func(*T) string) {
	fmt.Fprintf(b, ",\n%q:[", name)
	for i := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + print(&items[i]))
	}
	b.WriteString("\n]")
}

// quoted is a JSON string. Names are letters, digits and a few signs, so that
// nothing in them is escaped in a way that YAML does not know.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""` // cannot be: text always has a JSON form
	}
	return string(data)
}

// pairs prints the members of an object.
type pairs struct{ b bytes.Buffer }

func (p *pairs) add(name, value string) {
	if p.b.Len() > 0 {
		p.b.WriteByte(',')
	}
	p.b.WriteString(quoted(name) + ":" + value)
}

func (p *pairs) String() string { return "{" + p.b.String() + "}" }

func object[T any](fields []field[T], v *T) string {
	var p pairs
	for _, f := range fields {
		value := f.get(v)
		switch {
		case value == "":
		case f.number:
			p.add(f.name, value)
		default:
			p.add(f.name, quoted(value))
		}
	}
	return p.String()
}

func prefixObject(x *topologies.Prefix) string {
	var p pairs
	p.add("prefix", quoted(x.Prefix.String()))
	if x.Class != "" {
		p.add("class", quoted(x.Class))
	}
	origins, err := json.Marshal(x.Origins)
	if err != nil {
		origins = []byte("[]") // cannot be: a list of text always has a JSON form
	}
	p.add("origins", string(origins))
	if x.Bandwidth > 0 {
		p.add("bandwidth", quoted(yamltree.FormatCapacity(x.Bandwidth)))
	}
	if a := x.Aggregate; a != nil {
		threshold := func(v uint64) string {
			if a.By == topologies.ByCapacity {
				return quoted(yamltree.FormatCapacity(v))
			}
			return fmt.Sprint(v)
		}
		var limits, whole pairs
		limits.add("announce", threshold(a.Announce))
		limits.add("withdraw", threshold(a.Withdraw))
		whole.add(a.By, limits.String())
		whole.add("suppress", fmt.Sprint(a.Suppress))
		p.add("aggregate", whole.String())
	}
	return p.String()
}
