package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Event is one thing that is done to the network. Go code, YAML and test
// scripts all read and print events through the one table in this file.
type Event struct {
	Kind    string            // a name in Kinds
	Bundle  string            // the target: a bundle,
	Bundles string            // or several, with commas between,
	Device  string            // or all bundles of a device,
	Domain  string            // down, up, restore: or what a failure domain takes, such as power:r1-a; see topologies.Domain
	All     bool              // or all bundles there are
	Members int               // degrade, flap, synchronised: member links that stay up, 1 to the bundle's members - 1
	Count   int               // flap, synchronised: how many times, 1 to 10,000
	Period  time.Duration     // flap, synchronised: half of it down, half of it back
	Detect  string            // down: how the ends learn of it, see DetectCarrier; empty = carrier
	Loss    float64           // grey: the part of the traffic that is lost, above 0 to 1
	Role    string            // set, drain: all devices of a role
	Plane   int               // drain: the devices of a plane,
	Region  string            // and only those in the region, if one is named
	Knob    string            // set: a name in topologies.Knobs
	Value   string            // set
	State   string            // drain: warm, drained or live
	From    string            // hold, release: the device whose UPDATEs wait
	Start   int               // ramp: member links at its beginning, 0 to the bundle's members
	End     int               // ramp: and at its end
	Over    time.Duration     // ramp: how long it takes
	Steps   int               // ramp: how many, 1 to the difference of the two
	File    string            // replay: CSV as damping.ReadSeries reads it, or one of damping.Recordings
	Series  *[]damping.Sample // replay: what File holds; not needed for a recording, and not printed
	Takes   time.Duration     // restart: until the speaker is back
	At      time.Duration     // virtual time since the network was settled for the first time; 0 = when the event before is settled
	Silent  bool              // the scenario knows that the event changes nothing
}

// Kind is one kind of event.
type Kind struct {
	Name     string
	Doc      string
	Targets  []string // of "bundle", "bundles", "device", "role", "plane", "all", and the kinds of failure domains
	Fields   []string // further fields, all of them needed
	Optional []string // fields that may be left out; "at" and "silent" always may
}

// Kinds is the table of all kinds of events.
func Kinds() []Kind { return slices.Clone(kinds) }

// domains are the kinds of failure domain that an event may name.
var domains = []string{
	topologies.HallDomain, topologies.PowerDomain, topologies.RouteDomain, topologies.ChassisDomain, topologies.LineCardDomain,
}

var kinds = []Kind{
	{"degrade", "a bundle loses members and keeps the given number", []string{"bundle"}, []string{"members"}, nil},
	{"restore", "bundles are back at full health", append([]string{"bundle", "device", "all"}, domains...), nil, nil},
	{"down", "bundles lose all members, and their sessions fall when the ends learn of it; a line card takes some members of many", append([]string{"bundle", "device"}, domains...), nil, []string{"detect"}},
	{"up", "bundles that are down are back at full health", append([]string{"bundle", "device"}, domains...), nil, nil},
	{"grey", "bundles lose a part of their traffic, and no routing sees it", []string{"bundle", "device"}, []string{"loss"}, nil},
	{"flap", "a bundle falls to the given members and comes back, count times", []string{"bundle"}, []string{"members", "count", "period"}, nil},
	{"synchronised", "bundles flap together", []string{"bundles"}, []string{"members", "count", "period"}, nil},
	{"ramp", "a bundle goes from some members to others, in equal steps", []string{"bundle"}, []string{"from", "to", "over", "steps"}, nil},
	{"replay", "a bundle does what a series says", []string{"bundle"}, []string{"file"}, nil},
	{"set", "a speaker setting changes", []string{"device", "role", "all"}, []string{"knob", "value"}, nil},
	{"drain", "devices are taken out of service, or back", []string{"device", "role", "plane"}, []string{"state"}, []string{"region"}},
	{"reset", "a session falls and comes back at once, its bundle untouched", []string{"bundle"}, nil, nil},
	{"restart", "a speaker restarts, its forwarding kept; it is back after the given time", []string{"device"}, []string{"takes"}, nil},
	{"hold", "UPDATEs of one end of a session wait", []string{"bundle"}, []string{"from"}, nil},
	{"release", "UPDATEs that wait go on", []string{"bundle"}, []string{"from"}, nil},
}

