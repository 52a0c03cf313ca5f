package properties

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// TestScenariosThatOnceBrokeARuleHold plays testdata/found, each file on a
// network of its own with all checks on. Each once ended in a false violation,
// in no-convergence, or in an error.
func TestScenariosThatOnceBrokeARuleHold(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
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
	for _, name := range harness.Scenarios() {
		if name == "prometheus" || name == "group-exhaustion" {
			continue
		}
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		res := holds(t, name, sc)
		for _, o := range res.Outcomes {
			if o.Exercised == 0 {
				t.Errorf("%s: %s was never put to the test", name, o.Name)
			}
		}
	}
}

func holds(t *testing.T, name string, sc *harness.Scenario) *state.Result {
	t.Helper()
	res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: For(sc.Topology, sc.Events)})
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
