// Package state holds the plain types that every part of the harness speaks:
// events, snapshots, counters and verdicts, and the two interfaces that join
// the parts, Engine (what runs the speakers) and Check (what must hold).
// It runs nothing itself.
//
// Devices, bundles and prefixes are named by their index in the topology. A
// bundle carries one session, so a session is a bundle seen from one of its
// two ends, and a directed session is a Direction.
package state

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/topologies"
)

// Reach, as in package damping, for what is told: no route, a route without a
// link bandwidth community, or a route with one.
type Told struct {
	Present bool
	Valued  bool
	Value   float32  // bytes/s, as on the wire; only where Valued
	Path    []uint32 // AS_PATH before the teller prepends its own ASN
	Down    bool     // scope: learned from above or from the same tier, so told only down
	Warm    bool     // with the graceful-shutdown community
	Atomic  bool     // with ATOMIC_AGGREGATE
	Form    string   // which communities carry Value; empty = the non-transitive one
}

// SameValue tells whether two told routes have the same presence and value.
func (t Told) SameValue(u Told) bool {
	return t.Present == u.Present && t.Valued == u.Valued && (!t.Valued || t.Value == u.Value)
}

// Same tells whether two told routes are alike in everything.
func (t Told) Same(u Told) bool {
	return t.Present == u.Present && t.Valued == u.Valued && sameValue(t.Value, u.Value) && samePath(t.Path, u.Path) &&
		t.Down == u.Down && t.Warm == u.Warm && t.Atomic == u.Atomic && t.Form == u.Form
}

// sameValue compares what is written, so that NaN is itself.
func sameValue(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// samePath compares paths, most of which lie at one place where they are equal.
func samePath(a, b []uint32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Member is one member of a multipath set.
type Member struct {
	Bundle int32  // the session
	Share  uint64 // weight as the core wants it, bits/s
}

// Candidate is a route in Adj-RIB-In.
type Candidate struct {
	Bundle int32
	Path   []uint32 // AS_PATH as received
	Valued bool     // holds a valid link bandwidth
	Value  float32  // bytes/s
}

// Same tells whether two candidates are alike in everything.
func (c Candidate) Same(d Candidate) bool {
	return c.Bundle == d.Bundle && c.Valued == d.Valued && sameValue(c.Value, d.Value) && samePath(c.Path, d.Path)
}

// Route is what one device decided for one prefix. A device without a route
// has the zero Route.
type Route struct {
	Local      bool        // the device originates the prefix
	Set        []Member    // multipath set, ascending by Bundle; empty where Local
	Valued     bool        // the set has a value
	Bottleneck uint64      // bits/s, before the told value is damped
	Told       Told        // what neighbours hear, export rules apart
	Candidates []Candidate // ascending by Bundle; nil in oracle states
	FIB        fib.Entry   // what hardware has; zero in oracle states
}

// Reachable tells whether the device has a route at all.
func (r *Route) Reachable() bool { return r.Local || len(r.Set) > 0 }

// Same tells whether two routes are alike in everything.
func (r *Route) Same(s *Route) bool {
	return r.Local == s.Local && r.Valued == s.Valued && r.Bottleneck == s.Bottleneck && r.Told.Same(s.Told) && r.FIB.Same(s.FIB) &&
		(sameSlice(r.Set, s.Set) || slices.Equal(r.Set, s.Set)) &&
		(sameSlice(r.Candidates, s.Candidates) || slices.EqualFunc(r.Candidates, s.Candidates, Candidate.Same))
}

// sameSlice tells whether two slices are one.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Bundle is the state of one bundle.
type Bundle struct {
	Members  int     // member links that are up now
	Capacity uint64  // bits/s as the bundle's damping passes it; 0 = down
	Trial    bool    // back from down and on trial
	Up       bool    // the session is Established
	Unseen   bool    // all its members are lost, and its ends have not noticed: its session is up
	Lost     float64 // part of its traffic that is lost and no routing sees, 0 to 1; 1 where Unseen
	CeasedBy string  // the device that ended the session by its import policy; empty = none
}

// Snapshot is the whole network at one moment. Nobody writes to it: what has not
// changed may be shared with other snapshots, and nothing of it changes with the
// engine that made it.
type Snapshot struct {
	Time    time.Duration // virtual time
	Bundles []Bundle      // in topology order
	Devices []Device      // in topology order
	Held    []Direction   // directed sessions whose UPDATEs wait
}

// Device is the state of one device.
type Device struct {
	Drain      topologies.DrainState
	Restarting bool    // its speaker is away, or back and waiting; hardware forwards as before
	Routes     []Route // by prefix, in topology order
	// External: of the device nothing is known but what it tells, session by session.
	// Its routes have nothing but Told, which is what it tells over the first session
	// over which its receiver takes anything.
	External bool
	Tells    [][]Telling // by prefix, ascending by bundle; nil unless External
	FIB      fib.Audit
	Compared []fib.Audit // of the same programs under each of fib.Overflows; nil unless the run compares them
}

// Direction names a directed session: a bundle and the end that sends.
type Direction struct {
	Bundle int32
	FromB  bool // sent by the bundle's B end
}

// NLRI is one announced or withdrawn prefix as a wire carried it.
type NLRI struct {
	Dir      Direction
	Prefix   int32 // index in the topology
	Round    int   // rounds since the engine started; equal for one round's messages
	Withdraw bool
	Dump     bool    // part of the first dump of a session that came up
	Valued   bool    // carries a valid link bandwidth
	Value    float32 // bytes/s
	Path     uint64  // hash of the AS_PATH; equal paths have equal hashes
}

// Counters counts what the wires carried, fences apart.
type Counters struct {
	Updates   int // UPDATE messages
	Announced int // NLRI
	Withdrawn int // NLRI
	EndOfRIB  int
	Keepalive int
	Others    int // OPEN, NOTIFICATION, ROUTE-REFRESH
	Fences    int // swallowed
}

// NLRI is the unit of every law: announced and withdrawn prefixes.
func (c Counters) NLRI() int { return c.Announced + c.Withdrawn }

// Add sums two counts.
func (c Counters) Add(d Counters) Counters {
	return Counters{
		Updates: c.Updates + d.Updates, Announced: c.Announced + d.Announced, Withdrawn: c.Withdrawn + d.Withdrawn,
		EndOfRIB: c.EndOfRIB + d.EndOfRIB, Keepalive: c.Keepalive + d.Keepalive, Others: c.Others + d.Others, Fences: c.Fences + d.Fences,
	}
}

// Sub gives what was counted since d.
func (c Counters) Sub(d Counters) Counters {
	return Counters{
		Updates: c.Updates - d.Updates, Announced: c.Announced - d.Announced, Withdrawn: c.Withdrawn - d.Withdrawn,
		EndOfRIB: c.EndOfRIB - d.EndOfRIB, Keepalive: c.Keepalive - d.Keepalive, Others: c.Others - d.Others, Fences: c.Fences - d.Fences,
	}
}

func (d Direction) String() string { return fmt.Sprintf("%d/%t", d.Bundle, d.FromB) }

// HashPath is NLRI.Path for an AS_PATH: FNV-1a over its numbers, so that 0 is
// no path's hash in practice and equal paths have equal hashes.
func HashPath(path []uint32) uint64 {
	h := uint64(14695981039346656037)
	for _, asn := range path {
		for shift := 24; shift >= 0; shift -= 8 {
			h = (h ^ uint64(byte(asn>>shift))) * 1099511628211
		}
	}
	return h
}
