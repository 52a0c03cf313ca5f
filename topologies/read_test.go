package topologies

import (
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies/yamltree"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

var same = cmp.Options{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}

// Every file in testdata/bad is refused with exactly the errors of its golden.
func TestBadFilesAreRefusedWithPositionFieldAndValue(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v, want some", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Read(filepath.Base(file), data)
			if err == nil {
				t.Fatal("got no error")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s: got (-) want (+):\n%s", file, diff)
	}
}

// randomTopology is valid, and unlike a generated one: odd names, parallel
// bundles, mixed speeds, bandwidths, missing optional fields.
func randomTopology(seed int64) *Topology {
	r := rand.New(rand.NewSource(seed))
	top, err := Generate(randomShape(seed))
	if err != nil {
		panic(err)
	}
	most := maxMembers
	if wide, err := Generate(wideShape(seed)); err == nil && r.Intn(2) == 0 {
		top, most = wide, 50
	}
	odd := []string{"true", "NULL", "1", "0x1f", "-", ".", "1e3", "no", "a.b-c_d", "1.5", "-1", "2001-01-01"}
	names := map[string]string{}
	maybe := func(text string) string { return text[:r.Intn(2)*len(text)] }
	for i := range top.Devices {
		d := &top.Devices[i]
		names[d.Name] = d.Name
		if i < len(odd) {
			names[d.Name] = odd[i]
		}
		d.Name = names[d.Name]
		if r.Intn(4) == 0 {
			d.Region, d.Kind, d.Plane = "", "", 0
		}
		d.Hall, d.Power, d.Ports, d.LineCards = maybe("hall"), maybe("true"), r.Intn(2)*maxMembers, r.Intn(maxLineCards+1)
		d.Units = maxUnits
	}
	for i := range top.Bundles {
		b := &top.Bundles[i]
		b.A, b.B = names[b.A], names[b.B]
		b.Speed, b.Length, b.Members = speeds[r.Intn(len(speeds))], r.Intn(maxLength+1), 1+r.Intn(most)
		b.Route, b.Optic = maybe("r1-r2-a"), maybe("zr")
		if r.Intn(2) == 0 {
			_, number, parallel := strings.Cut(b.Name, "#")
			if b.Name = b.A + "--" + b.B; parallel {
				b.Name += "#" + number
			}
		}
		if r.Intn(3) == 0 {
			twin := *b
			twin.Name = b.Name + "#twin"
			top.Bundles = append(top.Bundles, twin)
		}
	}
	for i := range top.Prefixes {
		p := &top.Prefixes[i]
		for k, o := range p.Origins {
			p.Origins[k] = names[o]
		}
		if r.Intn(3) == 0 {
			p.Bandwidth, p.Class = minBandwidth+uint64(r.Int63n(1e18-minBandwidth)), ""
		}
	}
	if r.Intn(5) == 0 {
		top.Prefixes = nil
	}
	return top
}

func TestWhatIsWrittenReadsBackEqual(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("round trip", prop.ForAll(func(seed int64) string {
		top := randomTopology(seed)
		data, err := Write(top)
		if err != nil {
			return err.Error()
		}
		back, err := Read("t.yaml", data)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(back, top, same)
	}, gen.Int64()))
	properties.TestingRun(t)
}

func TestGeneratorFormBuildsWhatGenerateDoes(t *testing.T) {
	got, err := Read("t.yaml", []byte(`
name: small
generate:
  {regions: 2, planes: 2, fabrics: 2, spines: 1, spread: 0, kind: nsf, asn: per-group, speed: 400G,
   bundles: {spine-edge: {members: 2, length: 100m}, edge-bag: {members: 4, length: 2km}, bag-bag: {members: 8, length: 50km}},
   units: {edge: 2, bag: 3}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, generate(t, small()), same); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestGeneratorFormReadsEveryField(t *testing.T) {
	got, err := Read("t.yaml", []byte(`
name: wide
generate:
  regions: 3
  planes: 2
  fabrics:
    - {count: 2, kind: dsf, spines: 2, regions: [r1, r3], bundles: {edge-bag: {members: 9, length: 1500m, sessions: 3}}, units: {edge: 2}, asics: {edge: [a, b]}}
    - {kind: nsf, spines: 4, racks: 2, edges: all-spine-planes, speed: 400G, oversubscription: 1.5, asics: {rack: c}}
  speed: 800G
  addressing: dual
  asn: per-plane
  backbone: 2
  joins:
    - {planar: [r1, r2], members: 7, length: 10km, sessions: 2, speed: 1.6T, optic: LR}
    - {spread: 2, regions: [r2, r3]}
    - {hub: 3, lengths: {r3: 80km}}
  bundles:
    rack-spine: {members: 5, length: 100m}
    spine-edge: {members: 6, length: 300m}
    edge-bag: {length: 2km}
    spine-bag: {length: 1km}
    bag-bag: {members: 4, length: 20km}
    bag-hub: {members: 3, length: 6km, optic: LR}
    hub-backbone: {members: 2, length: 500km}
  units: {rack: 2, spine: 3, edge: 4, bag: 5, hub: 6, backbone: 7}
  ports: {rack: 64, spine: 128, edge: 144, bag: 288, hub: 512, backbone: 256}
  asics: {spine: [d, e], hub: f}
  aggregates:
    fabric: {min-supporting: {announce: 2, withdraw: 1}}
    region: {min-capacity: {announce: 2T, withdraw: 1T}, suppress: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := generate(t, Shape{
		Name: "wide", Regions: 3, Planes: 2, Speed: 800e9, Addressing: Dual, ASN: PerPlane, Backbones: 2,
		Groups: []FabricGroup{
			{Count: 2, Kind: "dsf", Spines: 2, Regions: []int{1, 3}, EdgeBag: Link{Members: 9, Length: 1500, Sessions: 3}, EdgeUnits: 2, EdgeASICs: []string{"a", "b"}},
			{Count: 1, Kind: "nsf", Spines: 4, Racks: 2, Edges: AllSpinePlanes, Speed: 400e9, Oversubscription: 1.5, RackASICs: []string{"c"}},
		},
		Joins: []Join{
			{Mode: Planar, Regions: []int{1, 2}, Link: Link{Members: 7, Length: 10_000, Sessions: 2, Speed: 1600e9, Optic: OpticLR}},
			{Mode: SpreadJoin, Width: 2, Regions: []int{2, 3}},
			{Mode: HubAndSpoke, Width: 3, Lengths: []int{0, 0, 80_000}},
		},
		RackSpine: Link{Members: 5, Length: 100}, SpineEdge: Link{Members: 6, Length: 300}, EdgeBag: Link{Length: 2000}, SpineBag: Link{Length: 1000},
		BagBag: Link{Members: 4, Length: 20_000}, BagHub: Link{Members: 3, Length: 6000, Optic: OpticLR}, HubBackbone: Link{Members: 2, Length: 500_000},
		RackUnits: 2, SpineUnits: 3, EdgeUnits: 4, BagUnits: 5, HubUnits: 6, BackboneUnits: 7,
		Ports: PerRole[int]{64, 128, 144, 288, 512, 256}, ASICs: PerRole[[]string]{Spine: []string{"d", "e"}, Hub: []string{"f"}},
		FabricAggregate: &Aggregate{By: BySupporting, Announce: 2, Withdraw: 1},
		RegionAggregate: &Aggregate{By: ByCapacity, Announce: 2e12, Withdraw: 1e12, Suppress: true},
	})
	if diff := cmp.Diff(got, want, same); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

// allocated is what reading a file allocates in bytes, and the bound that Read
// states.
func allocated(text []byte) (got, bound uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = Read("t.yaml", text) // what it says of the file does not matter here
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, 512<<20 + uint64(len(text))*2048
}

// A few bytes can ask for a large network, and no larger one than the limits;
// many bytes can be little more than tokens.
func TestReadAllocatesNoMoreThanItsBound(t *testing.T) {
	for name, text := range map[string]string{
		"a large description": `{name: large, generate: {regions: 1, planes: 1, fabrics: 15, spines: 256, racks: 256, kind: zone, speed: 800G,
 bundles: {rack-spine: {members: 1, length: 1m}, spine-bag: {members: 1, length: 1m}}, units: {bag: 9}}}`,
		"large joins": `{name: large, generate: {regions: 2, planes: 700, fabrics: 1, spines: 1, kind: dsf, speed: 10G, joins: [{spread: 700}, {spread: 700}],
 bundles: {spine-edge: {members: 1, length: 1m}, edge-bag: {members: 1, length: 1m}, bag-bag: {members: 1, length: 1m}}, units: {bag: 9}}}`,
		"a list in brackets": "devices: [" + strings.Repeat("1,", 400_000) + "1]",
		"a list in lines":    "devices:\n" + strings.Repeat("- 1\n", 100_000),
		"empty mappings":     "devices:\n" + strings.Repeat("- {}\n", 100_000),
	} {
		if got, bound := allocated([]byte(text)); got > bound {
			t.Errorf("%s: got %d MiB allocated, want at most %d", name, got>>20, bound>>20)
		}
	}
}

// BenchmarkPresets generates and validates; want petabit generated in less than
// 100 ms, and the time of both linear in bundles.
func BenchmarkPresets(b *testing.B) {
	for _, name := range []string{"prometheus", "hyperion", "ai-zone", "petabit"} {
		data, err := presetFiles.ReadFile("presets/" + name + ".yaml")
		if err != nil {
			b.Fatal(err)
		}
		top, err := Read(name, data)
		if err != nil {
			b.Fatal(err)
		}
		perBundle := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(top.Bundles)), "ns/bundle")
		}
		b.Run("generate/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(name, data); err != nil {
					b.Fatal(err)
				}
			}
			perBundle(b)
		})
		b.Run("validate/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Validate(top); err != nil {
					b.Fatal(err)
				}
			}
			perBundle(b)
		})
	}
}

