package properties

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/topologies"
)

func leveled(t *testing.T, name string) (*topologies.Topology, func(uint64) uint64) {
	t.Helper()
	topology, err := topologies.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	return topology, pipeline.Quantizer().Level
}

// TestLessCapacityNeverRaisesAToldValue is monotony: while reachability and path
// lengths stay, and no set gains a member, less capacity is told as no more.
func TestLessCapacityNeverRaisesAToldValue(t *testing.T) {
	for _, name := range []string{"prometheus-mini", "spread-mini"} {
		topology, level := leveled(t, name)
		o := oracle.New(topology, level)
		r := rand.New(rand.NewPCG(1, 1))
		for range 100 {
			state := make([]oracle.Bundle, len(topology.Bundles))
			for i, b := range topology.Bundles {
				state[i].Capacity = b.Capacity(b.Members - r.IntN(b.Members))
			}
			before := o.State(state)
			i := r.IntN(len(state))
			state[i].Capacity -= topology.Bundles[i].Speed * r.Uint64N(state[i].Capacity/topology.Bundles[i].Speed)
			after := o.State(state)
			for d := range topology.Devices {
				for p := range topology.Prefixes {
					if got, was := after.Route(d, p).Told, before.Route(d, p).Told; got.Value > was.Value {
						t.Fatalf("%s: device %s, prefix %v: told %v with less, %v with more", name, topology.Devices[d].Name, topology.Prefixes[p].Prefix, got.Value, was.Value)
					}
				}
			}
		}
	}
}

// TestTheAnswerDoesNotDependOnNamesOrOrder is symmetry: the same network with its
// devices and bundles in another order, and other names, has the same values and
// shares. Paths may differ, since order breaks ties between equal ones.
func TestTheAnswerDoesNotDependOnNamesOrOrder(t *testing.T) {
	topology, level := leveled(t, "spread-mini")
	r := rand.New(rand.NewPCG(2, 2))
	capacity := map[string]uint64{}
	for _, b := range topology.Bundles {
		capacity[b.Name] = b.Capacity(1 + r.IntN(b.Members))
	}
	states := func(t *topologies.Topology, original func(string) string) *oracle.State {
		var list []oracle.Bundle
		for _, b := range t.Bundles {
			list = append(list, oracle.Bundle{Capacity: capacity[original(b.Name)]})
		}
		return oracle.New(t, level).State(list)
	}
	other := &topologies.Topology{Name: "other", Prefixes: slices.Clone(topology.Prefixes)}
	rename := func(name string) string { return "x" + name }
	for _, d := range topology.Devices {
		d.Name = rename(d.Name)
		other.Devices = append(other.Devices, d)
	}
	for _, b := range topology.Bundles {
		b.Name, b.A, b.B = rename(b.Name), rename(b.A), rename(b.B)
		other.Bundles = append(other.Bundles, b)
	}
	for i, p := range other.Prefixes {
		other.Prefixes[i].Origins = nil
		for _, name := range p.Origins {
			other.Prefixes[i].Origins = append(other.Prefixes[i].Origins, rename(name))
		}
	}
	slices.Reverse(other.Devices)
	r.Shuffle(len(other.Bundles), func(i, j int) { other.Bundles[i], other.Bundles[j] = other.Bundles[j], other.Bundles[i] })

	first := states(topology, func(name string) string { return name })
	second := states(other, func(name string) string { return name[1:] })
	ix, otherIx := topology.Index(), other.Index()
	for name, d := range ix.Device {
		for p := range topology.Prefixes {
			a, b := first.Route(d, p), second.Route(otherIx.Device[rename(name)], p)
			if !a.Told.SameValue(b.Told) || a.Bottleneck != b.Bottleneck || len(a.Set) != len(b.Set) {
				t.Fatalf("device %s, prefix %v: got %+v, want %+v", name, topology.Prefixes[p].Prefix, b, a)
			}
			shares := map[string]uint64{}
			for _, m := range a.Set {
				shares[rename(topology.Bundles[m.Bundle].Name)] = m.Share
			}
			for _, m := range b.Set {
				if name := other.Bundles[m.Bundle].Name; shares[name] != m.Share {
					t.Errorf("share over %s: got %d, want %d", name, m.Share, shares[name])
				}
			}
		}
	}
}
