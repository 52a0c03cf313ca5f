package harness

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// readFIB reads the hardware of all devices, then that of roles, then that of
// single devices; what comes later wins. A device keeps the profile that the
// topology names where none has one.
//
//	fib:
//	  algorithm: minimax
//	  overflow: share
//	  compare: true
//	  profile: jericho3
//	  roles: {spine: {profile: {name: tiny, like: tomahawk5, groups: 8}}}
//	  devices: {r1-bag1: {overflow: equal}}
func (sc *Scenario) readFIB(n yamltree.Node) *hardwareOf {
	m := n.Map("algorithm", "overflow", "compare", "profile", "roles", "devices")
	sc.Compare = m.Get("compare").Bool(false)
	all := readHardware(m)
	roles := map[string]deviceHardware{}
	for _, e := range m.Get("roles").Entries() {
		if _, ok := topologies.ParseRole(e.Name); !ok {
			e.Key.Reject("unknown role %q: want rack, spine, edge, bag, hub or backbone", e.Name)
			continue
		}
		roles[e.Name] = readHardware(e.Node.Map("algorithm", "overflow", "profile"))
	}
	has := &hardwareOf{all: all, roles: roles, device: map[string]deviceHardware{}, devices: m.Get("devices").Entries()}
	for _, e := range has.devices {
		has.device[e.Name] = readHardware(e.Node.Map("algorithm", "overflow", "profile"))
	}
	return has
}

// hardwareOf is what a scenario says of hardware, before its topology is known.
type hardwareOf struct {
	all     deviceHardware
	roles   map[string]deviceHardware // by the role's name
	device  map[string]deviceHardware // by the device's name
	devices []yamltree.Entry          // in the order of the file
}

func (h *hardwareOf) role(r topologies.Role) deviceHardware { return h.all.but(h.roles[r.String()]) }

// KnownASICs is the rule for topologies that every ASIC is a built-in profile.
func KnownASICs() topologies.ASICRule {
	known := profileNames()
	return func(_ topologies.Role, asic string) (want string) {
		if slices.Contains(known, asic) {
			return ""
		}
		return "unknown profile: want one of " + strings.Join(known, ", ")
	}
}

// equip gives each device the profile and the options that it has.
func (sc *Scenario) equip(has *hardwareOf) {
	ix := sc.Topology.Index()
	for _, e := range has.devices {
		if _, ok := ix.Device[e.Name]; !ok {
			e.Key.Reject("device %q: not in the topology", e.Name)
		}
	}
	for _, d := range sc.Topology.Devices {
		h := has.role(d.Role).but(has.device[d.Name])
		profile := h.profile
		if profile == nil {
			built, _ := fib.Lookup(d.ASIC) // whose name was checked where it stands
			profile = &built
		}
		sc.Hardware = append(sc.Hardware, state.Hardware{
			Profile: *profile, Options: fib.Options{Algorithm: fib.Algorithm(h.algorithm), Overflow: fib.Overflow(h.overflow)},
		})
	}
}

// deviceHardware is what a scenario says of some devices; zero fields say nothing.
type deviceHardware struct {
	algorithm, overflow string
	profile             *fib.Profile
}

func readHardware(m yamltree.Map) deviceHardware {
	h := deviceHardware{
		algorithm: m.Get("algorithm").Enum("", names(fib.Algorithms())...),
		overflow:  m.Get("overflow").Enum("", names(fib.Overflows())...),
	}
	if p := m.Get("profile"); p.Present() {
		profile := readProfile(p)
		h.profile = &profile
	}
	return h
}

// but is h with what o says in its place.
func (h deviceHardware) but(o deviceHardware) deviceHardware {
	if o.algorithm != "" {
		h.algorithm = o.algorithm
	}
	if o.overflow != "" {
		h.overflow = o.overflow
	}
	if o.profile != nil {
		h.profile = o.profile
	}
	return h
}

func names[T ~string](list []T) []string {
	var texts []string
	for _, t := range list {
		texts = append(texts, string(t))
	}
	return texts
}

