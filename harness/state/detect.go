package state

import (
	"errors"
	"strings"
	"time"

	"github.com/bagrig/bagrig/topologies"
)

// The ways in which the two ends of a bundle learn that all its members are lost.
const (
	DetectCarrier = "carrier" // the port says so, at once; the bundle's carrier-delay may keep it back
	DetectBFD     = "bfd"     // no BFD packet came for the detection time, RFC 5880
	DetectHold    = "hold"    // no BGP message came for the hold time, RFC 4271
)

// detections are the ways that take a time, and its range.
var detections = map[string][2]time.Duration{
	DetectBFD:  {time.Millisecond, time.Minute},
	DetectHold: {3 * time.Second, 65535 * time.Second},
}

const wantDetection = `want carrier, bfd and 1ms to 1m such as "bfd 150ms", or hold and 3s to 65535s such as "hold 90s"`

// parseDetection reads "carrier", "bfd 150ms" or "hold 90s"; a colon serves as
// well as the space. It gives the text as String prints it and the time that
// passes before anybody knows, 0 for carrier.
func parseDetection(s string) (text string, after time.Duration, err error) {
	how, length, timed := strings.Cut(strings.Replace(s, " ", ":", 1), ":")
	bounds, known := detections[how]
	if how == DetectCarrier && !timed {
		return how, 0, nil
	}
	d, err := time.ParseDuration(length)
	if !known || err != nil || d < bounds[0] || d > bounds[1] || how == DetectHold && d%time.Second != 0 {
		return "", 0, errors.New(wantDetection)
	}
	return how + ":" + d.String(), d, nil
}

// expandDown takes all members away. Where detection takes its time the ends know
// nothing until it is over.
func (e Event) expandDown(b int32) []Timed {
	if e.Detect != "" {
		if _, after, err := parseDetection(e.Detect); err == nil && after > 0 {
			return []Timed{{0, Change{Kind: Fail, Bundle: b, After: after}}}
		}
	}
	return []Timed{{0, Change{Bundle: b}}}
}

// mended are the changes that bring a bundle back to full health.
func mended(b int32, bundle topologies.Bundle) []Timed {
	return []Timed{{0, Change{Bundle: b, Members: bundle.Members}}, {0, Change{Kind: SetLoss, Bundle: b}}}
}
