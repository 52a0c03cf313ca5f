package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bagrig/bagrig/harness/state"
)

// shownViolations is how many violations of one property the summary shows.
const shownViolations = 5

// Summary is the run for a person: the text of summary.txt, and of the terminal
// where it is wide enough.
func (d *Document) Summary() string { return d.SummaryIn(0) }

// SummaryIn is Summary with tables of at most so many characters a line; 0 = any
// number. What has no room is left out or cut, and a line names the columns.
func (d *Document) SummaryIn(width int) string {
	parts := []string{d.Topology + "\n" + d.externals() + d.bringUp()}
	if len(d.Events) > 0 {
		parts = append(parts, d.eventTable(width))
	}
	if d.Lost != nil {
		parts = append(parts, d.Lost.summary(width))
	}
	if d.FIB != nil {
		parts = append(parts, d.FIB.summary(width))
	}
	if len(d.Overcount) > 0 {
		parts = append(parts, overcountTable(d.Overcount, width))
	}
	if len(d.Properties) > 0 {
		parts = append(parts, d.propertyTable(width)+d.notes())
	}
	for _, p := range d.Properties {
		if p.Violated > 0 {
			parts = append(parts, fmt.Sprintf("%s: violated %s\n%s", p.Name, times(p.Violated), violations(p, shownViolations)))
		}
	}
	parts = append(parts, d.end())
	return strings.Map(printable, strings.Join(parts, "\n"))
}

// printable keeps what a name or an error may hold from steering a terminal.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' {
		return unicode.ReplacementChar
	}
	return r
}

func (d *Document) bringUp() string {
	b := d.BringUp
	if b.Entries == 0 {
		return "no baseline was reached\n"
	}
	return fmt.Sprintf("Established in %s, quiet %s later; %s announced prefixes per Adj-RIB-In entry, %s entries, %s stale\n",
		realTime(b.EstablishedMS), realTime(b.QuietMS), decimals(b.AnnouncedPerEntry, 3), whole(b.Entries), whole(b.Stale))
}

func (d *Document) eventTable(width int) string {
	columns := []column{
		{head: "#", right: true}, {head: "event", limit: 48}, {head: "effect"}, {head: "quiet", right: true}, {head: "last told", right: true, drop: 1},
		{head: "UPDATEs", right: true, drop: 3}, {head: "NLRI", right: true}, {head: "radius", right: true, drop: 4}, {head: "touched/hop", drop: 2},
	}
	var rows [][]string
	for _, e := range d.Events {
		last := ""
		if e.Told > 0 {
			last = "+" + virtualTime(e.LastChangeS)
		}
		rows = append(rows, []string{
			strconv.Itoa(e.Number), shortEvent(e.Text), e.effect(), realTime(e.QuietMS), last,
			whole(e.Counters.Updates), whole(e.Counters.NLRI), e.radius(), e.speakers(),
		})
	}
	return narrowTable(columns, rows, width)
}

// summary lists when bundles lost traffic that no routing missed.
func (l *Lost) summary(width int) string {
	columns := []column{{head: "lost unseen", limit: 48}, {head: "of its traffic", right: true}, {head: "from", right: true}, {head: "until", right: true}}
	var rows [][]string
	for _, b := range l.Bundles {
		until := virtualTime(b.UntilS)
		if b.Lasts {
			until = "still"
		}
		rows = append(rows, []string{b.Bundle, decimals(100*b.Part, 1) + " %", virtualTime(b.FromS), until})
	}
	if l.Pairs == 0 {
		return narrowTable(columns, rows, width) + "no device sent anything over them\n"
	}
	return narrowTable(columns, rows, width) + fmt.Sprintf("at worst %s of %s (device, prefix) lost traffic, %s %% of %s; in all %s s of all traffic\n",
		whole(l.Pairs), whole(l.Of), decimals(100*l.Worst, 1), l.WorstPair, strconv.FormatFloat(l.Seconds, 'g', 4, 64))
}

// overcountTable is told over true at each moment.
func overcountTable(list []Overcount, width int) string {
	columns := []column{
		{head: "told over true"}, {head: "worst", right: true}, {head: "device, prefix", limit: 40, drop: 1}, {head: "median", right: true}, {head: "above 1", right: true},
	}
	var rows [][]string
	for _, o := range list {
		what := "as told, at the " + o.Moment
		if !o.Damped {
			what = "undamped, at the " + o.Moment
		}
		rows = append(rows, []string{what, number(o.Worst), strings.TrimSpace(o.Device + " " + o.Prefix), number(o.Median), whole(o.Above) + " of " + whole(o.Pairs)})
	}
	return narrowTable(columns, rows, width)
}

// shortEvent is an event in few words: `flap a--b to 24, 20 x 10s`.
func shortEvent(text string) string {
	return strings.NewReplacer(
		" bundle=", " ", " device=", " ", " all=true", " all", " members=", " to ", " count=", ", ", " period=", " x ",
		" at=", ", at ", " silent=true", ", silent",
		" detect=carrier", ", carrier", " detect=bfd:", ", BFD after ", " detect=hold:", ", hold timer after ", " loss=", ", loss ",
	).Replace(text)
}

