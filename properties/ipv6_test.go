package properties

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// twinOf is the IPv6 prefix that holds what an IPv4 prefix of the generators'
// scheme holds: 10.r.s.0/16 to /24 is fd00:r:0:s00::/48 to /56, so that what is
// more specific stays so.
func twinOf(p netip.Prefix) netip.Prefix {
	a := p.Addr().As4()
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 0, a[1], 0, 0, a[2], a[3]}), p.Bits()+32)
}

// dualStack gives every prefix of a topology an IPv6 twin, n places after it
// where n is the number of IPv4 prefixes.
func dualStack(t *topologies.Topology) *topologies.Topology {
	dual := *t
	dual.Name += "-dual"
	dual.Prefixes = slices.Clone(t.Prefixes)
	for _, p := range t.Prefixes {
		p.Prefix = twinOf(p.Prefix)
		dual.Prefixes = append(dual.Prefixes, p)
	}
	return &dual
}

// family is a run's view of the IPv4 prefixes, and of their twins where they
// have any.
type family struct {
	t     *testing.T
	n     int // IPv4 prefixes
	looks []look
}

// look is what one quiet moment shows of the IPv4 prefixes.
type look struct {
	devices [][]state.Route
	log     []state.NLRI
}

func (f *family) Name() string { return "family" }
func (f *family) Outcome() state.Outcome {
	return state.Outcome{Name: "family", Exercised: len(f.looks)}
}

func (f *family) Look(m *state.Moment) {
	four := look{}
	for d, dev := range m.Snapshot.Devices {
		four.devices = append(four.devices, dev.Routes[:f.n])
		for i, r := range dev.Routes[:f.n] {
			if len(dev.Routes) == f.n {
				break
			}
			r.FIB.Prefix = twin(m, r.FIB.Prefix)
			if got := dev.Routes[f.n+i]; !reflect.DeepEqual(got, r) { // cmp alone takes a minute
				f.t.Errorf("at %v, %s, %s: IPv4 - twin +\n%s", m.Snapshot.Time, m.Topology.Devices[d].Name, m.Topology.Prefixes[i].Prefix, cmp.Diff(r, got, routes))
			}
		}
	}
	if m.Window != nil {
		four.log = f.half(m.Window.Log, 0)
		if six := f.half(m.Window.Log, f.n); len(m.Topology.Prefixes) > f.n {
			if diff := cmp.Diff(four.log, six); diff != "" {
				f.t.Errorf("at %v: NLRI of IPv4 - twins +\n%s", m.Snapshot.Time, diff)
			}
		}
	}
	f.looks = append(f.looks, four)
}

// twin is the FIB entry's prefix in IPv6; an empty entry has none.
func twin(m *state.Moment, p netip.Prefix) netip.Prefix {
	if _, ok := m.Index.Prefix[p]; !ok {
		return p
	}
	return twinOf(p)
}

// half is the log of one family, sorted, its prefixes numbered from 0.
func (f *family) half(log []state.NLRI, from int) (half []state.NLRI) {
	for _, n := range log {
		if n.Prefix -= int32(from); n.Prefix >= 0 && int(n.Prefix) < f.n {
			half = append(half, n)
		}
	}
	key := func(n state.NLRI) string { return fmt.Sprintf("%08d %v %08d", n.Round, n.Dir, n.Prefix) }
	slices.SortStableFunc(half, func(a, b state.NLRI) int { return stdcmp.Compare(key(a), key(b)) })
	return half
}

var routes = cmpopts.EquateComparable(netip.Prefix{})

// play runs a scenario and looks at every quiet moment.
func (f *family) play(sc *harness.Scenario) *state.Result {
	f.t.Helper()
	res, err := harness.Run(context.Background(), sc.On(quickEngine()), harness.RunOptions{Checks: append(For(sc.Topology, sc.Events), f)})
	if err != nil || res.Verdict != state.Held {
		f.t.Errorf("%s: got %v, %v", sc.Topology.Name, res.Verdict, err)
		for _, o := range res.Outcomes {
			for _, v := range o.Violations {
				f.t.Logf("%s: at %v, %s: %s", o.Name, v.Time, v.Where, v.Text)
			}
		}
	}
	for _, o := range res.Outcomes {
		if o.Exercised == 0 {
			f.t.Errorf("%s: %s was never put to the test", sc.Topology.Name, o.Name)
		}
	}
	if res.Stale > 0 {
		f.t.Errorf("%s: %d stale entries", sc.Topology.Name, res.Stale)
	}
	return res
}

