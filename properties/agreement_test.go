package properties

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// engines are those that are compared, the real one first.
var engines = [2]string{harness.GoBGP, harness.Sim}

// What may differ between the engines, and why:
//
//   - A cure's withdrawals: GoBGP sends nothing to a neighbour whose ASN is in a
//     replaced path, so a real speaker withdraws before it tells anew; the
//     simulator's neighbour hears the withdrawal alone. See speakers/gobgp.
//   - UPDATE messages: a real session's dump packs prefixes; the simulator has one
//     prefix a message. Prefixes are the unit of every law, messages are not.
//   - Keepalives, OPENs, fences and End-of-RIBs, which only a real session has.
//   - Real time.
var apart = cmp.Options{
	cmpopts.IgnoreFields(state.Row{}, "Quiet"),
	cmpopts.IgnoreFields(state.Counters{}, "Updates", "Withdrawn", "EndOfRIB", "Keepalive", "Others", "Fences"),
	cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{}),
}

// witness is a check that keeps every moment that it is shown.
type witness struct{ moments []state.Moment }

func (w *witness) Name() string           { return "witness" }
func (w *witness) Outcome() state.Outcome { return state.Outcome{Name: "witness"} }
func (w *witness) Look(m *state.Moment)   { w.moments = append(w.moments, *m) }

// bout is what both engines are to play.
type bout struct {
	harness.Options
	events []state.Event
	checks func() []state.Check // makes rules for each, whose findings are compared; may be nil
	// unordered is why the engines may take different ways, so that only what they
	// come to is compared; empty = everything is.
	unordered string
	blind     string // why no graph can know where it ends, and the oracle is not asked; empty = it is asked
}

// noBatch is why a bout is unordered.
const noBatch = "without a batch a speaker decides on each input by itself, and in one round sockets bring those of several sessions in any order"

// duel is one network on both engines. They play in step, so that only what one
// group of events showed is kept.
type duel struct {
	bout
	rigs   [2]*harness.Rig
	seen   [2]witness
	rules  [2][]state.Check
	judged int // routes compared with the oracle
	nlri   int // compared
	cures  int // withdrawals of the real engine alone
	failed int // cases that ended early, on both in the same way
}

// agree gives the first place where the engines, or one of them and the oracle, differ.
func agree(ctx context.Context, b bout) (d *duel, err error) {
	d = &duel{bout: b}
	o := b.Options
	o.Budget = standstill
	for i, engine := range engines {
		o.Engine = engine
		if b.checks != nil {
			d.rules[i] = b.checks()
		}
		all, note := watched(append(slices.Clone(d.rules[i]), &d.seen[i]))
		o.Checks = all
		defer func() { err = errors.Join(err, note(err)) }()
		if d.rigs[i], err = harness.Start(ctx, o); err != nil {
			return d, fmt.Errorf("%s: %w", engine, err)
		}
		defer func() { err = errors.Join(err, d.rigs[i].Close()) }()
	}
	if err := d.bringUp(); err != nil {
		return d, fmt.Errorf("bring-up: %w", err)
	}
	for events := b.events; len(events) > 0; {
		n := 1 // events with a time may overlap those before them
		for n < len(events) && events[n].At != 0 {
			n++
		}
		if err := d.play(ctx, events[:n]); err != nil {
			return d, fmt.Errorf("%v: %w", events[:n], err)
		}
		if d.failed > 0 {
			break
		}
		events = events[n:]
	}
	if b.unordered != "" {
		return d, nil
	}
	return d, d.compareFindings()
}

func (d *duel) bringUp() error {
	real, _, _ := d.rigs[0].BringUp()
	sim, _, _ := d.rigs[1].BringUp()
	if diff := cmp.Diff(real, sim, apart); diff != "" || real.Withdrawn < sim.Withdrawn {
		return fmt.Errorf("counters: gobgp %+v, sim %+v", real, sim)
	}
	return d.compareMoments()
}

