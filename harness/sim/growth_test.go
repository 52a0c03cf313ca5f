package sim

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// grown is what the first convergence of one network takes.
type grown struct {
	series   string // what grows: speakers or prefixes
	speakers int
	prefixes int
	entries  int
	user     float64 // seconds, the mean of several runs
	live     float64 // MiB, the least
}

// growth are networks of one shape, eight planes and 16 spines a fabric, so that a
// speaker has as many neighbours in all of them but the smallest.
func measureGrowth(t *testing.T) []grown {
	t.Helper()
	var list []grown
	measure := func(series string, regions, fabrics, prefixes int) {
		topology := planar(t, regions, 8, fabrics, 16, prefixes)
		g := grown{series: series, speakers: len(topology.Devices), prefixes: prefixes, live: math.Inf(1)}
		runs := max(2, min(40, 4000/g.speakers)) // since the system counts CPU time in steps of milliseconds
		for range runs {
			e, c := converge(t, topology)
			g.user, g.live = g.user+c.user.Seconds()/float64(runs), min(g.live, float64(c.resident)/(1<<20))
			g.entries = c.entries
			runtime.KeepAlive(e)
		}
		list = append(list, g)
	}
	for _, n := range [][2]int{{1, 2}, {1, 4}, {1, 8}, {1, 16}, {2, 16}, {4, 16}, {8, 16}, {16, 16}, {26, 16}} {
		measure("speakers", n[0], n[1], 32)
	}
	for prefixes := 16; prefixes <= 1024; prefixes *= 2 {
		measure("prefixes", 4, 16, prefixes)
	}
	return list
}

// exponent is the slope of the straight line that fits the points best where both
// axes are logarithmic: y grows as x to that power.
func exponent(points plotter.XYs) float64 {
	var x, y, xx, xy float64
	for _, p := range points {
		a, b := math.Log(p.X), math.Log(p.Y)
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	n := float64(len(points))
	return (n*xy - x*y) / (n*xx - x*x)
}

const growthFolder = "../../docs/plots"

var growthHeader = []string{"grows", "speakers", "prefixes", "entries", "user_seconds", "live_mib"}

func writeGrowth(list []grown) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(growthHeader)
	for _, g := range list {
		_ = w.Write([]string{
			g.series, strconv.Itoa(g.speakers), strconv.Itoa(g.prefixes), strconv.Itoa(g.entries),
			strconv.FormatFloat(g.user, 'f', 4, 64), strconv.FormatFloat(g.live, 'f', 2, 64),
		})
	}
	w.Flush()
	return out.Bytes()
}

func readGrowth(t *testing.T) (list []grown) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(growthFolder, "sim-cost.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		g := grown{series: row[0]}
		for i, to := range []*int{&g.speakers, &g.prefixes, &g.entries} {
			if *to, err = strconv.Atoi(row[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		for i, to := range []*float64{&g.user, &g.live} {
			if *to, err = strconv.ParseFloat(row[i+4], 64); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, g)
	}
	return list
}

// points are the figures of a series.
func points(list []grown, series string, y func(grown) float64) (p plotter.XYs) {
	for _, g := range list {
		if g.series != series {
			continue
		}
		x := g.speakers
		if series == "prefixes" {
			x = g.prefixes
		}
		p = append(p, plotter.XY{X: float64(x), Y: y(g)})
	}
	return p
}

func userSeconds(g grown) float64 { return g.user }
func liveMiB(g grown) float64     { return g.live }

// growthChart draws four panels: time and memory, against speakers and prefixes.
func growthChart(list []grown) ([]byte, error) {
	canvas := vgsvg.New(18*vg.Centimeter, 14*vg.Centimeter)
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Millimeter * 6, PadY: vg.Millimeter * 6, PadTop: vg.Millimeter * 2, PadRight: vg.Millimeter * 6}
	panels := make([][]*plot.Plot, 2)
	for row, y := range []struct {
		label string
		of    func(grown) float64
	}{{"user CPU, s", userSeconds}, {"live heap, MiB", liveMiB}} {
		for _, series := range []string{"speakers", "prefixes"} {
			p := plot.New()
			xy := points(list, series, y.of)
			p.Title.Text = fmt.Sprintf("grows as %s^%.2f", series, exponent(xy))
			p.X.Label.Text, p.Y.Label.Text = series, y.label
			for _, axis := range []*plot.Axis{&p.X, &p.Y} {
				axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
			}
			line, dots, err := plotter.NewLinePoints(xy)
			if err != nil {
				return nil, err
			}
			p.Add(plotter.NewGrid(), line, dots)
			panels[row] = append(panels[row], p)
		}
	}
	for row, line := range plot.Align(panels, tiles, draw.New(canvas)) {
		for col, at := range line {
			panels[row][col].Draw(at)
		}
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

// With BAGRIG_UPDATE=1 the chart is drawn anew, and with BAGRIG_UPDATE=measure the
// figures are measured anew first, which takes minutes.
func TestTheChartAndThePageOfCostAreOfTheFiguresMeasured(t *testing.T) {
	update, measure := os.Getenv("BAGRIG_UPDATE") != "", os.Getenv("BAGRIG_UPDATE") == "measure"
	figures, chart := filepath.Join(growthFolder, "sim-cost.csv"), filepath.Join(growthFolder, "sim-cost.svg")
	if measure {
		if err := os.WriteFile(figures, writeGrowth(measureGrowth(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := readGrowth(t)
	want, err := growthChart(list)
	if err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(chart, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(chart)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not the chart of %s: run this test with BAGRIG_UPDATE=1", chart, figures)
	}
	page, err := os.ReadFile("../../docs/sim-cost.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{"speakers", "prefixes"} {
		line := fmt.Sprintf("| %s | %.2f | %.2f |", series, exponent(points(list, series, userSeconds)), exponent(points(list, series, liveMiB)))
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/sim-cost.md lacks the line of the exponents that the figures have: %s", line)
		}
	}
}

func TestAnExponentIsThatOfThePower(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 2.25} {
		var p plotter.XYs
		for x := 1.0; x < 100; x *= 3 {
			p = append(p, plotter.XY{X: x, Y: 7 * math.Pow(x, want)})
		}
		if got := exponent(p); math.Abs(got-want) > 1e-9 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
