package gobgp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/speakers"
)

// Findings in GoBGP that no other test here needs on its way. docs/found.md names
// the test of each; one that fails says that GoBGP has changed.

// connectAs is connect with a neighbour that is configured otherwise.
func (l *lab) connectAs(bundle int32, change func(*api.Peer)) *rawPeer {
	l.t.Helper()
	p, err := l.speaker.peer(bundle)
	if err != nil {
		l.t.Fatal(err)
	}
	peer := &api.Peer{
		Conf:         &api.PeerConf{NeighborAddress: p.Remote.String(), PeerAsn: p.ASN, AllowOwnAsn: 255},
		Transport:    &api.Transport{LocalAddress: p.Local.String(), RemotePort: testPort, PassiveMode: true},
		Timers:       &api.Timers{Config: &api.TimersConfig{HoldTime: math.MaxUint16, KeepaliveInterval: math.MaxUint16 / 3}},
		EbgpMultihop: &api.EbgpMultihop{Enabled: true, MultihopTtl: 64},
	}
	change(peer)
	if err := l.speaker.manage(func() error {
		return l.speaker.server.AddPeer(context.Background(), &api.AddPeerRequest{Peer: peer})
	}); err != nil {
		l.t.Fatal(err)
	}
	l.speaker.known++
	l.log.until(l.t, "ACTIVE", func() bool { return l.log.states[bundle] == api.PeerState_ACTIVE })
	raw := dialRaw(l.t, p.Remote, p.Local, p.ASN)
	l.log.until(l.t, "ESTABLISHED", func() bool { return l.log.states[bundle] == api.PeerState_ESTABLISHED })
	return raw
}

// By RFC 4271 section 9.1 a new route to a prefix from the same peer replaces the old
// one, whether it can be used or not. GoBGP drops it and goes on with the old one.
func TestFindingAReceiverKeepsTheRouteThatALoopedOneReplaces(t *testing.T) {
	l := newLab(t, 50, 1)
	l.openImport()
	b := l.connectAs(0, func(p *api.Peer) { p.Conf.AllowOwnAsn = 0 })
	b.announce(testPrefixes[0], []uint32{65002, 65009})
	b.announce(testPrefixes[0], []uint32{65002, testASN, 65009})
	b.announce(testPrefixes[1], []uint32{65002}) // the session is a queue, so this comes last
	l.took(2)
	best, all := l.leading()
	if got := best[testPrefixes[0].String()]; !slices.Equal(got, []int32{0}) {
		t.Errorf("after a looped replacement GoBGP has the best paths %v of %v: the finding is out of date", got, all)
	}
}

// The API's field is a uint32, and what is kept of it 8 bits.
func TestFindingAllowOwnASNIsCutTo8Bits(t *testing.T) {
	l := newLab(t, 51, 1)
	l.connectAs(0, func(p *api.Peer) { p.Conf.AllowOwnAsn = 256 })
	var kept []uint32
	if err := l.speaker.manage(func() error {
		return l.speaker.server.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) { kept = append(kept, p.Conf.AllowOwnAsn) })
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept, []uint32{0}) {
		t.Errorf("of 256 GoBGP kept %v: the finding is out of date", kept)
	}
}

// RFC 4271 section 4.2 allows 0, for a session without KEEPALIVEs.
func TestFindingHoldTime0Becomes90(t *testing.T) {
	l := newLab(t, 52, 1)
	b := l.connectAs(0, func(p *api.Peer) { p.Timers = nil })
	if got := binary.BigEndian.Uint16((<-b.opens)[3:5]); got != 90 {
		t.Errorf("GoBGP asks for a hold time of %d: the finding is out of date", got)
	}
}

// The two communities of RFC 10005 section 3.1 differ in one bit of the type, which GoBGP
// does not keep.
func TestFindingBothTransitivitiesOfLinkBandwidthBecomeOne(t *testing.T) {
	for _, kind := range []byte{0x00, 0x40} {
		c, err := bgp.ParseExtended([]byte{kind, 0x04, 0xfd, 0xe9, 0x51, 0xba, 0x43, 0xb7})
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Serialize()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.(*bgp.LinkBandwidthExtended); !ok || again[0] != 0x40 {
			t.Errorf("type %#02x is read as %T and written as %#02x: the finding is out of date", kind, c, again[0])
		}
	}
}

