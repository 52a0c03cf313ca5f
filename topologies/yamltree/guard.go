package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// MaxKeys is how many keys one block mapping may hold.
const MaxKeys = 4096

// maxEmpty is how many fields and items without a value a file may hold.
const maxEmpty = 1000

const secondDocument = "a second document starts here: want one document in a file"

var refused = map[token.Type]string{
	token.AnchorType:     "anchors (&name) are not supported: write the value out",
	token.AliasType:      "aliases (*name) are not supported: write the value out",
	token.MergeKeyType:   "merge keys (<<) are not supported: write the fields out",
	token.TagType:        "tags (!name) are not supported",
	token.DirectiveType:  "directives (%name) are not supported",
	token.MappingKeyType: `"? " keys are not supported: write key: value`,
}

// guard reads tokens before the parser does and refuses what is outside the
// dialect, and what the parser cannot bear: it recurses for each level of
// nesting and for each further key of a block mapping, so that a hostile file
// would end the process with a stack overflow, from which nobody recovers; and
// its time grows with the square of the values that are left out.
type guard struct {
	flow  []token.Type // open brackets and braces
	block []level      // open block mappings and lists, columns ascending
	empty int
	// The last three tokens, comments apart, the latest first.
	last [3]*token.Token
}

// level is a block mapping or a list. A list may start in its mapping's own
// column, so that one column can be open twice.
type level struct {
	column int
	list   bool
	keys   int
}

// pass takes the next token and says why it cannot be borne, or nothing.
func (g *guard) pass(t *token.Token) string {
	if t.Type == token.InvalidType {
		return "not YAML: " + t.Error
	}
	if why, ok := refused[t.Type]; ok {
		return why
	}
	if t.Type == token.CommentType {
		return ""
	}
	why := g.structure(t)
	if g.leavesOut(t) {
		g.empty++
	}
	g.last = [3]*token.Token{t, g.last[0], g.last[1]}
	switch {
	case why != "":
		return why
	case len(g.flow)+len(g.block) > MaxDepth:
		return fmt.Sprintf("nesting is deeper than %d", MaxDepth)
	case g.empty > maxEmpty:
		return fmt.Sprintf("more than %d fields without a value", maxEmpty)
	}
	return ""
}

func (g *guard) structure(t *token.Token) string {
	if g.last[0] != nil && g.last[0].Type == token.DocumentEndType {
		return secondDocument
	}
	switch t.Type {
	case token.DocumentHeaderType:
		if g.last[0] != nil {
			return secondDocument
		}
	case token.SequenceStartType, token.MappingStartType:
		g.flow = append(g.flow, t.Type)
	case token.SequenceEndType, token.MappingEndType:
		g.flow = g.flow[:max(len(g.flow)-1, 0)]
	case token.SequenceEntryType:
		g.item(t.Position.Column)
	case token.MappingValueType:
		return g.key()
	}
	return ""
}

// item opens the list that a "-" belongs to.
func (g *guard) item(column int) {
	for len(g.block) > 0 && g.top().column > column {
		g.block = g.block[:len(g.block)-1]
	}
	if len(g.block) == 0 || g.top().column < column || !g.top().list {
		g.block = append(g.block, level{column: column, list: true})
	}
}

// key opens the block mapping that a ":" belongs to, by its key's column.
func (g *guard) key() string {
	key := g.last[0]
	if key == nil {
		return ""
	}
	if key.Type == token.SequenceEndType || key.Type == token.MappingEndType {
		return "want text as a key"
	}
	if len(g.flow) > 0 {
		return ""
	}
	column := key.Position.Column
	for len(g.block) > 0 && (g.top().column > column || g.top().column == column && g.top().list) {
		g.block = g.block[:len(g.block)-1]
	}
	if len(g.block) == 0 || g.top().column < column {
		g.block = append(g.block, level{column: column})
	}
	g.top().keys++
	if g.top().keys > MaxKeys {
		return fmt.Sprintf("a mapping of more than %d keys", MaxKeys)
	}
	return ""
}

func (g *guard) top() *level { return &g.block[len(g.block)-1] }

// leavesOut tells whether t comes where the value of a key or of an item
// should be.
func (g *guard) leavesOut(t *token.Token) bool {
	before := g.last[0]
	if before == nil {
		return false
	}
	switch t.Type {
	case token.CollectEntryType, token.MappingEndType, token.SequenceEndType:
		// "{a, b: }" leaves out two, "[a, b]" none.
		inMap := t.Type == token.MappingEndType ||
			t.Type == token.CollectEntryType && len(g.flow) > 0 && g.flow[len(g.flow)-1] == token.MappingStartType
		bareKey := inMap && scalar(before) && (g.last[1] == nil || g.last[1].Type != token.MappingValueType)
		return before.Type == token.MappingValueType || bareKey
	}
	if t.Position.Line == before.Position.Line {
		return false
	}
	switch before.Type {
	case token.SequenceEntryType:
		return t.Position.Column <= before.Position.Column
	case token.MappingValueType:
		key := g.last[1]
		if key == nil || t.Position.Column > key.Position.Column {
			return false
		}
		return t.Type != token.SequenceEntryType || t.Position.Column < key.Position.Column
	}
	return false
}

func scalar(t *token.Token) bool {
	switch t.Type {
	case token.SequenceStartType, token.SequenceEndType, token.MappingStartType, token.MappingEndType,
		token.CollectEntryType, token.MappingValueType:
		return false
	}
	return true
}
