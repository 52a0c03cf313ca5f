package report

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness/state"
)

// Schema is the version of run.json and events.ndjson. A field that is added
// leaves it alone; one that goes or changes its meaning raises it.
const Schema = 1

// Running is the verdict in run.json until the run ends. A folder that keeps it
// is that of a process that died; crash.txt may say why.
const Running state.Verdict = "running"

// Document is run.json. Names that end in _ms are real milliseconds, in _s
// virtual seconds; docs/run-folder.md describes every field.
type Document struct {
	Schema        int           `json:"schema"`
	Version       string        `json:"bagrig_version"`
	Go            string        `json:"go_version"`
	Platform      string        `json:"platform"`
	CPUs          int           `json:"cpus"`
	Started       string        `json:"started"`
	Scenario      string        `json:"scenario"`
	Engine        string        `json:"engine"`
	Schedule      string        `json:"schedule,omitempty"` // of sim
	Damping       string        `json:"damping"`
	FIBAlgorithm  string        `json:"fib_algorithm"`
	Seed          uint64        `json:"seed"`
	Topology      string        `json:"topology"`
	Folder        string        `json:"folder"`
	Command       string        `json:"command"`
	Verdict       state.Verdict `json:"verdict"`
	Error         string        `json:"error,omitempty"`
	ElapsedMS     float64       `json:"elapsed_ms"`
	VirtualS      float64       `json:"virtual_s"`
	EventsPlanned int           `json:"events_planned"`
	BringUp       BringUp       `json:"bring_up"`
	Events        []Event       `json:"events"`
	Properties    []Property    `json:"properties"`
	FIB           *FIB          `json:"fib,omitempty"`
	MisTold       *MisTold      `json:"mis_told,omitempty"`
	Windows       []Window      `json:"windows"`
	Lost          *Lost         `json:"lost_unseen,omitempty"`
	Overcount     []Overcount   `json:"overcount,omitempty"`
	Agreement     *Agreement    `json:"agreement,omitempty"`
	States        []Reached     `json:"states,omitempty"`
	External      []External    `json:"external,omitempty"`
}

// Reached is a state of behaviour and how often it was reached; see state.Reached.
type Reached struct {
	State string `json:"state"`
	Times int    `json:"times"`
}

// Overcount is what is told over what the graph can carry; see state.Overcount.
type Overcount struct {
	Moment string `json:"moment"` // baseline or end
	Damped bool   `json:"damped"`
	Pairs  int    `json:"pairs"`
	Above  int    `json:"pairs_above"`
	Median Number `json:"median"`
	Worst  Number `json:"worst"`
	Device string `json:"worst_device"`
	Prefix string `json:"worst_prefix"`
}

// Agreement is how two engines came out beside each other; see state.Agreement.
type Agreement struct {
	Sim         state.Verdict `json:"sim_verdict"`
	SimError    string        `json:"sim_error,omitempty"`
	Moments     int           `json:"moments"`
	Routes      int           `json:"routes"`
	NLRI        int           `json:"nlri"`
	Cures       int           `json:"cures"`
	Differences int           `json:"differences"`
}

// Window is what one window did: one event, or several that overlap.
type Window struct {
	First    int      `json:"first_event"` // from 1
	Last     int      `json:"last_event"`
	StartS   float64  `json:"start_s"`
	SettledS float64  `json:"settled_after_s"`
	Counters Counters `json:"counters"`
	Touched  int      `json:"touched"`
	PerHop   []int    `json:"touched_per_hop"`
	Lost     *Lost    `json:"lost_unseen,omitempty"`
}

// Lost is the traffic that was lost and no routing saw; see state.Lost. Parts
// are of 1.
type Lost struct {
	Seconds   float64      `json:"seconds_of_all_traffic"`
	Pairs     int          `json:"pairs"`
	Of        int          `json:"pairs_forwarding"`
	Worst     float64      `json:"worst_part"`
	WorstPair string       `json:"worst_pair"`
	Bundles   []LostBundle `json:"bundles,omitempty"`
}

// LostBundle is a time in which a bundle lost traffic unseen.
type LostBundle struct {
	Bundle string  `json:"bundle"`
	Part   float64 `json:"part"`
	FromS  float64 `json:"from_s"`
	UntilS float64 `json:"until_s"`
	Lasts  bool    `json:"lasts"`
}

