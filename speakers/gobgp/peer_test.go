package gobgp

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

const testPort = 1790

// wait bounds every wait for something that must come.
const wait = 20 * time.Second

// testPrefixes are the prefixes of all tests here.
var testPrefixes = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.16.0/20")}

// lab is a speaker with raw BGP peers around it.
type lab struct {
	t       *testing.T
	net     byte // addresses are 127.9.net.x
	speaker *Speaker
	core    *speakers.Core
	log     *eventLog
}

// eventLog is an Events that can be waited for.
type eventLog struct {
	mu     sync.Mutex
	took   int
	states map[int32]api.PeerState_SessionState
	failed []error
	change chan struct{}
}

func newEventLog() *eventLog {
	return &eventLog{states: map[int32]api.PeerState_SessionState{}, change: make(chan struct{}, 1)}
}

func (l *eventLog) note(f func()) {
	l.mu.Lock()
	f()
	l.mu.Unlock()
	select {
	case l.change <- struct{}{}:
	default:
	}
}

func (l *eventLog) Took(_ int32, nlri int) { l.note(func() { l.took += nlri }) }
func (l *eventLog) Failed(err error)       { l.note(func() { l.failed = append(l.failed, err) }) }
func (l *eventLog) PeerState(b int32, s api.PeerState_SessionState) {
	l.note(func() { l.states[b] = s })
}

// until returns when cond holds; it is called with the log locked.
func (l *eventLog) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	timeout := time.After(wait)
	for {
		l.mu.Lock()
		done := cond()
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.change:
		case <-timeout:
			t.Fatalf("still waiting for %s after %v", what, wait)
		}
	}
}

// testASN is the ASN of a lab's speaker; its peers are 65002, 65003 and so on.
const testASN = 65001

// newLab starts an edge with n peers, over the bundles 0 to n-1: spines below
// it, and bags where above names the bundle.
func newLab(t *testing.T, net byte, n int, above ...int) *lab {
	t.Helper()
	return newLabOf(t, testPrefixes, net, n, above...)
}

func newLabOf(t *testing.T, prefixes []netip.Prefix, net byte, n int, above ...int) *lab {
	t.Helper()
	l := &lab{t: t, net: net, log: newEventLog()}
	topology := &topologies.Topology{Devices: []topologies.Device{{Name: "dut", Role: topologies.Edge, ASN: testASN}}}
	for i := range n {
		name := fmt.Sprintf("peer%d", i)
		role := topologies.Spine
		if slices.Contains(above, i) {
			role = topologies.Bag
		}
		topology.Devices = append(topology.Devices, topologies.Device{Name: name, Role: role, ASN: uint32(testASN + 1 + i)})
		topology.Bundles = append(topology.Bundles, topologies.Bundle{Name: name + "--dut", A: name, B: "dut", Members: 4, Speed: 800e9})
	}
	for _, p := range prefixes {
		topology.Prefixes = append(topology.Prefixes, topologies.Prefix{Prefix: p})
	}
	cfg := speakers.ConfigOf(topology, topology.Index(), 0, damping.Pipeline{})
	l.core = speakers.New(cfg)
	opts := Options{
		Name: "dut", RouterID: l.addr(1), Listen: []netip.Addr{l.addr(1)}, Port: testPort,
		Core: l.core, Config: cfg, Prefixes: NewPrefixes(prefixes), Events: l.log,
	}
	for i, s := range cfg.Sessions {
		opts.Peers = append(opts.Peers, Peer{Bundle: s.Bundle, Local: l.addr(1), Remote: l.addr(2 + i), ASN: s.NeighborASN, Above: s.NeighborRole >= cfg.Role})
	}
	var err error
	if l.speaker, err = Start(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.speaker.Close(); err != nil {
			t.Error(err)
		}
		if len(l.log.failed) > 0 {
			t.Error(l.log.failed)
		}
	})
	return l
}

func (l *lab) addr(host int) netip.Addr { return netip.AddrFrom4([4]byte{127, 9, l.net, byte(host)}) }

