package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// FIB is what the run asked of the hardware.
type FIB struct {
	Worst    FIBWorst    `json:"network"`
	Devices  []FIBDevice `json:"devices"`
	Policies []FIBPolicy `json:"policies,omitempty"`
}

// FIBWorst is the worst over the network, each with the first device that has it.
type FIBWorst struct {
	Overload       Number `json:"worst_overload"`
	OverloadDevice string `json:"worst_overload_device"`
	Underuse       Number `json:"worst_underuse"`
	UnderuseDevice string `json:"worst_underuse_device"`
	Groups         Number `json:"groups_use"`
	GroupsDevice   string `json:"groups_use_device"`
	GroupsEvent    string `json:"groups_use_event"`
	Members        Number `json:"members_use"`
	MembersDevice  string `json:"members_use_device"`
	MembersEvent   string `json:"members_use_event"`
}

// FIBDevice is one device's hardware at the quiet where it erred most, with
// the peaks and counts of the whole run.
type FIBDevice struct {
	Device           string        `json:"device"`
	Profile          string        `json:"profile"`
	Algorithm        fib.Algorithm `json:"algorithm"`
	Overflow         fib.Overflow  `json:"overflow"`
	Event            string        `json:"worst_event"`
	Prefixes         int           `json:"prefixes"`
	Groups           int           `json:"groups"`
	GroupsPeak       int           `json:"groups_peak"`
	GroupsPeakEvent  string        `json:"groups_peak_event"`
	GroupsLimit      *int          `json:"groups_limit"`
	Members          int           `json:"member_entries"`
	MembersPeak      int           `json:"member_entries_peak"`
	MembersPeakEvent string        `json:"member_entries_peak_event"`
	MembersLimit     *int          `json:"member_entries_limit"`
	Sharing          float64       `json:"prefixes_per_group"`
	Overload         Number        `json:"worst_overload"`
	Underuse         Number        `json:"worst_underuse"`
	Dropped          int           `json:"members_dropped"`
	Compromises      int           `json:"compromises"`
	Changes          int           `json:"group_changes"`
	MostChanges      int           `json:"most_group_changes"`
	MostChangesEvent string        `json:"most_group_changes_event"`
	Gaps             int           `json:"gaps"`
	Refusals         int           `json:"refusals"`
	Spilled          int           `json:"spilled_groups_peak"`
}

// FIBPolicy is what one overflow policy makes of everything that was programmed.
type FIBPolicy struct {
	Overflow fib.Overflow `json:"overflow"`
	Exceeded int          `json:"devices_above_limit"`
	Use      Number       `json:"limit_use"`
	Device   string       `json:"limit_use_device"`
	Groups   int          `json:"groups_peak"`
	GroupsOf *int         `json:"groups_limit"`
	Overload Number       `json:"worst_overload"`
	Underuse Number       `json:"worst_underuse"`
	Dropped  int          `json:"members_dropped"`
	Given    int          `json:"compromises"`
	Refusals int          `json:"refusals"`
	Gaps     int          `json:"gaps"`
	Moves    int          `json:"group_changes"`
	Spilled  int          `json:"spilled_groups_peak"`
}

