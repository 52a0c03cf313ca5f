package properties

import (
	"context"
	"os"
	"testing"

	"github.com/bagrig/bagrig/harness"
)

func TestTmp(t *testing.T) {
	name := os.Getenv("SC")
	if name == "" {
		name = "first-light"
	}
	sc, err := harness.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	checks := All()
	res, err := harness.Run(context.Background(), sc, harness.RunOptions{Checks: checks})
	t.Log(res.Topology, res.Established, res.Quiet, res.Elapsed, res.Verdict, err)
	for _, o := range res.Outcomes {
		t.Logf("%-34s ex %8d worst %8.4g limit %g %s violated %d", o.Name, o.Exercised, o.Worst, o.Limit, o.Unit, o.Violated)
		for i, v := range o.Violations {
			if i < 5 {
				t.Log("   ", v.Time, v.Where, v.Text)
			}
		}
	}
	tally, _ := TallyOf(checks)
	t.Logf("%+v", tally)
}
