package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/harness/state"
)

// wide is a run whose tables are as wide as those of the preset prometheus.
func wide() *Document {
	radius := 4
	event := Event{
		Number: 10, Text: "flap bundle=r3-f1-s1--r3-f1-e1 members=108 count=20 period=10s", Effect: state.Changed, Told: 5823, Sets: 9857,
		QuietMS: 874, LastChangeS: 225, Radius: &radius, PerHop: []int{0, 4, 10, 52, 96},
	}
	event.Counters.Updates, event.Counters.Announced = 10331, 10339
	long := event
	long.Text = "degrade bundle=" + strings.Repeat("a", 30) + "--" + strings.Repeat("b", 30) + " members=1"
	return &Document{
		Events:     []Event{event, long},
		Properties: []Property{{Name: "FIB within limits, peak included", Status: PropertyHeld, Exercised: 3545833, Worst: 96.55, Limit: 100, Unit: "% of the margin"}},
	}
}

func widest(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return most
}

func TestTablesFitTheTerminal(t *testing.T) {
	d := wide()
	for _, c := range []struct {
		width int
		heads string // of the event table
	}{
		{0, "# event effect quiet last told UPDATEs NLRI radius touched/hop"},
		{200, "# event effect quiet last told UPDATEs NLRI radius touched/hop"},
		{120, "# event effect quiet UPDATEs NLRI radius touched/hop"},
		{80, "# event effect quiet NLRI"},
		{60, "# event effect quiet NLRI"},
	} {
		events, properties := d.eventTable(c.width), d.propertyTable(c.width)
		head, _, _ := strings.Cut(events, "\n")
		if got := strings.Join(strings.Fields(head), " "); got != c.heads {
			t.Errorf("%d columns: got heads %q, want %q", c.width, got, c.heads)
		}
		for _, text := range []string{events, properties} {
			if got := widest(text); c.width > 0 && got > c.width {
				t.Errorf("%d columns: got %d in\n%s", c.width, got, text)
			}
		}
		_, note, said := strings.Cut(events, "no room for: ")
		if want := strings.Count(d.eventTable(0), "last told") - strings.Count(head, "last told"); said != (want > 0) {
			t.Errorf("%d columns: got %q said of what was left out", c.width, note)
		}
	}
}

func TestANarrowTableKeepsItsRowsAndFits(t *testing.T) {
	properties := gopter.NewProperties(nil)
	columns := []column{{head: "#", right: true}, {head: "text", limit: 20}, {head: "more", drop: 2}, {head: "rest", drop: 1}}
	cells := gen.SliceOfN(12, gen.OneConstOf("", "a", "é1", "12345", "a long cell", strings.Repeat("x", 40)))
	properties.Property("narrow", prop.ForAll(func(cells []string, width int) bool {
		var rows [][]string
		for at := 0; at < len(cells); at += 3 {
			rows = append(rows, []string{"7", cells[at], cells[at+1], cells[at+2]})
		}
		before := table(columns, rows)
		got := narrowTable(columns, rows, width)
		if table(columns, rows) != before { // the caller's rows are its own
			return false
		}
		got, _, _ = strings.Cut(got, "no room for")
		return strings.Count(got, "\n") == len(rows)+1 && widest(got) <= max(width, 11)
	}, cells, gen.IntRange(1, 120)))
	properties.TestingRun(t)
}
