package properties

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// faultsOfTheWire are in what sessions carry: lost, doubled, late or out of order.
func faultsOfTheWire() []planted {
	return []planted{
		{
			name: "lost withdrawal", means: "the second withdrawal of a prefix on a session is lost, and the neighbour keeps a route that nobody has",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				if withdraws(m) && x.nth(flowAt(m), 2) {
					return nil
				}
				return []sim.Message{m}
			},
		},
		{
			name: "lost announcement", means: "each fourth change of a route on a session is lost, as with a queue that overflows",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				if m.Route != nil && !m.Dump && x.nth(flowAt(m), 4) {
					return nil
				}
				return []sim.Message{m}
			},
		},
		{
			name: "duplicate message", means: "each third change of a route is sent twice, which costs churn and nothing else",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				if m.Route != nil && !m.Dump && x.nth(flowAt(m), 3) {
					return []sim.Message{m, m}
				}
				return []sim.Message{m}
			},
		},
		{
			name: "reordered in a session", means: "two changes of one route that follow each other are written in the wrong order",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				at := flowAt(m)
				before := x.routes[at]
				if x.routes[at] = m.Route; m.Route != nil && before != nil && !m.Dump && x.nth(at, 2) {
					old := m
					old.Route = before
					return []sim.Message{m, old}
				}
				return []sim.Message{m}
			},
		},
		{
			name: "message after the session's fall", means: "an update that was read before a session fell is handled after its candidates were dropped",
			hears: func(x *tapped, d int, _ *speakers.Core, in []speakers.Input) []speakers.Input {
				var late []speakers.Input
				for _, i := range in {
					switch i.Kind {
					case speakers.Announce:
						x.routes[noted{d, int(i.Bundle)}] = i.Route
						x.count[noted{d, int(i.Bundle)}] = int(i.Prefix)
					case speakers.SessionDown:
						if r := x.routes[noted{d, int(i.Bundle)}]; r != nil {
							late = append(late, speakers.Input{Kind: speakers.Announce, Bundle: i.Bundle, Prefix: int32(x.count[noted{d, int(i.Bundle)}]), Route: r})
						}
					}
				}
				return append(in, late...)
			},
		},
		{
			name: "a dump ends early", means: "the first dump of a session that comes up leaves out the last prefix of the table",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				if m.Dump && m.Prefix == len(x.t.Prefixes)-1 {
					return nil
				}
				return []sim.Message{m}
			},
		},
		{
			name: "a dump tells old values", means: "the first dump of a session that comes up is read from a cache that holds what was told first",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				at := flowAt(m)
				switch {
				case m.Route == nil:
				case x.routes[at] == nil:
					x.routes[at] = m.Route
				case m.Dump:
					m.Route = x.routes[at]
				}
				return []sim.Message{m}
			},
		},
		{
			name: "a session that comes back revives routes", means: "what was withdrawn while a session was down is there again when it is up, since its old table was kept",
			hears: func(x *tapped, d int, core *speakers.Core, in []speakers.Input) (all []speakers.Input) {
				for _, i := range in {
					all = append(all, i)
					for p := range x.t.Prefixes {
						at := noted{d, int(i.Bundle), p}
						switch r := candidate(core, int32(p), i.Bundle); {
						case i.Kind == speakers.SessionDown:
							x.routes[at] = r
						case i.Kind == speakers.SessionUp && x.routes[at] != nil:
							all = append(all, speakers.Input{Kind: speakers.Announce, Bundle: i.Bundle, Prefix: int32(p), Route: x.routes[at]})
						}
					}
				}
				return all
			},
		},
		{
			name: "one session's fall takes its twin's routes", means: "candidates are kept by neighbour and not by session, and go when the first of its sessions falls",
			hears: func(x *tapped, d int, core *speakers.Core, in []speakers.Input) (all []speakers.Input) {
				for _, i := range in {
					all = append(all, i)
					for _, b := range x.ix.Of[d] {
						if twin := int32(b); i.Kind == speakers.SessionDown && twin != i.Bundle && x.ix.Ends[b] == x.ix.Ends[i.Bundle] {
							for p := range x.t.Prefixes {
								all = append(all, speakers.Input{Kind: speakers.Withdraw, Bundle: twin, Prefix: int32(p)})
							}
						}
					}
				}
				return all
			},
		},
		{
			name: "IPv6 withdrawals lost", means: "withdrawals of IPv6 prefixes are written without their family, and no neighbour takes them",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				if withdraws(m) && x.t.Prefixes[m.Prefix].Prefix.Addr().Is6() {
					return nil
				}
				return []sim.Message{m}
			},
		},
		{
			name: "withdrawn and told in one message", means: "of a withdrawal and an announcement of one prefix that follow each other the withdrawal is handled last (RFC 4271 section 4.3 forbids to send both)",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				at := flowAt(m)
				gone := x.count[at] > 0
				if x.count[at] = count(withdraws(m)); gone && m.Route != nil && !m.Dump {
					withdrawal := m
					withdrawal.Route = nil
					return []sim.Message{m, withdrawal}
				}
				return []sim.Message{m}
			},
		},
		{
			name: "looped replacement kept", means: "a route whose new path holds the neighbour's ASN is not sent, and nor is a withdrawal: GoBGP v3 does so",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				from, to := x.ends(m)
				told, tells := x.told[noted{from, m.Prefix}]
				if withdraws(m) && tells && slices.Contains(told.Path, x.t.Devices[to].ASN) {
					return nil
				}
				return []sim.Message{m}
			},
		},
		{
			name: "the first bundle's session speaks for all", means: "of several sessions between one pair only the first carries changes of a value",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				first := m.Dir.Bundle
				for b := range m.Dir.Bundle {
					if x.ix.Ends[b] == x.ix.Ends[m.Dir.Bundle] {
						first = min(first, b)
					}
				}
				if first != m.Dir.Bundle && m.Route != nil && !m.Dump && x.count[flowAt(m)] > 0 {
					return nil
				}
				x.count[flowAt(m)]++
				return []sim.Message{m}
			},
		},
	}
}

