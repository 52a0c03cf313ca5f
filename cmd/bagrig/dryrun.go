package main

import (
	"fmt"
	"io"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/oracle"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/topologies"
)

// dryRun says what a scenario is and what a run of it takes, and starts
// nothing. A limit that is too low is an error, as it is for the run.
func dryRun(sc *harness.Scenario, w io.Writer) error {
	t := sc.Topology
	entries, err := baselineEntries(t)
	if err != nil {
		return err
	}
	if sc.Engine == harness.Sim {
		needs := report.SimNeeds{Speakers: len(t.Devices), Sessions: len(t.Bundles), Entries: entries}
		_, err := fmt.Fprintf(w, "%s\n%s", describe(sc), needs.Text())
		return err
	}
	limit, err := live.DescriptorLimit()
	if err != nil {
		return err
	}
	needs := report.Needs{
		Speakers: len(t.Devices), Sessions: len(t.Bundles), Entries: entries,
		Descriptors: live.Descriptors(len(t.Devices), len(t.Bundles)), Limit: limit,
	}
	text := needs.Text()
	if sc.Engine == harness.Both {
		text = report.BothNeeds(needs, 1+len(sc.Events))
	}
	if _, err := fmt.Fprintf(w, "%s\n%s", describe(sc), text); err != nil {
		return err
	}
	if sessions, err := sc.ExternalSessions(); err != nil {
		return err
	} else if len(sessions) > 0 {
		if _, err := fmt.Fprintf(w, "\n%s", report.SessionTable(sessions)); err != nil {
			return err
		}
	}
	return live.FitDescriptors(uint64(needs.Descriptors), limit, needs.Speakers, needs.Sessions)
}

// baselineEntries counts what all Adj-RIB-Ins hold with every bundle whole, from
// the graph.
func baselineEntries(t *topologies.Topology) (int, error) {
	x := t.Index()
	whole := make([]oracle.Bundle, len(t.Bundles))
	for i, b := range t.Bundles {
		whole[i].Capacity = b.Capacity(b.Members)
	}
	state := oracle.New(t, nil).State(whole)
	if err := state.Err(); err != nil {
		return 0, err
	}
	entries := 0
	for b, ends := range x.Ends {
		for p := range t.Prefixes {
			for _, d := range ends {
				if state.TellsTo(d, p, int32(b)) {
					entries++
				}
			}
		}
	}
	return entries, nil
}
