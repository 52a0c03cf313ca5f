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
	"fmt"
	"net"
	"net/netip"

	"github.com/bagrig/bagrig/properties/conform"
)

// Place is where a device listens, and where the tester's peers are.
type Place struct {
	Addr  netip.AddrPort
	Peers []netip.Addr

	lock net.Listener
}

// The ports of a device, and of the socket that keeps others away from its place.
const (
	devicePort = 17900
	lockPort   = 17899
)

// takePlace takes addresses in 127.11.0.0/16 that no other device has, of this
// process or another one. They are held until release.
func takePlace() (Place, error) {
	var first error
	for n := 1; n < 255; n++ {
		addr := netip.AddrFrom4([4]byte{127, 11, byte(n), 1})
		lock, err := net.Listen("tcp", netip.AddrPortFrom(addr, lockPort).String())
		if err == nil {
			return Place{Addr: netip.AddrPortFrom(addr, devicePort), Peers: conform.Addresses(addr.Next(), conform.Peers), lock: lock}, nil
		}
		if first == nil {
			first = err
		}
	}
	return Place{}, fmt.Errorf("no place for a device from 127.11.1.1 to 127.11.254.1: port %d: %w", lockPort, first)
}

func (p Place) release() error { return p.lock.Close() }
