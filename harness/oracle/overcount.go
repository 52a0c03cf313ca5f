package oracle

import (
	"math"
	"slices"
)

// Overcount compares told values with true ones, over all (device, prefix) that
// tell a value and are no origin of the prefix. A ratio of 1 is the truth, one
// above it promises capacity that is not there, and one below it is silent about
// capacity that only longer paths have, or that damping keeps back.
type Overcount struct {
	Pairs          int     // (device, prefix)
	Above          int     // those with a ratio above 1, by more than float32 rounds
	Median         float64 // ratio; 0 without pairs
	Worst          float64 // the largest ratio; infinite where a value is told and nothing can be carried
	Device, Prefix int     // the first ones that have it, as indexes in the topology; -1 without pairs
}

// rounding is the part by which a told value may exceed what it stands for,
// because it is sent as a float32.
const rounding = 1.0 / (1 << 22)

// Overcount judges what is told in another state of the same topology, which may
// be a damped one, by the true values of s: see State.True.
func (s *State) Overcount(told *State) Overcount {
	found := Overcount{Device: -1, Prefix: -1}
	var ratios []float64
	for p := range s.o.prefixes {
		values := s.True(p)
		for d, most := range values {
			e := told.entry(d, p)
			if e.local || !e.present || !e.tells {
				continue
			}
			ratio := ratioOf(told.ToldBits(d, p), float64(most))
			ratios = append(ratios, ratio)
			if ratio > 1+rounding {
				found.Above++
			}
			if found.Device < 0 || ratio > found.Worst*(1+rounding) {
				found.Worst, found.Device, found.Prefix = ratio, d, p
			}
		}
	}
	if found.Pairs = len(ratios); found.Pairs > 0 {
		slices.Sort(ratios)
		found.Median = ratios[len(ratios)/2]
	}
	return found
}

// ratioOf is told over true; nothing told is no lie, also where nothing is there.
func ratioOf(told, most float64) float64 {
	switch {
	case told > 0 && most == 0:
		return math.Inf(1)
	case most == 0:
		return 1
	}
	return told / most
}
