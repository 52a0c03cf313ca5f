package properties

import (
	"os"
	"testing"

	"github.com/bagrig/bagrig/harness/state"
)

// watched adds a watcher to the checks of a run in a night, for which a folder is
// named, and gives what notes in it what the run reached.
func watched(checks []state.Check) (all []state.Check, note func(ended error) error) {
	folder := os.Getenv(ReachedFolder)
	if folder == "" {
		return checks, func(error) error { return nil }
	}
	watcher := NewCoverage()
	return append(checks[:len(checks):len(checks)], watcher), func(ended error) error {
		watcher.Ended(ended)
		return NoteReached(folder, watcher.Reached())
	}
}

func TestWhatASuiteReachesIsNotedInANightOnly(t *testing.T) {
	t.Setenv(ReachedFolder, "")
	if checks, _ := watched(All()); len(checks) != len(All()) {
		t.Errorf("on any day: got %d checks, want %d", len(checks), len(All()))
	}
	dir := t.TempDir()
	t.Setenv(ReachedFolder, dir)
	holds(t, "first-light", embedded(t, "first-light").On("sim"))
	for _, name := range []string{"level edge crossed", "hold-down kept good news"} {
		if _, err := os.Stat(dir + "/" + StateFile(name)); err != nil {
			t.Errorf("%s: %v, want it noted", name, err)
		}
	}
}
