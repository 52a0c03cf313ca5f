package conform

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// bench is the device with the tester's sessions around it.
type bench struct {
	gone     int // checks in a row before which the device did not come back
	device   Device
	opts     Options
	peers    []Peer
	sessions map[string]*session
	numbers  map[string]int // of the catalogue's checks; each has prefixes of its own
	markers  int            // asked so far

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, whenever anything was heard

	listeners map[string]net.Listener // by peer; Passive
}

// newBench brings up every session but those of the 64, which only their checks
// need.
func newBench(ctx context.Context, device Device, opts Options) (_ *bench, err error) {
	b := &bench{
		device: device, opts: opts, peers: PeersOf(opts.Local, opts.Local6, device.ASN), sessions: map[string]*session{},
		numbers: map[string]int{}, changed: make(chan struct{}), listeners: map[string]net.Listener{},
	}
	for i, c := range Catalogue() {
		b.numbers[c.Name] = i
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if need := b.needed(); len(b.peers) < need {
		return nil, fmt.Errorf("device %q: %d local addresses: want %d, for the sessions a, b, o, c, i1, i2 and m1 to m%d (fewer where it lacks %q or %q)",
			device.Name, len(b.peers), need, manyPeers, Internal, Many)
	}
	for _, p := range b.peers {
		b.sessions[p.Name] = &session{peer: p, bench: b}
		if !opts.Passive {
			continue
		}
		if b.listeners[p.Name], err = net.Listen("tcp", netip.AddrPortFrom(p.Addr, opts.Port).String()); err != nil {
			return nil, fmt.Errorf("session %s: %w", p.Name, err)
		}
	}
	return b, b.connect(ctx, b.standing())
}

// standing are the sessions that are up all the time.
func (b *bench) standing() (names []string) {
	for _, p := range b.peers[:min(len(b.peers), 6)] {
		if !p.Internal || b.has(Internal) {
			names = append(names, p.Name)
		}
	}
	if !b.has(Forwards) {
		return []string{"o"} // there is one to hear it, and nothing to ask
	}
	return names
}

// needed is how many addresses the device's sessions take.
func (b *bench) needed() int {
	switch {
	case b.has(Many):
		return Peers
	case b.has(Internal):
		return 6
	}
	return 4
}

func (b *bench) has(f Facility) bool { return b.lacks(f) == "" }

// lacks says why the device has not got something; empty where it has.
func (b *bench) lacks(f Facility) string {
	switch why, lacks := b.device.Lacks[f]; {
	case lacks && why != "":
		return why
	case lacks, f == Weighs && b.device.Weights == nil, f == HoldsDown && (b.device.Bundle == nil || b.device.Pass == nil):
		return Facilities[f]
	}
	return ""
}

// connect brings the sessions up that are not, all at a time.
func (b *bench) connect(ctx context.Context, names []string) error {
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		s := b.sessions[name]
		if b.isUp(s) {
			continue
		}
		wg.Go(func() { errs[i] = s.connect(ctx) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err // one is enough to see what is wrong
		}
	}
	return nil
}

func (b *bench) isUp(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.up
}

// accept takes the device's connection to a peer's address.
func (b *bench) accept(ctx context.Context, p Peer) (net.Conn, error) {
	l := b.listeners[p.Name].(*net.TCPListener)
	deadline, _ := ctx.Deadline()
	if err := l.SetDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.SetDeadline(time.Now()) })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return nil, fmt.Errorf("the device does not dial: %w", err)
	}
	return conn, nil
}

// wake tells all that wait that something was heard. b.mu is held.
func (b *bench) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// errFell means that a session that the check needs went down.
var errFell = errors.New("the session fell")

// until waits for cond, which is called with b.mu held, while the sessions
// named stay up.
func (b *bench) until(ctx context.Context, what string, names []string, cond func() bool) error {
	return b.within(ctx, b.opts.Budget, what, names, cond)
}

func (b *bench) within(ctx context.Context, budget time.Duration, what string, names []string, cond func() bool) error {
	timeout := time.NewTimer(budget)
	defer timeout.Stop()
	for {
		b.mu.Lock()
		done, changed := cond(), b.changed
		var fell error
		for _, name := range names {
			if s := b.sessions[name]; !s.up && fell == nil {
				fell = fmt.Errorf("%w: %s: %w", errFell, name, s.fell)
			}
		}
		b.mu.Unlock()
		switch {
		case done:
			return nil
		case fell != nil:
			return fell
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return fmt.Errorf("%s did not come within %v", what, budget)
		}
	}
}

