package properties

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// counts are the numbers of a planar shape of which each fabric and plane is
// like the others. Churn does not depend on the planes.
type counts struct{ regions, planes, fabrics, spines int }

func (c counts) String() string {
	return fmt.Sprintf("%d x %d x %d x %d", c.regions, c.planes, c.fabrics, c.spines)
}

// members is that of all bundles, as in prometheus-mini.
const members = 32

func (c counts) topology(tb testing.TB) *topologies.Topology {
	tb.Helper()
	link := topologies.Link{Members: members}
	t, err := topologies.Generate(topologies.Shape{
		Name: "full", Regions: c.regions, Planes: c.planes, Fabrics: c.fabrics, Spines: c.spines, Kind: "dsf", Speed: 800e9,
		SpineEdge: link, EdgeBag: link, BagBag: link, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// churnOf is a kind of event with the formula of its NLRI. Where a sum over k
// equal bundles loses something, told(k) is 1 if that is told and 0 if the
// quantizer absorbs it.
type churnOf struct {
	event   state.Event
	formula string // as the page has it
	nlri    func(c counts, told func(k int) int) int
}

const left = members / 2

func degrade(bundle string) state.Event {
	return state.Event{Kind: "degrade", Bundle: bundle, Members: left}
}

func down(bundle string) state.Event { return state.Event{Kind: "down", Bundle: bundle} }

// below is how many NLRI one prefix of a fabric costs once its bag tells it
// otherwise: the bag tells the other edges of its plane, which tell their
// spines; and the bags of other regions, which tell their edges, which tell
// their spines.
func (c counts) below() int {
	return (c.fabrics-1)*(1+c.spines) + (c.regions-1)*(1+c.fabrics*(1+c.spines))
}

// above is how many prefixes an edge hears from its bag alone: all but those
// of its own fabric, and its own region's.
func (c counts) above() int {
	return (c.regions*c.fabrics-1)*(c.spines+1) + c.regions - 1
}

// churns are the events, in the first fabrics and the first plane.
func churns() []churnOf {
	between := func(c counts, _ func(int) int) int {
		prefixes := c.fabrics*(c.spines+1) + 1
		return 2 * prefixes * c.fabrics * (1 + c.spines)
	}
	return []churnOf{
		{degrade("r1-f1-s1--r1-f1-e1"), "S + U + 2 S t(S)",
			func(c counts, told func(int) int) int { return c.spines + c.below() + 2*c.spines*told(c.spines) }},
		{degrade("r1-f1-e1--r1-bag1"), "(S+1) U + S V + (R+F-2) t(F)",
			func(c counts, told func(int) int) int {
				return (c.spines+1)*c.below() + c.spines*c.above() + (c.regions+c.fabrics-2)*told(c.fabrics)
			}},
		{down("r1-f1-e1--r1-bag1"), "(S+1) U + S V + (R+F-2) + (R+F-3) + (R-1) F (S+1)",
			func(c counts, _ func(int) int) int {
				return (c.spines+1)*c.below() + c.spines*c.above() + 2*(c.regions+c.fabrics) - 5 + (c.regions-1)*c.fabrics*(1+c.spines)
			}},
		{down("r1-f2-e1--r1-bag1"), "(S+1) U + S V + (R+F-3)",
			func(c counts, _ func(int) int) int {
				return (c.spines+1)*c.below() + c.spines*c.above() + c.regions + c.fabrics - 3
			}},
		{degrade("r1-bag1--r2-bag1"), "2 (F (S+1) + 1) F (S+1)", between},
		{down("r1-bag1--r2-bag1"), "2 (F (S+1) + 1) F (S+1)", between},
	}
}

// log is a check that keeps what the wires carried in each window.
type log struct{ windows [][]state.NLRI }

func (l *log) Name() string           { return "log" }
func (l *log) Outcome() state.Outcome { return state.Outcome{Name: "log"} }
func (l *log) Look(m *state.Moment) {
	if m.Window != nil {
		l.windows = append(l.windows, slices.Clone(m.Window.Log))
	}
}

// churn plays each event on the real engine, from full health each time, and
// gives what the wires carried because of it.
func churn(t *testing.T, topology *topologies.Topology, pipeline damping.Pipeline) [][]state.NLRI {
	t.Helper()
	rules, kept := All(), &log{}
	rig, err := harness.Start(t.Context(), harness.Options{Topology: topology, Damping: pipeline, Checks: append(rules, kept), Budget: standstill})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rig.Close(); err != nil {
			t.Error(err)
		}
	}()
	var logs [][]state.NLRI
	for _, c := range churns() {
		kept.windows = nil
		if _, err := rig.Play(t.Context(), c.event); err != nil {
			t.Fatal(err)
		}
		logs = append(logs, slices.Concat(kept.windows...))
		if _, err := rig.Play(t.Context(), restoreAll()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range rules {
		if o := c.Outcome(); o.Violated > 0 {
			t.Errorf("%s: %s: violated %d times", topology.Name, o.Name, o.Violated)
		}
	}
	return logs
}

func pipelineOf(t *testing.T, name string, topology *topologies.Topology) damping.Pipeline {
	t.Helper()
	p, err := damping.Preset(name, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// toldUnder says whether a sum of k bundles that loses half of one is told.
func toldUnder(p damping.Pipeline) func(k int) int {
	level := levelOf(p)
	return func(k int) int {
		full := uint64(k) * members * 800e9
		if level == nil || level(full) != level(full-(members-left)*800e9) {
			return 1
		}
		return 0
	}
}

// TestChurnFollowsTheFormula counts the NLRI of single events on networks of
// several sizes, with a quantizer and without.
func TestChurnFollowsTheFormula(t *testing.T) {
	networks := []counts{{2, 2, 8, 2}, {2, 2, 2, 2}, {2, 4, 4, 2}, {3, 2, 3, 3}, {2, 2, 2, 8}}
	if raceDetector || testing.Short() {
		networks = networks[:2]
	}
	absorbed := 0
	for _, c := range networks {
		topology := c.topology(t)
		for _, name := range []string{damping.PresetNone, damping.PresetBagDefault} {
			pipeline := pipelineOf(t, name, topology)
			told := toldUnder(pipeline)
			absorbed += 2 - told(c.fabrics) - told(c.spines)
			for i, log := range churn(t, topology, pipeline) {
				e := churns()[i]
				if got, want := len(log), e.nlri(c, told); got != want {
					t.Errorf("%v, %s, %v %s: got %d NLRI, want %d", c, name, e.event.Kind, e.event.Bundle, got, want)
				}
			}
		}
	}
	if absorbed == 0 {
		t.Error("no sum was absorbed by the quantizer")
	}
}

// orbits gives for every directed session and prefix which others are like it
// when fabrics of a region other than its first two, and planes other than the
// first, change places: those with the same text.
func orbits(t *topologies.Topology) map[state.Direction][]string {
	x := t.Index()
	all := make(map[state.Direction][]string, 2*len(t.Bundles))
	for b, ends := range x.Ends {
		for _, dir := range []state.Direction{{Bundle: int32(b)}, {Bundle: int32(b), FromB: true}} {
			from, to := &t.Devices[ends[0]], &t.Devices[ends[1]]
			if dir.FromB {
				from, to = to, from
			}
			for i := range t.Prefixes {
				p := &t.Prefixes[i]
				seen := others{}
				all[dir] = append(all[dir], fmt.Sprint(seen.device(from), " tells ", seen.device(to), " of ", seen.prefix(p, &t.Devices[x.Device[p.Origins[0]]])))
			}
		}
	}
	return all
}

// others are the fabrics and planes that have no name of their own, as they
// appear.
type others map[string]string

func (o others) name(kind, name string, known bool) string {
	if known {
		return name
	}
	if o[kind+name] == "" {
		o[kind+name] = fmt.Sprint("other ", len(o))
	}
	return o[kind+name]
}

func (o others) fabric(d *topologies.Device) string {
	return o.name("fabric ", d.Fabric, strings.HasSuffix(d.Fabric, "-f1") || strings.HasSuffix(d.Fabric, "-f2"))
}

func (o others) device(d *topologies.Device) string {
	text := d.Role.String() + " " + d.Region
	if d.Fabric != "" {
		text += ", fabric " + o.fabric(d)
	}
	if d.Plane != 0 {
		return text + ", plane " + o.name("plane ", fmt.Sprint(d.Plane), d.Plane == 1)
	}
	return text + d.Name[strings.LastIndex(d.Name, "-"):]
}

func (o others) prefix(p *topologies.Prefix, origin *topologies.Device) string {
	switch p.Class {
	case "spine":
		return o.device(origin)
	case "fabric":
		return origin.Region + ", fabric " + o.fabric(origin)
	}
	return origin.Region
}

// predicted is the formula of docs/quotient.md: what each orbit costs in the
// quotient, times how many directed sessions and prefixes it has in the network.
func predicted(t *testing.T, quotient, full *topologies.Topology, log []state.NLRI) int {
	t.Helper()
	each := map[string]map[int]bool{} // what members of an orbit cost
	small := orbits(quotient)
	cost := map[flow]int{}
	for i := range log {
		cost[flowOf(&log[i])]++
	}
	for dir, list := range small {
		for p, orbit := range list {
			if each[orbit] == nil {
				each[orbit] = map[int]bool{}
			}
			each[orbit][cost[flow{dir, int32(p)}]] = true
		}
	}
	sum := 0
	for _, list := range orbits(full) {
		for _, orbit := range list {
			costs := slices.Collect(maps.Keys(each[orbit]))
			if len(costs) > 1 {
				t.Fatalf("%s: members cost %v NLRI, want all the same", orbit, costs)
			}
			if len(costs) == 1 { // none: an orbit that the quotient is too small to have
				sum += costs[0]
			}
		}
	}
	return sum
}

func presetTopology(tb testing.TB, name string) *topologies.Topology {
	tb.Helper()
	t, err := topologies.Preset(name)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestChurnInTheQuotientPredictsChurnInTheNetwork plays the events in networks
// and in their quotients, and keeps the table of the page.
func TestChurnInTheQuotientPredictsChurnInTheNetwork(t *testing.T) {
	var table strings.Builder
	table.WriteString("| network | devices | event | NLRI | in the quotient, devices | NLRI | predicted |\n|---|---|---|---|---|---|---|\n")
	for _, n := range []struct {
		name string
		full *topologies.Topology
	}{
		{"`prometheus-mini`", presetTopology(t, "prometheus-mini")},
		{"2 x 6 x 6 x 2, planar", counts{2, 6, 6, 2}.topology(t)},
		{"`spread-mini`", presetTopology(t, "spread-mini")},
	} {
		quotient := topologies.Quotient(n.full)
		pipeline := pipelineOf(t, damping.PresetNone, n.full)
		large, small := churn(t, n.full, pipeline), churn(t, quotient, pipeline)
		for i, c := range churns() {
			want := predicted(t, quotient, n.full, small[i])
			if got := len(large[i]); got != want || len(small[i]) >= got {
				t.Errorf("%s, %s %s: got %d NLRI, want %d, and more than the %d of the quotient", n.name, c.event.Kind, c.event.Bundle, got, want, len(small[i]))
			}
			fmt.Fprintf(&table, "| %s | %d | %s `%s` | %d | %d | %d | %d |\n", n.name, len(n.full.Devices), c.event.Kind, c.event.Bundle, len(large[i]), len(quotient.Devices), len(small[i]), want)
		}
	}
	pageHolds(t, "measured", table.String())
}

// TestThePageHasTheFormulas keeps the formulas of the page, and their values.
func TestThePageHasTheFormulas(t *testing.T) {
	one := func(int) int { return 1 }
	sizes := []counts{{2, 2, 2, 2}, {2, 4, 4, 2}, {2, 6, 6, 2}, {4, 8, 8, 4}, {2, 100, 5, 46}}
	var table strings.Builder
	table.WriteString("| event | NLRI |")
	for _, c := range sizes {
		fmt.Fprintf(&table, " %v |", c)
	}
	table.WriteString("\n|---|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, c := range churns() {
		fmt.Fprintf(&table, "| %s `%s` | %s |", c.event.Kind, c.event.Bundle, c.formula)
		for _, n := range sizes {
			fmt.Fprintf(&table, " %d |", c.nlri(n, one))
		}
		table.WriteString("\n")
	}
	pageHolds(t, "formulas", table.String())
}

// pageHolds compares a table of docs/quotient.md, or rewrites it if
// BAGRIG_UPDATE is set.
func pageHolds(t *testing.T, name, table string) {
	t.Helper()
	const page = "../docs/quotient.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: want %q and %q", page, begin, end)
	}
	if old == table || t.Failed() {
		return
	}
	if os.Getenv("BAGRIG_UPDATE") == "" {
		t.Fatalf("%s: table %q is not what was found: run with BAGRIG_UPDATE=1", page, name)
	}
	if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheQuotientCannotPredictASumThatCrossesABundle shows its limit: three
// fabrics fill the bundle between bags exactly, so that their loss is told
// beyond it, where six have plenty.
func TestTheQuotientCannotPredictASumThatCrossesABundle(t *testing.T) {
	full := counts{2, 3, 6, 2}.topology(t)
	for i := range full.Bundles {
		if b := &full.Bundles[i]; full.BundleClass(*b) == "bag-bag" {
			b.Members = 3 * members
		}
	}
	quotient := topologies.Quotient(full)
	pipeline := pipelineOf(t, damping.PresetNone, full)
	large, small := churn(t, full, pipeline), churn(t, quotient, pipeline)
	for i, c := range churns() {
		exact := predicted(t, quotient, full, small[i]) == len(large[i])
		// Where the first fabric falls its path goes all the way as well, and
		// the value goes with it.
		crosses := strings.HasSuffix(c.event.Bundle, "--r1-bag1") && c.event != down("r1-f1-e1--r1-bag1")
		if exact == crosses {
			t.Errorf("%s %s: predicted exactly: %v, want it wherever no sum crosses a bundle", c.event.Kind, c.event.Bundle, exact)
		}
	}
}

// TestTheQuotientKeepsRoutesAndPaths compares what devices of a quotient hold
// with what they hold in the whole network.
func TestTheQuotientKeepsRoutesAndPaths(t *testing.T) {
	for _, name := range []string{"prometheus-mini", "spread-mini", "prometheus"} {
		full := presetTopology(t, name)
		quotient := topologies.Quotient(full)
		x := full.Index()
		large, small := healthy(full), healthy(quotient)
		compared := 0
		for d, device := range quotient.Devices {
			for p, prefix := range quotient.Prefixes {
				got, want := small.Route(d, p), large.Route(x.Device[device.Name], x.Prefix[prefix.Prefix])
				if got.Local != want.Local || got.Reachable() != want.Reachable() || (len(got.Set) > 1) != (len(want.Set) > 1) ||
					got.Told.Down != want.Told.Down || !slices.Equal(got.Told.Path, want.Told.Path) {
					t.Fatalf("%s: device %s, prefix %v: got %+v, want the like of %+v", name, device.Name, prefix.Prefix, got, want)
				}
				compared++
			}
		}
		if compared == 0 || len(quotient.Devices) >= len(full.Devices) {
			t.Errorf("%s: compared %d routes of %d devices, want some, and fewer devices than %d", name, compared, len(quotient.Devices), len(full.Devices))
		}
	}
}

func healthy(t *topologies.Topology) *oracle.State {
	bundles := make([]oracle.Bundle, len(t.Bundles))
	for i, b := range t.Bundles {
		bundles[i].Capacity = b.Capacity(b.Members)
	}
	return oracle.New(t, nil).State(bundles)
}
