package harness

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"testing"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

func TestTmp3(t *testing.T) {
	debug.SetGCPercent(GCPercent)
	topology, _ := topologies.Preset("prometheus")
	pipeline, _ := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	rig, err := Start(context.Background(), Options{Topology: topology, Damping: pipeline})
	if err != nil {
		t.Fatal(err)
	}
	defer rig.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Log("inuse", m.HeapInuse>>20, "alloc", m.HeapAlloc>>20, "stack", m.StackInuse>>20, "sys", m.Sys>>20, "total", m.TotalAlloc>>20, "numgc", m.NumGC, "objects", m.HeapObjects, "other", m.OtherSys>>20, m.GCSys>>20, m.MSpanInuse>>20)
	f, _ := os.Create("/tmp/heap.prof")
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	f, _ = os.Create("/tmp/gor.prof")
	pprof.Lookup("goroutine").WriteTo(f, 0)
	f.Close()
	_, e, q := rig.BringUp()
	t.Log(e, q)
}
