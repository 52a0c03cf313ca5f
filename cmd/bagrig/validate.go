package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/topologies"
)

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate SCENARIO...",
		Short: "Check scenarios, and show what they are and all that is wrong",
		Long: "Read scenarios wholly, show what each good one is, and all that is wrong with the\nothers, each with file, line and column. Nothing is started. A SCENARIO is an embedded\n" +
			"one (see `bagrig scenarios`), a YAML file, or a run folder.\n\nExit status: 0 all are good, 2 one is not.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			before := ""
			for _, name := range args {
				sc, err := loadRun(name)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				if _, err := fmt.Fprint(cmd.OutOrStdout(), before, describe(sc)); err != nil {
					return err
				}
				before = "\n"
				warn(cmd.ErrOrStderr(), name, sc.Topology)
			}
			return errors.Join(errs...)
		},
	}
}

// describe says what a scenario is.
func describe(sc *harness.Scenario) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("scenario", "%s, engine %s, seed %d", sc.Name, sc.Engine, sc.Seed)
	line("topology", "%s", sc.Topology.Summary())
	if sc.Plan != nil {
		line("damping", "plan %s: %d bundle rules, %d told rules, else %s", sc.Plan.Name, len(sc.Plan.Bundle), len(sc.Plan.Told), sc.Plan.Default)
	} else {
		line("damping", "%s", sc.Damping)
	}
	line("speakers", "%s", speakersText(sc))
	for _, name := range slices.Sorted(maps.Keys(sc.External)) {
		line("external", "%s: %s", name, strings.Join(sc.External[name].Fields(), " "))
	}
	line("hardware", "%s", hardwareText(sc))
	line("events", "%s", eventsText(sc))
	line("judged by", "%d properties%s", len(checks(sc)), thresholdsText(sc.Thresholds))
	if len(sc.Expect) > 0 {
		line("shows", "violated: %s", strings.Join(sc.Expect, ", "))
	}
	return b.String()
}

// speakersText counts the speakers whose knobs were turned.
func speakersText(sc *harness.Scenario) string {
	turned := 0
	for _, s := range sc.Settings {
		if !reflect.DeepEqual(s, topologies.DefaultSettings()) {
			turned++
		}
	}
	if turned == 0 {
		return "all with the default knobs"
	}
	return fmt.Sprintf("%d of %d with other knobs than the default", turned, len(sc.Topology.Devices))
}

// tally counts words, and prints them in the order in which they came.
type tally struct {
	words  []string
	counts map[string]int
}

func (t *tally) add(word string) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	if t.counts[word] == 0 {
		t.words = append(t.words, word)
	}
	t.counts[word]++
}

func (t *tally) String() string {
	var parts []string
	for _, w := range t.words {
		parts = append(parts, fmt.Sprintf("%d %s", t.counts[w], w))
	}
	return strings.Join(parts, ", ")
}

func hardwareText(sc *harness.Scenario) string {
	if len(sc.Hardware) == 0 {
		return "not modelled"
	}
	var t tally
	for _, h := range sc.Hardware {
		t.add(h.Profile.Name)
	}
	return t.String()
}

func eventsText(sc *harness.Scenario) string {
	if len(sc.Events) == 0 {
		return "none: bring-up only"
	}
	var t tally
	for _, e := range sc.Events {
		t.add(e.Kind)
	}
	return fmt.Sprintf("%d: %s", len(sc.Events), &t)
}

func thresholdsText(t harness.Thresholds) string {
	var parts []string
	for _, x := range []struct {
		name  string
		limit int
	}{{"nlri", t.NLRI}, {"updates", t.Updates}, {"radius", t.Radius}} {
		if x.limit > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", x.name, x.limit))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", and thresholds of each event: " + strings.Join(slices.Clip(parts), ", ")
}
