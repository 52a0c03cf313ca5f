// Package wire carries one BGP session between two speakers of one process.
// Both speakers wait to be dialled; a wire dials each from the other's address
// and splices the two connections, so sessions come up without the retry waits
// of a dialling peer. It counts what passes, swallows fences, and can be cut.
//
// One end may be far: a BGP speaker of any kind that is not of the process. Then
// the wire dials it, or lets it dial, from the address that it knows its neighbour
// by. What passes is the same, byte for byte; what it tells is kept, and waits for
// its turn.
//
// A wire decides nothing: it tells its Sink what it carried.
package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bagrig/bagrig/harness/state"
)

// Sink hears what a wire carries. Its methods are called from the wire's
// goroutines and must not block.
type Sink interface {
	// Dialled reports a connection into the speaker that the direction's
	// messages go to; it was not closed yet.
	Dialled(dir state.Direction)
	// Handed reports NLRI that the receiver is about to get.
	Handed(dir state.Direction, nlri int)
	// Fence reports a fence that was swallowed. It returns whether the fence
	// is one that was waited for, and so ends the session's first dump.
	Fence(dir state.Direction, number uint32) bool
	// Closed reports that the direction ended without Cut.
	Closed(dir state.Direction, err error)
	// Round is the number of the present round.
	Round() int
	// Spoke reports an UPDATE, fences apart, that a wire with a far end has read, or
	// that its session has come up.
	Spoke(dir state.Direction)
}

// Config describes a wire.
type Config struct {
	Bundle int32
	A, B   netip.Addr // the session's addresses at the bundle's ends
	Port   int        // where both listen
	// Budget is how long a speaker may take to accept and to send its OPEN;
	// 0 = as long as the context lasts.
	Budget time.Duration
	Fence  netip.Prefix
	Index  func(netip.Prefix) (int32, bool) // the number of a prefix in the topology
	Record *atomic.Bool                     // whether NLRI go to the log; shared by all wires
	Sink   Sink
	Far    [2]*Far // A's end, B's; nil = a speaker of the process, of which there is one at least
	// Tap, if any, gets every message when the wire has read it, fences apart, and must
	// not keep it. Calls for one direction come one at a time.
	Tap func(dir state.Direction, message []byte)
}

// Wire is one session's relay.
type Wire struct {
	cfg    Config
	ends   [2]net.Conn // into A, into B
	cut    atomic.Bool
	ended  atomic.Bool
	relays sync.WaitGroup
	dirs   [2]direction // from A, from B
}

type direction struct {
	mu       sync.Mutex
	keeps    bool                    // what is told, in tells
	opened   bool                    // the first message has been written already
	tells    map[int32]state.Telling // by prefix
	counters state.Counters
	log      []state.NLRI
	dump     bool
	notice   string // the last NOTIFICATION
	hold     bool
	waiting  [][]byte // UPDATEs that wait while hold

	write sync.Mutex // held from the count of a message to its end on the wire
}

// redials bounds how often a speaker may close a connection before its OPEN.
const redials = 100

// Dial connects both ends and returns when each has sent its OPEN and the
// relay runs. A speaker that is not ready closes the connection before its
// OPEN; that end is dialled again.
func Dial(ctx context.Context, cfg Config) (*Wire, error) {
	w := &Wire{cfg: cfg}
	var opens [2][]byte
	ends := [2]netip.Addr{cfg.A, cfg.B}
	first := 0
	if cfg.Far[0] != nil {
		first = 1 // a far end gets the OPEN of the near one
	}
	for _, i := range []int{first, 1 - first} {
		var err error
		if cfg.Far[i] != nil {
			w.ends[i], opens[i], err = w.farEnd(ctx, cfg.Far[i], opens[1-i])
		} else if w.ends[i], opens[i], err = w.dialEnd(ctx, i); err != nil {
			err = fmt.Errorf("wire %v to %v: %w", ends[1-i], ends[i], err)
		}
		if err != nil {
			if i != first {
				w.ends[first].Close()
			}
			return nil, err
		}
	}
	for i := range ends {
		if cfg.Far[i] != nil {
			w.dirs[i].keeps, w.dirs[i].hold, w.dirs[1-i].opened = true, true, true
			w.dirs[i].tells = map[int32]state.Telling{}
			cfg.Sink.Spoke(w.direction(i))
		}
	}
	for i := range ends {
		w.dirs[i].dump = true
		w.relays.Add(1)
		go w.relay(i, opens[i])
	}
	return w, nil
}

// ErrNoOpen means that a speaker accepted and did not send its OPEN in time.
var ErrNoOpen = errors.New("no OPEN")

