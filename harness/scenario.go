// Package harness starts a network of speakers, breaks it, watches it, and
// judges what happened. Rig is one running network; Run plays a whole
// scenario on one.
//
//	sc, err := harness.Embedded("first-light")
//	result, err := harness.Run(ctx, sc, harness.RunOptions{Checks: properties.All()})
package harness

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Scenario is what to run: a network, its settings, and what is done to it.
type Scenario struct {
	Name       string
	Engine     string // GoBGP, Sim or Both
	Seed       uint64
	Topology   *topologies.Topology
	Damping    damping.Pipeline
	Plan       *damping.Plan         // what damping stands where; nil = Damping everywhere
	Settings   []topologies.Settings // of the speakers, by device
	Hardware   []state.Hardware      // by device
	Compare    bool                  // show what every overflow policy makes of what is programmed
	Events     []state.Event
	Thresholds Thresholds
	Expect     []string                  // rules that the scenario shows violated
	External   map[string]state.External // devices that are no speakers of the rig, by name
	Source     []byte                    // the YAML it was read from
	// Files are the files that it names, by their name in it. A copy of the
	// scenario that has them beside it, in FilesFolder under CopyName, reads the same.
	Files map[string][]byte
}

// FilesFolder is where a copy of a scenario keeps the files that it names.
const FilesFolder = "scenario-files"

// CopyName is the name of a file in FilesFolder, for its name in a scenario: that
// name with what no file name may hold escaped, or a hash where that is too long.
func CopyName(name string) string {
	const most = 200 // bytes; file systems allow 255
	if escaped := url.PathEscape(name); len(escaped) <= most {
		return escaped
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
}

// readBeside reads a file that the scenario in a folder names: the copy that the
// folder has of it, or else the file itself, relative to the folder.
func (sc *Scenario) readBeside(folder, name string) (data []byte, path string, err error) {
	path = filepath.Join(folder, FilesFolder, CopyName(name))
	if _, err := os.Stat(path); err != nil {
		if path = name; !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
	}
	if data, err = yamltree.ReadFile(path); err != nil {
		return nil, path, err
	}
	if sc.Files == nil {
		sc.Files = map[string][]byte{}
	}
	sc.Files[name] = data
	return data, path, nil
}

// Thresholds are limits that every event must keep; 0 = none.
type Thresholds struct {
	NLRI    int // announced and withdrawn prefixes on all wires
	Updates int // UPDATE messages on all wires
	Radius  int // hop distance of the farthest speaker that received an UPDATE
}

//go:embed scenarios/*.yaml
var embedded embed.FS

// Scenarios are the names of the embedded scenarios, sorted.
func Scenarios() []string {
	files, _ := embedded.ReadDir("scenarios")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Embedded reads an embedded scenario.
func Embedded(name string) (*Scenario, error) {
	data, err := embedded.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("scenario %q: want one of %s, or a YAML file", name, strings.Join(Scenarios(), ", "))
	}
	return ReadScenario(name+".yaml", data)
}

// Load reads the embedded scenario of that name, or else the YAML file.
func Load(name string) (*Scenario, error) { return LoadWith(name, nil) }

// LoadWith is Load with devices that are external, by name, beside those that the
// scenario says itself; the given ones win.
func LoadWith(name string, external map[string]state.External) (*Scenario, error) {
	file, data, err := find(name)
	if err != nil {
		return nil, err
	}
	sc, err := readScenario(file, data, external)
	if err != nil || len(external) == 0 {
		return sc, err
	}
	if text, err := WriteScenario(sc); err == nil {
		sc.Source = text // so that a copy of it says all
	}
	return sc, nil
}

// find reads the text of the embedded scenario of that name, or else of the file.
func find(name string) (file string, data []byte, err error) {
	if slices.Contains(Scenarios(), name) {
		data, err = embedded.ReadFile("scenarios/" + name + ".yaml")
		return name + ".yaml", data, err
	}
	data, err = yamltree.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, fmt.Errorf("scenario %q: no such file, and not one of %s", name, strings.Join(Scenarios(), ", "))
	}
	if err != nil {
		return "", nil, fmt.Errorf("scenario: %w", err)
	}
	return name, data, nil
}

