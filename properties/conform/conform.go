// Package conform asks any BGP device at an address what it does with link
// bandwidth (RFC 10005). The tester speaks BGP itself, on several sessions with
// the device, and judges the octets that come back; the device's own commands
// and tables are not needed. What it holds against a device is a catalogue of
// single, named checks, each an observation that ends in a word, and the words
// that the RFCs allow:
//
//	report, err := conform.Run(ctx, conform.Device{Name: "mine", Addr: addr, ASN: 65010}, conform.Options{Local: locals})
//	fmt.Print(conform.Table(report))
//
// Nothing is waited for by sleeping: after each question the tester sends a
// marker, a prefix of its own, on the same session, and what was not told when
// two markers have come through one after the other is not told.
package conform

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/fib"
)

// Facility is something that not every device has. A check that needs one that
// the device lacks is not applicable.
type Facility string

// The facilities.
const (
	Internal   Facility = "internal"   // iBGP sessions; the device reflects between them
	IPv6       Facility = "ipv6"       // IPv6 unicast over the sessions
	Aggregates Facility = "aggregates" // tells session c the sum of what it received
	Many       Facility = "many"       // 64 further sessions
	Originates Facility = "originates" // tells the routes of Originated
	Forwards   Facility = "forwards"   // passes routes on at all
	Weighs     Facility = "weighs"     // shows weights: Device.Weights
	HoldsDown  Facility = "holds-down" // has capacities of its own: Device.Bundle
)

// Facilities are all facilities, and what a device lacks without each.
var Facilities = map[Facility]string{
	Internal:   "no iBGP session",
	IPv6:       "no IPv6 over the session",
	Aggregates: "does not sum what it receives",
	Many:       "no 64 sessions",
	Originates: "originates no route with a value",
	Forwards:   "is only a sender",
	Weighs:     "not observable: its weights are not shown",
	HoldsDown:  "not observable: the capacity of its links cannot be changed from here",
}

// Device is the device under test.
type Device struct {
	Name    string
	Version string // free text; deviations are listed by it
	Addr    netip.AddrPort
	ASN     uint32
	Lacks   map[Facility]string // and why, in a few words

	// Weights reads what the device's hardware or kernel does with a prefix:
	// the weight of each next hop, by the peer's name. nil: not shown.
	Weights func(ctx context.Context, prefix netip.Prefix) (map[string]int, error)
	// Algorithm is how the device makes weights of values; empty: unknown, and
	// weights are held against the values themselves, within 5 % (RT-1.52).
	Algorithm fib.Algorithm

	// Bundle sets what the link to a peer carries, in bits/s, and Pass lets
	// time pass at the device. nil: no such thing from here.
	Bundle func(ctx context.Context, peer string, capacity uint64) error
	Pass   func(ctx context.Context, d time.Duration) error
	// HoldDown is how long the device holds an increase back, and Capacity what
	// its links carry at first, in bits/s; with Bundle.
	HoldDown time.Duration
	Capacity uint64

	// Rested has a device of this process skip the pause that it makes when the
	// session with a peer has fallen. nil: the pause is waited for.
	Rested func(ctx context.Context, peer string) error
}

// Peer is one neighbour that the tester plays.
type Peer struct {
	Name     string
	Addr     netip.Addr
	NextHop6 netip.Addr // of the IPv6 routes that it sends
	ASN      uint32
	Internal bool // an iBGP session
}

// The ASNs of the tester's eBGP peers.
const (
	firstASN = 64601 // a; b, o and c follow
	manyASN  = 64610 // all of the 64
	farASN   = 64620 // an AS beyond a peer
)

// manyPeers is how many sessions RT-7.6 asks for.
const manyPeers = 64

// Peers is how many addresses a whole run needs.
const Peers = 6 + manyPeers

// PeersOf gives the tester's peers at the addresses: a and b send, o hears, and
// so does c, to which the device tells the sum of what it received; i1 and i2
// are iBGP clients of the device as route reflector, i2 with next-hop-self; m1
// to m64 send. Fewer addresses give fewer peers, in this order. first6 is the
// address from which the peers' IPv6 next hops count; without it they are the
// IPv4 addresses in IPv6 form.
func PeersOf(local []netip.Addr, first6 netip.Addr, asn uint32) []Peer {
	names := []string{"a", "b", "o", "c", "i1", "i2"}
	for i := range manyPeers {
		names = append(names, fmt.Sprintf("m%d", i+1))
	}
	var list []Peer
	six := first6
	for i, addr := range local[:min(len(local), len(names))] {
		p := Peer{Name: names[i], Addr: addr, ASN: firstASN + uint32(i), NextHop6: netip.AddrFrom16(addr.As16())}
		switch {
		case i == 4 || i == 5:
			p.ASN, p.Internal = asn, true
		case i >= 6:
			p.ASN = manyASN
		}
		if first6.IsValid() {
			p.NextHop6, six = six, six.Next()
		}
		list = append(list, p)
	}
	return list
}

