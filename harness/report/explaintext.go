package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// shownTerms is how many terms of a sum are written out.
const shownTerms = 8

// Text is the explanation for a routing engineer: values in members of the
// topology's smallest speed, with bits/s in brackets.
func (e *Explanation) Text() string {
	parts := []string{e.heading(), e.candidateText()}
	if len(e.Set) > 0 {
		parts = append(parts, e.setText())
	}
	parts = append(parts, e.valueText(), e.sessionText(), e.hardwareText())
	return strings.Map(printable, strings.Join(parts, "\n"))
}

func (e *Explanation) heading() string {
	d, p := e.Device, e.Prefix
	what := []string{d.Role}
	if place := first(d.Fabric, d.Region); place != "" {
		what = append(what, "in "+place)
	}
	if d.Plane > 0 {
		what = append(what, fmt.Sprintf("plane %d", d.Plane))
	}
	text := fmt.Sprintf("%s (%s, ASN %d): %s (", d.Name, strings.Join(what, ", "), d.ASN, p.Prefix)
	if p.Class != "" {
		text += "class " + p.Class + ", "
	}
	text += "from " + some(p.Origins) + ")\n" + e.SceneHead.text()
	text += fmt.Sprintf("values in members of %s, bits/s in brackets\n", yamltree.FormatCapacity(e.member))
	if d.Restarting {
		text += "the device restarts: it has not decided yet, and hardware forwards as before\n"
	}
	switch {
	case d.ForwardsUntil != nil:
		text += fmt.Sprintf("the device is %s and forwards until %s\n", d.Drain, virtualTime(*d.ForwardsUntil))
	case d.Drain == topologies.Drained.String():
		text += "the device is drained and forwards no more\n"
	case d.Drain != topologies.Live.String():
		text += "the device is " + d.Drain + "\n"
	}
	if knobs := e.knobText(); knobs != "" {
		text += "settings: " + knobs + "\n"
	}
	if e.Aggregate != nil {
		text += e.aggregateText()
	}
	return text
}

// aggregateText is an aggregate's condition and its measure.
func (e *Explanation) aggregateText() string {
	a := e.Aggregate
	measure := fmt.Sprintf("%d of %d more-specifics, announced from %d on, withdrawn below %d", a.Supporting, a.Specifics, a.Announce, a.Withdraw)
	if a.By == topologies.ByCapacity {
		measure = fmt.Sprintf("%s behind %d of %d more-specifics, announced from %s on, withdrawn below %s",
			e.amount(a.Capacity), a.Supporting, a.Specifics, e.amount(a.Announce), e.amount(a.Withdraw))
	}
	result := "not announced"
	if a.Announced {
		result = "announced"
	}
	if a.Announced && a.Suppress {
		result += ", the more-specifics go only down"
	}
	return fmt.Sprintf("aggregate, %s: %s: %s\n", a.By, measure, result)
}

