package conform

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/speakers/linkbw"
)

// offer is a route that a peer offers to the device.
type offer struct {
	prefix  netip.Prefix // the question's where it is not given
	ext     [][]byte     // extended communities; none = no attribute
	path    []uint32     // AS_PATH beyond the peer's own ASN
	raw     []byte       // octets that stand where the attribute would
	nextHop netip.Addr   // the peer's own address where it is not given
}

// The communities of the questions are tagged with the ASN of the AS beyond, so
// that one that the device made itself can be told from one that it kept.
func transitive(v float32) []byte    { return community(true, farASN, v) }
func nonTransitive(v float32) []byte { return community(false, farASN, v) }

func community(transitive bool, asn uint16, v float32) []byte {
	b := linkbw.Community{Transitive: transitive, ASN: asn, Value: v}.Encode()
	return b[:]
}

// bits is a community with a value that is given by its pattern.
func bits(pattern uint32) []byte {
	b := transitive(0)
	binary.BigEndian.PutUint32(b[4:], pattern)
	return b
}

// attributes are the path attributes of an offer, in ascending order of type.
func (t *trial) attributes(p Peer, o offer) []byte {
	b := attribute(flagTransitive, attrOrigin, []byte{0})
	path := append([]uint32{p.ASN}, o.path...)
	if p.Internal {
		path = append([]uint32{farASN}, o.path...)
	}
	b = append(b, attribute(flagTransitive, attrPath, pathBody(path))...)
	six := o.prefix.Addr().Is6()
	if !six {
		hop := o.nextHop
		if !hop.IsValid() {
			hop = p.Addr
		}
		b = append(b, attribute(flagTransitive, attrNextHop, hop.AsSlice())...)
	}
	if p.Internal {
		b = append(b, attribute(flagTransitive, attrLocalPref, []byte{0, 0, 0, 100})...)
	}
	if six {
		b = append(b, reach(o.prefix, p.NextHop6)...)
	}
	switch {
	case o.raw != nil:
		b = append(b, o.raw...)
	case len(o.ext) > 0:
		b = append(b, attribute(flagOptional|flagTransitive, attrExtended, slices.Concat(o.ext...))...)
	}
	return b
}

// announce offers a route on a session.
func (t *trial) announce(name string, o offer) {
	if !o.prefix.IsValid() {
		o.prefix = t.prefix
	}
	p := t.bench.sessions[name].peer
	text := fmt.Sprintf("announce %v", o.prefix)
	if len(o.path) > 0 {
		text += fmt.Sprintf(" path +%v", o.path)
	}
	switch {
	case o.raw != nil:
		text += fmt.Sprintf(" attribute % x", o.raw)
	case len(o.ext) > 0:
		text += " " + describeExt(slices.Concat(o.ext...))
	}
	t.send(name, text, updateMessage(o.prefix, t.attributes(p, o)))
}

// tell is announce of the question's prefix with communities.
func (t *trial) tell(name string, ext ...[]byte) { t.announce(name, offer{ext: ext}) }

func (t *trial) withdraw(name string) {
	t.send(name, "withdraw "+t.prefix.String(), withdrawMessage(t.prefix))
}

// at is the question's route as a session holds it now; nil where it has none.
func (t *trial) at(name string) *Route { return t.holds(name, t.prefix) }

func (t *trial) holds(name string, p netip.Prefix) *Route {
	t.bench.mu.Lock()
	defer t.bench.mu.Unlock()
	return t.bench.sessions[name].table[p]
}

// times is how often the question's prefix was announced to a session, and
// withdrawn from it, since the mark.
func (t *trial) times(name string) (announced, withdrawn int) {
	t.bench.mu.Lock()
	defer t.bench.mu.Unlock()
	s := t.bench.sessions[name]
	for _, h := range s.heard[t.from[name]:] {
		for _, r := range h.announced {
			if r.Prefix == t.prefix {
				announced++
			}
		}
		for _, p := range h.withdrawn {
			if p == t.prefix {
				withdrawn++
			}
		}
	}
	return announced, withdrawn
}

