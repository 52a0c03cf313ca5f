package oracle

import "slices"

// path is an AS path: an ASN before another path. The empty one, of a route that
// its own device originates, is nil. It is not written to, so that states and those
// who look at them share it.
type path struct {
	asns []uint32
	rest *path
}

// prepend gives the path with asn before it.
func prepend(asn uint32, rest *path) *path {
	asns := make([]uint32, 1, rest.len()+1)
	asns[0] = asn
	return &path{asns: append(asns, rest.list()...), rest: rest}
}

func (p *path) len() int {
	if p == nil {
		return 0
	}
	return len(p.asns)
}

func (p *path) holds(asn uint32) bool { return p != nil && slices.Contains(p.asns, asn) }

// list is the path written out; nil for the empty one.
func (p *path) list() []uint32 {
	if p == nil {
		return nil
	}
	return p.asns
}

// samePath tells whether two paths are equal. States that come from one another
// share most, so that the numbers are seldom looked at.
func samePath(p, q *path) bool {
	return p == q || p.len() == q.len() && slices.Equal(p.list(), q.list())
}
