package harness_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

const externalScenario = `
topology: prometheus-mini
speakers:
  devices: {r1-f1-e1: {transitivity: non-transitive}}
external:
  r1-bag1: {address: 192.0.2.1, asn: 65010, port: 1179, passive: true, neighbors: 192.0.2.101, neighbors6: "fd00::1", damped: true, silence: 500ms, wait: 5s}
  r2-f1-e1: {address: 192.0.2.9, neighbors: {r2-bag1: 192.0.2.20, r2-f1-s1--r2-f1-e1: 192.0.2.21}}
events:
  - degrade: {bundle: r1-f1-e1--r1-bag1, members: 24}
`

func TestExternalDevicesAreReadAndWritten(t *testing.T) {
	sc, err := harness.ReadScenario("x.yaml", []byte(externalScenario))
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr
	want := map[string]state.External{
		"r1-bag1": {
			Address: address("192.0.2.1"), ASN: 65010, Port: 1179, Passive: true, Neighbors: address("192.0.2.101"), Neighbors6: address("fd00::1"),
			Damped: true, Silence: 500 * time.Millisecond, Wait: 5 * time.Second,
		},
		"r2-f1-e1": {Address: address("192.0.2.9"), NeighborAt: map[string]netip.Addr{"r2-bag1": address("192.0.2.20"), "r2-f1-s1--r2-f1-e1": address("192.0.2.21")}},
	}
	if diff := cmp.Diff(want, sc.External, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("want, got: %s", diff)
	}
	ix := sc.Topology.Index()
	if got := sc.Topology.Devices[ix.Device["r1-bag1"]].ASN; got != 65010 {
		t.Errorf("ASN of the device in the topology: got %d, want the one that is given", got)
	}
	for d, s := range sc.Settings {
		want := topologies.BothTransitive
		if d == ix.Device["r1-f1-e1"] {
			want = topologies.NonTransitive
		}
		if s.Transitivity != want {
			t.Errorf("%s: transitivity %s, want %s", sc.Topology.Devices[d].Name, s.Transitivity, want)
		}
	}
	text, err := harness.WriteScenario(sc) // which reads it again
	if err != nil || !strings.Contains(string(text), "r2-f1-e1: {address: 192.0.2.9, neighbors: {r2-bag1: 192.0.2.20,") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestDevicesThatAreGivenComeBesideThoseOfTheScenario(t *testing.T) {
	given := map[string]state.External{"r2-bag1": {Address: netip.MustParseAddr("192.0.2.50"), Port: 1179}}
	sc, err := harness.LoadWith("first-light", given)
	if err != nil {
		t.Fatal(err)
	}
	if sc.Settings[0].Transitivity != topologies.BothTransitive {
		t.Errorf("transitivity: got %s, want both where a device is external", sc.Settings[0].Transitivity)
	}
	back, err := harness.ReadScenario("copy.yaml", sc.Source)
	if err != nil || back.External["r2-bag1"].Address != given["r2-bag1"].Address {
		t.Errorf("the copy of the scenario has %v (%v)", back.External, err)
	}
	sessions, err := sc.ExternalSessions()
	if err != nil || len(sessions) != 5 || sessions[0].Local != netip.MustParseAddr("192.0.2.51") || sessions[4].Local != netip.MustParseAddr("192.0.2.55") {
		t.Errorf("sessions: got %v (%v), want 5 with neighbours from 192.0.2.51 on", sessions, err)
	}
}

func TestMistakesInExternalDevicesAreFoundWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ external, events, want string }{
		{"r9-bag1: {address: 192.0.2.1}", "", `x.yaml:3:3: field "external.r9-bag1": value "r9-bag1": device "r9-bag1": not in the topology`},
		{"r1-bag1: {asn: 65010}", "", `external "r1-bag1": address: missing`},
		{"r1-bag1: {address: 192.0.2.400}", "", `x.yaml:3:22: field "external.r1-bag1.address": value "192.0.2.400": address "192.0.2.400": want an IPv4 address`},
		{`r1-bag1: {address: "2001:db8::1"}`, "", `external "r1-bag1": address 2001:db8::1: want an IPv4 address`},
		{"r1-bag1: {address: 192.0.2.1, asn: 0}", "", `asn "0": want 1 to 4294967295`},
		{"r1-bag1: {address: 192.0.2.1, port: 70000}", "", `port "70000": want 1 to 65535`},
		{"r1-bag1: {address: 192.0.2.1, silence: 1ms}", "", `silence "1ms": want 10ms to 10m`},
		{"r1-bag1: {address: 192.0.2.1, passive: maybe}", "", `passive "maybe": want true or false`},
		{"r1-bag1: {address: 192.0.2.1, adress: x}", "", `unknown field "adress": want one of address, asn, port`},
		{"r1-bag1: {address: 192.0.2.1, neighbors: {r1-f1-e1: 192.0.2.1}}", "", `neighbor "r1-f1-e1" at 192.0.2.1: want an IPv4 address of its own`},
		{"r1-bag1: {address: 192.0.2.1, neighbors: {r1-f9-e1: 192.0.2.7}}", "", `neighbor "r1-f9-e1": no bundle and no neighbour of the device has that name`},
		{"r1-bag1: {address: 192.0.2.1}\n  r2-bag1: {address: 192.0.2.51}", "", `bundle "r1-bag1--r2-bag1" joins it to "r2-bag1", which is external too`},
		{"r1-bag1: {address: 192.0.2.1}\n  r1-bag2: {address: 192.0.2.1}", "", `bundle "r1-f1-e2--r1-bag2": 192.0.2.2 to 192.0.2.1 is the session of bundle "r1-f1-e1--r1-bag1" already`},
		{"r1-bag1: {address: 192.0.2.1}\nengine: sim", "", `engine sim: external "r1-bag1": engine sim has no wires that could reach it`},
		{"r1-bag1: {address: 192.0.2.1}", "drain: {device: r1-bag1, state: warm}", `event drain: device "r1-bag1": "r1-bag1" is external: the rig cannot reach into it`},
		{"r1-bag1: {address: 192.0.2.1}", "drain: {plane: 1, state: drained}", `event drain: plane "1": "r1-bag1" is external`},
		{"r1-bag1: {address: 192.0.2.1}", "set: {role: bag, knob: divide, value: equal}", `event set: role "bag": "r1-bag1" is external`},
		{"r1-bag1: {address: 192.0.2.1}", "restart: {device: r1-bag1, takes: 10s}", `event restart: device "r1-bag1": "r1-bag1" is external`},
		{"r1-bag1: {address: 192.0.2.1}", "restart: {device: r1-f1-e1, takes: 10s}", `event restart: device "r1-f1-e1": its neighbour "r1-bag1" is external`},
	} {
		text := "topology: prometheus-mini\nexternal:\n  " + c.external + "\n"
		if c.events != "" {
			text += "events:\n  - " + c.events + "\n"
		}
		_, err := harness.ReadScenario("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.yaml:") {
			t.Errorf("%s %s: got %v, want %q with its place", c.external, c.events, err, c.want)
		}
	}
}

func TestTheSimulatorHasNoWires(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	external := map[string]state.External{"r1-bag1": {Address: netip.MustParseAddr("192.0.2.1")}}
	for _, opts := range []harness.Options{{External: external}, {Capture: nothing{}}} {
		opts.Topology, opts.Engine = topology, harness.Sim
		if _, err := harness.Start(context.Background(), opts); !errors.Is(err, harness.ErrNoWires) {
			t.Errorf("got %v, want %v", err, harness.ErrNoWires)
		}
	}
}

// nothing is a Capturer that keeps nothing.
type nothing struct{}

func (nothing) Opened(int32, [2]netip.Addr)                    {}
func (nothing) Message(state.Direction, time.Duration, []byte) {}
func (nothing) Closed(int32)                                   {}
