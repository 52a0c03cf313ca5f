package live

// dials follows the connections that wires make into speakers. GoBGP loses a
// goroutine, and can lose a socket, when a peer is deleted in OPENSENT or
// OPENCONFIRM: a message that arrives in that moment stays in a queue that
// nobody reads or closes. So a speaker is stopped only after the FSMs of all
// connections have fallen. It is pure: no lock, no time.
//
// A direction stands for the end that receives it.
type dials struct {
	standing []bool // by direction: whether the FSM has yet to fall
	owing    int    // how many stand
	redials  int    // connections over one that the speaker had closed before its OPEN
}

func newDials(directions int) *dials {
	return &dials{standing: make([]bool, directions)}
}

// dial counts a connection.
func (d *dials) dial(dir int) {
	if d.standing[dir] {
		d.redials++
		return
	}
	d.standing[dir] = true
	d.owing++
}

// fall counts an FSM that entered IDLE. A new peer enters IDLE before it is
// dialled, and that counts for nothing.
func (d *dials) fall(dir int) {
	if d.standing[dir] {
		d.standing[dir] = false
		d.owing--
	}
}
