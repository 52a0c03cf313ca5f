package gobgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"
)

// Plain is a GoBGP server that nothing of ours decides for: it has a configuration,
// and does by itself what GoBGP does. Beside a rig in one
// process it is started before the rig.
type Plain struct {
	server  *server.BgpServer
	hook    *stopHook
	served  chan struct{}
	managed int
}

// PlainOptions configures a Plain.
type PlainOptions struct {
	ASN       uint32
	RouterID  netip.Addr
	Listen    netip.Addr
	Port      int
	Neighbors []PlainNeighbor
}

// PlainNeighbor is a neighbour of a Plain.
type PlainNeighbor struct {
	Address netip.Addr
	ASN     uint32
	Port    int // that the server dials; 0 = it waits to be dialled
}

// StartPlain starts a server with all its neighbours.
func StartPlain(ctx context.Context, opts PlainOptions) (*Plain, error) {
	p := &Plain{hook: newStopHook(), served: make(chan struct{})}
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
		err = p.manage(func() error {
			return p.server.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
				Conf:         &api.PeerConf{NeighborAddress: n.Address.String(), PeerAsn: n.ASN},
				Transport:    &api.Transport{LocalAddress: opts.Listen.String(), RemotePort: uint32(n.Port), PassiveMode: n.Port == 0},
				EbgpMultihop: &api.EbgpMultihop{Enabled: true, MultihopTtl: 64},
			}})
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("GoBGP at %v: %w", opts.Listen, err), p.Close())
	}
	return p, nil
}

func (p *Plain) manage(call func() error) error {
	p.managed++
	return call()
}

// Close stops the server and returns when its goroutine has ended; see Speaker.Close.
// It has neighbours, and their sessions should have fallen.
func (p *Plain) Close() error {
	err := p.manage(func() error { return p.server.StopBgp(context.Background(), &api.StopBgpRequest{}) })
	p.hook.waitManaged(p.managed)
	p.hook.stop()
	go func() { _, _ = p.server.GetBgp(context.Background(), &api.GetBgpRequest{}) }()
	<-p.served
	return err
}