func kindOf(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// FieldError is an event that cannot be: the field, its value, what was wanted.
type FieldError struct {
	Kind, Field, Value, Want string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("event %s: %s %q: %s", e.Kind, e.Field, e.Value, e.Want)
}

// ParseEvent makes an event of its kind and its fields in text form, as YAML
// and test scripts hold them.
func ParseEvent(kind string, fields map[string]string) (Event, error) {
	e := Event{Kind: kind}
	k, ok := kindOf(kind)
	if !ok {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.Name
		}
		return e, &FieldError{kind, "kind", kind, "want one of " + strings.Join(names, ", ")}
	}
	known := slices.Concat(k.Targets, k.Fields, k.Optional, []string{"at", "silent"})
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return e, &FieldError{kind, name, fields[name], "unknown field: want " + strings.Join(known, ", ")}
		}
		if err := e.set(name, fields[name]); err != nil {
			return e, err
		}
	}
	for _, name := range k.Fields {
		if _, ok := fields[name]; !ok {
			return e, &FieldError{kind, name, "", "missing"}
		}
	}
	targets := 0
	for _, name := range k.Targets {
		if _, ok := fields[name]; ok {
			targets++
		}
	}
	if targets != 1 {
		return e, &FieldError{kind, "target", fmt.Sprint(targets), "want exactly one of " + strings.Join(k.Targets, ", ")}
	}
	return e, nil
}

func (e *Event) set(name, value string) error {
	bad := func(want string) error { return &FieldError{e.Kind, name, value, want} }
	number := func(low, high int, to *int) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return bad(fmt.Sprintf("want %d to %d", low, high))
		}
		*to = n
		return nil
	}
	duration := func(low, high time.Duration, to *time.Duration) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < low || d > high {
			return bad(fmt.Sprintf("want a duration of %v to %v", low, high))
		}
		*to = d
		return nil
	}
	switch name {
	case "bundle":
		e.Bundle = value
	case "bundles":
		e.Bundles = value
	case "device":
		e.Device = value
	case topologies.HallDomain, topologies.PowerDomain, topologies.RouteDomain, topologies.ChassisDomain, topologies.LineCardDomain:
		e.Domain = topologies.Domain{Kind: name, Name: value}.String()
	case "to":
		return number(0, 4096, &e.End)
	case "over":
		return duration(time.Nanosecond, 1000*time.Hour, &e.Over)
	case "steps":
		return number(1, 4096, &e.Steps)
	case "file":
		e.File = value
	case "members":
		return number(1, 4096, &e.Members)
	case "detect":
		text, _, err := parseDetection(value)
		if err != nil {
			return bad(err.Error())
		}
		e.Detect = text
	case "loss":
		loss, err := strconv.ParseFloat(value, 64)
		if err != nil || !(loss > 0 && loss <= 1) {
			return bad("want above 0 to 1, such as 0.3")
		}
		e.Loss = loss
	case "role":
		if _, ok := topologies.ParseRole(value); !ok {
			return bad("want rack, spine, edge, bag, hub or backbone")
		}
		e.Role = value
	case "plane":
		return number(1, 1<<16, &e.Plane)
	case "region":
		e.Region = value
	case "knob":
		if _, err := topologies.KnobOf(value); err != nil {
			return bad(err.Error())
		}
		e.Knob = value
	case "value":
		e.Value = value
	case "from":
		if e.Kind == "ramp" {
			return number(0, 4096, &e.Start)
		}
		e.From = value
	case "takes":
		return duration(time.Nanosecond, time.Hour, &e.Takes)
	case "state":
		if _, ok := topologies.ParseDrainState(value); !ok {
			return bad("want live, warm or drained")
		}
		e.State = value
	case "count":
		return number(1, 10000, &e.Count)
	case "period":
		return duration(2*time.Nanosecond, 1000*time.Hour, &e.Period)
	case "at":
		return duration(time.Nanosecond, 10000*time.Hour, &e.At)
	default: // "all", "silent"
		if value != "true" {
			return bad("want true")
		}
		e.All = e.All || name == "all"
		e.Silent = e.Silent || name == "silent"
	}
	return nil
}

