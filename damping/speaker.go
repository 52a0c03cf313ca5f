package damping

import "time"

// SpeakerStage is a ToldStage that keeps something per speaker, or must know
// which prefix it stands on. Numbers only tell speakers and prefixes apart.
type SpeakerStage interface {
	ToldStage
	NewSpeaker(speaker uint64) ToldMaker
}

// ToldMaker makes the policies of one stage at one speaker.
type ToldMaker interface {
	NewTold(prefix uint64) ToldPolicy
}

// ChurnHearer is a ToldMaker that wants to know what its speaker receives.
// Received is called with the number of prefixes announced or withdrawn in what
// has just arrived, before the policies hear what came of it.
type ChurnHearer interface {
	Received(now time.Duration, prefixes int)
}

// Speaker is a pipeline's told stages at one speaker. It is not safe for
// concurrent use, nor beside the policies that it made.
type Speaker struct {
	stages []ToldStage
	makers []ToldMaker // nil where the stage keeps nothing per speaker
	hears  []ChurnHearer
}

// NewSpeaker returns the told stages for the speaker of that number.
func (p Pipeline) NewSpeaker(speaker uint64) *Speaker {
	s := &Speaker{stages: p.Told, makers: make([]ToldMaker, len(p.Told))}
	for i, stage := range p.Told {
		maker, ok := stage.(SpeakerStage)
		if !ok {
			continue
		}
		s.makers[i] = maker.NewSpeaker(speaker)
		if h, ok := s.makers[i].(ChurnHearer); ok {
			s.hears = append(s.hears, h)
		}
	}
	return s
}

// NewTold returns the stages as one policy, for the prefix of that number.
func (s *Speaker) NewTold(prefix uint64) ToldPolicy {
	one := func(i int) ToldPolicy {
		if s.makers[i] != nil {
			return s.makers[i].NewTold(prefix)
		}
		return s.stages[i].NewTold()
	}
	switch len(s.stages) {
	case 0:
		return passTold{}
	case 1:
		return one(0)
	}
	c := &toldChain{links: make([]toldLink, len(s.stages))}
	for i := range c.links {
		c.links[i].policy = one(i)
	}
	return c
}

// HearsChurn tells whether any stage wants Received.
func (s *Speaker) HearsChurn() bool { return len(s.hears) > 0 }

// Received tells the stages that want it how many prefixes the speaker has just
// received, announced or withdrawn. Call it before the policies are stepped for
// the same input.
func (s *Speaker) Received(now time.Duration, prefixes int) {
	for _, h := range s.hears {
		h.Received(now, prefixes)
	}
}
