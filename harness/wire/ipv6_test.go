package wire

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/bagrig/bagrig/harness/state"
)

// sixes are numbered after prefixes.
var sixes = []netip.Prefix{netip.MustParsePrefix("fd00:1::/48"), netip.MustParsePrefix("fd00:1:0:10::/60"), netip.MustParsePrefix("::/0")}

func ipv6NLRI(list []netip.Prefix) (nlri []bgp.AddrPrefixInterface) {
	for _, p := range list {
		nlri = append(nlri, bgp.NewIPv6AddrPrefix(uint8(p.Bits()), p.Addr().String()))
	}
	return nlri
}

func reach(list ...netip.Prefix) bgp.PathAttributeInterface {
	return bgp.NewPathAttributeMpReachNLRI("::ffff:127.0.0.1", ipv6NLRI(list))
}

func unreach(list ...netip.Prefix) bgp.PathAttributeInterface {
	a := bgp.NewPathAttributeMpUnreachNLRI(ipv6NLRI(list))
	a.AFI, a.SAFI = bgp.AFI_IP6, bgp.SAFI_UNICAST // which it otherwise takes from the first prefix
	return a
}

// attributeOf is a path attribute as raw bytes.
func attributeOf(code byte, value ...byte) []byte {
	return append([]byte{0x80, code, byte(len(value))}, value...)
}

// rawUpdate is an UPDATE with nothing but attributes.
func rawUpdate(t *testing.T, attrs ...byte) []byte {
	t.Helper()
	m := updateOf(t, nil, nil)
	m = append(m, attrs...)
	binary.BigEndian.PutUint16(m[headerLen+2:], uint16(len(attrs)))
	binary.BigEndian.PutUint16(m[16:], uint16(len(m)))
	return m
}

func TestIPv6NLRIAreCountedAsThoseOfIPv4(t *testing.T) {
	w, a, b, sink := start(t)
	messages := [][]byte{
		updateOf(t, append(pathAttrs(1e11, 65001), reach(sixes...)), nil),
		updateOf(t, []bgp.PathAttributeInterface{unreach(sixes[:2]...)}, nil),
		// Both families, both ways, in one UPDATE.
		updateOf(t, append(pathAttrs(1e11, 65001), reach(sixes[0]), unreach(sixes[1])), prefixes[:1], prefixes[1:]...),
		updateOf(t, []bgp.PathAttributeInterface{unreach()}, nil),
		updateOf(t, nil, nil),
	}
	for _, m := range messages {
		send(t, a, m)
		if got := readOne(t, b); !bytes.Equal(got, m) {
			t.Errorf("got % x, want % x", got, m)
		}
	}
	want := state.Counters{Updates: 3, Announced: 3 + 3, Withdrawn: 2 + 2, EndOfRIB: 2, Others: 1}
	if got := w.Counters(false); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if want := []string{"5/false handed 3", "5/false handed 2", "5/false handed 5"}; !slices.Equal(sink.lines, want) {
		t.Errorf("sink: got %q, want %q", sink.lines, want)
	}
}

