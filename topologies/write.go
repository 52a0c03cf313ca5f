package topologies

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Write prints a topology in the explicit form, one device, bundle or prefix a
// line; Read gives the same topology back. It refuses what Validate refuses,
// and what would be larger than the largest file that Read takes.
func Write(t *Topology) ([]byte, error) {
	if err := Validate(t); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "name: %s\ndevices:\n", yamltree.Quote(t.Name))
	for i := range t.Devices {
		writeDevice(&b, &t.Devices[i])
	}
	b.WriteString("bundles:\n")
	for i := range t.Bundles {
		writeBundle(&b, &t.Bundles[i])
	}
	if len(t.Prefixes) > 0 {
		b.WriteString("prefixes:\n")
	}
	for i := range t.Prefixes {
		writePrefix(&b, &t.Prefixes[i])
	}
	if b.Len() > yamltree.MaxBytes {
		return nil, fmt.Errorf("topology %q: %d bytes of YAML: want at most %d", t.Name, b.Len(), yamltree.MaxBytes)
	}
	return b.Bytes(), nil
}

// line prints one "  - {key: value, ...}" and leaves out what has its default.
type line struct {
	b *bytes.Buffer
	n int
}

func (l *line) field(key, value string) {
	if l.n++; l.n == 1 {
		l.b.WriteString("  - {")
	} else {
		l.b.WriteString(", ")
	}
	l.b.WriteString(key + ": " + value)
}

func (l *line) text(key, value string) {
	if value != "" {
		l.field(key, yamltree.Quote(value))
	}
}

func (l *line) number(key string, value, def int) {
	if value != def {
		l.field(key, fmt.Sprint(value))
	}
}

func (l *line) end() { l.b.WriteString("}\n") }

func writeDevice(b *bytes.Buffer, d *Device) {
	l := line{b: b}
	l.text("name", d.Name)
	l.text("role", d.Role.String())
	l.text("region", d.Region)
	l.text("fabric", d.Fabric)
	l.text("kind", d.Kind)
	l.number("plane", d.Plane, 0)
	l.field("asn", fmt.Sprint(d.ASN))
	l.text("asic", d.ASIC)
	l.number("units", d.Units, 1)
	l.text("hall", d.Hall)
	l.text("power", d.Power)
	l.number("ports", d.Ports, 0)
	l.number("linecards", d.LineCards, 0)
	l.end()
}

func writeBundle(b *bytes.Buffer, u *Bundle) {
	l := line{b: b}
	if u.Name != u.A+"--"+u.B {
		l.text("name", u.Name)
	}
	l.text("a", u.A)
	l.text("b", u.B)
	l.field("members", fmt.Sprint(u.Members))
	l.field("speed", yamltree.FormatCapacity(u.Speed))
	l.field("length", formatLength(u.Length))
	l.text("route", u.Route)
	l.text("optic", u.Optic)
	l.end()
}

func writePrefix(b *bytes.Buffer, p *Prefix) {
	l := line{b: b}
	l.field("prefix", p.Prefix.String())
	l.text("class", p.Class)
	origins := make([]string, len(p.Origins))
	for i, o := range p.Origins {
		origins[i] = yamltree.Quote(o)
	}
	l.field("origins", "["+strings.Join(origins, ", ")+"]")
	if p.Bandwidth > 0 {
		l.field("bandwidth", yamltree.FormatCapacity(p.Bandwidth))
	}
	if a := p.Aggregate; a != nil {
		form := func(v uint64) string {
			if a.By == ByCapacity {
				return yamltree.FormatCapacity(v)
			}
			return fmt.Sprint(v)
		}
		l.field("aggregate", fmt.Sprintf("{%s: {announce: %s, withdraw: %s}, suppress: %t}", a.By, form(a.Announce), form(a.Withdraw), a.Suppress))
	}
	l.end()
}
