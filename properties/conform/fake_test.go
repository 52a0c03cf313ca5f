package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a device with faults that can be chosen: it passes routes on to all
// other sessions, with its own ASN in front.
type fake struct {
	t        *testing.T
	listener net.Listener
	asn      uint32
	faults   faults

	mu       sync.Mutex
	sessions map[string]net.Conn // by the peer's address
	routes   map[netip.Prefix]Route
	wg       sync.WaitGroup
	resets   int
}

type faults struct {
	silent  bool // takes connections and says nothing
	refuses bool // NOTIFICATION Bad Peer AS
	deaf    bool // passes nothing on
	resets  bool // by a malformed EXTENDED_COMMUNITIES
	asn     uint32
}

const fakeASN = 65077

func startFake(t *testing.T, number byte, f faults) (*fake, Device, Options) {
	t.Helper()
	addr := netip.AddrFrom4([4]byte{127, 13, number, 1})
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	d := &fake{t: t, listener: l, asn: fakeASN, faults: f, sessions: map[string]net.Conn{}, routes: map[netip.Prefix]Route{}}
	if f.asn != 0 {
		d.asn = f.asn
	}
	d.wg.Go(d.accept)
	t.Cleanup(func() {
		_ = l.Close()
		d.mu.Lock()
		for _, c := range d.sessions {
			_ = c.Close()
		}
		d.mu.Unlock()
		d.wg.Wait()
	})
	lacks := map[Facility]string{}
	for facility := range Facilities {
		if facility != Forwards {
			lacks[facility] = ""
		}
	}
	return d, Device{Name: "fake", Addr: l.Addr().(*net.TCPAddr).AddrPort(), ASN: fakeASN, Lacks: lacks},
		Options{Local: Addresses(addr.Next(), 4), Patience: 2 * time.Second, Budget: time.Second}
}

func (d *fake) accept() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.wg.Go(func() { d.serve(conn) })
	}
}

func (d *fake) serve(conn net.Conn) {
	defer conn.Close()
	name := conn.RemoteAddr().(*net.TCPAddr).IP.String()
	d.mu.Lock()
	d.sessions[name] = conn
	d.mu.Unlock()
	for {
		kind, body, _, err := readMessage(conn)
		if err != nil {
			return
		}
		switch {
		case d.faults.silent:
		case kind == typeOpen && d.faults.refuses:
			_, _ = conn.Write(message(typeNotification, []byte{2, 2}))
			return
		case kind == typeOpen:
			_, _ = conn.Write(append(openMessage(d.asn, netip.MustParseAddr("127.13.0.1"), false), message(typeKeepalive, nil)...))
		case kind == typeUpdate && d.faults.resets && malformed(body):
			d.mu.Lock()
			d.resets++
			d.mu.Unlock()
			_, _ = conn.Write(message(typeNotification, []byte{3, 5, 0xca, 0xfe}))
			return
		case kind == typeUpdate && !d.faults.deaf:
			d.pass(name, body)
		}
	}
}

// malformed tells whether an UPDATE has extended communities of a wrong length.
func malformed(body []byte) bool {
	u, err := readUpdate(body)
	return err == nil && slices.ContainsFunc(u.announced, func(r Route) bool { return r.Ext != nil && len(r.Ext)%8 != 0 })
}

func (d *fake) pass(from string, body []byte) {
	u, err := readUpdate(body)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, conn := range d.sessions {
		if name == from {
			continue
		}
		for _, p := range u.withdrawn {
			_, _ = conn.Write(withdrawMessage(p))
		}
		for _, r := range u.announced {
			attrs := attribute(flagTransitive, attrOrigin, []byte{0})
			attrs = append(attrs, attribute(flagTransitive, attrPath, pathBody(append([]uint32{d.asn}, r.Path...)))...)
			attrs = append(attrs, attribute(flagTransitive, attrNextHop, []byte{127, 13, 0, 1})...)
			if r.Ext != nil {
				attrs = append(attrs, attribute(flagOptional|flagTransitive, attrExtended, r.Ext)...)
			}
			_, _ = conn.Write(updateMessage(r.Prefix, attrs))
		}
	}
}

