package speakers_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// tape turns any bytes into choices; an empty tape gives zeros for ever.
type tape []byte

func (t *tape) choose(n int) int { return t.next() % n }

// next is one byte. Where a choice has grown since tapes were first kept, the
// high bits of its byte, which those tapes leave clear, make the new part of it.
func (t *tape) next() int {
	if len(*t) == 0 {
		return 0
	}
	b := (*t)[0]
	*t = (*t)[1:]
	return int(b)
}

// pick takes one of the list.
func pick[T any](t *tape, list []T) T { return list[t.choose(len(list))] }

const (
	tapeASN      = 5
	tapePrefixes = 3
	tapeHold     = 30 * time.Second
	tapeSettings = 16 // bytes of settings on a tape, some to spare
	tapeLowest   = lowest(20 * time.Second)
)

var (
	roles        = []topologies.Role{topologies.Edge, topologies.Spine, topologies.Bag}
	someCapacity = []uint64{4 * unit, 3 * unit, unit, 0, 1, 7, 1<<63 + 10, ^uint64(0)}
	someValue    = []float32{
		units(4), units(2), units(1), units(0.3), 0, 0.125, 2.125, math.SmallestNonzeroFloat32, math.MaxFloat32,
		float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), -1,
	}
	tapeClasses = []string{"spine", "fabric"} // prefix 2 has none
	someTags    = [][]uint32{
		{speakers.GracefulShutdown}, {7, speakers.GracefulShutdown}, {speakers.ScopeDown}, {65000<<16 | 9, 7}, nil,
	}
	// tapeKnobs are the knobs in the order of their bytes on a tape, with the
	// values of those that take a free one. A new knob goes to the end.
	tapeKnobs = []tapeKnob{
		{"weights.source", nil}, {"weights.missing", nil}, {"weights.zero", nil}, {"advertise", nil},
		{"advertise.value", []string{"0", "1G", "25.6T", "100G"}}, {"divide", nil}, {"transitivity", nil},
		{"rib-batch", []string{"200ms", "0s"}},
		{"import.max-prefixes", []string{"0", "0", "0", "1", "2"}},
		{"import.reject-classes", []string{"", "", "spine", "fabric,spine", "region"}},
		{"import.reject-communities", []string{"", "", "65000:9", "65000:1", "65535:0", "1:1,0:7"}},
		{"restart.stale-time", []string{"30s", "0s"}}, {"restart.eor-time", []string{"30s"}},
		{"drain.linger", []string{"1s", "4s", "8s"}},
	}
)

// config takes a speaker off the tape: one to six sessions to up to four
// neighbours, and the prefixes that it originates.
func (t *tape) config() speakers.Config {
	cfg := speakers.Config{ASN: tapeASN, Role: pick(t, roles), Prefixes: tapePrefixes, Classes: tapeClasses}
	var neighbors [4]topologies.Role
	for i := range neighbors {
		neighbors[i] = pick(t, roles)
	}
	for b := range int32(1 + t.choose(6)) {
		neighbor := t.choose(len(neighbors))
		cfg.Sessions = append(cfg.Sessions, speakers.Session{
			Bundle: 10 + 2*b, Neighbor: int32(neighbor), NeighborASN: 1 + uint32(neighbor)*2/3,
			NeighborRole: neighbors[neighbor], Capacity: pick(t, someCapacity),
		})
	}
	for p := range int32(tapePrefixes) {
		if t.choose(4) == 3 {
			cfg.Origins = append(cfg.Origins, speakers.Origin{Prefix: p, Bandwidth: pick(t, someCapacity)})
		}
	}
	return cfg
}

// aggregates makes prefix 0 an aggregate of the two others, or of the last, and
// sometimes prefix 1 one as well.
func (t *tape) aggregates(cfg *speakers.Config) {
	for p, specifics := range [][]int32{pick(t, [][]int32{{1, 2}, {2}}), {2}} {
		if p == 1 && t.choose(2) == 0 {
			break
		}
		a := speakers.Aggregate{Prefix: int32(p), Specifics: specifics}
		a.By, a.Announce = topologies.BySupporting, 1+uint64(t.choose(2))
		if t.choose(2) == 1 {
			a.By, a.Announce = topologies.ByCapacity, pick(t, []uint64{1, unit, 4 * unit, 1 << 63})
		}
		a.Withdraw, a.Suppress = pick(t, []uint64{a.Announce, (a.Announce + 1) / 2}), t.choose(2) == 1
		cfg.Aggregates = append(cfg.Aggregates, a)
		cfg.Origins = slices.DeleteFunc(cfg.Origins, func(o speakers.Origin) bool { return o.Prefix == a.Prefix })
	}
}

