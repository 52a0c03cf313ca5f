package live

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

func TestSmoke(t *testing.T) {
	name := os.Getenv("TOPO")
	if name == "" {
		name = "prometheus-mini"
	}
	topo, err := topologies.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := damping.Preset("bag-default", topo.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Topology: topo, Damping: pipe})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { t.Log("close", e.Close(), runtime.NumGoroutine()) }()
	t0 := time.Now()
	ctx := context.Background()
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log("established", time.Since(t0), runtime.NumGoroutine())
	t1 := time.Now()
	if err := e.Quiet(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log("quiet 0", time.Since(t1))
	t1 = time.Now()
	e.Originate()
	if err := e.Quiet(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log("quiet", time.Since(t1), e.Counters(), e.Rounds())
	t1 = time.Now()
	s := e.Snapshot()
	n := 0
	for _, d := range s.Devices {
		for _, r := range d.Routes {
			n += len(r.Candidates)
		}
	}
	t.Log("snapshot", time.Since(t1), "candidates", n)
	b, _ := os.ReadFile("/proc/self/status")
	t.Log(string(b[len(b)/3:len(b)/2]))
}
