package gobgp

import (
	"context"
	"strings"
	"testing"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
)

// away ends the session over bundle 0 and makes the peer known again, so that
// it can come back.
func (l *lab) away(p *rawPeer) {
	l.t.Helper()
	p.conn.Close()
	l.log.until(l.t, "the fall", func() bool { return l.log.states[0] == api.PeerState_IDLE })
	ctx := context.Background()
	if err := l.speaker.DeletePeer(ctx, 0); err != nil {
		l.t.Fatal(err)
	}
	if err := l.speaker.AddPeer(ctx, 0); err != nil {
		l.t.Fatal(err)
	}
	l.log.until(l.t, "ACTIVE", func() bool { return l.log.states[0] == api.PeerState_ACTIVE })
}

// comeBack dials with a router id and an ASN of the test's choice.
func (l *lab) comeBack(id string, asn uint32) *rawPeer {
	l.t.Helper()
	p := connectRaw(l.t, l.addr(2), l.addr(1))
	p.open(id, asn)
	return p
}

func TestANeighbourThatReturnsWithAnotherRouterIDIsRefusedByName(t *testing.T) {
	l := newLab(t, 30, 1)
	first := l.connect(0)
	l.away(first)
	l.comeBack("10.9.9.9", testASN+1)
	l.log.until(t, "the refusal", func() bool { return len(l.log.failed) > 0 })
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	err := l.log.failed[0].Error()
	for _, want := range []string{`"dut"`, l.addr(2).String(), "10.9.9.9"} {
		if !strings.Contains(err, want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	l.log.failed = nil
}

func TestANeighbourThatReturnsWithAnotherASNIsRefused(t *testing.T) {
	l := newLab(t, 31, 1)
	first := l.connect(0)
	l.away(first)
	p := l.comeBack(l.addr(2).String(), testASN+7)
	got := p.notification()
	if got.ErrorCode != bgp.BGP_ERROR_OPEN_MESSAGE_ERROR || got.ErrorSubcode != bgp.BGP_ERROR_SUB_BAD_PEER_AS {
		t.Errorf("NOTIFICATION: got %d/%d, want OPEN message error, bad peer AS", got.ErrorCode, got.ErrorSubcode)
	}
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	if l.log.states[0] == api.PeerState_ESTABLISHED {
		t.Error("the session is up")
	}
}