// MisTold is how much capacity the run told wrong: areas in bits, which are
// capacity-seconds, and rates at the run's end in bits/s; see state.MisTold.
type MisTold struct {
	Over      float64 `json:"over_bits"`
	Under     float64 `json:"under_bits"`
	Told      float64 `json:"undamped_bits"`
	OverRate  float64 `json:"end_over_bits_per_s"`
	UnderRate float64 `json:"end_under_bits_per_s"`
	ToldRate  float64 `json:"end_undamped_bits_per_s"`
}

// BringUp is what happened until the baseline.
type BringUp struct {
	EstablishedMS     float64  `json:"established_ms"`
	QuietMS           float64  `json:"quiet_ms"`
	Entries           int      `json:"adj_rib_in_entries"`
	Stale             int      `json:"stale_entries"`
	AnnouncedPerEntry float64  `json:"announced_per_entry"`
	Counters          Counters `json:"counters"`
}

// Counters is what all wires carried.
type Counters struct {
	Updates    int `json:"updates"`
	NLRI       int `json:"nlri"`
	Announced  int `json:"announced"`
	Withdrawn  int `json:"withdrawn"`
	EndOfRIB   int `json:"end_of_rib"`
	Keepalives int `json:"keepalives"`
	Others     int `json:"other_messages"`
	Fences     int `json:"fences"`
}

// Event is what one event did.
type Event struct {
	Number      int          `json:"event"` // from 1
	Text        string       `json:"text"`
	Effect      state.Effect `json:"effect"`
	StartS      float64      `json:"start_s"`
	SettledS    float64      `json:"settled_after_s"`
	LastChangeS float64      `json:"last_change_after_s"`
	QuietMS     float64      `json:"quiet_ms"`
	Told        int          `json:"told_changed"`
	Sets        int          `json:"sets_changed"`
	Counters    Counters     `json:"counters"`
	Radius      *int         `json:"radius_hops"` // nil = nobody received an UPDATE
	Touched     int          `json:"touched"`
	PerHop      []int        `json:"touched_per_hop"`
}

// Status is how a property came out of a run.
type Status string

// The statuses of a property.
const (
	PropertyHeld           Status = "held"
	PropertyViolated       Status = "violated"
	PropertyNeverExercised Status = "never exercised"
	PropertyNotObservable  Status = "not observable" // nobody outside of an external device can tell
)

// Property is what became of one property or threshold.
type Property struct {
	Name       string      `json:"name"`
	Status     Status      `json:"status"`
	Exercised  int         `json:"exercised"`
	Worst      Number      `json:"worst"`
	Limit      Number      `json:"limit"`
	Unit       string      `json:"unit"`
	Note       string      `json:"note,omitempty"`
	Reason     string      `json:"not_observable,omitempty"` // what of it nobody can see
	Violated   int         `json:"violated"`
	Violations []Violation `json:"violations"`
}

// Violation is one place where a property did not hold.
type Violation struct {
	TimeS float64 `json:"virtual_s"`
	Where string  `json:"where"`
	Text  string  `json:"text"`
}

// Number is a float64 that JSON holds as null where it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsInf(f, 0) || math.IsNaN(f) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler; null is read as infinity.
func (n *Number) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*n = Number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// JSON is the document as run.json holds it.
func (d *Document) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

func newDocument(about About, dir string, res *state.Result) *Document {
	sc := about.Scenario
	d := &Document{
		Schema: Schema, Version: about.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.GOMAXPROCS(0), Started: about.Started.Format(time.RFC3339), Scenario: sc.Name, Engine: sc.Engine, Schedule: about.Schedule,
		Damping: sc.Damping.Name, FIBAlgorithm: algorithms(sc), Seed: sc.Seed, Folder: dir, Command: about.Command,
		EventsPlanned: len(sc.Events), Verdict: Running, Events: []Event{}, Properties: []Property{}, Windows: []Window{},
	}
	d.External = newExternals(sc)
	if res == nil {
		d.Topology = sc.Topology.Summary()
		return d
	}
	d.Topology, d.Verdict, d.Error = res.Topology, res.Verdict, res.Error
	d.ElapsedMS, d.VirtualS = milliseconds(res.Elapsed), res.Virtual.Seconds()
	d.BringUp = BringUp{
		EstablishedMS: milliseconds(res.Established), QuietMS: milliseconds(res.Quiet),
		Entries: res.Entries, Stale: res.Stale, Counters: newCounters(res.BringUp),
	}
	if res.Entries > 0 {
		d.BringUp.AnnouncedPerEntry = float64(res.BringUp.Announced) / float64(res.Entries)
	}
	d.FIB, d.MisTold = newFIB(res), newMisTold(res.MisTold)
	d.Lost = newLost(res.Lost)
	for _, o := range res.Overcount {
		d.Overcount = append(d.Overcount, Overcount{o.Moment, o.Damped, o.Pairs, o.Above, Number(o.Median), Number(o.Worst), o.Device, o.Prefix})
	}
	for _, r := range res.Reached {
		d.States = append(d.States, Reached{r.Name, r.Times})
	}
	if a := res.Agreement; a != nil {
		d.Agreement = &Agreement{a.Sim.Verdict, a.Sim.Error, a.Moments, a.Routes, a.NLRI, a.Cures, a.Differences}
	}
	for _, w := range res.Windows {
		d.Windows = append(d.Windows, newWindow(w))
	}
	for _, row := range res.Rows {
		d.Events = append(d.Events, newEvent(row))
	}
	for _, o := range res.Outcomes {
		d.Properties = append(d.Properties, newProperty(o))
	}
	return d
}

