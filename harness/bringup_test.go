package harness

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// BenchmarkBringUp prints the figures of design section 10 for the presets.
// Run it with -benchtime 1x.
func BenchmarkBringUp(b *testing.B) {
	for _, name := range topologies.Presets() {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				bringUp(b, name)
			}
		})
	}
}

func bringUp(b *testing.B, preset string) {
	topology, err := topologies.Preset(preset)
	if err != nil {
		b.Fatal(err)
	}
	pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	resetPeak(b)
	before := runtime.NumGoroutine()
	rig, err := Start(context.Background(), Options{Topology: topology, Damping: pipeline})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := rig.Close(); err != nil {
			b.Error(err)
		}
	}()
	goroutines := float64(runtime.NumGoroutine()-before) / float64(len(topology.Bundles))
	counters, established, quiet := rig.BringUp()
	entries, stale := Entries(rig.Network(), rig.Baseline())
	peak := peakMiB(b)

	var events []float64
	for i := range 20 {
		bundle := topology.Bundles[(i*len(topology.Bundles))/20]
		rows, err := rig.Play(context.Background(),
			state.Event{Kind: "degrade", Bundle: bundle.Name, Members: bundle.Members * 3 / 4, Silent: true},
			state.Event{Kind: "restore", All: true, Silent: true})
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, float64(rows[0].Quiet)/float64(time.Millisecond))
	}
	slices.Sort(events)

	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(established.Milliseconds()), "ms-established")
	b.ReportMetric(float64(quiet.Milliseconds()), "ms-quiet")
	b.ReportMetric(float64(counters.Announced)/float64(entries), "announced/entry")
	b.ReportMetric(float64(stale), "stale")
	b.ReportMetric(peak, "peak-MiB")
	b.ReportMetric(goroutines, "goroutines/session")
	b.ReportMetric(events[len(events)/2], "ms/event")
}

// resetPeak starts the system's record of the most resident memory anew.
func resetPeak(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Logf("peak memory is that of the whole process: %v", err)
	}
}

func peakMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Logf("peak memory: %v", err)
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}
