package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatCannotBeMeantIsWarnedOf(t *testing.T) {
	const file, text = "testdata/topo/far.yaml", "testdata/topo/far-warnings.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scenario := filepath.Join(t.TempDir(), "far.yaml")
	inline := "topology:\n  " + strings.ReplaceAll(string(data), "\n", "\n  ") + "\n"
	if err := os.WriteFile(scenario, []byte(inline), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"topo", "validate", file}, {"topo", "show", file}, {"validate", scenario}, {"run", "--dry-run", scenario},
		{"run", "--dry-run", "--engine", "sim", scenario},
	} {
		got := bagrig(t, args...)
		if got.code != exitHeld || got.stdout == "" {
			t.Errorf("%v: got exit status %d and %d bytes on stdout, want %d as without a warning", args, got.code, len(got.stdout), exitHeld)
		}
		golden(t, text, strings.ReplaceAll(got.stderr, scenario, file))
	}
}

func TestPresetsHaveNothingToWarnOf(t *testing.T) {
	for line := range strings.Lines(bagrig(t, "topo", "list").stdout) {
		name, _, _ := strings.Cut(line, ":")
		if got := bagrig(t, "topo", "validate", name); got.stderr != "" {
			t.Errorf("%s: got %q, want nothing", name, got.stderr)
		}
	}
}
