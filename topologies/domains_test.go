package topologies

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

// placed is prometheus-mini with two halls of bags in a region and one per
// fabric, power by halves of the planes, two routes between the regions, and
// striped bags.
func placed(tb testing.TB) *Topology {
	tb.Helper()
	top, err := Preset("prometheus-mini")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range top.Devices {
		d := &top.Devices[i]
		d.Hall, d.Power, d.Units, d.Ports, d.LineCards = d.Fabric, d.Region+"-a", 1, 0, 0
		if d.Role == Bag {
			d.Hall, d.LineCards, d.Ports = fmt.Sprintf("%s-hall%d", d.Region, d.Plane%2), 16, 432
		}
		if d.Plane > 2 {
			d.Power = d.Region + "-b"
		}
	}
	for i := range top.Bundles {
		b := &top.Bundles[i]
		switch b.Route = ""; {
		case b.Length < 10_000:
		case i%2 == 0:
			b.Route = "north"
		default:
			b.Route = "south"
		}
	}
	if err := Validate(top); err != nil {
		tb.Fatal(err)
	}
	return top
}

func TestDomainsAreAllThatExistInOrder(t *testing.T) {
	top := placed(t)
	x := top.Index()
	top.Devices[x.Device["r1-f1-e1"]].Units, top.Devices[x.Device["r1-f1-e1"]].LineCards = 2, 1
	counts := map[string]int{}
	list := top.Domains()
	for i, d := range list {
		counts[d.Kind]++
		if _, err := top.Takes(d); err != nil {
			t.Errorf("%v is listed: %v", d, err)
		}
		if again, err := ParseDomain(d.String()); err != nil || again != d {
			t.Errorf("%v: parsed as %v, %v", d, again, err)
		}
		if i > 0 && compareDomains(list[i-1], d) >= 0 {
			t.Errorf("%v is not before %v", list[i-1], d)
		}
	}
	want := map[string]int{"hall": 2*2 + 8, "power": 4, "route": 2, "region": 2, "plane": 8, "chassis": 2, "linecard": 8*16 + 2}
	if diff := cmp.Diff(counts, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	i := slices.Index(list, Domain{LineCardDomain, "r1-bag1/9"})
	if got, want := list[i+1].Name, "r1-bag1/10"; got != want {
		t.Errorf("after r1-bag1/9: got %s, want %s", got, want)
	}
}

// A slow twin looks at every device and bundle.
func TestADomainTakesItsDevicesAndAllTheirBundles(t *testing.T) {
	top := placed(t)
	x := top.Index()
	in := map[string]func(Device, string) bool{
		HallDomain:   func(d Device, name string) bool { return d.Hall == name },
		PowerDomain:  func(d Device, name string) bool { return d.Power == name },
		RegionDomain: func(d Device, name string) bool { return d.Region == name },
		PlaneDomain:  func(d Device, name string) bool { return fmt.Sprintf("%s/%d", d.Region, d.Plane) == name },
	}
	for _, domain := range top.Domains() {
		if domain.Kind == LineCardDomain {
			continue
		}
		var want Taken
		for i, d := range top.Devices {
			if domain.Kind != RouteDomain && in[domain.Kind](d, domain.Name) {
				want.Devices = append(want.Devices, i)
			}
		}
		for i, b := range top.Bundles {
			down := slices.Contains(want.Devices, x.Ends[i][0]) || slices.Contains(want.Devices, x.Ends[i][1])
			if domain.Kind == RouteDomain && b.Route == domain.Name || down {
				want.Bundles = append(want.Bundles, i)
			}
		}
		got, err := top.Takes(domain)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Bundles) == 0 {
			t.Errorf("%v takes no bundle", domain)
		}
		if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v: got (-) want (+):\n%s", domain, diff)
		}
	}
}

