package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
)

// replayHelp is what explain and show say of RUN.
const replayHelp = "RUN is a run folder (such as runs/latest), an embedded scenario's name or a YAML\n" +
	"file. A run folder keeps no tables: the scenario is replayed up to and including\n" +
	"event --at, on the engine that it ran on (of two, gobgp), and runs repeat exactly, so\n" +
	"what is shown is what was.\n\n" +
	"Exit status: 0 shown, 1 the network did not converge, 2 bad input or environment,\n130 interrupted."

// lastEvent is --at where it is not given.
const lastEvent = -1

// sceneFlags are the flags of the commands that replay.
type sceneFlags struct {
	json bool
	at   int
	engineFlags
}

func (f *sceneFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object, see docs/explain.md")
	cmd.Flags().IntVar(&f.at, "at", lastEvent, "number of the event, from 1 as in the summary; 0 = the baseline, not given = the last")
	f.engineFlags.add(cmd, false)
}

func explainCommand() *cobra.Command {
	var flags sceneFlags
	cmd := &cobra.Command{
		Use:   "explain RUN DEVICE PREFIX",
		Short: "Explain why a device tells and forwards a prefix as it does",
		Long:  "Tell a device's whole decision on a prefix: candidates, multipath set, value, damping,\nwhat is told to whom, and what hardware has.\n\n" + replayHelp,
		Args:  cobra.ExactArgs(3),
	}
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sc, err := loadRun(args[0])
		if err != nil {
			return err
		}
		device, err := harness.FindDevice(sc.Topology, args[1])
		if err != nil {
			return err
		}
		prefix, err := harness.FindPrefix(sc.Topology, args[2])
		if err != nil {
			return err
		}
		return replay(cmd, args[0], sc, cmd.Flags().Changed("at"), flags, func(s *harness.Scene) (page, error) {
			x, err := s.Explain(device, prefix)
			if err != nil {
				return nil, err
			}
			return report.NewExplanation(x), nil
		})
	}
	return cmd
}

// loadRun reads the scenario of a run folder, an embedded one, or a file.
func loadRun(run string) (*harness.Scenario, error) {
	info, err := os.Stat(run)
	if err != nil || !info.IsDir() {
		return harness.Load(run)
	}
	file := filepath.Join(run, report.ScenarioFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %q: not a run's folder: no %s in it", run, report.ScenarioFile)
	}
	return harness.Load(file)
}

// page is something that can be printed in both forms.
type page interface {
	Text() string
	JSON() ([]byte, error)
}

// replay plays the scenario to the event that the flags name, and prints what
// make makes of the scene.
func replay(cmd *cobra.Command, run string, sc *harness.Scenario, given bool, flags sceneFlags, make func(*harness.Scene) (page, error)) error {
	if err := flags.check(false); err != nil {
		return err
	}
	schedule, err := flags.applyReplay(cmd, run, sc)
	if err != nil {
		return err
	}
	at := flags.at
	if !given {
		at = len(sc.Events)
	}
	var shown page
	progress := newProgress(cmd.ErrOrStderr(), sc)
	err = harness.Replay(cmd.Context(), sc, at, harness.RunOptions{Observer: progress, Port: int(flags.port), Schedule: schedule}, func(s *harness.Scene) (err error) {
		shown, err = make(s)
		return err
	})
	progress.close()
	if err != nil {
		return replayed(cmd.Context(), err, cmd.ErrOrStderr())
	}
	text := []byte(shown.Text())
	if flags.json {
		if text, err = shown.JSON(); err != nil {
			return err
		}
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// replayed gives a replay's error the exit status that a run would end with.
func replayed(ctx context.Context, err error, stderr io.Writer) error {
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bagrig: interrupted:", err)
		return ended(exitInterrupted)
	case errors.Is(err, state.ErrNoConvergence):
		fmt.Fprintln(stderr, "bagrig:", err)
		return ended(exitViolated)
	}
	return err
}
