package properties

import (
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/topologies"
)

// flawed is a told stage that states what a sound one promises, and does something else.
type flawed struct {
	damping.ToldStage // the sound one
	tells             func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration)
}

func (s flawed) Memoryless() bool {
	m, ok := s.ToldStage.(interface{ Memoryless() bool })
	return ok && m.Memoryless()
}

func (s flawed) Validate() error {
	return damping.Pipeline{Told: []damping.ToldStage{s.ToldStage}}.Validate()
}

func (s flawed) NewTold() damping.ToldPolicy {
	return &flawedPolicy{stage: s, sound: s.ToldStage.NewTold()}
}

// flawedPolicy holds the sound policy and what the flaw remembers.
type flawedPolicy struct {
	stage    flawed
	sound    damping.ToldPolicy
	in, told damping.Value // before
	free     time.Duration
}

func (p *flawedPolicy) Step(now time.Duration, in damping.Value) (damping.Value, time.Duration) {
	out, next := p.stage.tells(p, now, in)
	p.in, p.told = in, out
	return out, next
}

// AttributeChange implements damping.AttributeHearer.
func (p *flawedPolicy) AttributeChange(now time.Duration) (damping.Value, time.Duration) {
	h, ok := p.sound.(damping.AttributeHearer)
	if !ok {
		return p.told, p.free
	}
	return h.AttributeChange(now)
}

// flawedBundle is a bundle stage that promises what a sound one does.
type flawedBundle struct {
	damping.BundleStage
	passes func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration)
}

func (s flawedBundle) NewBundle() damping.BundlePolicy { return s.NewBundleFor(damping.BundleInfo{}) }

// NewBundleFor implements damping.InformedStage.
func (s flawedBundle) NewBundleFor(info damping.BundleInfo) damping.BundlePolicy {
	sound := damping.Pipeline{Bundle: []damping.BundleStage{s.BundleStage}}.NewBundleFor(info)
	return &flawedBundlePolicy{stage: s, sound: sound, info: info}
}

// LawFor implements damping.InformedStage.
func (s flawedBundle) LawFor(info damping.BundleInfo) damping.Law {
	return damping.Pipeline{Bundle: []damping.BundleStage{s.BundleStage}}.LawFor(info)
}

type flawedBundlePolicy struct {
	stage  flawedBundle
	sound  damping.BundlePolicy
	info   damping.BundleInfo
	last   uint64 // there, before
	passed uint64
	until  time.Duration
}

func (p *flawedBundlePolicy) Step(now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
	out, next := p.stage.passes(p, now, capacity)
	p.last, p.passed = capacity, out.Capacity
	return out, next
}

// zeros makes zeros, which no sound bundle has: a device tells 0 of what is worth less
// than four members. That is a stage of a user's own, and keeps its law.
func zeros(sc *harness.Scenario, _ bool) {
	sc.Plan, sc.Damping.Name, sc.Damping.Settle = nil, "zeros", 0
	sc.Damping.Told = []damping.ToldStage{sinks{4 * sc.Topology.SmallestSpeed()}}
}

// sinks tells 0 of values below a bound.
type sinks struct{ below uint64 }

func (s sinks) NewTold() damping.ToldPolicy { return s }
func (s sinks) Law() damping.Law            { return damping.Law{Under: 1, PerChange: 1} }
func (s sinks) Memoryless() bool            { return true }
func (s sinks) String() string              { return "sinks" }

func (s sinks) Step(_ time.Duration, in damping.Value) (damping.Value, time.Duration) {
	if in.Bits < s.below {
		in.Bits = 0
	}
	return in, damping.Never
}

// toldBy puts a flawed stage in place of all that damps told values.
func toldBy(stage func(step uint64) flawed) func(*harness.Scenario, bool) {
	return func(sc *harness.Scenario, sound bool) {
		made := stage(sc.Topology.SmallestSpeed())
		sc.Plan, sc.Damping.Name, sc.Damping.Settle, sc.Damping.Told = nil, "flawed", 0, []damping.ToldStage{made}
		if sound {
			sc.Damping.Told[0] = made.ToldStage
		}
	}
}

