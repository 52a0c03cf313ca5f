package conform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

// The tester writes and reads BGP messages itself: the codecs at hand fold the
// two transitivities of link bandwidth into one, and refuse to write what is
// malformed. Only what the checks need is here.

// The message types (RFC 4271 section 4.1, RFC 2918).
const (
	typeOpen         = 1
	typeUpdate       = 2
	typeNotification = 3
	typeKeepalive    = 4
	typeRefresh      = 5
)

// The path attributes that the checks write or read.
const (
	attrOrigin    = 1
	attrPath      = 2
	attrNextHop   = 3
	attrLocalPref = 5
	attrReach     = 14
	attrUnreach   = 15
	attrExtended  = 16
)

// Attribute flags (RFC 4271 section 4.3).
const (
	flagOptional   = 0x80
	flagTransitive = 0x40
	flagPartial    = 0x20
	flagLong       = 0x10
)

const (
	headLength    = 19
	maxLength     = 4096
	asTrans       = 23456
	holdTime      = 240 // seconds that the tester proposes
	capMultiproto = 1
	capRefresh    = 2
	capRestart    = 64
	capFourOctet  = 65
)

// message puts the header in front of a body.
func message(kind byte, body []byte) []byte {
	b := slices.Repeat([]byte{0xff}, 16)
	b = binary.BigEndian.AppendUint16(b, uint16(headLength+len(body)))
	return append(append(b, kind), body...)
}

// openMessage is the tester's OPEN: four-octet ASN, route refresh, both address
// families where wanted, and graceful restart with nothing kept, so that the
// device says when its table is through (RFC 4724 section 2).
func openMessage(asn uint32, id netip.Addr, six bool) []byte {
	two := asn
	if asn > 0xffff {
		two = asTrans
	}
	caps := []byte{capMultiproto, 4, 0, 1, 0, 1, capRefresh, 0, capFourOctet, 4}
	caps = binary.BigEndian.AppendUint32(caps, asn)
	caps = append(caps, capRestart, 2, 0, 0)
	if six {
		caps = append(caps, capMultiproto, 4, 0, 2, 0, 1)
	}
	body := []byte{4}
	body = binary.BigEndian.AppendUint16(body, uint16(two))
	body = binary.BigEndian.AppendUint16(body, holdTime)
	body = append(body, id.AsSlice()...)
	body = append(body, byte(2+len(caps)), 2, byte(len(caps)))
	return message(typeOpen, append(body, caps...))
}

// opened is what the device's OPEN says.
type opened struct {
	asn     uint32
	hold    time.Duration
	restart bool // offers graceful restart
	six     bool // offers IPv6 unicast
	refresh bool
	bytes   []byte // the message
}

var errShort = errors.New("shorter than it says")

func readOpen(b []byte) (opened, error) {
	if len(b) < 10 || len(b) != 10+int(b[9]) {
		return opened{}, fmt.Errorf("OPEN: %w", errShort)
	}
	o := opened{asn: uint32(binary.BigEndian.Uint16(b[1:])), hold: time.Duration(binary.BigEndian.Uint16(b[3:])) * time.Second}
	for params := b[10:]; len(params) > 0; {
		if len(params) < 2 || len(params) < 2+int(params[1]) {
			return o, fmt.Errorf("OPEN: parameter: %w", errShort)
		}
		caps := params[2 : 2+params[1]]
		if params[0] != 2 {
			caps = nil
		}
		params = params[2+params[1]:]
		for len(caps) > 0 {
			if len(caps) < 2 || len(caps) < 2+int(caps[1]) {
				return o, fmt.Errorf("OPEN: capability: %w", errShort)
			}
			o.capability(caps[0], caps[2:2+caps[1]])
			caps = caps[2+caps[1]:]
		}
	}
	return o, nil
}

func (o *opened) capability(code byte, value []byte) {
	switch {
	case code == capFourOctet && len(value) == 4:
		o.asn = binary.BigEndian.Uint32(value)
	case code == capRestart:
		o.restart = true
	case code == capRefresh:
		o.refresh = true
	case code == capMultiproto && len(value) == 4 && value[1] == 2 && value[3] == 1:
		o.six = true
	}
}

// attribute is one path attribute; a body above 255 octets gets the long form.
func attribute(flags, kind byte, body []byte) []byte {
	b := []byte{flags, kind}
	if len(body) > 255 || flags&flagLong != 0 {
		b[0] |= flagLong
		b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	} else {
		b = append(b, byte(len(body)))
	}
	return append(b, body...)
}

