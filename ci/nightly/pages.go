package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/report/junit"
	"github.com/bagrig/bagrig/properties"
)

// schema is the version of nightly.json.
const schema = 1

// The files and folders of a night's results.
const (
	pageFile      = "nightly.md"
	junitFile     = "nightly.xml"
	jsonFile      = "nightly.json"
	logFolder     = "logs"
	inputFolder   = "inputs"
	reachedFolder = "reached"
	binaryFolder  = "bin"
)

// kind is a kind of part.
type kind string

const (
	kindFuzz  kind = "fuzz"
	kindSuite kind = "suite"
)

// status is how a part came out.
type status string

const (
	statusPlanned status = "planned"
	statusRunning status = "running"
	statusPassed  status = "passed"
	statusFailed  status = "failed"
	statusCut     status = "cut short"
	statusNotRun  status = "could not run"
)

// running is the verdict while the night runs: that of one that was killed.
const running = "running"

// document is nightly.json; docs/nightly.md describes it.
type document struct {
	Schema   int        `json:"schema"`
	Started  string     `json:"started"`
	Go       string     `json:"go_version"`
	Commit   string     `json:"commit,omitempty"`
	Minutes  float64    `json:"minutes"`
	Seed     int64      `json:"seed"`
	TookS    float64    `json:"took_s"`
	Verdict  string     `json:"verdict"`
	CutShort bool       `json:"cut_short"`
	Exit     int        `json:"exit"`
	Advice   string     `json:"advice,omitempty"` // where the time was too short
	Parts    []*part    `json:"parts"`
	Findings []*finding `json:"findings"`
	States   *reached   `json:"states,omitempty"`
}

// part is one fuzz target or one suite.
type part struct {
	Kind         kind     `json:"kind"`
	Package      string   `json:"package"`
	Target       string   `json:"name"`
	Status       status   `json:"status"`
	PlannedS     float64  `json:"planned_s"`
	GivenS       float64  `json:"given_s"`
	TookS        float64  `json:"took_s"`
	Executions   int      `json:"executions,omitempty"`
	Interesting  int      `json:"new_interesting,omitempty"`
	Corpus       int      `json:"corpus,omitempty"`
	Rounds       int      `json:"rounds,omitempty"`
	RoundsWanted int      `json:"rounds_wanted,omitempty"`
	Tests        int      `json:"tests,omitempty"`
	Findings     []string `json:"findings,omitempty"`
	Note         string   `json:"note,omitempty"`

	weight  float64
	folder  string // of a target's package
	suite   *suite
	longest time.Duration // of the rounds so far
	short   float64       // of time: how many times the night should be as long; 0 = it was not
}

// reached are the states of behaviour that were reached, and those that never were.
type reached struct {
	Reached []string `json:"reached"`
	Never   []string `json:"never"`
	Judged  bool     `json:"judged"` // not of a night that was cut short, or in which a suite had no round
}

func (p *part) name() string {
	if p.Kind == kindSuite {
		return "suite " + p.Target
	}
	return p.Package + " " + p.Target
}

// did says in a few words what was done.
func (p *part) did() string {
	switch {
	case p.Kind == kindFuzz && p.Executions > 0:
		return fmt.Sprintf("%d runs, %d new interesting", p.Executions, p.Interesting)
	case p.Kind == kindSuite && p.Rounds > 0:
		return fmt.Sprintf("%d of up to %d rounds", p.Rounds, p.RoundsWanted)
	}
	return ""
}

// pass is the end of a part in which nothing else happened.
func (p *part) pass() {
	if p.Status == statusRunning {
		p.Status = statusPassed
	}
}

// stop is the end of a part that did not come to its end. What failed until then has failed.
func (p *part) stop(ctx context.Context, err error) {
	if p.Status == statusFailed {
		return
	}
	if ctx.Err() != nil {
		p.Status, p.Note = statusCut, "by a signal"
		return
	}
	p.Status, p.Note = statusNotRun, strings.TrimSpace(err.Error())
}

