package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// update is the body of an UPDATE message, split into its parts.
type update struct {
	withdrawn nlriList
	attrs     []byte
	announced nlriList
	unreach   nlriList // of MP_UNREACH_NLRI (RFC 4760 S4)
	reach     nlriList // of MP_REACH_NLRI (RFC 4760 S3)
}

// nlriList is a list of prefixes of one family as on the wire.
type nlriList struct {
	bytes []byte
	six   bool // of IPv6
}

var errShort = errors.New("UPDATE ends in the middle of a field")

func parseUpdate(body []byte) (update, error) {
	withdrawn, rest, ok := cutCounted(body)
	if !ok {
		return update{}, errShort
	}
	attrs, announced, ok := cutCounted(rest)
	if !ok {
		return update{}, errShort
	}
	u := update{withdrawn: nlriList{bytes: withdrawn}, attrs: attrs, announced: nlriList{bytes: announced}}
	return u, u.parseMultiprotocol()
}

// parseMultiprotocol finds the NLRI that are inside of attributes.
func (u *update) parseMultiprotocol() error {
	seen := [2]bool{}
	for b := u.attrs; len(b) > 0; {
		code, value, rest, ok := cutAttr(b)
		if !ok {
			return errShort
		}
		b = rest
		if code != attrReach && code != attrUnreach {
			continue
		}
		// Receivers end the session (RFC 7606 S3), so neither is counted.
		if seen[code-attrReach] {
			return fmt.Errorf("UPDATE has two attributes of type %d: want at most one", code)
		}
		seen[code-attrReach] = true
		if err := u.multiprotocol(code, value); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) multiprotocol(code byte, value []byte) error {
	list, err := cutFamily(value)
	if err != nil {
		return err
	}
	if code == attrUnreach {
		u.unreach = list
		return nil
	}
	// The length of the next hop, the next hop, a reserved byte.
	if len(list.bytes) < 1 || len(list.bytes) < 2+int(list.bytes[0]) {
		return errShort
	}
	list.bytes = list.bytes[2+int(list.bytes[0]):]
	u.reach = list
	return nil
}

// cutFamily reads the family that a multiprotocol attribute begins with.
func cutFamily(value []byte) (nlriList, error) {
	if len(value) < 3 {
		return nlriList{}, errShort
	}
	afi, safi := binary.BigEndian.Uint16(value), value[2]
	if afi != afiIPv4 && afi != afiIPv6 || safi != safiUnicast {
		return nlriList{}, fmt.Errorf("address family %d/%d: want unicast of IPv4 (%d/%d) or IPv6 (%d/%d)",
			afi, safi, afiIPv4, safiUnicast, afiIPv6, safiUnicast)
	}
	return nlriList{bytes: value[3:], six: afi == afiIPv6}, nil
}

// cutCounted splits off a part that begins with its own length in two bytes.
func cutCounted(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// maxBits is the length of an address of the list's family.
func (l nlriList) maxBits() int {
	if l.six {
		return 128
	}
	return 32
}

// next gives the first prefix's length in bits, how many bytes it takes, and
// the rest of the list.
func (l nlriList) next() (bits, size int, rest nlriList) {
	bits = int(l.bytes[0])
	size = 1 + (bits+7)/8
	return bits, size, nlriList{bytes: l.bytes[min(len(l.bytes), size):], six: l.six}
}

func (l nlriList) count() (int, error) {
	n := 0
	for len(l.bytes) > 0 {
		bits, size, rest := l.next()
		if bits > l.maxBits() || len(l.bytes) < size {
			return n, fmt.Errorf("NLRI % x: want a length of at most %d bits and its bytes", l.bytes[:min(len(l.bytes), size)], l.maxBits())
		}
		l = rest
		n++
	}
	return n, nil
}

// each calls f for every prefix of a list that count found well formed.
func (l nlriList) each(f func(netip.Prefix)) {
	for len(l.bytes) > 0 {
		bits, size, rest := l.next()
		var addr [16]byte
		copy(addr[:], l.bytes[1:size])
		a := netip.AddrFrom16(addr)
		if !l.six {
			a = netip.AddrFrom4([4]byte(addr[:4]))
		}
		f(netip.PrefixFrom(a, bits))
		l = rest
	}
}

// count is how many prefixes the UPDATE announces and withdraws.
func (u update) count() (announced, withdrawn int, err error) {
	for _, l := range []struct {
		list nlriList
		sum  *int
	}{{u.withdrawn, &withdrawn}, {u.unreach, &withdrawn}, {u.announced, &announced}, {u.reach, &announced}} {
		n, err := l.list.count()
		if err != nil {
			return 0, 0, err
		}
		*l.sum += n
	}
	return announced, withdrawn, nil
}

const (
	attrASPath      = 2
	attrCommunities = 8
	attrReach       = 14
	attrUnreach     = 15
	attrExtended    = 16
	flagExtendedLen = 0x10

	afiIPv4     = 1
	afiIPv6     = 2
	safiUnicast = 1
)

// cutAttr splits off the first attribute.
func cutAttr(b []byte) (code byte, value, rest []byte, ok bool) {
	if len(b) < 3 {
		return 0, nil, nil, false
	}
	head, n := 3, int(b[2])
	if b[0]&flagExtendedLen != 0 {
		if len(b) < 4 {
			return 0, nil, nil, false
		}
		head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
	}
	if len(b) < head+n {
		return 0, nil, nil, false
	}
	return b[1], b[head : head+n], b[head+n:], true
}

// attr returns the value of an attribute, or nil.
func (u update) attr(want byte) []byte {
	for b := u.attrs; len(b) > 0; {
		code, value, rest, ok := cutAttr(b)
		if !ok {
			return nil
		}
		if code == want {
			return value
		}
		b = rest
	}
	return nil
}

// fence returns the number of a fence: an announcement of the fence prefix
// alone, which carries its number as a community. It is of IPv4, which every
// session carries.
func (u update) fence(prefix netip.Prefix) (uint32, bool) {
	n := 1 + (prefix.Bits()+7)/8
	only := u.announced.bytes
	if len(only) != n || len(u.withdrawn.bytes)+len(u.unreach.bytes)+len(u.reach.bytes) > 0 || int(only[0]) != prefix.Bits() {
		return 0, false
	}
	if addr := prefix.Addr().As4(); string(only[1:]) != string(addr[:n-1]) {
		return 0, false
	}
	community := u.attr(attrCommunities)
	if len(community) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(community), true
}

// told returns what the announcement says: the hash of its AS_PATH and its
// lowest valid link bandwidth.
func (u update) told() (path uint64, value float32, valued bool) {
	value, valued = linkbw.Lowest(u.attr(attrExtended))
	return state.HashPath(u.path()), value, valued
}

// path is the AS_PATH, of ASNs with four octets.
func (u update) path() (numbers []uint32) {
	for b := u.attr(attrASPath); len(b) >= 2 && len(b) >= 2+4*int(b[1]); b = b[2+4*int(b[1]):] {
		for i := range int(b[1]) {
			numbers = append(numbers, binary.BigEndian.Uint32(b[2+4*i:]))
		}
	}
	return numbers
}
