package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/harness/wire"
	"github.com/bagrig/bagrig/speakers/gobgp"
	"github.com/bagrig/bagrig/topologies"
)

// outside is where the external device of these tests is.
var outside = netip.MustParseAddr("127.9.1.1")

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", netip.AddrPortFrom(outside, 0).String())
	must(t, err)
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// withExternal makes a device of the small topology external, and gives its sessions.
func withExternal(t *testing.T, device string, x state.External) (func(*Options), []state.ExternalSession) {
	t.Helper()
	topology, list, err := state.PlaceExternal(small(t), map[string]state.External{device: x})
	must(t, err)
	d := topology.Index().Device[device]
	sessions, err := x.Sessions(topology, topology.Index(), d)
	must(t, err)
	settings := topologies.DefaultSettings()
	settings.Transitivity = topologies.BothTransitive
	return func(o *Options) {
		o.Topology, o.External = topology, list
		o.Settings = slices.Repeat([]topologies.Settings{settings}, len(topology.Devices))
	}, sessions
}

// startPlain starts GoBGP in the place of an external device; asn gives the ASN that it
// expects of each neighbour.
func startPlain(t *testing.T, x state.External, own uint32, sessions []state.ExternalSession, change func(*gobgp.PlainNeighbor)) {
	t.Helper()
	opts := gobgp.PlainOptions{ASN: own, RouterID: x.Address, Listen: x.Address, Port: int(x.Port)}
	for _, s := range sessions {
		n := gobgp.PlainNeighbor{Address: s.Local, ASN: s.NeighborASN}
		change(&n)
		opts.Neighbors = append(opts.Neighbors, n)
	}
	p, err := gobgp.StartPlain(context.Background(), opts)
	must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func same(*gobgp.PlainNeighbor) {}

func TestAnExternalDeviceIsKnownByWhatItTells(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 400 * time.Millisecond, Wait: 10 * time.Second}
	change, sessions := withExternal(t, "r1-bag1", x)
	startPlain(t, x, sessions[0].ASN, sessions, same)
	e := newEngine(t, change)
	bring(t, e)
	s := e.Snapshot()
	d := &s.Devices[e.index.Device["r1-bag1"]]
	tells := 0
	for p, list := range d.Tells {
		for _, told := range list {
			tells++
			ends := e.index.Ends[told.Bundle]
			neighbour := &s.Devices[e.otherEnd(told.Bundle, e.index.Device["r1-bag1"])].Routes[p]
			i := slices.IndexFunc(neighbour.Candidates, func(c state.Candidate) bool { return c.Bundle == told.Bundle })
			if i < 0 || !slices.Equal(neighbour.Candidates[i].Path, told.Path) || neighbour.Candidates[i].Value != told.Value {
				t.Errorf("prefix %d, ends %v: told %+v, the neighbour has %+v", p, ends, told, neighbour.Candidates)
			}
			// 40 04 is the non-transitive form: GoBGP makes both of them so.
			if n := strings.Count(fmt.Sprintf("%x", told.Attributes), "4004"+"5ba0"); n != 2 {
				t.Errorf("prefix %d: %d non-transitive communities in % x, want 2", p, n, told.Attributes)
			}
		}
	}
	if tells == 0 || !d.External {
		t.Errorf("%d tellings of an external device (%v)", tells, d.External)
	}
	started := time.Now()
	must(t, e.Quiet(context.Background()))
	if took := time.Since(started); took > x.Silence/2 {
		t.Errorf("quiet took %v where nothing had been told since: want no silence", took)
	}
}

func TestAnExternalDeviceMayDial(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 50 * time.Millisecond, Wait: 30 * time.Second, Passive: true}
	change, sessions := withExternal(t, "r1-bag1", x)
	own := x
	own.Port = freePort(t)
	startPlain(t, own, sessions[0].ASN, sessions, func(n *gobgp.PlainNeighbor) { n.Port = int(x.Port) })
	e := newEngine(t, change)
	bring(t, e)
	for _, b := range e.Snapshot().Bundles {
		if !b.Up {
			t.Error("a session is not up")
		}
	}
}

func TestWhereADeviceDialsItsNeighboursAddressesMustBeFree(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Passive: true}
	change, sessions := withExternal(t, "r1-bag1", x)
	l, err := net.Listen("tcp4", netip.AddrPortFrom(sessions[1].Local, x.Port).String())
	must(t, err)
	defer l.Close()
	opts := Options{Topology: small(t)}
	change(&opts)
	_, err = New(opts)
	for _, want := range []string{`external device "r1-bag1"`, sessions[1].Local.String(), "address already in use"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestExternalDevicesThatDoNotComeUpAreErrorsByName(t *testing.T) {
	for _, c := range []struct {
		name  string
		own   uint32 // 0 = as the topology says; 1 = nobody is there
		peers func(*gobgp.PlainNeighbor)
		want  string
	}{
		{"nobody there", 1, nil, "connection refused"},
		{"another AS", 65099, same, "its OPEN says AS 65099"},
		{"expects another AS", 0, func(n *gobgp.PlainNeighbor) { n.ASN = 65098 }, "NOTIFICATION 02 02"},
		{"does not know its neighbours", 0, func(n *gobgp.PlainNeighbor) { n.Address = n.Address.Next().Next().Next().Next() }, "closes the connection before its OPEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := state.External{Address: outside, Port: freePort(t), Wait: 300 * time.Millisecond}
			change, sessions := withExternal(t, "r1-bag1", x)
			if c.own != 1 {
				own := c.own
				if own == 0 {
					own = sessions[0].ASN
				}
				startPlain(t, x, own, sessions, c.peers)
			}
			e := newEngine(t, change)
			err := e.Start(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r1-bag1") {
				t.Errorf("got %v, want the device and %q", err, c.want)
			}
			if !errors.Is(err, wire.ErrFar) && !errors.Is(err, ErrSessionDied) {
				t.Errorf("got %v, want %v or %v", err, wire.ErrFar, ErrSessionDied)
			}
		})
	}
}

