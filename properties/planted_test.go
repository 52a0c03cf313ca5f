package properties

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties/generate"
	"github.com/bagrig/bagrig/speakers"
)

// planted is a fault that is put into a running network, to see whether any rule
// finds it. Its functions stand at the simulator's edges (sim.Tap); a plant changes what
// the scenario has its network made of. Any may be nil.
type planted struct {
	name, layer string
	means       string // the real bug that it stands for

	hears    func(x *tapped, d int, core *speakers.Core, in []speakers.Input) []speakers.Input
	does     func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect
	carries  func(x *tapped, m sim.Message) []sim.Message
	forwards func(x *tapped, d, p int, entry fib.Entry) fib.Entry
	reports  func(x *tapped, d int, audit fib.Audit) fib.Audit
	plant    func(sc *harness.Scenario, sound bool) // sound: what it takes for the fault to show, without the fault
}

func allPlanted() (list []planted) {
	for _, layer := range []struct {
		name   string
		faults []planted
	}{
		{"core", faultsOfTheCore()}, {"damping", faultsOfTheDamping()}, {"hardware", faultsOfTheHardware()},
		{"wire", faultsOfTheWire()}, {"codec", faultsOfTheCodec()},
	} {
		for _, f := range layer.faults {
			f.layer = layer.name
			list = append(list, f)
		}
	}
	return list
}

// plantedSeed is the seed of the cases among which faults are looked for, and the
// budgets are those of the quick suite and of the nightly.
const (
	plantedSeed                  = 8
	plantedQuick, plantedNightly = 2000, 20_000
	plantedPart                  = 0.95
	leastPlanted                 = 30
)

// plantedCase is the case of that number.
func plantedCase(number int) *harness.Scenario {
	return generate.Case(generate.FromRand(rand.New(rand.NewPCG(plantedSeed, uint64(number)))), generate.Limits{})
}

// violated are the rules that a run with the fault violates.
func (f *planted) violated(ctx context.Context, sc *harness.Scenario) []string {
	return f.run(ctx, sc, false, f.tap)
}

// soundly are the rules that the same run violates without the fault.
func (f *planted) soundly(ctx context.Context, sc *harness.Scenario) []string {
	return f.run(ctx, sc, true, nil)
}

// run plays the scenario with what the fault plants, by the rules that can judge it where
// all is sound.
func (f *planted) run(ctx context.Context, sc *harness.Scenario, sound bool, tap sim.NewTap) []string {
	with := func(sound bool) *harness.Scenario {
		if f.plant == nil {
			return sc
		}
		made := *sc
		made.Hardware = slices.Clone(sc.Hardware)
		f.plant(&made, sound)
		return &made
	}
	played, unjudged := with(sound), generate.Unjudged(with(true))
	checks := slices.DeleteFunc(For(played.Topology, played.Events), func(c state.Check) bool { return slices.Contains(unjudged, c.Name()) })
	res, err := harness.Run(ctx, played, harness.RunOptions{Tap: tap, Checks: checks})
	return shrink.Failures(res, err)
}

// shows are the rules that the fault violates in a scenario, and that hold there
// without it.
func (f *planted) shows(ctx context.Context, sc *harness.Scenario) []string {
	rules := f.violated(ctx, sc)
	if len(rules) == 0 {
		return nil
	}
	without := f.soundly(ctx, sc)
	return slices.DeleteFunc(rules, func(rule string) bool { return slices.Contains(without, rule) })
}

// fails is what the shrinker asks: whether the fault still violates that rule.
func (f *planted) fails(want string) shrink.Fails {
	return func(ctx context.Context, sc *harness.Scenario) (string, bool) {
		return want, slices.Contains(f.shows(ctx, sc), want) && ctx.Err() == nil
	}
}

// plantedRow is a row of the table: where a fault was found.
type plantedRow struct {
	layer, name, means string
	rules              []string // that are violated, the first of them what it is shrunk for; empty = not found
	cases              int      // until it was found
	size               shrink.Size
}

func (r plantedRow) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %d, %d |\n", r.layer, r.name, r.means, strings.Join(r.rules, " · "), r.cases, r.size.Events, r.size.Devices)
}

// plantedTries is how many scenarios are tried to shrink one fault.
const plantedTries = 600

// search looks for the first case that shows the fault and shrinks it.
func (f *planted) search(t *testing.T) plantedRow {
	row := plantedRow{layer: f.layer, name: f.name, means: f.means}
	for i := range plantedNightly {
		sc := plantedCase(i)
		if row.rules = f.shows(t.Context(), sc); len(row.rules) == 0 {
			continue
		}
		row.cases = i + 1
		res, err := shrink.Shrink(t.Context(), sc, f.fails(row.rules[0]), shrink.Options{Tries: plantedTries})
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			return row
		}
		row.size = shrink.SizeOf(res.Scenario)
		t.Logf("%s: case %d: %s", f.name, i, res.How())
		return row
	}
	t.Errorf("%s: not found in %d cases", f.name, plantedNightly)
	return row
}

