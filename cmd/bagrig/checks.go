package main

import (
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
)

// checks are the properties that a run of the scenario is judged by.
func checks(sc *harness.Scenario) []state.Check { return properties.For(sc.Topology, sc.Events) }
