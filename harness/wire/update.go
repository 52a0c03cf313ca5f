package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// update is the body of an UPDATE message, split into its three parts.
type update struct {
	withdrawn nlriList
	attrs     []byte
	announced nlriList
}

// nlriList is a list of IPv4 prefixes as on the wire.
type nlriList []byte

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
	return update{withdrawn: withdrawn, attrs: attrs, announced: announced}, nil
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

func (l nlriList) count() (int, error) {
	n := 0
	for len(l) > 0 {
		size := 1 + (int(l[0])+7)/8
		if l[0] > 32 || len(l) < size {
			return n, fmt.Errorf("NLRI % x: want a length of at most 32 bits and its bytes", []byte(l[:min(len(l), size)]))
		}
		l = l[size:]
		n++
	}
	return n, nil
}

// each calls f for every prefix of a list that count found well formed.
func (l nlriList) each(f func(netip.Prefix)) {
	for len(l) > 0 {
		size := 1 + (int(l[0])+7)/8
		var addr [4]byte
		copy(addr[:], l[1:size])
		f(netip.PrefixFrom(netip.AddrFrom4(addr), int(l[0])))
		l = l[size:]
	}
}

const (
	attrASPath      = 2
	attrCommunities = 8
	attrExtended    = 16
	flagExtendedLen = 0x10
)

// attr returns the value of an attribute, or nil.
func (u update) attr(code byte) []byte {
	for b := u.attrs; len(b) >= 3; {
		head, n := 3, int(b[2])
		if b[0]&flagExtendedLen != 0 {
			if len(b) < 4 {
				return nil
			}
			head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
		}
		if len(b) < head+n {
			return nil
		}
		if b[1] == code {
			return b[head : head+n]
		}
		b = b[head+n:]
	}
	return nil
}

// fence returns the number of a fence: an announcement of the fence prefix
// alone, which carries its number as a community.
func (u update) fence(prefix netip.Prefix) (uint32, bool) {
	n := 1 + (prefix.Bits()+7)/8
	if len(u.announced) != n || len(u.withdrawn) > 0 || int(u.announced[0]) != prefix.Bits() {
		return 0, false
	}
	if addr := prefix.Addr().As4(); string(u.announced[1:]) != string(addr[:n-1]) {
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
	var numbers []uint32
	for b := u.attr(attrASPath); len(b) >= 2 && len(b) >= 2+4*int(b[1]); b = b[2+4*int(b[1]):] {
		for i := range int(b[1]) {
			numbers = append(numbers, binary.BigEndian.Uint32(b[2+4*i:]))
		}
	}
	value, valued = linkbw.Lowest(u.attr(attrExtended))
	return state.HashPath(numbers), value, valued
}
