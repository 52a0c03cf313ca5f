package fib

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func (a u128) big() *big.Int {
	b := new(big.Int).SetUint64(a.hi)
	return b.Or(b.Lsh(b, 64), new(big.Int).SetUint64(a.lo))
}

func (a u256) big() *big.Int {
	b := new(big.Int)
	for i := len(a) - 1; i >= 0; i-- {
		b.Or(b.Lsh(b, 64), new(big.Int).SetUint64(a[i]))
	}
	return b
}

// limb draws 64 bits that are often at an edge, where carries go wrong.
func limb(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return math.MaxUint64 - r.Uint64N(3)
	case 1:
		return r.Uint64N(3)
	}
	return r.Uint64() >> r.UintN(64)
}

func TestWideArithmeticAgreesWithMathBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a, b := u128{limb(r), limb(r)}, u128{limb(r), limb(r)}
		c, d := u128{limb(r), limb(r)}, u128{limb(r), limb(r)}
		x, y := limb(r), limb(r)
		ab, cd := new(big.Int).Mul(a.big(), b.big()), new(big.Int).Mul(c.big(), d.big())
		if got := a.mul(b).big(); got.Cmp(ab) != 0 {
			t.Fatalf("%v times %v: got %v, want %v", a, b, got, ab)
		}
		if got, want := a.mul(b).cmp(c.mul(d)), ab.Cmp(cd); got != want {
			t.Fatalf("compare %v*%v with %v*%v: got %d, want %d", a, b, c, d, got, want)
		}
		if got, want := a.cmp(b), a.big().Cmp(b.big()); got != want {
			t.Fatalf("compare %v with %v: got %d, want %d", a, b, got, want)
		}
		xy := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
		if got := mul64(x, y).big(); got.Cmp(xy) != 0 {
			t.Fatalf("%d times %d: got %v, want %v", x, y, got, xy)
		}
		small := u128{a.hi >> 44, a.lo}
		if got, want := small.times(x>>44).big(), new(big.Int).Mul(small.big(), new(big.Int).SetUint64(x>>44)); got.Cmp(want) != 0 {
			t.Fatalf("%v times %d: got %v, want %v", small, x>>44, got, want)
		}
		if got, want := small.add(x).big(), new(big.Int).Add(small.big(), new(big.Int).SetUint64(x)); got.Cmp(want) != 0 {
			t.Fatalf("%v plus %d: got %v, want %v", small, x, got, want)
		}
	}
}

func TestExcessKeepsTheDigitsOfARatioNearOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		den := u128{r.Uint64() >> 24, limb(r)}
		num := den.add(r.Uint64() >> r.UintN(64))
		if r.IntN(2) == 0 {
			num, den = den, num
		}
		got := ratio{num, den}.excess()
		want, _ := new(big.Rat).SetFrac(new(big.Int).Sub(num.big(), den.big()), den.big()).Float64()
		if math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Fatalf("%v / %v - 1: got %g, want %g", num, den, got, want)
		}
	}
}

func TestDivideIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		quotient := r.Uint64N(MaxWidth)
		divisor := mul64(limb(r)|1, r.Uint64N(1<<20)+1)
		share := limb(r)
		if r.IntN(2) == 0 && divisor.hi == 0 && divisor.lo < 1<<43 {
			share = divisor.lo * quotient
		}
		times := r.Uint64N(MaxWidth) + 1
		want, rest := new(big.Int).QuoRem(mul64(share, times).big(), divisor.big(), new(big.Int))
		if want.Cmp(big.NewInt(1<<40)) > 0 {
			continue
		}
		got, exact := divide(share, times, divisor)
		if int64(got) != want.Int64() || exact != (rest.Sign() == 0) {
			t.Fatalf("%d*%d / %v: got %d exact %v, want %v rest %v", share, times, divisor, got, exact, want, rest)
		}
	}
}
