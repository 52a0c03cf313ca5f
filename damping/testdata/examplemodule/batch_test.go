package batch

import (
	"fmt"
	"time"

	"github.com/bagrig/bagrig/damping"
)

func ExampleBatch() {
	pipeline := damping.Pipeline{Name: "mine", Told: []damping.ToldStage{Batch{Every: time.Minute}}}
	series := []damping.Sample{{At: 0, Members: 32}, {At: 70 * time.Second, Members: 24}, {At: 75 * time.Second, Members: 30}, {At: 80 * time.Second, Members: 32}}
	trace, err := damping.Replay(pipeline, damping.BundleInfo{Members: 32, Speed: 800e9}, series, 5*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range trace.Changes {
		fmt.Printf("%v: %d there, %d told\n", c.At, c.There/800e9, c.Told.Bits/800e9)
	}
	// Output:
	// 0s: 32 there, 32 told
	// 1m10s: 24 there, 24 told
	// 1m15s: 30 there, 24 told
	// 1m20s: 32 there, 24 told
	// 2m0s: 32 there, 32 told
}