// A bag of prometheus-mini has 160 members and 16 cards: ten members a card,
// two of each bundle.
func TestALineCardTakesMembersOfManyBundles(t *testing.T) {
	top := placed(t)
	got, err := top.Takes(Domain{LineCardDomain, "r1-bag1/3"})
	if err != nil {
		t.Fatal(err)
	}
	x := top.Index()
	var want Taken
	for _, b := range x.Of[x.Device["r1-bag1"]] {
		want.Loses = append(want.Loses, Loss{b, 2})
	}
	if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestAnUnknownDomainIsRefusedWithThoseThatExist(t *testing.T) {
	top := placed(t)
	x := top.Index()
	top.Devices[x.Device["r1-f1-e1"]].Units, top.Devices[x.Device["r1-f1-e1"]].LineCards = 2, 1
	for domain, want := range map[Domain]string{
		{"power", "r9-a"}:          `topology "prometheus-mini": domain "power:r9-a": no such power: want r1-a, r1-b, r2-a, r2-b`,
		{"plane", "5"}:             `topology "prometheus-mini": domain "plane:5": no such plane: want r1/1, r1/2, r1/3, r1/4, r2/1 and 3 more`,
		{"plane", "r2/5"}:          `topology "prometheus-mini": domain "plane:r2/5": no such plane: want r2/1 to r2/4`,
		{"linecard", "r1-bag1/17"}: `topology "prometheus-mini": domain "linecard:r1-bag1/17": no such linecard: want r1-bag1/1 to r1-bag1/16`,
		{"linecard", "r1-bag1/03"}: `topology "prometheus-mini": domain "linecard:r1-bag1/03": no such linecard: want r1-bag1/1 to r1-bag1/16`,
		{"linecard", "r1-f1-s1/1"}: `topology "prometheus-mini": domain "linecard:r1-f1-s1/1": no such linecard: device "r1-f1-s1" has none: want one of r1-bag1/1 to r1-bag1/16, r1-bag2/1 to r1-bag2/16, r1-bag3/1 to r1-bag3/16, r1-bag4/1 to r1-bag4/16, r1-f1-e1/1 to r1-f1-e1/2 and 4 more`,
		{"linecard", "r1-bag9/1"}:  `topology "prometheus-mini": domain "linecard:r1-bag9/1": no such linecard: no device "r1-bag9": want one of r1-bag1/1 to r1-bag1/16, r1-bag2/1 to r1-bag2/16, r1-bag3/1 to r1-bag3/16, r1-bag4/1 to r1-bag4/16, r1-f1-e1/1 to r1-f1-e1/2 and 4 more`,
		{"chassis", "r1-bag1/1"}:   `topology "prometheus-mini": domain "chassis:r1-bag1/1": no such chassis: device "r1-bag1" has none: want one of r1-f1-e1/1 to r1-f1-e1/2`,
		{"chassis", "r1-f1-e1/3"}:  `topology "prometheus-mini": domain "chassis:r1-f1-e1/3": no such chassis: want r1-f1-e1/1 to r1-f1-e1/2`,
		{"room", "x"}:              `topology "prometheus-mini": domain "room:x": kind "room": want one of hall, power, route, region, plane, chassis, linecard`,
	} {
		if _, err := top.Takes(domain); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	want := `topology "striped": domain "hall:x": no such hall: the topology has none`
	if _, err := striped(rand.New(rand.NewSource(1))).Takes(Domain{HallDomain, "x"}); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for text, want := range map[string]string{
		"r1-a":   `domain "r1-a": want a kind, a colon and a name, such as power:r1-a`,
		"power:": `domain "power:": want a kind, a colon and a name, such as power:r1-a`,
		"room:x": `domain "room:x": kind "room": want one of hall, power, route, region, plane, chassis, linecard`,
	} {
		if _, err := ParseDomain(text); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A device may stand for 10,000 chassis of 64 cards; an error that names a few
// of a network's millions of line cards must not list them all.
func TestAnUnknownLineCardIsRefusedWithoutListingAll(t *testing.T) {
	top := placed(t)
	for i := range top.Devices {
		top.Devices[i].Units, top.Devices[i].LineCards = maxUnits, maxLineCards
	}
	x := top.DomainIndex()
	for _, d := range []Domain{{LineCardDomain, "r1-bag9/1"}, {LineCardDomain, "r1-bag1/640001"}, {ChassisDomain, "r1-bag9/1"}, {HallDomain, "x"}} {
		allocs := testing.AllocsPerRun(1, func() {
			if _, err := x.Takes(d); err == nil {
				t.Errorf("%v: got no error", d)
			}
		})
		if most := float64(20 * len(top.Devices)); allocs > most {
			t.Errorf("%v: got %.0f allocations, want at most %.0f: 20 a device", d, allocs, most)
		}
	}
}

// striped is a random network whose devices have random cards, parallel bundles
// with members of their own included.
func striped(r *rand.Rand) *Topology {
	top := &Topology{Name: "striped"}
	for i := range 2 + r.Intn(5) {
		top.Devices = append(top.Devices, Device{Name: fmt.Sprintf("d%d", i), Role: Bag, Units: 1 + r.Intn(4), LineCards: r.Intn(5)})
	}
	for i := range 1 + r.Intn(20) {
		a := r.Intn(len(top.Devices))
		b := (a + 1 + r.Intn(len(top.Devices)-1)) % len(top.Devices)
		top.Bundles = append(top.Bundles, Bundle{Name: fmt.Sprintf("b%d", i), A: top.Devices[a].Name, B: top.Devices[b].Name, Members: 1 + r.Intn(60)})
	}
	return top
}

// dealt is the slow twin of Striping: it deals the members of each device one
// by one and keeps who got what: card by device, bundle and member.
func dealt(top *Topology) map[[3]int]int {
	x := top.Index()
	at := map[[3]int]int{}
	for d, dev := range top.Devices {
		cards, next := dev.Units*dev.LineCards, 1
		for _, b := range x.Of[d] {
			for m := 0; m < top.Bundles[b].Members && cards > 0; m++ {
				at[[3]int{d, b, m}] = next
				if next++; next > cards {
					next = 1
				}
			}
		}
	}
	return at
}

func TestStripingDealsEveryMemberOnceAndEvenly(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("as the slow twin deals", prop.ForAll(func(seed int64) string {
		top := striped(rand.New(rand.NewSource(seed)))
		x, s, twin := top.Index(), top.Striping(), dealt(top)
		ports := map[[3]int]bool{}
		for d := range top.Devices {
			load := make([]int, s.Cards(d)+1)
			for _, b := range x.Of[d] {
				on := make([]int, s.Cards(d)+1)
				for m := range top.Bundles[b].Members {
					card, port := s.Port(d, b, m)
					if card != twin[[3]int{d, b, m}] {
						return fmt.Sprintf("device %d, bundle %d, member %d: got card %d, want %d", d, b, m, card, twin[[3]int{d, b, m}])
					}
					if s.Cards(d) == 0 {
						continue
					}
					if ports[[3]int{d, card, port}] || port < 1 {
						return fmt.Sprintf("device %d: port %d of card %d is taken twice", d, port, card)
					}
					ports[[3]int{d, card, port}] = true
					on[card]++
					load[card]++
				}
				for card := 1; card < len(on); card++ {
					if got := s.On(d, b, card); got != on[card] {
						return fmt.Sprintf("device %d, bundle %d, card %d: got %d members, want %d", d, b, card, got, on[card])
					}
				}
			}
			if c := s.Cards(d); c > 0 && slices.Max(load[1:])-slices.Min(load[1:]) > 1 {
				return fmt.Sprintf("device %d: loads %v differ by more than 1", d, load[1:])
			}
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
}

// taken is what cards, by device, take of each bundle by the twin.
func takenByTwin(top *Topology, cards map[int]map[int]bool) (t Taken) {
	x, twin := top.Index(), dealt(top)
	for b := range top.Bundles {
		n := 0
		for m := range top.Bundles[b].Members {
			lost := false
			for _, d := range x.Ends[b] {
				lost = lost || cards[d][twin[[3]int{d, b, m}]]
			}
			if lost {
				n++
			}
		}
		switch {
		case n == top.Bundles[b].Members:
			t.Bundles = append(t.Bundles, b)
		case n > 0:
			t.Loses = append(t.Loses, Loss{b, n})
		}
	}
	return t
}

func TestLineCardsTakeWhatTheTwinSays(t *testing.T) {
	both := 0
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		top := striped(r)
		s := top.Striping()
		var domains []Domain
		cards := map[int]map[int]bool{}
		for d := range top.Devices {
			cards[d] = map[int]bool{}
			for c := 1; c <= s.Cards(d); c++ {
				if r.Intn(3) == 0 {
					domains = append(domains, Domain{LineCardDomain, numbered(top.Devices[d].Name, c)})
					cards[d][c] = true
				}
			}
		}
		for _, b := range top.Index().Ends {
			if len(cards[b[0]]) > 0 && len(cards[b[1]]) > 0 {
				both++
			}
		}
		got, err := top.Takes(domains...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, takenByTwin(top, cards), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: got (-) want (+):\n%s", seed, diff)
		}
	}
	if both == 0 {
		t.Error("no bundle lost cards at both ends")
	}
}

func TestAllCardsOfADeviceTakeEachMemberOnce(t *testing.T) {
	for seed := range int64(100) {
		top := striped(rand.New(rand.NewSource(seed)))
		x, index := top.Index(), top.DomainIndex()
		for d, dev := range top.Devices {
			lost := map[int]int{}
			cards := index.Striping().Cards(d)
			for c := 1; c <= cards; c++ {
				got, err := index.Takes(Domain{LineCardDomain, numbered(dev.Name, c)})
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range got.Loses {
					lost[l.Bundle] += l.Members
				}
				for _, b := range got.Bundles {
					lost[b] += top.Bundles[b].Members
				}
			}
			for _, b := range x.Of[d] {
				if want := top.Bundles[b].Members; cards > 0 && lost[b] != want {
					t.Fatalf("seed %d: device %d, bundle %d: lost %d members over all cards, want %d", seed, d, b, lost[b], want)
				}
			}
			if len(lost) > len(x.Of[d]) {
				t.Fatalf("seed %d: device %d: bundles %v lost members, want only its own", seed, d, lost)
			}
		}
	}
}

func TestAChassisTakesItsCards(t *testing.T) {
	top := placed(t)
	bag := &top.Devices[top.Index().Device["r1-bag1"]]
	bag.Units, bag.LineCards = 3, 2
	got, err := top.Takes(Domain{ChassisDomain, "r1-bag1/2"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := top.Takes(Domain{LineCardDomain, "r1-bag1/3"}, Domain{LineCardDomain, "r1-bag1/4"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" || len(got.Loses) == 0 {
		t.Errorf("got (-) want (+), which takes %d bundles' members:\n%s", len(want.Loses), diff)
	}
}

func TestNamesSortByTheNumbersInThem(t *testing.T) {
	sorted := []string{"", "2", "10", "r1", "r1-a", "r1-b", "r2", "r2/9", "r2/10", "r10", "s"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := compareNatural(a, b), signOf(i-j); got != want {
				t.Errorf("%q and %q: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func signOf(n int) int { return max(-1, min(1, n)) }
