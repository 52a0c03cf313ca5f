package harness

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"

	"github.com/bagrig/bagrig/harness/state"
)

// event does one event and waits until the network is settled.
//
//	degrade bundle=r1-bag1--r2-bag1 members=24
func (s *script) event(d *datadriven.TestData) (string, error) {
	fields := map[string]string{}
	for _, a := range d.CmdArgs {
		fields[a.Key] = strings.Join(a.Vals, ",")
	}
	e, err := state.ParseEvent(d.Cmd, fields)
	if err != nil {
		return "", err
	}
	row, err := s.play(e)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: told %d, sets %d; %d announced, %d withdrawn; speakers touched per hop %v; settled after %v, last change after %v\n",
		row.Effect, row.Told, row.Sets, row.Counters.Announced, row.Counters.Withdrawn, row.Blast, row.Settled, row.Last), nil
}
