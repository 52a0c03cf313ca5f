package conform

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
)

// Setup is what a device must be configured with for a whole run.
type Setup struct {
	Addr  netip.Addr // of the device
	Six   bool       // IPv6 unicast over the sessions
	Addr6 netip.Addr // of the device on the same link; optional
	ASN   uint32
	Peers []Peer
	Dials bool   // the device dials the tester instead of waiting
	Ctl   string // path of OpenBGPD's control socket; empty: its default
}

// makers are the devices that a configuration can be written for.
var makers = map[string]func(*Setup) string{
	"table": (*Setup).table, "frr": (*Setup).frr, "bird": (*Setup).bird, "openbgpd": (*Setup).openbgpd, "exabgp": (*Setup).exabgp,
}

// Makers are the names that Configuration knows.
func Makers() []string {
	return []string{"table", "frr", "bird", "openbgpd", "exabgp"}
}

// Configuration is the configuration of a device of this make: frr for FRR's
// bgpd, bird for BIRD 2 and 3, openbgpd, exabgp (a sender only), or table, which
// lists the neighbours for any other.
func (s *Setup) Configuration(maker string) (string, error) {
	f, ok := makers[maker]
	if !ok {
		return "", fmt.Errorf("maker %q: want one of %s", maker, strings.Join(Makers(), ", "))
	}
	return f(s), nil
}

func (s *Setup) table() string {
	var b strings.Builder
	dial := "waits for them to dial"
	if s.Dials {
		dial = "dials them"
	}
	families := "IPv4 unicast"
	if s.Six {
		families = "IPv4 and IPv6 unicast"
	}
	fmt.Fprintf(&b, "The device %v, ASN %d, needs these neighbours, with %s. It passes on\nwhat it hears (no policy), %s, sends extended communities, and uses\nup to %d paths at a time, of different ASNs too.\n\n", s.Addr, s.ASN, families, dial, manyPeers)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\taddress\tASN\tas")
	for _, p := range s.Peers {
		fmt.Fprintf(w, "%s\t%v\t%d\t%s\n", p.Name, p.Addr, p.ASN, p.role())
	}
	_ = w.Flush() // to a string
	b.WriteString("\nIt originates (or say --without originates):\n\n")
	for _, o := range OriginatedRoutes() {
		for _, c := range s.originated(o) {
			fmt.Fprintf(&b, "%v with extended community 0x%s%s\n", o.Prefix, c[0], c[1])
		}
	}
	return b.String()
}

// role is what the device does for a peer.
func (p Peer) role() string {
	switch {
	case p.Name == "c":
		return "eBGP; tell it the sum of the values received, where the device can"
	case p.Name == "i2":
		return "iBGP, client of the device as route reflector, next-hop-self"
	case p.Internal:
		return "iBGP, client of the device as route reflector"
	}
	return "eBGP"
}

// The bandwidth of Originated in the units of FRR: Mbit/s.
const originatedMbps = 1000

func (s *Setup) frr() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("hostname dut")
	for _, o := range OriginatedRoutes()[:2] { // one route-map sets one form
		form := ""
		if o.NonTransitive {
			form = " non-transitive"
		}
		line("route-map %s permit 10\n set extcommunity bandwidth %d%s\nexit", originName(o), originatedMbps, form)
	}
	line("route-map CUMULATIVE permit 10\n set extcommunity bandwidth cumulative\nexit")
	line("router bgp %d", s.ASN)
	line(" bgp router-id %v\n no bgp ebgp-requires-policy\n no bgp network import-check\n no bgp default ipv4-unicast\n bgp bestpath as-path multipath-relax", s.Addr)
	for _, p := range s.Peers {
		line(" neighbor %v remote-as %d\n neighbor %v advertisement-interval 0", p.Addr, p.ASN, p.Addr)
		if s.Dials {
			line(" neighbor %v timers connect 1", p.Addr)
		} else {
			line(" neighbor %v passive", p.Addr)
		}
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if family == "ipv6" && !s.Six {
			continue
		}
		line(" address-family %s unicast\n  maximum-paths %d", family, manyPeers)
		for _, p := range s.Peers {
			line("  neighbor %v activate", p.Addr)
			switch {
			case p.Name == "c" && family == "ipv4":
				line("  neighbor %v route-map CUMULATIVE out", p.Addr)
			case p.Internal:
				line("  neighbor %v route-reflector-client", p.Addr)
			}
			if p.Name == "i2" {
				line("  neighbor %v next-hop-self", p.Addr)
			}
		}
		for _, o := range OriginatedRoutes()[:2] {
			if family == "ipv4" {
				line("  network %v route-map %s", o.Prefix, originName(o))
			}
		}
		line(" exit-address-family")
	}
	line("exit")
	return b.String()
}

