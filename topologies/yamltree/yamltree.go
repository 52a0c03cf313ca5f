// Package yamltree reads a YAML document strictly, keeps the position of
// everything in it, and collects all errors of a file instead of the first.
// It knows nothing of topologies or scenarios: those walk the tree that it
// gives and say what they want at each place.
//
// A reader asks a Node for what it wants. A Node that holds something else
// notes an error with its position and gives the default, so the caller walks
// on and never has to check anything before the end:
//
//	doc, err := yamltree.Parse("links.yaml", data)
//	if err != nil {
//		return err
//	}
//	m := doc.Root().Map("name", "members", "speed")
//	name := m.Need("name").Text("")
//	members := m.Get("members").Int(1, 1, 4096)
//	speed := m.Get("speed").Capacity(0)
//	return doc.Err() // links.yaml:2:10: field "members": value "0": want 1 to 4096
//
// The dialect is YAML without the parts that make a file hard to read or
// dangerous to parse: no anchors, aliases, merge keys, tags, directives or
// "? " keys, one document, keys are plain or quoted text and given once.
package yamltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// MaxBytes is the size of the largest file that is read.
const MaxBytes = 4 << 20

// MaxDepth is how deep mappings and lists may nest.
const MaxDepth = 64

// maxErrors bounds what one file can make us remember; the rest is counted.
const maxErrors = 1000

// maxQuoted is how many bytes of a value an error shows.
const maxQuoted = 80

// Error is one thing that is wrong with a file.
type Error struct {
	File         string
	Line, Column int    // from 1; columns count characters
	Field        string // path of the field, such as "bundles[4].members"; empty for the whole document
	Value        string // what the file holds there, where HasValue
	HasValue     bool
	Want         string // what was wanted instead
}

// Error gives file:line:column, the field, its value and what was wanted.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		fmt.Fprintf(&b, "field %q: ", e.Field)
	}
	if e.HasValue {
		fmt.Fprintf(&b, "value %q: ", shorten(e.Value))
	}
	b.WriteString(e.Want)
	return b.String()
}

func shorten(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "..."
}

// Errs is all that is wrong with a file, sorted by position.
type Errs struct {
	List []*Error
	More int // errors beyond the first 1,000, counted and not kept
}

// Error gives one line per error.
func (e *Errs) Error() string {
	lines := make([]string, 0, len(e.List)+1)
	for _, x := range e.List {
		lines = append(lines, x.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more errors", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single errors.
func (e *Errs) Unwrap() []error {
	errs := make([]error, len(e.List))
	for i, x := range e.List {
		errs[i] = x
	}
	return errs
}

// Doc is one parsed document and the errors noted in it so far. It is not
// safe for use by several goroutines.
type Doc struct {
	file string
	root ast.Node
	list []*Error
	more int

	rejected map[ast.Node]bool // values that have their error
	noted    map[Error]bool    // a value read twice must not be reported twice
}

// Root is the document's outermost value.
func (d *Doc) Root() Node { return Node{doc: d, node: d.root} }

// Count is the number of errors noted so far.
func (d *Doc) Count() int { return len(d.list) + d.more }

// Err gives all errors noted so far as *Errs, sorted by position, or nil.
func (d *Doc) Err() error {
	if len(d.list) == 0 {
		return nil
	}
	list := slices.Clone(d.list)
	slices.SortStableFunc(list, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Errs{List: list, More: d.more}
}

func (d *Doc) add(e *Error) {
	e.File = d.file
	switch {
	case d.noted[*e]:
	case len(d.list) >= maxErrors:
		d.more++
	default:
		d.noted[*e] = true
		d.list = append(d.list, e)
	}
}
