package properties

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// EventOrderName is the name of the rule, as reports print it.
const EventOrderName = "end state independent of event order"

// ErrOrderMatters is a schedule whose order may matter, so that the rule says nothing
// of it.
var ErrOrderMatters = errors.New("the order of the events may matter")

// EventOrder is the rule "end state independent of event order", which takes two runs:
// the events of a scenario in their order, and in the opposite one, each when the one
// before is settled. Both must come to the same.
//
// Of prefixes that no damping with a memory stands on, routes are equal in everything,
// bottleneck values exactly. Where some told value is damped with a memory, routes have
// the same sets, and a told value differs by no more than the error that the damping
// states for each that damps on the way: as many as the AS_PATH has ASNs, and one.
//
// The events must be degradations, failures and grey failures, without times, and no
// bundle may be the target of two: else the error is ErrOrderMatters. It is exercised
// once per route compared.
func EventOrder(ctx context.Context, sc *harness.Scenario) (state.Outcome, error) {
	l := newLedger(EventOrderName, 0, "routes")
	if err := orderless(sc); err != nil {
		return l.found, err
	}
	again := slices.Clone(sc.Events)
	slices.Reverse(again)
	first, err := settledMoments(ctx, sc, sc.Events)
	if err != nil {
		return l.found, err
	}
	second, err := settledMoments(ctx, sc, again)
	if err != nil {
		return l.found, fmt.Errorf("in the other order: %w", err)
	}
	l.compareOrders(first[len(first)-1], second[len(second)-1])
	l.worst(float64(l.found.Violated))
	return l.found, nil
}

// orderless tells whether the order of the events cannot matter, or why it may.
func orderless(sc *harness.Scenario) error {
	ix := sc.Topology.Index()
	taken := map[int]string{}
	for _, e := range sc.Events {
		if e.At != 0 || !slices.Contains([]string{"degrade", "down", "grey"}, e.Kind) || e.Domain != "" {
			return fmt.Errorf("event %v: want degrade, down or grey of a bundle or a device, without a time: %w", e, ErrOrderMatters)
		}
		targets := []int{ix.Bundle[e.Bundle]}
		if e.Device != "" {
			targets = ix.Of[ix.Device[e.Device]]
		}
		for _, b := range targets {
			if before, ok := taken[b]; ok {
				return fmt.Errorf("event %v: bundle %q is a target of %s too: %w", e, sc.Topology.Bundles[b].Name, before, ErrOrderMatters)
			}
			taken[b] = e.String()
		}
	}
	return nil
}

// compareOrders compares where two orders have led.
func (l *ledger) compareOrders(first, second *state.Moment) {
	n, remember, dampings := first.Network, somewhere(first, remembers), first.ToldDampings()
	for p := range n.Topology.Prefixes {
		e, slack := 1.0, 0.0 // the widest ratio of two told values of one bottleneck value, and what may be between steps, of any device
		for d := range n.Topology.Devices {
			law := dampings(d, p).Law
			e = max(e, (1+law.Over)/(1-law.Under))
			slack = max(slack, float64(law.OverSlack)+float64(law.UnderSlack))
		}
		for d := range n.Topology.Devices {
			l.found.Exercised++
			a, b := &first.Snapshot.Devices[d].Routes[p], &second.Snapshot.Devices[d].Routes[p]
			compare := change
			if remember[p] {
				compare = changeOfSet
			}
			text := compare(n, b, "the other order", a)
			if text == "" && remember[p] && a.Told.Valued && b.Told.Valued {
				hops := float64(len(a.Told.Path) + 1)
				text = apartBy(n, a, b, math.Pow(e, hops), slack*hops)
			}
			if text != "" {
				l.violate(first, at(n, d, p), "%s", text)
			}
		}
	}
}

// apartBy tells where two told values differ by more than a ratio and, in bits/s, a slack.
func apartBy(n *state.Network, a, b *state.Route, ratio, slack float64) string {
	x, y := bitsOf(a.Told.Value), bitsOf(b.Told.Value)
	if max(x, y) <= (min(x, y)+slack)*ratio*(1+0x1p-20) {
		return ""
	}
	return fmt.Sprintf("told: it has %s in one order and %s in the other, want a ratio of at most %.4g and %s", amount(n, x), amount(n, y), ratio, amount(n, slack))
}
