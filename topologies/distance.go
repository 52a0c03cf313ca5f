package topologies

import (
	"fmt"
	"time"
)

// The optic classes. Published: 2x400G FR4-LITE inside a building, LR for short
// distances outside, 800G-ZR coherent beyond about 10 km (reports of Meta's OCP
// 2026 talk, and SemiAnalysis 2026). Ours: that a building ends at 500 m, which
// is the reach of the lite variant of FR4.
const (
	OpticFR4 = "fr4-lite" // 2x400G FR4-LITE, to 500 m
	OpticLR  = "lr"       // to 10 km
	OpticZR  = "zr"       // 800G-ZR coherent, beyond
)

const fr4Reach, lrReach = 500, 10_000 // metres

// OpticFor is the optic class that a length in metres calls for.
func OpticFor(metres int) string {
	switch {
	case metres <= fr4Reach:
		return OpticFR4
	case metres <= lrReach:
		return OpticLR
	}
	return OpticZR
}

// OpticClass is the class that the bundle states, else the one that its length
// calls for.
func (b Bundle) OpticClass() string { return or(b.Optic, OpticFor(b.Length)) }

// Delay is the one-way propagation delay: 5 us a kilometre, light in glass.
func (b Bundle) Delay() time.Duration { return time.Duration(b.Length) * 5 * time.Nanosecond }

// Warnings are sentences about what is odd and yet no error, in the order of
// the topology: a bundle whose stated optic is not the one that its length calls
// for, and a fabric of shallow-buffer switches that is far from its bags.
func (t *Topology) Warnings() (list []string) {
	kinds := map[string]Kind{}
	for _, k := range Kinds() {
		kinds[k.Name] = k
	}
	devices := make(map[string]*Device, len(t.Devices))
	for i := range t.Devices {
		devices[t.Devices[i].Name] = &t.Devices[i]
	}
	for i := range t.Bundles {
		b := &t.Bundles[i]
		if want := OpticFor(b.Length); b.Optic != "" && b.Optic != want {
			list = append(list, fmt.Sprintf("topology %q: bundle %q: optic %q: its length of %s calls for %q", t.Name, b.Name, b.Optic, formatLength(b.Length), want))
		}
		lower, upper := devices[b.A], devices[b.B]
		if lower == nil || upper == nil || upper.Role != Bag {
			continue
		}
		if most := kinds[lower.Kind].EdgeLength; most > 0 && b.Length > most {
			list = append(list, fmt.Sprintf("topology %q: bundle %q: length %s: %s switches have shallow buffers: want at most %s to the bags",
				t.Name, b.Name, formatLength(b.Length), lower.Kind, formatLength(most)))
		}
	}
	return list
}
