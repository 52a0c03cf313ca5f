package properties_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
	"github.com/bagrig/bagrig/topologies"
)

func Example() {
	topology, _ := topologies.Preset("prometheus-mini")
	pipeline, _ := damping.Preset("bag-default", topology.SmallestSpeed())
	rig, err := harness.Start(context.Background(), harness.Options{Topology: topology, Damping: pipeline, Checks: properties.All()})
	if err != nil {
		log.Fatal(err)
	}
	defer rig.Close()
	rows, err := rig.Play(context.Background(), state.Event{Kind: "degrade", Bundle: "r1-bag1--r2-bag1", Members: 24})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Counters.NLRI(), "NLRI, blast radius", rows[0].Radius(), rig.Verdict())
	// Output: 312 NLRI, blast radius 2 held
}