// connect brings the session over a bundle up with a raw peer.
func (l *lab) connect(bundle int32) *rawPeer {
	l.t.Helper()
	if err := l.speaker.AddPeer(context.Background(), bundle); err != nil {
		l.t.Fatal(err)
	}
	l.log.until(l.t, "ACTIVE", func() bool { return l.log.states[bundle] == api.PeerState_ACTIVE })
	p := dialRaw(l.t, l.addr(2+int(bundle)), l.addr(1), uint32(testASN+1+bundle))
	l.log.until(l.t, "ESTABLISHED", func() bool { return l.log.states[bundle] == api.PeerState_ESTABLISHED })
	return p
}

func (l *lab) tell(prefix int32, path ...uint32) {
	l.t.Helper()
	if err := l.speaker.tell(context.Background(), prefix, &speakers.Told{Present: true, Valued: true, Value: 1e11, Path: path}); err != nil {
		l.t.Fatal(err)
	}
}

// took waits until n NLRI in all are queued, and returns the queue.
func (l *lab) took(n int) Frozen {
	l.t.Helper()
	l.log.until(l.t, fmt.Sprintf("%d NLRI", n), func() bool { return l.log.took == n })
	return l.speaker.Freeze()
}

// rawPeer is a BGP peer that does nothing by itself.
type rawPeer struct {
	t       *testing.T
	conn    net.Conn
	updates chan *bgp.BGPUpdate // every UPDATE that arrived
	bytes   chan []byte         // and as it was on the wire
	opens   chan []byte         // the body of every OPEN that arrived
	notices chan *bgp.BGPNotification
}

func dialRaw(t *testing.T, from, to netip.Addr, asn uint32) *rawPeer {
	t.Helper()
	p := connectRaw(t, from, to)
	p.open(from.String(), asn)
	return p
}

func connectRaw(t *testing.T, from, to netip.Addr) *rawPeer {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	conn, err := dialer.Dial("tcp", netip.AddrPortFrom(to, testPort).String())
	if err != nil {
		t.Fatal(err)
	}
	p := &rawPeer{
		t: t, conn: conn, updates: make(chan *bgp.BGPUpdate, 1000), bytes: make(chan []byte, 1000),
		opens: make(chan []byte, 10), notices: make(chan *bgp.BGPNotification, 10),
	}
	done := make(chan struct{})
	go p.read(done)
	t.Cleanup(func() { conn.Close(); <-done })
	return p
}

// open sends OPEN and agrees to the other end's.
func (p *rawPeer) open(id string, asn uint32) {
	p.t.Helper()
	p.send(bgp.NewBGPOpenMessage(bgp.AS_TRANS, 65535, id, []bgp.OptionParameterInterface{
		bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{
			bgp.NewCapFourOctetASNumber(asn), bgp.NewCapMultiProtocol(bgp.RF_IPv4_UC), bgp.NewCapMultiProtocol(bgp.RF_IPv6_UC),
		}),
	}))
	p.send(bgp.NewBGPKeepAliveMessage())
}

// notification waits for one.
func (p *rawPeer) notification() *bgp.BGPNotification {
	p.t.Helper()
	select {
	case n := <-p.notices:
		return n
	case <-time.After(wait):
		p.t.Fatalf("no NOTIFICATION after %v", wait)
		return nil
	}
}

func (p *rawPeer) read(done chan struct{}) {
	defer close(done)
	for {
		head := make([]byte, bgp.BGP_HEADER_LENGTH)
		if _, err := io.ReadFull(p.conn, head); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint16(head[16:]))-len(head))
		if _, err := io.ReadFull(p.conn, body); err != nil {
			return
		}
		if head[len(head)-1] == bgp.BGP_MSG_OPEN {
			p.opens <- body
		}
		m, err := bgp.ParseBGPMessage(append(head, body...))
		if err == nil && m.Header.Type == bgp.BGP_MSG_NOTIFICATION {
			p.notices <- m.Body.(*bgp.BGPNotification)
		}
		if err == nil && m.Header.Type == bgp.BGP_MSG_UPDATE {
			p.bytes <- body
			p.updates <- m.Body.(*bgp.BGPUpdate)
		}
	}
}