func originName(o Originated) string {
	if o.Transitive {
		return "ORIGIN-T"
	}
	return "ORIGIN-NT"
}

// originated are the octets of an originated route's communities, as the two
// 32-bit numbers in hexadecimal that configurations take.
func (s *Setup) originated(o Originated) (list [][2]string) {
	for _, form := range []bool{true, false} {
		if form && o.Transitive || !form && o.NonTransitive {
			b := community(form, uint16(min(s.ASN, 0xffff)), speed)
			if s.ASN > 0xffff {
				b = community(form, asTrans, speed)
			}
			list = append(list, [2]string{fmt.Sprintf("%x", b[:4]), fmt.Sprintf("%x", b[4:])})
		}
	}
	return list
}

func (s *Setup) bird() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("router id %v;\nprotocol device {}", s.Addr)
	line("protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; merge paths yes limit %d; }", manyPeers)
	line("protocol static origins {\n  ipv4;")
	for _, o := range OriginatedRoutes() {
		line("  route %v blackhole {", o.Prefix)
		for _, c := range s.originated(o) {
			line("    bgp_ext_community.add((generic, 0x%s, 0x%s));", c[0], c[1])
		}
		line("  };")
	}
	line("}")
	line("template bgp tester {\n  local %v as %d;\n  hold time 240;\n  connect delay time 1;", s.Addr, s.ASN)
	if !s.Dials {
		line("  passive yes;")
	}
	line("}")
	for _, p := range s.Peers {
		hop, hop6 := "", ""
		if p.Internal {
			line("protocol bgp %s from tester {\n  neighbor %v as %d;\n  rr client;", p.Name, p.Addr, p.ASN)
		} else {
			line("protocol bgp %s from tester {\n  neighbor %v as %d;", p.Name, p.Addr, p.ASN)
		}
		switch p.Name {
		case "i2":
			hop = " next hop self ebgp;"
		case "o", "c": // else it keeps a next hop that is on a network of the same link
			hop = " next hop self;"
		}
		if s.Addr6.IsValid() {
			hop6 = fmt.Sprintf(" next hop address %v;", s.Addr6)
			if p.Internal && p.Name != "i2" {
				hop6 = ""
			}
		}
		line("  ipv4 { import all; export all;%s };", hop)
		if s.Six {
			line("  ipv6 { import all; export all;%s };", hop6)
		}
		line("}")
	}
	return b.String()
}

func (s *Setup) openbgpd() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("AS %d\nrouter-id %v\nlisten on %v\nfib-update no\nnexthop qualify via default", s.ASN, s.Addr, s.Addr)
	if s.Ctl != "" {
		line("socket %q", s.Ctl)
	}
	for _, p := range s.Peers {
		line("neighbor %v {\n  descr %q\n  remote-as %d\n  announce IPv4 unicast", p.Addr, p.Name, p.ASN)
		if s.Six {
			line("  announce IPv6 unicast\n  local-address %v", s.Addr)
		}
		if !s.Dials {
			line("  passive")
		}
		if p.Internal {
			line("  route-reflector")
		}
		line("}")
	}
	line("allow from any\nallow to any")
	for _, p := range s.Peers {
		if p.Name == "i2" {
			line("match to %v set nexthop self", p.Addr)
		}
	}
	return b.String()
}

// exabgp sends to session o alone.
func (s *Setup) exabgp() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	i := slices.IndexFunc(s.Peers, func(p Peer) bool { return p.Name == "o" })
	if i < 0 {
		return ""
	}
	p := s.Peers[i]
	line("neighbor %v {\n  router-id %v;\n  local-address %v;\n  local-as %d;\n  peer-as %d;\n  family { ipv4 unicast; }\n  static {", p.Addr, s.Addr, s.Addr, s.ASN, p.ASN)
	for _, o := range OriginatedRoutes() {
		var words []string
		if o.Transitive { // it has no word for this one
			c := s.originated(Originated{Transitive: true})[0]
			words = append(words, "0x"+c[0]+c[1])
		}
		if o.NonTransitive {
			words = append(words, fmt.Sprintf("bandwidth:%d:%.0f", min(s.ASN, 0xffff), float64(speed)))
		}
		line("    route %v next-hop self extended-community [ %s ];", o.Prefix, strings.Join(words, " "))
	}
	line("  }\n}")
	return b.String()
}
