package topologies

import (
	"fmt"
	"slices"
)

// ASNPlan says which devices share an ASN. All ASNs are private ones of 4 bytes
// (RFC 6996). A device that originates a prefix of its own has its own ASN in
// all plans, so the racks have, or the spines where there are no racks.
//
// Under PerGroup the numbers show whose they are, 42rrrrrfff with the region
// and the group: 0 the bags, 1 to 16 the edges of that fabric, 21 to 36 its
// spines above racks, 101 to 356 the spines that own prefixes where a fabric has
// at most 16; 4200000000 the hubs and 4200000001 the backbone. All other
// numbers are 4220000000 and the device's place in the list, from 0, of the
// first of those that share one.
type ASNPlan uint8

// The ASN plans.
const (
	PerGroup ASNPlan = iota // one to all edges of a fabric, to all its spines above racks, to all bags of a region, to all hubs, to the backbone
	PerPlane                // one per fabric and plane to edges and to spines that have one, per region and plane to bags; hubs have their own
	Unique                  // one to every device
)

var asnPlans = [...]string{PerGroup: "per-group", PerPlane: "per-plane", Unique: "unique"}

func (p ASNPlan) String() string {
	if int(p) < len(asnPlans) {
		return asnPlans[p]
	}
	return fmt.Sprintf("ASNPlan(%d)", uint8(p))
}

// ParseASNPlan reads a plan's name as String prints it.
func ParseASNPlan(s string) (ASNPlan, bool) {
	i := slices.Index(asnPlans[:], s)
	return ASNPlan(max(i, 0)), i >= 0
}

const (
	asnHubs, asnBackbone     = 4_200_000_000, 4_200_000_001
	asnBase, asnRegion       = 4_200_000_000, 1000
	asnSpineGroup, asnSpines = 20, 101
	asnOwn                   = 4_220_000_000
	spinesWithNumbers        = 16 // of a fabric
)

// asnGroup is a region, a fabric and a plane whose spines share an ASN.
type asnGroup struct{ region, fabric, plane int }

// ownASN is the ASN of the device that is added next and shares it with none.
func (g *generator) ownASN() uint32 { return asnOwn + uint32(len(g.t.Devices)) }

func groupASN(region, group int) uint32 { return asnBase + uint32(region*asnRegion+group) }

// bagASN and edgeASN are for the device that is added next. There is one bag
// per region and plane and one edge per fabric and plane, so that the two other
// plans come to the same here.
func (g *generator) bagASN(region int) uint32 { return g.edgeASN(region, 0) }

func (g *generator) edgeASN(region, fabric int) uint32 {
	if g.ASN == PerGroup {
		return groupASN(region, fabric)
	}
	return g.ownASN()
}

func (g *generator) spineASN(region, fabric, spine, plane int, k *FabricGroup) uint32 {
	switch {
	case k.Racks == 0 && k.Spines <= spinesWithNumbers:
		return groupASN(region, asnSpines+(fabric-1)*spinesWithNumbers+spine-1)
	case k.Racks == 0 || g.ASN == Unique || g.ASN == PerPlane && plane == 0:
		return g.ownASN()
	case g.ASN == PerGroup:
		return groupASN(region, asnSpineGroup+fabric)
	}
	of := asnGroup{region, fabric, plane}
	asn, ok := g.shared[of]
	if !ok {
		asn = g.ownASN()
		if g.shared == nil {
			g.shared = map[asnGroup]uint32{}
		}
		g.shared[of] = asn
	}
	return asn
}

// topASN is the ASN of the hub or backbone device that is added next.
func (g *generator) topASN(group uint32) uint32 {
	if g.ASN == PerGroup {
		return group
	}
	return g.ownASN()
}