func TestWriteRefusesWhatCouldNotBeReadBack(t *testing.T) {
	top := generate(t, small())
	top.Devices[0].Units = 0
	if _, err := Write(top); err == nil {
		t.Error("got no error for a topology that is not valid")
	}
	s := small()
	s.Regions, s.Planes, s.Fabrics, s.Spines = 10, 30, 16, 16
	if _, err := Write(generate(t, s)); err == nil || !strings.HasSuffix(err.Error(), "want at most 4194304") {
		t.Errorf("got %v, want the size refused", err)
	}
}

func TestReadNodeReadsInsideAnotherDocument(t *testing.T) {
	mini := preset(t, "prometheus-mini")
	inline, err := Write(mini)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{
		"preset": "topology: prometheus-mini",
		"inline": "topology:\n  " + strings.ReplaceAll(strings.TrimSpace(string(inline)), "\n", "\n  "),
	} {
		doc, err := yamltree.Parse("s.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ReadNode(doc.Root().Map("topology").Need("topology"))
		if diff := cmp.Diff(got, mini, same); diff != "" || doc.Err() != nil {
			t.Errorf("%s: error %v, got (-) want (+):\n%s", form, doc.Err(), diff)
		}
	}
}

func TestReadNodeNotesWhatIsWrong(t *testing.T) {
	tests := []struct{ text, want string }{
		{"topology: nope", `s.yaml:1:11: field "topology": value "nope": ` + wantPreset()},
		{"topology: [a]", `s.yaml:1:11: field "topology": want a mapping (key: value)`},
		{"topology: {name: x}", "" +
			`s.yaml:1:11: field "topology": missing field "devices"` + "\n" +
			`s.yaml:1:11: field "topology": missing field "bundles"`},
		{"topology:\n  name: x\n  devices: [{name: a, role: hub, asn: 1, asic: x}]\n  bundles: []", "" +
			`s.yaml:3:13: field "topology.devices[0]": device "a": has no bundle: want at least one`},
	}
	for _, tt := range tests {
		doc, err := yamltree.Parse("s.yaml", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := ReadNode(doc.Root().Map("topology").Need("topology")); got != nil {
			t.Errorf("%q: got a topology, want nil", tt.text)
		}
		if got := fmt.Sprint(doc.Err()); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestLengthsReadBack(t *testing.T) {
	for text, want := range map[string]int{
		"0m": 0, "300m": 300, "80km": 80_000, "0.3km": 300, "1.25km": 1250, "5000km": 5_000_000, "1500m": 1500,
		"": -1, "m": -1, "km": -1, "-1m": -1, "+1m": -1, "1.km": -1, ".5km": -1, "1.0005km": -1, "1.5m": -1, "1e3m": -1, "300": -1, "1 km": -1, "99999999999m": -1,
	} {
		got, ok := parseLength(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("parseLength(%q): got %d, %v, want %d", text, got, ok, want)
		}
		if back, backOK := parseLength(formatLength(got)); ok && (!backOK || back != got) {
			t.Errorf("%q: printed as %q, which reads as %d", text, formatLength(got), back)
		}
	}
}

// FuzzRead: no bytes make Read panic or allocate more than its bound, and what it accepts is valid and reads
// back equal from what Write prints.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{name: g, generate: {regions: 2, planes: 1, fabrics: 1, spines: 1, spread: 1, kind: dsf, asn: per-group, speed: 800G,
 bundles: {spine-edge: {members: 1, length: 1m}, edge-bag: {members: 2, length: 2km}, bag-bag: {members: 3, length: 0.5km}}, units: {bag: 2}}}`))
	f.Add([]byte(`{name: w, generate: {regions: 3, planes: 2, fabrics: [{count: 2, kind: dsf, spines: 2, regions: [r1, r3], units: {edge: 2}},
 {kind: nsf, spines: 4, racks: 2, edges: all-spine-planes, speed: 400G, oversubscription: 1.5, asics: {rack: [c, d]}}], speed: 800G, addressing: dual,
 asn: per-plane, backbone: 2, joins: [{planar: [r1, r2], members: 7, length: 10km, sessions: 2}, {spread: 2, regions: [r2, r3]}, {hub: 3, lengths: {r3: 80km}}],
 bundles: {rack-spine: {members: 5, length: 100m}, spine-edge: {members: 6, length: 300m}, edge-bag: {length: 2km}, spine-bag: {length: 1km, optic: LR},
 bag-bag: {members: 4, length: 20km}, bag-hub: {members: 3, length: 6km}, hub-backbone: {members: 2, length: 500km}}, ports: {bag: 288},
 aggregates: {fabric: {min-supporting: {announce: 2, withdraw: 1}}}}}`))
	f.Add([]byte(`name: e
devices:
  - {name: s, role: spine, region: r1, fabric: f, kind: dsf, asn: 1, asic: x}
  - {name: e, role: edge, plane: 1, asn: 2, asic: y, units: 2}
bundles:
  - {a: s, b: e, members: 1, speed: 1.6T, length: 300m}
  - {name: "s--e#2", a: s, b: e, members: 2, speed: 800G, length: 2km}
prefixes:
  - {prefix: 10.0.0.0/8, class: c, origins: [s, e], bandwidth: 5G}
  - {prefix: fd00:1::/48, origins: [s]}
  - {prefix: ::/0, origins: [e], aggregate: {min-supporting: {announce: 1, withdraw: 1}}}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, bound := allocated(data); got > bound {
			t.Fatalf("got %d bytes allocated, want at most %d", got, bound)
		}
		top, err := Read("f.yaml", data)
		if err != nil {
			var errs *yamltree.Errs
			if top != nil || !errors.As(err, &errs) {
				t.Fatalf("got topology %v and %T %v, want no topology and an *Errs", top != nil, err, err)
			}
			return
		}
		if len(top.Bundles) > 5000 {
			return // a generator's few bytes can ask for minutes of work
		}
		if err := Validate(top); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		written, err := Write(top)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Read("f.yaml", written)
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, written)
		}
		if diff := cmp.Diff(back, top, same); diff != "" {
			t.Fatalf("got (-) want (+):\n%s", diff)
		}
	})
}
