package live

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/topologies"
)

// Sessions that are coming up when a start is cancelled are in every state of
// the FSM. GoBGP loses the goroutine of a message that arrives as its peer is
// deleted, so Close must wait until the sessions have fallen.
func TestAStartCancelledWhileSessionsComeUpLeavesNothing(t *testing.T) {
	topology, err := topologies.Preset("prometheus-mini")
	must(t, err)
	for _, at := range []int{3, 50, 99} {
		t.Run(fmt.Sprintf("dial %d", at), func(t *testing.T) {
			for range 10 {
				before := goleak.IgnoreCurrent()
				files := openFiles()
				ctx, cancel := context.WithCancel(context.Background())
				e, err := New(Options{Topology: topology, Progress: func(stage string, done, _ int) {
					if stage == StageDial && done == at {
						cancel()
					}
				}})
				must(t, err)
				if err := e.Start(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("start: got %v, want %v", err, context.Canceled)
				}
				must(t, e.Close())
				goleak.VerifyNone(t, before)
				if got := openFiles(); got > files {
					t.Errorf("open files: got %d, want %d as before", got, files)
				}
			}
		})
	}
}