// Fields is the text form of the event, as ParseEvent reads it.
func (e Event) Fields() map[string]string {
	f := map[string]string{}
	put := func(name, value string, there bool) {
		if there {
			f[name] = value
		}
	}
	put("bundle", e.Bundle, e.Bundle != "")
	put("bundles", e.Bundles, e.Bundles != "")
	put("device", e.Device, e.Device != "")
	if kind, name, ok := strings.Cut(e.Domain, ":"); ok {
		f[kind] = name
	}
	put("all", "true", e.All)
	put("detect", e.Detect, e.Detect != "")
	put("loss", strconv.FormatFloat(e.Loss, 'g', -1, 64), e.Loss != 0)
	put("members", strconv.Itoa(e.Members), e.Members != 0)
	put("count", strconv.Itoa(e.Count), e.Count != 0)
	put("period", e.Period.String(), e.Period != 0)
	put("role", e.Role, e.Role != "")
	put("plane", strconv.Itoa(e.Plane), e.Plane != 0)
	put("region", e.Region, e.Region != "")
	put("knob", e.Knob, e.Knob != "")
	put("value", e.Value, e.Knob != "")
	put("state", e.State, e.State != "")
	put("from", e.From, e.From != "")
	put("from", strconv.Itoa(e.Start), e.Kind == "ramp")
	put("to", strconv.Itoa(e.End), e.Kind == "ramp")
	put("over", e.Over.String(), e.Over != 0)
	put("steps", strconv.Itoa(e.Steps), e.Steps != 0)
	put("file", e.File, e.File != "")
	put("takes", e.Takes.String(), e.Takes != 0)
	put("at", e.At.String(), e.At != 0)
	put("silent", "true", e.Silent)
	return f
}

// fieldOrder is the order in which fields are printed.
var fieldOrder = []string{"bundle", "bundles", "device", "role", "plane", "region", "hall", "power", "route", "chassis", "linecard", "all", "detect", "loss", "members", "count", "period", "knob", "value", "state", "from", "to", "over", "steps", "file", "takes", "at", "silent"}

// YAML is the event as an item of a scenario's list, without a line's end:
// `degrade: {bundle: a--b, members: 24}`.
func (e Event) YAML() string {
	fields := e.Fields()
	var parts []string
	for _, name := range fieldOrder {
		if value, ok := fields[name]; ok {
			switch name {
			case "detect":
				value = strings.Replace(value, ":", " ", 1)
			case "value", "file":
				value = yamltree.Quote(value)
			case "bundles":
				value = "[" + strings.ReplaceAll(value, ",", ", ") + "]"
			}
			parts = append(parts, name+": "+value)
		}
	}
	return fmt.Sprintf("%s: {%s}", e.Kind, strings.Join(parts, ", "))
}

// String is the event as a test script has it: `degrade bundle=a--b members=24`.
func (e Event) String() string {
	fields := e.Fields()
	parts := []string{e.Kind}
	for _, name := range fieldOrder {
		if value, ok := fields[name]; ok {
			parts = append(parts, name+"="+value)
		}
	}
	return strings.Join(parts, " ")
}

// Timed is a change at a time after the start of its event.
type Timed struct {
	After  time.Duration
	Change Change
}

