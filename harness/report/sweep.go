package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/harness/sweep"
)

// Sweep is what `bagrig sweep` found, in the form that it prints. Times are
// virtual seconds, areas bits, which are capacity-seconds.
type Sweep struct {
	Schema     int          `json:"schema"` // Schema
	Scenario   string       `json:"scenario"`
	Topology   string       `json:"topology"`
	Seed       uint64       `json:"seed"`
	Parameters []string     `json:"parameters"`
	GapS       float64      `json:"gap_s"`  // from an event's last change to the next event; 0 = the scenario's own times
	EndS       float64      `json:"end_s"`  // until then what is told wrong is counted, at every point
	Points     []SweepPoint `json:"points"` // those that were finished, ascending
	Planned    int          `json:"points_planned"`
}

// SweepPoint is what came of one point of the grid.
type SweepPoint struct {
	Point    int      `json:"point"`  // from 1
	Values   []string `json:"values"` // in the order of Sweep.Parameters
	Verdict  string   `json:"verdict"`
	NLRI     int      `json:"nlri"` // as Updates, of all events together
	Updates  int      `json:"updates"`
	Touched  int      `json:"touched"` // speakers that received an UPDATE, summed over the events
	Over     float64  `json:"over_bits"`
	Under    float64  `json:"under_bits"`
	MisTold  float64  `json:"mis_told_bits"` // Over and Under
	Undamped float64  `json:"undamped_bits"`
	Front    bool     `json:"front"` // of NLRI, Touched and MisTold
	VirtualS float64  `json:"virtual_s"`
	Folder   string   `json:"folder"`

	told MisTold
}

// NewSweep describes a sweep of which nothing has been run.
func NewSweep(plan *sweep.Plan) *Sweep {
	s := &Sweep{
		Schema: Schema, Scenario: plan.Scenario.Name, Topology: plan.Scenario.Topology.Summary(), Seed: plan.Scenario.Seed,
		GapS: plan.Gap.Seconds(), Planned: len(plan.Points), Points: []SweepPoint{},
	}
	for _, a := range plan.Axes {
		s.Parameters = append(s.Parameters, a.Key)
	}
	return s
}

// NewSweepPoint describes the run of one point, numbered from 1. The run must
// have reached its baseline.
func NewSweepPoint(number int, values []string, doc *Document) SweepPoint {
	p := SweepPoint{Point: number, Values: values, Verdict: string(doc.Verdict), VirtualS: doc.VirtualS, Folder: doc.Folder, told: *doc.MisTold}
	for _, e := range doc.Events {
		p.NLRI += e.Counters.NLRI
		p.Updates += e.Counters.Updates
		p.Touched += e.Touched
	}
	return p
}

// Finish sets the points that were run, ascending by number, and compares them.
// What is told wrong counts until the end of the longest run: a run that is over
// goes on as it ended.
func (s *Sweep) Finish(points []SweepPoint) {
	s.Points, s.EndS = points, 0
	for _, p := range points {
		s.EndS = max(s.EndS, p.VirtualS)
	}
	costs := make([][]float64, len(points))
	for i := range points {
		p := &points[i]
		more := s.EndS - p.VirtualS
		p.Over = p.told.Over + float64(more*p.told.OverRate)
		p.Under = p.told.Under + float64(more*p.told.UnderRate)
		p.Undamped = p.told.Told + float64(more*p.told.ToldRate)
		p.MisTold = p.Over + p.Under
		costs[i] = []float64{float64(p.NLRI), float64(p.Touched), p.MisTold}
	}
	for i, on := range sweep.Front(costs) {
		points[i].Front = on
	}
}

// Share is MisTold as a part of Undamped; 0 where that is 0.
func (p SweepPoint) Share() float64 {
	if p.Undamped == 0 {
		return 0
	}
	return p.MisTold / p.Undamped
}

// Title says in a line what was varied.
func (s *Sweep) Title() string {
	return fmt.Sprintf("%s over %s", strings.Join(s.Parameters, ", "), s.Scenario)
}

// JSON is the sweep as one object, with a line's end.
func (s *Sweep) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// CSV has a row for each point; areas in bits.
func (s *Sweep) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{append(append([]string{"point"}, s.Parameters...), "verdict", "nlri", "updates", "touched", "over_bits", "under_bits", "mis_told_bits", "undamped_bits", "front")}
	bits := func(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }
	for _, p := range s.Points {
		row := append([]string{strconv.Itoa(p.Point)}, p.Values...)
		rows = append(rows, append(row, p.Verdict, strconv.Itoa(p.NLRI), strconv.Itoa(p.Updates), strconv.Itoa(p.Touched),
			bits(p.Over), bits(p.Under), bits(p.MisTold), bits(p.Undamped), strconv.FormatBool(p.Front)))
	}
	err := w.WriteAll(rows)
	return b.String(), err
}

// Text is the sweep for people, in lines of at most so many characters; 0 = any
// number.
func (s *Sweep) Text(width int) string {
	columns := []column{{head: "#", right: true}}
	for _, name := range s.Parameters {
		columns = append(columns, column{head: name, right: true})
	}
	columns = append(columns, column{head: "NLRI", right: true}, column{head: "UPDATEs", right: true, drop: 1}, column{head: "touched", right: true},
		column{head: "too much", right: true, drop: 3}, column{head: "too little", right: true, drop: 3}, column{head: "mis-told", right: true}, column{head: "front"}, column{head: "verdict", drop: 2})
	var rows [][]string
	for _, p := range s.Points {
		front := ""
		if p.Front {
			front = "yes"
		}
		row := append([]string{strconv.Itoa(p.Point)}, p.Values...)
		rows = append(rows, append(row, strconv.Itoa(p.NLRI), strconv.Itoa(p.Updates), strconv.Itoa(p.Touched),
			shareOf(p.Over, p.Undamped), shareOf(p.Under, p.Undamped), fmt.Sprintf("%.4g bits", p.MisTold), front, p.Verdict))
	}
	text := fmt.Sprintf("%s: %s\n\n%s\n", s.Scenario, s.Topology, narrowTable(columns, rows, width))
	text += "mis-told: capacity-seconds told too much and too little, over all devices and prefixes, until " + fmt.Sprintf("%gs", s.EndS) + "\n"
	text += "front:    no other point has as little NLRI, touched and mis-told, and less of one\n"
	if missing := s.Planned - len(s.Points); missing > 0 {
		text += fmt.Sprintf("%d of %d points were not finished\n", missing, s.Planned)
	}
	return text
}

func shareOf(part, of float64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f %%", 100*part/of)
}
