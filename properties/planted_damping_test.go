package properties

import (
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
)

// flawed is a told stage that states what a sound one promises, and does something else.
type flawed struct {
	damping.ToldStage // the sound one
	tells             func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration)
	attribute         func(p *flawedPolicy, now time.Duration) // nil = nothing is wrong with attributes
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
	if p.stage.attribute != nil {
		p.stage.attribute(p, now)
		return p.stage.tells(p, now, p.in)
	}
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

// toldBy puts a flawed stage in place of all that damps told values.
func toldBy(stage func(step uint64) flawed) func(*harness.Scenario) {
	return func(sc *harness.Scenario) {
		sc.Plan, sc.Damping.Name = nil, "flawed"
		sc.Damping.Settle = 0
		sc.Damping.Told = []damping.ToldStage{stage(sc.Topology.SmallestSpeed())}
	}
}

// bundlesBy puts a flawed stage in place of all that damps bundles.
func bundlesBy(stage flawedBundle) func(*harness.Scenario) {
	return func(sc *harness.Scenario) {
		sc.Plan, sc.Damping.Name = nil, "flawed"
		sc.Damping.Settle = 0
		sc.Damping.Bundle = []damping.BundleStage{stage}
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
			plant: toldBy(func(step uint64) flawed {
				return flawed{ToldStage: quantizer(step, damping.Up), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					if in.Reach == damping.Valued {
						in.Bits = max(in.Bits, step)
					}
					return p.sound.Step(now, in)
				}}
			}),
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
					if in.Reach == damping.Valued && p.told.Reach == damping.Valued && in.Bits > 0 && out.Bits < p.told.Bits && grid.Level(out.Bits+1) == p.told.Bits {
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
			name: "pace keeps back a loss", means: "the loss of the last path waits for the interval like any change (RFC 4271 section 9.2.1.1 lets it pass)",
			plant: toldBy(func(uint64) flawed {
				return flawed{ToldStage: damping.Pace{Interval: interval}, tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					if in != p.told && now < p.free {
						return p.told, p.free
					}
					if in != p.told {
						p.free = now + interval
					}
					return in, damping.Never
				}}
			}),
		},
		{
			name: "penalty reset by an attribute change", means: "a new AS_PATH clears the figure of merit, and what flaps is never suppressed",
			plant: toldBy(func(uint64) flawed {
				p := penalty()
				p.OnSuppress = damping.Withhold
				return flawed{
					ToldStage: p,
					tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
						return p.sound.Step(now, in)
					},
					attribute: func(p *flawedPolicy, now time.Duration) {
						p.sound = p.stage.ToldStage.NewTold()
					},
				}
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
			name: "a loss is not passed on", means: "a stage keeps telling the last value of a prefix that has no path any more",
			plant: toldBy(func(step uint64) flawed {
				return flawed{ToldStage: hysteresis(step), tells: func(p *flawedPolicy, now time.Duration, in damping.Value) (damping.Value, time.Duration) {
					if in.Reach == damping.Gone {
						return p.told, damping.Never
					}
					return p.sound.Step(now, in)
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
