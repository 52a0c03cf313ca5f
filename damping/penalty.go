package damping

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// OnSuppress says what is told of a suppressed prefix.
type OnSuppress uint8

// The ways to suppress. The zero value is Lowest.
const (
	Lowest   OnSuppress = iota // the lowest value seen since it is suppressed
	Withhold                   // nothing: the route is withdrawn, as RFC 2439 does
)

var onSuppressNames = [...]string{Lowest: "lowest", Withhold: "withdraw"}

func (o OnSuppress) String() string {
	if int(o) < len(onSuppressNames) {
		return onSuppressNames[o]
	}
	return fmt.Sprintf("OnSuppress(%d)", uint8(o))
}

// Penalty is route flap damping (RFC 2439, with the figures of RFC 7196) on the
// told value. Each change adds to a figure that halves every HalfLife. When
// the figure exceeds Suppress the prefix is suppressed, until the figure has
// decayed to Reuse, MaxSuppress after the last change at the latest; it is
// then Reuse. The first value after start adds nothing.
//
// RFC 2439 counts per received route; here it is one prefix at one speaker, all
// routes together. One half-life serves for reachable and unreachable, as in
// the defaults of vendors.
//
// A suppressed prefix whose path is lost is told as lost at once. With Lowest it
// comes back at once too, with no more than the lowest value seen; a path
// without a value counts as lower than any value. With Withhold the prefix is
// gone until it is reused although a path is there: RFC 7938 section 7.3
// warns of just that.
type Penalty struct {
	Withdraw    float64 // added when the last path is lost; 0 or more
	Readvertise float64 // added when a path comes back; 0 or more
	Attribute   float64 // added when the value or an attribute changes; 0 or more

	Suppress    float64       // above Reuse
	Reuse       float64       // above 0
	Max         float64       // the figure's ceiling; above Suppress, which is else never exceeded
	HalfLife    time.Duration // above 0
	MaxSuppress time.Duration // above 0

	OnSuppress    OnSuppress
	CalculateOnly bool // keep the figure, suppress nothing (RFC 7196 section 4)
}

// Names of the profiles.
const (
	ProfileCisco        = "cisco-default"
	ProfileAggressive   = "rfc7196-aggressive"
	ProfileConservative = "rfc7196-conservative"
)

// PenaltyProfiles returns the names that PenaltyProfile knows.
func PenaltyProfiles() []string {
	return []string{ProfileCisco, ProfileAggressive, ProfileConservative}
}

// PenaltyProfile returns the figures of a profile: cisco-default as RFC 7196
// table 1 has it, with the ceiling that 60 minutes allow (750 x 2^4), and the
// two settings that RFC 7196 asks for, with its ceiling of 50,000 and a higher
// threshold each.
func PenaltyProfile(name string) (Penalty, error) {
	p := Penalty{
		Withdraw: 1000, Readvertise: 0, Attribute: 500,
		Suppress: 2000, Reuse: 750, Max: 12_000,
		HalfLife: 15 * time.Minute, MaxSuppress: time.Hour,
	}
	switch name {
	case ProfileCisco:
	case ProfileAggressive:
		p.Suppress, p.Max = 6000, 50_000
	case ProfileConservative:
		p.Suppress, p.Max = 12_000, 50_000
	default:
		return Penalty{}, fmt.Errorf("penalty profile %q: want one of %s", name, strings.Join(PenaltyProfiles(), ", "))
	}
	return p, nil
}

// Validate returns an error when a figure is no number or out of its range.
func (p Penalty) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"withdraw", p.Withdraw}, {"readvertise", p.Readvertise}, {"attribute", p.Attribute}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("penalty: %s %v: want 0 or more", f.name, f.value)
		}
	}
	switch {
	case !(p.Reuse > 0) || math.IsInf(p.Reuse, 1):
		return fmt.Errorf("penalty: reuse %v: want more than 0", p.Reuse)
	case !(p.Suppress > p.Reuse) || math.IsInf(p.Suppress, 1):
		return fmt.Errorf("penalty: suppress %v: want more than reuse %v", p.Suppress, p.Reuse)
	case !(p.Max > p.Suppress) || math.IsInf(p.Max, 1):
		return fmt.Errorf("penalty: max %v: want more than suppress %v, which is else never exceeded", p.Max, p.Suppress)
	case p.HalfLife <= 0:
		return fmt.Errorf("penalty: half-life %v: want more than 0", p.HalfLife)
	case p.MaxSuppress <= 0:
		return fmt.Errorf("penalty: max suppress %v: want more than 0", p.MaxSuppress)
	case int(p.OnSuppress) >= len(onSuppressNames):
		return fmt.Errorf("penalty: on suppress %v: want %s", p.OnSuppress, strings.Join(slices.Clone(onSuppressNames[:]), " or "))
	}
	return nil
}

func (p Penalty) String() string {
	s := fmt.Sprintf("penalty %v/%v/%v above %v reuse %v half-life %v at most %v on suppress %v",
		p.Withdraw, p.Readvertise, p.Attribute, p.Suppress, p.Reuse, p.HalfLife, p.MaxSuppress, p.OnSuppress)
	if p.CalculateOnly {
		s += " calculate only"
	}
	return s
}

// Longest is how long a prefix may stay suppressed after its last change: until
// Max has decayed to Reuse, or MaxSuppress.
func (p Penalty) Longest() time.Duration { return min(p.decayTime(p.Max), p.MaxSuppress) }

// decayTime is how long the figure takes from the given value to Reuse.
func (p Penalty) decayTime(figure float64) time.Duration {
	t := math.Ceil(float64(p.HalfLife) * math.Log2(figure/p.Reuse))
	if t >= float64(Never) {
		return Never
	}
	return time.Duration(max(t, 0))
}

