package properties

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/properties/generate"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/linkbw"
	"github.com/bagrig/bagrig/topologies"
)

// TestHostileLinkBandwidthIsToldAsTheRulesSay draws what several neighbours of an edge
// send, and compares what it tells with a slow twin of the rules: decoded, the lowest
// valid value of a path, at most the bundle, summed exactly, and rounded once.
func TestHostileLinkBandwidthIsToldAsTheRulesSay(t *testing.T) {
	seed := seedOfRun(t)
	for i := range casesOfRun(t, 5000) {
		src := generate.FromRand(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		core, members := edgeThatHears(t, src)
		got := core.Told(0)
		want := twinTold(members)
		if !got.Present || got.Valued != (want != nil) || want != nil && got.Value != *want {
			t.Fatalf("BAGRIG_SEED=%d, case %d: told %+v, want %v of %+v", seed, i, *got, want, members)
		}
	}
}

// heardBandwidth is what one neighbour sends, and the bundle that it comes over.
type heardBandwidth struct {
	body     []byte
	capacity uint64
}

// edgeThatHears is an edge that has heard a route from every spine below it.
func edgeThatHears(t *testing.T, src generate.Source) (*speakers.Core, []heardBandwidth) {
	t.Helper()
	cfg := speakers.Config{ASN: 4200001001, Role: topologies.Edge, Prefixes: 1}
	var members []heardBandwidth
	var inputs []speakers.Input
	for n := range 1 + src.IntN(4) {
		m := heardBandwidth{generate.Attribute(src), uint64(1+src.IntN(4096)) * 3200e9}
		members = append(members, m)
		cfg.Sessions = append(cfg.Sessions, speakers.Session{
			Bundle: int32(n), Neighbor: int32(n), NeighborASN: 65001 + uint32(n), NeighborRole: topologies.Spine, Capacity: m.capacity,
		})
		route := speakers.Route{Path: []uint32{65001 + uint32(n)}}
		route.Value, route.Valued = linkbw.Lowest(m.body)
		inputs = append(inputs, speakers.Input{Kind: speakers.SessionUp, Bundle: int32(n)}, speakers.Input{Kind: speakers.Announce, Bundle: int32(n), Route: &route})
	}
	above := int32(len(members))
	cfg.Sessions = append(cfg.Sessions, speakers.Session{Bundle: above, Neighbor: 100, NeighborASN: 4200001000, NeighborRole: topologies.Bag, Capacity: 1e15})
	inputs = append(inputs, speakers.Input{Kind: speakers.SessionUp, Bundle: above})
	core := speakers.New(cfg)
	if _, err := core.Step(0, inputs, nil); err != nil {
		t.Fatal(err)
	}
	return core, members
}

// twinTold is what is told, in bytes/s, from the text of the rules: nil where a member
// without a valid value makes the set equal.
func twinTold(members []heardBandwidth) *float32 {
	sum := new(big.Int)
	for _, m := range members {
		bits := twinBits(m.body)
		if bits == nil {
			return nil
		}
		if capacity := new(big.Int).SetUint64(m.capacity); bits.Cmp(capacity) > 0 {
			bits = capacity
		}
		sum.Add(sum, bits)
	}
	bytes := new(big.Rat).SetFrac(sum, big.NewInt(8))
	value, _ := bytes.Float32() // the nearest, ties to even, as on the wire
	return &value
}

// twinBits is the lowest valid value of a path in whole bits/s, a positive one at
// least 1; nil where there is none.
func twinBits(body []byte) (lowest *big.Int) {
	for part := range slices.Chunk(body, 8) {
		if part[0]&^0x40 != 0 || part[1] != 0x04 {
			continue // transitivity is the bit that does not matter
		}
		value := math.Float32frombits(binary.BigEndian.Uint32(part[4:]))
		if f := float64(value); math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
			continue
		}
		exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(float64(value)), big.NewRat(8, 1))
		bits := new(big.Int).Quo(exact.Num(), exact.Denom())
		if bits.Sign() == 0 && exact.Sign() > 0 {
			bits.SetInt64(1)
		}
		if lowest == nil || bits.Cmp(lowest) < 0 {
			lowest = bits
		}
	}
	return lowest
}

// TestWhatIsToldIsHeardAlike sends what an edge tells through the codec to a bag, which
// must hold the same value in either transitivity and from an ASN of any length.
func TestWhatIsToldIsHeardAlike(t *testing.T) {
	seed := seedOfRun(t)
	for i := range casesOfRun(t, 5000) {
		src := generate.FromRand(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		value := generate.Bandwidth(src)
		var body []byte
		for _, transitive := range []bool{src.IntN(2) == 0, src.IntN(2) == 0} {
			asn := uint32(src.IntN(1 << 31))
			sent := linkbw.Community{Transitive: transitive, ASN: linkbw.GlobalAdministrator(asn), Value: value}
			if want := asn; asn > math.MaxUint16 && sent.ASN != 23456 || asn <= math.MaxUint16 && uint32(sent.ASN) != want {
				t.Fatalf("BAGRIG_SEED=%d, case %d: ASN %d is told as %d, want itself or AS_TRANS", seed, i, asn, sent.ASN)
			}
			octets := sent.Encode()
			body = append(body, octets[:]...)
			back, err := linkbw.Decode(octets[:])
			if err != nil || back.Transitive != transitive || back.ASN != sent.ASN || math.Float32bits(back.Value) != math.Float32bits(value) {
				t.Fatalf("BAGRIG_SEED=%d, case %d: sent %+v, heard %+v, %v", seed, i, sent, back, err)
			}
		}
		got, ok := linkbw.Lowest(body)
		if valid := value >= 0 && !math.IsInf(float64(value), 1); ok != valid || ok && got != value {
			t.Fatalf("BAGRIG_SEED=%d, case %d: %v twice is heard as %v, %t", seed, i, value, got, ok)
		}
		if bits := twinBits(body); ok && linkbw.FromBits(linkbw.ToBits(value)) != value && value >= 1<<21 && value < 1<<60 {
			t.Fatalf("BAGRIG_SEED=%d, case %d: %v is %v bits/s, and these are told as %v", seed, i, value, bits, linkbw.FromBits(linkbw.ToBits(value)))
		}
	}
}
