package sim

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// The benchmarks print what a first convergence costs. Run them with
// -benchtime 1x. User CPU time is the one figure of theirs that another load on
// the machine hardly changes; it has the garbage collector's other threads in it.

// planar is a planar network of regions that all have as many planes, fabrics
// and spines, and of its prefixes only so many, evenly spread.
func planar(tb testing.TB, regions, planes, fabrics, spines, prefixes int) *topologies.Topology {
	tb.Helper()
	t, err := topologies.Generate(topologies.Shape{
		Name: fmt.Sprintf("planar-%d-%d-%d-%d", regions, planes, fabrics, spines), Regions: regions, Planes: planes, Fabrics: fabrics, Spines: spines,
		Kind: "dsf", Speed: 800e9, SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
		SpineEdge: topologies.Link{Members: 2, Length: 300}, EdgeBag: topologies.Link{Members: 16, Length: 3000}, BagBag: topologies.Link{Members: 32, Length: 80_000},
	})
	if err != nil {
		tb.Fatal(err)
	}
	all := t.Prefixes
	if len(all) < prefixes {
		tb.Fatalf("%d prefixes: want %d or more to choose from", len(all), prefixes)
	}
	t.Prefixes = nil
	for i := range prefixes {
		t.Prefixes = append(t.Prefixes, all[i*len(all)/prefixes])
	}
	return t
}

// petabit has the devices and bundles of a petabit network: two regions of five
// buildings with 46 spines and 100 planes each, bundles of 1, 46 and 200 members.
// Edges announce their fabric's prefix and bags their region's. Where hide is set
// the more-specifics stay behind them, else all devices hear all.
func petabit(hide bool) *topologies.Topology {
	const planes, buildings, spines = 100, 5, 46
	name := fmt.Sprintf
	t := &topologies.Topology{Name: "petabit"}
	bundle := func(a, b string, members, metres int) {
		t.Bundles = append(t.Bundles, topologies.Bundle{Name: a + "--" + b, A: a, B: b, Members: members, Speed: 800e9, Length: metres})
	}
	block := func(r, f, s, bits int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(10 + r), byte(f), byte(s), 0}), bits).Masked()
	}
	aggregate := func(over int) *topologies.Aggregate {
		return &topologies.Aggregate{By: topologies.BySupporting, Announce: uint64(over), Withdraw: uint64(max(over/2, 1)), Suppress: hide}
	}
	for r := 1; r <= 2; r++ {
		d := topologies.Device{Role: topologies.Bag, Region: name("r%d", r), ASIC: "jericho3", Units: 1, ASN: 4_200_000_000 + uint32(r*100_000)}
		var bags []string
		for p := 1; p <= planes; p++ {
			d.Name, d.Plane = name("r%d-bag%d", r, p), p
			bags = append(bags, d.Name)
			t.Devices = append(t.Devices, d)
		}
		for f := 1; f <= buildings; f++ {
			d := topologies.Device{Region: d.Region, Fabric: name("r%d-f%d", r, f), Kind: "dsf", Units: 1}
			var edges []string
			for p := 1; p <= planes; p++ {
				d.Name, d.Role, d.Plane, d.ASIC, d.ASN = name("r%d-f%d-e%d", r, f, p), topologies.Edge, p, "jericho3", 4_200_000_000+uint32(r*100_000+f)
				edges = append(edges, d.Name)
				t.Devices = append(t.Devices, d)
				bundle(d.Name, name("r%d-bag%d", r, p), 46, 3000)
			}
			for s := 1; s <= spines; s++ {
				d.Name, d.Role, d.Plane, d.ASIC, d.ASN = name("r%d-f%d-s%d", r, f, s), topologies.Spine, 0, "tomahawk5", 4_200_000_000+uint32(r*100_000+f*300+s)
				t.Devices = append(t.Devices, d)
				t.Prefixes = append(t.Prefixes, topologies.Prefix{Prefix: block(r, f, s-1, 24), Class: "spine", Origins: []string{d.Name}})
				for p := 1; p <= planes; p++ {
					bundle(d.Name, name("r%d-f%d-e%d", r, f, p), 1, 300)
				}
			}
			t.Prefixes = append(t.Prefixes, topologies.Prefix{Prefix: block(r, f, 0, 16), Class: "fabric", Origins: edges, Aggregate: aggregate(spines / 2)})
		}
		t.Prefixes = append(t.Prefixes, topologies.Prefix{Prefix: block(r, 0, 0, 8), Class: "region", Origins: bags, Aggregate: aggregate(2)})
	}
	for p := 1; p <= planes; p++ {
		bundle(name("r%d-bag%d", 1, p), name("r%d-bag%d", 2, p), 200, 80_000)
	}
	return t
}