// dialEnd connects to the speaker at end i and reads its OPEN.
func (w *Wire) dialEnd(ctx context.Context, i int) (net.Conn, []byte, error) {
	from, to := w.cfg.B, w.cfg.A
	if i == 1 {
		from, to = to, from
	}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: w.cfg.Budget}
	var last error
	for range redials {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(to, uint16(w.cfg.Port)).String())
		if err != nil {
			return nil, nil, err
		}
		w.cfg.Sink.Dialled(w.direction(1 - i))
		open, err := w.readOpen(ctx, conn)
		if err == nil {
			return conn, open, nil
		}
		conn.Close()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, nil, fmt.Errorf("%w within %v of the connection", ErrNoOpen, w.cfg.Budget)
		}
		last = err
	}
	return nil, nil, fmt.Errorf("closed %d times before OPEN: %w", redials, last)
}

// readOpen reads a speaker's first message, for at most the budget.
func (w *Wire) readOpen(ctx context.Context, conn net.Conn) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if w.cfg.Budget > 0 {
		if err := conn.SetReadDeadline(time.Now().Add(w.cfg.Budget)); err != nil {
			return nil, err
		}
	}
	open, err := readMessage(conn)
	if err != nil {
		return nil, err
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return open, conn.SetReadDeadline(time.Time{})
}

func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, headerLen)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n, err := messageLen(head)
	if err != nil {
		return nil, err
	}
	message := append(head, make([]byte, n-headerLen)...)
	_, err = io.ReadFull(r, message[headerLen:])
	return message, err
}

// relay carries what end i sends until the connection ends. The first of the
// two directions to end takes the other with it, and reports.
func (w *Wire) relay(i int, open []byte) {
	defer w.relays.Done()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic in a wire: %v\n%s", p, debug.Stack())
			}
		}()
		return w.copy(i, w.direction(i), open)
	}()
	first := w.ended.CompareAndSwap(false, true)
	w.ends[1-i].Close()
	if !first || w.cut.Load() {
		return
	}
	// Whoever sent a NOTIFICATION ended the session, whichever connection
	// was seen to close first.
	if w.notice(i) == "" && w.notice(1-i) != "" {
		i = 1 - i
	}
	if notice := w.notice(i); notice != "" {
		err = fmt.Errorf("%s, then %w", notice, err)
	}
	w.cfg.Sink.Closed(w.direction(i), err)
}

func (w *Wire) direction(i int) state.Direction {
	return state.Direction{Bundle: w.cfg.Bundle, FromB: i == 1}
}

func (w *Wire) copy(i int, dir state.Direction, open []byte) error {
	src, dst := w.ends[i], w.ends[1-i]
	buf := make([]byte, max(maxMessage, len(open)))
	have := copy(buf, open)
	for {
		used, err := w.passOn(i, dir, dst, buf[:have])
		if err != nil {
			return err
		}
		have = copy(buf, buf[used:have])
		n, err := src.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
	}
}

func (w *Wire) passOn(i int, dir state.Direction, dst net.Conn, buf []byte) (used int, err error) {
	w.dirs[i].write.Lock()
	defer w.dirs[i].write.Unlock()
	used, keep, err := w.pass(i, dir, buf, true)
	if w.dirs[i].opened && keep > 0 {
		w.dirs[i].opened = false // the buffer holds the OPEN alone
		keep = 0
	}
	if err == nil && keep > 0 {
		_, err = dst.Write(buf[:keep])
	}
	return used, err
}

// Hold lets the UPDATEs of one end wait. Everything else passes, KEEPALIVEs
// and fences too, so a held wire counts as read.
func (w *Wire) Hold(fromB bool) {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hold = true
}

// Release lets UPDATEs pass again, those that waited first.
func (w *Wire) Release(fromB bool) error {
	_, err := w.release(fromB, false)
	return err
}

// Flush lets those UPDATEs pass that wait, and holds the ones that follow. It tells
// whether there were any.
func (w *Wire) Flush(fromB bool) (bool, error) { return w.release(fromB, true) }

// Waits tells whether any UPDATE of one end waits.
func (w *Wire) Waits(fromB bool) bool {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting) > 0
}

func (w *Wire) release(fromB, hold bool) (any bool, err error) {
	d, i := w.dir(fromB), 0
	if fromB {
		i = 1
	}
	d.write.Lock()
	defer d.write.Unlock()
	d.mu.Lock()
	d.hold = false
	waiting := bytes.Join(d.waiting, nil)
	d.waiting = nil
	d.mu.Unlock()
	_, keep, err := w.pass(i, w.direction(i), waiting, false)
	d.mu.Lock()
	d.hold = hold // the reader waits for d.write
	d.mu.Unlock()
	if err == nil && keep > 0 {
		_, err = w.ends[1-i].Write(waiting[:keep])
	}
	return len(waiting) > 0, err
}

// Dumps counts what one end sends from now on as a first dump, until a fence
// that is waited for.
func (w *Wire) Dumps(fromB bool) {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dump = true
}

// EndDump ends the first dump of an end that sends no fences.
func (w *Wire) EndDump(fromB bool) {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dump = false
}

