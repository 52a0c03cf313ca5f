package harness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/topologies"
)

// Scene is a network at the quiet in which an event of a scenario is settled.
type Scene struct {
	Scenario string
	Network  *state.Network
	Snapshot *state.Snapshot
	Event    int           // from 1; 0 = the baseline
	Events   int           // of the scenario
	Text     string        // the event, as test scripts have it; empty for the baseline
	Time     time.Duration // virtual time since the baseline
	Epoch    time.Duration // the engine's virtual time at the baseline

	rig *Rig
}

// Explanation is one device's whole decision on one prefix.
type Explanation struct {
	Scene  *Scene
	Device int                  // index in the topology
	Prefix int                  // index in the topology
	Core   speakers.Explanation // its times are the engine's: see Scene.Epoch
	Entry  fib.Entry            // what hardware has; zero without an entry
}

// explainer is an engine that can tell how a speaker decided.
type explainer interface {
	Explain(device, prefix int) speakers.Explanation
}

// Replay plays a scenario on a network of its own up to the given event, from
// 1, or to the baseline with 0, and shows the scene when that event is settled.
// Runs repeat exactly, so that is the state the event had in a run of the
// scenario. A timed event that starts later and before all is settled ends the
// one before: then the scene is that of the last quiet before it starts. The
// scene holds only inside look.
func Replay(ctx context.Context, sc *Scenario, event int, opts RunOptions, look func(*Scene) error) (err error) {
	if event < 0 || event > len(sc.Events) {
		return fmt.Errorf("event %d: want 0 (the baseline) to %d: scenario %q has %d events", event, len(sc.Events), sc.Name, len(sc.Events))
	}
	if opts.Observer == nil {
		opts.Observer = silence{}
	}
	v := &viewer{Observer: opts.Observer, scenario: sc, event: event, look: look}
	opts.Checks, opts.Observer = nil, v
	v.rig, err = Start(ctx, sc.rigOptions(opts))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.rig.Close()) }()
	v.Record(state.Record{Kind: "baseline", Event: -1})
	if event == 0 {
		return v.show()
	}
	last := event
	for last < len(sc.Events) && sc.Events[last].At != 0 {
		last++
	}
	ctx, v.stop = context.WithCancelCause(ctx)
	defer v.stop(nil)
	if _, err = v.rig.Play(ctx, sc.Events[:last]...); v.shown {
		return v.err // what came after the scene does not matter
	}
	return err
}

// viewer watches a run for the moment when its event is settled.
type viewer struct {
	state.Observer
	rig      *Rig
	scenario *Scenario
	event    int
	look     func(*Scene) error
	stop     context.CancelCauseFunc
	quiet    bool // there was a quiet since the event started
	shown    bool
	err      error // look's
}

// errShown ends a replay that has shown its scene.
var errShown = errors.New("the scene was shown")

// Record implements state.Observer.
func (v *viewer) Record(r state.Record) {
	v.Observer.Record(r)
	switch {
	case v.shown:
	case r.Kind == "event" && r.Event < v.event:
		v.quiet = false
	case r.Kind == "quiet":
		v.quiet = true
	case r.Kind == "event" && v.quiet, r.Kind == "settled" && r.Event == v.event-1:
		// Of an event that starts nothing has happened yet. Without a quiet in
		// between it starts together with the one that is asked for.
		v.err = v.show()
		v.stop(errShown)
	}
}

func (v *viewer) show() error {
	v.shown = true
	r := v.rig
	scene := &Scene{
		Scenario: v.scenario.Name, Network: r.net, Snapshot: r.snapshot, Event: v.event, Events: len(v.scenario.Events),
		Time: r.snapshot.Time - r.epoch, Epoch: r.epoch, rig: r,
	}
	if v.event > 0 {
		scene.Text = v.scenario.Events[v.event-1].String()
	}
	return v.look(scene)
}

// Explain tells how a device decided on a prefix, both as indexes in the
// topology.
func (s *Scene) Explain(device, prefix int) (*Explanation, error) {
	e, ok := s.rig.engine.(explainer)
	switch {
	case !ok:
		return nil, fmt.Errorf("scenario %q: its engine cannot explain", s.Scenario)
	case s.Network.IsExternal(device):
		return nil, fmt.Errorf("device %q: it is external, and nobody can see how it decides: want a speaker of the rig, such as one of its neighbours", s.Network.Topology.Devices[device].Name)
	}
	return &Explanation{
		Scene: s, Device: device, Prefix: prefix, Core: e.Explain(device, prefix),
		Entry: s.Snapshot.Devices[device].Routes[prefix].FIB,
	}, nil
}

// FindDevice gives a device's index by its name; the error names what there is.
func FindDevice(t *topologies.Topology, name string) (int, error) {
	names := make([]string, len(t.Devices))
	for i, d := range t.Devices {
		if d.Name == name {
			return i, nil
		}
		names[i] = d.Name
	}
	return 0, fmt.Errorf("device %q: want one of topology %q: %s", name, t.Name, some(names))
}

// FindPrefix gives the index of a prefix in text form; the error names what
// there is. Host bits do not matter.
func FindPrefix(t *topologies.Topology, text string) (int, error) {
	want, err := netip.ParsePrefix(text)
	list := make([]string, len(t.Prefixes))
	for i, p := range t.Prefixes {
		if err == nil && p.Prefix == want.Masked() {
			return i, nil
		}
		list[i] = p.Prefix.String()
	}
	return 0, fmt.Errorf("prefix %q: want one of topology %q: %s", text, t.Name, some(list))
}

// someNames bounds a list in an error: the mini presets fit, others are cut.
const someNames = 60

func some(names []string) string {
	if len(names) <= someNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:someNames], ", "), len(names)-someNames)
}