// algorithms names what a scenario's devices reduce with, each once.
func algorithms(sc *harness.Scenario) string {
	var list []string
	for _, h := range sc.Hardware {
		if a := string(h.Algorithm()); !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return strings.Join(list, ", ")
}

// newFIB is nil for a run without a baseline.
func newFIB(res *state.Result) *FIB {
	if len(res.FIB) == 0 {
		return nil
	}
	w := fib.Network(reportsOf(res))
	f := &FIB{Worst: FIBWorst{
		Number(w.WorstOverload), w.WorstOverloadDevice, Number(w.WorstUnderuse), w.WorstUnderuseDevice,
		Number(w.GroupsUse), w.GroupsUseDevice, w.GroupsUseEvent, Number(w.MembersUse), w.MembersUseDevice, w.MembersUseEvent,
	}}
	for _, use := range res.FIB {
		f.Devices = append(f.Devices, newFIBDevice(use))
	}
	for _, p := range res.Policies {
		f.Policies = append(f.Policies, FIBPolicy{
			p.Overflow, p.Exceeded, Number(p.Use), p.Device, p.Groups, published(p.GroupsOf), Number(p.Overload), Number(p.Underuse),
			p.Dropped, p.Given, p.Refusals, p.Gaps, p.Moves, p.Spilled,
		})
	}
	return f
}

func newFIBDevice(use state.FIBUse) FIBDevice {
	a := use.Report.Audit
	return FIBDevice{
		Device: use.Report.Device, Profile: a.Profile, Algorithm: a.Algorithm, Overflow: a.Overflow, Event: use.Event, Prefixes: a.Prefixes,
		Groups: a.Groups, GroupsPeak: a.GroupsPeak, GroupsPeakEvent: a.GroupsPeakEvent, GroupsLimit: published(a.GroupsLimit),
		Members: a.Members, MembersPeak: a.MembersPeak, MembersPeakEvent: a.MembersPeakEvent, MembersLimit: published(a.MembersLimit),
		Sharing: a.Sharing, Overload: Number(a.WorstOverload), Underuse: Number(a.WorstUnderuse), Dropped: a.Dropped, Compromises: a.Compromises,
		Changes: a.GroupChanges, MostChanges: a.MostChanges, MostChangesEvent: a.MostChangesEvent,
		Gaps: a.Gaps, Refusals: a.Refusals, Spilled: a.SpillGroupsPeak,
	}
}

func published(limit int) *int {
	if limit == fib.NoLimit {
		return nil
	}
	return &limit
}

// reportsOf are the tables with the prefixes that have something else than
// they asked for.
func reportsOf(res *state.Result) []fib.Report {
	var list []fib.Report
	for _, use := range res.FIB {
		r := use.Report
		r.Prefixes = slices.DeleteFunc(slices.Clone(r.Prefixes), func(p fib.PrefixAudit) bool {
			return p.Compromise == "" && len(p.Dropped) == 0 && max(p.Overload, p.Underuse) <= state.RoundingError
		})
		list = append(list, r)
	}
	return list
}

// fibFiles are fib.json and fib.txt.
func (d *Document) fibFiles(res *state.Result) (asJSON, text []byte, err error) {
	reports := reportsOf(res)
	var j, t bytes.Buffer
	if err := fib.WriteJSON(&j, reports); err != nil {
		return nil, nil, err
	}
	if err := fib.WriteText(&t, reports, state.RoundingError); err != nil {
		return nil, nil, err
	}
	if policies := d.FIB.policyTable(0); policies != "" {
		t.WriteString("\n" + policies)
	}
	return j.Bytes(), []byte(strings.Map(printable, t.String())), nil
}

// shownDevices is how many devices the summary shows the hardware of.
const shownDevices = 3

// use is the largest part of a limit that the device used at a peak.
func (f FIBDevice) use() float64 {
	part := func(peak int, limit *int) float64 {
		if limit == nil {
			return 0
		}
		return float64(peak) / float64(*limit)
	}
	return max(part(f.GroupsPeak, f.GroupsLimit), part(f.MembersPeak, f.MembersLimit))
}

// summary shows the devices that use most of their limits, and the policies.
func (f *FIB) summary(width int) string {
	columns := []column{
		{head: "hardware"}, {head: "profile", drop: 4}, {head: "groups", right: true, drop: 7}, {head: "peak", right: true}, {head: "of", right: true}, {head: "in"},
		{head: "entries", right: true, drop: 1}, {head: "peak", right: true, drop: 6}, {head: "of", right: true, drop: 5},
		{head: "sharing", right: true, drop: 2}, {head: "moves", right: true, drop: 3},
		{head: "overload", right: true}, {head: "under-use", right: true}, {head: "compromises", right: true},
	}
	worst := slices.SortedStableFunc(slices.Values(f.Devices), func(a, b FIBDevice) int {
		return cmp.Or(cmp.Compare(b.use(), a.use()), cmp.Compare(b.Compromises, a.Compromises))
	})
	var rows [][]string
	for _, d := range worst[:min(shownDevices, len(worst))] {
		rows = append(rows, []string{
			d.Device, d.Profile, whole(d.Groups), whole(d.GroupsPeak), limitText(d.GroupsLimit), eventText(d.GroupsPeakEvent),
			whole(d.Members), whole(d.MembersPeak), limitText(d.MembersLimit), decimals(d.Sharing, 1), whole(d.Changes),
			parts(d.Overload), parts(d.Underuse), whole(d.Compromises),
		})
	}
	text := narrowTable(columns, rows, width)
	if more := len(f.Devices) - len(rows); more > 0 {
		text += fmt.Sprintf("%s other devices use no more; all are in %s\n", whole(more), FIBTextFile)
	}
	if policies := f.policyTable(width); policies != "" {
		text += "\n" + policies
	}
	return text
}

// policyTable compares the overflow policies; empty where the run does not.
func (f *FIB) policyTable(width int) string {
	if len(f.Policies) == 0 {
		return ""
	}
	columns := []column{
		{head: "when full"}, {head: "limits"}, {head: "limit use", right: true, drop: 2}, {head: "peak", right: true}, {head: "of", right: true, drop: 1},
		{head: "overload", right: true}, {head: "under-use", right: true}, {head: "compromises", right: true}, {head: "dropped", right: true},
		{head: "refused", right: true}, {head: "spilled", right: true}, {head: "moves", right: true, drop: 3},
	}
	var rows [][]string
	for _, p := range f.Policies {
		limits := "kept"
		if p.Exceeded > 0 {
			limits = fmt.Sprintf("EXCEEDED on %s", counted(p.Exceeded, "device"))
		}
		rows = append(rows, []string{
			string(p.Overflow), limits, parts(p.Use), whole(p.Groups), limitText(p.GroupsOf), parts(p.Overload), parts(p.Underuse),
			whole(p.Given), whole(p.Dropped), whole(p.Refusals), whole(p.Spilled), whole(p.Moves),
		})
	}
	return narrowTable(columns, rows, width)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return whole(n) + " " + what + "s"
}

// eventText is the event of an audit.
func eventText(event string) string {
	if event == "" {
		return "bring-up"
	}
	return event
}

func limitText(limit *int) string {
	if limit == nil {
		return "-"
	}
	return whole(*limit)
}

// parts writes 0.125 as 12.5 %.
func parts(n Number) string {
	switch f := 100 * float64(n); {
	case math.IsInf(f, 1):
		return "infinite"
	case f < 100*state.RoundingError:
		return "0 %"
	case f < 0.05:
		return "<0.1 %"
	default:
		return strconv.FormatFloat(f, 'f', 1, 64) + " %"
	}
}
