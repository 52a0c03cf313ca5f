package properties

import (
	"slices"

	"github.com/bagrig/bagrig/harness/state"
)

// OrderName is the name of the rule, as verdicts and reports print it.
const OrderName = "withdrawal before FIB removal"

// Order is the rule "withdrawal before FIB removal": a speaker withdraws a route before
// its hardware loses it, so that nobody sends what cannot be forwarded; and it
// announces a route, or a changed value, after hardware has the next hops that it
// decided on together with it. So BGP++ orders its effects.
//
// It hears what every speaker does, in its order. Devices that originate a prefix
// forward it themselves and are outside.
type Order struct {
	ledger
	places map[[2]int32]*placeDone // by device and prefix
	origin [][]bool                // by prefix and device
}

// placeDone is what a device has done about a prefix.
type placeDone struct {
	programmed bool // hardware has it
	told       bool // the neighbours hold it
	step       int  // in which it was announced last
}

// NewOrder returns the check. Its worst value is the most things at one quiet that
// were done in the wrong order.
func NewOrder() *Order {
	return &Order{ledger: newLedger(OrderName, 0, "actions"), places: map[[2]int32]*placeDone{}}
}

// Look implements state.Check. The order is judged in LookOrder.
func (c *Order) Look(m *state.Moment) {
	if c.origin == nil {
		c.begin(m)
	}
}

// begin takes over what is there when the check begins to look.
func (c *Order) begin(m *state.Moment) {
	for p := range m.Topology.Prefixes {
		c.origin = append(c.origin, origins(m.Network, p))
	}
	for d := range m.Snapshot.Devices {
		if c.unseen(m, d, "when its hardware gains and loses routes") {
			continue
		}
		for p := range m.Snapshot.Devices[d].Routes {
			r := &m.Snapshot.Devices[d].Routes[p]
			c.places[[2]int32{int32(d), int32(p)}] = &placeDone{len(r.FIB.Members) > 0, r.Told.Present && heardByAny(m, d, p), -1}
		}
	}
}

// heardByAny tells whether any neighbour may hear what a device tells of a prefix:
// where none may, nothing needs to be withdrawn.
func heardByAny(m *state.Moment, d, p int) bool {
	return slices.ContainsFunc(m.Index.Of[d], func(b int) bool { return m.Damped.TellsTo(d, p, int32(b)) })
}

// LookOrder implements state.OrderCheck. It counts as exercised once per withdrawal
// from hardware and per announcement.
func (c *Order) LookOrder(m *state.Moment, done []state.Action) {
	if c.origin == nil {
		return // before the baseline
	}
	before := c.found.Violated
	for _, a := range done {
		if a.Kind == state.Restarts {
			c.restarts(m, a.Device)
			continue
		}
		x := c.places[[2]int32{a.Device, a.Prefix}]
		if x == nil || c.origin[a.Prefix][a.Device] {
			continue
		}
		if text := c.judge(x, a); text != "" {
			c.violate(m, at(m.Network, int(a.Device), int(a.Prefix)), "%s", text)
		}
	}
	c.worst(float64(c.found.Violated - before))
}

// restarts forgets what a speaker told that starts again.
func (c *Order) restarts(m *state.Moment, device int32) {
	for p := range m.Topology.Prefixes {
		c.places[[2]int32{device, int32(p)}].told = false
	}
}

// judge follows one action and says what is wrong with its place in the order.
func (c *Order) judge(x *placeDone, a state.Action) (text string) {
	switch a.Kind {
	case state.Programs:
		if x.told && x.step == a.Step {
			text = "announced before hardware has what the same decision gives it"
		}
		x.programmed = true
	case state.Unprograms:
		c.found.Exercised++
		if x.told {
			text = "hardware has lost the route, and the withdrawal is not sent yet"
		}
		x.programmed = false
	case state.Announces:
		c.found.Exercised++
		if !x.programmed {
			text = "announced, and hardware has no route"
		}
		x.told, x.step = true, a.Step
	case state.Withdraws:
		x.told = false
	}
	return text
}
