package yamltree

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Map is a mapping whose fields were declared. The zero Map has no fields.
type Map struct {
	node   Node
	fields map[string]Node
}

// Entry is one field of a mapping whose keys are free.
type Entry struct {
	Name string
	Key  Node // for errors about the name
	Node Node
}

// Map reads a mapping with exactly the known fields; any other, and any given
// twice, is an error.
func (n Node) Map(known ...string) Map {
	m := Map{node: n, fields: map[string]Node{}}
	for _, e := range n.Entries() {
		if !slices.Contains(known, e.Name) {
			e.Key.note("unknown field: want %s", oneOf(known))
			continue
		}
		m.fields[e.Name] = e.Node
	}
	return m
}

// Entries reads a mapping whose keys are free, such as names, in the order of
// the file. A key given twice is an error and counts once.
func (n Node) Entries() []Entry {
	if n.node == nil {
		return nil
	}
	mapping, ok := n.node.(ast.MapNode)
	if !ok {
		n.Reject("want a mapping (key: value)")
		return nil
	}
	var entries []Entry
	first := map[string]Node{}
	for it := mapping.MapRange(); it.Next(); {
		e, ok := n.entry(it.Key(), it.Value())
		if !ok {
			continue
		}
		if before, dup := first[e.Name]; dup {
			line, _ := before.Position()
			e.Key.note("duplicate key: first given in line %d", line)
			continue
		}
		first[e.Name] = e.Key
		entries = append(entries, e)
	}
	return entries
}

func (n Node) entry(key ast.MapKeyNode, value ast.Node) (Entry, bool) {
	k := Node{doc: n.doc, node: key, field: n.field}
	name, ok := k.raw()
	if !ok {
		k.Reject("want text as a key")
		return Entry{}, false
	}
	path := name
	if n.field != "" {
		path = n.field + "." + name
	}
	k.field = path
	return Entry{Name: name, Key: k, Node: Node{doc: n.doc, node: value, field: path}}, true
}

// note is Reject for a key: the field's name is the value.
func (n Node) note(format string, args ...any) {
	e := &Error{Field: n.field, Want: fmt.Sprintf(format, args...)}
	e.Line, e.Column = n.Position()
	n.doc.add(e)
}

// Get gives a declared field; a Node that is not Present where the file does
// not hold it.
func (m Map) Get(name string) Node {
	if f, ok := m.fields[name]; ok {
		return f
	}
	return Node{}
}

// Need is Get for a field that must be there.
func (m Map) Need(name string) Node {
	f := m.Get(name)
	if !f.Present() && m.node.IsMap() {
		m.node.note("missing field %q", name)
	}
	return f
}

// Node is the mapping itself, for errors about it as a whole.
func (m Map) Node() Node { return m.node }
