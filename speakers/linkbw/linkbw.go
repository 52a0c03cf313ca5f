// Package linkbw turns the link bandwidth extended community of RFC 10005 into
// bytes and back, and decides which values may be used. It keeps every bit of
// what it decodes, hostile values too, and leaves to Valid what to make of
// them. It knows nothing of BGP messages, sessions or multipath sets.
//
// The community is eight octets: type 0x00 (transitive) or 0x40
// (non-transitive), sub-type 0x04, two octets of global administrator and an
// IEEE 754 binary32 number of bytes per second.
package linkbw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Size is the length of one extended community in octets (RFC 4360 section 2).
const Size = 8

const (
	typeTransitive    = 0x00
	typeNonTransitive = 0x40
	subType           = 0x04
	asTrans           = 23456 // RFC 6793 section 9
)

// ErrNotLinkBandwidth says that an extended community is well formed but is
// another one: a receiver goes on to the next community.
var ErrNotLinkBandwidth = errors.New("not a link bandwidth community")

// Community is one link bandwidth extended community (RFC 10005 section 3).
type Community struct {
	Transitive bool    // type 0x00; otherwise 0x40
	ASN        uint16  // global administrator; see GlobalAdministrator
	Value      float32 // bytes/s; any bit pattern, see Valid
}

// Encode gives the community's octets as they are sent. Every value can be
// encoded, an invalid one too, so that hostile routes can be made.
func (c Community) Encode() [Size]byte {
	b := [Size]byte{typeNonTransitive, subType}
	if c.Transitive {
		b[0] = typeTransitive
	}
	binary.BigEndian.PutUint16(b[2:], c.ASN)
	binary.BigEndian.PutUint32(b[4:], math.Float32bits(c.Value))
	return b
}

// Decode reads one community of exactly eight octets. Any other length is an
// error; another type or sub-type is ErrNotLinkBandwidth. NaN, infinities,
// negative and denormal values are no errors and are kept bit by bit: RFC 10005
// section 4 has a receiver ignore such a community, not reject its route.
func Decode(b []byte) (Community, error) {
	if len(b) != Size {
		return Community{}, fmt.Errorf("extended community: length %d: want %d", len(b), Size)
	}
	if !isLinkBandwidth(b) {
		return Community{}, fmt.Errorf("extended community: type %#02x, sub-type %#02x: %w", b[0], b[1], ErrNotLinkBandwidth)
	}
	return decode(b), nil
}

func isLinkBandwidth(b []byte) bool {
	return (b[0] == typeTransitive || b[0] == typeNonTransitive) && b[1] == subType
}

func decode(b []byte) Community {
	return Community{
		Transitive: b[0] == typeTransitive,
		ASN:        binary.BigEndian.Uint16(b[2:]),
		Value:      math.Float32frombits(binary.BigEndian.Uint32(b[4:])),
	}
}

// Valid tells whether the value may be used: finite and positive, or a zero of
// either sign. Negative values are ignored by RFC 10005 section 4. The RFC does
// not mention NaN and infinity; they are treated as negative ones are.
func (c Community) Valid() bool { return valid(c.Value) }

func valid(v float32) bool { return v >= 0 && v <= math.MaxFloat32 } // false for NaN

// Lowest gives the lowest valid value, in bytes/s, of all link bandwidth
// communities in the body of an EXTENDED_COMMUNITIES attribute. Transitivity
// does not matter and zero counts (RFC 10005 section 4); ok is false where
// there is no valid value. Other communities are skipped. A last part shorter
// than a community is ignored: a body of such a length is malformed and for
// the BGP parser to treat (RFC 7606 section 7.14).
func Lowest(attr []byte) (value float32, ok bool) {
	for ; len(attr) >= Size; attr = attr[Size:] {
		if !isLinkBandwidth(attr) {
			continue
		}
		c := decode(attr)
		if c.Valid() && (!ok || c.Value < value) {
			value, ok = c.Value, true
		}
	}
	return value, ok
}

// GlobalAdministrator gives the community's two-octet global administrator for
// an ASN: the ASN itself, or AS_TRANS (23456) where it needs four octets
// (RFC 10005 section 3, RFC 6793 section 9).
func GlobalAdministrator(asn uint32) uint16 {
	if asn > math.MaxUint16 {
		return asTrans
	}
	return uint16(asn)
}

// FromBits gives the value, in bytes/s as it is sent, of a capacity in bits/s.
// It has 24 significant bits: 100 Gb/s becomes 12,499,999,744 bytes/s.
func FromBits(bits uint64) float32 { return float32(float64(bits) / 8) }

// ToBits gives the capacity in bits/s of a received value in bytes/s: exactly
// where that is an integer, else rounded down. Values above the range of
// uint64 give its maximum. A positive value below one bit/s gives 1, since 0
// means that the neighbour wants no traffic. Invalid values give 0.
func ToBits(v float32) uint64 {
	if !valid(v) || v == 0 {
		return 0
	}
	bits := 8 * float64(v) // exact: float64 has room for every float32 times 8
	switch {
	case bits < 1:
		return 1
	case bits >= 1<<64:
		return math.MaxUint64
	}
	return uint64(bits)
}
