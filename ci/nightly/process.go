package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// graces: how long a child may take to end once it was asked to, and how long it may
// go on after the time that it was given before it counts as hanging.
const (
	endGrace  = 5 * time.Second
	hangGrace = 30 * time.Second
)

// child is a process that runs for a part, with all its output in a file, so that
// nothing of it is lost whatever ends the night.
type child struct {
	dir  string
	env  []string // beside the environment
	args []string
	log  string // path of the file
	// until is when it is asked to end; zero = not. Quit asks the Go runtime for the
	// stacks of all goroutines, for what hangs.
	until time.Time
	quit  bool
}

// ended is how a child ended.
type ended struct {
	output  string
	code    int  // -1 where a signal ended it
	expired bool // it had to be ended because its time was over
}

// run runs the child and what it starts in a process group of their own, and leaves
// none of them behind.
func (c child) run(ctx context.Context) (e ended, err error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	before, err := log.Seek(0, 2)
	if err != nil {
		return e, err
	}
	timed, cancel := ctx, context.CancelFunc(func() {})
	if !c.until.IsZero() {
		timed, cancel = context.WithDeadline(ctx, c.until)
	}
	defer cancel()
	cmd := exec.CommandContext(timed, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = log, log
	ownGroup(cmd)
	cmd.Cancel = func() error { return signalGroup(cmd.Process, c.quit && ctx.Err() == nil) }
	cmd.WaitDelay = endGrace
	if err := cmd.Start(); err != nil {
		return e, err
	}
	waitErr := cmd.Wait()
	killGroup(cmd.Process)
	e.code, e.expired = cmd.ProcessState.ExitCode(), timed.Err() != nil && ctx.Err() == nil
	if waitErr != nil && !isExit(waitErr) && timed.Err() == nil {
		return e, waitErr
	}
	data, err := os.ReadFile(c.log)
	if err != nil {
		return e, err
	}
	e.output = string(data[min(int(before), len(data)):])
	return e, nil
}

func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}
