package state

import (
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// Judge is a state of the whole network that was worked out from the graph
// and not by speakers. Package harness/oracle makes them.
type Judge interface {
	// Route is what the device must hold for the prefix.
	Route(device, prefix int) *Route
	// TellsTo tells whether the device tells the prefix over the session.
	TellsTo(device, prefix int, bundle int32) bool
	// Receives is what the device must hear of the prefix.
	Receives(device, prefix int) []Candidate
	// Err tells why the state cannot be relied on, or nil.
	Err() error
}

// Network is what does not change during a run.
type Network struct {
	Topology *topologies.Topology
	Index    *topologies.Index
	Damping  damping.Pipeline
	Plan     *damping.Plan // what damping stands where; nil = Damping everywhere
	Hardware []Hardware    // by device
	External []*External   // by device, with their defaults; nil = that device is a speaker of the rig; nil as a whole = all are
}

// Moment is what a check sees: the network at quiet.
type Moment struct {
	*Network
	Dampings func(device, prefix int) *ToldDamping // what Network.ToldDampings gives; nil = not looked up yet
	Snapshot *Snapshot
	Settled  bool      // no pending timer can change anything
	Baseline *Snapshot // the settled snapshot before the first event; Snapshot itself at that moment
	// Damped is what the speakers must hold, told values damped and bundles as
	// their damping passes them. True has the capacities that are there, undamped.
	Damped, True Judge
	Full         bool // everything is as it was before the first event
	// Settings are those of the speakers, by device, as events have left them. Nobody
	// writes to them. Nil where nobody knows them.
	Settings []*topologies.Settings
	Window   *Window // the window that settled just now; else nil
	Since    *Since  // nil = everything may differ from whatever was shown before
}

// ToldDampings is Network.ToldDampings.
func (m *Moment) ToldDampings() func(device, prefix int) *ToldDamping {
	if m.Dampings != nil {
		return m.Dampings
	}
	return m.Network.ToldDampings()
}

// Window is the time from the start of an event to the moment when the network
// is settled. Events that start before the one before is settled share a window.
type Window struct {
	Events []Event
	Start  time.Duration // virtual
	Log    []NLRI        // everything that the wires carried
	Before Judge         // the damped state before the window
	// Allowed is what directed sessions are told otherwise from one damped
	// state of the window to the next, one bundle's change at a time. Where
	// several bundles change at one moment, each has an entry for every flow to
	// which it makes a difference in some order of them.
	Allowed []SessionChange
	// Own counts, by device, what happened to the device itself: changes of what
	// its bundles pass or of its sessions, of its settings and its drain state.
	Own map[int]int
	// Falls are the rounds before which the session of a bundle fell: what was told
	// over it until then is forgotten.
	Falls  map[int32][]int
	Lasted time.Duration // virtual, from Start until settled
	Effect Effect
	// Transients are the black holes and loops that the window had for any time and
	// that no quiet shows, or Watched is false: nobody looked, or could.
	Transients []Transient
	Watched    bool
}

// SessionChange is what one directed session is told otherwise of one prefix
// in one damped state than in the one before.
type SessionChange struct {
	Dir    Direction
	Prefix int32
	Told   bool // value, or whether anything is told
	Path   bool // told in both states, with another AS_PATH or scope
	Cut    bool // the session is down at the end of the moment: its fall says it, and nothing may be told over it
}

// Violation is one place where a rule does not hold.
type Violation struct {
	Time  time.Duration // virtual
	Where string        // device, session or prefix
	Text  string        // what is, and what was wanted
}

// Outcome is what a check found so far.
type Outcome struct {
	Name       string
	Exercised  int     // how often the rule was put to the test
	Worst      float64 // the worst value seen
	Limit      float64 // what Worst may be at most
	Unit       string  // of Worst and Limit
	Note       string  // what else the check has to say; may be empty
	Violations []Violation
	Violated   int  // all violations, also those that were not kept
	Expected   bool // the scenario says that the rule is violated
	// NotObservable is what of the network the rule would have had to see and nobody
	// outside of an external device can, in the order of the devices.
	NotObservable []Unobserved
}

// Unobserved is a part of a rule that was not put to the test.
type Unobserved struct {
	Device string
	What   string // that nobody outside of the device can see
}

// Held tells whether the rule was tested and never violated.
func (o Outcome) Held() bool { return o.Exercised > 0 && o.Violated == 0 }

// Check is one rule over a whole run. Look is called at every quiet, in order.
type Check interface {
	Name() string
	Look(m *Moment)
	Outcome() Outcome
}

// RoundCheck is a rule that also looks between the rounds of a window, where
// only Moment.Snapshot, the network and the events so far are known. It is shown the
// rounds of windows with a drain or a restart: what is planned can be without loss.
type RoundCheck interface {
	Check
	LookRound(m *Moment, events []Event)
}

// TransientCheck is a rule about what forwarding does between two messages. Where a
// run has one, its engine looks for Window.Transients, if messages take time in it.
type TransientCheck interface {
	Check
	WantsTransients()
}

// Effect says what an event did, from the graph alone.
type Effect string

// The effects of an event.
const (
	Changed  Effect = "changed"   // damped told values changed
	Absorbed Effect = "absorbed"  // true values, sets or weights changed, and damping told none of it
	Unseen   Effect = "unseen"    // traffic is lost, and nothing that routing sees changed
	NoEffect Effect = "no effect" // nothing changed
)

// Row is what one event did.
type Row struct {
	Index    int
	Event    Event
	Effect   Effect
	Start    time.Duration // virtual
	Settled  time.Duration // virtual, after Start
	Last     time.Duration // virtual, after Start: the last change of a damped told value
	Quiet    time.Duration // real: the longest from a change, or a timer, of the event to quiet; 0 in the simulator
	Told     int           // (device, prefix) whose told value changed at some time in the event
	Sets     int           // (device, prefix) whose multipath set or weights changed
	Counters Counters
	Blast    []int // Blast[h] is the number of speakers at hop distance h that received an UPDATE
}

// WindowRow is what one window did, from the start of its first event until the
// network was settled. Where events overlap each row has only what can be told
// apart, and the window has all.
type WindowRow struct {
	First, Last int           // indexes of its events
	Start       time.Duration // virtual
	Settled     time.Duration // virtual, after Start
	Counters    Counters
	Blast       []int // as in Row, from the nearest end of any of its events
	Lost        Lost  // Bundles empty
}

// Radius is the hop distance of the farthest speaker that received an UPDATE,
// or -1.
func (r Row) Radius() int { return len(r.Blast) - 1 }

// Touched is the number of speakers that received an UPDATE.
func (r Row) Touched() int {
	n := 0
	for _, k := range r.Blast {
		n += k
	}
	return n
}

// Verdict is how a run ended.
type Verdict string

// The verdicts.
const (
	Held        Verdict = "held"
	Violated    Verdict = "violated"
	Failed      Verdict = "failed"      // the run could not be finished
	Interrupted Verdict = "interrupted" // it was stopped from outside
)

// Result is what a run found.
type Result struct {
	Scenario    string
	Engine      string
	Seed        uint64
	Topology    string        // one line
	Established time.Duration // real: from the start to all sessions Established
	Quiet       time.Duration // real: from the first origination to quiet
	Entries     int           // Adj-RIB-In entries at the baseline
	Stale       int           // entries that are not what their sender tells
	BringUp     Counters      // what the wires carried until the baseline
	Rows        []Row
	Outcomes    []Outcome
	Verdict     Verdict
	Error       string        // why the run could not be finished
	Elapsed     time.Duration // real
	Virtual     time.Duration
	FIB         []FIBUse    // of each device that is not external; nil where no baseline was reached
	Policies    []PolicyUse // in the order of fib.Overflows; nil unless the run compares them
	MisTold     *MisTold    // nil where no baseline was reached
	Windows     []WindowRow
	Lost        *Lost       // nil where none was
	Overcount   []Overcount // at the baseline, and at the end where that differs
	Agreement   *Agreement  // nil unless the run was played on both engines
	Reached     []Reached   // of the Watcher among the checks; nil where there is none
}

// Overcount is what speakers tell over what the graph can carry, of all (device,
// prefix) that tell a value and are no origin of the prefix: see oracle.Overcount.
type Overcount struct {
	Moment         string // baseline or end
	Damped         bool   // of values as they are told; else as they would be without damping
	Pairs, Above   int    // (device, prefix), and those that tell more than can be carried
	Median, Worst  float64
	Device, Prefix string // that have the worst; empty without pairs
}

// Agreement is how a run on gobgp came out beside the same on sim.
type Agreement struct {
	Sim         *Result // of the run on sim
	Moments     int     // settled moments compared
	Routes      int     // (device, prefix) compared, over all moments
	NLRI        int     // compared; 0 where the runs' speakers do not step in the same order
	Cures       int     // withdrawals of the cure, which only gobgp needs
	Differences int
	Text        string // all of it, for agreement.txt
}

// Observer hears of a run as it happens.
type Observer interface {
	// Progress says how far a long step is.
	Progress(stage string, done, total int)
	// Record hears each thing that happened, in order.
	Record(r Record)
}

// Record is one line of events.ndjson.
type Record struct {
	Kind    string        // see docs/run-folder.md
	Virtual time.Duration // virtual time
	Event   int           // index of the event, or -1
	Text    string
	Row     *Row      // for "event"
	Outcome *Outcome  // for "violation", with the violation as its only one
	Counts  *Counters // for "quiet"
	Bundle  string    // for "change"
	Members int       // for "change"
	Result  *Result   // for "end"
}
