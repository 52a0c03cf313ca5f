package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/harness/state"
)

// openOf is an OPEN with the capability of four-octet AS numbers.
func openOf(t testing.TB, asn uint32) []byte {
	t.Helper()
	as := uint16(bgp.AS_TRANS)
	if asn < 1<<16 {
		as = uint16(asn)
	}
	return serialize(t, bgp.NewBGPOpenMessage(as, 90, "10.0.0.9", []bgp.OptionParameterInterface{
		bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{bgp.NewCapFourOctetASNumber(asn)}),
	}))
}

// far is the config of a wire whose B end is far and what answers a connection there.
func far(t *testing.T, wait time.Duration, answer func(n int, c net.Conn)) (Config, *log) {
	t.Helper()
	e := listen(t)
	go func() {
		for {
			c, err := e.listeners[0].Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(open(t))
			t.Cleanup(func() { c.Close() })
		}
	}()
	go func() {
		for n := 0; ; n++ {
			c, err := e.listeners[1].Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			answer(n, c)
		}
	}()
	sink, record := &log{closed: make(chan error, 2)}, &atomic.Bool{}
	record.Store(true)
	return Config{
		Bundle: 5, A: e.addrs[0], B: netip.MustParseAddr("127.8.0.7"), Port: e.port, Fence: fencePrefix, Index: index, Record: record, Sink: sink,
		Far: [2]*Far{nil, {
			Name: "x", Local: netip.MustParseAddrPort("127.8.0.3:0"), Address: netip.AddrPortFrom(e.addrs[1], uint16(e.port)), ASN: 4200000001, Wait: wait,
		}},
	}, sink
}

func TestAFarEndThatIsNotAsItShouldIsAnErrorThatSaysHow(t *testing.T) {
	notice := serialize(t, bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_BAD_PEER_AS, nil))
	busy := serialize(t, bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_CONNECTION_REJECTED, nil))
	say := func(m []byte) func(int, net.Conn) {
		return func(_ int, c net.Conn) { _, _ = c.Write(m) }
	}
	for _, c := range []struct {
		name   string
		wait   time.Duration
		answer func(int, net.Conn)
		want   string
	}{
		{"another AS", time.Minute, say(openOf(t, 65099)), "its OPEN says AS 65099: want 4200000001"},
		{"no four-octet AS", time.Minute, say(serialize(t, bgp.NewBGPOpenMessage(bgp.AS_TRANS, 90, "10.0.0.9", nil))), "its OPEN says AS 23456: want 4200000001"},
		{"refused for good", time.Minute, say(notice), "it refuses the session: NOTIFICATION 02 02"},
		{"refused for now", 250 * time.Millisecond, say(busy), "not within 250ms: it refuses the session: NOTIFICATION 06 05"},
		{"refused after its OPEN", 250 * time.Millisecond, say(slices.Concat(openOf(t, 4200000001), busy)), "not within 250ms: it refuses the session: NOTIFICATION 06 05"},
		{"refused for good after its OPEN", time.Minute, say(slices.Concat(openOf(t, 4200000001), notice)), "it refuses the session: NOTIFICATION 02 02"},
		{"no KEEPALIVE", 100 * time.Millisecond, say(openOf(t, 4200000001)), "it accepts the connection and sends no KEEPALIVE"},
		{"not BGP", time.Minute, say([]byte("SSH-2.0-OpenSSH_9.2p1 Debian")), "what it sends is no BGP message"},
		{"silent", 100 * time.Millisecond, func(int, net.Conn) {}, "not within 100ms: it does not answer: it accepts the connection and sends no OPEN"},
		{"closes", 250 * time.Millisecond, func(_ int, c net.Conn) { c.Close() }, "as a device does that has no neighbour at 127.8.0.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _ := far(t, c.wait, c.answer)
			_, err := Dial(context.Background(), cfg)
			if !errors.Is(err, ErrFar) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `device "x" at 127.8.0.2`) {
				t.Errorf("got %v, want %v with the device and %q", err, ErrFar, c.want)
			}
		})
	}
}

func TestAFarEndMustTakeFourOctetASNumbers(t *testing.T) {
	f := Far{ASN: 65001}
	if err := f.check(open(t)); err == nil || !strings.Contains(err.Error(), "RFC 6793") {
		t.Errorf("got %v, want the RFC of what is missing", err)
	}
	if err := f.check(openOf(t, 65001)); err != nil {
		t.Error(err)
	}
}

