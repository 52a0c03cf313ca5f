package harness

import (
	"context"
	"os"
	"testing"
)

func TestTmp(t *testing.T) {
	name := os.Getenv("SC")
	if name == "" {
		name = "first-light"
	}
	sc, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), sc, RunOptions{})
	t.Log(res.Topology, res.Established, res.Quiet, res.Entries, res.Stale, res.BringUp, res.Verdict, err)
	for _, r := range res.Rows {
		t.Logf("%-60s %-9s told %3d sets %3d quiet %v settled %v last %v NLRI %d upd %d blast %v", r.Event, r.Effect, r.Told, r.Sets, r.Quiet, r.Settled, r.Last, r.Counters.NLRI(), r.Counters.Updates, r.Blast)
	}
}
