package damping

import (
	"testing"
	"time"
)

func TestStagesOfASpeakerShareWhatItHears(t *testing.T) {
	g := StormGuard{Interval: 5, High: 9, Low: 2, MaxPause: 100}
	p := Pipeline{Told: []ToldStage{g, Quantize{Step: 1}}}
	one, other := p.NewSpeaker(1), p.NewSpeaker(2)
	a, b, c := one.NewTold(0), one.NewTold(1), other.NewTold(0)
	for _, policy := range []ToldPolicy{a, b, c} {
		policy.Step(0, Value{Reach: Valued, Bits: 5})
	}
	one.Received(1, 10)
	want := map[ToldPolicy]uint64{a: 5, b: 5, c: 6}
	for policy, bits := range want {
		if got, _ := policy.Step(6, Value{Reach: Valued, Bits: 6}); got.Bits != bits {
			t.Errorf("got %d, want %d: only the speaker that received pauses", got.Bits, bits)
		}
	}
}

func TestSpeakerWithoutStormGuardHearsNoChurn(t *testing.T) {
	s := Pipeline{Told: []ToldStage{Quantize{Step: 1}, Pace{Interval: time.Second}}}.NewSpeaker(0)
	if s.HearsChurn() {
		t.Error("HearsChurn: got true, want false")
	}
	s.Received(0, 5)
	if got, _ := (Pipeline{}).NewSpeaker(0).NewTold(3).Step(0, Value{Reach: Unvalued}); got.Reach != Unvalued {
		t.Errorf("no stages: got %v, want the value", got)
	}
}

func TestStagesBehindAWithheldRouteSeeNoAttributes(t *testing.T) {
	first, second := rfc2439(time.Hour), rfc2439(time.Hour)
	first.Attribute, second.Attribute = 0.4, 0.1
	p := Pipeline{Told: []ToldStage{first, second}}.NewTold().(*toldChain)
	if got, next := p.AttributeChange(0); got != (Value{}) || next != Never {
		t.Errorf("before the first value: got %v, %v, want nothing", got, next)
	}
	p.Step(0, Value{Reach: Valued, Bits: 5})
	for range 6 {
		p.AttributeChange(0)
	}
	figure := func(i int) float64 {
		f, _ := p.links[i].policy.(PenaltyMeter).Penalty(0)
		return f
	}
	// 4 x 0.4 suppresses; the second heard 3 attribute changes and the loss.
	if a, b := figure(0), figure(1); a < 2.39 || a > 2.41 || b < 1.29 || b > 1.31 {
		t.Errorf("got figures %v and %v, want 2.4 and 1.3", a, b)
	}
}

// deaf is a stage that must not hear of attributes.
type deaf struct{ t *testing.T }

func (d deaf) NewTold() ToldPolicy { return d }
func (d deaf) Law() Law            { return passLaw() }
func (d deaf) String() string      { return "deaf" }

func (d deaf) Step(_ time.Duration, in Value) (Value, time.Duration) { return in, Never }

func (d deaf) AttributeChange(time.Duration) (Value, time.Duration) {
	d.t.Error("got a change of attributes of a lost path")
	return Value{}, Never
}

func TestNoStageHearsOfAttributesOfALostPath(t *testing.T) {
	p := Pipeline{Told: []ToldStage{deaf{t}, deaf{t}}}.NewTold().(*toldChain)
	p.Step(0, Value{})
	if got, next := p.AttributeChange(1); got != (Value{}) || next != Never {
		t.Errorf("got %v, %v, want it gone and Never", got, next)
	}
}

func TestSpeakersAndPrefixesOfOnePipelineKeepTheirOwnPace(t *testing.T) {
	p := Pipeline{Told: []ToldStage{Pace{Interval: time.Hour, Jitter: true}}}
	ends := map[time.Duration]bool{}
	for speaker := range uint64(3) {
		s := p.NewSpeaker(speaker)
		for prefix := range uint64(3) {
			policy := s.NewTold(prefix)
			policy.Step(0, Value{Reach: Valued, Bits: 1})
			_, end := policy.Step(0, Value{Reach: Valued, Bits: 2})
			ends[end] = true
		}
	}
	if len(ends) != 9 {
		t.Errorf("got %d different intervals of 9 prefixes, want 9", len(ends))
	}
}
