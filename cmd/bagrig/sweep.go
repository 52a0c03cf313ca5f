package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/report/plot"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/sweep"
)

// maxJobs bounds the runs at a time: each wants a block of loopback addresses.
const maxJobs = 128

// sweepFlags are the flags of `bagrig sweep`.
type sweepFlags struct {
	vary          []string
	pipeline, out string
	gap           time.Duration
	jobs          int
	json          bool
	engineFlags
}

func sweepCommand() *cobra.Command {
	var flags sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [NAME|FILE] --vary KEY=V1,V2,...",
		Short: "Vary damping on a scenario: churn against what is told wrong",
		Long: "Run a scenario (default " + defaultScenario + ") at every point of a grid of damping parameters, each in\na process of its own, and show the Pareto front of churn (NLRI, speakers touched) and\naccuracy (capacity-seconds mis-told). Ctrl-C stops in order and keeps what is done.\n\n" +
			"KEY is STAGE.PARAMETER as in the scenario's damping, see docs/damping.md.\n\n" +
			"Exit status: 0 all held, 1 a property or threshold was violated at some point, 2 bad\ninput or environment, 130 interrupted.",
		Example: "  bagrig sweep --vary holddown.time=0s,30s,5m --vary quantize.error=1%,10%,30%",
		Args:    cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.vary, "vary", nil, "a parameter and its values; once for each axis of the grid")
	f.StringVar(&flags.pipeline, "pipeline", "", "preset to start from ("+strings.Join(damping.Presets(), ", ")+";\ndefault the scenario's damping)")
	f.StringVar(&flags.out, "out", "", "folder of the sweep, new or empty (default "+defaultOut+"/TIME-sweep)")
	f.DurationVar(&flags.gap, "gap", 0, "virtual time from an event's last change to the next event, where the scenario gives\nno times (default what the slowest point needs to settle, 1m at least)")
	f.IntVar(&flags.jobs, "jobs", min(runtime.NumCPU(), maxJobs), "runs at a time")
	flags.engineFlags.add(cmd, true)
	f.BoolVar(&flags.json, "json", false, "print JSON instead of the table")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plan, err := flags.plan(scenarioOf(args))
		if err != nil {
			return err
		}
		if _, err := flags.apply(cmd, plan.Scenario); err != nil {
			return err
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		out, err := emptyFolder(flags.out)
		if err != nil {
			return err
		}
		s := &sweeper{program: program, out: out, engine: flags.words(), plan: plan, bar: newPointBar(cmd.ErrOrStderr(), len(plan.Points))}
		runErr := s.run(cmd.Context(), flags.jobs)
		s.bar.close()
		result := report.NewSweep(plan)
		result.Finish(s.finished())
		if err := errors.Join(runErr, writeSweep(out, result), showSweep(cmd.OutOrStdout(), result, flags.json)); err != nil {
			return err
		}
		return sweepStatus(cmd.Context(), result)
	}
	return cmd
}

// plan checks everything that can be checked before anything starts.
func (f sweepFlags) plan(name string) (*sweep.Plan, error) {
	if f.jobs < 1 || f.jobs > maxJobs {
		return nil, fmt.Errorf("--jobs %d: want 1 to %d", f.jobs, maxJobs)
	}
	if err := f.check(true); err != nil {
		return nil, err
	}
	if f.gap < 0 {
		return nil, fmt.Errorf("--gap %v: want 0 or more", f.gap)
	}
	opts := sweep.Options{Pipeline: f.pipeline, Gap: f.gap}
	for _, text := range f.vary {
		axis, err := sweep.ParseAxis(text)
		if err != nil {
			return nil, fmt.Errorf("--vary %w", err)
		}
		opts.Axes = append(opts.Axes, axis)
	}
	return sweep.New(name, opts)
}

// emptyFolder makes the folder of the sweep.
func emptyFolder(out string) (string, error) {
	if out == "" {
		out = filepath.Join(defaultOut, time.Now().Format("20060102-150405")+"-sweep")
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	there, err := os.ReadDir(out)
	if err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	if len(there) > 0 {
		return "", fmt.Errorf("--out %q: not empty", out)
	}
	return out, nil
}

// writeSweep makes the files of the sweep; plots only where there is a point.
func writeSweep(out string, s *report.Sweep) error {
	asJSON, err := s.JSON()
	if err != nil {
		return err
	}
	asCSV, err := s.CSV()
	if err != nil {
		return err
	}
	files := map[string][]byte{"sweep.txt": []byte(s.Text(0)), "sweep.json": asJSON, "sweep.csv": []byte(asCSV)}
	for _, format := range []plot.Format{plot.SVG, plot.PNG} {
		if len(s.Points) == 0 {
			break
		}
		var b bytes.Buffer
		if err := plot.Front(&b, format, s); err != nil {
			return err
		}
		files["sweep."+string(format)] = b.Bytes()
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

func showSweep(w io.Writer, s *report.Sweep, asJSON bool) error {
	text := []byte(s.Text(columns(w)))
	if asJSON {
		var err error
		if text, err = s.JSON(); err != nil {
			return err
		}
	}
	_, err := w.Write(text)
	return err
}

// sweepStatus is the exit status of a sweep in which nothing went wrong.
func sweepStatus(ctx context.Context, s *report.Sweep) error {
	if ctx.Err() != nil {
		return ended(exitInterrupted)
	}
	violated := func(p report.SweepPoint) bool { return p.Verdict == string(state.Violated) }
	if slices.ContainsFunc(s.Points, violated) {
		return ended(exitViolated)
	}
	return nil
}
