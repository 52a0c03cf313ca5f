package oracle

// pathID names an AS path in a paths table; equal paths have equal ids.
type pathID int32

// emptyPath is the path of a route that its own device originates.
const emptyPath pathID = 0

// paths interns AS paths: each is one ASN before a path that is known already.
type paths struct {
	nodes []pathNode
	index map[pathKey]pathID
}

type pathNode struct {
	asn    uint32
	length int32
	rest   pathID
}

type pathKey struct {
	asn  uint32
	rest pathID
}

func newPaths() paths {
	return paths{nodes: make([]pathNode, 1), index: make(map[pathKey]pathID)}
}

// prepend gives the path with asn before it.
func (p *paths) prepend(asn uint32, path pathID) pathID {
	key := pathKey{asn, path}
	id, ok := p.index[key]
	if !ok {
		id = pathID(len(p.nodes))
		p.nodes = append(p.nodes, pathNode{asn: asn, length: p.nodes[path].length + 1, rest: path})
		p.index[key] = id
	}
	return id
}

func (p *paths) length(path pathID) int32 { return p.nodes[path].length }

func (p *paths) holds(path pathID, asn uint32) bool {
	for ; path != emptyPath; path = p.nodes[path].rest {
		if p.nodes[path].asn == asn {
			return true
		}
	}
	return false
}

// list writes the path out; nil for the empty one.
func (p *paths) list(path pathID) []uint32 {
	if path == emptyPath {
		return nil
	}
	asns := make([]uint32, 0, p.length(path))
	for ; path != emptyPath; path = p.nodes[path].rest {
		asns = append(asns, p.nodes[path].asn)
	}
	return asns
}

// samePath compares paths of two tables, whose ids have nothing in common.
func samePath(p *paths, a pathID, q *paths, b pathID) bool {
	for a != emptyPath && b != emptyPath {
		x, y := p.nodes[a], q.nodes[b]
		if x.asn != y.asn {
			return false
		}
		a, b = x.rest, y.rest
	}
	return a == b
}
