// Package sweep varies the damping of a scenario over a grid of parameters and
// compares what comes of it: it gives each point of the grid as a scenario of its
// own, and the Pareto front of the results. It runs nothing.
//
//	axis, err := sweep.ParseAxis("holddown.time=10s,30s,2m")
//	plan, err := sweep.New("first-light", sweep.Options{Axes: []sweep.Axis{axis}})
//	plan.Points[0].Source // YAML, for harness.ReadScenario
package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// MaxPoints is the most points that a grid may have.
const MaxPoints = 1000

// Axis is one parameter of a damping stage and the values that it takes.
type Axis struct {
	Key    string   // stage.parameter, as the damping of a scenario names them
	Values []string // as there, such as 30s or 10%
}

// ParseAxis reads KEY=V1,V2,...; the error quotes what is wrong with it. Whether
// there is such a parameter, and whether it may have the values, shows in New.
func ParseAxis(text string) (Axis, error) {
	key, values, ok := strings.Cut(text, "=")
	stage, parameter, dotted := strings.Cut(key, ".")
	if !ok || !dotted || stage == "" || parameter == "" {
		return Axis{}, fmt.Errorf("%q: want STAGE.PARAMETER=VALUE,VALUE,..., such as holddown.time=10s,30s", text)
	}
	a := Axis{Key: key, Values: strings.Split(values, ",")}
	for i, v := range a.Values {
		if v == "" {
			return Axis{}, fmt.Errorf("%q: value %d is empty", text, i+1)
		}
		if slices.Contains(a.Values[:i], v) {
			return Axis{}, fmt.Errorf("%q: value %q is given twice", text, v)
		}
	}
	return a, nil
}

// Grid gives the values of all points, one by axis; the last axis varies
// fastest. A key that is given twice is an error, and so are no axes and more
// than MaxPoints points.
func Grid(axes []Axis) ([][]string, error) {
	if len(axes) == 0 {
		return nil, fmt.Errorf("nothing to vary: want one key or more")
	}
	points := [][]string{nil}
	for i, a := range axes {
		if slices.ContainsFunc(axes[:i], func(b Axis) bool { return b.Key == a.Key }) {
			return nil, fmt.Errorf("key %q: given twice", a.Key)
		}
		if len(points)*len(a.Values) > MaxPoints {
			return nil, fmt.Errorf("key %q: more than %d points with its %d values", a.Key, MaxPoints, len(a.Values))
		}
		var next [][]string
		for _, p := range points {
			for _, v := range a.Values {
				next = append(next, append(slices.Clip(p), v))
			}
		}
		points = next
	}
	return points, nil
}

// Front tells which of the costs are on the Pareto front: none of the others is
// as low in everything and lower in something. Of equal ones all are. All must
// have the same number of costs.
func Front(costs [][]float64) []bool {
	front := make([]bool, len(costs))
	for i, c := range costs {
		front[i] = !slices.ContainsFunc(costs, func(other []float64) bool { return dominates(other, c) })
	}
	return front
}

func dominates(a, b []float64) bool {
	lower := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		lower = lower || a[i] < b[i]
	}
	return lower
}
