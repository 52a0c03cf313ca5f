package damping

import (
	"fmt"
	"strings"
	"time"
)

// Names of the presets.
const (
	PresetNone       = "none"
	PresetBagDefault = "bag-default"
)

// DefaultHoldDown is how long bag-default keeps good news: the hold-down time
// of the OpenConfig auto-link-bandwidth tests (featureprofiles RT-7.51).
const DefaultHoldDown = 30 * time.Second

// DefaultError is bag-default's error bound: the threshold in the example of
// BGP++'s quantizer configuration (bgp_config.thrift).
const DefaultError = 0.10

// Presets returns the names that Preset knows, the default first.
func Presets() []string { return []string{PresetBagDefault, PresetNone} }

// Preset returns a pipeline by name. Step is the speed of the smallest member
// in the network, in bits/s; none does not use it.
//
//   - none passes everything at once: the reference that damping is compared
//     with. Its law 2 is infinite.
//   - bag-default is HoldDown of 30 s on the bundle and, on the told value,
//     Quantize with an error bound of 10 % in steps of one member, rounding up.
//
// An unknown name is an error that lists the known ones; so is a step of 0 for
// a preset that needs it.
func Preset(name string, step uint64) (Pipeline, error) {
	switch name {
	case PresetNone:
		return Pipeline{Name: name}, nil
	case PresetBagDefault:
		q, err := NewQuantize(step, DefaultError, Up)
		if err != nil {
			return Pipeline{}, fmt.Errorf("damping preset %q: %w", name, err)
		}
		return Pipeline{
			Name:   name,
			Bundle: []BundleStage{HoldDown{T: DefaultHoldDown}},
			Told:   []ToldStage{q},
		}, nil
	}
	return Pipeline{}, fmt.Errorf("damping preset %q: want one of %s", name, strings.Join(Presets(), ", "))
}
