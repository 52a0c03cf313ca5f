package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root        = "../.."
	dampingPage = root + "/docs/damping.md"
)

// plotCommand is a command of the page that makes a plot, run at the root.
var plotCommand = regexp.MustCompile(`(?m)^    bagrig (damp .*) --svg (docs/plots/[a-z0-9-]+\.svg)$`)

func TestPlotsOfThePageAreWhatItsCommandsMake(t *testing.T) {
	page, err := os.ReadFile(dampingPage)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"docs/plots/sim-cost.csv": true, "docs/plots/sim-cost.svg": true} // a test of harness/sim makes them
	for _, match := range plotCommand.FindAllStringSubmatch(string(page), -1) {
		args, plot := strings.Fields(match[1]), match[2]
		for _, name := range append(args, plot) {
			used[name] = true
		}
		if image := "](" + strings.TrimPrefix(plot, "docs/") + ")\n\n    bagrig " + match[1]; !strings.Contains(string(page), image) {
			t.Errorf("%s: want its picture above its command", plot)
		}
		svg := filepath.Join(t.TempDir(), "plot.svg")
		cmd := exec.Command(binary, append(args, "--svg", svg)...)
		cmd.Dir = root
		if got := finish(t, cmd); got.code != exitHeld {
			t.Errorf("%s: got exit status %d: %s", match[0], got.code, got.stderr)
			continue
		}
		got, err := os.ReadFile(svg)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 60_000 {
			t.Errorf("%s: %d bytes, want at most 60,000: plot a shorter series", plot, len(got))
		}
		golden(t, filepath.Join(root, plot), string(got))
	}
	topologies, err := os.ReadFile(topoPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range topoPlot.FindAllStringSubmatch(string(topologies), -1) {
		used[match[2]] = true
	}
	files, err := filepath.Glob(root + "/docs/plots/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimPrefix(filepath.ToSlash(file), root+"/"); !used[name] {
			t.Errorf("%s: no command of the pages uses or makes it", name)
		}
	}
}

func TestPageShowsAPlotOfEveryPolicy(t *testing.T) {
	page, err := os.ReadFile(dampingPage)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		head, text, _ := strings.Cut(section, "\n")
		sections[head] = text
	}
	// storm-guard needs what other speakers send, which bagrig damp has not.
	without := []string{"storm-guard"}
	for _, policy := range []string{"carrier-delay", "deadband", "holddown", "quantize", "hysteresis", "pace", "penalty", "storm-guard"} {
		shows := plotCommand.MatchString(sections[policy])
		if shows == slices.Contains(without, policy) {
			t.Errorf("section %q: got a plot: %v", policy, shows)
		}
	}
}
