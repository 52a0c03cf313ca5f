package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/state"
)

// The numbers of this file were worked out by hand for the default damping.

func TestMiniHasTheValuesWorkedOutByHand(t *testing.T) {
	const step = 800_000_000_000 // bits/s of one member
	top := preset(t, "prometheus-mini")
	s := settled(t, oracle.New(top, grid(t, top)), healthy(top))
	x := top.Index()
	for _, tc := range []struct {
		prefix, device string
		local          bool
		set            []string // neighbours
		share          uint64   // members, of each neighbour in the set
		value, told    uint64   // members
		down           bool
	}{
		{"10.1.0.0/24", "r1-f1-s1", true, nil, 0, 128, 136, false},
		{"10.1.0.0/24", "r1-f1-e1", false, []string{"r1-f1-s1"}, 32, 32, 33, false},
		{"10.1.0.0/24", "r1-f1-s2", false, []string{"r1-f1-e1", "r1-f1-e2", "r1-f1-e3", "r1-f1-e4"}, 32, 128, 136, true},
		{"10.1.0.0/24", "r1-bag1", false, []string{"r1-f1-e1"}, 32, 32, 33, false},
		{"10.1.0.0/24", "r1-f2-e1", false, []string{"r1-bag1"}, 32, 32, 33, true},
		{"10.1.0.0/24", "r2-bag1", false, []string{"r1-bag1"}, 32, 32, 33, true},
		{"10.1.0.0/24", "r2-f1-e1", false, []string{"r2-bag1"}, 32, 32, 33, true},
		{"10.1.0.0/24", "r2-f1-s1", false, []string{"r2-f1-e1", "r2-f1-e2", "r2-f1-e3", "r2-f1-e4"}, 32, 128, 136, true},

		{"10.1.0.0/20", "r1-f1-s2", true, nil, 0, 128, 136, false},
		{"10.1.0.0/20", "r1-f1-e1", false, []string{"r1-f1-s1", "r1-f1-s2"}, 32, 64, 66, false},
		{"10.1.0.0/20", "r1-bag1", false, []string{"r1-f1-e1"}, 32, 32, 33, false},
		{"10.1.0.0/20", "r2-bag1", false, []string{"r1-bag1"}, 32, 32, 33, true},
		{"10.1.0.0/20", "r2-f1-e1", false, []string{"r2-bag1"}, 32, 32, 33, true},

		{"10.1.0.0/16", "r1-f3-s1", true, nil, 0, 128, 136, false},
		{"10.1.0.0/16", "r1-f3-e1", false, []string{"r1-f3-s1", "r1-f3-s2"}, 32, 64, 66, false},
		{"10.1.0.0/16", "r1-bag1", false, []string{"r1-f1-e1", "r1-f2-e1", "r1-f3-e1", "r1-f4-e1"}, 32, 128, 136, false},
		{"10.1.0.0/16", "r2-bag1", false, []string{"r1-bag1"}, 32, 32, 33, true},
		{"10.1.0.0/16", "r2-f4-e1", false, []string{"r2-bag1"}, 32, 32, 33, true},
	} {
		t.Run(tc.prefix+" "+tc.device, func(t *testing.T) {
			d := x.Device[tc.device]
			p := 0
			for top.Prefixes[p].Prefix.String() != tc.prefix {
				p++
			}
			r := s.Route(d, p)
			var set []string
			for _, m := range r.Set {
				ends := x.Ends[m.Bundle]
				set = append(set, top.Devices[ends[0]+ends[1]-d].Name)
				if m.Share != tc.share*step {
					t.Errorf("share over %q: got %d bits/s, want %d members", top.Bundles[m.Bundle].Name, m.Share, tc.share)
				}
			}
			if diff := cmp.Diff(set, tc.set); diff != "" {
				t.Errorf("set (-got +want):\n%s", diff)
			}
			// A value that came over a wire is less by what float32 cannot hold;
			// none does here, because every told value exceeds its bundle.
			if r.Bottleneck != tc.value*step {
				t.Errorf("bottleneck: got %d bits/s, want %d members", r.Bottleneck, tc.value)
			}
			want := state.Told{Present: true, Valued: true, Value: float32(tc.told * step / 8)}
			if !r.Told.SameValue(want) || r.Told.Down != tc.down || r.Local != tc.local {
				t.Errorf("told: got %+v, local %t, want %d members, down %t, local %t", r.Told, r.Local, tc.told, tc.down, tc.local)
			}
		})
	}
}

