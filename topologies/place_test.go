package topologies

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFabricOfShallowBuffersThatIsFarFromItsBagsIsWarnedOf(t *testing.T) {
	s := small() // of kind nsf
	s.EdgeBag.Length = 12_000
	s.Fabrics, s.Planes = 1, 1
	top := generate(t, s)
	if err := Validate(top); err != nil {
		t.Errorf("odd is no error: %v", err)
	}
	want := []Warning{
		{"r1-f1-e1--r1-bag1", "length 12km: nsf switches have shallow buffers: want at most 10km to the bags"},
		{"r2-f1-e1--r2-bag1", "length 12km: nsf switches have shallow buffers: want at most 10km to the bags"},
	}
	if diff := cmp.Diff(top.Warnings(), want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

// Every device has a hall and a power domain; no domain holds both sides of
// what should survive its loss.
func TestPlacesAreSpread(t *testing.T) {
	for _, name := range []string{"prometheus", "hub-and-spoke", "mix-mini"} {
		top := preset(t, name)
		of := map[string]map[string]bool{} // what is spread, over which domains
		add := func(thing, domain string) {
			if domain == "" {
				t.Errorf("%s: %s: got no domain", name, thing)
			}
			if of[thing] == nil {
				of[thing] = map[string]bool{}
			}
			of[thing][domain] = true
		}
		x := top.Index()
		for _, d := range top.Devices {
			group := d.Region + " " + d.Fabric + " " + d.Role.String()
			if d.Role != Backbone || name == "hub-and-spoke" { // one backbone device has no other side
				add("power of "+group, d.Power)
			}
			if d.Fabric != "" {
				if d.Hall != d.Fabric {
					t.Errorf("%s: device %q: got hall %q, want its building", name, d.Name, d.Hall)
				}
			} else if d.Role == Bag || d.Role == Hub {
				add("hall of "+group, d.Hall)
			}
		}
		for i, b := range top.Bundles {
			lower, upper := top.Devices[x.Ends[i][0]], top.Devices[x.Ends[i][1]]
			if lower.Role == Bag {
				add("route from "+lower.Region+" to "+upper.Role.String()+upper.Region, b.Route)
			} else if b.Route != "" {
				t.Errorf("%s: bundle %q: got route %q inside a region", name, b.Name, b.Route)
			}
		}
		for thing, domains := range of {
			if len(domains) != 2 {
				t.Errorf("%s: %s: got %d domains, want 2", name, strings.TrimSpace(thing), len(domains))
			}
		}
	}
}

func TestMorePortsThanTheDevicesHaveAreRefusedWithTheArithmetic(t *testing.T) {
	s := small()
	s.BagUnits, s.EdgeBag.Members, s.BagBag = 1, 150, Link{Members: 133, Length: 50_000, Speed: 1600e9}
	_, err := Generate(s)
	want := `topology "small": units.bag 1: device "r1-bag1": its bundles take 2 x 150 to edges + 1 x 266 to bags = 566 ports and it has 1 units x 432 = 432: want at least 2 units, or fewer members`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, change := range []func(){func() { s.BagUnits = 2 }, func() { s.BagUnits, s.Ports.Bag = 1, 566 }} {
		change()
		if _, err := Generate(s); err != nil {
			t.Error(err)
		}
	}
	top := generate(t, s)
	top.Devices[0].Ports, top.Devices[0].Units = 565, 1
	want = `topology "small": device "r1-bag1": ports 565: its bundles take 2 x 150 to edges + 1 x 266 to bags = 566 ports and it has 1 units x 565 = 565: want at least 2 units, or fewer members`
	if err := Validate(top); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	top.Devices[0].Ports = 0 // not known
	if err := Validate(top); err != nil {
		t.Error(err)
	}
}