// ReadScenario reads a scenario and checks all of it; the error holds every
// mistake, each with file, line, column, field, value and what was wanted.
func ReadScenario(file string, data []byte) (*Scenario, error) { return readScenario(file, data, nil) }

func readScenario(file string, data []byte, external map[string]state.External) (*Scenario, error) {
	doc, err := yamltree.Parse(file, data)
	if err != nil {
		return nil, err
	}
	m := doc.Root().Map("name", "topology", "engine", "seed", "damping", "speakers", "fib", "external", "events", "thresholds", "expect-violated")
	sc := &Scenario{Source: data, Name: m.Get("name").Text(strings.TrimSuffix(filepath.Base(file), ".yaml"))}
	sc.Engine = m.Get("engine").Enum(GoBGP, append(Engines(), Both)...)
	sc.Seed = uint64(m.Get("seed").Int(1, 1, 1<<62))
	hardware, known := sc.readFIB(m.Get("fib")), KnownASICs()
	sc.Topology = sc.readTopology(m.Need("topology"), filepath.Dir(file), func(role topologies.Role, asic string) string {
		if hardware.role(role).profile != nil {
			return "" // of whatever name
		}
		return known(role, asic)
	})
	t := m.Get("thresholds").Map("nlri", "updates", "radius")
	sc.Thresholds = Thresholds{
		NLRI:    int(t.Get("nlri").Int(0, 1, 1<<31)),
		Updates: int(t.Get("updates").Int(0, 1, 1<<31)),
		Radius:  int(t.Get("radius").Int(0, 1, 1<<16)),
	}
	if sc.Topology == nil {
		return nil, doc.Err()
	}
	sc.equip(hardware)
	sc.readDamping(m.Get("damping"))
	for _, n := range m.Get("expect-violated").List() {
		sc.Expect = append(sc.Expect, n.Text(""))
	}
	sc.readExternal(m.Get("external"), external)
	placed := sc.placeExternal(m.Get("external"))
	sc.readSpeakers(m.Get("speakers"))
	sc.readEvents(m.Get("events"), filepath.Dir(file))
	if err := errors.Join(doc.Err(), placed); err != nil {
		return nil, err
	}
	return sc, nil
}

// readTopology reads a preset's name, a topology inline, or `{file: PATH}`,
// relative to the scenario's folder. It gives nil after an error.
func (sc *Scenario) readTopology(n yamltree.Node, folder string, asics topologies.ASICRule) *topologies.Topology {
	if n.IsScalar() {
		t, err := topologies.Preset(n.Text(""))
		if err != nil {
			n.Reject("want one of the presets %s, or a topology", strings.Join(topologies.Presets(), ", "))
			return nil
		}
		return t
	}
	if !n.IsMap() || len(n.Entries()) != 1 || n.Entries()[0].Name != "file" {
		return topologies.ReadNode(n, asics)
	}
	file := n.Entries()[0].Node
	data, path, err := sc.readBeside(folder, file.Text(""))
	if err != nil {
		file.Reject("%v", err)
		return nil
	}
	t, err := topologies.Read(path, data, asics)
	if err != nil {
		file.Reject("%v", err)
		return nil
	}
	return t
}

