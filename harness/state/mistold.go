package state

import "time"

// MisTold is how much capacity a run told wrong: what every device tells of
// every prefix with damping, against what it would tell without any, summed over
// devices and prefixes, over virtual time from the baseline on. Areas are
// in capacity-seconds, which are bits: bits/s over seconds.
type MisTold struct {
	Over  float64 // bits: told beyond what an undamped network tells
	Under float64 // bits: told by an undamped network and not here
	Told  float64 // bits: what an undamped network tells
	Now   MisRate // at the end of the run
}

// MisRate is what is told wrong at one moment, in bits/s, as in MisTold.
type MisRate struct{ Over, Under, Told float64 }

// Add lets the present rate last for a time.
func (m *MisTold) Add(d time.Duration) {
	m.Over += float64(m.Now.Over * d.Seconds()) // no fused multiply-add, so that all machines agree
	m.Under += float64(m.Now.Under * d.Seconds())
	m.Told += float64(m.Now.Told * d.Seconds())
}
