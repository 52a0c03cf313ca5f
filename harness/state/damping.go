package state

import "github.com/bagrig/bagrig/damping"

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
	type place struct{ role, class string }
	plan, places := n.DampingPlan(), map[place]*ToldDamping{}
	roles := make([]string, len(n.Topology.Devices))
	for d, device := range n.Topology.Devices {
		roles[d] = device.Role.String()
		for _, p := range n.Topology.Prefixes {
			at := place{roles[d], p.Class}
			if places[at] != nil {
				continue
			}
			t, rule := plan.ForTold(at.role, at.class)
			places[at] = &ToldDamping{t, rule, t.Law(), t.Memoryless(), t.Forgets()}
		}
	}
	none := damping.Pipeline{}
	undamped := &ToldDamping{none, external, none.Law(), true, true}
	return func(device, prefix int) *ToldDamping {
		if n.IsExternal(device) && !n.External[device].Damped {
			return undamped
		}
		return places[place{roles[device], n.Topology.Prefixes[prefix].Class}]
	}
}
