package sweep

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestAnAxisIsAKeyAndItsValues(t *testing.T) {
	got, err := ParseAxis("holddown.time=0s,30s,5m")
	if d := cmp.Diff(got, Axis{"holddown.time", []string{"0s", "30s", "5m"}}); d != "" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"holddown.time":        `"holddown.time": want STAGE.PARAMETER=`,
		"holddown=3s":          `"holddown=3s": want STAGE.PARAMETER=`,
		".time=3s":             "want STAGE.PARAMETER=",
		"holddown.=3s":         "want STAGE.PARAMETER=",
		"holddown.time=":       "value 1 is empty",
		"holddown.time=3s,":    "value 2 is empty",
		"holddown.time=3s,3s":  `value "3s" is given twice`,
		"":                     "want STAGE.PARAMETER=",
		"holddown.time=1s,,2s": "value 2 is empty",
	} {
		if _, err := ParseAxis(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", text, err, want)
		}
	}
}

func TestAGridHasEveryCombinationOnce(t *testing.T) {
	a, b := Axis{"a.x", []string{"1", "2"}}, Axis{"b.y", []string{"3", "4", "5"}}
	got, err := Grid([]Axis{a, b})
	want := [][]string{{"1", "3"}, {"1", "4"}, {"1", "5"}, {"2", "3"}, {"2", "4"}, {"2", "5"}}
	if d := cmp.Diff(got, want); d != "" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	many := Axis{Key: "c.z"}
	for i := range MaxPoints {
		many.Values = append(many.Values, fmt.Sprint(i))
	}
	if got, err := Grid([]Axis{many}); len(got) != MaxPoints || err != nil {
		t.Errorf("got %d points, %v, want %d", len(got), err, MaxPoints)
	}
	for want, axes := range map[string][]Axis{
		"nothing to vary":                             nil,
		`key "a.x": given twice`:                      {a, b, a},
		`key "c.z": more than 1000 points with its 1`: {a, many},
	} {
		if _, err := Grid(axes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestTheFrontOfKnownCosts(t *testing.T) {
	for name, c := range map[string]struct {
		costs [][]float64
		want  []bool
	}{
		"none":                   {nil, []bool{}},
		"one":                    {[][]float64{{3, 3}}, []bool{true}},
		"equal ones":             {[][]float64{{3, 3}, {3, 3}}, []bool{true, true}},
		"a trade":                {[][]float64{{1, 3}, {2, 2}, {3, 1}}, []bool{true, true, true}},
		"worse in one":           {[][]float64{{1, 3}, {1, 4}}, []bool{true, false}},
		"worse in all":           {[][]float64{{5, 5, 5}, {1, 2, 3}}, []bool{false, true}},
		"between on a line":      {[][]float64{{0, 2}, {1, 1.5}, {2, 0}}, []bool{true, true, true}},
		"a third cost that wins": {[][]float64{{1, 1, 9}, {1, 1, 8}, {2, 2, 1}}, []bool{false, true, true}},
	} {
		if d := cmp.Diff(Front(c.costs), c.want); d != "" {
			t.Errorf("%s: -got +want\n%s", name, d)
		}
	}
}

func TestNoPointOfTheFrontIsDominatedAndEveryOtherIsByOneOfIt(t *testing.T) {
	properties := gopter.NewProperties(nil)
	cost := gen.SliceOfN(3, gen.IntRange(0, 4).Map(func(n int) float64 { return float64(n) }))
	// The rule as it is defined, without dominates.
	beats := func(a, b []float64) bool {
		return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2] && a[0]+a[1]+a[2] < b[0]+b[1]+b[2]
	}
	properties.Property("front", prop.ForAll(func(costs [][]float64) bool {
		front := Front(costs)
		for i := range costs {
			beaten, byFront := false, false
			for j := range costs {
				beaten = beaten || beats(costs[j], costs[i])
				byFront = byFront || front[j] && beats(costs[j], costs[i])
			}
			if front[i] == beaten || front[i] == byFront {
				return false
			}
		}
		return len(front) == len(costs)
	}, gen.SliceOf(cost)))
	properties.TestingRun(t)
}
