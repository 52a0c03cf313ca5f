package properties

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// FairnessName is the name of the rule, as verdicts and reports print it.
const FairnessName = "fairness between planes"

// Fairness is the rule "fairness between planes": planes that are alike carry alike.
// Two planes are alike at a settled moment where to exchange them, device by device
// with that of the same role, region and fabric, gives the same network: the same
// bundles with the same capacity as their damping passes it, sessions and trials, the
// same drains and settings, and the same ASNs. Then a device that is of neither plane
// has, of a prefix that the exchange leaves as it is, equal shares over a bundle and
// over the one that takes its place.
//
// Told values with a memory may remember how the planes differed, so prefixes of which
// some device has such damping are outside; and planes are alike only where an aggregate
// that one has announced is announced by the other. Networks whose planes have ASNs of
// their own are outside too: there ties between equal paths are broken differently in
// each.
type Fairness struct {
	ledger
	exchanges []exchange // nil = not known yet
	known     bool
	remember  []bool // by prefix: some device damps it with a memory
}

// NewFairness returns the check. Its worst value is the most shares that differed at
// one moment.
func NewFairness() *Fairness { return &Fairness{ledger: newLedger(FairnessName, 0, "shares")} }

// exchange is how two planes take one another's place.
type exchange struct {
	planes   [2]int
	device   []int  // by device: which takes its place; itself where it is of neither plane
	bundle   []int  // by bundle
	prefixes []bool // that it leaves as they are, with all that they follow from
}

// Look implements state.Check. It counts as exercised once per pair of shares.
func (c *Fairness) Look(m *state.Moment) {
	if !m.Settled || len(m.Snapshot.Held) > 0 || m.Settings == nil {
		return
	}
	if !c.known {
		c.known, c.exchanges, c.remember = true, exchanges(m.Network), somewhere(m, remembers)
	}
	before := c.found.Violated
	for i := range c.exchanges {
		if x := &c.exchanges[i]; x.alike(m) {
			c.judge(m, x)
		}
	}
	c.worst(float64(c.found.Violated - before))
}

func (c *Fairness) judge(m *state.Moment, x *exchange) {
	for p, same := range x.prefixes {
		if !same || c.remember[p] {
			continue
		}
		for d := range m.Snapshot.Devices {
			if x.device[d] != d || c.unseen(m, d, "its shares") {
				continue
			}
			set := m.Snapshot.Devices[d].Routes[p].Set
			for _, a := range set {
				other := int32(x.bundle[a.Bundle])
				if other <= a.Bundle && shareOver(set, other) > 0 {
					continue // judged from the other side, or not of the two planes
				}
				c.found.Exercised++
				if share := shareOver(set, other); share != a.Share {
					c.violate(m, at(m.Network, d, p), "planes %d and %d are alike, and it shares %s over %s but %s over %s", x.planes[0], x.planes[1],
						amount(m.Network, float64(a.Share)), bundleName(m.Network, a.Bundle), amount(m.Network, float64(share)), bundleName(m.Network, other))
				}
			}
		}
	}
}

func shareOver(set []state.Member, bundle int32) uint64 {
	for _, m := range set {
		if m.Bundle == bundle {
			return m.Share
		}
	}
	return 0
}

// alike tells whether the exchange leaves the network as it is now.
func (x *exchange) alike(m *state.Moment) bool {
	for d, other := range x.device {
		a, b := &m.Snapshot.Devices[d], &m.Snapshot.Devices[other]
		if a.Drain != b.Drain || a.Restarting || d != other && m.IsExternal(d) {
			return false
		}
		if d != other && !reflect.DeepEqual(m.Settings[d], m.Settings[other]) {
			return false
		}
		for p := range m.Topology.Prefixes { // between its thresholds an aggregate is what it was
			if m.Topology.Prefixes[p].Aggregate != nil && a.Routes[p].Local != b.Routes[p].Local {
				return false
			}
		}
	}
	for b, other := range x.bundle {
		if m.Snapshot.Bundles[b] != m.Snapshot.Bundles[other] {
			return false
		}
	}
	return true
}

// exchanges finds the planes that the topology alone makes alike.
func exchanges(n *state.Network) (list []exchange) {
	planes := map[int]bool{}
	for _, d := range n.Topology.Devices {
		if d.Plane > 0 {
			planes[d.Plane] = true
		}
	}
	var numbers []int
	for p := range planes {
		numbers = append(numbers, p)
	}
	slices.Sort(numbers)
	for i, p := range numbers {
		for _, q := range numbers[i+1:] {
			if x, ok := exchanged(n, p, q); ok {
				list = append(list, x)
			}
		}
	}
	return list
}

// exchanged makes the exchange of two planes, where the topology has it.
func exchanged(n *state.Network, p, q int) (exchange, bool) {
	x := exchange{planes: [2]int{p, q}}
	t := n.Topology
	place := func(d topologies.Device) string {
		if d.Plane == p || d.Plane == q {
			return fmt.Sprint(d.Role, d.Region, d.Fabric)
		}
		return ""
	}
	of := map[int]map[string][]int{p: {}, q: {}}
	for i, d := range t.Devices {
		if key := place(d); key != "" {
			of[d.Plane][key] = append(of[d.Plane][key], i)
		}
	}
	for i, d := range t.Devices {
		key := place(d)
		if key == "" {
			x.device = append(x.device, i)
			continue
		}
		other := of[p+q-d.Plane][key]
		if len(other) != 1 || len(of[d.Plane][key]) != 1 {
			return x, false
		}
		x.device = append(x.device, other[0])
		if o := t.Devices[other[0]]; o.ASN != d.ASN {
			return x, false
		}
	}
	for _, plane := range []int{p, q} { // ties are broken by the order of devices
		last := -1
		for i, d := range t.Devices {
			if d.Plane == plane && x.device[i] < last {
				return x, false
			}
			if d.Plane == plane {
				last = x.device[i]
			}
		}
	}
	return x, x.bundles(n) && x.keepsPrefixes(n)
}

// bundles finds which bundle takes the place of which, the parallel ones in their order.
func (x *exchange) bundles(n *state.Network) bool {
	between := map[[2]int][]int{}
	for b, ends := range n.Index.Ends {
		between[ends] = append(between[ends], b)
	}
	x.bundle = make([]int, len(n.Topology.Bundles))
	for ends, list := range between {
		other := between[[2]int{x.device[ends[0]], x.device[ends[1]]}]
		if len(other) != len(list) {
			return false
		}
		for i, b := range list {
			a, o := n.Topology.Bundles[b], n.Topology.Bundles[other[i]]
			if a.Members != o.Members || a.Speed != o.Speed || a.Length != o.Length {
				return false
			}
			x.bundle[b] = other[i]
		}
	}
	return true
}

// keepsPrefixes finds the prefixes that the exchange leaves as they are.
func (x *exchange) keepsPrefixes(n *state.Network) (any bool) {
	t := n.Topology
	own := make([]bool, len(t.Prefixes))
	for p := range own {
		origin := origins(n, p)
		own[p] = true
		for d := range origin {
			own[p] = own[p] && origin[d] == origin[x.device[d]]
		}
	}
	x.prefixes = slices.Clone(own)
	for a := range t.Prefixes {
		if t.Prefixes[a].Aggregate == nil {
			continue
		}
		for _, s := range t.Specifics(a) {
			x.prefixes[a] = x.prefixes[a] && own[s]
			x.prefixes[s] = x.prefixes[s] && own[a]
		}
	}
	return slices.Contains(x.prefixes, true)
}
