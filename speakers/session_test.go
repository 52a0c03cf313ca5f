package speakers_test

import (
	"slices"
	"testing"

	"github.com/bagrig/bagrig/speakers"
)

// Two prefixes are allowed; the rules speak of spine1's session.
func TestASessionWithTooManyPrefixesEnds(t *testing.T) {
	told := func(prefix int32, path ...uint32) speakers.Input {
		in := announce(spine1, route(1, path...))
		in.Prefix = prefix
		return in
	}
	gone := func(prefix int32) speakers.Input {
		in := withdraw(spine1)
		in.Prefix = prefix
		return in
	}
	up := speakers.Input{Kind: speakers.SessionUp, Bundle: spine1}
	two := []speakers.Input{up, told(0, 201), told(1, 201)}
	three := append(slices.Clone(two), told(2, 201))
	cases := []struct {
		name   string
		inputs [][]speakers.Input // by step
		ceases int                // of the last step
		held   int                // prefixes afterwards
	}{
		{"two are not too many", [][]speakers.Input{two}, 0, 2},
		{"three are, and all are dropped", [][]speakers.Input{three}, 1, 0},
		{"a third one later too", [][]speakers.Input{two, {told(2, 201)}}, 1, 0},
		{"a prefix counts once, however often it is told", [][]speakers.Input{two, {told(0, 201), told(1, 201, 7)}, {told(0, 201, 7), told(0, 201)}}, 0, 2},
		{"and not again after it was withdrawn", [][]speakers.Input{two, {gone(0), gone(0), told(0, 201)}, {gone(1), told(2, 201)}}, 0, 2},
		{"one that is dropped for its path counts", [][]speakers.Input{two, {told(2, 201, edgeASN)}}, 1, 0},
		{"so does one of a down bundle", [][]speakers.Input{{capacity(spine1, 0)}, three}, 1, 0},
		{"what a session reset took away does not", [][]speakers.Input{two, {sessionDown(spine1), up, told(2, 201)}}, 0, 1},
		{"the session is deaf until it is up again", [][]speakers.Input{three, {told(0, 201)}, {sessionDown(spine1), told(1, 201)}}, 0, 0},
		{"and hears then", [][]speakers.Input{three, {sessionDown(spine1), up}, two}, 0, 2},
		{"it may end again", [][]speakers.Input{three, {sessionDown(spine1), up}, three}, 1, 0},
		{"a limit that is lowered ends it", [][]speakers.Input{two, {setTo(t, "import.max-prefixes", "1")}}, 1, 0},
		{"a limit that is lifted does not bring it back", [][]speakers.Input{three, {setTo(t)}, {told(0, 201)}}, 0, 0},
		{"without a limit all are held", [][]speakers.Input{{setTo(t)}, three}, 0, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := edge()
			cfg.Settings = withKnobs(t, "import.max-prefixes", "2")
			core := fed(t, cfg, announce(spine2, route(1, 202)))
			var effects []speakers.Effect
			for _, inputs := range c.inputs {
				effects = step(t, core, 0, inputs...)
			}
			ceases := 0
			for i, e := range effects {
				if e.Kind == speakers.Cease {
					ceases++
					if i != 0 || e.Bundle != spine1 {
						t.Errorf("effect %d: got the end of bundle %d, want it first and of %d", i, e.Bundle, spine1)
					}
				}
			}
			held := 0
			for p := range int32(3) {
				for _, candidate := range core.Candidates(p, nil) {
					if candidate.Bundle == spine1 {
						held++
					}
				}
			}
			if ceases != c.ceases || held != c.held {
				t.Errorf("got %d sessions ended, %d prefixes held, want %d, %d", ceases, held, c.ceases, c.held)
			}
			if got := len(core.Candidates(0, nil)); got < 1 {
				t.Error("got nothing from spine2, want its route: its session has nothing to do with it")
			}
		})
	}
}
