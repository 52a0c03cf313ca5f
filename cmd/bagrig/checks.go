package main

import "github.com/bagrig/bagrig/harness/state"

// checks are the properties of a run.
func checks() []state.Check { return nil }