// restart makes the speaker one that has been started again.
func (t *tape) restart(sessions int) *speakers.Restart {
	r := &speakers.Restart{At: time.Duration(t.choose(3)) * time.Second, Drain: topologies.DrainState(t.choose(3))}
	for range sessions {
		r.Bundles = append(r.Bundles, pick(t, someCapacity))
	}
	return r
}

type tapeKnob struct {
	name   string
	values []string
}

// settings takes valid settings off the tape; zeros give the defaults.
func (t *tape) settings() *topologies.Settings {
	s := topologies.DefaultSettings()
	for i := range tapeSettings {
		b := t.next()
		if i >= len(tapeKnobs) {
			continue
		}
		k, err := topologies.KnobOf(tapeKnobs[i].name)
		if err != nil {
			panic(err) // the list has a knob that is gone
		}
		values := k.Values
		if free := tapeKnobs[i].values; free != nil {
			values = free
		}
		if err := s.Set(k.Name, values[b%len(values)]); err != nil {
			panic(err)
		}
	}
	switch {
	case s.Advertise == topologies.AdvertiseDisable:
		s.AdvertiseValue, s.Divide = 0, topologies.DivideNone
	case s.Advertise == topologies.AdvertiseSet && s.AdvertiseValue == 0:
		s.AdvertiseValue = 7 * unit
	}
	return &s
}

// control takes an input off the tape that concerns the whole speaker.
func (t *tape) control() speakers.Input {
	if t.choose(2) == 0 {
		return speakers.Input{Kind: speakers.Configure, Settings: t.settings()}
	}
	return speakers.Input{Kind: speakers.Drain, Drain: topologies.DrainState(t.choose(3))}
}

// route takes a route off the tape; paths are short and of few ASNs, the
// speaker's own one among them, so that they often tie, loop and hide.
func (t *tape) route() speakers.Route {
	var path []uint32
	for range t.choose(4) {
		path = append(path, 1+uint32(t.choose(tapeASN)))
	}
	valued := t.next()
	r := speakers.Route{
		Path: path, Valued: valued%8 != 7, Value: pick(t, someValue),
		LocalPref: pick(t, []uint32{0, 0, 0, 100, 50, 200}), Origin: pick(t, []uint8{0, 0, 0, 1, 2}),
	}
	if valued >= 0x80 {
		r.Tags = pick(t, someTags)
	}
	return r
}

// input takes something that happens to one session off the tape.
func (t *tape) input(bundle int32) speakers.Input {
	in := speakers.Input{Bundle: bundle}
	switch t.choose(10) {
	case 0:
		in.Kind = speakers.SessionUp
	case 1:
		in.Kind = speakers.SessionDown
	case 2, 3:
		in.Kind, in.Capacity = speakers.Capacity, pick(t, someCapacity)
	case 4:
		in.Kind, in.Prefix = speakers.Withdraw, int32(t.choose(tapePrefixes))
	default:
		in.Kind, in.Prefix = speakers.Announce, int32(t.choose(tapePrefixes))
		route := t.route()
		in.Route = &route
	}
	return in
}

func TestTapesTurnEveryKnob(t *testing.T) {
	listed := map[string]bool{}
	for _, k := range tapeKnobs {
		listed[k.name] = true
	}
	for _, k := range topologies.Knobs() {
		if !listed[k.Name] {
			t.Errorf("knob %q: not in tapeKnobs: want it at the end", k.Name)
		}
	}
	if len(tapeKnobs) > tapeSettings {
		t.Errorf("got %d knobs, want at most %d: more would shift what old tapes mean", len(tapeKnobs), tapeSettings)
	}
	var zeros tape
	same(t, "settings of zeros", *zeros.settings(), topologies.DefaultSettings())
}
