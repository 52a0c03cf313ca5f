package properties

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// failFiles are the failures that were found before.
const failFiles = "testdata/fails"

// TestFailFilesComeOutAsTheyExpect plays what was found before. Go runs tests by
// the names of their files, so that of this one makes it the first.
func TestFailFilesComeOutAsTheyExpect(t *testing.T) {
	paths, fails, err := shrink.LoadFails(failFiles)
	if err != nil {
		t.Error(err)
	}
	for i, f := range fails {
		if text, err := os.ReadFile(paths[i]); err != nil || !strings.Contains(string(text), "\n# sum: ") {
			t.Errorf("%s: want a line `# sum: HASH` in it (%v)", paths[i], err)
		}
		t.Run(strings.TrimPrefix(paths[i], failFiles+"/"), func(t *testing.T) {
			if err := f.Play(t.Context(), For); err != nil {
				t.Error(err)
			}
		})
	}
}

// shrinkTime is how long the suite shrinks a failure.
const shrinkTime = time.Minute

// keep shrinks a random case that failed and keeps it as a fail file; the text
// that it gives says all of it. What shows only in a comparison of two runs, or
// after the cases before, is not kept.
func (s *suite) keep(p plan) string {
	s.t.Helper()
	if p.again != nil {
		return "not kept as a fail file: it takes two runs\n"
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), shrinkTime)
	defer cancel()
	return keepFail(ctx, s.scenario(p), failFiles)
}

// scenario is a plan as a scenario.
func (s *suite) scenario(p plan) *harness.Scenario {
	return &harness.Scenario{
		Name: "random", Topology: s.maker.t, Damping: s.plan.Default, Plan: &s.plan, Events: append(p.events[:len(p.events):len(p.events)], restoreAll()),
	}
}

// keepFail is keep for a scenario and a folder.
func keepFail(ctx context.Context, sc *harness.Scenario, dir string) string {
	kept, err := shrink.Keep(ctx, sc, For, "", dir, harness.Sim, harness.GoBGP)
	switch {
	case kept == nil:
		return fmt.Sprintf("not kept as a fail file: %v\n", err)
	case err != nil:
		return fmt.Sprintf("not written: %v\n\n%s", err, kept.Text)
	}
	return fmt.Sprintf("kept as %s:\n\n%s", kept.Path, kept.Text)
}

// harmful is a case that fails: route flap damping that withdraws, and a flap
// in a plan of six events.
func harmful(t *testing.T) *harness.Scenario {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{t: t, maker: newMaker(topology)}
	rfd, err := damping.Preset(damping.PresetRFDCisco, topology.SmallestSpeed())
	if err != nil {
		t.Fatal(err)
	}
	s.plan = damping.Uniform(rfd)
	p := plan{events: []state.Event{
		{Kind: "degrade", Bundle: "r2-bag1--r1-bag1", Members: 30},
		{Kind: "flap", Bundle: "r1-f1-s1--r1-f1-e1", Members: 20, Count: 9, Period: 11 * time.Second},
		{Kind: "down", Device: "r2-bag4"},
	}}
	p.events[0].Bundle = topology.Bundles[0].Name
	for i := range p.events {
		p.events[i].Silent = true
	}
	return s.scenario(p)
}

func TestARandomCaseThatFailsIsShrunkAndKept(t *testing.T) {
	dir := t.TempDir()
	text := keepFail(t.Context(), harmful(t), dir)
	paths, fails, err := shrink.LoadFails(dir)
	if err != nil || len(fails) != 1 {
		t.Fatalf("got %v and %v after %s, want one fail file", paths, err, text)
	}
	written, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := "kept as " + paths[0] + ":\n\n" + string(written); text != want {
		t.Errorf("what is printed: got\n%s\nwant\n%s", text, want)
	}
	f := fails[0]
	if size := shrink.SizeOf(f.Scenario); f.Property != LivePathName || size.Events > wantedEvents || size.Devices > wantedDevices {
		t.Errorf("got %q with %v, want %q with at most %d events and %d devices", f.Property, size, LivePathName, wantedEvents, wantedDevices)
	}
	if err := f.Play(t.Context(), For); err == nil {
		t.Error("the file expects the property held, and playing it gives no error")
	}
	f.Expect = shrink.Violated
	if err := f.Play(t.Context(), For); err != nil {
		t.Error(err)
	}
}

func TestAFailureThatCannotBeWrittenIsPrintedInFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "full")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	text := keepFail(t.Context(), harmful(t), file)
	head, rest, _ := strings.Cut(text, "\n\n")
	if f, err := shrink.ReadFail("printed", []byte(rest)); err != nil || f.Property != LivePathName || !strings.HasPrefix(head, "not written: ") {
		t.Errorf("got\n%s\nand %v, want an error and then the whole fail file", text, err)
	}
}

func TestACaseThatHoldsIsNotKept(t *testing.T) {
	sc := harmful(t)
	sc.Events = sc.Events[:1]
	dir := t.TempDir()
	text := keepFail(t.Context(), sc, dir)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 || !strings.Contains(text, shrink.ErrHolds.Error()) {
		t.Errorf("got %q and %v (%v), want no file", text, files, err)
	}
}
