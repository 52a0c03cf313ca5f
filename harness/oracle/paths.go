package oracle

// path is an AS path: an ASN before another path. The empty one, of a route that
// its own device originates, is nil. It is not written to, so that states share it.
type path struct {
	asn    uint32
	length int32
	rest   *path
}

// prepend gives the path with asn before it.
func prepend(asn uint32, rest *path) *path {
	return &path{asn: asn, length: rest.len() + 1, rest: rest}
}

func (p *path) len() int32 {
	if p == nil {
		return 0
	}
	return p.length
}

func (p *path) holds(asn uint32) bool {
	for ; p != nil; p = p.rest {
		if p.asn == asn {
			return true
		}
	}
	return false
}

// list writes the path out; nil for the empty one.
func (p *path) list() []uint32 {
	if p == nil {
		return nil
	}
	asns := make([]uint32, 0, p.length)
	for ; p != nil; p = p.rest {
		asns = append(asns, p.asn)
	}
	return asns
}

// samePath tells whether two paths are equal. They share what follows from the
// same place, so that most are compared at their first number.
func samePath(p, q *path) bool {
	for p != q {
		if p == nil || q == nil || p.asn != q.asn || p.length != q.length {
			return false
		}
		p, q = p.rest, q.rest
	}
	return true
}
