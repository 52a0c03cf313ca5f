package topologies

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDelayIsFiveMicrosecondsAKilometre(t *testing.T) {
	for metres, want := range map[int]time.Duration{0: 0, 1: 5, 300: 1500, 6_000: 30 * time.Microsecond, 80_000: 400 * time.Microsecond, 100_000: 500 * time.Microsecond, maxLength: 25 * time.Millisecond} {
		if got := (Bundle{Length: metres}).Delay(); got != want {
			t.Errorf("%d m: got %v, want %v", metres, got, want)
		}
	}
}

func TestALengthCallsForTheClassThatJustReaches(t *testing.T) {
	for metres, want := range map[int]string{
		0: OpticFR4Lite, 500: OpticFR4Lite, 501: OpticLR, 3_000: OpticLR, 10_000: OpticLR,
		10_001: OpticZR, 80_000: OpticZR, 120_000: OpticZR, maxLength: OpticZR,
	} {
		if got := OpticFor(metres); got != want {
			t.Errorf("%d m: got %s, want %s", metres, got, want)
		}
	}
}

func TestAStatedOpticThatTheLengthDoesNotCallForIsWarnedOf(t *testing.T) {
	top := preset(t, "prometheus-mini")
	for i := range top.Bundles {
		top.Bundles[i].Optic = OpticFor(top.Bundles[i].Length)
	}
	if got := top.Warnings(); got != nil {
		t.Errorf("got %v, want no warning of what the lengths call for", got)
	}
	x := top.Index()
	for name, c := range map[string]struct {
		optic  string
		metres int
	}{
		"r1-f1-s1--r1-f1-e1": {OpticZR, 300},
		"r1-f1-s1--r1-f1-e2": {"", 300},
		"r1-f1-e1--r1-bag1":  {OpticFR4Lite, 3_000},
		"r1-f1-e2--r1-bag2":  {OpticLR, 500},
		"r1-bag1--r2-bag1":   {OpticLR, 80_000},
		"r1-bag2--r2-bag2":   {OpticZR, 2_000_000},
		"r1-bag3--r2-bag3":   {"800G-zr", 80_000},
	} {
		b := &top.Bundles[x.Bundle[name]]
		b.Optic, b.Length = c.optic, c.metres
	}
	if err := Validate(top); err != nil {
		t.Errorf("got %v, want a warning to be no error", err)
	}
	var got []string
	for _, w := range top.Warnings() {
		got = append(got, w.String())
	}
	want := []string{
		`bundle "r1-f1-s1--r1-f1-e1": optic "800G-ZR": reaches 120km, the bundle is only 300m long: 2x400G-FR4-LITE would do`,
		`bundle "r1-f1-e1--r1-bag1": optic "2x400G-FR4-LITE": reaches 500m, the bundle is 3km long: want LR`,
		`bundle "r1-f1-e2--r1-bag2": optic "LR": reaches 10km, the bundle is only 500m long: 2x400G-FR4-LITE would do`,
		`bundle "r1-bag1--r2-bag1": optic "LR": reaches 10km, the bundle is 80km long: want 800G-ZR`,
		`bundle "r1-bag2--r2-bag2": optic "800G-ZR": spans 120km at most, the bundle is 2000km long: it needs amplifiers on the way`,
		`bundle "r1-bag3--r2-bag3": optic "800G-zr": not a class that is known: want 2x400G-FR4-LITE, LR or 800G-ZR`,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

// The names stand in YAML as they are, and Validate takes them.
func TestOpticNamesNeedNoQuotes(t *testing.T) {
	top := preset(t, "prometheus-mini")
	for i, c := range opticClasses {
		top.Bundles[i].Optic = c.name
	}
	data, err := Write(top)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read("x.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range opticClasses {
		if got := again.Bundles[i].Optic; got != c.name {
			t.Errorf("got %q, want %q", got, c.name)
		}
	}
}
