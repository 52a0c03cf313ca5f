package state

import (
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies"
)

func TestABundleOfOneMemberIsNotDegraded(t *testing.T) {
	top := &topologies.Topology{
		Name:    "two",
		Devices: []topologies.Device{{Name: "a", Role: topologies.Spine}, {Name: "b", Role: topologies.Edge}},
		Bundles: []topologies.Bundle{{Name: "a--b", A: "a", B: "b", Members: 1, Speed: 800e9}, {Name: "a--b#2", A: "a", B: "b", Members: 3, Speed: 800e9}},
	}
	for bundle, want := range map[string]string{
		"a--b":   `bundle "a--b" has one member: it cannot be degraded, want down in its place`,
		"a--b#2": `want 1 to 2: bundle "a--b#2" has 3`,
	} {
		e, err := ParseEvent("degrade", map[string]string{"bundle": bundle, "members": "3"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Expand(top, top.Index(), []int{1, 3}, NewFailing(top)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", bundle, err, want)
		}
	}
}

func TestEveryRoleIsOfferedToAnEvent(t *testing.T) {
	_, err := ParseEvent("set", map[string]string{"role": "foo", "knob": "divide", "value": "none"})
	for role := topologies.Rack; role <= topologies.Backbone; role++ {
		if err == nil || !strings.Contains(err.Error(), role.String()) {
			t.Errorf("got %v, want %s offered", err, role)
		}
	}
}