func TestPathToldIsThatOfTheLowestRouterID(t *testing.T) {
	top := preset(t, "prometheus-mini")
	s := settled(t, oracle.New(top, nil), healthy(top))
	x := top.Index()
	asn := func(device string) uint32 { return top.Devices[x.Device[device]].ASN }
	region := 0 // the /16 of region 1
	for top.Prefixes[region].Prefix.String() != "10.1.0.0/16" {
		region++
	}
	got := s.Route(x.Device["r2-f1-s1"], region).Told.Path
	want := []uint32{asn("r2-f1-e1"), asn("r2-bag1"), asn("r1-bag1"), asn("r1-f1-e1"), asn("r1-f1-s1")}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestAdjRIBInEntriesOfThePresets(t *testing.T) {
	for name, want := range map[string]int{"prometheus-mini": 2_688, "spread-mini": 3_000, "prometheus": 215_616} {
		t.Run(name, func(t *testing.T) {
			top := preset(t, name)
			s := settled(t, oracle.New(top, grid(t, top)), healthy(top))
			got := 0
			for d := range top.Devices {
				for p := range top.Prefixes {
					got += len(s.Receives(d, p))
				}
			}
			if got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

// TestOneEventChangesWhatSessionsAreTold counts directed sessions times
// prefixes that are told another value, or not told any more, when one bundle
// degrades; sessions that fall are not counted.
//
// A bag-bag bundle of mini that is down takes 13 prefixes from each of its two
// bags, and with them from the bag's 4 edges and those edges' 8 spines, which
// hear them from nobody else in that plane: 2 x 13 x (4 + 8) = 312 withdrawals.
func TestOneEventChangesWhatSessionsAreTold(t *testing.T) {
	const spineEdge, edgeBag, bagBag = "r1-f1-s1--r1-f1-e1", "r1-f1-e1--r1-bag1", "r1-bag1--r2-bag1"
	for _, tc := range []struct {
		preset, bundle string
		members        int
		want           int
	}{
		{"prometheus-mini", spineEdge, 31, 0},
		{"prometheus-mini", edgeBag, 31, 0},
		{"prometheus-mini", bagBag, 31, 0},
		{"prometheus-mini", spineEdge, 24, 28},
		{"prometheus-mini", edgeBag, 24, 114},
		{"prometheus-mini", bagBag, 24, 312},
		{"prometheus-mini", bagBag, 0, 312},
		{"spread-mini", spineEdge, 31, 0},
		{"spread-mini", edgeBag, 31, 0},
		{"spread-mini", bagBag, 31, 0},
		{"spread-mini", spineEdge, 24, 35},
		{"spread-mini", edgeBag, 24, 138},
		{"spread-mini", bagBag, 24, 104},
		{"prometheus", spineEdge, 143, 0},
		{"prometheus", edgeBag, 575, 0},
		{"prometheus", bagBag, 2499, 0},
		{"prometheus", spineEdge, 108, 328},
		{"prometheus", edgeBag, 432, 294},
		{"prometheus", bagBag, 1875, 16},
	} {
		t.Run(tc.preset+" "+tc.bundle, func(t *testing.T) {
			top := preset(t, tc.preset)
			o := oracle.New(top, grid(t, top))
			before, after := settled(t, o, healthy(top)), settled(t, o, degraded(t, top, tc.bundle, tc.members))
			got := 0
			for _, c := range oracle.DiffSessions(before, after) {
				if c.Told && !c.Cut {
					got++
				}
			}
			if got != tc.want {
				t.Errorf("%d members: got %d, want %d", tc.members, got, tc.want)
			}
		})
	}
}

// BenchmarkState is one damped state, the check that runs after every event.
func BenchmarkState(b *testing.B) {
	for _, name := range []string{"prometheus-mini", "spread-mini", "prometheus"} {
		b.Run(name, func(b *testing.B) {
			top := preset(b, name)
			o := oracle.New(top, grid(b, top))
			bundles := healthy(top)
			b.ReportAllocs()
			for b.Loop() {
				settled(b, o, bundles)
			}
		})
	}
}

// BenchmarkDiffSessions compares two states that differ by one bag-bag bundle.
func BenchmarkDiffSessions(b *testing.B) {
	for _, name := range []string{"prometheus-mini", "prometheus"} {
		b.Run(name, func(b *testing.B) {
			top := preset(b, name)
			o := oracle.New(top, grid(b, top))
			before, after := settled(b, o, healthy(top)), settled(b, o, degraded(b, top, "r1-bag1--r2-bag1", 0))
			for b.Loop() {
				oracle.DiffSessions(before, after)
			}
		})
	}
}
