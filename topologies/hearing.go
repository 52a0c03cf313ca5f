package topologies

import (
	"fmt"
	"slices"
)

// originators gives the devices that originate a prefix, ascending.
func (c *checker) originators() []int {
	var list []int
	for i := range c.t.Prefixes {
		for _, name := range c.t.Prefixes[i].Origins {
			list = append(list, c.x.Device[name])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// originatorASNs reports originating devices that share an ASN and not their
// prefixes: each would drop the other's routes as looped, so that no policy
// could bring them together.
func (c *checker) originatorASNs() {
	originates := make([][]int, len(c.t.Devices))
	for i := range c.t.Prefixes {
		for _, name := range c.t.Prefixes[i].Origins {
			d := c.x.Device[name]
			originates[d] = append(originates[d], i)
		}
	}
	first := map[uint32]int{}
	for _, d := range c.originators() {
		asn := c.t.Devices[d].ASN
		before, ok := first[asn]
		if !ok {
			first[asn] = d
			continue
		}
		if !slices.Equal(originates[before], originates[d]) {
			c.add(devicePart, d, "asn", asn, fmt.Sprintf(
				"%q has it too and originates other prefixes, so each drops the other's routes: want an ASN of its own", c.t.Devices[before].Name))
		}
	}
}

// chunk is how many originating devices are followed at a time: it bounds the
// memory, and keeps one device's bits in a cache line.
const chunk = 512

type heard [chunk / 64]uint64

func (h *heard) or(o *heard) {
	for i := range h {
		h[i] |= o[i]
	}
}

func (h *heard) set(i int) { h[i/64] |= 1 << (i % 64) }

func (h *heard) has(i int) bool { return h[i/64]>>(i%64)&1 == 1 }

// everyone has the first n bits set.
func everyone(n int) (h heard) {
	for i := range n {
		h.set(i)
	}
	return h
}

// sources gives the groups of devices that originate something together and
// that must be heard of by all: each device that originates a prefix alone, and
// the origins of each other prefix where none of them is such a device. Who
// hears of that one hears of the prefix.
func (c *checker) sources() (groups [][]int) {
	alone := map[int]bool{}
	for i := range c.t.Prefixes {
		if origins := c.t.Prefixes[i].Origins; len(origins) == 1 {
			alone[c.x.Device[origins[0]]] = true
		}
	}
	for _, d := range c.originators() {
		if alone[d] {
			groups = append(groups, []int{d})
		}
	}
	seen := map[string]bool{}
	for i := range c.t.Prefixes {
		origins := c.t.Prefixes[i].Origins
		if len(origins) < 2 || slices.ContainsFunc(origins, func(name string) bool { return alone[c.x.Device[name]] }) {
			continue
		}
		group := make([]int, len(origins))
		for k, name := range origins {
			group[k] = c.x.Device[name]
		}
		if key := fmt.Sprint(group); !seen[key] {
			seen[key] = true
			groups = append(groups, group)
		}
	}
	return groups
}

// apart reports originating devices that cannot hear of a prefix of others
// under valley-free export, where what was learned from below goes everywhere
// and anything else only down. It names the first two and counts the rest.
func (c *checker) apart() {
	receivers, groups := c.originators(), c.sources()
	single := map[int]bool{}
	for _, g := range groups {
		single[g[0]] = single[g[0]] || len(g) == 1
	}
	up, down := make([]heard, len(c.t.Devices)), make([]heard, len(c.t.Devices))
	order := c.bundlesByTier()
	pairs, first := 0, [2]int{}
	for start := 0; start < len(groups); start += chunk {
		some := groups[start:min(start+chunk, len(groups))]
		c.spread(some, order, up, down)
		all := everyone(len(some))
		for _, d := range receivers {
			if down[d] == all {
				continue
			}
			for i, group := range some {
				// Between two that originate alone hearing is symmetric: a
				// valley-free path read backwards is one.
				if down[d].has(i) || len(group) == 1 && single[d] && group[0] < d {
					continue
				}
				if pairs == 0 {
					first = [2]int{d, group[0]}
				}
				pairs++
			}
		}
	}
	if pairs > 0 {
		c.reportApart(first, pairs)
	}
}

// tierOrder has the bundles between tiers, ascending by the lower end's tier
// and descending by the upper end's, and the bundles inside a tier.
type tierOrder struct{ rising, falling, across []int }

func (c *checker) bundlesByTier() (order tierOrder) {
	role := func(bundle, side int) int { return int(c.t.Devices[c.x.Ends[bundle][side]].Role) }
	for i := range c.x.Ends {
		if role(i, 0) == role(i, 1) {
			order.across = append(order.across, i)
		} else {
			order.rising = append(order.rising, i)
		}
	}
	order.falling = slices.Clone(order.rising)
	slices.SortStableFunc(order.rising, func(i, j int) int { return role(i, 0) - role(j, 0) })
	slices.SortStableFunc(order.falling, func(i, j int) int { return role(j, 1) - role(i, 1) })
	return order
}

// spread fills in which of the groups each device hears: up what reached it
// from itself or from below, down what reached it at all. One pass upward, one
// across and one downward do, because a valley-free path climbs, crosses at
// most once, and descends.
func (c *checker) spread(groups [][]int, order tierOrder, up, down []heard) {
	clear(up)
	for i, group := range groups {
		for _, o := range group {
			up[o].set(i)
		}
	}
	for _, b := range order.rising {
		e := c.x.Ends[b]
		up[e[1]].or(&up[e[0]])
	}
	copy(down, up)
	for _, b := range order.across {
		e := c.x.Ends[b]
		down[e[0]].or(&up[e[1]])
		down[e[1]].or(&up[e[0]])
	}
	// A rising order reversed would not do where a bundle skips a tier.
	for _, b := range order.falling {
		e := c.x.Ends[b]
		down[e[0]].or(&down[e[1]])
	}
}

func (c *checker) reportApart(first [2]int, pairs int) {
	place := func(d int) string {
		dev := &c.t.Devices[d]
		if dev.Fabric == "" {
			return fmt.Sprintf("device %q", dev.Name)
		}
		return fmt.Sprintf("fabric %q (device %q)", dev.Fabric, dev.Name)
	}
	more := ""
	if pairs > 1 {
		more = fmt.Sprintf(" (and %d more such pairs)", pairs-1)
	}
	c.add(wholePart, 0, "", nil, fmt.Sprintf(
		"%s cannot hear of %s: what a device learned from above or from its own tier goes only down; want a path that climbs, crosses at most once and descends%s",
		place(first[0]), place(first[1]), more))
}
