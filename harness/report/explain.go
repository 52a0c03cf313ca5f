package report

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// Explanation is one device's whole decision on one prefix, as `bagrig explain
// --json` prints it. Names that end in _bps are bits/s, in _s virtual seconds
// since the baseline; docs/explain.md describes every field.
type Explanation struct {
	SceneHead
	Device     ExplainedDevice      `json:"device"`
	Prefix     ExplainedPrefix      `json:"prefix"`
	Aggregate  *ExplainedAggregate  `json:"aggregate,omitempty"` // nil = the device announces no such aggregate
	Settings   map[string]string    `json:"settings"`
	Candidates []ExplainedCandidate `json:"candidates"`
	Set        []ExplainedMember    `json:"set"`
	Equal      string               `json:"equal_shares_because,omitempty"`
	Value      ExplainedValue       `json:"value"`
	Damping    ExplainedDamping     `json:"damping"`
	Told       ExplainedTold        `json:"told"`
	Sessions   []ExplainedSession   `json:"sessions"`
	Hardware   ExplainedHardware    `json:"hardware"`

	member uint64 // bits/s of the topology's smallest member
}

// SceneHead says which moment of which scenario a document is about.
type SceneHead struct {
	Schema    int     `json:"schema"`
	Scenario  string  `json:"scenario"`
	Topology  string  `json:"topology"`
	AtEvent   int     `json:"at_event"` // from 1; 0 = the baseline
	Events    int     `json:"events_planned"`
	EventText string  `json:"event_text,omitempty"`
	TimeS     float64 `json:"virtual_s"`
}

// ExplainedDevice is the device that decides.
type ExplainedDevice struct {
	Name          string   `json:"name"`
	Role          string   `json:"role"`
	Region        string   `json:"region,omitempty"`
	Fabric        string   `json:"fabric,omitempty"`
	Plane         int      `json:"plane,omitempty"`
	ASN           uint32   `json:"asn"`
	Drain         string   `json:"drain"`
	Restarting    bool     `json:"restarting,omitempty"`
	ForwardsUntil *float64 `json:"forwards_until_s,omitempty"`
}

// ExplainedPrefix is the prefix that is decided on.
type ExplainedPrefix struct {
	Prefix     string   `json:"prefix"`
	Class      string   `json:"class,omitempty"`
	Origins    []string `json:"origins"`
	Originates bool     `json:"originated_here"`
	Local      bool     `json:"own_route_used"`
}

// ExplainedAggregate is the condition under which the device announces the
// prefix. The thresholds are more-specifics or bits/s, as By says.
type ExplainedAggregate struct {
	By         string `json:"by"`
	Announce   uint64 `json:"announce_at"`
	Withdraw   uint64 `json:"withdraw_below"`
	Suppress   bool   `json:"suppress"`
	Specifics  int    `json:"more_specifics"`
	Supporting int    `json:"supporting"`
	Capacity   uint64 `json:"supporting_bps"`
	Announced  bool   `json:"announced"`
}

// ExplainedCandidate is an Adj-RIB-In entry and the verdict on it.
type ExplainedCandidate struct {
	Neighbor  string   `json:"neighbor"`
	Bundle    string   `json:"bundle"`
	ASPath    []uint32 `json:"as_path"`
	LocalPref uint32   `json:"local_pref"`
	Origin    string   `json:"origin"`
	Tags      []string `json:"communities"`
	Received  *uint64  `json:"received_bps"` // nil = no valid value
	Verdict   string   `json:"verdict"`
	Stale     bool     `json:"stale,omitempty"` // from before the neighbour's restart
	ToldOn    bool     `json:"path_told_on"`
}

// ExplainedMember is a member of the multipath set.
type ExplainedMember struct {
	Neighbor string  `json:"neighbor"`
	Bundle   string  `json:"bundle"`
	Capacity uint64  `json:"capacity_bps"`
	Received *uint64 `json:"received_bps"` // nil = no valid value
	Parallel int     `json:"parallel_bundles"`
	Min      uint64  `json:"min_bps"`
	Share    uint64  `json:"share"` // bits/s, or 1 each where shares are equal
	Weight   int     `json:"weight"`
}

// ExplainedValue is how the bottleneck value came about.
type ExplainedValue struct {
	Mode    string          `json:"mode"`
	Terms   []ExplainedTerm `json:"terms"`
	Sum     *uint64         `json:"sum_bps"` // nil = no value
	Divisor uint64          `json:"divisor"`
	Value   *uint64         `json:"bottleneck_bps"` // nil = no value
	Why     string          `json:"none_because,omitempty"`
}

