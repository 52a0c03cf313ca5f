package properties

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// Check lets checks follow a running network from its present, settled moment on, for
// the rest of a test. When the test ends it fails for every rule that was violated,
// with the first violations and their number. What the rig's own checks found it says
// nothing of.
//
//	rig, err := harness.Start(ctx, harness.Options{Topology: t, Damping: mine, Engine: harness.Sim})
//	...
//	properties.Check(t, rig, properties.All()...)
//	rig.Play(ctx, events...)
//
// It is fatal to the test to attach rules while UPDATEs are held. A rule that was never
// put to the test proves nothing; Exercised names those that the
// test is about.
func Check(t testing.TB, rig *harness.Rig, checks ...state.Check) {
	t.Helper()
	if held := rig.Snapshot().Held; len(held) > 0 {
		t.Fatalf("properties.Check: UPDATEs of %d directed sessions are held: what they are told on release nobody would have allowed; attach the rules before the hold", len(held))
	}
	if i := slices.Index(checks, nil); i >= 0 {
		t.Fatalf("properties.Check: check %d is nil", i+1)
	}
	first := len(rig.Outcomes())
	rig.Watch(checks...)
	end := len(rig.Outcomes())
	t.Cleanup(func() {
		t.Helper()
		for _, o := range rig.Outcomes()[first:end] {
			if o.Violated > 0 {
				t.Error(violatedText(o))
			}
		}
	})
}

// Exercised fails a test, when it ends, for each of the rules by name that the rig's
// checks never put to the test.
func Exercised(t testing.TB, rig *harness.Rig, names ...string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		for _, name := range names {
			if !slices.ContainsFunc(rig.Outcomes(), func(o state.Outcome) bool { return o.Name == name && o.Exercised > 0 }) {
				t.Errorf("%s: never exercised", name)
			}
		}
	})
}

// violatedText is a rule that is violated, with a few places.
func violatedText(o state.Outcome) string {
	text := fmt.Sprintf("%s: violated %d times", o.Name, o.Violated)
	const most = 3
	for _, v := range o.Violations[:min(most, len(o.Violations))] {
		text += fmt.Sprintf("\n  at %v, %s: %s", v.Time, v.Where, v.Text)
	}
	return text
}
