package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/harness/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fencePrefix = netip.MustParsePrefix("192.0.2.1/32")
	prefixes    = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.16.0/20"), netip.MustParsePrefix("10.2.0.0/16")}
)

// log is a Sink that keeps everything as text.
type log struct {
	mu     sync.Mutex
	lines  []string
	want   uint32 // fences from here on are waited for
	closed chan error
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) Dialled(d state.Direction) { l.add("%v dialled", d) }

func (l *log) Handed(d state.Direction, n int) {
	if n > 0 {
		l.add("%v handed %d", d, n)
	}
}

func (l *log) Fence(d state.Direction, n uint32) bool {
	l.add("%v fence %d", d, n)
	return n >= l.want
}

func (l *log) Closed(d state.Direction, err error) { l.closed <- fmt.Errorf("%v: %w", d, err) }
func (l *log) Round() int                          { return 3 }
func (l *log) Spoke(state.Direction)               {}

// ends are two speakers that wait to be dialled.
type ends struct {
	listeners [2]net.Listener
	addrs     [2]netip.Addr
	port      int
}

func listen(t *testing.T) *ends {
	t.Helper()
	e := &ends{addrs: [2]netip.Addr{netip.AddrFrom4([4]byte{127, 8, 0, 1}), netip.AddrFrom4([4]byte{127, 8, 0, 2})}}
	// A port that is free at one end may be in use at the other, by a
	// connection that an earlier test has just closed.
	for range 100 {
		first, err := net.Listen("tcp4", netip.AddrPortFrom(e.addrs[0], 0).String())
		if err != nil {
			t.Fatal(err)
		}
		e.port = first.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp4", netip.AddrPortFrom(e.addrs[1], uint16(e.port)).String())
		if err != nil {
			first.Close()
			continue
		}
		e.listeners = [2]net.Listener{first, second}
		t.Cleanup(func() { first.Close(); second.Close() })
		return e
	}
	t.Fatal("no port is free at both ends")
	return nil
}

// wire is one that has dialled neither end.
func (e *ends) wire() *Wire {
	return &Wire{cfg: Config{Bundle: 5, A: e.addrs[0], B: e.addrs[1], Port: e.port, Sink: &log{}}}
}

// start dials a wire whose ends say OPEN at once, and returns their connections.
func start(t *testing.T) (w *Wire, a, b net.Conn, sink *log) {
	t.Helper()
	e := listen(t)
	conns := make([]chan net.Conn, 2)
	for i := range conns {
		conns[i] = make(chan net.Conn, 1)
		go func() {
			c, err := e.listeners[i].Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(open(t))
			conns[i] <- c
		}()
	}
	sink = &log{closed: make(chan error, 2)}
	record := &atomic.Bool{}
	record.Store(true)
	w, err := Dial(context.Background(), Config{Bundle: 5, A: e.addrs[0], B: e.addrs[1], Port: e.port, Fence: fencePrefix, Index: index, Record: record, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	a, b = <-conns[0], <-conns[1]
	sink.lines = nil // the dials
	for _, c := range []net.Conn{a, b} {
		if got := readOne(t, c); !bytes.Equal(got, open(t)) {
			t.Fatalf("first message: got % x, want the other end's OPEN", got)
		}
	}
	t.Cleanup(func() {
		if err := w.Cut(); err != nil {
			t.Error(err)
		}
		a.Close()
		b.Close()
	})
	return w, a, b, sink
}

// index numbers prefixes and then sixes.
func index(p netip.Prefix) (int32, bool) {
	i := slices.Index(slices.Concat(prefixes, sixes), p)
	return int32(i), i >= 0
}

func serialize(t testing.TB, m *bgp.BGPMessage) []byte {
	t.Helper()
	b, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB) []byte {
	return serialize(t, bgp.NewBGPOpenMessage(65001, 90, "10.0.0.1", nil))
}

func updateOf(t testing.TB, attrs []bgp.PathAttributeInterface, withdrawn []netip.Prefix, announced ...netip.Prefix) []byte {
	t.Helper()
	list := func(ps []netip.Prefix) (l []*bgp.IPAddrPrefix) {
		for _, p := range ps {
			l = append(l, bgp.NewIPAddrPrefix(uint8(p.Bits()), p.Addr().String()))
		}
		return l
	}
	return serialize(t, bgp.NewBGPUpdateMessage(list(withdrawn), attrs, list(announced)))
}

func pathAttrs(value float32, path ...uint32) []bgp.PathAttributeInterface {
	return []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)}),
		bgp.NewPathAttributeNextHop("10.0.0.1"),
		bgp.NewPathAttributeExtendedCommunities([]bgp.ExtendedCommunityInterface{bgp.NewLinkBandwidthExtended(23456, value)}),
	}
}

