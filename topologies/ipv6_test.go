package topologies

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIPv6PrefixesAreTakenWhereARouterWouldAnnounceThem(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"fd00:1::/48", ""},
		{"2001:db8::/32", ""},
		{"fd00:1::1/128", ""},
		{"::/0", ""},
		{"fd00::1/64", "has bits beyond its length: want fd00::/64"},
		{"::ffff:10.0.0.0/104", "an IPv4 address in IPv6 form (RFC 4291 S2.5.5.2): want it as IPv4"},
		{"::ffff:0.0.0.0/96", "an IPv4 address in IPv6 form (RFC 4291 S2.5.5.2): want it as IPv4"},
		{"fe80::/64", "link-local (RFC 4291 S2.5.6): want a prefix that is routed"},
		{"febf::/16", "link-local (RFC 4291 S2.5.6): want a prefix that is routed"},
		{"ff00::/8", "multicast (RFC 4291 S2.7): want a unicast prefix"},
		{"ff02::1/128", "multicast (RFC 4291 S2.7): want a unicast prefix"},
	} {
		top := generate(t, small())
		top.Prefixes[0].Prefix = netip.MustParsePrefix(c.prefix)
		got, want := fmt.Sprint(Validate(top)), fmt.Sprint(nil)
		if c.want != "" {
			want = fmt.Sprintf(`topology "small": prefix %q: prefix %q: %s`, c.prefix, c.prefix, c.want)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", c.prefix, got, want)
		}
	}
}

func TestIPv6PrefixesRoundTrip(t *testing.T) {
	top := generate(t, small())
	top.Name = "dual"
	for i, p := range []string{"fd00:1::/48", "::/0", "2001:db8::1/128", "fd00:1:2:3::/64"} {
		top.Prefixes = append(top.Prefixes, Prefix{Prefix: netip.MustParsePrefix(p), Class: "six", Origins: top.Prefixes[i].Origins})
	}
	text, err := Write(top)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read("dual.yaml", text)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	if diff := cmp.Diff(back, top, same); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

// The bits of ::/0 and 0.0.0.0/0 are equal, so only the family tells them apart.
func TestAMoreSpecificIsOfTheAggregatesFamily(t *testing.T) {
	top := &Topology{}
	for _, p := range []string{"0.0.0.0/0", "::/0", "10.1.0.0/16", "10.1.0.0/24", "fd00:1::/48", "fd00:1:0:1::/64", "::a01:0/120"} {
		top.Prefixes = append(top.Prefixes, Prefix{Prefix: netip.MustParsePrefix(p)})
	}
	for aggregate, want := range [][]int{{2, 3}, {4, 5, 6}, {3}, nil, {5}} {
		if diff := cmp.Diff(top.Specifics(aggregate), want); diff != "" {
			t.Errorf("%s: got - want +\n%s", top.Prefixes[aggregate].Prefix, diff)
		}
	}
}
