package conform

import (
	"fmt"
	"net/netip"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

// Originated is a route that a device with the facility Originates tells from
// the start: 1 Gb/s, 125e6 bytes/s, with the device's own ASN.
type Originated struct {
	Prefix        netip.Prefix
	Transitive    bool // carries the transitive form
	NonTransitive bool // carries the non-transitive form
}

// OriginatedRoutes are the routes to configure at a device that originates.
func OriginatedRoutes() []Originated {
	return []Originated{
		{netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 67, 1, 0}), 24), true, false},
		{netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 67, 2, 0}), 24), false, true},
		{netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 67, 3, 0}), 24), true, true},
	}
}

// originChecks judge what a device tells by itself.
func originChecks() (list []Check) {
	for i, text := range []string{"a transitive value", "a non-transitive value, to eBGP where the device has a knob for it", "one value in both forms"} {
		o := OriginatedRoutes()[i]
		name := []string{"t", "nt", "both"}[i]
		accept := []string{wordKept}
		if i > 0 { // RFC 10005 section 3.1: the non-transitive one MAY be sent to eBGP
			accept = append(accept, []string{wordStripped, wordOnlyT}[i-1])
		}
		list = append(list, Check{
			Name: "originates-" + name, Sent: "nothing: the device originates a route with " + text, Refs: []string{"RFC 10005 3", "RFC 10005 3.1"}, Accept: accept, Needs: []Facility{Originates},
			ask: func(t *trial) string {
				t.prefix, t.from["o"] = o.Prefix, 0
				t.await(func() bool { return t.bench.sessions["o"].table[o.Prefix] != nil })
				admin := linkbw.GlobalAdministrator(t.bench.device.ASN)
				var want [][]byte
				if o.Transitive {
					want = append(want, community(true, admin, speed))
				}
				if o.NonTransitive {
					want = append(want, community(false, admin, speed))
				}
				r := t.at("o")
				if r == nil && i > 0 {
					return t.none("originates no such route")
				}
				if r != nil && len(r.Ext) > 0 && t.detail == "" {
					t.detail = "heard " + describeExt(r.Ext)
				}
				word := t.carried(r, want...)
				switch word {
				case wordRemade, wordRemadeNT, wordRemadeTwo:
					return wordKept
				}
				return word
			},
		})
	}
	return append(list, Check{
		Name: "originates-octets", Sent: "nothing: the value of the route that the device originates, octet by octet", Refs: []string{"RFC 10005 3"}, Accept: []string{"4cee6b28"}, Needs: []Facility{Originates},
		ask: func(t *trial) string {
			p := OriginatedRoutes()[0].Prefix
			t.prefix, t.from["o"] = p, 0
			t.await(func() bool { return t.bench.sessions["o"].table[p] != nil })
			r := t.at("o")
			if r == nil {
				return wordNoRoute
			}
			for _, c := range r.values() {
				b := c.Encode()
				return fmt.Sprintf("%x", b[4:])
			}
			return wordNone
		},
	})
}