func fence(t testing.TB, number uint32) []byte {
	return updateOf(t, []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeNextHop("10.0.0.1"),
		bgp.NewPathAttributeCommunities([]uint32{number}),
	}, nil, fencePrefix)
}

func readOne(t *testing.T, c net.Conn) []byte {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	m, err := readMessage(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func send(t *testing.T, c net.Conn, messages ...[]byte) {
	t.Helper()
	if _, err := c.Write(bytes.Join(messages, nil)); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesPassAndAreCounted(t *testing.T) {
	w, a, b, sink := start(t)
	keepalive := serialize(t, bgp.NewBGPKeepAliveMessage())
	announce := updateOf(t, pathAttrs(1e11, 65001, 65002), nil, prefixes[0], prefixes[1])
	withdraw := updateOf(t, nil, prefixes[:1])
	endOfRIB := updateOf(t, nil, nil)
	for _, m := range [][]byte{keepalive, announce, withdraw, endOfRIB} {
		send(t, a, m)
		if got := readOne(t, b); !bytes.Equal(got, m) {
			t.Errorf("got % x, want % x", got, m)
		}
	}
	send(t, b, withdraw)
	readOne(t, a)
	want := state.Counters{Updates: 2, Announced: 2, Withdrawn: 1, EndOfRIB: 1, Keepalive: 1, Others: 1}
	if got := w.Counters(false); got != want {
		t.Errorf("from A: got %+v, want %+v", got, want)
	}
	if got, want := w.Counters(true), (state.Counters{Updates: 1, Withdrawn: 1, Others: 1}); got != want {
		t.Errorf("from B: got %+v, want %+v", got, want)
	}
	if got, want := sink.lines, []string{"5/false handed 2", "5/false handed 1", "5/true handed 1"}; !slices.Equal(got, want) {
		t.Errorf("sink: got %q, want %q", got, want)
	}
}

func TestFencesAreSwallowedInTheirPlace(t *testing.T) {
	w, a, b, sink := start(t)
	sink.want = 8
	one, two := updateOf(t, pathAttrs(1e11, 65001), nil, prefixes[0]), updateOf(t, pathAttrs(1e11, 65001), nil, prefixes[1])
	send(t, a, one, fence(t, 7), two, fence(t, 8), one)
	for _, want := range [][]byte{one, two, one} {
		if got := readOne(t, b); !bytes.Equal(got, want) {
			t.Errorf("got % x, want % x", got, want)
		}
	}
	want := []string{"5/false handed 1", "5/false fence 7", "5/false handed 1", "5/false fence 8", "5/false handed 1"}
	sink.mu.Lock()
	got := slices.Clone(sink.lines)
	sink.mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("sink: got %q, want %q", got, want)
	}
	// Fence 8 is the one that was waited for: what came before is the dump.
	var dumps []bool
	for _, n := range w.TakeLog(false, nil) {
		dumps = append(dumps, n.Dump)
	}
	if want := []bool{true, true, false}; !slices.Equal(dumps, want) {
		t.Errorf("dump: got %v, want %v", dumps, want)
	}
}

func TestTheLogHoldsWhatWasTold(t *testing.T) {
	w, a, b, _ := start(t)
	send(t, a, updateOf(t, pathAttrs(4e11, 65001, 65002), nil, prefixes[2]), updateOf(t, nil, prefixes[1:2]))
	readOne(t, b)
	readOne(t, b)
	dir := state.Direction{Bundle: 5}
	want := []state.NLRI{
		{Dir: dir, Prefix: 2, Round: 3, Dump: true, Valued: true, Value: 4e11, Path: state.HashPath([]uint32{65001, 65002})},
		{Dir: dir, Prefix: 1, Round: 3, Dump: true, Withdraw: true},
	}
	if got := w.TakeLog(false, nil); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := w.TakeLog(false, nil); len(got) != 0 {
		t.Errorf("taken twice: %+v", got)
	}
}

func TestMessagesSplitAnywhereArePutTogether(t *testing.T) {
	_, a, b, _ := start(t)
	m := updateOf(t, pathAttrs(1e11, 65001), nil, prefixes...)
	for i := range m {
		send(t, a, m[i:i+1])
	}
	if got := readOne(t, b); !bytes.Equal(got, m) {
		t.Errorf("got % x, want % x", got, m)
	}
}

func TestAnEndThatIsNotReadyIsDialledAgain(t *testing.T) {
	e := listen(t)
	tries := 0
	go func() {
		for {
			c, err := e.listeners[0].Accept()
			if err != nil {
				return
			}
			if tries++; tries < 4 {
				c.Close()
				continue
			}
			_, _ = c.Write(open(t))
		}
	}()
	w := e.wire()
	conn, first, err := w.dialEnd(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if !bytes.Equal(first, open(t)) || tries != 4 {
		t.Errorf("got % x after %d tries, want OPEN after 4", first, tries)
	}
	if got, want := w.cfg.Sink.(*log).lines, slices.Repeat([]string{"5/true dialled"}, 4); !slices.Equal(got, want) {
		t.Errorf("sink: got %q, want %q", got, want)
	}
}

func TestAnEndThatIsNeverReadyIsGivenUp(t *testing.T) {
	e := listen(t)
	go func() {
		for {
			c, err := e.listeners[0].Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, _, err := e.wire().dialEnd(context.Background(), 0)
	if err == nil || !strings.Contains(err.Error(), "before OPEN") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

// A kernel accepts for a program that does not, so a listener is enough.
func TestAnEndThatNeverSaysOPENIsGivenUpAfterTheBudget(t *testing.T) {
	e := listen(t)
	cfg := e.wire().cfg
	cfg.Budget = 20 * time.Millisecond
	_, err := Dial(context.Background(), cfg)
	if !errors.Is(err, ErrNoOpen) || !strings.Contains(err.Error(), "within 20ms") || !strings.Contains(err.Error(), e.addrs[0].String()) {
		t.Errorf("got %v, want %v with the budget and the address", err, ErrNoOpen)
	}
}

// deadlines is a connection that remembers its read deadlines.
type deadlines struct {
	net.Conn
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

func TestTheBudgetEndsWithTheOPEN(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() { _, _ = b.Write(open(t)) }()
	conn := &deadlines{Conn: a}
	w := &Wire{cfg: Config{Budget: time.Hour}}
	if got, err := w.readOpen(context.Background(), conn); err != nil || !bytes.Equal(got, open(t)) {
		t.Fatalf("got % x and %v, want OPEN", got, err)
	}
	if n := len(conn.set); n != 2 || conn.set[0].IsZero() || !conn.set[1].IsZero() {
		t.Errorf("deadlines: got %v, want one and then none", conn.set)
	}
}

func TestCancelEndsADialThatWaitsForOPEN(t *testing.T) {
	e := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c, err := e.listeners[0].Accept()
		if err == nil {
			cancel()
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	if _, _, err := e.wire().dialEnd(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestAnEndUnaskedIsReportedOnceWithItsNotification(t *testing.T) {
	_, a, _, sink := start(t)
	send(t, a, serialize(t, bgp.NewBGPNotificationMessage(6, 3, nil)))
	a.Close()
	err := <-sink.closed
	if !strings.Contains(err.Error(), "5/false") || !strings.Contains(err.Error(), "NOTIFICATION 06 03") {
		t.Errorf("got %v, want the direction and the NOTIFICATION", err)
	}
	select {
	case again := <-sink.closed:
		t.Errorf("reported again: %v", again)
	default:
	}
}

func TestACutIsNotReported(t *testing.T) {
	w, _, _, sink := start(t)
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-sink.closed:
		t.Errorf("a cut was reported as %v", err)
	default:
	}
}

func TestABadHeaderEndsTheWireByName(t *testing.T) {
	_, a, _, sink := start(t)
	bad := serialize(t, bgp.NewBGPKeepAliveMessage())
	bad[16], bad[17] = 0, 5
	send(t, a, bad)
	if err := <-sink.closed; !strings.Contains(err.Error(), "message length 5") {
		t.Errorf("got %v, want the length", err)
	}
}