func (e Event) effect() string {
	if e.Effect != state.Changed {
		return string(e.Effect)
	}
	return fmt.Sprintf("told %d, sets %d", e.Told, e.Sets)
}

func (e Event) radius() string {
	if e.Radius == nil {
		return "-"
	}
	return strconv.Itoa(*e.Radius)
}

// speakers are those touched at hop distance 0, 1, 2, ...
func (e Event) speakers() string {
	hops := make([]string, len(e.PerHop))
	for i, n := range e.PerHop {
		hops[i] = strconv.Itoa(n)
	}
	return strings.Join(hops, " ")
}

func (d *Document) propertyTable(width int) string {
	columns := []column{
		{head: "property", limit: 48}, {head: "result"}, {head: "exercised", right: true, drop: 1},
		{head: "worst", right: true}, {head: "limit", right: true}, {head: "unit"},
	}
	var rows [][]string
	for _, p := range d.Properties {
		worst, result := number(p.Worst), string(p.Status)
		if p.Status == PropertyNeverExercised || p.Status == PropertyNotObservable {
			worst = "-"
		}
		if p.Status == PropertyViolated {
			result = "VIOLATED"
		}
		rows = append(rows, []string{p.Name, result, whole(p.Exercised), worst, number(p.Limit), p.Unit})
	}
	return narrowTable(columns, rows, width)
}

// notes has a line for each property that has more to say.
func (d *Document) notes() string {
	var b strings.Builder
	for _, p := range d.Properties {
		if p.Note != "" {
			fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Note)
		}
	}
	return b.String()
}

// violations are at most so many lines, and one that counts the others.
func violations(p Property, most int) string {
	var b strings.Builder
	shown := p.Violations[:min(most, len(p.Violations))]
	for _, v := range shown {
		text := strings.ReplaceAll(v.Text, "\n", "\n    ")
		fmt.Fprintf(&b, "  at %s, %s: %s\n", virtualTime(v.TimeS), v.Where, text)
	}
	if more := p.Violated - len(shown); more > 0 {
		fmt.Fprintf(&b, "  and %s more\n", whole(more))
	}
	return b.String()
}

func (d *Document) end() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", name, strings.ReplaceAll(value, "\n", "\n         "))
		}
	}
	field("verdict", d.verdict())
	if a := d.Agreement; a != nil {
		agree := "agree"
		if a.Differences > 0 {
			agree = fmt.Sprintf("differ %s, see %s", times(a.Differences), AgreeFile)
		}
		field("sim", fmt.Sprintf("%s; at %s moments the engines %s", a.Sim, whole(a.Moments), agree))
	}
	field("error", d.Error)
	field("states", reachedText(d.States))
	field("took", fmt.Sprintf("%s, in which %s of virtual time passed", realTime(d.ElapsedMS), virtualTime(d.VirtualS)))
	field("seed", strconv.FormatUint(d.Seed, 10))
	field("folder", d.Folder)
	field("repeat", d.Command)
	return b.String()
}

// reachedText says how many states of behaviour were reached; run.json says which.
func reachedText(list []Reached) string {
	if len(list) == 0 {
		return ""
	}
	n := 0
	for _, r := range list {
		if r.Times > 0 {
			n++
		}
	}
	return fmt.Sprintf("%d of %d states of behaviour reached, see %s", n, len(list), RunFile)
}

func (d *Document) verdict() string {
	text := string(d.Verdict)
	counts := map[Status]int{}
	for _, p := range d.Properties {
		counts[p.Status]++
	}
	var parts []string
	for _, status := range []Status{PropertyHeld, PropertyViolated, PropertyNeverExercised, PropertyNotObservable} {
		if counts[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
		}
	}
	switch total := len(d.Properties); {
	case total == 0:
		parts = []string{"no property was checked"}
	case counts[PropertyHeld] == total && d.Verdict == state.Held:
		parts = []string{fmt.Sprintf("all %d properties", total)}
	}
	text += ": " + strings.Join(parts, ", ")
	if missing := d.EventsPlanned - len(d.Events); missing > 0 {
		text += fmt.Sprintf("; %d of %d events were not finished", missing, d.EventsPlanned)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return whole(n) + " times"
}

func (p Property) amount(n Number) string { return strings.TrimRight(number(n)+" "+p.Unit, " ") }

// realTime writes milliseconds so that the first three digits can be seen.
func realTime(ms float64) string {
	switch {
	case ms < 9.995:
		return decimals(ms, 2) + " ms"
	case ms < 999.5:
		return decimals(ms, 0) + " ms"
	default:
		return decimals(ms/1000, 2) + " s"
	}
}

// virtualTime is exact below a second, and to the millisecond above.
func virtualTime(s float64) string {
	d := time.Duration(math.Round(s * float64(time.Second)))
	if d > time.Second {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

func decimals(f float64, n int) string { return strconv.FormatFloat(f, 'f', n, 64) }

// number writes whole numbers with thousands apart and others with four digits.
func number(n Number) string {
	f := float64(n)
	switch {
	case math.IsInf(f, 1):
		return "infinite"
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return whole(int(f))
	default:
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
}

// whole writes 215616 as 215,616.
func whole(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
