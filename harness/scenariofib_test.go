package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
)

func readFIBScenario(t *testing.T, lines string) (*Scenario, error) {
	t.Helper()
	return ReadScenario("x.yaml", []byte("topology: spread-mini\n"+lines))
}

func TestDevicesHaveTheHardwareOfTheTopologyOfAllOrOfTheirRole(t *testing.T) {
	lookup := func(name string) fib.Profile {
		p, err := fib.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tiny := fib.Profile{
		Name: "tiny", Groups: 8, Members: fib.NotPublished, Width: 64, Variable: 16, NativeCost: 4, Unweighted: true,
		Reserve: 1, BreakFirst: true, Ceiling: 0.5, Source: "measured",
	}
	small := lookup("jericho3")
	small.Name, small.Groups, small.Source, small.Verified = "small", 8, "the user's own", false
	least := fib.Profile{Name: "least", Groups: 10, Members: 20, Width: 4, Reserve: 2, Ceiling: 0.75, Source: "the user's own"}
	for _, c := range []struct {
		name, lines string
		bag, spine  state.Hardware
	}{
		{"nothing said", "", state.Hardware{Profile: lookup("jericho3")}, state.Hardware{Profile: lookup("tomahawk5")}},
		{"all by name", "fib: {algorithm: equal, overflow: share, profile: p200}",
			state.Hardware{Profile: lookup("p200"), Options: fib.Options{Algorithm: fib.Equal, Overflow: fib.OverflowShare}},
			state.Hardware{Profile: lookup("p200"), Options: fib.Options{Algorithm: fib.Equal, Overflow: fib.OverflowShare}}},
		{"a role wins, field by field", "fib: {algorithm: equal, overflow: merge, roles: {bag: {overflow: equal, profile: jericho2}}}",
			state.Hardware{Profile: lookup("jericho2"), Options: fib.Options{Algorithm: fib.Equal, Overflow: fib.OverflowEqual}},
			state.Hardware{Profile: lookup("tomahawk5"), Options: fib.Options{Algorithm: fib.Equal, Overflow: fib.OverflowMerge}}},
		{"a device wins over its role", "fib: {overflow: merge, roles: {bag: {overflow: equal, profile: jericho2}}, devices: {r1-bag1: {overflow: share}}}",
			state.Hardware{Profile: lookup("jericho2"), Options: fib.Options{Overflow: fib.OverflowShare}},
			state.Hardware{Profile: lookup("tomahawk5"), Options: fib.Options{Overflow: fib.OverflowMerge}}},
		{"a profile like another", "fib: {roles: {bag: {profile: {name: small, like: jericho3, groups: 8}}}}",
			state.Hardware{Profile: small}, state.Hardware{Profile: lookup("tomahawk5")}},
		{"a profile with the least that it needs", "fib: {profile: {name: least, groups: 10, members: 20, width: 4}}",
			state.Hardware{Profile: least}, state.Hardware{Profile: least}},
		{"a profile with every field", "fib:\n  profile: {name: tiny, groups: 8, members: unlimited, width: 64, variable: 16, native-cost: 4,\n" +
			"    unweighted: true, reserve: 1, break-first: true, ceiling: 0.5, source: measured}",
			state.Hardware{Profile: tiny}, state.Hardware{Profile: tiny}},
	} {
		sc, err := readFIBScenario(t, c.lines)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		ix := sc.Topology.Index()
		for device, want := range map[string]state.Hardware{"r1-bag1": c.bag, "r1-f1-s1": c.spine} {
			if d := cmp.Diff(want, sc.Hardware[ix.Device[device]]); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", c.name, device, d)
			}
		}
	}
}

