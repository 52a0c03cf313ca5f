package properties

import (
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness"
)

// found are cases that earlier forms of a rule, or of what a rule is judged by,
// got wrong. The suite plays them before it draws others.
var found = []struct {
	name   string
	preset string // the only one that has these bundles; empty = all
	events string
}{
	{"a session that comes up is told what its sender learns over others that do", "", `
  - down: {device: r2-bag1}`},
	{"of two bundles of one path the one hides the other", "", `
  - degrade: {bundle: r1-f2-s2--r1-f2-e2, members: 24}
  - degrade: {bundle: r2-f4-e2--r2-bag2, members: 1}`},
	{"the same where a sum is between them", "spread-mini", `
  - degrade: {bundle: r1-bag2--r2-bag4, members: 1}
  - degrade: {bundle: r1-f4-s2--r1-f4-e2, members: 28}`},
	{"any one of several bundles makes a difference behind another", "spread-mini", `
  - down: {device: r1-bag2}
  - degrade: {bundle: r1-f2-e2--r1-bag2, members: 15}`},
	{"the same below a fabric", "spread-mini", `
  - degrade: {bundle: r1-bag3--r2-bag3, members: 4}
  - down: {device: r1-f3-s1}
  - degrade: {bundle: r1-f3-s2--r1-f3-e3, members: 14}`},
	{"good news reach a device before the bad news of the same moment", "", `
  - down: {bundle: r1-bag1--r2-bag1, at: 15s}
  - up: {bundle: r1-bag1--r2-bag1, at: 35s}
  - down: {bundle: r2-f2-s1--r2-f2-e1, at: 35s}`},
	{"the same with several bad ones", "", `
  - down: {bundle: r2-f4-e2--r2-bag2, at: 15s}
  - up: {bundle: r2-f4-e2--r2-bag2, at: 25s}
  - down: {device: r2-f1-s2, at: 25s}`},
	{"the same with several good ones", "", `
  - down: {device: r2-f3-e1}
  - restore: {device: r2-f3-e1, at: 15s}
  - down: {bundle: r2-f2-s2--r2-f2-e1, at: 15s}`},
	{"changes of one bundle at one moment", "", `
  - degrade: {bundle: r1-bag1--r2-bag1, members: 24, at: 5s}
  - restore: {bundle: r1-bag1--r2-bag1, at: 5s}
  - down: {bundle: r1-bag2--r2-bag2, at: 5s}
  - up: {bundle: r1-bag2--r2-bag2, at: 5s}
  - down: {bundle: r1-bag2--r2-bag2, at: 5s}`},
	{"an event that changes no bundle while others are under way", "", `
  - flap: {bundle: r1-f1-e1--r1-bag1, members: 8, count: 2, period: 20s, at: 5s}
  - up: {device: r2-bag1, at: 15s}`},
}

// found plays the cases of the list.
func (s *suite) found(t *testing.T) {
	for _, tc := range found {
		if tc.preset != "" && tc.preset != s.maker.t.Name {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			text := "topology: " + s.maker.t.Name + "\nevents:" + strings.ReplaceAll(tc.events, "}", ", silent: true}")
			sc, err := harness.ReadScenario("found.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.held(plan{events: sc.Events}); err != nil {
				s.stop()
				t.Error(err)
			}
		})
	}
}