// bundlesBy puts a flawed stage in place of all that damps bundles.
func bundlesBy(stage flawedBundle) func(*harness.Scenario, bool) {
	return func(sc *harness.Scenario, sound bool) {
		sc.Plan, sc.Damping.Name = nil, "flawed"
		sc.Damping.Settle = 0
		sc.Damping.Bundle = []damping.BundleStage{stage}
		if sound {
			sc.Damping.Bundle[0] = stage.BundleStage
		}
	}
}

func quantizer(step uint64, r damping.Rounding) damping.Quantize {
	return damping.Quantize{Step: step, Error: damping.DefaultError, Rounding: r}
}

// rounds is a quantizer that states one rounding and does another.
func rounds(states, does damping.Rounding) func(step uint64) flawed {
	return func(step uint64) flawed {
		wrong := quantizer(step, does).NewTold()
		return flawed{ToldStage: quantizer(step, states), tells: func(_ *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
			return wrong.Step(now, in)
		}}
	}
}

func hysteresis(step uint64) damping.Hysteresis {
	return damping.Hysteresis{Quantize: quantizer(step, damping.Up), Margin: 0.25}
}

func penalty() damping.Penalty {
	p, _ := damping.PenaltyProfile(damping.ProfileCisco)
	return p
}

const interval = 10 * time.Second

