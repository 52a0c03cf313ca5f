package harness

import (
	"fmt"
	"slices"
	"time"

	"github.com/bagrig/bagrig/harness/state"
)

// losses follows the traffic that is lost and no routing sees. What is lost
// changes only at a quiet; where time passes while the network gets quiet, what is
// lost then counts from the change on.
type losses struct {
	net    *state.Network
	part   []float64 // by bundle, as events set it
	now    state.LossRate
	total  state.Lost
	window state.Lost // of the window that is open, or was last; without bundles
	open   []int      // by bundle: its entry in total.Bundles that lasts, from 1; 0 = none
}

// see takes what is lost at a quiet.
func (l *losses) see(s *state.Snapshot, now time.Duration) {
	for b := range s.Bundles {
		l.bundle(b, s.Bundles[b].Lost, now)
	}
	l.now = state.LossRate{}
	if slices.Max(l.open) > 0 {
		l.now = lossRate(l.net, s)
	}
	l.total.See(l.now)
	l.window.See(l.now)
}

func (l *losses) bundle(b int, part float64, now time.Duration) {
	if at := l.open[b]; at > 0 {
		last := &l.total.Bundles[at-1]
		if last.Part == part {
			return
		}
		last.Until, last.Lasts, l.open[b] = now, false, 0
	}
	if part > 0 {
		l.total.Bundles = append(l.total.Bundles, state.LostBundle{Bundle: l.net.Topology.Bundles[b].Name, Part: part, From: now, Lasts: true})
		l.open[b] = len(l.total.Bundles)
	}
}

func (l *losses) any() bool { return slices.Max(l.open) > 0 }

// add lets what is lost last for a time.
func (l *losses) add(d time.Duration) {
	l.total.Seconds += float64(l.now.Mean * d.Seconds()) // here and below: no fused multiply-add, so that all machines agree
	l.window.Seconds += float64(l.now.Mean * d.Seconds())
}

// sum is what was lost until now.
func (l *losses) sum(now time.Duration) *state.Lost {
	if len(l.total.Bundles) == 0 {
		return nil
	}
	sum := l.total
	sum.Bundles = slices.Clone(sum.Bundles)
	for i := range sum.Bundles {
		if sum.Bundles[i].Lasts {
			sum.Bundles[i].Until = now
		}
	}
	return &sum
}

// begin starts a window, in which whatever is lost already counts.
func (l *losses) begin() {
	l.window = state.Lost{}
	l.window.See(l.now)
}

// lossRate walks all prefixes through the hardware.
func lossRate(net *state.Network, s *state.Snapshot) (rate state.LossRate) {
	sum := 0.0
	for p := range net.Topology.Prefixes {
		w := lossWalk{net: net, s: s, prefix: p, known: make([]float64, len(s.Devices))}
		for d := range w.known {
			w.known[d] = -1
		}
		for d := range s.Devices {
			if len(s.Devices[d].Routes[p].FIB.Members) == 0 {
				continue
			}
			lost := w.from(d)
			rate.Of++
			sum += lost
			if lost > 0 {
				rate.Pairs++
			}
			if lost > rate.Worst {
				rate.Worst = lost
				rate.Where = fmt.Sprintf("%s to %s", net.Topology.Devices[d].Name, net.Topology.Prefixes[p].Prefix)
			}
		}
	}
	if rate.Of > 0 {
		rate.Mean = sum / float64(rate.Of)
	}
	return rate
}

type lossWalk struct {
	net    *state.Network
	s      *state.Snapshot
	prefix int
	known  []float64 // by device: the part of its traffic that is lost; -1 = not known yet
}

// from is the part of a device's traffic that is lost on its way. A device that
// is on the way to itself counts as losing nothing there: loops are a rule's.
func (w *lossWalk) from(d int) float64 {
	if w.known[d] >= 0 {
		return w.known[d]
	}
	w.known[d] = 0
	total, lost := 0.0, 0.0
	for _, m := range w.s.Devices[d].Routes[w.prefix].FIB.Members {
		ends, part := w.net.Index.Ends[m.ID], w.s.Bundles[m.ID].Lost
		total += float64(m.Weight)
		lost += float64(float64(m.Weight) * (part + float64((1-part)*w.from(ends[0]+ends[1]-d))))
	}
	if total > 0 {
		w.known[d] = lost / total
	}
	return w.known[d]
}