func TestTheLogHoldsWhatWasToldOfIPv6(t *testing.T) {
	w, a, b, _ := start(t)
	send(t, a,
		updateOf(t, append(pathAttrs(4e11, 65001, 65002), reach(sixes[1], sixes[2])), nil),
		updateOf(t, []bgp.PathAttributeInterface{unreach(sixes[0])}, nil))
	readOne(t, b)
	readOne(t, b)
	dir, path := state.Direction{Bundle: 5}, state.HashPath([]uint32{65001, 65002})
	want := []state.NLRI{
		{Dir: dir, Prefix: 4, Round: 3, Dump: true, Valued: true, Value: 4e11, Path: path},
		{Dir: dir, Prefix: 5, Round: 3, Dump: true, Valued: true, Value: 4e11, Path: path},
		{Dir: dir, Prefix: 3, Round: 3, Dump: true, Withdraw: true},
	}
	if got := w.TakeLog(false, nil); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// What comes with other routes is no fence, and must reach the neighbour.
func TestAFenceIsAlone(t *testing.T) {
	number := bgp.NewPathAttributeCommunities([]uint32{9})
	for _, c := range []struct {
		name string
		m    []byte
		want bool
	}{
		{"alone", fence(t, 9), true},
		{"with an IPv6 announcement", updateOf(t, append(pathAttrs(1e11), number, reach(sixes[0])), nil, fencePrefix), false},
		{"with an IPv6 withdrawal", updateOf(t, append(pathAttrs(1e11), number, unreach(sixes[0])), nil, fencePrefix), false},
		{"with an IPv4 withdrawal", updateOf(t, append(pathAttrs(1e11), number), prefixes[:1], fencePrefix), false},
	} {
		u, err := parseUpdate(c.m[headerLen:])
		if err != nil {
			t.Fatal(err)
		}
		if _, got := u.fence(fencePrefix); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A count of what the receiver cannot read would never be met, so the wire ends
// and says why.
func TestMalformedMultiprotocolAttributesEndTheWireByName(t *testing.T) {
	family, nextHop := []byte{0, 2, 1}, append([]byte{16}, make([]byte, 17)...)
	body := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	for _, c := range []struct {
		name  string
		attrs []byte
		want  string
	}{
		{"no family", attributeOf(attrUnreach, 0, 2), errShort.Error()},
		{"no next hop", attributeOf(attrReach, family...), errShort.Error()},
		{"next hop cut off", attributeOf(attrReach, body(family, nextHop[:9])...), errShort.Error()},
		{"no reserved byte", attributeOf(attrReach, body(family, nextHop[:17])...), errShort.Error()},
		{"length of 129", attributeOf(attrReach, body(family, nextHop, []byte{129}, make([]byte, 17))...), "at most 128 bits"},
		{"prefix cut off", attributeOf(attrUnreach, body(family, []byte{64, 0xfd})...), "NLRI 40 fd"},
		{"IPv4 of 33 bits", attributeOf(attrUnreach, 0, 1, 1, 33, 10, 0, 0, 0, 0), "at most 32 bits"},
		{"IPv6 multicast", attributeOf(attrUnreach, 0, 2, 2), "address family 2/2: want unicast of IPv4 (1/1) or IPv6 (2/1)"},
		{"EVPN", attributeOf(attrUnreach, 0, 25, 70), "address family 25/70"},
		{"twice", body(attributeOf(attrUnreach, family...), attributeOf(attrUnreach, family...)), "two attributes of type 15"},
		{"attribute cut off", append(attributeOf(attrUnreach, family...), 0x40, 1, 1), errShort.Error()},
		{"bytes left over", append(attributeOf(attrUnreach, family...), 0x40), errShort.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, a, _, sink := start(t)
			send(t, a, rawUpdate(t, c.attrs...))
			if err := <-sink.closed; !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if got, want := w.Counters(false), (state.Counters{Others: 1}); got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if len(sink.lines) > 0 {
				t.Errorf("handed over: %q", sink.lines)
			}
		})
	}
}

// RFC 4760 lets IPv4 unicast travel in the attributes too.
func TestIPv4InMultiprotocolAttributesIsCounted(t *testing.T) {
	var got []netip.Prefix
	u, err := parseUpdate(rawUpdate(t, attributeOf(attrReach, 0, 1, 1, 4, 127, 0, 0, 1, 0, 24, 10, 0, 0)...)[headerLen:])
	if err != nil {
		t.Fatal(err)
	}
	if announced, _, err := u.count(); err != nil || announced != 1 {
		t.Fatalf("got %d announced and %v, want 1", announced, err)
	}
	u.reach.each(func(p netip.Prefix) { got = append(got, p) })
	if !slices.Equal(got, prefixes[:1]) {
		t.Errorf("got %v, want %v", got, prefixes[:1])
	}
}