// sessionsAndAggregates resets, restarts, drains and holds on a small network
// with aggregates.
const sessionsAndAggregates = `
topology:
  name: aggregates
  generate:
    regions: 2
    planes: 2
    fabrics: 2
    spines: 2
    kind: dsf
    asn: per-group
    speed: 800G
    aggregates:
      fabric: {min-supporting: {announce: 2, withdraw: 1}, suppress: true}
      region: {min-supporting: {announce: 1, withdraw: 1}}
    bundles:
      spine-edge: {members: 32, length: 300m}
      edge-bag: {members: 32, length: 3km}
      bag-bag: {members: 32, length: 80km}
damping: bag-default
events:
  - degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 24}
  - reset: {bundle: r1-bag1--r2-bag1, silent: true}
  - restore: {all: true}
  - restart: {device: r1-f1-e1, takes: 10s, silent: true}
  - drain: {device: r1-bag2, state: warm}
  - drain: {device: r1-bag2, state: drained}
  - drain: {device: r1-bag2, state: live}
  - down: {bundle: r1-f1-s1--r1-f1-e1}
  - down: {bundle: r1-f1-s2--r1-f1-e1}
  - up: {bundle: r1-f1-s1--r1-f1-e1}
  - restore: {all: true}
  - degrade: {bundle: r2-f1-e1--r2-bag1, members: 1}
  - restore: {all: true}
`

// TestIPv6TwinsFareAsTheirIPv4Prefixes plays each scenario on a network of IPv4
// and on the same with an IPv6 twin of every prefix. In every quiet moment each
// twin's route, told value and hardware entry are those of its IPv4 prefix,
// which are those of the network without twins; each event costs twice the NLRI.
func TestIPv6TwinsFareAsTheirIPv4Prefixes(t *testing.T) {
	simOnly(t)
	for _, name := range []string{"first-light", "sessions and aggregates"} {
		t.Run(name, func(t *testing.T) {
			alone, err := harness.Embedded("first-light")
			if name != "first-light" {
				alone, err = harness.ReadScenario("test.yaml", []byte(sessionsAndAggregates))
			}
			if err != nil {
				t.Fatal(err)
			}
			both := *alone
			both.Topology = dualStack(alone.Topology)
			if four, six := topologies.Validate(alone.Topology), topologies.Validate(both.Topology); (four == nil) != (six == nil) {
				t.Fatalf("valid without twins: %v; with: %v", four, six)
			}
			n := len(alone.Topology.Prefixes)
			seen, dual := &family{t: t, n: n}, &family{t: t, n: n}
			one, two := seen.play(alone), dual.play(&both)
			if !reflect.DeepEqual(seen.looks, dual.looks) {
				t.Errorf("IPv4 prefixes: without twins - with twins +\n%s", cmp.Diff(seen.looks, dual.looks, cmp.AllowUnexported(look{}), routes))
			}
			if one.Entries*2 != two.Entries || one.BringUp.Announced*2 != two.BringUp.Announced || one.BringUp.Withdrawn*2 != two.BringUp.Withdrawn {
				t.Errorf("bring-up: %d entries and %+v without twins, %d and %+v with", one.Entries, one.BringUp, two.Entries, two.BringUp)
			}
			for i, row := range one.Rows {
				got := two.Rows[i]
				if got.Counters.Announced != 2*row.Counters.Announced || got.Counters.Withdrawn != 2*row.Counters.Withdrawn {
					t.Errorf("%v: %+v without twins, %+v with: want twice the NLRI", row.Event, row.Counters, got.Counters)
				}
				if !slices.Equal(got.Blast, row.Blast) || got.Told != 2*row.Told || got.Sets != 2*row.Sets {
					t.Errorf("%v: got %+v with twins, %+v without", row.Event, got, row)
				}
			}
		})
	}
}
