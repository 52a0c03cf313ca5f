package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// heard is one UPDATE that a session heard, and its octets.
type heard struct {
	bytes []byte
	update
}

// session is one BGP session with the device. It does nothing by itself but
// keepalives, and keeps all that it heard.
type session struct {
	peer    Peer
	bench   *bench
	conn    net.Conn
	opened  opened
	reader  chan struct{} // closed when the reader has ended
	writing sync.Mutex

	// Guarded by bench.mu.
	up    bool
	fell  error // why it is down
	heard []heard
	table map[netip.Prefix]*Route
	ends  int // End-of-RIB of IPv4 heard in this life
}

// errRefused is a device that will not talk whatever the tester waits for.
var errRefused = errors.New("refused")

// connect brings the session up, trying again until the budget is spent: a
// device that has just lost a session may want to rest first.
func (s *session) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.bench.opts.Patience)
	defer cancel()
	if rested := s.bench.device.Rested; rested != nil && s.conn != nil {
		if err := rested(ctx, s.peer.Name); err != nil {
			return s.trouble(err)
		}
	}
	var last error
	for {
		err := s.try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if errors.Is(err, errRefused) {
			return s.trouble(err)
		}
		select {
		case <-ctx.Done():
			return s.trouble(fmt.Errorf("not up within %v: %w", s.bench.opts.Patience, last))
		case <-time.After(retry):
		}
	}
}

// retry is the pause between two attempts to connect.
const retry = 100 * time.Millisecond

func (s *session) trouble(err error) error {
	return fmt.Errorf("device %q at %v: session %s from %v (ASN %d): %w", s.bench.device.Name, s.bench.device.Addr, s.peer.Name, s.peer.Addr, s.peer.ASN, err)
}

// attempt bounds one attempt: a device may take a connection at a moment in which it
// has no use for it, and then never say a word on it.
const attempt = 5 * time.Second

func (s *session) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	conn, err := s.reach(ctx)
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	o, err := s.handshake(conn)
	if err != nil {
		_ = conn.Close()
		return err
	}
	if !stop() {
		_ = conn.Close()
		return ctx.Err()
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		_ = conn.Close()
		return err
	}
	b := s.bench
	b.mu.Lock()
	s.conn, s.opened, s.up, s.fell, s.ends = conn, o, true, nil, 0
	s.table = map[netip.Prefix]*Route{}
	s.reader = make(chan struct{})
	b.mu.Unlock()
	go s.read(conn, s.reader)
	return nil
}

// reach gives a TCP connection with the device: dialled, or taken from it.
func (s *session) reach(ctx context.Context) (net.Conn, error) {
	if s.bench.opts.Passive {
		return s.bench.accept(ctx, s.peer)
	}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.peer.Addr, 0))}
	return dialer.DialContext(ctx, "tcp", s.bench.device.Addr.String())
}

func (s *session) handshake(conn net.Conn) (opened, error) {
	if _, err := conn.Write(openMessage(s.peer.ASN, s.peer.Addr, s.bench.has(IPv6))); err != nil {
		return opened{}, err
	}
	kind, body, all, err := readMessage(conn)
	if err != nil {
		return opened{}, fmt.Errorf("connected, but no OPEN came: %w", err)
	}
	if kind == typeNotification {
		return opened{}, refusal(body)
	}
	if kind != typeOpen {
		return opened{}, fmt.Errorf("message type %d in place of OPEN", kind)
	}
	o, err := readOpen(body)
	if err != nil {
		return o, err
	}
	o.bytes = all
	if want := s.bench.device.ASN; o.asn != want {
		return o, fmt.Errorf("%w: the device's OPEN says ASN %d: want %d", errRefused, o.asn, want)
	}
	if _, err := conn.Write(message(typeKeepalive, nil)); err != nil {
		return o, err
	}
	switch kind, body, _, err := readMessage(conn); {
	case err != nil:
		return o, fmt.Errorf("no KEEPALIVE after OPEN: %w", err)
	case kind == typeNotification:
		return o, refusal(body)
	case kind != typeKeepalive:
		return o, fmt.Errorf("message type %d in place of KEEPALIVE", kind)
	}
	return o, nil
}

// refusal is a NOTIFICATION during the handshake. Whoever refuses an ASN will
// refuse it again.
func refusal(body []byte) error {
	n := readNotification(body)
	if n.code == 2 && n.sub == 2 {
		return fmt.Errorf("%w: %v: is this address a neighbour with this ASN there?", errRefused, n)
	}
	return errors.New(n.String())
}

func readNotification(b []byte) notification {
	if len(b) < 2 {
		return notification{}
	}
	return notification{b[0], b[1], b[2:]}
}

func readMessage(r io.Reader) (kind byte, body, all []byte, err error) {
	head := make([]byte, headLength)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, nil, err
	}
	n := int(binary.BigEndian.Uint16(head[16:]))
	if n < headLength || n > maxLength {
		return 0, nil, nil, fmt.Errorf("message of length %d: want %d to %d", n, headLength, maxLength)
	}
	all = append(head, make([]byte, n-headLength)...)
	if _, err := io.ReadFull(r, all[headLength:]); err != nil {
		return 0, nil, nil, err
	}
	return all[18], all[headLength:], all, nil
}

func (s *session) read(conn net.Conn, done chan struct{}) {
	defer close(done)
	interval := min(s.opened.hold, holdTime*time.Second) / 3
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			for {
				select {
				case <-ticker.C:
					_ = s.write(message(typeKeepalive, nil))
				case <-ended:
					return
				}
			}
		}()
	}
	for {
		kind, body, all, err := readMessage(conn)
		switch {
		case err != nil:
			s.down(fmt.Errorf("the connection ended: %w", err))
			return
		case kind == typeNotification:
			s.down(errors.New(readNotification(body).String()))
			return
		case kind == typeUpdate:
			u, err := readUpdate(body)
			if err != nil {
				s.down(fmt.Errorf("the device sent a malformed message % x: %w", all, err))
				return
			}
			s.note(all, u)
		}
	}
}

func (s *session) note(all []byte, u update) {
	s.bench.mu.Lock()
	defer s.bench.mu.Unlock()
	s.heard = append(s.heard, heard{all, u})
	for _, p := range u.withdrawn {
		delete(s.table, p)
	}
	for i := range u.announced {
		s.table[u.announced[i].Prefix] = &u.announced[i]
	}
	if u.end4 {
		s.ends++
	}
	s.bench.wake()
}

func (s *session) down(err error) {
	s.bench.mu.Lock()
	defer s.bench.mu.Unlock()
	if s.up {
		s.up, s.fell = false, err
		_ = s.conn.Close()
		s.bench.wake()
	}
}

// write sends octets. A device that does not read is not waited for forever.
func (s *session) write(b []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.bench.opts.Budget)); err != nil {
		return err
	}
	_, err := s.conn.Write(b)
	return err
}

// cease ends the session in order, and returns when its reader has ended.
func (s *session) cease() {
	s.bench.mu.Lock()
	conn, up := s.conn, s.up
	if up {
		s.up, s.fell = false, errors.New("ended by the tester")
	}
	s.bench.mu.Unlock()
	if conn == nil {
		return
	}
	if up {
		_ = s.write(message(typeNotification, []byte{6, 2}))
	}
	_ = conn.Close()
	<-s.reader
}
