package sim

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// explore searches, and checks what every search must keep: each schedule leads
// where it says, and the reduction finds the same ends.
func explore(t *testing.T, x *Exploration) *Explored {
	t.Helper()
	found, err := x.Explore(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if found.Cut || len(found.Ends) == 0 {
		t.Fatalf("got %d states, cut %t, and %d ends: want a whole search", found.States, found.Cut, len(found.Ends))
	}
	keys := map[uint64]bool{}
	for _, end := range found.Ends {
		e, err := x.Replay(end.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Snapshot(); !reflect.DeepEqual(got, end.Snapshot) {
			t.Errorf("%s: got another end when it was played again", x.Text(end.Schedule))
		}
		keys[e.forwarding()] = true
	}
	for _, f := range found.Transients {
		e, err := x.Replay(f.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, open := range e.watch.open[f.Prefix] {
			there = there || open.kind == f.Kind && reflect.DeepEqual(open.at, f.At)
		}
		if !there {
			t.Errorf("%s: want a %s at %v there", x.Text(f.Schedule), f.Kind, f.At)
		}
	}
	other := *x
	other.Reduce = !x.Reduce
	again, err := other.Explore(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range again.Ends {
		e, err := x.Replay(end.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		if !keys[e.forwarding()] {
			t.Errorf("with the reduction the other way: an end that was not found: %s", x.Text(end.Schedule))
		}
	}
	if len(again.Ends) != len(found.Ends) {
		t.Errorf("with the reduction the other way: got %d ends, want %d", len(again.Ends), len(found.Ends))
	}
	return found
}

// Two edges tell the same prefix, and the bag sums what it hears: one edge loses
// half of its members while the other gets its own back.
func summing(t *testing.T) (*topologies.Topology, func(*Exploration)) {
	net := network(t, []string{"s1 e1 300", "s1 e2 300", "e1 b1 3000", "e2 b1 3000", "e3 b1 3000"}, "10.0.0.0/24 s1")
	return net, func(x *Exploration) {
		ix := net.Index()
		x.Changes = []state.Change{
			{Kind: state.SetMembers, Bundle: int32(ix.Bundle["s1--e1"]), Members: 3},
			{Kind: state.SetMembers, Bundle: int32(ix.Bundle["s1--e2"]), Members: 3},
		}
	}
}

func TestANetworkWithoutMemoryHasOneEndInEveryOrder(t *testing.T) {
	for _, batch := range []time.Duration{0, time.Millisecond} {
		net, change := summing(t)
		x := &Exploration{Options: Options{Topology: net, Settings: batches(net, batch)}}
		change(x)
		found := explore(t, x)
		if len(found.Ends) != 1 || found.Cycle != nil {
			t.Errorf("batch %v: got %d ends, cycle %v: want one end", batch, len(found.Ends), found.Cycle)
		}
		e := settled(t, Options{Topology: net, Settings: batches(net, batch)})
		apply(t, e, x.Changes...)
		settle(t, e)
		if want := e.Snapshot(); !reflect.DeepEqual(found.Ends[0].Snapshot.Devices[deviceOf(e, "e3")].Routes, want.Devices[deviceOf(e, "e3")].Routes) {
			t.Errorf("batch %v: the end is not that of rounds", batch)
		}
	}
}

// secondValue tells for ever the second value that it saw: what it tells depends on
// the order in which news came.
type secondValue struct{}

func (secondValue) NewTold() damping.ToldPolicy { return &secondPolicy{} }
func (secondValue) Law() damping.Law            { return damping.Law{} }
func (secondValue) String() string              { return "second value" }

type secondPolicy struct {
	values []damping.Value
}

func (p *secondPolicy) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in.Reach == damping.Gone {
		return in, damping.Never
	}
	if len(p.values) < 2 {
		p.values = append(p.values, in)
	}
	return p.values[len(p.values)-1], damping.Never
}

// With one edge at 3 members and the other at 2 the bag passes 7 or 6 of 8 on the
// way to 5, or sees 5 at once, as its decisions fall.
func TestDampingWithAMemoryHasAnEndForEachOrder(t *testing.T) {
	net, change := summing(t)
	x := &Exploration{Options: Options{Topology: net, Settings: batches(net, time.Millisecond), Damping: damping.Pipeline{Name: "second", Told: []damping.ToldStage{secondValue{}}}}}
	change(x)
	x.Changes[1].Members = 2
	found := explore(t, x)
	if len(found.Ends) < 3 {
		t.Errorf("got %d ends, want one for each order in which the bag decides", len(found.Ends))
	}
}

// A limit of one prefix: the bag's neighbour hears the new prefix before the old one
// is gone, or decides on both at once. RIBBatch does not help it.
func TestALimitOfPrefixesMayEndASessionOrNot(t *testing.T) {
	net := network(t, []string{"s1 e1 300", "s2 e2 300", "e1 b1 3000", "e2 b1 3000", "e3 b1 3000"}, "10.0.0.0/24 s1", "10.0.1.0/24 s2")
	settings := batches(net, time.Millisecond)
	ix := net.Index()
	settings[ix.Device["e3"]].MaxPrefixes = 1
	x := &Exploration{Options: Options{Topology: net, Settings: settings}}
	// Only the second prefix is there; then it goes and the first one comes.
	x.Before = [][]state.Change{
		{{Kind: state.SetMembers, Bundle: int32(ix.Bundle["s1--e1"]), Members: 0}},
		{{Kind: state.Reset, Bundle: int32(ix.Bundle["e3--b1"])}},
	}
	x.Changes = []state.Change{
		{Kind: state.SetMembers, Bundle: int32(ix.Bundle["s1--e1"]), Members: 4},
		{Kind: state.SetMembers, Bundle: int32(ix.Bundle["s2--e2"]), Members: 0},
	}
	found := explore(t, x)
	ended := map[bool]bool{}
	for _, end := range found.Ends {
		ended[end.Snapshot.Bundles[ix.Bundle["e3--b1"]].CeasedBy == "e3"] = true
	}
	if len(found.Ends) < 2 || len(ended) != 2 {
		t.Errorf("got %d ends, session ended %v: want it ended in one and up in another", len(found.Ends), ended)
	}
}

func TestASearchThatIsCutSaysSo(t *testing.T) {
	net, change := summing(t)
	x := &Exploration{Options: Options{Topology: net, Settings: batches(net, 0)}, States: 10}
	change(x)
	found, err := x.Explore(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !found.Cut || found.States != 10 {
		t.Errorf("got %d states, cut %t, want 10 and true", found.States, found.Cut)
	}
}

func TestTheShortestWayToABlackHoleIsFound(t *testing.T) {
	net := network(t, chain, "10.0.0.0/24 s1")
	x := &Exploration{Options: Options{Topology: net, Settings: batches(net, 0)}}
	x.Changes = []state.Change{{Kind: state.SetMembers, Bundle: int32(net.Index().Bundle["s1--e1"])}}
	found := explore(t, x)
	want := map[string]string{"e1": "", "b1": "e1 decides; b1 hears e1; b1 decides", "e3": "e1 decides; b1 hears e1; b1 decides; e3 hears b1; e3 decides"}
	for _, f := range found.Transients {
		name := net.Devices[f.At[0]].Name
		if got := x.Text(f.Schedule); f.Kind != state.Hole || got != want[name] {
			t.Errorf("%s at %s: got %q, want a black hole after %q", f.Kind, name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 || len(found.Ends) != 1 {
		t.Errorf("not found: %v; %d ends, want one", want, len(found.Ends))
	}
}