// faultsOfTheCodec are in how a value or a mark becomes octets and is read again.
func faultsOfTheCodec() []planted {
	return []planted{
		{
			name: "Mb/s mixed with MB/s", means: "bits are sent where the community holds bytes: a factor of 8",
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) { return 8 * v, true }),
		},
		{
			name: "megabits in one direction", means: "bundles' B ends send units of 1,000,000 bytes/s",
			carries: revalued(func(_ *tapped, m sim.Message, v float32) (float32, bool) {
				if m.Dir.FromB {
					return v / 1e6, true
				}
				return v, true
			}),
		},
		{
			name: "whole megabits", means: "a value passes through a policy that keeps whole Mb/s and cuts off the rest",
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) {
				return float32(math.Floor(float64(v)*8/1e6) * 1e6 / 8), true
			}),
		},
		{
			name: "uint32 of bytes/s", means: "a policy parses the value as uint32, and everything above 34 Gb/s becomes 34 Gb/s: GoBGP v3 does so",
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) { return min(v, math.MaxUint32), true }),
		},
		{
			name: "AS_TRANS forgotten", means: "an ASN of four octets is written where two have room, and the value is read two octets early",
			carries: revalued(func(x *tapped, m sim.Message, v float32) (float32, bool) {
				from, _ := x.ends(m)
				octets := linkbw.Community{Value: v}.Encode()
				if asn := x.t.Devices[from].ASN; asn > math.MaxUint16 {
					long := binary.BigEndian.AppendUint32(octets[:2:2], asn)
					long = append(long, octets[4:]...)
					copy(octets[:], long)
				}
				c, err := linkbw.Decode(octets[:])
				return c.Value, err == nil && c.Valid()
			}),
		},
		{
			name: "rounded to even twice", means: "a value goes through float64 text of seven digits, which float32 needs nine of",
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) {
				if v == 0 {
					return v, true
				}
				scale := math.Pow(10, 6-math.Floor(math.Log10(float64(v))))
				return float32(math.Round(float64(v)*scale) / scale), true
			}),
		},
		{
			name: "no value after a fall", means: "a value that falls by more than half is taken for a broken one and dropped",
			carries: func(x *tapped, m sim.Message) []sim.Message {
				before := x.routes[flowAt(m)]
				x.routes[flowAt(m)] = m.Route
				if m.Route != nil && before != nil && m.Route.Valued && before.Valued && m.Route.Value < before.Value/2 {
					r := *m.Route
					r.Valued, r.Value = false, 0
					m.Route = &r
				}
				return []sim.Message{m}
			},
		},
		{
			name: "standard communities stripped", means: "a session is configured without send-community, and the marks of drain and scope are lost",
			carries: func(_ *tapped, m sim.Message) []sim.Message {
				if m.Route != nil && len(m.Route.Tags) > 0 {
					r := *m.Route
					r.Tags = nil
					if r.LocalPref == 0 {
						r.LocalPref = speakers.DefaultLocalPref
					}
					m.Route = &r
				}
				return []sim.Message{m}
			},
		},
		{
			name: "a field ends at 1 Pb/s", means: "values pass through a counter of Mb/s in 30 bits, and a larger sum stays at its end",
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) { return min(v, 1<<30*1e6/8), true }),
		},
		{
			name: "zero becomes a denormal", means: "a value of 0 is sent as the smallest positive one, so that a neighbour that wants no traffic gets some",
			plant: zeros,
			carries: revalued(func(_ *tapped, _ sim.Message, v float32) (float32, bool) {
				return max(v, math.SmallestNonzeroFloat32), true
			}),
		},
	}
}