// Expand turns the event into changes, in time order, given the members that
// are up when it starts. An event that the topology has no place for is an
// error: a name that does not exist, or members that are no degradation. It is
// called once for each event of a run, since failing learns of its domain.
func (e Event) Expand(t *topologies.Topology, ix *topologies.Index, members []int, failing *Failing) ([]Timed, error) {
	if _, ok := kindOf(e.Kind); !ok {
		return nil, &FieldError{e.Kind, "kind", e.Kind, "no such event"}
	}
	switch e.Kind {
	case "set", "drain", "restart":
		return e.expandDevices(t, ix)
	}
	if e.Domain != "" {
		return failing.expand(e, members)
	}
	bundles, err := e.targets(t, ix)
	if err != nil {
		return nil, err
	}
	var list []Timed
	for _, b := range bundles {
		changes, err := e.expandBundle(t, b, members[b])
		if err != nil {
			return nil, err
		}
		list = append(list, changes...)
	}
	slices.SortStableFunc(list, func(a, b Timed) int { return cmp.Compare(a.After, b.After) })
	return list, nil
}

func (e Event) expandBundle(t *topologies.Topology, b int32, members int) ([]Timed, error) {
	bundle := t.Bundles[b]
	now := func(n int) []Timed { return []Timed{{0, Change{Bundle: b, Members: n}}} }
	switch e.Kind {
	case "ramp":
		return e.expandRamp(b, bundle)
	case "replay":
		return e.expandReplay(b, bundle)
	case "degrade", "flap", "synchronised":
		if e.Members < 1 || e.Members >= bundle.Members {
			return nil, &FieldError{e.Kind, "members", strconv.Itoa(e.Members), wantLeft(bundle)}
		}
		if e.Kind == "degrade" {
			return now(e.Members), nil
		}
		if e.Members >= members {
			return nil, &FieldError{e.Kind, "members", strconv.Itoa(e.Members), fmt.Sprintf("want less than the %d that are up: a flap falls and comes back", members)}
		}
		var list []Timed
		for i := range e.Count {
			at := time.Duration(i) * e.Period
			list = append(list, Timed{at, Change{Bundle: b, Members: e.Members}}, Timed{at + e.Period/2, Change{Bundle: b, Members: members}})
		}
		return list, nil
	case "restore":
		return mended(b, bundle), nil
	case "down":
		return e.expandDown(b), nil
	case "grey":
		if members == 0 && e.Bundle == "" {
			return nil, nil
		}
		if members == 0 {
			return nil, &FieldError{e.Kind, "bundle", bundle.Name, "the bundle is down: it carries nothing that could be lost"}
		}
		return []Timed{{0, Change{Kind: SetLoss, Bundle: b, Loss: e.Loss}}}, nil
	case "up":
		if members == 0 {
			return mended(b, bundle), nil
		}
		return nil, nil
	case "reset":
		if members == 0 {
			return nil, &FieldError{e.Kind, "bundle", e.Bundle, "the bundle is down and has no session"}
		}
		return []Timed{{0, Change{Kind: Reset, Bundle: b}}}, nil
	}
	if e.From != bundle.A && e.From != bundle.B {
		return nil, &FieldError{e.Kind, "from", e.From, fmt.Sprintf("want an end of the bundle: %q or %q", bundle.A, bundle.B)}
	}
	kind := Hold
	if e.Kind == "release" {
		kind = Release
	} else if members == 0 {
		return nil, &FieldError{e.Kind, "bundle", e.Bundle, "the bundle is down and has no session"}
	}
	return []Timed{{0, Change{Kind: kind, Bundle: b, FromB: e.From == bundle.B}}}, nil
}