// ExplainedTerm is one part of a sum.
type ExplainedTerm struct {
	Neighbor string `json:"neighbor"`
	Bits     uint64 `json:"term_bps"`
}

// ExplainedDamping is the way from the bottleneck value to the told value.
type ExplainedDamping struct {
	Pipeline string           `json:"pipeline"`
	Stages   []ExplainedStage `json:"stages"`
	NextS    *float64         `json:"next_timer_s"` // nil = none
}

// ExplainedStage is one stage of damping on the told value.
type ExplainedStage struct {
	Stage      string  `json:"stage"`
	Memoryless bool    `json:"memoryless"`
	In         *uint64 `json:"in_bps"`
	InReach    string  `json:"in_route"`
	Out        *uint64 `json:"out_bps"`
	OutReach   string  `json:"out_route"`
}

// ExplainedTold is what neighbours hear.
type ExplainedTold struct {
	Present bool     `json:"present"`
	Atomic  bool     `json:"atomic_aggregate,omitempty"`
	Value   *uint64  `json:"told_bps"`         // nil = no value
	Bytes   *float64 `json:"bytes_per_second"` // exactly as on the wire
	Wire    []string `json:"link_bandwidth_communities"`
	Tags    []string `json:"communities"`
	ASPath  []uint32 `json:"as_path"`
	Why     string   `json:"nothing_because,omitempty"`
}

// ExplainedSession is a session of the device, its bundle, and whether the
// prefix is told over it.
type ExplainedSession struct {
	Neighbor    string   `json:"neighbor"`
	Role        string   `json:"role"`
	ASN         uint32   `json:"asn"`
	Bundle      string   `json:"bundle"`
	Members     int      `json:"members"`
	FullMembers int      `json:"full_members"`
	Capacity    uint64   `json:"capacity_bps"`
	Passed      uint64   `json:"passed_bps"`
	Trial       bool     `json:"on_trial"`
	NextS       *float64 `json:"next_timer_s"` // nil = none
	StaleUntil  *float64 `json:"stale_until_s,omitempty"`
	Established bool     `json:"established"`
	EndedBy     string   `json:"ended_by,omitempty"` // device whose import.max-prefixes ended the session
	Unnoticed   bool     `json:"failed_unnoticed"`   // all members are lost, and the ends have not noticed
	Lost        float64  `json:"lost_unseen"`        // part of its traffic that is lost and no routing sees
	HeldFrom    []string `json:"held_from"`          // devices whose UPDATEs wait
	Told        bool     `json:"told"`
	Why         string   `json:"not_told_because,omitempty"`
}

// ExplainedHardware is the device's FIB entry of the prefix.
type ExplainedHardware struct {
	Profile     string           `json:"profile"`
	Programmed  bool             `json:"programmed"`
	Group       int              `json:"group"` // 0 = a single next hop, or none
	Weights     []HardwareWeight `json:"weights"`
	Error       Number           `json:"error"`
	Dropped     []string         `json:"dropped"`              // bundles
	Compromise  string           `json:"compromise,omitempty"` // what the overflow policy gave in place of its own weights
	Groups      int              `json:"groups"`
	GroupsPeak  int              `json:"groups_peak"`
	GroupsLimit *int             `json:"groups_limit"` // null where nobody publishes one
}

// HardwareWeight is a next hop's weight in hardware.
type HardwareWeight struct {
	Neighbor string `json:"neighbor"`
	Bundle   string `json:"bundle"`
	Weight   int    `json:"weight"`
}

// JSON is the document, indented, with a line's end.
func (e *Explanation) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(e, "", "  ")
	return append(data, '\n'), err
}

// dampingText is the pipeline that all share or, where a plan has rules, the told
// stages of the place: bundles then have stages of their own.
func dampingText(x *harness.Explanation) string {
	if x.Scene.Network.Plan == nil {
		return x.Scene.Network.Damping.String()
	}
	return x.Scene.Network.ToldDampings()(x.Device, x.Prefix).Pipeline.String()
}

func newSceneHead(s *harness.Scene) SceneHead {
	return SceneHead{
		Schema: Schema, Scenario: s.Scenario, Topology: s.Network.Topology.Name,
		AtEvent: s.Event, Events: s.Events, EventText: s.Text, TimeS: s.Time.Seconds(),
	}
}

// naming gives names for the indexes of a scene.
type naming struct {
	scene *harness.Scene
	t     *topologies.Topology
}

func (n naming) device(i int32) string { return n.t.Devices[i].Name }

