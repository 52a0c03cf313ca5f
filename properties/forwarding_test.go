package properties

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

// TestWalksFindWhatFollowingEveryBranchFinds points next hops anywhere and
// compares both walks with the obvious one.
func TestWalksFindWhatFollowingEveryBranchFinds(t *testing.T) {
	p := small(t)
	prefix := p.prefixOf(far)
	params := gopter.DefaultTestParametersWithSeed(seedOfRun(t))
	params.MinSuccessfulTests = 300
	lost, looped := 0, 0
	result := prop.ForAll(func(seed int64, faults int) bool {
		m := p.moment(nil)
		m.Settled = false
		misdirect(rand.New(rand.NewSource(seed)), p, m, prefix, faults)
		wantLost, wantLooped := false, false
		for i := range p.net.Topology.Prefixes { // a session that is down is missed by all
			l, o := followAll(m, i)
			wantLost, wantLooped = wantLost || l, wantLooped || o
		}
		if wantLost {
			lost++
		}
		if wantLooped {
			looped++
		}
		got := violatedRules(m)
		return got[NoBlackHoleName] > 0 == wantLost && got[NoLoopName] > 0 == wantLooped && len(got) <= 2
	}, gen.Int64(), gen.IntRange(0, 5)).Check(params)
	if !result.Passed() {
		t.Fatalf("seed %d: case %d: %v %v", params.Seed(), result.Succeeded, result.Args, result.Error)
	}
	if lost == 0 || looped == 0 || lost == result.Succeeded {
		t.Errorf("of %d cases %d lost traffic and %d looped: want some of each", result.Succeeded, lost, looped)
	}
}

// misdirect takes next hops out, points them anywhere, or takes a session down.
func misdirect(rng *rand.Rand, p *paper, m *state.Moment, prefix, faults int) {
	for range faults {
		d := rng.Intn(len(m.Snapshot.Devices))
		r := &m.Snapshot.Devices[d].Routes[prefix]
		own := p.net.Index.Of[d]
		switch {
		case rng.Intn(8) == 0:
			m.Snapshot.Bundles[own[rng.Intn(len(own))]].Up = false
		case r.Local:
		case rng.Intn(8) == 0:
			r.FIB.Members = nil
		default:
			r.FIB.Members = []fib.Weighted{{ID: int32(own[rng.Intn(len(own))]), Weight: 1}}
		}
	}
}

// followAll follows every branch from every device on its own, with the devices
// it has passed in hand.
func followAll(m *state.Moment, prefix int) (lost, looped bool) {
	origin := origins(m.Network, prefix)
	var follow func(d int, passed []int)
	follow = func(d int, passed []int) {
		switch hops := m.Snapshot.Devices[d].Routes[prefix].FIB.Members; {
		case origin[d]:
		case slices.Contains(passed, d):
			looped = true
		case len(hops) == 0:
			lost = true
		default:
			for _, w := range hops {
				ends := m.Index.Ends[w.ID]
				if !m.Snapshot.Bundles[w.ID].Up {
					lost = true
					continue
				}
				follow(ends[0]+ends[1]-d, append(slices.Clone(passed), d))
			}
		}
	}
	for d := range m.Snapshot.Devices {
		follow(d, nil)
	}
	return lost, looped
}

// TestALoopIsCountedOnce has one circle that many devices lead into.
func TestALoopIsCountedOnce(t *testing.T) {
	p := small(t)
	m := p.moment(nil)
	m.Settled = false
	for _, prefix := range []string{far, "10.2.0.0/20"} {
		p.route(m, bag, prefix).FIB.Members = []fib.Weighted{{ID: p.dir(edge, bag).Bundle, Weight: 1}}
	}
	if got := violatedRules(m); got[NoLoopName] != 2 || len(got) != 1 {
		t.Errorf("got %v, want 2 loops, one for each prefix", got)
	}
}

// BenchmarkLook is what all checks cost at one quiet. The wanted figures are 3
// ms for prometheus-mini and 300 ms for prometheus.
func BenchmarkLook(b *testing.B) {
	for _, name := range []string{"prometheus-mini", "prometheus"} {
		p := preset(b, name)
		m := p.moment(broken{"r1-bag1--r2-bag1": 24})
		for _, settled := range []bool{false, true} {
			kind := "/quiet"
			if settled {
				kind = "/settled"
			}
			b.Run(name+kind, func(b *testing.B) {
				m.Settled = settled
				checks := All()
				b.ReportAllocs()
				for b.Loop() {
					for _, c := range checks {
						c.Look(m)
					}
				}
				for _, c := range checks {
					if o := c.Outcome(); o.Violated > 0 {
						b.Fatalf("%s: %v", o.Name, o.Violations)
					}
				}
			})
		}
	}
}
