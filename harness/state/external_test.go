package state

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestAnExternalDeviceIsReadFromOneWord(t *testing.T) {
	name, x, err := ParseExternal("r1-bag1=192.0.2.1,asn=65010,port=1179,passive,neighbors=192.0.2.9,silence=300ms")
	want := External{Address: netip.MustParseAddr("192.0.2.1"), ASN: 65010, Port: 1179, Passive: true, Neighbors: netip.MustParseAddr("192.0.2.9"), Silence: 300 * time.Millisecond}
	if err != nil || name != "r1-bag1" || x.Address != want.Address || strings.Join(x.Fields(), " ") != strings.Join(want.Fields(), " ") {
		t.Errorf("got %q %+v and %v, want %+v", name, x, err, want)
	}
	for text, want := range map[string]string{
		"":                              "want NAME=ADDRESS",
		"r1-bag1":                       "want NAME=ADDRESS",
		"r1-bag1=here":                  `"r1-bag1": address "here": want an IPv4 address`,
		"r1-bag1=192.0.2.1,as=65010":    `unknown field "as"`,
		"r1-bag1=192.0.2.1,asn":         `asn "true": want 1 to 4294967295`,
		"r1-bag1=192.0.2.1,,":           `unknown field ""`,
		"r1-bag1=192.0.2.1,wait=1h":     `wait "1h": want 100ms to 10m`,
		"r1-bag1=192.0.2.1,silence=now": `silence "now": want 10ms to 10m`,
	} {
		if _, _, err := ParseExternal(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
