package harness_test

import (
	"math"
	"testing"

	"github.com/bagrig/bagrig/harness"
)

// The figures are those of package oracle's test of the spread shape. Damping holds
// nothing back here and rounds up, so what is told is above 1 everywhere.
func TestARunShowsWhatItsSumsCountTwice(t *testing.T) {
	sc, err := harness.ReadScenario("spread.yaml", []byte(`topology: spread-mini
engine: sim
events:
  - degrade: {bundle: r2-f1-e1--r2-bag1, members: 16}
`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Run(t.Context(), sc, harness.RunOptions{})
	if err != nil || len(res.Overcount) != 4 {
		t.Fatalf("got %d rows, %v, want two of each moment", len(res.Overcount), err)
	}
	whole, undamped, damped := res.Overcount[0], res.Overcount[2], res.Overcount[3]
	if whole.Moment != "baseline" || whole.Damped || whole.Above != 0 {
		t.Errorf("at the baseline: got %+v, want nobody above 1", whole)
	}
	if undamped.Moment != "end" || undamped.Damped || undamped.Above != 24 || math.Abs(undamped.Worst-128.0/112) > 1e-6 || undamped.Device != "r1-f1-s1" {
		t.Errorf("at the end: got %+v, want 24 above 1, the worst 128 over 112", undamped)
	}
	if !damped.Damped || damped.Above <= undamped.Above || damped.Worst <= undamped.Worst {
		t.Errorf("at the end, as told: got %+v, want more than without damping", damped)
	}
}

// What the events undo is not told twice.
func TestNoOvercountAtTheEndWhereItIsThatOfTheBaseline(t *testing.T) {
	sc, err := harness.Embedded("drain-plane")
	if err != nil {
		t.Fatal(err)
	}
	sc.Engine = harness.Sim
	res, err := harness.Run(t.Context(), sc, harness.RunOptions{})
	if err != nil || len(res.Overcount) != 2 {
		t.Errorf("got %+v, %v, want the baseline alone", res.Overcount, err)
	}
}
