// Package plot draws what damping made of a series: the capacity that was
// there, the bottleneck value, the told value, and the windows in which
// something was kept back; and what a sweep found. It draws SVG and PNG and runs
// nothing.
//
//	trace, err := damping.Replay(pipeline, info, series, end)
//	err = plot.Trace(w, plot.SVG, "bag-default on noise-576", trace)
package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bagrig/bagrig/damping"
)

// Format is a file format.
type Format string

// The formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

const (
	width  = 26 * vg.Centimeter
	height = 12 * vg.Centimeter
	margin = 3 * vg.Millimeter
	beside = 52 * vg.Millimeter // for the legend; wide, since a viewer without the font takes a wider one

	// Below zero, as a share of the highest value, stand the strips that show
	// the windows.
	stripGap, stripHeight = 0.03, 0.035
)

// The colours are those of Okabe and Ito, which people who are colour blind tell
// apart.
var (
	thereColour      = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	bottleneckColour = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	toldColour       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	overColour       = color.NRGBA{0xd5, 0x5e, 0x00, 0x90}
	underColour      = color.NRGBA{0xf0, 0xe4, 0x42, 0xa0}
	heldColour       = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	withheldColour   = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
)

// Trace draws a trace from its first change to its end. The same trace gives the
// same bytes. A trace without changes is an error.
func Trace(w io.Writer, format Format, title string, t *damping.Trace) error {
	if len(t.Changes) == 0 {
		return fmt.Errorf("plot %q: a trace without changes", title)
	}
	s := scales(t)
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.Title.Padding = title, 3*vg.Millimeter
	p.X.Label.Text, p.Y.Label.Text = "time, "+s.time.name, "capacity, "+s.bits.name
	p.Add(plotter.NewGrid())
	if err := s.draw(p, &legend, t); err != nil {
		return fmt.Errorf("plot %q: %w", title, err)
	}
	file, err := draw.NewFormattedCanvas(width, height, string(format))
	if err != nil {
		return fmt.Errorf("plot %q: %w", title, err)
	}
	page(file, p, legend)
	_, err = file.WriteTo(w)
	return err
}

// page draws the plot with the legend beside it.
func page(file vg.CanvasSizer, p *plot.Plot, legend plot.Legend) {
	page := draw.New(file)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	page = draw.Crop(page, margin, -margin, margin, -margin)
	p.Draw(draw.Crop(page, 0, -beside, 0, 0))
	legend.Top, legend.Left, legend.Padding = true, true, vg.Millimeter
	legend.Draw(draw.Crop(page, width-beside, 0, 0, -8*vg.Millimeter))
}

// unit is what an axis counts in.
type unit struct {
	name string
	size float64
}

// scale turns time and bits/s into the numbers on the axes.
type scale struct {
	time, bits unit
	top        float64 // the highest value, in bits.size
}