func TestAFarEndThatCannotBeReachedIsAnErrorThatSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name string
		from string
		want string
	}{
		{"nobody listens", "127.8.0.3:0", "not within 150ms: dial tcp 127.8.0.3:0->127.8.0.99"},
		{"an address of another host", "192.0.2.77:0", "192.0.2.77 is no address of this host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _ := far(t, 150*time.Millisecond, nil)
			cfg.Far[1].Local = netip.MustParseAddrPort(c.from)
			cfg.Far[1].Address = netip.AddrPortFrom(netip.MustParseAddr("127.8.0.99"), cfg.Far[1].Address.Port())
			_, err := Dial(context.Background(), cfg)
			if !errors.Is(err, ErrFar) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestADialToAFarEndEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg, _ := far(t, time.Minute, func(int, net.Conn) { cancel() })
	if _, err := Dial(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestAFarEndGetsItsNeighboursOPENOnceAndTellsInItsTurn(t *testing.T) {
	nears := make(chan net.Conn, 1)
	fars := make(chan net.Conn, 1)
	e := listen(t)
	go func() {
		c, err := e.listeners[0].Accept()
		if err == nil {
			_, _ = c.Write(open(t))
			nears <- c
		}
	}()
	go func() {
		for n := 0; ; n++ {
			c, err := e.listeners[1].Accept()
			if err != nil {
				return
			}
			if n < 2 { // it is not ready yet
				c.Close()
				continue
			}
			_, _ = c.Write(openOf(t, 4200000001))
			if n < 3 { // and has not forgotten the old session
				_, _ = c.Write(serialize(t, bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_CONNECTION_COLLISION_RESOLUTION, nil)))
				c.Close()
				continue
			}
			_, _ = c.Write(serialize(t, bgp.NewBGPKeepAliveMessage()))
			fars <- c
			return
		}
	}()
	sink, record := &log{closed: make(chan error, 2)}, &atomic.Bool{}
	record.Store(true)
	var tapped []string
	w, err := Dial(context.Background(), Config{
		Bundle: 5, A: e.addrs[0], B: netip.MustParseAddr("127.8.0.7"), Port: e.port, Fence: fencePrefix, Index: index, Record: record, Sink: sink,
		Far: [2]*Far{nil, {Name: "x", Local: netip.MustParseAddrPort("127.8.0.3:0"), Address: netip.AddrPortFrom(e.addrs[1], uint16(e.port)), ASN: 4200000001, Wait: 10 * time.Second}},
		Tap: func(dir state.Direction, m []byte) {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			tapped = append(tapped, fmt.Sprintf("%v type %d", dir, m[headerLen-1]))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	near, far := <-nears, <-fars
	t.Cleanup(func() {
		if err := w.Cut(); err != nil {
			t.Error(err)
		}
		near.Close()
		far.Close()
	})
	if got := far.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.8.0.3" {
		t.Errorf("the far end sees its neighbour at %s, want 127.8.0.3", got)
	}
	if got := near.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.8.0.7" {
		t.Errorf("the near end sees its neighbour at %s, want 127.8.0.7", got)
	}
	if got := readOne(t, far); !bytes.Equal(got, open(t)) {
		t.Errorf("the far end got % x, want its neighbour's OPEN", got)
	}
	if got := readOne(t, near); !bytes.Equal(got, openOf(t, 4200000001)) {
		t.Errorf("the near end got % x, want the far one's OPEN", got)
	}
	if got, want := readOne(t, near), serialize(t, bgp.NewBGPKeepAliveMessage()); !bytes.Equal(got, want) {
		t.Errorf("the near end got % x, want the far one's KEEPALIVE", got)
	}
	toFar := updateOf(t, pathAttrs(1e11, 65001), nil, prefixes[0])
	send(t, near, fence(t, 7), toFar)
	if got := readOne(t, far); !bytes.Equal(got, toFar) {
		t.Errorf("the far end got % x, want % x and no fence", got, toFar)
	}
	// What the far end tells waits; what is no UPDATE does not.
	told := updateOf(t, pathAttrs(4e11, 4200000001, 65002), nil, prefixes[1], prefixes[2])
	keepalive := serialize(t, bgp.NewBGPKeepAliveMessage())
	send(t, far, told, keepalive)
	if got := readOne(t, near); !bytes.Equal(got, keepalive) {
		t.Errorf("the near end got % x, want the KEEPALIVE that came behind", got)
	}
	if _, ok := w.Telling(true, 1); ok || !w.Waits(true) {
		t.Error("what waits counts as told")
	}
	flush(t, w, true)
	if got := readOne(t, near); !bytes.Equal(got, told) {
		t.Errorf("the near end got % x, want % x", got, told)
	}
	flush(t, w, false)
	u, err := parseUpdate(told[headerLen:])
	if err != nil {
		t.Fatal(err)
	}
	got, ok := w.Telling(true, 2)
	if want := []uint32{4200000001, 65002}; !ok || !slices.Equal(got.Path, want) || got.Value != 4e11 || !bytes.Equal(got.Attributes, u.attrs) || got.Bundle != 5 {
		t.Errorf("telling: got %+v, want path %v and the attributes as they came", got, want)
	}
	send(t, far, updateOf(t, nil, prefixes[2:]), keepalive)
	readOne(t, near)
	flush(t, w, true)
	if _, ok := w.Telling(true, 2); ok {
		t.Error("withdrawn, and still told")
	}
	sink.mu.Lock()
	defer sink.mu.Unlock()
	slices.Sort(tapped)
	if want := []string{"5/false type 1", "5/false type 2", "5/true type 1", "5/true type 2", "5/true type 2", "5/true type 4", "5/true type 4", "5/true type 4"}; !slices.Equal(tapped, want) {
		t.Errorf("tapped: got %q, want %q", tapped, want)
	}
}

func flush(t *testing.T, w *Wire, want bool) {
	t.Helper()
	if any, err := w.Flush(true); err != nil || any != want {
		t.Errorf("flush: got %v and %v, want %v", any, err, want)
	}
}

// The speakers of the process know no other prefixes, so that what a far end tells of
// them could not be counted.
func TestAFarEndMayTellOfTheTopologysPrefixesOnly(t *testing.T) {
	w := &Wire{cfg: Config{Index: index}}
	d := &direction{tells: map[int32]state.Telling{}}
	u, err := parseUpdate(updateOf(t, pathAttrs(1e11, 65001), nil, prefixes[0], netip.MustParsePrefix("203.0.113.0/24"))[headerLen:])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.keep(d, u); err == nil || !strings.Contains(err.Error(), "203.0.113.0/24: the topology has no such prefix") {
		t.Errorf("got %v, want the prefix named", err)
	}
}
