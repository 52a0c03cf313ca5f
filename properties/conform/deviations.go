package conform

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Deviation is a known difference between what a device does and what the
// catalogue expects.
type Deviation struct {
	Device  string // Device.Name
	Version string // pattern of Device.Version as package path has it: 8.*, or * for all
	Check   string
	Got     string // the word that it is known for; empty = any
	Reason  string
	At      string // FILE:LINE of the entry
}

// Deviations is a list of known differences.
type Deviations []Deviation

// ReadDeviations reads a list: a mapping with the one field deviations, whose
// entries have the fields device, version, check, got and reason. The checks are
// those of the catalogue, and others that a caller has made itself. All errors are
// given, each with its place in the file.
func ReadDeviations(name string, data []byte, others ...string) (Deviations, error) {
	doc, err := yamltree.Parse(name, data)
	if err != nil {
		return nil, err
	}
	var list Deviations
	names := append(Names(), others...)
	for _, n := range doc.Root().Map("deviations").Need("deviations").List() {
		m := n.Map("device", "version", "check", "got", "reason")
		line, _ := n.Position()
		d := Deviation{
			Device: m.Need("device").Text(""), Version: cmp.Or(m.Get("version").Scalar("*"), "*"), Check: m.Need("check").Text(""),
			Got: m.Get("got").Scalar(""), Reason: m.Need("reason").Text(""), At: fmt.Sprintf("%s:%d", name, line),
		}
		if !slices.Contains(names, d.Check) {
			m.Get("check").Reject("no such check")
		}
		if _, err := path.Match(d.Version, ""); err != nil {
			m.Get("version").Reject("want a pattern such as 8.* or *")
		}
		if d.Reason == "" {
			m.Get("reason").Reject("want a line that says why")
		}
		if i := slices.IndexFunc(list, func(e Deviation) bool { return e.Device == d.Device && e.Check == d.Check && e.Version == d.Version }); i >= 0 {
			n.Reject("listed before, at %s", list[i].At)
			m.Get("check").Reject("this device, version and check are listed before, at %s", list[i].At)
		}
		list = append(list, d)
	}
	return list, doc.Err()
}

// Of gives the entry for a device's check; nil without one. One with a version
// of its own goes before one for all.
func (l Deviations) Of(device, version, check string) *Deviation {
	var found *Deviation
	for i, d := range l {
		if ok, _ := path.Match(d.Version, version); !ok || d.Device != device || d.Check != check {
			continue
		}
		if found == nil || found.Version == "*" {
			found = &l[i]
		}
	}
	return found
}

// Apply makes a deviation of each failure that is listed, and a failure of each
// listed one that did not show.
func (l Deviations) Apply(r *Report) {
	for i := range r.Results {
		result := &r.Results[i]
		d := l.Of(r.Device, r.Version, result.Name)
		if d == nil {
			continue
		}
		result.Deviation = d.Reason
		switch {
		case result.Verdict == Errored, result.Verdict == NotApplicable: // neither says that it is gone
		case result.Verdict == Failed && (d.Got == "" || d.Got == result.Got):
			result.Verdict = Deviates
		case result.Verdict == Failed:
			result.Reason = fmt.Sprintf("got %q: %s lists %q; %s", result.Got, d.At, d.Got, result.Reason)
		default:
			result.Reason = fmt.Sprintf("%s lists a deviation here that no longer occurs: got %q", d.At, result.Got)
			result.Verdict = Failed
		}
	}
}
