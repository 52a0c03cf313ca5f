package report

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/bagrig/bagrig/harness/state"
)

// The JUnit form, as Jenkins, GitLab and GitHub read it.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Seconds    string          `xml:"time,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Seconds string       `xml:"time,attr,omitempty"`
		Failure *junitReason `xml:"failure"`
		Error   *junitReason `xml:"error"`
		Skipped *junitReason `xml:"skipped"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit is junit.xml: one testsuite, with a testcase for the run itself and
// one for each property and threshold. A violated one is a failure, one that
// was never exercised or cannot be seen is skipped, and a run that could not be finished is an
// error.
func (d *Document) JUnit() ([]byte, error) {
	class := "bagrig." + d.Scenario
	seconds := fmt.Sprintf("%.3f", d.ElapsedMS/1000)
	s := junitSuite{
		Name: class, Timestamp: d.Started, Seconds: seconds,
		Properties: []junitProperty{
			{"seed", fmt.Sprint(d.Seed)}, {"topology", d.Topology}, {"folder", d.Folder}, {"command", d.Command},
		},
	}
	run := junitCase{Class: class, Name: "the run ends", Seconds: seconds}
	switch {
	case d.Error == "":
	case d.Verdict == state.Violated: // no-convergence is the network's fault and not the rig's
		run.Failure = &junitReason{Message: firstLine(d.Error), Text: d.Error}
	default:
		run.Error = &junitReason{Message: string(d.Verdict) + ": " + firstLine(d.Error), Text: d.Error}
	}
	s.Cases = append(s.Cases, run)
	for _, p := range d.Properties {
		s.Cases = append(s.Cases, p.junit(class))
	}
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	data, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

func (p Property) junit(class string) junitCase {
	c := junitCase{Class: class, Name: p.Name}
	switch p.Status {
	case PropertyNeverExercised:
		c.Skipped = &junitReason{Message: string(p.Status)}
	case PropertyNotObservable:
		c.Skipped = &junitReason{Message: string(p.Status) + ": " + p.Reason}
	case PropertyViolated:
		c.Failure = &junitReason{
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
