package harness

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/sim"
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

// Where messages take time, an engine is quiet later than its first message was
// sent, and timers were due on the way; no time may be counted twice or left out.
func TestTimeThatMessagesTakeIsCountedOnce(t *testing.T) {
	small, err := os.ReadFile("../cmd/bagrig/testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(small), "events:")
	sc, err := ReadScenario("small.yaml", []byte("engine: sim\ndamping: {bundle: [holddown: {time: 100ms}]}\n"+text+
		"events:\n  - reset: {bundle: s1--e1, silent: true}\n  - grey: {bundle: s1--e1, loss: 0.5}\n  - reset: {bundle: s1--e1, at: 60s, silent: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), sc, RunOptions{Schedule: sim.Schedule{Mode: sim.Timed, Processing: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Virtual <= time.Minute {
		t.Errorf("got an end at %v, want messages to take time", res.Virtual)
	}
	if m := res.MisTold; math.Abs(m.Told-m.Now.Told*res.Virtual.Seconds()) > 1e-6*m.Told || m.Now.Told == 0 {
		t.Errorf("got %v bits told in %v, want %v bits/s all the time", m.Told, res.Virtual, m.Now.Told)
	}
	if lasts := (res.Virtual - res.Lost.Bundles[0].From).Seconds(); math.Abs(res.Lost.Seconds-lasts/2) > 1e-6 {
		t.Errorf("got %v s lost, want half of %v s", res.Lost.Seconds, lasts)
	}
}
