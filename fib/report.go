package fib

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Number is a float64 that JSON can hold when it is infinite: as "inf".
type Number float64

// MarshalJSON implements json.Marshaler. NaN is "nan"; the audit makes none.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsInf(f, 0):
		return []byte(`"inf"`), nil
	case math.IsNaN(f):
		return []byte(`"nan"`), nil
	default:
		return json.Marshal(f)
	}
}

// PrefixAudit is what one prefix's traffic does against what was asked for.
type PrefixAudit struct {
	Prefix     netip.Prefix `json:"prefix"`
	Group      int          `json:"group"` // 0: no group
	Members    []Weighted   `json:"members"`
	Overload   Number       `json:"overload"`
	Underuse   Number       `json:"underuse"`
	Dropped    []int32      `json:"dropped,omitempty"`
	Compromise Compromise   `json:"compromise,omitempty"`
	Event      string       `json:"event,omitempty"`  // the Mark in which the compromise was made
	Events     int          `json:"events,omitempty"` // events that ended, or will if nothing changes, without its own group, in a row
}

// Prefixes returns the audit of every prefix, in the order of
// netip.Prefix.Compare; one that was refused and has nothing has no members.
func (t *Table) Prefixes() []PrefixAudit {
	list := make([]PrefixAudit, 0, len(t.prefixes))
	for _, r := range t.sorted() {
		overload, underuse, _ := t.distance(r.hops, r.members)
		e := r.entry()
		p := PrefixAudit{
			Prefix: r.prefix, Group: e.Group, Members: e.Members,
			Overload: Number(overload), Underuse: Number(underuse), Dropped: e.Dropped, Compromise: r.compromise,
		}
		if r.compromise != "" {
			p.Event, p.Events = r.event, t.without(r)
		}
		list = append(list, p)
	}
	return list
}

// Compromises returns the audit of the prefixes that have something else than
// Reduce gave, in the order of netip.Prefix.Compare.
func (t *Table) Compromises() []PrefixAudit {
	var list []PrefixAudit
	for _, p := range t.Prefixes() {
		if p.Compromise != "" {
			list = append(list, p)
		}
	}
	return list
}

// MarshalJSON implements json.Marshaler: the fields by their names in snake
// case, infinite errors as "inf", limits that are not published as null.
func (a Audit) MarshalJSON() ([]byte, error) {
	known := func(limit int) *int {
		if limit == NoLimit {
			return nil
		}
		return &limit
	}
	return json.Marshal(struct {
		Profile            string    `json:"profile"`
		Algorithm          Algorithm `json:"algorithm"`
		Overflow           Overflow  `json:"overflow"`
		Groups             int       `json:"groups"`
		GroupsPeak         int       `json:"groups_peak"`
		GroupsPeakEvent    string    `json:"groups_peak_event"`
		GroupsLimit        *int      `json:"groups_limit"`
		GroupsSteadyLimit  *int      `json:"groups_steady_limit"`
		Members            int       `json:"members"`
		MembersPeak        int       `json:"members_peak"`
		MembersPeakEvent   string    `json:"members_peak_event"`
		MembersLimit       *int      `json:"members_limit"`
		MembersSteadyLimit *int      `json:"members_steady_limit"`
		SpillGroups        int       `json:"spill_groups"`
		SpillMembers       int       `json:"spill_members"`
		SpillGroupsPeak    int       `json:"spill_groups_peak"`
		SpillMembersPeak   int       `json:"spill_members_peak"`
		WorstOverload      Number    `json:"worst_overload"`
		WorstUnderuse      Number    `json:"worst_underuse"`
		Dropped            int       `json:"dropped"`
		Prefixes           int       `json:"prefixes"`
		Sharing            Number    `json:"sharing"`
		Compromises        int       `json:"compromises"`
		Events             int       `json:"events"`
		GroupChanges       int       `json:"group_changes"`
		MostChanges        int       `json:"most_changes"`
		MostChangesEvent   string    `json:"most_changes_event"`
		Gaps               int       `json:"gaps"`
		Refusals           int       `json:"refusals"`
		LongestCompromise  int       `json:"longest_compromise,omitempty"`
	}{
		a.Profile, a.Algorithm, a.Overflow,
		a.Groups, a.GroupsPeak, a.GroupsPeakEvent, known(a.GroupsLimit), known(a.GroupsSteadyLimit),
		a.Members, a.MembersPeak, a.MembersPeakEvent, known(a.MembersLimit), known(a.MembersSteadyLimit),
		a.SpillGroups, a.SpillMembers, a.SpillGroupsPeak, a.SpillMembersPeak,
		Number(a.WorstOverload), Number(a.WorstUnderuse), a.Dropped,
		a.Prefixes, Number(a.Sharing), a.Compromises,
		a.Events, a.GroupChanges, a.MostChanges, a.MostChangesEvent, a.Gaps, a.Refusals, a.LongestCompromise,
	})
}

