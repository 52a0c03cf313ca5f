package topologies

import (
	"fmt"
	"time"
)

// DelayPerMetre is the one-way delay of light in fibre: 5 ns/m, 5 us/km, as
// FBOSS counts when it turns a measured delay into a length. Published; what
// optics and chips add is not in it.
const DelayPerMetre = 5 * time.Nanosecond

// Delay is the bundle's one-way propagation delay, from its length.
func (b Bundle) Delay() time.Duration { return time.Duration(b.Length) * DelayPerMetre }

// The optic classes, as Bundle.Optic names them, and how far each reaches in
// metres. That Meta has 2x400G FR4-LITE inside buildings, LR on short links
// between them and 800G-ZR beyond about 10 km is published (reports on
// Prometheus, 2026); that the reach alone decides, for members of any speed,
// is ours.
const (
	OpticFR4Lite = "2x400G-FR4-LITE" // inside a building
	OpticLR      = "LR"              // between buildings
	OpticZR      = "800G-ZR"         // coherent; between campuses

	ReachFR4Lite = 500     // published: the length FBOSS has for FR4_LITE_2x400G
	ReachLR      = 10_000  // published: FBOSS names it LR4_2x400G_10KM, and ZR begins at about 10 km
	ReachZR      = 120_000 // published: OIF 800ZR, one amplified span of 80 to 120 km
)

type opticClass struct {
	name  string
	reach int
}

// opticClasses are in ascending order of reach, and of cost and power.
var opticClasses = [...]opticClass{{OpticFR4Lite, ReachFR4Lite}, {OpticLR, ReachLR}, {OpticZR, ReachZR}}

// OpticFor is the class that a length in metres calls for: the one that just
// reaches. Beyond the reach of all it is OpticZR, over a line with amplifiers
// between its spans.
func OpticFor(metres int) string {
	for _, c := range opticClasses {
		if metres <= c.reach {
			return c.name
		}
	}
	return OpticZR
}

// Warning is something in a valid topology that cannot be meant.
type Warning struct {
	Bundle string // its name
	Text   string // field, value and what would be expected
}

func (w Warning) String() string { return fmt.Sprintf("bundle %q: %s", w.Bundle, w.Text) }

// Warnings gives, in the order of the topology, the bundles whose stated optic
// is not the one that their length calls for: one that does not reach, one that
// reaches farther than is needed, one that is no class. A bundle that states no
// optic has none. The members of a bundle have one length, so that skew between
// them cannot be judged. Beside these the bundles between a bag and a fabric
// whose kind wants to be near it, see Kind.EdgeLength.
func (t *Topology) Warnings() []Warning {
	var list []Warning
	x, kinds := t.Index(), map[string]Kind{}
	for _, k := range Kinds() {
		kinds[k.Name] = k
	}
	for i := range t.Bundles {
		b := &t.Bundles[i]
		if text := opticWarning(b); text != "" {
			list = append(list, Warning{b.Name, text})
		}
		lower, upper := x.Ends[i][0], x.Ends[i][1]
		if lower < 0 || upper < 0 || t.Devices[upper].Role != Bag {
			continue
		}
		kind := t.Devices[lower].Kind
		if most := kinds[kind].EdgeLength; most > 0 && b.Length > most {
			list = append(list, Warning{b.Name, fmt.Sprintf("length %s: %s switches have shallow buffers: want at most %s to the bags",
				formatLength(b.Length), kind, formatLength(most))})
		}
	}
	return list
}

func opticWarning(b *Bundle) string {
	if b.Optic == "" {
		return ""
	}
	want, length := OpticFor(b.Length), formatLength(b.Length)
	for _, c := range opticClasses {
		switch {
		case c.name != b.Optic:
		case b.Length > c.reach && want == c.name:
			return fmt.Sprintf("optic %q: spans %s at most, the bundle is %s long: it needs amplifiers on the way", c.name, formatLength(c.reach), length)
		case b.Length > c.reach:
			return fmt.Sprintf("optic %q: reaches %s, the bundle is %s long: want %s", c.name, formatLength(c.reach), length, want)
		case want != c.name:
			return fmt.Sprintf("optic %q: reaches %s, the bundle is only %s long: %s would do", c.name, formatLength(c.reach), length, want)
		default:
			return ""
		}
	}
	return fmt.Sprintf("optic %q: not a class that is known: want %s, %s or %s", b.Optic, OpticFR4Lite, OpticLR, OpticZR)
}
