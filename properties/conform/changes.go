package conform

import (
	"fmt"
	"slices"
	"strings"
)

// heardTimes is a word for how often the observer heard of the prefix.
func (t *trial) heardTimes(name string) string {
	announced, withdrawn := t.times(name)
	var words []string
	for _, w := range []struct {
		n    int
		what string
	}{{announced, "told"}, {withdrawn, "withdrawn"}} {
		switch {
		case w.n == 1:
			words = append(words, w.what+" once")
		case w.n > 1:
			words = append(words, fmt.Sprintf("%s %d times", w.what, w.n))
		}
	}
	if len(words) == 0 {
		return wordSilent
	}
	return strings.Join(words, ", ")
}

const (
	wordSilent = "silent"
	wordOnce   = "told once"
)

// changeChecks change a value, and nothing else, on a route that is there.
func changeChecks() (list []Check) {
	for _, v := range []struct {
		name, text    string
		before, after [][]byte
		accept        []string
	}{
		{"lower", "1 Gb/s becomes 0.5 Gb/s", [][]byte{transitive(speed)}, [][]byte{transitive(speed / 2)}, []string{wordOnce}},
		{"higher", "1 Gb/s becomes 2 Gb/s", [][]byte{transitive(speed)}, [][]byte{transitive(2 * speed)}, []string{wordOnce}},
		{"least", "1 Gb/s becomes the next float32", [][]byte{transitive(speed)}, [][]byte{bits(0x4cee6b29)}, []string{wordOnce}},
		{"to-zero", "1 Gb/s becomes 0", [][]byte{transitive(speed)}, [][]byte{transitive(0)}, []string{wordOnce}},
		{"from-zero", "0 becomes 1 Gb/s", [][]byte{transitive(0)}, [][]byte{transitive(speed)}, []string{wordOnce}},
		{"added", "a value is added", nil, [][]byte{transitive(speed)}, []string{wordOnce}},
		{"removed", "the value is removed", [][]byte{transitive(speed)}, nil, []string{wordOnce}},
		{"same-again", "the very same route comes again", [][]byte{transitive(speed)}, [][]byte{transitive(speed)}, []string{wordSilent}},
		{"order", "two values change places", [][]byte{transitive(speed), transitive(2 * speed)}, [][]byte{transitive(2 * speed), transitive(speed)}, []string{wordSilent, wordOnce}},
	} {
		list = append(list, Check{
			Name: "change-" + v.name, Sent: v.text + ", next hop and path unchanged: how often do neighbours hear of it", Refs: []string{"RFC 10005 3.1", "RFC 4271 9.1"}, Accept: v.accept,
			ask: func(t *trial) string {
				t.tell("a", v.before...)
				t.settle("a")
				if t.err == nil && t.at("o") == nil {
					return wordNoRoute
				}
				was := t.carried(t.at("o"), v.before...)
				t.mark()
				t.tell("a", v.after...)
				t.settle("a")
				word := t.heardTimes("o")
				if now := t.carried(t.at("o"), v.after...); (was == wordAltered) != (now == wordAltered) || now == wordNoRoute {
					return now
				}
				t.detail = ""
				return word
			},
		})
	}
	return append(list, changeAsideChecks()...)
}

// changeAsideChecks change more than one value, or the value of one path among two.
func changeAsideChecks() []Check {
	return []Check{
		{Name: "change-form", Sent: "a transitive value becomes a non-transitive one and back, ten times: the session and the route stay", Refs: []string{"RFC 10005 3.2"}, Accept: anyForm, ask: func(t *trial) string {
			for range 10 {
				t.tell("a", transitive(speed))
				t.tell("a", nonTransitive(speed))
			}
			t.tell("a", transitive(speed))
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed))
		}},
		{Name: "change-ibgp", Sent: "1 Gb/s becomes 0.5 Gb/s: how often does an iBGP neighbour hear of it", Refs: []string{"RFC 10005 3.3.2"}, Accept: []string{wordOnce}, Needs: []Facility{Internal}, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			t.mark()
			t.tell("a", transitive(speed/2))
			t.settle("a")
			return t.heardTimes("i1")
		}},
		{Name: "best-path", Sent: "two paths: the one that is told has 1 Gb/s, the other 2, then 0.5 Gb/s: the told path stays", Refs: []string{"RFC 10005 3.2"}, Accept: []string{"stays"}, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			t.tell("b", transitive(2*speed))
			t.settle("b")
			first := t.at("o")
			t.tell("b", transitive(speed/2))
			t.settle("b")
			second := t.at("o")
			switch {
			case first == nil || second == nil:
				return wordNoRoute
			case slices.Equal(first.Path, second.Path):
				return "stays"
			}
			return "moves"
		}},
		{Name: "one-missing", Sent: "two paths, of which one has a value: nothing is told that neither had", Refs: []string{"RFC 10005 4", "RT-1.52"}, Accept: []string{wordNone, "1000M"}, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			t.tell("b")
			t.settle("b")
			return value(t.at("o"))
		}},
	}
}