func TestMistakesInHardwareNameFieldAndValueWhereTheyAre(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"fib: {algorithm: best}", `x.yaml:2:18: field "fib.algorithm": value "best": want one of`},
		{"fib: {overflow: compare}", `x.yaml:2:17: field "fib.overflow": value "compare": want one of "equal", "exceed"`},
		{"fib: {profile: jericho9}", `x.yaml:2:16: field "fib.profile": value "jericho9": want one of`},
		{"fib: {compare: maybe}", `field "fib.compare": value "maybe": want true or false`},
		{"fib: {roles: {tor: {overflow: share}}}", `unknown role "tor": want rack, spine, edge, bag, hub or backbone`},
		{"fib: {devices: {r9-bag1: {overflow: share}}}", `device "r9-bag1": not in the topology`},
		{"fib: {roles: {bag: {compare: true}}}", `unknown field: want`},
		{"fib: {profile: {groups: 8, members: 9, width: 4}}", `field "fib.profile": missing field "name"`},
		{"fib: {profile: {name: x, members: 9, width: 4}}", `field "fib.profile": missing field "groups"`},
		{"fib: {profile: {name: x, like: jericho9}}", `field "fib.profile.like": value "jericho9": want one of`},
		{`fib: {profile: {name: "", like: jericho3}}`, `field "fib.profile.name": value "": want a name that no built-in profile has`},
		{"fib: {profile: {name: jericho3, like: jericho3}}", `field "fib.profile.name": value "jericho3": want a name that no built-in profile has`},
		{"fib: {profile: {name: x, groups: 0, members: 9, width: 4}}", `x.yaml:2:34: field "fib.profile.groups": value "0": want 1 to`},
		{"fib: {profile: {name: x, groups: many, members: 9, width: 4}}", `field "fib.profile.groups": value "many": want 1 to 2147483646, or unlimited`},
		{"fib: {profile: {name: x, groups: 8, members: -1, width: 4}}", `field "fib.profile.members": value "-1": want 1 to`},
		{"fib: {profile: {name: x, groups: 8, members: 9, width: 0}}", `field "fib.profile.width": value "0": want 1 to 1048576`},
		{"fib: {profile: {name: x, like: jericho3, variable: 4096}}", `field "fib.profile.variable": value "4096": want 0 to 2048`},
		{"fib: {profile: {name: x, like: jericho3, native-cost: 2000}}", `field "fib.profile.native-cost": value "2000": want 0 to 1024`},
		{"fib: {profile: {name: x, like: jericho3, reserve: 65}}", `field "fib.profile.reserve": value "65": want 0 to 64`},
		{"fib: {profile: {name: x, like: jericho3, groups: 1}}", `profile "x": reserve 2: want 0 to 1`},
		{"fib: {profile: {name: x, like: jericho3, ceiling: 1.5}}", `field "fib.profile.ceiling": value "1.5": want a part above 0, up to 1`},
		{"fib: {profile: {name: x, like: jericho3, ceiling: 0x1p-1}}", `field "fib.profile.ceiling": value "0x1p-1"`},
		{"fib: {profile: {name: x, like: jericho3, colour: red}}", `unknown field`},
	} {
		_, err := readFIBScenario(t, c.lines)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one mistake with %q in it", c.lines, err, c.want)
		}
	}
}

func TestAnASICOfTheTopologyThatHasNoProfileIsAMistakeUnlessOneIsGiven(t *testing.T) {
	lines := `topology:
  name: two
  devices:
    - {name: a, role: bag, region: r1, plane: 1, asn: 65001, asic: abacus}
    - {name: b, role: bag, region: r2, plane: 1, asn: 65002, asic: abacus}
  bundles:
    - {name: a--b, a: a, b: b, members: 2, speed: 800G, length: 80km}
  prefixes:
    - {prefix: 10.1.0.0/16, origins: [a]}
`
	if _, err := ReadScenario("x.yaml", []byte(lines)); err == nil || !strings.Contains(err.Error(), `x.yaml:4:68: field "topology.devices[0].asic": value "abacus": unknown profile`) {
		t.Errorf("got %v, want the name refused where it stands", err)
	}
	if _, err := ReadScenario("x.yaml", []byte(lines+"fib: {profile: jericho3}\n")); err != nil {
		t.Errorf("with a profile for all: got %v, want none", err)
	}
}

func TestAProfileFileIsReadAsInAScenario(t *testing.T) {
	p, err := ReadProfile("p.yaml", []byte("name: tiny\nlike: jericho3\ngroups: 8\n"))
	if err != nil || p.Name != "tiny" || p.Groups != 8 || p.Width != 2048 {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, bad := range []string{"jericho3\n", "name: tiny\n", "name: tiny\nlike: jericho3\ngroups: none\n", ""} {
		if _, err := ReadProfile("p.yaml", []byte(bad)); err == nil || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%q: got %v, want an error that names the file", bad, err)
		}
	}
}