// expandDevices is Expand for the kinds that change devices.
func (e Event) expandDevices(t *topologies.Topology, ix *topologies.Index) ([]Timed, error) {
	if e.Kind == "set" {
		s := topologies.DefaultSettings()
		if err := s.Set(e.Knob, e.Value); err != nil {
			return nil, &FieldError{e.Kind, "value", e.Value, err.Error()}
		}
	}
	drain, _ := topologies.ParseDrainState(e.State)
	var list []Timed
	for d, dev := range t.Devices {
		switch {
		case e.Device != "" && dev.Name != e.Device,
			e.Role != "" && dev.Role.String() != e.Role,
			e.Plane != 0 && (dev.Plane != e.Plane || dev.Role < topologies.Bag),
			e.Region != "" && dev.Region != e.Region:
			continue
		}
		if e.Kind == "restart" {
			list = append(list, Timed{0, Change{Kind: Stop, Device: int32(d)}}, Timed{e.Takes, Change{Kind: StartAgain, Device: int32(d)}})
			continue
		}
		c := Change{Kind: SetKnob, Device: int32(d), Knob: e.Knob, Value: e.Value}
		if e.Kind == "drain" {
			c = Change{Kind: SetDrain, Device: int32(d), Drain: drain}
		}
		list = append(list, Timed{0, c})
	}
	if len(list) == 0 {
		return nil, &FieldError{e.Kind, "target", e.String(), "no such device in the topology"}
	}
	return list, nil
}

// targets are the bundles that the event is about.
func (e Event) targets(t *topologies.Topology, ix *topologies.Index) (bundles []int32, err error) {
	switch {
	case e.Bundle != "":
		b, ok := ix.Bundle[e.Bundle]
		if !ok {
			return nil, &FieldError{e.Kind, "bundle", e.Bundle, "no such bundle in the topology"}
		}
		return []int32{int32(b)}, nil
	case e.Bundles != "":
		return e.several(ix)
	case e.Device != "":
		d, ok := ix.Device[e.Device]
		if !ok {
			return nil, &FieldError{e.Kind, "device", e.Device, "no such device in the topology"}
		}
		for _, b := range ix.Of[d] {
			bundles = append(bundles, int32(b))
		}
	case e.All:
		for b := range t.Bundles {
			bundles = append(bundles, int32(b))
		}
	default:
		return nil, &FieldError{e.Kind, "target", "", "missing"}
	}
	return bundles, nil
}

// Paper plays events on paper, to find those that have no place before
// anything runs.
type Paper struct {
	t       *topologies.Topology
	ix      *topologies.Index
	members []int
	line    []Timed // changes to come, After from the beginning
	latest  time.Duration
	failing *Failing
}

// NewPaper begins with all bundles at full health.
func NewPaper(t *topologies.Topology, ix *topologies.Index) *Paper {
	p := &Paper{t: t, ix: ix, failing: NewFailing(t)}
	for _, b := range t.Bundles {
		p.members = append(p.members, b.Members)
	}
	return p
}

// Play does one event. As in a run it sees the members as they are before what
// is due with it; an event without a time sees all that came before. An event
// that is an error is left out.
func (p *Paper) Play(e Event) error {
	if e.At != 0 && e.At < p.latest {
		return &FieldError{e.Kind, "at", e.At.String(), fmt.Sprintf("want at least %v: an event before starts then", p.latest)}
	}
	for len(p.line) > 0 && (e.At == 0 || p.line[0].After < e.At) {
		if c := p.line[0].Change; c.Kind == SetMembers || c.Kind == Fail {
			p.members[c.Bundle] = c.Members
		}
		p.line = p.line[1:]
	}
	changes, err := e.Expand(p.t, p.ix, p.members, p.failing)
	if err != nil {
		return err
	}
	p.latest = max(p.latest, e.At)
	for _, c := range changes {
		p.line = append(p.line, Timed{e.At + c.After, c.Change})
		if e.Domain == "" && (c.Change.Kind == SetMembers || c.Change.Kind == Fail) {
			p.failing.Forget(c.Change.Bundle)
		}
	}
	slices.SortStableFunc(p.line, func(a, b Timed) int { return cmp.Compare(a.After, b.After) })
	return nil
}
