package properties

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// planShapes are what the page compares the plans on, prometheus-mini, spread-mini
// and hub-mini among them, and the device that originates the first prefix.
var planShapes = []struct{ name, origin, generate string }{
	{"planar", "r1-f1-s1", `spines: 2, kind: dsf, regions: 2, planes: 4, fabrics: 4, bundles: {spine-edge: {members: 32, length: 300m}, edge-bag: {members: 32, length: 3km}, bag-bag: {members: 32, length: 80km}}`},
	{"spread", "r1-f1-s1", `spines: 2, kind: dsf, regions: 2, planes: 4, fabrics: 4, spread: 4, bundles: {spine-edge: {members: 32, length: 300m}, edge-bag: {members: 32, length: 3km}, bag-bag: {members: 32, length: 80km}}`},
	{"racks", "r1-f1-t1", `spines: 4, racks: 2, kind: nsf, edges: all-spine-planes,
    regions: 2, planes: 2, fabrics: 2, bundles: {rack-spine: {members: 32, length: 100m}, spine-bag: {members: 32, length: 1km}, bag-bag: {members: 32, length: 80km}}`},
	{"hub", "r1-f1-s1", `spines: 2, kind: dsf,
    regions: 3, planes: 2, fabrics: 2, joins: [{hub: 2, lengths: {r3: 80km}}], backbone: 1,
    bundles: {spine-edge: {members: 32, length: 300m}, edge-bag: {members: 32, length: 2km}, bag-hub: {members: 32, length: 6km}, hub-backbone: {members: 32, length: 500km}}`},
}

// prefixCounts is a check that looks at one prefix: what the wires carried of it in
// the last window. It has no rule.
type prefixCounts struct {
	prefix              string
	withdrawn, replaced int // NLRI
	rounds              map[int]bool
	holders             int // devices with a route to it at the baseline
}

func (c *prefixCounts) Name() string           { return "counts" }
func (c *prefixCounts) Outcome() state.Outcome { return state.Outcome{Name: c.Name(), Exercised: 1} }

func (c *prefixCounts) Look(m *state.Moment) {
	p := -1
	for i := range m.Topology.Prefixes {
		if m.Topology.Prefixes[i].Prefix.String() == c.prefix {
			p = i
		}
	}
	if m.Window == nil {
		for d := range m.Topology.Devices {
			if len(m.Snapshot.Devices[d].Routes[p].Set) > 0 {
				c.holders++
			}
		}
		return
	}
	for i := range m.Window.Log {
		n := &m.Window.Log[i]
		switch {
		case int(n.Prefix) != p:
			continue
		case n.Withdraw:
			c.withdrawn++
		default:
			c.replaced++
		}
		c.rounds[n.Round] = true
	}
}

// planTable runs each shape under each plan, takes the only origin of a prefix
// away, and counts.
func planTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| shape | plan | ASNs | Adj-RIB-In entries | devices that lose the route | NLRI withdrawn | NLRI announced instead | rounds | of them path hunting, all prefixes |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, shape := range planShapes {
		for _, plan := range []topologies.ASNPlan{topologies.PerGroup, topologies.PerPlane, topologies.Unique} {
			text := fmt.Sprintf("topology:\n  name: %s\n  generate: {speed: 800G, asn: %v, %s}\ndamping: bag-default\nevents:\n  - down: {device: %s}\n",
				shape.name, plan, shape.generate, shape.origin)
			sc, err := harness.ReadScenario(shape.name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			c := &prefixCounts{prefix: "10.1.0.0/24", rounds: map[int]bool{}}
			checks := append(For(sc.Topology, sc.Events), c)
			res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: checks})
			if err != nil {
				t.Fatal(err)
			}
			tally, _ := TallyOf(checks)
			for _, o := range res.Outcomes {
				if o.Violated > 0 {
					t.Errorf("%s, %v: %s is violated: %v", shape.name, plan, o.Name, o.Violations)
				}
			}
			asns := map[uint32]bool{}
			for _, d := range sc.Topology.Devices {
				asns[d.ASN] = true
			}
			fmt.Fprintf(&b, "| %s | `%v` | %d | %d | %d | %d | %d | %d | %d |\n", shape.name, plan, len(asns), res.Entries, c.holders, c.withdrawn, c.replaced, len(c.rounds), tally.Hunt)
		}
	}
	return b.String()
}

// The table of docs/asn-plans.md is what the engine counts; BAGRIG_UPDATE=1
// rewrites it.
func TestThePageOfASNPlansShowsWhatTheEngineCounts(t *testing.T) {
	const page, mark = "../docs/asn-plans.md", "<!-- counted -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), mark)
	if len(parts) != 3 {
		t.Fatalf("%s: got %d marks, want 2", page, len(parts)-1)
	}
	want := planTable(t)
	if os.Getenv("BAGRIG_UPDATE") != "" {
		text := parts[0] + mark + want + mark + parts[2]
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(parts[1], want); diff != "" {
		t.Errorf("%s: run with BAGRIG_UPDATE=1: got (-) want (+):\n%s", page, diff)
	}
}
