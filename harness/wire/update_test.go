package wire

import (
	"sync/atomic"
	"testing"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/harness/state"
)

// FuzzPass feeds a wire arbitrary bytes: it must neither panic nor write more
// than it read, and where GoBGP reads an UPDATE the counts must agree.
func FuzzPass(f *testing.F) {
	f.Add(updateOf(f, pathAttrs(1e11, 65001), nil, prefixes...))
	f.Add(updateOf(f, nil, prefixes))
	f.Add(fence(f, 9))
	f.Add(append(open(f), fence(f, 9)...))
	f.Add(updateOf(f, append(pathAttrs(1e11, 65001), reach(sixes...)), nil))
	f.Add(updateOf(f, append(pathAttrs(1e11, 65001), reach(sixes[0]), unreach(sixes[1])), prefixes[:1], prefixes[1:]...))
	f.Add(updateOf(f, []bgp.PathAttributeInterface{unreach()}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		record := &atomic.Bool{}
		record.Store(true)
		w := &Wire{cfg: Config{Fence: fencePrefix, Index: index, Record: record, Sink: &log{}}}
		buf := append([]byte(nil), data...)
		used, keep, err := w.pass(0, state.Direction{}, buf, true)
		if keep > used || used > len(buf) {
			t.Fatalf("used %d and kept %d of %d", used, keep, len(buf))
		}
		if err != nil || used != len(data) {
			return
		}
		m, err := bgp.ParseBGPMessage(data)
		if err != nil || int(m.Header.Len) != len(data) || m.Header.Type != bgp.BGP_MSG_UPDATE {
			return
		}
		u := m.Body.(*bgp.BGPUpdate)
		c := w.Counters(false)
		announced, withdrawn := len(u.NLRI), len(u.WithdrawnRoutes)
		for _, a := range u.PathAttributes {
			switch a := a.(type) {
			case *bgp.PathAttributeMpReachNLRI:
				announced += len(a.Value)
			case *bgp.PathAttributeMpUnreachNLRI:
				withdrawn += len(a.Value)
			}
		}
		if c.Fences == 0 && (c.Announced != announced || c.Withdrawn != withdrawn) {
			t.Fatalf("counted %d announced and %d withdrawn, GoBGP reads %d and %d", c.Announced, c.Withdrawn, announced, withdrawn)
		}
	})
}