func nlri(p netip.Prefix) []byte {
	return append([]byte{byte(p.Bits())}, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
}

func pathBody(path []uint32) []byte {
	if len(path) == 0 {
		return nil
	}
	b := []byte{2, byte(len(path))}
	for _, asn := range path {
		b = binary.BigEndian.AppendUint32(b, asn)
	}
	return b
}

// updateMessage announces a prefix with the attributes given.
func updateMessage(p netip.Prefix, attrs []byte) []byte {
	body := []byte{0, 0}
	body = binary.BigEndian.AppendUint16(body, uint16(len(attrs)))
	body = append(body, attrs...)
	if p.Addr().Is4() {
		body = append(body, nlri(p)...)
	}
	return message(typeUpdate, body)
}

func withdrawMessage(p netip.Prefix) []byte {
	if p.Addr().Is6() {
		return updateMessage(p, attribute(flagOptional, attrUnreach, append([]byte{0, 2, 1}, nlri(p)...)))
	}
	body := binary.BigEndian.AppendUint16(nil, uint16(len(nlri(p))))
	body = append(body, nlri(p)...)
	return message(typeUpdate, append(body, 0, 0))
}

// reach is MP_REACH_NLRI for one IPv6 prefix (RFC 4760 section 3).
func reach(p netip.Prefix, nextHop netip.Addr) []byte {
	hop := nextHop.As16()
	body := append([]byte{0, 2, 1, 16}, hop[:]...)
	return attribute(flagOptional, attrReach, append(append(body, 0), nlri(p)...))
}

// Route is a route as the device told it.
type Route struct {
	Prefix  netip.Prefix
	NextHop netip.Addr
	Path    []uint32 // AS_PATH, all segments joined
	Ext     []byte   // body of EXTENDED_COMMUNITIES; nil where there is none
}

// update is one UPDATE, read.
type update struct {
	announced []Route
	withdrawn []netip.Prefix
	end4      bool // End-of-RIB of IPv4
}

// readUpdate reads an UPDATE's body. What the device sends wrongly is an error.
func readUpdate(b []byte) (update, error) {
	var u update
	if len(b) < 4 {
		return u, fmt.Errorf("UPDATE: %w", errShort)
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 4+n {
		return u, fmt.Errorf("UPDATE: withdrawn routes: %w", errShort)
	}
	gone, err := readNLRI(b[2:2+n], false)
	if err != nil {
		return u, err
	}
	u.withdrawn = gone
	b = b[2+n:]
	if n = int(binary.BigEndian.Uint16(b)); len(b) < 2+n {
		return u, fmt.Errorf("UPDATE: attributes: %w", errShort)
	}
	attrs := b[2 : 2+n]
	here, err := readNLRI(b[2+n:], false)
	if err != nil {
		return u, err
	}
	u.end4 = len(gone) == 0 && len(attrs) == 0 && len(here) == 0
	var shared Route
	var sixes []netip.Prefix
	var hop6 netip.Addr
	for len(attrs) > 0 {
		kind, body, rest, err := nextAttribute(attrs)
		if err != nil {
			return u, err
		}
		attrs = rest
		switch kind {
		case attrPath:
			shared.Path, err = readPath(body)
		case attrNextHop:
			shared.NextHop, _ = netip.AddrFromSlice(body)
		case attrExtended:
			shared.Ext = append([]byte{}, body...)
		case attrReach:
			hop6, sixes, err = readReach(body)
		case attrUnreach:
			if len(body) >= 3 && body[1] == 2 {
				var gone []netip.Prefix
				gone, err = readNLRI(body[3:], true)
				u.withdrawn = append(u.withdrawn, gone...)
			}
		}
		if err != nil {
			return u, err
		}
	}
	for _, p := range here {
		r := shared
		r.Prefix = p
		u.announced = append(u.announced, r)
	}
	for _, p := range sixes {
		r := shared
		r.Prefix, r.NextHop = p, hop6
		u.announced = append(u.announced, r)
	}
	return u, nil
}

func nextAttribute(b []byte) (kind byte, body, rest []byte, err error) {
	head := 3
	if len(b) > 0 && b[0]&flagLong != 0 {
		head = 4
	}
	if len(b) < head {
		return 0, nil, nil, fmt.Errorf("UPDATE: attribute: %w", errShort)
	}
	n := int(b[2])
	if head == 4 {
		n = int(binary.BigEndian.Uint16(b[2:]))
	}
	if len(b) < head+n {
		return 0, nil, nil, fmt.Errorf("UPDATE: attribute %d: %w", b[1], errShort)
	}
	return b[1], b[head : head+n], b[head+n:], nil
}

func readNLRI(b []byte, six bool) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for len(b) > 0 {
		bits, n := int(b[0]), (int(b[0])+7)/8
		width := 4
		if six {
			width = 16
		}
		if n > width || len(b) < 1+n {
			return nil, fmt.Errorf("UPDATE: NLRI: %w", errShort)
		}
		full := make([]byte, width)
		copy(full, b[1:1+n])
		addr, _ := netip.AddrFromSlice(full)
		p, err := addr.Prefix(bits)
		if err != nil {
			return nil, fmt.Errorf("UPDATE: NLRI: %w", err)
		}
		list = append(list, p)
		b = b[1+n:]
	}
	return list, nil
}

func readPath(b []byte) ([]uint32, error) {
	var path []uint32
	for len(b) > 0 {
		if len(b) < 2 || len(b) < 2+4*int(b[1]) {
			return nil, fmt.Errorf("UPDATE: AS_PATH: %w", errShort)
		}
		for i := range int(b[1]) {
			path = append(path, binary.BigEndian.Uint32(b[2+4*i:]))
		}
		b = b[2+4*int(b[1]):]
	}
	return path, nil
}

func readReach(b []byte) (netip.Addr, []netip.Prefix, error) {
	if len(b) < 5 || len(b) < 5+int(b[3]) || b[1] != 2 {
		return netip.Addr{}, nil, nil // another family
	}
	hop := b[4 : 4+b[3]]
	addr, _ := netip.AddrFromSlice(hop[:min(len(hop), 16)])
	list, err := readNLRI(b[5+int(b[3]):], true)
	return addr, list, err
}

// values are the link bandwidth communities of a route, in its order.
func (r *Route) values() []linkbw.Community {
	var list []linkbw.Community
	for b := r.Ext; len(b) >= linkbw.Size; b = b[linkbw.Size:] {
		if c, err := linkbw.Decode(b[:linkbw.Size]); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// describe is a route for a reader.
func (r *Route) describe() string {
	s := fmt.Sprintf("%v next hop %v path %v", r.Prefix, r.NextHop, r.Path)
	if r.Ext != nil {
		s += " " + describeExt(r.Ext)
	}
	return s
}

func describeExt(ext []byte) string {
	var words []string
	for ; len(ext) >= linkbw.Size; ext = ext[linkbw.Size:] {
		words = append(words, describeCommunity(ext[:linkbw.Size]))
	}
	if len(ext) > 0 {
		words = append(words, fmt.Sprintf("and %d octets", len(ext)))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func describeCommunity(b []byte) string {
	c, err := linkbw.Decode(b)
	if err != nil {
		return fmt.Sprintf("% x", b)
	}
	form := "NT"
	if c.Transitive {
		form = "T"
	}
	s := fmt.Sprintf("%s AS%d %g B/s", form, c.ASN, c.Value)
	if c.Valid() && c.Value > 0 {
		s += fmt.Sprintf(" (%.4g Gb/s)", float64(c.Value)*8/1e9)
	}
	return s
}

// notification is one NOTIFICATION message.
type notification struct {
	code, sub byte
	data      []byte
}

// The codes and sub-codes that a conformance run meets (RFC 4271 section 6,
// RFC 4486); others are shown as numbers.
var notificationNames = map[[2]byte]string{
	{1, 0}: "Message Header Error", {2, 0}: "OPEN Message Error", {2, 2}: "OPEN Message Error / Bad Peer AS", {2, 3}: "OPEN Message Error / Bad BGP Identifier",
	{2, 7}: "OPEN Message Error / Unsupported Capability", {3, 0}: "UPDATE Message Error", {3, 1}: "UPDATE Message Error / Malformed Attribute List",
	{3, 4}: "UPDATE Message Error / Attribute Flags Error", {3, 5}: "UPDATE Message Error / Attribute Length Error",
	{3, 8}: "UPDATE Message Error / Invalid NEXT_HOP", {3, 9}: "UPDATE Message Error / Optional Attribute Error",
	{3, 10}: "UPDATE Message Error / Invalid Network Field", {3, 11}: "UPDATE Message Error / Malformed AS_PATH", {4, 0}: "Hold Timer Expired",
	{5, 0}: "Finite State Machine Error", {6, 0}: "Cease", {6, 2}: "Cease / Administrative Shutdown", {6, 3}: "Cease / Peer De-configured",
	{6, 5}: "Cease / Connection Rejected", {6, 7}: "Cease / Connection Collision Resolution",
}

func (n notification) String() string {
	name, ok := notificationNames[[2]byte{n.code, n.sub}]
	if !ok {
		name = notificationNames[[2]byte{n.code, 0}]
	}
	s := fmt.Sprintf("NOTIFICATION %d/%d", n.code, n.sub)
	if name != "" {
		s += " " + name
	}
	if len(n.data) > 0 {
		s += fmt.Sprintf(", data % x", n.data)
	}
	return s
}
