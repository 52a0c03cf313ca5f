package report

import (
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/harness/report/junit"
	"github.com/bagrig/bagrig/harness/state"
)

// JUnit is junit.xml: one testsuite, with a testcase for the run itself and
// one for each property and threshold. A violated one is a failure, one that
// was never exercised or cannot be seen is skipped, and a run that could not be finished is an
// error.
func (d *Document) JUnit() ([]byte, error) {
	class := "bagrig." + d.Scenario
	seconds := fmt.Sprintf("%.3f", d.ElapsedMS/1000)
	s := junit.Suite{
		Name: class, Timestamp: d.Started, Seconds: seconds,
		Properties: []junit.Property{
			{Name: "seed", Value: fmt.Sprint(d.Seed)}, {Name: "topology", Value: d.Topology}, {Name: "folder", Value: d.Folder}, {Name: "command", Value: d.Command},
		},
	}
	run := junit.Case{Class: class, Name: "the run ends", Seconds: seconds}
	switch {
	case d.Error == "":
	case d.Verdict == state.Violated: // no-convergence is the network's fault and not the rig's
		run.Failure = &junit.Reason{Message: firstLine(d.Error), Text: d.Error}
	default:
		run.Error = &junit.Reason{Message: string(d.Verdict) + ": " + firstLine(d.Error), Text: d.Error}
	}
	s.Cases = append(s.Cases, run)
	for _, p := range d.Properties {
		s.Cases = append(s.Cases, p.junit(class))
	}
	return junit.Write(s)
}

func (p Property) junit(class string) junit.Case {
	c := junit.Case{Class: class, Name: p.Name}
	switch p.Status {
	case PropertyNeverExercised:
		c.Skipped = &junit.Reason{Message: string(p.Status)}
	case PropertyNotObservable:
		c.Skipped = &junit.Reason{Message: string(p.Status) + ": " + p.Reason}
	case PropertyViolated:
		c.Failure = &junit.Reason{
			Message: fmt.Sprintf("violated %s: worst %s, limit %s", times(p.Violated), p.amount(p.Worst), p.amount(p.Limit)),
			Text:    "\n" + violations(p, len(p.Violations)),
		}
	}
	return c
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
