package yamltree

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Node is one value of a document, or the place where a field is missing. Its
// readers note an error in the document and give the default where the value
// is not what was asked for; a missing field gives the default and no error.
// The zero Node is a missing field.
type Node struct {
	doc   *Doc
	node  ast.Node // nil where the field is missing
	field string
}

// Present tells whether the file holds the field.
func (n Node) Present() bool { return n.node != nil }

// Field is the path of the field, such as "bundles[4].members".
func (n Node) Field() string { return n.field }

// Position is the line and column of the value, both from 1.
func (n Node) Position() (line, column int) {
	p := position(n.node)
	return max(p.Line, 1), max(p.Column, 1)
}

// Doc is the document that the value is in; nil for a missing field.
func (n Node) Doc() *Doc { return n.doc }

// Reject notes an error about this value; the format says what was wanted. It
// notes the first one only, so that a caller can check what a reader gave in
// place of a value that it rejected, and no value is reported twice. On a
// missing field it does nothing: reject the mapping it is missing from.
func (n Node) Reject(format string, args ...any) {
	if n.node == nil || n.doc.rejected[n.node] {
		return
	}
	n.doc.rejected[n.node] = true
	e := &Error{Field: n.field, Want: fmt.Sprintf(format, args...)}
	e.Line, e.Column = n.Position()
	e.Value, e.HasValue = n.raw()
	n.doc.add(e)
}

// raw is the text of a scalar as the file holds it, quotes taken off.
func (n Node) raw() (string, bool) {
	switch v := n.node.(type) {
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.StringNode:
		return v.Value, true
	case *ast.NullNode:
		if v.Token.Type == token.ImplicitNullType {
			return "", true
		}
		return v.Token.Value, true
	case ast.ScalarNode:
		return v.GetToken().Value, true
	}
	return "", false
}

// IsMap tells whether the value is a mapping.
func (n Node) IsMap() bool { _, ok := n.node.(ast.MapNode); return ok }

// IsList tells whether the value is a list.
func (n Node) IsList() bool { _, ok := n.node.(*ast.SequenceNode); return ok }

// IsScalar tells whether the value is neither a mapping nor a list.
func (n Node) IsScalar() bool { _, ok := n.raw(); return ok }

// scalar gives a scalar's text; where the value is none it notes what was wanted.
func (n Node) scalar(want string) (string, bool) {
	if n.node == nil {
		return "", false
	}
	s, ok := n.raw()
	if !ok {
		n.Reject("%s", want)
	}
	return s, ok
}

// Scalar reads a scalar of any kind as the file writes it, quotes taken off, for
// a caller with a notation of its own.
func (n Node) Scalar(def string) string {
	s, ok := n.scalar("want one value, no list or mapping")
	if !ok {
		return def
	}
	return s
}

// Text reads text. Numbers, true, false and null are no text unless quoted.
func (n Node) Text(def string) string {
	if n.node == nil {
		return def
	}
	switch n.node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		s, _ := n.raw()
		return s
	case ast.ScalarNode:
		n.Reject("want text: quote it if this is meant")
	default:
		n.Reject("want text")
	}
	return def
}

// Enum reads one of the known words.
func (n Node) Enum(def string, known ...string) string {
	s, ok := n.scalar("want " + oneOf(known))
	if !ok {
		return def
	}
	for _, k := range known {
		if s == k {
			return s
		}
	}
	n.Reject("want %s", oneOf(known))
	return def
}

func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	if len(words) == 1 {
		return quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}

// Bool reads true or false.
func (n Node) Bool(def bool) bool {
	if b, ok := n.node.(*ast.BoolNode); ok {
		return b.Value
	}
	n.Reject("want true or false")
	return def
}

// Int reads a whole decimal number from lo to hi.
func (n Node) Int(def, lo, hi int64) int64 {
	want := fmt.Sprintf("want %d to %d", lo, hi)
	s, ok := n.scalar(want)
	if !ok {
		return def
	}
	v, ok := decimal(s)
	if !ok || v < lo || v > hi {
		n.Reject("%s", want)
		return def
	}
	return v
}

// Whole reads a whole decimal number of any size, for a caller that checks the
// range by itself.
func (n Node) Whole(def int64) int64 {
	const want = "want a whole number"
	s, ok := n.scalar(want)
	if !ok {
		return def
	}
	v, ok := decimal(s)
	if !ok {
		n.Reject(want)
		return def
	}
	return v
}

// decimal reads the one spelling of a number: 010 is eight to some readers and
// ten to others.
func decimal(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}

// Capacity reads bits/s as ParseCapacity does: "800G", "6.4T" or a plain
// number, from 1 to MaxCapacity.
func (n Node) Capacity(def uint64) uint64 {
	const want = "want a capacity in bits/s such as 800G or 6.4T, from 1 to 1000P"
	s, ok := n.scalar(want)
	if !ok {
		return def
	}
	v, err := ParseCapacity(s)
	if err != nil {
		n.Reject(want)
		return def
	}
	return v
}

// Duration reads a time span in Go's syntax, such as 30s or 200ms, from lo to hi.
func (n Node) Duration(def, lo, hi time.Duration) time.Duration {
	want := fmt.Sprintf("want a duration such as 30s or 200ms, from %v to %v", lo, hi)
	s, ok := n.scalar(want)
	if !ok {
		return def
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < lo || v > hi {
		n.Reject("%s", want)
		return def
	}
	return v
}

// List reads a list and gives its items in order; none where the field is
// missing.
func (n Node) List() []Node {
	if n.node == nil {
		return nil
	}
	seq, ok := n.node.(*ast.SequenceNode)
	if !ok {
		n.Reject("want a list")
		return nil
	}
	items := make([]Node, len(seq.Values))
	for i, v := range seq.Values {
		items[i] = Node{doc: n.doc, node: v, field: fmt.Sprintf("%s[%d]", n.field, i)}
	}
	return items
}