// play plays events on both, and compares. Where both fail in the same way, that
// is the end of the case.
func (d *duel) play(ctx context.Context, events []state.Event) error {
	var rows [2][]state.Row
	var errs [2]string
	for i := range d.rigs {
		d.seen[i].moments = nil
		var err error
		if rows[i], err = d.rigs[i].Play(ctx, events...); err != nil {
			errs[i] = err.Error()
		}
	}
	if d.unordered != "" && errs == [2]string{} {
		real, sim := d.seen[0].moments, d.seen[1].moments
		return d.compareEnds(&real[len(real)-1], &sim[len(sim)-1])
	}
	if err := d.compareMoments(); err != nil {
		return err
	}
	if errs[0] != errs[1] {
		return fmt.Errorf("errors:\n  gobgp: %s\n  sim:   %s", errs[0], errs[1])
	}
	if diff := cmp.Diff(rows[0], rows[1], apart); diff != "" {
		return fmt.Errorf("rows: gobgp - sim +\n%s", diff)
	}
	if errs[0] != "" {
		d.failed++
	}
	return nil
}

// compareMoments compares what both engines showed, and settled moments with the
// oracle.
func (d *duel) compareMoments() error {
	real, sim := d.seen[0].moments, d.seen[1].moments
	for i := range min(len(real), len(sim)) {
		if err := d.compareMoment(&real[i], &sim[i]); err != nil {
			return fmt.Errorf("at %v: %w", real[i].Snapshot.Time, err)
		}
	}
	if len(real) != len(sim) {
		return fmt.Errorf("quiet moments: gobgp has %d, sim has %d", len(real), len(sim))
	}
	return nil
}

func (d *duel) compareMoment(real, sim *state.Moment) error {
	if real.Settled != sim.Settled || real.Full != sim.Full {
		return fmt.Errorf("settled and at full health: gobgp %t, %t; sim %t, %t", real.Settled, real.Full, sim.Settled, sim.Full)
	}
	if err := compareSnapshots(real, sim); err != nil {
		return err
	}
	if err := d.compareWithOracle(real, sim); err != nil {
		return err
	}
	if real.Window == nil || sim.Window == nil {
		return nil
	}
	if err := d.compareLogs(real.Window, sim.Window, real.Network); err != nil {
		return err
	}
	if real.Window.Lasted != sim.Window.Lasted || real.Window.Effect != sim.Window.Effect {
		return fmt.Errorf("window: gobgp lasted %v and %s, sim %v and %s", real.Window.Lasted, real.Window.Effect, sim.Window.Lasted, sim.Window.Effect)
	}
	return nil
}

// compareEnds compares two settled moments, however they came about.
func (d *duel) compareEnds(real, sim *state.Moment) error {
	for i := range real.Snapshot.Devices {
		for p := range real.Snapshot.Devices[i].Routes {
			a, b := &real.Snapshot.Devices[i].Routes[p], &sim.Snapshot.Devices[i].Routes[p]
			text := difference(real.Network, "gobgp", a, "sim", b)
			if text == "" {
				text = candidateDifference(real.Network, a.Candidates, b.Candidates)
			}
			if text != "" {
				return threeAnswers(real, sim, i, p, text)
			}
		}
	}
	return d.compareWithOracle(real, sim)
}

// compareWithOracle compares the real engine's settled routes with the graph's;
// the simulator's are the same by then. What waits on a held session is known to
// no graph.
func (d *duel) compareWithOracle(real, sim *state.Moment) error {
	if d.blind != "" || !real.Settled || len(real.Snapshot.Held) > 0 {
		return nil
	}
	for i := range real.Snapshot.Devices {
		for p := range real.Snapshot.Devices[i].Routes {
			d.judged++
			if text := (&EndState{}).compare(real, i, p); text != "" {
				return threeAnswers(real, sim, i, p, text)
			}
			got, want := real.Snapshot.Devices[i].Routes[p].Told, real.Damped.Route(i, p).Told
			if got.Warm != want.Warm || got.Atomic != want.Atomic || got.Form != want.Form {
				return threeAnswers(real, sim, i, p, "told communities and attributes")
			}
		}
	}
	return nil
}

// compareSnapshots gives the first device and prefix at which two snapshots differ.
func compareSnapshots(real, sim *state.Moment) error {
	if reflect.DeepEqual(real.Snapshot, sim.Snapshot) { // go-cmp alone takes minutes
		return nil
	}
	for i := range real.Snapshot.Devices {
		a, b := &real.Snapshot.Devices[i], &sim.Snapshot.Devices[i]
		for p := range a.Routes {
			if reflect.DeepEqual(a.Routes[p], b.Routes[p]) {
				continue
			}
			if diff := cmp.Diff(a.Routes[p], b.Routes[p], apart); diff != "" {
				return threeAnswers(real, sim, i, p, "gobgp - sim +\n"+diff)
			}
		}
		if diff := cmp.Diff(a, b, apart, cmpopts.IgnoreFields(state.Device{}, "Routes")); diff != "" {
			return fmt.Errorf("device %q: gobgp - sim +\n%s", real.Topology.Devices[i].Name, diff)
		}
	}
	if diff := cmp.Diff(real.Snapshot, sim.Snapshot, apart, cmpopts.IgnoreFields(state.Snapshot{}, "Devices")); diff != "" {
		return fmt.Errorf("snapshot: gobgp - sim +\n%s", diff)
	}
	return nil
}

