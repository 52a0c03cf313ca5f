package topologies

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Settings are the knobs of one speaker. The zero value is not the default:
// DefaultSettings is. Package speakers documents what each does, in its own
// table of knobs.
type Settings struct {
	WeightSource   string        // SourceBottleneck or SourceReceived
	WeightMissing  string        // MissingECMP, MissingSkip or MissingDefault
	WeightZero     string        // ZeroExclude or ZeroECMP
	Advertise      string        // one of the Advertise constants
	AdvertiseValue uint64        // bits/s, only with AdvertiseSet
	Divide         string        // DivideNone or DivideEqual
	Transitivity   string        // one of the constants of that name
	RIBBatch       time.Duration // 0 = decide at once
	MaxPrefixes    int           // per session; 0 = no limit
	RejectClasses  []string      // prefix classes that are not imported
	RejectTagged   []uint32      // routes with one of these standard communities are not imported
	StaleTime      time.Duration // how long the routes of a neighbour that restarts are used; 0 = not at all
	EndOfRIBTime   time.Duration // how long a restarted speaker waits for the End-of-RIB of all neighbours
	Linger         time.Duration // how long a drained device still forwards; more than 0
}

// The values of the knobs, the default of each first.
const (
	SourceBottleneck = "bottleneck"
	SourceReceived   = "received"

	MissingECMP    = "ecmp"
	MissingSkip    = "skip"
	MissingDefault = "default-weight"

	ZeroExclude = "exclude"
	ZeroECMP    = "ecmp"

	AdvertiseBottleneckSum     = "bottleneck-sum"
	AdvertiseAggregateReceived = "aggregate-received"
	AdvertiseAggregateLocal    = "aggregate-local"
	AdvertiseBestPath          = "best-path"
	AdvertiseSet               = "set"
	AdvertiseDisable           = "disable"

	DivideNone  = "none"
	DivideEqual = "equal"

	NonTransitive  = "non-transitive"
	Transitive     = "transitive"
	BothTransitive = "both"
)

// DefaultRIBBatch is the interval at which BGP++ runs best-path selection.
const DefaultRIBBatch = 200 * time.Millisecond

// DefaultSettings are those of a speaker that nothing is said of.
func DefaultSettings() Settings {
	var s Settings
	for _, k := range knobs {
		if err := k.set(&s, k.Default); err != nil {
			panic(err) // a default that its own knob refuses: a test finds it
		}
	}
	return s
}

// Knob is one speaker setting: its name, what it may be, and who does it so.
type Knob struct {
	Name    string
	Values  []string // all of them, or the form of a free value in capitals
	Default string
	Doc     string
	Who     string // who does it so
	Source  string // where that is said

	set func(*Settings, string) error
	get func(*Settings) string
}

// Knobs is the table of all speaker settings.
func Knobs() []Knob { return slices.Clone(knobs) }

// Set changes one knob by name.
func (s *Settings) Set(knob, value string) error {
	k, err := KnobOf(knob)
	if err != nil {
		return err
	}
	return k.set(s, value)
}

// Get is the value of one knob, in the form that Set reads.
func (s *Settings) Get(knob string) (string, error) {
	k, err := KnobOf(knob)
	if err != nil {
		return "", err
	}
	return k.get(s), nil
}

