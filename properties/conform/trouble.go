package conform

import (
	"slices"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

func distinct(list []linkbw.Community) []linkbw.Community {
	var once []linkbw.Community
	for i, c := range list {
		if !slices.Contains(octets(list[:i]), octets([]linkbw.Community{c})[0]) {
			once = append(once, c)
		}
	}
	return once
}

// The words of what a malformed attribute does to its route.
const (
	wordWithdrawn = "withdrawn" // treat-as-withdraw (RFC 7606 section 2)
	wordDiscarded = "discarded" // the attribute is dropped, the route stays
	wordStale     = "stale"     // the route before it stays
	wordPassedOn  = "passed on" // neighbours get the malformed attribute
)

// malformedChecks send attributes that are wrong. The session must stay up, the
// route beside it too, and the route itself is withdrawn, or told without the
// attribute.
func malformedChecks() (list []Check) {
	value := transitive(speed)
	body := func(b []byte) []byte { return attribute(flagOptional|flagTransitive, attrExtended, b) }
	fine := []string{wordWithdrawn} // treat-as-withdraw
	for _, v := range []struct {
		name, text string
		refs       []string
		accept     []string
		raw        []byte
	}{
		{"length-0", "an attribute of no octets", []string{"RFC 7606 7.14"}, fine, body(nil)},
		{"length-7", "an attribute of 7 octets", []string{"RFC 7606 7.14"}, fine, body(value[:7])},
		{"length-9", "an attribute of 9 octets", []string{"RFC 7606 7.14"}, fine, body(append(slices.Clone(value), 0))},
		{"length-12", "an attribute of one community and a half", []string{"RFC 7606 7.14"}, fine, body(append(slices.Clone(value), value[:4]...))},
		{"flags-well-known", "an attribute that says it is well-known", []string{"RFC 7606 3 (c)"}, fine, attribute(flagTransitive, attrExtended, value)},
		{"flags-non-transitive", "an attribute that says it is optional non-transitive", []string{"RFC 7606 3 (c)"}, fine, attribute(flagOptional, attrExtended, value)},
		{"overrun", "an attribute that is longer than the attributes are", []string{"RFC 7606 4"}, fine, append([]byte{flagOptional | flagTransitive, attrExtended, 16}, value...)},
		{"stub", "an attribute of which only the flags are there", []string{"RFC 7606 4"}, fine, append(body(value), flagOptional|flagTransitive)},
	} {
		list = append(list, Check{
			Name: "malformed-" + v.name, Sent: v.text + ", over a route that was well", Refs: v.refs, Accept: v.accept,
			ask: func(t *trial) string {
				t.announce("a", offer{prefix: t.beside})
				t.tell("a", value)
				t.settle("a")
				if t.err == nil && t.at("o") == nil {
					return wordNoRoute
				}
				// Another path, so that what stays is not what was.
				t.announce("a", offer{raw: v.raw, path: []uint32{farASN}})
				t.settle("a")
				r := t.at("o")
				switch {
				case t.err == nil && t.holds("o", t.beside) == nil:
					t.detail = "the route beside it is gone"
					return wordAltered
				case r == nil:
					return wordWithdrawn
				case !slices.Contains(r.Path, farASN):
					return wordStale
				case len(r.values()) == 0 && r.Ext == nil:
					return wordDiscarded
				case len(r.Ext) == 0 || len(r.Ext)%linkbw.Size != 0:
					return wordPassedOn
				}
				t.detail = "heard " + describeExt(r.Ext)
				return wordKept
			},
		})
	}
	return append(list, Check{
		Name: "malformed-attribute-twice", Sent: "the attribute twice, 1 Gb/s and then 2 Gb/s: all but the first are discarded", Refs: []string{"RFC 7606 3 (g)"}, Accept: anyForm,
		ask: func(t *trial) string {
			t.announce("a", offer{raw: slices.Concat(body(value), body(transitive(2*speed)))})
			t.settle("a")
			return t.carried(t.at("o"), value)
		},
	})
}
