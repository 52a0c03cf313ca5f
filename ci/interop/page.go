package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/properties/conform"
)

// The page holds the matrix between these lines.
const (
	pageBegin = "<!-- matrix: written by ci/interop -update -->"
	pageEnd   = "<!-- end of matrix -->"
)

// sheet is a matrix of words: a column for each device with its version, a row
// for each check.
type sheet struct {
	devices []string
	checks  []string
	cells   map[[2]string]string // by device and check
}

// readSheet reads what conform.Markdown wrote.
func readSheet(text string) (*sheet, error) {
	s := &sheet{cells: map[[2]string]string{}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for j := range fields {
			fields[j] = strings.TrimSpace(fields[j])
		}
		switch {
		case line == "":
		case i == 0:
			s.devices = fields[1:]
		case i == 1: // the line below the head
		case len(fields) != 1+len(s.devices):
			return nil, fmt.Errorf("row %q: %d columns: want %d", fields[0], len(fields), 1+len(s.devices))
		default:
			s.checks = append(s.checks, fields[0])
			for j, device := range s.devices {
				s.cells[[2]string{device, fields[0]}] = fields[1+j]
			}
		}
	}
	return s, nil
}

func (s *sheet) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| check | %s |\n%s|\n", strings.Join(s.devices, " | "), strings.Repeat("|---", 1+len(s.devices)))
	for _, check := range s.checks {
		b.WriteString("| " + check)
		for _, device := range s.devices {
			cell := s.cells[[2]string{device, check}]
			if cell == "" {
				cell = "-"
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// merged is a sheet with the columns of a new one in the place of those of the
// same devices, whatever their versions; new devices come last.
func (s *sheet) merged(now *sheet) *sheet {
	name := func(title string) string { first, _, _ := strings.Cut(title, " "); return first }
	m := &sheet{checks: now.checks, cells: map[[2]string]string{}}
	take := func(from *sheet, device string) {
		m.devices = append(m.devices, device)
		for _, check := range from.checks {
			m.cells[[2]string{device, check}] = from.cells[[2]string{device, check}]
			if !slices.Contains(m.checks, check) {
				m.checks = append(m.checks, check)
			}
		}
	}
	for _, device := range s.devices {
		i := slices.IndexFunc(now.devices, func(n string) bool { return name(n) == name(device) })
		if i >= 0 {
			take(now, now.devices[i])
			continue
		}
		take(s, device)
	}
	for _, device := range now.devices {
		if !slices.Contains(m.devices, device) {
			take(now, device)
		}
	}
	return m
}

// differences are the cells in which a new sheet differs from the page's, of
// devices that both have in the same version; unknown are those that it has not.
func (s *sheet) differences(now *sheet) (list, unknown []string) {
	for _, device := range now.devices {
		if !slices.Contains(s.devices, device) {
			unknown = append(unknown, device)
			continue
		}
		for _, check := range now.checks {
			at := [2]string{device, check}
			if was, is := s.cells[at], now.cells[at]; was != is {
				list = append(list, fmt.Sprintf("%s, %s: the page says %q, the run %q", device, check, was, is))
			}
		}
	}
	return list, unknown
}

// judgePage compares the page's matrix with the reports, or writes it.
func judgePage(path string, update bool, reports []*conform.Report) (unknown []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-page: %w", err)
	}
	before, rest, found := strings.Cut(string(data), pageBegin+"\n")
	old, after, ended := strings.Cut(rest, pageEnd)
	if !found || !ended {
		return nil, fmt.Errorf("%s: want the lines %q and %q", path, pageBegin, pageEnd)
	}
	was, err := readSheet(old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	now, err := readSheet(conform.Markdown(reports))
	if err != nil {
		return nil, err
	}
	if update {
		for _, r := range reports {
			if !r.Held() {
				return nil, fmt.Errorf("%s: not written: %s differs from what is listed", path, r.Title())
			}
		}
		text := before + pageBegin + "\n\n" + was.merged(now).markdown() + "\n" + pageEnd + after
		return nil, os.WriteFile(path, []byte(text), 0o644)
	}
	list, unknown := was.differences(now)
	if len(list) > 0 {
		return unknown, fmt.Errorf("%s: %d cells differ; -update writes them:\n  %s", path, len(list), strings.Join(list, "\n  "))
	}
	return unknown, nil
}