// pass counts the complete messages at the front of buf and moves those that
// are to be carried together. It returns the length of what it looked at and
// of what is to be written. Fresh messages have not been looked at before.
func (w *Wire) pass(i int, dir state.Direction, buf []byte, fresh bool) (used, keep int, err error) {
	d := &w.dirs[i]
	d.mu.Lock()
	defer d.mu.Unlock()
	handed := 0
	for len(buf)-used >= headerLen {
		n, err := messageLen(buf[used:])
		if err != nil {
			return used, keep, err
		}
		if len(buf)-used < n {
			break
		}
		message := buf[used : used+n]
		used += n
		if fresh {
			w.hear(dir, message)
		}
		if d.hold && w.mayWait(message) {
			d.waiting = append(d.waiting, slices.Clone(message))
			continue
		}
		nlri, fence, err := w.count(d, dir, message)
		if err != nil {
			return used, keep, err
		}
		if fence != nil {
			w.cfg.Sink.Handed(dir, handed)
			handed = 0
			d.dump = !w.cfg.Sink.Fence(dir, *fence) && d.dump
			continue
		}
		handed += nlri
		keep += copy(buf[keep:], message)
	}
	if handed > 0 {
		w.cfg.Sink.Handed(dir, handed)
	}
	return used, keep, nil
}

// mayWait tells whether a message is an UPDATE and no fence.
func (w *Wire) mayWait(message []byte) bool {
	if message[headerLen-1] != typeUpdate {
		return false
	}
	u, err := parseUpdate(message[headerLen:])
	if err != nil {
		return true
	}
	_, fence := u.fence(w.cfg.Fence)
	return !fence
}

// notice is the last NOTIFICATION that end i sent.
func (w *Wire) notice(i int) string {
	w.dirs[i].mu.Lock()
	defer w.dirs[i].mu.Unlock()
	return w.dirs[i].notice
}

// count accounts for one message. It returns its NLRI, or the number of the
// fence that it is.
func (w *Wire) count(d *direction, dir state.Direction, message []byte) (nlri int, fence *uint32, err error) {
	switch message[headerLen-1] {
	case typeUpdate:
	case typeKeepalive:
		d.counters.Keepalive++
		return 0, nil, nil
	case typeNotification:
		d.counters.Others++
		d.notice = noticeText(message)
		return 0, nil, nil
	default:
		d.counters.Others++
		return 0, nil, nil
	}
	u, err := parseUpdate(message[headerLen:])
	if err != nil {
		return 0, nil, err
	}
	if number, ok := u.fence(w.cfg.Fence); ok {
		d.counters.Fences++
		return 0, &number, nil
	}
	announced, withdrawn, err := u.count()
	if err != nil {
		return 0, nil, err
	}
	if withdrawn+announced == 0 {
		d.counters.EndOfRIB++
		return 0, nil, nil
	}
	d.counters.Updates++
	d.counters.Announced += announced
	d.counters.Withdrawn += withdrawn
	if w.cfg.Record.Load() {
		w.record(d, dir, u)
	}
	if d.keeps {
		if err := w.keep(d, u); err != nil {
			return 0, nil, err
		}
	}
	return withdrawn + announced, nil, nil
}

func (w *Wire) record(d *direction, dir state.Direction, u update) {
	entry := state.NLRI{Dir: dir, Round: w.cfg.Sink.Round(), Dump: d.dump}
	note := func(p netip.Prefix) {
		if i, ok := w.cfg.Index(p); ok {
			entry.Prefix = i
			d.log = append(d.log, entry)
		}
	}
	entry.Withdraw = true
	u.withdrawn.each(note)
	u.unreach.each(note)
	entry.Withdraw = false
	entry.Path, entry.Value, entry.Valued = u.told()
	u.announced.each(note)
	u.reach.each(note)
}

// Counters is what the A end, or the B end, has sent so far.
func (w *Wire) Counters(fromB bool) state.Counters {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counters
}

// TakeLog appends the recorded NLRI of one direction to list and forgets them.
func (w *Wire) TakeLog(fromB bool, list []state.NLRI) []state.NLRI {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	list = append(list, d.log...)
	d.log = nil
	return list
}

func (w *Wire) dir(fromB bool) *direction {
	if fromB {
		return &w.dirs[1]
	}
	return &w.dirs[0]
}

// Cut closes both connections and returns when the relay has ended.
func (w *Wire) Cut() error {
	w.cut.Store(true)
	var errs []error
	for _, c := range w.ends {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	w.relays.Wait()
	return errors.Join(errs...)
}

const (
	headerLen        = 19   // RFC 4271 S4.1
	maxMessage       = 4096 // RFC 4271 S4.1
	typeUpdate       = 2
	typeNotification = 3
	typeKeepalive    = 4
)

func messageLen(head []byte) (int, error) {
	n := int(binary.BigEndian.Uint16(head[16:]))
	if n < headerLen || n > maxMessage {
		return 0, fmt.Errorf("message length %d: want %d to %d", n, headerLen, maxMessage)
	}
	return n, nil
}
