package linkbw

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestCommunityHasTheOctetsOfTheRFC(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    Community
		want [Size]byte
	}{
		{"non-transitive 800G", Community{ASN: 65000, Value: 1e11}, [Size]byte{0x40, 4, 0xfd, 0xe8, 0x51, 0xba, 0x43, 0xb7}},
		{"transitive 1 byte/s", Community{Transitive: true, ASN: 1, Value: 1}, [Size]byte{0, 4, 0, 1, 0x3f, 0x80, 0, 0}},
		{"AS_TRANS, zero", Community{ASN: 23456}, [Size]byte{0x40, 4, 0x5b, 0xa0, 0, 0, 0, 0}},
		{"negative", Community{Value: -2}, [Size]byte{0x40, 4, 0, 0, 0xc0, 0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.c.Encode(); got != tc.want {
				t.Errorf("got % x, want % x", got, tc.want)
			}
			got, err := Decode(tc.want[:])
			if err != nil || got != tc.c {
				t.Errorf("decoded: got %+v, %v, want %+v", got, err, tc.c)
			}
		})
	}
}

func TestDecodeRefusesOtherCommunitiesAndLengths(t *testing.T) {
	for _, tc := range []struct {
		name  string
		b     []byte
		other bool // well formed, but another community
	}{
		{"empty", nil, false},
		{"seven octets", []byte{0x40, 4, 0, 1, 0, 0, 0}, false},
		{"nine octets", []byte{0x40, 4, 0, 1, 0, 0, 0, 0, 0}, false},
		{"route target", []byte{0x00, 2, 0, 1, 0, 0, 0, 1}, true},
		{"four-octet-AS type 0x02", []byte{0x02, 4, 0, 1, 0, 0, 0, 1}, true},
		{"four-octet-AS type 0x42", []byte{0x42, 4, 0, 1, 0, 0, 0, 1}, true},
		{"experimental type 0x80", []byte{0x80, 4, 0, 1, 0, 0, 0, 1}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Decode(tc.b)
			if err == nil || errors.Is(err, ErrNotLinkBandwidth) != tc.other {
				t.Errorf("got %v, want ErrNotLinkBandwidth: %t", err, tc.other)
			}
			if got != (Community{}) {
				t.Errorf("got %+v with an error, want the zero value", got)
			}
		})
	}
}

// hostile holds values that a speaker must live with.
var hostile = []struct {
	name  string
	bits  uint32 // of the float32
	valid bool
	toBit uint64 // ToBits
}{
	{"zero", 0, true, 0},
	{"negative zero", 0x80000000, true, 0},
	{"smallest denormal", 1, true, 1},
	{"largest denormal", 0x007fffff, true, 1},
	{"negative denormal", 0x80000001, false, 0},
	{"just below an eighth", 0x3dffffff, true, 1},
	{"an eighth", 0x3e000000, true, 1},
	{"a quarter", 0x3e800000, true, 2},
	{"0.3", 0x3e99999a, true, 2},
	{"one", 0x3f800000, true, 8},
	{"minus one", 0xbf800000, false, 0},
	{"800G", 0x51ba43b7, true, 799999983616},
	{"just below 2^61", 0x5dffffff, true, 1<<64 - 1<<40},
	{"2^61", 0x5e000000, true, math.MaxUint64},
	{"largest", 0x7f7fffff, true, math.MaxUint64},
	{"infinity", 0x7f800000, false, 0},
	{"negative infinity", 0xff800000, false, 0},
	{"quiet NaN", 0x7fc00000, false, 0},
	{"signalling NaN", 0x7f800001, false, 0},
	{"negative NaN with payload", 0xffc12345, false, 0},
}

func TestHostileValuesAreKeptBitByBitAndJudged(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			in := Community{ASN: 7, Value: math.Float32frombits(tc.bits)}.Encode()
			c, err := Decode(in[:])
			if err != nil {
				t.Fatal(err)
			}
			if got := math.Float32bits(c.Value); got != tc.bits {
				t.Errorf("bits: got %#08x, want %#08x", got, tc.bits)
			}
			if got := c.Encode(); got != in {
				t.Errorf("encoded again: got % x, want % x", got, in)
			}
			if got := c.Valid(); got != tc.valid {
				t.Errorf("Valid: got %t, want %t", got, tc.valid)
			}
			if got := ToBits(c.Value); got != tc.toBit {
				t.Errorf("ToBits: got %d, want %d", got, tc.toBit)
			}
		})
	}
}

