package gobgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"
)

// Plain is a GoBGP server that nothing of ours decides for: it has a configuration,
// and does by itself what GoBGP does. Beside a rig in one
// process it is started before the rig.
type Plain struct {
	server *server.BgpServer
	hook   *stopHook
	served chan struct{}
	opts   PlainOptions

	mu      sync.Mutex
	managed int
}

// PlainOptions configures a Plain.
type PlainOptions struct {
	ASN       uint32
	RouterID  netip.Addr
	Listen    netip.Addr
	Port      int
	Neighbors []PlainNeighbor
	IPv6      bool // unicast, over the same sessions
}

// PlainNeighbor is a neighbour of a Plain.
type PlainNeighbor struct {
	Address netip.Addr
	ASN     uint32
	Port    int  // that the server dials; 0 = it waits to be dialled
	Client  bool // of the server as route reflector
}

// StartPlain starts a server with all its neighbours.
func StartPlain(ctx context.Context, opts PlainOptions) (*Plain, error) {
	p := &Plain{opts: opts, hook: newStopHook(), served: make(chan struct{})}
	p.server = server.NewBgpServer(server.LoggerOption(quietLogger{}), server.TimingHookOption(p.hook))
	go func() {
		defer close(p.served)
		p.server.Serve()
	}()
	err := p.manage(func() error {
		return p.server.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
			Asn: opts.ASN, RouterId: opts.RouterID.String(), ListenPort: int32(opts.Port), ListenAddresses: []string{opts.Listen.String()},
		}})
	})
	for _, n := range opts.Neighbors {
		if err != nil {
			break
		}
		err = p.add(ctx, n)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("GoBGP at %v: %w", opts.Listen, err), p.Close())
	}
	return p, nil
}

func (p *Plain) add(ctx context.Context, n PlainNeighbor) error {
	peer := &api.Peer{
		Conf:         &api.PeerConf{NeighborAddress: n.Address.String(), PeerAsn: n.ASN},
		Transport:    &api.Transport{LocalAddress: p.opts.Listen.String(), RemotePort: uint32(n.Port), PassiveMode: n.Port == 0},
		EbgpMultihop: &api.EbgpMultihop{Enabled: n.ASN != p.opts.ASN, MultihopTtl: 64},
	}
	if p.opts.IPv6 {
		for _, f := range []*api.Family{ipv4, ipv6} {
			peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{Config: &api.AfiSafiConfig{Family: f, Enabled: true}})
		}
	}
	if n.Client {
		peer.RouteReflector = &api.RouteReflector{RouteReflectorClient: true, RouteReflectorClusterId: p.opts.RouterID.String()}
	}
	return p.manage(func() error { return p.server.AddPeer(ctx, &api.AddPeerRequest{Peer: peer}) })
}

// Again forgets a neighbour and gets to know it anew, which skips the 5 s that a
// fallen session waits.
func (p *Plain) Again(ctx context.Context, neighbor netip.Addr) error {
	i := slices.IndexFunc(p.opts.Neighbors, func(n PlainNeighbor) bool { return n.Address == neighbor })
	if i < 0 {
		return fmt.Errorf("GoBGP at %v: neighbour %v: not one of its own", p.opts.Listen, neighbor)
	}
	err := p.manage(func() error { return p.server.DeletePeer(ctx, &api.DeletePeerRequest{Address: neighbor.String()}) })
	if err == nil {
		err = p.add(ctx, p.opts.Neighbors[i])
	}
	if err != nil {
		return fmt.Errorf("GoBGP at %v: neighbour %v: %w", p.opts.Listen, neighbor, err)
	}
	return nil
}

// manage counts a call that is one management operation of the server.
func (p *Plain) manage(call func() error) error {
	p.mu.Lock()
	p.managed++
	p.mu.Unlock()
	return call()
}

// fallen waits until no session is Established: what reads one would race with the
// server's end. Neighbours that stay are not waited for longer than patience.
func (p *Plain) fallen(patience time.Duration) {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	late := time.After(patience)
	for {
		up := false
		err := p.manage(func() error {
			return p.server.ListPeer(context.Background(), &api.ListPeerRequest{}, func(peer *api.Peer) {
				up = up || peer.State.SessionState == api.PeerState_ESTABLISHED
			})
		})
		if err != nil || !up {
			return
		}
		select {
		case <-poll.C:
		case <-late:
			return
		}
	}
}

// Close stops the server and returns when its goroutine has ended; see Speaker.Close.
// It has neighbours, and their sessions should have fallen or be about to.
func (p *Plain) Close() error {
	p.fallen(time.Second)
	err := p.manage(func() error { return p.server.StopBgp(context.Background(), &api.StopBgpRequest{}) })
	p.hook.waitManaged(p.managed)
	p.hook.stop()
	go func() { _, _ = p.server.GetBgp(context.Background(), &api.GetBgpRequest{}) }()
	<-p.served
	return err
}
