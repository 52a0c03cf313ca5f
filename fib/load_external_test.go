package fib_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/fib"
)

// load is a random history of one device: prefixes over one to four sets of
// next hops, at times up to sixty, every prefix with its own degradation of the
// bundles, and then noise: bundles that lose and regain members or go for good.
type load struct {
	seed     uint64
	prefixes []netip.Prefix
	steps    []operation
}

func prefixOf(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}), 24)
}

// drawLoad draws 65 to 200 prefixes over 4 to 64 members.
func drawLoad(seed uint64) load {
	r := rand.New(rand.NewPCG(seed, 77))
	l := load{seed: seed}
	most := 4
	if r.IntN(4) == 0 {
		most = 60
	}
	sets := make([][]int32, 1+r.IntN(most))
	for i := range sets {
		for id := range 4 + r.IntN(61) {
			sets[i] = append(sets[i], int32(100*i+id))
		}
	}
	full := uint64(8 + r.IntN(569))
	wanted := make([][]fib.Hop, 65+r.IntN(136))
	for i := range wanted {
		prefix := prefixOf(i)
		l.prefixes = append(l.prefixes, prefix)
		for _, id := range sets[r.IntN(len(sets))] {
			share := full
			if r.IntN(4) == 0 {
				share -= r.Uint64N(full/2 + 1)
			}
			wanted[i] = append(wanted[i], fib.Hop{ID: id, Share: share})
		}
		l.steps = append(l.steps, operation{prefix: prefix, hops: wanted[i]})
	}
	for range r.IntN(60) {
		i := r.IntN(len(wanted))
		hops := slices.Clone(wanted[i])
		at := r.IntN(len(hops))
		if r.IntN(8) == 0 && len(hops) > 2 {
			hops = slices.Delete(hops, at, at+1)
		} else {
			hops[at].Share = full - r.Uint64N(full/2+1)
		}
		wanted[i] = hops
		l.steps = append(l.steps, operation{prefix: l.prefixes[i], hops: hops})
	}
	return l
}

// run plays a load and checks the limits at every step.
func (l load) run(t testing.TB, p fib.Profile, o fib.Options) fib.Audit {
	t.Helper()
	table, err := fib.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range l.steps {
		table.Mark(fmt.Sprintf("step %d", i))
		_ = table.Program(s.prefix, s.hops)
		if a := table.Audit(); a.GroupsPeak > a.GroupsLimit || a.MembersPeak > a.MembersLimit || a.Groups > a.GroupsSteadyLimit || a.Members > a.MembersSteadyLimit {
			t.Fatalf("load %d, step %d, %s: above a limit: %+v", l.seed, i, o.Overflow, a)
		}
	}
	return table.Audit()
}

func worstOf(a fib.Audit) float64 { return max(a.WorstOverload, a.WorstUnderuse) }

func TestEveryProfileStaysWithinItsLimitsUnderEveryPolicy(t *testing.T) {
	for i, p := range fib.Profiles() {
		for _, o := range fib.Overflows() {
			if o != fib.OverflowExceed {
				drawLoad(uint64(2000+i)).run(t, p, fib.Options{Overflow: o})
			}
		}
	}
}

func TestShareErrsLeastOfAllPolicies(t *testing.T) {
	t.Parallel()
	loads := 20
	if os.Getenv("BAGRIG_LONG") != "" {
		loads = 1000
	}
	p := mustLookup(t, "jericho3")
	least, alone := 0, 0
	for seed := range uint64(loads) {
		l := drawLoad(seed)
		errors := map[fib.Overflow]float64{}
		for _, o := range []fib.Overflow{fib.OverflowEqual, fib.OverflowMerge, fib.OverflowShare, fib.OverflowReject} {
			errors[o] = worstOf(l.run(t, p, fib.Options{Overflow: o}))
		}
		share := errors[fib.OverflowShare]
		if share > errors[fib.OverflowEqual] {
			t.Errorf("load %d: share errs by %v, equal by %v", seed, share, errors[fib.OverflowEqual])
		}
		others := min(errors[fib.OverflowEqual], errors[fib.OverflowMerge], errors[fib.OverflowReject])
		if share <= others {
			least++
		}
		if share < others {
			alone++
		}
	}
	t.Logf("share errs least in %d of %d loads, in %d of them less than any other", least, loads, alone)
	if least < loads*95/100 {
		t.Errorf("got %d of %d loads, want 95 %%", least, loads)
	}
}
