package conform

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Catalogue is all checks, in the order in which they are asked. Their expected
// words are data: a copy may be changed and given to Run.
func Catalogue() []Check {
	return slices.Concat(carriedChecks(), valueChecks(), severalChecks(), malformedChecks(), changeChecks(), removalChecks(),
		sumChecks(), weightChecks(), wholeSetChecks(), dampChecks(), ipv6Checks(), sessionChecks(), originChecks())
}

// What RFC 10005 section 3.3.1 lets a device do that changes the next hop:
// remove, pass unchanged, or make its own.
var (
	mayDoT  = []string{wordKept, wordStripped, wordRemade, wordRemadeTwo}
	mayDoNT = []string{wordStripped, wordRemade, wordRemadeNT, wordRemadeTwo}
	asItWas = []string{wordKept}

	// Where the form is not the question: a form that changes is found by the
	// checks that ask for it, and counts once.
	anyForm = []string{wordKept, wordStripped, wordRemade, wordRemadeNT, wordRemadeTwo, wordAsNT}
)

// speed is the value of most questions: 1 Gb/s in bytes/s, exact in float32.
const speed = 125e6

// forms are the communities that a route may carry.
var forms = []struct {
	name, text string
	ext        [][]byte
}{
	{"t", "a transitive value", [][]byte{transitive(speed)}},
	{"nt", "a non-transitive value", [][]byte{nonTransitive(speed)}},
	{"both", "one value in both forms", [][]byte{transitive(speed), nonTransitive(speed)}},
}

// carriedChecks ask what becomes of a value on its way from one session to
// another.
func carriedChecks() (list []Check) {
	for _, way := range []struct {
		name, from, to, text string
		changed              bool // the next hop is to be the device's own
		external             bool // out of the AS
	}{
		{"ebgp-to-ebgp", "a", "o", "from eBGP to eBGP", true, true},
		{"ebgp-third-party", "a", "b", "from eBGP to eBGP on one network, next hop unchanged", false, true},
		{"ebgp-to-ibgp", "a", "i1", "from eBGP to iBGP, next hop unchanged", false, false},
		{"ebgp-to-ibgp-self", "a", "i2", "from eBGP to iBGP with next-hop-self", true, false},
		{"ibgp-to-ebgp", "i1", "o", "from iBGP to eBGP", true, true},
		{"ibgp-to-ibgp", "i2", "i1", "from iBGP to iBGP by a reflector, next hop unchanged", false, false},
	} {
		for _, form := range forms {
			c := Check{Name: form.name + "-" + way.name, Sent: form.text + " " + way.text, Refs: []string{"RFC 10005 3.3.2", "RT-7.5"}, Accept: asItWas}
			if way.changed {
				c.Refs, c.Accept = []string{"RFC 10005 3.3.1", "RT-7.5"}, mayDoT
				if form.name == "both" {
					c.Accept = append([]string{wordOnlyT, wordOnlyNT}, mayDoT...)
				}
			}
			if way.external {
				c.Refs = append(c.Refs, "RFC 4360 6")
				if form.name == "nt" {
					c.Accept = mayDoNT
				}
				if form.name == "nt" && !way.changed { // RFC 10005 would keep it, RFC 4360 would not
					c.Accept = []string{wordKept, wordStripped}
				}
				if form.name == "both" {
					c.Accept = []string{wordOnlyT, wordStripped, wordRemade, wordRemadeNT, wordRemadeTwo}
				}
				if form.name == "both" && !way.changed {
					c.Accept = []string{wordKept, wordOnlyT}
				}
			}
			if strings.Contains(way.name, "ibgp") {
				c.Needs = []Facility{Internal}
			}
			c.ask = func(t *trial) string {
				t.tell(way.from, form.ext...)
				t.settle(way.from)
				r := t.at(way.to)
				if changed := r != nil && r.NextHop != t.bench.sessions[way.from].peer.Addr; r != nil && changed != way.changed {
					return t.none("told next hop %v: the question is about one that is changed: %t", r.NextHop, way.changed)
				}
				return t.carried(r, form.ext...)
			}
			list = append(list, c)
		}
	}
	return append(list, besideChecks()...)
}

// besideChecks ask what becomes of routes and communities that are no link
// bandwidth.
func besideChecks() []Check {
	whole := func(name, text string, refs []string, ext ...[]byte) Check {
		return Check{Name: name, Sent: text, Refs: refs, Accept: []string{wordKept}, ask: func(t *trial) string {
			t.tell("a", ext...)
			t.settle("a")
			r := t.at("o")
			switch {
			case r == nil:
				return wordNoRoute
			case len(r.Ext) == 0:
				return wordStripped
			case string(r.Ext) == string(slices.Concat(ext...)):
				return wordKept
			}
			t.detail = "heard " + describeExt(r.Ext)
			return wordAltered
		}}
	}
	return []Check{
		{Name: "no-value", Sent: "a route without any extended community", Refs: []string{"RFC 10005 3.3.1"}, Accept: []string{wordNone}, ask: func(t *trial) string {
			t.tell("a")
			t.settle("a")
			return t.carried(t.at("o"))
		}},
		whole("other-route-target", "a route target and no value", []string{"RFC 4360 6"}, []byte{0, 2, 0xfd, 0xe8, 0, 0, 0, 7}),
		whole("other-colour", "a colour community and no value", []string{"RFC 4360 6", "RFC 9012 4.3"}, []byte{3, 0x0b, 0, 0, 0, 0, 0, 7}),
		whole("other-four-octet", "a four-octet-AS community of sub-type 0x04, which is no link bandwidth", []string{"RFC 10005 3", "RFC 5668 2"}, []byte{2, 4, 0, 1, 0, 0, 0, 7}),
		{Name: "four-octet-path", Sent: "a transitive value behind an AS_PATH with four-octet ASNs", Refs: []string{"RFC 6793 4", "RFC 10005 3"}, Accept: anyForm, ask: func(t *trial) string {
			t.announce("a", offer{ext: [][]byte{transitive(speed)}, path: []uint32{4200000001, 4200000002}})
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed))
		}},
		{Name: "as-trans", Sent: "a transitive value whose administrator is AS_TRANS", Refs: []string{"RFC 10005 3", "RFC 6793 9"}, Accept: anyForm, ask: func(t *trial) string {
			ext := community(true, asTrans, speed)
			t.tell("a", ext)
			t.settle("a")
			return t.carried(t.at("o"), ext)
		}},
		{Name: "long-form", Sent: "a transitive value in an attribute with the two-octet length", Refs: []string{"RFC 4271 4.3"}, Accept: anyForm, ask: func(t *trial) string {
			t.announce("a", offer{raw: attribute(flagOptional|flagTransitive|flagLong, attrExtended, transitive(speed))})
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed))
		}},
		{Name: "partial-flag", Sent: "a transitive value in an attribute with the Partial flag", Refs: []string{"RFC 4271 4.3"}, Accept: anyForm, ask: func(t *trial) string {
			t.announce("a", offer{raw: attribute(flagOptional|flagTransitive|flagPartial, attrExtended, transitive(speed))})
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed))
		}},
	}
}