// plantedPage holds the table of where each fault was found.
const plantedPage = "../docs/faults.md"

// plantedTable reads the rows of the page.
func plantedTable(t *testing.T) (rows []plantedRow) {
	t.Helper()
	text, err := os.ReadFile(plantedPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), tableBegins)
	table, _, ok := strings.Cut(rest, tableEnds)
	if !ok {
		t.Fatalf("%s: no table between the marks", plantedPage)
	}
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 6 || cells[0] == "layer" {
			continue
		}
		r := plantedRow{layer: cells[0], name: cells[1], means: cells[2], rules: strings.Split(cells[3], " · ")}
		if _, err := fmt.Sscanf(cells[4]+" "+cells[5], "%d %d, %d", &r.cases, &r.size.Events, &r.size.Devices); err != nil || r.String() != line+"\n" {
			t.Fatalf("%s: row %q: %v, want %q", plantedPage, line, err, r)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestEveryPlantedFaultIsFoundWhereThePageSays plays the case in which each fault was
// found, with the fault and without. BAGRIG_LONG=1 looks for them all again and compares
// the table; by its name, BAGRIG_UPDATE=1 writes it.
func TestEveryPlantedFaultIsFoundWhereThePageSays(t *testing.T) {
	faults := allPlanted()
	if os.Getenv("BAGRIG_LONG") != "" || os.Getenv("BAGRIG_UPDATE") != "" {
		keepTable(t, plantedPage, plantedText(searchAll(t, faults)))
	}
	rows := plantedTable(t)
	if len(rows) != len(faults) {
		t.Fatalf("%s has %d faults, the test %d", plantedPage, len(rows), len(faults))
	}
	quick, small := 0, 0
	for i, r := range rows {
		f := &faults[i]
		if f.name != r.name || f.layer != r.layer || f.means != r.means || r.cases > plantedNightly || r.cases < 1 {
			t.Errorf("%s: row %q: want fault %q of the %s, found in 1 to %d cases", plantedPage, r, f.name, f.layer, plantedNightly)
			continue
		}
		quick += count(r.cases <= plantedQuick)
		small += count(r.size.Events <= wantedEvents && r.size.Devices <= wantedDevices)
		if brief() && i%6 > 0 {
			continue
		}
		if got := f.shows(t.Context(), plantedCase(r.cases-1)); !slices.Contains(got, r.rules[0]) {
			t.Errorf("%s: case %d violates %q, want %q as the page has it; if cases are drawn otherwise now, BAGRIG_UPDATE=1 writes the page anew", f.name, r.cases, got, r.rules[0])
		}
	}
	if part := float64(quick) / float64(len(rows)); part < plantedPart || len(rows) < leastPlanted {
		t.Errorf("%d of %d faults are found in %d cases, want %d faults or more and %.0f %% of them", quick, len(rows), plantedQuick, leastPlanted, 100*plantedPart)
	}
	if part := float64(small) / float64(len(rows)); part < wantedPart {
		t.Errorf("%d of %d faults have at most %d events and %d devices left, want %.0f %%", small, len(rows), wantedEvents, wantedDevices, 100*wantedPart)
	}
}

// searchAll searches for all faults, two at a time; the rows are in their order.
func searchAll(t *testing.T, faults []planted) []plantedRow {
	t.Helper()
	rows, next := make([]plantedRow, len(faults)), make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range next {
				rows[i] = faults[i].search(t)
			}
		})
	}
	for i := range faults {
		next <- i
	}
	close(next)
	wg.Wait()
	return rows
}

// plantedText is the table with what it comes to.
func plantedText(rows []plantedRow) string {
	var b strings.Builder
	b.WriteString("| layer | fault | what it stands for | rules that it violates, the first of them shrunk | cases until found | events, devices left |\n|---|---|---|---|---|---|\n")
	quick, small := 0, 0
	for _, r := range rows {
		b.WriteString(r.String())
		quick += count(r.cases > 0 && r.cases <= plantedQuick)
		small += count(r.cases > 0 && r.size.Events <= wantedEvents && r.size.Devices <= wantedDevices)
	}
	fmt.Fprintf(&b, "\n%d of %d are found within %d cases; %d of %d have at most %d events and %d devices left.\n", quick, len(rows), plantedQuick, small, len(rows), wantedEvents, wantedDevices)
	return b.String()
}
