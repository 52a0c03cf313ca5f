package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/sweep"
)

// stopWithin is how long a run may take to stop in order.
const stopWithin = time.Minute

// sweeper runs the points of a sweep, each in a process of its own: an engine
// has its process to itself.
type sweeper struct {
	program, out string
	engine       []string // flags of each run
	plan         *sweep.Plan
	bar          *pointBar

	mu     sync.Mutex
	done   []report.SweepPoint
	failed error // the first point that could not be run
}

// run runs the points, so many at a time, until all are done, one fails or the
// context ends. It returns when no process is left.
func (s *sweeper) run(ctx context.Context, jobs int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := make(chan int, len(s.plan.Points))
	for i := range s.plan.Points {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range min(jobs, len(s.plan.Points)) {
		workers.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				point, err := s.point(ctx, i)
				s.note(point, err)
				if err != nil {
					stop()
				}
			}
		})
	}
	workers.Wait()
	return s.failed
}

func (s *sweeper) note(point *report.SweepPoint, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	if point != nil {
		s.done = append(s.done, *point)
		s.bar.show(len(s.done))
	}
}

// finished are the points that were run, ascending.
func (s *sweeper) finished() []report.SweepPoint {
	return slices.SortedFunc(slices.Values(s.done), func(a, b report.SweepPoint) int { return cmp.Compare(a.Point, b.Point) })
}

// point runs one point. It gives neither a point nor an error where the context
// ended first.
func (s *sweeper) point(ctx context.Context, i int) (*report.SweepPoint, error) {
	folder := filepath.Join(s.out, fmt.Sprintf("%03d", i+1))
	if err := os.Mkdir(folder, 0o777); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, report.ScenarioFile)
	if err := os.WriteFile(file, s.plan.Points[i].Source, 0o644); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	words := append([]string{"run", file, "--json", "--out", folder, "--seed", strconv.FormatUint(s.plan.Scenario.Seed, 10)}, s.engine...)
	cmd := exec.CommandContext(ctx, s.program, words...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A process group of its own, since a terminal sends Ctrl-C to all of a group
	// and the second signal that a run gets ends it at once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopWithin
	err := cmd.Run()
	if cmd.ProcessState == nil && ctx.Err() == nil {
		return nil, s.failure(i, err, "")
	}
	if code := cmd.ProcessState.ExitCode(); code != exitHeld && code != exitViolated { // -1 where it never started
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, s.failure(i, err, stderr.String())
	}
	doc := &report.Document{}
	if err := json.Unmarshal(stdout.Bytes(), doc); err != nil {
		return nil, s.failure(i, err, stderr.String())
	}
	if doc.Error != "" || doc.MisTold == nil {
		return nil, s.failure(i, errors.New(cmp.Or(doc.Error, "no baseline")), "")
	}
	point := report.NewSweepPoint(i+1, s.plan.Points[i].Values, doc)
	return &point, nil
}

// failure names the point that could not be run, with what its process said.
func (s *sweeper) failure(i int, err error, said string) error {
	var words []string
	for a, axis := range s.plan.Axes {
		words = append(words, axis.Key+"="+s.plan.Points[i].Values[a])
	}
	text := ""
	for line := range strings.Lines(said) {
		text += "\n" + strings.TrimPrefix(strings.TrimRight(line, "\n"), "bagrig: ")
	}
	return fmt.Errorf("point %d, %s: %w%s", i+1, strings.Join(words, " "), err, text)
}

// pointBar is the live line of a sweep on a terminal; elsewhere it does nothing.
type pointBar struct {
	container *mpb.Progress // nil where nothing is shown
	bar       *mpb.Bar
}

func newPointBar(w io.Writer, points int) *pointBar { return newCountBar(w, points, "points") }

func newCountBar(w io.Writer, n int, of string) *pointBar {
	if !wanted(w) {
		return &pointBar{}
	}
	p := &pointBar{container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(barWidth))}
	p.bar = p.container.New(int64(n), mpb.BarStyle(), mpb.AppendDecorators(decor.CountersNoUnit("%d of %d "+of)))
	return p
}

func (p *pointBar) show(done int) {
	if p.container != nil {
		p.bar.SetCurrent(int64(done))
	}
}

// close removes the line.
func (p *pointBar) close() {
	if p.container == nil {
		return
	}
	p.bar.Abort(true)
	p.container.Wait()
}