func chosen(t *testing.T, names ...string) []Check {
	t.Helper()
	list, err := Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestADeviceThatResetsTheSessionFailsThatCheckAndNoOther(t *testing.T) {
	d, device, opts := startFake(t, 1, faults{resets: true})
	opts.Checks = chosen(t, "t-ebgp-to-ebgp", "malformed-length-7", "t-ebgp-to-ebgp", "malformed-length-9", "withdrawal")
	r, err := Run(context.Background(), device, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := []Verdict{Passed, Failed, Passed, Failed, Passed}
	for i, result := range r.Results {
		if result.Verdict != want[i] {
			t.Errorf("%s: got %s, %q: want %s", result.Name, result.Verdict, result.Reason, want[i])
		}
		if result.Verdict == Failed && (result.Got != "reset" || !strings.Contains(result.Reason, "NOTIFICATION 3/5 UPDATE Message Error / Attribute Length Error, data ca fe")) {
			t.Errorf("%s: got %q, %q: want the notification", result.Name, result.Got, result.Reason)
		}
	}
	if d.resets != 2 {
		t.Errorf("%d sessions were reset: want 2", d.resets)
	}
}

func TestADeviceThatCannotBeTestedIsAnErrorThatSaysWhy(t *testing.T) {
	for i, tc := range []struct {
		name   string
		faults faults
		change func(*Device, *Options)
		want   []string
	}{
		{"silent", faults{silent: true}, nil, []string{"at 127.13.2.1:", "session a from 127.13.2.2 (ASN 64601)", "not up within", "connected, but no OPEN came"}},
		{"wrong ASN", faults{asn: 65078}, nil, []string{"OPEN says ASN 65078: want 65077"}},
		{"refuses the tester", faults{refuses: true}, nil, []string{"Bad Peer AS", "is this address a neighbour"}},
		{"nobody there", faults{}, func(d *Device, _ *Options) { d.Addr = netip.AddrPortFrom(d.Addr.Addr(), 1) }, []string{"127.13.5.1:1:", "connection refused"}},
		{"too few addresses", faults{}, func(_ *Device, o *Options) { o.Local = o.Local[:3] }, []string{"3 local addresses: want 4"}},
		{"a foreign address", faults{}, func(_ *Device, o *Options) { o.Local[0] = netip.MustParseAddr("203.0.113.77") }, []string{"203.0.113.77"}},
		{"a port that is taken", faults{}, func(d *Device, o *Options) {
			o.Local, o.Passive, o.Port = []netip.Addr{d.Addr.Addr(), o.Local[0], o.Local[1], o.Local[2]}, true, d.Addr.Port()
		}, []string{"session a: listen tcp 127.13.8.1:", "address already in use"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, device, opts := startFake(t, byte(2+i), tc.faults)
			opts.Patience = time.Second
			if tc.change != nil {
				tc.change(&device, &opts)
			}
			_, err := Run(context.Background(), device, opts)
			if !errors.Is(err, ErrEnvironment) {
				t.Fatalf("got %v: want ErrEnvironment", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v: want %q in it", err, want)
				}
			}
		})
	}
}

// Silence is no proof: a device that passes nothing on, markers neither, is in
// error, and does not pass the checks that want something not told.
func TestWithoutTheMarkerNothingIsJudged(t *testing.T) {
	_, device, opts := startFake(t, 20, faults{deaf: true})
	opts.Budget = 100 * time.Millisecond
	opts.Checks = chosen(t, "withdrawal", "nt-ebgp-to-ebgp")
	r, err := Run(context.Background(), device, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range r.Results {
		if result.Verdict != Errored || !strings.Contains(result.Reason, "marker") {
			t.Errorf("%s: got %s, %q: want an error about the marker", result.Name, result.Verdict, result.Reason)
		}
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	_, device, opts := startFake(t, 21, faults{})
	ctx, cancel := context.WithCancel(context.Background())
	opts.Progress = func(done, _ int) {
		if done == 2 {
			cancel()
		}
	}
	if _, err := Run(ctx, device, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v: want that the context ended", err)
	}
}

// The device dials: it is taken from each peer's own address.
func TestADeviceThatDialsIsTested(t *testing.T) {
	d, device, opts := startFake(t, 22, faults{})
	opts.Passive, opts.Port = true, freePort(t, opts.Local[0])
	opts.Checks = chosen(t, "t-ebgp-to-ebgp", "session-loss")
	stop := make(chan struct{})
	for _, addr := range opts.Local {
		d.wg.Go(func() { d.dial(addr, opts.Port, stop) })
	}
	r, err := Run(context.Background(), device, opts)
	close(stop)
	if err != nil {
		t.Fatal(err)
	}
	if result := r.Results[0]; result.Verdict != Passed || result.Got != wordKept {
		t.Errorf("got %s, %q, %q", result.Verdict, result.Got, result.Reason)
	}
}

// freePort is a port of an address that nothing listens on.
func freePort(t *testing.T, addr netip.Addr) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

// dial keeps a session to a peer up.
func (d *fake) dial(peer netip.Addr, port uint16, stop chan struct{}) {
	for {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: d.listener.Addr().(*net.TCPAddr).IP}}
		if conn, err := dialer.Dial("tcp", netip.AddrPortFrom(peer, port).String()); err == nil {
			d.serve(conn)
		}
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestUpdatesReadBackAsTheyWereWritten(t *testing.T) {
	p, six := netip.MustParsePrefix("100.64.7.0/24"), netip.MustParsePrefix("fd00:0:0:64::/64")
	tr := &trial{}
	peer := Peer{Addr: netip.MustParseAddr("10.0.0.1"), NextHop6: netip.MustParseAddr("fd00::1"), ASN: 4200000001}
	for _, tc := range []struct {
		prefix netip.Prefix
		hop    netip.Addr
	}{{p, peer.Addr}, {six, peer.NextHop6}} {
		b := updateMessage(tc.prefix, tr.attributes(peer, offer{prefix: tc.prefix, path: []uint32{7}, ext: [][]byte{transitive(speed)}}))
		u, err := readUpdate(b[headLength:])
		if err != nil || len(u.announced) != 1 {
			t.Fatalf("%v: got %+v, %v", tc.prefix, u, err)
		}
		r := u.announced[0]
		if r.Prefix != tc.prefix || r.NextHop != tc.hop || !slices.Equal(r.Path, []uint32{4200000001, 7}) || string(r.Ext) != string(transitive(speed)) {
			t.Errorf("got %+v", r)
		}
		u, err = readUpdate(withdrawMessage(tc.prefix)[headLength:])
		if err != nil || len(u.withdrawn) != 1 || u.withdrawn[0] != tc.prefix {
			t.Errorf("withdrawal of %v: got %+v, %v", tc.prefix, u, err)
		}
	}
	if u, err := readUpdate([]byte{0, 0, 0, 0}); err != nil || !u.end4 {
		t.Errorf("End-of-RIB: got %+v, %v", u, err)
	}
}

// A device may send anything: it is read or refused.
func FuzzRead(f *testing.F) {
	f.Add(updateMessage(netip.MustParsePrefix("100.64.7.0/24"), attribute(flagTransitive, attrPath, pathBody([]uint32{1, 2})))[headLength:])
	f.Add(withdrawMessage(netip.MustParsePrefix("fd00::/64"))[headLength:])
	f.Add(openMessage(4200000001, netip.MustParseAddr("10.0.0.1"), true)[headLength:])
	f.Add(binary.BigEndian.AppendUint16(nil, 0xffff))
	f.Fuzz(func(t *testing.T, b []byte) {
		if u, err := readUpdate(b); err == nil {
			for i := range u.announced {
				if !u.announced[i].Prefix.IsValid() {
					t.Errorf("announced an invalid prefix: %+v", u.announced[i])
				}
				_ = u.announced[i].describe()
			}
		}
		_, _ = readOpen(b)
		_ = readNotification(b).String()
	})
}