// threeAnswers is the error of a route that is not the same everywhere.
func threeAnswers(real, sim *state.Moment, device, prefix int, text string) error {
	want := *real.Damped.Route(device, prefix)
	want.Candidates = real.Damped.Receives(device, prefix)
	return fmt.Errorf("%s: %s\n  gobgp:  %s\n  sim:    %s\n  oracle: %s", at(real.Network, device, prefix), text,
		answer(real.Network, &real.Snapshot.Devices[device].Routes[prefix]), answer(sim.Network, &sim.Snapshot.Devices[device].Routes[prefix]), answer(real.Network, &want))
}

// answer is all of a route in one line.
func answer(n *state.Network, r *state.Route) string {
	var heard []string
	for _, c := range r.Candidates {
		heard = append(heard, fmt.Sprintf("%s over %s", candidateText(n, c), bundleName(n, c.Bundle)))
	}
	return fmt.Sprintf("%s; set %s; bottleneck %t %d; tells %s, warm %t, atomic %t, form %q; hears [%s]; hardware %v", reachText(n, r), setText(n, r.Set),
		r.Valued, r.Bottleneck, toldText(n, r.Told), r.Told.Warm, r.Told.Atomic, r.Told.Form, strings.Join(heard, "; "), r.FIB.Members)
}

// compareLogs compares what every directed session carried, prefix by prefix and
// round by round, the real engine's cures apart. A dump is told in any order.
func (d *duel) compareLogs(real, sim *state.Window, n *state.Network) error {
	a, cures := withoutCures(real.Log)
	b, none := withoutCures(sim.Log)
	d.nlri += len(a)
	d.cures += cures - none
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Errorf("NLRI, session and prefix by number, first difference:\n  gobgp: %s\n  sim:   %s", nlriText(n, a[i]), nlriText(n, b[i]))
		}
	}
	if len(a) != len(b) {
		longer := slices.MaxFunc([][]state.NLRI{a, b}, func(x, y []state.NLRI) int { return len(x) - len(y) })
		return fmt.Errorf("NLRI: gobgp has %d, sim has %d; first one more: %s", len(a), len(b), nlriText(n, longer[min(len(a), len(b))]))
	}
	return nil
}

func nlriText(n *state.Network, x state.NLRI) string {
	from := sender(n, x.Dir)
	to, _ := peer(n, from, x.Dir.Bundle)
	return fmt.Sprintf("round %d, %q to %q, prefix %s: withdraw %t, dump %t, valued %t %v, path %x", x.Round, n.Topology.Devices[from].Name,
		n.Topology.Devices[to].Name, n.Topology.Prefixes[x.Prefix].Prefix, x.Withdraw, x.Dump, x.Valued, x.Value, x.Path)
}

// withoutCures sorts a log by session, prefix and round, and leaves out the
// withdrawals that an announcement of the same round follows.
func withoutCures(log []state.NLRI) (kept []state.NLRI, cures int) {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b state.NLRI) int {
		return stdcmp.Or(compareFlows(flowOf(&a), flowOf(&b)), stdcmp.Compare(a.Round, b.Round))
	})
	for i := range log {
		if i+1 < len(log) && log[i].Withdraw && !log[i+1].Withdraw && flowOf(&log[i]) == flowOf(&log[i+1]) && log[i].Round == log[i+1].Round {
			cures++
			continue
		}
		kept = append(kept, log[i])
	}
	return kept, cures
}

