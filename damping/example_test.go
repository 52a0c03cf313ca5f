package damping_test

import (
	"fmt"
	"time"

	"github.com/bagrig/bagrig/damping"
)

// A bundle of 32 members of 800G loses eight and regains them five seconds
// later. Neighbours hear of the loss at once and of the repair 30 s after it.
func Example() {
	const member = 800_000_000_000
	pipeline, err := damping.Preset("bag-default", member)
	if err != nil {
		fmt.Println(err)
		return
	}
	bundle, prefix := pipeline.NewBundle(), pipeline.NewTold()
	for _, change := range []struct {
		at      time.Duration
		members uint64
	}{{0, 32}, {60 * time.Second, 24}, {65 * time.Second, 32}, {95 * time.Second, 32}} {
		passed, next := bundle.Step(change.at, change.members*member)
		told, _ := prefix.Step(change.at, damping.Value{Reach: damping.Valued, Bits: passed.Capacity})
		timer := "no timer"
		if next != damping.Never {
			timer = "timer at " + next.String()
		}
		fmt.Printf("%v: %d members there, %d told, %s\n", change.at, change.members, told.Bits/member, timer)
	}
	law := pipeline.Law()
	fmt.Printf("told at most %.0f%% too much, settled within %v\n", 100*law.Over, law.Settle)
	// Output:
	// 0s: 32 members there, 33 told, no timer
	// 1m0s: 24 members there, 24 told, no timer
	// 1m5s: 32 members there, 24 told, timer at 1m35s
	// 1m35s: 32 members there, 33 told, no timer
	// told at most 10% too much, settled within 30s
}