func scales(t *damping.Trace) scale {
	top := uint64(1)
	for _, c := range t.Changes {
		top = max(top, c.There, c.Passed.Capacity, c.Told.Bits)
	}
	s := scale{time: unit{"s", float64(time.Second)}, bits: unit{"bit/s", 1}}
	for _, u := range []unit{{"min", float64(time.Minute)}, {"h", float64(time.Hour)}} {
		if float64(t.End) >= 5*u.size {
			s.time = u
		}
	}
	for _, u := range []unit{{"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}} {
		if float64(top) >= u.size {
			s.bits = u
		}
	}
	s.top = float64(top) / s.bits.size
	return s
}

func (s scale) at(t time.Duration) float64 { return float64(t) / s.time.size }

func (s scale) draw(p *plot.Plot, legend *plot.Legend, t *damping.Trace) error {
	there := s.steps(t, func(c damping.Change) uint64 { return c.There })
	passed := s.steps(t, func(c damping.Change) uint64 { return c.Passed.Capacity })
	told := s.steps(t, func(c damping.Change) uint64 { return c.Told.Bits })
	for _, a := range []struct {
		name   string
		colour color.Color
		upper  plotter.XYs
		lower  plotter.XYs
	}{{"told too much", overColour, told, there}, {"told too little", underColour, there, told}} {
		if err := area(p, legend, a.name, a.colour, a.upper, a.lower); err != nil {
			return err
		}
	}
	for i, l := range []struct {
		name   string
		colour color.Color
		points plotter.XYs
		dashes []vg.Length
	}{
		{"capacity", thereColour, there, nil},
		{"bottleneck value", bottleneckColour, passed, []vg.Length{vg.Points(4), vg.Points(2)}},
		{"told value", toldColour, told, nil},
	} {
		line, err := plotter.NewLine(l.points)
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = l.colour, l.dashes, vg.Points(0.8+0.3*float64(i))
		p.Add(line)
		legend.Add(l.name, line)
	}
	return s.strips(p, legend, t)
}

// steps is one value of the trace as a line of steps.
func (s scale) steps(t *damping.Trace, of func(damping.Change) uint64) plotter.XYs {
	var points plotter.XYs
	add := func(at time.Duration, y float64) { points = append(points, plotter.XY{X: s.at(at), Y: y}) }
	for _, c := range t.Changes {
		if n := len(points); n > 0 {
			add(c.At, points[n-1].Y)
		}
		add(c.At, float64(of(c))/s.bits.size)
	}
	add(t.End, points[len(points)-1].Y)
	return points
}

// area fills where upper lies above lower; both have the same X.
func area(p *plot.Plot, legend *plot.Legend, name string, colour color.Color, upper, lower plotter.XYs) error {
	var all []plotter.XYer
	for i := 0; i+1 < len(upper); i++ {
		x0, x1, low, high := upper[i].X, upper[i+1].X, lower[i].Y, upper[i].Y
		if x1 > x0 && high > low {
			all = append(all, rectangle(x0, x1, low, high))
		}
	}
	return fill(p, legend, name, colour, all)
}

func rectangle(x0, x1, y0, y1 float64) plotter.XYs {
	return plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

// fill draws shapes that do not overlap.
func fill(p *plot.Plot, legend *plot.Legend, name string, colour color.Color, shapes []plotter.XYer) error {
	if len(shapes) == 0 {
		return nil
	}
	polygon, err := plotter.NewPolygon(shapes...)
	if err != nil {
		return err
	}
	polygon.Color, polygon.LineStyle.Width = colour, 0
	p.Add(polygon)
	legend.Add(name, polygon)
	return nil
}

// strips draws the windows below zero, and keeps the axis free of negative
// numbers.
func (s scale) strips(p *plot.Plot, legend *plot.Legend, t *damping.Trace) error {
	bottom := 0.0
	for _, strip := range []struct {
		name    string
		colour  color.Color
		windows []damping.Window
	}{{"held back", heldColour, t.Held}, {"path withheld", withheldColour, t.Withheld}} {
		if len(strip.windows) == 0 {
			continue
		}
		high := bottom - stripGap*s.top
		bottom = high - stripHeight*s.top
		var shapes []plotter.XYer
		for _, w := range strip.windows {
			shapes = append(shapes, rectangle(s.at(w.From), s.at(w.To), bottom, high))
		}
		if err := fill(p, legend, strip.name, strip.colour, shapes); err != nil {
			return err
		}
	}
	p.Y.Min, p.Y.Max = bottom, 1.05*s.top
	p.X.Min, p.X.Max = s.at(t.Changes[0].At), math.Max(s.at(t.End), s.at(t.Changes[0].At)+1e-9)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(ticks), plot.TickerFunc(ticks)
	return nil
}

// ticks are at 1, 2 or 5 times a power of ten, at most eight of them, and none
// below zero.
func ticks(lo, hi float64) []plot.Tick {
	lo = max(lo, 0)
	step := math.Pow(10, math.Floor(math.Log10(hi-lo))) / 10
	for _, by := range []float64{2, 2.5, 2, 2, 2.5} {
		if (hi-lo)/step <= 8 {
			break
		}
		step *= by
	}
	var list []plot.Tick
	for n := math.Ceil(lo / step); n*step <= hi; n++ {
		list = append(list, plot.Tick{Value: n * step, Label: strconv.FormatFloat(n*step, 'g', 6, 64)})
	}
	return list
}
