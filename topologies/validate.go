package topologies

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// The limits of a topology.
const (
	maxDevices   = 65_000
	maxMembers   = 4096
	maxLength    = 5_000_000 // metres
	maxUnits     = 10_000
	maxLineCards = 64

	// The least bandwidth of a prefix in bits/s. Shares are whole bits/s, so
	// that a told value of a few could not be split between parallel bundles
	// in proportion.
	minBandwidth = 1e9
)

// speeds are the published member speeds in bits/s: Ethernet rates, and the
// 1.6T and 3.2T ports for long-haul links (Meta, OCP 2026).
var speeds = [...]uint64{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9, 3200e9}

var kinds = [...]string{"dsf", "nsf", "fpf", "zone"}

// The sentences that say what was wanted.
const (
	wantName   = "want letters, digits, '-', '_' or '.'"
	wantHash   = "want letters, digits, '-', '_', '.' or '#'"
	wantPrefix = "want a prefix such as 10.1.0.0/24 or fd00:1::/48"
	wantKind   = `want one of "dsf", "nsf", "fpf", "zone"`
	wantSpeed  = "unreachable speed: want one of 10G, 25G, 40G, 50G, 100G, 200G, 400G, 800G, 1.6T, 3.2T"
)

// fences is the block that the harness marks its wires with (RFC 5737 TEST-NET-1);
// no topology may use it.
var fences = netip.MustParsePrefix("192.0.2.0/24")

// The blocks of IPv6 that no router announces as unicast routes. A prefix that
// only covers one, as ::/0 does, is fine.
var unrouted6 = [...]struct {
	block netip.Prefix
	what  string
}{
	// GoBGP's text form of an address in it is that of the IPv4 address.
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4 address in IPv6 form (RFC 4291 S2.5.5.2): want it as IPv4"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291 S2.5.6): want a prefix that is routed"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291 S2.7): want a unicast prefix"},
}

func knownSpeed(v uint64) bool { return slices.Contains(speeds[:], v) }

func knownKind(s string) bool { return slices.Contains(kinds[:], s) }

// safeName tells whether a name can stand in a file name, a command line and
// YAML without quotes or surprises.
func safeName(s string, hash bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '-' || c == '_' || c == '.' || hash && c == '#') {
			return false
		}
	}
	return s != ""
}

// part is the kind of thing that a finding is about.
type part uint8

const (
	wholePart part = iota
	devicePart
	bundlePart
	prefixPart
)

// finding is one thing that is wrong with a topology, placed so that a reader
// of YAML can say where: field is the name in the explicit form, empty for the
// thing as a whole.
type finding struct {
	part  part
	index int
	field string
	value string // as an error shows it, strings quoted
	want  string
}

// Validate checks a whole topology and gives all that is wrong with it, joined
// in the order of the topology, or nil. Beside each thing's own limits it
// checks that names are unique, that everything named exists, that no device
// is without a bundle, has more than 1,000 Pb/s of them or more members than
// ports, and that under valley-free export every originating device can hear of
// every prefix. Its time is linear in bundles, times one 512th of the
// originating devices.
func Validate(t *Topology) error {
	var errs []error
	t.check(func(f finding) { errs = append(errs, t.explain(f)) })
	return errors.Join(errs...)
}

func (t *Topology) explain(f finding) error {
	field := ""
	if f.field != "" {
		field = fmt.Sprintf("%s %s: ", f.field, f.value)
	}
	return fmt.Errorf("topology %q: %s%s%s", t.Name, t.subject(f), field, f.want)
}

// subject names the thing that a finding is about, for the front of a sentence.
func (t *Topology) subject(f finding) string {
	switch f.part {
	case devicePart:
		return fmt.Sprintf("device %q: ", t.Devices[f.index].Name)
	case bundlePart:
		return fmt.Sprintf("bundle %q: ", t.Bundles[f.index].Name)
	case prefixPart:
		return fmt.Sprintf("prefix %q: ", t.Prefixes[f.index].Prefix)
	}
	return ""
}

func (t *Topology) check(report func(finding)) {
	c := checker{t: t, x: t.Index(), report: report}
	c.whole()
	for i := range t.Devices {
		c.device(i)
	}
	for i := range t.Bundles {
		c.bundle(i)
	}
	for i := range t.Prefixes {
		c.prefix(i)
	}
	if !c.failed {
		// Hearing is only defined where every end exists and roles are known.
		c.originatorASNs()
		c.apart()
	}
}

// bare is a number with its unit: a value that errors show without quotes.
type bare string

type checker struct {
	t      *Topology
	x      *Index
	report func(finding)
	failed bool
}

