package export

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies"
)

func TestTheLegendSpeaksOfWhatIsDrawn(t *testing.T) {
	const band, numbers = "A grey area is more than 150 bundles", "Colours and numbers are planes"
	for name, want := range map[string]map[string]bool{
		"prometheus-mini": {band: false, numbers: true, "come again": false},
		"petabit":         {band: true, numbers: false, "come again": true, "Colours are planes": true},
		"ai-zone":         {band: true},
	} {
		text := string(mustWrite(t, SVG, examples(t)[name]))
		for what, there := range want {
			if strings.Contains(text, what) != there {
				t.Errorf("%s: %q: got %v, want %v", name, what, !there, there)
			}
		}
	}
}

// bundleLabel is the first line of a label of bundles, on its ground.
var bundleLabel = regexp.MustCompile(`<rect x="[0-9.]+" y="([0-9.]+)" width="([0-9.]+)" height="27" rx="3" fill="#fff" fill-opacity="0.8"/>
<text x="([0-9.]+)" y="([0-9.]+)" font-style="italic">([^<]+)</text>`)

// In mix-mini and in this network, where bundles skip a tier, several classes
// begin in one row.
func TestLabelsOfBundlesStandApartOnAGroundOfTheirOwn(t *testing.T) {
	skip, err := topologies.Read("skip.yaml", []byte(`name: skip
devices:
  - {name: s1, role: spine, region: r1, fabric: f1, asn: 1, asic: x}
  - {name: e1, role: edge, region: r1, fabric: f1, plane: 1, asn: 2, asic: x}
  - {name: b1, role: bag, region: r1, plane: 1, asn: 3, asic: x}
  - {name: h1, role: hub, region: r1, plane: 1, asn: 4, asic: x}
bundles:
  - {a: s1, b: e1, members: 4, speed: 800G, length: 300m}
  - {a: s1, b: b1, members: 2, speed: 800G, length: 3km}
  - {a: s1, b: h1, members: 2, speed: 800G, length: 3km}
  - {a: e1, b: b1, members: 2, speed: 800G, length: 2km}
  - {a: b1, b: h1, members: 2, speed: 800G, length: 2km}
`))
	if err != nil {
		t.Fatal(err)
	}
	list := examples(t)
	list["skip"] = skip
	for name, least := range map[string]int{"skip": 5, "mix-mini": 6, "hub-and-spoke": 6} {
		type label struct {
			x, y float64
			text string
		}
		var labels []label
		for _, m := range bundleLabel.FindAllStringSubmatch(string(mustWrite(t, SVG, list[name])), -1) {
			x, _ := strconv.ParseFloat(m[3], 64)
			y, _ := strconv.ParseFloat(m[4], 64)
			for _, o := range labels {
				if o.x == x && math.Abs(o.y-y) < 27 {
					t.Errorf("%s: %q and %q lie over one another", name, o.text, m[5])
				}
			}
			labels = append(labels, label{x, y, m[5]})
		}
		if len(labels) < least {
			t.Errorf("%s: got %d labels on a ground, want at least %d", name, len(labels), least)
		}
	}
}
