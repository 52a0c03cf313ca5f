package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/topologies"
)

// Change is a primitive change. Events are made of changes.
type Change struct {
	Kind        ChangeKind
	Bundle      int32                 // SetMembers, Fail, Notice, SetLoss, Reset, Hold, Release
	Members     int                   // SetMembers; 0 takes the bundle and its session down
	Heard       bool                  // Fail: the ends' damping is told, which keeps it back
	After       time.Duration         // Fail: until the ends notice it, unless they do before; 0 = damping says
	Loss        float64               // SetLoss: 0 to 1
	FromB       bool                  // Hold, Release: the direction
	Device      int32                 // SetKnob, SetDrain, Stop, StartAgain
	Knob, Value string                // SetKnob
	Drain       topologies.DrainState // SetDrain
}

// ChangeKind says what a Change changes.
type ChangeKind uint8

// The kinds of Change.
const (
	SetMembers ChangeKind = iota // of a bundle
	Fail                         // a bundle loses all members, and its session stays up and carries nothing
	Notice                       // the ends notice that a bundle has failed, and its session falls
	SetLoss                      // a bundle loses a part of its traffic unseen
	SetKnob                      // of a device's settings
	SetDrain                     // of a device
	Reset                        // a bundle's session falls and comes back at once
	Hold                         // a direction of a session carries no UPDATE
	Release                      // and carries them again, those that waited first
	Stop                         // a device's speaker stops and says that it restarts; its hardware forwards on
	StartAgain                   // and starts again, knowing nothing
)

// ErrNoConvergence means that the speakers never got quiet.
var ErrNoConvergence = errors.New("no-convergence")

// Engine runs the speakers of one topology. Its methods are called from one
// goroutine. Virtual time stands still except in Advance.
type Engine interface {
	// Start brings every speaker and session up and returns when all are
	// Established. Prefixes are originated only by Originate.
	Start(ctx context.Context) error
	// Originate lets every device originate its prefixes.
	Originate() error
	// Apply makes changes at the present virtual time; the speakers hear of
	// them in the next round.
	Apply(ctx context.Context, changes []Change) error
	// Quiet runs rounds until nothing is in flight and no speaker is left to step.
	Quiet(ctx context.Context) error
	// OnRound lets f be called after every round, when what the round told has
	// been taken and nobody has decided on it yet; nil ends that.
	OnRound(f func())
	// Next is the earliest pending timer of any speaker, or damping.Never.
	Next() time.Duration
	// Advance moves virtual time forward; timers due are heard in the next round.
	Advance(to time.Duration)
	// Now is the virtual time.
	Now() time.Duration
	// Rounds counts the rounds so far.
	Rounds() int
	// Mark names the event that the changes to hardware tables from now on
	// belong to.
	Mark(event string)
	// Report is a device's hardware table with all its prefixes. Call it when
	// quiet; the caller must not write to the members.
	Report(device int) fib.Report
	// Snapshot copies the state of everything. Call it when quiet.
	Snapshot() *Snapshot
	// Counters sums what all wires carried so far.
	Counters() Counters
	// TakeLog returns the NLRI that the wires carried since the last call, in
	// an order that repeats, and forgets them. Empty unless recording is on.
	TakeLog() []NLRI
	// Record turns the log of NLRI on or off.
	Record(on bool)
	// Close stops everything and returns when nothing is left running.
	Close() error
}

var changeNames = [...]string{SetMembers: "members", Fail: "fail", Notice: "notice", SetLoss: "loss", SetKnob: "set", SetDrain: "drain", Reset: "reset", Hold: "hold", Release: "release", Stop: "stop", StartAgain: "start again"}

func (k ChangeKind) String() string {
	if int(k) < len(changeNames) {
		return changeNames[k]
	}
	return fmt.Sprintf("ChangeKind(%d)", uint8(k))
}
