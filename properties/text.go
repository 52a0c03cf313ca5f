package properties

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// at names a device's route.
func at(n *state.Network, device, prefix int) string {
	return fmt.Sprintf("device %q, prefix %s", n.Topology.Devices[device].Name, n.Topology.Prefixes[prefix].Prefix)
}

// bundleName quotes a bundle's name, or says that there is none.
func bundleName(n *state.Network, bundle int32) string {
	if bundle < 0 || int(bundle) >= len(n.Topology.Bundles) {
		return fmt.Sprintf("bundle %d (there is no such)", bundle)
	}
	return fmt.Sprintf("%q", n.Topology.Bundles[bundle].Name)
}

// peer is the device at the other end of the bundle, and whether the bundle is
// one of the device's at all.
func peer(n *state.Network, device int, bundle int32) (int, bool) {
	if bundle < 0 || int(bundle) >= len(n.Index.Ends) {
		return 0, false
	}
	ends := n.Index.Ends[bundle]
	switch device {
	case ends[0]:
		return ends[1], true
	case ends[1]:
		return ends[0], true
	}
	return 0, false
}

// amount prints bits/s as an engineer counts them: in members of the
// network's smallest speed and in bits/s, "33 members (26.4T)".
func amount(n *state.Network, bits float64) string {
	speed := float64(n.Topology.SmallestSpeed())
	members := math.Round(bits / speed)
	if speed > 0 && members > 0 && math.Abs(bits-float64(members*speed)) <= bits*0x1p-20 {
		unit := "members"
		if members == 1 {
			unit = "member"
		}
		return fmt.Sprintf("%.0f %s (%s)", members, unit, yamltree.FormatCapacity(uint64(members*speed)))
	}
	if bits >= 1e12 {
		return fmt.Sprintf("%.6gT", bits/1e12)
	}
	return fmt.Sprintf("%.0f bits/s", bits)
}

// valueText prints what is told: nothing, a route without a value, or the value.
func valueText(n *state.Network, present, valued bool, value float32) string {
	switch {
	case !present:
		return "nothing"
	case !valued:
		return "a route without a value"
	}
	return amount(n, bitsOf(value))
}

// bitsOf is a told value in bits/s.
func bitsOf(value float32) float64 { return float64(8 * float64(value)) }

func toldText(n *state.Network, t state.Told) string {
	text := valueText(n, t.Present, t.Valued, t.Value)
	if !t.Present {
		return text
	}
	text += fmt.Sprintf(", AS_PATH %v", t.Path)
	if t.Down {
		text += ", only down"
	}
	return text
}

// setText prints a multipath set, equal shares in one word.
func setText(n *state.Network, set []state.Member) string {
	if len(set) == 0 {
		return "no set"
	}
	var parts []string
	for _, m := range set {
		parts = append(parts, fmt.Sprintf("%s %s", bundleName(n, m.Bundle), amount(n, float64(m.Share))))
	}
	return few(parts)
}

// few joins the first of many parts.
func few(parts []string) string {
	const most = 4
	if len(parts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:most], ", "), len(parts)-most)
	}
	return strings.Join(parts, ", ")
}

// difference says in what two routes of one device differ, candidates and
// hardware apart, or gives "". The names say whose routes they are.
func difference(n *state.Network, gotName string, got *state.Route, wantName string, want *state.Route) string {
	say := func(what, g, w string) string {
		return fmt.Sprintf("%s: %s has %s, %s has %s", what, gotName, g, wantName, w)
	}
	switch {
	case got.Reachable() != want.Reachable():
		return say("route", reachText(n, got), reachText(n, want))
	case got.Local != want.Local:
		return say("origin", fmt.Sprint(got.Local), fmt.Sprint(want.Local))
	case !slices.Equal(got.Set, want.Set):
		g, w := setDifference(got.Set, want.Set)
		return say("multipath set", setText(n, g), setText(n, w))
	case got.Valued != want.Valued || got.Bottleneck != want.Bottleneck:
		return say("bottleneck value", bottleneckText(n, got), bottleneckText(n, want))
	case !sameTold(got.Told, want.Told):
		return say("told", toldText(n, got.Told), toldText(n, want.Told))
	}
	return ""
}

func sameTold(a, b state.Told) bool {
	return a.SameValue(b) && a.Down == b.Down && slices.Equal(a.Path, b.Path)
}

func reachText(n *state.Network, r *state.Route) string {
	switch {
	case r.Local:
		return "one of its own"
	case len(r.Set) == 0:
		return "none"
	}
	return "one over " + setText(n, r.Set)
}

func bottleneckText(n *state.Network, r *state.Route) string {
	if !r.Valued {
		return "none"
	}
	return amount(n, float64(r.Bottleneck))
}

// setDifference leaves out what both sets have.
func setDifference(a, b []state.Member) (onlyA, onlyB []state.Member) {
	for _, m := range a {
		if !slices.Contains(b, m) {
			onlyA = append(onlyA, m)
		}
	}
	for _, m := range b {
		if !slices.Contains(a, m) {
			onlyB = append(onlyB, m)
		}
	}
	return onlyA, onlyB
}

// percent prints an error, which may be infinite.
func percent(size float64) string {
	if math.IsInf(size, 1) {
		return "infinitely much"
	}
	return fmt.Sprintf("%.4g %%", 100*size)
}