func profileNames() []string {
	var list []string
	for _, p := range fib.Profiles() {
		list = append(list, p.Name)
	}
	return list
}

// ReadProfile reads a hardware profile of the user's own, in the form that a
// scenario has it in; the error holds every mistake with its place.
//
//	name: tiny
//	like: jericho3       # where fields that are left out come from
//	groups: 8            # or `unlimited`
//	members: 512         # or `unlimited`
//	width: 64
//	variable: 0
//	native-cost: 0
//	unweighted: false
//	reserve: 2
//	break-first: false
//	ceiling: 0.75
//	source: our own measurement
func ReadProfile(file string, data []byte) (fib.Profile, error) {
	doc, err := yamltree.Parse(file, data)
	if err != nil {
		return fib.Profile{}, err
	}
	root := doc.Root()
	if !root.IsMap() {
		root.Reject("want a mapping with the fields of a profile")
		return fib.Profile{}, doc.Err()
	}
	p := readProfile(root)
	return p, doc.Err()
}

// readProfile reads the name of a built-in profile, or a mapping. After an
// error the profile is of no use.
func readProfile(n yamltree.Node) fib.Profile {
	if !n.IsMap() {
		p, _ := fib.Lookup(n.Enum("", profileNames()...))
		return p
	}
	m := n.Map("name", "like", "groups", "members", "width", "variable", "native-cost",
		"unweighted", "reserve", "break-first", "ceiling", "source")
	base, need := fib.Profile{Reserve: usualReserve, Ceiling: usualCeiling}, m.Need
	if like := m.Get("like"); like.Present() {
		base, _ = fib.Lookup(like.Enum("", profileNames()...))
		need = m.Get
	}
	name := m.Need("name")
	p := base
	p.Name, p.Verified = name.Text(""), false
	if p.Name == "" || slices.Contains(profileNames(), p.Name) {
		name.Reject("want a name that no built-in profile has")
	}
	p.Groups = readLimit(need("groups"), base.Groups)
	p.Members = readLimit(need("members"), base.Members)
	p.Width = int(need("width").Int(int64(base.Width), 1, fib.MaxWidth))
	p.Variable = int(m.Get("variable").Int(int64(base.Variable), 0, int64(p.Width)))
	p.NativeCost = int(m.Get("native-cost").Int(int64(base.NativeCost), 0, 1024))
	p.Unweighted = m.Get("unweighted").Bool(base.Unweighted)
	p.Reserve = int(m.Get("reserve").Int(int64(base.Reserve), 0, int64(p.GroupLimit())))
	p.BreakFirst = m.Get("break-first").Bool(base.BreakFirst)
	p.Ceiling = readPart(m.Get("ceiling"), base.Ceiling)
	p.Source = m.Get("source").Text("the user's own")
	// What one field by itself cannot show, such as a reserve that is taken
	// over from another chip; not what follows from another mistake.
	if err := p.Validate(); err != nil && n.Doc().Err() == nil {
		n.Reject("%v", err)
	}
	return p
}

// What a profile that is like no other has where it does not say: FBOSS's
// rules for every ASIC.
const (
	usualReserve = 2
	usualCeiling = 0.75
)

// unlimited is how a profile writes that a limit is not published.
const unlimited = "unlimited"

func readLimit(n yamltree.Node, def int) int {
	text := n.Scalar("")
	if text == unlimited {
		return fib.NotPublished
	}
	v, err := strconv.Atoi(text)
	switch {
	case !n.Present():
		return def
	case err != nil || v < 1 || v > fib.NoLimit-1:
		n.Reject("want 1 to %d, or %s", fib.NoLimit-1, unlimited)
		return 1
	}
	return v
}

func readPart(n yamltree.Node, def float64) float64 {
	if !n.Present() {
		return def
	}
	v, err := strconv.ParseFloat(n.Scalar(""), 64)
	if err != nil || !(v > 0 && v <= 1) || strings.ContainsAny(n.Scalar(""), "xXpP_") {
		n.Reject("want a part above 0, up to 1")
		return 1
	}
	return v
}
