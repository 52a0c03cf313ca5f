package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is one command of a daemon.
type process struct {
	name    string
	cmd     *exec.Cmd
	log     tailLog
	stopped atomic.Bool // it is meant to end
	done    chan struct{}
}

// wait waits until the command has ended. If that was not asked for, the run is
// over, and the last lines say why.
func (p *process) wait(cancel context.CancelCauseFunc) {
	err := p.cmd.Wait()
	if !p.stopped.Load() {
		reason := "exit status 0"
		if err != nil {
			reason = err.Error()
		}
		cancel(fmt.Errorf("%s died: %s; its last lines:\n%s", p.name, reason, p.log.tail()))
	}
	close(p.done)
}

// waitFor waits for a file that the command makes when it is ready.
func (p *process) waitFor(ctx context.Context, path string) error {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return fmt.Errorf("%s: no %s within %v; its last lines:\n%s", p.name, path, patience, p.log.tail())
		}
	}
}

// tailLog keeps the last lines of what a command wrote.
type tailLog struct {
	mu    sync.Mutex
	lines []string
	part  string
}

// keptLines is how many lines of a daemon's log are shown.
const keptLines = 20

// Write implements io.Writer.
func (l *tailLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.part+string(b), "\n")
	l.part = lines[len(lines)-1]
	l.lines = append(l.lines, lines[:len(lines)-1]...)
	l.lines = l.lines[max(0, len(l.lines)-keptLines):]
	return len(b), nil
}

func (l *tailLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	if l.part != "" {
		lines = append(lines[:len(lines):len(lines)], l.part)
	}
	if len(lines) == 0 {
		return "  (none)"
	}
	return "  " + strings.Join(lines, "\n  ")
}
