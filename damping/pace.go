package damping

import (
	"fmt"
	"math/bits"
	"time"
)

// Pace keeps a least interval between two advertisements of a prefix, as the
// MinRouteAdvertisementInterval of RFC 4271 section 9.2.1.1 does (30 s on eBGP
// there, 200 ms in BGP++, 0 in FRR): a change in the interval waits for its
// end, and only the last value is then told. Loss of the last path is told at
// once, and starts no interval; what comes back waits for the one that runs.
//
// Each interval is drawn from 0.75 to 1 times Interval (RFC 4271 section 10),
// by a hash of Seed, the numbers of the speaker and the prefix, and a count: the
// same inputs always give the same times, and no two prefixes beat together.
type Pace struct {
	Interval time.Duration // 0 or more; 0 tells everything at once
	Jitter   bool          // draw the interval; false is Interval always
	Seed     uint64
}

// Validate returns an error when Interval is negative.
func (p Pace) Validate() error {
	if p.Interval < 0 {
		return fmt.Errorf("pace: interval %v: want 0 or more", p.Interval)
	}
	return nil
}

func (p Pace) String() string {
	if p.Jitter {
		return fmt.Sprintf("pace %v jitter seed %d", p.Interval, p.Seed)
	}
	return fmt.Sprintf("pace %v", p.Interval)
}

// Law states that news, bad news too, waits for one interval at the most. In any
// window W what is told of a path is told floor(W/I) + 1 times at the most, I
// being the shortest interval, and each may be withdrawn, as may be the one told
// before: 3(floor(W/I) + 1) are enough.
func (p Pace) Law() Law {
	l := passLaw()
	l.Late, l.Settle = max(p.Interval, 0), max(p.Interval, 0)
	if p.Interval > 0 {
		l.Burst, l.Refill = 3, p.Interval
		if p.Jitter {
			l.Refill = max(p.Interval-p.Interval/4, 1)
		}
	}
	return l
}

// NewTold returns the policy for prefix 0 of speaker 0.
func (p Pace) NewTold() ToldPolicy { return p.NewSpeaker(0).NewTold(0) }

// NewSpeaker returns the maker of policies for the prefixes of one speaker.
func (p Pace) NewSpeaker(speaker uint64) ToldMaker {
	p.Interval = max(p.Interval, 0)
	return &paceSpeaker{Pace: p, speaker: mix(p.Seed ^ mix(speaker+1))}
}

type paceSpeaker struct {
	Pace
	speaker uint64
}

// NewTold implements ToldMaker.
func (s *paceSpeaker) NewTold(prefix uint64) ToldPolicy {
	return &paced{speaker: s, draws: mix(s.speaker ^ mix(prefix+1))}
}

// paced is the policy of one prefix.
type paced struct {
	speaker *paceSpeaker
	draws   uint64
	told    Value
	free    time.Duration // the end of the interval
}

// Step needs no memory of now: an earlier time only waits longer.
func (p *paced) Step(now time.Duration, in Value) (Value, time.Duration) {
	switch {
	case in == p.told:
	case in.Reach == Gone:
		p.told = in
	case now < p.free:
		return p.told, p.free
	default:
		p.told, p.free = in, later(now, p.interval())
	}
	return p.told, Never
}

func (p *paced) interval() time.Duration {
	whole := p.speaker.Interval
	if !p.speaker.Jitter {
		return whole
	}
	p.draws = mix(p.draws)
	quarter, _ := bits.Mul64(uint64(whole/4)+1, p.draws)
	return whole - time.Duration(quarter)
}

// mix is the finalizer of SplitMix64: one number to one other, well spread.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