func (c *checker) add(p part, index int, field string, value any, want string) {
	c.failed = true
	text := fmt.Sprint(value)
	if s, ok := value.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	c.report(finding{part: p, index: index, field: field, value: text, want: want})
}

func (c *checker) whole() {
	if !safeName(c.t.Name, false) {
		c.add(wholePart, 0, "name", c.t.Name, wantName)
	}
	if n := len(c.t.Devices); n == 0 || n > maxDevices {
		c.add(wholePart, 0, "devices", n, fmt.Sprintf("want 1 to %d devices", maxDevices))
	}
	if n := len(c.t.Bundles); n > maxBundles {
		c.add(wholePart, 0, "bundles", n, fmt.Sprintf("want at most %d bundles", maxBundles))
	}
}

func (c *checker) device(i int) {
	d := &c.t.Devices[i]
	bad := func(field string, value any, want string) { c.add(devicePart, i, field, value, want) }
	if !safeName(d.Name, false) {
		bad("name", d.Name, wantName)
	} else if c.x.Device[d.Name] != i {
		bad("name", d.Name, "duplicate name: want a name of its own")
	}
	if d.Role < Rack || d.Role > Backbone {
		bad("role", d.Role, wantRole)
	}
	for _, f := range [...]struct{ field, value string }{{"region", d.Region}, {"fabric", d.Fabric}, {"hall", d.Hall}, {"power", d.Power}} {
		if f.value != "" && !safeName(f.value, false) {
			bad(f.field, f.value, wantName)
		}
	}
	if d.Kind != "" && !knownKind(d.Kind) {
		bad("kind", d.Kind, wantKind)
	}
	if d.Plane < 0 || d.Plane > maxDevices {
		bad("plane", d.Plane, fmt.Sprintf("want 0 to %d", maxDevices))
	}
	if why := reservedASN(d.ASN); why != "" {
		bad("asn", d.ASN, why)
	}
	if !safeName(d.ASIC, false) {
		bad("asic", d.ASIC, "want the name of a FIB profile, such as jericho3")
	}
	if d.Units < 1 || d.Units > maxUnits {
		bad("units", d.Units, fmt.Sprintf("want 1 to %d", maxUnits))
	}
	if d.Ports < 0 || d.Ports > maxMembers {
		bad("ports", d.Ports, fmt.Sprintf("want 0 to %d", maxMembers))
	}
	if d.LineCards < 0 || d.LineCards > maxLineCards {
		bad("linecards", d.LineCards, fmt.Sprintf("want 0 to %d", maxLineCards))
	}
	c.deviceBundles(i)
}

const wantRole = `want one of "rack", "spine", "edge", "bag", "hub", "backbone"`

// reservedASN says why BGP cannot use an ASN, or nothing. Private and
// documentation ASNs are fine: a rig is where they belong.
func reservedASN(asn uint32) string {
	switch asn {
	case 0:
		return "reserved (RFC 7607): want a usable ASN"
	case 23456:
		return "reserved as AS_TRANS (RFC 6793): want a usable ASN"
	case 65535, 4294967295:
		return "reserved (RFC 7300): want a usable ASN"
	}
	return ""
}

func (c *checker) deviceBundles(i int) {
	name := c.t.Devices[i].Name
	if c.x.Device[name] != i {
		return
	}
	if len(c.x.Of[i]) == 0 {
		c.add(devicePart, i, "", nil, "has no bundle: want at least one")
	}
	sum, ports := uint64(0), 0
	for _, b := range c.x.Of[i] {
		full, ok := boundedCapacity(&c.t.Bundles[b])
		if !ok || sum > yamltree.MaxCapacity {
			return // reported at the bundle, or too much already
		}
		sum += full
		ports += c.t.Bundles[b].ports()
	}
	if sum > yamltree.MaxCapacity {
		c.add(devicePart, i, "", nil, fmt.Sprintf("its bundles add up to %s bits/s: want at most %s",
			yamltree.FormatCapacity(sum), yamltree.FormatCapacity(yamltree.MaxCapacity)))
		return
	}
	if d := &c.t.Devices[i]; d.Ports > 0 && d.Units >= 1 && ports > d.Units*d.Ports {
		c.add(devicePart, i, "ports", d.Ports, c.t.needsPorts(i, c.x))
	}
}

// boundedCapacity is a bundle's capacity where its numbers are in range.
func boundedCapacity(b *Bundle) (uint64, bool) {
	if b.Members < 1 || b.Members > maxMembers || !knownSpeed(b.Speed) {
		return 0, false
	}
	return b.Capacity(b.Members), true
}

