package generate

import (
	"encoding/binary"
	"math"
)

// Attribute draws the body of an EXTENDED_COMMUNITIES attribute as a path may bring it:
// no link bandwidth, one, or several of both transitivities, hostile values among them,
// and other communities between.
func Attribute(src Source) (body []byte) {
	for range pick(src, 1, 1, 0, 2, 3) {
		if oneIn(src, 5) { // a route target, and one that looks like it but for its sub-type
			body = append(body, pick(src, byte(0x00), 0x40), pick(src, byte(0x02), 0x05), 0, 1, byte(src.IntN(256)), 0, 0, 9)
		}
		asn := pick(src, uint16(65001), 23456, 0, 65535) // 23456 stands for ASNs of four octets
		body = append(body, pick(src, byte(0x40), 0x00), 0x04)
		body = binary.BigEndian.AppendUint16(body, asn)
		body = binary.BigEndian.AppendUint32(body, math.Float32bits(Bandwidth(src)))
	}
	return body
}

// Bandwidth draws a link bandwidth in bytes/s, any pattern of 32 bits: such as real
// bundles have, awkward ones, and what no bundle has.
func Bandwidth(src Source) float32 {
	switch src.IntN(8) {
	default:
		return float32(float64(between(src, 1, 4096)) * 800e9 / 8)
	case 3:
		return float32(float64(between(src, 1, 64)) * float64(pick(src, speeds...)) / 8)
	case 4: // 48 Pb/s, where a float32 tells 4.3 Gb/s more or less alike
		return float32(48e15/8 + float64(src.IntN(1<<16))*1e8)
	case 5:
		return pick(src, 0, float32(math.Copysign(0, -1)), -1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
			math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32, 0.1, 1)
	case 6: // weights in megabits where bytes are wanted
		return float32(between(src, 1, 1_000_000))
	case 7: // what NSF policies pack into the bits
		return math.Float32frombits(uint32(src.IntN(1<<16))<<16 | uint32(src.IntN(1<<16)))
	}
}
