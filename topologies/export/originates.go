package export

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Formats without a place for prefixes hold them at their origins, as one text:
//
//	10.1.0.0/24 class=spine, 10.1.0.0/20 class=fabric bandwidth=6.4T
//
// Further words are `aggregate=min-supporting:2:1`, announce and withdraw
// threshold, and `suppress`. What one origin says of a prefix need not be
// repeated by the others. Prefixes come in the order in which the file's
// devices name them, and origins in the order of devices, except where
// `place=N` of the prefix or `origin=N` says otherwise.

// originates gives each device's text; devices without one are not in it.
func originates(t *topologies.Topology) map[string]string {
	texts := map[string][]string{}
	at, ordered := appearance(t)
	for i := range t.Prefixes {
		p := &t.Prefixes[i]
		words := prefixWords(p)
		if !ordered {
			words += fmt.Sprintf(" place=%d", i+1)
		}
		sorted := slices.IsSortedFunc(p.Origins, func(a, b string) int { return at[a] - at[b] })
		for k, o := range p.Origins {
			text := words
			if !sorted {
				text += fmt.Sprintf(" origin=%d", k+1)
			}
			texts[o] = append(texts[o], text)
		}
	}
	joined := make(map[string]string, len(texts))
	for device, list := range texts {
		joined[device] = strings.Join(list, ", ")
	}
	return joined
}

// appearance is where each device stands, and whether the prefixes are in the
// order in which the devices name them.
func appearance(t *topologies.Topology) (at map[string]int, ordered bool) {
	at = make(map[string]int, len(t.Devices))
	for i := range t.Devices {
		at[t.Devices[i].Name] = i
	}
	last := -1
	for _, p := range t.Prefixes {
		first := len(t.Devices)
		for _, o := range p.Origins {
			first = min(first, at[o])
		}
		if first < last {
			return at, false
		}
		last = first
	}
	return at, true
}

func prefixWords(p *topologies.Prefix) string {
	words := p.Prefix.String()
	if p.Class != "" {
		words += " class=" + p.Class
	}
	if p.Bandwidth > 0 {
		words += " bandwidth=" + yamltree.FormatCapacity(p.Bandwidth)
	}
	if a := p.Aggregate; a != nil {
		words += fmt.Sprintf(" aggregate=%s:%s:%s", a.By, threshold(a.By, a.Announce), threshold(a.By, a.Withdraw))
		if a.Suppress {
			words += " suppress"
		}
	}
	return words
}

func threshold(by string, v uint64) string {
	if by == topologies.ByCapacity {
		return yamltree.FormatCapacity(v)
	}
	return strconv.FormatUint(v, 10)
}

// maxOrigins bounds what one label can make a process allocate: one that nodes
// share, in a group, a kind or the defaults, counts at each of them.
const maxOrigins = 1 << 19

// origins gathers prefixes from the texts of their origins.
type origins struct {
	list  []gathered
	at    map[netip.Prefix]int
	count int // of prefixes at devices
}

type gathered struct {
	prefix topologies.Prefix
	place  int
	order  []int // of the origins; 0 where it is not said
}

// add reads one device's text and says what is wrong with it, or nothing.
func (o *origins) add(device, text string) (want string) {
	if o.count += 1 + strings.Count(text, ","); o.count > maxOrigins {
		return fmt.Sprintf("with those of the nodes before %q these are more than %d prefixes of devices, one that many nodes share counted at each: want at most %d",
			device, maxOrigins, maxOrigins)
	}
	for item := range strings.SplitSeq(text, ",") {
		words := strings.Fields(item)
		if len(words) == 0 {
			return "want prefixes with commas between, such as 10.1.0.0/24 class=spine, 10.1.0.0/20"
		}
		prefix, err := netip.ParsePrefix(words[0])
		if err != nil {
			return fmt.Sprintf("%q: want a prefix such as 10.1.0.0/24", words[0])
		}
		g := o.of(prefix)
		g.prefix.Origins = append(g.prefix.Origins, device)
		g.order = append(g.order, 0)
		for _, word := range words[1:] {
			if want := g.word(word); want != "" {
				return fmt.Sprintf("%s: %q: %s", words[0], word, want)
			}
		}
	}
	return ""
}

func (o *origins) of(prefix netip.Prefix) *gathered {
	i, ok := o.at[prefix]
	if !ok {
		if o.at == nil {
			o.at = map[netip.Prefix]int{}
		}
		i = len(o.list)
		o.at[prefix] = i
		o.list = append(o.list, gathered{prefix: topologies.Prefix{Prefix: prefix}})
	}
	return &o.list[i]
}

// word takes one word of an item; what two origins say must agree.
func (g *gathered) word(word string) (want string) {
	key, value, _ := strings.Cut(word, "=")
	p := &g.prefix
	switch key {
	case "class":
		return same(&p.Class, value, func(s string) string { return s })
	case "bandwidth":
		v, err := yamltree.ParseCapacity(value)
		if err != nil {
			return "want bits/s such as 6.4T"
		}
		return same(&p.Bandwidth, v, yamltree.FormatCapacity)
	case "aggregate":
		return g.aggregate(value)
	case "suppress":
		if p.Aggregate == nil {
			return "want it after aggregate="
		}
		p.Aggregate.Suppress = true
		return ""
	case "place", "origin":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return "want a number from 1"
		}
		if key == "place" {
			return same(&g.place, n, strconv.Itoa)
		}
		g.order[len(g.order)-1] = n
		return ""
	}
	return "want class=, bandwidth=, aggregate=, suppress, place= or origin="
}

// same notes what an origin says; print gives it as the label holds it.
func same[T comparable](at *T, value T, print func(T) string) (want string) {
	var none T
	if *at != none && *at != value {
		return fmt.Sprintf("another origin says %s: want the same", print(*at))
	}
	*at = value
	return ""
}

func (g *gathered) aggregate(value string) (want string) {
	parts := strings.Split(value, ":")
	want = "want min-supporting:ANNOUNCE:WITHDRAW, or min-capacity with bits/s"
	if len(parts) != 3 {
		return want
	}
	a := topologies.Aggregate{By: parts[0]}
	for i, at := range []*uint64{&a.Announce, &a.Withdraw} {
		var err error
		if a.By == topologies.ByCapacity {
			*at, err = yamltree.ParseCapacity(parts[1+i])
		} else {
			*at, err = strconv.ParseUint(parts[1+i], 10, 31)
		}
		if err != nil {
			return want
		}
	}
	if before := g.prefix.Aggregate; before != nil {
		a.Suppress = before.Suppress
		if *before != a {
			return "another origin says otherwise: want the same"
		}
	}
	g.prefix.Aggregate = &a
	return ""
}

// prefixes are those that were gathered, in their order: those with a place by
// it, then those without as they came.
func (o *origins) prefixes() []topologies.Prefix {
	slices.SortStableFunc(o.list, func(a, b gathered) int { return late(a.place) - late(b.place) })
	list := make([]topologies.Prefix, len(o.list))
	for i, g := range o.list {
		list[i] = g.prefix
		index := make([]int, len(g.order))
		for k := range index {
			index[k] = k
		}
		slices.SortStableFunc(index, func(a, b int) int { return late(g.order[a]) - late(g.order[b]) })
		list[i].Origins = make([]string, len(index))
		for k, from := range index {
			list[i].Origins[k] = g.prefix.Origins[from]
		}
	}
	return list
}

// late sorts what says no number after what does.
func late(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}
