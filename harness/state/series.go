package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// several are the bundles that the event names, each once.
func (e Event) several(ix *topologies.Index) ([]int32, error) {
	var list []int32
	for _, name := range strings.Split(e.Bundles, ",") {
		b, ok := ix.Bundle[name]
		if !ok {
			return nil, &FieldError{e.Kind, "bundles", name, "no such bundle in the topology"}
		}
		if slices.Contains(list, int32(b)) {
			return nil, &FieldError{e.Kind, "bundles", name, "given twice"}
		}
		list = append(list, int32(b))
	}
	return list, nil
}

// expandRamp goes to the first members at once, and then to the last ones in
// steps of equal time and of as many members as they divide into.
func (e Event) expandRamp(b int32, bundle topologies.Bundle) ([]Timed, error) {
	way := e.End - e.Start
	most := max(way, -way)
	for _, f := range []struct {
		name  string
		value int
	}{{"from", e.Start}, {"to", e.End}} {
		if f.value > bundle.Members {
			return nil, &FieldError{e.Kind, f.name, strconv.Itoa(f.value), fmt.Sprintf("want 0 to %d: bundle %q has %d", bundle.Members, bundle.Name, bundle.Members)}
		}
	}
	if way == 0 {
		return nil, &FieldError{e.Kind, "to", strconv.Itoa(e.End), "want other members than from"}
	}
	if e.Steps < 1 || e.Steps > most {
		return nil, &FieldError{e.Kind, "steps", strconv.Itoa(e.Steps), fmt.Sprintf("want 1 to %d: each step changes a member or more", most)}
	}
	list := []Timed{{0, Change{Bundle: b, Members: e.Start}}}
	for i := 1; i <= e.Steps; i++ {
		steps, n := time.Duration(e.Steps), time.Duration(i)
		at := e.Over/steps*n + e.Over%steps*n/steps
		list = append(list, Timed{at, Change{Bundle: b, Members: e.Start + way*i/e.Steps}})
	}
	return list, nil
}

// expandReplay has a change for each sample of the series.
func (e Event) expandReplay(b int32, bundle topologies.Bundle) ([]Timed, error) {
	series := []damping.Sample(nil)
	if e.Series != nil {
		series = *e.Series
	} else {
		var err error
		if series, err = damping.Recording(e.File); err != nil {
			return nil, &FieldError{e.Kind, "file", e.File, fmt.Sprintf("no series read, and not one of %s", strings.Join(damping.Recordings(), ", "))}
		}
	}
	if len(series) == 0 {
		return nil, &FieldError{e.Kind, "file", e.File, "no samples: want one or more"}
	}
	var list []Timed
	for i, s := range series {
		if s.Members < 0 || s.Members > bundle.Members {
			return nil, &FieldError{e.Kind, "file", e.File, fmt.Sprintf("sample %d: members %d: want 0 to %d: bundle %q has %d", i+1, s.Members, bundle.Members, bundle.Name, bundle.Members)}
		}
		if s.At < 0 || i > 0 && s.At <= series[i-1].At {
			return nil, &FieldError{e.Kind, "file", e.File, fmt.Sprintf("sample %d: time %v: want 0 or more, and rising", i+1, s.At)}
		}
		list = append(list, Timed{s.At, Change{Bundle: b, Members: s.Members}})
	}
	return list, nil
}
