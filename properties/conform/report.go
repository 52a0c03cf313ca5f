package conform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bagrig/bagrig/harness/report/junit"
)

// Counts is how many checks ended in each verdict.
func (r *Report) Counts() map[Verdict]int {
	n := map[Verdict]int{}
	for _, result := range r.Results {
		n[result.Verdict]++
	}
	return n
}

// Held tells whether no check failed or could not be finished: deviations that
// are listed are no failure.
func (r *Report) Held() bool {
	n := r.Counts()
	return n[Failed] == 0 && n[Errored] == 0
}

// Title is the device's name and version.
func (r *Report) Title() string {
	return strings.TrimSpace(r.Device + " " + r.Version)
}

// Table is one device's results, for people: a line for each check, and below
// it, for those that are no pass, why.
func Table(r *Report) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s at %s, ASN %d\n\n", r.Title(), r.Address, r.ASN)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "check\tverdict\tgot\treferences")
	for _, result := range r.Results {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", result.Name, result.Verdict, cmp.Or(result.Got, "-"), strings.Join(result.Refs, ", "))
	}
	_ = w.Flush() // to a buffer
	for _, result := range r.Results {
		switch result.Verdict {
		case Failed, Errored:
			fmt.Fprintf(&b, "\n%s %s: %s\n", result.Verdict, result.Name, result.Reason)
			fmt.Fprintf(&b, "  asked  %s\n", result.Sent)
			writeMessages(&b, "sent", result.Messages)
			writeMessages(&b, "heard", result.Heard)
		case Deviates:
			fmt.Fprintf(&b, "\ndeviation %s: %s\n  listed: %s\n", result.Name, result.Reason, result.Deviation)
		}
	}
	n := r.Counts()
	fmt.Fprintf(&b, "\n%d checks: %d pass, %d fail, %d listed deviations, %d not applicable, %d errors\n",
		len(r.Results), n[Passed], n[Failed], n[Deviates], n[NotApplicable], n[Errored])
	return b.String()
}

// shownMessages is how many messages of a failed check a table shows.
const shownMessages = 12

func writeMessages(b *bytes.Buffer, what string, list []Message) {
	for i, m := range list {
		if i == shownMessages {
			fmt.Fprintf(b, "  %-6s and %d more\n", what, len(list)-i)
			return
		}
		fmt.Fprintf(b, "  %-6s %s: %s\n         %s\n", what, m.Session, m.Text, m.Bytes)
	}
	if len(list) == 0 && what == "heard" {
		fmt.Fprintf(b, "  heard  nothing about it\n")
	}
}

// Matrix is the results of several devices side by side, as text: the word of
// each check, with a mark where it is no pass.
func Matrix(reports []*Report) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows(reports) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // to a buffer
	return b.String() + Legend
}

// Legend explains the cells of a matrix.
const Legend = "\n(d) a listed deviation; FAIL an unlisted one; - not applicable; ERROR could not be judged\n"

// Markdown is Matrix as a table of Markdown.
func Markdown(reports []*Report) string {
	var b strings.Builder
	for i, row := range rows(reports) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

func rows(reports []*Report) [][]string {
	head := []string{"check"}
	var names []string
	for _, r := range reports {
		head = append(head, r.Title())
		for _, result := range r.Results {
			if !slices.Contains(names, result.Name) {
				names = append(names, result.Name)
			}
		}
	}
	list := [][]string{head}
	for _, name := range names {
		row := []string{name}
		for _, r := range reports {
			row = append(row, r.cell(name))
		}
		list = append(list, row)
	}
	sums := []string{"pass / deviation / fail"}
	for _, r := range reports {
		n := r.Counts()
		sums = append(sums, fmt.Sprintf("%d / %d / %d", n[Passed], n[Deviates], n[Failed]+n[Errored]))
	}
	return append(list, sums)
}

func (r *Report) cell(name string) string {
	i := slices.IndexFunc(r.Results, func(result Result) bool { return result.Name == name })
	if i < 0 {
		return "-"
	}
	switch result := r.Results[i]; result.Verdict {
	case Passed:
		return result.Got
	case Deviates:
		return result.Got + " (d)"
	case Failed:
		return "FAIL " + result.Got
	case Errored:
		return "ERROR"
	case NotApplicable:
		return cmp.Or(result.Got, "-")
	}
	return "-"
}

// document is the JSON form.
type document struct {
	Schema  int       `json:"schema"`
	Devices []*Report `json:"devices"`
}

// JSON is conform.json: everything, with what was sent and heard, octet by
// octet.
func JSON(reports []*Report) ([]byte, error) {
	data, err := json.MarshalIndent(document{Schema: 1, Devices: reports}, "", "  ")
	return append(data, '\n'), err
}

// ReadJSON reads what JSON wrote.
func ReadJSON(data []byte) ([]*Report, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.Schema != 1 {
		return nil, fmt.Errorf("schema %d: want 1", d.Schema)
	}
	return d.Devices, nil
}

// Write writes conform.json and conform.xml into a folder.
func Write(folder string, reports []*Report) error {
	asJSON, err := JSON(reports)
	if err != nil {
		return err
	}
	asXML, err := JUnit(reports)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "conform.json"), asJSON, 0o644),
		os.WriteFile(filepath.Join(folder, "conform.xml"), asXML, 0o644),
	)
}

// JUnit is conform.xml: a testsuite for each device, a testcase for each check.
// A listed deviation passes, with its reason in system-out; what is not
// applicable is skipped.
func JUnit(reports []*Report) ([]byte, error) {
	var all []junit.Suite
	for _, r := range reports {
		s := junit.Suite{Name: "bagrig.conform." + r.Device}
		for _, result := range r.Results {
			c := junit.Case{Class: s.Name, Name: result.Name}
			var text bytes.Buffer
			fmt.Fprintf(&text, "\nasked  %s (%s)\n", result.Sent, strings.Join(result.Refs, ", "))
			writeMessages(&text, "sent", result.Messages)
			writeMessages(&text, "heard", result.Heard)
			why := &junit.Reason{Message: result.Reason, Text: text.String()}
			switch result.Verdict {
			case Failed:
				c.Failure = why
			case Errored:
				c.Error = why
			case NotApplicable:
				c.Skipped = &junit.Reason{Message: result.Reason}
			case Deviates:
				c.Out = fmt.Sprintf("deviation: got %q: %s", result.Got, result.Deviation)
			}
			s.Cases = append(s.Cases, c)
		}
		all = append(all, s)
	}
	return junit.Write(all...)
}
