package state

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/topologies"
)

// External says where a device is that is no speaker of this process: any BGP
// speaker at an address. Its neighbours stay in the process; a wire carries each
// of its sessions. All that is known of it is what it tells its neighbours.
//
// It is taken to decide as a speaker with the device's settings does, to have
// its bundles at full health while their sessions are up (nobody can take a
// member of its side away), and to damp nothing, Damped apart.
type External struct {
	Address netip.Addr // where it is
	ASN     uint32     // 0 = the topology's
	Port    uint16     // TCP; that it listens on or, Passive, that the wires listen on; 0 = DefaultExternalPort
	Passive bool       // it dials its neighbours, and the wires accept
	// Neighbors is the first of the addresses that its neighbours have; the others
	// follow it, in the order of its bundles. Zero = the one after Address.
	Neighbors  netip.Addr
	NeighborAt map[string]netip.Addr // by bundle, or by neighbour: addresses that are others
	Neighbors6 netip.Addr            // the same as Neighbors, for next hops of IPv6; zero = the IPv4 ones as ::ffff:a.b.c.d
	Damped     bool                  // it damps what it tells as the scenario says at its place
	Silence    time.Duration         // real: without a word from it for so long it counts as quiet; 0 = DefaultSilence
	Wait       time.Duration         // real: its sessions come up within it; 0 = DefaultWait
}

// What an External has where it says nothing.
const (
	DefaultExternalPort = 179
	DefaultSilence      = 2 * time.Second // FRR begins to tell up to 1.4 s after a session comes up
	DefaultWait         = 30 * time.Second
)

// Filled is x with its defaults, for the device of a topology.
func (x External) Filled(d topologies.Device) External {
	if x.ASN == 0 {
		x.ASN = d.ASN
	}
	if x.Port == 0 {
		x.Port = DefaultExternalPort
	}
	if !x.Neighbors.IsValid() && x.Address.IsValid() {
		x.Neighbors = x.Address.Next()
	}
	if x.Silence == 0 {
		x.Silence = DefaultSilence
	}
	if x.Wait == 0 {
		x.Wait = DefaultWait
	}
	return x
}

// ExternalSession is a session of an external device, as that must be configured.
type ExternalSession struct {
	Bundle      int32
	Name        string // of the bundle
	Device      string // external
	Address     netip.AddrPort
	ASN         uint32 // of the device
	Neighbor    string
	NeighborASN uint32
	Role        topologies.Role // of the neighbour
	Local       netip.Addr      // of the neighbour: whom the device has the session with
	Local6      netip.Addr      // of the neighbour: next hop of IPv6
}

// Sessions lists the sessions of a device that is external, ascending by bundle.
func (x External) Sessions(t *topologies.Topology, ix *topologies.Index, device int) ([]ExternalSession, error) {
	d := t.Devices[device]
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("external %q: %s %v: %s", d.Name, field, value, want)
	}
	full := x.Filled(d)
	if !x.Address.Is4() {
		return nil, bad("address", x.Address, "want an IPv4 address")
	}
	if !full.Neighbors.Is4() {
		return nil, bad("neighbors", full.Neighbors, "want an IPv4 address")
	}
	if x.Neighbors6.IsValid() && !x.Neighbors6.Is6() {
		return nil, bad("neighbors6", x.Neighbors6, "want an IPv6 address")
	}
	for _, field := range []struct {
		name      string
		d         time.Duration
		low, high time.Duration
	}{{"silence", full.Silence, leastSilence, mostTime}, {"wait", full.Wait, leastWait, mostTime}} {
		if field.d < field.low || field.d > field.high {
			return nil, bad(field.name, field.d, fmt.Sprintf("want %v to %v", field.low, field.high))
		}
	}
	var list []ExternalSession
	at, at6, used := full.Neighbors, x.Neighbors6, map[string]bool{}
	for _, b := range ix.Of[device] {
		n := t.Devices[ix.Ends[b][0]+ix.Ends[b][1]-device]
		s := ExternalSession{
			Bundle: int32(b), Name: t.Bundles[b].Name, Device: d.Name, Address: netip.AddrPortFrom(x.Address, full.Port), ASN: full.ASN,
			Neighbor: n.Name, NeighborASN: n.ASN, Role: n.Role, Local: at, Local6: at6,
		}
		for _, name := range []string{s.Neighbor, s.Name} {
			if a, ok := x.NeighborAt[name]; ok {
				s.Local, used[name] = a, true
			}
		}
		if !s.Local6.IsValid() {
			s.Local6 = netip.AddrFrom16(s.Local.As16())
		} else {
			at6 = at6.Next()
		}
		at = at.Next()
		if !s.Local.Is4() || s.Local == x.Address || slices.ContainsFunc(list, func(o ExternalSession) bool { return o.Local == s.Local }) {
			return nil, bad("neighbor", fmt.Sprintf("%q at %v", s.Neighbor, s.Local), "want an IPv4 address of its own for every neighbour")
		}
		list = append(list, s)
	}
	for name := range x.NeighborAt {
		if !used[name] {
			return nil, bad("neighbor", fmt.Sprintf("%q", name), "no bundle and no neighbour of the device has that name")
		}
	}
	return list, nil
}