func newMisTold(m *state.MisTold) *MisTold {
	if m == nil {
		return nil
	}
	return &MisTold{m.Over, m.Under, m.Told, m.Now.Over, m.Now.Under, m.Now.Told}
}

func newWindow(r state.WindowRow) Window {
	w := Window{
		First: r.First + 1, Last: r.Last + 1, StartS: r.Start.Seconds(), SettledS: r.Settled.Seconds(),
		Counters: newCounters(r.Counters), Touched: state.Row{Blast: r.Blast}.Touched(), PerHop: r.Blast,
	}
	if w.PerHop == nil {
		w.PerHop = []int{}
	}
	if r.Lost.Pairs > 0 {
		w.Lost = newLost(&r.Lost)
	}
	return w
}

func newLost(l *state.Lost) *Lost {
	if l == nil {
		return nil
	}
	lost := &Lost{Seconds: l.Seconds, Pairs: l.Pairs, Of: l.Of, Worst: l.Worst, WorstPair: l.Where}
	for _, b := range l.Bundles {
		lost.Bundles = append(lost.Bundles, LostBundle{b.Bundle, b.Part, b.From.Seconds(), b.Until.Seconds(), b.Lasts})
	}
	return lost
}

func newEvent(r state.Row) Event {
	e := Event{
		Number: r.Index + 1, Text: r.Event.String(), Effect: r.Effect,
		StartS: r.Start.Seconds(), SettledS: r.Settled.Seconds(), LastChangeS: r.Last.Seconds(), QuietMS: milliseconds(r.Quiet),
		Told: r.Told, Sets: r.Sets, Counters: newCounters(r.Counters), Touched: r.Touched(), PerHop: r.Blast,
	}
	if radius := r.Radius(); radius >= 0 {
		e.Radius = &radius
	}
	if e.PerHop == nil {
		e.PerHop = []int{}
	}
	return e
}

func newProperty(o state.Outcome) Property {
	p := Property{
		Name: o.Name, Status: PropertyHeld, Exercised: o.Exercised, Worst: Number(o.Worst), Limit: Number(o.Limit), Unit: o.Unit, Note: o.Note,
		Violated: o.Violated, Violations: []Violation{},
	}
	switch {
	case o.Violated > 0:
		p.Status = PropertyViolated
	case o.Exercised == 0 && len(o.NotObservable) > 0:
		p.Status = PropertyNotObservable
	case o.Exercised == 0:
		p.Status = PropertyNeverExercised
	}
	var hidden []string
	for _, u := range o.NotObservable {
		hidden = append(hidden, u.Device+": "+u.What)
	}
	p.Reason = strings.Join(hidden, "; ")
	for _, v := range o.Violations {
		p.Violations = append(p.Violations, newViolation(v))
	}
	return p
}

func newViolation(v state.Violation) Violation {
	return Violation{TimeS: v.Time.Seconds(), Where: v.Where, Text: v.Text}
}

func newCounters(c state.Counters) Counters {
	return Counters{
		Updates: c.Updates, NLRI: c.NLRI(), Announced: c.Announced, Withdrawn: c.Withdrawn,
		EndOfRIB: c.EndOfRIB, Keepalives: c.Keepalive, Others: c.Others, Fences: c.Fences,
	}
}

// milliseconds keeps microseconds: real times are no more exact than that.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