// text says which moment it is.
func (s SceneHead) text() string {
	moment := "at the baseline"
	if s.AtEvent > 0 {
		moment = fmt.Sprintf("after event %d of %d (%s)", s.AtEvent, s.Events, shortEvent(s.EventText))
	}
	return fmt.Sprintf("%s on %s, %s, virtual time %s\n", s.Scenario, s.Topology, moment, virtualTime(s.TimeS))
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// some is a list of at most three names.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// knobText are the settings that are not the defaults.
func (e *Explanation) knobText() string {
	var list []string
	for _, k := range topologies.Knobs() {
		if v := e.Settings[k.Name]; v != k.Default {
			list = append(list, k.Name+" "+v)
		}
	}
	return strings.Join(list, ", ")
}

// amount is a capacity in members, with bits/s in brackets: 33 (26.4T).
func amount(bits, member uint64) string {
	if bits == 0 {
		return "0"
	}
	text := compact(bits)
	if member == 0 {
		return text
	}
	return fmt.Sprintf("%.4g (%s)", float64(bits)/float64(member), text)
}

// compact is bits/s with four digits, which hides what float32 rounds.
func compact(bits uint64) string {
	for _, u := range []struct {
		size   float64
		letter string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if v := float64(bits) / u.size; v >= 0.99995 {
			return strconv.FormatFloat(v, 'g', 5, 64) + u.letter
		}
	}
	return strconv.FormatUint(bits, 10)
}

func (e *Explanation) amount(bits uint64) string { return amount(bits, e.member) }

// maybe is an amount, or a word where there is none.
func (e *Explanation) maybe(bits *uint64, none string) string {
	if bits == nil {
		return none
	}
	return e.amount(*bits)
}

func path(asns []uint32) string {
	if len(asns) == 0 {
		return "empty"
	}
	words := make([]string, len(asns))
	for i, a := range asns {
		words[i] = strconv.FormatUint(uint64(a), 10)
	}
	return strings.Join(words, " ")
}

func (e *Explanation) candidateText() string {
	used := 0
	rows := [][]string{}
	for _, c := range e.Candidates {
		mark := ""
		if c.ToldOn {
			mark = "*"
		}
		if c.Verdict == "used" {
			used++
		}
		verdict := c.Verdict
		if c.Stale {
			verdict += ", stale"
		}
		rows = append(rows, []string{
			"  " + c.Neighbor + mark, path(c.ASPath), strconv.FormatUint(uint64(c.LocalPref), 10), c.Origin, e.maybe(c.Received, "no valid value"),
			dash(strings.Join(c.Tags, " ")), verdict,
		})
	}
	text := fmt.Sprintf("candidates: %d, used %d", len(e.Candidates), used)
	switch {
	case e.Prefix.Local && e.Aggregate != nil:
		text += "; the device announces the aggregate and uses its own route"
	case e.Prefix.Local:
		text += "; the device originates the prefix and uses its own route"
	case e.Prefix.Originates:
		text += "; the device originates the prefix too, but a candidate has a higher LOCAL_PREF"
	case used > 0:
		text += "; * = its AS_PATH is told on"
	}
	if len(rows) == 0 {
		return text + "\n"
	}
	return text + "\n" + table([]column{
		{head: "  neighbour"}, {head: "AS_PATH"}, {head: "LOCAL_PREF", right: true}, {head: "ORIGIN"}, {head: "received"}, {head: "communities"}, {head: "verdict"},
	}, rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (e *Explanation) setText() string {
	rows := [][]string{}
	for _, m := range e.Set {
		share := e.amount(m.Share)
		if e.Equal != "" {
			share = "equal"
		}
		name := m.Neighbor
		if m.Parallel > 1 {
			name = fmt.Sprintf("%s over %s", m.Neighbor, m.Bundle)
		}
		rows = append(rows, []string{
			"  " + name, e.amount(m.Capacity), e.maybe(m.Received, "none: "+e.missing()), e.amount(m.Min), share, strconv.Itoa(m.Weight),
		})
	}
	text := fmt.Sprintf("multipath set: %d, weights.source %s", len(e.Set), e.Settings["weights.source"])
	if e.Equal != "" {
		text += "; equal shares: " + e.Equal
	}
	return text + "\n" + table([]column{
		{head: "  neighbour"}, {head: "capacity"}, {head: "received"}, {head: "min"}, {head: "share"}, {head: "weight", right: true},
	}, rows)
}

// missing is what a member without a value counts as.
func (e *Explanation) missing() string {
	switch e.Settings["weights.missing"] {
	case topologies.MissingSkip:
		return "no share"
	case topologies.MissingDefault:
		return "counts as its bundle"
	}
	return "makes the set equal"
}

func (e *Explanation) valueText() string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	v := e.Value
	switch {
	case v.Value == nil:
		line("value", "none: "+v.Why)
	case v.Divisor > 1:
		line("value", fmt.Sprintf("%s = %s / %d (divide %s) = %s", e.sum(), e.amount(*v.Sum), v.Divisor, e.Settings["divide"], e.amount(*v.Value)))
	default:
		line("value", e.sum()+" = "+e.amount(*v.Value))
	}
	line("damping", e.Damping.Pipeline)
	for _, s := range e.Damping.Stages {
		kind := ""
		if !s.Memoryless {
			kind = ", with all that it remembers"
		}
		line("", fmt.Sprintf("%s: %s -> %s%s", s.Stage, e.maybe(s.In, routeWords(s.InReach)), e.maybe(s.Out, routeWords(s.OutReach)), kind))
	}
	if t := e.Damping.NextS; t != nil {
		line("", "looks again at "+virtualTime(*t))
	}
	e.toldText(line)
	return b.String()
}

// routeWords is a value that is none.
func routeWords(reach string) string {
	if reach == "none" {
		return "no route"
	}
	return "a route " + reach
}

// sum is the mode with what it sums up.
func (e *Explanation) sum() string {
	switch v := e.Value; {
	case v.Mode == speakers.ModeOrigin:
		return "constant of an origin"
	case v.Mode == speakers.ModeAggregate:
		return "capacity of the distinct bundles behind the more-specifics"
	case len(v.Terms) == 0:
		return "advertise " + v.Mode
	case len(v.Terms) > shownTerms:
		return fmt.Sprintf("%s of %d", v.Mode, len(v.Terms))
	default:
		terms := make([]string, len(v.Terms))
		for i, t := range v.Terms {
			terms[i] = fmt.Sprintf("%.4g", float64(t.Bits)/float64(max(e.member, 1)))
		}
		return v.Mode + ": " + strings.Join(terms, " + ")
	}
}

func (e *Explanation) toldText(line func(name, text string)) {
	t := e.Told
	if !t.Present {
		line("told", "nothing: "+t.Why)
		return
	}
	what := "a route without a value"
	if t.Value != nil {
		what = fmt.Sprintf("%s = %s bytes/s", e.amount(*t.Value), strconv.FormatFloat(*t.Bytes, 'f', -1, 64))
	}
	line("told", fmt.Sprintf("%s, to %d of %d neighbours", what, e.hearers(), len(e.Sessions)))
	for _, c := range t.Wire {
		kind := "non-transitive"
		if strings.HasPrefix(c, "00") {
			kind = "transitive"
		}
		line("", fmt.Sprintf("link bandwidth %s (%s)", c, kind))
	}
	text := "AS_PATH " + path(t.ASPath)
	if t.Atomic {
		text += ", ATOMIC_AGGREGATE"
	}
	if len(t.Tags) > 0 {
		text += ", communities " + strings.Join(t.Tags, " ")
	}
	line("", text)
}

// hearers counts the sessions over which the prefix is told.
func (e *Explanation) hearers() (n int) {
	for _, s := range e.Sessions {
		if s.Told {
			n++
		}
	}
	return n
}

func (e *Explanation) sessionText() string {
	rows := [][]string{}
	for _, s := range e.Sessions {
		heard := s.Why
		if s.Told {
			heard = "told"
		}
		session := sessionState(s.Established, s.EndedBy, s.Unnoticed, s.Lost, s.HeldFrom)
		if s.StaleUntil != nil {
			session += ", stale until " + virtualTime(*s.StaleUntil)
		}
		passed := e.amount(s.Passed)
		if s.Trial {
			passed += ", on trial"
		}
		if s.NextS != nil {
			passed += ", until " + virtualTime(*s.NextS)
		}
		rows = append(rows, []string{
			"  " + s.Neighbor, s.Role, strconv.FormatUint(uint64(s.ASN), 10), fmt.Sprintf("%d/%d", s.Members, s.FullMembers), passed, session, heard,
		})
	}
	return fmt.Sprintf("sessions: %d, told %d\n", len(e.Sessions), e.hearers()) + table([]column{
		{head: "  neighbour"}, {head: "role"}, {head: "ASN"}, {head: "members", right: true}, {head: "damping passes"}, {head: "session"}, {head: "this prefix"},
	}, rows)
}

// sessionState is a session in a few words.
func sessionState(established bool, endedBy string, unnoticed bool, lost float64, heldFrom []string) string {
	text := "down"
	if established {
		text = "up"
	}
	if endedBy != "" {
		text += ", ended by " + endedBy + " (import.max-prefixes)"
	}
	switch {
	case unnoticed:
		text += ", failed unnoticed"
	case lost > 0:
		text += fmt.Sprintf(", loses %.4g %% unseen", 100*lost)
	}
	if len(heldFrom) > 0 {
		text += ", held from " + strings.Join(heldFrom, " and ")
	}
	return text
}

func (e *Explanation) hardwareText() string {
	h := e.Hardware
	if !h.Programmed {
		why := ""
		switch {
		case e.Prefix.Local && e.Aggregate != nil:
			why = ", a discard route for what has no more-specific"
		case e.Prefix.Local:
			why = ", the prefix is the device's own"
		}
		return fmt.Sprintf("hardware  %s: no entry%s\n", h.Profile, why)
	}
	where := fmt.Sprintf("group %d", h.Group)
	if h.Group == 0 {
		where = "no group, a single next hop"
	}
	var weights []int
	for _, w := range h.Weights {
		weights = append(weights, w.Weight)
	}
	dropped := "none dropped"
	if len(h.Dropped) > 0 {
		dropped = "dropped " + some(h.Dropped)
	}
	if h.Compromise != "" {
		dropped += fmt.Sprintf(", %s because the table is full", h.Compromise)
	}
	limit := " without a published limit"
	if h.GroupsLimit != nil {
		limit = fmt.Sprintf(" of %d", *h.GroupsLimit)
	}
	return fmt.Sprintf("hardware  %s: %s, weights %s, error %s %%, %s; groups %d%s, peak %d\n",
		h.Profile, where, ratio(weights), percent(h.Error), dropped, h.Groups, limit, h.GroupsPeak)
}

// percent is an error; what float32 rounding alone makes is not spelled out.
func percent(e Number) string {
	if e > 0 && e < 1e-5 {
		return "<0.001"
	}
	return number(100 * e)
}

// ratio is a weight vector: 3:4:4, or 32 x 1 where it is long and equal.
func ratio(weights []int) string {
	if len(weights) > shownTerms && slices.Min(weights) == slices.Max(weights) {
		return fmt.Sprintf("%d x %d", len(weights), weights[0])
	}
	texts := make([]string, len(weights))
	for i, w := range weights {
		texts[i] = strconv.Itoa(w)
	}
	return strings.Join(texts, ":")
}
