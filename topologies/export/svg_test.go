package export

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies"
)

// seen is what a picture shows.
type seen struct {
	devices, bundles int // that its squares and lines stand for
	titles           []string
	elements         map[string]int
}

func look(t *testing.T, svg []byte) seen {
	t.Helper()
	s := seen{elements: map[string]int{}}
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := dec.Token()
		if err == io.EOF {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		s.elements[start.Name.Local]++
		for _, a := range start.Attr {
			n, _ := strconv.Atoi(a.Value)
			switch a.Name.Local {
			case "data-devices":
				s.devices += n
			case "data-bundles":
				s.bundles += n
			}
		}
		if start.Name.Local == "title" {
			var text string
			if err := dec.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			s.titles = append(s.titles, text)
		}
	}
}

// bigger has more of everything than a preset: a full mesh that is drawn as a
// band, several colours for one plane, fabrics of two kinds in a region.
func bigger(t *testing.T) *topologies.Topology {
	t.Helper()
	top, err := topologies.Generate(topologies.Shape{
		Name: "bigger", Regions: 3, Planes: 12, Fabrics: 5, Spines: 16, Spread: 3, Kind: "dsf", Speed: 800e9,
		SpineEdge: topologies.Link{Members: 1, Length: 300}, EdgeBag: topologies.Link{Members: 46, Length: 3000},
		BagBag: topologies.Link{Members: 200, Length: 80_000}, SpineUnits: 1, EdgeUnits: 1, BagUnits: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range top.Devices {
		if top.Devices[i].Fabric == "r2-f3" {
			top.Devices[i].Kind = "nsf"
		}
	}
	return top
}

func TestAPictureStandsForEveryDeviceAndBundle(t *testing.T) {
	list := examples(t)
	list["bigger"] = bigger(t)
	for name, top := range list {
		s := look(t, mustWrite(t, SVG, top))
		if s.devices != len(top.Devices) || s.bundles != len(top.Bundles) {
			t.Errorf("%s: got %d devices and %d bundles, want %d and %d", name, s.devices, s.bundles, len(top.Devices), len(top.Bundles))
		}
		if s.elements["script"] > 0 || s.elements["image"] > 0 {
			t.Errorf("%s: got %v, want drawing only", name, s.elements)
		}
	}
}

func TestFabricsThatDifferAreDrawnApart(t *testing.T) {
	// A fabric of a kind of its own, a weaker bundle and a longer one each
	// take their fabric out of the stack.
	for what, change := range map[string]func(*topologies.Topology){
		"kind":    func(top *topologies.Topology) { top.Devices[4].Kind = "nsf" },
		"members": func(top *topologies.Topology) { top.Bundles[0].Members-- },
		"length":  func(top *topologies.Topology) { top.Bundles[0].Length++ },
	} {
		top := examples(t)["prometheus-mini"]
		before := look(t, mustWrite(t, SVG, top))
		change(top)
		after := look(t, mustWrite(t, SVG, top))
		if got := len(after.titles) - len(before.titles); got != 6+12 {
			t.Errorf("%s: got %d more things drawn, want the 6 devices and 12 bundles of one fabric", what, got)
		}
	}
}

func TestTooltipsNameWhatIsDrawn(t *testing.T) {
	top := bigger(t)
	titles := strings.Join(look(t, mustWrite(t, SVG, top)).titles, "\n")
	for _, want := range []string{
		"bigger: 3 regions, 15 fabrics, 456 devices (36 bag, 180 edge, 240 spine), 3168 bundles, 258 prefixes",
		"r1-f1-e1 and 4 alike: edge, plane 1, AS 4200001001, jericho3, 62 member links, 49.6T",
		"r2-f3-e1: edge, plane 1,",
		"r1-f1-e1--r1-bag1 and 4 alike: 46 x 800G = 36.8T, 3km",
		"r1-bag1--r2-bag3: 200 x 800G = 160T, 80km",
		"960 bundles spine-edge, 960 x (1 x 800G) = 768T, 300m",
	} {
		if !strings.Contains(titles, want) {
			t.Errorf("no tooltip has %q", want)
		}
	}
}

func TestCapacitiesForTheEyeHaveOneDecimal(t *testing.T) {
	for bits, want := range map[uint64]string{
		800e9: "800G", 29491.2e12: "29.5P", 460.8e12: "460.8T", 16e15: "16P", 999: "999", 1_234_567: "1.2M", 5_000_000_000_000_000_000: "5000P",
	} {
		if got := rounded(bits); got != want {
			t.Errorf("rounded(%d): got %s, want %s", bits, got, want)
		}
	}
	for _, plane := range []int{-1, 0, 1, 10, 11, 1000} {
		if got := planeColour(plane); !strings.HasPrefix(got, "#") || len(got) != 7 {
			t.Errorf("plane %d: got colour %q", plane, got)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	for _, name := range []string{"prometheus-mini", "prometheus"} {
		top, err := topologies.Preset(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Write(SVG, top); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
