package damping

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Sample is one change of a bundle: from At on, Members are up.
type Sample struct {
	At      time.Duration
	Members int // 0 = down
}

// ReadSeries reads samples from CSV: the header "time,members", then one change
// a line. Time is in seconds ("90", "0.25") or has units ("1m30s"), must be 0 or
// more and rise from line to line; members are 0 to 4,096. Empty lines and lines
// that begin with # are skipped. An error names the line and quotes the value.
func ReadSeries(r io.Reader) ([]Sample, error) {
	table := csv.NewReader(r)
	table.Comment = '#'
	table.FieldsPerRecord = 2
	table.TrimLeadingSpace = true
	table.ReuseRecord = true
	fail := func(column int, format string, args ...any) error {
		line, _ := table.FieldPos(column)
		return fmt.Errorf("series: line %d: %w", line, fmt.Errorf(format, args...))
	}
	head, err := table.Read()
	if err == io.EOF {
		return nil, errors.New(`series: empty: want the header "time,members"`)
	}
	if err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	if strings.TrimSpace(head[0]) != "time" || strings.TrimSpace(head[1]) != "members" {
		return nil, fail(0, `header %q: want "time,members"`, strings.Join(head, ","))
	}
	var series []Sample
	for {
		record, err := table.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("series: %w", err)
		}
		s, column, err := parseSample(record)
		if err == nil && len(series) > 0 {
			column, err = 0, after(series[len(series)-1].At, s.At)
		}
		if err != nil {
			return nil, fail(column, "%w", err)
		}
		series = append(series, s)
	}
	if len(series) == 0 {
		return nil, errors.New("series: no samples: want one or more")
	}
	return series, nil
}

// after checks the order of two samples.
func after(last, now time.Duration) error {
	switch {
	case now == last:
		return fmt.Errorf("time %v: given twice", now)
	case now < last:
		return fmt.Errorf("time %v: goes backwards from %v", now, last)
	}
	return nil
}

// parseSample tells the column of an error.
func parseSample(record []string) (s Sample, column int, err error) {
	at, members := strings.TrimSpace(record[0]), strings.TrimSpace(record[1])
	s.At, err = time.ParseDuration(at)
	if err != nil {
		s.At, err = time.ParseDuration(at + "s")
	}
	if err != nil || s.At < 0 {
		return s, 0, fmt.Errorf(`time %q: want 0 or more, in seconds or such as "1m30s"`, at)
	}
	s.Members, err = strconv.Atoi(members)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return s, 1, fmt.Errorf("members %q: want 0 to %d", members, maxMembers)
	}
	return s, 0, nil
}

func (s Sample) check() error {
	if s.Members < 0 || s.Members > maxMembers {
		return fmt.Errorf("members %d: want 0 to %d", s.Members, maxMembers)
	}
	return nil
}
