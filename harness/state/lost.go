package state

import "time"

// Lost is the traffic that a run lost and no routing saw: over bundles that lose
// a part of it while their sessions stay up, and over bundles that are down and
// not noticed yet. It is worked out from the hardware tables, each device
// sending to each prefix. What hardware drops because it has no next hop is
// not in it: that is a black hole, and a rule's concern.
type Lost struct {
	Pairs   int     // (device, prefix) that lost traffic, at the moment with most of them
	Of      int     // (device, prefix) that forwarded at that moment
	Worst   float64 // the largest part of one device's traffic to one prefix, 0 to 1
	Where   string  // that device and prefix
	Seconds float64 // virtual seconds of all traffic, on average over (device, prefix)
	Bundles []LostBundle
}

// LostBundle is a time in which a bundle lost traffic unseen.
type LostBundle struct {
	Bundle string
	Part   float64       // of the traffic over it, above 0 to 1
	From   time.Duration // virtual, since the baseline
	Until  time.Duration // virtual, since the baseline; the end of the run where it still does
	Lasts  bool          // it still does
}

// LossRate is what is lost at one moment.
type LossRate struct {
	Pairs, Of int
	Worst     float64
	Where     string
	Mean      float64 // part of the traffic of an average (device, prefix) that forwards
}

// See takes the present rate.
func (l *Lost) See(r LossRate) {
	if r.Pairs > l.Pairs {
		l.Pairs, l.Of = r.Pairs, r.Of
	}
	if r.Worst > l.Worst {
		l.Worst, l.Where = r.Worst, r.Where
	}
}
