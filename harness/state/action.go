package state

// Action is one thing that a speaker did to the outside: to its hardware table, or to
// its neighbours.
type Action struct {
	Device, Prefix int32
	Step           int // of that device, counted from 1; equal for all that one decision asks for
	Kind           ActionKind
}

// ActionKind says what a speaker did.
type ActionKind uint8

// The kinds of Action.
const (
	Programs   ActionKind = iota // hardware has the next hops now
	Unprograms                   // hardware has the prefix no more
	Announces                    // the neighbours are told the route, or a value that changed
	Withdraws                    // the neighbours are told that it is gone
	Restarts                     // the speaker starts again, having told nothing; hardware is as it was; Prefix is -1
)

// ActionRecorder is an Engine that can write down what speakers do, in the order of each.
type ActionRecorder interface {
	// RecordActions turns that on or off.
	RecordActions(on bool)
	// TakeActions returns what was done since the last call, each device's in its
	// order, and forgets it.
	TakeActions() []Action
}

// OrderCheck is a rule about the order in which a speaker does things. Where a run has
// one, LookOrder hears before each Look what was done since the last.
type OrderCheck interface {
	Check
	LookOrder(m *Moment, done []Action)
}