// compareFindings compares all that is summed up at the end of a run.
func (d *duel) compareFindings() error {
	for i, c := range d.rules[0] {
		real, sim := c.Outcome(), d.rules[1][i].Outcome()
		if real.Name == ContainmentName {
			real.Note, sim.Note = "", "" // counts cures
		}
		if diff := cmp.Diff(real, sim, apart); diff != "" {
			return fmt.Errorf("%s: gobgp - sim +\n%s", c.Name(), diff)
		}
	}
	for _, f := range []struct {
		what string
		of   func(*harness.Rig) any
	}{
		{"windows", func(r *harness.Rig) any { return r.Windows() }},
		{"lost", func(r *harness.Rig) any { return r.Lost() }},
		{"told wrong", func(r *harness.Rig) any { return r.MisTold() }},
		{"hardware", func(r *harness.Rig) any { use, _ := r.Hardware(); return use }},
		{"overflow policies", func(r *harness.Rig) any { _, use := r.Hardware(); return use }},
	} {
		if diff := cmp.Diff(f.of(d.rigs[0]), f.of(d.rigs[1]), apart); diff != "" {
			return fmt.Errorf("%s: gobgp - sim +\n%s", f.what, diff)
		}
	}
	return nil
}

// brief tells that a run has little time.
func brief() bool { return raceDetector || testing.Short() }

// sizeOfRun multiplies the cases of the agreement suite: 10 with BAGRIG_LONG.
func sizeOfRun() int {
	if os.Getenv("BAGRIG_LONG") != "" {
		return 10
	}
	return 1
}

// TestEnginesAndOracleAgreeOnEmbeddedScenarios plays all but the large ones.
func TestEnginesAndOracleAgreeOnEmbeddedScenarios(t *testing.T) {
	for _, name := range harness.Scenarios() {
		sc, err := harness.Embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Topology.Bundles)*len(sc.Topology.Prefixes) > fitsSockets*sizeOfRun() {
			t.Logf("%s: %s is too large", name, sc.Topology.Summary())
			continue
		}
		if sizeOfRun() == 1 && !slices.Contains([]string{"aggregate-flap", "missing-bandwidth", "restart-mismatch", "unnoticed"}, name) {
			continue // the quick suite plays the others' kinds of events on both engines
		}
		t.Run(name, func(t *testing.T) {
			d, err := agree(t.Context(), bout{Options: harness.Options{
				Topology: sc.Topology, Damping: sc.Damping, Plan: sc.Plan, Settings: sc.Settings, Hardware: sc.Hardware, Compare: sc.Compare,
			}, events: sc.Events, checks: func() []state.Check { return For(sc.Topology, sc.Events) }})
			d.done(t, err, 0)
		})
	}
}

// fitsSockets is the product of bundles and prefixes up to which a network is
// played on real sockets here: a few seconds.
const fitsSockets = 20000

// done ends a test; most is how many cases may have ended early.
func (d *duel) done(t *testing.T, err error, most int) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	if d.judged == 0 {
		t.Error("no route was compared with the oracle")
	}
	if d.failed > most {
		t.Errorf("%d cases ended early, on both engines with the same error: want at most %d", d.failed, most)
	}
	t.Logf("%d routes as the oracle has them, %d NLRI the same, %d withdrawals of cures, %d ended early", d.judged, d.nlri, d.cures, d.failed)
}

// TestEnginesAndOracleAgreeOnPresets degrades, takes down and brings back a
// bundle of each class of every preset that fits.
func TestEnginesAndOracleAgreeOnPresets(t *testing.T) {
	for _, name := range topologies.Presets() {
		topology, err := topologies.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(topology.Bundles)*len(topology.Prefixes) > fitsSockets*sizeOfRun() {
			t.Logf("%s: %s is too large", name, topology.Summary())
			continue
		}
		if sizeOfRun() == 1 && !slices.Contains([]string{"mix-mini", "spread-mini"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var events []state.Event
			m := newMaker(topology)
			for _, class := range m.classes {
				b := topology.Bundles[class[0]]
				if b.Members > 1 {
					events = append(events, state.Event{Kind: "degrade", Bundle: b.Name, Members: (b.Members + 1) / 2, Silent: true})
				}
				events = append(events, state.Event{Kind: "down", Bundle: b.Name, Silent: true}, state.Event{Kind: "up", Bundle: b.Name, Silent: true})
			}
			pipeline, err := damping.Preset(damping.PresetBagDefault, topology.SmallestSpeed())
			if err != nil {
				t.Fatal(err)
			}
			d, err := agree(t.Context(), bout{Options: harness.Options{Topology: topology, Damping: pipeline}, events: append(events, restoreAll()), checks: All})
			d.done(t, err, 0)
		})
	}
}

