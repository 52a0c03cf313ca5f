package state

import (
	"fmt"

	"github.com/bagrig/bagrig/topologies"
)

// wantLeft says how many members a bundle that loses some may keep.
func wantLeft(b topologies.Bundle) string {
	if b.Members == 1 {
		return fmt.Sprintf("bundle %q has one member: it cannot be degraded, want down in its place", b.Name)
	}
	return fmt.Sprintf("want 1 to %d: bundle %q has %d", b.Members-1, b.Name, b.Members)
}
