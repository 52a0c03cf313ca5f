package topologies

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Domain is something that fails as a whole: what it is, and its name.
type Domain struct {
	Kind string // one of the constants of domains
	Name string
}

// The kinds of failure domains, in the order in which Domains lists them.
//
// Published (Meta, "Building Prometheus", 2026): failure domains at BAG, data
// hall and power-distribution level, and port striping. Ours: regions, planes,
// routes, chassis and line cards as domains, and all names.
const (
	HallDomain     = "hall"     // data hall: its devices; named by Device.Hall
	PowerDomain    = "power"    // power domain: its devices; named by Device.Power
	RouteDomain    = "route"    // fibre route: its bundles; named by Bundle.Route
	RegionDomain   = "region"   // region: its devices; named by Device.Region
	PlaneDomain    = "plane"    // plane of one region: its devices; "r1/3", or "3" for devices of no region
	ChassisDomain  = "chassis"  // one of several chassis of a device: its line cards; "DEVICE/2", from 1
	LineCardDomain = "linecard" // line card: some members of the device's bundles; "DEVICE/3", from 1
)

var domainKinds = [...]string{HallDomain, PowerDomain, RouteDomain, RegionDomain, PlaneDomain, ChassisDomain, LineCardDomain}

// String prints the domain as ParseDomain reads it: "power:r1-a".
func (d Domain) String() string { return d.Kind + ":" + d.Name }

// ParseDomain reads a domain as String prints it. It checks the kind; whether
// there is such a domain is for a topology to say.
func ParseDomain(s string) (Domain, error) {
	kind, name, ok := strings.Cut(s, ":")
	switch {
	case !ok || name == "":
		return Domain{}, fmt.Errorf("domain %q: want a kind, a colon and a name, such as %s:r1-a", s, PowerDomain)
	case !slices.Contains(domainKinds[:], kind):
		return Domain{}, fmt.Errorf("domain %q: kind %q: want one of %s", s, kind, strings.Join(domainKinds[:], ", "))
	}
	return Domain{kind, name}, nil
}

// Taken is what a failure takes, by index in the topology, each list ascending.
type Taken struct {
	Devices []int  // wholly down
	Bundles []int  // wholly down: all of those of a device that is, those of a route, those with no member left
	Loses   []Loss // bundles that keep some members
}

// Loss is a bundle that loses some of its members.
type Loss struct {
	Bundle  int // index in the topology
	Members int // how many are lost, 1 to the bundle's members - 1
}

// Domains gives all failure domains there are: by kind in the order of the
// constants, then by name, numbers in names by their value. That is a name for
// each of a device's units x line cards, up to 640,000.
func (t *Topology) Domains() []Domain { return t.DomainIndex().Domains() }

// Takes answers which devices and bundles a failure of the domains, all at
// once, takes. The error for a domain that is not there names some that are.
// Who asks more than once makes a DomainIndex.
func (t *Topology) Takes(domains ...Domain) (Taken, error) { return t.DomainIndex().Takes(domains...) }

// DomainIndex answers what failures take. It is made once, in time linear in
// the topology, and holds for as long as the topology is not changed.
type DomainIndex struct {
	t       *Topology
	x       *Index
	stripes *Striping
	groups  map[Domain][]int // devices, of a route its bundles; ascending
}

// DomainIndex builds the index.
func (t *Topology) DomainIndex() *DomainIndex {
	x := t.Index()
	d := &DomainIndex{t: t, x: x, stripes: newStriping(t, x), groups: map[Domain][]int{}}
	for i := range t.Devices {
		dev := &t.Devices[i]
		d.join(HallDomain, dev.Hall, i)
		d.join(PowerDomain, dev.Power, i)
		d.join(RegionDomain, dev.Region, i)
		d.join(PlaneDomain, planeDomain(dev), i)
	}
	for i := range t.Bundles {
		d.join(RouteDomain, t.Bundles[i].Route, i)
	}
	return d
}

func (x *DomainIndex) join(kind, name string, i int) {
	if name != "" {
		d := Domain{kind, name}
		x.groups[d] = append(x.groups[d], i)
	}
}