// run asks one question. The error is that ctx ended, or that the bench could
// not be set up again.
func (b *bench) run(ctx context.Context, c Check) (Result, error) {
	r := Result{Check: c}
	for _, f := range append([]Facility{Forwards}, c.Needs...) {
		if f == Forwards && slices.Contains(c.Needs, Originates) {
			continue
		}
		if why := b.lacks(f); why != "" {
			r.Verdict, r.Reason = NotApplicable, why
			return r, nil
		}
	}
	if b.gone >= mostGone {
		r.Verdict, r.Reason = Errored, fmt.Sprintf("not asked: the device did not come back for %d checks before", mostGone)
		return r, nil
	}
	if err := b.connect(ctx, b.standing()); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		b.gone++
		r.Verdict, r.Reason = Errored, err.Error()
		return r, nil
	}
	b.gone = 0
	t := &trial{ctx: ctx, bench: b, check: c, from: map[string]int{}, prefix: prefix4(b.numbers[c.Name], 0), beside: prefix4(b.numbers[c.Name], 1)}
	if slices.Contains(c.Needs, IPv6) {
		t.prefix = prefix6(b.numbers[c.Name])
	}
	t.mark()
	word := c.ask(t)
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	t.judge(&r, word)
	t.clean()
	return r, nil
}

// mostGone is for how many checks in a row the bench waits for a device that is gone.
const mostGone = 3

func (b *bench) close() {
	for _, s := range b.sessions {
		s.cease()
	}
	for _, l := range b.listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}

// The prefixes of checks and markers (RFC 6598 and RFC 4193 space).
func prefix4(n, which int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(64 + which), byte(n), 0}), 24)
}

func prefix6(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 0, 100, 0, byte(n)}), 64)
}

func marker(n int) netip.Prefix { return prefix4(n%markers, 2) }

// markers is how many marker prefixes there are: so many that one is withdrawn
// long before it is used again.
const markers = 64

// Prefixes are all prefixes that a run can send or expect, for a device that
// must know them beforehand.
func Prefixes() []netip.Prefix {
	var list []netip.Prefix
	for n := range Catalogue() {
		list = append(list, prefix4(n, 0), prefix4(n, 1), prefix6(n))
	}
	for n := range markers {
		list = append(list, marker(n))
	}
	return list
}

// trial is one check while it is asked. Its first error makes all that follows
// do nothing, so that a check reads straight down.
type trial struct {
	ctx    context.Context
	bench  *bench
	check  Check
	prefix netip.Prefix   // the question's
	beside netip.Prefix   // one that a question may touch by accident
	from   map[string]int // by session: what it had heard when the question began
	sent   []Message
	spoke  []string // sessions that sent a route
	err    error
	absent string // the device turned out to lack this
	detail string
}

func (t *trial) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// none ends a check that turned out not to apply.
func (t *trial) none(why string, args ...any) string {
	if t.absent == "" {
		t.absent = fmt.Sprintf(why, args...)
	}
	return ""
}

// mark lets what is heard from now on count.
func (t *trial) mark() {
	t.bench.mu.Lock()
	defer t.bench.mu.Unlock()
	for name, s := range t.bench.sessions {
		t.from[name] = len(s.heard)
	}
}

// judge makes the verdict of the word.
func (t *trial) judge(r *Result, word string) {
	r.Messages, r.Heard = t.sent, t.evidence()
	r.Got = word
	switch {
	case errors.Is(t.err, errFell):
		r.Got, r.Verdict, r.Reason = "reset", Failed, t.err.Error()
		if slices.Contains(r.Accept, r.Got) {
			r.Verdict = Passed
		}
	case t.err != nil:
		r.Got, r.Verdict, r.Reason = "", Errored, t.err.Error()
	case t.absent != "":
		r.Got, r.Verdict, r.Reason = "", NotApplicable, t.absent
	case slices.Contains(r.Accept, word):
		r.Verdict = Passed
	default:
		r.Verdict, r.Reason = Failed, fmt.Sprintf("got %q: want %s", word, quoted(r.Accept))
	}
	if t.detail != "" && r.Verdict != NotApplicable {
		if r.Reason != "" {
			r.Reason += "; "
		}
		r.Reason += t.detail
	}
}

