package harness

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/harness/state"
)

// Difference is the first place where two snapshots of one network are not the
// same: in a device's route to a prefix, in a device, in a bundle, or in the whole.
type Difference struct {
	Device, Prefix, Bundle int    // indexes in the topology; -1 = it is not one of these
	Field                  string // what differs
	A, B                   string // what the snapshots have
	Routes                 int    // all routes that differ, of all devices

	common []string // parts of a long answer that both have, which A and B leave out
}

// Compare gives the first difference in topology order, routes before all else, or
// nil. Virtual time is not compared. Unless alike, which is for two runs whose
// speakers step in the same order, neither are next-hop group numbers and audits,
// which follow from the order in which hardware was programmed.
func Compare(net *state.Network, a, b *state.Snapshot, alike bool) *Difference {
	var first *Difference
	routes := 0
	for d := range a.Devices {
		for p := range a.Devices[d].Routes {
			x, y := &a.Devices[d].Routes[p], &b.Devices[d].Routes[p]
			field := routeDifference(x, y, alike)
			if field == nil {
				continue
			}
			if routes++; first == nil {
				first = newDifference(net, d, p, field, x, y)
			}
		}
	}
	if first == nil {
		return elsewhere(net, a, b, alike)
	}
	first.Routes = routes
	return first
}

// routeField is a part of a route that is compared.
type routeField struct {
	name string
	same func(a, b *state.Route) bool
	text func(net *state.Network, r *state.Route) []string
}

var routeFields = []routeField{
	{"origin", func(a, b *state.Route) bool { return a.Local == b.Local }, func(_ *state.Network, r *state.Route) []string { return []string{strconv.FormatBool(r.Local)} }},
	{"candidates", func(a, b *state.Route) bool { return slices.EqualFunc(a.Candidates, b.Candidates, sameCandidate) }, candidatesText},
	{"multipath set", func(a, b *state.Route) bool { return slices.Equal(a.Set, b.Set) }, setText},
	{"bottleneck value", func(a, b *state.Route) bool { return a.Valued == b.Valued && a.Bottleneck == b.Bottleneck }, bottleneckText},
	{"told", func(a, b *state.Route) bool { return sameTold(&a.Told, &b.Told) }, func(_ *state.Network, r *state.Route) []string { return []string{toldText(&r.Told)} }},
	{hardwareField, func(a, b *state.Route) bool { return slices.Equal(a.FIB.Members, b.FIB.Members) }, hardwareText},
}

// hardwareField is the part of a route that the graph knows nothing of.
const hardwareField = "hardware"

// wholeEntry is hardware compared to the last bit, for runs that are alike.
var wholeEntry = routeField{"hardware", func(a, b *state.Route) bool { return reflect.DeepEqual(a.FIB, b.FIB) }, hardwareText}

func routeDifference(a, b *state.Route, alike bool) *routeField {
	for i := range routeFields {
		if !routeFields[i].same(a, b) {
			return &routeFields[i]
		}
	}
	if alike && !wholeEntry.same(a, b) {
		return &wholeEntry
	}
	return nil
}

func sameCandidate(a, b state.Candidate) bool {
	return a.Bundle == b.Bundle && a.Valued == b.Valued && (!a.Valued || a.Value == b.Value) && slices.Equal(a.Path, b.Path)
}

func sameTold(a, b *state.Told) bool {
	return a.SameValue(*b) && a.Down == b.Down && a.Warm == b.Warm && a.Atomic == b.Atomic && a.Form == b.Form && slices.Equal(a.Path, b.Path)
}

// elsewhere is the first difference outside of routes.
func elsewhere(net *state.Network, a, b *state.Snapshot, alike bool) *Difference {
	found := func(d, bundle int, field string, x, y any) *Difference {
		return &Difference{Device: d, Prefix: -1, Bundle: bundle, Field: field, A: fmt.Sprintf("%+v", x), B: fmt.Sprintf("%+v", y)}
	}
	for d := range a.Devices {
		x, y := &a.Devices[d], &b.Devices[d]
		switch {
		case x.Drain != y.Drain:
			return found(d, -1, "drain state", x.Drain, y.Drain)
		case x.Restarting != y.Restarting:
			return found(d, -1, "restarting", x.Restarting, y.Restarting)
		case alike && !reflect.DeepEqual(x.FIB, y.FIB):
			return found(d, -1, "hardware audit", x.FIB, y.FIB)
		case alike && !reflect.DeepEqual(x.Compared, y.Compared):
			return found(d, -1, "hardware audits of the overflow policies", x.Compared, y.Compared)
		}
	}
	for i := range a.Bundles {
		if a.Bundles[i] != b.Bundles[i] {
			return found(-1, i, "state", a.Bundles[i], b.Bundles[i])
		}
	}
	if !slices.Equal(a.Held, b.Held) {
		return found(-1, -1, "held sessions", a.Held, b.Held)
	}
	return nil
}

// where names the place of the difference.
func (d *Difference) where(net *state.Network) string {
	t := net.Topology
	switch {
	case d.Prefix >= 0:
		return fmt.Sprintf("device %q, prefix %s", t.Devices[d.Device].Name, t.Prefixes[d.Prefix].Prefix)
	case d.Device >= 0:
		return fmt.Sprintf("device %q", t.Devices[d.Device].Name)
	case d.Bundle >= 0:
		return fmt.Sprintf("bundle %q", t.Bundles[d.Bundle].Name)
	}
	return "the network"
}

