package topologies

import (
	"fmt"
	"slices"
	"strings"
)

// How many of each class of interchangeable fabrics and planes a quotient keeps.
//
// With two planes a device that had several equal candidates still has several,
// a lost one leaves one, and an event in one plane has another that stands for
// all the rest. Of fabrics one more is needed: of equal paths a bag tells that
// of the first fabric, but not to that fabric; so there must be the first, the
// one in which something happens (or that takes over from the first), and one
// that stands for all the rest.
const keptFabrics, keptPlanes = 3, 2

// Quotient gives the smallest topology of a valid one's shape: of the fabrics
// that are interchangeable it keeps the first three, and then of the planes that
// are the first two. What stays keeps its name and its order. The result shares
// nothing with t; where something was left out its name ends in "-quotient".
//
// Two fabrics are interchangeable if to exchange the two, device by device in
// the order of the topology, gives the same network but for names, ASNs,
// addresses, and failure domains, which are not compared: the same roles,
// region, kind, ASICs, units, ports and line cards; the same bundles inside, to
// each other fabric, and to each device outside; the same prefixes; and ASNs
// shared in the same manner. So are two planes. Planes of a partial spread are
// not interchangeable, since each has neighbours of its own, and stay.
//
// What the quotient keeps: which devices hear of which prefix, how long paths
// are and which of equal ones is told (the first fabric stays the first), and
// whether a multipath set or a sum has one member or several. What it does not
// keep: sizes of sets, and how large a sum is, so that a quantizer may absorb
// in a large network what it tells in a small one, and a sum that is larger
// than the next bundle may not be. Events are played in the first two fabrics
// and the first plane of a class. docs/quotient.md says how churn in the
// quotient gives churn in the network.
//
// Thresholds of aggregates are scaled with the number of more-specifics, and
// rounded up; where a network loses enough for one to be crossed, the quotient
// says nothing of when.
func Quotient(t *Topology) *Topology {
	q := t.without(t.spare(partition{
		keep: keptFabrics,
		in: func(d *Device) string {
			if d.Fabric == "" {
				return ""
			}
			return d.Region + " " + d.Fabric
		},
		traits: func(d *Device) string { return fmt.Sprint(d.Kind, " ", d.Plane) },
	}))
	q = q.without(q.spare(partition{
		keep: keptPlanes,
		in: func(d *Device) string {
			if d.Plane == 0 {
				return ""
			}
			return fmt.Sprint(d.Plane)
		},
		traits: func(d *Device) string { return d.Fabric },
	}))
	for i := range q.Prefixes {
		if q.Prefixes[i].Aggregate != nil {
			q.scaleAggregate(i, t)
		}
	}
	if len(q.Devices) < len(t.Devices) {
		q.Name += "-quotient"
	}
	return q
}

// partition divides devices into parts that may be interchangeable.
type partition struct {
	keep   int                  // how many of a class stay
	in     func(*Device) string // the part's name; empty for devices that are in none
	traits func(*Device) string // what devices that are exchanged must have in common, beside what all must
}

// spare tells which devices are in a part that is interchangeable with as many
// earlier ones as are kept.
func (t *Topology) spare(p partition) []bool {
	s := newSigner(t, p)
	seen := map[string]int{}
	drop := make([]bool, len(s.members))
	for part, sign := range s.signatures() {
		seen[sign]++
		drop[part] = seen[sign] > p.keep
	}
	spare := make([]bool, len(t.Devices))
	for d, part := range s.of {
		spare[d] = part >= 0 && drop[part]
	}
	return spare
}

// signer writes down all that an exchange of two parts must leave as it is.
type signer struct {
	t       *Topology
	x       *Index
	traits  func(*Device) string
	of      []int   // part of each device, or -1
	place   []int   // of each device in its part
	members [][]int // devices of each part
	lines   [][]string
	beside  []map[int][]string // by part: the bundles to each other part
}

func newSigner(t *Topology, p partition) *signer {
	s := &signer{t: t, x: t.Index(), traits: p.traits, of: make([]int, len(t.Devices)), place: make([]int, len(t.Devices))}
	parts := map[string]int{}
	for i := range t.Devices {
		name := p.in(&t.Devices[i])
		if name == "" {
			s.of[i] = -1
			continue
		}
		part, ok := parts[name]
		if !ok {
			part = len(s.members)
			parts[name] = part
			s.members = append(s.members, nil)
		}
		s.of[i], s.place[i] = part, len(s.members[part])
		s.members[part] = append(s.members[part], i)
	}
	s.lines, s.beside = make([][]string, len(s.members)), make([]map[int][]string, len(s.members))
	for i := range s.beside {
		s.beside[i] = map[int][]string{}
	}
	return s
}

// signatures gives one text for each part: equal texts, interchangeable parts.
func (s *signer) signatures() []string {
	s.devices()
	for i := range s.t.Bundles {
		s.bundle(i)
	}
	s.prefixes()
	list := make([]string, len(s.members))
	for part, lines := range s.lines {
		slices.Sort(lines)
		list[part] = strings.Join(lines, "\n") + "\n" + s.others(part)
	}
	return list
}

func (s *signer) add(part int, format string, args ...any) {
	s.lines[part] = append(s.lines[part], fmt.Sprintf(format, args...))
}

