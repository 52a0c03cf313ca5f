package topologies

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema gives the JSON Schema (draft 2020-12) of a topology file, in both
// forms, for editors and other checkers: a copy of schema.json in this folder.
// It knows the shape of a file: fields, kinds of values, ranges. What needs the
// whole network only Read judges. A test keeps it equal to what Read knows.
func Schema() []byte { return append([]byte(nil), schema...) }