// valueChecks send one transitive value of each kind there is.
func valueChecks() (list []Check) {
	for _, v := range []struct {
		name, text, ref string
		pattern         uint32
	}{
		{"zero", "0", "RFC 10005 4", 0},
		{"minus-zero", "-0", "RFC 10005 4", 0x80000000},
		{"negative", "-125e6 B/s, which is to be ignored and not malformed", "RFC 10005 4", math.Float32bits(-speed)},
		{"quiet-nan", "a quiet NaN (the RFC is silent)", "RFC 10005 3", 0x7fc00000},
		{"signalling-nan", "a signalling NaN (the RFC is silent)", "RFC 10005 3", 0x7f800001},
		{"infinity", "infinity (the RFC is silent)", "RFC 10005 3", 0x7f800000},
		{"minus-infinity", "minus infinity", "RFC 10005 4", 0xff800000},
		{"smallest-denormal", "the smallest number above 0", "RFC 10005 3", 1},
		{"largest-denormal", "the largest denormal number", "RFC 10005 3", 0x007fffff},
		{"one-bit", "one bit/s", "RFC 10005 3", math.Float32bits(0.125)},
		{"hundred-g", "100 Gb/s, which float32 cannot hold exactly", "RFC 10005 3", math.Float32bits(12.5e9)},
		{"terabits", "25.6 Tb/s, 32 members of 800G", "RFC 10005 3", math.Float32bits(3.2e12)},
		{"largest", "the largest finite number", "RFC 10005 3", 0x7f7fffff},
		{"packed", "four small fields packed into the value, as NSF fabrics do", "RFC 10005 3", 0x01020304},
	} {
		ext := bits(v.pattern)
		list = append(list, Check{
			Name: "value-" + v.name, Sent: fmt.Sprintf("a transitive value of %s: %#08x", v.text, v.pattern), Refs: []string{v.ref}, Accept: anyForm,
			ask: func(t *trial) string {
				t.tell("a", ext)
				t.settle("a")
				return t.carried(t.at("o"), ext)
			},
		})
	}
	return list
}

// severalChecks send more than one value on a path.
func severalChecks() (list []Check) {
	many := make([][]byte, 0, 40)
	for i := range 40 {
		many = append(many, transitive(speed*float32(1+(i+7)%40)))
	}
	for _, v := range []struct {
		name, text string
		ext        [][]byte
	}{
		{"t-nt-differ", "a transitive 1 Gb/s and a non-transitive 2 Gb/s", [][]byte{transitive(speed), nonTransitive(2 * speed)}},
		{"nt-lower", "a transitive 2 Gb/s and a non-transitive 1 Gb/s", [][]byte{transitive(2 * speed), nonTransitive(speed)}},
		{"two-t", "two transitive values, the lower one last", [][]byte{transitive(2 * speed), transitive(speed)}},
		{"with-zero", "two transitive values, one of them 0", [][]byte{transitive(speed), transitive(0)}},
		{"with-negative", "two transitive values, one of them negative", [][]byte{transitive(-speed), transitive(speed)}},
		{"with-nan", "two transitive values, one of them NaN", [][]byte{bits(0x7fc00000), transitive(speed)}},
		{"duplicates", "one transitive value twice", [][]byte{transitive(speed), transitive(speed)}},
		{"forty", "40 transitive values, in an attribute of 320 octets", many},
		{"in-a-crowd", "a transitive value between a route target and an unknown community", [][]byte{{0, 2, 0xfd, 0xe8, 0, 0, 0, 7}, transitive(speed), {0x01, 0x0a, 192, 0, 2, 1, 0, 5}}},
	} {
		list = append(list, Check{
			Name: "several-" + v.name, Sent: v.text + " on one path", Refs: []string{"RFC 10005 4"},
			Accept: append([]string{wordOnlyT, wordDistinct}, anyForm...),
			ask: func(t *trial) string {
				t.tell("a", v.ext...)
				t.settle("a")
				r := t.at("o")
				word := t.carried(r, v.ext...)
				if word == wordAltered && same(r.values(), distinct((&Route{Ext: slices.Concat(v.ext...)}).values())) {
					t.detail = ""
					return wordDistinct
				}
				return word
			},
		})
	}
	return list
}

// wordDistinct is a set of which the duplicates were dropped.
const wordDistinct = "each once"
