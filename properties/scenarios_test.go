package properties

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// TestScenariosThatOnceBrokeARuleHold plays testdata/found, each file on a
// network of its own with all checks on. Each once ended in a false violation,
// in no-convergence, or in an error.
func TestScenariosThatOnceBrokeARuleHold(t *testing.T) {
	simOnly(t)
	files, err := filepath.Glob("testdata/found/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for i, file := range files {
		if brief() && i%4 > 0 {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := harness.ReadScenario(file, data)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, file, sc)
	}
}

// TestEmbeddedScenariosEndAsTheySay plays all but the large ones.
func TestEmbeddedScenariosEndAsTheySay(t *testing.T) {
	simOnly(t)
	large := []string{"prometheus", "group-exhaustion", "prometheus-spread", "hub-and-spoke", "dsf-nsf-mix"}
	exercised := map[string]int{}
	for i, name := range harness.Scenarios() {
		if brief() && i%3 > 0 {
			continue
		}
		if slices.Contains(large, name) {
			continue
		}
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		res := holds(t, name, sc)
		for _, o := range res.Outcomes {
			exercised[o.Name] += o.Exercised
			if o.Exercised == 0 && !conditional(o.Name) {
				t.Errorf("%s: %s was never put to the test", name, o.Name)
			}
		}
	}
	for name, n := range exercised {
		if n == 0 {
			t.Errorf("%s: never put to the test by any scenario", name)
		}
	}
}

func holds(t *testing.T, name string, sc *harness.Scenario) *state.Result {
	t.Helper()
	checks, note := watched(For(sc.Topology, sc.Events))
	res, err := harness.Run(context.Background(), sc.On(quickEngine()), harness.RunOptions{Checks: checks})
	if err := note(err); err != nil {
		t.Error(err)
	}
	if err != nil || res.Verdict != state.Held {
		t.Errorf("%s: got %v, %v", name, res.Verdict, err)
		for _, o := range res.Outcomes {
			for _, v := range o.Violations {
				t.Logf("%s: at %v, %s: %s", o.Name, v.Time, v.Where, v.Text)
			}
		}
	}
	return res
}

func TestTheScenarioOfTheREADMEIsRead(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md: no YAML example")
	}
	sc, err := harness.ReadScenario("README.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "README.md", sc)
}

// records keeps what a run tells its observer.
type records struct{ list []state.Record }

func (r *records) Progress(string, int, int) {}
func (r *records) Record(rec state.Record)   { r.list = append(r.list, rec) }

// Two runs of one scenario differ in real time alone: UPDATE counts, told values
// and verdicts are the same.
func TestRunsRepeatExactly(t *testing.T) {
	real := cmp.Options{
		cmpopts.IgnoreFields(state.Result{}, "Established", "Quiet", "Elapsed"),
		cmpopts.IgnoreFields(state.Row{}, "Quiet"), cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{}),
	}
	var first state.Result
	var heard records
	for i := range 2 {
		sc, err := harness.Embedded("first-light")
		if err != nil {
			t.Fatal(err)
		}
		var now records
		res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events), Observer: &now})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first, heard = *res, now
			continue
		}
		if diff := cmp.Diff(first, *res, real); diff != "" {
			t.Errorf("result of the second run: got + want -\n%s", diff)
		}
		if diff := cmp.Diff(heard.list, now.list, real); diff != "" {
			t.Errorf("records of the second run: got + want -\n%s", diff)
		}
	}
}