// gone is the word for the observer's route after the first one had to go.
func (t *trial) gone(name string) string {
	if t.at(name) == nil {
		return wordWithdrawn
	}
	return wordStale
}

// removalChecks end a route in every way there is.
func removalChecks() []Check {
	// The device's own ASN in the path makes a route unusable, and a route that
	// it replaces is gone all the same (RFC 4271 sections 9 and 9.1.2).
	looped := func(t *trial) offer {
		return offer{ext: [][]byte{transitive(speed)}, path: []uint32{t.bench.device.ASN}}
	}
	check := func(name, text string, refs, accept []string, needs []Facility, ask func(t *trial) string) Check {
		return Check{Name: name, Sent: text, Refs: refs, Accept: accept, Needs: needs, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			if t.err == nil && t.at("o") == nil {
				return wordNoRoute
			}
			return ask(t)
		}}
	}
	withdrawn := []string{wordWithdrawn}
	return []Check{
		check("withdrawal", "the route is withdrawn", []string{"RFC 4271 9"}, withdrawn, nil, func(t *trial) string {
			t.withdraw("a")
			t.settle("a")
			return t.gone("o")
		}),
		check("withdrawal-once", "the route is withdrawn: how often does the neighbour hear of it", []string{"RFC 4271 9"}, []string{"withdrawn once"}, nil, func(t *trial) string {
			t.mark()
			t.withdraw("a")
			t.settle("a")
			return t.heardTimes("o")
		}),
		check("withdrawal-ibgp", "the route is withdrawn; what iBGP neighbours hold", []string{"RFC 4271 9"}, withdrawn, []Facility{Internal}, func(t *trial) string {
			t.withdraw("a")
			t.settle("a")
			return t.gone("i1")
		}),
		check("looped-replacement", "the route is replaced by one whose path holds the device's ASN", []string{"RFC 4271 9", "RFC 4271 9.1.2"}, withdrawn, nil, func(t *trial) string {
			t.announce("a", looped(t))
			t.settle("a")
			return t.gone("o")
		}),
		check("looped-then-clean", "a looped replacement, and then the first route again", []string{"RFC 4271 9"}, anyForm, nil, func(t *trial) string {
			t.announce("a", looped(t))
			t.tell("a", transitive(speed))
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed))
		}),
		check("looped-other-path", "a looped replacement where another path is there: that one is told", []string{"RFC 4271 9.1"}, []string{"the other path"}, nil, func(t *trial) string {
			t.tell("b", transitive(speed))
			t.settle("b")
			t.announce("a", looped(t))
			t.settle("a")
			return t.other()
		}),
		check("withdrawal-other-path", "one of two paths is withdrawn: the other one is told", []string{"RFC 4271 9.1"}, []string{"the other path"}, nil, func(t *trial) string {
			t.tell("b", transitive(speed))
			t.settle("b")
			t.withdraw("a")
			t.settle("a")
			return t.other()
		}),
		check("replaced-by-observer-loop", "the route is replaced by one whose path holds the neighbour's ASN: that neighbour keeps no other", []string{"RFC 4271 9.1.3"}, []string{wordWithdrawn, "told with the loop"}, nil, func(t *trial) string {
			t.announce("a", offer{ext: [][]byte{transitive(speed)}, path: []uint32{t.bench.sessions["o"].peer.ASN}})
			t.settle("a")
			r := t.at("o")
			if r != nil && slices.Contains(r.Path, t.bench.sessions["o"].peer.ASN) {
				return "told with the loop"
			}
			return t.gone("o")
		}),
	}
}

// other tells whether the observer holds the path by b.
func (t *trial) other() string {
	r := t.at("o")
	switch {
	case r == nil:
		return wordWithdrawn
	case slices.Contains(r.Path, t.bench.sessions["b"].peer.ASN):
		return "the other path"
	}
	return wordStale
}
