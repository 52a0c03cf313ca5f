package topologies

import (
	"fmt"
	"slices"
)

// JoinMode is how regions are joined.
type JoinMode uint8

// The modes.
const (
	// Planar: every two of the regions, plane by plane.
	Planar JoinMode = iota
	// SpreadJoin: every two of the regions; each bag of the earlier joins Width
	// planes of the other, its own first.
	SpreadJoin
	// HubAndSpoke: Width hubs, and every bag of every region joins each.
	HubAndSpoke
)

var joinModes = [...]string{Planar: "planar", SpreadJoin: "spread", HubAndSpoke: "hub"}

func (m JoinMode) String() string {
	if int(m) < len(joinModes) {
		return joinModes[m]
	}
	return fmt.Sprintf("JoinMode(%d)", uint8(m))
}

// Join joins some of the regions. A shape may have several, over the same
// regions too; two joins of one pair of regions give bundles of their own.
type Join struct {
	Mode    JoinMode
	Width   int   // SpreadJoin: planes, 1 to Planes; HubAndSpoke: hubs, 1 to 256; not looked at for Planar
	Regions []int // ascending, from 1, none twice; nil: all
	// What is 0 is as the shape's BagBag, or BagHub, has it.
	Link Link
	// Metres of a hub join's bundles by region, in the order of Regions, where
	// these differ; 0: the link's.
	Lengths []int
}

// joins are the joins with everything filled in.
func (s *Shape) joins() []Join {
	joins := slices.Clone(s.Joins)
	if len(joins) == 0 && s.Regions > 1 {
		joins = []Join{{Mode: SpreadJoin, Width: max(s.Spread, 1)}}
	}
	for i := range joins {
		j := &joins[i]
		if len(j.Regions) == 0 {
			for r := 1; r <= s.Regions; r++ {
				j.Regions = append(j.Regions, r)
			}
		}
		class := s.BagBag
		if j.Mode == HubAndSpoke {
			class = s.BagHub
		}
		if j.Mode == Planar {
			j.Width = 1
		}
		j.Link = j.Link.or(class).or(Link{Speed: s.Speed})
	}
	return joins
}

// bundles is how many bundles a join that is filled in has.
func (j *Join) bundles(planes int) int {
	n := len(j.Regions) * planes * j.Width * j.Link.bundles()
	if j.Mode != HubAndSpoke {
		n = n * (len(j.Regions) - 1) / 2
	}
	return n
}

func (g *generator) join(j *Join) {
	if j.Mode == HubAndSpoke {
		g.joinHubs(j)
		return
	}
	for i, a := range j.Regions {
		for _, b := range j.Regions[i+1:] {
			for p := 1; p <= g.Planes; p++ {
				for k := range j.Width {
					g.parallel(g.bag(a, p), g.bag(b, (p-1+k)%g.Planes+1), j.Link)
				}
			}
		}
	}
}

func (g *generator) joinHubs(j *Join) {
	first := len(g.hubs)
	for range j.Width {
		n := len(g.hubs) + 1
		g.hubs = append(g.hubs, g.add(Device{
			Name: fmt.Sprintf("hub%d", n), Role: Hub, ASN: g.topASN(asnHubs), ASIC: g.asic(Hub, n), Units: g.HubUnits,
		}))
	}
	for i, r := range j.Regions {
		l := j.Link
		if i < len(j.Lengths) && j.Lengths[i] > 0 {
			l.Length = j.Lengths[i]
		}
		for p := 1; p <= g.Planes; p++ {
			for _, hub := range g.hubs[first:] {
				g.bundle(g.bag(r, p), hub, l)
			}
		}
	}
}

// parallel is bundle where another join may have joined the pair already.
func (g *generator) parallel(a, b int, l Link) {
	if len(g.joins) == 1 {
		g.bundle(a, b, l)
		return
	}
	start, before := len(g.t.Bundles), 0
	from, to := g.t.Devices[a].Name, g.t.Devices[b].Name
	if g.pairs == nil {
		g.pairs = map[[2]int]int{}
	}
	before = g.pairs[[2]int{a, b}]
	g.bundle(a, b, l)
	for i := range g.t.Bundles[start:] {
		if n := before + i + 1; n > 1 {
			g.t.Bundles[start+i].Name = fmt.Sprintf("%s--%s#%d", from, to, n)
		}
	}
	g.pairs[[2]int{a, b}] = before + len(g.t.Bundles) - start
}

// backbone adds the devices above hubs, or above bags where there are no hubs,
// and the default route that they originate.
func (g *generator) backbone() {
	if g.Backbones == 0 {
		return
	}
	below, link := g.hubs, g.HubBackbone
	if len(below) == 0 {
		below, link = g.bags, g.BagBackbone
	}
	link = link.or(Link{Speed: g.Speed})
	var all []int
	for n := 1; n <= g.Backbones; n++ {
		all = append(all, g.add(Device{
			Name: fmt.Sprintf("backbone%d", n), Role: Backbone, ASN: g.topASN(asnBackbone), ASIC: g.asic(Backbone, n), Units: g.BackboneUnits,
		}))
	}
	for _, a := range below {
		for _, b := range all {
			g.bundle(a, b, link)
		}
	}
	g.prefix(Prefix{Class: "default", Origins: g.names(all)}, block{})
}
