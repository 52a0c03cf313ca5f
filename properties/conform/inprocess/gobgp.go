package inprocess

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/server"

	"github.com/bagrig/bagrig/properties/conform"
)

// GoBGPASN is the ASN of the plain GoBGP server.
const GoBGPASN = 65010

// GoBGPVersion is the version of the library that this module has.
const GoBGPVersion = "3.37.0"

// GoBGP is a GoBGP v3 server with a configuration and nothing else: no policy,
// no core of bagrig.
type GoBGP struct {
	place  Place
	server *server.BgpServer
	hook   *endHook
	peers  map[string]*api.Peer // by name

	mu      sync.Mutex
	managed int // management operations asked for
	served  chan struct{}
}

// StartGoBGP starts the device. It must be closed.
func StartGoBGP(ctx context.Context, place Place) (*GoBGP, error) {
	g := &GoBGP{place: place, hook: newEndHook(), peers: map[string]*api.Peer{}, served: make(chan struct{})}
	g.server = server.NewBgpServer(server.LoggerOption(quietLogger{}), server.TimingHookOption(g.hook))
	go func() {
		defer close(g.served)
		g.server.Serve()
	}()
	if err := g.configure(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *GoBGP) configure(ctx context.Context) error {
	addr := g.place.Addr
	err := g.manage(func() error {
		return g.server.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
			Asn: GoBGPASN, RouterId: addr.Addr().String(), ListenPort: int32(addr.Port()), ListenAddresses: []string{addr.Addr().String()},
		}})
	})
	if err != nil {
		return fmt.Errorf("gobgp at %v: %w", addr, err)
	}
	for _, p := range conform.PeersOf(g.place.Peers, addr.Addr(), GoBGPASN) {
		g.peers[p.Name] = &api.Peer{
			Conf:         &api.PeerConf{NeighborAddress: p.Addr.String(), PeerAsn: p.ASN},
			Transport:    &api.Transport{LocalAddress: addr.Addr().String(), PassiveMode: true},
			EbgpMultihop: &api.EbgpMultihop{Enabled: !p.Internal, MultihopTtl: 64},
			AfiSafis: []*api.AfiSafi{
				{Config: &api.AfiSafiConfig{Family: &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}, Enabled: true}},
				{Config: &api.AfiSafiConfig{Family: &api.Family{Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_UNICAST}, Enabled: true}},
			},
		}
		if p.Internal {
			g.peers[p.Name].RouteReflector = &api.RouteReflector{RouteReflectorClient: true, RouteReflectorClusterId: addr.Addr().String()}
		}
		if err := g.add(ctx, p.Name); err != nil {
			return err
		}
	}
	return nil
}

func (g *GoBGP) add(ctx context.Context, peer string) error {
	err := g.manage(func() error { return g.server.AddPeer(ctx, &api.AddPeerRequest{Peer: g.peers[peer]}) })
	if err != nil {
		return fmt.Errorf("gobgp at %v: add peer %s: %w", g.place.Addr, peer, err)
	}
	return nil
}

// rested forgets a peer and adds it anew: GoBGP waits 5 s for one whose session
// fell.
func (g *GoBGP) rested(ctx context.Context, peer string) error {
	address := g.peers[peer].Conf.NeighborAddress
	err := g.manage(func() error { return g.server.DeletePeer(ctx, &api.DeletePeerRequest{Address: address}) })
	if err != nil {
		return fmt.Errorf("gobgp at %v: delete peer %s: %w", g.place.Addr, peer, err)
	}
	return g.add(ctx, peer)
}

// Device is the server as the catalogue sees it.
func (g *GoBGP) Device() conform.Device {
	return conform.Device{
		Name: "gobgp", Version: GoBGPVersion, Addr: g.place.Addr, ASN: GoBGPASN,
		Rested: g.rested,
		Lacks: map[conform.Facility]string{
			conform.Aggregates: "has no sum of link bandwidth", conform.Originates: "no prefix of its own", conform.Weighs: "makes no weights",
		},
	}
}

// manage counts a call that is one management operation of the server.
func (g *GoBGP) manage(call func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.managed++
	return call()
}

// Close stops the server. Its goroutine never returns by itself and would keep
// all its tables: the hook, which runs on it, ends it at one last operation. All
// earlier ones must have passed the hook by then.
func (g *GoBGP) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	err := g.manage(func() error { return g.server.StopBgp(ctx, &api.StopBgpRequest{}) })
	g.hook.wait(g.managed)
	g.hook.end()
	go func() { _, _ = g.server.GetBgp(context.Background(), &api.GetBgpRequest{}) }()
	<-g.served
	return err
}

// endHook ends a server's goroutine after the management operation that
// follows the word.
type endHook struct {
	mu     sync.Mutex
	passed sync.Cond
	count  int // management operations that are done
	ending bool
}

func newEndHook() *endHook {
	h := &endHook{}
	h.passed.L = &h.mu
	return h
}

// Observe implements server.FSMTimingHook.
func (h *endHook) Observe(op server.FSMOperation, _, _ time.Duration) {
	if op != server.FSMMgmtOp {
		return
	}
	h.mu.Lock()
	h.count++
	ending := h.ending
	h.passed.Broadcast()
	h.mu.Unlock()
	if ending {
		runtime.Goexit()
	}
}

func (h *endHook) wait(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.count < n {
		h.passed.Wait()
	}
}

func (h *endHook) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
}
