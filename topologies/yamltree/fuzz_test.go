package yamltree

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// walk reads a value in every way there is.
func walk(n Node) {
	n.Text("")
	n.Enum("", "a", "b")
	n.Bool(false)
	n.Int(0, -5, 5)
	n.Whole(0)
	n.Scalar("")
	n.Capacity(0)
	n.Duration(0, 0, time.Hour)
	n.Map("a", "b").Need("c")
	for _, e := range n.Entries() {
		e.Key.Reject("no")
		walk(e.Node)
	}
	for _, item := range n.List() {
		walk(item)
	}
}

// FuzzParse: no bytes make Parse or a reader panic, and every error is placed
// inside the file.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a: 1", "- a\n- {b: [c, d]}\n", "a: &x 1", "a:\n  b: |\n   c\n", "\"a\": 'b'", "---\na: 1\n...\n", "a: 1\na: 2", "{a, b: }", "[a: b]", "é: \xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse("f.yaml", data)
		if err == nil {
			walk(doc.Root())
			err = doc.Err()
		}
		if err == nil {
			return
		}
		var errs *Errs
		if !errors.As(err, &errs) || len(errs.List) == 0 {
			t.Fatalf("got %T %v, want an *Errs with errors", err, err)
		}
		lines := 1 + strings.Count(strings.ReplaceAll(string(data), "\r", "\n"), "\n")
		for _, e := range errs.List {
			if e.Line < 1 || e.Line > lines || e.Column < 1 || e.File != "f.yaml" {
				t.Errorf("%v: not inside a file of %d lines", e, lines)
			}
		}
	})
}
