package report

import "github.com/bagrig/bagrig/harness/state"

// line is one line of events.ndjson. Every line names the schema, so that
// lines may be filtered, joined and cut apart.
type line struct {
	Schema    int           `json:"schema"`
	Kind      string        `json:"kind"`
	VirtualS  float64       `json:"virtual_s"`
	Event     int           `json:"event,omitempty"` // from 1
	Text      string        `json:"text,omitempty"`
	Scenario  string        `json:"scenario,omitempty"`
	Seed      *uint64       `json:"seed,omitempty"`
	Bundle    string        `json:"bundle,omitempty"`
	Members   *int          `json:"members,omitempty"`
	Counters  *Counters     `json:"counters,omitempty"`
	Outcome   *Event        `json:"outcome,omitempty"`
	Property  string        `json:"property,omitempty"`
	Violation *Violation    `json:"violation,omitempty"`
	Verdict   state.Verdict `json:"verdict,omitempty"`
	Error     string        `json:"error,omitempty"`
}

func newLine(r state.Record) line {
	l := line{Schema: Schema, Kind: r.Kind, VirtualS: r.Virtual.Seconds(), Event: r.Event + 1, Text: r.Text}
	if r.Kind == "change" {
		l.Bundle, l.Members = r.Bundle, &r.Members
	}
	if r.Counts != nil {
		c := newCounters(*r.Counts)
		l.Counters = &c
	}
	if r.Row != nil {
		e := newEvent(*r.Row)
		l.Outcome = &e
	}
	if r.Outcome != nil {
		l.Text, l.Property = "", r.Outcome.Name
		if len(r.Outcome.Violations) > 0 {
			v := newViolation(r.Outcome.Violations[0])
			l.Violation = &v
		}
	}
	switch {
	case r.Result == nil:
	case r.Kind == "start":
		l.Scenario, l.Seed = r.Result.Scenario, &r.Result.Seed
	case r.Kind == "end":
		l.Text, l.Verdict, l.Error = "", r.Result.Verdict, r.Result.Error
	}
	return l
}
