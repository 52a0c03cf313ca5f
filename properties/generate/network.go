package generate

import (
	"fmt"
	"slices"
	"sync"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// units is how many chassis every device stands for, so that no bundle that is
// drawn lacks ports.
const units = 1000

// topology draws a network: a quotient of a preset, or one of a shape of its own.
func topology(src Source, l Limits) *topologies.Topology {
	if oneIn(src, 8) {
		if fits := quotientsUpTo(l.Devices); len(fits) > 0 {
			return pick(src, fits...)
		}
	}
	s := shape(src, l)
	t := must(topologies.Generate(s))
	for range pick(src, 0, 0, 1, 2) { // parallel sessions of unlike pairs
		twin := t.Bundles[src.IntN(len(t.Bundles))]
		twin.Name += fmt.Sprintf("#%d", 2+len(t.Bundles))
		t.Bundles = append(t.Bundles, twin)
	}
	return t
}

// quotients are those of all presets; nobody may write to them.
var quotients = sync.OnceValue(func() (list []*topologies.Topology) {
	for _, name := range topologies.Presets() {
		list = append(list, topologies.Quotient(must(topologies.Preset(name))))
	}
	return list
})

func quotientsUpTo(devices int) (list []*topologies.Topology) {
	for _, q := range quotients() {
		if len(q.Devices) <= devices {
			list = append(list, q)
		}
	}
	return list
}

// members are how many member links a bundle has: few, as many as in the presets,
// awkward numbers, and so many that sums are beyond what a float32 tells exactly.
var members = []int{32, 8, 4, 2, 1, 3, 7, 33, 36, 40, 64, 100, 576, 4096}

// speeds of members, in bits/s.
var speeds = []uint64{800e9, 400e9, 100e9, 1600e9, 10e9}

func link(src Source, length int) topologies.Link {
	l := topologies.Link{Members: members[min(src.IntN(len(members)), src.IntN(len(members)))], Length: length}
	if oneIn(src, 6) {
		l.Speed = pick(src, speeds...)
	}
	if oneIn(src, 8) {
		l.Sessions = min(between(src, 2, 3), l.Members)
	}
	return l
}

// drawn is a shape that is cut down to a number of devices.
type drawn struct {
	topologies.Shape
	hubs int  // of a join of all regions; 0 = none
	both bool // the regions are joined directly beside the hubs
}

// shape draws a shape of at most so many devices.
func shape(src Source, l Limits) topologies.Shape {
	s := drawn{Shape: topologies.Shape{
		Name: "generated", Regions: pick(src, 1, 2, 3), Planes: pick(src, 1, 2, 3), Speed: 800e9,
		SpineEdge: link(src, 300), EdgeBag: link(src, 3000), BagBag: link(src, 80_000), RackSpine: link(src, 100), SpineBag: link(src, 1000),
		BagHub: link(src, 6000), HubBackbone: link(src, 500_000), BagBackbone: link(src, 500_000),
		SpineUnits: units, EdgeUnits: units, BagUnits: units, RackUnits: units, HubUnits: units, BackboneUnits: units,
		ASN:        pick(src, topologies.PerGroup, topologies.PerPlane, topologies.Unique),
		Addressing: pick(src, topologies.IPv4, topologies.IPv4, topologies.IPv6, topologies.Dual),
		Groups:     []topologies.FabricGroup{group(src)},
	}}
	if oneIn(src, 4) {
		s.Groups = append(s.Groups, group(src))
		s.Groups[1].Count = 1
	}
	if oneIn(src, 8) {
		s.hubs, s.both = between(src, 1, 2), oneIn(src, 2)
	}
	if oneIn(src, 8) {
		s.Backbones = 1
	}
	if oneIn(src, 3) {
		s.ASICs = topologies.PerRole[[]string]{Spine: asics(src), Edge: asics(src), Bag: asics(src), Hub: asics(src)}
	}
	spread := between(src, 1, 3)
	for s.devices() > l.Devices {
		smaller := s.smaller()
		smaller[src.IntN(len(smaller))]()
	}
	s.Spread = min(spread, s.Planes)
	s.join()
	s.settleGroups()
	s.aggregate(src)
	return s.Shape
}

// group draws fabrics of one kind.
func group(src Source) topologies.FabricGroup {
	k := topologies.FabricGroup{
		Count: pick(src, 1, 2, 1, 3), Spines: pick(src, 1, 2, 4), Kind: pick(src, "dsf", "nsf", "fpf", "zone"),
		Edges: pick(src, topologies.MatchingPlane, topologies.AllPlanes, topologies.MatchingPlane, topologies.AllPlanes, topologies.MatchingPlane, topologies.AllSpinePlanes),
	}
	if k.Edges == topologies.AllSpinePlanes || oneIn(src, 10) {
		k.Racks = between(src, 1, 2)
	}
	if oneIn(src, 3) {
		k.Speed = pick(src, speeds...)
	}
	return k
}

func asics(src Source) (names []string) {
	profiles := fib.Profiles()
	for range between(src, 0, 2) {
		names = append(names, profiles[src.IntN(len(profiles))].Name)
	}
	return names
}

func (s *drawn) devices() int {
	region := s.Planes
	for _, k := range s.Groups {
		of := k.Spines + k.Racks
		switch k.Edges {
		case topologies.MatchingPlane:
			of += s.Planes
		case topologies.AllSpinePlanes:
			of += (s.Planes - k.Spines%s.Planes) % s.Planes // the spines that settleGroups adds
		}
		region += k.Count * of
	}
	return s.Regions*region + s.hubs + s.Backbones
}

// smaller are the ways in which there may be less; there is none only of the
// smallest network, which has six devices at most.
func (s *drawn) smaller() (ways []func()) {
	may := func(can bool, less func()) {
		if can {
			ways = append(ways, less)
		}
	}
	may(len(s.Groups) > 1, func() { s.Groups = s.Groups[:1] })
	for i := range s.Groups {
		k := &s.Groups[i]
		may(k.Count > 1, func() { k.Count-- })
		may(k.Spines > 1, func() { k.Spines-- })
		may(k.Racks > 1, func() { k.Racks-- })
		may(k.Racks > 0 && k.Edges != topologies.AllSpinePlanes, func() { k.Racks = 0 })
		may(k.Edges == topologies.AllSpinePlanes, func() { k.Edges = topologies.AllPlanes })
	}
	may(s.Regions > 2, func() { s.Regions-- })
	may(s.Planes > 1, func() { s.Planes-- })
	may(s.hubs > 0, func() { s.hubs-- })
	may(s.Backbones > 0, func() { s.Backbones = 0 })
	return ways
}

// join says how the regions are joined; no region alone needs that.
func (s *drawn) join() {
	if s.hubs == 0 {
		return
	}
	s.Joins = []topologies.Join{{Mode: topologies.HubAndSpoke, Width: s.hubs}}
	if s.both && s.Regions > 1 {
		s.Joins = append([]topologies.Join{{Mode: topologies.SpreadJoin, Width: s.Spread, Regions: []int{1, 2}}}, s.Joins...)
	}
	s.Spread = 0
}

// settleGroups makes the groups fit the planes, which may be fewer now.
func (s *drawn) settleGroups() {
	for i := range s.Groups {
		k := &s.Groups[i]
		if k.Edges == topologies.AllSpinePlanes {
			k.Spines += (s.Planes - k.Spines%s.Planes) % s.Planes
		}
		k.NoRacks = k.Racks == 0
	}
}

// aggregate draws aggregates that the network can announce.
func (s *drawn) aggregate(src Source) {
	owners, announceable := 1<<20, true
	for _, k := range s.Groups {
		if k.Racks > 0 {
			owners = min(owners, k.Racks)
		} else {
			owners = min(owners, k.Spines)
		}
		// Spines that meet the bags hear of one another from above alone.
		announceable = announceable && (k.Edges == topologies.MatchingPlane || k.Racks > 0)
	}
	ofFabric, ofRegion := announceable && oneIn(src, 4), oneIn(src, 10)
	if !ofFabric && !ofRegion {
		return
	}
	if ofFabric {
		n := uint64(between(src, 1, owners))
		s.FabricAggregate = &topologies.Aggregate{By: topologies.BySupporting, Announce: n, Withdraw: 1 + uint64(src.IntN(int(n))), Suppress: oneIn(src, 3)}
	}
	if !ofRegion {
		return
	}
	a := &topologies.Aggregate{By: topologies.ByCapacity, Suppress: oneIn(src, 3)}
	least := leastBelowBags(must(topologies.Generate(s.Shape)))
	a.Announce = least / uint64(pick(src, 2, 1, 4))
	a.Withdraw = a.Announce / uint64(pick(src, 2, 1, 3))
	s.RegionAggregate = a
}

// leastBelowBags is the least capacity that a bag has downwards, in bits/s.
func leastBelowBags(t *topologies.Topology) uint64 {
	ix := t.Index()
	below := map[int]uint64{}
	for i, b := range t.Bundles {
		lower, upper := ix.Ends[i][0], ix.Ends[i][1]
		if t.Devices[upper].Role == topologies.Bag && t.Devices[lower].Role < topologies.Bag {
			below[upper] += b.Capacity(b.Members)
		}
	}
	least := uint64(1 << 62)
	for _, capacity := range below {
		least = min(least, capacity)
	}
	return least
}

// hardware draws what the devices forward with beyond what the topology names.
func hardware(src Source, t *topologies.Topology) []state.Hardware {
	list := must(state.HardwareOf(t))
	if !oneIn(src, 3) {
		return list
	}
	options := fib.Options{Algorithm: pick(src, algorithms()...), Overflow: pick(src, fib.OverflowExceed, fib.OverflowEqual, fib.OverflowMerge, fib.OverflowShare, fib.OverflowSpill)}
	for i := range list {
		list[i].Options = options
	}
	return list
}

// algorithms are those that drop no next hop, the default first.
func algorithms() []fib.Algorithm {
	return append([]fib.Algorithm{""}, slices.DeleteFunc(fib.Algorithms(), func(a fib.Algorithm) bool { return a == fib.FBOSSOptimized })...)
}
