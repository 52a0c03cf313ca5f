package yamltree

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// MaxCapacity is the largest capacity in bits/s that is believed: 1,000 Pb/s,
// twenty times the largest published region pair. Sums of a few of them still
// fit a uint64.
const MaxCapacity = 1_000_000_000_000_000_000

var units = []struct {
	letter byte
	bits   uint64
}{{'P', 1e15}, {'T', 1e12}, {'G', 1e9}, {'M', 1e6}, {'K', 1e3}}

// ParseCapacity reads bits/s: a plain number, or one with a decimal fraction
// and K, M, G, T or P (powers of 1,000) that comes to whole bits/s. It refuses
// zero, signs, and more than MaxCapacity.
func ParseCapacity(s string) (uint64, error) {
	fail := func() (uint64, error) {
		return 0, fmt.Errorf("capacity %q: want bits/s such as 800G or 6.4T, from 1 to 1000P", shorten(s))
	}
	number, unit := s, uint64(1)
	for _, u := range units {
		if strings.HasSuffix(s, string(u.letter)) {
			number, unit = s[:len(s)-1], u.bits
		}
	}
	whole, fraction, point := strings.Cut(number, ".")
	if point && fraction == "" {
		return fail()
	}
	w, ok := scaled(whole, unit)
	if !ok {
		return fail()
	}
	f := uint64(0)
	for i := 0; i < len(fraction); i++ {
		if fraction[i] < '0' || fraction[i] > '9' {
			return fail()
		}
		if unit < 10 && fraction[i] != '0' {
			return fail() // finer than one bit/s
		}
		unit /= 10
		f += uint64(fraction[i]-'0') * unit
	}
	if v := w + f; v > 0 && v <= MaxCapacity {
		return v, nil
	}
	return fail()
}

// scaled is digits times unit, refused above MaxCapacity.
func scaled(digits string, unit uint64) (uint64, bool) {
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	hi, lo := bits.Mul64(v, unit)
	return lo, hi == 0 && lo <= MaxCapacity
}

// FormatCapacity prints bits/s with the largest unit that needs at most three
// decimals, as ParseCapacity reads it: 800G, 1.6T, 460.8T, 16P.
func FormatCapacity(v uint64) string {
	for _, u := range units {
		if v < u.bits || v%(u.bits/1000) != 0 {
			continue
		}
		s := strconv.FormatUint(v/u.bits, 10)
		if thousandths := v % u.bits / (u.bits / 1000); thousandths > 0 {
			s += strings.TrimRight(fmt.Sprintf(".%03d", thousandths), "0")
		}
		return s + string(u.letter)
	}
	return strconv.FormatUint(v, 10)
}

// Quote prints text so that it reads back as the same text anywhere in a
// document: bare where that is safe, else in double quotes.
func Quote(s string) string {
	if bare(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// bare tells whether text is safe without quotes: it starts with a letter,
// holds nothing but name characters, and is no word that some YAML reader
// takes for something else.
func bare(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9') && !strings.ContainsRune("-_./#", rune(c))) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity":
		return false
	}
	return true
}
