package shrink

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// broken is a rule that any event breaks.
type broken struct{ found state.Outcome }

func (*broken) Name() string             { return "broken" }
func (b *broken) Outcome() state.Outcome { return b.found }
func (b *broken) Look(m *state.Moment) {
	b.found.Name, b.found.Exercised = "broken", 1
	if m.Window != nil {
		b.found.Violated, b.found.Violations = 1, []state.Violation{{Time: m.Snapshot.Time, Where: "here", Text: "an event"}}
	}
}

// TestOnAFullDiskTheFailureIsThereInFull keeps a failure with a writer that has
// room for some bytes only, as a full disk does.
func TestOnAFullDiskTheFailureIsThereInFull(t *testing.T) {
	sc, err := harness.ReadScenario("x.yaml", []byte("topology: hub-mini\nengine: sim\nevents:\n  - degrade: {bundle: r1-f2-e2--r1-bag2, members: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	full := func(path string, data []byte) error {
		return errors.Join(os.WriteFile(path+".part", data[:10], 0o666), os.Remove(path+".part"), &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
	}
	checks := func(*topologies.Topology, []state.Event) []state.Check { return []state.Check{&broken{}} }
	kept, err := keep(t.Context(), sc, checks, "", dir, full, harness.Sim)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(dir, "broken")) {
		t.Errorf("got error %v, want that of the disk, with the file's name", err)
	}
	if kept == nil {
		t.Fatal("got nothing, want what was found")
	}
	f, err := ReadFail("printed", kept.Text)
	if err != nil || f.Property != "broken" || len(f.Scenario.Events) != 1 || len(f.Story) < 2 {
		t.Errorf("got %+v and %v, want all of the fail file\n%s", f, err, kept.Text)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "broken", "*")); err != nil || len(files) != 0 {
		t.Errorf("got files %q and %v, want none left", files, err)
	}
}
