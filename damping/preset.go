package damping

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Names of the presets.
const (
	PresetNone       = "none"
	PresetBagDefault = "bag-default"
	PresetBGPPP      = "bgp++"
	PresetOpenConfig = "openconfig"
	PresetRFDCisco   = "rfd-cisco"
	PresetRFD7196    = "rfd-7196"
)

// DefaultHoldDown is how long bag-default keeps good news: the hold-down time
// of the OpenConfig auto-link-bandwidth tests (featureprofiles RT-7.51).
const DefaultHoldDown = 30 * time.Second

// DefaultError is bag-default's error bound: the threshold in the example of
// BGP++'s quantizer configuration (bgp_config.thrift).
const DefaultError = 0.10

// DefaultAnchorSteps is where the grid of bgp++ ends when no highest capacity
// is given, in steps: 52 Pb/s in steps of 800G, more than one building has.
const DefaultAnchorSteps = 65_536

// Presets returns the names that Preset knows, the default first.
func Presets() []string {
	return []string{PresetBagDefault, PresetNone, PresetBGPPP, PresetOpenConfig, PresetRFDCisco, PresetRFD7196}
}

// Sizes are the figures of a network that presets need, in bits/s.
type Sizes struct {
	Step    uint64 // the speed of the smallest member
	Largest uint64 // the highest value to be told; 0: DefaultAnchorSteps steps
}

// Preset is PresetFor where only the step is known: the speed of the smallest
// member in the network, in bits/s.
func Preset(name string, step uint64) (Pipeline, error) {
	return PresetFor(name, Sizes{Step: step})
}

// PresetFor returns a pipeline by name. Only bag-default and bgp++ use sizes.
//
//   - none passes everything at once: the reference that damping is compared
//     with. Its law 2 is infinite.
//   - bag-default is HoldDown of 30 s on the bundle and, on the told value,
//     Quantize with an error bound of 10 % in steps of one member, rounding up.
//     Time is spent once per event, where it happens; an error bound costs none.
//   - bgp++ is the quantizer as published (10 %, anchored at the highest
//     capacity, rounding up) and nothing else: it has no time, so a flap across
//     an edge is told each time, and law 2 is infinite.
//   - openconfig is the hold-down of 30 s alone, as auto-link-bandwidth has it:
//     exact values, but each lost member of each event is told.
//   - rfd-cisco is Penalty with the defaults of 1998 that Cisco keeps, and
//     withdraws what is suppressed: five attribute changes may do it. It is
//     here to be seen doing harm (RFC 7938 section 7.3).
//   - rfd-7196 is the same with the lowest threshold that RFC 7196 still
//     recommends, 6,000, which takes thirteen.
//
// An unknown name is an error that lists the known ones; so are sizes that
// a preset cannot use.
func PresetFor(name string, sizes Sizes) (Pipeline, error) {
	p, err := preset(name, sizes)
	if err != nil {
		return Pipeline{}, fmt.Errorf("damping preset %q: %w", name, err)
	}
	p.Name = name
	return p, nil
}

func preset(name string, sizes Sizes) (Pipeline, error) {
	hold := []BundleStage{HoldDown{T: DefaultHoldDown}}
	switch name {
	case PresetNone:
		return Pipeline{}, nil
	case PresetBagDefault:
		q, err := NewQuantize(sizes.Step, DefaultError, Up)
		return Pipeline{Bundle: hold, Told: []ToldStage{q}}, err
	case PresetBGPPP:
		anchor := sizes.Largest
		if anchor == 0 {
			anchor = sizes.Step * min(DefaultAnchorSteps, math.MaxUint64/max(sizes.Step, 1))
		}
		q, err := Quantize{Step: sizes.Step, Error: DefaultError, Anchor: anchor}.Built()
		return Pipeline{Told: []ToldStage{q}}, err
	case PresetOpenConfig:
		return Pipeline{Bundle: hold}, nil
	case PresetRFDCisco:
		return withholding(ProfileCisco)
	case PresetRFD7196:
		return withholding(ProfileAggressive)
	}
	return Pipeline{}, fmt.Errorf("want one of %s", strings.Join(Presets(), ", "))
}

func withholding(profile string) (Pipeline, error) {
	penalty, err := PenaltyProfile(profile)
	penalty.OnSuppress = Withhold
	return Pipeline{Told: []ToldStage{penalty}}, err
}
