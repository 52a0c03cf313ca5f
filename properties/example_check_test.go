package properties_test

import (
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
)

// A test attaches the rules to a network that is running already, and fails at its end
// where one of them was violated. The module in examples/own-policy shows the whole of it.
func ExampleCheck() {
	_ = func(t *testing.T, rig *harness.Rig) {
		properties.Check(t, rig, properties.All()...)
		properties.Exercised(t, rig, properties.ContainmentName)
		if _, err := rig.Play(t.Context(), state.Event{Kind: "degrade", Bundle: "r1-bag1--r2-bag1", Members: 24}); err != nil {
			t.Fatal(err)
		}
	}
}
