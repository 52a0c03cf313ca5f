package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/sim"
)

// engineFlags say what runs the speakers. An empty engine is the scenario's, an
// empty schedule the default one.
type engineFlags struct {
	engine, schedule string
	port             uint16
}

// add makes the flags; both tells whether the command can play on both engines.
func (f *engineFlags) add(cmd *cobra.Command, both bool) {
	cmd.Flags().StringVar(&f.engine, "engine", "", "what runs the speakers: "+strings.Join(engines(both), ", ")+" (default the scenario's)")
	cmd.Flags().StringVar(&f.schedule, "schedule", "", "in which order messages arrive on sim: "+strings.Join(sim.Modes(), ", ")+"\n(default "+sim.Rounds+"); the seed draws the order of "+sim.Random)
	cmd.Flags().Uint16Var(&f.port, "port", live.DefaultPort, "TCP port that the speakers listen on in 127.0.0.0/8; not for sim, which has no sockets")
}

// engines are the choices of --engine.
func engines(both bool) []string {
	list := harness.Engines()
	if both {
		list = append(list, harness.Both)
	}
	return list
}

// check refuses what the flags cannot be, whatever the scenario.
func (f *engineFlags) check(both bool) error {
	if choices := engines(both); f.engine != "" && !slices.Contains(choices, f.engine) {
		return fmt.Errorf("--engine %q: want one of %s", f.engine, strings.Join(choices, ", "))
	}
	if f.schedule != "" && !slices.Contains(sim.Modes(), f.schedule) {
		return fmt.Errorf("--schedule %q: want one of %s", f.schedule, strings.Join(sim.Modes(), ", "))
	}
	if f.port == 0 {
		return errors.New("--port 0: want 1 to 65535")
	}
	return nil
}

// apply gives the scenario its engine, and the schedule of sim: the zero one on
// gobgp. A flag that would do nothing is an error.
func (f *engineFlags) apply(cmd *cobra.Command, sc *harness.Scenario) (sim.Schedule, error) {
	if f.engine != "" {
		sc.Engine = f.engine
	}
	if sc.Engine == harness.Sim && cmd.Flags().Changed("port") {
		return sim.Schedule{}, errors.New("--port: engine sim has no sockets")
	}
	if sc.Engine == harness.GoBGP {
		if cmd.Flags().Changed("schedule") {
			return sim.Schedule{}, fmt.Errorf("--schedule %s: engine gobgp has no other than rounds: want --engine sim or both", f.schedule)
		}
		return sim.Schedule{}, nil
	}
	mode := f.schedule
	if mode == "" {
		mode = sim.Rounds
	}
	return sim.Schedule{Mode: mode, Seed: sc.Seed, Processing: sim.DefaultProcessing}, nil
}

// applyReplay is apply for a command that shows one network again. A run folder's
// engine, schedule and seed are in its run.json, since flags may have chosen them;
// of two engines that agree it shows gobgp.
func (f *engineFlags) applyReplay(cmd *cobra.Command, run string, sc *harness.Scenario) (sim.Schedule, error) {
	data, err := os.ReadFile(filepath.Join(run, report.RunFile))
	if err == nil {
		var doc report.Document
		if err := json.Unmarshal(data, &doc); err != nil {
			return sim.Schedule{}, fmt.Errorf("%s: %w", filepath.Join(run, report.RunFile), err)
		}
		sc.Engine, sc.Seed = doc.Engine, doc.Seed
		if f.schedule == "" {
			f.schedule = doc.Schedule
		}
	}
	if sc.Engine == harness.Both {
		sc.Engine = harness.GoBGP
	}
	return f.apply(cmd, sc)
}

// words are the flags as a command line has them, for one that does the same.
func (f *engineFlags) words() (words []string) {
	if f.engine != "" {
		words = append(words, "--engine", f.engine)
	}
	if f.schedule != "" {
		words = append(words, "--schedule", f.schedule)
	}
	if f.port != live.DefaultPort {
		words = append(words, "--port", fmt.Sprint(f.port))
	}
	return words
}