// The words of carried.
const (
	wordKept      = "kept"
	wordStripped  = "stripped"
	wordNone      = "none"
	wordNoRoute   = "no route"
	wordAltered   = "altered"
	wordOnlyT     = "only T"
	wordOnlyNT    = "only NT"
	wordAsT       = "as T"
	wordAsNT      = "as NT"
	wordRemade    = "own, T"
	wordRemadeNT  = "own, NT"
	wordRemadeTwo = "own, T and NT"
)

// carried says what became of the link bandwidth that was sent: the very octets
// (kept, or only those of one form), the same value made anew with the device's
// own ASN (own), the form changed (as), nothing (stripped, or none where none
// was sent), or something else (altered).
func (t *trial) carried(r *Route, sent ...[]byte) string {
	if r == nil {
		return wordNoRoute
	}
	was := (&Route{Ext: slices.Concat(sent...)}).values()
	now := r.values()
	if len(now) == 0 {
		if len(was) == 0 {
			return wordNone
		}
		return wordStripped
	}
	only := func(transitive bool) []linkbw.Community {
		var list []linkbw.Community
		for _, c := range was {
			if c.Transitive == transitive {
				list = append(list, c)
			}
		}
		return list
	}
	switch {
	case same(now, was):
		return wordKept
	case same(now, only(true)):
		return wordOnlyT
	case same(now, only(false)):
		return wordOnlyNT
	}
	if word := t.remade(now, was); word != "" {
		return word
	}
	for _, transitive := range []bool{true, false} {
		turned := slices.Clone(was)
		for i := range turned {
			turned[i].Transitive = transitive
		}
		if same(now, turned) {
			if transitive {
				return wordAsT
			}
			return wordAsNT
		}
	}
	t.detail = "heard " + describeExt(r.Ext)
	return wordAltered
}

// remade is the word for communities of the device's own, of the lowest valid
// value that was sent.
func (t *trial) remade(now, was []linkbw.Community) string {
	var body []byte
	for _, c := range was {
		b := c.Encode()
		body = append(body, b[:]...)
	}
	lowest, ok := linkbw.Lowest(body)
	var form [2]int
	for _, c := range now {
		if !ok || c.Value != lowest || c.ASN != linkbw.GlobalAdministrator(t.bench.device.ASN) {
			return ""
		}
		if c.Transitive {
			form[0]++
		} else {
			form[1]++
		}
	}
	return map[[2]int]string{{1, 0}: wordRemade, {0, 1}: wordRemadeNT, {1, 1}: wordRemadeTwo}[form]
}

// same compares communities octet by octet, in any order.
func same(a, b []linkbw.Community) bool {
	return slices.Equal(octets(a), octets(b))
}

func octets(list []linkbw.Community) []string {
	var words []string
	for _, c := range list {
		b := c.Encode()
		words = append(words, string(b[:]))
	}
	slices.Sort(words)
	return words
}

// value is the lowest valid value of a route in bits/s, as a word: of whole Mb/s, or
// from 1 Tb/s up with four digits, since float32 holds no more than seven.
func value(r *Route) string {
	if r == nil {
		return wordNoRoute
	}
	v, ok := linkbw.Lowest(r.Ext)
	if !ok {
		return wordNone
	}
	if bits := float64(v) * 8; bits >= 1e12 {
		return fmt.Sprintf("%.4gT", bits/1e12)
	}
	return fmt.Sprintf("%.0fM", math.Round(float64(v)*8/1e6))
}

// grace is how long an answer that may come may take, after the markers.
const grace = 5 * time.Second

// await waits for what should come, and does not mind if it does not: the check
// says what there is instead.
func (t *trial) await(cond func() bool) { t.awaitAt(t.bench.standing(), cond) }

// awaitAt is await while only the sessions named must stay up.
func (t *trial) awaitAt(names []string, cond func() bool) {
	if t.err == nil {
		_ = t.bench.within(t.ctx, min(grace, t.bench.opts.Budget), "", names, cond)
	}
}

func quoted(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, fmt.Sprintf("%q", w))
	}
	return strings.Join(list, " or ")
}