func planeDomain(d *Device) string {
	switch {
	case d.Plane == 0:
		return ""
	case d.Region == "":
		return strconv.Itoa(d.Plane)
	}
	return d.Region + "/" + strconv.Itoa(d.Plane)
}

// Striping gives how the members of the index's topology lie on line cards.
func (x *DomainIndex) Striping() *Striping { return x.stripes }

// Domains is Topology.Domains.
func (x *DomainIndex) Domains() []Domain {
	list := make([]Domain, 0, len(x.groups))
	for d := range x.groups {
		list = append(list, d)
	}
	for i := range x.t.Devices {
		for _, kind := range [...]string{ChassisDomain, LineCardDomain} {
			for n := 1; n <= x.parts(kind, i); n++ {
				list = append(list, Domain{kind, numbered(x.t.Devices[i].Name, n)})
			}
		}
	}
	slices.SortFunc(list, compareDomains)
	return list
}

func numbered(device string, n int) string { return device + "/" + strconv.Itoa(n) }

func compareDomains(a, b Domain) int {
	return cmp.Or(
		cmp.Compare(slices.Index(domainKinds[:], a.Kind), slices.Index(domainKinds[:], b.Kind)),
		compareNames(a.Name, b.Name))
}

func compareNames(a, b string) int { return cmp.Or(compareNatural(a, b), strings.Compare(a, b)) }

