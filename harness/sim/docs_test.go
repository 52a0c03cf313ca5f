package sim

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// transientsPage is the page whose table TestThePageHasWhatTheEngineFinds keeps.
const transientsPage = "../../docs/transients.md"

// shown is one row: what was done to prometheus-mini, in settled steps of which the
// last is looked at.
type shown struct {
	what   string
	linger time.Duration
	batch  time.Duration
	steps  func(e *Engine) [][]state.Change
}

func showns() []shown {
	const batch = topologies.DefaultRIBBatch
	drain := func(states ...topologies.DrainState) func(e *Engine) [][]state.Change {
		return func(e *Engine) (steps [][]state.Change) {
			for _, s := range states {
				steps = append(steps, []state.Change{{Kind: state.SetDrain, Device: deviceOf(e, "r1-bag1"), Drain: s}})
			}
			return steps
		}
	}
	bundles := func(name string, counts ...int) func(e *Engine) [][]state.Change {
		return func(e *Engine) (steps [][]state.Change) {
			for _, n := range counts {
				steps = append(steps, []state.Change{members(e, name, n)})
			}
			return steps
		}
	}
	return []shown{
		{"`down` of `r1-bag1--r2-bag1`", time.Second, batch, bundles("r1-bag1--r2-bag1", 0)},
		{"the same, batch 0", time.Second, 0, bundles("r1-bag1--r2-bag1", 0)},
		{"`up` of it", time.Second, batch, bundles("r1-bag1--r2-bag1", 0, 32)},
		{"`down` of `r1-f1-e1--r1-bag1`", time.Second, batch, bundles("r1-f1-e1--r1-bag1", 0)},
		{"`down` of `r1-f1-s1--r1-f1-e1`", time.Second, batch, bundles("r1-f1-s1--r1-f1-e1", 0)},
		{"`drain` of `r1-bag1`: warm, then drained", time.Second, batch, drain(topologies.Warm, topologies.Drained)},
		{"the same, linger 1 ms", time.Millisecond, batch, drain(topologies.Warm, topologies.Drained)},
		{"drained at once", time.Second, batch, drain(topologies.Drained)},
		{"drained at once, linger 500 ms", 500 * time.Millisecond, batch, drain(topologies.Drained)},
		{"drained at once, linger 200 ms", 200 * time.Millisecond, batch, drain(topologies.Drained)},
		{"drained at once, linger 1 ms", time.Millisecond, batch, drain(topologies.Drained)},
		{"live again", time.Second, batch, drain(topologies.Warm, topologies.Drained, topologies.Live)},
	}
}

// row plays one of them.
func (s shown) row(t *testing.T) string {
	net, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	settings := batches(net, s.batch)
	for i := range settings {
		settings[i].Linger = s.linger
	}
	e := settled(t, Options{Topology: net, Settings: settings, Schedule: Schedule{Mode: Timed, Processing: DefaultProcessing}})
	w := e.Watch()
	var from time.Duration
	for _, changes := range s.steps(e) {
		settle(t, e)
		w.Forget()
		from = e.Now()
		apply(t, e, changes...)
		settle(t, e)
	}
	list := w.List()
	_, instants := w.Instants()
	if len(list) == 0 {
		return fmt.Sprintf("| %s | 0 | 0 | | | | | | | %d |", s.what, instants.Holes+instants.Loops)
	}
	holes, loops, prefixes := 0, 0, map[int]bool{}
	first, last, longest := list[0].From, list[0].Until, list[0]
	at, of := map[int]bool{}, map[int]bool{}
	for _, x := range list {
		if x.Kind == state.Hole {
			holes++
		} else {
			loops++
		}
		prefixes[x.Prefix] = true
		last = max(last, x.Until)
		if x.Lasted() > longest.Lasted() {
			longest = x
		}
		for _, d := range x.At {
			at[d] = true
		}
		for _, d := range x.Loses {
			of[d] = true
		}
	}
	where, spines := map[string]int{}, 0
	for d, dev := range net.Devices {
		if at[d] {
			where[dev.Region+" "+dev.Role.String()+"s"]++
		}
		if of[d] && dev.Role == topologies.Spine {
			spines++
		}
	}
	var places []string
	for _, name := range slices.Sorted(maps.Keys(where)) {
		places = append(places, fmt.Sprintf("%d %s", where[name], name))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | [%v, %v) | %v | %s | %d | %d | %d |", s.what, holes, loops, len(prefixes),
		first-from, last-from, longest.Lasted(), strings.Join(places, ", "), len(of), spines, instants.Holes+instants.Loops)
}

// TestThePageHasWhatTheEngineFinds keeps the table of docs/transients.md;
// BAGRIG_UPDATE=1 writes it.
func TestThePageHasWhatTheEngineFinds(t *testing.T) {
	rows := []string{
		"| what | black holes | loops | prefixes | first to last | longest | at | devices that lose | spines of them | of no duration |",
		"|---|---|---|---|---|---|---|---|---|---|",
	}
	for _, s := range showns() {
		rows = append(rows, s.row(t))
	}
	const begin, end = "<!-- table -->\n", "<!-- end of table -->"
	data, err := os.ReadFile(transientsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: want a table between %q and %q", transientsPage, begin, end)
	}
	page := head + begin + strings.Join(rows, "\n") + "\n" + end + tail
	if page == string(data) {
		return
	}
	if os.Getenv("BAGRIG_UPDATE") == "" {
		t.Fatalf("%s is not what the engine finds: run with BAGRIG_UPDATE=1; got\n%s", transientsPage, strings.Join(rows, "\n"))
	}
	if err := os.WriteFile(transientsPage, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