// Addresses counts n addresses up from the first.
func Addresses(first netip.Addr, n int) []netip.Addr {
	var list []netip.Addr
	for ; len(list) < n && first.IsValid(); first = first.Next() {
		list = append(list, first)
	}
	return list
}

// Options configures a run.
type Options struct {
	Local   []netip.Addr // the peers' addresses, see PeersOf; they are local ones
	Local6  netip.Addr   // the first of their IPv6 next hops; optional
	Passive bool         // the device dials, to Port of each
	Port    uint16       // that Passive listens on; 0 = 179

	Patience time.Duration // for a session to come up, and again after a fall; 0 = 15 s
	Budget   time.Duration // for an answer that must come; 0 = 10 s

	Checks   []Check               // nil = Catalogue()
	Progress func(done, total int) // optional
}

// Verdict says how a check ended.
type Verdict string

// The verdicts.
const (
	Passed        Verdict = "pass"
	Failed        Verdict = "fail"
	Deviates      Verdict = "deviation"      // fails, and is listed
	NotApplicable Verdict = "not applicable" // the device lacks what the check needs
	Errored       Verdict = "error"          // the check could not be finished
)

// Check is one question to a device.
type Check struct {
	Name   string     `json:"name"`
	Refs   []string   `json:"refs"`   // sections and plan ids
	Sent   string     `json:"sent"`   // what is asked, in words
	Accept []string   `json:"accept"` // the words that conform; see Result.Got
	Needs  []Facility `json:"needs,omitempty"`

	ask func(t *trial) (word string)
}

// Message is one BGP message of a check.
type Message struct {
	Session string `json:"session"`
	Text    string `json:"text"`
	Bytes   string `json:"bytes"` // hexadecimal, with the BGP header
}

// Result is what became of one check.
type Result struct {
	Check
	Verdict   Verdict   `json:"verdict"`
	Got       string    `json:"got"`                 // the observation in a word or two
	Reason    string    `json:"reason,omitempty"`    // why it is no pass
	Deviation string    `json:"deviation,omitempty"` // the reason that the list of deviations gives
	Messages  []Message `json:"sent_messages,omitempty"`
	Heard     []Message `json:"heard_messages,omitempty"`
}

// Report is a run against one device.
type Report struct {
	Device  string   `json:"device"`
	Version string   `json:"version,omitempty"`
	Address string   `json:"address"`
	ASN     uint32   `json:"asn"`
	Open    string   `json:"open"` // the device's OPEN on session o, hexadecimal
	Results []Result `json:"results"`
}

// ErrEnvironment means that there was nothing to judge: no device, a silent
// one, one with another ASN, or addresses that cannot be used.
var ErrEnvironment = errors.New("the device cannot be tested")

// Run asks the device everything and gives one result for each check, in the
// catalogue's order. An error is ErrEnvironment, or that ctx ended.
func Run(ctx context.Context, device Device, opts Options) (*Report, error) {
	opts.defaults()
	b, err := newBench(ctx, device, opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	defer b.close()
	report := &Report{Device: device.Name, Version: device.Version, Address: device.Addr.String(), ASN: device.ASN}
	report.Open = hex.EncodeToString(b.sessions["o"].opened.bytes)
	for i, c := range opts.Checks {
		result, err := b.run(ctx, c)
		if err != nil {
			return nil, err
		}
		report.Results = append(report.Results, result)
		if opts.Progress != nil {
			opts.Progress(i+1, len(opts.Checks))
		}
	}
	return report, nil
}

func (o *Options) defaults() {
	if o.Patience == 0 {
		o.Patience = 15 * time.Second
	}
	if o.Budget == 0 {
		o.Budget = 10 * time.Second
	}
	if o.Port == 0 {
		o.Port = 179
	}
	if o.Checks == nil {
		o.Checks = Catalogue()
	}
}

// Select gives the checks of these names; all without names.
func Select(names []string) ([]Check, error) {
	all := Catalogue()
	if len(names) == 0 {
		return all, nil
	}
	var list []Check
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Check) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("check %q: no such check; want one of %s", name, strings.Join(Names(), ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// Names are the names of all checks, in the catalogue's order.
func Names() []string {
	var list []string
	for _, c := range Catalogue() {
		list = append(list, c.Name)
	}
	return list
}
