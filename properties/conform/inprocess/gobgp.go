package inprocess

import (
	"context"
	"errors"
	"net/netip"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// GoBGPASN is the ASN of the plain GoBGP server.
const GoBGPASN = 65010

// GoBGPVersion is the version of the library that this module has.
const GoBGPVersion = "3.37.0"

// GoBGP is a GoBGP v3 server with a configuration and nothing else: no policy,
// no core of bagrig.
type GoBGP struct {
	plain *gobgp.Plain
	place Place
	peers []conform.Peer
}

// StartGoBGP starts the device. It must be closed.
func StartGoBGP(ctx context.Context) (*GoBGP, error) {
	place, err := takePlace()
	if err != nil {
		return nil, err
	}
	g := &GoBGP{place: place, peers: conform.PeersOf(place.Peers, place.Addr.Addr(), GoBGPASN)}
	opts := gobgp.PlainOptions{ASN: GoBGPASN, RouterID: place.Addr.Addr(), Listen: place.Addr.Addr(), Port: int(place.Addr.Port()), IPv6: true}
	for _, p := range g.peers {
		opts.Neighbors = append(opts.Neighbors, gobgp.PlainNeighbor{Address: p.Addr, ASN: p.ASN, Client: p.Internal})
	}
	if g.plain, err = gobgp.StartPlain(ctx, opts); err != nil {
		return nil, errors.Join(err, place.release())
	}
	return g, nil
}

// Peers are the addresses for conform.Options.Local.
func (g *GoBGP) Peers() []netip.Addr { return g.place.Peers }

// Close ends the device.
func (g *GoBGP) Close() error { return errors.Join(g.plain.Close(), g.place.release()) }

// Device is the server as the catalogue sees it.
func (g *GoBGP) Device() conform.Device {
	return conform.Device{
		Name: "gobgp", Version: GoBGPVersion, Addr: g.place.Addr, ASN: GoBGPASN, Rested: g.rested,
		Lacks: map[conform.Facility]string{
			conform.Aggregates: "has no sum of link bandwidth", conform.Originates: "no prefix of its own", conform.Weighs: "makes no weights",
		},
	}
}

// rested skips the pause that GoBGP makes when a session has fallen.
func (g *GoBGP) rested(ctx context.Context, peer string) error {
	for _, p := range g.peers {
		if p.Name == peer {
			return g.plain.Again(ctx, p.Addr)
		}
	}
	return nil
}
