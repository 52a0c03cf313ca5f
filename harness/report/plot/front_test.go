package plot

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness/report"
)

func TestAFrontIsDrawnWithTheNumbersOfItsPoints(t *testing.T) {
	s := &report.Sweep{Scenario: "flap-day", Parameters: []string{"holddown.time"}, Points: []report.SweepPoint{
		{Point: 1, NLRI: 53760, MisTold: 0, Undamped: 1e15, Front: true}, {Point: 22, NLRI: 112, MisTold: 3e14, Undamped: 1e15, Front: true},
		{Point: 333, NLRI: 112, MisTold: 4e14, Undamped: 1e15},
	}}
	var a, b bytes.Buffer
	if err := Front(&a, SVG, s); err != nil {
		t.Fatal(err)
	}
	got := texts(t, a.Bytes())
	for _, want := range []string{"holddown.time over flap-day", "churn, NLRI", "mis-told", "Pareto front", "other points", "22", "333"} {
		if !strings.Contains(got, want) {
			t.Errorf("got texts %s, want %q among them", got, want)
		}
	}
	if err := Front(&b, SVG, s); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("the same sweep: got %d and %d bytes that differ, %v", a.Len(), b.Len(), err)
	}
	// Nothing told and nothing told wrong: the axes still have a length.
	s.Points = []report.SweepPoint{{Point: 1, Front: true}}
	if err := Front(io.Discard, PNG, s); err != nil {
		t.Error(err)
	}
	s.Points = nil
	if err := Front(io.Discard, SVG, s); err == nil || !strings.Contains(err.Error(), "without points") {
		t.Errorf("no points: got %v", err)
	}
}