// PlaceExternal puts external devices, by their name, at their place in a topology:
// by device, with their defaults; nil where there are none. The topology is a copy
// where a device has another ASN than it says.
func PlaceExternal(t *topologies.Topology, external map[string]External) (*topologies.Topology, []*External, error) {
	if len(external) == 0 {
		return t, nil, nil
	}
	ix, list := t.Index(), make([]*External, len(t.Devices))
	for name := range external {
		if _, ok := ix.Device[name]; !ok {
			return nil, nil, fmt.Errorf("external %q: no such device in the topology", name)
		}
	}
	made := *t
	made.Devices = slices.Clone(t.Devices)
	for d := range made.Devices {
		if x, ok := external[made.Devices[d].Name]; ok {
			full := x.Filled(made.Devices[d])
			list[d], made.Devices[d].ASN = &full, full.ASN
		}
	}
	if !slices.Equal(made.Devices, t.Devices) {
		if err := topologies.Validate(&made); err != nil {
			return nil, nil, fmt.Errorf("external: with its ASN: %w", err)
		}
		t, ix = &made, made.Index()
	}
	for b, ends := range ix.Ends {
		if list[ends[0]] != nil && list[ends[1]] != nil {
			return nil, nil, fmt.Errorf("external %q: bundle %q joins it to %q, which is external too: want a speaker of the rig at one end",
				t.Bundles[b].A, t.Bundles[b].Name, t.Bundles[b].B)
		}
	}
	return t, list, distinct(t, ix, list)
}

// distinct tells whether the sessions of external devices have what they need, and
// no two of them the same addresses.
func distinct(t *topologies.Topology, ix *topologies.Index, list []*External) error {
	seen := map[[2]netip.Addr]string{}
	for d, x := range list {
		if x == nil {
			continue
		}
		sessions, err := x.Sessions(t, ix, d)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			at := [2]netip.Addr{s.Address.Addr(), s.Local}
			if other, ok := seen[at]; ok {
				return fmt.Errorf("external %q: bundle %q: %v to %v is the session of bundle %q already: want other addresses", s.Device, s.Name, at[1], at[0], other)
			}
			seen[at] = s.Name
		}
	}
	return nil
}

// IsExternal tells whether a device, by its index, is external.
func (n *Network) IsExternal(device int) bool {
	return n.External != nil && n.External[device] != nil
}

// Telling is what an external device tells over one session of one prefix.
type Telling struct {
	Bundle     int32
	Path       []uint32 // AS_PATH as received
	Valued     bool     // holds a valid link bandwidth
	Value      float32  // the lowest valid one, bytes/s
	Attributes []byte   // path attributes (RFC 4271 S4.3), byte for byte as they came
}

// Refuses tells why an event cannot be done to a network with external devices:
// nobody can drain, set or restart one, and nobody can tell it that a neighbour
// restarts; nil = it can.
func (n *Network) Refuses(e Event) error {
	if n.External == nil || e.Kind != "set" && e.Kind != "drain" && e.Kind != "restart" {
		return nil
	}
	changes, err := e.expandDevices(n.Topology, n.Index)
	if err != nil {
		return err
	}
	field, value := "device", e.Device
	switch {
	case e.Role != "":
		field, value = "role", e.Role
	case e.Plane != 0:
		field, value = "plane", fmt.Sprint(e.Plane)
	case e.All:
		field, value = "all", "true"
	}
	for _, c := range changes {
		d := int(c.Change.Device)
		switch c.Change.Kind {
		case SetKnob, SetDrain, Stop:
			if n.IsExternal(d) {
				return &FieldError{e.Kind, field, value, fmt.Sprintf("%q is external: the rig cannot reach into it, want other devices, or do it there between two runs", n.Topology.Devices[d].Name)}
			}
		}
		if c.Change.Kind != Stop {
			continue
		}
		for _, b := range n.Index.Of[d] {
			if peer := n.Index.Ends[b][0] + n.Index.Ends[b][1] - d; n.IsExternal(peer) {
				return &FieldError{e.Kind, field, value, fmt.Sprintf("its neighbour %q is external, and nobody can tell it that this is a restart and no failure", n.Topology.Devices[peer].Name)}
			}
		}
	}
	return nil
}