// A value that no bandwidth can be passes through GoBGP as it is.
func TestFindingNoValueOfLinkBandwidthIsRefused(t *testing.T) {
	for _, v := range []float32{-1, float32(math.NaN()), float32(math.Inf(1))} {
		data := append([]byte{0x40, 0x04, 0xfd, 0xe9}, binary.BigEndian.AppendUint32(nil, math.Float32bits(v))...)
		c, err := bgp.ParseExtended(data)
		if err != nil {
			t.Errorf("GoBGP refuses %v: %v: the finding is out of date", v, err)
			continue
		}
		if again, err := c.Serialize(); err != nil || !slices.Equal(again, data) {
			t.Errorf("%v is written as % x (%v), read from % x: the finding is out of date", v, again, err, data)
		}
	}
}

// A policy that removes one route target takes every non-transitive community away.
func TestFindingRemovingOneCommunityRemovesLinkBandwidth(t *testing.T) {
	l := newLab(t, 53, 1)
	ctx, s := context.Background(), l.speaker
	if err := s.manage(func() error {
		return s.server.AddPolicy(ctx, &api.AddPolicyRequest{Policy: &api.Policy{Name: "strip", Statements: []*api.Statement{{
			Name:    "strip",
			Actions: &api.Actions{RouteAction: api.RouteAction_ACCEPT, ExtCommunity: &api.CommunityAction{Type: api.CommunityAction_REMOVE, Communities: []string{"rt:65009:1"}}},
		}}}})
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.manage(func() error {
		return s.server.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: api.PolicyDirection_IMPORT, Policies: []*api.Policy{{Name: "strip"}}, DefaultAction: api.RouteAction_ACCEPT,
		}})
	}); err != nil {
		t.Fatal(err)
	}
	l.connect(0).announce(testPrefixes[0], []uint32{65002}, bgp.NewLinkBandwidthExtended(65002, 1e11))
	l.took(1)
	var kept []string
	if err := s.manage(func() error {
		return s.server.ListPath(ctx, &api.ListPathRequest{TableType: api.TableType_GLOBAL, Family: ipv4}, func(d *api.Destination) {
			for _, p := range d.Paths {
				for _, a := range p.Pattrs {
					m, err := a.UnmarshalNew()
					if err != nil {
						t.Error(err)
					}
					if c, ok := m.(*api.ExtendedCommunitiesAttribute); ok && len(c.Communities) > 0 {
						kept = append(kept, fmt.Sprint(c.Communities))
					}
				}
			}
			kept = append(kept, d.Prefix)
		})
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept, []string{testPrefixes[0].String()}) {
		t.Errorf("GoBGP holds %q: want the prefix without any extended community, or the finding is out of date", kept)
	}
}

// By RFC 4271 section 9.1.3 a route that no longer goes to a neighbour must be withdrawn
// from it. GoBGP says nothing where the next best path, which loops, would not go there
// either.
func TestFindingAWithdrawalIsSilentWhileALearnedPathLoops(t *testing.T) {
	l := newLab(t, 54, 2)
	ctx, s := context.Background(), l.speaker
	if err := s.manage(func() error {
		return s.server.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{
			Assignment: &api.PolicyAssignment{Name: "global", Direction: api.PolicyDirection_IMPORT, DefaultAction: api.RouteAction_ACCEPT},
		})
	}); err != nil {
		t.Fatal(err)
	}
	b, c := l.connect(0), l.connect(1)
	c.announce(testPrefixes[0], []uint32{65003, 65002})
	l.took(1)
	told := speakers.Told{Present: true, Path: []uint32{65009}}
	if err := s.addPath(ctx, 0, &told); err != nil {
		t.Fatal(err)
	}
	path := &api.Path{Family: ipv4, NlriBinary: s.opts.Prefixes.wire[0], PattrsBinary: attributes(testASN, &told, nil)}
	if err := s.manage(func() error { return s.server.DeletePath(ctx, &api.DeletePathRequest{Path: path}) }); err != nil {
		t.Fatal(err)
	}
	expect(t, "peer 65002", l.heard(b, 1), []string{"+10.0.0.0/24[65001 65009]"})
}