func (n naming) bundle(i int32) string { return n.t.Bundles[i].Name }

// other is the device at the other end of a device's bundle.
func (n naming) other(bundle int32, device int) string {
	ends := n.scene.Network.Index.Ends[bundle]
	if ends[0] == device {
		return n.t.Devices[ends[1]].Name
	}
	return n.t.Devices[ends[0]].Name
}

// since is an engine's time as seconds since the baseline, nil for never.
func (n naming) since(at time.Duration) *float64 {
	if at == damping.Never {
		return nil
	}
	s := (at - n.scene.Epoch).Seconds()
	return &s
}

// NewExplanation puts names to an explanation.
func NewExplanation(x *harness.Explanation) *Explanation {
	n := naming{x.Scene, x.Scene.Network.Topology}
	p, d := n.t.Prefixes[x.Prefix], n.t.Devices[x.Device]
	e := &Explanation{
		SceneHead: newSceneHead(x.Scene), Settings: map[string]string{}, Equal: x.Core.Equal, member: n.t.SmallestSpeed(),
		Device: ExplainedDevice{
			Name: d.Name, Role: d.Role.String(), Region: d.Region, Fabric: d.Fabric, Plane: d.Plane, ASN: d.ASN,
			Drain: x.Core.Drain.String(), Restarting: x.Core.Restarting, ForwardsUntil: n.since(x.Core.ForwardsTo),
		},
		Prefix: ExplainedPrefix{
			Prefix: p.Prefix.String(), Class: p.Class, Origins: p.Origins, Originates: x.Core.Originates, Local: x.Core.Local,
		},
		Candidates: n.candidates(&x.Core), Set: n.members(x), Value: n.value(x.Core.Valuation), Told: told(x.Core.Tells),
		Damping:  ExplainedDamping{Pipeline: dampingText(x), NextS: n.since(x.Core.Told.Next), Stages: stages(x.Core.Told)},
		Hardware: n.hardware(x), Sessions: n.sessions(x),
	}
	if a := x.Core.Aggregate; a != nil {
		e.Aggregate = &ExplainedAggregate{
			By: a.By, Announce: a.Announce, Withdraw: a.Withdraw, Suppress: a.Suppress,
			Specifics: a.Specifics, Supporting: a.Supporting, Capacity: a.Capacity, Announced: a.Announced,
		}
	}
	for _, k := range topologies.Knobs() {
		e.Settings[k.Name], _ = x.Core.Settings.Get(k.Name)
	}
	return e
}

func (n naming) candidates(c *speakers.Explanation) []ExplainedCandidate {
	list := []ExplainedCandidate{}
	for i, j := range c.Candidates {
		list = append(list, ExplainedCandidate{
			Neighbor: n.device(j.Neighbor), Bundle: n.bundle(j.Bundle), ASPath: numbers(j.Route.Path), LocalPref: j.Route.LocalPref,
			Origin: originName(j.Route.Origin), Tags: tagTexts(j.Route.Tags), Received: received(j.Route.Valued, j.Route.Value),
			Verdict: j.Verdict, Stale: j.Stale, ToldOn: i == c.Best,
		})
	}
	return list
}

func received(valued bool, value float32) *uint64 {
	if !valued {
		return nil
	}
	bits := linkbw.ToBits(value)
	return &bits
}

// numbers is a list that JSON holds as [] and not null where it is empty.
func numbers(list []uint32) []uint32 { return append([]uint32{}, list...) }

// originName is the ORIGIN attribute as RFC 4271 names it.
func originName(o uint8) string {
	names := []string{"IGP", "EGP", "INCOMPLETE"}
	if int(o) < len(names) {
		return names[o]
	}
	return strconv.Itoa(int(o))
}

func tagTexts(tags []uint32) []string {
	list := []string{}
	for _, t := range tags {
		list = append(list, speakers.CommunityText(t))
	}
	return list
}

func (n naming) members(x *harness.Explanation) []ExplainedMember {
	list := []ExplainedMember{}
	for _, m := range x.Core.Set {
		e := ExplainedMember{
			Neighbor: n.device(m.Neighbor), Bundle: n.bundle(m.Bundle), Capacity: m.Capacity, Parallel: m.Parallel, Min: m.Min, Share: m.Share,
		}
		if m.Valued {
			e.Received = &m.Received
		}
		for _, w := range x.Entry.Members {
			if w.ID == m.Bundle {
				e.Weight = w.Weight
			}
		}
		list = append(list, e)
	}
	return list
}

