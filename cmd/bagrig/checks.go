package main

import (
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
)

// checks are the properties that a run is judged by.
func checks() []state.Check { return properties.All() }
