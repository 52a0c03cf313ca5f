package sim

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// network makes a topology from bundles "a b 80000", lengths in metres, of devices
// whose first letter is their role, each with an ASN of its own, and from origins
// "10.0.0.0/24 a".
func network(t testing.TB, bundles []string, origins ...string) *topologies.Topology {
	t.Helper()
	roles := map[byte]topologies.Role{'s': topologies.Spine, 'e': topologies.Edge, 'b': topologies.Bag, 'h': topologies.Hub}
	net := &topologies.Topology{Name: "net"}
	index := map[string]bool{}
	add := func(name string) {
		if !index[name] {
			index[name] = true
			net.Devices = append(net.Devices, topologies.Device{Name: name, Role: roles[name[0]], ASN: uint32(65001 + len(net.Devices)), ASIC: "jericho3", Units: 1})
		}
	}
	for _, text := range bundles {
		b := topologies.Bundle{Members: 4, Speed: 800e9}
		if _, err := fmt.Sscan(text, &b.A, &b.B, &b.Length); err != nil {
			t.Fatal(err)
		}
		add(b.A)
		add(b.B)
		b.Name = b.A + "--" + b.B
		net.Bundles = append(net.Bundles, b)
	}
	for _, text := range origins {
		list := strings.Fields(text)
		net.Prefixes = append(net.Prefixes, topologies.Prefix{Prefix: netip.MustParsePrefix(list[0]), Origins: list[1:]})
	}
	return net
}

// batches gives all devices the rib-batch.
func batches(t *topologies.Topology, batch time.Duration) []topologies.Settings {
	list := make([]topologies.Settings, len(t.Devices))
	for i := range list {
		list[i] = topologies.DefaultSettings()
		list[i].RIBBatch = batch
	}
	return list
}

// settled starts an engine and lets it settle.
func settled(t testing.TB, opts Options) *Engine {
	t.Helper()
	e, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.Originate(); err != nil {
		t.Fatal(err)
	}
	settle(t, e)
	e.Record(true)
	return e
}

// settle lets everything happen that is still to come.
func settle(t testing.TB, e *Engine) {
	t.Helper()
	if err := trySettle(e); err != nil {
		t.Fatal(err)
	}
}

func trySettle(e *Engine) error {
	return e.settle(context.Background())
}

func apply(t testing.TB, e *Engine, changes ...state.Change) {
	t.Helper()
	if err := e.Apply(context.Background(), changes); err != nil {
		t.Fatal(err)
	}
}

// members is a change of a bundle's.
func members(e *Engine, bundle string, n int) state.Change {
	return state.Change{Kind: state.SetMembers, Bundle: bundleOf(e, bundle), Members: n}
}

func bundleOf(e *Engine, name string) int32 {
	b, ok := e.index.Bundle[name]
	if !ok {
		panic("no bundle " + name)
	}
	return int32(b)
}

func deviceOf(e *Engine, name string) int32 {
	d, ok := e.index.Device[name]
	if !ok {
		panic("no device " + name)
	}
	return int32(d)
}

// texts are transients as "hole b1 [1ms, 2ms) of s1 s2".
func texts(e *Engine, list []state.Transient, from time.Duration) []string {
	var out []string
	for _, x := range list {
		var at, of []string
		for _, d := range x.At {
			at = append(at, e.topology.Devices[d].Name)
		}
		for _, d := range x.Loses {
			of = append(of, e.topology.Devices[d].Name)
		}
		out = append(out, fmt.Sprintf("%s at %s [%v, %v) of %s", x.Kind, strings.Join(at, " "), x.From-from, x.Until-from, strings.Join(of, " ")))
	}
	return out
}