// evidence is what was heard about the question's prefixes.
func (t *trial) evidence() []Message {
	t.bench.mu.Lock()
	defer t.bench.mu.Unlock()
	var list []Message
	for _, p := range t.bench.peers {
		s := t.bench.sessions[p.Name]
		for _, h := range s.heard[min(t.from[p.Name], len(s.heard)):] {
			for i := range h.announced {
				if r := &h.announced[i]; t.about(r.Prefix) {
					list = append(list, Message{p.Name, r.describe(), hex.EncodeToString(h.bytes)})
				}
			}
			for _, gone := range h.withdrawn {
				if t.about(gone) {
					list = append(list, Message{p.Name, "withdraw " + gone.String(), hex.EncodeToString(h.bytes)})
				}
			}
		}
	}
	return list
}

func (t *trial) about(p netip.Prefix) bool { return p == t.prefix || p == t.beside }

// send sends one message on a session.
func (t *trial) send(name, text string, b []byte) {
	if t.err != nil {
		return
	}
	s := t.bench.sessions[name]
	if len(t.sent) < maxEvidence {
		t.sent = append(t.sent, Message{name, text, hex.EncodeToString(b)})
	}
	if !slices.Contains(t.spoke, name) {
		t.spoke = append(t.spoke, name)
	}
	if err := s.write(b); err != nil {
		t.fail(fmt.Errorf("%w: %s: %w", errFell, name, t.why(s, err)))
	}
}

// maxEvidence bounds the messages that a result keeps.
const maxEvidence = 150

// why is why a session is down: what it read says more than a failed write.
func (t *trial) why(s *session, err error) error {
	<-s.reader
	t.bench.mu.Lock()
	defer t.bench.mu.Unlock()
	if s.fell != nil {
		return s.fell
	}
	return err
}

// settle sends a marker on each session named, and then another, and waits for
// both at all others that can hear them. So all that the device had to say about
// what it was told before has been said.
func (t *trial) settle(names ...string) {
	for range 2 {
		for _, name := range names {
			t.marker(name)
		}
	}
}

func (t *trial) marker(name string) {
	if t.err != nil {
		return
	}
	b, s := t.bench, t.bench.sessions[name]
	number := marker(b.markers)
	b.markers++
	ears := t.ears(s.peer)
	// The prefix was used by a marker before: its withdrawal must be through.
	unused := func() bool {
		return !slices.ContainsFunc(ears, func(ear string) bool { return b.sessions[ear].table[number] != nil })
	}
	if err := b.until(t.ctx, "the withdrawal of an earlier marker", ears, unused); err != nil {
		t.fail(err)
		return
	}
	if err := s.write(updateMessage(number, t.attributes(s.peer, offer{prefix: number}))); err != nil {
		t.fail(fmt.Errorf("%w: %s: %w", errFell, name, t.why(s, err)))
		return
	}
	err := b.until(t.ctx, "the marker sent on "+name, append([]string{name}, ears...), func() bool {
		return !slices.ContainsFunc(ears, func(ear string) bool { return b.sessions[ear].table[number] == nil })
	})
	if err == nil {
		err = s.write(withdrawMessage(number))
	}
	if err != nil {
		t.fail(err)
	}
}

// ears are the sessions that hear what a peer sends: all standing ones but its
// own.
func (t *trial) ears(from Peer) (names []string) {
	for _, name := range t.bench.standing() {
		if name != from.Name && t.bench.isUp(t.bench.sessions[name]) {
			names = append(names, name)
		}
	}
	return names
}

// clean takes the question's routes back, and ends the sessions that only some
// checks need.
func (t *trial) clean() {
	for _, name := range t.spoke {
		s := t.bench.sessions[name]
		for _, p := range []netip.Prefix{t.prefix, t.beside} {
			if t.bench.isUp(s) {
				_ = s.write(withdrawMessage(p))
			}
		}
	}
	standing := t.bench.standing()
	for _, p := range t.bench.peers {
		if !slices.Contains(standing, p.Name) {
			t.bench.sessions[p.Name].cease()
		}
	}
}
