package generate

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/leanovate/gopter"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// seed is the seed of this run: BAGRIG_SEED, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Int64()
	if text := os.Getenv("BAGRIG_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatalf("BAGRIG_SEED %q: want a number", text)
		}
	}
	t.Logf("BAGRIG_SEED=%d", n)
	return uint64(n)
}

// someLimits are of all kinds.
var someLimits = []Limits{{}, {Devices: 6, Events: 2}, {Devices: 20, Events: 12}, {Devices: 60, Events: 30}, {Plain: true}, {Engine: harness.GoBGP}}

// sound finds what is wrong with a case. Written is to write it and read it back
// too, which takes most of the time.
func sound(t *testing.T, sc *harness.Scenario, l Limits, written bool) {
	t.Helper()
	text := []byte("not written")
	err := topologies.Validate(sc.Topology)
	if sc.Plan != nil {
		err = errors.Join(err, sc.Plan.Validate())
	}
	err = errors.Join(err, sc.Damping.Validate())
	for i := range sc.Settings {
		err = errors.Join(err, sc.Settings[i].Validate())
	}
	paper := state.NewPaper(sc.Topology, sc.Topology.Index())
	for _, e := range sc.Events {
		err = errors.Join(err, paper.Play(e))
	}
	if written && err == nil {
		text, err = harness.WriteScenario(sc) // reads it back, and compares
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if n := len(sc.Topology.Devices); n > l.filledIn().Devices {
		t.Fatalf("%d devices: want at most %d", n, l.filledIn().Devices)
	}
	if len(sc.Events) == 0 {
		t.Fatal("no event")
	}
	for _, limit := range Limitations() {
		if len(limit.Rules) == 0 && limit.In(sc) {
			t.Fatalf("%s\n%s", limit.Name, text)
		}
	}
}

func TestCasesFromSeedsAreValid(t *testing.T) {
	seed := seed(t)
	for i := range 2000 {
		l := someLimits[i%len(someLimits)]
		sound(t, Case(FromRand(rand.New(rand.NewPCG(seed, uint64(i)))), l), l, i%5 == 0)
	}
}

func TestCasesFromAnyBytesAreValid(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 0))
	for i := range 2000 {
		data := make([]byte, r.IntN(120))
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		l := someLimits[i%len(someLimits)]
		sound(t, Case(FromBytes(data), l), l, i%5 == 0)
	}
}

func FuzzCase(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1, 2, 3, 250, 251, 252})
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, Case(FromBytes(data), Limits{}), Limits{}, true) })
}

func TestASeedRepeatsACase(t *testing.T) {
	draw := func() []byte {
		text, err := harness.WriteScenario(Case(FromRand(rand.New(rand.NewPCG(7, 8))), Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if a, b := draw(), draw(); !reflect.DeepEqual(a, b) {
		t.Errorf("got\n%s\nand then\n%s", a, b)
	}
}

func TestNoBytesAreThePlainestCase(t *testing.T) {
	sc := Case(FromBytes(nil), Limits{})
	for i, s := range sc.Settings {
		if !reflect.DeepEqual(s, topologies.DefaultSettings()) {
			t.Errorf("device %d has settings %+v", i, s)
		}
	}
	if sc.Damping.Name != "bag-default" || sc.Plan != nil || len(sc.Events) != 2 || sc.Events[0].Kind != "degrade" || !sc.Events[1].All {
		t.Errorf("got damping %v and events %v, want bag-default, one degradation and its end", sc.Damping, sc.Events)
	}
}

func TestGopterDrawsFromItsOwnSeed(t *testing.T) {
	draw := func(seed int64) string {
		params := gopter.DefaultGenParameters()
		params.Rng.Seed(seed)
		text, err := harness.WriteScenario(Gen(Limits{})(params).Result.(*harness.Scenario))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if again := draw(1); draw(1) != again || draw(2) == again {
		t.Error("one seed gives two cases, or two seeds one")
	}
}

// TestEverythingIsDrawn looks for every kind of event, knob, role, kind of fabric,
// family and stage of damping in what many seeds give.
func TestEverythingIsDrawn(t *testing.T) {
	seen, seed := map[string]bool{}, seed(t)
	for i := range 3000 {
		sc := Case(FromRand(rand.New(rand.NewPCG(seed, uint64(i)))), Limits{Devices: 24})
		note(seen, sc)
	}
	var want []string
	for _, k := range state.Kinds() {
		want = append(want, "event "+k.Name)
		for _, target := range k.Targets {
			if !rare[k.Name+" "+target] {
				want = append(want, "event "+k.Name+" "+target)
			}
		}
	}
	for _, k := range topologies.Knobs() {
		for _, w := range words(k) {
			if w != k.Default {
				want = append(want, "knob "+k.Name+" "+w)
			}
		}
	}
	for r := topologies.Rack; r <= topologies.Backbone; r++ {
		want = append(want, "role "+r.String())
	}
	want = append(want, "kind dsf", "kind nsf", "kind fpf", "kind zone", "ipv4", "ipv6", "dual", "aggregate", "aggregate that remembers", "plan", "two kinds", "two speeds", "timed", "untimed")
	for _, stage := range []string{"CarrierDelay", "Deadband", "HoldDown", "Quantize", "Hysteresis", "Pace", "Penalty", "StormGuard"} {
		want = append(want, "stage damping."+stage)
	}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("never drawn: %s", w)
		}
	}
}

// rare are targets that no schedule has.
var rare = map[string]bool{
	"grey device": true, "set all": true, "drain role": true, "restore all": false,
}

func BenchmarkCase(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		Case(FromRand(r), Limits{})
	}
}

func TestMostCasesCanBePlayed(t *testing.T) {
	seed := seed(t)
	refused := map[string]int{}
	for i := range 200 {
		sc := Case(FromRand(rand.New(rand.NewPCG(seed, uint64(i)))), Limits{})
		if _, err := harness.Run(context.Background(), sc, harness.RunOptions{}); err != nil {
			refused[err.Error()]++
		}
	}
	for text, n := range refused {
		t.Errorf("%d times: %s", n, text)
	}
}
