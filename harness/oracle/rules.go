package oracle

import (
	"fmt"
	"slices"

	"github.com/bagrig/bagrig/topologies"
)

// Device is what the state of one device depends on, apart from the topology.
// The zero value is a device in service with every knob at its default.
//
// Settings.MaxPrefixes ends sessions and Settings.RIBBatch moves decisions in
// time, so neither changes an end state here: whoever sees a session end says
// so with Bundle.
type Device struct {
	Settings *topologies.Settings // nil = all knobs at their defaults
	Drain    topologies.DrainState
	// Whole devices have their bundles at full health, and off trial, as long as their
	// sessions are there: what happens to members at the other end they cannot know.
	Whole bool
	// Paths are AS_PATHs, as received, by prefix: where one is that of a member of the
	// device's set, the device tells that one on. Which of several equal routes a speaker
	// of another make prefers is its own affair: many prefer the oldest.
	Paths [][]uint32
	// Announced are the aggregates that the device announced before, by their
	// prefix: between the thresholds an aggregate stays as it was.
	Announced []int32
}

// The standard communities that told routes carry.
const (
	scopeCommunity    = 65000<<16 | 1 // told only down
	shutdownCommunity = 65535 << 16   // graceful shutdown, RFC 8326
)

// rules are the knobs of one device as its decisions need them. The zero value
// has all defaults.
type rules struct {
	sourceReceived bool // weights.source received
	missing        missing
	zeroECMP       bool // weights.zero ecmp
	advertise      advertise
	advertised     uint64 // bits/s, for advertiseSet
	divide         bool   // divide equal
	form           string // as state.Told.Form of a route with a value

	rejectClasses []string
	rejectDown    bool // routes with the community of the scope
	rejectWarm    bool // routes with the graceful-shutdown community

	warm    bool
	drained bool
}

type missing uint8

const (
	missingECMP missing = iota
	missingSkip
	missingDefault
)

type advertise uint8

const (
	advertiseBottleneckSum advertise = iota
	advertiseAggregateReceived
	advertiseAggregateLocal
	advertiseBestPath
	advertiseSet
	advertiseDisable
)

// The words of the knobs, each at the place of its rule.
var (
	sourceWords    = []string{topologies.SourceBottleneck, topologies.SourceReceived}
	missingWords   = []string{missingECMP: topologies.MissingECMP, missingSkip: topologies.MissingSkip, missingDefault: topologies.MissingDefault}
	zeroWords      = []string{topologies.ZeroExclude, topologies.ZeroECMP}
	advertiseWords = []string{
		advertiseBottleneckSum:     topologies.AdvertiseBottleneckSum,
		advertiseAggregateReceived: topologies.AdvertiseAggregateReceived,
		advertiseAggregateLocal:    topologies.AdvertiseAggregateLocal,
		advertiseBestPath:          topologies.AdvertiseBestPath,
		advertiseSet:               topologies.AdvertiseSet,
		advertiseDisable:           topologies.AdvertiseDisable,
	}
	divideWords       = []string{topologies.DivideNone, topologies.DivideEqual}
	transitivityWords = []string{topologies.NonTransitive, topologies.Transitive, topologies.BothTransitive}
)

// rulesOf reads one device. A word that no knob has is an error: the zero
// Settings, which are not the defaults, are found so.
func rulesOf(d Device) (*rules, error) {
	r := &rules{warm: d.Drain == topologies.Warm, drained: d.Drain == topologies.Drained}
	if d.Drain > topologies.Drained {
		return nil, fmt.Errorf("drain %q: want live, warm or drained", d.Drain)
	}
	if d.Settings == nil {
		return r, nil
	}
	s := d.Settings
	words := reader{}
	r.sourceReceived = words.read("weights.source", s.WeightSource, sourceWords) == 1
	r.missing = missing(words.read("weights.missing", s.WeightMissing, missingWords))
	r.zeroECMP = words.read("weights.zero", s.WeightZero, zeroWords) == 1
	r.advertise = advertise(words.read("advertise", s.Advertise, advertiseWords))
	r.divide = words.read("divide", s.Divide, divideWords) == 1
	if form := words.read("transitivity", s.Transitivity, transitivityWords); form > 0 {
		r.form = s.Transitivity
	}
	r.advertised = s.AdvertiseValue
	r.rejectClasses = slices.Clone(s.RejectClasses)
	r.rejectDown = slices.Contains(s.RejectTagged, scopeCommunity)
	r.rejectWarm = slices.Contains(s.RejectTagged, shutdownCommunity)
	return r, words.err
}

// reader keeps the first word that no knob has.
type reader struct{ err error }

// read is the place of the value among the words, or 0 with an error.
func (r *reader) read(knob, value string, words []string) int {
	i := slices.Index(words, value)
	if i < 0 && r.err == nil {
		r.err = fmt.Errorf("%s %q: want one of %q", knob, value, words)
	}
	return max(i, 0)
}

// rules reads all devices; nil are all at their defaults and live. Those that are
// as in another state have its rules.
func (o *Oracle) rules(devices []Device, from *State) ([]*rules, error) {
	list := make([]*rules, len(o.asn))
	if devices == nil {
		defaults := &rules{}
		for d := range list {
			list[d] = defaults
		}
		return list, nil
	}
	if len(devices) != len(list) {
		return nil, fmt.Errorf("topology %q: states of %d devices: want %d", o.name, len(devices), len(list))
	}
	for d := range list {
		if from != nil && from.devices != nil && from.devices[d].sameRules(&devices[d]) {
			list[d] = from.rules[d]
			continue
		}
		r, err := rulesOf(devices[d])
		if err != nil {
			return nil, fmt.Errorf("topology %q: device %q: %w", o.name, o.names[d], err)
		}
		list[d] = r
	}
	return list, nil
}

// sameRules tells whether two devices have the same settings, which nobody writes
// to, and drain state.
func (d *Device) sameRules(e *Device) bool { return d.Settings == e.Settings && d.Drain == e.Drain }
