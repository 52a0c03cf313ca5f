package sim

import "github.com/bagrig/bagrig/harness/state"

// paths keeps one of each AS_PATH, so that two are compared by where they lie.
// The path that a new one is made from is among them already, so its first
// number's place stands for it.
type paths map[longer]*path

// longer is an ASN before a path; the path is nil where it is empty.
type longer struct {
	asn  uint32
	path *uint32
}

type path struct {
	numbers []uint32 // not written to
	hash    uint64   // state.HashPath
}

// prepend is the path with an ASN before it.
func (k paths) prepend(asn uint32, rest []uint32) *path {
	key := longer{asn: asn}
	if len(rest) > 0 {
		key.path = &rest[0]
	}
	if p := k[key]; p != nil {
		return p
	}
	p := &path{numbers: append([]uint32{asn}, rest...)}
	p.hash = state.HashPath(p.numbers)
	k[key] = p
	return p
}