func (s *signer) devices() {
	// An ASN that only one part has may be another in the other part; one
	// that parts share is the same.
	owner, first := map[uint32]int{}, map[uint32]int{}
	for d := range s.t.Devices {
		asn := s.t.Devices[d].ASN
		if _, ok := owner[asn]; !ok {
			owner[asn], first[asn] = s.of[d], s.place[d]
		} else if owner[asn] != s.of[d] {
			owner[asn] = -1
		}
	}
	for part, members := range s.members {
		for k, i := range members {
			d := &s.t.Devices[i]
			asn := fmt.Sprint("ASN ", d.ASN)
			if owner[d.ASN] >= 0 {
				asn = fmt.Sprint("ASN of ", first[d.ASN])
			}
			s.add(part, "device %d: %v %q %q %d %d %d, %s, %s", k, d.Role, d.Region, d.ASIC, d.Units, d.Ports, d.LineCards, asn, s.traits(d))
		}
	}
}

func (s *signer) bundle(i int) {
	b := &s.t.Bundles[i]
	what := fmt.Sprintf("%d %d %d %q", b.Members, b.Speed, b.Length, b.Optic)
	a, z := s.x.Ends[i][0], s.x.Ends[i][1]
	switch p, q := s.of[a], s.of[z]; {
	case p < 0 && q < 0:
	case p == q:
		s.add(p, "bundle %d to %d: %s", s.place[a], s.place[z], what)
	case q < 0:
		s.add(p, "bundle %d to device %d: %s", s.place[a], z, what)
	case p < 0:
		s.add(q, "bundle device %d to %d: %s", a, s.place[z], what)
	default:
		s.beside[p][q] = append(s.beside[p][q], fmt.Sprintf("bundle %d to other %d: %s", s.place[a], s.place[z], what))
		s.beside[q][p] = append(s.beside[q][p], fmt.Sprintf("bundle other %d to %d: %s", s.place[a], s.place[z], what))
	}
}

// others is what a part is to every other part. A part that is not the same to
// all of them is interchangeable with none.
func (s *signer) others(part int) string {
	if n := len(s.beside[part]); n == 0 {
		return ""
	} else if n < len(s.members)-1 {
		return fmt.Sprint("only part ", part)
	}
	common := ""
	for other := range s.members {
		if other == part {
			continue
		}
		lines := s.beside[part][other]
		slices.Sort(lines)
		text := strings.Join(lines, "\n") + "\n"
		if common != "" && text != common {
			return fmt.Sprint("only part ", part)
		}
		common = text
	}
	return common
}

// prefixes adds the prefixes that a part originates. One that it alone does may
// be another in another part; one that others do too is the same.
func (s *signer) prefixes() {
	owner := make([]int, len(s.t.Prefixes)) // part, or -1
	for i := range s.t.Prefixes {
		for k, name := range s.t.Prefixes[i].Origins {
			if part := s.of[s.x.Device[name]]; k == 0 {
				owner[i] = part
			} else if part != owner[i] {
				owner[i] = -1
			}
		}
	}
	covered := make([][]string, len(s.t.Prefixes)) // by which aggregates
	for i := range s.t.Prefixes {
		if s.t.Prefixes[i].Aggregate == nil {
			continue
		}
		for _, specific := range s.t.Specifics(i) {
			name := fmt.Sprint("aggregate ", i)
			if owner[i] >= 0 && owner[i] == owner[specific] {
				name = "an aggregate of its own"
			}
			covered[specific] = append(covered[specific], name)
		}
	}
	for i := range s.t.Prefixes {
		p := &s.t.Prefixes[i]
		places := map[int][]int{}
		for _, name := range p.Origins {
			d := s.x.Device[name]
			places[s.of[d]] = append(places[s.of[d]], s.place[d])
		}
		name := fmt.Sprint("prefix ", i)
		if owner[i] >= 0 {
			name = fmt.Sprintf("prefix of its own: %q %v %d bits, bandwidth %d", p.Class, p.Prefix.Addr().Is4(), p.Prefix.Bits(), p.Bandwidth)
		}
		if p.Aggregate != nil {
			name += fmt.Sprint(" ", *p.Aggregate)
		}
		for part, list := range places {
			if part >= 0 {
				slices.Sort(list)
				s.add(part, "%s in %v at %v", name, covered[i], list)
			}
		}
	}
}

// without is the topology without the devices told, their bundles, and the
// prefixes that nobody else originates.
func (t *Topology) without(spare []bool) *Topology {
	q := &Topology{Name: t.Name}
	gone := map[string]bool{}
	for i, d := range t.Devices {
		if spare[i] {
			gone[d.Name] = true
		} else {
			q.Devices = append(q.Devices, d)
		}
	}
	for _, b := range t.Bundles {
		if !gone[b.A] && !gone[b.B] {
			q.Bundles = append(q.Bundles, b)
		}
	}
	for _, p := range t.Prefixes {
		p.Origins = slices.DeleteFunc(slices.Clone(p.Origins), func(name string) bool { return gone[name] })
		if len(p.Origins) == 0 {
			continue
		}
		if p.Aggregate != nil {
			a := *p.Aggregate
			p.Aggregate = &a
		}
		q.Prefixes = append(q.Prefixes, p)
	}
	return q
}

// scaleAggregate makes an aggregate's thresholds the same part of its
// more-specifics that they are in the full topology.
func (t *Topology) scaleAggregate(i int, full *Topology) {
	was := slices.IndexFunc(full.Prefixes, func(p Prefix) bool { return p.Prefix == t.Prefixes[i].Prefix })
	before, now := uint64(len(full.Specifics(was))), uint64(len(t.Specifics(i)))
	if now == before {
		return
	}
	a := t.Prefixes[i].Aggregate
	// In two steps, since capacity times a count may not fit 64 bits.
	scaled := func(v uint64) uint64 { return v/before*now + (v%before*now+before-1)/before }
	a.Announce, a.Withdraw = scaled(a.Announce), scaled(a.Withdraw)
}