// externalFields are the fields of an External in text form, as YAML and command
// lines have them, in the order in which they are printed. NeighborAt has a form in
// YAML alone.
var externalFields = []struct {
	name, want string
	set        func(x *External, value string) error
	get        func(x External) string // empty = the default
}{
	{"address", "want an IPv4 address", func(x *External, v string) (err error) { x.Address, err = netip.ParseAddr(v); return err }, func(x External) string { return addrText(x.Address) }},
	{"asn", "want 1 to 4294967295", func(x *External, v string) error {
		n, err := strconv.ParseUint(v, 10, 32)
		if x.ASN = uint32(n); n == 0 {
			return strconv.ErrRange
		}
		return err
	}, func(x External) string { return numberText(uint64(x.ASN)) }},
	{"port", "want 1 to 65535", func(x *External, v string) error {
		n, err := strconv.ParseUint(v, 10, 16)
		if x.Port = uint16(n); n == 0 {
			return strconv.ErrRange
		}
		return err
	}, func(x External) string { return numberText(uint64(x.Port)) }},
	{"passive", "want true or false", func(x *External, v string) (err error) { x.Passive, err = strconv.ParseBool(v); return err }, func(x External) string { return trueText(x.Passive) }},
	{"neighbors", "want an IPv4 address, that of the first neighbour", func(x *External, v string) (err error) { x.Neighbors, err = netip.ParseAddr(v); return err }, func(x External) string { return addrText(x.Neighbors) }},
	{"neighbors6", "want an IPv6 address, the first next hop", func(x *External, v string) (err error) { x.Neighbors6, err = netip.ParseAddr(v); return err }, func(x External) string { return addrText(x.Neighbors6) }},
	{"damped", "want true or false", func(x *External, v string) (err error) { x.Damped, err = strconv.ParseBool(v); return err }, func(x External) string { return trueText(x.Damped) }},
	{"silence", "want 10ms to 10m", func(x *External, v string) (err error) {
		x.Silence, err = within(v, leastSilence, mostTime)
		return err
	}, func(x External) string { return durationText(x.Silence) }},
	{"wait", "want 100ms to 10m", func(x *External, v string) (err error) { x.Wait, err = within(v, leastWait, mostTime); return err }, func(x External) string { return durationText(x.Wait) }},
}

// The times that an External may state.
const (
	leastSilence = 10 * time.Millisecond
	leastWait    = 100 * time.Millisecond
	mostTime     = 10 * time.Minute
)

func within(v string, low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err == nil && (d < low || d > high) {
		err = strconv.ErrRange
	}
	return d, err
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func numberText(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func trueText(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Set sets a field by its name in text form.
func (x *External) Set(field, value string) error {
	var names []string
	for _, f := range externalFields {
		if f.name == field {
			if err := f.set(x, value); err != nil {
				return fmt.Errorf("%s %q: %s", field, value, f.want)
			}
			return nil
		}
		names = append(names, f.name)
	}
	return fmt.Errorf("unknown field %q: want one of %s", field, strings.Join(names, ", "))
}

// Fields are the fields that are not at their default, in text form: names and values
// in turn.
func (x External) Fields() (pairs []string) {
	for _, f := range externalFields {
		if v := f.get(x); v != "" {
			pairs = append(pairs, f.name, v)
		}
	}
	return pairs
}

// ParseExternal reads NAME=ADDRESS[,FIELD=VALUE]... as a command line has it; a field
// without a value is true.
func ParseExternal(text string) (name string, x External, err error) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || name == "" || rest == "" {
		return "", x, fmt.Errorf("%q: want NAME=ADDRESS[,FIELD=VALUE]..., such as r1-bag1=192.0.2.1,asn=65010", text)
	}
	address, rest, more := strings.Cut(rest, ",")
	if err := x.Set("address", address); err != nil {
		return "", x, fmt.Errorf("%q: %w", name, err)
	}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		field, value, valued := strings.Cut(part, "=")
		if !valued {
			value = "true"
		}
		if err := x.Set(field, value); err != nil {
			return "", x, fmt.Errorf("%q: %w", name, err)
		}
	}
	return name, x, nil
}
