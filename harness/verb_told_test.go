package harness

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// told shows what a device tells of a prefix, in members.
//
//	told device=r1-f1-s1 prefix=10.1.0.0/24
func (s *script) told(d *datadriven.TestData) (string, error) {
	r, err := s.route(d)
	if err != nil {
		return "", err
	}
	if !r.Told.Present {
		return "nothing\n", nil
	}
	scope := "everywhere"
	if r.Told.Down {
		scope = "down"
	}
	return fmt.Sprintf("%s told of %s, %s, path %v\n", s.members(8*float64(r.Told.Value)), s.members(float64(r.Bottleneck)), scope, r.Told.Path), nil
}