// userTime is what all threads of the process spent in it.
func userTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}

// cost is what a first convergence took.
type cost struct {
	wall, user time.Duration
	build      time.Duration // user time of making the engine, in user too
	messages   int
	entries    int
	resident   uint64 // bytes of heap that live on
	peak       uint64 // bytes of memory that the runtime has got
}

// converge makes an engine and lets its network get quiet for the first time.
func converge(tb testing.TB, t *topologies.Topology) (*Engine, cost) {
	tb.Helper()
	pipeline, err := damping.Preset(damping.PresetBagDefault, t.SmallestSpeed())
	if err != nil {
		tb.Fatal(err)
	}
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started, user := time.Now(), userTime()
	e, err := New(Options{Topology: t, Damping: pipeline})
	if err != nil {
		tb.Fatal(err)
	}
	c := cost{build: userTime() - user}
	ctx := context.Background()
	if err := e.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	if err := e.Originate(); err != nil {
		tb.Fatal(err)
	}
	for {
		if err := e.Quiet(ctx); err != nil {
			tb.Fatal(err)
		}
		next := e.Next()
		if next == damping.Never {
			break
		}
		e.Advance(next)
	}
	c.wall, c.user = time.Since(started), userTime()-user
	runtime.ReadMemStats(&after)
	c.peak = after.Sys - after.HeapReleased
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.resident = after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	n := e.Counters()
	c.messages, c.entries = n.NLRI(), n.Announced-n.Withdrawn
	return e, c
}

func (c cost) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(c.wall.Seconds(), "s-wall")
	b.ReportMetric(c.user.Seconds(), "s-user")
	b.ReportMetric(c.build.Seconds(), "s-user-build")
	b.ReportMetric(float64(c.messages), "messages")
	b.ReportMetric(float64(c.messages)/c.user.Seconds(), "messages/s-user")
	b.ReportMetric(float64(c.resident)/float64(c.entries), "B/route")
	b.ReportMetric(float64(c.resident)/(1<<20), "MiB-live")
	b.ReportMetric(float64(c.peak)/(1<<20), "MiB-peak")
}

// BenchmarkConverge wants 10 s and 4 GiB at the most for each network, and a
// million messages in a second of one core.
func BenchmarkConverge(b *testing.B) {
	for _, n := range []struct {
		name string
		make func() *topologies.Topology
	}{
		{"planar-10040", func() *topologies.Topology { return planar(b, 10, 44, 16, 16, 64) }},
		{"petabit", func() *topologies.Topology { return petabit(true) }},
		{"petabit-all-heard", func() *topologies.Topology { return petabit(false) }},
		{"planar-1004", func() *topologies.Topology { return planar(b, 1, 44, 16, 16, 64) }},
	} {
		b.Run(n.name, func(b *testing.B) {
			t := n.make()
			for b.Loop() {
				e, c := converge(b, t)
				c.report(b)
				runtime.KeepAlive(e)
			}
		})
	}
}

// BenchmarkClone copies converged presets, and the same with every
// device copied because something happens to it.
func BenchmarkClone(b *testing.B) {
	for _, preset := range []string{"prometheus-mini", "prometheus"} {
		t, err := topologies.Preset(preset)
		if err != nil {
			b.Fatal(err)
		}
		e, _ := converge(b, t)
		b.Run(preset, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Clone(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(preset+"/all devices changed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := e.Clone()
				if err != nil {
					b.Fatal(err)
				}
				for d := range c.devices {
					c.own(d)
				}
			}
		})
	}
}

// BenchmarkCaseOfTheEngine plays 20 events on a clone of prometheus-mini and takes
// a snapshot at every quiet, without a judge.
func BenchmarkCaseOfTheEngine(b *testing.B) {
	t, err := topologies.Preset("prometheus-mini")
	if err != nil {
		b.Fatal(err)
	}
	base, _ := converge(b, t)
	user := userTime()
	n := 0
	for b.Loop() {
		n++
		e, err := base.Clone()
		if err != nil {
			b.Fatal(err)
		}
		for i := range 20 {
			at := (i/2*2 + 1) * len(t.Bundles) / 20
			members := t.Bundles[at].Members
			if i%2 == 0 {
				members = members * 3 / 4
			}
			if err := e.Apply(context.Background(), []state.Change{{Kind: state.SetMembers, Bundle: int32(at), Members: members}}); err != nil {
				b.Fatal(err)
			}
			for next := e.Now(); next != damping.Never; next = e.Next() {
				e.Advance(next)
				if err := e.Quiet(context.Background()); err != nil {
					b.Fatal(err)
				}
				e.Snapshot()
			}
		}
	}
	b.ReportMetric(float64((userTime()-user).Microseconds())/float64(n), "us-user/case")
}