// dialled keeps the connections that are made to external devices.
type dialled struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (d *dialled) dial(ctx context.Context, from, to netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
	conn, err := dialer.DialContext(ctx, "tcp", to.String())
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.conns = append(d.conns, conn)
	}
	return conn, err
}

func TestASessionThatAnExternalDeviceEndsIsAnErrorByItsName(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 50 * time.Millisecond, Wait: 10 * time.Second}
	change, sessions := withExternal(t, "r1-bag1", x)
	startPlain(t, x, sessions[0].ASN, sessions, same)
	var d dialled
	e := newEngine(t, func(o *Options) {
		change(o)
		o.Outside.Dial = d.dial
	})
	bring(t, e)
	if len(d.conns) != len(sessions) {
		t.Fatalf("%d connections were made by the dialler that was given, want %d", len(d.conns), len(sessions))
	}
	must(t, d.conns[0].(*net.TCPConn).SetLinger(0))
	must(t, d.conns[0].Close()) // what the device's end of it would do
	err := e.Apply(context.Background(), []state.Change{{Bundle: 0, Members: 3}})
	for err == nil { // the relay may not have seen it yet
		err = e.Quiet(context.Background())
	}
	if !errors.Is(err, ErrSessionDied) || !strings.Contains(err.Error(), "r1-bag1") {
		t.Errorf("got %v, want %v of the device", err, ErrSessionDied)
	}
}

// chatter is a device that tells a prefix again and again.
func chatter(t *testing.T, x state.External, asn uint32, prefix netip.Prefix) {
	t.Helper()
	l, err := net.Listen("tcp4", netip.AddrPortFrom(x.Address, x.Port).String())
	must(t, err)
	update := func(i int) []byte {
		m, err := bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{
			bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeNextHop(x.Address.String()), bgp.NewPathAttributeMultiExitDisc(uint32(i)),
			bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{asn})}),
		}, []*bgp.IPAddrPrefix{bgp.NewIPAddrPrefix(uint8(prefix.Bits()), prefix.Addr().String())}).Serialize()
		must(t, err)
		return m
	}
	open, err := bgp.NewBGPOpenMessage(bgp.AS_TRANS, 90, "10.0.0.9", []bgp.OptionParameterInterface{
		bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{bgp.NewCapFourOctetASNumber(asn), bgp.NewCapMultiProtocol(bgp.RF_IPv4_UC)}),
	}).Serialize()
	must(t, err)
	keepalive, err := bgp.NewBGPKeepAliveMessage().Serialize()
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				pace := time.NewTicker(time.Millisecond)
				defer pace.Stop()
				_, err := c.Write(slices.Concat(open, keepalive))
				for i := 0; err == nil; i++ {
					if i < 2 { // the OPEN and a KEEPALIVE
						head := make([]byte, 19)
						if _, err = io.ReadFull(c, head); err == nil {
							_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint16(head[16:])-19))
						}
						continue
					}
					<-pace.C // so that it is no flood
					_, err = c.Write(update(i))
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
}

func TestAnExternalDeviceThatIsNeverSilentIsNoConvergence(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 100 * time.Millisecond, Wait: 10 * time.Second}
	change, sessions := withExternal(t, "r1-bag1", x)
	chatter(t, x, sessions[0].ASN, small(t).Prefixes[0].Prefix)
	e := newEngine(t, func(o *Options) {
		change(o)
		o.Budget = time.Second
	})
	err := e.Start(context.Background())
	if err == nil {
		must(t, e.Originate())
		err = e.Quiet(context.Background())
	}
	if !errors.Is(err, ErrNoConvergence) || !strings.Contains(err.Error(), `external device "r1-bag1" was not silent for 100ms in 1s`) {
		t.Errorf("got %v, want %v of the device", err, ErrNoConvergence)
	}
}

// A device that answers each of two neighbours because of the other would go on for ever.
func TestAnExternalDeviceThatAlwaysAnswersIsNoConvergence(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 300 * time.Millisecond, Wait: 10 * time.Second}
	change, sessions := withExternal(t, "r1-bag1", x)
	startPlain(t, x, sessions[0].ASN, sessions, same)
	e := newEngine(t, change)
	must(t, e.Start(context.Background()))
	must(t, e.Originate())
	e.foreign.most = 1 // it is told, and tells, in more rounds than that at any bring-up
	err := e.Quiet(context.Background())
	if !errors.Is(err, ErrNoConvergence) || !strings.Contains(err.Error(), `external device "r1-bag1" has told something in 1 rounds`) {
		t.Errorf("got %v, want %v of the device", err, ErrNoConvergence)
	}
}

func TestChangesOfTheInsideOfAnExternalDeviceAreRefused(t *testing.T) {
	x := state.External{Address: outside, Port: freePort(t), Silence: 50 * time.Millisecond, Wait: 10 * time.Second}
	change, sessions := withExternal(t, "r1-bag1", x)
	startPlain(t, x, sessions[0].ASN, sessions, same)
	e := newEngine(t, change)
	bring(t, e)
	for _, kind := range []state.ChangeKind{state.SetKnob, state.SetDrain, state.Stop, state.StartAgain} {
		err := e.Apply(context.Background(), []state.Change{{Kind: kind, Device: int32(e.index.Device["r1-bag1"])}})
		if err == nil || !strings.Contains(err.Error(), "external") {
			t.Errorf("%v: got %v, want a refusal", kind, err)
		}
	}
}
