package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// Parse reads one YAML document; file is the name that errors carry. It
// refuses, with an *Errs, what is no YAML or outside the dialect of this
// package: an empty file, several documents, more than MaxBytes, nesting
// deeper than MaxDepth, invalid UTF-8, anchors, aliases, merge keys, tags,
// directives and "? " keys. Duplicate keys are found when a Node is read as
// a mapping. It never panics.
func Parse(file string, data []byte) (doc *Doc, err error) {
	d := &Doc{file: file, rejected: map[ast.Node]bool{}, noted: map[Error]bool{}}
	defer func() {
		// The parser is not ours and its input is: a fault in it must not end
		// a caller that only meant to check a file.
		if r := recover(); r != nil {
			doc, err = nil, d.fail(1, 1, fmt.Sprintf("the YAML parser failed on this file (%v)", r))
		}
	}()
	if err := d.checkBytes(data); err != nil {
		return nil, err
	}
	// Editors on Windows begin a file with a byte order mark; YAML 1.2 S5.2
	// allows it, the scanner makes it a part of the first key. The scanner
	// also counts a CRLF after a comment as two lines.
	tokens, err := d.scan(lineEnds.Replace(strings.TrimPrefix(string(data), byteOrderMark)))
	if err != nil {
		return nil, err
	}
	if err := d.build(tokens); err != nil {
		return nil, err
	}
	return d, nil
}

// fail gives an error of the whole document; nothing can be read after it.
func (d *Doc) fail(line, column int, want string) error {
	d.list, d.more = nil, 0
	d.add(&Error{Line: max(line, 1), Column: max(column, 1), Want: want})
	return d.Err()
}

const byteOrderMark = "\ufeff"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (d *Doc) checkBytes(data []byte) error {
	if len(data) > MaxBytes {
		return d.fail(1, 1, fmt.Sprintf("the file has %d bytes: want at most %d", len(data), MaxBytes))
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			line := 1 + bytes.Count(data[:at], []byte("\n"))
			start := 1 + bytes.LastIndexByte(data[:at], '\n')
			return d.fail(line, 1+utf8.RuneCount(data[start:at]), fmt.Sprintf("byte 0x%02x: want UTF-8 text", data[at]))
		}
		at += size
	}
	return nil
}

// scan gives the tokens of a document, each passed by a guard.
func (d *Doc) scan(src string) (token.Tokens, error) {
	var (
		s      scanner.Scanner
		tokens token.Tokens
		g      guard
	)
	s.Init(src)
	for {
		batch, err := s.Scan()
		if err == io.EOF {
			return tokens, nil
		}
		for _, t := range batch {
			if why := g.pass(t); why != "" {
				return nil, d.fail(t.Position.Line, t.Position.Column, why)
			}
		}
		tokens.Add(batch...)
	}
}

// build parses the tokens and keeps the one document in them.
func (d *Doc) build(tokens token.Tokens) error {
	// Duplicate keys are allowed here so that Map can report all of them.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return d.failParse(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if d.root != nil {
			at := position(doc.Body)
			return d.fail(at.Line, at.Column, secondDocument)
		}
		d.root = doc.Body
	}
	if d.root == nil {
		return d.fail(1, 1, "the file is empty: want one YAML document")
	}
	return nil
}

// failParse takes the position and the bare sentence out of a parser's error,
// whose own text is a page with an excerpt of the file.
func (d *Doc) failParse(err error) error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return d.fail(1, 1, "not YAML: "+err.Error())
	}
	p := at.GetToken().Position
	return d.fail(p.Line, p.Column, "not YAML: "+at.GetMessage())
}

// position is where a value starts: for a block mapping its first key, where
// the library has the first colon.
func position(n ast.Node) token.Position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return position(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(v.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return token.Position{Line: 1, Column: 1}
	}
	return *n.GetToken().Position
}
