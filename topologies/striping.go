package topologies

// Striping says on which line card each member of each bundle has its port.
//
// The rule: a device of Units chassis with LineCards cards each has
// Units x LineCards cards, numbered through from 1, those of the first chassis
// first. The members of its bundles, in the order of the topology, are counted
// through and dealt over the cards in turn, the first to card 1; on each card
// ports are taken in turn from 1. So the bundles of a card are many, each card
// has its share of every bundle, and no card has two members more than another.
//
// Published (Meta, "Building Prometheus", 2026): that BAG ports are striped.
// Ours: the rule.
type Striping struct {
	x      *Index
	counts []int    // members of each bundle
	cards  []int    // of each device; 0 where its line cards are not known
	before [][2]int // members of earlier bundles at each bundle's A and B
}

// Striping deals all members out. It is made once, in time linear in bundles,
// and holds for as long as the topology is not changed.
func (t *Topology) Striping() *Striping { return newStriping(t, t.Index()) }

func newStriping(t *Topology, x *Index) *Striping {
	s := &Striping{x: x, counts: make([]int, len(t.Bundles)), cards: make([]int, len(t.Devices)), before: make([][2]int, len(t.Bundles))}
	for i := range t.Devices {
		s.cards[i] = t.Devices[i].Units * t.Devices[i].LineCards
	}
	used := make([]int, len(t.Devices))
	for i := range t.Bundles {
		s.counts[i] = t.Bundles[i].Members
		for side, d := range x.Ends[i] {
			if d >= 0 {
				s.before[i][side] = used[d]
				used[d] += t.Bundles[i].Members
			}
		}
	}
	return s
}

// Cards is how many line cards a device has in all its chassis; 0 where that is
// not known.
func (s *Striping) Cards(device int) int { return s.cards[device] }

// Port gives the line card and the port on it, both from 1, of a bundle's
// member, from 0, at one of the bundle's two devices; zeros where the device's
// line cards are not known.
func (s *Striping) Port(device, bundle, member int) (card, port int) {
	cards := s.cards[device]
	if cards == 0 {
		return 0, 0
	}
	place := s.before[bundle][s.side(device, bundle)] + member
	return place%cards + 1, place/cards + 1
}

// On gives how many members of a bundle lie on a line card, from 1, of one of
// the bundle's two devices.
func (s *Striping) On(device, bundle, card int) int {
	cards := s.cards[device]
	if card < 1 || card > cards {
		return 0
	}
	// The members on the card are first, first + cards, first + 2 x cards, ...
	first := (card - 1 - s.before[bundle][s.side(device, bundle)]%cards + cards) % cards
	return (s.counts[bundle] - first + cards - 1) / cards
}

func (s *Striping) side(device, bundle int) int {
	if s.x.Ends[bundle][0] == device {
		return 0
	}
	return 1
}