func (p *rawPeer) send(m *bgp.BGPMessage) {
	p.t.Helper()
	b, err := m.Serialize()
	if err == nil {
		_, err = p.conn.Write(b)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// announce sends one route with the extended communities given.
func (p *rawPeer) announce(prefix netip.Prefix, path []uint32, communities ...bgp.ExtendedCommunityInterface) {
	p.t.Helper()
	attrs := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)}),
	}
	if len(communities) > 0 {
		attrs = append(attrs, bgp.NewPathAttributeExtendedCommunities(communities))
	}
	nextHop := p.conn.LocalAddr().(*net.TCPAddr).IP.String()
	if prefix.Addr().Is6() {
		p.send(bgp.NewBGPUpdateMessage(nil, append(attrs, bgp.NewPathAttributeMpReachNLRI(nextHop, []bgp.AddrPrefixInterface{nlri6(prefix)})), nil))
		return
	}
	p.send(bgp.NewBGPUpdateMessage(nil, append(attrs, bgp.NewPathAttributeNextHop(nextHop)), []*bgp.IPAddrPrefix{nlri(prefix)}))
}

func (p *rawPeer) withdraw(prefix netip.Prefix) {
	p.t.Helper()
	if prefix.Addr().Is6() {
		p.send(bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{bgp.NewPathAttributeMpUnreachNLRI([]bgp.AddrPrefixInterface{nlri6(prefix)})}, nil))
		return
	}
	p.send(bgp.NewBGPUpdateMessage([]*bgp.IPAddrPrefix{nlri(prefix)}, nil, nil))
}

func nlri(p netip.Prefix) *bgp.IPAddrPrefix {
	return bgp.NewIPAddrPrefix(uint8(p.Bits()), p.Addr().String())
}

func nlri6(p netip.Prefix) *bgp.IPv6AddrPrefix {
	return bgp.NewIPv6AddrPrefix(uint8(p.Bits()), p.Addr().String())
}

// until returns what arrived before the fence with that number.
func (p *rawPeer) until(fence uint32) (list []string) {
	p.t.Helper()
	for _, u := range p.raw(fence) {
		list = append(list, describe(u)...)
	}
	return list
}

// raw is until with the messages themselves.
func (p *rawPeer) raw(fence uint32) (list []*bgp.BGPUpdate) {
	p.t.Helper()
	for {
		select {
		case u := <-p.updates:
			if slices.ContainsFunc(u.NLRI, func(n *bgp.IPAddrPrefix) bool { return n.String() == FencePrefix.String() }) {
				if slices.ContainsFunc(u.PathAttributes, func(a bgp.PathAttributeInterface) bool {
					c, ok := a.(*bgp.PathAttributeCommunities)
					return ok && c.Value[0] == fence
				}) {
					return list
				}
				continue
			}
			list = append(list, u)
		case <-time.After(wait):
			p.t.Fatalf("no fence %d after %v; until then %d UPDATEs", fence, wait, len(list))
		}
	}
}

func describe(u *bgp.BGPUpdate) (list []string) {
	var withdrawn, announced []string
	path := ""
	for _, n := range u.WithdrawnRoutes {
		withdrawn = append(withdrawn, n.String())
	}
	for _, n := range u.NLRI {
		announced = append(announced, n.String())
	}
	for _, a := range u.PathAttributes {
		switch a := a.(type) {
		case *bgp.PathAttributeAsPath:
			for _, param := range a.Value {
				path += fmt.Sprint(param.GetAS())
			}
		case *bgp.PathAttributeMpReachNLRI:
			for _, n := range a.Value {
				announced = append(announced, n.String())
			}
		case *bgp.PathAttributeMpUnreachNLRI:
			for _, n := range a.Value {
				withdrawn = append(withdrawn, n.String())
			}
		}
	}
	for _, n := range withdrawn {
		list = append(list, "-"+n)
	}
	for _, n := range announced {
		list = append(list, "+"+n+path)
	}
	return list
}

// heard fences the speaker and returns what the peer heard before it.
func (l *lab) heard(p *rawPeer, fence uint32) []string {
	l.t.Helper()
	if err := l.speaker.Fence(context.Background(), fence); err != nil {
		l.t.Fatal(err)
	}
	return p.until(fence)
}
