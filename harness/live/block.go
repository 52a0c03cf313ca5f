package live

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/bagrig/bagrig/topologies"
)

// DefaultPort is where the speakers listen. The registered BGP port needs root.
const DefaultPort = 1790

// block is a 127.B.0.0/16 of the loopback range that one rig has for itself. A
// listening socket in it is the lock, so rigs of parallel processes keep out
// of each other's way and a dead process leaves nothing behind.
type block struct {
	second byte
	lock   net.Listener
}

// Blocks tried, in order. Low ones are left to whatever else uses loopback.
const firstBlock, lastBlock = 16, 250

// ErrBusy means that every block of the loopback range is in use.
var ErrBusy = errors.New("no free block in 127.0.0.0/8")

// ErrLoopback means that this system has only 127.0.0.1.
var ErrLoopback = errors.New("not all of 127.0.0.0/8 is local")

// takeBlock takes the first block in which nothing else listens on any address
// that the topology needs, and gives the topology its addresses in it.
func takeBlock(port int, t *topologies.Topology, ix *topologies.Index) (*block, plan, error) {
	var last error
	for second := firstBlock; second <= lastBlock; second++ {
		b, p, err := tryBlock(byte(second), port, t, ix)
		if err == nil {
			return b, p, nil
		}
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return nil, plan{}, fmt.Errorf("%w (%w): the gobgp engine gives every speaker an address of its own; on macOS add each with `sudo ifconfig lo0 alias 127.16.1.1` and so on, or run bagrig in a Linux container", ErrLoopback, err)
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, plan{}, err
		}
		last = err
	}
	return nil, plan{}, fmt.Errorf("%w: port %d is taken in all of 127.%d.0.0/16 to 127.%d.0.0/16, as by a program that listens on 0.0.0.0: choose another with --port: %w",
		ErrBusy, port, firstBlock, lastBlock, last)
}

// tryBlock takes one block, or leaves nothing behind.
func tryBlock(second byte, port int, t *topologies.Topology, ix *topologies.Index) (_ *block, _ plan, err error) {
	lock, err := net.Listen("tcp4", fmt.Sprintf("127.%d.255.254:%d", second, port))
	if err != nil {
		return nil, plan{}, err
	}
	b := &block{second: second, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	p, err := b.plan(t, ix)
	if err != nil {
		return nil, plan{}, err
	}
	return b, p, p.probe(port)
}

// probe tells whether every address is free to listen on.
func (p *plan) probe(port int) error {
	for _, addrs := range p.listen {
		for _, a := range addrs {
			l, err := net.Listen("tcp4", netip.AddrPortFrom(a, uint16(port)).String())
			if err != nil {
				return err
			}
			if err := l.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *block) release() error { return b.lock.Close() }

// plan gives every device an address, its router id, and every session one at
// each end. GoBGP keys neighbours by address, so each further bundle of a pair
// of devices gets addresses of its own.
type plan struct {
	device  []netip.Addr
	session [][2]netip.Addr // by bundle: A's and B's
	listen  [][]netip.Addr  // by device
}

const (
	perNet      = 250 // hosts used of each 127.B.x.0/24
	deviceNets  = 127 // x from 1: devices
	extraNets   = 120 // x from 128: further sessions of a pair
	firstExtra  = 128
	maxDevices  = perNet * deviceNets
	maxExtraEnd = perNet * extraNets
)

func (b *block) plan(t *topologies.Topology, ix *topologies.Index) (plan, error) {
	if len(t.Devices) > maxDevices {
		return plan{}, fmt.Errorf("topology %q: %d devices: the gobgp engine has addresses for %d", t.Name, len(t.Devices), maxDevices)
	}
	p := plan{}
	for i := range t.Devices {
		a := b.addr(1, i)
		p.device = append(p.device, a)
		p.listen = append(p.listen, []netip.Addr{a})
	}
	pairs := map[[2]int]bool{}
	extra := 0
	for _, ends := range ix.Ends {
		if !pairs[ends] {
			pairs[ends] = true
			p.session = append(p.session, [2]netip.Addr{p.device[ends[0]], p.device[ends[1]]})
			continue
		}
		if extra+2 > maxExtraEnd {
			return plan{}, fmt.Errorf("topology %q: more than %d parallel bundles", t.Name, maxExtraEnd/2)
		}
		var s [2]netip.Addr
		for end := range s {
			s[end] = b.addr(firstExtra, extra)
			p.listen[ends[end]] = append(p.listen[ends[end]], s[end])
			extra++
		}
		p.session = append(p.session, s)
	}
	return p, nil
}

func (b *block) addr(net, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, b.second, byte(net + i/perNet), byte(1 + i%perNet)})
}