// readSpeakers reads the knobs of all speakers, then those of roles, then those
// of devices; what comes later wins.
//
//	speakers:
//	  weights.missing: skip
//	  roles: {bag: {advertise: aggregate-received}}
//	  devices: {r1-bag1: {transitivity: both}}
func (sc *Scenario) readSpeakers(n yamltree.Node) {
	sc.Settings = slices.Repeat([]topologies.Settings{defaultSettings(len(sc.External) > 0)}, len(sc.Topology.Devices))
	var all []yamltree.Entry
	groups := map[string]yamltree.Node{}
	for _, e := range n.Entries() {
		if e.Name == "roles" || e.Name == "devices" {
			groups[e.Name] = e.Node
		} else {
			all = append(all, e)
		}
	}
	sc.setKnobs(all, func(topologies.Device) bool { return true })
	for _, e := range groups["roles"].Entries() {
		if _, ok := topologies.ParseRole(e.Name); !ok {
			e.Node.Reject("unknown role %q: want rack, spine, edge, bag, hub or backbone", e.Name)
			continue
		}
		sc.setKnobs(e.Node.Entries(), func(d topologies.Device) bool { return d.Role.String() == e.Name })
	}
	ix := sc.Topology.Index()
	for _, e := range groups["devices"].Entries() {
		if _, ok := ix.Device[e.Name]; !ok {
			e.Node.Reject("device %q: not in the topology", e.Name)
			continue
		}
		sc.setKnobs(e.Node.Entries(), func(d topologies.Device) bool { return d.Name == e.Name })
	}
	for _, s := range sc.Settings {
		if err := s.Validate(); err != nil {
			n.Reject("%v", err)
			return
		}
	}
}

func (sc *Scenario) setKnobs(knobs []yamltree.Entry, chosen func(topologies.Device) bool) {
	for _, k := range knobs {
		value := k.Node.Scalar("")
		for i, d := range sc.Topology.Devices {
			if !chosen(d) {
				continue
			}
			if err := sc.Settings[i].Set(k.Name, value); err != nil {
				k.Node.Reject("%v", err)
				break
			}
		}
	}
}

// readEvents reads the events and plays them on paper, so that one that has no
// place in the topology is found before anything starts.
func (sc *Scenario) readEvents(list yamltree.Node, folder string) {
	paper, net := state.NewPaper(sc.Topology, sc.Topology.Index()), sc.network()
	for _, item := range list.List() {
		entries := item.Entries()
		if len(entries) != 1 {
			item.Reject("want one event, such as `degrade: {bundle: NAME, members: N}`")
			continue
		}
		kind, fields, nodes := entries[0], map[string]string{}, map[string]yamltree.Node{}
		for _, f := range kind.Node.Entries() {
			fields[f.Name], nodes[f.Name] = fieldText(f), f.Node
		}
		e, err := state.ParseEvent(kind.Name, fields)
		if err == nil {
			err = sc.readSeries(&e, folder)
		}
		if err == nil {
			err = net.Refuses(e)
		}
		if err == nil {
			err = paper.Play(e)
		}
		if err != nil {
			rejectEvent(kind, nodes, err)
			continue
		}
		sc.Events = append(sc.Events, e)
	}
}

// fieldText is an event's field in text form, in which a list has commas.
func fieldText(f yamltree.Entry) string {
	if f.Name != "bundles" || !f.Node.IsList() {
		return f.Node.Scalar("")
	}
	var names []string
	for _, n := range f.Node.List() {
		names = append(names, n.Scalar(""))
	}
	return strings.Join(names, ",")
}

// readSeries reads the series of an event that has one in a file, relative to
// the scenario's folder.
func (sc *Scenario) readSeries(e *state.Event, folder string) error {
	if e.File == "" || slices.Contains(damping.Recordings(), e.File) {
		return nil
	}
	bad := func(err error) error {
		return &state.FieldError{Kind: e.Kind, Field: "file", Value: e.File, Want: fmt.Sprintf("%v: want a CSV file, or one of %s", err, strings.Join(damping.Recordings(), ", "))}
	}
	data, _, err := sc.readBeside(folder, e.File)
	if err != nil {
		return bad(err)
	}
	series, err := damping.ReadSeries(bytes.NewReader(data))
	if err != nil {
		return bad(err)
	}
	e.Series = &series
	return nil
}

// rejectEvent puts an event's error at the field that it is about.
func rejectEvent(kind yamltree.Entry, nodes map[string]yamltree.Node, err error) {
	at := kind.Node
	var fe *state.FieldError
	if errors.As(err, &fe) {
		if n, ok := nodes[fe.Field]; ok {
			at = n
		}
		if fe.Field == "kind" {
			at = kind.Key
		}
	}
	at.Reject("%v", err)
}

func fullMembers(t *topologies.Topology) []int {
	members := make([]int, len(t.Bundles))
	for i, b := range t.Bundles {
		members[i] = b.Members
	}
	return members
}
