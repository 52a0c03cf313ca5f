package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// Far is an end of a session that is no speaker of this process.
type Far struct {
	Name    string         // of the device, for errors
	Local   netip.AddrPort // the address that it knows its neighbour by; the port is 0 where the wire dials
	Address netip.AddrPort // its own
	ASN     uint32         // that its OPEN must have
	Wait    time.Duration  // until its OPEN must have come
	Dial    Dialer         // nil = net.Dialer
	Accept  Accepter       // not nil = it dials; an accepter is for one session at a time
}

// Dialer makes a TCP connection from one address to another, such as net.Dialer does,
// or one that goes out in another network namespace.
type Dialer func(ctx context.Context, from, to netip.AddrPort) (net.Conn, error)

// Accepter gives the next connection that comes from an address.
type Accepter func(ctx context.Context, from netip.Addr) (net.Conn, error)

// ErrFar means that no session with a far end came up.
var ErrFar = errors.New("no session with an external device")

// errLate is a try that there was no time left for.
var errLate = errors.New("it does not answer")

// redialPause is how long the wire waits before it tries a far end again: one that
// has just lost a session may refuse the next for a while.
const redialPause = 100 * time.Millisecond

// farEnd connects to a far end, gives it its neighbour's OPEN and reads its answer. What
// refuses, or closes, is tried again as long as there is time.
func (w *Wire) farEnd(ctx context.Context, f *Far, open []byte) (net.Conn, []byte, error) {
	fail := func(err error) (net.Conn, []byte, error) {
		if f.Accept != nil {
			return nil, nil, fmt.Errorf("%w: device %q at %v, which dials %v: %w", ErrFar, f.Name, f.Address.Addr(), f.Local, err)
		}
		return nil, nil, fmt.Errorf("%w: device %q at %v, from %v: %w", ErrFar, f.Name, f.Address, f.Local.Addr(), err)
	}
	within, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	var last error
	for {
		conn, err := f.connect(within)
		if err == nil {
			var theirs []byte
			if theirs, err = f.greet(within, conn, open); err == nil {
				return conn, theirs, nil
			}
			conn.Close()
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		var never *neverError
		if errors.As(err, &never) {
			return fail(err)
		}
		if last == nil || !errors.Is(err, errLate) {
			last = err // a try that the end of the time cut short says nothing
		}
		pause := time.NewTimer(redialPause)
		select {
		case <-pause.C:
		case <-within.Done():
			pause.Stop()
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return fail(fmt.Errorf("not within %v: %w", f.Wait, last))
		}
	}
}

// neverError is one that another try would meet again.
type neverError struct{ error }

func (e *neverError) Unwrap() error { return e.error }

func (f *Far) connect(ctx context.Context) (net.Conn, error) {
	if f.Accept != nil {
		conn, err := f.Accept(ctx, f.Address.Addr())
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: it has not dialled", errLate)
		}
		return conn, err
	}
	dial := f.Dial
	if dial == nil {
		dial = func(ctx context.Context, from, to netip.AddrPort) (net.Conn, error) {
			dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
			return dialer.DialContext(ctx, "tcp", to.String())
		}
	}
	conn, err := dial(ctx, f.Local, f.Address)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = &neverError{fmt.Errorf("%w: %v is no address of this host: add it, as with `ip address add %v/32 dev lo`", err, f.Local.Addr(), f.Local.Addr())}
	case errors.Is(err, context.DeadlineExceeded):
		err = errLate
	}
	return conn, err
}

// greet gives the far end an OPEN and returns its own, with the KEEPALIVE by which it
// agrees: one that has just lost a session may say OPEN and then think better of it.
func (f *Far) greet(ctx context.Context, conn net.Conn, open []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := conn.Write(open); err != nil {
		return nil, err
	}
	first, err := f.hear(ctx, conn, "OPEN")
	if err != nil {
		return nil, err
	}
	if err := f.check(first); err != nil {
		return nil, &neverError{err}
	}
	second, err := f.hear(ctx, conn, "KEEPALIVE")
	switch {
	case err != nil:
		return nil, err
	case second[headerLen-1] != typeKeepalive:
		return nil, &neverError{fmt.Errorf("its second message is of type %d: want a KEEPALIVE", second[headerLen-1])}
	case !stop():
		return nil, errLate
	}
	return append(first, second...), nil
}

