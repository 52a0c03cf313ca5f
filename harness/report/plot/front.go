package plot

import (
	"fmt"
	"io"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bagrig/bagrig/harness/report"
)

// Front draws the points of a sweep, churn against what is told wrong, those of
// its Pareto front apart, each with its number. The same sweep gives the same
// bytes. A sweep without points is an error.
func Front(w io.Writer, format Format, s *report.Sweep) error {
	if len(s.Points) == 0 {
		return fmt.Errorf("plot %q: a sweep without points", s.Title())
	}
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.Title.Padding = s.Title(), 3*vg.Millimeter
	p.X.Label.Text, p.Y.Label.Text = "churn, NLRI", "mis-told capacity-seconds, %"
	p.Add(plotter.NewGrid())
	if err := points(p, &legend, s); err != nil {
		return fmt.Errorf("plot %q: %w", s.Title(), err)
	}
	file, err := draw.NewFormattedCanvas(width, height, string(format))
	if err != nil {
		return fmt.Errorf("plot %q: %w", s.Title(), err)
	}
	page(file, p, legend)
	_, err = file.WriteTo(w)
	return err
}

// points draws the front over the rest.
func points(p *plot.Plot, legend *plot.Legend, s *report.Sweep) error {
	for _, group := range []struct {
		name  string
		front bool
		style draw.GlyphStyle
		below vg.Length // of the numbers, so that those of near points stand apart
	}{
		{"other points", false, draw.GlyphStyle{Color: thereColour, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}, 12},
		{"Pareto front", true, draw.GlyphStyle{Color: toldColour, Radius: vg.Points(4), Shape: draw.CircleGlyph{}}, 0},
	} {
		all := plotter.XYLabels{}
		for _, point := range s.Points {
			if point.Front == group.front {
				all.XYs = append(all.XYs, plotter.XY{X: float64(point.NLRI), Y: 100 * point.Share()})
				all.Labels = append(all.Labels, strconv.Itoa(point.Point))
			}
		}
		if len(all.XYs) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(all)
		if err != nil {
			return err
		}
		labels, err := plotter.NewLabels(all)
		if err != nil {
			return err
		}
		scatter.GlyphStyle, labels.Offset = group.style, vg.Point{X: vg.Points(5), Y: vg.Points(3) - group.below}
		p.Add(scatter, labels)
		legend.Add(group.name, scatter)
	}
	p.X.Min, p.Y.Min = 0, 0
	p.X.Max, p.Y.Max = max(p.X.Max*1.05, 1), max(p.Y.Max*1.05, 1e-9)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	return nil
}
