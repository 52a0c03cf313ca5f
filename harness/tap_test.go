package harness

import (
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/topologies"
)

// passing is a tap that changes nothing.
type passing struct{ sim.Passing }

func (t passing) Clone() sim.Tap { return t }

func TestOnlyTheSimulatorHasATap(t *testing.T) {
	sc, err := Embedded("first-light")
	if err != nil {
		t.Fatal(err)
	}
	tap := func(*topologies.Topology) sim.Tap { return passing{} }
	if _, err := Run(t.Context(), sc.On(Sim), RunOptions{Tap: tap}); err != nil {
		t.Error(err)
	}
	const want = `engine "gobgp": it has a tap: want "sim"`
	if _, err := Run(t.Context(), sc.On(GoBGP), RunOptions{Tap: tap}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
