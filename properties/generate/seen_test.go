package generate

import (
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/topologies"
)

// note writes down what a case has.
func note(seen map[string]bool, sc *harness.Scenario) {
	for _, e := range sc.Events {
		seen["event "+e.Kind] = true
		for field := range e.Fields() {
			seen["event "+e.Kind+" "+field] = true
		}
		if e.At != 0 {
			seen["timed"] = true
		} else {
			seen["untimed"] = true
		}
	}
	for _, s := range sc.Settings {
		for _, k := range topologies.Knobs() {
			word, _ := s.Get(k.Name)
			seen["knob "+k.Name+" "+word] = true
		}
	}
	kinds, speeds, families := map[string]bool{}, map[uint64]bool{}, map[bool]bool{}
	for _, d := range sc.Topology.Devices {
		seen["role "+d.Role.String()], seen["kind "+d.Kind] = true, true
		if d.Kind != "" {
			kinds[d.Kind] = true
		}
	}
	for _, b := range sc.Topology.Bundles {
		speeds[b.Speed] = true
	}
	for _, p := range sc.Topology.Prefixes {
		families[p.Prefix.Addr().Is4()] = true
		if p.Aggregate != nil {
			seen["aggregate"] = true
		}
	}
	seen["two kinds"], seen["two speeds"] = seen["two kinds"] || len(kinds) > 1, seen["two speeds"] || len(speeds) > 1
	seen["aggregate that remembers"] = seen["aggregate that remembers"] || remembersAggregate(sc.Topology)
	switch {
	case len(families) == 2:
		seen["dual"] = true
	case families[true]:
		seen["ipv4"] = true
	default:
		seen["ipv6"] = true
	}
	bundle, told := sc.Damping.Bundle, sc.Damping.Told
	if sc.Plan != nil {
		seen["plan"] = true
		for _, r := range sc.Plan.Bundle {
			bundle = append(bundle[:len(bundle):len(bundle)], r.Stages...)
		}
		for _, r := range sc.Plan.Told {
			told = append(told[:len(told):len(told)], r.Stages...)
		}
	}
	for _, s := range bundle {
		seen["stage "+strings.TrimPrefix(fmt.Sprintf("%T", s), "*")] = true
	}
	for _, s := range told {
		seen["stage "+strings.TrimPrefix(fmt.Sprintf("%T", s), "*")] = true
	}
}
