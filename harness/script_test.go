package harness

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/harness/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScripts plays the text files of testdata/script, each on a network of
// its own. `go test ./harness -rewrite` writes the answers anew; commit them
// only if you understand what caused them.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{t: t}
		t.Cleanup(s.close)
		datadriven.RunTest(t, path, s.handle)
	})
}

// script is the state of one file. Each verb has a file of its own.
type script struct {
	t   *testing.T
	rig *Rig
}

func (s *script) handle(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	verbs := map[string]func(*datadriven.TestData) (string, error){
		"topology": s.topology, "told": s.told, "rib": s.rib, "fib": s.fib,
	}
	for _, k := range state.Kinds() {
		verbs[k.Name] = s.event
	}
	verb, ok := verbs[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown verb %q", d.Cmd)
	}
	answer, err := verb(d)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	return answer
}

func (s *script) close() {
	if s.rig != nil {
		if err := s.rig.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return ""
}

// route finds the route that a verb asks for: device=NAME prefix=PREFIX.
func (s *script) route(d *datadriven.TestData) (*state.Route, error) {
	device, ok := s.rig.net.Index.Device[arg(d, "device")]
	if !ok {
		return nil, fmt.Errorf("device %q: not in the topology", arg(d, "device"))
	}
	prefix, err := netip.ParsePrefix(arg(d, "prefix"))
	if err != nil {
		return nil, err
	}
	p, ok := s.rig.net.Index.Prefix[prefix]
	if !ok {
		return nil, fmt.Errorf("prefix %v: not in the topology", prefix)
	}
	return &s.rig.Snapshot().Devices[device].Routes[p], nil
}

// members is a capacity in members of the topology's smallest speed.
func (s *script) members(bits float64) string {
	return fmt.Sprintf("%.4g", bits/float64(s.rig.net.Topology.SmallestSpeed()))
}

func (s *script) play(e state.Event) (state.Row, error) {
	rows, err := s.rig.Play(context.Background(), e)
	if len(rows) == 0 {
		return state.Row{}, err
	}
	return rows[0], err
}
