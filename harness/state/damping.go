package state

import (
	"slices"

	"github.com/bagrig/bagrig/damping"
)

// DampingPlan is what damping stands where.
func (n *Network) DampingPlan() damping.Plan {
	if n.Plan != nil {
		return *n.Plan
	}
	return damping.Uniform(n.Damping)
}

// BundleInfo is what the damping of a bundle may know of it.
func (n *Network) BundleInfo(bundle int) damping.BundleInfo {
	b := n.Topology.Bundles[bundle]
	return damping.BundleInfo{Members: b.Members, Speed: b.Speed, Length: b.Length, Class: n.Topology.ClassOf(n.Index.Ends[bundle])}
}

// ToldDamping is the damping of told values at one place of a network.
type ToldDamping struct {
	Pipeline   damping.Pipeline // told stages only
	Rule       int              // of the plan; -1 = its default, -2 = of an external device, which damps nothing
	Law        damping.Law      // of Pipeline
	Memoryless bool             // what is told depends on the present bottleneck value alone
	Forgets    bool             // so it does once the damping has settled
}

// external is ToldDamping.Rule of devices that have none of the plan's.
const external = -2

// ToldDampings looks up, for a device and a prefix by their index, what damps
// the told value there. All places of one role and class share one.
func (n *Network) ToldDampings() func(device, prefix int) *ToldDamping {
	plan := n.DampingPlan()
	var roles, classes numbering
	for _, device := range n.Topology.Devices {
		roles.add(device.Role.String())
	}
	for _, p := range n.Topology.Prefixes {
		classes.add(p.Class)
	}
	places := make([]ToldDamping, len(roles.names)*len(classes.names)) // by role, then class
	for r, role := range roles.names {
		for c, class := range classes.names {
			t, rule := plan.ForTold(role, class)
			places[r*len(classes.names)+c] = ToldDamping{t, rule, t.Law(), t.Memoryless(), t.Forgets()}
		}
	}
	none := damping.Pipeline{}
	undamped := &ToldDamping{none, external, none.Law(), true, true}
	return func(device, prefix int) *ToldDamping {
		if n.IsExternal(device) && !n.External[device].Damped {
			return undamped
		}
		return &places[roles.of[device]*len(classes.names)+classes.of[prefix]]
	}
}

// numbering numbers names as they come.
type numbering struct {
	names []string
	of    []int // the number of each name that was added
}

func (n *numbering) add(name string) {
	i := slices.Index(n.names, name)
	if i < 0 {
		i = len(n.names)
		n.names = append(n.names, name)
	}
	n.of = append(n.of, i)
}
