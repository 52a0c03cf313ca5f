package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// scope marks what was learned from above, and may go down only: it is
// speakers.ScopeDown, which every device of a run passes on.
const scopeASN, scopeNumber = 65000, 1

// peering is the part of a daemon in a scenario: its sessions, and the export
// rules of a device of its role.
type peering struct {
	dir      string
	asn      uint32
	role     topologies.Role
	sessions []state.ExternalSession
}

// above tells whether a neighbour is of a higher or of the same tier.
func (p *peering) above(s state.ExternalSession) bool { return s.Role >= p.role }

// writers make the configuration of each daemon that can be a device.
var writers = map[string]func(*peering) map[string]string{"frr": (*peering).frr, "bird": (*peering).bird, "openbgpd": (*peering).openbgpd}

func (p *peering) frr() map[string]string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("hostname dut\nbgp community-list standard DOWN seq 5 permit %d:%d", scopeASN, scopeNumber)
	line("route-map FROM-ABOVE permit 10\n set community %d:%d additive\nexit", scopeASN, scopeNumber)
	line("route-map TO-ABOVE deny 10\n match community DOWN\nexit\nroute-map TO-ABOVE permit 20\nexit")
	line("router bgp %d\n bgp router-id %v\n no bgp ebgp-requires-policy\n no bgp network import-check\n no bgp default ipv4-unicast\n bgp bestpath as-path multipath-relax", p.asn, dutAddr)
	for _, s := range p.sessions {
		line(" neighbor %v remote-as %d\n neighbor %v passive\n neighbor %v advertisement-interval 0", s.Local, s.NeighborASN, s.Local, s.Local)
	}
	line(" address-family ipv4 unicast\n  maximum-paths 64")
	for _, s := range p.sessions {
		line("  neighbor %v activate", s.Local)
		if p.above(s) {
			line("  neighbor %v route-map FROM-ABOVE in\n  neighbor %v route-map TO-ABOVE out", s.Local, s.Local)
		}
	}
	line(" exit-address-family\nexit")
	return map[string]string{"bgpd.conf": b.String(), "zebra.conf": "hostname dut\n"}
}

func (p *peering) bird() map[string]string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("log stderr all;\nrouter id %v;\nprotocol device {}", dutAddr)
	line("protocol kernel { ipv4 { import none; export all; }; merge paths yes limit 64; }")
	line("filter from_above { bgp_community.add((%d,%d)); accept; }", scopeASN, scopeNumber)
	line("filter to_above { if (%d,%d) ~ bgp_community then reject; accept; }", scopeASN, scopeNumber)
	for i, s := range p.sessions {
		in, out := "all", "all"
		if p.above(s) {
			in, out = "filter from_above", "filter to_above"
		}
		line("protocol bgp s%d {\n  local %v as %d;\n  neighbor %v as %d;\n  passive yes;\n  ipv4 { import %s; export %s; };\n}", i, dutAddr, p.asn, s.Local, s.NeighborASN, in, out)
	}
	return map[string]string{"bird.conf": b.String()}
}

func (p *peering) openbgpd() map[string]string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("AS %d\nrouter-id %v\nlisten on %v\nfib-update no\nnexthop qualify via default\nsocket %q", p.asn, dutAddr, dutAddr, p.dir+"/ctl")
	for _, s := range p.sessions {
		line("neighbor %v {\n  remote-as %d\n  passive\n  announce IPv4 unicast\n}", s.Local, s.NeighborASN)
	}
	line("allow from any\nallow to any")
	for _, s := range p.sessions {
		if p.above(s) {
			line("match from %v set community %d:%d\ndeny to %v community %d:%d", s.Local, scopeASN, scopeNumber, s.Local, scopeASN, scopeNumber)
		}
	}
	return map[string]string{"bgpd.conf": b.String()}
}

// roles are the devices of prometheus-mini that a daemon takes the place of.
func (d daemon) roles() []string {
	switch {
	case writers[d.name] == nil:
		return nil
	case slices.Contains([]string{"frr"}, d.name):
		return []string{"r1-bag1", "r1-f1-e1"}
	}
	return []string{"r1-bag1"}
}
