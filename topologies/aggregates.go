package topologies

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sort"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// covered counts more-specifics, each time in the logarithm of the prefixes.
type covered struct{ sorted []netip.Prefix }

func newCovered(t *Topology) covered {
	s := make([]netip.Prefix, 0, len(t.Prefixes))
	for i := range t.Prefixes {
		if p := t.Prefixes[i].Prefix; p.IsValid() {
			s = append(s, p.Masked())
		}
	}
	slices.SortFunc(s, comparePrefixes)
	return covered{s}
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// by counts the prefixes that are more specific than p, as Specifics lists them.
// They follow it: a shorter prefix that begins inside p begins where p does.
func (c covered) by(p netip.Prefix) int {
	after := sort.Search(len(c.sorted), func(i int) bool { return comparePrefixes(c.sorted[i], p) > 0 })
	rest := c.sorted[after:]
	return sort.Search(len(rest), func(i int) bool { return !p.Contains(rest[i].Addr()) })
}

// never says why an aggregate can be announced at no time: it wants more than
// there can be. specifics is how many more-specifics it has, most the largest
// capacity in bits/s that any of its origins can have behind them.
func (a *Aggregate) never(specifics int, most uint64) string {
	switch {
	case a.By == BySupporting && a.Announce > uint64(specifics):
		return fmt.Sprintf("has %s: want at most %d", count(specifics, "more-specific"), specifics)
	case a.By == ByCapacity && a.Announce > most:
		return fmt.Sprintf("its origins have at most %s bits/s behind its more-specifics: want no more", yamltree.FormatCapacity(most))
	}
	return ""
}

// threshold is the aggregate's announce threshold as files hold it.
func (a *Aggregate) threshold() string {
	if a.By == ByCapacity {
		return yamltree.FormatCapacity(a.Announce)
	}
	return fmt.Sprint(a.Announce)
}

// aggregate checks the aggregate of prefix i.
func (c *checker) aggregate(i int, bad func(field string, value any, want string)) {
	p := &c.t.Prefixes[i]
	a, specifics := p.Aggregate, 0
	if p.Prefix.IsValid() {
		specifics = c.covered.by(p.Prefix)
	}
	// Which bundles carry more-specifics is for routing to say: all may.
	most := uint64(0)
	for _, name := range p.Origins {
		if d := c.x.find(name); d >= 0 {
			most = max(most, c.x.Full[d])
		} else {
			most = yamltree.MaxCapacity // reported there
		}
	}
	switch {
	case a.By != BySupporting && a.By != ByCapacity:
		bad("aggregate", a.By, "want "+BySupporting+" or "+ByCapacity)
	case a.Withdraw < 1 || a.Withdraw > a.Announce:
		bad("aggregate", bare(fmt.Sprintf("withdraw %d", a.Withdraw)), fmt.Sprintf("want 1 to announce, which is %d", a.Announce))
	case specifics == 0:
		bad("aggregate", p.Prefix.String(), "no more-specific prefix in the topology")
	default:
		if want := a.never(specifics, most); want != "" {
			bad("aggregate."+a.By+".announce", bare(a.threshold()), want)
		}
	}
}

// announceable reports the aggregates of a generated network that can be
// announced at no time, of each class the first. Here more-specifics come to
// their origins over the bundles below, since all other ways are longer.
func (g *generator) announceable(x *Index, report func(field, value, want string)) bool {
	seen := map[string]bool{}
	all := newCovered(g.t)
	for i := range g.t.Prefixes {
		p := &g.t.Prefixes[i]
		a := p.Aggregate
		if a == nil || seen[p.Class] {
			continue
		}
		most := uint64(0)
		for _, name := range p.Origins {
			most = max(most, g.below(x.Device[name], x))
		}
		if want := a.never(all.by(p.Prefix), most); want != "" {
			seen[p.Class] = true
			report("aggregates."+p.Class, "announce "+a.threshold(), fmt.Sprintf("prefix %s: ", p.Prefix)+want)
		}
	}
	return len(seen) == 0
}

// below is the capacity in bits/s of a device's bundles to lower tiers.
func (g *generator) below(device int, x *Index) (sum uint64) {
	for _, i := range x.Of[device] {
		ends := x.Ends[i]
		if other := ends[0] + ends[1] - device; g.t.Devices[other].Role < g.t.Devices[device].Role {
			sum += g.t.Bundles[i].Capacity(g.t.Bundles[i].Members)
		}
	}
	return sum
}
