package export

import (
	"fmt"
	"strconv"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// field is one value of a device or a bundle as text, under the name that it
// has in the explicit form. All formats print and read by these tables, so a
// new field of the model is one line here.
type field[T any] struct {
	name   string
	number bool                           // a number in JSON, else text
	get    func(*T) string                // empty where the value is the default, which is left out
	set    func(*T, string) (want string) // empty where the text was good
}

var deviceFields = []field[topologies.Device]{
	text("name", func(d *topologies.Device) *string { return &d.Name }),
	{name: "role", get: func(d *topologies.Device) string { return d.Role.String() }, set: setRole},
	text("region", func(d *topologies.Device) *string { return &d.Region }),
	text("fabric", func(d *topologies.Device) *string { return &d.Fabric }),
	text("kind", func(d *topologies.Device) *string { return &d.Kind }),
	whole("plane", 0, func(d *topologies.Device) *int { return &d.Plane }),
	{name: "asn", number: true, get: func(d *topologies.Device) string { return strconv.FormatUint(uint64(d.ASN), 10) }, set: setASN},
	text("asic", func(d *topologies.Device) *string { return &d.ASIC }),
	whole("units", 1, func(d *topologies.Device) *int { return &d.Units }),
	text("hall", func(d *topologies.Device) *string { return &d.Hall }),
	text("power", func(d *topologies.Device) *string { return &d.Power }),
	whole("ports", 0, func(d *topologies.Device) *int { return &d.Ports }),
	whole("linecards", 0, func(d *topologies.Device) *int { return &d.LineCards }),
}

var bundleFields = []field[topologies.Bundle]{
	{name: "name", get: bundleName, set: func(b *topologies.Bundle, s string) string { b.Name = s; return "" }},
	text("a", func(b *topologies.Bundle) *string { return &b.A }),
	text("b", func(b *topologies.Bundle) *string { return &b.B }),
	whole("members", 0, func(b *topologies.Bundle) *int { return &b.Members }),
	{name: "speed", get: func(b *topologies.Bundle) string { return yamltree.FormatCapacity(b.Speed) }, set: setSpeed},
	{name: "length", get: func(b *topologies.Bundle) string { return topologies.FormatLength(b.Length) }, set: setLength},
	text("route", func(b *topologies.Bundle) *string { return &b.Route }),
	text("optic", func(b *topologies.Bundle) *string { return &b.Optic }),
}

func text[T any](name string, at func(*T) *string) field[T] {
	return field[T]{
		name: name,
		get:  func(v *T) string { return *at(v) },
		set:  func(v *T, s string) string { *at(v) = s; return "" },
	}
}

func whole[T any](name string, def int, at func(*T) *int) field[T] {
	return field[T]{
		name: name, number: true,
		get: func(v *T) string {
			if *at(v) == def {
				return ""
			}
			return strconv.Itoa(*at(v))
		},
		set: func(v *T, s string) string {
			n, err := strconv.Atoi(s)
			if err != nil {
				return "want a whole number"
			}
			*at(v) = n
			return ""
		},
	}
}

func setRole(d *topologies.Device, s string) string {
	role, ok := topologies.ParseRole(s)
	if !ok {
		return "want one of " + roleNames()
	}
	d.Role = role
	return ""
}

// lowestRole is the lowest tier; the roles have no gap.
const lowestRole = topologies.Role(1)

func roleNames() string {
	names := ""
	for r := lowestRole; r <= topologies.Backbone; r++ {
		names += ", " + r.String()
	}
	return names[2:]
}

func setASN(d *topologies.Device, s string) string {
	asn, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return "want 1 to 4294967295"
	}
	d.ASN = uint32(asn)
	return ""
}

func setSpeed(b *topologies.Bundle, s string) string {
	speed, err := yamltree.ParseCapacity(s)
	if err != nil {
		return "want the speed of one member in bits/s, such as 800G"
	}
	b.Speed = speed
	return ""
}

func setLength(b *topologies.Bundle, s string) string {
	metres, ok := topologies.ParseLength(s)
	if !ok {
		return "want a length such as 300m or 80km"
	}
	b.Length = metres
	return ""
}

// bundleName is a name that does not follow from the ends.
func bundleName(b *topologies.Bundle) string {
	if b.Name == usualName(b) {
		return ""
	}
	return b.Name
}

func usualName(b *topologies.Bundle) string { return fmt.Sprintf("%s--%s", b.A, b.B) }