// KnobOf finds a knob by name; the error lists them all.
func KnobOf(name string) (Knob, error) {
	var names []string
	for _, k := range knobs {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Knob{}, fmt.Errorf("knob %q: want one of %s", name, strings.Join(names, ", "))
}

// Validate refuses knobs that contradict each other.
func (s *Settings) Validate() error {
	switch {
	case s.Advertise == AdvertiseSet && s.AdvertiseValue == 0:
		return fmt.Errorf("advertise %q: want advertise.value, the capacity to tell", s.Advertise)
	case s.Advertise == AdvertiseDisable && s.AdvertiseValue != 0:
		return fmt.Errorf("advertise.value %q: advertise is %q and tells no value", yamltree.FormatCapacity(s.AdvertiseValue), s.Advertise)
	case s.Advertise == AdvertiseDisable && s.Divide == DivideEqual:
		return fmt.Errorf("divide %q: advertise is %q and tells no value to divide", s.Divide, s.Advertise)
	case s.Linger <= 0:
		return fmt.Errorf("drain.linger %v: want more than 0s, or forwarding ends before the farthest neighbour has handled the withdrawal", s.Linger)
	}
	return nil
}

// choice is a knob with a few named values, the default first.
func choice(name, doc, who, source string, field func(*Settings) *string, values ...string) Knob {
	return Knob{
		Name: name, Values: values, Default: values[0], Doc: doc, Who: who, Source: source,
		set: func(s *Settings, v string) error {
			if !slices.Contains(values, v) {
				return fmt.Errorf("%s %q: want %s", name, v, strings.Join(values, ", "))
			}
			*field(s) = v
			return nil
		},
		get: func(s *Settings) string { return *field(s) },
	}
}

// period is a knob that is a duration of up to an hour.
func period(name, doc, def, who, source string, field func(*Settings) *time.Duration) Knob {
	return Knob{
		Name: name, Values: []string{"DURATION"}, Default: def, Doc: doc, Who: who, Source: source,
		set: func(s *Settings, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 || d > time.Hour {
				return fmt.Errorf("%s %q: want a duration of 0s to 1h", name, v)
			}
			*field(s) = d
			return nil
		},
		get: func(s *Settings) string { return field(s).String() },
	}
}

var knobs = []Knob{
	choice("weights.source", "what a member's weight is: the smaller of bundle capacity and received value, or the received value alone",
		"`received`: BGP++, FRR, EOS; `bottleneck`: the FARE drafts", "draft-xu-idr-fare-05; facebook/BGP `RibBase.cpp`",
		func(s *Settings) *string { return &s.WeightSource }, SourceBottleneck, SourceReceived),
	choice("weights.missing", "a member without a valid value: makes the set equal, and `bottleneck-sum` tells no value; gets no traffic while others have a value; or counts as its bundle",
		"`ecmp`: RFC 10005, BGP++, IOS XR; `skip`, `default-weight`: FRR's `skip-missing` and `default-weight-for-missing`", "RFC 10005 S4; FRRouting/frr `bgp_mpath.c`; Cisco, BGP DMZ link bandwidth",
		func(s *Settings) *string { return &s.WeightMissing }, MissingECMP, MissingSkip, MissingDefault),
	choice("weights.zero", "a member with value zero: gets no share, or makes all shares equal; it adds 0 to the sum either way, and when all are zero the shares are equal",
		"`exclude` and `ecmp`: both allowed by RFC 10005; BGP++ and FRR treat zero as missing", "RFC 10005 S3.2; facebook/BGP `RibBase.cpp`; FRRouting/frr `bgp_zebra.c`",
		func(s *Settings) *string { return &s.WeightZero }, ZeroExclude, ZeroECMP),
	choice("advertise", "the value told: sum of min(bundle, received); sum of the received values, none if any is missing or zero; sum of the bundles' capacities; the best path's received value; advertise.value; or none",
		"all but the first: BGP++ (AdvertiseLinkBandwidth)", "facebook/fboss `bgp_attr.thrift`; facebook/BGP `RibBase.cpp`",
		func(s *Settings) *string { return &s.Advertise },
		AdvertiseBottleneckSum, AdvertiseAggregateReceived, AdvertiseAggregateLocal, AdvertiseBestPath, AdvertiseSet, AdvertiseDisable),
	{
		Name: "advertise.value", Values: []string{"CAPACITY"}, Default: "0", Doc: "what `advertise: set` tells, such as 25.6T; 0 = not set",
		Who: "BGP++ (SET_LINK_BPS)", Source: "facebook/fboss `bgp_config.thrift`",
		set: func(s *Settings, v string) error {
			if v == "0" {
				s.AdvertiseValue = 0
				return nil
			}
			bits, err := yamltree.ParseCapacity(v)
			if err != nil {
				return fmt.Errorf("advertise.value %q: %w", v, err)
			}
			s.AdvertiseValue = bits
			return nil
		},
		get: func(s *Settings) string {
			if s.AdvertiseValue == 0 {
				return "0"
			}
			return yamltree.FormatCapacity(s.AdvertiseValue)
		},
	},
	choice("divide", "the told value as it is, or divided by the neighbours of the upper or same tier that may hear it",
		"`equal`: Arista EOS (`send-community link-bandwidth divide equal`)", "ansible-collections/arista.eos `eos_bgp_global.py`",
		func(s *Settings) *string { return &s.Divide }, DivideNone, DivideEqual),
	choice("transitivity", "which link-bandwidth community is sent: type 0x40, type 0x00, or both with equal values",
		"`non-transitive`: BGP++; `transitive`: FRR's default; `both`: RFC 10005's advice, and what external devices need", "RFC 10005 S3.1; facebook/BGP `AdjRibCommon.cpp`; FRRouting/frr `doc/user/bgp.rst`",
		func(s *Settings) *string { return &s.Transitivity }, NonTransitive, Transitive, BothTransitive),
	{
		Name: "rib-batch", Values: []string{"DURATION"}, Default: "200ms", Doc: "how long input is gathered before a decision; 0s decides on each input by itself. In rounds a batch is a round whatever its length",
		Who: "BGP++ (200 ms)", Source: "facebook/BGP `Consts.h`",
		set: func(s *Settings, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 || d > time.Minute {
				return fmt.Errorf("rib-batch %q: want a duration of 0s to 1m", v)
			}
			s.RIBBatch = d
			return nil
		},
		get: func(s *Settings) string { return s.RIBBatch.String() },
	},
	period("restart.stale-time", "how long the routes of a neighbour that restarts are used: until its End-of-RIB, or this long; 0s drops them with the session",
		"30s", "RFC 4724 (Restart Time); BGP++ 30 s to 300 s", "RFC 4724 S4.2; facebook/BGP `Consts.h`", func(s *Settings) *time.Duration { return &s.StaleTime }),
	period("restart.eor-time", "how long a restarted speaker waits for the End-of-RIB of all its neighbours before it decides",
		"30s", "RFC 4724 (Selection_Deferral_Timer); BGP++ 120 s", "RFC 4724 S4.1; facebook/BGP `Consts.h`", func(s *Settings) *time.Duration { return &s.EndOfRIBTime }),
	period("drain.linger", "how long a drained device still forwards after it has withdrawn its routes; more than 0s. Time stands still until the farthest withdrawal is handled",
		"1s", "bagrig; operators wait before they take a drained device down", "RFC 8326 S4", func(s *Settings) *time.Duration { return &s.Linger }),
	{
		Name: "import.max-prefixes", Values: []string{"NUMBER"}, Default: "0", Doc: "most prefixes that one session may hold, each counted once; one more ends the session; 0 = no limit",
		Who: "BGP++ (12,000 per peer), all vendors", Source: "facebook/BGP `Consts.h`; Running BGP in Data Centers at Scale, NSDI 2021",
		set: func(s *Settings, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 1e9 {
				return fmt.Errorf("import.max-prefixes %q: want 0 to 1000000000", v)
			}
			s.MaxPrefixes = n
			return nil
		},
		get: func(s *Settings) string { return strconv.Itoa(s.MaxPrefixes) },
	},
	{
		Name: "import.reject-classes", Values: []string{"CLASS,..."}, Default: "", Doc: "prefix classes that are not taken from any neighbour",
		Who: "prefix lists of every vendor", Source: "RFC 4271 S9.1.1",
		set: func(s *Settings, v string) error { s.RejectClasses = fields(v); return nil },
		get: func(s *Settings) string { return strings.Join(s.RejectClasses, ",") },
	},
	{
		Name: "import.reject-communities", Values: []string{"ASN:VALUE,..."}, Default: "", Doc: "routes with one of these standard communities are not taken",
		Who: "community lists of every vendor", Source: "RFC 1997",
		set: setRejectTagged,
		get: func(s *Settings) string {
			var list []string
			for _, c := range s.RejectTagged {
				list = append(list, fmt.Sprintf("%d:%d", c>>16, c&0xffff))
			}
			return strings.Join(list, ",")
		},
	},
}

func setRejectTagged(s *Settings, v string) error {
	var list []uint32
	for _, text := range fields(v) {
		high, low, ok := strings.Cut(text, ":")
		h, err1 := strconv.ParseUint(high, 10, 16)
		l, err2 := strconv.ParseUint(low, 10, 16)
		if !ok || err1 != nil || err2 != nil {
			return fmt.Errorf("import.reject-communities %q: want a community such as 65000:1", text)
		}
		list = append(list, uint32(h<<16|l))
	}
	s.RejectTagged = list
	return nil
}

func fields(v string) (list []string) {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// DrainState says how far a device is taken out of service.
type DrainState uint8

// The drain states.
const (
	Live    DrainState = iota // in service
	Warm                      // told with the graceful-shutdown community (RFC 8326): receivers prefer it least
	Drained                   // withdrawn; forwarding ends a while later
)

var drainNames = [...]string{Live: "live", Warm: "warm", Drained: "drained"}

func (d DrainState) String() string {
	if int(d) < len(drainNames) {
		return drainNames[d]
	}
	return fmt.Sprintf("DrainState(%d)", uint8(d))
}

// ParseDrainState reads a state's name as String prints it.
func ParseDrainState(s string) (DrainState, bool) {
	i := slices.Index(drainNames[:], s)
	return DrainState(max(i, 0)), i >= 0
}