// faultsOfTheDamping are policies of a user's own that do not keep the law that they
// state. The judge's view of a bundle comes from the same policy, so that only the law
// can show what is wrong there.
func faultsOfTheDamping() []planted {
	holdDown := damping.HoldDown{T: damping.DefaultHoldDown}
	return []planted{
		{
			name: "quantizer rounds up where down is wanted", means: "the rounding of a preset is turned round, and more is told than is there",
			plant: toldBy(rounds(damping.Down, damping.Up)),
		},
		{
			name: "quantizer rounds down where up is wanted", means: "the rounding of a preset is turned round, and a sound bundle is told as a degraded one",
			plant: toldBy(rounds(damping.Up, damping.Down)),
		},
		{
			name: "quantize(0) is one step", means: "the first level takes in 0, and a device that wants no traffic is told to want a member's",
			plant: func(sc *harness.Scenario, sound bool) {
				zeros(sc, sound)
				below, step := sc.Damping, sc.Topology.SmallestSpeed()
				var stage damping.ToldStage = quantizer(step, damping.Up)
				if !sound {
					stage = flawed{ToldStage: stage, tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
						if in.Reach == damping.Valued {
							in.Bits = max(in.Bits, step)
						}
						return p.sound.Step(now, in)
					}}
				}
				sc.Plan = &damping.Plan{Name: "zeros", Default: below, Told: []damping.ToldRule{{Role: topologies.Bag.String(), Stages: []damping.ToldStage{stage}}}}
			},
		},
		{
			name: "hysteresis one step short", means: "on the way down the level below the right one is told",
			plant: toldBy(func(step uint64) flawed {
				grid := quantizer(step, damping.Up).Grid()
				return flawed{ToldStage: hysteresis(step), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					out, next := p.sound.Step(now, in)
					if out.Reach == damping.Valued && p.told.Reach == damping.Valued && out.Bits < p.told.Bits && out.Bits > step {
						out.Bits = grid.Level(out.Bits - step)
					}
					return out, next
				}}
			}),
		},
		{
			name: "hysteresis does not let go", means: "a value is told as before until it is two levels away",
			plant: toldBy(func(step uint64) flawed {
				grid := quantizer(step, damping.Up).Grid()
				return flawed{ToldStage: hysteresis(step), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					out, next := p.sound.Step(now, in)
					if in.Reach == damping.Valued && p.told.Reach == damping.Valued && in.Bits > 0 && out.Bits < p.told.Bits && grid.Level(out.Bits+step/2) == p.told.Bits {
						return p.told, next
					}
					return out, next
				}}
			}),
		},
		{
			name: "pace drops the last value", means: "what changes within the interval is dropped and not kept for its end",
			plant: toldBy(func(uint64) flawed {
				return flawed{ToldStage: damping.Pace{Interval: interval}, tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					if in.Reach != damping.Gone && p.told.Reach != damping.Gone && in != p.told && now < p.free {
						return p.told, damping.Never
					}
					if in != p.told {
						p.free = now + interval
					}
					return in, damping.Never
				}}
			}),
		},
		{
			name: "penalty reset by an attribute change", means: "a change of the value alone clears the figure of merit, and what flaps is never suppressed",
			plant: toldBy(func(uint64) flawed {
				figures := damping.Penalty{
					Withdraw: 1000, Readvertise: 1000, Attribute: 1000, Suppress: 900, Reuse: 750, Max: 12_000,
					HalfLife: 15 * time.Minute, MaxSuppress: time.Hour, OnSuppress: damping.Withhold,
				}
				return flawed{ToldStage: figures, tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					if in != p.in && in.Reach != damping.Gone && p.in.Reach != damping.Gone {
						p.sound = figures.NewTold()
					}
					return p.sound.Step(now, in)
				}}
			}),
		},
		{
			name: "suppressed as the last value", means: "a suppressed prefix keeps what was told before, high as it is, and not the lowest value since",
			plant: toldBy(func(uint64) flawed {
				return flawed{ToldStage: penalty(), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					out, next := p.sound.Step(now, in)
					if next != damping.Never && in.Reach == damping.Valued && p.told.Reach == damping.Valued {
						return p.told, next
					}
					return out, next
				}}
			}),
		},
		{
			name: "suppressed for ever", means: "the reuse timer is not started, and a prefix that was suppressed stays so",
			plant: toldBy(func(uint64) flawed {
				return flawed{ToldStage: penalty(), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					out, _ := p.sound.Step(now, in)
					return out, damping.Never
				}}
			}),
		},
		{
			name: "hold-down on decreases", means: "bad news waits and good news passes at once",
			plant: bundlesBy(flawedBundle{holdDown, func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				switch {
				case capacity == 0 || capacity >= p.passed:
					p.until = 0
				case p.until == 0:
					p.until = now + holdDown.T
					return damping.Passed{Capacity: p.passed}, p.until
				case now < p.until:
					return damping.Passed{Capacity: p.passed}, p.until
				default:
					p.until = 0
				}
				return damping.Passed{Capacity: capacity}, damping.Never
			}}),
		},
		{
			name: "hold-down that never passes", means: "the timer of good news is lost, and a bundle that was repaired stays degraded to routing",
			plant: bundlesBy(flawedBundle{holdDown, func(p *flawedBundlePolicy, _ time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				if p.passed > 0 {
					capacity = min(capacity, p.passed)
				}
				return damping.Passed{Capacity: capacity}, damping.Never
			}}),
		},
		{
			name: "hold-down off by one member", means: "the count of members that are up includes the one that has just failed",
			plant: bundlesBy(flawedBundle{holdDown, func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				out, next := p.sound.Step(now, capacity)
				if out.Capacity > 0 && out.Capacity < p.info.Full() {
					out.Capacity += p.info.Speed
				}
				return out, next
			}}),
		},
		{
			name: "deadband skips one failure more", means: "the bound of failures that are passed over is taken as included",
			plant: bundlesBy(flawedBundle{damping.Deadband{Skip: 2, Every: 1}, func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				if capacity > 0 {
					capacity = min(capacity+p.info.Speed, p.info.Full())
				}
				return p.sound.Step(now, capacity)
			}}),
		},
		{
			name: "a trial that never ends", means: "the timer of a trial is lost, and a bundle that came back gives way for ever",
			plant: bundlesBy(flawedBundle{holdDown, func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				out, next := p.sound.Step(now, capacity)
				if out.Trial {
					p.until = damping.Never
				}
				out.Trial = capacity > 0 && p.until > 0
				return out, next
			}}),
		},
		{
			name: "carrier-delay that never ends", means: "the timer of a loss of carrier is started anew by each poll, and a dead bundle keeps its session",
			plant: bundlesBy(flawedBundle{damping.CarrierDelay{Down: damping.Fixed(2 * time.Second)}, func(p *flawedBundlePolicy, now time.Duration, capacity uint64) (damping.Passed, time.Duration) {
				if capacity == 0 && p.passed > 0 {
					return damping.Passed{Capacity: p.passed}, damping.Never
				}
				return p.sound.Step(now, capacity)
			}}),
		},
	}
}
