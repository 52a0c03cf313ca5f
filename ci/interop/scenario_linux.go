package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
	"github.com/bagrig/bagrig/properties/conform"
)

// scenarioName is the scenario that every daemon takes part in.
const scenarioName = "first-light"

// The words of a rule in a scenario.
const (
	held          = "held"
	violated      = "violated"
	neverTested   = "never exercised"
	notObservable = "not observable"
)

// checkName is a rule of the scenario as a check of the matrix.
func checkName(device, rule string) string {
	return scenarioName + " as " + roleNames[device] + ": " + rule
}

// roleNames are the devices that daemons take the place of.
var roleNames = map[string]string{"r1-bag1": "bag", "r1-f1-e1": "edge"}

// scenarioChecks are the names of all of them, for the list of deviations.
func scenarioChecks() (names []string) {
	for device := range roleNames {
		for _, c := range properties.All() {
			rule := checkName(device, c.Outcome().Name)
			names = append(names, rule, rule+" at "+device)
		}
	}
	return names
}

// scenarios runs first-light with the daemon in the place of one device after the
// other. Each rule of it is a check of the report.
func (c *cell) scenarios(ctx context.Context, cancel context.CancelCauseFunc) (list []conform.Result, err error) {
	for _, device := range c.daemon.roles() {
		results, err := c.scenario(ctx, cancel, device)
		if err != nil {
			return nil, fmt.Errorf("%s as %s: %w", scenarioName, device, err)
		}
		list = append(list, results...)
	}
	return list, nil
}

// settings tells the graph what such a daemon is: it passes the value of its best
// path on, without further configuration.
const settings = `
speakers:
  devices:
    %s: {advertise: best-path}
external:
  %s: {address: %v, neighbors: %v}
`

func (c *cell) scenario(ctx context.Context, cancel context.CancelCauseFunc, device string) ([]conform.Result, error) {
	plain, err := harness.Load(scenarioName)
	if err != nil {
		return nil, err
	}
	text := append(slices.Clone(plain.Source), fmt.Sprintf(settings, device, device, dutAddr, firstPeer)...)
	sc, err := harness.ReadScenario(scenarioName+".yaml", text)
	if err != nil {
		return nil, err
	}
	sessions, err := sc.ExternalSessions()
	if err != nil {
		return nil, err
	}
	role := sc.Topology.Devices[sc.Topology.Index().Device[device]].Role
	run := "as-" + device
	p := &peering{dir: c.dir(run), asn: sessions[0].ASN, role: role, sessions: sessions}
	if err := c.start(ctx, cancel, run, writers[c.daemon.name](p)); err != nil {
		return nil, err
	}
	result, err := harness.Run(ctx, sc, harness.RunOptions{Checks: properties.All()})
	if err != nil {
		return nil, err
	}
	var list []conform.Result
	for _, o := range result.Outcomes {
		list = append(list, newResult(device, o))
	}
	return list, c.stop()
}

func newResult(device string, o state.Outcome) conform.Result {
	r := conform.Result{Verdict: conform.Passed, Got: held, Check: conform.Check{
		Name: checkName(device, o.Name), Refs: []string{"docs/properties.md"}, Sent: scenarioName + " with the daemon as " + device, Accept: []string{held},
	}}
	switch {
	case o.Violated > 0:
		r.Verdict, r.Got, r.Reason = conform.Failed, violated, fmt.Sprintf("violated %d times", o.Violated)
		if len(o.Violations) > 0 {
			r.Reason += fmt.Sprintf(": %+v", o.Violations[0])
		}
	case o.Exercised == 0 && strings.HasSuffix(o.Name, " at "+device):
		r.Verdict, r.Got = conform.NotApplicable, notObservable // what the run's own table says of the device
	case o.Exercised == 0:
		r.Verdict, r.Got = conform.NotApplicable, neverTested
	}
	if o.Violated == 0 {
		r.Reason = o.Note
	}
	return r
}
