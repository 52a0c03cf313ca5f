package properties

import (
	"slices"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/speakers"
)

// faultsOfTheHardware are in what becomes of next hops and shares in hardware.
func faultsOfTheHardware() []planted {
	return []planted{
		{
			name: "next hop kept after its bundle is down", means: "a next hop is taken out of a group only when a better one comes",
			does: func(x *tapped, d int, core *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for i := range effects {
					e := &effects[i]
					if e.Kind != speakers.Program {
						continue
					}
					kept := slices.Clone(e.Hops)
					for _, h := range x.hops[noted{d, int(e.Prefix)}] {
						if capacity(core, h.Bundle) == 0 && len(e.Hops) > 1 {
							kept = append(kept, h)
						}
					}
					slices.SortFunc(kept, func(a, b speakers.Hop) int { return int(a.Bundle - b.Bundle) })
					e.Hops = kept
				}
				return effects
			},
		},
		{
			name: "removal lost", means: "a prefix whose last path is gone stays in hardware, since the delete is skipped where the group has other users",
			does: without(func(_ *tapped, _ int, _ *speakers.Core, e *speakers.Effect) bool { return e.Kind == speakers.Unprogram }),
		},
		{
			name: "weights ignored in a change", means: "new weights over the same next hops are taken for no change",
			does: without(func(x *tapped, d int, _ *speakers.Core, e *speakers.Effect) bool {
				return e.Kind == speakers.Program && slices.EqualFunc(e.Hops, x.hops[noted{d, int(e.Prefix)}], func(a, b speakers.Hop) bool { return a.Bundle == b.Bundle })
			}),
		},
		{
			name: "one group for all weights", means: "groups are found by their next hops alone, so that the weights of whoever came first serve all",
			does: reprogrammed(func(x *tapped, d int, _ *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				for q := range int(p) {
					same := slices.EqualFunc(hops, x.hops[noted{d, q}], func(a, b speakers.Hop) bool { return a.Bundle == b.Bundle })
					if same && len(hops) > 1 {
						return slices.Clone(x.hops[noted{d, q}])
					}
				}
				return hops
			}),
		},
		{
			name: "group freed too early", means: "a group's count of users is one short: it goes while one prefix still points at it, which then has nothing",
			does: refcount,
			forwards: func(x *tapped, d, p int, entry fib.Entry) fib.Entry {
				if x.count[noted{d, p}] > 0 {
					return fib.Entry{Prefix: entry.Prefix}
				}
				return entry
			},
		},
		{
			name: "group reused", means: "a group's count of users is one short, and its number is given to the next group while one prefix still points at it",
			does: refcount,
			forwards: func(x *tapped, d, p int, entry fib.Entry) fib.Entry {
				by := x.count[noted{d, p}]
				if hops := x.hops[noted{d, by - 1}]; by > 0 && len(hops) > 0 {
					entry.Members = nil
					for _, h := range hops {
						entry.Members = append(entry.Members, fib.Weighted{ID: h.Bundle, Weight: 1})
					}
				}
				return entry
			},
		},
		{
			name: "groups leak", means: "a group's count of users is one long: no group that has been changed is ever freed",
			does: func(x *tapped, d int, _ *speakers.Core, effects []speakers.Effect) []speakers.Effect {
				for _, e := range effects {
					if was := x.hops[noted{d, int(e.Prefix)}]; e.Kind == speakers.Program && len(was) > 1 && !x.shared(d, int(e.Prefix), was) {
						x.count[noted{d}]++
					}
				}
				return effects
			},
			reports: func(x *tapped, d int, a fib.Audit) fib.Audit {
				a.Groups += x.count[noted{d}]
				a.GroupsPeak = max(a.GroupsPeak, a.Groups)
				return a
			},
		},
		{
			name: "break before make", means: "a group is deleted before the new one is there, and the prefix drops traffic for the time of the change",
			does: func(x *tapped, d int, _ *speakers.Core, effects []speakers.Effect) (all []speakers.Effect) {
				for _, e := range effects {
					if e.Kind == speakers.Program && len(x.hops[noted{d, int(e.Prefix)}]) > 0 {
						x.count[noted{d}]++
						all = append(all, speakers.Effect{Kind: speakers.Unprogram, Prefix: e.Prefix})
					}
					all = append(all, e)
				}
				return all
			},
			reports: func(x *tapped, d int, a fib.Audit) fib.Audit {
				a.Gaps += x.count[noted{d}]
				return a
			},
		},
		{
			name: "overflow black-holes", means: "a table that is full drops the prefix for which it has no room",
			plant: func(sc *harness.Scenario, _ bool) {
				for i := range sc.Hardware {
					p := &sc.Hardware[i].Profile
					p.Name, p.Groups, p.Reserve = "small", 4, 1
					sc.Hardware[i].Options.Overflow = fib.OverflowEqual
				}
			},
			forwards: func(_ *tapped, _, _ int, entry fib.Entry) fib.Entry {
				if entry.Compromise != "" {
					return fib.Entry{Prefix: entry.Prefix}
				}
				return entry
			},
		},
		{
			name: "small weights dropped", means: "a member whose share rounds down to nothing is left out of the group",
			forwards: func(_ *tapped, _, _ int, entry fib.Entry) fib.Entry {
				most := 0
				for _, m := range entry.Members {
					most = max(most, m.Weight)
				}
				entry.Members = slices.DeleteFunc(entry.Members, func(m fib.Weighted) bool { return 4*m.Weight < most })
				return entry
			},
		},
		{
			name: "weights rounded up", means: "shares become weights one by one, each rounded up, and the small ones get too much",
			forwards: func(_ *tapped, _, _ int, entry fib.Entry) fib.Entry {
				for i, m := range entry.Members {
					if m.Weight > 1 {
						entry.Members[i].Weight = m.Weight/2*2 + 2
					}
				}
				return entry
			},
		},
		{
			name: "weights of four bits", means: "a driver keeps the weight in four bits, and 16 becomes 0, which it takes for 1",
			forwards: func(_ *tapped, _, _ int, entry fib.Entry) fib.Entry {
				for i, m := range entry.Members {
					entry.Members[i].Weight = max(m.Weight%16, 1)
				}
				return entry
			},
		},
		{
			name: "hardware is cleared at a restart", means: "hardware forgets its routes when the speaker stops, and traffic is lost until that is back",
			hears: func(x *tapped, d int, _ *speakers.Core, in []speakers.Input) []speakers.Input {
				delete(x.count, noted{d})
				for _, i := range in {
					if ends := x.ix.Ends[i.Bundle]; i.Kind == speakers.Restarts {
						x.count[noted{ends[0] + ends[1] - d}] = 1
					}
				}
				return in
			},
			forwards: func(x *tapped, d, _ int, entry fib.Entry) fib.Entry {
				if x.count[noted{d}] > 0 {
					return fib.Entry{Prefix: entry.Prefix}
				}
				return entry
			},
		},
		{
			name: "all weights equal", means: "the software sets weights, and the chip was started in a mode that has none",
			forwards: func(_ *tapped, _, _ int, entry fib.Entry) fib.Entry {
				for i := range entry.Members {
					entry.Members[i].Weight = 1
				}
				return entry
			},
		},
		{
			name: "the last change is left in a queue", means: "hardware is written one change late: each change of a prefix brings in the one before",
			does: reprogrammed(func(x *tapped, d int, _ *speakers.Core, p int32, hops []speakers.Hop) []speakers.Hop {
				if was := x.hops[noted{d, int(p)}]; len(was) > 0 {
					return was
				}
				return hops
			}),
		},
	}
}

// shared tells whether another prefix of the device was given those next hops.
func (x *tapped) shared(d, p int, hops []speakers.Hop) bool { return len(x.users(d, p, hops)) > 0 }

// users are the other prefixes of the device that were given those next hops.
func (x *tapped) users(d, p int, hops []speakers.Hop) (list []int) {
	for q := range x.t.Prefixes {
		if q != p && slices.Equal(x.hops[noted{d, q}], hops) {
			list = append(list, q)
		}
	}
	return list
}

// refcount notes at a place of a device and a prefix by whose change, and one more, its
// group went, although the prefix points at it.
func refcount(x *tapped, d int, _ *speakers.Core, effects []speakers.Effect) []speakers.Effect {
	for _, e := range effects {
		if e.Kind != speakers.Program && e.Kind != speakers.Unprogram {
			continue
		}
		p := int(e.Prefix)
		was := x.hops[noted{d, p}]
		delete(x.count, noted{d, p})
		if users := x.users(d, p, was); len(was) > 1 && len(users) == 1 {
			x.count[noted{d, users[0]}] = p + 1
		}
		x.hops[noted{d, p}] = e.Hops
	}
	return effects
}