// Law states that nothing is told too high, and that the last value is told
// after Longest. A change costs one advertisement, and one more at the reuse.
//
// Withhold bounds all advertisements. With p the least penalty of an
// advertisement (a loss and a return share theirs) and S for Suppress: while
// nothing is suppressed the figure is at most S and decays by S ln 2 per
// HalfLife at most, so a stretch of length w tells (S/p)(1 + w ln 2/HalfLife)
// changes at most, and one half more of a pair. Two suppressions lie apart by
// the time from S to Reuse and cost two each. With R the lesser of HalfLife/ln 2
// and that time, a window W has floor(W/R) + 2 stretches at most, all in all
// (3S/p + 4)(floor(W/R) + 1). Lowest must tell each value that is lower still,
// and promises nothing of the kind.
func (p Penalty) Law() Law {
	l := passLaw()
	if p.Validate() != nil || p.CalculateOnly {
		return l
	}
	l.Settle, l.PerChange = p.Longest(), 2
	least := min(p.Attribute, (p.Withdraw+p.Readvertise)/2)
	if p.OnSuppress != Withhold || least == 0 {
		return l
	}
	l.Refill = max(1, min(time.Duration(float64(p.HalfLife)/math.Ln2), p.decayTime(p.Suppress), p.MaxSuppress))
	if burst := float64(3*math.Ceil(p.Suppress/least)) + 4; burst < math.MaxInt32 {
		l.Burst = int(burst)
	}
	return l
}

// NewTold returns the policy for one prefix, an AttributeHearer and
// a PenaltyMeter. Where Validate fails it tells every value unchanged.
func (p Penalty) NewTold() ToldPolicy {
	if p.Validate() != nil {
		return passTold{}
	}
	return &penalized{params: &p}
}

// NewSpeaker returns a maker whose policies share one copy of the figures.
func (p Penalty) NewSpeaker(uint64) ToldMaker { return penaltyMaker{p.NewTold()} }

type penaltyMaker struct{ first ToldPolicy }

// NewTold implements ToldMaker.
func (m penaltyMaker) NewTold(uint64) ToldPolicy {
	if p, ok := m.first.(*penalized); ok {
		return &penalized{params: p.params}
	}
	return m.first
}

// PenaltyMeter is a policy that keeps a figure of RFC 2439.
type PenaltyMeter interface {
	// Penalty is the figure at now, and whether the prefix is suppressed or,
	// where the policy only calculates, would be.
	Penalty(now time.Duration) (figure float64, suppressed bool)
}

// penalized is the policy of one prefix. The figure is that of at.
type penalized struct {
	params     *Penalty
	in, lowest Value
	figure     float64
	at, reuse  time.Duration
	started    bool
	suppressed bool
}

// Step treats a now before the last change as that change's time.
func (p *penalized) Step(now time.Duration, in Value) (Value, time.Duration) {
	now = p.advance(now)
	was := p.in
	p.in = in
	if p.started && in != was {
		p.add(now, p.params.cost(was, in), was)
	}
	p.started = true
	return p.tell()
}

// AttributeChange implements AttributeHearer: law 5.
func (p *penalized) AttributeChange(now time.Duration) (Value, time.Duration) {
	now = p.advance(now)
	if p.started && p.in.Reach != Gone {
		p.add(now, p.params.Attribute, p.in)
	}
	return p.tell()
}

// Penalty implements PenaltyMeter.
func (p *penalized) Penalty(now time.Duration) (figure float64, suppressed bool) {
	if p.suppressed && p.reuse <= now {
		return p.decayed(now), false
	}
	return p.decayed(max(now, p.at)), p.suppressed
}

func (p Penalty) cost(was, in Value) float64 {
	switch {
	case in.Reach == Gone:
		return p.Withdraw
	case was.Reach == Gone:
		return p.Readvertise
	}
	return p.Attribute
}

// advance ends a suppression that is over.
func (p *penalized) advance(now time.Duration) time.Duration {
	now = max(now, p.at)
	if p.suppressed && p.reuse <= now {
		p.figure, p.at = min(p.decayed(p.reuse), p.params.Reuse), p.reuse
		p.suppressed, p.lowest = false, Value{}
	}
	return now
}

func (p *penalized) decayed(now time.Duration) float64 {
	if p.figure == 0 || now <= p.at {
		return p.figure
	}
	return p.figure * math.Exp2(-float64(now-p.at)/float64(p.params.HalfLife))
}

func (p *penalized) add(now time.Duration, cost float64, was Value) {
	p.figure, p.at = min(p.decayed(now)+cost, p.params.Max), now
	if !p.suppressed && p.figure > p.params.Suppress {
		p.suppressed, p.lowest = true, was
	}
	if p.suppressed {
		p.reuse = later(now, min(p.params.decayTime(p.figure), p.params.MaxSuppress))
		p.lowest = lower(p.lowest, p.in)
	}
}

// lower is the lower of two told values; a lost path is no value.
func lower(a, b Value) Value {
	switch {
	case a.Reach == Gone:
		return b
	case b.Reach == Gone:
		return a
	case a.Reach == Unvalued || b.Reach == Unvalued:
		return Value{Reach: Unvalued}
	case a.Bits < b.Bits:
		return a
	}
	return b
}

func (p *penalized) tell() (Value, time.Duration) {
	if !p.suppressed || p.params.CalculateOnly {
		return p.in, Never
	}
	switch {
	case p.in.Reach == Gone, p.params.OnSuppress == Withhold:
		return Value{}, p.reuse
	}
	return p.lowest, p.reuse
}
