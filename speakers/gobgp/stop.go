package gobgp

import (
	"runtime"
	"sync"
	"time"

	"github.com/osrg/gobgp/v3/pkg/server"
)

// stopHook ends a server's goroutine. BgpServer.Serve never returns and keeps
// all its tables alive; the timing hook runs on that goroutine after every
// operation, so it can end it.
type stopHook struct {
	mu       sync.Mutex
	changed  sync.Cond
	count    int // management operations done
	stopping bool
}

func newStopHook() *stopHook {
	h := &stopHook{}
	h.changed.L = &h.mu
	return h
}

// Observe implements server.FSMTimingHook.
func (h *stopHook) Observe(op server.FSMOperation, _, _ time.Duration) {
	if op != server.FSMMgmtOp {
		return
	}
	h.mu.Lock()
	h.count++
	stopping := h.stopping
	h.changed.Broadcast()
	h.mu.Unlock()
	if stopping {
		runtime.Goexit()
	}
}

// waitManaged returns when n management operations are done.
func (h *stopHook) waitManaged(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.count < n {
		h.changed.Wait()
	}
}

func (h *stopHook) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
}
