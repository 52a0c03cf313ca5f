package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bagrig/bagrig/topologies"
)

func presetNamed(t *testing.T, name string) *topologies.Topology {
	t.Helper()
	top, err := topologies.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestTopologyTablesFitANarrowTerminal(t *testing.T) {
	top := presetNamed(t, "prometheus")
	for _, width := range []int{60, 72, 80, 100} {
		_, tables, _ := strings.Cut(Topology(top, width), "\n\n")
		for line := range strings.Lines(tables) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && !strings.HasPrefix(line, "no room for") {
				t.Errorf("width %d: got %d characters: %s", width, n, line)
			}
		}
	}
}

// What is counted by the tables is all that there is.
func TestTopologyTablesCountEverything(t *testing.T) {
	for _, name := range topologies.Presets() {
		top := presetNamed(t, name)
		_, tables, _ := strings.Cut(Topology(top, 0), "\n\n")
		for i, c := range []struct{ want, column int }{{len(top.Devices), 2}, {len(top.Bundles), 1}, {len(top.Prefixes), 1}} {
			sum := 0
			for _, line := range strings.Split(strings.Split(tables, "\n\n")[i], "\n")[1:] {
				var n int
				if _, err := fmt.Sscan(strings.ReplaceAll(strings.Fields(line + " 0 0 0")[c.column], ",", ""), &n); err != nil {
					t.Fatalf("%s: %q: %v", name, line, err)
				}
				sum += n
			}
			if sum != c.want {
				t.Errorf("%s: table %d: got %d things, want %d", name, i+1, sum, c.want)
			}
		}
	}
}

func TestPortsThatAreThereAreThoseOfAllUnits(t *testing.T) {
	top := presetNamed(t, "prometheus-mini")
	for i := range top.Devices {
		if d := &top.Devices[i]; d.Role == topologies.Bag {
			d.Ports, d.Units = 432, 3
		}
	}
	text := Topology(top, 0)
	for _, want := range []string{"      3         160        1,296 ", "not stated", "\nfailure domains: 12 data halls, 4 power domains, 2 fibre routes\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestWhatSharesAnASNIsFound(t *testing.T) {
	for plan, want := range map[topologies.ASNPlan][2]string{
		topologies.PerGroup: {"a region's", "a fabric's"},
		topologies.Unique:   {"one device's", "one device's"},
	} {
		top, err := topologies.Generate(topologies.Shape{
			Name: "x", Regions: 2, Planes: 2, Fabrics: 2, Spines: 2, Kind: "dsf", Speed: 800e9, ASN: plan,
			SpineEdge: topologies.Link{Members: 1}, EdgeBag: topologies.Link{Members: 1}, BagBag: topologies.Link{Members: 1},
			SpineUnits: 1, EdgeUnits: 1, BagUnits: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		byRole := map[topologies.Role][]*topologies.Device{}
		for i := range top.Devices {
			byRole[top.Devices[i].Role] = append(byRole[top.Devices[i].Role], &top.Devices[i])
		}
		if got := [2]string{shared(byRole[topologies.Bag]), shared(byRole[topologies.Edge])}; got != want {
			t.Errorf("%s: got %q, want %q", plan, got, want)
		}
		bags := byRole[topologies.Bag]
		bags[0].ASN, bags[1].ASN, bags[2].ASN, bags[3].ASN = 1, 1, 1, 2
		if got := shared(bags); got != "of no plan" {
			t.Errorf("a mix: got %q", got)
		}
	}
}

func TestNeedsOfPrometheusAreWhatWasMeasured(t *testing.T) {
	quiet, judged := Needs{Speakers: 416, Sessions: measuredSessions, Entries: measuredEntries}.Memory()
	for _, c := range []struct{ got, want int }{{quiet, measuredQuiet}, {judged, measuredJudged}} {
		if off := c.got - c.want; off < -1 || off > 1 {
			t.Errorf("got %d bytes, want %d", c.got, c.want)
		}
	}
	// The run of first-light that was measured too is not far off.
	if _, judged := (Needs{Speakers: 56, Sessions: 100, Entries: 2688}).Memory(); judged < 80*mib || judged > 100*mib {
		t.Errorf("first-light: got %d MiB, want about the 80 that were measured", judged/mib)
	}
	low := Needs{Descriptors: 5792, Limit: 1024}.Text()
	if !strings.Contains(low, "5,792, and the limit is 1,024: too low") {
		t.Errorf("got\n%s\nwant that the limit is too low", low)
	}
}
