package harness

import (
	"context"
	"math"
	"os"
	"testing"
)

// The edge of a net of one bundle tells its one prefix; its neighbour is the
// origin and tells the same all the time.
func TestWhatIsToldWrongIsRateTimesTime(t *testing.T) {
	small, err := os.ReadFile("../cmd/bagrig/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for damping, want := range map[string]struct{ over, under float64 }{
		"none": {0, 0},
		// Back from 2 of 4 members of 800G, the fall of 1.6T is told for 30 s more.
		"openconfig": {0, 1.6e12 * 30},
	} {
		source := append([]byte("damping: "+damping+"\n"), small...)
		source = append(source, "  - restore: {bundle: s1--e1, at: 60s}\n"...)
		sc, err := ReadScenario("small.yaml", source)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), sc, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := res.MisTold
		near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-6*want } // told values are float32
		if m == nil || !near(m.Over, want.over) || !near(m.Under, want.under) || m.Now.Over != 0 || m.Now.Under != 0 {
			t.Errorf("%s: got %+v, want %+v and nothing wrong at the end", damping, m, want)
		}
	}
}