func (c *checker) bundle(i int) {
	b := &c.t.Bundles[i]
	bad := func(field string, value any, want string) { c.add(bundlePart, i, field, value, want) }
	if !safeName(b.Name, true) {
		bad("name", b.Name, wantHash)
	} else if c.x.Bundle[b.Name] != i {
		bad("name", b.Name, "duplicate name: want a name of its own, such as a--b#2")
	}
	if b.Members < 1 || b.Members > maxMembers {
		bad("members", b.Members, fmt.Sprintf("want 1 to %d", maxMembers))
	}
	if !knownSpeed(b.Speed) {
		bad("speed", bare(yamltree.FormatCapacity(b.Speed)), wantSpeed)
	}
	if b.Length < 0 || b.Length > maxLength {
		bad("length", bare(formatLength(b.Length)), wantLength)
	}
	for _, f := range [...]struct{ field, value string }{{"route", b.Route}, {"optic", b.Optic}} {
		if f.value != "" && !safeName(f.value, false) {
			bad(f.field, f.value, wantName)
		}
	}
	c.bundleEnds(i, bad)
}

func (c *checker) bundleEnds(i int, bad func(field string, value any, want string)) {
	b, ends := &c.t.Bundles[i], c.x.Ends[i]
	for side, name := range [...]string{b.A, b.B} {
		if ends[side] < 0 {
			bad([...]string{"a", "b"}[side], name, "no such device: want the name of a device")
		}
	}
	if b.A == b.B {
		bad("b", b.B, "a bundle to itself: want another device than a")
		return
	}
	if ends[0] < 0 || ends[1] < 0 {
		return
	}
	a, z := &c.t.Devices[ends[0]], &c.t.Devices[ends[1]]
	if a.Role > z.Role && a.Role <= Backbone {
		bad("a", b.A, fmt.Sprintf("this %s is above the %s %q: want the lower tier as a", a.Role, z.Role, z.Name))
	}
	if a.ASN == z.ASN {
		bad("", nil, fmt.Sprintf("both ends have ASN %d: want two, a bundle carries an eBGP session", a.ASN))
	}
}

func (c *checker) prefix(i int) {
	p := &c.t.Prefixes[i]
	bad := func(field string, value any, want string) { c.add(prefixPart, i, field, value, want) }
	if want := badPrefix(p.Prefix); want != "" {
		bad("prefix", p.Prefix.String(), want)
	} else if c.x.Prefix[p.Prefix] != i {
		bad("prefix", p.Prefix.String(), "duplicate prefix: want each prefix once, with all its origins")
	}
	if p.Class != "" && !safeName(p.Class, false) {
		bad("class", p.Class, wantName)
	}
	if p.Bandwidth != 0 && (p.Bandwidth < minBandwidth || p.Bandwidth > yamltree.MaxCapacity) {
		bad("bandwidth", bare(yamltree.FormatCapacity(p.Bandwidth)),
			fmt.Sprintf("want %s to %s", yamltree.FormatCapacity(minBandwidth), yamltree.FormatCapacity(yamltree.MaxCapacity)))
	}
	if a := p.Aggregate; a != nil {
		switch {
		case a.By != BySupporting && a.By != ByCapacity:
			bad("aggregate", a.By, "want "+BySupporting+" or "+ByCapacity)
		case a.Withdraw < 1 || a.Withdraw > a.Announce:
			bad("aggregate", bare(fmt.Sprintf("withdraw %d", a.Withdraw)), fmt.Sprintf("want 1 to announce, which is %d", a.Announce))
		case len(c.t.Specifics(i)) == 0:
			bad("aggregate", p.Prefix.String(), "no more-specific prefix in the topology")
		}
	}
	if len(p.Origins) == 0 {
		bad("origins", 0, "want at least one device")
	}
	seen := make(map[string]bool, len(p.Origins))
	for k, name := range p.Origins {
		field := fmt.Sprintf("origins[%d]", k)
		if c.x.find(name) < 0 {
			bad(field, name, "no such device: want the name of a device")
		} else if seen[name] {
			bad(field, name, "repeated: want each origin once")
		}
		seen[name] = true
	}
}

func badPrefix(p netip.Prefix) string {
	switch {
	case !p.IsValid():
		return wantPrefix
	case p.Masked() != p:
		return fmt.Sprintf("has bits beyond its length: want %s", p.Masked())
	case p.Bits() == 0:
		return "" // a default route holds all, also what the rig keeps
	case p.Overlaps(fences):
		return fmt.Sprintf("overlaps %s, which the rig keeps for its fences: want another", fences)
	}
	for _, b := range unrouted6 {
		if p.Bits() >= b.block.Bits() && b.block.Contains(p.Addr()) {
			return b.what
		}
	}
	return ""
}
