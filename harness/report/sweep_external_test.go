package report_test

import (
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/sweep"
)

// sweepOf is a sweep with one point for each run.
func sweepOf(t *testing.T, docs ...*report.Document) *report.Sweep {
	t.Helper()
	sc, err := harness.Embedded("first-light")
	if err != nil {
		t.Fatal(err)
	}
	s := report.NewSweep(&sweep.Plan{Scenario: sc, Axes: []sweep.Axis{{Key: "holddown.time"}}, Points: make([]sweep.Point, 3)})
	var points []report.SweepPoint
	for i, doc := range docs {
		points = append(points, report.NewSweepPoint(i+1, []string{strings.Repeat("1", i+1) + "s"}, doc))
	}
	s.Finish(points)
	return s
}

func TestAllPointsOfASweepCountUntilTheSameEnd(t *testing.T) {
	event := func(nlri, touched int) report.Event {
		return report.Event{Counters: report.Counters{NLRI: nlri, Updates: nlri}, Touched: touched}
	}
	short := &report.Document{
		Verdict: state.Held, VirtualS: 10, Events: []report.Event{event(5, 2), event(7, 3)},
		MisTold: &report.MisTold{Over: 100, Under: 10, Told: 1000, OverRate: 3, UnderRate: 1, ToldRate: 50},
	}
	long := &report.Document{Verdict: state.Held, VirtualS: 30, Events: []report.Event{event(20, 4)}, MisTold: &report.MisTold{Over: 300, Told: 2000}}
	s := sweepOf(t, short, long)
	a, b := s.Points[0], s.Points[1]
	if s.EndS != 30 || a.Over != 160 || a.Under != 30 || a.Undamped != 2000 || a.MisTold != 190 || a.Share() != 0.095 || b.MisTold != 300 {
		t.Errorf("got end %g, %+v and %+v", s.EndS, a, b)
	}
	if a.NLRI != 12 || a.Touched != 5 || b.NLRI != 20 || b.Touched != 4 || !a.Front || !b.Front {
		t.Errorf("got %+v and %+v, want sums over the events, and both on the front: one touches less", a, b)
	}
	if text := s.Text(0); !strings.Contains(text, "until 30s") || !strings.Contains(text, "1 of 3 points were not finished") {
		t.Errorf("got\n%s", text)
	}
	for line := range strings.Lines(s.Text(60)) {
		if strings.Contains(line, "holddown") && len(line) > 61 {
			t.Errorf("in 60 columns: got %d: %s", len(line), line)
		}
	}
	if empty := sweepOf(t); len(empty.Points) != 0 || empty.EndS != 0 {
		t.Errorf("nothing was run: got %+v", empty)
	}
}
