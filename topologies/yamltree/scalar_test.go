package yamltree

import (
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestParseCapacityReadsUnitsAndRefusesTheRest(t *testing.T) {
	tests := []struct {
		text string
		want uint64 // 0: refused
	}{
		{"800G", 800e9}, {"6.4T", 6.4e12}, {"100M", 100e6}, {"2P", 2e15}, {"1K", 1000}, {"1", 1}, {"0.001K", 1},
		{"1.0", 1}, {"1000P", MaxCapacity}, {"1.500G", 1.5e9},
		{"", 0}, {"G", 0}, {"0", 0}, {"0.0T", 0}, {"-1G", 0}, {"+1G", 0}, {"1.G", 0}, {".5G", 0}, {"1.05", 0}, {"1.00000001", 0},
		{"0.0001K", 0}, {"1000.000000000000001P", 0}, {"1001P", 0}, {"1e9", 0}, {"0x10", 0}, {"1_000", 0},
		{"1 G", 0}, {"1g", 0}, {"1GG", 0}, {"18446744073709551616", 0}, {"18446744073709551615P", 0}, {"NaN", 0}, {"inf", 0},
	}
	for _, tt := range tests {
		got, err := ParseCapacity(tt.text)
		if (err != nil) != (tt.want == 0) || got != tt.want {
			t.Errorf("ParseCapacity(%q): got %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestFormatCapacityPicksTheReadableUnit(t *testing.T) {
	for v, want := range map[uint64]string{
		800e9: "800G", 1600e9: "1.6T", 576 * 800e9: "460.8T", 16e15: "16P", 999: "999", 1001: "1.001K", 1_000_001: "1000.001K", MaxCapacity: "1000P", 0: "0",
	} {
		if got := FormatCapacity(v); got != want {
			t.Errorf("FormatCapacity(%d): got %q, want %q", v, got, want)
		}
	}
}

// slowCapacity is ParseCapacity in exact fractions.
func slowCapacity(s string) (uint64, bool) {
	unit := big.NewRat(1, 1)
	for letter, bits := range map[string]int64{"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15} {
		if number, ok := strings.CutSuffix(s, letter); ok {
			s, unit = number, big.NewRat(bits, 1)
			break
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, false
	}
	r.Mul(r, unit)
	if !r.IsInt() || r.Sign() <= 0 || r.Cmp(big.NewRat(MaxCapacity, 1)) > 0 {
		return 0, false
	}
	return r.Num().Uint64(), true
}

func TestCapacityProperties(t *testing.T) {
	properties := gopter.NewProperties(nil)
	properties.Property("what is printed reads back", prop.ForAll(func(v uint64) bool {
		got, err := ParseCapacity(FormatCapacity(v))
		return err == nil && got == v
	}, gen.OneGenOf(gen.UInt64Range(1, MaxCapacity), gen.UInt64Range(1, 5000).Map(func(n uint64) uint64 { return n * 200e9 }))))
	properties.Property("reading agrees with exact fractions", prop.ForAll(func(s string) bool {
		got, err := ParseCapacity(s)
		want, ok := slowCapacity(s)
		return (err == nil) == ok && got == want
	}, gen.RegexMatch(`^[0-9]{1,4}(\.[0-9]{1,17})?[KMGTP]?$`)))
	properties.TestingRun(t)
}

func TestQuotedTextReadsBack(t *testing.T) {
	back := func(s string) bool {
		if !utf8.ValidString(s) {
			return true
		}
		for _, form := range []string{"a: " + Quote(s), "{a: " + Quote(s) + ", b: c}", "- a: " + Quote(s) + "\n"} {
			doc, err := Parse("f.yaml", []byte(form))
			if err != nil {
				t.Logf("Parse(%q): %v", form, err)
				return false
			}
			n := doc.Root()
			if n.IsList() {
				n = n.List()[0]
			}
			if got := n.Map("a", "b").Get("a").Text("?"); got != s || doc.Err() != nil {
				t.Logf("%q: got %q, %v, want %q", form, got, doc.Err(), s)
				return false
			}
		}
		return true
	}
	for _, s := range []string{"", "true", "NULL", "1", "-", "a#b", "a--b#2", "10.0.0.0/8", "a: b", `"`, `\`, "a\nb", "\t", "~", "é", "\x00", "\u2028", "  x "} {
		if !back(s) {
			t.Errorf("%q does not read back from %s", s, Quote(s))
		}
	}
	properties := gopter.NewProperties(nil)
	properties.Property("any text reads back", prop.ForAll(back, gen.AnyString()))
	properties.Property("any name reads back", prop.ForAll(back, gen.RegexMatch(`^[a-z0-9._/#-]{0,12}$`)))
	properties.TestingRun(t)
}
