package topologies

import (
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestValidateNamesWhatIsWrong(t *testing.T) {
	v4 := netip.MustParsePrefix
	tests := []struct {
		name   string
		change func(*Topology)
		want   string // one error, after the topology's name
	}{
		{"topology name", func(t *Topology) { t.Name = "a b" }, `name "a b": want letters, digits, '-', '_' or '.'`},
		{"no devices", func(t *Topology) { *t = Topology{Name: "small"} }, `devices 0: want 1 to 65000 devices`},
		{"device name", func(t *Topology) {
			t.Devices = append(t.Devices, Device{Name: "a#1", Role: Edge, ASN: 1, ASIC: "x", Units: 1})
		},
			`device "a#1": name "a#1": want letters, digits, '-', '_' or '.'` + "\n" + `device "a#1": has no bundle: want at least one`},
		{"duplicate device", func(t *Topology) { t.Devices = append(t.Devices, t.Devices[0]) },
			`device "r1-bag1": name "r1-bag1": duplicate name: want a name of its own`},
		{"role", func(t *Topology) { t.Devices[0].Role = 9 }, `device "r1-bag1": role Role(9): ` + wantRole},
		{"region", func(t *Topology) { t.Devices[0].Region = "r 1" }, `device "r1-bag1": region "r 1": ` + wantName},
		{"fabric", func(t *Topology) { t.Devices[2].Fabric = "ü" }, `device "r1-f1-e1": fabric "ü": ` + wantName},
		{"kind", func(t *Topology) { t.Devices[2].Kind = "x" }, `device "r1-f1-e1": kind "x": ` + wantKind},
		{"plane", func(t *Topology) { t.Devices[0].Plane = -1 }, `device "r1-bag1": plane -1: want 0 to 65000`},
		{"no ASN", func(t *Topology) { t.Devices[0].ASN = 0 }, `device "r1-bag1": asn 0: reserved (RFC 7607): want a usable ASN`},
		{"AS_TRANS", func(t *Topology) { t.Devices[0].ASN = 23456 }, `device "r1-bag1": asn 23456: reserved as AS_TRANS (RFC 6793): want a usable ASN`},
		{"last ASN", func(t *Topology) { t.Devices[0].ASN = 4294967295 }, `device "r1-bag1": asn 4294967295: reserved (RFC 7300): want a usable ASN`},
		{"no ASIC", func(t *Topology) { t.Devices[0].ASIC = "" }, `device "r1-bag1": asic "": want the name of a FIB profile, such as jericho3`},
		{"no units", func(t *Topology) { t.Devices[0].Units = 0 }, `device "r1-bag1": units 0: want 1 to 10000`},
		{"no bundle", func(t *Topology) {
			t.Devices = append(t.Devices, Device{Name: "x", Role: Hub, ASN: 1, ASIC: "x", Units: 1})
		},
			`device "x": has no bundle: want at least one`},
		{"bundle name", func(t *Topology) { t.Bundles[0].Name = "a b" }, `bundle "a b": name "a b": ` + wantHash},
		{"duplicate bundle", func(t *Topology) { t.Bundles = append(t.Bundles, t.Bundles[0]) },
			`bundle "r1-f1-s1--r1-f1-e1": name "r1-f1-s1--r1-f1-e1": duplicate name: want a name of its own, such as a--b#2`},
		{"no members", func(t *Topology) { t.Bundles[0].Members = 0 }, `bundle "r1-f1-s1--r1-f1-e1": members 0: want 1 to 4096`},
		{"too many members", func(t *Topology) { t.Bundles[0].Members = 4097 }, `bundle "r1-f1-s1--r1-f1-e1": members 4097: want 1 to 4096`},
		{"no speed", func(t *Topology) { t.Bundles[0].Speed = 0 }, `bundle "r1-f1-s1--r1-f1-e1": speed 0: ` + wantSpeed},
		{"unreachable speed", func(t *Topology) { t.Bundles[0].Speed = 1e12 }, `bundle "r1-f1-s1--r1-f1-e1": speed 1T: ` + wantSpeed},
		{"length", func(t *Topology) { t.Bundles[0].Length = 5_000_001 }, `bundle "r1-f1-s1--r1-f1-e1": length 5000001m: ` + wantLength},
		{"bundle to nowhere", func(t *Topology) { t.Bundles[0].B = "x" }, `bundle "r1-f1-s1--r1-f1-e1": b "x": no such device: want the name of a device`},
		{"bundle to itself", func(t *Topology) { t.Bundles[0].B = t.Bundles[0].A }, `bundle "r1-f1-s1--r1-f1-e1": b "r1-f1-s1": a bundle to itself: want another device than a`},
		{"upside down", func(t *Topology) { b := &t.Bundles[0]; b.A, b.B = b.B, b.A },
			`bundle "r1-f1-s1--r1-f1-e1": a "r1-f1-e1": this edge is above the spine "r1-f1-s1": want the lower tier as a`},
		{"one ASN at both ends", func(t *Topology) { t.Devices[2].ASN = t.Devices[0].ASN },
			`bundle "r1-f1-e1--r1-bag1": both ends have ASN 4200001000: want two, a bundle carries an eBGP session`},
		{"no prefix", func(t *Topology) { t.Prefixes[0].Prefix = netip.Prefix{} }, `prefix "invalid Prefix": prefix "invalid Prefix": want a prefix such as 10.1.0.0/24 or fd00:1::/48`},
		{"unmasked", func(t *Topology) { t.Prefixes[0].Prefix = v4("10.9.0.1/24") }, `prefix "10.9.0.1/24": prefix "10.9.0.1/24": has bits beyond its length: want 10.9.0.0/24`},
		{"in the fences", func(t *Topology) { t.Prefixes[0].Prefix = v4("192.0.2.128/25") },
			`prefix "192.0.2.128/25": prefix "192.0.2.128/25": overlaps 192.0.2.0/24, which the rig keeps for its fences: want another`},
		{"around the fences", func(t *Topology) { t.Prefixes[0].Prefix = v4("192.0.0.0/16") },
			`prefix "192.0.0.0/16": prefix "192.0.0.0/16": overlaps 192.0.2.0/24, which the rig keeps for its fences: want another`},
		{"duplicate prefix", func(t *Topology) { t.Prefixes[1].Prefix = t.Prefixes[0].Prefix },
			`prefix "10.1.0.0/24": prefix "10.1.0.0/24": duplicate prefix: want each prefix once, with all its origins`},
		{"class", func(t *Topology) { t.Prefixes[0].Class = "a b" }, `prefix "10.1.0.0/24": class "a b": ` + wantName},
		{"bandwidth", func(t *Topology) { t.Prefixes[0].Bandwidth = 1001e15 }, `prefix "10.1.0.0/24": bandwidth 1001P: want 1G to 1000P`},
		{"bandwidth of next to nothing", func(t *Topology) { t.Prefixes[0].Bandwidth = 1e9 - 1 }, `prefix "10.1.0.0/24": bandwidth 999999.999K: want 1G to 1000P`},
		{"bandwidth of 1 bit/s", func(t *Topology) { t.Prefixes[0].Bandwidth = 1 }, `prefix "10.1.0.0/24": bandwidth 1: want 1G to 1000P`},
		{"no origin", func(t *Topology) { t.Prefixes[0].Origins = nil }, `prefix "10.1.0.0/24": origins 0: want at least one device`},
		{"unknown origin", func(t *Topology) { t.Prefixes[0].Origins = []string{"x"} }, `prefix "10.1.0.0/24": origins[0] "x": no such device: want the name of a device`},
		{"repeated origin", func(t *Topology) { t.Prefixes[0].Origins = []string{"r1-f1-s1", "r1-f1-s1"} },
			`prefix "10.1.0.0/24": origins[1] "r1-f1-s1": repeated: want each origin once`},
		{"originators with one ASN", func(t *Topology) { t.Devices[7].ASN = t.Devices[4].ASN },
			`device "r1-f2-s1": asn 4200001101: "r1-f1-s1" has it too and originates other prefixes, so each drops the other's routes: want an ASN of its own`},
		{"regions apart", func(t *Topology) { t.Bundles = t.Bundles[:len(t.Bundles)-2] },
			`fabric "r1-f1" (device "r1-f1-s1") cannot hear of fabric "r2-f1" (device "r2-f1-s1"): what a device learned from above or from its own tier goes only down; want a path that climbs, crosses at most once and descends (and 3 more such pairs)`},
		{"too much capacity in a device", func(t *Topology) {
			for i := range 77 {
				t.Bundles = append(t.Bundles, Bundle{Name: fmt.Sprintf("x#%d", i), A: "r1-bag1", B: "r2-bag1", Members: 4096, Speed: 3200e9})
			}
		}, `device "r1-bag1": its bundles add up to 1009260.8T bits/s: want at most 1000P` + "\n" + `device "r2-bag1": its bundles add up to 1009260.8T bits/s: want at most 1000P`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := generate(t, small())
			tt.change(top)
			err := Validate(top)
			if err == nil {
				t.Fatalf("got no error, want %s", tt.want)
			}
			got := strings.ReplaceAll(err.Error(), fmt.Sprintf("topology %q: ", top.Name), "")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValidateGivesAllThatIsWrong(t *testing.T) {
	top := generate(t, small())
	top.Devices[0].Units, top.Bundles[0].Members, top.Prefixes[0].Origins = 0, 0, nil
	var joined interface{ Unwrap() []error }
	if err := Validate(top); !errors.As(err, &joined) || len(joined.Unwrap()) != 3 {
		t.Errorf("got %v, want three errors", err)
	}
}

// hears tells by a search over (device, may still climb) which devices hear of
// an origin: the slow and obvious twin of the bitsets.
func hears(top *Topology, x *Index, origin int) map[int]bool {
	type state struct {
		device int
		below  bool // learned from below, so it goes everywhere
	}
	seen := map[state]bool{{origin, true}: true}
	heard := map[int]bool{origin: true}
	for queue := []state{{origin, true}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, b := range x.Of[at.device] {
			to := x.Ends[b][0] + x.Ends[b][1] - at.device
			climbs := top.Devices[to].Role - top.Devices[at.device].Role
			down := top.Devices[to].Role < top.Devices[at.device].Role
			if !at.below && !down {
				continue
			}
			next := state{to, !down && climbs > 0}
			if !seen[next] {
				seen[next], heard[to] = true, true
				queue = append(queue, next)
			}
		}
	}
	return heard
}

// randomGraph has devices of all roles joined at random, a few originators and
// nothing that Validate refuses but, perhaps, that some of them are apart.
func randomGraph(seed int64) *Topology {
	r := rand.New(rand.NewSource(seed))
	top := &Topology{Name: "graph"}
	n := 3 + r.Intn(12)
	for i := range n {
		top.Devices = append(top.Devices, Device{Name: fmt.Sprint("d", i), Role: Rack + Role(r.Intn(6)), ASN: uint32(1 + i), ASIC: "x", Units: 1})
	}
	join := func(i, k int) {
		if top.Devices[i].Role > top.Devices[k].Role {
			i, k = k, i
		}
		name := fmt.Sprintf("d%d--d%d#%d", i, k, len(top.Bundles))
		top.Bundles = append(top.Bundles, Bundle{Name: name, A: fmt.Sprint("d", i), B: fmt.Sprint("d", k), Members: 1, Speed: 10e9})
	}
	for i := range n {
		for range 1 + r.Intn(2) {
			if k := r.Intn(n); k != i {
				join(i, k)
			} else {
				join(i, (i+1)%n)
			}
		}
		if r.Intn(3) == 0 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)
			top.Prefixes = append(top.Prefixes, Prefix{Prefix: p, Origins: []string{fmt.Sprint("d", i)}})
		}
	}
	return top
}

func TestDevicesAreApartWhereASearchSaysSo(t *testing.T) {
	apart, together := 0, 0
	parameters := gopter.DefaultTestParameters()
	parameters.MinSuccessfulTests = 1000
	properties := gopter.NewProperties(parameters)
	properties.Property("the bitsets agree with the search", prop.ForAll(func(seed int64) string {
		top := randomGraph(seed)
		x := top.Index()
		pairs := 0
		for i, p := range top.Prefixes {
			heard := hears(top, x, x.Device[p.Origins[0]])
			for _, q := range top.Prefixes[:i] {
				if !heard[x.Device[q.Origins[0]]] {
					pairs++
				}
			}
		}
		want := ""
		switch {
		case pairs == 0:
			together++
		case pairs == 1:
			want = "descends"
		default:
			want = fmt.Sprintf("(and %d more such pairs)", pairs-1)
		}
		if pairs > 0 {
			apart++
		}
		err := Validate(top)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			return fmt.Sprintf("got %v, want ...%s", err, want)
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
	if apart == 0 || together == 0 {
		t.Errorf("got %d graphs apart and %d together, want both", apart, together)
	}
}

// More originators than one chunk of bits holds.
func TestHearingIsFollowedForEveryOriginator(t *testing.T) {
	s := small()
	s.Regions, s.Fabrics, s.Spines = 3, 16, 16
	top := generate(t, s)
	if err := Validate(top); err != nil {
		t.Fatal(err)
	}
	kept := top.Bundles[:0]
	for _, b := range top.Bundles {
		if b.A != "r3-f16-s16" || b.B != "r3-f16-e2" {
			kept = append(kept, b)
		}
	}
	top.Bundles = kept
	for i := range top.Bundles {
		if top.Bundles[i].A == "r3-f16-s16" {
			top.Bundles[i].A, top.Bundles[i].B = "r3-f16-s16", "r3-f16-s15"
		}
	}
	err := Validate(top)
	if err == nil || !strings.Contains(err.Error(), `cannot hear of fabric "r3-f16" (device "r3-f16-s16")`) || !strings.Contains(err.Error(), "(and 765 more such pairs)") {
		t.Errorf("got %v, want the last spine apart from 766 others", err)
	}
}
