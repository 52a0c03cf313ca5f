package yamltree

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) *Doc {
	t.Helper()
	doc, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return doc
}

func TestReadersGiveWhatTheFileHolds(t *testing.T) {
	doc := parse(t, `
text: some words # and a comment
quoted: "1"
block: |
  two
  lines
enum: slow
yes: true
int: -7
whole: 123456789012
capacity: 6.4T
duration: 1m30s
list: [a, b]
free:
  x: 1
  y: 2
`)
	m := doc.Root().Map("text", "quoted", "block", "enum", "yes", "int", "whole", "capacity", "duration", "list", "free")
	var list, free []string
	for _, n := range m.Get("list").List() {
		list = append(list, n.Field()+"="+n.Text(""))
	}
	for _, e := range m.Get("free").Entries() {
		free = append(free, e.Node.Field())
	}
	got := []any{
		m.Get("text").Text(""), m.Get("quoted").Text(""), m.Get("int").Scalar(""), m.Get("block").Text(""),
		m.Get("enum").Enum("", "fast", "slow"), m.Get("yes").Bool(false),
		m.Get("int").Int(0, -7, 7), m.Get("whole").Whole(0),
		m.Get("capacity").Capacity(0), m.Get("duration").Duration(0, 0, time.Hour), list, free,
	}
	want := []any{
		"some words", "1", "-7", "two\nlines\n", "slow", true, int64(-7), int64(123456789012),
		uint64(6.4e12), 90 * time.Second, []string{"list[0]=a", "list[1]=b"}, []string{"free.x", "free.y"},
	}
	if err := doc.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestMissingFieldsGiveTheDefaultAndNoError(t *testing.T) {
	doc := parse(t, "x: 1")
	n := doc.Root().Map("x", "y").Get("y")
	got := []any{
		n.Present(), n.Text("d"), n.Enum("d", "a"), n.Bool(true), n.Int(5, 0, 1), n.Whole(6),
		n.Capacity(8), n.Duration(9, 0, 1), len(n.List()), len(n.Entries()), n.Map("z").Get("z").Text("d"),
	}
	want := []any{false, "d", "d", true, int64(5), int64(6), uint64(8), time.Duration(9), 0, 0, "d"}
	n.Reject("nothing")
	if diff := cmp.Diff(got, want); diff != "" || doc.Err() != nil {
		t.Errorf("error %v, got (-) want (+):\n%s", doc.Err(), diff)
	}
}

// A wrong value gives its position, its field, itself and what was wanted.
func TestWrongValuesAreNamedWithTheirPosition(t *testing.T) {
	tests := []struct {
		name, text string
		read       func(Node)
		want       string
	}{
		{"number for text", "a: 1", func(n Node) { n.Text("") }, `1:4: field "a": value "1": want text: quote it if this is meant`},
		{"null for text", "a:\nb: x", func(n Node) { n.Text("") }, `1:3: field "a": value "": want text: quote it if this is meant`},
		{"list for text", "a: [x]", func(n Node) { n.Text("") }, `1:4: field "a": want text`},
		{"mapping for a scalar", "a: {b: c}", func(n Node) { n.Scalar("") }, `1:4: field "a": want one value, no list or mapping`},
		{"unknown word", "a: warm", func(n Node) { n.Enum("", "cold", "hot") }, `1:4: field "a": value "warm": want one of "cold", "hot"`},
		{"mapping for a word", "a:\n  b: c", func(n Node) { n.Enum("", "cold") }, `2:3: field "a": want "cold"`},
		{"word for bool", "a: yes", func(n Node) { n.Bool(false) }, `1:4: field "a": value "yes": want true or false`},
		{"above the range", "a: 5000", func(n Node) { n.Int(0, 1, 4096) }, `1:4: field "a": value "5000": want 1 to 4096`},
		{"octal", "a: 010", func(n Node) { n.Int(0, 1, 4096) }, `1:4: field "a": value "010": want 1 to 4096`},
		{"underscore", "a: 1_0", func(n Node) { n.Int(0, 1, 4096) }, `1:4: field "a": value "1_0": want 1 to 4096`},
		{"fraction for a whole number", "a: 1.5", func(n Node) { n.Whole(0) }, `1:4: field "a": value "1.5": want a whole number`},
		{"beyond 64 bits", "a: 99999999999999999999", func(n Node) { n.Whole(0) }, `1:4: field "a": value "99999999999999999999": want a whole number`},
		{"zero capacity", "a: 0G", func(n Node) { n.Capacity(0) }, `1:4: field "a": value "0G": want a capacity in bits/s such as 800G or 6.4T, from 1 to 1000P`},
		{"negative capacity", "a: -1", func(n Node) { n.Capacity(0) }, `1:4: field "a": value "-1": want a capacity in bits/s such as 800G or 6.4T, from 1 to 1000P`},
		{"absurd capacity", "a: 1001P", func(n Node) { n.Capacity(0) }, `1:4: field "a": value "1001P": want a capacity in bits/s such as 800G or 6.4T, from 1 to 1000P`},
		{"duration without unit", "a: 30", func(n Node) { n.Duration(0, 0, time.Minute) }, `1:4: field "a": value "30": want a duration such as 30s or 200ms, from 0s to 1m0s`},
		{"duration too long", "a: 2m", func(n Node) { n.Duration(0, 0, time.Minute) }, `1:4: field "a": value "2m": want a duration such as 30s or 200ms, from 0s to 1m0s`},
		{"text for a list", "a: x", func(n Node) { n.List() }, `1:4: field "a": value "x": want a list`},
		{"text for a mapping", "a: x", func(n Node) { n.Map("b") }, `1:4: field "a": value "x": want a mapping (key: value)`},
		{"unknown field", "a: {b: 1, ü: 2, d: 3}", func(n Node) { n.Map("b", "c") }, "" +
			`1:11: field "a.ü": unknown field: want one of "b", "c"` + "\n" +
			`1:17: field "a.d": unknown field: want one of "b", "c"`},
		{"duplicate key", "a:\n  b: 1\n  b: 2\n  b: 3", func(n Node) { n.Map("b") }, "" +
			`3:3: field "a.b": duplicate key: first given in line 2` + "\n" +
			`4:3: field "a.b": duplicate key: first given in line 2`},
		{"a mapping read twice is reported once", "a: {b: 1, c: 2, b: 3}", func(n Node) { n.Map("b"); n.Map("b") }, "" +
			`1:11: field "a.c": unknown field: want "b"` + "\n" + `1:17: field "a.b": duplicate key: first given in line 1`},
		{"missing fields", "a:\n  b: 1", func(n Node) { m := n.Map("b", "c", "d"); m.Need("b"); m.Need("c"); m.Need("d") }, "" +
			`2:3: field "a": missing field "c"` + "\n" + `2:3: field "a": missing field "d"`},
		{"item of a list", "a:\n- x\n- {b: y}", func(n Node) { n.List()[1].Map("b").Get("b").Whole(0) }, `3:7: field "a[1].b": value "y": want a whole number`},
		{"carriage returns", "# c\r\na: x\r\n", func(n Node) { n.Whole(0) }, `2:4: field "a": value "x": want a whole number`},
		{"a long value is cut", "a: " + strings.Repeat("é", 100), func(n Node) { n.Whole(0) }, `1:4: field "a": value "` + strings.Repeat("é", 40) + `...": want a whole number`},
		{"the first complaint about a value is the only one", "a: x", func(n Node) { n.Whole(0); n.Reject("more") }, `1:4: field "a": value "x": want a whole number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := parse(t, tt.text)
			tt.read(doc.Root().Map("a", "b").Get("a"))
			got := "no error"
			if err := doc.Err(); err != nil {
				got = strings.ReplaceAll(err.Error(), "f.yaml:", "")
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAllErrorsComeTogetherSortedByPosition(t *testing.T) {
	doc := parse(t, "a: x\nb: {c: y, d: z}\ne: 0")
	m := doc.Root().Map("a", "b", "e")
	m.Get("e").Int(1, 1, 2)
	b := m.Get("b").Map("c", "d")
	b.Get("d").Whole(0)
	b.Get("c").Whole(0)
	m.Get("a").Whole(0)
	var errs *Errs
	if !errors.As(doc.Err(), &errs) {
		t.Fatalf("got %v, want an *Errs", doc.Err())
	}
	var got [][2]int
	for _, e := range errs.List {
		got = append(got, [2]int{e.Line, e.Column})
	}
	if diff := cmp.Diff(got, [][2]int{{1, 4}, {2, 8}, {2, 14}, {3, 4}}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if got := doc.Count(); got != 4 {
		t.Errorf("Count: got %d, want 4", got)
	}
}

func TestErrorsBeyondTheLimitAreCounted(t *testing.T) {
	doc := parse(t, "["+strings.Repeat("x,", 1500)+"x]")
	for _, n := range doc.Root().List() {
		n.Whole(0)
	}
	if err := doc.Err(); !strings.HasSuffix(err.Error(), "\nand 501 more errors") {
		t.Errorf("got ...%q, want 501 more errors counted", err.Error()[len(err.Error())-60:])
	}
}

func TestParseRefusesWhatIsOutsideTheDialect(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty file", "", "1:1: the file is empty: want one YAML document"},
		{"only comments", "# a\n# b\n", "1:1: the file is empty: want one YAML document"},
		{"only a header", "---\n", "1:1: the file is empty: want one YAML document"},
		{"two documents", "a: 1\n---\nb: 2\n", "2:1: " + secondDocument},
		{"two documents, the second empty", "a: 1\n---\n", "2:1: " + secondDocument},
		{"two documents by end markers", "a: 1\n...\nb: 2\n", "3:1: " + secondDocument},
		{"anchor", "a: &x 1", "1:4: anchors (&name) are not supported: write the value out"},
		{"alias", "a: 1\nb: *x", "2:4: aliases (*name) are not supported: write the value out"},
		{"merge key", "a:\n  <<: {b: 1}", "2:3: merge keys (<<) are not supported: write the fields out"},
		{"tag", "a: !!str 1", "1:4: tags (!name) are not supported"},
		{"directive", "%YAML 1.2\n---\na: 1", "1:1: directives (%name) are not supported"},
		{"explicit key", "? a\n: b", `1:1: "? " keys are not supported: write key: value`},
		{"mapping as a key", "{a: b}: c", "1:7: want text as a key"},
		{"no UTF-8", "a: ü\nb: é\xff", "2:5: byte 0xff: want UTF-8 text"},
		{"too large", "a: " + strings.Repeat("x", MaxBytes), "1:1: the file has 4194307 bytes: want at most 4194304"},
		{"bracket left open", "a: [1, 2", "1:4: not YAML: sequence end token ']' not found"},
		{"tab indentation", "a:\n\tb: 1", "2:1: not YAML: found character '\t' that cannot start any token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tt.text))
			if err == nil {
				t.Fatalf("got no error, want %s", tt.want)
			}
			var errs *Errs
			if got := strings.TrimPrefix(err.Error(), "f.yaml:"); got != tt.want || !errors.As(err, &errs) {
				t.Errorf("got  %s (%T)\nwant %s", got, err, tt.want)
			}
		})
	}
}

// The parser recurses for each of these; unguarded they end the process.
func TestParseRefusesWhatWouldOverflowTheStack(t *testing.T) {
	const many = 300_000
	tests := []struct{ name, text, want string }{
		{"brackets", strings.Repeat("[", many), "nesting is deeper than 64"},
		{"braces", strings.Repeat("{a: ", many), "nesting is deeper than 64"},
		{"items in items", strings.Repeat("- ", many), "nesting is deeper than 64"},
		{"keys on one line", strings.Repeat("a: ", many), "nesting is deeper than 64"},
		{"one level too deep", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "nesting is deeper than 64"},
		{"keys of one mapping", strings.Repeat("a: b\n", many), "a mapping of more than 4096 keys"},
		{"keys with lists in their column", strings.Repeat("a:\n- b\n", many), "a mapping of more than 4096 keys"},
		{"fields left out", strings.Repeat("- a:\n", many), "more than 1000 fields without a value"},
		{"items left out", strings.Repeat("-\n", many), "more than 1000 fields without a value"},
		{"flow values left out", "{" + strings.Repeat("a: ,", many), "more than 1000 fields without a value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tt.text))
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestParseTakesWhatIsJustWithinTheLimits(t *testing.T) {
	tests := []struct{ name, text string }{
		{"brackets", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)},
		{"items in items", strings.Repeat("- ", MaxDepth) + "x"},
		{"many mappings in a list", strings.Repeat("- a: b\n  c: d\n", 3*MaxKeys)},
		{"many flow items", "[" + strings.Repeat("x,", 3*maxEmpty) + "x]"},
		{"many keys of flow mappings", "[" + strings.Repeat("{a: b}, ", 3*MaxKeys) + "]"},
		{"many flow mappings", strings.Repeat("- {a: b, c: [d, e]}\n", 3*maxEmpty)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse("f.yaml", []byte(tt.text)); err != nil {
				t.Errorf("got %v, want no error", err)
			}
		})
	}
}

func TestAByteOrderMarkIsNoPartOfTheFirstKey(t *testing.T) {
	doc := parse(t, "\ufeffa: 1\n")
	m := doc.Root().Map("a")
	if got := m.Need("a").Int(0, 0, 9); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	m.Get("a").Reject("no")
	want := `f.yaml:1:4: field "a": value "1": no`
	if err := doc.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Parse("f.yaml", []byte("\ufeff")); err == nil || !strings.Contains(err.Error(), "the file is empty") {
		t.Errorf("nothing but the mark: got %v, want an error that says so", err)
	}
	if m := parse(t, "a: 1\n\ufeffb: 2\n").Root().Map("a", "b"); m.Get("b").Present() {
		t.Error("a mark in the middle of a file is text: got field b")
	}
}