// hear reads a message of which anything but a NOTIFICATION is wanted.
func (f *Far) hear(ctx context.Context, conn net.Conn, want string) ([]byte, error) {
	m, err := readMessage(conn)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: it accepts the connection and sends no %s", errLate, want)
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return nil, fmt.Errorf("it closes the connection before its %s, as a device does that has no neighbour at %v", want, f.Local.Addr())
	case err != nil:
		return nil, &neverError{fmt.Errorf("what it sends is no BGP message: %w", err)}
	case m[headerLen-1] != typeNotification:
		return m, nil
	}
	err = fmt.Errorf("it refuses the session: %s", noticeText(m))
	if len(m) > headerLen && m[headerLen] == bgp.BGP_ERROR_OPEN_MESSAGE_ERROR {
		err = &neverError{err}
	}
	return nil, err
}

// check tells whether a far end's OPEN is one that its neighbour can take.
func (f *Far) check(message []byte) error {
	parsed, err := bgp.ParseBGPMessage(message)
	if err != nil {
		return fmt.Errorf("its first message: %w: % x", err, message)
	}
	open, ok := parsed.Body.(*bgp.BGPOpen)
	if !ok {
		return fmt.Errorf("its first message is of type %d: want an OPEN", message[headerLen-1])
	}
	asn, wide := uint32(open.MyAS), false
	for _, parameter := range open.OptParams {
		list, ok := parameter.(*bgp.OptionParameterCapability)
		if !ok {
			continue
		}
		for _, c := range list.Capability {
			if four, ok := c.(*bgp.CapFourOctetASNumber); ok {
				asn, wide = four.CapValue, true
			}
		}
	}
	if asn != f.ASN {
		return fmt.Errorf("its OPEN says AS %d: want %d", asn, f.ASN)
	}
	if !wide {
		return errors.New("its OPEN has no capability of four-octet AS numbers (RFC 6793): want it")
	}
	return nil
}

// noticeText prints a NOTIFICATION: its body, and what its codes mean.
func noticeText(message []byte) string {
	text := fmt.Sprintf("NOTIFICATION % x", message[headerLen:])
	if len(message) >= headerLen+2 {
		text += fmt.Sprintf(" (%v)", bgp.NewNotificationErrorCode(message[headerLen], message[headerLen+1]))
	}
	return text
}

// hear takes note of a message that has been read.
func (w *Wire) hear(dir state.Direction, message []byte) {
	foreign := w.cfg.Far[0] != nil || w.cfg.Far[1] != nil
	if !foreign && w.cfg.Tap == nil {
		return
	}
	update := message[headerLen-1] == typeUpdate
	if update && !w.mayWait(message) {
		return // a fence
	}
	if foreign && update {
		w.cfg.Sink.Spoke(dir)
	}
	if w.cfg.Tap != nil {
		w.cfg.Tap(dir, message)
	}
}

// keep remembers what a far end tells. The speakers of the process know the prefixes
// of the topology alone.
func (w *Wire) keep(d *direction, u update) (err error) {
	each := func(list nlriList, do func(prefix int32)) {
		list.each(func(p netip.Prefix) {
			i, ok := w.cfg.Index(p)
			if !ok && err == nil {
				err = fmt.Errorf("it tells of %v: the topology has no such prefix, want it filtered at the device", p)
			}
			if ok {
				do(i)
			}
		})
	}
	forget := func(prefix int32) { delete(d.tells, prefix) }
	each(u.withdrawn, forget)
	each(u.unreach, forget)
	told := state.Telling{Bundle: w.cfg.Bundle, Path: u.path(), Attributes: slices.Clone(u.attrs)}
	told.Value, told.Valued = linkbw.Lowest(u.attr(attrExtended))
	note := func(prefix int32) { d.tells[prefix] = told }
	each(u.announced, note)
	each(u.reach, note)
	return err
}

// Telling is what a far end tells of a prefix, and whether it tells anything.
func (w *Wire) Telling(fromB bool, prefix int32) (state.Telling, bool) {
	d := w.dir(fromB)
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.tells[prefix]
	return t, ok
}
