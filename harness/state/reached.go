package state

// Reached is a named state of the network's behaviour and how often a run was in
// it: at how many moments, or in how many windows.
type Reached struct {
	Name  string
	Times int
}

// Watcher is a check that judges nothing: it has no outcome that a run reports, but
// says at the end what was reached.
type Watcher interface {
	Check
	// Ended hears how the run ended: nil, or why it could not be finished.
	Ended(err error)
	// Reached lists all states that the watcher knows, in a fixed order.
	Reached() []Reached
}
