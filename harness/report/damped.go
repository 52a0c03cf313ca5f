package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Damped is what a pipeline made of a series, in the form that `bagrig damp`
// prints. Times are in seconds, values in bits/s, areas in bits.
type Damped struct {
	Schema   int          `json:"schema"` // Schema
	Pipeline string       `json:"pipeline"`
	Input    string       `json:"input"`
	Samples  int          `json:"samples"`
	Members  int          `json:"members"` // of the bundle at full health
	Speed    uint64       `json:"speed"`   // of one member
	EndS     float64      `json:"end_s"`
	Adverts  int          `json:"advertisements"` // the first one too
	Withdraw int          `json:"withdrawals"`
	Undamped int          `json:"undamped_churn"` // advertisements and withdrawals of a pipeline that passes everything
	Held     []DampedSpan `json:"held"`           // a timer was pending: something was kept back, or the bundle was on trial
	Withheld []DampedSpan `json:"withheld"`       // a path was there and was not told
	There    float64      `json:"there"`          // area of the capacity that was there
	Over     float64      `json:"over"`           // told beyond it
	Under    float64      `json:"under"`          // there and not told
	Changes  []DampedStep `json:"changes"`        // of any of the values; at_s, there, passed, trial, told

	end            time.Duration
	held, withheld []damping.Window
}

// DampedSpan is a stretch of time, its end left out.
type DampedSpan struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
}

// DampedStep is a moment at which a value changed.
type DampedStep struct {
	AtS    float64 `json:"at_s"`
	There  uint64  `json:"there"`
	Passed uint64  `json:"passed"` // the bottleneck value: what the bundle stages let through
	Trial  bool    `json:"trial,omitempty"`
	Told   *uint64 `json:"told"` // null: nothing is told, or no value
	at     time.Duration
	told   damping.Value
}

// NewDamped describes a trace of the pipeline over the samples of the input;
// undamped is that of the empty pipeline.
func NewDamped(pipeline damping.Pipeline, input string, samples int, info damping.BundleInfo, trace, undamped *damping.Trace) *Damped {
	d := &Damped{
		Schema: Schema, Pipeline: pipeline.String(), Input: input, Samples: samples, Members: info.Members, Speed: info.Speed,
		EndS: trace.End.Seconds(), Adverts: trace.Advertisements, Withdraw: trace.Withdrawals, Undamped: undamped.Churn(),
		Held: spans(trace.Held), Withheld: spans(trace.Withheld), There: trace.There, Over: trace.Over, Under: trace.Under,
		end: trace.End, held: trace.Held, withheld: trace.Withheld,
	}
	for _, c := range trace.Changes {
		d.Changes = append(d.Changes, DampedStep{
			AtS: c.At.Seconds(), There: c.There, Passed: c.Passed.Capacity, Trial: c.Passed.Trial, Told: bitsOf(c.Told), at: c.At, told: c.Told,
		})
	}
	return d
}

func spans(windows []damping.Window) []DampedSpan {
	list := []DampedSpan{}
	for _, w := range windows {
		list = append(list, DampedSpan{w.From.Seconds(), w.To.Seconds()})
	}
	return list
}

// JSON is the description as one object, with a line's end.
func (d *Damped) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

// CSV is all changes: time in seconds, members that were there, and the values
// in bits/s; told is empty where nothing is told.
func (d *Damped) CSV() string {
	var b strings.Builder
	b.WriteString("time,members,passed,trial,told\n")
	for _, c := range d.Changes {
		told := ""
		if c.Told != nil {
			told = strconv.FormatUint(*c.Told, 10)
		}
		fmt.Fprintf(&b, "%s,%d,%d,%t,%s\n", strconv.FormatFloat(c.AtS, 'f', -1, 64), c.There/d.Speed, c.Passed, c.Trial, told)
	}
	return b.String()
}

// shownTold is how many changes of the told value, and windows of each kind, the
// text shows.
const shownTold = 20

// Text is the description for people. It shows the first changes of the told
// value; JSON and CSV have all.
func (d *Damped) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("pipeline", "%s", d.Pipeline)
	line("input", "%s: %d samples, %d members of %s, until %v", d.Input, d.Samples, d.Members, yamltree.FormatCapacity(d.Speed), d.end)
	line("told", "%d advertisements and %d withdrawals; without damping %d together", d.Adverts, d.Withdraw, d.Undamped)
	line("too much", "%s", d.share(d.Over))
	line("too little", "%s", d.share(d.Under))
	windows(&b, "held", d.held)
	windows(&b, "withheld", d.withheld)
	b.WriteString("\n")
	d.changes(&b)
	return b.String()
}

func (d *Damped) share(area float64) string {
	if d.There == 0 {
		return "no capacity was ever there"
	}
	return fmt.Sprintf("%.2f %% of the capacity over time: %.4g bits of %.4g", 100*area/d.There, area, d.There)
}

func windows(b *strings.Builder, name string, list []damping.Window) {
	if len(list) == 0 {
		fmt.Fprintf(b, "%-10s never\n", name)
		return
	}
	longest := time.Duration(0)
	for _, w := range list {
		longest = max(longest, w.To-w.From)
	}
	fmt.Fprintf(b, "%-10s %d times, %v in all, longest %v\n", name, len(list), short(damping.Length(list)), short(longest))
	for _, w := range list[:min(len(list), shownTold)] {
		fmt.Fprintf(b, "%-10s %10v to %v\n", "", short(w.From), short(w.To))
	}
	if more := len(list) - shownTold; more > 0 {
		fmt.Fprintf(b, "%-10s and %d more\n", "", more)
	}
}

func (d *Damped) changes(b *strings.Builder) {
	fmt.Fprintf(b, "%12s %14s %14s %14s\n", "told at", "there", "bottleneck", "told")
	shown, more := 0, 0
	for i, c := range d.Changes {
		switch {
		case i > 0 && c.told == d.Changes[i-1].told:
			continue
		case shown == shownTold:
			more++
			continue
		}
		shown++
		told := map[damping.Reach]string{damping.Gone: "nothing", damping.Unvalued: "no value", damping.Valued: capacity(c.told.Bits)}[c.told.Reach]
		trial := ""
		if c.Trial {
			trial = "  on trial"
		}
		fmt.Fprintf(b, "%12v %14s %14s %14s%s\n", short(c.at), capacity(c.There), capacity(c.Passed), told, trial)
	}
	if more > 0 {
		fmt.Fprintf(b, "%12s and %d more\n", "", more)
	}
}

// short is a time for people, who do not look for nanoseconds.
func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// capacity is bits/s as topologies write them; 0 has no notation there.
func capacity(bits uint64) string {
	if bits == 0 {
		return "0"
	}
	return yamltree.FormatCapacity(bits)
}