func (d *document) finding(id string) *finding {
	for _, f := range d.Findings {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// reached reads what the tests noted of the states of behaviour.
func (n *night) reached(cut bool) *reached {
	if len(n.cfg.states) == 0 {
		return nil
	}
	r := &reached{Reached: []string{}, Never: []string{}, Judged: !cut && !slices.ContainsFunc(n.doc.Parts, func(p *part) bool { return p.Kind == kindSuite && p.Rounds == 0 })}
	for _, name := range n.cfg.states {
		if _, err := os.Stat(n.path(reachedFolder + "/" + properties.StateFile(name))); err == nil {
			r.Reached = append(r.Reached, name)
		} else if errors.Is(err, fs.ErrNotExist) {
			r.Never = append(r.Never, name)
		}
	}
	return r
}

// write writes all pages, each as a whole. One that cannot be written, as on a full
// disk, is shown.
func (n *night) write() error {
	junit, err := n.doc.junit()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(n.doc, "", "  ")
	if err != nil {
		return err
	}
	page := []byte(n.doc.page())
	errs := []error{
		report.WriteFile(n.path(jsonFile), append(data, '\n')), report.WriteFile(n.path(junitFile), junit), report.WriteFile(n.path(pageFile), page),
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(n.cfg.log, "\n%s\n", page)
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// headline is the night in one line.
func (d *document) headline() string {
	counts := map[status]int{}
	for _, p := range d.Parts {
		counts[p.Status]++
	}
	var parts []string
	for _, s := range []status{statusPassed, statusFailed, statusCut, statusNotRun, statusRunning, statusPlanned} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	text := fmt.Sprintf("nightly: %s: %s", d.Verdict, strings.Join(parts, ", "))
	if d.CutShort && d.Verdict != "cut short" {
		text += "; cut short"
	}
	if len(d.Findings) > 0 {
		text += fmt.Sprintf("; findings: %d", len(d.Findings))
	}
	if s := d.States; s != nil && s.Judged && len(s.Never) > 0 {
		text += fmt.Sprintf("; states never reached: %d of %d", len(s.Never), len(s.Never)+len(s.Reached))
	}
	return text
}

// page is nightly.md.
func (d *document) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", d.headline())
	fmt.Fprintf(&b, "Started %s, %.4g minutes wanted, %.0f s taken, seed %d, %s", d.Started, d.Minutes, d.TookS, d.Seed, d.Go)
	if d.Commit != "" {
		fmt.Fprintf(&b, ", commit %s", d.Commit)
	}
	b.WriteString(".\n")
	if d.Verdict == running {
		b.WriteString("\n**Cut short, or still running**: this page was written after the last part that ended.\n")
	}
	if d.Advice != "" {
		fmt.Fprintf(&b, "\n**Too short**: %s.\n", d.Advice)
	}
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "\n## Finding %s: %s\n\nIn %s, seen %d times. Repeat it:\n\n    %s\n", f.ID, inline(f.Title), f.Part, f.Seen, f.Command)
		if f.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", f.Note)
		}
		if len(f.Files) > 0 {
			fmt.Fprintf(&b, "\nReady to commit: `%s`\n", strings.Join(f.Files, "`, `"))
		}
		b.WriteString("\n")
		for line := range strings.Lines(f.Text + "\n") {
			b.WriteString("    " + line)
		}
	}
	b.WriteString("\n## Parts\n\n| part | result | planned, s | given, s | took, s | did | note |\n|---|---|---|---|---|---|---|\n")
	for _, p := range d.Parts {
		fmt.Fprintf(&b, "| %s | %s | %.1f | %.1f | %.1f | %s | %s |\n", inline(p.name()), p.Status, p.PlannedS, p.GivenS, p.TookS, p.did(), inline(p.Note))
	}
	if s := d.States; s != nil {
		fmt.Fprintf(&b, "\n## States of behaviour\n\nReached: %s.\n", list(s.Reached))
		if len(s.Never) > 0 {
			fmt.Fprintf(&b, "\n**Never reached**: %s.\n", list(s.Never))
			if !s.Judged {
				b.WriteString("\nThat is not judged: the night was cut short, or a suite had no round.\n")
			}
		}
	}
	return b.String()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// inline keeps a text from ending a line or a cell.
func inline(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

// junit is nightly.xml: a testcase for each part, and one for the states.
func (d *document) junit() ([]byte, error) {
	s := junit.Suite{Name: "bagrig.nightly", Timestamp: d.Started, Seconds: fmt.Sprintf("%.3f", d.TookS)}
	for _, p := range d.Parts {
		c := junit.Case{Class: "nightly." + string(p.Kind), Name: p.name(), Seconds: fmt.Sprintf("%.3f", p.TookS)}
		switch p.Status {
		case statusFailed:
			var titles, texts []string
			for _, f := range d.Findings {
				if slices.Contains(p.Findings, f.ID) {
					titles, texts = append(titles, f.Title), append(texts, f.Text)
				}
			}
			c.Failure = &junit.Reason{Message: strings.Join(titles, "; "), Text: strings.Join(texts, "\n\n")}
		case statusNotRun:
			c.Error = &junit.Reason{Message: p.Note}
		case statusPassed:
		default:
			c.Skipped = &junit.Reason{Message: string(p.Status)}
		}
		s.Cases = append(s.Cases, c)
	}
	if r := d.States; r != nil {
		c := junit.Case{Class: "nightly", Name: "every state of behaviour is reached", Seconds: "0.000"}
		switch {
		case !r.Judged:
			c.Skipped = &junit.Reason{Message: "not judged: the night was cut short, or a suite had no round"}
		case len(r.Never) > 0:
			c.Failure = &junit.Reason{Message: "never reached: " + strings.Join(r.Never, ", ")}
		}
		s.Cases = append(s.Cases, c)
	}
	return junit.Write(s)
}