func TestLowestValidValueCounts(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	routeTarget := []byte{0x00, 2, 0, 1, 0, 0, 0, 0}
	body := func(parts ...any) (b []byte) {
		for _, p := range parts {
			switch p := p.(type) {
			case []byte:
				b = append(b, p...)
			case Community:
				e := p.Encode()
				b = append(b, e[:]...)
			case float32:
				e := Community{Value: p}.Encode()
				b = append(b, e[:]...)
			}
		}
		return b
	}
	for _, tc := range []struct {
		name string
		attr []byte
		want float32
		ok   bool
	}{
		{"none", nil, 0, false},
		{"only other communities", body(routeTarget, routeTarget), 0, false},
		{"one", body(float32(5)), 5, true},
		{"transitivity does not matter", body(Community{Transitive: true, Value: 4}, float32(5)), 4, true},
		{"the transitive one may be higher", body(Community{Transitive: true, Value: 6}, float32(5)), 5, true},
		{"order does not matter", body(float32(9), float32(3), float32(7)), 3, true},
		{"zero counts", body(float32(9), float32(0)), 0, true},
		{"negative ignored", body(float32(-1), float32(9)), 9, true},
		{"NaN first ignored", body(nan, float32(9)), 9, true},
		{"NaN last ignored", body(float32(9), nan), 9, true},
		{"infinity ignored", body(inf, -inf), 0, false},
		{"others skipped", body(routeTarget, float32(2), routeTarget), 2, true},
		{"short last part ignored", body(float32(2), []byte{0x40, 4, 0, 0, 0, 0, 0}), 2, true},
		{"only a short part", []byte{0x40, 4, 0, 0}, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := Lowest(tc.attr)
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %g, %t, want %g, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestFourOctetASNBecomesASTrans(t *testing.T) {
	for _, tc := range []struct {
		asn  uint32
		want uint16
	}{{0, 0}, {65000, 65000}, {65535, 65535}, {65536, 23456}, {4200000000, 23456}, {math.MaxUint32, 23456}} {
		if got := GlobalAdministrator(tc.asn); got != tc.want {
			t.Errorf("GlobalAdministrator(%d): got %d, want %d", tc.asn, got, tc.want)
		}
	}
}

func TestBitsAreSentAsTheNearestFloat32OfBytes(t *testing.T) {
	for _, tc := range []struct {
		bits uint64
		want float32
	}{
		{0, 0}, {1, 0.125}, {8, 1},
		{100e9, 12499999744},      // RFC 10005 values at 100G are inexact
		{800e9, 99999997952},      // one 800G member is told as 0.99999998 of one
		{16e15, 2000000026968064}, // 16 Pb/s: the step is 1.07 Gb/s
		{math.MaxUint64, float32(1 << 61)},
	} {
		if got := FromBits(tc.bits); got != tc.want {
			t.Errorf("FromBits(%d): got %.0f, want %.0f", tc.bits, got, tc.want)
		}
	}
}

func TestCodecProperties(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 2000
	properties := gopter.NewProperties(params)
	properties.Property("decoding what was encoded gives it back, for every bit pattern", prop.ForAll(
		func(transitive bool, asn uint16, bits uint32) bool {
			in := Community{transitive, asn, math.Float32frombits(bits)}
			b := in.Encode()
			out, err := Decode(b[:])
			return err == nil && out.Transitive == in.Transitive && out.ASN == in.ASN && math.Float32bits(out.Value) == bits
		}, gen.Bool(), gen.UInt16(), gen.UInt32()))
	properties.Property("a capacity changes by at most 2^-24 of itself on its way", prop.ForAll(
		func(bits uint64) bool {
			got := new(big.Int).SetUint64(ToBits(FromBits(bits)))
			diff := got.Sub(got, new(big.Int).SetUint64(bits))
			diff.Abs(diff).Lsh(diff, 24)
			return diff.Cmp(new(big.Int).SetUint64(bits)) <= 0
		}, anyMagnitude()))
	properties.Property("a value that was sent once is sent unchanged again", prop.ForAll(
		func(bits uint64) bool {
			v := FromBits(bits)
			return FromBits(ToBits(v)) == v
		}, anyMagnitude()))
	properties.Property("more capacity is never told as less", prop.ForAll(
		func(a, b uint64) bool { return FromBits(min(a, b)) <= FromBits(max(a, b)) },
		anyMagnitude(), anyMagnitude()))
	properties.TestingRun(t)
}

// anyMagnitude generates uint64 of every length in bits.
func anyMagnitude() gopter.Gen {
	return gopter.CombineGens(gen.UInt64(), gen.UIntRange(0, 63)).Map(func(v []any) uint64 {
		return v[0].(uint64) >> v[1].(uint)
	})
}

func FuzzDecode(f *testing.F) {
	for _, h := range hostile {
		b := Community{Transitive: h.bits&1 == 0, ASN: 65000, Value: math.Float32frombits(h.bits)}.Encode()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			want := len(b) == Size && (b[1] != 4 || b[0]&^0x40 != 0)
			if got := errors.Is(err, ErrNotLinkBandwidth); got != want {
				t.Fatalf("% x: got %v, want ErrNotLinkBandwidth: %t", b, err, want)
			}
			if c != (Community{}) {
				t.Fatalf("% x: got %+v with an error", b, c)
			}
			return
		}
		out := c.Encode()
		if diff := cmp.Diff(out[:], b); diff != "" {
			t.Fatalf("encoded again (-got +want):\n%s", diff)
		}
		v := float64(c.Value)
		if want := !math.IsNaN(v) && !math.IsInf(v, 0) && v >= 0; c.Valid() != want {
			t.Fatalf("% x: Valid: got %t, want %t", b, c.Valid(), want)
		}
	})
}

// slowLowest is the obvious way to write Lowest: decode all, keep what is
// valid, take the least.
func slowLowest(attr []byte) (float32, bool) {
	var values []float64
	for i := 0; i+Size <= len(attr); i += Size {
		c, err := Decode(attr[i : i+Size])
		v := float64(c.Value)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			continue
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return 0, false
	}
	least := values[0]
	for _, v := range values {
		least = math.Min(least, v)
	}
	return float32(least), true
}

func FuzzLowest(f *testing.F) {
	var all []byte
	for _, h := range hostile {
		b := Community{Value: math.Float32frombits(h.bits)}.Encode()
		all = append(all, b[:]...)
	}
	f.Add(all)
	f.Add(all[8:20])
	f.Fuzz(func(t *testing.T, attr []byte) {
		got, ok := Lowest(attr)
		want, wantOK := slowLowest(attr)
		if got != want || ok != wantOK {
			t.Fatalf("% x: got %g, %t, want %g, %t", attr, got, ok, want, wantOK)
		}
		if ok && !(Community{Value: got}).Valid() {
			t.Fatalf("% x: got invalid %g", attr, got)
		}
	})
}
