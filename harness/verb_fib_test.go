package harness

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// fib shows what a device's hardware has for a prefix.
//
//	fib device=r2-f1-s1 prefix=10.1.0.0/24
func (s *script) fib(d *datadriven.TestData) (string, error) {
	r, err := s.route(d)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range r.FIB.Members {
		fmt.Fprintf(&b, "%s: weight %d\n", s.rig.net.Topology.Bundles[m.ID].Name, m.Weight)
	}
	fmt.Fprintf(&b, "error %.3g %%\n", 100*r.FIB.Error)
	return b.String(), nil
}
