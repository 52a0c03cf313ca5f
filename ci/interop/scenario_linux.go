package main

import (
	"context"
)

// scenario is a run of bagrig with the daemon as one of its devices.
type scenario struct {
	Name string
}

// scenarios runs the scenarios in which the daemon takes part.
func (c *cell) scenarios(context.Context, context.CancelCauseFunc) ([]scenario, error) {
	return nil, nil
}

func (a *answer) wrong() []string { return nil }
func (a *answer) text() string    { return "" }
