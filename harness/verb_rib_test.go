package harness

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// rib shows the candidates of a device for a prefix and the shares of its
// multipath set, in members.
//
//	rib device=r2-f1-s1 prefix=10.1.0.0/24
func (s *script) rib(d *datadriven.TestData) (string, error) {
	r, err := s.route(d)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if r.Local {
		b.WriteString("local\n")
	}
	for _, c := range r.Candidates {
		share := "-"
		for _, m := range r.Set {
			if m.Bundle == c.Bundle {
				share = s.members(float64(m.Share))
			}
		}
		fmt.Fprintf(&b, "%s: received %s, share %s, path %v\n", s.rig.net.Topology.Bundles[c.Bundle].Name, s.members(8*float64(c.Value)), share, c.Path)
	}
	return b.String(), nil
}