// TestEnginesAndOracleAgreeOnRandomNetworks plays random events of all kinds on
// random small networks with random settings.
func TestEnginesAndOracleAgreeOnRandomNetworks(t *testing.T) {
	seed := seedOfRun(t)
	total := duel{}
	cases := casesOfRun(t, 60) * sizeOfRun()
	for i := range cases {
		c := newWideCase(rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		d, err := agree(t.Context(), bout{Options: harness.Options{Topology: c.topology, Damping: c.pipeline, Settings: c.settings}, events: c.events, unordered: c.unordered()})
		if err != nil {
			t.Fatalf("BAGRIG_SEED=%d, case %d: %v\n%s", seed, i, err, c.text())
		}
		total.add(d)
	}
	total.done(t, nil, cases/20)
}

// aggregatesScenario is the small network of these tests: everything twice, with aggregates.
func aggregatesScenario(t *testing.T) *harness.Scenario {
	t.Helper()
	sc, err := harness.ReadScenario("test.yaml", []byte(sessionsAndAggregates))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// freeWords are what is tried of knobs that take more than named words.
var freeWords = map[string][]string{
	"advertise.value":           {"0", "1.6T"},
	"rib-batch":                 {"0s", "200ms", "1m"},
	"restart.stale-time":        {"0s", "2s", "30s"},
	"restart.eor-time":          {"0s", "2s", "30s"},
	"drain.linger":              {"1s", "1m"},
	"import.max-prefixes":       {"0", "1", "4", "100"},
	"import.reject-classes":     {"", "spine", "fabric,region"},
	"import.reject-communities": {"", "65000:1", "65535:0"},
}

// TestEnginesAndOracleAgreeOnEveryKnob sets each knob to each of its words, on all
// devices of one role, and then does a little of everything.
func TestEnginesAndOracleAgreeOnEveryKnob(t *testing.T) {
	sc := aggregatesScenario(t)
	var events []state.Event
	for _, text := range []string{
		`degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 8}`, `down: {bundle: r1-f2-e1--r1-bag1}`, `drain: {device: r1-bag2, state: warm}`,
		`drain: {device: r1-bag2, state: drained}`, `drain: {device: r1-bag2, state: live}`, `restart: {device: r2-f1-e1, takes: 10s}`,
		`reset: {bundle: r1-bag1--r2-bag1}`, `restore: {all: true}`,
	} {
		events = append(events, event(t, text))
	}
	total := duel{}
	for _, k := range topologies.Knobs() {
		words := k.Values
		if free, ok := freeWords[k.Name]; ok {
			words = free
		} else if strings.ToUpper(words[0]) == words[0] {
			t.Errorf("knob %s: no words to try", k.Name)
		}
		for _, word := range words {
			for _, role := range []topologies.Role{topologies.Edge, topologies.Spine, topologies.Bag} {
				if sizeOfRun() == 1 && role != topologies.Edge {
					break
				}
				b := bout{events: events, Options: harness.Options{Topology: sc.Topology, Damping: sc.Damping, Settings: settingsOf(t, sc.Topology, role, k.Name, word)}}
				if k.Name == "import.max-prefixes" && (word == "1" && role == topologies.Edge || word == "4" && role != topologies.Bag) {
					b.blind = "of several sessions over the limit, which end depends on the order in which routes arrive"
				}
				if k.Name == "rib-batch" && word == "0s" {
					b.unordered = noBatch
				}
				d, err := agree(t.Context(), b)
				if err != nil {
					t.Errorf("%s %q of every %v: %v", k.Name, word, role, err)
				}
				total.add(d)
			}
		}
	}
	total.done(t, nil, 0)
}

// settingsOf sets a knob of all devices of a role.
func settingsOf(t *testing.T, topology *topologies.Topology, role topologies.Role, knob, word string) []topologies.Settings {
	t.Helper()
	settings := slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(topology.Devices))
	for i, dev := range topology.Devices {
		if dev.Role != role {
			continue
		}
		if err := settings[i].Set(knob, word); err != nil {
			t.Fatal(err)
		}
		if settings[i].Advertise == topologies.AdvertiseSet {
			settings[i].AdvertiseValue = 1.6e12
		}
	}
	return settings
}

func (d *duel) add(e *duel) {
	d.judged, d.nlri, d.cures, d.failed = d.judged+e.judged, d.nlri+e.nlri, d.cures+e.cures, d.failed+e.failed
}

func event(t *testing.T, text string) state.Event {
	t.Helper()
	list := events(t, text)
	if len(list) != 1 {
		t.Fatalf("%s: %d events", text, len(list))
	}
	return list[0]
}

// events reads events of prometheus-mini or of sessionsAndAggregates, one a
// line; all are silent.
func events(t *testing.T, lines ...string) (list []state.Event) {
	t.Helper()
	topology, _, _ := strings.Cut(sessionsAndAggregates, "damping:")
	sc, err := harness.ReadScenario("events.yaml", []byte(topology+"events:\n  - "+strings.Join(lines, "\n  - ")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sc.Events {
		e.Silent = true
		list = append(list, e)
	}
	return list
}

// TestEnginesAndOracleAgreeOnEveryKindOfEvent plays events of all kinds under each
// preset of damping, those with a memory too.
func TestEnginesAndOracleAgreeOnEveryKindOfEvent(t *testing.T) {
	sc := aggregatesScenario(t)
	list := events(t,
		`degrade: {bundle: r1-f1-s1--r1-f1-e1, members: 8}`,
		`hold: {bundle: r1-f1-e1--r1-bag1, from: r1-f1-e1}`,
		`down: {bundle: r1-f1-s2--r1-f1-e1}`,
		`reset: {bundle: r1-bag2--r2-bag2}`,
		`release: {bundle: r1-f1-e1--r1-bag1, from: r1-f1-e1}`,
		`up: {bundle: r1-f1-s2--r1-f1-e1}`,
		`hold: {bundle: r1-bag1--r2-bag1, from: r2-bag1}`,
		`degrade: {bundle: r2-f1-e1--r2-bag1, members: 3}`,
		`down: {bundle: r1-bag1--r2-bag1}`, // with what waits on it
		`up: {bundle: r1-bag1--r2-bag1}`,
		`down: {bundle: r1-f2-e2--r1-bag2, detect: "bfd 150ms"}`,
		`up: {bundle: r1-f2-e2--r1-bag2}`,
		`down: {device: r2-f1-e1, detect: "hold 90s"}`,
		`up: {device: r2-f1-e1}`,
		`down: {bundle: r1-bag1--r2-bag1, detect: "hold 90s", at: 100h}`,
		`degrade: {bundle: r2-f2-e1--r2-bag1, members: 3, at: 100h0m10s}`,
		`up: {bundle: r1-bag1--r2-bag1, at: 100h0m20s}`, // before anybody noticed
		`grey: {bundle: r1-bag2--r2-bag2, loss: 0.3}`,
		`flap: {bundle: r1-f1-s1--r1-f1-e2, members: 4, count: 3, period: 10s}`,
		`synchronised: {bundles: "r1-f1-s1--r1-f1-e1,r2-f1-s1--r2-f1-e1", members: 4, count: 3, period: 10s}`,
		`ramp: {bundle: r1-bag1--r2-bag1, from: 32, to: 0, over: 1m, steps: 4}`,
		`set: {role: edge, knob: weights.missing, value: skip}`,
		`set: {device: r1-f1-s1, knob: advertise, value: disable}`,
		`drain: {plane: 1, state: warm}`,
		`drain: {plane: 1, state: drained}`,
		`drain: {plane: 1, state: live}`,
		`restart: {device: r1-bag1, takes: 5s}`,
		`restart: {device: r1-f1-e1, takes: 2m}`,
		`restore: {all: true}`,
	)
	list = slices.Insert(list, len(list)-1, state.Event{
		Kind: "replay", Bundle: "r1-f2-s1--r1-f2-e1", File: "series.csv", Silent: true,
		Series: &[]damping.Sample{{At: 0, Members: 30}, {At: time.Second, Members: 0}, {At: 3 * time.Second, Members: 31}},
	})
	for _, k := range state.Kinds() {
		if !slices.ContainsFunc(list, func(e state.Event) bool { return e.Kind == k.Name }) {
			t.Errorf("no event of kind %s", k.Name)
		}
	}
	for i, name := range damping.Presets() {
		if brief() && i > 1 {
			break
		}
		t.Run(name, func(t *testing.T) {
			pipeline, err := damping.Preset(name, sc.Topology.SmallestSpeed())
			if err != nil {
				t.Fatal(err)
			}
			d, err := agree(t.Context(), bout{
				Options: harness.Options{Topology: sc.Topology, Damping: pipeline}, events: list, checks: func() []state.Check { return For(sc.Topology, list) },
			})
			d.done(t, err, 0)
			if len(d.seen[0].moments) == 0 || !d.seen[0].moments[len(d.seen[0].moments)-1].Window.Events[0].All {
				t.Error("the last event was not played")
			}
		})
	}
}