// Report is the audit of one device with all its prefixes.
type Report struct {
	Device   string        `json:"device"`
	Audit    Audit         `json:"audit"`
	Prefixes []PrefixAudit `json:"prefixes"`
}

// Report returns the table's report under a device's name.
func (t *Table) Report(device string) Report {
	return Report{device, t.Audit(), t.Prefixes()}
}

// NetworkAudit is the worst of several devices; a name is the first device's
// that has the value, empty where none has any.
type NetworkAudit struct {
	Devices             int    `json:"devices"`
	WorstOverload       Number `json:"worst_overload"`
	WorstOverloadDevice string `json:"worst_overload_device"`
	WorstUnderuse       Number `json:"worst_underuse"`
	WorstUnderuseDevice string `json:"worst_underuse_device"`
	Dropped             int    `json:"dropped"`
	Compromises         int    `json:"compromises"`
	GroupsUse           Number `json:"groups_use"` // largest peak of groups as a part of its limit
	GroupsUseDevice     string `json:"groups_use_device"`
	GroupsUseEvent      string `json:"groups_use_event"`
	MembersUse          Number `json:"members_use"` // the same of member entries
	MembersUseDevice    string `json:"members_use_device"`
	MembersUseEvent     string `json:"members_use_event"`
}

// Network returns the worst over the reports.
func Network(reports []Report) NetworkAudit {
	n := NetworkAudit{Devices: len(reports)}
	raise := func(worst *Number, device *string, value float64, name string) bool {
		if Number(value) <= *worst {
			return false
		}
		*worst, *device = Number(value), name
		return true
	}
	for _, r := range reports {
		a := r.Audit
		n.Dropped += a.Dropped
		n.Compromises += a.Compromises
		raise(&n.WorstOverload, &n.WorstOverloadDevice, a.WorstOverload, r.Device)
		raise(&n.WorstUnderuse, &n.WorstUnderuseDevice, a.WorstUnderuse, r.Device)
		if raise(&n.GroupsUse, &n.GroupsUseDevice, float64(a.GroupsPeak)/float64(a.GroupsLimit), r.Device) {
			n.GroupsUseEvent = a.GroupsPeakEvent
		}
		if raise(&n.MembersUse, &n.MembersUseDevice, float64(a.MembersPeak)/float64(a.MembersLimit), r.Device) {
			n.MembersUseEvent = a.MembersPeakEvent
		}
	}
	return n
}

// WriteJSON writes the reports and the worst over them as one JSON document.
func WriteJSON(w io.Writer, reports []Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Network NetworkAudit `json:"network"`
		Devices []Report     `json:"devices"`
	}{Network(reports), reports})
}

// WriteText writes the reports as tables: a line for each device, and under
// it one for each prefix that drops a member, has a compromise, or errs by
// more than least on either side (0.01 is 1 %; a negative one shows all).
func WriteText(w io.Writer, reports []Report, least float64) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "device\tprofile\tgroups\tpeak\tin event\tof\tmembers\tpeak\tin event\tof\tsharing\tmoves\toverload\tunder-use\tdropped\tcompromises")
	for _, r := range reports {
		a := r.Audit
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\t%s\t%s\t%.2f\t%d\t%s\t%s\t%d\t%d\n",
			r.Device, a.Profile,
			a.Groups, a.GroupsPeak, dash(a.GroupsPeakEvent), limitText(a.GroupsLimit),
			a.Members, a.MembersPeak, dash(a.MembersPeakEvent), limitText(a.MembersLimit),
			a.Sharing, a.GroupChanges, percentText(a.WorstOverload), percentText(a.WorstUnderuse), a.Dropped, a.Compromises)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\ndevice\tprefix\tgroup\toverload\tunder-use\tdropped\tcompromise\tin event")
	for _, r := range reports {
		for _, p := range r.Prefixes {
			if len(p.Dropped) == 0 && p.Compromise == "" && max(float64(p.Overload), float64(p.Underuse)) <= least {
				continue
			}
			fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\n", r.Device, p.Prefix, p.Group,
				percentText(float64(p.Overload)), percentText(float64(p.Underuse)), len(p.Dropped), dash(string(p.Compromise)), dash(p.Event))
		}
	}
	return tw.Flush()
}

// dash is text, or a dash in place of none; tabs would end a column.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return strings.ReplaceAll(text, "\t", " ")
}

func limitText(limit int) string {
	if limit == NoLimit {
		return "-"
	}
	return strconv.Itoa(limit)
}

func percentText(f float64) string {
	if math.IsInf(f, 1) {
		return "inf"
	}
	if f >= 1e5 {
		return strconv.FormatFloat(100*f, 'e', 2, 64) + "%"
	}
	return strconv.FormatFloat(100*f, 'f', 2, 64) + "%"
}