func (n naming) value(v speakers.Valuation) ExplainedValue {
	e := ExplainedValue{Mode: v.Mode, Terms: []ExplainedTerm{}, Sum: bitsOf(v.Sum), Divisor: v.Divisor, Value: bitsOf(v.Value), Why: v.Why}
	for _, t := range v.Terms {
		e.Terms = append(e.Terms, ExplainedTerm{n.device(t.Neighbor), t.Bits})
	}
	return e
}

// bitsOf is nil where there is no value.
func bitsOf(v damping.Value) *uint64 {
	if v.Reach != damping.Valued {
		return nil
	}
	return &v.Bits
}

func stages(s speakers.Stages) []ExplainedStage {
	list := []ExplainedStage{}
	for _, stage := range s.Stages {
		list = append(list, ExplainedStage{
			Stage: stage.Name, Memoryless: stage.Memoryless, In: bitsOf(stage.In), InReach: reachName(stage.In.Reach),
			Out: bitsOf(stage.Out), OutReach: reachName(stage.Out.Reach),
		})
	}
	return list
}

func reachName(r damping.Reach) string {
	switch r {
	case damping.Gone:
		return "none"
	case damping.Unvalued:
		return "without value"
	}
	return "with value"
}

func told(t speakers.Telling) ExplainedTold {
	e := ExplainedTold{Present: t.Present, Atomic: t.Atomic, Wire: []string{}, Tags: tagTexts(t.Tags), ASPath: numbers(t.WirePath), Why: t.Why}
	if t.Valued {
		e.Value, e.Bytes = received(true, t.Value), exact(t.Value)
	}
	for _, c := range t.Wire {
		e.Wire = append(e.Wire, spaced(c[:]))
	}
	return e
}

// exact is a value in all its digits; JSON cuts a float32's to the fewest that
// tell it from its neighbours.
func exact(v float32) *float64 {
	f := float64(v)
	return &f
}

// spaced is bytes in hexadecimal, as packet dumps have them: 40 04 fd e8.
func spaced(data []byte) string {
	text := ""
	for i, b := range data {
		if i > 0 {
			text += " "
		}
		text += hex.EncodeToString([]byte{b})
	}
	return text
}

func (n naming) sessions(x *harness.Explanation) []ExplainedSession {
	list := []ExplainedSession{}
	for _, b := range x.Core.Bundles {
		list = append(list, ExplainedSession{
			Neighbor: n.device(b.Neighbor), Role: b.NeighborRole.String(), ASN: b.NeighborASN, Bundle: n.bundle(b.Bundle),
			Members: n.scene.Snapshot.Bundles[b.Bundle].Members, FullMembers: n.t.Bundles[b.Bundle].Members,
			Capacity: b.Capacity, Passed: b.Passed.Capacity, Trial: b.Passed.Trial, NextS: n.since(b.Next), StaleUntil: n.since(b.StaleTo),
			Established: b.Up, EndedBy: n.scene.Snapshot.Bundles[b.Bundle].CeasedBy, Unnoticed: n.scene.Snapshot.Bundles[b.Bundle].Unseen, Lost: n.scene.Snapshot.Bundles[b.Bundle].Lost, HeldFrom: n.heldFrom(b.Bundle), Told: b.Told, Why: b.Why,
		})
	}
	return list
}

// heldFrom are the ends of a bundle whose UPDATEs wait.
func (n naming) heldFrom(bundle int32) []string {
	list := []string{}
	for _, h := range n.scene.Snapshot.Held {
		switch b := n.t.Bundles[bundle]; {
		case h.Bundle != bundle:
		case h.FromB:
			list = append(list, b.B)
		default:
			list = append(list, b.A)
		}
	}
	return list
}

func (n naming) hardware(x *harness.Explanation) ExplainedHardware {
	audit := n.scene.Snapshot.Devices[x.Device].FIB
	e := ExplainedHardware{
		Profile: cmp.Or(audit.Profile, n.t.Devices[x.Device].ASIC), Programmed: len(x.Entry.Members) > 0, Group: x.Entry.Group, Weights: []HardwareWeight{},
		Error: Number(x.Entry.Error), Dropped: []string{}, Compromise: string(x.Entry.Compromise), Groups: audit.Groups, GroupsPeak: audit.GroupsPeak, GroupsLimit: published(audit.GroupsLimit),
	}
	for _, w := range x.Entry.Members {
		e.Weights = append(e.Weights, HardwareWeight{n.other(w.ID, x.Device), n.bundle(w.ID), w.Weight})
	}
	for _, id := range x.Entry.Dropped {
		e.Dropped = append(e.Dropped, n.bundle(id))
	}
	return e
}
