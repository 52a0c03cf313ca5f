// Package inprocess makes devices under test that live in this process, so that
// the conformance catalogue has peers that need no installation: bagrig's own
// speaker all alone, and a plain GoBGP v3 server without bagrig's core. Both
// listen on a loopback address, as any other device does, and know nothing of
// the tester but its addresses.
//
// A GoBGP server writes options that all servers of a process share, so at most
// one of these devices may run at a time.
package inprocess

import (
	"net/netip"

	"github.com/bagrig/bagrig/properties/conform"
)

// Place is where a device listens, and where the tester's peers are.
type Place struct {
	Addr  netip.AddrPort
	Peers []netip.Addr
}

// Loopback is a place of its own in 127.0.0.0/8 for each number from 1 to 255.
func Loopback(number byte) Place {
	first := netip.AddrFrom4([4]byte{127, 11, number, 1})
	return Place{Addr: netip.AddrPortFrom(first, 17900), Peers: conform.Addresses(first.Next(), conform.Peers)}
}