// compareNatural compares names with numbers in them by value, so that "r2"
// comes before "r10". Names that differ in leading zeros alone are equal to it.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		p, q := leadingDigits(a), leadingDigits(b)
		if p == 0 || q == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:p], "0"), strings.TrimLeft(b[:q], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
			return c
		}
		a, b = a[p:], b[q:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// Takes is Topology.Takes. Its time is linear in what is taken, with all
// bundles of a device that loses a line card.
func (x *DomainIndex) Takes(domains ...Domain) (Taken, error) {
	w := taking{x: x, devices: map[int]bool{}, bundles: map[int]bool{}, cards: map[int]map[int]bool{}}
	for _, d := range domains {
		if err := w.add(d); err != nil {
			return Taken{}, err
		}
	}
	return w.taken(), nil
}

// taking gathers what several domains take.
type taking struct {
	x                *DomainIndex
	devices, bundles map[int]bool
	cards            map[int]map[int]bool // by device, from 1
}

func (w *taking) add(d Domain) error {
	switch d.Kind {
	case LineCardDomain, ChassisDomain:
		device, first, last, ok := w.x.findCards(d)
		if !ok {
			return w.x.unknown(d)
		}
		if w.cards[device] == nil {
			w.cards[device] = map[int]bool{}
		}
		for card := first; card <= last; card++ {
			w.cards[device][card] = true
		}
		return nil
	}
	group, ok := w.x.groups[d]
	if !ok {
		return w.x.unknown(d)
	}
	for _, i := range group {
		if d.Kind == RouteDomain {
			w.bundles[i] = true
		} else {
			w.takeDevice(i)
		}
	}
	return nil
}

func (w *taking) takeDevice(i int) {
	w.devices[i] = true
	for _, b := range w.x.x.Of[i] {
		w.bundles[b] = true
	}
}

func (w *taking) taken() Taken {
	lost := map[int]int{}
	for device, cards := range w.cards {
		for _, b := range w.x.x.Of[device] {
			if _, counted := lost[b]; !counted && !w.bundles[b] {
				lost[b] = w.lost(b, device, cards)
			}
		}
	}
	var t Taken
	for b, n := range lost {
		switch n {
		case 0:
		case w.x.t.Bundles[b].Members:
			w.bundles[b] = true
		default:
			t.Loses = append(t.Loses, Loss{b, n})
		}
	}
	slices.SortFunc(t.Loses, func(a, b Loss) int { return cmp.Compare(a.Bundle, b.Bundle) })
	t.Devices, t.Bundles = ascending(w.devices), ascending(w.bundles)
	return t
}

// lost counts the members of a bundle that lie on lost cards. Where both ends
// lose cards a member that loses both its ports counts once.
func (w *taking) lost(b, device int, cards map[int]bool) int {
	ends := w.x.x.Ends[b]
	other := w.cards[ends[0]+ends[1]-device]
	n := 0
	if len(other) == 0 {
		for card := range cards {
			n += w.x.stripes.On(device, b, card)
		}
		return n
	}
	for m := range w.x.t.Bundles[b].Members {
		here, _ := w.x.stripes.Port(device, b, m)
		there, _ := w.x.stripes.Port(ends[0]+ends[1]-device, b, m)
		if cards[here] || other[there] {
			n++
		}
	}
	return n
}

func ascending(set map[int]bool) []int {
	list := make([]int, 0, len(set))
	for i := range set {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

// findCards gives the device and the cards of a line card or a chassis.
func (x *DomainIndex) findCards(d Domain) (device, first, last int, ok bool) {
	name, text, _ := strings.Cut(d.Name, "/")
	device, ok = x.x.Device[name]
	if !ok {
		return 0, 0, 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < 1 || n > x.parts(d.Kind, device) {
		return 0, 0, 0, false
	}
	if d.Kind == LineCardDomain {
		return device, n, n, true
	}
	cards := x.t.Devices[device].LineCards
	return device, (n-1)*cards + 1, n * cards, true
}

// unknown is the error for a domain that is not there.
func (x *DomainIndex) unknown(d Domain) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("topology %q: domain %q: no such %s: %s", x.t.Name, d, d.Kind, fmt.Sprintf(format, args...))
	}
	if !slices.Contains(domainKinds[:], d.Kind) {
		return fmt.Errorf("topology %q: domain %q: kind %q: want one of %s", x.t.Name, d, d.Kind, strings.Join(domainKinds[:], ", "))
	}
	if d.Kind == LineCardDomain || d.Kind == ChassisDomain {
		return fail("%s", x.wantPart(d))
	}
	var all, near []string // near: those of the region that is meant
	region, _, _ := strings.Cut(d.Name, "/")
	for other := range x.groups {
		if other.Kind != d.Kind {
			continue
		}
		all = append(all, other.Name)
		if strings.HasPrefix(other.Name, region+"/") {
			near = append(near, other.Name)
		}
	}
	slices.SortFunc(all, compareNames)
	slices.SortFunc(near, compareNames)
	switch {
	case len(near) > 1:
		return fail("want %s to %s", near[0], near[len(near)-1])
	case len(all) == 0:
		return fail("the topology has none")
	}
	return fail("want %s", someOf(all))
}

// wantPart says which line cards or chassis a device has, or which devices have
// some. It counts and does not list: a topology may have millions.
func (x *DomainIndex) wantPart(d Domain) string {
	why := ""
	name, _, _ := strings.Cut(d.Name, "/")
	if device, ok := x.x.Device[name]; !ok {
		why = fmt.Sprintf("no device %q: ", name)
	} else if n := x.parts(d.Kind, device); n > 0 {
		return "want " + numberedTo(name, n)
	} else {
		why = fmt.Sprintf("device %q has none: ", name)
	}
	var ranges []string
	for i := range x.t.Devices {
		if n := x.parts(d.Kind, i); n > 0 {
			ranges = append(ranges, numberedTo(x.t.Devices[i].Name, n))
		}
	}
	if len(ranges) == 0 {
		return why + "the topology has none"
	}
	return why + "want one of " + someOf(ranges)
}

// parts is how many line cards or chassis of a device are domains.
func (x *DomainIndex) parts(kind string, device int) int {
	switch dev := &x.t.Devices[device]; {
	case kind == LineCardDomain:
		return x.stripes.Cards(device)
	case dev.LineCards > 0 && dev.Units > 1:
		return dev.Units
	}
	return 0
}

func numberedTo(device string, last int) string {
	if last == 1 {
		return numbered(device, 1)
	}
	return numbered(device, 1) + " to " + numbered(device, last)
}

// someOf lists a few names and counts the rest.
func someOf(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