// newDifference is a difference of a route.
func newDifference(net *state.Network, device, prefix int, field *routeField, a, b *state.Route) *Difference {
	x, y := field.text(net, a), field.text(net, b)
	d := &Difference{Device: device, Prefix: prefix, Bundle: -1, Field: field.name}
	if max(len(x), len(y)) > longAnswer {
		for _, part := range x {
			if slices.Contains(y, part) {
				d.common = append(d.common, part)
			}
		}
	}
	d.A, d.B = d.answer(x), d.answer(y)
	return d
}

// longAnswer is from how many parts on an answer leaves out what both have.
const longAnswer = 4

// answer joins the parts of an answer that both snapshots do not have.
func (d *Difference) answer(parts []string) string {
	same := 0
	var others []string
	for _, part := range parts {
		if slices.Contains(d.common, part) {
			same++
		} else {
			others = append(others, part)
		}
	}
	if same > 0 {
		others = append(others, fmt.Sprintf("and %d more, as both have", same))
	}
	if len(others) == 0 {
		return "none"
	}
	return strings.Join(others, ", ")
}

// graphAnswer is what the graph has at the place of the difference.
func (d *Difference) graphAnswer(net *state.Network, graph state.Judge) string {
	if d.Prefix < 0 || d.Field == hardwareField {
		return "not its business"
	}
	r := graph.Route(d.Device, d.Prefix)
	r.Candidates = graph.Receives(d.Device, d.Prefix)
	i := slices.IndexFunc(routeFields, func(f routeField) bool { return f.name == d.Field })
	return d.answer(routeFields[i].text(net, r))
}

// Carried is what two runs carried on one directed session.
type Carried struct {
	Dir  state.Direction
	A, B int // NLRI
}

// CompareNLRI counts what each directed session carried in two runs and gives those
// on which that differs, ascending, and what it counted in the first. First dumps,
// whose size depends on when a session came up, do not count. Nor do cures, which
// only real speakers need: withdrawals that the same speaker's announcement of the
// same prefix follows in the same round.
func CompareNLRI(a, b []state.NLRI) (differ []Carried, counted, cures int) {
	counts := map[state.Direction]*Carried{}
	count := func(log []state.NLRI, of func(*Carried) *int) (cures int) {
		type moment struct {
			flow
			round int
		}
		withdrawn := map[moment]bool{} // and not announced again
		for _, n := range log {
			if n.Dump {
				continue
			}
			if counts[n.Dir] == nil {
				counts[n.Dir] = &Carried{Dir: n.Dir}
			}
			at := moment{flow{n.Dir, int(n.Prefix)}, n.Round}
			if !n.Withdraw && withdrawn[at] {
				*of(counts[n.Dir])--
				cures++
			}
			withdrawn[at] = n.Withdraw
			*of(counts[n.Dir])++
		}
		return cures
	}
	cures = count(a, func(c *Carried) *int { return &c.A })
	count(b, func(c *Carried) *int { return &c.B })
	for _, c := range counts {
		counted += c.A
		if c.A != c.B {
			differ = append(differ, *c)
		}
	}
	slices.SortFunc(differ, func(a, b Carried) int {
		return cmp.Or(cmp.Compare(a.Dir.Bundle, b.Dir.Bundle), strings.Compare(a.Dir.String(), b.Dir.String()))
	})
	return differ, counted, cures
}

// capacityText is a value in bits/s with all of its digits.
func capacityText(bits float64) string { return strconv.FormatFloat(bits/1e12, 'g', -1, 64) + "T" }

func bundleText(net *state.Network, bundle int32) string { return net.Topology.Bundles[bundle].Name }

func valueText(valued bool, value float32) string {
	if !valued {
		return "no value"
	}
	return capacityText(8 * float64(value))
}

func candidatesText(net *state.Network, r *state.Route) (parts []string) {
	for _, c := range r.Candidates {
		parts = append(parts, fmt.Sprintf("%s AS_PATH %v over %s", valueText(c.Valued, c.Value), c.Path, bundleText(net, c.Bundle)))
	}
	return parts
}

func setText(net *state.Network, r *state.Route) (parts []string) {
	for _, m := range r.Set {
		parts = append(parts, fmt.Sprintf("%s over %s", capacityText(float64(m.Share)), bundleText(net, m.Bundle)))
	}
	return parts
}

func hardwareText(net *state.Network, r *state.Route) []string {
	parts := []string{fmt.Sprintf("group %d", r.FIB.Group)}
	for _, m := range r.FIB.Members {
		parts = append(parts, fmt.Sprintf("weight %d over %s", m.Weight, bundleText(net, m.ID)))
	}
	return parts
}

func bottleneckText(_ *state.Network, r *state.Route) []string {
	if !r.Valued {
		return nil
	}
	return []string{capacityText(float64(r.Bottleneck))}
}

func toldText(t *state.Told) string {
	if !t.Present {
		return "nothing"
	}
	text := fmt.Sprintf("%s, AS_PATH %v", valueText(t.Valued, t.Value), t.Path)
	for _, mark := range []struct {
		on   bool
		word string
	}{{t.Down, "only down"}, {t.Warm, "warm"}, {t.Atomic, "atomic"}, {t.Form != "", t.Form}} {
		if mark.on {
			text += ", " + mark.word
		}
	}
	return text
}
