package harness

import (
	"context"
	"fmt"

	"github.com/cockroachdb/datadriven"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
)

// topology brings a preset up and settles it.
//
//	topology prometheus-mini damping=bag-default
func (s *script) topology(d *datadriven.TestData) (string, error) {
	t, err := topologies.Preset(d.CmdArgs[0].Key)
	if err != nil {
		return "", err
	}
	name := arg(d, "damping")
	if name == "" {
		name = damping.PresetBagDefault
	}
	pipeline, err := damping.Preset(name, t.SmallestSpeed())
	if err != nil {
		return "", err
	}
	if s.rig, err = Start(context.Background(), Options{Topology: t, Damping: pipeline}); err != nil {
		return "", err
	}
	counters, _, _ := s.rig.BringUp()
	entries, stale := Entries(s.rig.net, s.rig.Baseline())
	return fmt.Sprintf("%s\n%d entries, %d stale, %d announced, %d withdrawn\n", t.Summary(), entries, stale, counters.Announced, counters.Withdrawn), nil
}
